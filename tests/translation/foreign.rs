//! What another server thought, called or left unsaid in a conversation, before servers that refuse it.

use crate::replay::rule;
use isogloss_core::exchange::{self, Exchange, concerns, launch_facts};
use isogloss_core::passage;
use isogloss_testing::strict::refusal;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/m:generateContent";

/// What stands for a signature, as Google documents it.
const STAND_IN: &str = "skip_thought_signature_validator";

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

#[test]
fn what_gemini_3_says_of_calls_without_a_signature_is_learnt() {
    let used = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]});
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]});
    let called = json!({"model": "m", "max_tokens": 9, "messages": [user("a"), used, result]});
    let plain = json!({"model": "m", "max_tokens": 9, "messages": [user("a")]});
    for server in ["gemini", "gemini-compat"] {
        for says in [
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:f` , position 2.",
            "Unable to submit request because function call `f` in the 2. content block is missing a `thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures",
        ] {
            let error =
                json!({"error": {"code": 400, "message": says, "status": "INVALID_ARGUMENT"}});
            let rule = rule(server);
            let told = launch_facts(&rule, error.to_string().as_bytes());
            let [told] = told.as_slice() else {
                panic!("{told:?}");
            };
            assert_eq!(told.fact, "refuses_unsigned_calls");
            let is_about = |body: &Value| {
                let exchange = planned(MESSAGES, body, server, &[]);
                concerns(&exchange.demand, exchange.strategy, &rule, &told.fact)
            };
            assert!(is_about(&called) && !is_about(&plain), "{server}");
        }
    }
}

#[test]
fn the_first_call_of_each_turn_has_what_stands_for_a_signature() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "sun"});
    let calls = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let body = chat(&[
        user("a"),
        calls(&["call_1", "call_2"]),
        result("call_1"),
        result("call_2"),
        user("b"),
        calls(&["call_3__thought__T1dO", "call_4"]),
        result("call_3__thought__T1dO"),
        result("call_4"),
        calls(&["call_5"]),
        result("call_5"),
    ]);
    let exchange = planned(CHAT, &body, "gemini", &["refuses_unsigned_calls"]);
    let there = sent(&exchange);
    let contents = there["contents"].as_array().unwrap().iter();
    let signatures: Vec<&Value> = contents
        .flat_map(|content| content["parts"].as_array().unwrap())
        .filter(|part| part.get("functionCall").is_some())
        .map(|part| &part["thoughtSignature"])
        .collect();
    let none = &Value::Null;
    let stand_in = &json!(STAND_IN);
    assert_eq!(signatures, [stand_in, none, &json!("T1dO"), none, stand_in]);
    assert_eq!(lost(&exchange), Vec::<&str>::new());
    // Models that never asked for one are told none.
    let before = sent(&planned(CHAT, &body, "gemini", &[]));
    assert!(!before.to_string().contains(STAND_IN), "{before}");
    // On Chat's route it stands where Google's signatures do.
    let there = sent(&planned(
        CHAT,
        &body,
        "gemini-compat",
        &["refuses_unsigned_calls"],
    ));
    let signed = json!({"google": {"thought_signature": STAND_IN}});
    let calls = &there["messages"][1]["tool_calls"];
    assert_eq!(calls[0]["extra_content"], signed);
    assert_eq!(calls[1].get("extra_content"), None);
}

#[test]
fn a_gemini_clients_calls_of_other_servers_have_it_too() {
    let call = |signature: &str| {
        let mut call = json!({"functionCall": {"name": "f", "args": {}}});
        if !signature.is_empty() {
            call["thoughtSignature"] = json!(signature);
        }
        call
    };
    let model = |parts: &[Value]| json!({"role": "model", "parts": parts});
    let result = |count: usize| {
        let result = json!({"functionResponse": {"name": "f", "response": {"output": "sun"}}});
        json!({"role": "user", "parts": vec![result; count]})
    };
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        model(&[json!({"text": "So."}), call(""), call("")]), result(2),
        model(&[call("T1dO"), call("")]), result(2),
    ]});
    let exchange = planned(GEMINI, &body, "gemini", &["refuses_unsigned_calls"]);
    let mut wanted = body.clone();
    wanted["contents"][1]["parts"][1] = call(STAND_IN);
    assert_eq!(sent(&exchange), wanted);
    assert!(planned(GEMINI, &body, "gemini", &[]).is_passthrough());
}

#[test]
fn a_conversation_with_calls_names_its_tools_before_anthropic_where_none_is_shown() {
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "sun"});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("c1", "g"), call("c2", "f"), call("c3", "g")]});
    let body = chat(&[
        user("a"),
        calls,
        result("c1"),
        result("c2"),
        result("c3"),
        user("Sum up."),
    ]);
    let named = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "s", "schema": schema}});
    for more in [json!({}), json!({"response_format": format})] {
        let mut body = body.clone();
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        let there = sent(&planned(CHAT, &body, "anthropic", &[]));
        refusal("anthropic", &there).unwrap();
        assert_eq!(there["tools"], json!([named("f"), named("g")]));
        assert_eq!(there["tool_choice"], json!({"type": "none"}));
    }
    // What it shows stands for itself, a custom tool as a function.
    let mut asked = body;
    asked["tools"] = json!([
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
        {"type": "custom", "custom": {"name": "p"}},
    ]);
    let there = sent(&planned(CHAT, &asked, "anthropic", &[]));
    refusal("anthropic", &there).unwrap();
    let input = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
    let custom = json!({"name": "p", "input_schema": input});
    assert_eq!(there["tools"], json!([named("f"), custom]));
    let plain = sent(&planned(CHAT, &chat(&[user("a")]), "anthropic", &[]));
    assert_eq!(plain.get("tools"), None);
}

