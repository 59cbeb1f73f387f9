//! A reply of Responses, whole or as events. What no other wire says goes along in events of the wire's own, in the
//! order in which it came: the writer of the same wire puts it where it was.

use crate::dialect::responses::client::joined;
use crate::dialect::server::calls::CallPiece;
use crate::dialect::server::{Reader, Sink, Verbatim, mended};
use crate::ir::{CallKind, Fields, FinishReason, HostedCall, Of, Start, Usage, raw};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Items that are open at once.
const MAX_OPEN: usize = 256;

#[derive(Deserialize)]
struct ResponseWire {
    id: Option<String>,
    model: Option<String>,
    created_at: Option<f64>,
    status: Option<String>,
    output: Option<Vec<Box<RawValue>>>,
    incomplete_details: Option<Details>,
    usage: Option<UsageWire>,
    error: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Details {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct UsageWire {
    input_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

/// What every item has. What else one holds is read of kinds that are known alone: a `tool_search_call` has an object in `arguments`
/// where a `function_call` has a text (openai-python 3, `ResponseToolSearchCall`).
#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

#[derive(Deserialize, Default)]
struct ItemWire {
    r#type: String,
    id: Option<String>,
    /// Of a message: `commentary` is said on the way to the answer, `final_answer` or nothing is the answer (openai-python
    /// 3, `ResponseOutputMessage.phase`).
    phase: Option<String>,
    content: Option<Vec<PartWire>>,
    summary: Option<Vec<PartWire>>,
    call_id: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    input: Option<String>,
}

#[derive(Deserialize)]
struct PartWire {
    r#type: String,
    text: Option<String>,
    refusal: Option<String>,
    logprobs: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct EventWire {
    r#type: String,
    output_index: Option<usize>,
    summary_index: Option<u32>,
    response: Option<Box<RawValue>>,
    item: Option<Box<RawValue>>,
    /// A text of the kinds that are known; what a server's own tools say may be an object
    /// (`response.shell_call_output_content.delta`).
    #[serde(default, deserialize_with = "text")]
    delta: Option<String>,
    #[serde(default, deserialize_with = "text")]
    arguments: Option<String>,
    #[serde(default, deserialize_with = "text")]
    input: Option<String>,
    logprobs: Option<Vec<Box<RawValue>>>,
    error: Option<Box<RawValue>>,
}

/// A text; none where something else stands in its place.
fn text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let value = Box::<RawValue>::deserialize(value)?;
    Ok(serde_json::from_str(value.get()).ok())
}

/// OpenAI's models sum up in sections, each with a headline of its own.
const BETWEEN_SECTIONS: &str = "\n\n";

impl UsageWire {
    fn to_usage(&self) -> Usage {
        let cached = self.input_tokens_details.as_ref();
        let reasoning = self.output_tokens_details.as_ref();
        Usage {
            prompt: self.input_tokens.unwrap_or_default(),
            completion: self.output_tokens.unwrap_or_default(),
            cached: cached.and_then(|details| details.cached_tokens),
            reasoning: reasoning.and_then(|details| details.reasoning_tokens),
        }
    }
}

impl ResponseWire {
    fn start(&self, sink: &mut Sink<'_>) {
        sink.start(Start {
            id: self.id.clone(),
            model: self.model.clone(),
            // Some servers count parts of seconds.
            created: self.created_at.map(|at| at as u64),
        });
    }

    fn finish(&self, calls: u32, sink: &mut Sink<'_>) {
        sink.usage(self.usage.as_ref().map(UsageWire::to_usage));
        let details = self.incomplete_details.as_ref();
        let reason = details.and_then(|details| details.reason.as_deref());
        let reason = match (self.status.as_deref(), reason) {
            (Some("incomplete"), Some("content_filter")) => FinishReason::ContentFilter,
            (Some("incomplete"), _) => FinishReason::Length,
            _ if calls > 0 => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        };
        sink.finish(0, reason);
    }

    /// Whether it went wrong, which is told.
    fn has_failed(&self, sink: &mut Sink<'_>) -> bool {
        match (self.status.as_deref(), &self.error) {
            (Some("failed"), Some(error)) if error.get() != "null" => sink.error(error),
            (Some("failed"), _) => sink.failed("the response failed"),
            (Some("cancelled"), _) => sink.failed("the response was cancelled"),
            _ => return false,
        }
        true
    }
}

/// A whole reply; an error in it goes along. None where it is no reply.
pub(super) fn whole(body: &[u8], sink: &mut Sink<'_>) -> Option<()> {
    let own: Fields = serde_json::from_slice(body).ok()?;
    let response: ResponseWire = serde_json::from_slice(body).ok()?;
    if response.output.is_none()
        && let Some(error) = response
            .error
            .as_ref()
            .filter(|error| error.get() != "null")
    {
        sink.error(error);
        return Some(());
    }
    sink.own(Of::Reply, own);
    response.start(sink);
    sink.choice(0, true);
    if response.has_failed(sink) {
        return Some(());
    }
    let mut calls = 0;
    for item in response.output.as_ref()? {
        self::item(item, &mut calls, sink)?;
    }
    response.finish(calls, sink);
    Some(())
}

/// What an item that is all there says.
fn item(item: &RawValue, calls: &mut u32, sink: &mut Sink<'_>) -> Option<()> {
    let item = ItemWire::read(item)?;
    match item.r#type.as_str() {
        "message" if item.is_aside() => {
            let parts = item.content.unwrap_or_default().into_iter();
            let texts: Vec<String> = parts.filter_map(|part| part.text).collect();
            sink.aside(0, texts.concat());
        }
        "message" => {
            for part in item.content? {
                match part.r#type.as_str() {
                    "output_text" => {
                        sink.text(0, Some(part.text?));
                        sink.logprobs(0, part.logprobs.unwrap_or_default());
                    }
                    "refusal" => sink.refusal(0, Some(part.refusal?)),
                    _ => {}
                }
            }
        }
        "reasoning" => {
            let told = item.content.filter(|parts| !parts.is_empty());
            let is_summary = told.is_none();
            let parts = told.or(item.summary).unwrap_or_default();
            for (index, part) in parts.into_iter().enumerate() {
                if is_summary && index > 0 {
                    sink.reasoning(0, Some(BETWEEN_SECTIONS.to_owned()));
                }
                sink.reasoning(0, part.text);
            }
        }
        "function_call" | "custom_tool_call" => {
            let (call, kind) = (*calls, kind_of(&item.r#type)?);
            *calls += 1;
            begin(&item, call, kind, sink)?;
            more(call, kind, item.arguments.or(item.input)?, sink);
        }
        // What else the server's own tools did is none.
        kind => {
            if let Some(call) = hosted_call(kind) {
                sink.hosted(0, call);
            }
        }
    }
    Some(())
}

impl ItemWire {
    fn read(item: &RawValue) -> Option<Self> {
        let Typed { r#type } = serde_json::from_str(item.get()).ok()?;
        match r#type.as_str() {
            "message" | "reasoning" | "function_call" | "custom_tool_call" => {
                serde_json::from_str(item.get()).ok()
            }
            _ => Some(Self {
                r#type,
                ..Self::default()
            }),
        }
    }

    /// Whether it is a message that is no part of the answer.
    fn is_aside(&self) -> bool {
        self.r#type == "message" && self.phase.as_deref() == Some("commentary")
    }
}

/// Items in which the server calls a tool of its own are named for it: `web_search_call`, `mcp_call`, ….
fn hosted_call(item: &str) -> Option<HostedCall> {
    if item == "mcp_approval_request" {
        return Some(HostedCall::ByClient);
    }
    let tool = item
        .strip_suffix("_call")
        .filter(|_| kind_of(item).is_none())?;
    Some(match tool {
        "computer" => HostedCall::ByClient,
        "apply_patch" | "local_shell" | "shell" | "tool_search" => {
            HostedCall::Listed(tool.to_owned())
        }
        _ => HostedCall::ByServer,
    })
}

fn kind_of(item: &str) -> Option<CallKind> {
    match item {
        "function_call" => Some(CallKind::Function),
        "custom_tool_call" => Some(CallKind::Custom),
        _ => None,
    }
}

fn begin(item: &ItemWire, call: u32, kind: CallKind, sink: &mut Sink<'_>) -> Option<()> {
    let name = item.name.as_deref()?;
    let name = match item.namespace.as_deref().filter(|it| !it.is_empty()) {
        Some(namespace) => joined(namespace, name),
        None => name.to_owned(),
    };
    let piece = CallPiece {
        index: call,
        id: item.call_id.clone().filter(|id| !id.is_empty()),
        name: Some(name).filter(|name| !name.is_empty()),
        text: None,
        kind: Some(kind),
    };
    sink.piece(0, piece);
    Some(())
}

fn more(call: u32, kind: CallKind, text: String, sink: &mut Sink<'_>) {
    let piece = CallPiece {
        index: call,
        id: None,
        name: None,
        text: Some(text),
        kind: Some(kind),
    };
    sink.piece(0, piece);
}

/// One reply as events.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// By their places in the output.
    open: BTreeMap<usize, Open>,
    calls: u32,
    has_begun: bool,
    is_over: bool,
}

#[derive(Debug)]
enum Open {
    /// Whether some of its input came.
    Call {
        call: u32,
        kind: CallKind,
        has_input: bool,
    },
    /// Whether some of its text came.
    Told { has_text: bool },
    /// Thoughts, of which nothing is demanded: their events go along as they came.
    Thoughts { has_text: bool },
    /// What is said beside the answer.
    Aside,
    /// One of the server's own.
    Theirs,
}

impl Reader for Stream {
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        let data = mended(data);
        if data.trim_ascii() != b"[DONE]" && self.piece(&data, sink).is_none() {
            sink.garbage();
        }
        None
    }
}

impl Stream {
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let event: EventWire = serde_json::from_slice(data).ok()?;
        let place = event.output_index.unwrap_or_default();
        match event.r#type.as_str() {
            // The item itself is told as others are.
            kind if kind.starts_with("response.")
                && !kind.starts_with("response.output_item.")
                && self.is_aside(place)
                && event.output_index.is_some() =>
            {
                told("event", data, sink)?;
                // Whole texts repeat what came in pieces.
                let is_piece = kind == "response.output_text.delta";
                let said = event.delta.filter(|_| is_piece);
                sink.aside(0, said.unwrap_or_default());
            }
            "error" => {
                // Its members stand beside the type, or within `error`.
                let beside = || serde_json::from_slice::<Box<RawValue>>(data).ok();
                sink.error(&event.error.or_else(beside)?);
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                let raw_response = event.response?;
                let response: ResponseWire = serde_json::from_str(raw_response.get()).ok()?;
                if !std::mem::replace(&mut self.has_begun, true) {
                    told("response", raw_response.get().as_bytes(), sink)?;
                    response.start(sink);
                    sink.choice(0, true);
                }
            }
            "response.output_item.added" => self.added(place, &event.item?, sink)?,
            "response.output_item.done" => self.done(place, &event.item?, sink)?,
            "response.output_text.delta" => {
                self.tells(place);
                sink.text(0, Some(event.delta?));
                sink.logprobs(0, event.logprobs.unwrap_or_default());
            }
            "response.refusal.delta" => {
                self.tells(place);
                sink.refusal(0, Some(event.delta?));
            }
            kind if kind.starts_with("response.")
                && !kind.starts_with("response.output_item.")
                && self.are_thoughts(place)
                && event.output_index.is_some() =>
            {
                let thought = self.thought(place, kind, &event)?;
                sink.own(Of::Message(0), of_server("event", data)?);
                if !thought.is_empty() {
                    sink.own_reasoning(0, thought);
                }
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.tells(place);
                sink.reasoning(0, Some(event.delta?));
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.input(place, event.delta?, sink);
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                self.all_input(place, event.arguments.or(event.input), sink);
            }
            "response.completed" | "response.incomplete" => self.over(&event.response?, sink)?,
            "response.failed" | "response.cancelled" => {
                let response: ResponseWire = serde_json::from_str(event.response?.get()).ok()?;
                if !response.has_failed(sink) {
                    sink.failed("the response failed");
                }
            }
            "response.reasoning_summary_part.added" if event.summary_index > Some(0) => {
                sink.reasoning(0, Some(BETWEEN_SECTIONS.to_owned()));
            }
            // What the writer says by itself, of what it is told.
            "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.done"
            | "response.refusal.done"
            | "response.reasoning_text.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done" => {}
            // What the server's own tools do, citations, and whatever comes later.
            kind if is_kind(kind) => told("event", data, sink)?,
            kind if kind.starts_with("response.") => return None,
            // What keeps a connection open.
            _ => {}
        }
        Some(())
    }

    fn added(&mut self, place: usize, item: &RawValue, sink: &mut Sink<'_>) -> Option<()> {
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        let known = ItemWire::read(item)?;
        // What was said before it was said on the way to it.
        if let Some(call) = hosted_call(&known.r#type) {
            sink.hosted(0, call);
        }
        told("added", item.get().as_bytes(), sink)?;
        let open = match (known.r#type.as_str(), kind_of(&known.r#type)) {
            (_, Some(kind)) => {
                let call = self.calls;
                self.calls += 1;
                begin(&known, call, kind, sink)?;
                Open::Call {
                    call,
                    kind,
                    has_input: false,
                }
            }
            ("message", _) if known.is_aside() => Open::Aside,
            ("message", _) => Open::Told { has_text: false },
            // Its events have to name it.
            ("reasoning", _) if known.id.is_some() => Open::Thoughts { has_text: false },
            ("reasoning", _) => Open::Told { has_text: false },
            _ => Open::Theirs,
        };
        self.open.insert(place, open);
        Some(())
    }

    fn done(&mut self, place: usize, raw_item: &RawValue, sink: &mut Sink<'_>) -> Option<()> {
        let known = ItemWire::read(raw_item)?;
        match self.open.remove(&place) {
            // Nobody said that it began, or what it says.
            None => {
                told("added", raw_item.get().as_bytes(), sink)?;
                item(raw_item, &mut self.calls, sink)?;
            }
            Some(Open::Told { has_text: false } | Open::Thoughts { has_text: false }) => {
                item(raw_item, &mut self.calls, sink)?;
            }
            Some(call @ Open::Call { .. }) => {
                self.open.insert(place, call);
                self.all_input(place, known.arguments.or(known.input), sink);
                self.open.remove(&place);
            }
            Some(Open::Told { .. } | Open::Thoughts { .. } | Open::Theirs | Open::Aside) => {}
        }
        told("done", raw_item.get().as_bytes(), sink)
    }

    fn is_aside(&self, place: usize) -> bool {
        matches!(self.open.get(&place), Some(Open::Aside))
    }

    fn are_thoughts(&self, place: usize) -> bool {
        matches!(self.open.get(&place), Some(Open::Thoughts { .. }))
    }

    /// What an event of thoughts says more of them.
    fn thought(&mut self, place: usize, kind: &str, event: &EventWire) -> Option<String> {
        let said = match kind {
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                event.delta.clone()?
            }
            "response.reasoning_summary_part.added" if event.summary_index > Some(0) => {
                return Some(BETWEEN_SECTIONS.to_owned());
            }
            _ => String::new(),
        };
        if let Some(Open::Thoughts { has_text }) = self.open.get_mut(&place) {
            *has_text |= !said.is_empty();
        }
        Some(said)
    }

    fn tells(&mut self, place: usize) {
        let has_room = self.open.len() < MAX_OPEN;
        match self.open.get_mut(&place) {
            Some(Open::Told { has_text }) => *has_text = true,
            // Nobody said that it began.
            None if has_room => {
                self.open.insert(place, Open::Told { has_text: true });
            }
            _ => {}
        }
    }

    fn input(&mut self, place: usize, text: String, sink: &mut Sink<'_>) {
        if let Some(Open::Call {
            call,
            kind,
            has_input,
        }) = self.open.get_mut(&place)
        {
            *has_input |= !text.is_empty();
            more(*call, *kind, text, sink);
        }
    }

    /// The input as a whole, for servers that tell it in no pieces.
    fn all_input(&mut self, place: usize, text: Option<String>, sink: &mut Sink<'_>) {
        if let Some(Open::Call {
            has_input: false, ..
        }) = self.open.get(&place)
            && let Some(text) = text
        {
            self.input(place, text, sink);
        }
    }

    fn over(&mut self, raw_response: &RawValue, sink: &mut Sink<'_>) -> Option<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Some(());
        }
        let response: ResponseWire = serde_json::from_str(raw_response.get()).ok()?;
        response.start(sink);
        let own: Fields = serde_json::from_str(raw_response.get()).ok()?;
        sink.own(Of::Whole, own);
        response.finish(self.calls, sink);
        sink.done();
        Some(())
    }
}

/// Kinds of events are words such as `response.web_search_call.completed`.
fn is_kind(kind: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let words = kind.strip_prefix("response.");
    words.is_some_and(|words| {
        words
            .split('.')
            .all(|word| !word.is_empty() && word.bytes().all(is_of_word))
    })
}

/// What only this wire says, under the name by which the writer knows it.
fn told(name: &str, said: &[u8], sink: &mut Sink<'_>) -> Option<()> {
    sink.own(Of::Reply, of_server(name, said)?);
    Some(())
}

fn of_server(name: &str, said: &[u8]) -> Option<Fields> {
    let said: Box<RawValue> = serde_json::from_slice(said).ok()?;
    let mut fields = Fields::default();
    fields.set(name, raw(&said));
    Some(fields)
}
