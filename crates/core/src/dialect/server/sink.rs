//! What a server says of a reply in, the reply's events out: the same for every wire. Calls become
//! whole here ([`super::calls`]), and the finish of a choice tells of calls only where there are any.

use super::calls::{CallPiece, OpenCalls};
use crate::ir::{
    CallKind, Delta, Event, Fields, FinishReason, HostedCall, Ids, NoCall, Of, Sealed, Start, Usage,
};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The calls of each choice, as far as they came.
pub(in crate::dialect) type OpenCallsOf = BTreeMap<u32, OpenCalls>;

/// Takes what one event of a stream says, or a whole reply.
#[derive(Debug)]
pub struct Sink<'s> {
    events: Vec<Event>,
    calls: &'s mut OpenCallsOf,
    ids: &'s mut Ids,
    /// What is said is no longer said as the wire has it.
    is_rewritten: bool,
}

impl<'s> Sink<'s> {
    pub(in crate::dialect) const fn new(calls: &'s mut OpenCallsOf, ids: &'s mut Ids) -> Self {
        Self::after(Vec::new(), calls, ids)
    }

    /// A sink behind these events.
    pub(in crate::dialect) const fn after(
        events: Vec<Event>,
        calls: &'s mut OpenCallsOf,
        ids: &'s mut Ids,
    ) -> Self {
        Self {
            events,
            calls,
            ids,
            is_rewritten: false,
        }
    }

    pub(in crate::dialect) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What is known already to be said.
    pub(in crate::dialect) fn said(&mut self, events: impl IntoIterator<Item = Event>) {
        self.events.extend(events);
    }

    /// Whether what is said is no longer said as the wire has it.
    pub(in crate::dialect) const fn is_rewritten(&self) -> bool {
        self.is_rewritten
    }

    /// Something that came is not said, or in other pieces.
    pub(in crate::dialect) const fn rewrite(&mut self) {
        self.is_rewritten = true;
    }

    pub(in crate::dialect) fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// A new id for a call, where a wire needs it for more than the call.
    pub fn call_id(&mut self) -> String {
        self.ids.call()
    }

    /// Whether the reply, or a choice of it, ends with what came.
    pub fn has_end(&self) -> bool {
        let is_end =
            |event: &Event| event.is_finish() || matches!(event, Event::Done | Event::Error(_));
        self.events.iter().any(is_end)
    }

    /// The reply begins, as far as that is told.
    pub fn start(&mut self, start: Start) {
        self.events.push(Event::Start(start));
    }

    pub(in crate::dialect) fn id(&mut self, id: Option<String>) {
        if id.is_some() {
            self.start(Start {
                id,
                ..Start::default()
            });
        }
    }

    pub(in crate::dialect) fn model(&mut self, model: Option<String>) {
        if model.is_some() {
            self.start(Start {
                model,
                ..Start::default()
            });
        }
    }

    /// A choice, and whether its role is told.
    pub fn choice(&mut self, choice: u32, role: bool) {
        self.events.push(Event::Choice { choice, role });
    }

    /// What only this wire says.
    pub fn own(&mut self, of: Of, fields: Fields) {
        if !fields.0.is_empty() {
            let fields = Arc::new(fields);
            self.events.push(Event::Own { of, fields });
        }
    }

    fn delta(&mut self, choice: u32, delta: Delta) {
        self.events.push(Event::Delta { choice, delta });
    }

