//! Texts that are no answer, where a form is demanded of one: what Anthropic's models refuse is heard as a refusal, and what is said
//! before a call as thoughts, and nobody is asked again; any other text is as wrong as ever.

use crate::replay::{self, chat_event, messages_stream, rule, streamed};
use isogloss_core::exchange::{self, Exchange, Fault};
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

fn text_block(texts: &[&str]) -> (Value, Vec<Value>) {
    let deltas = texts
        .iter()
        .map(|text| json!({"type": "text_delta", "text": text}));
    (json!({"type": "text", "text": ""}), deltas.collect())
}

fn stream(texts: &[&str], reason: Option<&str>) -> String {
    messages_stream(&[text_block(texts)], reason)
}

fn replied(exchange: &Exchange, body: &str) -> Result<Vec<u8>, Fault> {
    let checks = replay::checks(exchange).unwrap();
    exchange::reply(exchange, &checks, Ids::new(1), body.as_bytes()).map(|reply| reply.body)
}

#[test]
fn a_refusal_is_heard_as_one_whole_and_streamed() {
    for (path, stream_path, body, at, word) in clients() {
        let exchange = planned(path, body.clone(), false);
        let reply = replied(&exchange, &whole(&[NO], "refusal"));
        let reply: Value = serde_json::from_slice(&reply.unwrap()).unwrap();
        assert_eq!(reply.pointer(at), Some(&json!(word)), "{path}: {reply}");
        assert!(reply.to_string().contains(NO), "{path}: {reply}");
        let exchange = planned(stream_path, body, true);
        let mut all = Vec::new();
        for width in [1, 40, 1 << 20] {
            let source = stream(&["I can", "not help ", "with that."], Some("refusal"));
            all.push(streamed(&exchange, source.as_bytes(), width).unwrap());
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
        let reply = replied(&exchange, &whole(&[NO], "end_turn"));
        assert!(matches!(reply, Err(Fault::Violation(_))), "{path}");
        let exchange = planned(stream_path, body, true);
        for reason in [Some("end_turn"), None] {
            let fault = streamed(&exchange, stream(&["I can", "not."], reason).as_bytes(), 9);
            assert!(
                matches!(fault, Err(Fault::Violation(_))),
                "{path} {reason:?}: {fault:?}"
            );
        }
        // A part of an answer has gone out already.
        let begun = stream(&["{\"name\": \"A", "\"} I cannot."], Some("refusal"));
        assert!(
            matches!(
                streamed(&exchange, begun.as_bytes(), 9),
                Err(Fault::Violation(_))
            ),
            "{path}"
        );
    }
}

#[test]
fn who_has_no_word_for_a_refusal_is_not_given_one_for_an_answer() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "format": schema(), "stream": false});
    let exchange = planned("/api/chat", body, false);
    let reply = replied(&exchange, &whole(&[NO], "refusal"));
    assert!(matches!(reply, Err(Fault::Violation(_))));
}

const REMARK: &str = "Let me check.";

/// What a server says and calls, whole or streamed.
fn remarked(server: &str, is_stream: bool, arguments: &str) -> String {
    let call = json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}]);
    match (server, is_stream) {
        ("openai", false) => {
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": REMARK, "tool_calls": call}}]})
            .to_string()
        }
        ("openai", true) => {
            let deltas = [
                json!({"role": "assistant", "content": "Let me "}),
                json!({"content": "check."}),
                json!({"tool_calls": call}),
            ];
            let said: String = (deltas.into_iter())
                .map(|delta| chat_event(delta, Value::Null))
                .collect();
            said + &chat_event(json!({}), json!("tool_calls")) + "data: [DONE]\n\n"
        }
        (_, false) => {
            let mut reply: Value = serde_json::from_str(&whole(&[REMARK], "tool_use")).unwrap();
            let input: Value = serde_json::from_str(arguments).unwrap();
            let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": input});
            reply["content"].as_array_mut().unwrap().push(call);
            reply.to_string()
        }
        (_, true) => {
            let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments});
            let blocks = [text_block(&["Let me ", "check."]), (call, vec![delta])];
            messages_stream(&blocks, Some("tool_use"))
        }
    }
}

#[test]
fn what_is_said_before_a_call_is_thought() {
    let parameters =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}});
    for (server, choice) in ["openai", "anthropic"]
        .into_iter()
        .flat_map(|server| [(server, "auto"), (server, "required")])
    {
        for is_stream in [false, true] {
            let body = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "x"}], "tools": [tool],
                "tool_choice": choice, "response_format": format, "stream": is_stream});
            let client = passage::client("/v1/chat/completions").unwrap();
            let demand =
                exchange::read(client, "/v1/chat/completions", body.to_string().as_bytes());
            let exchange = exchange::plan(demand.unwrap(), &rule(server)).unwrap();
            let heard = |body: &str| match is_stream {
                true => streamed(&exchange, body.as_bytes(), 11),
                false => replied(&exchange, body).map(|body| String::from_utf8(body).unwrap()),
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

/// `finishMessage` and `promptFeedback.blockReasonMessage`: Gemini says in them why it answers nothing.
#[test]
fn the_words_with_which_gemini_refuses_are_told() {
    let candidate =
        json!({"candidates": [{"index": 0, "finishReason": "SAFETY", "finishMessage": NO}]});
    let prompt = json!({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": NO}});
    for mut reply in [candidate, prompt] {
        reply["responseId"] = json!("r");
        reply["usageMetadata"] = json!({"promptTokenCount": 4, "totalTokenCount": 4});
        for (path, stream_path, body, at, word) in clients() {
            let planned = |path: &str, body: &Value| {
                let client = passage::client(path).unwrap();
                let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
                exchange::plan(demand, &rule("gemini")).unwrap()
            };
            let whole = replied(&planned(path, &body), &reply.to_string()).unwrap();
            let whole: Value = serde_json::from_slice(&whole).unwrap();
            assert_eq!(whole.to_string().matches(NO).count(), 1, "{path}: {whole}");
            let mut body = body;
            if !path.starts_with("/v1beta") {
                assert_eq!(whole.pointer(at), Some(&json!(word)), "{path}: {whole}");
                body["stream"] = json!(true);
            }
            let events = format!("data: {reply}\r\n\r\n");
            let told = streamed(&planned(stream_path, &body), events.as_bytes(), 40).unwrap();
            assert!(told.contains(NO), "{path}: {told}");
        }
    }
}