/// A turn that calls, its result, and maybe more.
fn calling(thoughts: &Value, behind: Option<Value>) -> Value {
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut turn = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    if !thoughts.is_null() {
        turn["thinking_blocks"] = json!([thoughts]);
    }
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "1"});
    let mut messages = vec![user("a"), turn, result];
    messages.extend(behind);
    let function = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    json!({"model": "m", "max_tokens": 9000, "messages": messages, "tools": [function],
        "thinking": {"type": "enabled", "budget_tokens": 2000}})
}

#[test]
fn a_turn_goes_on_without_thinking_before_anthropic_where_its_thoughts_were_not_kept() {
    let theirs = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"});
    let ours = json!({"type": "thinking", "thinking": "Hm.", "signature": "isogloss-abc"});
    let answer = json!({"role": "assistant", "content": "1"});
    for (thoughts, behind, thinks) in [
        (&theirs, None, true),
        (&theirs, Some(user("go on")), true),
        (&Value::Null, None, false),
        (&Value::Null, Some(user("go on")), false),
        (
            &Value::Null,
            Some(json!({"role": "system", "content": "Be brief."})),
            false,
        ),
        // What was signed elsewhere is none of its thoughts.
        (&ours, None, false),
    ] {
        let exchange = planned(CHAT, &calling(thoughts, behind), "anthropic", &[]);
        let there = sent(&exchange);
        assert_eq!(there.get("thinking").is_some(), thinks, "{there}");
        assert_eq!(lost(&exchange).contains(&"/thinking"), !thinks, "{there}");
        assert!(!there.to_string().contains("isogloss-abc"), "{there}");
    }
    // A turn that has ended asks for none of its thoughts.
    let mut ended = calling(&Value::Null, Some(answer));
    ended["messages"].as_array_mut().unwrap().push(user("b"));
    assert!(
        sent(&planned(CHAT, &ended, "anthropic", &[]))
            .get("thinking")
            .is_some()
    );
}

#[test]
fn words_to_go_on_with_do_not_end_in_blanks_before_anthropic() {
    let body = chat(&[
        user("a"),
        json!({"role": "assistant", "content": "It is \n"}),
    ]);
    let there = sent(&planned(CHAT, &body, "anthropic", &[]));
    assert_eq!(there["messages"][1]["content"][0]["text"], "It is");
    // Elsewhere they stay.
    let body = chat(&[
        user("a"),
        json!({"role": "assistant", "content": "It is \n"}),
        user("b"),
    ]);
    let there = sent(&planned(CHAT, &body, "anthropic", &[]));
    assert_eq!(there["messages"][1]["content"][0]["text"], "It is \n");
}

#[test]
fn a_turn_of_another_server_goes_on_without_thinking_in_anthropics_own_words() {
    let block =
        |signature: &str| json!({"type": "thinking", "thinking": "Hm.", "signature": signature});
    for (signature, thinks) in [("isogloss-abc", false), ("c2lnbmVk", true)] {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"});
        let body = json!({"model": "m", "max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 2000},
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
            "messages": [user("a"), {"role": "assistant", "content": [block(signature), call]},
                {"role": "user", "content": [result]}]});
        let exchange = planned(MESSAGES, &body, "anthropic", &[]);
        let there = match exchange.sent() {
            Some(_) => sent(&exchange),
            None => body,
        };
        assert_eq!(there.get("thinking").is_some(), thinks, "{there}");
        assert!(!there.to_string().contains("isogloss-abc"));
    }
}

/// LiteLLM has Gemini's signatures in ids, which are longer than OpenAI takes any.
#[test]
fn ids_with_signatures_stay_as_they_are_where_the_server_finds_them() {
    let signed = format!("call_3__thought__{}", "T1dO".repeat(40));
    let long = format!("chatcmpl-tool-{}", "0".repeat(32));
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "sun"});
    let body = chat(&[
        user("a"),
        json!({"role": "assistant", "content": null, "tool_calls": [call(&signed), call(&long)]}),
        result(&signed),
        result(&long),
    ]);
    let of_litellm = sent(&planned(CHAT, &body, "openai", &["signed_ids"])).to_string();
    assert_eq!(of_litellm.matches(&signed).count(), 2, "{of_litellm}");
    assert!(!of_litellm.contains(&long), "{of_litellm}");
    let of_openai = sent(&planned(CHAT, &body, "openai", &[])).to_string();
    assert!(!of_openai.contains(&signed), "{of_openai}");
}
