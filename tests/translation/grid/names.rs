//! Names of tools that hosted APIs refuse: the server is told others, whoever asks, and the client hears its own.

use super::{Even, answers, demands, got, heard, planned};
use crate::replay::rule;
use isogloss_core::exchange;
use isogloss_core::ir::plain_name;
use isogloss_core::passage;
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::demands::Demand;
use serde_json::{Value, json};

/// What Gemini's clients and MCP's servers name tools.
const NAMES: [&str; 2] = [
    "files.read",
    "mcp__plugin_chrome-devtools-mcp_chrome-devtools__performance_analyze_insight",
];
const HOSTED: [&str; 9] = [
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "mistral",
    "cohere",
    "groq",
    "deepseek",
    "openrouter",
];

fn swap(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| swap(item, from, to)),
        Value::Object(map) => map.values_mut().for_each(|item| swap(item, from, to)),
        _ => {}
    }
}

/// The same demand of tools with other names.
fn oddly_named(mut demand: Demand) -> Demand {
    let mut fields = Value::Object(demand.fields);
    for (tool, name) in demand.tools.iter_mut().zip(NAMES) {
        swap(&mut fields, tool.name, name);
        tool.name = name;
    }
    demand.fields = fields.as_object().unwrap().clone();
    demand
}

#[test]
fn hosted_apis_are_told_names_that_they_take_and_clients_hear_their_own() {
    let mut native = 0;
    for dialect in Dialect::ALL {
        let with_tools = demands(dialect).into_iter();
        let with_tools = with_tools.filter(|demand| !demand.tools.is_empty());
        for demand in with_tools.map(oddly_named) {
            for label in HOSTED {
                let exchange = planned(&demand, label, false).unwrap();
                let context = format!("{dialect:?} {} {label}", demand.id);
                if exchange.keeps_wire() && dialect != Dialect::Chat {
                    assert!(exchange.plan.renamed.is_empty(), "{context}");
                    continue;
                }
                let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
                let tools = sent["tools"].to_string();
                for name in NAMES {
                    let name = json!(name).to_string();
                    assert!(!tools.contains(&name), "{context}: {tools}");
                    assert!(
                        !sent["tool_choice"].to_string().contains(&name),
                        "{context}"
                    );
                    assert!(!sent["toolConfig"].to_string().contains(&name), "{context}");
                }
                for answer in answers(&demand)
                    .into_iter()
                    .filter(|it| !it.calls.is_empty())
                {
                    // What the server calls is known to it by that name; what stands in a text is the client's.
                    let mut told = answer.clone();
                    if exchange.plan.rewrap == isogloss_core::ir::Rewrap::Keep {
                        native += 1;
                        told.calls[0].name = plain_name(&answer.calls[0].name).unwrap();
                    }
                    for step in [None, Some(7)] {
                        let exchange = planned(&demand, label, step.is_some()).unwrap();
                        let bytes = got(&exchange, &told, &mut Even, step);
                        let bytes = bytes.unwrap_or_else(|fault| panic!("{context}: {fault}"));
                        let heard = heard(dialect, &bytes, step.is_some());
                        let calls = &heard.choices[&0].calls;
                        assert_eq!(calls[0].1.name, answer.calls[0].name, "{context}");
                    }
                }
            }
            // Who takes any name is told the client's.
            let exchange = planned(&demand, "vllm", false).unwrap();
            assert!(exchange.plan.renamed.is_empty());
        }
    }
    assert!(native > 100, "{native}");
}

#[test]
fn a_call_of_the_conversation_has_the_name_of_its_tool() {
    let function = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let call = json!({"id": "call_1", "type": "function", "function": {"name": NAMES[0], "arguments": "{}"}});
    let chat = json!({"model": "m", "max_tokens": 99, "tools": [function(NAMES[0]), function("plain")], "messages": [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "so", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "name": NAMES[0], "content": "text"}]});
    let gemini = json!({"generationConfig": {"maxOutputTokens": 99}, "tools": [{"functionDeclarations": [{"name": NAMES[0]}, {"name": "plain"}]}], "contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": NAMES[0], "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": NAMES[0], "response": {"output": "text"}}}]}]});
    let plain = plain_name(NAMES[0]).unwrap();
    for (path, body) in [
        ("/v1/chat/completions", chat),
        ("/v1beta/models/m:generateContent", gemini),
    ] {
        for label in HOSTED {
            let client = passage::client(path).unwrap();
            let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
            let exchange = exchange::plan(demand, &rule(label)).unwrap();
            if exchange.keeps_wire() && !path.ends_with("completions") {
                continue;
            }
            let sent = String::from_utf8(exchange.sent().unwrap().to_vec()).unwrap();
            assert!(!sent.contains(NAMES[0]), "{label}: {sent}");
            // It is shown and was called, and some say of a result whose it is.
            let told = sent.matches(&plain).count();
            assert!((2..=3).contains(&told), "{label}: {sent}");
            assert!(sent.contains("\"plain\""), "{label}: {sent}");
            assert_eq!(exchange.losses, [], "{label}");
        }
    }
}
