//! Verifying: one choice's deltas against the client's original demand, whichever server and
//! strategy gave them. In: deltas as they will be written. Out: nothing, or the first violation.
//!
//! JSON is followed by syntax byte by byte and checked against its schema when it ends; text of a
//! regex, a choice or a grammar is matched byte by byte.

mod text;

use crate::compile::Check;
use crate::ir::{Calls, Contract, Delta, FinishReason, ToolInput, Violation};
use std::collections::HashMap;
use std::sync::Arc;
use text::{Place, TextCheck};

/// More calls in one choice are refused whatever the request allows: each keeps its input until
/// it is checked. As many as OpenAI takes tools.
const MAX_CALLS: usize = 128;

/// The compiled contract: shared by all choices of one reply.
#[derive(Debug)]
pub struct Checks {
    calls: Calls,
    max_calls: Option<usize>,
    content: Option<(&'static str, Check)>,
    tools: HashMap<String, Option<(&'static str, Check)>>,
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
                let kind = match &tool.input {
                    ToolInput::Schema { .. } => Some("json_schema"),
                    ToolInput::Text(stated) => stated.as_ref().map(crate::ir::Constraint::kind),
                    ToolInput::Hosted(_) => None,
                };
                (tool.name.clone(), kind.and_then(&mut next))
            })
            .collect();
        Self {
            calls: contract.calls,
            max_calls: contract.max_calls,
            content,
            tools,
        }
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
}

#[derive(Debug)]
struct CallCheck {
    index: u32,
    input: TextCheck,
    bytes: usize,
    closed: bool,
}

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
        }
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
            Delta::CallStart { call, name, .. } => self.start_call(*call, name),
            Delta::CallInput { call, text, .. } => {
                let choice = self.choice;
                let Some(place) = self.calls.iter().position(|open| open.index == *call) else {
                    return Ok(());
                };
                let open = &mut self.calls[place];
                open.bytes += text.len();
                open.input.push(text, Place::Input(choice, place))
            }
            Delta::Finish(reason) => self.finish(reason),
        }
    }

    fn start_call(&mut self, call: u32, name: &str) -> Result<(), Violation> {
        self.close_calls()?;
        let violation = |message: String| self.violation("tool_choice", message);
        if matches!(self.checks.calls, Calls::Forbidden | Calls::Unstated) {
            return Err(violation("a tool is called, but none may be".to_owned()));
        }
        let Some(check) = self.checks.tools.get(name) else {
            return Err(violation(
                "a tool is called that is not among those allowed".to_owned(),
            ));
        };
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
            input: TextCheck::new(check.as_ref()),
            bytes: 0,
            closed: false,
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
            call.input.finish(Place::Input(self.choice, place))?;
        }
        Ok(())
    }

    fn finish(&mut self, reason: &FinishReason) -> Result<(), Violation> {
        // A cut text may end anywhere; the client sees why. A refusal stands in place of an answer.
        if reason.is_cut() || self.refused {
            return Ok(());
        }
        self.close_calls()?;
        if self.calls.is_empty() && self.checks.calls == Calls::Required {
            return Err(self.violation(
                "tool_choice",
                "no tool is called, but one must be".to_owned(),
            ));
        }
        if self.calls.is_empty() || self.content_bytes > 0 {
            self.content.finish(Place::Content(self.choice))?;
        }
        Ok(())
    }

    fn violation(&self, rule: &str, message: String) -> Violation {
        let place = format!("choices[{}].message.tool_calls", self.choice);
        Violation::new(place, rule, message)
    }
}
