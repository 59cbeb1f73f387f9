//! Ollama's clients.

use super::{
    Says, client, compare, events_on, folder, framed, planned, streamed, text, told, whole,
    whole_on,
};
use isogloss_core::error::Kind;
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::ir::{Constraint, Part, Role, ToolChoice, Wire};
use serde_json::{Value, json};

const SERVERS: &[&str] = &[
    "vllm@0.32.0",
    "llama-cpp",
    "plain",
    "ollama",
    "ollama-native",
    "anthropic",
];
/// Those whose replies are written in the tests.
const SCRIPTED: &[&str] = &[
    "vllm@0.32.0",
    "llama-cpp",
    "plain",
    "ollama",
    "ollama-native",
];

fn city() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "d", "parameters": city()}})
}

fn chat(more: Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Where?"}]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn planned_chat(more: Value, label: &str) -> Exchange {
    planned("/api/chat", &chat(more), label).unwrap()
}

fn sent(exchange: &Exchange) -> Value {
    serde_json::from_slice(exchange.sent().unwrap()).unwrap()
}

#[test]
fn every_server_is_asked_in_its_words_and_the_client_answered_in_its_own() {
    compare("ollama", SCRIPTED);
}

/// The requests of the real SDK, as they were recorded.
fn captures() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder("ollama")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("sdk-") && name.ends_with(".in.json") {
            found.push((
                name,
                serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
            ));
        }
    }
    assert!(found.len() >= 8, "{found:?}");
    found
}

#[test]
fn what_the_sdk_sends_is_read_as_it_is_meant() {
    for (name, case) in captures() {
        let path = case["path"].as_str().unwrap();
        let body = case["body"].to_string();
        let demand = exchange::read(client(path), path, body.as_bytes()).unwrap();
        let request = &demand.request;
        assert_eq!(request.model, "test-model", "{name}");
        assert_eq!(request.stream, name.contains("stream"), "{name}");
        let constraint = request.constraint.as_ref().map(|stated| &stated.constraint);
        match &case["body"]["format"] {
            Value::Null => assert_eq!(constraint, None, "{name}"),
            Value::String(_) => assert_eq!(constraint, Some(&Constraint::JsonObject), "{name}"),
            schema => assert_eq!(
                constraint,
                Some(&Constraint::JsonSchema(schema.clone())),
                "{name}"
            ),
        }
        let has_tools = name.contains("chat-tools");
        let choice = if has_tools {
            ToolChoice::Auto
        } else {
            ToolChoice::None
        };
        assert_eq!(request.tool_choice, choice, "{name}");
        assert!(!client(path).turns(request).unwrap().is_empty(), "{name}");
        for label in SERVERS {
            planned(path, &case["body"], label)
                .unwrap_or_else(|error| panic!("{name} on {label}: {error:?}"));
        }
    }
}

#[test]
fn calls_without_ids_are_answered_by_name_or_in_their_order() {
    let body = chat(json!({"messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
            {"function": {"name": "f", "arguments": {"n": 1}}},
            {"function": {"name": "g", "arguments": {}}},
            {"id": "mine", "function": {"name": "f", "arguments": {"n": 2}}},
        ]},
        {"role": "tool", "content": "of g", "tool_name": "g"},
        {"role": "tool", "content": "of f"},
        {"role": "tool", "content": "of mine", "tool_call_id": "mine"},
    ]}));
    let demand = exchange::read(
        client("/api/chat"),
        "/api/chat",
        body.to_string().as_bytes(),
    )
    .unwrap();
    let turns = demand.client.turns(&demand.request).unwrap();
    assert_eq!(turns[1].role, Role::Assistant);
    assert_eq!(turns[1].reasoning.as_ref().unwrap().text, "hm");
    let answered = |at: usize| (turns[at].call_id.as_deref(), turns[at].tool.as_deref());
    assert_eq!(answered(2), (Some("call_1_1"), Some("g")));
    assert_eq!(answered(3), (Some("call_1_0"), Some("f")));
    assert_eq!(answered(4), (Some("mine"), Some("f")));
    let asked = sent(&planned("/api/chat", &body, "vllm@0.32.0").unwrap());
    assert_eq!(
        asked["messages"][1]["tool_calls"][0]["function"]["arguments"],
        "{\"n\":1}"
    );
    // Templates pair by places: in the calls' order.
    for (at, id, text) in [
        (2, "call_1_0", "of f"),
        (3, "call_1_1", "of g"),
        (4, "mine", "of mine"),
    ] {
        assert_eq!(asked["messages"][at]["tool_call_id"], id);
        assert_eq!(asked["messages"][at]["content"], text);
    }
}

