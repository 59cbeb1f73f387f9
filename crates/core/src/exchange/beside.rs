//! Texts that break what is asked for and are no answer: what comes behind tells so.
//!
//! A refusal of which the end alone tells (Anthropic's `stop_reason` `refusal`, which goes before any form that was asked for) is
//! heard as a refusal. What a model says before it calls ("Let me check."), before a server's own tool runs, or where a server
//! pauses is said on the way to an answer, and heard as thoughts: SDKs parse whatever stands in an answer's place.

use crate::ir::{Choice, Delta, FinishReason, Violation};

/// More of a text is not waited for.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// What a text may be beside an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beside {
    /// A refusal, and the client has a word for those.
    pub(super) refusal: bool,
    /// Something that is said on the way: a call may come, or a server's own tool run.
    pub(super) remark: bool,
}

impl Beside {
    pub(super) const fn is_any(self) -> bool {
        self.refusal || self.remark
    }
}

/// A text of a stream that is wrong, or no answer.
#[derive(Debug)]
pub(super) struct Doubted {
    violation: Violation,
    text: String,
    may_be: Beside,
}

/// What it turned out to be.
#[derive(Debug)]
pub(super) enum Told {
    /// Nothing is known yet.
    Nothing,
    /// A refusal, which is over.
    Refusal(String, FinishReason),
    /// A remark; the call that tells so is still to be read, or the end of a turn that has called or pauses.
    Remark(String, Delta),
}

impl Doubted {
    /// What broke the contract, if the delta could begin something else than an answer.
    pub(super) fn begin(
        violation: Violation,
        delta: &Delta,
        may_be: Beside,
    ) -> Result<Box<Self>, Violation> {
        match delta {
            Delta::Text(text) => Ok(Box::new(Self {
                violation,
                text: text.clone(),
                may_be,
            })),
            _ => Err(violation),
        }
    }

    /// Takes the next delta.
    ///
    /// # Errors
    /// It is an answer: what was broken.
    pub(super) fn step(&mut self, delta: Delta, has_called: bool) -> Result<Told, Violation> {
        let ends = |reason: &FinishReason| has_called || matches!(reason, FinishReason::Paused(_));
        match delta {
            Delta::Text(more) if self.text.len() + more.len() <= MAX_BYTES => {
                self.text.push_str(&more);
                Ok(Told::Nothing)
            }
            Delta::Finish(reason @ FinishReason::ContentFilter)
                if self.may_be.refusal && !has_called =>
            {
                Ok(Told::Refusal(std::mem::take(&mut self.text), reason))
            }
            call @ Delta::CallStart { .. } if self.may_be.remark => {
                Ok(Told::Remark(std::mem::take(&mut self.text), call))
            }
            Delta::Finish(reason) if self.may_be.remark && ends(&reason) => Ok(Told::Remark(
                std::mem::take(&mut self.text),
                Delta::Finish(reason),
            )),
            _ => Err(self.violation.clone()),
        }
    }

    /// The remark that it is where a tool of the server's own runs now.
    pub(super) fn before_hosted(&mut self) -> Option<String> {
        self.may_be.remark.then(|| std::mem::take(&mut self.text))
    }

    /// What was broken.
    pub(super) fn violation(&self) -> Violation {
        self.violation.clone()
    }
}

/// A whole choice whose text is no answer, or not all of it, the likeliest reading first; none where nothing tells so.
pub(super) fn without_answer(choice: &Choice, may_be: Beside) -> Vec<Vec<Delta>> {
    let deltas = &choice.deltas;
    let has = |is_it: fn(&Delta) -> bool| deltas.iter().any(is_it);
    let pauses = has(|delta| matches!(delta, Delta::Finish(FinishReason::Paused(_))));
    let is_filtered = has(|delta| matches!(delta, Delta::Finish(FinishReason::ContentFilter)));
    let last_call = (deltas.iter()).rposition(|delta| matches!(delta, Delta::CallStart { .. }));
    let remark: fn(String) -> Delta = Delta::Reasoning;
    let told = |tell: fn(String) -> Delta, until: usize| {
        let told = deltas.iter().enumerate().map(|(at, delta)| match delta {
            Delta::Text(text) if at < until => tell(text.clone()),
            other => other.clone(),
        });
        told.collect::<Vec<_>>()
    };
    // What comes behind them may be the answer.
    let before = last_call.unwrap_or_default().max(choice.before_hosted);
    let is_way = may_be.remark && before > 0;
    match (last_call, may_be) {
        (Some(_), Beside { remark: true, .. }) => {
            vec![told(remark, before), told(remark, deltas.len())]
        }
        (None, Beside { remark: true, .. }) if pauses => vec![told(remark, deltas.len())],
        (None, Beside { refusal: true, .. }) if is_filtered => {
            vec![told(Delta::Refusal as _, deltas.len())]
        }
        _ if is_way => vec![told(remark, before)],
        _ => Vec::new(),
    }
}
