//! A Messages reply, whole or as events.

use crate::dialect::server::{Reader, Sink, Verbatim, mended};
use crate::ir::{Fields, FinishReason, HostedCall, Of, Sealed, Usage, raw};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// A thought that is longer is passed on, but no more kept to be sent back with its signature.
const MAX_THOUGHT_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct MessageWire {
    r#type: Option<String>,
    role: Option<String>,
    id: Option<String>,
    model: Option<String>,
    content: Option<Vec<Box<RawValue>>>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
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
    caller: Option<Box<RawValue>>,
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
    stop_sequence: Option<String>,
}

impl MessageWire {
    /// Whether what it says of itself is what clients take it for.
    fn is_own(&self) -> bool {
        let is =
            |stated: &Option<String>, word: &str| stated.as_deref().is_none_or(|it| it == word);
        is(&self.r#type, "message") && is(&self.role, "assistant")
    }
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
fn finish(reason: Option<&str>, text: Option<String>, calls: u32) -> FinishReason {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::ContentFilter,
        // The client sends the turn back as it is, and the server goes on with it.
        Some(word @ ("pause_turn" | "compaction")) => FinishReason::Paused(word.to_owned()),
        _ if calls > 0 => FinishReason::ToolCalls,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("stop_sequence") => text.map_or(FinishReason::Stop, FinishReason::StopText),
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
    let mut is_whole = message.is_own() && message.stop_reason.is_some();
    sink.id(message.id);
    sink.model(message.model);
    sink.choice(0, false);
    let mut calls = 0;
    for raw_block in message.content? {
        let block: BlockWire = serde_json::from_str(raw_block.get()).ok()?;
        // What a tool is called with is an object to every client.
        is_whole &= (block.input.as_ref()).is_none_or(|input| input.get().starts_with('{'));
        self::block(block, &raw_block, &mut calls, sink)?;
    }
    sink.usage(message.usage.map(UsageWire::to_usage));
    let reason = message.stop_reason.as_deref();
    sink.finish(0, finish(reason, message.stop_sequence, calls));
    // What is written anew stands among blocks of which no other wire knows.
    if is_whole {
        sink.own(Of::Reply, own);
    }
    Some(is_whole)
}

fn block(
    block: BlockWire,
    raw_block: &RawValue,
    calls: &mut u32,
    sink: &mut Sink<'_>,
) -> Option<()> {
    match block.r#type.as_str() {
        // What it is, each client would guess for itself.
        "" => return None,
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
        "server_tool_use" | "mcp_tool_use" => sink.hosted(0, HostedCall::ByServer),
        // What else the server's own tools did.
        _ => {}
    }
    Some(())
}

/// One reply as events.
#[derive(Debug, Default)]
pub(super) struct Stream {
    usage: UsageWire,
    calls: u32,
    open: Option<(u32, Open)>,
    is_finished: bool,
}

#[derive(Debug)]
enum Open {
    /// A call; what its start had already, as long as nothing follows.
    Call {
        call: u32,
        input: Option<String>,
    },
    /// A thought and its signature, to be sent back.
    Thought {
        text: String,
        signature: String,
        is_kept: bool,
    },
    Text,
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
        let mut is_whole = true;
        match event.r#type.as_str() {
            "error" => {
                sink.error(&event.error?);
                return Some(false);
            }
            "message_start" => {
                let message = event.message?;
                is_whole = message.is_own();
                sink.id(message.id);
                sink.model(message.model);
                sink.choice(0, true);
                self.usage.update(message.usage.unwrap_or_default());
            }
            "content_block_start" => {
                // Who leaves out zeros means the first one; not all clients know that.
                is_whole = event.index.is_some();
                self.start(event.index.unwrap_or_default(), &event.content_block?, sink)?;
            }
            "content_block_delta" => {
                is_whole = event.index.is_some();
                self.delta(event.index.unwrap_or_default(), event.delta?, sink)?;
            }
            "content_block_stop" => {
                is_whole = event.index.is_some();
                let index = event.index.unwrap_or_default();
                // Clients end whichever block they have.
                self.open.as_ref().filter(|open| open.0 == index)?;
                self.stop(sink);
            }
            // Its end was told.
            "message_delta" if self.is_finished => return Some(false),
            "message_delta" => {
                is_whole = event
                    .usage
                    .is_some_and(|usage| usage.output_tokens.is_some());
                self.usage.update(event.usage.unwrap_or_default());
                if let Some(delta) = event.delta
                    && let Some(reason) = delta.stop_reason
                {
                    self.finish(Some(&reason), delta.stop_sequence, sink);
                }
            }
            "message_stop" => {
                self.finish(None, None, sink);
                sink.done();
                return Some(false);
            }
            // `ping`, and whatever comes later.
            _ => {}
        }
        Some(is_whole)
    }

    fn start(&mut self, index: u32, raw_block: &RawValue, sink: &mut Sink<'_>) -> Option<()> {
        // Clients add pieces to the last block alone: whatever was open has ended.
        self.stop(sink);
        let block: BlockWire = serde_json::from_str(raw_block.get()).ok()?;
        let open = match block.r#type.as_str() {
            "tool_use" => {
                let call = self.calls;
                self.calls += 1;
                if let Some(caller) = block.caller {
                    let mut own = Fields::default();
                    own.set("caller", caller);
                    sink.of_call(0, call, own);
                }
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
                Open::Text
            }
            "server_tool_use" | "mcp_tool_use" => {
                sink.hosted(0, HostedCall::ByServer);
                Open::Other
            }
            _ => Open::Other,
        };
        self.open = Some((index, open));
        Some(())
    }

    /// `None` where clients differ in what they make of it.
    fn delta(&mut self, index: u32, delta: DeltaWire, sink: &mut Sink<'_>) -> Option<()> {
        let open = self.open.as_mut().filter(|open| open.0 == index);
        let open = open.map(|open| &mut open.1);
        match (delta.r#type.as_deref(), open) {
            (Some("text_delta"), Some(Open::Text)) => sink.text(0, delta.text),
            // Some append it to a block that is closed, and some fail.
            (Some("text_delta" | "input_json_delta"), None) => return None,
            (Some("input_json_delta"), Some(Open::Call { call, input })) => {
                let text = delta.partial_json?;
                if !text.is_empty() {
                    *input = None;
                    sink.arguments(0, *call, text);
                }
            }
            (Some("thinking_delta"), open) => {
                let thought = delta.thinking.unwrap_or_default();
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
        Some(())
    }

    fn stop(&mut self, sink: &mut Sink<'_>) {
        match self.open.take().map(|open| open.1) {
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
    fn finish(&mut self, reason: Option<&str>, text: Option<String>, sink: &mut Sink<'_>) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        self.stop(sink);
        sink.usage(Some(self.usage.to_usage()));
        sink.finish(0, finish(reason, text, self.calls));
    }
}
