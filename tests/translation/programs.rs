//! What agent programs send, and what has to come back to them, as their trackers tell.

use crate::replay::{Recorded, rule, whole};
use crate::vendors::{asking, planned, sent};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

/// What a client hears of a reply in Chat's words.
fn heard(path: &str, body: &Value, server: &str, reply: &str) -> String {
    let recorded = Recorded {
        status: 200,
        streamed: body["stream"] == true,
        body: reply.as_bytes().to_vec(),
    };
    whole(&planned(path, body, server), &rule(server), &recorded)
}

/// A whole reply of Chat's with this message.
fn chat_reply(message: &Value, reason: &str) -> String {
    json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
    .to_string()
}

/// The same as a stream of these deltas.
fn chat_stream(deltas: &[Value], reason: &str) -> String {
    let chunk = |delta: &Value, reason: Value| {
        let chunk = json!({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {chunk}\n\n")
    };
    let told: String = deltas
        .iter()
        .map(|delta| chunk(delta, Value::Null))
        .collect();
    told + &chunk(&json!({}), json!(reason)) + "data: [DONE]\n\n"
}

/// The data of a stream's events.
fn events(stream: &str) -> Vec<Value> {
    let data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Cursor (gabrii/Cursor-Azure-GPT-5#69).
#[test]
fn who_asks_chats_route_in_responses_words_is_asked_for_so_and_hears_chat() {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let mut body = json!({"model": "m", "instructions": "Be brief.", "input": [user("hi")],
        "tools": [{"type": "function", "name": "f", "parameters": parameters}], "reasoning": {"effort": "high"},
        "include": ["reasoning.encrypted_content"], "max_output_tokens": 99});
    for server in ["vllm@0.32.0", "mistral", "openai", "ollama"] {
        let (there, _) = sent(CHAT, &body, server);
        assert_eq!(
            there["messages"],
            json!([{"role": "system", "content": "Be brief."}, user("hi")]),
            "{server}"
        );
        assert_eq!(there["tools"][0]["function"]["name"], "f", "{server}");
        assert_eq!(there.get("input"), None, "{server}");
    }
    let (there, _) = sent(CHAT, &body, "anthropic");
    assert_eq!(there["tools"][0]["input_schema"], parameters);
    // In Chat's words what stands beside.
    let mut mixed = body.clone();
    mixed["tools"] =
        json!([{"type": "function", "function": {"name": "f", "parameters": parameters}}]);
    mixed["tool_choice"] = json!({"type": "function", "function": {"name": "f"}});
    mixed["stream"] = json!(true);
    mixed["stream_options"] = json!({"include_usage": true});
    mixed["max_tokens"] = mixed["max_output_tokens"].take();
    let (there, losses) = sent(CHAT, &mixed, "anthropic");
    assert_eq!(there["tools"][0]["input_schema"], parameters);
    assert_eq!(there["max_tokens"], 99);
    assert!(
        !losses.iter().any(|at| at.contains("stream_options")),
        "{losses:?}"
    );
    let call = json!({"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let told: Value = serde_json::from_str(&heard(
        CHAT,
        &body,
        "vllm@0.32.0",
        &chat_reply(&message, "tool_calls"),
    ))
    .unwrap();
    assert_eq!(told["object"], "chat.completion");
    assert_eq!(
        told["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
        "{\"a\":1}"
    );
    body["stream"] = json!(true);
    let told = heard(
        CHAT,
        &body,
        "vllm@0.32.0",
        &chat_stream(
            &[json!({"role": "assistant", "tool_calls": [call]})],
            "tool_calls",
        ),
    );
    assert!(
        told.contains("chat.completion.chunk") && told.ends_with("[DONE]\n\n"),
        "{told}"
    );
    // A field at fault has its own name.
    body["input"] = json!(7);
    let error = isogloss_core::exchange::read(
        isogloss_core::passage::client(CHAT).unwrap(),
        CHAT,
        body.to_string().as_bytes(),
    );
    assert_eq!(error.unwrap_err().param.as_deref(), Some("input"));
}

/// Codex: openai/codex#37237.
#[test]
fn what_an_agent_says_to_another_is_told() {
    let said = |text: &str| {
        json!({"type": "agent_message", "author": "/root", "recipient": "/root/test", "content": [
        {"type": "input_text", "text": "Task:"}, {"type": "encrypted_content", "encrypted_content": text}]})
    };
    let body = |item: Value| json!({"model": "m", "store": false, "input": [user("hi"), item]});
    let (there, losses) = sent(RESPONSES, &body(said("Count the files.")), "vllm@0.32.0");
    let told = there["messages"][1].to_string();
    for words in ["/root", "Task:", "Count the files."] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(
        (&there["messages"][1]["role"], losses.len()),
        (&json!("user"), 0),
        "{losses:?}"
    );
    let (there, losses) = sent(RESPONSES, &body(said("gAAAAABsecret")), "vllm@0.32.0");
    assert!(!there.to_string().contains("gAAAA"), "{there}");
    assert_eq!(losses, ["/input/1/content/1"]);
    // In a result, too (caozhiyuan/copilot-api#339).
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let parts = json!([{"type": "input_text", "text": "done"}, {"type": "encrypted_content", "encrypted_content": "gAAAAAB"}]);
    let result = json!({"type": "function_call_output", "call_id": "c", "output": parts});
    let body = json!({"model": "m", "store": false, "input": [user("hi"), call, result]});
    let (there, losses) = sent(RESPONSES, &body, "vllm@0.32.0");
    assert!(there["messages"][2].to_string().contains("done"), "{there}");
    assert_eq!(losses, ["/input/2/output/1"]);
}

/// Codex: openai/codex#22809.
#[test]
fn a_conversation_is_put_in_short_where_that_is_asked_for() {
    let tool = json!({"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}});
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "c", "output": "done"});
    let input = json!([user("hi"), call, result, {"type": "compaction_trigger"}]);
    for streamed in [false, true] {
        let body = json!({"model": "m", "store": false, "stream": streamed, "tools": [tool], "input": input});
        let (there, losses) = sent(RESPONSES, &body, "vllm@0.32.0");
        assert_eq!(there.get("tools"), None, "{there}");
        let last = there["messages"].as_array().unwrap().last().unwrap();
        assert!(
            last["content"].as_str().unwrap().contains("summary"),
            "{last}"
        );
        assert_eq!(losses, Vec::<String>::new());
        let message = json!({"role": "assistant", "content": "They said hi.", "reasoning": "Hm."});
        let told = match streamed {
            false => serde_json::from_str(&heard(
                RESPONSES,
                &body,
                "vllm@0.32.0",
                &chat_reply(&message, "stop"),
            ))
            .unwrap(),
            true => {
                let deltas = [
                    json!({"role": "assistant", "content": "They said"}),
                    json!({"content": " hi."}),
                ];
                let told = events(&heard(
                    RESPONSES,
                    &body,
                    "vllm@0.32.0",
                    &chat_stream(&deltas, "stop"),
                ));
                let done = |event: &&Value| event["type"] == "response.output_item.done";
                let items: Vec<&Value> = told
                    .iter()
                    .filter(done)
                    .map(|event| &event["item"])
                    .collect();
                assert_eq!(items.len(), 1, "{told:?}");
                assert_eq!(items[0]["type"], "compaction");
                told.last().unwrap()["response"].clone()
            }
        };
        let output = told["output"].as_array().unwrap();
        assert_eq!(
            (output.len(), &output[0]["type"]),
            (1, &json!("compaction")),
            "{told}"
        );
        let next = json!({"model": "m", "store": false, "input": [output[0], user("Go on.")]});
        let (there, losses) = sent(RESPONSES, &next, "anthropic");
        assert!(
            there["messages"][0].to_string().contains("They said hi."),
            "{there}"
        );
        assert!(
            !losses.iter().any(|at| at.starts_with("/input")),
            "{losses:?}"
        );
        // OpenAI's own servers cannot read it either.
        let (there, _) = sent(RESPONSES, &next, "openai");
        assert_eq!(there["input"][0]["role"], "user", "{there}");
        assert!(there["input"][0].to_string().contains("They said hi."));
        assert!(!there.to_string().contains("isogloss"), "{there}");
    }
    // Half a summary is none, nor is a refusal.
    let body = json!({"model": "m", "store": false, "stream": true, "input": input});
    let cut = chat_stream(&[json!({"content": "They sa"})], "length");
    let told = events(&heard(RESPONSES, &body, "vllm@0.32.0", &cut));
    let last = told.last().unwrap();
    assert_eq!(last["type"], "response.incomplete", "{told:?}");
    assert_eq!(last["response"]["output"], json!([]), "{told:?}");
    let refused = chat_stream(&[json!({"refusal": "I cannot."})], "stop");
    let told = events(&heard(RESPONSES, &body, "vllm@0.32.0", &refused));
    let output = &told.last().unwrap()["response"]["output"];
    assert_eq!(output[0]["content"][0]["refusal"], "I cannot.", "{told:?}");
    // Of nothing there is no summary.
    let body = json!({"model": "m", "store": false, "input": input});
    let told: Value = serde_json::from_str(&heard(
        RESPONSES,
        &body,
        "vllm@0.32.0",
        &chat_reply(&json!({"role": "assistant", "content": ""}), "stop"),
    ))
    .unwrap();
    assert_eq!(told["output"], json!([]), "{told}");
}

#[test]
fn a_conversation_that_its_vendor_put_in_short_is_told_elsewhere() {
    let said = json!([{"type": "compaction", "content": "They wanted a cat."}, {"type": "fallback", "from": "a", "to": "b"},
        {"type": "text", "text": "Here it is."}]);
    let body = asking(
        &json!({"messages": [user("hi"), {"role": "assistant", "content": said}, user("And now?")]}),
    );
    for server in ["vllm@0.32.0", "gemini", "openai"] {
        let (there, losses) = sent(MESSAGES, &body, server);
        assert!(
            there.to_string().contains("They wanted a cat."),
            "{server}: {there}"
        );
        assert_eq!(losses, ["/messages/1/content/1"], "{server}");
    }
    assert!(planned(MESSAGES, &body, "anthropic").sent().is_none());
}

#[test]
fn a_file_of_text_is_its_text() {
    let data = "data:text/csv;base64,YSxiCjEsMgo=";
    let part = json!({"type": "file", "file": {"filename": "a.csv", "file_data": data}});
    let body = asking(
        &json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "Sum it."}, part]}]}),
    );
    for server in ["vllm@0.32.0", "anthropic", "llama-cpp", "mistral"] {
        let (there, _) = sent(CHAT, &body, server);
        let told = there["messages"][0]["content"].to_string();
        assert!(
            told.contains("a.csv") && told.contains("1,2"),
            "{server}: {told}"
        );
        assert!(!told.contains("base64"), "{server}: {told}");
    }
    // Who reads such files has it as it came.
    let (there, _) = sent(CHAT, &body, "openai");
    assert!(
        there.to_string().contains("data:text/csv;base64"),
        "{there}"
    );
    let (there, _) = sent(CHAT, &body, "gemini");
    assert_eq!(
        there["contents"][0]["parts"][2]["inlineData"]["mimeType"],
        "text/csv"
    );
    let no_text = json!({"type": "file", "file": {"filename": "a", "file_data": "data:text/plain;base64,/w=="}});
    let body = asking(&json!({"messages": [{"role": "user", "content": [no_text]}]}));
    assert!(
        sent(CHAT, &body, "vllm@0.32.0")
            .0
            .to_string()
            .contains("/w==")
    );
}

