//! The events of a stream, written one after the other.

use super::super::error;
use super::output::{Body, Call, Item, Part, PartKind, thought};
use crate::error::Error;
use crate::ir::{CallKind, Fields, raw};
use crate::sse;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Writes events, each with its number; or nothing, where nobody reads them.
pub(super) struct Teller<'o> {
    next: u64,
    out: Option<&'o mut Vec<u8>>,
}

/// What an event says beside its type. `response` is the last member: see [`super::END_MARK`].
#[derive(Default, Serialize)]
pub(super) struct Told<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<&'a [Box<RawValue>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a Fields>,
}

impl<'a> Told<'a> {
    pub(super) fn response(response: &'a Fields) -> Self {
        Self {
            response: Some(response),
            ..Self::default()
        }
    }

    /// Of an item.
    fn of(id: &'a str, place: usize) -> Self {
        Self {
            output_index: Some(place),
            item_id: Some(id),
            ..Self::default()
        }
    }

    /// Of a part of an item.
    fn within(id: &'a str, place: usize, content: usize) -> Self {
        Self {
            content_index: Some(content),
            ..Self::of(id, place)
        }
    }
}

impl<'a> Told<'a> {
    /// Of the one part of thoughts.
    fn thought(id: &'a str, place: usize, is_summary: bool) -> Self {
        Self {
            content_index: (!is_summary).then_some(0),
            summary_index: is_summary.then_some(0),
            ..Self::of(id, place)
        }
    }
}

impl<'o> Teller<'o> {
    pub(super) fn new(next: u64, out: &'o mut Vec<u8>) -> Self {
        Self {
            next,
            out: Some(out),
        }
    }

    pub(super) const fn silent() -> Self {
        Self { next: 0, out: None }
    }

    pub(super) const fn is_silent(&self) -> bool {
        self.out.is_none()
    }

