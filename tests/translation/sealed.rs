//! What Anthropic signed of its thoughts comes back through Gemini's clients, in streams too: they drop what stands on an empty text.

use crate::replay::{chat_event, checks, messages_stream, rule, streamed};
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::ir::Ids;
use isogloss_core::passage;
use serde_json::{Value, json};

fn planned(method: &str, contents: &Value) -> Exchange {
    let path = format!("/v1beta/models/m:{method}");
    let body = json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}]});
    let client = passage::client(&path).unwrap();
    let demand = exchange::read(client, &path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule("anthropic")).unwrap()
}

/// The parts of all replies of the stream, as SDKs keep them: none that says nothing.
fn kept(stream: &str) -> Vec<Value> {
    let exchange = planned(
        "streamGenerateContent",
        &json!([{"role": "user", "parts": [{"text": "hi"}]}]),
    );
    let out = streamed(&exchange, stream.as_bytes(), 17).unwrap();
    let replies: Vec<Value> = serde_json::from_str(&out).unwrap();
    let parts = replies.iter().flat_map(|reply| {
        reply["candidates"][0]["content"]["parts"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    // The end of a text may hold what is signed of it.
    let says = |part: &Value| {
        part["text"] != "" || part["thought"] != true && part["thoughtSignature"].is_string()
    };
    parts.filter(says).collect()
}

#[test]
fn signatures_stand_with_what_comes_behind_the_thought() {
    let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
    let thought = vec![
        json!({"type": "thinking_delta", "thinking": "Hm, "}),
        json!({"type": "thinking_delta", "thinking": "so."}),
        json!({"type": "signature_delta", "signature": "SIG=="}),
    ];
    let redacted = json!({"type": "redacted_thinking", "data": "EmwKAh"});
    let text = (
        json!({"type": "text", "text": ""}),
        vec![
            json!({"type": "text_delta", "text": "Let me "}),
            json!({"type": "text_delta", "text": "see."}),
        ],
    );
    let call = (
        json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}),
        vec![json!({"type": "input_json_delta", "partial_json": "{}"})],
    );
    let whole = json!({"type": "thinking", "thinking": "Hm, so.", "signature": "SIG=="});
    for (blocks, signed, reason) in [
        (
            vec![(thinking.clone(), thought.clone()), call.clone()],
            vec![whole.clone()],
            "tool_use",
        ),
        (
            vec![
                (thinking.clone(), thought.clone()),
                (redacted.clone(), vec![]),
                text.clone(),
                call.clone(),
            ],
            vec![whole.clone(), redacted.clone()],
            "tool_use",
        ),
        (
            vec![(thinking.clone(), thought.clone()), text.clone()],
            vec![whole.clone()],
            "end_turn",
        ),
        // Nothing comes behind.
        (vec![(thinking, thought)], vec![whole], "end_turn"),
    ] {
        let mut parts = kept(&messages_stream(&blocks, Some(reason)));
        let has_call = parts.iter().any(|part| part["functionCall"].is_object());
        assert_eq!(has_call, reason == "tool_use");
        // What stands behind a signature is no more of the same text.
        let texts = parts
            .iter()
            .filter(|part| part["text"].is_string() && part["thought"] != true);
        let signed_texts =
            texts.filter(|part| part["text"] != "" && part["thoughtSignature"].is_string());
        assert_eq!(signed_texts.count(), 0, "{parts:?}");
        // A thought behind which nothing is said is not taken back.
        let is_alone = |part: &Value| part["thought"] == true || part["text"] == "";
        if parts.iter().all(is_alone) {
            parts.push(json!({"text": "So."}));
        }
        let mut contents = vec![json!({"role": "user", "parts": [{"text": "hi"}]})];
        let id = parts
            .iter()
            .find_map(|part| part["functionCall"]["id"].as_str())
            .map(str::to_owned);
        contents.push(json!({"role": "model", "parts": std::mem::take(&mut parts)}));
        contents.push(match id {
            Some(id) => json!({"role": "user", "parts": [{"functionResponse": {"id": id, "name": "f", "response": {"a": 1}}}]}),
            None => json!({"role": "user", "parts": [{"text": "and?"}]}),
        });
        let next = planned("generateContent", &json!(contents));
        let sent: Value = serde_json::from_slice(next.sent().unwrap()).unwrap();
        let said = sent["messages"][1]["content"].as_array().unwrap();
        assert_eq!(said[..signed.len()], signed, "{sent}");
        // Another server is told none of it as its own.
        let pointers = next.losses.iter().map(|loss| loss.pointer.as_str());
        assert_eq!(
            pointers.collect::<Vec<_>>(),
            ["/generationConfig/maxOutputTokens"]
        );
    }
}

/// As Gemini has it: haystack sends back the signed parts alone.
#[test]
fn the_signature_of_a_whole_reply_stands_on_its_first_call_and_on_nothing_else() {
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "SIG=="});
    let text = json!({"type": "text", "text": "Let me see."});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let with_calls = json!([thought, text, call("toolu_1"), call("toolu_2")]);
    for (content, reason, shows_thoughts, signed) in [
        (&with_calls, "tool_use", false, "toolu_1"),
        (&with_calls, "tool_use", true, "toolu_1"),
        (&json!([thought, text]), "end_turn", false, "Let me see."),
        (&json!([thought, text]), "end_turn", true, "Hm."),
    ] {
        let path = "/v1beta/models/m:generateContent";
        let asked = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": shows_thoughts}}});
        let client = passage::client(path).unwrap();
        let demand = exchange::read(client, path, asked.to_string().as_bytes()).unwrap();
        let exchange = exchange::plan(demand, &rule("anthropic")).unwrap();
        let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 4, "output_tokens": 1}})
        .to_string();
        let known = checks(&exchange).unwrap();
        let told = exchange::reply(&exchange, &known, Ids::new(1), body.as_bytes()).unwrap();
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        let parts = told["candidates"][0]["content"]["parts"].as_array();
        let places: Vec<&str> = parts
            .unwrap()
            .iter()
            .filter(|part| part["thoughtSignature"].is_string())
            .map(|part| {
                let id = part["functionCall"]["id"].as_str();
                id.or(part["text"].as_str()).unwrap()
            })
            .collect();
        assert_eq!(places, [signed], "{told}");
    }
}

