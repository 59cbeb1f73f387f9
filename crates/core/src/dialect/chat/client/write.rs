//! The events of a reply to Chat Completions bytes: chunks, or one body.
//!
//! What real clients need of each was measured: a tool call's first fragment has `index`, `id`,
//! `type` and `name`, later ones only `index` and `arguments` (a repeated name is concatenated by
//! five clients, an explicit null breaks the OpenAI helpers); `id`, `object`, `created` and `model`
//! are always there.

mod said;

use super::super::wire::Verbatim;
use crate::dialect::client::{Terms, Writer};
use crate::ir::{Choice, Delta, Event, Fields, Reply, Sealed, Start, Usage, raw};
use crate::sse;
use said::Said;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A body, or a chunk, around these choices: the server's own fields in their order, and before
/// them what it left out.
fn envelope(
    terms: &Terms,
    own: &Fields,
    start: &Start,
    object: &str,
    choices: &[Fields],
) -> Fields {
    let mut fields = Fields::default();
    let id = || start.id.clone().unwrap_or_else(|| terms.ids.reply());
    let created = || start.created.unwrap_or_else(|| terms.ids.created());
    let model = || start.model.as_deref().unwrap_or(&terms.model);
    let lacks = |name: &str| own.raw(name).is_none_or(|present| present == "null");
    if lacks("id") {
        fields.set("id", raw(&id()));
    }
    if lacks("object") {
        fields.set("object", raw(object));
    }
    if lacks("created") {
        fields.set("created", raw(&created()));
    }
    if lacks("model") {
        fields.set("model", raw(model()));
    }
    for (name, value) in &own.0 {
        if name == "choices" {
            fields.set(name, raw(choices));
        } else if !fields.has(name) {
            fields.set(name, value.clone());
        }
    }
    if !fields.has("choices") {
        fields.set("choices", raw(choices));
    }
    fields
}

/// Writes a stream. What is written of one [`Reply`] (a frame of the server's) is one chunk at most.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    terms: Terms,
    start: Start,
    /// The top-level fields of the first chunk, for a chunk of our own.
    envelope: Fields,
    /// The counts go out once, at the end, where chunks are written anew.
    usage: Option<Counted>,
    choices: BTreeMap<u32, Open>,
}

/// The last counts that came.
#[derive(Debug)]
enum Counted {
    /// The fields of the chunk that had them.
    Own(Fields),
    Usage(Usage),
}

/// A choice that has begun.
#[derive(Debug, Default)]
struct Open {
    role_sent: bool,
    /// Of the text since the last chunk written.
    logprobs: Vec<Box<RawValue>>,
}

impl ChunkWriter {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            start: Start::default(),
            envelope: Fields::default(),
            usage: None,
            choices: BTreeMap::new(),
        }
    }

    /// Whether a frame may go out as it came: nothing of the framing is to be repaired. Calls always
    /// are, and the role is first.
    fn is_kept(&self, frame: &Reply) -> bool {
        let has_role = |choice: &Choice| {
            choice.has_role
                || self
                    .choices
                    .get(&choice.index)
                    .is_some_and(|open| open.role_sent)
        };
        let is_call =
            |delta: &Delta| matches!(delta, Delta::CallStart { .. } | Delta::CallInput { .. });
        self.terms.keeps_bytes
            && frame.choices.iter().all(has_role)
            && !frame
                .choices
                .iter()
                .flat_map(|choice| &choice.deltas)
                .any(is_call)
    }

    fn keep(&mut self, frame: &Reply) {
        if frame.own.raw("usage").is_some_and(|usage| usage != "null") {
            self.usage = None;
        }
        for choice in &frame.choices {
            let open = self.choices.entry(choice.index).or_default();
            open.role_sent |= choice.has_role;
            open.logprobs.clear();
        }
    }

    /// Takes the token counts out of a frame.
    fn take_usage(&mut self, frame: &mut Reply) {
        let own = frame
            .own
            .remove("usage")
            .filter(|usage| usage.get() != "null");
        if let Some(usage) = own {
            let mut chunk = frame.own.clone();
            chunk.set("choices", raw::<[u8]>(&[]));
            chunk.set("usage", usage);
            self.usage = Some(Counted::Own(chunk));
        } else if let Some(usage) = frame.usage {
            self.usage = Some(Counted::Usage(usage));
        }
    }

    /// A choice's part of a chunk, where it says anything.
    fn part(&mut self, source: &Choice) -> Option<Fields> {
        let is_blank = |raw: &str| matches!(raw, "null" | "\"\"" | "[]" | "{}");
        if source.deltas.is_empty()
            && source.reasoning.is_empty()
            && source.sealed.is_empty()
            && source.message.0.values().all(|value| is_blank(value.get()))
        {
            return None;
        }
        let open = self.choices.entry(source.index).or_default();
        let role = !std::mem::replace(&mut open.role_sent, true);
        let logprobs = std::mem::take(&mut open.logprobs);
        let legacy = self.terms.legacy_functions;
        let said = Said::of(&source.deltas);
        let mut delta = Fields::default();
        if role {
            delta.set("role", raw("assistant"));
        }
        if let Some(text) = &said.text {
            delta.set("content", raw(text));
        } else if role {
            delta.set("content", RawValue::NULL.to_owned());
        }
        for (name, value) in &source.message.0 {
            if value.get() != "null" {
                delta.set(name, value.clone());
            }
        }
        think(&mut delta, source, &said);
        if let Some(text) = &said.refusal {
            delta.set("refusal", raw(text));
        }
        said.set_calls(&mut delta, legacy, true);
        let mut choice = Fields::default();
        choice.set("index", raw(&source.index));
        choice.set("delta", raw(&delta));
        choice.set("logprobs", written(&logprobs));
        choice.set("finish_reason", raw(&said.finish_word(legacy)));
        carry(&source.own, &mut choice);
        Some(choice)
    }
}