#[test]
fn as_many_tokens_as_there_are_is_no_limit() {
    for name in ["max_tokens", "max_completion_tokens"] {
        let mut body = json!({"model": "m", "messages": [user("hi")]});
        body[name] = json!(-1);
        for server in ["vllm@0.32.0", "openai", "lm-studio", "gemini"] {
            let (there, losses) = sent(CHAT, &body, server);
            assert!(!there.to_string().contains("-1"), "{server}: {there}");
            assert_eq!(losses, Vec::<String>::new(), "{server}");
        }
    }
}

/// microsoft/agent-framework#2947, home-assistant/core#159812.
#[test]
fn what_providers_behind_openrouter_signed_goes_back_to_them() {
    let details = json!([{"type": "reasoning.encrypted", "data": "SECRET", "id": "tool_0_f", "format": "google-gemini-v1", "index": 0}]);
    let call = json!({"index": 0, "id": "tool_0_f", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call], "reasoning_details": details});
    let parameters = json!({"type": "object", "properties": {}});
    for streamed in [false, true] {
        let reply = match streamed {
            false => chat_reply(&message, "tool_calls"),
            true => chat_stream(std::slice::from_ref(&message), "tool_calls"),
        };
        let body = asking(
            &json!({"stream": streamed, "tools": [{"name": "f", "input_schema": parameters}]}),
        );
        let told = heard(MESSAGES, &body, "openrouter", &reply);
        let content = match streamed {
            false => serde_json::from_str::<Value>(&told).unwrap()["content"].clone(),
            // A signature is what its delta says: not all SDKs read it where the block starts.
            true => {
                let mut blocks: Vec<Value> = Vec::new();
                for event in events(&told) {
                    match (event["type"].as_str(), blocks.last_mut()) {
                        (Some("content_block_start"), _) => {
                            let mut block = event["content_block"].clone();
                            if block["type"] == "thinking" {
                                block["signature"] = json!("");
                            }
                            blocks.push(block);
                        }
                        (_, Some(block)) if event["delta"]["type"] == "signature_delta" => {
                            block["signature"] = event["delta"]["signature"].clone();
                        }
                        _ => {}
                    }
                }
                json!(blocks)
            }
        };
        let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tool_0_f", "content": "1"}]});
        let next = asking(
            &json!({"messages": [user("hi"), {"role": "assistant", "content": content}, result]}),
        );
        let (there, losses) = sent(MESSAGES, &next, "openrouter");
        assert_eq!(
            there["messages"][1]["reasoning_details"], details,
            "{there}"
        );
        assert_eq!(losses, Vec::<String>::new());
        // Nobody else can read them, and Anthropic would refuse what it did not sign.
        let (there, _) = sent(MESSAGES, &next, "vllm@0.32.0");
        assert!(!there.to_string().contains("isogloss-kept"), "{there}");

        let body = json!({"model": "m", "store": false, "stream": streamed, "input": "hi", "include": ["reasoning.encrypted_content"],
            "tools": [{"type": "function", "name": "f", "parameters": parameters}]});
        let told = heard(RESPONSES, &body, "openrouter", &reply);
        let output = match streamed {
            false => serde_json::from_str::<Value>(&told).unwrap()["output"].clone(),
            true => events(&told).last().unwrap()["response"]["output"].clone(),
        };
        let mut input = vec![user("hi")];
        input.extend(output.as_array().unwrap().iter().cloned());
        input.push(json!({"type": "function_call_output", "call_id": "tool_0_f", "output": "1"}));
        let (there, _) = sent(
            RESPONSES,
            &json!({"model": "m", "store": false, "input": input}),
            "openrouter",
        );
        assert_eq!(
            there["messages"][1]["reasoning_details"], details,
            "{there}"
        );
    }
    // What another server signed beside them is lost, and said to be.
    let block = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let kept = block(
        "",
        "isogloss-kept-W3sidHlwZSI6InJlYXNvbmluZy5lbmNyeXB0ZWQiLCJkYXRhIjoiRSJ9XQ==",
    );
    let said = json!([block("Hm.", "c2lnbmVk"), kept, {"type": "text", "text": "So."}]);
    let body = asking(
        &json!({"messages": [user("hi"), {"role": "assistant", "content": said}, user("so?")]}),
    );
    let (there, losses) = sent(MESSAGES, &body, "openrouter");
    assert_eq!(
        there["messages"][1]["reasoning_details"][0]["data"], "E",
        "{there}"
    );
    assert_eq!(losses, ["/messages/1/content/0"]);
    // A client of its own wire has them as they came.
    let body = asking(
        &json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]}),
    );
    let told: Value = serde_json::from_str(&heard(
        CHAT,
        &body,
        "openrouter",
        &chat_reply(&message, "tool_calls"),
    ))
    .unwrap();
    assert_eq!(told["choices"][0]["message"]["reasoning_details"], details);
    assert_eq!(told["choices"][0]["message"].get("thinking_blocks"), None);
}

