//! Deltas to Chat Completions bytes: chunks, whole replies, errors.
//!
//! What real clients need of each was measured: a tool call's first fragment has `index`, `id`,
//! `type` and `name`, later ones only `index` and `arguments` (a repeated name is concatenated by
//! five clients, an explicit null breaks the OpenAI helpers); `id`, `object`, `created` and `model`
//! are always there.

use super::reply::{Choice, Reply};
use super::stream::ChunkChoice;
use crate::error::Error;
use crate::ir::{CallKind, Delta, Fields, FinishReason, Ids, raw};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What a chunk or a reply is written into: the upstream's own top-level fields.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The upstream's fields; `choices` is replaced.
    pub fields: &'a Fields,
    /// For what the upstream left out.
    pub ids: &'a Ids,
    /// The model the client asked for.
    pub model: &'a str,
    /// Calls are written as the legacy `function_call`.
    pub legacy_functions: bool,
}

/// The fields of a message that deltas say: never copied from the upstream.
pub(crate) const SAID: [&str; 5] = ["role", "content", "refusal", "tool_calls", "function_call"];

/// One choice's part of a chunk to be written.
#[derive(Debug)]
pub struct ChoicePart<'a> {
    /// The upstream's chunk that it comes of; its unknown fields go along.
    pub source: &'a ChunkChoice,
    /// Whether the delta has the role: on the first chunk of the choice.
    pub role: bool,
    /// What the choice says.
    pub deltas: &'a [Delta],
    /// The log probabilities of all text since the last chunk written.
    pub logprobs: Option<Box<RawValue>>,
}

impl Envelope<'_> {
    fn write(&self, object: &str, choices: &[Fields]) -> Vec<u8> {
        let mut fields = Fields::default();
        for (name, default) in [
            ("id", raw(&self.ids.reply())),
            ("object", raw(object)),
            ("created", raw(&self.ids.created())),
            ("model", raw(self.model)),
        ] {
            if self
                .fields
                .raw(name)
                .is_none_or(|present| present == "null")
            {
                fields.set(name, default);
            }
        }
        for (name, value) in &self.fields.0 {
            if name == "choices" {
                fields.set(name, raw(choices));
            } else if !fields.has(name) {
                fields.set(name, value.clone());
            }
        }
        if !fields.has("choices") {
            fields.set("choices", raw(choices));
        }
        fields.to_json()
    }
}

/// One chunk, without its SSE framing.
#[must_use]
pub fn write_chunk(envelope: Envelope<'_>, parts: &[ChoicePart<'_>]) -> Vec<u8> {
    let choices: Vec<Fields> = parts
        .iter()
        .map(|part| chunk_choice(part, envelope.legacy_functions))
        .collect();
    envelope.write("chat.completion.chunk", &choices)
}

fn chunk_choice(part: &ChoicePart<'_>, legacy: bool) -> Fields {
    let said = Said::of(part.deltas);
    let mut delta = Fields::default();
    if part.role {
        delta.set("role", raw("assistant"));
    }
    if let Some(text) = &said.text {
        delta.set("content", raw(text));
    } else if part.role {
        delta.set("content", RawValue::NULL.to_owned());
    }
    for (name, value) in &part.source.delta.0 {
        if !SAID.contains(&name.as_str()) && value.get() != "null" {
            delta.set(name, value.clone());
        }
    }
    set_reasoning(&mut delta, &said);
    if let Some(text) = &said.refusal {
        delta.set("refusal", raw(text));
    }
    if legacy {
        if let Some(call) = said.calls.iter().find(|call| call.index == 0) {
            delta.set("function_call", raw(&call.legacy()));
        }
    } else if !said.calls.is_empty() {
        delta.set(
            "tool_calls",
            raw(&said.calls.iter().map(Call::fragment).collect::<Vec<_>>()),
        );
    }
    let mut choice = Fields::default();
    choice.set("index", raw(&part.source.index));
    choice.set("delta", raw(&delta));
    choice.set(
        "logprobs",
        part.logprobs
            .clone()
            .unwrap_or_else(|| RawValue::NULL.to_owned()),
    );
    choice.set("finish_reason", raw(&said.finish_word(legacy)));
    carry(&part.source.fields, &mut choice, "delta");
    choice
}

/// A whole reply, with the choices' deltas in place of what the upstream said.
#[must_use]
pub fn write_reply(envelope: Envelope<'_>, reply: &Reply, deltas: &[Vec<Delta>]) -> Vec<u8> {
    let choices: Vec<Fields> = reply
        .choices
        .iter()
        .zip(deltas)
        .map(|(choice, deltas)| whole_choice(choice, deltas, envelope.legacy_functions))
        .collect();
    envelope.write("chat.completion", &choices)
}

