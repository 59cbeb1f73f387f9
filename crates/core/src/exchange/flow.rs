//! One choice on its way: rewrapped, then verified.

use super::{WayBack, no_call};
use crate::ir::{Delta, FinishReason, HostedCall, Ids, NoCall, Place, Repairs, Violation};
use crate::rewrap::Rewrapper;
use crate::verify::{Checks, Verifier};
use std::sync::Arc;

/// The way of one choice.
#[derive(Debug)]
pub(super) struct ChoiceFlow {
    choice: u32,
    rewrapper: Rewrapper,
    /// `None` after a violation that was let pass.
    verifier: Option<Verifier>,
    /// The operator's choice: violations are let pass.
    pub(super) is_lenient: bool,
    /// Calls that were made of the content before it was given up: the server's own come after.
    calls_made: u32,
    /// The first violation, where it was let pass.
    pub(super) passed: Option<Violation>,
    /// What was mended before the content was given up.
    repairs: Repairs,
    /// Something is demanded of the content, and nothing was said yet.
    awaits_answer: bool,
    /// The answer is an empty text, which the server need not have said.
    pub(super) is_empty: bool,
    /// There are tools that the model may call.
    may_call: bool,
    /// Some call was made.
    has_called: bool,
    /// A call was made, or something else was said that is no thought.
    has_said: bool,
}

impl ChoiceFlow {
    pub(super) fn new(terms: &WayBack, checks: &Arc<Checks>, choice: u32) -> Self {
        // Clients of the server's own wire know that of it; others would take the call for whole.
        let closes_cut_calls = terms.closes_cut_calls && terms.keeps;
        Self {
            choice,
            rewrapper: Rewrapper::new(Arc::clone(&terms.plan), choice)
                .reading(terms.reading.clone())
                .lets_pass(terms.passes_violations),
            verifier: Some(
                Verifier::new(Arc::clone(checks), choice).closing_cut_calls(closes_cut_calls),
            ),
            is_lenient: terms.passes_violations,
            calls_made: 0,
            passed: None,
            repairs: Repairs::default(),
            awaits_answer: terms.demands_answer,
            is_empty: false,
            may_call: terms.may_call,
            has_called: false,
            has_said: false,
        }
    }

    /// The same, mending what it reads.
    pub(super) fn mending(mut self, terms: &WayBack) -> Self {
        self.rewrapper = self.rewrapper.mending(terms.mending.clone());
        self
    }

    /// The server tells its thoughts apart: those in the text are text.
    pub(super) fn thinks_apart(&mut self) {
        self.rewrapper.thinks_apart();
    }

    /// The server called a tool of its own. Whether that is what is demanded.
    pub(super) fn host(&mut self, call: &HostedCall) -> bool {
        self.awaits_answer = false;
        self.has_said = true;
        let verifier = self.verifier.as_mut();
        verifier.is_some_and(|verifier| verifier.host(call))
    }

    /// What was said so far was no answer.
    pub(super) fn forget_text(&mut self) {
        if let Some(verifier) = &mut self.verifier {
            verifier.forget_text();
        }
    }

    /// What was mended.
    pub(super) fn repairs(&self) -> Repairs {
        let mut repairs = self.repairs;
        repairs.join(self.rewrapper.repairs());
        repairs
    }

    /// Takes a delta of the server, appends those for the client.
    pub(super) fn step(
        &mut self,
        delta: Delta,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let delta = later(delta, self.calls_made);
        let from = out.len();
        let unread = self.is_lenient.then(|| delta.clone());
        let rewrapped = self.rewrapper.step(delta, ids, out);
        self.end_without_calls(&mut out[from..])?;
        self.verify(&out[from..])?;
        if let Some(violation) = self.rewrapper.take_passed() {
            self.let_pass(violation);
        }
        match (rewrapped, unread) {
            (Err(violation), Some(unread)) => {
                self.give_up(violation, unread, out);
                Ok(())
            }
            (rewrapped, _) => rewrapped.map(|()| self.answer_emptily(from, out)),
        }
    }

