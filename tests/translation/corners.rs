//! Corners of the way back: small replies, made for one thing each.

mod lies;
mod repairs;

use crate::replay;
use isogloss_core::exchange::{self, Exchange, Fault};
use isogloss_core::ir::Ids;
use replay::{Recorded, rule};
use serde_json::{Value, json};

fn planned(label: &str, demand: &Value) -> Exchange {
    let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let fields = demand.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(fields);
    let demand = exchange::read_chat(request.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule(label)).unwrap()
}

/// What the client gets of a body that came under 200.
fn translated(label: &str, demand: &Value, streamed: bool, body: &[u8]) -> String {
    let recorded = Recorded {
        status: 200,
        streamed,
        body: body.to_vec(),
    };
    replay::whole(&planned(label, demand), &rule(label), &recorded)
}

fn events(chunks: &[Value]) -> Vec<u8> {
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    (events.collect::<String>() + "data: [DONE]\n\n").into_bytes()
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// The chunks of a client's stream that ended well.
fn chunks(told: &str) -> Vec<Value> {
    let events = told.strip_suffix("data: [DONE]\n\n");
    let events = events.unwrap_or_else(|| unreachable!("no end: {told}"));
    let data = |event: &str| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
    events.split_terminator("\n\n").map(data).collect()
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}})
}

#[test]
fn flags_of_a_pattern_are_spelled_out_for_a_server_that_reads_none() {
    let sent = |label: &str, demand: &Value| {
        let exchange = planned(label, demand);
        assert!(exchange.losses.is_empty(), "{label}: {:?}", exchange.losses);
        let body = exchange.sent().map_or(&b"{}"[..], |body| body);
        serde_json::from_slice::<Value>(body).unwrap()
    };
    let demand = |pattern: &str| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}},
            "required": ["a"], "additionalProperties": false});
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}})
    };
    for server in ["vllm@0.32.0", "sglang@0.5.23"] {
        let there = sent(server, &demand("^(?i:yes|no)$"));
        let expected = json!("^([Yy][Ee][Ss\u{17f}]|[Nn][Oo])$").to_string();
        assert!(there.to_string().contains(&expected), "{server}: {there}");
        let there = sent(server, &demand("(?i)^(?P<said>no)$"));
        assert!(
            there.to_string().contains("\"^[Nn][Oo]$\""),
            "{server}: {there}"
        );
        let named = json!({"type": "object", "patternProperties": {"^(?i:no)$": {"type": "integer"}}, "additionalProperties": false});
        let demand = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": named}}});
        let there = sent(server, &demand);
        assert!(
            there.to_string().contains("\"^[Nn][Oo]$\""),
            "{server}: {there}"
        );
    }
    let there = sent(
        "vllm@0.32.0",
        &json!({"structured_outputs": {"regex": "(?i)no"}}),
    );
    assert_eq!(there["structured_outputs"]["regex"], "[Nn][Oo]", "{there}");
}

#[test]
fn calls_and_results_in_the_words_before_tools_are_told_as_those_of_tools() {
    let body = json!({"model": "m", "functions": [{"name": "f", "parameters": {"type": "object"}}], "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\":1}"}},
        {"role": "function", "name": "f", "content": "one"},
    ]});
    for server in [
        "vllm@0.32.0",
        "sglang@0.5.23",
        "llama-cpp",
        "ollama",
        "openai",
    ] {
        let demand = exchange::read_chat(body.to_string().as_bytes()).unwrap();
        let exchange = exchange::plan(demand, &rule(server)).unwrap();
        let there: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        let (call, result) = (&there["messages"][1], &there["messages"][2]);
        assert_eq!(
            call["tool_calls"][0]["function"]["name"], "f",
            "{server}: {call}"
        );
        assert!(call.get("function_call").is_none(), "{server}: {call}");
        assert_eq!(
            (&result["role"], &result["content"]),
            (&json!("tool"), &json!("one")),
            "{server}: {result}"
        );
        assert_eq!(
            result["tool_call_id"], call["tool_calls"][0]["id"],
            "{server}"
        );
        assert!(
            exchange.losses.is_empty(),
            "{server}: {:?}",
            exchange.losses
        );
    }
}

#[test]
fn a_list_under_items_is_told_as_the_tuple_that_it_is() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "integer"}], "minItems": 1}},
        "required": ["a"], "additionalProperties": false});
    let demand = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}});
    for server in ["vllm@0.32.0", "llama-cpp", "openai"] {
        let exchange = planned(server, &demand);
        let there: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        assert!(
            there
                .to_string()
                .contains("\"prefixItems\":[{\"type\":\"integer\"}]"),
            "{server}: {there}"
        );
        assert!(
            !there.to_string().contains("\"items\":["),
            "{server}: {there}"
        );
    }
}

