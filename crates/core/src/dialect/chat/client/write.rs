//! The events of a reply to Chat Completions bytes: chunks, or one body.
//!
//! What real clients need of each was measured: a tool call's first fragment has `index`, `id`,
//! `type` and `name`, later ones only `index` and `arguments` (a repeated name is concatenated by
//! five clients, an explicit null breaks the OpenAI helpers); `id`, `object`, `created` and `model`
//! are always there.

mod chunk;
mod folded;

use crate::dialect::client::Terms;
use crate::ir::{Choice, Fields, Reply, Sealed, Start, Usage, raw};
pub(super) use chunk::ChunkWriter;
use folded::{Folded, write_list};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The fields of a body, or of a chunk: the server's own in their order, and before them what it left
/// out.
pub(in crate::dialect) fn envelope(
    terms: &Terms,
    own: &Fields,
    start: &Start,
    object: &str,
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
        if !fields.has(name) {
            fields.set(name, value.clone());
        }
    }
    if !fields.has("choices") {
        fields.set("choices", raw::<[u8]>(&[]));
    }
    fields
}

/// A whole reply.
pub(super) fn whole(terms: &Terms, reply: &Reply) -> Vec<u8> {
    let mut body = envelope(terms, &reply.own, &reply.start, "chat.completion");
    if let Some(usage) = reply.usage.filter(|_| !body.has("usage")) {
        body.set("usage", raw(&counts(usage)));
    }
    let mut out = Vec::with_capacity(body.text_len() + CHOICE_BYTES * reply.choices.len());
    body.write_with("choices", &mut out, |out| {
        write_list(&reply.choices, out, |choice, out| {
            write_choice(choice, terms.legacy_functions, out);
        });
    });
    out
}

/// What most choices take.
const CHOICE_BYTES: usize = 1024;

fn write_choice(source: &Choice, legacy: bool, out: &mut Vec<u8>) {
    let said = Folded::of(source);
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
    let mut choice = Fields::default();
    choice.set("index", raw(&source.index));
    choice.set("message", RawValue::NULL.to_owned());
    if let Some(logprobs) = source.own.0.get("logprobs") {
        choice.set("logprobs", logprobs.clone());
    } else {
        // Always there too.
        choice.set("logprobs", written(&source.logprobs));
    }
    choice.set("finish_reason", raw(&said.finish_word(legacy)));
    carry(&source.own, &mut choice);
    choice.write_with("message", out, |out| match said.calls_field(legacy) {
        Some(calls) => {
            message.set(calls, RawValue::NULL.to_owned());
            message.write_with(calls, out, |out| said.write_whole_calls(legacy, out));
        }
        None => message.write(out),
    });
}

/// Thinking that stands in no field of the server's, after its own, and what is to be sent back as it
/// came: as clients know it that keep what they do not understand.
fn think(message: &mut Fields, source: &Choice, said: &Folded) {
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

/// The same, behind what is written of a choice.
fn carry_into(from: &Fields, out: &mut Vec<u8>) {
    for (name, value) in from.0.iter().filter(|(name, _)| *name != "logprobs") {
        out.push(b',');
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut *out, name);
        out.push(b':');
        out.extend_from_slice(value.get().as_bytes());
    }
}

/// The counts of tokens, as clients read them.
pub(in crate::dialect) fn counts(usage: Usage) -> Value {
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
