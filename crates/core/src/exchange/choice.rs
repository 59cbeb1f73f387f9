//! One choice of a stream: what of it is known, and what waits.

use super::beside::{Doubted, MAX_BYTES};
use super::flow::ChoiceFlow;
use super::goes_on;
use crate::ir::{Delta, Event, FinishReason, Violation};

/// One choice of the stream.
#[derive(Debug)]
pub(super) struct ChoiceStream {
    pub(super) flow: ChoiceFlow,
    pub(super) finished: bool,
    /// It has thoughts.
    pub(super) has_thought: bool,
    /// It has something else.
    pub(super) has_spoken: bool,
    /// Some of its text was good, and may have gone out.
    pub(super) has_answered: bool,
    /// It has called.
    pub(super) has_called: bool,
    /// Blanks that may stand before an answer, or beside a call.
    pub(super) blanks: String,
    /// What is wrong, or no answer.
    pub(super) doubted: Option<Box<Doubted>>,
}

/// What a delta was, where text may be held or read as a call.
#[derive(Debug)]
pub(super) enum Came {
    Text(String),
    Finish(FinishReason),
    Call(Delta),
    Other,
}

impl Came {
    pub(super) fn of(delta: &Delta) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text.clone()),
            Delta::Finish(reason) => Self::Finish(reason.clone()),
            Delta::CallStart { .. } | Delta::CallInput { .. } => Self::Call(delta.clone()),
            _ => Self::Other,
        }
    }

    /// Whether it went through alone and as it was.
    pub(super) fn is_all(&self, deltas: &[Delta]) -> bool {
        match (self, deltas) {
            (Self::Other, _) => true,
            (Self::Text(came), []) => came.is_empty(),
            (Self::Text(came), [Delta::Text(text)]) => came == text,
            (Self::Finish(came), [Delta::Finish(reason)]) => came == reason,
            (Self::Call(came), [told]) => came == told,
            _ => false,
        }
    }
}

impl ChoiceStream {
    /// A choice of which nothing has come.
    pub(super) const fn new(flow: ChoiceFlow) -> Self {
        Self {
            flow,
            finished: false,
            has_thought: false,
            has_spoken: false,
            has_answered: false,
            has_called: false,
            blanks: String::new(),
            doubted: None,
        }
    }

    /// What was taken for an answer was said on the way to one.
    pub(super) fn remark(&mut self, index: u32, text: String) -> Event {
        self.doubted = None;
        self.flow.forget_text();
        Event::Delta {
            choice: index,
            delta: Delta::Reasoning(text),
        }
    }

    /// What is told at last of the blanks that wait, and the delta, unless it waits with them: beside a call blanks say nothing,
    /// and clients would take them for an answer.
    pub(super) fn behind_blanks(&mut self, delta: Delta) -> (Option<Delta>, Option<Delta>) {
        match delta {
            Delta::Text(more) => {
                self.blanks.push_str(&more);
                let waits = more.trim_ascii().is_empty() && self.blanks.len() <= MAX_BYTES;
                let text = (!waits).then(|| Delta::Text(std::mem::take(&mut self.blanks)));
                (None, text)
            }
            Delta::Finish(_) if !self.has_called && !self.blanks.is_empty() => {
                let text = Delta::Text(std::mem::take(&mut self.blanks));
                (Some(text), Some(delta))
            }
            Delta::CallStart { .. } | Delta::Finish(_) => {
                self.blanks.clear();
                (None, Some(delta))
            }
            other => (None, Some(other)),
        }
    }

    /// What is wrong with what was waited for in vain.
    pub(super) fn unended(&self) -> Option<Violation> {
        let doubted = self.doubted.as_ref().filter(|_| !self.finished)?;
        Some(doubted.violation())
    }

    /// What comes after the choice's finish is dropped where it says nothing.
    ///
    /// # Errors
    /// It goes on: what was verified would not be what the client puts together.
    pub(super) fn after_end(&mut self, index: u32, delta: &Delta) -> Result<(), Violation> {
        if !delta.has_substance() {
            return Ok(());
        }
        match self.flow.is_lenient {
            true => self.flow.let_pass(goes_on(index)),
            false => return Err(goes_on(index)),
        }
        Ok(())
    }
}
