//! What a server of the same wire says beside what was verified: its ids, its own items, citations, encrypted thoughts.

use super::super::names::joined;
use super::output::{Body, Item, PartKind, Status};
use super::told::Teller;
use super::{EventWriter, counts, sound};
use crate::ir::{CallKind, Delta, Fields, Reply, raw};
use serde_json::Value;

impl EventWriter {
    /// Takes what the reader of this wire noted, each under a name of its own.
    pub(super) fn theirs(&mut self, said: &Fields, teller: &mut Teller<'_>) {
        for (name, value) in &said.0 {
            match name.as_str() {
                "response" => self.base = serde_json::from_str(value.get()).ok(),
                "added" => self.added(&item(value.get()), teller),
                "done" => self.done(item(value.get()), teller),
                "event" => {
                    self.begin(teller);
                    teller.theirs(serde_json::from_str(value.get()).unwrap_or_default());
                }
                // A whole reply, told as a stream.
                "output" if !self.has_begun => self.base = Some(said.clone()),
                _ => {}
            }
        }
    }

    fn added(&mut self, item: &Value, teller: &mut Teller<'_>) {
        self.begin(teller);
        self.next_id = item["id"].as_str().map(str::to_owned);
        let body = match item["type"].as_str() {
            Some("message") if !is_aside(item) => Body::Message(Vec::new()),
            Some("reasoning") => Body::Reasoning {
                text: String::new(),
                sealed: Vec::new(),
                is_summary: self.sums_up,
                // Its own is what it can read.
                is_kept: false,
            },
            // What is called comes with it.
            Some("function_call" | "custom_tool_call") => return,
            Some(_) if sound::is_item(item) => Body::Theirs(item.clone()),
            _ => return,
        };
        self.open(body, teller);
    }

    fn done(&mut self, item: Value, teller: &mut Teller<'_>) {
        let id = item["id"].as_str();
        let is_it = |known: &Item| Some(known.id.as_str()) == id;
        let Some(place) = self.items.iter().rposition(is_it) else {
            return;
        };
        let status = match item["status"].as_str() {
            Some("incomplete") => Status::Incomplete,
            _ => Status::Completed,
        };
        let Some(known) = self.items.get_mut(place) else {
            return;
        };
        if is_said(&known.body, &item) && sound::is_item(&item) {
            known.own = Some(item);
        }
        // Agents do what a call says as soon as they are told that it is whole, and that it is what was asked for is
        // known at the reply's end.
        match known.body {
            Body::Call(_) | Body::Message(_) => known.ended = Some(status),
            Body::Reasoning { .. } | Body::Theirs(_) => self.end(place, status, teller),
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
            let input = match call.kind {
                CallKind::Function => &item["arguments"],
                CallKind::Custom => &item["input"],
            };
            named && *input == call.input.as_str()
        }
    }
}

/// Whether a message is no part of the answer.
fn is_aside(message: &Value) -> bool {
    message["phase"] == "commentary"
}

/// The text and the refusal of a message.
fn texts(item: &Value) -> (String, String) {
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

/// Whether a whole reply of the server's says what was verified: the same text, and the same calls.
pub(super) fn says_the_same(reply: &Reply) -> bool {
    let output = reply.own.raw("output");
    let output = output.and_then(|raw| serde_json::from_str::<Vec<Value>>(raw).ok());
    let (Some(output), [choice]) = (output, reply.choices.as_slice()) else {
        return false;
    };
    let (mut text, mut refusal, mut calls) = (String::new(), String::new(), Vec::new());
    for item in &output {
        match item["type"].as_str() {
            Some("message") if !is_aside(item) => {
                let said = texts(item);
                text.push_str(&said.0);
                refusal.push_str(&said.1);
            }
            Some(kind @ ("function_call" | "custom_tool_call")) => {
                let word = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
                let name = match word("namespace").as_str() {
                    "" => word("name"),
                    namespace => joined(namespace, &word("name")),
                };
                let input = if kind == "function_call" {
                    "arguments"
                } else {
                    "input"
                };
                calls.push((word("call_id"), name, word(input)));
            }
            _ => {}
        }
    }
    let (mut told, mut refused, mut called) = (String::new(), String::new(), Vec::new());
    for delta in &choice.deltas {
        match delta {
            Delta::Text(text) => told.push_str(text),
            Delta::Refusal(text) => refused.push_str(text),
            Delta::CallStart { id, name, .. } => {
                called.push((id.clone(), name.clone(), String::new()));
            }
            Delta::CallInput { call, text, .. } => {
                let call = usize::try_from(*call).ok();
                if let Some((.., input)) = call.and_then(|call| called.get_mut(call)) {
                    input.push_str(text);
                }
            }
            _ => {}
        }
    }
    (text, refusal, calls) == (told, refused, called)
}