/// A request in the words of a client, after what is said to it, and what it gets.
fn next_in(path: &str, said: &[Value]) -> Value {
    let schema = json!({"type": "object"});
    let user = json!({"role": "user", "content": "hi"});
    let results = |kind: &str, id: &str| -> Vec<Value> {
        let calls = said.iter().filter(|item| item["type"] == "function_call");
        calls
            .map(|call| json!({"type": kind, "call_id": call[id], "output": "1", "result": "1"}))
            .collect()
    };
    match path {
        "/v1/responses" => {
            let mut input = [vec![user], said.to_vec()].concat();
            for mut result in results("function_call_output", "call_id") {
                result.as_object_mut().unwrap().remove("result");
                input.push(result);
            }
            json!({"model": "m", "store": false, "input": input, "tools": [{"type": "function", "name": "f", "parameters": schema}]})
        }
        "/v1beta/interactions" => {
            let mut input = vec![json!({"type": "user_input", "content": "hi"})];
            input.extend_from_slice(said);
            for mut result in results("function_result", "id") {
                result.as_object_mut().unwrap().remove("output");
                input.push(result);
            }
            json!({"model": "m", "store": false, "input": input, "tools": [{"type": "function", "name": "f", "parameters": schema}]})
        }
        _ => {
            let mut contents = vec![json!({"role": "user", "parts": [{"text": "hi"}]})];
            if !said.is_empty() {
                let calls = said
                    .iter()
                    .filter_map(|part| part["functionCall"]["id"].as_str());
                let results: Vec<Value> = calls
                    .map(|id| json!({"functionResponse": {"id": id, "name": "f", "response": {"a": 1}}}))
                    .collect();
                contents.push(json!({"role": "model", "parts": said}));
                contents.push(json!({"role": "user", "parts": results}));
            }
            json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}]})
        }
    }
}

