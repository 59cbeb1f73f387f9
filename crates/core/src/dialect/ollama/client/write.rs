//! The events of a reply to lines of JSON, or to one object.
//!
//! Clients read a call's arguments as an object, so a call is held until it is whole; the line that ends a
//! stream has its counts, so it is written at the very end.

use super::Ollama;
use crate::dialect::client::{Terms, Writer, is_readable};
use crate::dialect::server::Verbatim;
use crate::dialect::time;
use crate::ir::{CallKind, Choice, Delta, Event, Fields, FinishReason, Reply, Start, Usage, raw};
use crate::json::on_one_line;
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;

/// What the last line ends with.
pub(super) const END: &[u8] = b"\"done\":true}";

/// Fields of a line that are written here, whatever the server called so.
const WRITTEN: [&str; 12] = [
    "model",
    "created_at",
    "message",
    "response",
    "thinking",
    "logprobs",
    "done",
    "done_reason",
    "prompt_eval_count",
    "eval_count",
    "error",
    // Chat's, which is none of this wire.
    "object",
];

/// What one choice says.
#[derive(Debug, Default)]
struct Message {
    text: String,
    thinking: String,
    calls: Vec<Call>,
    finish: Option<FinishReason>,
}

#[derive(Debug)]
struct Call {
    index: u32,
    id: String,
    name: String,
    kind: CallKind,
    input: String,
}

impl Message {
    /// Adds what a frame says; calls go on where they were left.
    fn add(&mut self, choice: Choice) {
        self.thinking.push_str(&choice.reasoning);
        for delta in choice.deltas {
            match delta {
                // A refusal is an answer here.
                Delta::Text(text) | Delta::Refusal(text) => self.text.push_str(&text),
                Delta::Reasoning(text) => self.thinking.push_str(&text),
                Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                } => self.calls.push(Call {
                    index: call,
                    id,
                    name,
                    kind,
                    input: String::new(),
                }),
                Delta::CallInput { call, text, .. } => {
                    if let Some(open) = self.calls.iter_mut().find(|open| open.index == call) {
                        open.input.push_str(&text);
                    }
                }
                Delta::Finish(reason) => self.finish = Some(reason),
            }
        }
    }

    /// The calls that are whole. One that the token limit cut has no arguments that anybody could read:
    /// the reason of the end tells of it.
    fn take_calls(&mut self) -> Vec<Box<RawValue>> {
        let is_cut = self.finish.as_ref().is_some_and(FinishReason::is_cut);
        let calls = std::mem::take(&mut self.calls).into_iter();
        calls.filter_map(|call| call.write(is_cut)).collect()
    }
}

impl Call {
    /// Numbers keep all their digits.
    fn write(self, is_cut: bool) -> Option<Box<RawValue>> {
        let text = match self.input.trim() {
            "" if self.kind == CallKind::Function && !is_cut => "{}",
            text => text,
        };
        let object: Option<Box<RawValue>> = serde_json::from_str(text).ok();
        let is_object = |value: &RawValue| value.get().starts_with('{') && is_readable(text);
        let object = object.filter(|value| is_object(value));
        let arguments = match (object, self.kind) {
            (Some(object), CallKind::Function) => object,
            (None, CallKind::Function) if is_cut => return None,
            // What is no object is its text.
            _ => raw(&json!({"input": self.input})),
        };
        let mut function = Fields::default();
        function.set("index", raw(&self.index));
        function.set("name", raw(&self.name));
        function.set("arguments", arguments);
        let mut call = Fields::default();
        call.set("id", raw(&self.id));
        call.set("function", raw(&function));
        Some(raw(&call))
    }
}

/// The fields that every line begins with.
fn head(terms: &Terms, start: &Start, own: &Fields) -> Fields {
    let mut fields = Fields::default();
    let model = start.model.as_deref().unwrap_or(&terms.model);
    fields.set("model", raw(model));
    let created = own
        .0
        .get("created_at")
        .filter(|own| own.get().starts_with('"'));
    let created = created.cloned().unwrap_or_else(|| {
        let seconds = start.created.unwrap_or_else(|| terms.ids.created());
        raw(&time::rfc3339_micros(seconds))
    });
    fields.set("created_at", created);
    fields
}

