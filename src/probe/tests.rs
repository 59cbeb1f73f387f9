//! Servers of a few lines, asked: what they do with a demand is what they are found to do.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::rules::{
    ChoiceHow, ComposeHow, Finding, Probed, Route, RuleSet, ShowTools, TagShape, Version,
};
use crate::wire::Wire;
use serde_json::{Value, json};

const LABELS: [&str; 9] = [
    "vllm@0.7.3",
    "vllm@0.10.2",
    "vllm@0.11.0",
    "vllm@0.12.0",
    "vllm@0.32.0",
    "sglang@0.5.23",
    "llama-cpp",
    "openai",
    "plain",
];

fn rule(label: &str) -> Rule {
    let (name, version) = label
        .split_once('@')
        .map_or((label, None), |(name, version)| {
            (name, Version::parse(version))
        });
    RuleSet::builtin().resolve(name, version).unwrap()
}

fn ask(rule: &Rule, depth: Depth, server: impl Fn(&Value) -> (u16, Value)) -> Report {
    let mut prober = Prober::new(rule, "m", depth);
    while let Some(body) = prober.next() {
        let body: Value = serde_json::from_slice(&body.body).unwrap();
        let (status, reply) = server(&body);
        let body = if body["stream"] == true && status == 200 {
            streamed(&reply)
        } else {
            reply.to_string().into_bytes()
        };
        prober.answer(&Answer::Reply { status, body });
    }
    prober.finish()
}

fn reply(message: Value, finish: &str, prompt_tokens: u64) -> (u16, Value) {
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    let usage = json!({"prompt_tokens": prompt_tokens, "completion_tokens": 1});
    (
        200,
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "system_fingerprint": "fp", "choices": [choice], "usage": usage}),
    )
}

fn text(content: &str) -> (u16, Value) {
    reply(json!({"role": "assistant", "content": content}), "stop", 20)
}

