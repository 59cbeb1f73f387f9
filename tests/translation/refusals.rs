//! Texts that are no answer, where a form is demanded of one: what Anthropic's models refuse is heard as a refusal, and what is said
//! before a call as thoughts, and nobody is asked again; any other text is as wrong as ever.

use crate::replay::{self, rule};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::passage;
use serde_json::{Value, json};

const NO: &str = "I cannot help with that.";

fn schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false})
}

/// A client, what it asks, and where a whole reply says how it ended, with the word for a refusal.
fn clients() -> [(
    &'static str,
    &'static str,
    Value,
    &'static str,
    &'static str,
); 4] {
    let said = json!([{"role": "user", "content": "x"}]);
    let format = json!({"type": "json_schema", "name": "x", "schema": schema(), "strict": true});
    [
        (
            "/v1/chat/completions",
            "/v1/chat/completions",
            json!({"model": "m", "messages": said, "response_format": {"type": "json_schema", "json_schema": format}}),
            "/choices/0/finish_reason",
            "content_filter",
        ),
        (
            "/v1/messages",
            "/v1/messages",
            json!({"model": "m", "max_tokens": 99, "messages": said, "output_config": {"format": {"type": "json_schema", "schema": schema()}}}),
            "/stop_reason",
            "refusal",
        ),
        (
            "/v1/responses",
            "/v1/responses",
            json!({"model": "m", "input": said, "text": {"format": format}}),
            "/output/0/content/0/type",
            "refusal",
        ),
        (
            "/v1beta/models/m:generateContent",
            "/v1beta/models/m:streamGenerateContent",
            json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}],
                "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema()}}),
            "/candidates/0/finishReason",
            "SAFETY",
        ),
    ]
}

fn planned(path: &str, mut body: Value, is_stream: bool) -> Exchange {
    if is_stream && !path.starts_with("/v1beta") {
        body["stream"] = json!(true);
    }
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule("anthropic")).unwrap()
}

fn whole(texts: &[&str], reason: &str) -> String {
    let blocks: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": blocks,
        "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 4, "output_tokens": 2}})
    .to_string()
}

fn stream(texts: &[&str], reason: Option<&str>) -> String {
    let begun = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 4, "output_tokens": 1}}});
    let mut events = vec![
        begun,
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    events.extend(texts.iter().map(|text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})));
    if let Some(reason) = reason {
        events.push(json!({"type": "content_block_stop", "index": 0}));
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 2}}));
        events.push(json!({"type": "message_stop"}));
    }
    let event = |event: &Value| {
        let kind = event["type"].as_str().unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

fn streamed(exchange: &Exchange, body: &str, width: usize) -> Result<String, Fault> {
    let checks = replay::checks(exchange).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    for piece in body.as_bytes().chunks(width) {
        translator.push(piece, &mut out)?;
    }
    translator.finish(End::Eof, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_refusal_is_heard_as_one_whole_and_streamed() {
    for (path, stream_path, body, at, word) in clients() {
        let exchange = planned(path, body.clone(), false);
        let checks = replay::checks(&exchange).unwrap();
        let reply = exchange::reply(
            &exchange,
            &checks,
            Ids::new(1),
            whole(&[NO], "refusal").as_bytes(),
        );
        let reply: Value = serde_json::from_slice(&reply.unwrap().body).unwrap();
        assert_eq!(reply.pointer(at), Some(&json!(word)), "{path}: {reply}");
        assert!(reply.to_string().contains(NO), "{path}: {reply}");
        let exchange = planned(stream_path, body, true);
        let mut all = Vec::new();
        for width in [1, 40, 1 << 20] {
            let source = stream(&["I can", "not help ", "with that."], Some("refusal"));
            all.push(streamed(&exchange, &source, width).unwrap());
        }
        assert!(all.iter().all(|one| *one == all[0]), "{path}");
        let word = match at {
            "/output/0/content/0/type" => "response.refusal.done",
            _ => word,
        };
        assert!(
            all[0].contains(word) && all[0].contains("with that."),
            "{path}: {}",
            all[0]
        );
    }
}

#[test]
fn a_wrong_text_is_none_whatever_the_server_is() {
    for (path, stream_path, body, ..) in clients() {
        let exchange = planned(path, body.clone(), false);
        let checks = replay::checks(&exchange).unwrap();
        let reply = exchange::reply(
            &exchange,
            &checks,
            Ids::new(1),
            whole(&[NO], "end_turn").as_bytes(),
        );
        assert!(matches!(reply, Err(Fault::Violation(_))), "{path}");
        let exchange = planned(stream_path, body, true);
        for reason in [Some("end_turn"), None] {
            let fault = streamed(&exchange, &stream(&["I can", "not."], reason), 9);
            assert!(
                matches!(fault, Err(Fault::Violation(_))),
                "{path} {reason:?}: {fault:?}"
            );
        }
        // A part of an answer has gone out already.
        let begun = stream(&["{\"name\": \"A", "\"} I cannot."], Some("refusal"));
        assert!(
            matches!(streamed(&exchange, &begun, 9), Err(Fault::Violation(_))),
            "{path}"
        );
    }
}

#[test]
fn who_has_no_word_for_a_refusal_is_not_given_one_for_an_answer() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "format": schema(), "stream": false});
    let exchange = planned("/api/chat", body, false);
    let checks = replay::checks(&exchange).unwrap();
    let reply = exchange::reply(
        &exchange,
        &checks,
        Ids::new(1),
        whole(&[NO], "refusal").as_bytes(),
    );
    assert!(matches!(reply, Err(Fault::Violation(_))));
}

