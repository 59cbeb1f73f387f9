//! Messages that a server of the same wire began: they are told as soon as it is known what they are. What they say may be the
//! answer, something on the way to one, which clients are told as a thought, or nothing beside a call.

use super::EventWriter;
use super::output::{Body, Status};
use super::theirs::texts;
use super::told::Teller;
use crate::ir::Fields;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::mem;

/// More of one are not kept: its end has them all.
const MAX_EVENTS: usize = 256;

/// More do not wait at once.
const MAX_BEGUN: usize = 64;

/// More of what comes behind one does not wait for it.
const MAX_LATER_BYTES: usize = 1 << 20;

/// A message of which nothing was told.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) id: Option<String>,
    /// As the server ended it.
    pub(super) item: Option<Value>,
    /// What its server says of it beside its text.
    events: Vec<Fields>,
}

impl Begun {
    const fn new(id: Option<String>) -> Self {
        Self {
            id,
            item: None,
            events: Vec::new(),
        }
    }

    fn text(&self) -> Option<String> {
        let (text, refusal) = texts(self.item.as_ref()?);
        Some(text + &refusal)
    }

    /// Keeps an event of the server's for later.
    pub(super) fn keep(&mut self, event: Fields) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }
}

/// What a server says behind a message that waits, in its order.
#[derive(Debug, Default)]
pub(super) struct Later {
    said: Vec<(String, Box<RawValue>)>,
    bytes: usize,
}

impl EventWriter {
    /// Whether this waits for the messages that were begun before it. What is about those themselves does not.
    pub(super) fn waits_behind(&mut self, name: &str, said: &RawValue) -> bool {
        #[derive(Deserialize)]
        struct Of {
            item_id: Option<String>,
            r#type: Option<String>,
            phase: Option<String>,
            id: Option<String>,
        }
        if self.begun.is_empty() {
            return false;
        }
        let of = serde_json::from_str::<Of>(said.get()).ok();
        let is_message = of.as_ref().is_some_and(|of| {
            of.r#type.as_deref() == Some("message") && of.phase.as_deref() != Some("commentary")
        });
        let id = of.and_then(|of| of.item_id.or(of.id));
        let is_theirs = self.begun.iter().any(|begun| begun.id == id);
        if is_theirs || name == "added" && is_message {
            return false;
        }
        self.later.bytes += said.get().len();
        self.later.said.push((name.to_owned(), said.to_owned()));
        true
    }

    /// Tells what waited: nothing more is known of the messages before it, unless it is too much to wait.
    pub(super) fn tell_later(&mut self, teller: &mut Teller<'_>) {
        let Later { said, .. } = mem::take(&mut self.later);
        for (name, said) in said {
            self.told_by_server(&name, &said, teller);
        }
    }

    /// Whether more waits than may.
    pub(super) const fn waits_too_long(&self) -> bool {
        self.later.bytes > MAX_LATER_BYTES
    }

    /// The messages that were begun say nothing that is told.
    pub(super) fn forget_begun(&mut self, teller: &mut Teller<'_>) {
        if !self.begun.is_empty() {
            self.begun.clear();
            self.tell_later(teller);
        }
    }

    /// The server begins a message.
    pub(super) fn begin_waiting(&mut self, id: Option<String>) {
        if self.begun.len() >= MAX_BEGUN {
            self.begun.remove(0);
        }
        self.begun.push(Begun::new(id));
    }

    /// The server ended a message of which nothing was told. One that says nothing is told as that.
    pub(super) fn end_begun(&mut self, at: usize, item: Value, teller: &mut Teller<'_>) {
        let Some(begun) = self.begun.get_mut(at) else {
            return;
        };
        begun.item = Some(item);
        if begun.text().is_some_and(|text| text.is_empty()) {
            let begun = self.begun.remove(at);
            let place = self.message(begun.id, teller);
            if let Some(item) = begun.item {
                self.items[place].ended_as(item);
            }
        }
    }

    /// The item of the message that is told now, with what is told of it behind its text.
    pub(super) fn begin_message(&mut self, teller: &mut Teller<'_>) -> (usize, Vec<Fields>) {
        let begun = self.begun.pop();
        // The others said nothing that is told.
        self.begun.clear();
        self.tell_later(teller);
        let Some(begun) = begun else {
            return (self.message(None, teller), Vec::new());
        };
        let place = self.message(begun.id, teller);
        if let Some(item) = begun.item {
            self.items[place].ended_as(item);
        }
        (place, begun.events)
    }

    fn message(&mut self, id: Option<String>, teller: &mut Teller<'_>) -> usize {
        let next = mem::replace(&mut self.next_id, id);
        let place = self.open(Body::Message(Vec::new()), teller);
        self.next_id = next;
        place
    }

    /// What turned out to be no answer: the messages that it was are thoughts, each in its place, which go back to the server as the
    /// messages that they were.
    pub(super) fn remark(&mut self, text: &str, teller: &mut Teller<'_>) {
        let mut rest = text;
        let next = self.next_id.take();
        let is_said = |said: &str, rest: &str| !said.is_empty() && rest.starts_with(said);
        while let Some(begun) = self.begun.first() {
            let Some(said) = begun.text().filter(|said| is_said(said, rest)) else {
                break;
            };
            rest = &rest[said.len()..];
            let begun = self.begun.remove(0);
            if said.trim().is_empty() {
                continue;
            }
            self.next_id = begun.id;
            let body = Body::theirs(String::new(), self.sums_up, begun.item);
            let place = self.open(body, teller);
            self.think_more(place, &said, teller);
            self.end(place, Status::Completed, teller);
        }
        self.think(rest, teller);
        self.next_id = next;
        if self.begun.is_empty() {
            self.tell_later(teller);
        }
    }
}