fn call(name: &str, arguments: &str) -> (u16, Value) {
    let function = json!({"name": name, "arguments": arguments});
    let calls = json!([{"id": "call_1", "type": "function", "function": function}]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    reply(message, "tool_calls", 20)
}

/// The reply in two chunks, the second of which repeats a call's name, as some servers do.
fn streamed(reply: &Value) -> Vec<u8> {
    let message = &reply["choices"][0]["message"];
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let thoughts = &message["reasoning_content"];
    let mut first =
        json!({"role": "assistant", "reasoning_content": thoughts, "content": message["content"]});
    let mut last = json!({});
    if let Some(call) = message["tool_calls"].get(0) {
        let name = &call["function"]["name"];
        first["tool_calls"] =
            json!([{"index": 0, "id": "i", "function": {"name": name, "arguments": ""}}]);
        last["tool_calls"] = json!([{"index": 0, "function": call["function"]}]);
    }
    let stream =
        chunk(first, Value::Null) + &chunk(last, reply["choices"][0]["finish_reason"].clone());
    (stream + "data: [DONE]\n\n").into_bytes()
}

/// A server that keeps to everything it is sent, in whatever words.
fn enforcing(body: &Value) -> (u16, Value) {
    let written = body.to_string();
    let chosen = &body["tool_choice"];
    if chosen == "required" || chosen.is_object() {
        return call("zqx17", r#"{ "zqx17": "vbk42" }"#);
    }
    let is_plain =
        body.get("structured_outputs").is_none() && body.get("response_format").is_none();
    if written.contains("Call the tool") && is_plain {
        return call("zqx17", "{\"zqx17\": \"vbk42\"}");
    }
    let content = if written.contains("structural_tag") {
        "<zqx17>{\"zqx17\": \"vbk42\"}</zqx17>"
    } else if written.contains("\"answer\"") {
        "{\"answer\": {\"zqx17\": \"vbk42\"}}"
    } else if written.contains("\"additionalProperties\":false")
        && (!written.contains("\"tools\"") || written.contains("response_format"))
    {
        "{\"zqx17\": \"vbk42\"}"
    } else if written.contains("zqx1[7]vbk42") {
        "zqx17vbk42"
    } else if written.contains("json_object") || body["json_schema"] == json!({"type": "object"}) {
        "{}"
    } else if written.contains("::=") || written.contains("start:") || written.contains("choice") {
        "zqx17"
    } else {
        "hello"
    };
    let (status, mut reply) = text(content);
    if written.contains("warehouse") {
        reply["usage"]["prompt_tokens"] = json!(80);
    }
    (status, reply)
}

/// A server that reads nothing but the messages.
fn ignoring(_body: &Value) -> (u16, Value) {
    text("hello")
}

#[track_caller]
fn assert_verdicts(report: &Report, word: &str) {
    for found in &report.findings {
        assert_eq!(found.verdict.as_str(), word, "{found:?}");
    }
}

#[test]
fn a_server_that_enforces_what_its_rule_says_keeps_its_rule() {
    let set = RuleSet::builtin();
    for label in set.names().into_iter().chain(LABELS) {
        let rule = rule(label);
        if rule.wire != Wire::Chat {
            continue;
        }
        for depth in [Depth::Light, Depth::Full] {
            let report = ask(&rule, depth, enforcing);
            assert_verdicts(&report, "enforced");
            assert_eq!(report.ended, None);
            assert_eq!(rule.probed(&report.findings), rule, "{label}");
        }
    }
}

/// The whole reply of a server on another wire that does what its API says.
fn enforcing_elsewhere(wire: Wire, body: &Value) -> Value {
    let written = body.to_string();
    let choice = [
        &body["tool_choice"]["type"],
        &body["tool_choice"],
        &body["toolConfig"]["functionCallingConfig"]["mode"],
    ];
    let forced = ["any", "tool", "REQUIRED", "ANY"];
    let is_forced = choice
        .iter()
        .any(|word| forced.iter().any(|forced| *word == forced));
    // Who may call does what the prompt asks for.
    let is_called = is_forced || written.contains(question::CALL_PROMPT);
    let input = json!({"zqx17": "vbk42"});
    let text = match written.as_str() {
        written if written.contains("x.enum") => "zqx17",
        written if written.contains("\"vbk42\"") => "{\"zqx17\": \"vbk42\"}",
        written if written.contains("json") => "{}",
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
            "gemini",
            "/v1beta/models/m:generateContent",
            "json_schema json_object choice auto required named",
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
            let reply = enforcing_elsewhere(rule.wire, &body);
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
fn a_server_that_ignores_everything_is_told_everything_in_the_prompt() {
    for label in LABELS.into_iter().filter(|label| *label != "plain") {
        let mut report = ask(&rule(label), Depth::Light, ignoring);
        assert!(!report.findings.is_empty(), "{label}");
        // A model need not call, nor open a tag: it says nothing of the server if it does not.
        let is_free = |found: &Finding| match found.probed.demand() {
            "structural_tag" => {
                rule(label).constraints["structural_tag"].shape == TagShape::Structures
            }
            demand => demand == "auto",
        };
        let (free, forced) = report.findings.into_iter().partition(is_free);
        report.findings = free;
        assert_verdicts(&report, "unclear");
        report.findings = forced;
        assert_verdicts(&report, "ignored");
        let probed = rule(label).probed(&report.findings);
        for demand in [
            "json_schema",
            "json_object",
            "regex",
            "choice",
            "grammar:gbnf",
        ] {
            for spelling in [None, Some("response_format.json_schema")] {
                assert_eq!(
                    probed.route(demand, spelling),
                    Route::Instruct,
                    "{label} {demand}"
                );
            }
        }
        for choice in ["required", "named"] {
            assert_eq!(
                probed.choices[choice].how,
                ChoiceHow::Instruct,
                "{label} {choice}"
            );
        }
        assert_eq!(probed.show_tools, ShowTools::SystemMessage, "{label}");
    }
}

#[test]
fn a_forced_call_that_is_ignored_becomes_a_constraint_on_content() {
    let llama = rule("llama-cpp");
    for wrong in [
        text("hello"),
        call("zqx17", r#"{"colour": "red"}"#),
        call("zqx17", "{}"),
        call("plo58", r#"{"zqx17": "vbk42"}"#),
    ] {
        let report = ask(&llama, Depth::Light, |body| match &body["tool_choice"] {
            Value::String(word) if word == "required" => wrong.clone(),
            _ => enforcing(body),
        });
        let probed = llama.probed(&report.findings);
        for choice in ["required", "named", "allowed_required"] {
            assert_eq!(
                probed.choices[choice].how,
                ChoiceHow::Constrain,
                "{wrong:?}"
            );
        }
        assert_eq!(probed.choices["auto"], llama.choices["auto"]);
        assert_eq!(probed.constraints, llama.constraints);
    }
}

#[test]
fn a_kind_that_is_refused_is_converted_into_one_that_is_not() {
    let sglang = rule("sglang@0.5.23");
    let report = ask(&sglang, Depth::Light, |body| match body.get("regex") {
        Some(_) => (
            400,
            json!({"object": "error", "message": "no regex backend", "code": 400}),
        ),
        None => enforcing(body),
    });
    let verdict = report.verdict("regex").unwrap();
    assert_eq!(verdict.as_str(), "refused");
    assert!(verdict.reason().unwrap().contains("no regex backend"));
    let probed = sglang.probed(&report.findings);
    assert_eq!(probed.route("regex", None), Route::Convert("grammar:gbnf"));
    assert_eq!(probed.route("choice", None), Route::Convert("grammar:gbnf"));
    assert_eq!(probed.route("json_schema", None), Route::Send);
}

#[test]
fn a_spelling_that_is_enforced_stays_where_the_rules_own_words_are_not() {
    // llama.cpp taken for vLLM: it knows `response_format`, not `structured_outputs`.
    let vllm = rule("vllm@0.32.0");
    let report = ask(&vllm, Depth::Light, |body| {
        match body.get("structured_outputs") {
            Some(_) => text("hello"),
            None => enforcing(body),
        }
    });
    assert_eq!(
        report.verdict("json_schema"),
        Some(&Verdict::Ignored),
        "the worst counts"
    );
    let probed = vllm.probed(&report.findings);
    let spelled = |spelling| probed.route("json_schema", Some(spelling));
    assert_eq!(spelled("response_format.json_schema"), Route::Native);
    assert_eq!(spelled("structured_outputs.json"), Route::Instruct);
    assert_eq!(probed.route("json_object", None), Route::Send);
    assert_eq!(probed.choices["required"].how, ChoiceHow::Instruct);
}

#[test]
fn a_spelling_that_is_ignored_goes_alone() {
    let vllm = rule("vllm@0.32.0");
    let report = ask(&vllm, Depth::Full, |body| {
        match body.get("response_format") {
            Some(_) => text("hello"),
            None => enforcing(body),
        }
    });
    let probed = vllm.probed(&report.findings);
    assert_eq!(
        probed.route("json_schema", Some("response_format.json_schema")),
        Route::Send
    );
    assert_eq!(
        probed.route("json_schema", Some("structured_outputs.json")),
        Route::Native
    );
}

#[test]
fn what_is_enforced_in_whole_replies_alone_is_not_enforced() {
    let llama = rule("llama-cpp");
    let report = ask(&llama, Depth::Full, |body| match body["stream"] == true {
        true => text("hello"),
        false => enforcing(body),
    });
    let streams = report.findings.iter().filter(|found| found.streamed);
    assert!(streams.clone().count() >= 4);
    assert!(
        streams
            .into_iter()
            .filter(|found| found.probed.demand() != "auto")
            .all(|found| found.verdict == Verdict::Ignored)
    );
    let probed = llama.probed(&report.findings);
    assert_eq!(probed.route("json_schema", None), Route::Instruct);
}

#[test]
fn a_refusal_that_tells_of_the_launch_teaches_that_too() {
    let llama = rule("llama-cpp");
    let report = ask(&llama, Depth::Light, |body| match body.get("tools") {
        Some(_) => (
            500,
            json!({"error": {"message": "tools param requires --jinja flag"}}),
        ),
        None => enforcing(body),
    });
    assert_eq!(
        llama.probed(&report.findings),
        llama.knowing("no_tools").unwrap()
    );
}

#[test]
fn what_is_unclear_changes_nothing() {
    let thinking =
        json!({"role": "assistant", "content": null, "reasoning_content": "Hm, the user"});
    for said in [
        reply(thinking, "length", 20),
        text(""),
        reply(
            json!({"role": "assistant", "content": "<think>\nHm"}),
            "length",
            20,
        ),
        (500, json!({"error": {"message": "engine died"}})),
    ] {
        let llama = rule("llama-cpp");
        let report = ask(&llama, Depth::Light, |body| {
            match body.get("json_schema").is_some() && body["max_tokens"] == MAX_TOKENS {
                true => said.clone(),
                false => enforcing(body),
            }
        });
        let found = report
            .findings
            .iter()
            .find(|found| found.words == "json_schema");
        assert_eq!(found.unwrap().verdict.as_str(), "unclear", "{said:?}");
        assert_eq!(llama.probed(&report.findings), llama);
    }
}

#[test]
fn a_model_that_thinks_is_given_room_where_everything_is_asked() {
    let llama = rule("llama-cpp");
    let thinking = |body: &Value| match body["max_tokens"].as_u64() {
        Some(tokens) if tokens == u64::from(MAX_TOKENS) => {
            let message = json!({"role": "assistant", "reasoning_content": "Hm", "content": ""});
            reply(message, "length", 20)
        }
        _ => enforcing(body),
    };
    let full = ask(&llama, Depth::Full, thinking);
    assert_verdicts(&full, "enforced");
    let light = ask(&llama, Depth::Light, thinking);
    assert_eq!(light.verdict("required").unwrap().as_str(), "unclear");
    let never = |body: &Value| match body["max_tokens"].as_u64() {
        Some(tokens) if tokens >= u64::from(MAX_TOKENS) => reply(
            json!({"role": "assistant", "content": "<think>\nHm"}),
            "length",
            20,
        ),
        _ => enforcing(body),
    };
    let report = ask(&llama, Depth::Full, never);
    assert_eq!(report.verdict("required").unwrap().as_str(), "unclear");
    assert!(report.requests <= 2 * Depth::Full.max_requests());
}

#[test]
fn the_beginning_of_a_lawful_answer_is_telling() {
    let cut = |content: &str| {
        let message = json!({"role": "assistant", "content": content});
        let report = ask(&rule("llama-cpp"), Depth::Light, |body| {
            match body.get("json_schema").is_some() && body["max_tokens"] == MAX_TOKENS {
                true => reply(message.clone(), "length", 20),
                false => enforcing(body),
            }
        });
        report.verdict("json_schema").unwrap().as_str()
    };
    assert_eq!(cut("{ \n \"zqx1"), "enforced");
    assert_eq!(
        cut("{\n\n\n\n\n\n"),
        "unclear",
        "blanks without end are lawful too"
    );
    assert_eq!(cut("{\"hello\": \"wor"), "ignored");
    assert_eq!(cut("hello hello hel"), "ignored");
}

#[test]
fn a_server_that_answers_nobody_is_asked_nothing_more() {
    for (status, may_pass) in [
        (401, false),
        (403, false),
        (404, false),
        (400, false),
        (429, true),
        (503, true),
    ] {
        let report = ask(&rule("vllm@0.32.0"), Depth::Full, |_| {
            (status, json!({"detail": "no"}))
        });
        assert_eq!((report.requests, report.findings.as_slice()), (1, &[][..]));
        let ended = report.ended.unwrap();
        assert_eq!(ended.may_pass, may_pass, "{status}");
        assert!(ended.why.contains("no"));
    }
    let mut prober = Prober::new(&rule("vllm@0.32.0"), "m", Depth::Light);
    prober.answer(&Answer::Nothing("it closed the connection".to_owned()));
    assert!(prober.next().is_none() && prober.finish().ended.unwrap().may_pass);
}

#[test]
fn a_rule_without_words_leaves_nothing_to_ask() {
    assert!(
        Prober::new(&rule("plain"), "m", Depth::Full)
            .next()
            .is_none()
    );
    assert!(
        Prober::new(&rule("llama-cpp"), "m", Depth::Off)
            .next()
            .is_none()
    );
}

#[test]
fn questions_are_few_and_short_on_every_server() {
    let set = RuleSet::builtin();
    let named = set.names().into_iter().map(str::to_owned);
    for label in named.chain(LABELS.map(str::to_owned)) {
        for depth in [Depth::Light, Depth::Full] {
            let questions = question::all(&rule(&label), "m", depth);
            let count = questions.len();
            assert!(count <= depth.max_requests(), "{label}: {count} {depth:?}");
            for question in questions {
                let body: Value = serde_json::from_slice(&question.body).unwrap();
                assert!(body["max_tokens"].as_u64().unwrap() <= u64::from(MAX_TOKENS));
                assert_eq!(body["temperature"], 0);
                if let Some(probed) = &question.probed {
                    assert!(DEMANDS.contains(&probed.demand()));
                    assert!(!question.words.is_empty());
                }
            }
        }
    }
}

#[test]
fn a_prompt_that_tools_do_not_lengthen_does_not_show_them() {
    let llama = rule("llama-cpp");
    let report = ask(&llama, Depth::Light, |body| {
        let (status, mut reply) = enforcing(body);
        reply["usage"]["prompt_tokens"] = json!(22);
        (status, reply)
    });
    let shown = |report: &Report| {
        let about = |found: &&Finding| found.probed == Probed::ShowTools;
        report.findings.iter().find(about).unwrap().verdict.clone()
    };
    assert_eq!(shown(&report), Verdict::Ignored);
    assert_eq!(
        llama.probed(&report.findings).show_tools,
        ShowTools::SystemMessage
    );
    let report = ask(&llama, Depth::Light, |body| {
        let (status, mut reply) = enforcing(body);
        reply.as_object_mut().unwrap().remove("usage");
        (status, reply)
    });
    assert!(matches!(shown(&report), Verdict::Unclear(_)));
}

/// What a server that is asked for one demand says, as its verdict.
fn verdict_on(label: &str, demand: &str, said: &(u16, Value)) -> String {
    let rule = rule(label);
    let report = ask(&rule, Depth::Light, |body| {
        let is_it = match demand {
            "structural_tag" => body.to_string().contains("structural_tag"),
            "compose" => body.get("tools").is_some() && body.to_string().contains("answer"),
            _ => body.to_string().contains("Call the tool"),
        };
        if is_it { said.clone() } else { enforcing(body) }
    });
    report.verdict(demand).unwrap().as_str().to_owned()
}

#[test]
fn a_tag_tells_once_it_is_opened() {
    let said = |content: &str| verdict_on("vllm@0.32.0", "structural_tag", &text(content));
    assert_eq!(said("<zqx17>{\"zqx17\": \"vbk42\"}</zqx17>"), "enforced");
    assert_eq!(
        said("Sure: <zqx17>{\"zqx17\":\"vbk42\"}</zqx17>."),
        "enforced"
    );
    assert_eq!(said("<zqx17>hello</zqx17>"), "ignored");
    assert_eq!(said("hello"), "unclear");
    // The shape `format` forces it.
    let said = |content: &str| verdict_on("sglang@0.5.23", "structural_tag", &text(content));
    assert_eq!(said("<zqx17>{\"zqx17\": \"vbk42\"}</zqx17>"), "enforced");
    assert_eq!(said("hello"), "ignored");
}

#[test]
fn a_call_that_is_left_in_the_text_is_read_here_from_then_on() {
    let said = |reply: &(u16, Value)| verdict_on("sglang@0.5.23", "auto", reply);
    assert_eq!(said(&call("zqx17", "{}")), "enforced");
    assert_eq!(said(&text("I cannot.")), "unclear");
    assert_eq!(said(&text("zqx17 is a tool, vbk42 is not.")), "unclear");
    let written =
        text("<tool_call>{\"name\": \"zqx17\", \"arguments\": {\"zqx17\": \"vbk42\"}}</tool_call>");
    assert_eq!(said(&written), "ignored");
    let sglang = rule("sglang@0.5.23");
    let report = ask(&sglang, Depth::Light, |body| {
        match body.to_string().contains("Call the tool") {
            true => written.clone(),
            false => enforcing(body),
        }
    });
    assert_eq!(
        sglang.probed(&report.findings),
        sglang.knowing("no_auto_tools").unwrap()
    );
    let vllm = rule("vllm@0.32.0");
    let refusal = json!({"error": {"message": "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", "code": 400}});
    let report = ask(&vllm, Depth::Light, |body| {
        match body.to_string().contains("Call the tool") {
            true => (400, refusal.clone()),
            false => enforcing(body),
        }
    });
    assert_eq!(report.verdict("auto").unwrap().as_str(), "refused");
    assert_eq!(
        vllm.probed(&report.findings).choices["auto"].how,
        ChoiceHow::Tags
    );
}

#[test]
fn a_constraint_that_does_not_hold_beside_tools_is_sent_without_them() {
    let said = |content: &str| verdict_on("vllm@0.32.0", "compose", &text(content));
    assert_eq!(
        said("{\"name\": \"zqx17\", \"arguments\": {\"zqx17\": \"vbk42\"}}"),
        "enforced"
    );
    assert_eq!(said("{\"answer\": {\"zqx17\": \"vbk42\"}}"), "enforced");
    assert_eq!(said("{\"answer\": 1}"), "ignored");
    assert_eq!(said("hello"), "ignored");
    let vllm = rule("vllm@0.32.0");
    let report = ask(&vllm, Depth::Light, |body| {
        match body.get("tools").is_some() && body.get("structured_outputs").is_some() {
            true => text("hello"),
            false => enforcing(body),
        }
    });
    let alone = vllm.probed(&report.findings);
    assert_eq!(
        (alone.compose, alone.show_tools),
        (ComposeHow::Union, ShowTools::SystemMessage)
    );
    // What hides tools in the prompt has no other way.
    let worse = alone.probed(&report.findings);
    assert_eq!(worse.compose, ComposeHow::Instruct);
}

#[test]
fn an_internal_error_is_as_unclear_in_a_stream_as_it_is_whole() {
    let vllm = rule("vllm@0.32.0");
    let error = json!({"error": {"message": "engine", "type": "InternalServerError", "code": 500}});
    for code in [500, 400] {
        let mut error = error.clone();
        error["error"]["code"] = json!(code);
        let mut prober = Prober::new(&vllm, "m", Depth::Full);
        while let Some(sent) = prober.next() {
            let sent: Value = serde_json::from_slice(&sent.body).unwrap();
            let is_asked = sent.get("structured_outputs").is_some();
            let (status, body) = match (is_asked, sent["stream"] == true) {
                (true, true) => (
                    200,
                    format!("data: {error}\n\ndata: [DONE]\n\n").into_bytes(),
                ),
                (true, false) => (code, error.to_string().into_bytes()),
                (false, is_stream) => {
                    let (status, reply) = enforcing(&sent);
                    let whole = || reply.to_string().into_bytes();
                    (status, if is_stream { streamed(&reply) } else { whole() })
                }
            };
            prober.answer(&Answer::Reply { status, body });
        }
        let report = prober.finish();
        let words: Vec<_> = report
            .findings
            .iter()
            .filter(|found| found.words.contains("structured_outputs"))
            .map(|found| (found.streamed, found.verdict.as_str()))
            .collect();
        assert!(words.iter().any(|(streamed, _)| *streamed), "{words:?}");
        let expected = if code == 500 { "unclear" } else { "refused" };
        assert!(words.iter().all(|(_, word)| *word == expected), "{words:?}");
    }
}