/// What one line says.
#[derive(Debug, Default)]
struct Line {
    text: String,
    thinking: String,
    calls: Vec<Box<RawValue>>,
}

/// Sets what is said.
fn say(form: Ollama, fields: &mut Fields, said: &Line, logprobs: &[Box<RawValue>]) {
    match form {
        Ollama::Chat => {
            let mut message = Fields::default();
            message.set("role", raw("assistant"));
            message.set("content", raw(&said.text));
            if !said.thinking.is_empty() {
                message.set("thinking", raw(&said.thinking));
            }
            if !said.calls.is_empty() {
                message.set("tool_calls", raw(&said.calls));
            }
            fields.set("message", raw(&message));
        }
        Ollama::Generate => {
            fields.set("response", raw(&said.text));
            if !said.thinking.is_empty() {
                fields.set("thinking", raw(&said.thinking));
            }
        }
    }
    if !logprobs.is_empty() {
        fields.set("logprobs", raw(logprobs));
    }
}

/// How long a reply took that says nothing of it itself.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    /// To its beginning: reading the prompt.
    begin: Duration,
    /// From there on.
    rest: Duration,
}

impl Took {
    /// In the fields that every reply of Ollama's has: some clients take them for numbers unseen. What the server took to load
    /// the model nobody knows but itself.
    fn tell(self, fields: &mut Fields) {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        fields.set("total_duration", raw(&nanos(self.begin + self.rest)));
        fields.set("load_duration", raw(&0));
        fields.set("prompt_eval_duration", raw(&nanos(self.begin)));
        fields.set("eval_duration", raw(&nanos(self.rest)));
    }
}

/// Sets how the reply ended.
fn end(
    fields: &mut Fields,
    finish: Option<&FinishReason>,
    took: Took,
    own: &Fields,
    usage: Option<Usage>,
) {
    let reason = match finish {
        None | Some(FinishReason::Stop | FinishReason::StopText(_) | FinishReason::ToolCalls) => {
            "stop"
        }
        Some(reason) => reason.as_str(),
    };
    fields.set("done_reason", raw(reason));
    took.tell(fields);
    for (name, value) in &own.0 {
        if !WRITTEN.contains(&name.as_str()) {
            fields.set(name, value.clone());
        }
    }
    if let Some(usage) = usage {
        fields.set("prompt_eval_count", raw(&usage.prompt));
        fields.set("eval_count", raw(&usage.completion));
    }
    fields.set("done", raw(&true));
}

/// A whole reply.
pub(super) fn whole(form: Ollama, terms: &Terms, reply: &Reply) -> Vec<u8> {
    let mut said = Message::default();
    let choice = reply.choices.first().cloned().unwrap_or_default();
    let logprobs = choice.logprobs.clone();
    said.add(choice);
    let finish = said.finish.get_or_insert(FinishReason::Stop).clone();
    let mut fields = head(terms, &reply.start, &reply.own);
    let line = Line {
        calls: said.take_calls(),
        text: said.text,
        thinking: said.thinking,
    };
    say(form, &mut fields, &line, &logprobs);
    let took = Took {
        rest: terms.ids.waited(),
        ..Took::default()
    };
    end(&mut fields, Some(&finish), took, &reply.own, reply.usage);
    fields.to_json()
}

/// The reply to a request that has a model loaded, or let go.
pub(super) fn loaded(form: Ollama, terms: &Terms, unloads: bool) -> Vec<u8> {
    let mut fields = head(terms, &Start::default(), &Fields::default());
    say(form, &mut fields, &Line::default(), &[]);
    fields.set("done_reason", raw(if unloads { "unload" } else { "load" }));
    fields.set("done", raw(&true));
    fields.to_json()
}

/// Writes a stream.
#[derive(Debug)]
pub(super) struct LineWriter {
    form: Ollama,
    terms: Terms,
    start: Start,
    own: Fields,
    said: Message,
    usage: Option<Usage>,
    /// When it began, and how late it is, since the Unix epoch.
    times: Option<(Duration, Duration)>,
    /// The last line as it came, which waits for what is found at the end.
    last: Option<Vec<u8>>,
}

