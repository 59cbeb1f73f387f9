//! Verifying: one choice's deltas against the client's original demand, whichever server and
//! strategy gave them. In: deltas as they will be written. Out: nothing, or the first violation.
//!
//! JSON is followed by syntax byte by byte and checked against its schema when it ends; text of a
//! regex, a choice or a grammar is matched byte by byte.

mod text;

use crate::check::Check;
use crate::ir::{
    CallKind, Calls, Contract, Delta, FinishReason, HostedCall, OwnCalls, Place, ToolInput,
    Violation,
};
use std::collections::HashMap;
use std::sync::Arc;
use text::TextCheck;

/// More calls in one choice are refused whatever the request allows: each keeps its input until
/// it is checked. As many as OpenAI takes tools.
const MAX_CALLS: usize = 128;

/// The compiled contract: shared by all choices of one reply.
#[derive(Debug)]
pub struct Checks {
    calls: Calls,
    takes_hosted: bool,
    own_calls: Option<OwnCalls>,
    max_calls: Option<usize>,
    content: Option<(&'static str, Check)>,
    tools: HashMap<String, ToolCheck>,
}

/// How a call of one tool is checked.
#[derive(Debug)]
struct ToolCheck {
    /// `None` for tools that the server hosts.
    kind: Option<CallKind>,
    input: Option<(&'static str, Check)>,
}

impl Checks {
    /// Puts the compiled constraints to the contract, in the order of [`Contract::constraints`];
    /// `None` where there is no way to check one.
    #[must_use]
    pub fn new(contract: &Contract, compiled: Vec<Option<Check>>) -> Self {
        let mut compiled = compiled.into_iter();
        let mut next = |kind| Some((kind, compiled.next()??));
        let content = contract
            .content
            .as_ref()
            .and_then(|stated| next(stated.kind()));
        let tools = contract
            .tools
            .iter()
            .map(|tool| {
                let (kind, constraint) = match &tool.input {
                    ToolInput::Schema { .. } => (Some(CallKind::Function), Some("json_schema")),
                    ToolInput::Text(stated) => {
                        let constraint = stated.as_ref().map(crate::ir::Constraint::kind);
                        (Some(CallKind::Custom), constraint)
                    }
                    ToolInput::Hosted(_) => (None, None),
                };
                let input = constraint.and_then(&mut next);
                (tool.name.clone(), ToolCheck { kind, input })
            })
            .collect();
        Self {
            calls: contract.calls,
            takes_hosted: contract.takes_hosted,
            own_calls: contract.own_calls.clone(),
            max_calls: contract.max_calls,
            content,
            tools,
        }
    }

    /// Whether this is a function that the server brings itself: no tool of the request has its name.
    fn is_own(&self, name: &str) -> bool {
        let own = self.own_calls.as_ref();
        let own = own.filter(|_| !self.tools.contains_key(name));
        own.is_some_and(|own| !own.excluded.iter().any(|excluded| excluded == name))
    }
}

/// Follows one choice.
#[derive(Debug)]
pub struct Verifier {
    checks: Arc<Checks>,
    choice: u32,
    content: TextCheck,
    content_bytes: usize,
    calls: Vec<CallCheck>,
    refused: bool,
    /// The server called a tool of its own, as it may.
    has_hosted: bool,
    /// What it called is the client's to carry out.
    has_handed_over: bool,
    /// The server closes calls that a limit cut.
    closes_cut_calls: bool,
}

#[derive(Debug)]
struct CallCheck {
    index: u32,
    input: TextCheck,
    closed: bool,
    /// How many bytes of [`BARE`] its input is so far; `None` where it is another.
    bare: Option<usize>,
}

/// What a call without arguments is called with.
const BARE: &str = "{}";

impl Verifier {
    /// A verifier for the choice with this index.
    #[must_use]
    pub fn new(checks: Arc<Checks>, choice: u32) -> Self {
        let content = TextCheck::new(checks.content.as_ref());
        Self {
            checks,
            choice,
            content,
            content_bytes: 0,
            calls: Vec::new(),
            refused: false,
            has_hosted: false,
            has_handed_over: false,
            closes_cut_calls: false,
        }
    }

    /// The same of a server that closes a call which a limit cut before its arguments.
    #[must_use]
    pub const fn closing_cut_calls(mut self, closes: bool) -> Self {
        self.closes_cut_calls = closes;
        self
    }

    /// Takes the next delta.
    ///
    /// # Errors
    /// The first violation; the choice is over.
    pub fn step(&mut self, delta: &Delta) -> Result<(), Violation> {
        match delta {
            Delta::Text(text) => {
                self.content_bytes += text.len();
                self.content.push(text, Place::Content(self.choice))
            }
            Delta::Reasoning(_) => Ok(()),
            Delta::Refusal(_) => {
                self.refused = true;
                Ok(())
            }
            Delta::CallStart {
                call, name, kind, ..
            } => self.start_call(*call, name, *kind),
            Delta::CallInput { call, text, .. } => {
                let choice = self.choice;
                // What was closed was checked as it stood then.
                let open = (self.calls.iter_mut().enumerate())
                    .find(|(_, open)| open.index == *call && !open.closed);
                match open {
                    Some((place, open)) => {
                        let rest = open.bare.and_then(|came| BARE.get(came..));
                        let goes_on = rest.is_some_and(|rest| rest.starts_with(text.as_str()));
                        open.bare = open.bare.filter(|_| goes_on).map(|came| came + text.len());
                        open.input.push(text, Place::Call(choice, place))
                    }
                    None => Err(self.violation(
                        "tool_choice",
                        "a call goes on that has not begun, or after the next one began".to_owned(),
                    )),
                }
            }
            Delta::Finish(reason) => self.finish(reason),
        }
    }

