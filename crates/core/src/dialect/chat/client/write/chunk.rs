//! The events of a stream to chunks. What is the same in all of them is written once.

use super::folded::Folded;
use super::{carry_into, counts, envelope, think, written};
use crate::dialect::client::{Terms, Writer};
use crate::dialect::server::Verbatim;
use crate::ir::{ByChoice, Choice, Delta, Event, Fields, Of, Reply, Sealed, Start, Usage, raw};
use crate::sse;
use serde_json::value::RawValue;
use std::sync::Arc;

const CHUNK: &str = "chat.completion.chunk";

/// Writes a stream. What is written of one frame of the server's is one chunk at most.
#[derive(Debug)]
pub(in crate::dialect::chat) struct ChunkWriter {
    terms: Terms,
    start: Start,
    /// The top-level fields of the first chunk, for a chunk of our own.
    envelope: Arc<Fields>,
    /// What the last chunk was written into.
    shell: Option<Shell>,
    /// The counts go out once, at the end, where chunks are written anew.
    usage: Option<Counted>,
    choices: ByChoice<Open>,
    /// Empty; kept for its memory.
    inner: Vec<u8>,
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
    /// How many blocks of thinking were told.
    blocks: u32,
    /// Of the text since the last chunk written.
    logprobs: Vec<Box<RawValue>>,
}

/// A chunk around its choices, as bytes.
#[derive(Debug)]
struct Shell {
    /// What it is made of.
    own: Arc<Fields>,
    has_usage: bool,
    before: Vec<u8>,
    behind: Vec<u8>,
    /// It can stand in one line of an event.
    is_one_line: bool,
}

impl Shell {
    fn new(fields: &Fields, own: &Arc<Fields>, has_usage: bool) -> Self {
        let (mut before, mut behind) = (b"{".to_vec(), Vec::new());
        let mut is_before = true;
        for (name, value) in &fields.0 {
            if name == "usage" && !has_usage {
                continue;
            }
            let part = if is_before { &mut before } else { &mut behind };
            if part.last() != Some(&b'{') {
                part.push(b',');
            }
            text(name, part);
            part.push(b':');
            if name == "choices" {
                is_before = false;
            } else {
                part.extend_from_slice(value.get().as_bytes());
            }
        }
        behind.push(b'}');
        let is_one_line = |bytes: &[u8]| memchr::memchr2(b'\n', b'\r', bytes).is_none();
        Self {
            own: Arc::clone(own),
            has_usage,
            is_one_line: is_one_line(&before) && is_one_line(&behind),
            before,
            behind,
        }
    }
}

/// A JSON string.
fn text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

impl ChunkWriter {
    pub(in crate::dialect::chat) fn new(terms: Terms) -> Self {
        Self {
            terms,
            start: Start::default(),
            envelope: Arc::default(),
            shell: None,
            usage: None,
            choices: ByChoice::new(),
            inner: Vec::new(),
        }
    }

    /// Whether a frame may go out as it came, and nothing of it need be remembered: nearly all do.
    fn is_kept_at_sight(&mut self, events: &[Event]) -> bool {
        if !self.terms.keeps_bytes || self.envelope.0.is_empty() {
            return false;
        }
        let is_plain = |event: &Event| match event {
            Event::Own {
                of: Of::Reply,
                fields,
            } => fields.raw("usage").is_none_or(|usage| usage == "null"),
            Event::Own { .. } => true,
            Event::Choice { choice, .. }
            | Event::Delta {
                choice,
                delta: Delta::Text(_) | Delta::Finish(_),
            } => {
                let open = self.choices.get(*choice);
                open.is_some_and(|open| open.role_sent && open.logprobs.is_empty())
            }
            _ => false,
        };
        events.iter().all(is_plain)
    }

    /// Whether a frame may go out as it came: nothing of the framing is to be repaired. Calls always
    /// are, and the role is first.
    fn is_kept(&self, frame: &Reply) -> bool {
        let has_role = |choice: &Choice| {
            let open = self.choices.get(choice.index);
            choice.has_role || open.is_some_and(|open| open.role_sent)
        };
        let is_call =
            |delta: &Delta| matches!(delta, Delta::CallStart { .. } | Delta::CallInput { .. });
        let mut deltas = frame.choices.iter().flat_map(|choice| &choice.deltas);
        self.terms.keeps_bytes && frame.choices.iter().all(has_role) && !deltas.any(is_call)
    }

    fn keep(&mut self, frame: &Reply) {
        if has_counts(&frame.own) {
            self.usage = None;
        }
        for choice in &frame.choices {
            let open = self.choices.get_or_insert_with(choice.index, Open::default);
            open.role_sent |= choice.has_role;
            open.logprobs.clear();
        }
    }

