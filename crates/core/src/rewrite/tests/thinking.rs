//! How much the model is to think: each dialect's words, in each server's.

use super::{NoMemo, rule};
use crate::dialect::chat::client::Chat;
use crate::dialect::client::Client;
use crate::dialect::gemini::client::EVENTS;
use crate::dialect::messages::client::Messages;
use crate::dialect::ollama::client::Ollama;
use crate::ir::{Contract, Seal};
use crate::rewrite::{Options, Sent, rewrite};
use serde_json::{Value, json};

const MESSAGES: &str = r#"[{"role":"user","content":"hi"}]"#;

/// What a server is sent of thinking, and what is lost of it; nothing where the client's bytes go through.
fn told(
    client: &'static dyn Client,
    path: &str,
    says: &Value,
    server: &str,
) -> (Value, Vec<String>) {
    let rule = rule(server);
    let mut body = json!({"model": "m", "max_tokens": 9000, "stream": false});
    body["messages"] = serde_json::from_str(MESSAGES).unwrap();
    if path.contains("models/") {
        body = json!({"contents": [{"parts": [{"text": "hi"}]}]});
    }
    let fields = body.as_object_mut().unwrap();
    fields.extend(says.as_object().unwrap().clone());
    let request = client.read(path, body.to_string().as_bytes()).unwrap();
    let options = Options {
        memo: &NoMemo,
        is_compact: false,
        seal: Seal::default(),
    };
    let rewritten = rewrite(&request, &Contract::of(&request), &rule, &options).unwrap();
    let mut sent = match &rewritten.sent {
        Sent::Untouched => return (Value::Null, losses(&rewritten.losses)),
        Sent::Body(body) => serde_json::from_slice(body).unwrap(),
        Sent::Draft(draft, _) => json!(draft.fields),
    };
    let fields = sent.as_object_mut().unwrap();
    for name in [
        "model",
        "max_tokens",
        "max_completion_tokens",
        "messages",
        "stream",
        "stream_options",
        // Ollama's bounds of the context.
        "options",
        "shift",
        "truncate",
    ] {
        fields.remove(name);
    }
    (sent, losses(&rewritten.losses))
}

fn losses(losses: &[crate::ir::Loss]) -> Vec<String> {
    losses.iter().map(|loss| loss.pointer.clone()).collect()
}

const CHAT: (&dyn Client, &str) = (&Chat, "/v1/chat/completions");
const ANTHROPIC: (&dyn Client, &str) = (&Messages, "/v1/messages");
const GOOGLE: (&dyn Client, &str) = (EVENTS, "/v1beta/models/m:generateContent");
const OLLAMA: (&dyn Client, &str) = (&Ollama::Chat, "/api/chat");

