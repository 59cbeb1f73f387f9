//! A Messages reply, whole or as events.

use crate::dialect::server::{Reader, Sink, Verbatim, mended};
use crate::ir::{Fields, FinishReason, Of, Sealed, Usage, raw};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A thought that is longer is passed on, but no more kept to be sent back with its signature.
const MAX_THOUGHT_BYTES: usize = 1 << 20;
/// Blocks that are open at once; a server closes each before it opens the next.
const MAX_OPEN: usize = 256;

#[derive(Deserialize)]
struct MessageWire {
    id: Option<String>,
    model: Option<String>,
    content: Option<Vec<Box<RawValue>>>,
    stop_reason: Option<String>,
    usage: Option<UsageWire>,
}

#[derive(Deserialize, Clone, Copy, Debug, Default)]
struct UsageWire {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens_details: Option<DetailsWire>,
}

#[derive(Deserialize, Clone, Copy, Debug, Default)]
struct DetailsWire {
    thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct BlockWire {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct EventWire {
    r#type: String,
    index: Option<u32>,
    message: Option<MessageWire>,
    content_block: Option<Box<RawValue>>,
    delta: Option<DeltaWire>,
    usage: Option<UsageWire>,
    error: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct DeltaWire {
    r#type: Option<String>,
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

impl UsageWire {
    /// Later counts complete earlier ones.
    fn update(&mut self, later: Self) {
        let Self {
            input_tokens,
            output_tokens,
            cache_creation_input_tokens,
            cache_read_input_tokens,
            output_tokens_details,
        } = later;
        self.input_tokens = input_tokens.or(self.input_tokens);
        self.output_tokens = output_tokens.or(self.output_tokens);
        self.cache_creation_input_tokens =
            cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens_details = output_tokens_details.or(self.output_tokens_details);
    }

    /// What is cached counts as prompt, as Chat counts it.
    fn to_usage(self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or_default();
        let written = self.cache_creation_input_tokens.unwrap_or_default();
        let fresh = self.input_tokens.unwrap_or_default();
        let details = self.output_tokens_details.unwrap_or_default();
        Usage {
            prompt: fresh.saturating_add(cached).saturating_add(written),
            completion: self.output_tokens.unwrap_or_default(),
            cached: self.cache_read_input_tokens,
            reasoning: details.thinking_tokens,
        }
    }
}

/// Why the reply ended. Calls that came decide where the server says that it is done.
fn finish(reason: Option<&str>, calls: u32) -> FinishReason {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::ContentFilter,
        _ if calls > 0 => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    }
}

/// A whole reply; an error in it goes along. Says whether it is one.
pub(super) fn whole(body: &[u8], sink: &mut Sink<'_>) -> Option<bool> {
    let event: EventWire = serde_json::from_slice(body).ok()?;
    if event.r#type == "error" {
        sink.error(&event.error?);
        return Some(false);
    }
    let own: Fields = serde_json::from_slice(body).ok()?;
    let message: MessageWire = serde_json::from_slice(body).ok()?;
    sink.id(message.id);
    sink.model(message.model);
    sink.choice(0, false);
    let mut calls = 0;
    for raw_block in message.content? {
        let block: BlockWire = serde_json::from_str(raw_block.get()).ok()?;
        self::block(block, &raw_block, &mut calls, sink)?;
    }
    sink.usage(message.usage.map(UsageWire::to_usage));
    sink.finish(0, finish(message.stop_reason.as_deref(), calls));
    // With calls it is written anew, and they stand among blocks of which no other wire knows.
    sink.own(Of::Reply, own);
    Some(true)
}

fn block(
    block: BlockWire,
    raw_block: &RawValue,
    calls: &mut u32,
    sink: &mut Sink<'_>,
) -> Option<()> {
    match block.r#type.as_str() {
        "text" => sink.text(0, Some(block.text?)),
        "thinking" => {
            sink.reasoning(0, block.thinking);
            if block
                .signature
                .is_some_and(|signature| !signature.is_empty())
            {
                sink.sealed(0, Sealed::Thinking(raw_block.to_owned()));
            }
        }
        "redacted_thinking" => sink.sealed(0, Sealed::Thinking(raw_block.to_owned())),
        "tool_use" => {
            let call = *calls;
            *calls += 1;
            sink.call(0, call, block.id, block.name?);
            sink.arguments(0, call, block.input?.get().to_owned());
        }
        // What the server's own tools did.
        _ => {}
    }
    Some(())
}

/// One reply as events.
#[derive(Debug, Default)]
pub(super) struct Stream {
    usage: UsageWire,
    calls: u32,
    open: BTreeMap<u32, Open>,
    is_finished: bool,
}

#[derive(Debug)]
enum Open {
    /// A call; what its start had already, as long as nothing follows.
    Call { call: u32, input: Option<String> },
    /// A thought and its signature, to be sent back.
    Thought {
        text: String,
        signature: String,
        is_kept: bool,
    },
    /// Any other block.
    Other,
}

impl Reader for Stream {
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        let data = mended(data);
        if data.trim_ascii() == b"[DONE]" {
            return None;
        }
        match self.piece(&data, sink) {
            Some(true) => Some(Verbatim::of(data)),
            Some(false) => None,
            None => {
                sink.garbage();
                None
            }
        }
    }
}