#[test]
fn images_are_told_apart_by_what_they_begin_with() {
    let body = chat(
        json!({"messages": [{"role": "user", "content": "x", "images": ["iVBORw0KGgoAAA", "/9j/4AAQ"]}]}),
    );
    let demand = exchange::read(
        client("/api/chat"),
        "/api/chat",
        body.to_string().as_bytes(),
    )
    .unwrap();
    let turns = demand.client.turns(&demand.request).unwrap();
    let types: Vec<&str> = turns[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Data { media_type, .. } => Some(&**media_type),
            _ => None,
        })
        .collect();
    assert_eq!(types, ["image/png", "image/jpeg"]);
}

#[test]
fn options_become_settings_and_what_has_no_name_is_told_where_it_stands() {
    let exchange = planned_chat(
        json!({"stream": false, "keep_alive": "5m", "think": "low", "tools": [],
            "options": {"temperature": 0.5, "num_predict": 9, "stop": ["x"], "seed": 1, "repeat_penalty": 1.1,
                "num_ctx": 4096, "mirostat": 1}}),
        "vllm@0.32.0",
    );
    let asked = sent(&exchange);
    for (name, value) in [
        ("temperature", json!(0.5)),
        ("max_tokens", json!(9)),
        ("stop", json!(["x"])),
        ("seed", json!(1)),
        ("repetition_penalty", json!(1.1)),
        ("reasoning_effort", json!("low")),
        ("stream", json!(false)),
    ] {
        assert_eq!(asked[name], value, "{name}");
    }
    for name in [
        "options",
        "num_ctx",
        "mirostat",
        "keep_alive",
        "format",
        "tools",
        "think",
    ] {
        assert!(asked.get(name).is_none(), "{name}");
    }
    let pointers: Vec<&str> = exchange
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    assert_eq!(
        pointers,
        ["/options/num_ctx", "/options/mirostat", "/keep_alive"]
    );
    // Its own server has them all.
    let own = planned_chat(
        json!({"keep_alive": "5m", "options": {"num_ctx": 4096}}),
        "ollama-native",
    );
    assert!(own.sent().is_none() && own.losses.is_empty() && own.is_passthrough());
    // No limit is none.
    let asked = sent(&planned_chat(
        json!({"options": {"num_predict": -1}}),
        "plain",
    ));
    assert!(asked.get("max_tokens").is_none(), "{asked}");
    // What a server has no place for is told in the client's words.
    let losses = planned_chat(
        json!({"options": {"min_p": 0.1, "num_predict": 5}, "stream": true}),
        "gemini",
    )
    .losses;
    let pointers: Vec<&str> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
    assert_eq!(pointers, ["/options/min_p"]);
}

#[test]
fn what_is_wrong_is_named_in_the_clients_words() {
    let image = json!([{"role": "user", "content": "x", "images": ["!!"]}]);
    let call = |arguments: Value| json!([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}]);
    for (more, named) in [
        (json!({"model": 7}), "`model`"),
        (json!({"stream": "yes"}), "`stream`"),
        (json!({"messages": "hi"}), "`messages`"),
        (json!({"messages": []}), "`messages`"),
        (
            json!({"messages": [{"role": "robot", "content": "x"}]}),
            "`messages[0].role`",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
            "`messages[0].content`",
        ),
        (json!({"messages": image}), "`messages[0].images[0]`"),
        (
            json!({"messages": call(json!("{}"))}),
            "`messages[0].tool_calls[0].function.arguments`",
        ),
        (
            json!({"messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]}),
            "`messages[0].tool_calls`",
        ),
        (json!({"format": "xml"}), "`format`"),
        (json!({"format": 7}), "`format`"),
        (json!({"options": []}), "`options`"),
        (
            json!({"options": {"temperature": "hot"}}),
            "`options.temperature`",
        ),
        (json!({"options": {"stop": 7}}), "`options.stop`"),
        (json!({"think": "deep"}), "`think`"),
        (json!({"tools": [tool("f"), tool("f")]}), "`tools[1]`"),
        (
            json!({"tools": [{"type": "function", "function": {}}]}),
            "`tools[0].function.name`",
        ),
    ] {
        let error = planned("/api/chat", &chat(more.clone()), "vllm@0.32.0")
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.status(), 400, "{more}");
        let body: Value = serde_json::from_slice(&client("/api/chat").error_body(&error)).unwrap();
        let said = body["error"].as_str().unwrap();
        assert!(said.contains(named), "{more}: {said}");
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    }
}