#[test]
fn openrouters_words_are_none_of_openais() {
    let body = asking(
        &json!({"reasoning": {"effort": "high", "exclude": false}, "usage": {"include": true},
        "provider": {"order": ["x"]}, "transforms": [], "models": ["a"], "route": "fallback", "plugins": []}),
    );
    let (there, _) = sent(CHAT, &body, "openai");
    let fields: Vec<&String> = there.as_object().unwrap().keys().collect();
    assert_eq!(there["reasoning_effort"], "high");
    for name in [
        "reasoning",
        "usage",
        "provider",
        "transforms",
        "models",
        "route",
        "plugins",
    ] {
        assert!(!fields.contains(&&name.to_owned()), "{fields:?}");
    }
}

/// raine/claude-code-proxy#141, CodeWithCJ/SparkyFitness#1688.
#[test]
fn a_pattern_that_an_api_cannot_compile_does_not_fail_all_tools() {
    let odd = r#"^(?!__.*__$)[^\p{Cc}"\\./[\]]{1,200}$"#;
    let schema = |pattern: &str| json!({"type": "object", "properties": {"name": {"type": "string", "pattern": pattern}}});
    let tools =
        |pattern: &str| asking(&json!({"tools": [{"name": "f", "input_schema": schema(pattern)}]}));
    for server in ["openai", "groq", "openai-responses"] {
        let (there, losses) = sent(MESSAGES, &tools(odd), server);
        let told = there["tools"][0].to_string();
        assert!(!told.contains(r#""pattern":"#), "{server}: {told}");
        assert!(told.contains("{pattern: "), "{server}: {told}");
        assert!(
            losses.iter().any(|at| at.starts_with("/tools/0")),
            "{server}: {losses:?}"
        );
        let (there, _) = sent(MESSAGES, &tools("^[a-z]+$"), server);
        assert!(
            there["tools"][0]
                .to_string()
                .contains(r#""pattern":"^[a-z]+$""#),
            "{server}"
        );
    }
    // It is verified all the same.
    let call = json!({"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"name\":\"a/b\"}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let told = heard(
        MESSAGES,
        &tools(odd),
        "openai",
        &chat_reply(&message, "tool_calls"),
    );
    assert!(told.contains("pattern"), "{told}");
}

#[test]
fn a_schema_has_a_name_that_the_api_takes() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let format = json!({"type": "json_schema", "json_schema": {"name": "Response[int]", "description": "A number.", "strict": true, "schema": schema}});
    let body = asking(&json!({"response_format": format}));
    let (there, losses) = sent(CHAT, &body, "openai");
    let told = &there["response_format"]["json_schema"];
    assert!(
        told["name"].as_str().unwrap().starts_with("Response_int__"),
        "{told}"
    );
    assert_eq!((&told["schema"], &told["strict"]), (&schema, &json!(true)));
    assert_eq!(told["description"], "A number.");
    assert_eq!(losses, Vec::<String>::new());
    let format =
        json!({"type": "json_schema", "name": "x", "description": "A number.", "schema": schema});
    let asked = json!({"model": "m", "input": "hi", "text": {"format": format}});
    let (there, losses) = sent(RESPONSES, &asked, "fireworks");
    let told = &there["response_format"]["json_schema"];
    assert_eq!(told["description"], "A number.", "{there}");
    assert_eq!(losses, Vec::<String>::new());
    let (_, losses) = sent(RESPONSES, &asked, "anthropic");
    assert!(
        losses.contains(&"/text/format/description".to_owned()),
        "{losses:?}"
    );
    assert!(planned(CHAT, &body, "fireworks").sent().is_none());
}

/// ollama/ollama#17414.
#[test]
fn ollama_is_told_one_text_a_message() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}});
    let body = asking(
        &json!({"messages": [user("hi"), {"role": "assistant", "content": [], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [text("a"), text("b")]}, {"role": "assistant", "content": null}, user("so?")]}),
    );
    let (there, losses) = sent(CHAT, &body, "ollama@0.33.0");
    let messages = &there["messages"];
    assert_eq!(messages[1]["content"], "");
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], "{}");
    let result = messages[2]["content"].as_str().unwrap();
    assert!(result.contains('a') && result.contains('b'), "{messages}");
    assert_eq!(messages[2]["tool_call_id"], "c");
    assert_eq!(messages[3]["content"], "");
    assert_eq!(losses, Vec::<String>::new());
}

