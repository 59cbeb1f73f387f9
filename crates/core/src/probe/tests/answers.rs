//! What an answer tells of the server that gave it.

use super::*;

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

/// A vLLM with a reasoning parser before a model that does not think.
fn among_thoughts(body: &Value) -> (u16, Value) {
    match body["chat_template_kwargs"]["enable_thinking"] == false {
        true => enforcing(body),
        false => {
            let message = json!({"role": "assistant", "content": null, "reasoning": "hello"});
            reply(message, "stop", 20)
        }
    }
}

#[test]
fn an_answer_among_the_thoughts_is_learnt_and_all_is_asked_without_thinking() {
    let vllm = rule("vllm@0.32.0");
    let report = ask(&vllm, Depth::Light, among_thoughts);
    let before = ask(&vllm, Depth::Light, enforcing);
    let verdicts = |report: &Report| -> Vec<_> {
        // A request that leaves it to the model is no demand, and keeps its thinking.
        let is_demand = |found: &&Finding| found.probed.demand() != "auto";
        let found = report.findings.iter().filter(is_demand);
        found
            .map(|found| (found.probed.clone(), found.verdict.clone()))
            .collect()
    };
    assert_eq!(verdicts(&report), verdicts(&before));
    assert_eq!(
        vllm.probed(&report.findings),
        vllm.knowing("answers_as_thoughts").unwrap()
    );
    // Where nothing turns thinking off, nothing can be told.
    let fireworks = rule("fireworks");
    let report = ask(&fireworks, Depth::Light, among_thoughts);
    assert_eq!(report.verdict("json_schema").unwrap().as_str(), "unclear");
    assert!(report.findings.iter().all(|found| found.fact.is_none()));
}

/// llama.cpp before a template that opens thoughts: a schema waits for their end, a grammar does not.
#[test]
fn an_answer_that_is_held_from_the_start_tells_that_the_prompt_opens_thoughts() {
    let llama = rule("llama-cpp");
    let opening = |held: &'static str, finish: &'static str| {
        move |body: &Value| match body.get("grammar") {
            Some(_) => {
                let message =
                    json!({"role": "assistant", "content": null, "reasoning_content": held});
                reply(message, finish, 20)
            }
            None => enforcing(body),
        }
    };
    let opens = llama.knowing("opens_thoughts").unwrap();
    for (held, finish) in [("zqx17", "stop"), ("zqx17", "length"), ("zqx1", "length")] {
        let report = ask(&llama, Depth::Light, opening(held, finish));
        assert_eq!(report.verdict("grammar:gbnf").unwrap().as_str(), "enforced");
        assert_eq!(llama.probed(&report.findings), opens);
    }
    // Those are thoughts.
    let report = ask(&llama, Depth::Light, opening("The user asks", "length"));
    assert_eq!(report.verdict("grammar:gbnf").unwrap().as_str(), "unclear");
    assert!(report.findings.iter().all(|found| found.fact.is_none()));
}

#[test]
fn a_server_that_fails_twice_and_only_with_thinking_is_asked_for_none() {
    let vllm = rule("vllm@0.32.0");
    let error = || (500, json!({"error": {"message": "Internal server error"}}));
    let dies = |body: &Value| match among_thoughts(body) {
        (200, said) if said["choices"][0]["message"]["reasoning"].is_string() => error(),
        other => other,
    };
    let is_free = |body: &Value| {
        let words = ["structured_outputs", "response_format", "tools"];
        words.iter().all(|word| body.get(word).is_none())
    };
    let report = ask(&vllm, Depth::Light, |body| match is_free(body) {
        true => enforcing(body),
        false => dies(body),
    });
    let knowing = vllm.knowing("answers_as_thoughts").unwrap();
    assert_eq!(vllm.probed(&report.findings), knowing);
    // One failure, or one that thinking has nothing to do with, tells nothing.
    let failures = std::cell::Cell::new(0);
    let report = ask(&vllm, Depth::Light, |body| match is_free(body) {
        false if failures.replace(failures.get() + 1) == 0 => error(),
        _ => enforcing(body),
    });
    assert_eq!(vllm.probed(&report.findings), vllm);
    let report = ask(&vllm, Depth::Light, |body| match is_free(body) {
        true => enforcing(body),
        false => error(),
    });
    assert_eq!(vllm.probed(&report.findings), vllm);
    let ignoring = ask(&vllm, Depth::Light, |body| match is_free(body) {
        false if body.get("chat_template_kwargs").is_none() => error(),
        false => text("hello"),
        true => enforcing(body),
    });
    assert_eq!(vllm.probed(&ignoring.findings), vllm);
}

#[test]
fn thoughts_in_the_text_are_learnt_from_a_reply_that_nothing_constrains() {
    for (label, model, open) in [
        ("vllm@0.32.0", "m", "<think>\nOkay"),
        ("llama-cpp", "Qwen3-8B-Q4", "<think>\nOkay"),
        ("vllm@0.32.0", "Magistral-Small-2509", "[THINK]So"),
    ] {
        let rule = rule(label);
        let is_free = |body: &Value| {
            let words = [
                "structured_outputs",
                "response_format",
                "tools",
                "grammar",
                "json_schema",
            ];
            words.iter().all(|word| body.get(word).is_none())
        };
        let report = |free: &(u16, Value)| {
            let mut prober = Prober::new(&rule, model, Depth::Light);
            while let Some(asked) = prober.next() {
                let body: Value = serde_json::from_slice(&asked.body).unwrap();
                let (status, reply) = match is_free(&body) {
                    true => free.clone(),
                    false => enforcing(&body),
                };
                let body = reply.to_string().into_bytes();
                prober.answer(&Answer::Reply { status, body });
            }
            prober.finish()
        };
        let thinking = report(&reply(
            json!({"role": "assistant", "content": open}),
            "length",
            20,
        ));
        let usual = report(&text("hello"));
        assert_eq!(
            rule.probed(&thinking.findings),
            rule.probed(&usual.findings)
                .knowing("thinks_in_text")
                .unwrap(),
            "{label} {model}"
        );
        // What a reasoning parser took off is not in the text, and a thought that is spoken of is none.
        let parsed = json!({"role": "assistant", "content": "", "reasoning_content": "Okay"});
        for free in [
            reply(parsed, "length", 20),
            text("Write <think> first"),
            text("[THINGS]"),
        ] {
            let report = report(&free);
            assert!(
                report.findings.iter().all(|found| found.fact.is_none()),
                "{label} {model}"
            );
        }
    }
}