    /// Takes the token counts out of a frame.
    fn take_usage(&mut self, frame: &Reply) {
        if has_counts(&frame.own) {
            let mut chunk = frame.own.as_ref().clone();
            let usage = chunk.remove("usage");
            chunk.set("choices", raw::<[u8]>(&[]));
            if let Some(usage) = usage {
                chunk.set("usage", usage);
            }
            self.usage = Some(Counted::Own(chunk));
        } else if let Some(usage) = frame.usage {
            self.usage = Some(Counted::Usage(usage));
        }
    }

    /// Writes a chunk around what `inner` writes.
    fn chunk(&mut self, own: &Arc<Fields>, has_usage: bool, inner: &[u8], out: &mut Vec<u8>) {
        let is_same = |shell: &Shell| Arc::ptr_eq(&shell.own, own) && shell.has_usage == has_usage;
        if !self.shell.as_ref().is_some_and(is_same) {
            let fields = envelope(&self.terms, own, &self.start, CHUNK);
            self.shell = Some(Shell::new(&fields, own, has_usage));
        }
        let Some(shell) = &self.shell else {
            return;
        };
        if shell.is_one_line && memchr::memchr2(b'\n', b'\r', inner).is_none() {
            out.reserve(shell.before.len() + inner.len() + shell.behind.len() + 16);
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(&shell.before);
            out.push(b'[');
            out.extend_from_slice(inner);
            out.push(b']');
            out.extend_from_slice(&shell.behind);
            out.extend_from_slice(b"\n\n");
            return;
        }
        let whole = [&shell.before[..], b"[", inner, b"]", &shell.behind].concat();
        sse::encode(&whole, out);
    }

    /// Blocks of thinking by their places: lists that go on in later chunks are put together by the `index` of what is in
    /// them (openai-python fails at one without).
    fn number(&mut self, choice: &mut Choice) {
        for sealed in &mut choice.sealed {
            let Sealed::Thinking(block) = sealed else {
                continue;
            };
            let Ok(mut fields) = serde_json::from_str::<Fields>(block.get()) else {
                continue;
            };
            let open = self.choices.get_or_insert_with(choice.index, Open::default);
            fields.set("index", raw(&open.blocks));
            open.blocks += 1;
            *block = raw(&fields);
        }
    }

    /// Appends a choice's part of a chunk, where it says anything.
    fn part(&mut self, source: &Choice, out: &mut Vec<u8>) {
        let is_blank = |raw: &str| matches!(raw, "null" | "\"\"" | "[]" | "{}");
        if source.deltas.is_empty()
            && source.reasoning.is_empty()
            && source.sealed.is_empty()
            && source.of_calls.is_empty()
            && source.message.0.values().all(|value| is_blank(value.get()))
        {
            return;
        }
        let open = self.choices.get_or_insert_with(source.index, Open::default);
        let role = !std::mem::replace(&mut open.role_sent, true);
        let logprobs = std::mem::take(&mut open.logprobs);
        let legacy = self.terms.legacy_functions;
        let said = Folded::of(source);
        if !out.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"index\":");
        let _ = serde_json::to_writer(&mut *out, &source.index);
        out.extend_from_slice(b",\"delta\":");
        said.write_delta(source, role, legacy, out);
        out.extend_from_slice(b",\"logprobs\":");
        match logprobs.is_empty() {
            true => out.extend_from_slice(b"null"),
            false => out.extend_from_slice(written(&logprobs).get().as_bytes()),
        }
        out.extend_from_slice(b",\"finish_reason\":");
        match said.finish_word(legacy) {
            Some(word) => text(word, out),
            None => out.extend_from_slice(b"null"),
        }
        carry_into(&source.own, out);
        out.push(b'}');
    }
}

/// The end of a choice that says something in the same frame: OpenAI's stands in a chunk of its own, and openai-go's accumulator
/// (3.9) tells of no text or call as whole else.
fn end_of(choice: &mut Choice) -> Option<Choice> {
    let says_more = choice.deltas.len() > 1
        || !choice.reasoning.is_empty()
        || !choice.sealed.is_empty()
        || !choice.message.0.is_empty();
    if !choice.has_ended() || !says_more {
        return None;
    }
    Some(Choice {
        index: choice.index,
        own: std::mem::take(&mut choice.own),
        deltas: choice.deltas.pop().into_iter().collect(),
        ..Choice::default()
    })
}

fn has_counts(own: &Fields) -> bool {
    own.raw("usage").is_some_and(|usage| usage != "null")
}

