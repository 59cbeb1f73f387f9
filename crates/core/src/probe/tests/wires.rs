//! Servers that are not asked in Chat Completions.

use super::*;

/// The whole reply of a server on another wire that does what its API says.
fn enforcing_elsewhere(wire: Wire, body: &Value) -> Value {
    let written = body.to_string();
    let choice = [
        &body["tool_choice"]["type"],
        &body["tool_choice"],
        &body["toolConfig"]["functionCallingConfig"]["mode"],
    ];
    let forced = ["any", "tool", "function", "required", "REQUIRED", "ANY"];
    let is_forced = choice
        .iter()
        .any(|word| forced.iter().any(|forced| *word == forced));
    // Who may call does what the prompt asks for.
    let is_called = is_forced || written.contains(question::CALL_PROMPT);
    let input = json!({"zqx17": "vbk42"});
    let text = match written.as_str() {
        written if written.contains("x.enum") => "zqx17",
        written if written.contains("\"vbk42\"") => "{\"zqx17\": \"vbk42\"}",
        written if written.contains("json") || body["format"]["type"] == "object" => "{}",
        _ => "hello",
    };
    match (wire, is_called) {
        (Wire::OllamaChat, true) => {
            let call = json!({"function": {"name": "zqx17", "arguments": input}});
            json!({"model": "m", "message": {"role": "assistant", "tool_calls": [call]}, "done": true})
        }
        (Wire::OllamaChat, false) => {
            json!({"model": "m", "message": {"role": "assistant", "content": text}, "done": true})
        }
        (Wire::Messages, true) => {
            let call = json!({"type": "tool_use", "id": "t", "name": "zqx17", "input": input});
            json!({"type": "message", "content": [call], "stop_reason": "tool_use"})
        }
        (Wire::Messages, false) => {
            json!({"type": "message", "content": [{"type": "text", "text": text}]})
        }
        (Wire::Responses, true) => {
            let call = json!({"type": "function_call", "call_id": "c", "name": "zqx17", "arguments": input.to_string()});
            json!({"id": "r", "status": "completed", "output": [call]})
        }
        (Wire::Responses, false) => {
            let part = json!({"type": "output_text", "text": text});
            json!({"id": "r", "status": "completed", "output": [{"type": "message", "content": [part]}]})
        }
        (Wire::Gemini, is_called) => {
            let part = match is_called {
                true => json!({"functionCall": {"name": "zqx17", "args": input}}),
                false => json!({"text": text}),
            };
            json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
        }
        (_, true) => {
            let function = json!({"name": "zqx17", "arguments": input.to_string()});
            let calls = json!([{"id": "c", "type": "function", "function": function}]);
            json!({"message": {"tool_calls": calls}, "finish_reason": "TOOL_CALL"})
        }
        (_, false) => {
            json!({"message": {"content": [{"type": "text", "text": text}]}, "finish_reason": "COMPLETE"})
        }
    }
}

#[test]
fn a_server_on_a_wire_of_its_own_is_asked_on_it() {
    for (label, path, expected) in [
        ("ollama-native", "/api/chat", "json_schema json_object auto"),
        (
            "anthropic",
            "/v1/messages",
            "json_schema auto required named compose show_tools",
        ),
        (
            "openai-responses",
            "/v1/responses",
            "json_schema json_object auto required named compose show_tools",
        ),
        (
            "gemini",
            "/v1beta/models/m:generateContent",
            "json_schema json_object choice auto required named compose",
        ),
        (
            "cohere",
            "/v2/chat",
            "json_schema json_object auto required named",
        ),
    ] {
        let rule = rule(label);
        let mut prober = Prober::new(&rule, "m", Depth::Light);
        while let Some(asked) = prober.next() {
            assert_eq!(asked.path, path);
            let body: Value = serde_json::from_slice(&asked.body).unwrap();
            let reply = enforcing_elsewhere(rule.server.wire(), &body);
            let body = reply.to_string().into_bytes();
            prober.answer(&Answer::Reply { status: 200, body });
        }
        let report = prober.finish();
        assert_eq!(report.ended, None, "{label}");
        let demands = report.findings.iter().map(|found| found.probed.demand());
        assert_eq!(demands.collect::<Vec<_>>().join(" "), expected, "{label}");
        for found in &report.findings {
            // Nobody counts the prompt's tokens here.
            let is_counted = found.probed != Probed::ShowTools;
            let word = if is_counted { "enforced" } else { "unclear" };
            assert_eq!(found.verdict.as_str(), word, "{label}: {found:?}");
        }
        assert_eq!(rule.probed(&report.findings), rule, "{label}");
    }
}