fn whole_choice(source: &Choice, deltas: &[Delta], legacy: bool) -> Fields {
    let said = Said::of(deltas);
    let mut message = Fields::default();
    message.set("role", raw("assistant"));
    let content = match &said.text {
        None if said.calls.is_empty() && said.refusal.is_none() => raw(""),
        text => raw(text),
    };
    message.set("content", content);
    // Always there: the field is not optional in OpenAI's own types.
    message.set("refusal", raw(&said.refusal));
    for (name, value) in &source.message.0 {
        if !SAID.contains(&name.as_str()) {
            message.set(name, value.clone());
        }
    }
    set_reasoning(&mut message, &said);
    if legacy {
        if let Some(call) = said.calls.iter().find(|call| call.index == 0) {
            message.set("function_call", raw(&call.legacy()));
        }
    } else if !said.calls.is_empty() {
        message.set(
            "tool_calls",
            raw(&said.calls.iter().map(Call::whole).collect::<Vec<_>>()),
        );
    }
    let mut choice = Fields::default();
    choice.set("index", raw(&source.index));
    choice.set("message", raw(&message));
    if let Some(logprobs) = source.fields.0.get("logprobs") {
        choice.set("logprobs", logprobs.clone());
    }
    choice.set("finish_reason", raw(&said.finish_word(legacy)));
    carry(&source.fields, &mut choice, "message");
    choice
}

/// Thinking that stood in the content, after the server's own.
fn set_reasoning(fields: &mut Fields, said: &Said) {
    let Some(text) = &said.reasoning else {
        return;
    };
    let own = fields.raw("reasoning_content");
    let own = own.and_then(|own| serde_json::from_str::<String>(own).ok());
    fields.set("reasoning_content", raw(&(own.unwrap_or_default() + text)));
}

/// Fields of the upstream's choice that nobody here knows.
fn carry(from: &Fields, to: &mut Fields, body: &str) {
    for (name, value) in &from.0 {
        if name != body && !["index", "logprobs", "finish_reason"].contains(&name.as_str()) {
            to.set(name, value.clone());
        }
    }
}

/// The deltas of one chunk or reply, put together.
#[derive(Default)]
struct Said {
    text: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    calls: Vec<Call>,
    finish: Option<FinishReason>,
}

struct Call {
    index: u32,
    start: Option<(String, String, CallKind)>,
    kind: CallKind,
    text: String,
}

impl Said {
    fn of(deltas: &[Delta]) -> Self {
        let mut said = Self::default();
        for delta in deltas {
            match delta {
                Delta::Text(text) => said.text.get_or_insert_default().push_str(text),
                Delta::Reasoning(text) => said.reasoning.get_or_insert_default().push_str(text),
                Delta::Refusal(text) => said.refusal.get_or_insert_default().push_str(text),
                Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                } => said.calls.push(Call {
                    index: *call,
                    start: Some((id.clone(), name.clone(), *kind)),
                    kind: *kind,
                    text: String::new(),
                }),
                Delta::CallInput { call, kind, text } => {
                    match said.calls.iter_mut().find(|open| open.index == *call) {
                        Some(open) => open.text.push_str(text),
                        None => said.calls.push(Call {
                            index: *call,
                            start: None,
                            kind: *kind,
                            text: text.clone(),
                        }),
                    }
                }
                Delta::Finish(reason) => said.finish = Some(reason.clone()),
            }
        }
        said
    }

    fn finish_word(&self, legacy: bool) -> Option<&str> {
        match &self.finish {
            Some(FinishReason::ToolCalls) if legacy => Some("function_call"),
            finish => finish.as_ref().map(FinishReason::as_str),
        }
    }
}

impl Call {
    fn fragment(&self) -> Value {
        let mut fragment = Map::new();
        fragment.insert("index".to_owned(), json!(self.index));
        if let Some((id, _, kind)) = &self.start {
            fragment.insert("id".to_owned(), json!(id));
            fragment.insert("type".to_owned(), json!(type_of(*kind)));
        }
        let name = self.start.as_ref().map(|(_, name, _)| name.as_str());
        fragment.insert(type_of(self.kind).to_owned(), self.body(name));
        Value::Object(fragment)
    }

    fn whole(&self) -> Value {
        let (id, name) = self
            .start
            .as_ref()
            .map_or(("", ""), |(id, name, _)| (id, name));
        json!({"id": id, "type": type_of(self.kind), type_of(self.kind): self.body(Some(name))})
    }

    fn legacy(&self) -> Value {
        self.body(self.start.as_ref().map(|(_, name, _)| name.as_str()))
    }

    fn body(&self, name: Option<&str>) -> Value {
        let mut body = Map::new();
        if let Some(name) = name {
            body.insert("name".to_owned(), json!(name));
        }
        let input = match self.kind {
            CallKind::Function => "arguments",
            CallKind::Custom => "input",
        };
        body.insert(input.to_owned(), json!(self.text));
        Value::Object(body)
    }
}

const fn type_of(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Function => "function",
        CallKind::Custom => "custom",
    }
}

#[derive(Serialize)]
struct ErrorWire<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<&'a str>,
    code: &'a str,
}

/// The error as a reply body: OpenAI's shape.
#[must_use]
pub fn error_body(error: &Error) -> Vec<u8> {
    let wire = ErrorWire {
        message: &error.message,
        r#type: error.kind.openai_type(),
        param: error.param.as_deref(),
        code: error.code.as_deref().unwrap_or(error.kind.code()),
    };
    serde_json::to_vec(&json!({"error": wire})).unwrap_or_default()
}

/// The error as one SSE event. The OpenAI clients raise on an `error` key in a chunk.
#[must_use]
pub fn error_event(error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    crate::sse::encode(&error_body(error), &mut out);
    out
}
