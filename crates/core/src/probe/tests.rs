//! Servers of a few lines, asked: what they do with a demand is what they are found to do.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod answers;
mod wires;

use super::*;
use crate::ir::Wire;
use crate::rules::{
    ChoiceHow, ComposeHow, Finding, Probed, Route, RuleSet, ShowTools, StrictTools, TagShape,
    Version,
};
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
    } else if written.contains("json_object") || written.contains("{\"type\":\"object\"}") {
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
        if rule.server.wire() != Wire::Chat {
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
            assert_eq!(probed.choices[choice].how, ChoiceHow::Tags, "{wrong:?}");
        }
        assert_eq!(probed.choices["auto"], llama.choices["auto"]);
        assert_eq!(probed.constraints, llama.constraints);
    }
}

#[test]
fn a_server_that_refuses_strict_tools_is_asked_for_free_calls_of_others() {
    let vllm = rule("vllm@0.32.0");
    let is_strict = |body: &Value| body.pointer("/tools/0/function/strict") == Some(&json!(true));
    let report = ask(&vllm, Depth::Full, |body| match is_strict(body) {
        true => {
            let message = "Invalid grammar specification: 'triggers'";
            (400, json!({"error": {"message": message, "code": 400}}))
        }
        false => enforcing(body),
    });
    assert_eq!(report.verdict("auto"), Some(&Verdict::Enforced));
    let probed = vllm.probed(&report.findings);
    let auto = &probed.choices["auto"];
    assert_eq!(
        (auto.how, auto.strict),
        (ChoiceHow::Native, StrictTools::None)
    );
    assert_eq!(vllm.choices["auto"].strict, StrictTools::All);
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
                let body: Value = question.asking.fields();
                let limits = ["max_tokens", "max_completion_tokens"].map(|name| body.get(name));
                let mut limits = limits.into_iter().flatten();
                let limit = limits.next().and_then(Value::as_u64).unwrap();
                assert!(limit <= u64::from(MAX_TOKENS) && limits.next().is_none());
                assert_eq!(body["temperature"], 0);
                if let Some(probed) = &question.probed {
                    assert!(DEMANDS.contains(&probed.demand()));
                    assert!(!question.words.is_empty());
                }
            }
        }
    }
}
