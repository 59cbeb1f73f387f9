//! What Anthropic's server is sent of requests that say it otherwise.

use crate::replay::rule;
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::passage;
use serde_json::{Value, json};

fn planned(path: &str, body: &Value) -> Exchange {
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule("anthropic")).unwrap()
}

fn sent(path: &str, body: &Value) -> (Value, Vec<String>) {
    let exchange = planned(path, body);
    let sent = exchange.sent().map_or_else(
        || body.clone(),
        |sent| serde_json::from_slice(sent).unwrap(),
    );
    let losses = exchange.losses.iter();
    (sent, losses.map(|loss| loss.pointer.clone()).collect())
}

/// A map that is told to have no members comes back empty.
#[test]
fn a_tool_that_is_not_strict_is_a_hint_and_stays_as_it_is_where_it_is_forced() {
    let schema = json!({"type": "object", "properties": {
        "wind": {"type": "object", "additionalProperties": {"type": "number"}},
        "n": {"type": "integer", "minimum": 3}}, "required": ["wind"]});
    let messages = json!([{"role": "user", "content": "hi"}]);
    let tools = json!([{"name": "f", "input_schema": schema}]);
    let (own, losses) = sent(
        "/v1/messages",
        &json!({"model": "m", "max_tokens": 99, "messages": messages, "tools": tools, "tool_choice": {"type": "tool", "name": "f"}}),
    );
    assert_eq!(own["tools"][0]["input_schema"], schema);
    assert!(losses.is_empty(), "{losses:?}");
    let function = json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]);
    let (chat, _) = sent(
        "/v1/chat/completions",
        &json!({"model": "m", "max_tokens": 99, "messages": messages, "tools": function, "tool_choice": "required"}),
    );
    assert_eq!(chat["tools"][0]["input_schema"], schema);
    // What is strict is held, and in the subset that is.
    let mut strict = function;
    strict[0]["function"]["strict"] = json!(true);
    let (held, _) = sent(
        "/v1/chat/completions",
        &json!({"model": "m", "max_tokens": 99, "messages": messages, "tools": strict, "tool_choice": "required"}),
    );
    assert_ne!(held["tools"][0]["input_schema"], schema);
}

#[test]
fn a_budget_of_thoughts_leaves_room_for_the_answer() {
    for (limit, budget, is_lost) in [
        (30_000, Some(8192), false),
        (3000, Some(1500), true),
        (1500, Some(1024), true),
        (1000, None, true),
    ] {
        let path = "/v1beta/models/m:generateContent";
        let body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {"maxOutputTokens": limit, "thinkingConfig": {"thinkingBudget": 8192}}});
        let (sent, losses) = sent(path, &body);
        let told = sent.pointer("/thinking/budget_tokens");
        assert_eq!(told.and_then(Value::as_u64), budget, "{limit}: {sent}");
        assert_eq!(sent["max_tokens"], limit);
        let pointer = "/generationConfig/maxOutputTokens".to_owned();
        assert_eq!(
            losses.contains(&pointer) || losses.contains(&"/max_tokens".to_owned()),
            is_lost,
            "{losses:?}"
        );
    }
}
