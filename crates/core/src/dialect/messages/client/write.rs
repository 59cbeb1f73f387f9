//! The events of a reply as content blocks: server-sent events, or one message.
//!
//! Every field is there that Anthropic's OpenAPI description requires, `null` where only its own servers have something
//! to say. What real clients need was measured: `event:` lines, `stop_reason` and `usage` both in `message_start` and in
//! `message_delta`, an `id` on each call, and a signature on each thought, without which it is not sent back.

mod events;
mod own;

use crate::dialect::client::{Terms, is_readable};
use crate::ir::{Choice, Delta, FinishReason, Reply, Sealed, Start, Usage, raw_string};
use crate::sse;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) use events::EventWriter;

/// The event that ends a stream.
pub(super) const END: &[u8] = b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Appends an event with its name, by which clients tell events apart.
pub(super) fn event(name: &str, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    sse::encode(data, out);
}

/// A message, without what a stream tells of it later.
#[derive(Serialize)]
struct Message<'m> {
    id: String,
    r#type: &'static str,
    role: &'static str,
    model: &'m str,
    content: Vec<Block>,
    stop_reason: Option<&'m str>,
    stop_sequence: Option<&'m str>,
    stop_details: (),
    container: (),
    usage: Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
        /// Never null: Anthropic's specification wants it there, and the AI SDK (`@ai-sdk/anthropic` 2.0, 3.0) a list.
        citations: [(); 0],
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Box<RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<Value>,
    },
    /// As its server made it.
    #[serde(untagged)]
    Sealed(Box<RawValue>),
}

impl<'m> Message<'m> {
    fn begun(terms: &'m Terms, start: &'m Start, usage: Usage) -> Self {
        let id = start.id.clone().unwrap_or_else(|| terms.ids.reply());
        Self {
            id: match id.starts_with("msg_") {
                true => id,
                false => format!("msg_{}", id.strip_prefix("chatcmpl-").unwrap_or(&id)),
            },
            r#type: "message",
            role: "assistant",
            model: start.model.as_deref().unwrap_or(&terms.model),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            stop_details: (),
            container: (),
            usage: all_counts(usage),
        }
    }
}

/// What is cached does not count as input.
fn counts(usage: Usage) -> Value {
    let cached = usage.cached.unwrap_or_default();
    let mut counts = json!({
        "input_tokens": usage.prompt.saturating_sub(cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.completion,
        "output_tokens_details": null,
        "server_tool_use": null,
    });
    if let Some(thinking) = usage.reasoning {
        counts["output_tokens_details"] = json!({"thinking_tokens": thinking});
    }
    counts
}

/// The same with what a message alone has, and only Anthropic's servers know.
fn all_counts(usage: Usage) -> Value {
    let mut counts = counts(usage);
    for name in ["cache_creation", "inference_geo", "service_tier"] {
        counts[name] = Value::Null;
    }
    counts
}

/// Who makes a call: the model itself. Before Anthropic it may have been a program, which is not known here.
fn direct(terms: &Terms) -> Option<Value> {
    (!terms.keeps_bytes).then(|| json!({"type": "direct"}))
}

/// Why a reply ended, and at which text. What was called decides where the server says that it is done.
fn stopped(
    finish: Option<&FinishReason>,
    has_calls: bool,
    refuses: bool,
) -> (Option<&str>, Option<&str>) {
    match finish {
        Some(FinishReason::StopText(text)) if !has_calls && !refuses => {
            (Some("stop_sequence"), Some(text))
        }
        _ => (Some(stop_reason(finish, has_calls, refuses)), None),
    }
}

fn stop_reason(finish: Option<&FinishReason>, has_calls: bool, refuses: bool) -> &str {
    match finish {
        Some(FinishReason::Length) => "max_tokens",
        Some(FinishReason::Paused(word)) => word,
        Some(FinishReason::ContentFilter) => "refusal",
        _ if refuses => "refusal",
        _ if has_calls => "tool_use",
        Some(FinishReason::Other(word)) if !is_end(word) => word,
        Some(
            FinishReason::Stop
            | FinishReason::StopText(_)
            | FinishReason::ToolCalls
            | FinishReason::Other(_),
        )
        | None => "end_turn",
    }
}

/// Words of servers for a model that is done.
fn is_end(word: &str) -> bool {
    matches!(
        word,
        "eos" | "eos_token" | "end" | "stop_sequence" | "complete"
    )
}

/// A whole reply.
pub(super) fn whole(terms: &Terms, reply: &Reply) -> Vec<u8> {
    if let [choice] = reply.choices.as_slice()
        && terms.keeps_bytes
        && let Some(message) = own::message(terms, choice, &reply.own)
    {
        return message;
    }
    let mut message = Message::begun(terms, &reply.start, reply.usage.unwrap_or_default());
    message.stop_reason = Some("end_turn");
    if let Some(choice) = reply.choices.first() {
        message.content = blocks(choice);
        complete(&mut message.content, terms);
        (message.stop_reason, message.stop_sequence) = reason(choice);
    }
    serde_json::to_vec(&message).unwrap_or_default()
}

fn reason(choice: &Choice) -> (Option<&str>, Option<&str>) {
    let deltas = &choice.deltas;
    let is_call = |delta: &Delta| matches!(delta, Delta::CallStart { .. });
    let is_refusal = |delta: &Delta| matches!(delta, Delta::Refusal(_));
    let finish = deltas.iter().find_map(|delta| match delta {
        Delta::Finish(reason) => Some(reason),
        _ => None,
    });
    let (has_calls, refuses) = (deltas.iter().any(is_call), deltas.iter().any(is_refusal));
    stopped(finish, has_calls, refuses)
}

fn blocks(choice: &Choice) -> Vec<Block> {
    let mut blocks = thoughts(choice);
    for delta in &choice.deltas {
        match delta {
            Delta::Text(more) | Delta::Refusal(more) => match blocks.last_mut() {
                Some(Block::Text { text, .. }) => text.push_str(more),
                _ => blocks.push(Block::Text {
                    text: more.clone(),
                    citations: [],
                }),
            },
            Delta::Reasoning(more) => think(&mut blocks, more),
            Delta::CallStart { call, id, name, .. } => blocks.push(Block::ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: input(choice, *call),
                caller: None,
            }),
            Delta::CallInput { .. } | Delta::Finish(_) => {}
        }
    }
    blocks
}