impl Writer for ChunkWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        if let Some(verbatim) = verbatim
            && self.is_kept_at_sight(events)
        {
            events.clear();
            sse::encode(verbatim.as_bytes(), out);
            return;
        }
        let mut frame = Reply::fold(events.drain(..));
        if frame.start != Start::default() {
            self.start.update(std::mem::take(&mut frame.start));
            self.shell = None;
        }
        if self.envelope.0.is_empty() && !frame.own.0.is_empty() {
            let mut envelope = frame.own.as_ref().clone();
            envelope.remove("usage");
            self.envelope = Arc::new(envelope);
        }
        for choice in frame
            .choices
            .iter_mut()
            .filter(|choice| !choice.logprobs.is_empty())
        {
            let open = self.choices.get_or_insert_with(choice.index, Open::default);
            open.logprobs.append(&mut choice.logprobs);
        }
        for choice in &mut frame.choices {
            self.number(choice);
        }
        if let Some(verbatim) = verbatim.filter(|_| self.is_kept(&frame)) {
            self.keep(&frame);
            sse::encode(verbatim.as_bytes(), out);
            return;
        }
        let mut ends = Vec::new();
        let has_ended = frame.choices.iter().any(Choice::has_ended);
        if has_ended {
            ends.extend(frame.choices.iter_mut().filter_map(end_of));
        }
        let mut inner = std::mem::take(&mut self.inner);
        for choice in &frame.choices {
            self.part(choice, &mut inner);
        }
        let is_ours = frame.own.0.is_empty();
        let says_nothing = inner.is_empty() && ends.is_empty();
        // Counts that nobody asked for stay where they came, at the end (Mistral).
        let is_unasked = self.terms.keeps_counts && !self.terms.include_usage && has_ended;
        let is_moved = !self.terms.keeps_bytes && !is_unasked;
        let takes_usage = says_nothing || is_moved || is_ours;
        if takes_usage {
            self.take_usage(&frame);
        }
        let own = match is_ours {
            true => Arc::clone(&self.envelope),
            false => frame.own,
        };
        if !inner.is_empty() {
            self.chunk(&own, !takes_usage && ends.is_empty(), &inner, out);
        }
        if !ends.is_empty() {
            inner.clear();
            for choice in &ends {
                self.part(choice, &mut inner);
            }
            self.chunk(&own, !takes_usage, &inner, out);
        }
        inner.clear();
        self.inner = inner;
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        if let Some(counted) = self.usage.take().filter(|_| self.terms.include_usage) {
            let (own, usage) = match counted {
                Counted::Own(fields) => (Arc::new(fields), None),
                Counted::Usage(usage) => (Arc::clone(&self.envelope), Some(usage)),
            };
            let mut chunk = envelope(&self.terms, &own, &self.start, CHUNK);
            chunk.set("choices", raw::<[u8]>(&[]));
            if let Some(usage) = usage {
                chunk.set("usage", raw(&counts(usage)));
            }
            sse::encode(&chunk.to_json(), out);
        }
        if let Some(note) = note {
            sse::comment(note, out);
        }
        out.extend_from_slice(sse::DONE);
    }
}

impl Folded<'_> {
    /// The `delta` of a chunk.
    fn write_delta(&self, source: &Choice, role: bool, legacy: bool, out: &mut Vec<u8>) {
        // What is rare is put together as fields first.
        let is_rare = !source.message.0.is_empty()
            || !source.reasoning.is_empty()
            || !source.sealed.is_empty()
            || self.reasoning.is_some();
        out.push(b'{');
        let from = out.len();
        if role {
            out.extend_from_slice(b"\"role\":\"assistant\",");
        }
        if let Some(said) = &self.text {
            out.extend_from_slice(b"\"content\":");
            text(said, out);
            out.push(b',');
        } else if role {
            out.extend_from_slice(b"\"content\":null,");
        }
        if is_rare {
            let mut rare = Fields::default();
            for (name, value) in &source.message.0 {
                if value.get() != "null" {
                    rare.set(name, value.clone());
                }
            }
            think(&mut rare, source, self);
            for (name, value) in &rare.0 {
                text(name, out);
                out.push(b':');
                out.extend_from_slice(value.get().as_bytes());
                out.push(b',');
            }
        }
        if let Some(refusal) = &self.refusal {
            out.extend_from_slice(b"\"refusal\":");
            text(refusal, out);
            out.push(b',');
        }
        self.write_calls(legacy, out);
        if out.len() > from {
            // The last comma.
            out.pop();
        }
        out.push(b'}');
    }
}
