//! What replies say in words that one server alone has on its wire: thoughts among the parts of the content, and ends.

use crate::replay::{chat_event, rule};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator, launch_facts};
use isogloss_core::ir::Ids;
use isogloss_core::passage;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

fn planned(server: &str, path: &str, mut body: Value, stream: bool) -> Exchange {
    body["model"] = json!("m");
    body["stream"] = json!(stream);
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule(server)).unwrap()
}

/// A request that says nothing else.
fn asks(path: &str) -> Value {
    match path {
        RESPONSES => json!({"input": "hi"}),
        MESSAGES => {
            json!({"max_tokens": 99, "messages": [{"role": "user", "content": "hi"}], "thinking": {"type": "adaptive"}})
        }
        _ => json!({"max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}),
    }
}

/// The same with a schema for the answer.
fn with_schema(path: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let mut body = asks(path);
    body["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    body
}

fn whole(
    server: &str,
    path: &str,
    body: Value,
    content: &Value,
    finish: &str,
) -> Result<Value, Fault> {
    let mut exchange = planned(server, path, body, false);
    let checks = exchange.compile(&SchemaLimits::default()).unwrap();
    let message = json!({"role": "assistant", "content": content});
    let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}]});
    let reply = exchange::reply(
        &exchange,
        &checks,
        Ids::new(1),
        reply.to_string().as_bytes(),
    )?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

/// What a client gets of a stream, and what went wrong: nothing is heard behind that.
fn streamed(
    server: &str,
    path: &str,
    body: Value,
    contents: &[Value],
    finish: &str,
) -> (String, Option<Fault>) {
    let mut exchange = planned(server, path, body, true);
    let checks = exchange.compile(&SchemaLimits::default()).unwrap();
    let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
    let mut events: Vec<String> = contents
        .iter()
        .map(|content| chat_event(json!({"content": content}), Value::Null))
        .collect();
    events.push(chat_event(json!({"content": ""}), json!(finish)) + "data: [DONE]\n\n");
    let mut out = Vec::new();
    for event in events {
        if let Err(fault) = translator.push(event.as_bytes(), &mut out) {
            return (String::from_utf8(out).unwrap(), Some(fault));
        }
    }
    let fault = translator.finish(End::Eof, &mut out).err();
    (String::from_utf8(out).unwrap(), fault)
}

fn thinking(text: &str) -> Value {
    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
}