/// What a tool is called with. What a limit cut in its middle is no object; `stop_reason` says so.
fn input(choice: &Choice, call: u32) -> Box<RawValue> {
    whole_input(choice, call).unwrap_or_else(|| raw_string("{}".to_owned()))
}

/// The object that a tool is called with; none where it is not whole.
fn whole_input(choice: &Choice, call: u32) -> Option<Box<RawValue>> {
    let pieces = choice.deltas.iter().filter_map(|delta| match delta {
        Delta::CallInput { call: of, text, .. } if *of == call => Some(text.as_str()),
        _ => None,
    });
    let input = serde_json::from_str::<Box<RawValue>>(&pieces.collect::<String>());
    let is_object = |input: &RawValue| input.get().starts_with('{') && is_readable(input.get());
    input.ok().filter(|input| is_object(input))
}

fn think(blocks: &mut Vec<Block>, more: &str) {
    match blocks.last_mut() {
        Some(Block::Thinking { thinking, .. }) => thinking.push_str(more),
        _ => blocks.push(Block::Thinking {
            thinking: more.to_owned(),
            signature: String::new(),
        }),
    }
}

/// Signs the thoughts that no server signed, so that they can come back, and says who called.
fn complete(blocks: &mut [Block], terms: &Terms) {
    for block in blocks {
        match block {
            Block::Thinking {
                thinking,
                signature,
            } => *signature = terms.seal.sign(thinking),
            Block::ToolUse { caller, .. } => *caller = direct(terms),
            Block::Text { .. } | Block::Sealed(_) => {}
        }
    }
}

/// What the server told apart of thinking, and before it what is to be sent back as it came.
fn thoughts(choice: &Choice) -> Vec<Block> {
    #[derive(Deserialize)]
    struct Signed {
        thinking: Option<String>,
    }
    let mut blocks = Vec::new();
    let mut signed = String::new();
    for sealed in &choice.sealed {
        if let Sealed::Thinking(block) = sealed {
            let known: Option<Signed> = serde_json::from_str(block.get()).ok();
            signed.extend(known.and_then(|known| known.thinking));
            blocks.push(Block::Sealed(block.clone()));
        }
    }
    let unsigned = choice.reasoning.strip_prefix(&signed);
    let unsigned = unsigned.unwrap_or(&choice.reasoning);
    if !unsigned.is_empty() {
        think(&mut blocks, unsigned);
    }
    blocks
}
