//! Texts that break what is asked for and are no answer: what comes behind tells so.
//!
//! A refusal of which the end alone tells (Anthropic's `stop_reason` `refusal`, which goes before any form that was asked for) is
//! heard as a refusal. What a model says before it calls ("Let me check.") is said on the way to an answer, and heard as
//! thoughts: SDKs parse whatever stands in an answer's place.

use crate::ir::{Choice, Delta, FinishReason, Violation};

/// More of a text is not waited for.
const MAX_BYTES: usize = 64 << 10;

/// What a text may be beside an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beside {
    /// A refusal, and the client has a word for those.
    pub(super) refusal: bool,
    /// Something that is said before a call: none is demanded, and one may come.
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
    /// A remark; the call that tells so is still to be read.
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
    pub(super) fn step(&mut self, delta: Delta) -> Result<Told, Violation> {
        match delta {
            Delta::Text(more) if self.text.len() + more.len() <= MAX_BYTES => {
                self.text.push_str(&more);
                Ok(Told::Nothing)
            }
            Delta::Finish(reason @ FinishReason::ContentFilter) if self.may_be.refusal => {
                Ok(Told::Refusal(std::mem::take(&mut self.text), reason))
            }
            call @ Delta::CallStart { .. } if self.may_be.remark => {
                Ok(Told::Remark(std::mem::take(&mut self.text), call))
            }
            _ => Err(self.violation.clone()),
        }
    }

    /// What was broken.
    pub(super) fn violation(&self) -> Violation {
        self.violation.clone()
    }
}

/// A whole choice whose text is no answer; `None` where nothing tells so.
pub(super) fn without_answer(choice: &Choice, may_be: Beside) -> Option<Vec<Delta>> {
    let deltas = &choice.deltas;
    let calls = deltas
        .iter()
        .any(|delta| matches!(delta, Delta::CallStart { .. }));
    let is_filtered = |delta: &Delta| matches!(delta, Delta::Finish(FinishReason::ContentFilter));
    let tell: fn(String) -> Delta = match (calls, deltas.iter().any(is_filtered)) {
        (true, _) if may_be.remark => Delta::Reasoning,
        (false, true) if may_be.refusal => Delta::Refusal,
        _ => return None,
    };
    let told = deltas.iter().map(|delta| match delta {
        Delta::Text(text) => tell(text.clone()),
        other => other.clone(),
    });
    Some(told.collect())
}
