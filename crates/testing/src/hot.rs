//! The hot path's requests and replies, for what counts its allocations and its time.

#[cfg(feature = "hot")]
mod work;

use serde_json::{Value, json};
#[cfg(feature = "hot")]
pub use work::{Work, hot_path};

/// Events of a stream; what its first and its last cost alone is little beside them.
pub const EVENTS: u64 = 1000;

/// What the replies satisfy.
#[must_use]
pub fn schema() -> Value {
    json!({"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}, "required": ["words"]})
}

/// A tool that must be called.
#[must_use]
pub fn called() -> Value {
    let function =
        json!({"name": "f", "description": "Does what it does.", "parameters": schema()});
    json!({"tools": [{"type": "function", "function": function}], "tool_choice": "required"})
}

/// A format that the answer must have.
#[must_use]
pub fn formatted() -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}}})
}

/// A request of about a kilobyte with this demand.
#[must_use]
pub fn request(demand: &Value, stream: bool) -> Vec<u8> {
    let text = "Say something. ".repeat(60);
    let mut body =
        json!({"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream});
    for (name, value) in demand.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body.to_string().into_bytes()
}

/// `{"words": ["word", …]}`, in pieces of a word.
fn pieces() -> Vec<String> {
    let words = (0..EVENTS).map(|index| format!("{}\"word\"", if index == 0 { "" } else { ", " }));
    let begin = std::iter::once("{\"words\": [".to_owned());
    begin.chain(words).chain(["]}".to_owned()]).collect()
}

fn event(delta: &Value, finish: Option<&str>) -> Vec<u8> {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
    format!("data: {chunk}\n\n").into_bytes()
}

/// A server's stream of content that satisfies the schema: each event as bytes.
#[must_use]
pub fn stream() -> Vec<Vec<u8>> {
    let mut events = vec![event(&json!({"role": "assistant", "content": ""}), None)];
    events.extend(
        pieces()
            .iter()
            .map(|piece| event(&json!({"content": piece}), None)),
    );
    events.push(event(&json!({}), Some("stop")));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

/// The same, where each event counts the tokens so far.
#[must_use]
pub fn counted_stream() -> Vec<Vec<u8>> {
    let counted = |(count, event): (usize, Vec<u8>)| {
        let text = String::from_utf8(event).unwrap();
        let total = 200 + count;
        let usage = format!(
            "}}],\"usage\":{{\"prompt_tokens\":200,\"total_tokens\":{total},\"completion_tokens\":{count}}}"
        );
        text.replacen("}]", &usage, 1).into_bytes()
    };
    stream().into_iter().enumerate().map(counted).collect()
}

/// A server's whole reply with content that satisfies the schema.
#[must_use]
pub fn reply() -> Vec<u8> {
    let message = json!({"role": "assistant", "content": "{\"words\": [\"a\", \"b\"]}"});
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
        .to_string()
        .into_bytes()
}