#[test]
fn a_bare_prompt_is_refused_where_only_a_conversation_can_be_sent() {
    for (more, named) in [
        (json!({"raw": true}), "raw"),
        (json!({"suffix": "}"}), "suffix"),
        (json!({"prompt": ""}), "prompt"),
    ] {
        let mut body = json!({"model": "m", "prompt": "Where?", "stream": false});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let error = planned("/api/generate", &body, "vllm@0.32.0")
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.param.as_deref(), Some(named));
        // Its own server knows what it means.
        let own = planned("/api/generate", &body, "ollama-native").unwrap();
        assert!(own.sent().is_none());
        assert_eq!(own.path(), "/api/generate");
    }
    let body =
        json!({"model": "m", "prompt": "Where?", "template": "{{ .Prompt }}", "context": [1, 2]});
    let losses = planned("/api/generate", &body, "plain").unwrap().losses;
    let pointers: Vec<&str> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
    assert_eq!(pointers, ["/template", "/context"]);
}

/// A stream's lines put together as the SDK does.
fn folded(lines: &str) -> Value {
    let mut message = json!({"role": "assistant", "content": ""});
    let mut last = Value::Null;
    for line in lines.lines() {
        assert!(last["done"] != true, "a line behind the last: {line}");
        last = serde_json::from_str(line).unwrap();
        let said = &last["message"];
        for name in ["content", "thinking"] {
            let more = said[name].as_str().unwrap_or_default();
            if !more.is_empty() {
                let known = message[name].as_str().unwrap_or_default().to_owned();
                message[name] = json!(known + more);
            }
        }
        for call in said["tool_calls"].as_array().into_iter().flatten() {
            assert!(call["function"]["arguments"].is_object());
            match message.get_mut("tool_calls").and_then(Value::as_array_mut) {
                Some(calls) => calls.push(call.clone()),
                None => message["tool_calls"] = json!([call]),
            }
        }
    }
    assert_eq!(last["done"], true, "{lines}");
    last["message"] = message;
    last
}

#[test]
fn a_stream_put_together_is_the_whole_reply() {
    let plain = Says::text("Paris, \"東京\"\n");
    let json = Says::text("{\"city\": \"Paris\"}");
    let call = Says {
        text: String::new(),
        thinking: "so".to_owned(),
        calls: vec![
            ("f".to_owned(), json!({"city": "Paris"})),
            ("g".to_owned(), json!({"city": ""})),
        ],
    };
    for label in SCRIPTED {
        for (more, says) in [
            (json!({}), &plain),
            (json!({"format": city()}), &json),
            (json!({"tools": [tool("f"), tool("g")]}), &call),
            (json!({"tools": [tool("f"), tool("g")]}), &plain),
            (json!({"tools": [tool("f")], "format": city()}), &json),
        ] {
            let exchange = planned_chat(more.clone(), label);
            let wire = exchange.server.wire();
            let says = says.clone().asked_of(&exchange);
            let lines = framed(wire, &events_on(wire, &says));
            let lines = text(streamed(&exchange, &lines, 5).unwrap());
            let once = whole(&exchange, &whole_on(wire, &says)).unwrap();
            let once: Value = serde_json::from_slice(&once).unwrap();
            let both = folded(&lines);
            assert_eq!(both, once, "{label}: {more}");
            if says.thinking.is_empty() {
                assert!(once["message"].get("thinking").is_none());
            } else {
                assert_eq!(once["message"]["thinking"], json!(says.thinking), "{label}");
            }
            assert!(
                matches!(once["done_reason"].as_str(), Some("stop")),
                "{once}"
            );
        }
    }
}

#[test]
fn the_last_line_ends_with_the_end_mark() {
    let exchange = planned_chat(json!({}), "plain");
    let lines = framed(Wire::Chat, &events_on(Wire::Chat, &Says::text("hi")));
    let lines = streamed(&exchange, &lines, 9).unwrap();
    assert!(
        lines
            .trim_ascii_end()
            .ends_with(client("/api/chat").end_mark()),
        "{}",
        text(lines)
    );
}

#[test]
fn what_breaks_the_format_never_goes_out() {
    for path in ["/api/chat", "/api/generate"] {
        let mut body = chat(json!({"format": city(), "stream": false, "prompt": "Where?"}));
        for label in SCRIPTED {
            let says = Says::text("{\"city\": 7}");
            body["stream"] = json!(false);
            let exchange = planned(path, &body, label).unwrap();
            let wire = exchange.server.wire();
            let (status, error) = told(
                client(path),
                whole(&exchange, &whole_on(wire, &says)).unwrap_err(),
            );
            assert_eq!(status, 502, "{label}");
            let place = if path == "/api/chat" {
                "message.content"
            } else {
                "response"
            };
            assert!(error["error"].as_str().unwrap().contains(place), "{error}");
            body["stream"] = json!(true);
            let exchange = planned(path, &body, label).unwrap();
            let (out, _) =
                streamed(&exchange, &framed(wire, &events_on(wire, &says)), 4).unwrap_err();
            assert!(!text(out).contains("\"done\":true"), "{label}");
        }
    }
}