#[test]
#[expect(clippy::too_many_lines, reason = "one row a demand")]
fn each_client_s_words_reach_each_server_in_its_own() {
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let level = json!({"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}});
    let shown = json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}}});
    let kwargs =
        |on: bool| json!({"chat_template_kwargs": {"enable_thinking": on, "thinking": on}});
    let none: Vec<String> = Vec::new();
    for ((client, path), says, server, sent, lost) in [
        // The server's own words go through as they are.
        (
            CHAT,
            json!({"reasoning_effort": "high"}),
            "vllm@0.32.0",
            Value::Null,
            vec![],
        ),
        (
            CHAT,
            json!({"thinking_token_budget": 9}),
            "vllm@0.32.0",
            Value::Null,
            vec![],
        ),
        (
            CHAT,
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
            "vllm@0.32.0",
            Value::Null,
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "high"}),
            "plain",
            Value::Null,
            vec![],
        ),
        (
            CHAT,
            json!({"thinking_token_budget": 9}),
            "plain",
            Value::Null,
            vec![],
        ),
        // Others are put into them.
        (
            CHAT,
            json!({"reasoning": {"effort": "low"}}),
            "vllm@0.32.0",
            json!({"reasoning_effort": "low"}),
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning": {"max_tokens": 5}}),
            "vllm@0.32.0",
            json!({"thinking_token_budget": 5}),
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "none"}),
            "vllm@0.32.0",
            kwargs(false),
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "minimal"}),
            "vllm@0.12.0",
            json!({"reasoning_effort": "low"}),
            vec!["/reasoning_effort"],
        ),
        (
            CHAT,
            json!({"thinking_token_budget": 9000}),
            "vllm@0.12.0",
            json!({"reasoning_effort": "medium"}),
            vec!["/thinking_token_budget"],
        ),
        (
            CHAT,
            json!({"enable_thinking": true}),
            "sglang@0.5.23",
            kwargs(true),
            vec![],
        ),
        (
            CHAT,
            json!({"think": "low"}),
            "openai",
            json!({"reasoning_effort": "low"}),
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "high"}),
            "tgi@3.3.0",
            json!({}),
            vec!["/reasoning_effort"],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "high"}),
            "openrouter",
            Value::Null,
            vec![],
        ),
        (
            CHAT,
            json!({"thinking_token_budget": 7}),
            "openrouter",
            json!({"reasoning": {"max_tokens": 7}}),
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "medium"}),
            "anthropic",
            json!({"output_config": {"effort": "medium"}, "thinking": {"type": "adaptive", "display": "summarized"}}),
            vec![],
        ),
        (
            CHAT,
            json!({"reasoning": {"max_tokens": 5}}),
            "anthropic",
            json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}),
            vec!["/reasoning/max_tokens"],
        ),
        (
            CHAT,
            json!({"reasoning_effort": "none"}),
            "ollama-native",
            json!({"think": false}),
            vec![],
        ),
        (ANTHROPIC, budget.clone(), "anthropic", Value::Null, vec![]),
        (
            ANTHROPIC,
            budget.clone(),
            "vllm@0.32.0",
            json!({"thinking_token_budget": 2000}),
            vec![],
        ),
        (
            ANTHROPIC,
            budget.clone(),
            "vllm@0.12.0",
            json!({"reasoning_effort": "low"}),
            vec!["/thinking/budget_tokens"],
        ),
        (
            ANTHROPIC,
            budget.clone(),
            "gemini",
            json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 2000, "includeThoughts": true}}}),
            vec![],
        ),
        (
            ANTHROPIC,
            budget,
            "plain",
            json!({"reasoning_effort": "low"}),
            vec!["/thinking/budget_tokens"],
        ),
        (
            ANTHROPIC,
            json!({"thinking": {"type": "disabled"}}),
            "llama-cpp",
            kwargs(false),
            vec![],
        ),
        (
            ANTHROPIC,
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
            "ollama-native",
            json!({"think": "max"}),
            vec![],
        ),
        (
            ANTHROPIC,
            json!({"output_config": {"effort": "max"}}),
            "ollama-native@0.21.0",
            json!({"think": "high"}),
            vec!["/output_config/effort"],
        ),
        (
            GOOGLE,
            level.clone(),
            "vllm@0.32.0",
            json!({"reasoning_effort": "high"}),
            vec![],
        ),
        (
            GOOGLE,
            level.clone(),
            "cohere",
            json!({"thinking": {"type": "enabled", "token_budget": 24576}}),
            vec!["/generationConfig/thinkingConfig/thinkingLevel"],
        ),
        (
            GOOGLE,
            level,
            "worker",
            json!({"chat_template_kwargs": {"enable_thinking": true, "thinking": true},
                "reasoning_effort": "high", "thinking_token_budget": 24576}),
            vec![],
        ),
        (
            GOOGLE,
            json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
            "llama-cpp",
            kwargs(false),
            vec![],
        ),
        // Who wants to see thoughts wants some.
        (GOOGLE, shown.clone(), "llama-cpp", kwargs(true), vec![]),
        (
            GOOGLE,
            shown,
            "openai",
            json!({}),
            vec!["/generationConfig/thinkingConfig/includeThoughts"],
        ),
        (
            GOOGLE,
            json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 512}}}),
            "llama-cpp",
            json!({"thinking_budget_tokens": 512,
                "chat_template_kwargs": {"enable_thinking": true, "thinking": true}}),
            vec![],
        ),
        // It thinks no more for an effort alone.
        (
            CHAT,
            json!({"reasoning_effort": "high"}),
            "llama-cpp",
            json!({"reasoning_effort": "high",
                "chat_template_kwargs": {"enable_thinking": true, "thinking": true, "reasoning_effort": "high"}}),
            vec![],
        ),
        (
            ANTHROPIC,
            json!({"thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}}),
            "llama-cpp",
            json!({"reasoning_effort": "low", "thinking_budget_tokens": 2000,
                "chat_template_kwargs": {"enable_thinking": true, "thinking": true}}),
            vec![],
        ),
        (
            OLLAMA,
            json!({"think": true}),
            "sglang@0.5.23",
            kwargs(true),
            vec![],
        ),
        (
            OLLAMA,
            json!({"think": "max"}),
            "openai",
            json!({"reasoning_effort": "max"}),
            vec![],
        ),
        (
            OLLAMA,
            json!({"think": true}),
            "plain",
            json!({}),
            vec!["/think"],
        ),
    ] {
        let lost: Vec<String> = lost.into_iter().map(str::to_owned).collect();
        assert_eq!(
            told(client, path, &says, server),
            (sent, lost),
            "{says} on {server}"
        );
    }
    let nothing = told(CHAT.0, CHAT.1, &json!({}), "vllm@0.32.0");
    assert_eq!(nothing, (Value::Null, none));
}