impl Writer for ChunkWriter {
    fn write(&mut self, events: Vec<Event>, verbatim: Option<&Verbatim<'_>>, out: &mut Vec<u8>) {
        let mut frame = Reply::fold(events);
        self.start.update(std::mem::take(&mut frame.start));
        if self.envelope.0.is_empty() && !frame.own.0.is_empty() {
            self.envelope = frame.own.clone();
            self.envelope.remove("usage");
        }
        for choice in &mut frame.choices {
            let open = self.choices.entry(choice.index).or_default();
            open.logprobs.append(&mut choice.logprobs);
        }
        if let Some(verbatim) = verbatim.filter(|_| self.is_kept(&frame)) {
            self.keep(&frame);
            sse::encode(verbatim.as_bytes(), out);
            return;
        }
        let parts: Vec<Fields> = (frame.choices.iter())
            .filter_map(|choice| self.part(choice))
            .collect();
        if parts.is_empty() || !self.terms.keeps_bytes || frame.own.0.is_empty() {
            self.take_usage(&mut frame);
        }
        if !parts.is_empty() {
            let own = match frame.own.0.is_empty() {
                true => &self.envelope,
                false => &frame.own,
            };
            let chunk = envelope(&self.terms, own, &self.start, CHUNK, &parts);
            sse::encode(&chunk.to_json(), out);
        }
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        if let Some(counted) = self.usage.take().filter(|_| self.terms.include_usage) {
            let chunk = match counted {
                Counted::Own(fields) => envelope(&self.terms, &fields, &self.start, CHUNK, &[]),
                Counted::Usage(usage) => {
                    let mut chunk = envelope(&self.terms, &self.envelope, &self.start, CHUNK, &[]);
                    chunk.set("usage", raw(&counts(usage)));
                    chunk
                }
            };
            sse::encode(&chunk.to_json(), out);
        }
        if let Some(note) = note {
            sse::comment(note, out);
        }
        out.extend_from_slice(sse::DONE);
    }
}

const CHUNK: &str = "chat.completion.chunk";

/// A whole reply.
pub(super) fn whole(terms: &Terms, reply: &Reply) -> Vec<u8> {
    let choices: Vec<Fields> = (reply.choices.iter())
        .map(|choice| whole_choice(choice, terms.legacy_functions))
        .collect();
    let mut body = envelope(terms, &reply.own, &reply.start, "chat.completion", &choices);
    if let Some(usage) = reply.usage.filter(|_| !body.has("usage")) {
        body.set("usage", raw(&counts(usage)));
    }
    body.to_json()
}

fn whole_choice(source: &Choice, legacy: bool) -> Fields {
    let said = Said::of(&source.deltas);
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
        message.set(name, value.clone());
    }
    think(&mut message, source, &said);
    said.set_calls(&mut message, legacy, false);
    let mut choice = Fields::default();
    choice.set("index", raw(&source.index));
    choice.set("message", raw(&message));
    if let Some(logprobs) = source.own.0.get("logprobs") {
        choice.set("logprobs", logprobs.clone());
    } else if !source.logprobs.is_empty() {
        choice.set("logprobs", written(&source.logprobs));
    }
    choice.set("finish_reason", raw(&said.finish_word(legacy)));
    carry(&source.own, &mut choice);
    choice
}

/// Thinking that stands in no field of the server's, after its own, and what is to be sent back as it
/// came: as clients know it that keep what they do not understand.
fn think(message: &mut Fields, source: &Choice, said: &Said) {
    if !source.reasoning.is_empty() || said.reasoning.is_some() {
        let own = message.raw("reasoning_content");
        let own = own.and_then(|own| serde_json::from_str::<String>(own).ok());
        let text = own.unwrap_or_default()
            + &source.reasoning
            + said.reasoning.as_deref().unwrap_or_default();
        message.set("reasoning_content", raw(&text));
    }
    let mut blocks = Vec::new();
    for sealed in &source.sealed {
        match sealed {
            Sealed::Thinking(block) => blocks.push(block),
            Sealed::Signature(signature) => {
                let extra = json!({"google": {"thought_signature": signature}});
                message.set("extra_content", raw(&extra));
            }
        }
    }
    if !blocks.is_empty() {
        message.set("thinking_blocks", raw(&blocks));
    }
}

/// Log probabilities, each as it came.
fn written(logprobs: &[Box<RawValue>]) -> Box<RawValue> {
    if logprobs.is_empty() {
        return RawValue::NULL.to_owned();
    }
    let mut fields = Fields::default();
    fields.set("content", raw(logprobs));
    raw(&fields)
}

/// Fields of the server's choice that nobody here knows.
fn carry(from: &Fields, to: &mut Fields) {
    for (name, value) in &from.0 {
        if name != "logprobs" {
            to.set(name, value.clone());
        }
    }
}

fn counts(usage: Usage) -> Value {
    let mut counts = json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt.saturating_add(usage.completion),
    });
    if let Some(cached) = usage.cached {
        counts["prompt_tokens_details"] = json!({"cached_tokens": cached});
    }
    if let Some(reasoning) = usage.reasoning {
        counts["completion_tokens_details"] = json!({"reasoning_tokens": reasoning});
    }
    counts
}
