//! Stop texts of the client's, where the reply is JSON or markup.

use super::*;

/// The stop texts that are sent, and whether the client is told that some are not.
fn stops(server: &str, extra: &Value) -> (Value, bool) {
    let rewritten = on(&rule(server), &body(extra)).unwrap();
    let told = rewritten.losses.iter().any(|loss| loss.pointer == "/stop");
    let sent = match &rewritten.sent {
        Sent::Untouched => extra.clone(),
        _ => sent(&rewritten),
    };
    (sent["stop"].clone(), told)
}

#[test]
fn a_stop_text_ends_no_call_within_its_json_or_markup() {
    let called =
        |stop: &Value| json!({"tools": [tool("f")], "tool_choice": "required", "stop": stop});
    let stated = json!(["\n", "<", "\nObservation:"]);
    for server in [
        "vllm@0.32.0",
        "mistral-rs",
        "ollama@0.12.0",
        "lmdeploy",
        "llama-cpp",
    ] {
        assert_eq!(
            stops(server, &called(&stated)),
            (Value::Null, true),
            "{server}"
        );
        for stated in [Value::Null, json!([])] {
            assert!(!stops(server, &called(&stated)).1, "{server}");
        }
    }
    // Where nothing holds it the model may run on behind its call.
    let kept = json!(["<", "\nObservation:"]);
    assert_eq!(stops("plain", &called(&stated)), (kept.clone(), true));
    assert_eq!(stops("plain", &called(&kept)), (kept, false));
    assert_eq!(stops("plain", &called(&json!("\n\n"))), (Value::Null, true));
}

#[test]
fn white_space_alone_ends_no_json() {
    let schema =
        json!({"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}});
    let stated = json!(["\n", " \t", "END"]);
    for server in ["vllm@0.32.0", "llama-cpp", "openai", "plain"] {
        for format in [&schema, &json!({"type": "json_object"})] {
            let asked = json!({"response_format": format, "stop": stated});
            assert_eq!(stops(server, &asked), (json!(["END"]), true), "{server}");
        }
        // A text is read up to where it stops.
        let auto = json!({"tools": [tool("f")], "stop": stated});
        assert_eq!(stops(server, &auto), (stated.clone(), false), "{server}");
        assert_eq!(
            stops(server, &json!({"stop": stated})),
            (stated.clone(), false),
            "{server}"
        );
    }
    let regex = json!({"structured_outputs": {"regex": "a\nb"}, "stop": stated});
    assert_eq!(stops("vllm@0.32.0", &regex), (stated, false));
}

#[test]
fn no_more_are_sent_than_a_server_of_another_wire_takes() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
        "stop_sequences": ["a", "b", "c", "d", "e", "f"]});
    for (server, field, most) in [
        ("openai", "/stop", 4),
        ("groq", "/stop", 4),
        ("gemini", "/generationConfig/stopSequences", 5),
        ("cohere", "/stop_sequences", 5),
        ("vllm@0.32.0", "/stop", 6),
    ] {
        let path = "/v1/messages";
        let client = crate::passage::client(path).unwrap();
        let demand = crate::exchange::read(client, path, body.to_string().as_bytes()).unwrap();
        let exchange = crate::exchange::plan(demand, &rule(server)).unwrap();
        let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        let stops = sent.pointer(field).and_then(Value::as_array).unwrap();
        assert_eq!(stops.len(), most, "{server}: {sent}");
        let told = exchange
            .losses
            .iter()
            .any(|loss| loss.pointer == "/stop_sequences");
        assert_eq!(told, most < 6, "{server}: {:?}", exchange.losses);
    }
}

#[test]
fn a_list_of_none_is_not_sent() {
    for server in ["openai", "vllm@0.32.0", "ollama"] {
        let asked = body(&json!({"stop": [ ], "seed": 1}));
        let rewritten = on(&rule(server), &asked).unwrap();
        assert_eq!(rewritten.losses, [], "{server}");
        let sent = sent(&rewritten);
        assert!(sent.get("stop").is_none(), "{server}: {sent}");
        assert_eq!(sent["seed"], 1);
    }
    let messages = json!([{"role": "user", "content": "hi"}]);
    let contents = json!([{"parts": [{"text": "hi"}]}]);
    let ollama =
        json!({"model": "m", "messages": messages, "options": {"stop": [], "num_predict": 9}});
    let gemini = json!({"contents": contents, "generationConfig": {"stopSequences": [], "maxOutputTokens": 9}});
    for (path, body, server) in [
        ("/api/chat", &ollama, "ollama-native"),
        ("/api/chat", &ollama, "openai"),
        ("/v1beta/models/m:generateContent", &gemini, "gemini"),
        ("/v1beta/models/m:generateContent", &gemini, "openai"),
    ] {
        let client = crate::passage::client(path).unwrap();
        let demand = crate::exchange::read(client, path, body.to_string().as_bytes()).unwrap();
        let exchange = crate::exchange::plan(demand, &rule(server)).unwrap();
        let sent = String::from_utf8(exchange.sent().unwrap().to_vec()).unwrap();
        assert!(!sent.contains("stop"), "{path} on {server}: {sent}");
    }
}