/// Anthropic takes blocks of thinking back in the order in which it gave them.
#[test]
fn thoughts_between_calls_stay_between_them() {
    let thought = |text: &str| json!({"type": "thinking", "thinking": text, "signature": format!("{text}==")});
    let hidden = |text: &str| json!({"type": "redacted_thinking", "data": text});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let text = |text: &str| json!({"type": "text", "text": text});
    for content in [
        vec![thought("A"), call("toolu_1"), thought("B"), call("toolu_2")],
        vec![hidden("A"), call("toolu_1"), hidden("B"), call("toolu_2")],
        vec![
            thought("A"),
            text("I look."),
            call("toolu_1"),
            hidden("B"),
            call("toolu_2"),
        ],
        vec![
            thought("A"),
            text("I look."),
            thought("B"),
            text("So."),
            call("toolu_1"),
        ],
    ] {
        let reply = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
        for (path, said) in [
            ("/v1/responses", "/output"),
            ("/v1beta/interactions", "/steps"),
            (
                "/v1beta/models/m:generateContent",
                "/candidates/0/content/parts",
            ),
        ] {
            // There a block has no place of its own among texts.
            let has_texts = content
                .iter()
                .filter(|block| block["type"] == "text")
                .count();
            if has_texts > 1 && path.ends_with("generateContent") {
                continue;
            }
            let planned = |body: &Value| {
                let client = passage::client(path).unwrap();
                let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
                exchange::plan(demand, &rule("anthropic")).unwrap()
            };
            let exchange = planned(&next_in(path, &[]));
            let known = checks(&exchange).unwrap();
            let body = reply.to_string();
            let told = exchange::reply(&exchange, &known, Ids::new(1), body.as_bytes()).unwrap();
            let told: Value = serde_json::from_slice(&told.body).unwrap();
            let said = told.pointer(said).and_then(Value::as_array).unwrap();
            let next = planned(&next_in(path, said));
            let sent: Value = serde_json::from_slice(next.sent().unwrap()).unwrap();
            let back = sent["messages"][1]["content"].as_array().unwrap();
            let kinds = |all: &[Value]| -> Vec<String> {
                let kind = |block: &Value| {
                    let seen = block["thinking"].as_str().or(block["data"].as_str());
                    seen.or(block["type"].as_str()).unwrap().to_owned()
                };
                all.iter().map(kind).collect()
            };
            assert_eq!(kinds(back), kinds(&content), "{path}: {sent}");
        }
    }
}

/// What stands beside a call's own members (Gemini's signature of it, on its route for Chat's clients) the client has to send back:
/// the AI SDK and openai-python keep it.
#[test]
fn what_else_a_call_has_is_the_clients_to_send_back() {
    let path = "/v1/chat/completions";
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    let planned = |messages: &Value, stream: bool| {
        let body = json!({"model": "m", "messages": messages, "tools": [tool], "stream": stream});
        let client = passage::client(path).unwrap();
        let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
        exchange::plan(demand, &rule("gemini-compat")).unwrap()
    };
    let extra = json!({"google": {"thought_signature": "SIG=="}});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
    let (mut signed, other) = (call("c1"), call("c2"));
    signed["extra_content"] = extra.clone();
    let asked = json!([{"role": "user", "content": "x"}]);
    let whole = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": null, "tool_calls": [signed, other]}, "finish_reason": "tool_calls"}]});
    let exchange = planned(&asked, false);
    let known = checks(&exchange).unwrap();
    let body = whole.to_string();
    let told = exchange::reply(&exchange, &known, Ids::new(1), body.as_bytes()).unwrap();
    let told: Value = serde_json::from_slice(&told.body).unwrap();
    let message = &told["choices"][0]["message"];
    assert_eq!(message["tool_calls"], json!([signed, other]));
    let (mut first, mut second) = (signed.clone(), other.clone());
    (first["index"], second["index"]) = (json!(0), json!(1));
    let stream = chat_event(
        json!({"role": "assistant", "tool_calls": [first]}),
        Value::Null,
    ) + &chat_event(
        json!({"tool_calls": [{"index": 0, "late": true}]}),
        Value::Null,
    ) + &chat_event(json!({"tool_calls": [second]}), Value::Null)
        + &chat_event(json!({}), json!("tool_calls"))
        + "data: [DONE]\n\n";
    let told = streamed(&planned(&asked, true), stream.as_bytes(), 17).unwrap();
    let extras: Vec<Value> = told
        .split("\n\n")
        .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok())
        .flat_map(|chunk| {
            chunk["choices"][0]["delta"]["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .map(|call| json!([call["index"], call["extra_content"], call["late"]]))
        .collect();
    let expected = [
        json!([0, extra, null]),
        json!([0, null, true]),
        json!([1, null, null]),
    ];
    assert_eq!(extras, expected);
    // It goes back to its server.
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    let messages = json!([asked[0], message, result("c1"), result("c2")]);
    let exchange = planned(&messages, false);
    let sent = exchange
        .sent()
        .map(|body| serde_json::from_slice::<Value>(body).unwrap());
    let sent = sent.unwrap_or_else(|| json!({"messages": messages}));
    assert_eq!(sent["messages"][1]["tool_calls"][0], signed);
}