#[test]
fn a_call_that_breaks_its_schema_never_goes_out() {
    for label in SCRIPTED {
        let exchange = planned_chat(json!({"tools": [tool("f")], "stream": false}), label);
        let says = Says {
            calls: vec![("f".to_owned(), json!({"city": 7}))],
            ..Says::default()
        };
        let says = says.asked_of(&exchange);
        let fault = whole(&exchange, &whole_on(exchange.server.wire(), &says)).unwrap_err();
        let (status, error) = told(client("/api/chat"), fault);
        assert_eq!(status, 502, "{label}");
        assert!(
            error["error"]
                .as_str()
                .unwrap()
                .contains("message.tool_calls[0]"),
            "{error}"
        );
    }
}

#[test]
fn its_own_server_gets_and_gives_bytes() {
    let body = r#"{ "model":"m", "messages" : [ {"role":"user","content":"Where?", "odd": [ 1 ] } ],"options":{"num_ctx" : 1},"format" : {"type":"object"} }"#;
    let read = |body: &str| {
        let demand = exchange::read(client("/api/chat"), "/api/chat", body.as_bytes()).unwrap();
        exchange::plan(demand, &crate::replay::rule("ollama-native")).unwrap()
    };
    let exchange = read(body);
    assert!(exchange.sent().is_none(), "the format is its own");
    let came = concat!(
        r#"{"model" : "m","created_at":"2025-06-15T15:06:40.123456789Z","message":{"role":"assistant","content":"{\"a\""},"done":false}"#,
        "\n",
        r#"{"model":"m","created_at":"x","message":{"role":"assistant","content":": 1}"},"done":false, "extra":[ 1 ]}"#,
        "\n",
        r#"{"model":"m","created_at":"x","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,"eval_count":2}"#,
        "\n",
    );
    assert_eq!(
        text(streamed(&exchange, came.as_bytes(), 11).unwrap()),
        came
    );
    let once = r#"{ "model":"m","created_at":"x","message":{"role":"assistant","content":"{}" },"done":true,"done_reason":"stop","load_duration":1}"#;
    assert_eq!(text(whole(&exchange, once.as_bytes()).unwrap()), once);
    // What some readers would read otherwise is written anew.
    let odd = r#"{"model":"m","created_at":"x","message":{"role":"assistant","content":"{}","Content":"no"},"done":true,"done_reason":"stop"}"#;
    assert!(!text(whole(&exchange, odd.as_bytes()).unwrap()).contains("no\""));
    let two = r#"{"model":"m","message":{"role":"assistant","content":"{}"},"response":"no","done":true}"#;
    assert_ne!(
        whole(&exchange, two.as_bytes()).ok().map(text).as_deref(),
        Some(two)
    );
    // Tools and a format are told the model beside messages that keep their bytes.
    let body = body.replace(
        "\"format\"",
        r#""tools":[{"type":"function","function":{"name":"f"}}],"format""#,
    );
    let sent = String::from_utf8(read(&body).sent().unwrap().to_vec()).unwrap();
    assert!(
        sent.contains(r#"{"role":"user","content":"Where?", "odd": [ 1 ] }]"#),
        "{sent}"
    );
    assert!(sent.contains(r#""options":{"num_ctx" : 1}"#), "{sent}");
    assert!(!sent.contains("\"tools\":[{\"type\""), "{sent}");
}

#[test]
fn a_servers_error_is_told_in_the_clients_words() {
    let exchange = planned_chat(json!({}), "ollama-native");
    let (_, fault) = streamed(&exchange, b"{\"error\":\"out of memory\"}\n", 64).unwrap_err();
    let (_, error) = told(client("/api/chat"), fault);
    assert!(
        error["error"].as_str().unwrap().contains("out of memory"),
        "{error}"
    );
    let (_, fault) = streamed(&exchange, b"{\"nothing\":1}\n", 64).unwrap_err();
    assert_eq!(
        told(client("/api/chat"), fault).0,
        Kind::UpstreamBadReply.status()
    );
}

#[test]
fn a_call_that_the_limit_cut_is_left_out() {
    let exchange = planned_chat(json!({"tools": [tool("f")]}), "vllm@0.32.0");
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let call = json!({"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": "{\"ci"}}]});
    let events = [
        chunk(json!({"role": "assistant", "content": "so"}), None),
        chunk(call, None),
        chunk(json!({}), Some("length")),
    ];
    let last = folded(&text(
        streamed(&exchange, &framed(Wire::Chat, &events), 9).unwrap(),
    ));
    assert_eq!(last["done_reason"], "length");
    assert_eq!(
        last["message"],
        json!({"role": "assistant", "content": "so"})
    );
}