#[test]
fn templates_of_llama_3_and_qwen_3_5_have_what_they_want() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": id});
    let body = asking(
        &json!({"messages": [user("hi"), {"role": "assistant", "content": "So.", "tool_calls": [call("1"), call("2")]},
        result("2"), result("1"), user("so?")]}),
    );
    let (there, losses) = sent(CHAT, &body, "vllm@0.32.0+refuses_parallel_calls");
    let messages = there["messages"].as_array().unwrap();
    let ids: Vec<Value> = messages
        .iter()
        .map(|message| match &message["tool_calls"] {
            Value::Array(calls) => {
                assert_eq!(calls.len(), 1);
                calls[0]["id"].clone()
            }
            _ => message["tool_call_id"].clone(),
        })
        .collect();
    assert_eq!(json!(ids), json!([null, "1", "1", "2", "2", null]));
    assert_eq!((&messages[1]["content"], losses.len()), (&json!("So."), 0));

    let alone = asking(&json!({"messages": [{"role": "system", "content": "Say hi."}]}));
    let (there, losses) = sent(CHAT, &alone, "vllm@0.32.0+refuses_userless");
    assert_eq!(there["messages"], json!([user("Say hi.")]));
    assert_eq!(losses.len(), 1);
    let begun = asking(
        &json!({"messages": [{"role": "system", "content": "a"}, {"role": "assistant", "content": "b"}]}),
    );
    let (there, _) = sent(CHAT, &begun, "vllm@0.32.0+refuses_userless");
    assert_eq!(there["messages"][1]["role"], "user");
    let (there, losses) = sent(CHAT, &asking(&json!({})), "vllm@0.32.0+refuses_userless");
    assert_eq!(
        (there["messages"].as_array().unwrap().len(), losses.len()),
        (1, 0)
    );
}

