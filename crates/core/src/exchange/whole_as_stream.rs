//! A reply that came whole in; the events in which a stream would have said the same out. Some
//! servers and gateways answer `stream: true` with one JSON body.

use super::upstream_error;
use crate::dialect::chat::{self, Choice};
use crate::error::Error;
use crate::ir::{Delta, Fields, Ids, raw};
use crate::sse;
use serde_json::value::RawValue;

/// Writes a whole reply as the body of a stream, `[DONE]` included: for every choice one chunk
/// with all that it says and one with its finish, then the token counts where they are asked for.
///
/// # Errors
/// It is no reply, or the server reports an error in it.
pub fn whole_as_stream(body: &[u8], include_usage: bool, mut ids: Ids) -> Result<Vec<u8>, Error> {
    let reply = chat::read_reply(body, &mut ids).map_err(upstream_error::unreadable)?;
    let mut envelope = reply.fields;
    envelope.set("object", raw("chat.completion.chunk"));
    let usage = envelope.remove("usage").filter(|raw| raw.get() != "null");
    let mut out = Vec::new();
    for choice in &reply.choices {
        for chunk in [said(choice), finish(choice)] {
            envelope.set("choices", raw(&[chunk]));
            sse::encode(&envelope.to_json(), &mut out);
        }
    }
    if let Some(usage) = usage.filter(|_| include_usage) {
        envelope.set("choices", raw::<[(); 0]>(&[]));
        envelope.set("usage", usage);
        sse::encode(&envelope.to_json(), &mut out);
    }
    out.extend_from_slice(sse::DONE);
    Ok(out)
}

fn said(choice: &Choice) -> Fields {
    let mut delta = choice.message.clone();
    delta.0.retain(|_, value| value.get() != "null");
    delta.set("role", raw("assistant"));
    if let Some(calls) = delta.remove("tool_calls").and_then(|calls| indexed(&calls)) {
        delta.set("tool_calls", calls);
    }
    let mut fields = Fields::default();
    fields.set("index", raw(&choice.index));
    fields.set("delta", raw(&delta));
    if let Some(logprobs) = choice.fields.0.get("logprobs") {
        fields.set("logprobs", logprobs.clone());
    }
    fields.set("finish_reason", RawValue::NULL.to_owned());
    fields
}

/// The calls with the place that each has in a stream; `None` where there are none.
fn indexed(calls: &RawValue) -> Option<Box<RawValue>> {
    let mut calls: Vec<Fields> = serde_json::from_str(calls.get()).ok()?;
    for (place, call) in calls.iter_mut().enumerate() {
        call.set("index", raw(&place));
    }
    (!calls.is_empty()).then(|| raw(&calls))
}

/// The reason, and whatever else the choice has beside its message.
fn finish(choice: &Choice) -> Fields {
    let mut fields = choice.fields.clone();
    fields.remove("message");
    fields.remove("logprobs");
    fields.set("index", raw(&choice.index));
    fields.set("delta", raw(&Fields::default()));
    let reason = choice.deltas.iter().find_map(|delta| match delta {
        Delta::Finish(reason) => Some(reason.as_str()),
        _ => None,
    });
    fields.set("finish_reason", raw(&reason));
    fields
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::error::Kind;
    use serde_json::{Value, json};

    fn ids() -> Ids {
        Ids::new(7)
    }

    fn events(body: &Value, include_usage: bool) -> Vec<Value> {
        let written = whole_as_stream(body.to_string().as_bytes(), include_usage, ids());
        let text = String::from_utf8(written.unwrap()).unwrap();
        let rest = text.strip_suffix("data: [DONE]\n\n").unwrap();
        rest.split_terminator("\n\n")
            .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn a_choice_is_a_chunk_that_says_all_and_one_that_ends() {
        let body = json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", "tool_calls": [],
                "refusal": null, "reasoning_content": "hm"}, "logprobs": null,
                "finish_reason": "length", "stop_reason": 7}],
            "usage": {"total_tokens": 3},
        });
        let head = |choices: Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
        let chunks = [
            head(
                json!([{"index": 0, "delta": {"role": "assistant", "content": "hi",
                "reasoning_content": "hm"}, "logprobs": null, "finish_reason": null}]),
            ),
            head(json!([{"index": 0, "delta": {}, "finish_reason": "length", "stop_reason": 7}])),
        ];
        assert_eq!(events(&body, false), chunks);
        let mut usage = head(json!([]));
        usage["usage"] = json!({"total_tokens": 3});
        assert_eq!(events(&body, true), [&chunks[..], &[usage]].concat());
    }

    #[test]
    fn calls_have_their_places() {
        let call = |name: &str| json!({"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}});
        let body = json!({"choices": [{"message": {"content": null,
            "tool_calls": [call("a"), call("b")]}, "finish_reason": "tool_calls"}]});
        let events = events(&body, false);
        let delta = &events[0]["choices"][0]["delta"];
        assert_eq!(delta["tool_calls"][0]["index"], 0);
        assert_eq!(delta["tool_calls"][1]["index"], 1);
        assert_eq!(delta["tool_calls"][1]["function"]["name"], "b");
        assert_eq!(delta.get("content"), None);
        assert_eq!(events[1]["choices"][0]["finish_reason"], "tool_calls");
    }

    #[test]
    fn several_choices_follow_each_other() {
        let choice = |index: u32| json!({"index": index, "message": {"content": "x"}, "finish_reason": "stop"});
        let events = events(&json!({"choices": [choice(1), choice(0)]}), false);
        let indexes: Vec<_> = events
            .iter()
            .map(|event| &event["choices"][0]["index"])
            .collect();
        assert_eq!(indexes, [1, 1, 0, 0]);
    }

    #[test]
    fn what_is_no_reply_is_told() {
        for (body, kind) in [
            ("{}", Kind::UpstreamBadReply),
            ("{", Kind::UpstreamBadReply),
            (r#"{"choices":[{}]}"#, Kind::UpstreamBadReply),
            (r#"{"error":{"message":"no"}}"#, Kind::UpstreamFailed),
        ] {
            let error = whole_as_stream(body.as_bytes(), false, ids()).unwrap_err();
            assert_eq!(error.kind, kind, "{body}");
        }
    }
}