#[test]
fn what_was_verified_is_what_the_client_gets() {
    // Half a surrogate pair: verified as U+FFFD, so it must not go out as it came.
    let demand = json!({"response_format": {"type": "json_object"}});
    let broken = br#"{"id":"r","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":\"\ud83d\"}"},"finish_reason":"stop"}]}"#;
    let told = translated("vllm@0.32.0", &demand, false, broken);
    let reply: Value = serde_json::from_str(&told).unwrap();
    let content = &reply["choices"][0]["message"]["content"];
    assert_eq!(content, "{\"a\":\"\u{fffd}\"}");

    let broken = b"data: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"{\\\"a\\\":\\\"\xff\\\"}\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let told = translated("vllm@0.32.0", &demand, true, broken);
    let content = &chunks(&told)[0]["choices"][0]["delta"]["content"];
    assert_eq!(content, "{\"a\":\"\u{fffd}\"}");
}

#[test]
fn calls_of_the_servers_own_are_mended_in_whole_replies_too() {
    let body = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
        {"id": null, "function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "", "function": {"name": "f", "arguments": "{}"}}
    ]}}]});
    let told = translated(
        "vllm@0.32.0",
        &json!({"tools": [tool("f")]}),
        false,
        body.to_string().as_bytes(),
    );
    let reply: Value = serde_json::from_str(&told).unwrap();
    let calls = reply["choices"][0]["message"]["tool_calls"]
        .as_array()
        .unwrap();
    assert_eq!(calls[0]["function"]["arguments"], r#"{"a":1}"#);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    for call in calls {
        assert!(call["id"].as_str().unwrap().starts_with("call_"), "{call}");
        assert_eq!(call["type"], "function");
    }
}

#[test]
fn the_model_is_shown_its_own_call_when_it_is_asked_again() {
    // Two messages of the user in a row are an error to some chat templates.
    let body = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{\"a\":\"no\"}"}}
    ]}}]});
    let planned = planned("vllm@0.32.0", &json!({"tools": [tool("f")]}));
    let checks = replay::checks(&planned).unwrap();
    let body = body.to_string().into_bytes();
    let fault = exchange::reply(&planned, &checks, Ids::new(1), &body).unwrap_err();
    let Fault::Violation(violation) = fault else {
        unreachable!("{fault:?}")
    };
    let again: Value = serde_json::from_slice(&planned.re_ask(&violation).body).unwrap();
    let messages = again["messages"].as_array().unwrap();
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[1]["content"], "f: {\"a\":\"no\"}");
}

#[test]
fn the_role_is_first_though_the_server_forgets_it() {
    let body = events(&[
        chunk(&json!({"content": "{"}), None),
        chunk(&json!({"content": "}"}), Some("stop")),
    ]);
    let demand = json!({"response_format": {"type": "json_object"}});
    let chunks = chunks(&translated("vllm@0.32.0", &demand, true, &body));
    assert_eq!(
        chunks[0]["choices"][0]["delta"],
        json!({"role": "assistant", "content": "{"})
    );
    assert_eq!(chunks[1]["choices"][0]["delta"], json!({"content": "}"}));
}

#[test]
fn a_stream_without_a_finish_reason_gets_a_last_chunk_with_one() {
    let body = events(&[chunk(&json!({"role": "assistant", "content": "{}"}), None)]);
    let demand = json!({"response_format": {"type": "json_object"}});
    let chunks = chunks(&translated("vllm@0.32.0", &demand, true, &body));
    assert_eq!(chunks[1]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[1]["id"], "r");
}

#[test]
fn the_usage_chunk_keeps_what_the_server_wrote_into_it() {
    let usage = json!({"id": "r", "object": "chat.completion.chunk", "created": 2, "model": "m", "choices": [], "usage": {"total_tokens": 3}, "system_fingerprint": "x"});
    let body = events(&[
        chunk(&json!({"role": "assistant", "content": "{}"}), Some("stop")),
        usage.clone(),
    ]);
    let demand = json!({"tools": [tool("f")], "tool_choice": "required", "stream": true, "stream_options": {"include_usage": true}});
    let chunks = chunks(&translated("vllm@0.12.0", &demand, true, &body));
    assert_eq!(chunks.last(), Some(&usage));
}

#[test]
fn what_a_server_broke_off_itself_is_no_whole_answer() {
    let demand = json!({"response_format": {"type": "json_object"}});
    for (server, reason, is_cut) in [
        ("vllm@0.32.0", "repetition", true),
        ("vllm@0.32.0", "abort", false),
        ("sglang@0.5.23", "abort", false),
    ] {
        let begun = [chunk(
            &json!({"role": "assistant", "content": "{\"a\": 1"}),
            Some(reason),
        )];
        let told = translated(server, &demand, true, &events(&begun));
        match is_cut {
            true => assert_eq!(
                chunks(&told).last().unwrap()["choices"][0]["finish_reason"],
                "length"
            ),
            false => assert!(told.contains("error"), "{server}, {reason}: {told}"),
        }
    }
}

