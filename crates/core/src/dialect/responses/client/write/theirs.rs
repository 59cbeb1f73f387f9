//! What a server of the same wire says beside what was verified: its ids, its own items, citations, encrypted thoughts.

use super::output::{Body, Item, Part, PartKind, Status, words};
use super::told::Teller;
use super::{EventWriter, counts, sound};
use crate::ir::{Fields, Of, raw};
use serde_json::value::RawValue;
use serde_json::{Value, json};

impl EventWriter {
    /// Takes what the reader of this wire noted, each under a name of its own.
    pub(super) fn theirs(&mut self, of: Of, said: &Fields, teller: &mut Teller<'_>) {
        if of == Of::Whole {
            self.base = Some(said.clone());
            return;
        }
        for (name, value) in &said.0 {
            match name.as_str() {
                "response" => self.base = serde_json::from_str(value.get()).ok(),
                // A whole reply, told as a stream.
                "output" if !self.has_begun => self.base = Some(said.clone()),
                "added" | "done" | "event" if !self.waits_behind(name, value) => {
                    self.told_by_server(name, value, teller);
                }
                _ if self.waits_too_long() => self.tell_later(teller),
                _ => {}
            }
        }
    }

    /// Takes one of them whose turn it is.
    pub(super) fn told_by_server(&mut self, name: &str, said: &RawValue, teller: &mut Teller<'_>) {
        match name {
            "added" => self.added(&item(said.get()), teller),
            "done" => self.done(item(said.get()), teller),
            _ => {
                self.begin(teller);
                let event = serde_json::from_str(said.get()).unwrap_or_default();
                self.tell_theirs(event, teller);
            }
        }
    }

    /// Tells an event of the server's, of the item of its id, unless that is still to be told.
    pub(super) fn tell_theirs(&mut self, mut event: Fields, teller: &mut Teller<'_>) {
        let id = event.raw("item_id");
        let id: Option<String> = id.and_then(|id| serde_json::from_str(id).ok());
        if id.is_some()
            && let Some(begun) = self.begun.iter_mut().find(|begun| begun.id == id)
        {
            begun.keep(event);
            return;
        }
        let is_it = |item: &Item| Some(&item.id) == id.as_ref();
        if let Some(place) = self.items.iter().rposition(is_it)
            && event.has("output_index")
        {
            event.set("output_index", raw(&place));
        }
        teller.theirs(event);
    }

    fn added(&mut self, item: &Value, teller: &mut Teller<'_>) {
        self.begin(teller);
        let id = item["id"].as_str().map(str::to_owned);
        if item["type"] == "message" && !is_aside(item) {
            self.begin_waiting(id);
            return;
        }
        self.next_id = id;
        let body = match item["type"].as_str() {
            Some("reasoning") => Body::theirs(String::new(), self.sums_up, None),
            // What is called comes with it.
            Some("function_call" | "custom_tool_call") => return,
            Some(_) if sound::is_item(item) => Body::Theirs(item.clone()),
            _ => return,
        };
        self.open(body, teller);
    }

    fn done(&mut self, item: Value, teller: &mut Teller<'_>) {
        let id = item["id"].as_str();
        if let Some(at) = (self.begun.iter()).position(|begun| begun.id.as_deref() == id) {
            self.end_begun(at, item, teller);
            return;
        }
        let is_it = |known: &Item| Some(known.id.as_str()) == id;
        let Some(place) = self.items.iter().rposition(is_it) else {
            return;
        };
        let known = &mut self.items[place];
        known.ended_as(item);
        // Agents do what a call says as soon as they are told that it is whole, and that it is what was asked for is
        // known at the reply's end.
        if let Body::Reasoning { .. } | Body::Theirs(_) = known.body {
            let status = known.ended.unwrap_or(Status::Completed);
            self.end(place, status, teller);
        }
    }

    /// The server's object with what was told the client.
    pub(super) fn completed(&self, mut fields: Fields, is_over: bool) -> Fields {
        let output: Vec<Value> = match is_over {
            true => self.items.iter().map(Item::json).collect(),
            false => Vec::new(),
        };
        fields.set("output", raw(&output));
        if let Some(usage) = self.usage.filter(|_| is_over && !fields.has("usage")) {
            fields.set("usage", raw(&counts(usage)));
        }
        if !is_over {
            fields.set("status", raw(Status::InProgress.as_str()));
            fields.set("usage", raw(&Value::Null));
        }
        // The last member is what tells the last event.
        fields.remove("error");
        let usage = fields.remove("usage").unwrap_or_else(|| raw(&Value::Null));
        if !is_over {
            fields.set("error", raw(&Value::Null));
        }
        fields.set("usage", usage);
        if is_over {
            fields.set("error", raw(&Value::Null));
        }
        fields
    }
}

fn item(raw: &str) -> Value {
    serde_json::from_str(raw).unwrap_or_default()
}

/// The server's item, with what was verified in it; `None` where it is not of the kind.
pub(super) fn retold(body: &Body, item: &Value) -> Option<Value> {
    if is_said(body, item) {
        return Some(item.clone());
    }
    let mut item = item.clone();
    match body {
        Body::Message(parts) if item["type"] == "message" => {
            item["content"] = parts.iter().map(Part::json).collect();
        }
        Body::Call(call) if call.own.is_none() => {
            let (kind, input) = words(call.kind);
            if item["type"] != kind {
                return None;
            }
            item["call_id"] = json!(call.id);
            item["name"] = json!(call.name);
            if let Some(namespace) = &call.namespace {
                item["namespace"] = json!(namespace);
            }
            item[input] = json!(call.input);
        }
        _ => return None,
    }
    Some(item)
}

/// Whether the server's item says what was verified of it.
fn is_said(body: &Body, item: &Value) -> bool {
    match body {
        Body::Theirs(_) => true,
        // Nothing is demanded of thoughts.
        Body::Reasoning { .. } => item["type"] == "reasoning",
        Body::Message(parts) => {
            let said = |wanted| {
                let parts = parts.iter().filter(move |part| part.kind == wanted);
                parts.map(|part| part.text.as_str()).collect::<String>()
            };
            texts(item) == (said(PartKind::Text), said(PartKind::Refusal))
        }
        Body::Call(call) => {
            let named = item["name"] == call.name.as_str() && item["call_id"] == call.id.as_str();
            let (_, input) = words(call.kind);
            named && item[input] == call.input.as_str()
        }
    }
}

/// Whether a message is no part of the answer.
pub(super) fn is_aside(message: &Value) -> bool {
    message["phase"] == "commentary"
}

/// The text and the refusal of a message.
pub(super) fn texts(item: &Value) -> (String, String) {
    let (mut text, mut refusal) = (String::new(), String::new());
    for part in item["content"].as_array().into_iter().flatten() {
        match part["type"].as_str() {
            Some("output_text") => text.push_str(part["text"].as_str().unwrap_or_default()),
            Some("refusal") => refusal.push_str(part["refusal"].as_str().unwrap_or_default()),
            _ => {}
        }
    }
    (text, refusal)
}