impl Stream {
    /// Reads the data of one event; says whether a client of Messages may have it as it is. The end is
    /// the writer's to tell.
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<bool> {
        let event: EventWire = serde_json::from_slice(data).ok()?;
        match event.r#type.as_str() {
            "error" => {
                sink.error(&event.error?);
                return Some(false);
            }
            "message_start" => {
                let message = event.message?;
                sink.id(message.id);
                sink.model(message.model);
                sink.choice(0, true);
                self.usage.update(message.usage.unwrap_or_default());
            }
            "content_block_start" => {
                self.start(event.index.unwrap_or_default(), &event.content_block?, sink)?;
            }
            "content_block_delta" => {
                self.delta(event.index.unwrap_or_default(), event.delta?, sink);
            }
            "content_block_stop" => self.stop(event.index.unwrap_or_default(), sink),
            "message_delta" => {
                self.usage.update(event.usage.unwrap_or_default());
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                if let Some(reason) = reason {
                    self.finish(Some(&reason), sink);
                }
            }
            "message_stop" => {
                self.finish(None, sink);
                sink.done();
                return Some(false);
            }
            // `ping`, and whatever comes later.
            _ => {}
        }
        Some(true)
    }

    fn start(&mut self, index: u32, raw_block: &RawValue, sink: &mut Sink<'_>) -> Option<()> {
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        let block: BlockWire = serde_json::from_str(raw_block.get()).ok()?;
        let open = match block.r#type.as_str() {
            "tool_use" => {
                let call = self.calls;
                self.calls += 1;
                sink.call(0, call, block.id, block.name?);
                let input = block
                    .input
                    .map_or("{}".to_owned(), |input| input.get().to_owned());
                Open::Call {
                    call,
                    input: Some(input),
                }
            }
            "thinking" => {
                let text = block.thinking.unwrap_or_default();
                sink.reasoning(0, Some(text.clone()));
                Open::Thought {
                    text,
                    signature: block.signature.unwrap_or_default(),
                    is_kept: true,
                }
            }
            "redacted_thinking" => {
                sink.sealed(0, Sealed::Thinking(raw_block.to_owned()));
                Open::Other
            }
            "text" => {
                sink.text(0, block.text);
                Open::Other
            }
            _ => Open::Other,
        };
        self.open.insert(index, open);
        Some(())
    }

    fn delta(&mut self, index: u32, delta: DeltaWire, sink: &mut Sink<'_>) {
        let open = self.open.get_mut(&index);
        match (delta.r#type.as_deref(), open) {
            (Some("text_delta"), _) => sink.text(0, delta.text),
            (Some("input_json_delta"), Some(Open::Call { call, input })) => {
                let Some(text) = delta.partial_json.filter(|text| !text.is_empty()) else {
                    return;
                };
                *input = None;
                sink.arguments(0, *call, text);
            }
            (Some("thinking_delta"), open) => {
                let Some(thought) = delta.thinking else {
                    return;
                };
                if let Some(Open::Thought { text, is_kept, .. }) = open {
                    *is_kept &= text.len() + thought.len() <= MAX_THOUGHT_BYTES;
                    if *is_kept {
                        text.push_str(&thought);
                    }
                }
                sink.reasoning(0, Some(thought));
            }
            (
                Some("signature_delta"),
                Some(Open::Thought {
                    signature, is_kept, ..
                }),
            ) => {
                let more = delta.signature.unwrap_or_default();
                *is_kept &= signature.len() + more.len() <= MAX_THOUGHT_BYTES;
                if *is_kept {
                    signature.push_str(&more);
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, index: u32, sink: &mut Sink<'_>) {
        match self.open.remove(&index) {
            Some(Open::Call {
                call,
                input: Some(text),
            }) => sink.arguments(0, call, text),
            Some(Open::Thought {
                text,
                signature,
                is_kept: true,
            }) if !signature.is_empty() => {
                let block = json!({"type": "thinking", "thinking": text, "signature": signature});
                sink.sealed(0, Sealed::Thinking(raw(&block)));
            }
            _ => {}
        }
    }

    /// What is verified at a reply's end has to be known before `stop_reason` is passed on.
    fn finish(&mut self, reason: Option<&str>, sink: &mut Sink<'_>) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        let open: Vec<u32> = self.open.keys().copied().collect();
        for index in open {
            self.stop(index, sink);
        }
        sink.usage(Some(self.usage.to_usage()));
        sink.finish(0, finish(reason, self.calls));
    }
}