/// An amount of a client of Messages, in the words of each server.
fn in_words(says: &Value, rows: &[(&str, Value, &[&str])]) {
    for (server, sent, lost) in rows {
        let lost: Vec<String> = lost.iter().map(|it| (*it).to_owned()).collect();
        let found = told(ANTHROPIC.0, ANTHROPIC.1, says, server);
        assert_eq!(found, (sent.clone(), lost), "{says} on {server}");
    }
}

#[test]
fn an_effort_is_one_that_the_server_knows() {
    let effort = |word: &str| json!({"reasoning_effort": word});
    let lost = &["/output_config/effort"][..];
    in_words(
        &json!({"output_config": {"effort": "max"}}),
        &[
            ("groq", effort("high"), lost),
            ("cerebras", effort("high"), lost),
            ("together", effort("high"), lost),
            ("fireworks", effort("high"), lost),
            ("cohere-compat", effort("high"), lost),
            ("lmdeploy", effort("max"), &[]),
            ("lmdeploy@0.16.0", effort("high"), lost),
            ("mistral-rs", effort("xhigh"), lost),
            ("ollama@0.33.0", effort("max"), &[]),
            ("ollama@0.22.0", effort("max"), &[]),
            ("ollama@0.21.0", effort("high"), lost),
            ("openrouter", json!({"reasoning": {"effort": "max"}}), &[]),
        ],
    );
    in_words(
        &json!({"output_config": {"effort": "xhigh"}}),
        &[
            ("mistral-rs", effort("xhigh"), &[]),
            ("ollama@0.33.0", effort("xhigh"), &[]),
            ("ollama@0.22.0", effort("high"), lost),
        ],
    );
    in_words(
        &json!({"output_config": {"effort": "low"}}),
        &[("cohere-compat", effort("high"), lost)],
    );
}

#[test]
fn no_thinking_is_said_in_the_server_s_own_word() {
    let none = json!({"reasoning_effort": "none"});
    in_words(
        &json!({"thinking": {"type": "disabled"}}),
        &[
            ("groq", none.clone(), &[]),
            ("cerebras", none.clone(), &[]),
            ("fireworks", none.clone(), &[]),
            ("cohere-compat", none, &[]),
            ("together", json!({"reasoning": {"enabled": false}}), &[]),
        ],
    );
    // What a client of the server's own says stays as it is.
    let own = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let (sent, lost) = told(CHAT.0, CHAT.1, &own, "fireworks");
    assert_eq!((sent, lost), (Value::Null, Vec::new()));
}

#[test]
fn a_budget_is_not_told_where_a_forced_call_is_refused_beside_it() {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    let forced =
        json!({"tools": [tool], "tool_choice": "required", "reasoning": {"max_tokens": 2000}});
    let (sent, lost) = told(CHAT.0, CHAT.1, &forced, "anthropic");
    assert_eq!(sent.get("thinking"), None);
    assert!(
        lost.contains(&"/reasoning/max_tokens".to_owned()),
        "{lost:?}"
    );
}

#[test]
fn what_a_launch_or_a_model_cannot_do_is_not_asked_again() {
    let vllm = rule("vllm@0.32.0");
    let knowing = vllm.knowing("no_thinking_budgets").unwrap();
    assert_eq!(knowing.knowing("no_thinking_budgets"), None);
    assert_ne!(knowing.thinking.tokens, vllm.thinking.tokens);
    let thoughtless = rule("ollama-native").knowing("no_thinking").unwrap();
    assert_eq!(thoughtless.thinking.off, rule("ollama-native").thinking.off);
    assert_ne!(thoughtless.thinking.on, rule("ollama-native").thinking.on);
}
