//! The events of a reply to Completions bytes: chunks, or one body. They come from a server of the same wire
//! always, so that all but what was changed is there already.

use crate::dialect::chat::client as chat;
use crate::dialect::client::{Terms, Writer};
use crate::dialect::server::Verbatim;
use crate::ir::{Choice, Delta, Event, Fields, FinishReason, Reply, Start, raw};
use crate::sse;
use serde_json::value::RawValue;

/// The fields of a body, or of a chunk, around its choices.
fn envelope(terms: &Terms, own: &Fields, start: &Start) -> Fields {
    let object = "text_completion";
    let mut fields = chat::envelope(terms, own, start, object);
    // Whatever the server calls it.
    fields.set("object", raw(object));
    fields.set("choices", raw::<[u8]>(&[]));
    fields
}

fn choice(source: &Choice) -> Fields {
    let (mut text, mut finish) = (String::new(), None);
    for delta in &source.deltas {
        match delta {
            Delta::Text(more) | Delta::Refusal(more) => text.push_str(more),
            Delta::Finish(reason) => finish = Some(FinishReason::as_str(reason)),
            // There is no place for them, and no server of the wire makes any.
            Delta::Reasoning(_) | Delta::CallStart { .. } | Delta::CallInput { .. } => {}
        }
    }
    let mut fields = Fields::default();
    fields.set("index", raw(&source.index));
    fields.set("text", raw(&text));
    let logprobs = source.own.0.get("logprobs").cloned();
    fields.set(
        "logprobs",
        logprobs.unwrap_or_else(|| RawValue::NULL.to_owned()),
    );
    fields.set("finish_reason", raw(&finish));
    for (name, value) in &source.own.0 {
        if !fields.has(name) {
            fields.set(name, value.clone());
        }
    }
    fields
}

/// A whole reply.
pub(super) fn whole(terms: &Terms, reply: &Reply) -> Vec<u8> {
    let choices: Vec<Fields> = reply.choices.iter().map(choice).collect();
    let mut body = envelope(terms, &reply.own, &reply.start);
    body.set("choices", raw(&choices));
    if let Some(usage) = reply.usage.filter(|_| !body.has("usage")) {
        body.set("usage", raw(&chat::counts(usage)));
    }
    body.to_json()
}

/// Writes a stream.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    terms: Terms,
    start: Start,
    /// The last fields around choices, for chunks that have none of their own.
    own: Fields,
}

impl ChunkWriter {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            start: Start::default(),
            own: Fields::default(),
        }
    }
}

impl Writer for ChunkWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        if let Some(verbatim) = verbatim.filter(|_| self.terms.keeps_bytes) {
            events.clear();
            sse::encode(verbatim.as_bytes(), out);
            return;
        }
        let frame = Reply::fold(events.drain(..));
        self.start.update(frame.start);
        if !frame.own.0.is_empty() {
            self.own = frame.own.as_ref().clone();
            self.own.remove("usage");
        }
        let usage = frame
            .own
            .0
            .get("usage")
            .filter(|_| self.terms.include_usage);
        let is_bare = frame.choices.iter().all(|choice| choice.deltas.is_empty());
        if is_bare && usage.is_none_or(|usage| usage.get() == "null") {
            return;
        }
        let mut chunk = envelope(&self.terms, &self.own, &self.start);
        let choices: Vec<Fields> = (frame.choices.iter())
            .filter(|choice| !choice.deltas.is_empty())
            .map(choice)
            .collect();
        chunk.set("choices", raw(&choices));
        if let Some(usage) = usage {
            chunk.set("usage", usage.clone());
        }
        sse::encode(&chunk.to_json(), out);
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        if let Some(note) = note {
            sse::comment(note, out);
        }
        out.extend_from_slice(sse::DONE);
    }
}
