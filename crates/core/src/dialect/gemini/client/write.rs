//! The events of a reply to Gemini's bytes: whole replies, of which a stream has many.
//!
//! A call is a part with all of its arguments, so its input waits for its end. The last reply of a stream
//! has the finish reasons, as Gemini's own has. Each has `usageMetadata`, which some clients take for granted: with the
//! counts that the server told so far, which for most are zeros before the end.

mod logprobs;
mod parts;

use super::Frames;
use crate::dialect::client::{Terms, Writer};
use crate::dialect::server::Verbatim;
use crate::ir::{Choice, Event, Fields, FinishReason, Reply, Start, Usage, raw};
use crate::json::on_one_line;
use crate::sse;
use parts::{Open, Part};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Content<'p> {
    parts: &'p [Part],
    role: &'static str,
}

/// The word for a finish. A call ends with STOP too.
fn word(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::StopText(_) | FinishReason::ToolCalls => "STOP",
        FinishReason::Length | FinishReason::Paused(_) => "MAX_TOKENS",
        FinishReason::ContentFilter => "SAFETY",
        FinishReason::Other(_) => "OTHER",
    }
}

/// How a candidate ended.
#[derive(Debug, Default)]
struct End {
    /// What came with it.
    parts: Vec<Part>,
    reason: Option<FinishReason>,
    /// A refusal: what the client must not take for an answer.
    refusal: String,
}

impl End {
    fn word(&self) -> Option<&'static str> {
        match &self.reason {
            Some(_) if !self.refusal.is_empty() => Some("SAFETY"),
            reason => reason.as_ref().map(word),
        }
    }
}

fn candidate(index: u32, parts: &[Part], end: Option<&End>, own: &Fields) -> Fields {
    let mut out = Fields::default();
    let role = "model";
    out.set("content", raw(&Content { parts, role }));
    if let Some(word) = end.and_then(End::word) {
        out.set("finishReason", raw(word));
    }
    out.set("index", raw(&index));
    if let Some(end) = end.filter(|end| !end.refusal.is_empty()) {
        out.set("finishMessage", raw(&end.refusal));
    }
    for (name, value) in &own.0 {
        if !out.has(name) && name != "finishReason" {
            out.set(name, value.clone());
        }
    }
    out
}

fn counts(usage: Usage) -> Value {
    let thoughts = usage.reasoning.unwrap_or_default();
    let mut counts = json!({
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": usage.completion.saturating_sub(thoughts),
        "totalTokenCount": usage.prompt.saturating_add(usage.completion),
    });
    if usage.reasoning.is_some() {
        counts["thoughtsTokenCount"] = json!(thoughts);
    }
    if let Some(cached) = usage.cached {
        counts["cachedContentTokenCount"] = json!(cached);
    }
    counts
}

/// A reply around its candidates.
fn reply(
    terms: &Terms,
    start: &Start,
    candidates: &[Fields],
    usage: Option<Value>,
    own: &Fields,
) -> Vec<u8> {
    let mut out = Fields::default();
    out.set("candidates", raw(candidates));
    for (name, value) in &own.0 {
        if !out.has(name) {
            out.set(name, value.clone());
        }
    }
    if let Some(usage) = usage.filter(|_| !out.has("usageMetadata")) {
        out.set("usageMetadata", raw(&usage));
    }
    let model = start.model.as_deref().unwrap_or(&terms.model);
    out.set("modelVersion", raw(model));
    let id = start.id.clone().unwrap_or_else(|| {
        let id = terms.ids.reply();
        id.split_once('-')
            .map_or(id.clone(), |(_, id)| id.to_owned())
    });
    out.set("responseId", raw(&id));
    out.to_json()
}

/// A whole reply.
pub(super) fn whole(terms: &Terms, source: &Reply) -> Vec<u8> {
    let mut candidates = Vec::with_capacity(source.choices.len());
    for choice in &source.choices {
        let mut open = Open::default();
        let mut end = End::default();
        let mut parts = open.parts(choice, &mut end);
        parts.append(&mut end.parts);
        let parts = parts::joined(parts);
        let parts = if parts.is_empty() {
            vec![Part::empty()]
        } else {
            parts
        };
        let mut written = candidate(choice.index, &parts, Some(&end), &choice.own);
        tell_logprobs(choice, &mut written);
        candidates.push(written);
    }
    let usage = counts(source.usage.unwrap_or_default());
    reply(terms, &source.start, &candidates, Some(usage), &source.own)
}

fn tell_logprobs(choice: &Choice, written: &mut Fields) {
    if let Some(result) = logprobs::result(&choice.logprobs) {
        written.set("logprobsResult", raw(&result));
    }
}

/// Writes a stream.
#[derive(Debug)]
pub(super) struct ReplyWriter {
    terms: Terms,
    frames: Frames,
    start: Start,
    usage: Option<Usage>,
    /// The same in the words of a server of this wire, which has more.
    own_usage: Option<Box<RawValue>>,
    open: BTreeMap<u32, Open>,
    ends: BTreeMap<u32, End>,
    has_begun: bool,
}