const REMARK: &str = "Let me check.";

/// What a server says and calls, whole or streamed.
fn remarked(server: &str, is_stream: bool, arguments: &str) -> String {
    let chat = |choice: Value| json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
    let chunk = |delta: Value, finish: Value| {
        let chunk = chat(json!({"index": 0, "delta": delta, "finish_reason": finish}));
        format!("data: {chunk}\n\n")
    };
    let call = json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}]);
    match (server, is_stream) {
        ("openai", false) => chat(json!({"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": REMARK, "tool_calls": call}}))
        .to_string(),
        ("openai", true) => {
            chunk(
                json!({"role": "assistant", "content": "Let me "}),
                Value::Null,
            ) + &chunk(json!({"content": "check."}), Value::Null)
                + &chunk(json!({"tool_calls": call}), Value::Null)
                + &chunk(json!({}), json!("tool_calls"))
                + "data: [DONE]\n\n"
        }
        (_, false) => {
            let mut reply: Value = serde_json::from_str(&whole(&[REMARK], "tool_use")).unwrap();
            let input: Value = serde_json::from_str(arguments).unwrap();
            let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": input});
            reply["content"].as_array_mut().unwrap().push(call);
            reply.to_string()
        }
        (_, true) => {
            let said = stream(&["Let me ", "check."], Some("tool_use"));
            let (said, end) = said.split_once("event: message_delta").unwrap();
            let event = |kind: &str, event: Value| format!("event: {kind}\ndata: {event}\n\n");
            let block = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments});
            said.to_owned()
                + &event(
                    "content_block_start",
                    json!({"type": "content_block_start", "index": 1, "content_block": block}),
                )
                + &event(
                    "content_block_delta",
                    json!({"type": "content_block_delta", "index": 1, "delta": delta}),
                )
                + &event(
                    "content_block_stop",
                    json!({"type": "content_block_stop", "index": 1}),
                )
                + "event: message_delta"
                + end
        }
    }
}

#[test]
fn what_is_said_before_a_call_is_thought() {
    let parameters =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}});
    for server in ["openai", "anthropic"] {
        for is_stream in [false, true] {
            let body = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "x"}], "tools": [tool],
                "response_format": format, "stream": is_stream});
            let client = passage::client("/v1/chat/completions").unwrap();
            let demand =
                exchange::read(client, "/v1/chat/completions", body.to_string().as_bytes());
            let exchange = exchange::plan(demand.unwrap(), &rule(server)).unwrap();
            let heard = |body: &str| match is_stream {
                true => streamed(&exchange, body, 11),
                false => {
                    let checks = replay::checks(&exchange).unwrap();
                    let reply = exchange::reply(&exchange, &checks, Ids::new(1), body.as_bytes())?;
                    Ok(String::from_utf8(reply.body).unwrap())
                }
            };
            let reply = heard(&remarked(server, is_stream, "{\"a\":1}")).unwrap();
            assert!(
                reply.contains("\"reasoning_content\":\"Let me "),
                "{server}: {reply}"
            );
            assert!(!reply.contains("\"content\":\"Let"), "{server}: {reply}");
            assert!(reply.contains("\"name\":\"f\""), "{server}: {reply}");
            // What is called wrongly is wrong.
            let wrong = heard(&remarked(server, is_stream, "{\"a\":\"b\"}"));
            assert!(
                matches!(wrong, Err(Fault::Violation(_))),
                "{server}: {wrong:?}"
            );
        }
    }
}