    /// Ends in another word than calls where none came: who is told of calls waits for some.
    ///
    /// # Errors
    /// Nothing else came either: the server could not read a call, and lost it (mlx-lm, TabbyAPI, NousResearch/hermes-agent#75926).
    fn end_without_calls(&mut self, deltas: &mut [Delta]) -> Result<(), Violation> {
        for delta in deltas {
            match delta {
                Delta::CallStart { .. } => (self.has_called, self.has_said) = (true, true),
                Delta::Text(text) | Delta::Refusal(text) if !self.has_said => {
                    self.has_said = !text.trim_ascii().is_empty();
                }
                Delta::Finish(reason @ FinishReason::ToolCalls) if !self.has_called => {
                    *reason = FinishReason::Stop;
                    if self.may_call && !self.has_said {
                        self.break_off(no_call(NoCall::Lost, self.choice))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A violation, unless it is let pass.
    fn break_off(&mut self, violation: Violation) -> Result<(), Violation> {
        if !self.is_lenient {
            return Err(violation);
        }
        self.let_pass(violation);
        Ok(())
    }

    /// Says an answer that is empty and right, which to clients is not the same as none.
    fn answer_emptily(&mut self, from: usize, out: &mut Vec<Delta>) {
        if !self.awaits_answer || self.verifier.is_none() {
            return;
        }
        let is_end = |delta: &Delta| {
            matches!(
                delta,
                Delta::Finish(FinishReason::Stop | FinishReason::StopText(_))
            )
        };
        let says = |delta: &Delta| !matches!(delta, Delta::Reasoning(_) | Delta::Finish(_));
        let new = &out[from..];
        self.awaits_answer = !new.iter().any(says);
        let end = new.iter().position(is_end);
        if let Some(end) = end.filter(|_| self.awaits_answer) {
            self.is_empty = true;
            out.insert(from + end, Delta::Text(String::new()));
        }
    }

    fn verify(&mut self, deltas: &[Delta]) -> Result<(), Violation> {
        for delta in deltas {
            let Some(verifier) = &mut self.verifier else {
                return Ok(());
            };
            let checked = verifier.step(delta);
            let is_own = |name: &str| verifier.is_own(name);
            let is_own = matches!(delta, Delta::CallStart { name, .. } if is_own(name));
            let known = |()| if is_own { Ok(()) } else { self.known(delta) };
            if let Err(violation) = checked.and_then(known) {
                let violation = self.rewrapper.quote(violation);
                self.break_off(violation)?;
            }
        }
        Ok(())
    }

    /// A tool that the server was not sent is not its to call.
    fn known(&self, delta: &Delta) -> Result<(), Violation> {
        match delta {
            Delta::CallStart { name, .. } if !self.rewrapper.may_call(name) => {
                let place = Place::Calls(self.choice);
                let message = "a tool is called that the server was not sent";
                Err(Violation::new(place, "tool_choice", message.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Notes a violation that is let pass; nothing is verified any more.
    pub(super) fn let_pass(&mut self, violation: Violation) {
        self.verifier = None;
        self.passed.get_or_insert(violation);
    }

    /// The content cannot be read as what it should be: from here on text is text.
    fn give_up(&mut self, violation: Violation, unread: Delta, out: &mut Vec<Delta>) {
        let text = self.rewrapper.take_unread();
        if !text.is_empty() {
            out.push(Delta::Text(text));
        }
        self.calls_made = self.rewrapper.calls_made();
        self.repairs = self.repairs();
        if !matches!(unread, Delta::Text(_)) {
            out.push(later(unread, self.calls_made));
        }
        self.rewrapper = self.rewrapper.given_up(self.calls_made);
        self.let_pass(violation);
    }
}

/// The same delta, its call so many places later.
fn later(mut delta: Delta, places: u32) -> Delta {
    if let Delta::CallStart { call, .. } | Delta::CallInput { call, .. } = &mut delta {
        *call = call.saturating_add(places);
    }
    delta
}