#[test]
fn thoughts_among_the_parts_of_a_content_are_thoughts() {
    let parts = json!([thinking("hm ok"), {"type": "text", "text": "{\"a\":\"x\"}"}]);
    let message = whole("mistral", MESSAGES, asks(MESSAGES), &parts, "stop").unwrap();
    assert_eq!(message["content"][0]["thinking"], "hm ok");
    assert_eq!(message["content"][1]["text"], "{\"a\":\"x\"}");
    let response = whole("mistral", RESPONSES, asks(RESPONSES), &parts, "stop").unwrap();
    assert_eq!(response["output"][0]["type"], "reasoning");
    let chat = whole("mistral", CHAT, with_schema(CHAT), &parts, "stop").unwrap();
    let said = &chat["choices"][0]["message"];
    assert_eq!(
        (&said["reasoning_content"], &said["content"]),
        (&json!("hm ok"), &json!("{\"a\":\"x\"}"))
    );
    // Other parts, and a thought that is a text, are no reason to fail.
    let odd = json!([{"type": "thinking", "thinking": "hm"}, {"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "Hi"}]);
    let message = whole("mistral", MESSAGES, asks(MESSAGES), &odd, "stop").unwrap();
    assert_eq!(
        (
            &message["content"][0]["thinking"],
            &message["content"][1]["text"]
        ),
        (&json!("hm"), &json!("Hi"))
    );
}

#[test]
fn thoughts_among_the_parts_of_a_delta_are_thoughts() {
    let pieces = [
        json!([thinking("hm")]),
        json!([thinking(" ok")]),
        json!("Hello"),
    ];
    let (message, _) = streamed("mistral", MESSAGES, asks(MESSAGES), &pieces, "stop");
    assert!(
        message.contains(r#"{"type":"thinking_delta","thinking":"hm"}"#),
        "{message}"
    );
    assert!(
        message.contains(r#"{"type":"text_delta","text":"Hello"}"#),
        "{message}"
    );
}

#[test]
fn a_reply_that_was_cut_is_told_as_cut_whatever_the_server_calls_it() {
    let text = json!("{\"a\":\"x");
    let message = whole("mistral", MESSAGES, asks(MESSAGES), &text, "model_length").unwrap();
    assert_eq!(message["stop_reason"], "max_tokens");
    let response = whole("mistral", RESPONSES, asks(RESPONSES), &text, "model_length").unwrap();
    assert_eq!(response["status"], "incomplete");
    let chat = whole("mistral", CHAT, with_schema(CHAT), &text, "model_length").unwrap();
    assert_eq!(chat["choices"][0]["finish_reason"], "length");
    let (message, _) = streamed(
        "mistral",
        MESSAGES,
        asks(MESSAGES),
        &[json!("Hel")],
        "model_length",
    );
    assert!(
        message.contains(r#""stop_reason":"max_tokens""#),
        "{message}"
    );
    // Of another server the word means nothing.
    let other = whole("together", MESSAGES, asks(MESSAGES), &text, "model_length").unwrap();
    assert_ne!(other["stop_reason"], "max_tokens");
}

#[test]
fn a_reply_that_the_server_gave_up_is_an_error() {
    for (server, word) in [
        ("mistral", "error"),
        ("deepseek", "insufficient_system_resource"),
        ("openrouter", "error"),
    ] {
        for path in [MESSAGES, RESPONSES] {
            let fault = whole(server, path, asks(path), &json!("Hel"), word).unwrap_err();
            assert!(format!("{fault:?}").contains(word), "{server}: {fault:?}");
            let (stream, fault) = streamed(server, path, asks(path), &[json!("Hel")], word);
            assert!(format!("{fault:?}").contains(word), "{server}: {fault:?}");
            assert!(!stream.contains("message_stop"), "{server}: {stream}");
            assert!(!stream.contains("response.completed"), "{server}: {stream}");
        }
    }
}

#[test]
fn the_stop_text_that_ended_a_reply_of_tensorrt_llm_is_told() {
    let mut body = asks(MESSAGES);
    body["stop_sequences"] = json!(["END"]);
    let mut exchange = planned("tensorrt-llm", MESSAGES, body, false);
    let checks = exchange.compile(&SchemaLimits::default()).unwrap();
    let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop", "stop_reason": "END"}]});
    let reply = exchange::reply(
        &exchange,
        &checks,
        Ids::new(1),
        reply.to_string().as_bytes(),
    )
    .unwrap();
    let message: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(
        (&message["stop_reason"], &message["stop_sequence"]),
        (&json!("stop_sequence"), &json!("END"))
    );
}

#[test]
fn groq_gets_no_speaker_s_name_and_one_choice() {
    let named = json!({"messages": [{"role": "user", "content": "hi", "name": "ann"}]});
    let exchange = planned("groq", CHAT, named, false);
    let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
    assert_eq!(
        sent["messages"][0],
        json!({"role": "user", "content": "hi"})
    );
    assert_eq!(exchange.losses[0].pointer, "/messages/0/name");
    let mut several = with_schema(CHAT);
    several["model"] = json!("m");
    several["n"] = json!(2);
    let demand = exchange::read(
        passage::client(CHAT).unwrap(),
        CHAT,
        several.to_string().as_bytes(),
    )
    .unwrap();
    let refused = exchange::plan(demand, &rule("groq")).unwrap_err();
    assert_eq!(refused.param.as_deref(), Some("n"));
}

#[test]
fn cohere_is_asked_within_its_ranges() {
    let said = json!({"messages": [{"role": "user", "content": "hi"}], "top_p": 1, "top_k": 1000, "presence_penalty": -0.5,
        "frequency_penalty": 0.25, "stop": ["a", "b", "c", "d", "e", "f"]});
    let exchange = planned("cohere", CHAT, said, false);
    let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
    assert_eq!((&sent["p"], &sent["k"]), (&json!(0.99), &json!(500)));
    assert_eq!(
        (&sent["presence_penalty"], &sent["frequency_penalty"]),
        (&json!(0), &json!(0.25))
    );
    assert_eq!(sent["stop_sequences"], json!(["a", "b", "c", "d", "e"]));
    let mut lost: Vec<&str> = exchange
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    lost.sort_unstable();
    assert_eq!(lost, ["/presence_penalty", "/stop", "/top_k", "/top_p"]);
}

#[test]
fn an_error_that_names_what_is_not_taken_is_learnt() {
    for (server, says, facts) in [
        (
            "groq",
            "`reasoning_effort` must be one of `none` or `default`",
            &["no_thinking"][..],
        ),
        (
            "sglang@0.5.23",
            "Tool calls ['call_1'] have no tool message answering them.",
            &["refuses_unanswered", "refuses_unordered"],
        ),
        (
            "sglang@0.5.23",
            "A tool message must follow an assistant message with tool_calls.",
            &["refuses_strays", "refuses_unordered"],
        ),
    ] {
        let error = json!({"error": {"message": says, "type": "invalid_request_error"}});
        let told = launch_facts(&rule(server), error.to_string().as_bytes());
        let told: Vec<&str> = told.iter().map(|it| it.fact.as_str()).collect();
        assert_eq!(told, facts, "{says}");
    }
}