#[test]
fn counts_that_nobody_asked_for_stay_with_the_end() {
    // Mistral's API counts in the last chunk of every stream, and its SDK reads that.
    let (text, rest) = ("{\"a\": 1}", "");
    for (server, called, first, last) in [
        ("mistral", false, rest, text),
        ("mistral", false, text, rest),
        // Clients of OpenAI's are told what they ask for.
        ("vllm@0.12.0", true, rest, text),
        ("plain", true, text, rest),
    ] {
        let first = chunk(&json!({"role": "assistant", "content": first}), None);
        let mut last = chunk(&json!({"content": last}), Some("stop"));
        last["usage"] = json!({"total_tokens": 3});
        let body = events(&[first, last]);
        for asked in [false, true] {
            let mut demand =
                json!({"tools": [tool("f")], "stream_options": {"include_usage": asked}});
            if called {
                demand["tool_choice"] = json!("required");
            } else {
                demand = json!({"response_format": {"type": "json_object"}, "stream_options": {"include_usage": asked}});
            }
            let chunks = chunks(&translated(server, &demand, true, &body));
            let counted = chunks.iter().filter(|chunk| chunk["usage"].is_object());
            let counted: Vec<&Value> = counted.collect();
            let is_told = asked || server == "mistral" || !called;
            assert_eq!(
                counted.len(),
                usize::from(is_told),
                "{server}, {asked}: {chunks:?}"
            );
            assert!(
                counted.is_empty()
                    || asked
                    || counted[0]["choices"][0]["finish_reason"].is_string(),
                "{chunks:?}"
            );
        }
    }
}

#[test]
fn what_came_before_the_token_limit_is_kept() {
    // A bare answer where an envelope was asked for: cut, it may be read in one way only.
    let demand = json!({"tools": [tool("f")], "response_format": {"type": "json_object"}});
    let body = events(&[chunk(
        &json!({"role": "assistant", "content": "{\"colour\": \"gr"}),
        Some("length"),
    )]);
    let told = translated("sglang@0.5.23", &demand, true, &body);
    let told = chunks(&told);
    let delta = &told[0]["choices"][0];
    assert_eq!(delta["delta"]["content"], "{\"colour\": \"gr");
    // The end stands alone, as OpenAI's does.
    assert_eq!(delta["finish_reason"], Value::Null);
    let end = &told[1]["choices"][0];
    assert_eq!(
        (&end["delta"], &end["finish_reason"]),
        (&json!({}), &json!("length"))
    );

    let demand = json!({"tools": [tool("f")], "tool_choice": "required"});
    let body = events(&[chunk(
        &json!({"role": "assistant", "content": "{\"a\": 1"}),
        Some("length"),
    )]);
    let told = translated("plain", &demand, true, &body);
    let call = &chunks(&told)[0]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(
        call["function"],
        json!({"name": "f", "arguments": "{\"a\": 1"})
    );
}

#[test]
fn a_call_of_the_servers_own_after_a_rewrapped_one_is_no_second_first() {
    let demand = json!({"tools": [{"type": "custom", "custom": {"name": "c"}}], "tool_choice": "required", "parallel_tool_calls": true});
    let call = json!({"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": {"name": "c", "arguments": "two"}}]});
    let single = json!({"tools": demand["tools"], "tool_choice": "required"});
    let body = events(&[
        chunk(&json!({"role": "assistant", "content": "one"}), None),
        chunk(&call, None),
        chunk(&json!({}), Some("tool_calls")),
    ]);
    let told = translated("vllm@0.32.0", &single, true, &body);
    assert!(
        told.contains("VIOLATION json at choices[0].message.content"),
        "{told}"
    );
}

#[test]
fn arguments_that_come_as_an_object_become_the_text_that_clients_read() {
    // TGI, in whole replies (huggingface/text-generation-inference#2136).
    let demand = json!({"tools": [tool("f")], "tool_choice": "required"});
    let reply = |arguments: Value| {
        let call = json!({"id": "0", "type": "function", "function": {"name": "f", "arguments": arguments}});
        let message = json!({"role": "assistant", "tool_calls": [call]});
        let reply = json!({"id": "", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        translated("tgi@3.3.7", &demand, false, reply.to_string().as_bytes())
    };
    let told: Value = serde_json::from_str(&reply(json!({"a": 1}))).unwrap();
    let call = &told["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["arguments"], "{\"a\":1}");
    let told = reply(json!({"a": "one"}));
    assert!(told.contains("VIOLATION"), "{told}");
}
