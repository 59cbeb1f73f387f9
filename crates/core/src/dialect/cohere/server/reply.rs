//! A reply of `/v2/chat`, whole or as events.

use crate::dialect::server::{Pieces, Sink};
use crate::ir::{FinishReason, Usage};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Calls in one reply; nobody makes more.
const MAX_CALLS: usize = 1024;

#[derive(Deserialize)]
struct ReplyWire {
    id: Option<String>,
    message: Option<MessageWire>,
    finish_reason: Option<String>,
    usage: Option<UsageWire>,
}

#[derive(Deserialize)]
struct MessageWire {
    content: Option<OneOrMany<PartWire>>,
    tool_plan: Option<String>,
    tool_calls: Option<OneOrMany<CallWire>>,
}

/// A list in a whole reply, one in an event.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    fn into_vec(self) -> Vec<T> {
        match self {
            Self::Many(all) => all,
            Self::One(one) => vec![one],
        }
    }
}

#[derive(Deserialize)]
struct PartWire {
    text: Option<String>,
    thinking: Option<String>,
}

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    function: Option<FunctionWire>,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
struct UsageWire {
    tokens: Option<TokensWire>,
    billed_units: Option<TokensWire>,
    cached_tokens: Option<f64>,
}

#[derive(Deserialize, Clone, Copy)]
struct TokensWire {
    input_tokens: Option<f64>,
    output_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct EventWire {
    r#type: String,
    id: Option<String>,
    index: Option<u32>,
    delta: Option<DeltaWire>,
}

#[derive(Deserialize)]
struct DeltaWire {
    message: Option<MessageWire>,
    finish_reason: Option<String>,
    usage: Option<UsageWire>,
    error: Option<String>,
}

impl UsageWire {
    /// Cohere's counts are numbers with a fraction.
    fn to_usage(self) -> Usage {
        let whole = |count: f64| if count > 0.0 { count as u64 } else { 0 };
        let tokens = self.tokens.or(self.billed_units);
        let count = |count: Option<f64>| count.map_or(0, whole);
        Usage {
            prompt: count(tokens.and_then(|tokens| tokens.input_tokens)),
            completion: count(tokens.and_then(|tokens| tokens.output_tokens)),
            cached: self.cached_tokens.map(whole),
            reasoning: None,
        }
    }
}

/// Why the reply ended; `None` where it failed.
fn finish(reason: Option<&str>, calls: usize) -> Option<FinishReason> {
    Some(match reason {
        Some("MAX_TOKENS") => FinishReason::Length,
        Some("ERROR" | "TIMEOUT") => return None,
        Some("ERROR_TOXIC" | "USER_CANCEL") => FinishReason::ContentFilter,
        Some("TOOL_CALL") => FinishReason::ToolCalls,
        _ if calls > 0 => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    })
}

fn end(reason: Option<&str>, said: Option<&str>, calls: usize, sink: &mut Sink<'_>) {
    match finish(reason, calls) {
        Some(reason) => sink.finish(0, reason),
        None => sink.failed(said.unwrap_or("the reply failed")),
    }
}

/// A whole reply. Errors have a `message` that is a text.
pub(super) fn whole(body: &[u8], sink: &mut Sink<'_>) -> Option<()> {
    let reply: ReplyWire = serde_json::from_slice(body).ok()?;
    let message = reply.message?;
    sink.id(reply.id);
    sink.choice(0, false);
    let calls = message
        .tool_calls
        .map_or_else(Vec::new, OneOrMany::into_vec);
    said(message.content, message.tool_plan, sink);
    let count = calls.len();
    for (call, wire) in (0..).zip(calls) {
        let function = wire.function?;
        sink.call(0, call, wire.id, function.name?);
        sink.arguments(0, call, function.arguments.unwrap_or_default());
    }
    sink.usage(reply.usage.map(UsageWire::to_usage));
    end(reply.finish_reason.as_deref(), None, count, sink);
    Some(())
}

fn said(content: Option<OneOrMany<PartWire>>, plan: Option<String>, sink: &mut Sink<'_>) {
    sink.reasoning(0, plan);
    for part in content.map_or_else(Vec::new, OneOrMany::into_vec) {
        sink.reasoning(0, part.thinking);
        sink.text(0, part.text);
    }
}

/// One reply as events.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The wire's index of each call, and its place.
    calls: BTreeMap<u32, u32>,
    /// Calls so far.
    count: u32,
    is_finished: bool,
}

impl Pieces for Stream {
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let event: EventWire = serde_json::from_slice(data).ok()?;
        let index = event.index.unwrap_or_default();
        let (mut message, mut end_of) = (None, None);
        if let Some(delta) = event.delta {
            message = delta.message;
            end_of = Some((delta.finish_reason, delta.usage, delta.error));
        }
        match (event.r#type.as_str(), message) {
            ("message-start", _) => {
                sink.id(event.id);
                sink.choice(0, true);
            }
            ("content-start" | "content-delta" | "tool-plan-delta", Some(message)) => {
                said(message.content, message.tool_plan, sink);
            }
            ("tool-call-start", Some(message)) => {
                let wire = message.tool_calls?.into_vec().into_iter().next()?;
                self.call(index, wire, sink)?;
            }
            ("tool-call-delta", Some(message)) => {
                let wires = message
                    .tool_calls
                    .map_or_else(Vec::new, OneOrMany::into_vec);
                let call = *self.calls.get(&index)?;
                for function in wires.into_iter().filter_map(|wire| wire.function) {
                    arguments(call, function.arguments, sink);
                }
            }
            ("message-end", _) if !self.is_finished => {
                self.is_finished = true;
                let (reason, usage, error) = end_of?;
                sink.usage(usage.map(UsageWire::to_usage));
                let calls = usize::try_from(self.count).unwrap_or(usize::MAX);
                end(reason.as_deref(), error.as_deref(), calls, sink);
                sink.done();
            }
            // Citations, ends of parts, and whatever comes later.
            _ => {}
        }
        Some(())
    }
}

impl Stream {
    fn call(&mut self, index: u32, wire: CallWire, sink: &mut Sink<'_>) -> Option<()> {
        if self.calls.len() >= MAX_CALLS {
            return None;
        }
        let function = wire.function?;
        let call = self.count;
        self.count += 1;
        self.calls.insert(index, call);
        sink.call(0, call, wire.id, function.name?);
        arguments(call, function.arguments, sink);
        Some(())
    }
}

fn arguments(call: u32, text: Option<String>, sink: &mut Sink<'_>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        sink.arguments(0, call, text);
    }
}