    /// The number of the next event.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn tell(&mut self, kind: &'static str, mut told: Told<'_>) {
        let Some(out) = self.out.as_deref_mut() else {
            return;
        };
        told.kind = kind;
        told.sequence_number = self.next;
        self.next += 1;
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.push(b'\n');
        // Writing to memory cannot fail.
        sse::encode(&serde_json::to_vec(&told).unwrap_or_default(), out);
    }

    /// What ended the reply before its time.
    pub(super) fn error(&mut self, error: &Error) {
        let event = error::told(error, self.next);
        self.next += 1;
        if let Some(out) = self.out.as_deref_mut() {
            out.extend_from_slice(b"event: error\n");
            sse::encode(event.to_string().as_bytes(), out);
        }
    }

    /// An event of the server's own, in its place among ours.
    pub(super) fn theirs(&mut self, mut event: Fields) {
        let Some(out) = self.out.as_deref_mut() else {
            return;
        };
        let kind = event
            .raw("type")
            .and_then(|kind| serde_json::from_str::<String>(kind).ok());
        event.set("sequence_number", raw(&self.next));
        self.next += 1;
        out.extend_from_slice(b"event: ");
        // A line feed in a name would be another line.
        let kind = kind.unwrap_or_default();
        out.extend(kind.bytes().filter(|byte| !byte.is_ascii_control()));
        out.push(b'\n');
        sse::encode(&event.to_json(), out);
    }

    pub(super) fn item(&mut self, kind: &'static str, place: usize, item: &Item) {
        if self.is_silent() {
            return;
        }
        let told = Told {
            output_index: Some(place),
            item: Some(item.json()),
            ..Told::default()
        };
        self.tell(kind, told);
    }

    pub(super) fn part(
        &mut self,
        kind: &'static str,
        id: &str,
        place: usize,
        content: usize,
        part: &Value,
    ) {
        let told = Told {
            part: Some(part),
            ..Told::within(id, place, content)
        };
        self.tell(kind, told);
    }

    /// More of a part's text.
    pub(super) fn said(
        &mut self,
        id: &str,
        place: usize,
        content: usize,
        kind: PartKind,
        text: &str,
        logprobs: &[Box<RawValue>],
    ) {
        let (kind, logprobs) = match kind {
            PartKind::Text => ("response.output_text.delta", Some(logprobs)),
            PartKind::Refusal => ("response.refusal.delta", None),
        };
        let told = Told {
            delta: Some(text),
            logprobs,
            ..Told::within(id, place, content)
        };
        self.tell(kind, told);
    }

    /// The thoughts begin.
    pub(super) fn thinks(&mut self, id: &str, place: usize, is_summary: bool) {
        let kind = match is_summary {
            true => "response.reasoning_summary_part.added",
            false => "response.content_part.added",
        };
        let part = thought("", is_summary);
        let told = Told {
            part: Some(&part),
            ..Told::thought(id, place, is_summary)
        };
        self.tell(kind, told);
    }

    /// More of what is thought.
    pub(super) fn thought(&mut self, id: &str, place: usize, is_summary: bool, text: &str) {
        let kind = match is_summary {
            true => "response.reasoning_summary_text.delta",
            false => "response.reasoning_text.delta",
        };
        let told = Told {
            delta: Some(text),
            ..Told::thought(id, place, is_summary)
        };
        self.tell(kind, told);
    }

    fn thought_done(&mut self, id: &str, place: usize, is_summary: bool, text: &str) {
        let (text_done, part_done) = match is_summary {
            true => (
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
            ),
            false => ("response.reasoning_text.done", "response.content_part.done"),
        };
        let told = Told {
            text: Some(text),
            ..Told::thought(id, place, is_summary)
        };
        self.tell(text_done, told);
        let part = thought(text, is_summary);
        let told = Told {
            part: Some(&part),
            ..Told::thought(id, place, is_summary)
        };
        self.tell(part_done, told);
    }

    /// More of what a tool is called with.
    pub(super) fn input(&mut self, id: &str, place: usize, kind: CallKind, text: &str) {
        let kind = match kind {
            CallKind::Function => "response.function_call_arguments.delta",
            CallKind::Custom => "response.custom_tool_call_input.delta",
        };
        let told = Told {
            delta: Some(text),
            ..Told::of(id, place)
        };
        self.tell(kind, told);
    }

    pub(super) fn part_done(&mut self, id: &str, place: usize, content: usize, part: &Part) {
        if self.is_silent() {
            return;
        }
        let within = Told::within(id, place, content);
        match part.kind {
            PartKind::Text => {
                let told = Told {
                    text: Some(&part.text),
                    logprobs: Some(&part.logprobs),
                    ..within
                };
                self.tell("response.output_text.done", told);
            }
            PartKind::Refusal => {
                let told = Told {
                    refusal: Some(&part.text),
                    ..within
                };
                self.tell("response.refusal.done", told);
            }
        }
        self.part(
            "response.content_part.done",
            id,
            place,
            content,
            &part.json(),
        );
    }

    pub(super) fn item_done(&mut self, place: usize, item: &Item) {
        if self.is_silent() {
            return;
        }
        let id = item.id.as_str();
        match &item.body {
            Body::Message(parts) => {
                if let Some(part) = parts.last() {
                    self.part_done(id, place, parts.len() - 1, part);
                }
            }
            Body::Theirs(_) | Body::Call(Call { own: Some(_), .. }) => {}
            Body::Reasoning { text, .. } if text.is_empty() => {}
            Body::Reasoning {
                text, is_summary, ..
            } => self.thought_done(id, place, *is_summary, text),
            Body::Call(call) => {
                let told = Told {
                    name: Some(&call.name),
                    ..Told::of(id, place)
                };
                match call.kind {
                    CallKind::Function => {
                        let told = Told {
                            arguments: Some(&call.input),
                            ..told
                        };
                        self.tell("response.function_call_arguments.done", told);
                    }
                    CallKind::Custom => {
                        let told = Told {
                            input: Some(&call.input),
                            ..told
                        };
                        self.tell("response.custom_tool_call_input.done", told);
                    }
                }
            }
        }
        self.item("response.output_item.done", place, item);
    }
}