impl LineWriter {
    pub(super) fn new(form: Ollama, terms: Terms) -> Self {
        Self {
            form,
            terms,
            start: Start::default(),
            own: Fields::default(),
            said: Message::default(),
            usage: None,
            times: None,
            last: None,
        }
    }

    fn line(&self, fields: Fields, out: &mut Vec<u8>) {
        out.extend_from_slice(&on_one_line(&fields.to_json()));
        out.push(b'\n');
    }

    /// What there is to say, one kind of it a line, and one call, as Ollama says it: clients look for one in each, and leave the
    /// others (Dify, AnythingLLM, rust-genai).
    fn more(&mut self, logprobs: &[Box<RawValue>], out: &mut Vec<u8>) {
        let thinking = std::mem::take(&mut self.said.thinking);
        if !thinking.is_empty() {
            let line = Line {
                thinking,
                ..Line::default()
            };
            self.say_line(&line, &[], out);
        }
        let text = std::mem::take(&mut self.said.text);
        if !text.is_empty() || !logprobs.is_empty() {
            let line = Line {
                text,
                ..Line::default()
            };
            self.say_line(&line, logprobs, out);
        }
        // The calls of a stream are said at their end.
        if self.said.finish.is_some() {
            for call in self.said.take_calls() {
                let line = Line {
                    calls: vec![call],
                    ..Line::default()
                };
                self.say_line(&line, &[], out);
            }
        }
    }

    fn say_line(&self, line: &Line, logprobs: &[Box<RawValue>], out: &mut Vec<u8>) {
        let mut fields = head(&self.terms, &self.start, &self.own);
        say(self.form, &mut fields, line, logprobs);
        fields.set("done", raw(&false));
        self.line(fields, out);
    }
}

impl Writer for LineWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        let frame = Reply::fold(events.drain(..));
        self.start.update(frame.start);
        for (name, value) in &frame.own.0 {
            self.own.set(name, value.clone());
        }
        self.usage = frame.usage.or(self.usage);
        let Some(choice) = frame.choices.into_iter().next() else {
            return;
        };
        // What is held must go out before.
        let is_free = self.said.calls.is_empty() && self.terms.keeps_bytes;
        if let Some(verbatim) = verbatim.filter(|_| is_free) {
            let line = verbatim.as_bytes().trim_ascii();
            if choice.has_ended() {
                self.last = Some(line.to_vec());
            } else {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            return;
        }
        let logprobs = choice.logprobs.clone();
        self.said.add(choice);
        let has_calls = self.said.finish.is_some() && !self.said.calls.is_empty();
        let is_blank = self.said.text.is_empty() && self.said.thinking.is_empty();
        if !is_blank || has_calls || !logprobs.is_empty() {
            self.more(&logprobs, out);
        }
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        if let Some(mut line) = self.last.take() {
            if let (Some(note), Ok(mut fields)) = (note, serde_json::from_slice::<Fields>(&line)) {
                fields.set("isogloss", raw(note));
                line = fields.to_json();
            }
            out.extend_from_slice(&line);
            out.push(b'\n');
            return;
        }
        let finish = self.said.finish.take();
        let mut fields = head(&self.terms, &self.start, &self.own);
        say(self.form, &mut fields, &Line::default(), &[]);
        if let Some(note) = note {
            // Lines of JSON have no comments.
            fields.set("isogloss", raw(note));
        }
        let took = Took {
            begin: self.terms.ids.waited(),
            rest: (self.times).map_or(Duration::ZERO, |(begun, now)| now.saturating_sub(begun)),
        };
        end(&mut fields, finish.as_ref(), took, &self.own, self.usage);
        self.line(fields, out);
    }

    fn now(&mut self, since_epoch: Duration) {
        let (begun, _) = self.times.unwrap_or((since_epoch, since_epoch));
        self.times = Some((begun, since_epoch));
    }
}
