//! What is said while a call is open.

use super::EventWriter;
use super::output::{Body, Item, PartKind, Status};
use super::told::Teller;
use crate::ir::{CallKind, FinishReason, Sealed};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::mem;

/// What is no call.
#[derive(Debug)]
pub(super) enum Said {
    /// A text, with what is told of its tokens.
    Part(PartKind, String, Vec<Box<RawValue>>),
    Thought(String),
    Sealed(Vec<Sealed>),
}

impl EventWriter {
    /// Whether what is said now waits for the end of the call that is open, since items follow each other: mirascope 2.8 fails at a
    /// text before the call is told as whole. What a server of Responses' says is in an order of its own.
    pub(super) fn waits(&mut self, said: impl FnOnce() -> Said) -> bool {
        let is_open =
            |item: &Item| matches!(item.body, Body::Call(_)) && item.status == Status::InProgress;
        let waits = self.base.is_none() && self.items.iter().any(is_open);
        if !waits {
            return false;
        }
        match (self.waiting.last_mut(), said()) {
            (Some(Said::Part(kind, text, all)), Said::Part(same, more, logprobs))
                if *kind == same =>
            {
                text.push_str(&more);
                all.extend(logprobs);
            }
            (Some(Said::Thought(text)), Said::Thought(more)) => text.push_str(&more),
            (_, said) => self.waiting.push(said),
        }
        true
    }

    /// Ends the calls behind which something waits, and says that. Where the reply was cut, a call that is open may be half of one.
    pub(super) fn say_waiting(&mut self, teller: &mut Teller<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let is_cut = self.finish.as_ref().is_some_and(FinishReason::is_cut);
        if is_cut {
            self.leave_out_halves();
        }
        for place in 0..self.items.len() {
            if let Body::Call(call) = &self.items[place].body {
                let is_half = is_cut
                    && call.kind == CallKind::Function
                    && serde_json::from_str::<IgnoredAny>(&call.input).is_err();
                let status = match is_half {
                    true => Status::Incomplete,
                    false => Status::Completed,
                };
                self.end(place, status, teller);
            }
        }
        for said in mem::take(&mut self.waiting) {
            match said {
                Said::Part(kind, text, logprobs) => self.add(kind, &text, logprobs, teller),
                Said::Thought(text) => self.think(&text, teller),
                Said::Sealed(sealed) => self.seal(&sealed, teller),
            }
        }
    }
}