impl ReplyWriter {
    pub(super) fn new(terms: Terms, frames: Frames) -> Self {
        Self {
            terms,
            frames,
            start: Start::default(),
            usage: None,
            own_usage: None,
            open: BTreeMap::new(),
            ends: BTreeMap::new(),
            has_begun: false,
        }
    }

    fn frame(&mut self, data: &[u8], out: &mut Vec<u8>) {
        match self.frames {
            // SDKs of Google's read one line of an event (`@google/genai` 2.32, google-genai before 1.75).
            Frames::Events => sse::encode(&on_one_line(data), out),
            Frames::List => {
                out.extend_from_slice(if self.has_begun { b",\r\n" } else { b"[" });
                out.extend_from_slice(data);
            }
        }
        self.has_begun = true;
    }

    /// What is known so far: clients of strict types leave frames whose counts are none (rig before 0.40, koog before 2026), and the last
    /// frame's are those that count.
    fn counted(&self) -> Value {
        counts(self.usage.unwrap_or_default())
    }

    /// What a frame says of a candidate, but for its end. Calls come together with that: google-genai puts into the conversation what
    /// the last frame calls, and others read the first part of a frame alone (rig before 0.21, Prism).
    fn said(&mut self, choice: &Choice) -> Option<Fields> {
        let mut end = End::default();
        let open = self.open.entry(choice.index).or_default();
        let mut parts = open.parts(choice, &mut end);
        if !self.terms.keeps_bytes {
            open.keep_last(&mut parts);
        }
        let mut parts = parts::joined(parts);
        if !self.terms.keeps_bytes && parts.iter().any(Part::is_call) {
            let (calls, others) = parts.into_iter().partition(Part::is_call);
            let known = self.ends.entry(choice.index).or_default();
            known.parts.extend::<Vec<Part>>(calls);
            parts = others;
        }
        if end.reason.is_some() || !end.refusal.is_empty() {
            let known = self.ends.entry(choice.index).or_default();
            // What is said beside a refusal may go on. Beside calls the end has no text.
            if end.reason.is_some() {
                match known.parts.iter().chain(&end.parts).any(Part::is_call) {
                    true => parts.extend(open.take_last()),
                    false => known.parts.extend(open.take_last()),
                }
            }
            known.parts.append(&mut end.parts);
            known.reason = end.reason.or(known.reason.take());
            known.refusal.push_str(&end.refusal);
        }
        if parts.is_empty() && choice.logprobs.is_empty() && choice.own.0.is_empty() {
            return None;
        }
        let mut written = candidate(choice.index, &parts, None, &choice.own);
        tell_logprobs(choice, &mut written);
        Some(written)
    }
}

impl Writer for ReplyWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        if let Some(verbatim) = verbatim.filter(|_| self.terms.keeps_bytes)
            && !events.is_empty()
            && self.ends.is_empty()
            && self.open.values().all(Open::is_closed)
        {
            events.clear();
            // It counts by itself.
            (self.usage, self.own_usage) = (None, None);
            self.frame(verbatim.as_bytes(), out);
            return;
        }
        let mut frame = Reply::fold(events.drain(..));
        self.start.update(std::mem::take(&mut frame.start));
        self.usage = frame.usage.or(self.usage.take());
        let usage = frame.own.0.get("usageMetadata").cloned();
        self.own_usage = usage.or(self.own_usage.take());
        let choices = frame.choices.iter();
        let candidates: Vec<Fields> = choices.filter_map(|choice| self.said(choice)).collect();
        if !candidates.is_empty() {
            let usage = Some(self.counted());
            let data = reply(&self.terms, &self.start, &candidates, usage, &frame.own);
            self.frame(&data, out);
        }
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        let ends = std::mem::take(&mut self.ends);
        let mut candidates = Vec::with_capacity(ends.len());
        for (index, end) in &ends {
            let empty = [Part::empty()];
            let parts = if end.parts.is_empty() {
                &empty[..]
            } else {
                &end.parts[..]
            };
            candidates.push(candidate(*index, parts, Some(end), &Fields::default()));
        }
        // A comment would be taken for data by Google's clients.
        if let Some(note) = note {
            if candidates.is_empty() {
                let mut noted = Fields::default();
                noted.set("index", raw(&0));
                candidates.push(noted);
            }
            for candidate in &mut candidates {
                candidate.set("finishMessage", raw(note));
            }
        }
        if !candidates.is_empty() || self.usage.is_some() {
            let mut own = Fields::default();
            if let Some(usage) = self.own_usage.take() {
                own.set("usageMetadata", usage);
            }
            let usage = Some(self.counted());
            let data = reply(&self.terms, &self.start, &candidates, usage, &own);
            self.frame(&data, out);
        }
        if self.frames == Frames::List {
            out.extend_from_slice(if self.has_begun { b"]" } else { b"[]" });
        }
    }
}
