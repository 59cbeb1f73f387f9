//! Refusals that are told as an answer would be: which of the two a text was, the end alone tells (Anthropic's `stop_reason`
//! `refusal`, which goes before any form that was asked for). The client hears them as refusals, never as an answer.

use crate::ir::{Choice, Delta, FinishReason, Violation};

/// More of a text is not waited for.
const MAX_BYTES: usize = 64 << 10;

/// A text of a stream that breaks what is asked for, and may be a refusal.
#[derive(Debug)]
pub(super) struct Refused {
    violation: Violation,
    text: String,
}

impl Refused {
    /// What broke the contract, if the delta could begin a refusal.
    pub(super) fn begin(violation: Violation, delta: &Delta) -> Result<Box<Self>, Violation> {
        match delta {
            Delta::Text(text) => Ok(Box::new(Self {
                violation,
                text: text.clone(),
            })),
            _ => Err(violation),
        }
    }

    /// Takes the next delta; at its end the refusal.
    ///
    /// # Errors
    /// It is none: what was broken.
    pub(super) fn step(&mut self, delta: Delta) -> Result<Option<[Delta; 2]>, Violation> {
        match delta {
            Delta::Text(more) if self.text.len() + more.len() <= MAX_BYTES => {
                self.text.push_str(&more);
                Ok(None)
            }
            Delta::Finish(reason @ FinishReason::ContentFilter) => {
                let text = std::mem::take(&mut self.text);
                Ok(Some([Delta::Refusal(text), Delta::Finish(reason)]))
            }
            _ => Err(self.violation.clone()),
        }
    }

    /// What was broken.
    pub(super) fn violation(&self) -> Violation {
        self.violation.clone()
    }
}

/// A whole choice as the refusal that it may be; `None` where it has anything but a text that was filtered.
pub(super) fn refusal(choice: &Choice) -> Option<Vec<Delta>> {
    let mut text = String::new();
    let mut told = Vec::new();
    for delta in &choice.deltas {
        match delta {
            Delta::Text(more) => text.push_str(more),
            Delta::Reasoning(_) => told.push(delta.clone()),
            Delta::Finish(FinishReason::ContentFilter) if !text.is_empty() => {
                told.push(Delta::Refusal(std::mem::take(&mut text)));
                told.push(delta.clone());
            }
            _ => return None,
        }
    }
    text.is_empty().then_some(told)
}
