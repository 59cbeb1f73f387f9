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

#[test]
fn a_turn_that_says_nothing_has_no_content_of_null_on_any_servers_wire() {
    let redacted = json!([{"type": "redacted_thinking", "data": "R"}]);
    let hosted =
        json!([{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}]);
    for server in ["vllm", "openai", "ollama", "plain", "sglang", "llama-cpp"] {
        let there = |turns: &[Value]| {
            let body = json!({"model": "m", "max_tokens": 9, "system": [], "messages": turns});
            let exchange = planned(MESSAGES, &body, server, &[]);
            let lost: Vec<String> = lost(&exchange).into_iter().map(str::to_owned).collect();
            (sent(&exchange)["messages"].clone(), lost)
        };
        let between = |content: &Value| {
            let silent = json!({"role": "assistant", "content": content});
            there(&[user("a"), silent, user("b")])
        };
        let (told, lost) = between(&json!([]));
        assert_eq!(told, json!([user("a"), user("b")]), "{server}");
        assert_eq!(lost, Vec::<&str>::new(), "{server}");
        let (told, lost) = between(&hosted);
        assert_eq!(told, json!([user("a"), user("b")]), "{server}");
        assert_eq!(lost, ["/messages/1/content/0"], "{server}");
        let nothing = json!({"role": "user", "content": []});
        assert_eq!(there(&[nothing]).0, json!([user("")]), "{server}");
        // What is lost of it is told, and the user's turns stay apart.
        if server == "plain" {
            // Of which nobody knows whose thoughts it takes.
            continue;
        }
        let (told, lost) = between(&redacted);
        let silent = json!({"role": "assistant", "content": ""});
        assert_eq!(told, json!([user("a"), silent, user("b")]), "{server}");
        assert_eq!(lost, ["/messages/1/content/0"], "{server}");
        let last = json!({"role": "assistant", "content": redacted});
        assert_eq!(there(&[user("a"), last]).0, json!([user("a")]), "{server}");
    }
    // Two turns of one speaker are one where the server wants it so.
    let silent = json!({"role": "assistant", "content": []});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [user("a"), silent, user("b")]});
    let exchange = planned(MESSAGES, &body, "vllm", &["refuses_repeats"]);
    assert_eq!(sent(&exchange)["messages"], json!([user("a\nb")]));
}
