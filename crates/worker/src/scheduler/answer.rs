//! One answer: tokens come in; its events go out, and whether it is over.

use super::costs::Odds;
use super::decoder::{Decoder, Run};
use crate::job::{Chosen, Event, Finish, Usage};
use crate::kernel::Slot;
use crate::media::Sequence;
use crate::text::{Pushed, TextStream};
use crate::vocabulary::{Token, Vocabulary};
use isogloss_core::error::Error;
use std::any::Any;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// What an answer's decoder is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// What the answer must begin with.
    Begin,
    /// The next mask.
    Mask,
    /// The next token, as soon as there are logits.
    Choose,
}

/// Logits, and the draft that they were computed with.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Those after the last token, then those after each of the draft.
    pub(super) logits: Vec<f32>,
    pub(super) draft: Vec<Token>,
}

pub(super) struct Answer {
    /// Goes up with age: the smallest is the oldest.
    pub(super) id: u64,
    pub(super) events: Sender<Event>,
    pub(super) _holds: Option<Arc<dyn Any + Send + Sync>>,
    /// The prompt, and what was chosen or forced so far.
    pub(super) tokens: Sequence,
    /// How many of these are the prompt.
    pub(super) prompt: u32,
    /// How many there may be.
    pub(super) most: u32,
    /// `None`: it lost its slot to an older answer and waits for another.
    pub(super) slot: Option<Slot>,
    /// Tokens that the KV cache has room for on its behalf.
    pub(super) reserved: u32,
    /// `None`: another thread has it.
    pub(super) decoder: Option<Decoder>,
    pub(super) stage: Due,
    /// Logits after the last token, kept until the mask for them is there.
    pub(super) held: Option<Held>,
    /// What may come next.
    pub(super) draft: Vec<Token>,
    /// Tokens of a draft at the end of its slot of which it is not known yet whether they are right.
    pub(super) drafted: u32,
    /// How often drafts of it are right.
    pub(super) odds: Odds,
    /// Its slot may hold more than is right.
    pub(super) is_ahead: bool,
    pub(super) text: TextStream,
    /// The last token stands within a tag.
    pub(super) is_within: bool,
    /// Tokens since the last text that was told.
    pub(super) untold: u32,
    pub(super) usage: Usage,
    /// The step in which it last computed something.
    pub(super) served: u64,
}

impl Answer {
    pub(super) fn len(&self) -> u32 {
        self.tokens.len()
    }

    /// Tokens that the answer may still have.
    pub(super) fn room(&self) -> u32 {
        self.most.saturating_sub(self.len())
    }

    /// Whether its decoder is here and has a constraint.
    pub(super) fn is_constrained(&self) -> bool {
        self.decoder.as_ref().is_some_and(Decoder::is_constrained)
    }

    /// How long a draft may be: as it is, of at most so many tokens, and as far as room was kept for it.
    pub(super) fn draft_room(&self, most: u32) -> usize {
        let room = self.reserved.saturating_sub(self.len()).min(most) as usize;
        room.min(self.draft.len())
    }

    /// Takes tokens, and tells their text. Says why the answer is over, if it is: a whole answer
    /// is whole even if it took the last token that it might.
    pub(super) fn take(&mut self, run: Run, vocabulary: &Vocabulary) -> Option<Finish> {
        let mut text = String::new();
        let mut told: Vec<Chosen> = Vec::new();
        let mut has_stopped = false;
        let mut has_ended = run.is_over;
        for step in run.steps {
            self.usage.completion += 1;
            self.usage.forced += u32::from(step.is_forced);
            self.usage.steered += u32::from(step.is_steered);
            if vocabulary.is_end(step.token) {
                has_ended = true;
                break;
            }
            self.tokens.push(step.token);
            self.untold += 1;
            told.extend(step.chosen);
            let pushed = self.read(vocabulary.text(step.token), step.is_within);
            text.push_str(&pushed.text);
            if pushed.stopped {
                has_stopped = true;
                break;
            }
        }
        let finish = if has_stopped || has_ended {
            Some(Finish::Stop)
        } else {
            (self.room() == 0).then_some(Finish::Length)
        };
        if finish.is_some() && !has_stopped {
            text.push_str(&self.text.finish());
        }
        if !text.is_empty() || !told.is_empty() {
            let tokens = std::mem::take(&mut self.untold);
            self.tell(Event::Text {
                text,
                chosen: told,
                tokens,
            });
        }
        finish
    }

    /// The text of a token, behind which something is open or not. The tokens that begin and end a tag are of it.
    fn read(&mut self, bytes: &[u8], is_open: bool) -> Pushed {
        let was_within = self.is_within;
        // Nothing may end within a character either.
        self.is_within = is_open && (was_within || !self.text.breaks_off(bytes));
        match was_within || self.is_within {
            true => Pushed {
                text: self.text.pass(bytes),
                stopped: false,
            },
            false => self.text.push(bytes),
        }
    }

    pub(super) fn finish(&self, reason: Finish) {
        self.tell(Event::Finished {
            reason,
            usage: self.usage,
        });
    }

    pub(super) fn fail(&self, error: Error) {
        self.tell(Event::Failed(error));
    }

    /// Tells an event. If nobody listens any more, the next step finds out.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.try_send(event);
    }
}
