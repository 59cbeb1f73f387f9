//! A reply whose constraint holds from its first token on. Its events in; the same events out, but that what the server took for thoughts
//! is content where nothing else is.
//!
//! The template opened thoughts, and the server's reader of them takes what comes for some until they end: it does not know that
//! the constraint lets the model write nothing but the answer. Where content follows, they were thoughts: which of the two they
//! are is known when the choice speaks, or ends.

use crate::ir::{Delta, Event};

/// Of one choice. What is longer is content: no answer is held for good.
const MAX_HELD_BYTES: usize = 1 << 20;

/// What the server took for thoughts of each choice, as long as that is not known.
#[derive(Debug, Default)]
pub(super) struct AllContent {
    held: Vec<(u32, String)>,
    /// The choices of which it is known.
    known: Vec<u32>,
}

impl AllContent {
    /// Takes an event and appends those that are certain.
    pub(super) fn take(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Reasoning { choice, text, .. } if !self.known.contains(&choice) => {
                if self.hold(choice, &text) > MAX_HELD_BYTES {
                    self.settle(choice, true, out);
                }
            }
            Event::Delta { choice, ref delta } => {
                let is_end = matches!(delta, Delta::Finish(_));
                if is_end || delta.has_substance() {
                    self.settle(choice, is_end, out);
                }
                out.push(event);
            }
            event => out.push(event),
        }
    }

    /// The reply is all there, whether its choices ended or not.
    pub(super) fn end(mut self, out: &mut Vec<Event>) {
        while let Some((choice, _)) = self.held.first() {
            self.settle(*choice, true, out);
        }
    }

    /// How many bytes of the choice are held now.
    fn hold(&mut self, choice: u32, text: &str) -> usize {
        let mut choices = self.held.iter_mut();
        match choices.find(|(index, _)| *index == choice) {
            Some((_, held)) => {
                held.push_str(text);
                held.len()
            }
            None => {
                self.held.push((choice, text.to_owned()));
                text.len()
            }
        }
    }

    fn settle(&mut self, choice: u32, is_content: bool, out: &mut Vec<Event>) {
        if self.known.contains(&choice) {
            return;
        }
        self.known.push(choice);
        let Some(at) = self.held.iter().position(|(index, _)| *index == choice) else {
            return;
        };
        let (_, text) = self.held.remove(at);
        out.push(match is_content {
            true => Event::Delta {
                choice,
                delta: Delta::Text(text),
            },
            false => Event::Reasoning {
                choice,
                text,
                is_own: false,
            },
        });
    }
}
