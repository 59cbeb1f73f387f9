//! Answers that are there, and are empty: to clients no content is another thing.

use crate::replay::{self, chat_event, rule, streamed};
use isogloss_core::exchange::{self, Exchange, Fault};
use isogloss_core::ir::Ids;
use isogloss_core::passage;
use serde_json::{Value, json};

fn planned(constraint: &Value, is_stream: bool) -> Exchange {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
    body["stream"] = json!(is_stream);
    let fields = constraint.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    let path = "/v1/chat/completions";
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule("vllm@0.32.0")).unwrap()
}

fn whole(exchange: &Exchange, content: &Value) -> Result<Value, Fault> {
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]});
    let checks = replay::checks(exchange).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body.to_string().as_bytes())?;
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    Ok(reply["choices"][0]["message"]["content"].clone())
}

/// The content that a stream's chunks have together.
fn together(exchange: &Exchange, role: &Value) -> Result<Value, Fault> {
    let source = chat_event(role.clone(), Value::Null)
        + &chat_event(json!({}), json!("stop"))
        + "data: [DONE]\n\n";
    let stream = streamed(exchange, source.as_bytes(), 1 << 20)?;
    let mut content = Value::Null;
    for event in stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
    {
        let Ok(event) = serde_json::from_str::<Value>(event) else {
            continue;
        };
        if let Some(more) = event["choices"][0]["delta"]["content"].as_str() {
            content = json!(content.as_str().unwrap_or_default().to_owned() + more);
        }
    }
    Ok(content)
}

#[test]
fn an_empty_answer_is_a_text_where_a_form_is_demanded_of_it() {
    for constraint in [
        json!({"structured_outputs": {"choice": [""]}}),
        json!({"structured_outputs": {"choice": ["", "a"]}}),
        json!({"structured_outputs": {"regex": "a{0}"}}),
        json!({"guided_regex": "[ab]*"}),
        json!({"structured_outputs": {"grammar": "root ::= \"a\"*"}}),
    ] {
        let exchange = planned(&constraint, false);
        for content in [json!(""), Value::Null] {
            let content = whole(&exchange, &content);
            assert_eq!(content.unwrap(), json!(""), "{constraint}");
        }
        let exchange = planned(&constraint, true);
        let role = json!({"role": "assistant"});
        let roles = [Value::Null, json!("")].map(|content| {
            let mut role = role.clone();
            role["content"] = content;
            role
        });
        for role in roles.iter().chain([&role]) {
            let content = together(&exchange, role);
            assert_eq!(content.unwrap(), json!(""), "{constraint} {role}");
        }
    }
}

#[test]
fn no_content_stays_none_where_nothing_is_demanded_and_is_wrong_where_a_text_is() {
    let free = planned(&json!({}), false);
    assert_eq!(whole(&free, &Value::Null).unwrap(), Value::Null);
    let free = planned(&json!({}), true);
    let role = json!({"role": "assistant", "content": null});
    assert_eq!(together(&free, &role).unwrap(), Value::Null);
    for is_stream in [false, true] {
        let some = planned(&json!({"structured_outputs": {"choice": ["a"]}}), is_stream);
        let told = match is_stream {
            false => whole(&some, &Value::Null),
            true => together(&some, &role),
        };
        assert!(matches!(told, Err(Fault::Violation(_))), "{told:?}");
    }
}