    /// What was said so far was no answer.
    pub fn forget_text(&mut self) {
        self.content = TextCheck::new(self.checks.content.as_ref());
        self.content_bytes = 0;
    }

    /// The server called a tool of its own. Whether that is what is demanded.
    pub fn host(&mut self, call: &HostedCall) -> bool {
        // Where a function has its type for a name, the tool has that with another end.
        let is_it = |name: &String, tool: &str| name.trim_end_matches('_') == tool;
        let is_listed = match call {
            HostedCall::ByServer | HostedCall::ByClient => false,
            HostedCall::Listed(tool) => self.checks.tools.keys().any(|name| is_it(name, tool)),
        };
        let is_demanded = is_listed || self.checks.takes_hosted;
        self.has_hosted |= is_demanded;
        self.has_handed_over |= is_listed || *call == HostedCall::ByClient;
        is_demanded
    }

    /// Whether this is a function that the server brings itself.
    #[must_use]
    pub fn is_own(&self, name: &str) -> bool {
        self.checks.is_own(name)
    }

    fn start_call(&mut self, call: u32, name: &str, kind: CallKind) -> Result<(), Violation> {
        self.close_calls()?;
        let violation = |message: String| self.violation("tool_choice", message);
        let check = self.checks.tools.get(name);
        let is_own = self.checks.is_own(name);
        if matches!(self.checks.calls, Calls::Forbidden | Calls::Unstated) && !is_own {
            return Err(violation("a tool is called, but none may be".to_owned()));
        }
        if check.is_none() && !is_own {
            return Err(violation(
                "a tool is called that is not among those allowed".to_owned(),
            ));
        }
        let expected = check.and_then(|check| check.kind);
        if expected.is_some_and(|expected| expected != kind) {
            let message = "a function is called as a custom tool, or a custom tool as a function";
            return Err(violation(message.to_owned()));
        }
        if let Some(max) = self.checks.max_calls.filter(|max| self.calls.len() >= *max) {
            return Err(violation(format!(
                "more than {max} tool is called, against parallel_tool_calls"
            )));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(violation(format!("more than {MAX_CALLS} tools are called")));
        }
        self.calls.push(CallCheck {
            index: call,
            input: TextCheck::new(check.and_then(|check| check.input.as_ref())),
            closed: false,
            bare: Some(0),
        });
        Ok(())
    }

    /// A call ends where the next begins.
    fn close_calls(&mut self) -> Result<(), Violation> {
        for (place, call) in self
            .calls
            .iter_mut()
            .enumerate()
            .filter(|(_, call)| !call.closed)
        {
            call.closed = true;
            call.input.finish(Place::Call(self.choice, place))?;
        }
        Ok(())
    }

    fn finish(&mut self, reason: &FinishReason) -> Result<(), Violation> {
        self.ended(reason)
            .map_err(|violation| violation.ended_by(reason))
    }

    fn ended(&mut self, reason: &FinishReason) -> Result<(), Violation> {
        // A refusal stands in the place of an answer, not beside a wrong one.
        if self.refused && self.calls.is_empty() && self.content_bytes == 0 {
            return Ok(());
        }
        if reason.is_cut() {
            return self.cut();
        }
        self.close_calls()?;
        let demands_call = self.checks.calls == Calls::Required && !self.has_hosted;
        if self.calls.is_empty() && demands_call {
            return Err(self.violation(
                "tool_choice",
                "no tool is called, but one must be".to_owned(),
            ));
        }
        // A turn that ends with calls for the client has no answer yet.
        let has_called = !self.calls.is_empty() || self.has_handed_over;
        if !has_called || self.content_bytes > 0 {
            self.content.finish(Place::Content(self.choice))?;
        }
        Ok(())
    }

    /// The choice was cut: what is unfinished is excused, nothing else. Only the last call can be.
    fn cut(&mut self) -> Result<(), Violation> {
        let choice = self.choice;
        let closes = self.closes_cut_calls;
        let is_bare = |open: &CallCheck| closes && open.bare == Some(BARE.len());
        if let Some((place, open)) = self.calls.iter_mut().enumerate().last()
            && !is_bare(open)
        {
            open.input.cut(Place::Call(choice, place))?;
        }
        self.content.cut(Place::Content(choice))
    }

    fn violation(&self, rule: &str, message: String) -> Violation {
        Violation::new(Place::Calls(self.choice), rule, message)
    }
}