#[test]
fn what_ends_a_turn_in_a_template_is_no_text_behind_the_answer() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    for streamed in [false, true] {
        let body = asking(&json!({"response_format": format, "stream": streamed}));
        for end in ["<|im_end|>", "</s>\n", "<|eot_id|><|endoftext|>"] {
            let said = format!("{{\"a\": 1}}{end}");
            let reply = match streamed {
                false => chat_reply(&json!({"role": "assistant", "content": said}), "stop"),
                true => {
                    let letters = said
                        .chars()
                        .map(|letter| json!({"content": letter.to_string()}));
                    chat_stream(&letters.collect::<Vec<_>>(), "stop")
                }
            };
            let told = heard(CHAT, &body, "plain", &reply);
            assert!(
                told.contains("\"stop\"") && !told.contains('<'),
                "{end}: {told}"
            );
        }
        let reply = chat_reply(
            &json!({"role": "assistant", "content": "{\"a\": 1}<|im"}),
            "stop",
        );
        let other = chat_reply(
            &json!({"role": "assistant", "content": "{\"a\": 1}<b>"}),
            "stop",
        );
        if !streamed {
            assert!(heard(CHAT, &body, "plain", &reply).contains("chat.completion"));
            assert!(!heard(CHAT, &body, "plain", &other).contains("chat.completion"));
        }
    }
}

/// OpenHands/software-agent-sdk#987.
#[test]
fn who_wants_thoughts_of_openais_responses_is_told_them_in_short() {
    let body =
        asking(&json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}));
    let (there, _) = sent(MESSAGES, &body, "openai-responses");
    assert_eq!(
        there["reasoning"],
        json!({"effort": "high", "summary": "auto"})
    );
    let (there, _) = sent(MESSAGES, &body, "openai-responses+no_summaries");
    assert_eq!(there["reasoning"], json!({"effort": "high"}));
    let refused = json!({"error": {"message": "Your organization must be verified to generate reasoning summaries.",
        "type": "invalid_request_error", "param": "reasoning.summary", "code": "unsupported_value"}});
    let facts = isogloss_core::exchange::launch_facts(
        &rule("openai-responses"),
        refused.to_string().as_bytes(),
    );
    assert!(
        facts
            .iter()
            .any(|told| told.fact == "no_summaries" && told.is_sure)
    );
}