    /// More of the answer.
    pub fn text(&mut self, choice: u32, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.delta(choice, Delta::Text(text));
        }
    }

    /// More of a refusal.
    pub fn refusal(&mut self, choice: u32, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.delta(choice, Delta::Refusal(text));
        }
    }

    /// More of the thoughts.
    pub fn reasoning(&mut self, choice: u32, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let is_own = false;
            self.events.push(Event::Reasoning {
                choice,
                text,
                is_own,
            });
        }
    }

    /// The same, where it stands in the message's own fields as well.
    pub fn own_reasoning(&mut self, choice: u32, text: String) {
        let is_own = true;
        self.events.push(Event::Reasoning {
            choice,
            text,
            is_own,
        });
    }

    /// What only the server that made it can read.
    pub fn sealed(&mut self, choice: u32, sealed: Sealed) {
        self.events.push(Event::Sealed { choice, sealed });
    }

    /// A part of the message that nothing else tells.
    pub fn part(&mut self, choice: u32, part: Box<RawValue>) {
        self.events.push(Event::Part { choice, part });
    }

    /// What only this wire says of a call.
    pub fn of_call(&mut self, choice: u32, call: u32, own: Fields) {
        let own = Arc::new(own);
        self.events.push(Event::OfCall { choice, call, own });
    }

    /// The server calls a tool of its own.
    pub fn hosted(&mut self, choice: u32, call: HostedCall) {
        self.events.push(Event::Hosted { choice, call });
    }

    /// The model says more beside its answer.
    pub fn aside(&mut self, choice: u32, text: String) {
        self.events.push(Event::Aside { choice, text });
    }

    /// The tokens' probabilities.
    pub fn logprobs(&mut self, choice: u32, tokens: Vec<Box<RawValue>>) {
        if !tokens.is_empty() {
            self.events.push(Event::Logprobs { choice, tokens });
        }
    }

    /// A piece of a call, as the wire has it.
    pub(in crate::dialect) fn piece(&mut self, choice: u32, piece: CallPiece) {
        self.rewrite();
        let calls = self.calls.entry(choice).or_default();
        let mut deltas = Vec::new();
        let stepped = calls.step(piece, self.ids, &mut deltas);
        self.stepped(choice, deltas, stepped);
    }

    /// The same, and what only this wire says of the call.
    pub(in crate::dialect) fn piece_of(&mut self, choice: u32, piece: CallPiece, own: Fields) {
        let index = piece.index;
        self.piece(choice, piece);
        self.of_piece(choice, index, own);
    }

    /// What only this wire says of a call of which a piece came.
    pub(in crate::dialect) fn of_piece(&mut self, choice: u32, index: u32, own: Fields) {
        if own.0.is_empty() {
            return;
        }
        let calls = self.calls.get(&choice);
        if let Some(call) = calls.and_then(|calls| calls.started(index)) {
            self.of_call(choice, call, own);
        }
    }

    /// A function's call begins; `call` counts from 0 within the choice.
    pub fn call(&mut self, choice: u32, call: u32, id: Option<String>, name: String) {
        self.piece(
            choice,
            CallPiece {
                index: call,
                id: id.filter(|id| !id.is_empty()),
                name: Some(name).filter(|name| !name.is_empty()),
                text: None,
                kind: Some(CallKind::Function),
            },
        );
    }

    /// More of its arguments.
    pub fn arguments(&mut self, choice: u32, call: u32, text: String) {
        self.piece(
            choice,
            CallPiece {
                index: call,
                id: None,
                name: None,
                text: Some(text),
                kind: Some(CallKind::Function),
            },
        );
    }

    /// A function's call as a whole, on a wire that has no pieces of calls: it stands there as it is told, unless an id that was
    /// given to a call before is another here.
    pub(in crate::dialect) fn whole_call(&mut self, choice: u32, piece: CallPiece) {
        let (id, text) = (piece.id.clone(), piece.text.clone());
        let was_rewritten = self.is_rewritten;
        let from = self.events.len();
        self.piece(choice, piece);
        let is_told = match &self.events[from..] {
            [
                Event::Delta {
                    delta: Delta::CallStart { id: told, .. },
                    ..
                },
                Event::Delta {
                    delta: Delta::CallInput { text: input, .. },
                    ..
                },
            ] => id.is_none_or(|id| id == *told) && text.as_ref() == Some(input),
            _ => false,
        };
        self.is_rewritten = was_rewritten || !is_told;
    }

    /// The choice ends with a call of which the server could make nothing.
    pub fn unreadable(&mut self, choice: u32, calls: u32) {
        let fault = NoCall::Unreadable { calls };
        self.events.push(Event::NoCall { choice, fault });
    }

    /// The choice ends.
    pub fn finish(&mut self, choice: u32, reason: FinishReason) {
        let calls = self.calls.entry(choice).or_default();
        let mut deltas = Vec::new();
        let ended = match reason.is_cut() {
            true => {
                calls.cut(self.ids, &mut deltas);
                Ok(())
            }
            false => calls.end(self.ids, &mut deltas),
        };
        let has_calls = !calls.is_empty();
        self.stepped(choice, deltas, ended);
        self.delta(choice, Delta::Finish(reason.beside(has_calls)));
    }

    /// The reply is all there: a choice without a finish is done.
    pub(in crate::dialect) fn end_open(&mut self) {
        let mut choices: BTreeMap<u32, bool> = BTreeMap::new();
        for event in &self.events {
            if let Some(choice) = event.choice() {
                *choices.entry(choice).or_default() |= event.is_finish();
            }
        }
        for (choice, _) in choices.into_iter().filter(|(_, has_ended)| !has_ended) {
            self.finish(choice, FinishReason::Stop);
        }
    }

    fn stepped(&mut self, choice: u32, deltas: Vec<Delta>, stepped: Result<(), NoCall>) {
        for delta in deltas {
            self.delta(choice, delta);
        }
        if let Err(fault) = stepped {
            self.events.push(Event::NoCall { choice, fault });
        }
    }

    /// The counts of tokens.
    pub fn usage(&mut self, usage: Option<Usage>) {
        self.events.extend(usage.map(Event::Usage));
    }

    /// The reply is over.
    pub fn done(&mut self) {
        self.events.push(Event::Done);
    }

    /// The server's error as every reader of errors knows it: an object with a `message`.
    pub fn error(&mut self, raw: &RawValue) {
        let text = serde_json::from_str::<String>(raw.get());
        let error = text.map(|message| serde_json::json!({"message": message}).to_string());
        let error = error.unwrap_or_else(|_| raw.get().to_owned());
        self.events.push(Event::Error(error));
    }

    /// An error that the server reports: its own JSON text.
    pub(in crate::dialect) fn reported(&mut self, raw: &str) {
        self.events.push(Event::Error(raw.to_owned()));
    }

    /// An error in our words, of a reply that the server says went wrong.
    pub fn failed(&mut self, message: &str) {
        let error = serde_json::json!({"message": message});
        self.events.push(Event::Error(error.to_string()));
    }

    /// The event's data is no JSON. An error may be all the same.
    pub(in crate::dialect) fn unread(&mut self, data: &[u8]) {
        match super::error_text(data) {
            Some(_) => self.reported(&String::from_utf8_lossy(data)),
            None => self.garbage(),
        }
    }

    /// The event is none of the wire.
    pub fn garbage(&mut self) {
        self.events.push(Event::Garbage);
    }
}
