//! What another server thought, called or left unsaid in a conversation, before servers that refuse it.

use crate::replay::rule;
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::passage;
use isogloss_testing::strict::refusal;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

fn planned(path: &str, body: &Value, server: &str, facts: &[&str]) -> Exchange {
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    let known = |rule: isogloss_core::rules::Rule, fact: &&str| rule.knowing(fact).unwrap();
    let rule = facts.iter().fold(rule(server), known);
    exchange::plan(demand, &rule).unwrap()
}

/// What the server gets.
fn sent(exchange: &Exchange) -> Value {
    serde_json::from_slice(exchange.sent().unwrap()).unwrap()
}

fn lost(exchange: &Exchange) -> Vec<&str> {
    let losses = exchange.losses.iter();
    losses.map(|loss| loss.pointer.as_str()).collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A turn of the model's with a thought that Anthropic signed.
fn thought(content: Option<&str>) -> Value {
    let block = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"});
    json!({"role": "assistant", "content": content, "reasoning_content": "Hm.", "thinking_blocks": [block]})
}

fn chat(messages: &[Value]) -> Value {
    json!({"model": "m", "max_tokens": 9, "messages": messages})
}

#[test]
fn a_thought_that_a_broken_stream_ended_with_is_left_out_before_anthropic() {
    let joined = json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]);
    for content in [None, Some(""), Some(" \n")] {
        let body = chat(&[user("a"), thought(content), user("b")]);
        let exchange = planned(CHAT, &body, "anthropic", &[]);
        let there = sent(&exchange);
        refusal("anthropic", &there).unwrap();
        assert_eq!(there["messages"], joined, "{content:?}");
        assert_eq!(lost(&exchange), ["/messages/1/thinking_blocks"]);
    }
    // Nor is it a beginning that a model could go on with.
    let body = chat(&[user("a"), thought(None)]);
    let there = sent(&planned(CHAT, &body, "anthropic", &[]));
    assert_eq!(there["messages"].as_array().unwrap().len(), 1, "{there}");
    // What the model said goes on in its next turn; the thought behind it is the last block all the same.
    let said = json!({"role": "assistant", "content": "So."});
    let body = chat(&[user("a"), said.clone(), thought(None), user("b")]);
    let there = sent(&planned(CHAT, &body, "anthropic", &[]));
    refusal("anthropic", &there).unwrap();
    assert_eq!(
        there["messages"][1]["content"],
        json!([{"type": "text", "text": "So."}])
    );
    for turns in [
        vec![thought(None), said.clone()],
        vec![thought(Some("So."))],
    ] {
        let body = chat(&[vec![user("a")], turns, vec![user("b")]].concat());
        let exchange = planned(CHAT, &body, "anthropic", &[]);
        let there = sent(&exchange);
        let blocks = there["messages"][1]["content"].as_array().unwrap();
        assert_eq!(blocks.len(), 2, "{there}");
        assert_eq!(blocks[0]["type"], "thinking");
        assert_eq!(lost(&exchange), Vec::<&str>::new());
    }
}