/// What is asked before the request itself is no request of its own.
#[test]
fn a_server_that_takes_a_prompt_is_asked_for_it_and_then_with_it() {
    let rule = rule("tgi-generate");
    let mut prober = Prober::new(&rule, "m", Depth::Light);
    let mut asked_for = 0;
    while let Some(mut asked) = prober.next() {
        while let Some(pending) = asked.pending.take() {
            asked_for += 1;
            assert_eq!(asked.path, "/chat_tokenize");
            asked = pending.next(br#"{"templated_text": "hi"}"#).unwrap();
        }
        assert_eq!(asked.path, "/generate");
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        let text = match body["parameters"]["grammar"]["type"].as_str() {
            Some("json") => "{\"zqx17\": \"vbk42\"}",
            Some(_) if body.to_string().contains("zqx1[7]vbk42") => "zqx17vbk42",
            Some(_) => "zqx17",
            None => "hello",
        };
        let body = json!({"generated_text": text, "details": {"finish_reason": "eos_token"}});
        let body = body.to_string().into_bytes();
        prober.answer(&Answer::Reply { status: 200, body });
    }
    let report = prober.finish();
    assert_eq!((report.requests, &report.ended), (asked_for, &None));
    assert_verdicts(&report, "enforced");
    assert_eq!(rule.probed(&report.findings), rule);
    let demands: Vec<_> = report
        .findings
        .iter()
        .map(|found| found.probed.demand())
        .collect();
    assert!(
        demands.contains(&"regex") && demands.contains(&"json_schema"),
        "{demands:?}"
    );
}

#[test]
fn a_model_that_refuses_how_it_is_asked_is_asked_in_another_way() {
    let report = ask(&rule("anthropic"), Depth::Light, |body| {
        if body.get("temperature").is_some() {
            let message = "`temperature` is deprecated for this model.";
            return (
                400,
                json!({"type": "error", "error": {"type": "x", "message": message}}),
            );
        }
        (200, enforcing_elsewhere(Wire::Messages, body))
    });
    assert_eq!(report.ended, None);
    assert!(report.findings.len() > 3, "{report:?}");
    assert!(
        report
            .findings
            .iter()
            .all(|found| found.verdict.as_str() != "refused")
    );
}

#[test]
fn a_model_that_takes_tools_on_another_route_is_asked_for_calls_there() {
    let openai = rule("openai");
    let mut prober = Prober::new(&openai, "m", Depth::Light);
    let mut refused = 0;
    while let Some(asked) = prober.next() {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        let is_chat = asked.path == "/v1/chat/completions";
        let (status, reply) = match (is_chat, body.get("tools").is_some()) {
            (true, true) => {
                refused += 1;
                let message = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
                (400, json!({"error": {"message": message}}))
            }
            (true, false) => enforcing(&body),
            (false, has_tools) => {
                assert!(has_tools, "all else stays where it is");
                (200, enforcing_elsewhere(Wire::Responses, &body))
            }
        };
        let body = reply.to_string().into_bytes();
        prober.answer(&Answer::Reply { status, body });
    }
    let report = prober.finish();
    assert_eq!((refused, &report.ended), (1, &None));
    let is_refused = |found: &Finding| found.verdict.as_str() == "refused";
    assert!(!report.findings.iter().any(is_refused), "{report:?}");
    let learnt = openai.knowing("tools_on_responses").unwrap();
    assert_eq!(openai.probed(&report.findings), learnt);
}

#[test]
fn what_a_route_beside_is_found_not_to_do_is_not_counted_on_there() {
    let moved = rule("openai").knowing("tools_on_responses").unwrap();
    let found = Finding {
        probed: Probed::Choice("required".to_owned()),
        words: String::new(),
        streamed: false,
        verdict: Verdict::Ignored,
        fact: None,
    };
    let beside = &moved.probed(&[found]).beside[0];
    let how = |rule: &Rule| rule.choices.get("required").map(|choice| choice.how);
    assert_eq!(how(&moved.beside[0]), Some(ChoiceHow::Native));
    assert_eq!(how(beside), Some(ChoiceHow::Constrain));
}
