//! The events of a whole reply in; the frames in which a stream would have said the same out. Some
//! servers and gateways answer `stream: true` with one JSON body.

use crate::ir::{Delta, Event, Of, raw};
use std::sync::Arc;

/// For every choice one frame with all that it says and one with its finish, then the token counts,
/// and the end.
pub(super) fn unfold(events: Vec<Event>) -> Vec<Vec<Event>> {
    let (mut reply, mut usage) = (Vec::new(), Vec::new());
    let mut choices: Vec<(Vec<Event>, Vec<Event>)> = Vec::new();
    let mut current = None;
    for event in events {
        let Some(choice) = event.choice() else {
            match event {
                Event::Usage(_) => usage.push(event),
                Event::Own { of, fields } => {
                    let mut fields = Arc::unwrap_or_clone(fields);
                    if fields.has("object") {
                        fields.set("object", raw("chat.completion.chunk"));
                    }
                    if let Some(counts) = fields.remove("usage") {
                        let mut own = fields.clone();
                        own.set("usage", counts);
                        let fields = Arc::new(own);
                        usage.insert(0, Event::Own { of, fields });
                    }
                    let fields = Arc::new(fields);
                    reply.push(Event::Own { of, fields });
                }
                // Each wire's own mark; here it comes after the counts.
                Event::Done => {}
                event => reply.push(event),
            }
            continue;
        };
        if current != Some(choice) {
            current = Some(choice);
            choices.push((Vec::new(), Vec::new()));
        }
        let Some((said, end)) = choices.last_mut() else {
            continue;
        };
        match event {
            // Whatever else it has beside its message goes with its end.
            Event::Own {
                of: Of::Choice(_), ..
            } => end.push(event),
            Event::Delta {
                delta: Delta::Finish(_),
                ..
            } => {
                end.push(event);
                current = None;
            }
            event => said.push(event),
        }
    }
    let mut frames = Vec::new();
    let mut frame = |events: Vec<Event>| {
        let own = reply.iter().cloned();
        frames.push(own.chain(events).collect());
    };
    for (said, end) in choices {
        frame(said);
        frame(end);
    }
    frames.push(usage);
    frames.push(vec![Event::Done]);
    frames
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
mod tests {
    use crate::error::{Error, Kind};
    use crate::exchange::{Exchange, Fault, StreamTranslator, plan, read_chat};
    use crate::ir::Ids;
    use crate::rules::RuleSet;
    use crate::schema::SchemaLimits;
    use serde_json::{Value, json};

    fn exchange(include_usage: bool, n: usize) -> Exchange {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
        let request = json!({
            "model": "m", "messages": [], "stream": true, "n": n, "tools": [tool("a"), tool("b")],
            "stream_options": {"include_usage": include_usage},
        });
        let demand = read_chat(request.to_string().as_bytes()).unwrap();
        plan(demand, &RuleSet::builtin().resolve("openai", None).unwrap()).unwrap()
    }

    fn streamed(exchange: &Exchange, body: &[u8]) -> Result<Vec<u8>, Error> {
        let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
        let mut translator = StreamTranslator::new(exchange, checks, Ids::new(7), 1);
        let mut out = Vec::new();
        match translator.whole(exchange, body, &mut out) {
            Ok(()) => Ok(out),
            Err(Fault::Error(error)) => Err(error),
            Err(Fault::Violation(violation)) => panic!("{violation:?}"),
        }
    }

    fn events(body: &Value, include_usage: bool) -> Vec<Value> {
        let n = body["choices"].as_array().unwrap().len();
        let exchange = exchange(include_usage, n);
        let text =
            String::from_utf8(streamed(&exchange, body.to_string().as_bytes()).unwrap()).unwrap();
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
            head(
                json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": "length", "stop_reason": 7}]),
            ),
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
        assert_eq!(delta["content"], Value::Null);
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
            let error = streamed(&exchange(false, 1), body.as_bytes()).unwrap_err();
            assert_eq!(error.kind, kind, "{body}");
        }
    }
}
