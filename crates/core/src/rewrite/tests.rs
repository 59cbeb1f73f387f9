//! Demands in servers' words. The golden grid has the real clients' requests; these are the corners.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::{NoMemo, Options, Rewritten, Sent, rewrite};
use crate::dialect::chat::client::read_request;
use crate::error::{Error, Kind};
use crate::ir::{Contract, Request, Rewrap, Seal, Strategy};
use crate::rules::{Rule, RuleSet, Version};
use serde_json::{Value, json};

mod compact;
mod forced;
mod hosted;
mod room;
mod root;
mod servers;
mod stop;
mod tags;
mod thinking;
mod twice;
mod unions;

fn rule(label: &str) -> Rule {
    let (name, version) = label
        .split_once('@')
        .map_or((label, None), |(name, version)| {
            (name, Version::parse(version))
        });
    RuleSet::builtin().resolve(name, version).unwrap()
}

fn on(rule: &Rule, body: &Value) -> Result<Rewritten, Error> {
    let request = read_request(body.to_string().as_bytes())?;
    with(rule, &request, false)
}

fn with(rule: &Rule, request: &Request, is_compact: bool) -> Result<Rewritten, Error> {
    let options = Options {
        memo: &NoMemo,
        is_compact,
        seal: Seal::default(),
    };
    rewrite(request, &Contract::of(request), rule, &options)
}

/// Of what goes to another dialect, the fields and the tools' names.
fn sent(rewritten: &Rewritten) -> Value {
    match &rewritten.sent {
        Sent::Untouched => Value::Null,
        Sent::Body(body) => serde_json::from_slice(body).unwrap(),
        Sent::Draft(draft, _) => {
            let mut sent = json!(draft.fields);
            let names = draft.tools.iter().map(|tool| tool.name.as_str());
            sent["tools"] = names.collect();
            sent
        }
    }
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}})
}

fn body(extra: &Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    body
}

#[test]
fn parallel_calls_are_an_array_only_where_they_are_asked_for() {
    let vllm = rule("vllm@0.12.0");
    for (parallel, rewrap, is_array) in [
        (json!(true), Rewrap::Calls, true),
        (json!(false), Rewrap::Call, false),
        (Value::Null, Rewrap::Call, false),
    ] {
        let request = body(
            &json!({"tools": [tool("f"), tool("g")], "tool_choice": "required", "parallel_tool_calls": parallel}),
        );
        let rewritten = on(&vllm, &request).unwrap();
        assert_eq!(
            (rewritten.strategy, &rewritten.plan.rewrap),
            (Strategy::Constrain, &rewrap),
            "{parallel}"
        );
        let schema = &sent(&rewritten)["structured_outputs"]["json"];
        assert_eq!(schema["type"] == "array", is_array, "{schema}");
        assert_eq!(sent(&rewritten).get("parallel_tool_calls"), None);
    }
}

#[test]
fn a_server_that_makes_several_calls_all_the_same_is_held_to_one() {
    let llama = rule("llama-cpp");
    let request = body(
        &json!({"tools": [tool("f")], "tool_choice": "required", "parallel_tool_calls": false}),
    );
    assert_eq!(on(&llama, &request).unwrap().strategy, Strategy::Tags);
    let request = body(&json!({"tools": [tool("f")], "parallel_tool_calls": false}));
    let rewritten = on(&llama, &request).unwrap();
    assert!(rewritten.plan.one_call);
    assert_eq!(rewritten.losses[0].pointer, "/parallel_tool_calls");
}

#[test]
fn the_tools_stay_visible_as_the_version_allows() {
    let request = body(&json!({"tools": [tool("f")], "tool_choice": "required"}));
    let newest = sent(&on(&rule("vllm@0.32.0"), &request).unwrap());
    assert_eq!(
        (newest["tool_choice"].as_str(), newest["tools"].is_array()),
        (Some("none"), true)
    );
    let kwargs = sent(&on(&rule("vllm@0.9.2"), &request).unwrap());
    assert_eq!(
        (
            kwargs.get("tools"),
            kwargs["chat_template_kwargs"]["tools"][0]["function"]["name"].as_str()
        ),
        (None, Some("f"))
    );
    let oldest = sent(&on(&rule("vllm@0.7.3"), &request).unwrap());
    assert!(
        oldest.get("tools").is_none()
            && oldest["messages"][0]["content"]
                .as_str()
                .unwrap()
                .contains("\"name\":\"f\"")
    );
    let sglang = sent(&on(&rule("sglang@0.5.23"), &request).unwrap());
    assert_eq!(sglang["tool_choice"], "auto");
}

#[test]
fn a_forced_call_and_a_response_format_give_the_call() {
    let request = body(
        &json!({"tools": [tool("f")], "tool_choice": "required", "response_format": {"type": "json_object"}}),
    );
    let rewritten = on(&rule("sglang@0.5.22"), &request).unwrap();
    assert_eq!(sent(&rewritten)["response_format"]["type"], "json_schema");
    assert_eq!(rewritten.losses[0].pointer, "/response_format");
}

#[test]
fn a_schema_is_sent_as_the_server_reads_it_and_only_then_in_other_bytes() {
    let ask = |schema: Value, strict: bool| {
        let stated = json!({"name": "x", "schema": schema, "strict": strict});
        body(&json!({"response_format": {"type": "json_schema", "json_schema": stated}}))
    };
    let ordinary = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let either = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}]
    });
    for server in ["vllm@0.32.0", "sglang@0.5.23", "llama-cpp"] {
        let asked = match server {
            "llama-cpp" => body(&json!({"json_schema": ordinary})),
            _ => ask(ordinary.clone(), true),
        };
        let untouched = on(&rule(server), &asked).unwrap();
        assert_eq!(untouched.edited(), None, "{server}");
        let lowered = on(&rule(server), &ask(either.clone(), true)).unwrap();
        assert_eq!(lowered.losses, [], "{server}");
        let sent = sent(&lowered).to_string();
        assert_eq!(
            sent.matches(r#""properties":{"a""#).count(),
            2,
            "{server}: {sent}"
        );
    }
    // Without strict mode OpenAI takes any object's schema, as a hint.
    let list = json!({"type": "array", "items": {}, "uniqueItems": true});
    let mut within = ordinary;
    within["properties"]["a"] = list.clone();
    let hint = on(&rule("openai"), &ask(within.clone(), false)).unwrap();
    assert_eq!((hint.edited(), hint.losses.len()), (None, 0));
    let strict = on(&rule("openai"), &ask(within, true)).unwrap();
    assert_eq!(
        strict.losses[0].pointer,
        "/response_format/json_schema/schema/properties/a/uniqueItems"
    );
    // There the root is an object, or a 400: see `root`.
    let strict = on(&rule("openai"), &ask(list, true)).unwrap();
    assert_eq!(strict.plan.rewrap, Rewrap::Answer);
}

#[test]
fn keywords_that_the_server_refuses_are_taken_out_and_told() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "number", "multipleOf": 3, "format": "iri"}}});
    let request = body(
        &json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}),
    );
    let rewritten = on(&rule("sglang@0.5.23"), &request).unwrap();
    let sent = &sent(&rewritten)["response_format"]["json_schema"];
    assert_eq!(sent["schema"]["properties"]["a"], json!({"type": "number"}));
    assert_eq!(sent["name"], "x");
    let pointers: Vec<&str> = rewritten
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    assert_eq!(
        pointers,
        [
            "/response_format/json_schema/schema/properties/a/multipleOf",
            "/response_format/json_schema/schema/properties/a/format"
        ]
    );
}

#[test]
fn a_choice_becomes_what_the_server_has() {
    let request = body(&json!({"guided_choice": ["a.b", "c"]}));
    let rewritten = on(&rule("sglang@0.5.23"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Convert);
    assert_eq!(sent(&rewritten)["regex"], r"(a\.b|c)");
    let rewritten = on(&rule("llama-cpp"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Convert);
    assert!(
        sent(&rewritten)["grammar"]
            .as_str()
            .unwrap()
            .starts_with("root ::=")
    );
}

#[test]
fn facts_of_the_launch_change_the_strategy() {
    let vllm = rule("vllm@0.32.0");
    let request = body(&json!({"tools": [tool("f")]}));
    assert_eq!(on(&vllm, &request).unwrap().strategy, Strategy::Native);
    let bare = vllm.knowing("no_auto_tools").unwrap();
    let rewritten = on(&bare, &request).unwrap();
    assert_eq!(
        (rewritten.strategy, &rewritten.plan.rewrap),
        (Strategy::Compose, &Rewrap::TaggedCalls)
    );
    assert_eq!(sent(&rewritten)["tools"], request["tools"]);
    assert_eq!(sent(&rewritten)["tool_choice"], "none");
    // Before structural tags a grammar says the same; before that, the prompt is all that is left.
    let bare = rule("vllm@0.8.4").knowing("no_auto_tools").unwrap();
    let rewritten = on(&bare, &request).unwrap();
    assert_eq!(rewritten.plan.rewrap, Rewrap::TaggedCalls);
    assert!(sent(&rewritten)["guided_grammar"].is_string());
    let bare = rule("vllm@0.3.3");
    let rewritten = on(&bare, &request).unwrap();
    assert_eq!(
        (rewritten.strategy, &rewritten.plan.rewrap),
        (Strategy::Instruct, &Rewrap::CallOrText)
    );
    assert!(sent(&rewritten).get("tools").is_none());
    assert!(bare.knowing("no_auto_tools").is_none(), "known already");
    assert!(vllm.knowing("no_such_fact").is_none());
}

#[test]
fn fields_that_steer_the_server_never_reach_it() {
    for (label, field) in [
        ("vllm@0.32.0", "cache_salt"),
        ("vllm@0.32.0", "kv_transfer_params"),
        ("sglang@0.5.23", "rid"),
        ("sglang@0.5.23", "lora_path"),
        ("llama-cpp", "id_slot"),
        ("plain", "cache_salt"),
        ("plain", "rid"),
        ("plain", "bootstrap_host"),
    ] {
        let request = body(&json!({field: "x", "top_k": 3}));
        let rewritten = on(&rule(label), &request).unwrap();
        assert_eq!(sent(&rewritten), body(&json!({"top_k": 3})), "{label}");
        assert_eq!(rewritten.losses[0].pointer, format!("/{field}"));
    }
    for (label, field) in [
        ("vllm@0.32.0", "chat_template"),
        ("sglang@0.5.23", "custom_logit_processor"),
        ("llama-cpp", "chat_parser"),
        ("plain", "custom_logit_processor"),
        ("plain", "chat_template"),
    ] {
        let error = on(&rule(label), &body(&json!({field: "x"}))).unwrap_err();
        let place = (error.kind, error.param.as_deref());
        assert_eq!(place, (Kind::InvalidRequest, Some(field)), "{label}");
    }
}

#[test]
fn a_request_that_demands_nothing_is_not_touched() {
    for label in [
        "vllm@0.32.0",
        "sglang@0.5.23",
        "llama-cpp",
        "openai",
        "plain",
    ] {
        let rewritten = on(&rule(label), &body(&json!({"temperature": 0.5}))).unwrap();
        assert_eq!(
            (rewritten.strategy, rewritten.edited()),
            (Strategy::Passthrough, None),
            "{label}"
        );
    }
}

#[test]
fn the_system_message_is_extended_rather_than_doubled() {
    let mut request = body(&json!({"response_format": {"type": "json_object"}}));
    request["messages"] =
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]);
    let sent = sent(&on(&rule("plain"), &request).unwrap());
    assert_eq!(sent["messages"].as_array().unwrap().len(), 2);
    assert!(
        sent["messages"][0]["content"]
            .as_str()
            .unwrap()
            .starts_with("Be brief.\n\n")
    );
}

#[test]
fn what_a_server_refuses_to_know_is_left_out_after_everything_else_is_written() {
    let trt = rule("tensorrt-llm");
    let request = body(&json!({
        "guided_json": {"type": "object"}, "separate_reasoning": true, "temperature": 0.5,
    }));
    let rewritten = on(&trt, &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Native);
    assert_eq!(
        sent(&rewritten)["response_format"],
        json!({"type": "json", "schema": {"type": "object"}})
    );
    assert_eq!(sent(&rewritten).get("separate_reasoning"), None);
    let pointers = |rewritten: &Rewritten| -> Vec<String> {
        let losses = rewritten.losses.iter();
        losses.map(|loss| loss.pointer.clone()).collect()
    };
    assert_eq!(
        pointers(&rewritten),
        ["/separate_reasoning"],
        "the constraint is no loss"
    );
    // Told once, with the reason that says what becomes of the calls.
    let request = body(&json!({"tools": [tool("f")], "parallel_tool_calls": false}));
    let rewritten = on(&trt, &request).unwrap();
    assert_eq!(pointers(&rewritten), ["/parallel_tool_calls"]);
    assert!(rewritten.losses[0].reason.contains("only the first"));
    assert_eq!(sent(&rewritten).get("parallel_tool_calls"), None);
    // Nothing is demanded, and still it is not sent.
    let rewritten = on(&trt, &body(&json!({"separate_reasoning": true}))).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Passthrough);
    assert_eq!(sent(&rewritten).get("separate_reasoning"), None);
}

#[test]
fn json_mode_that_wants_the_word_json_gets_it_in_the_prompt() {
    let request = body(&json!({"response_format": {"type": "json_object"}}));
    let rewritten = on(&rule("deepseek"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Native);
    let body_sent = sent(&rewritten);
    assert_eq!(body_sent["response_format"]["type"], "json_object");
    let told = body_sent["messages"][0]["content"].as_str().unwrap();
    assert!(told.contains("JSON"), "{told}");
    // In OpenAI's own words it is left as it came; in others' the word is seen to.
    assert_eq!(on(&rule("openai"), &request).unwrap().edited(), None);
    let other = body(&json!({"structured_outputs": {"json_object": true}}));
    let told = sent(&on(&rule("openai"), &other).unwrap())["messages"][0]["role"].clone();
    assert_eq!(told, "system");
}

#[test]
fn one_of_several_tools_is_forced_where_a_union_cannot_be_sent() {
    let request = body(&json!({"tools": [tool("f"), tool("g")], "tool_choice": "required"}));
    let rewritten = on(&rule("tgi-generate"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Constrain);
    let value = sent(&rewritten)["grammar"]["value"].clone();
    assert_eq!(value["properties"]["name"], json!({"enum": ["f", "g"]}));
    assert_eq!(value["required"], json!(["name", "arguments"]));
}

#[test]
fn tools_are_hidden_from_a_server_that_does_not_take_none() {
    let request = body(&json!({
        "tools": [tool("f")], "tool_choice": "none", "response_format": {"type": "json_object"},
    }));
    let rewritten = on(&rule("ollama@0.29.0"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Native);
    assert_eq!(sent(&rewritten).get("tools"), None);
    assert_eq!(sent(&rewritten)["response_format"]["type"], "json_object");
    // vLLM 0.6.0 to 0.6.3 refuse the value.
    let request = body(&json!({"tools": [tool("f")], "tool_choice": "none"}));
    let rewritten = on(&rule("vllm@0.6.2"), &request).unwrap();
    assert_eq!(sent(&rewritten).get("tool_choice"), None);
}

#[test]
fn what_states_nothing_is_not_sent() {
    // vLLM 0.32.0 answers 400 to each of these, `transformers serve` 422 to a field it does not know.
    for (extra, gone) in [
        (
            json!({"tools": [], "tool_choice": "auto", "parallel_tool_calls": true}),
            &["tools", "tool_choice", "parallel_tool_calls"][..],
        ),
        (
            json!({"functions": [], "function_call": "auto"}),
            &["functions", "function_call"],
        ),
        (json!({"structured_outputs": {}}), &["structured_outputs"]),
        (
            json!({"structured_outputs": {"json": null}}),
            &["structured_outputs"],
        ),
        (
            json!({"structured_outputs": null, "guided_json": null, "nvext": null}),
            &["structured_outputs", "guided_json", "nvext"],
        ),
        (
            json!({"guided_json_object": false}),
            &["guided_json_object"],
        ),
    ] {
        for label in ["vllm@0.32.0", "plain", "openai"] {
            let rewritten = on(&rule(label), &body(&extra)).unwrap();
            let sent = sent(&rewritten);
            for name in gone {
                assert_eq!(sent.get(*name), None, "{label}: {extra}");
            }
            assert_eq!(rewritten.losses, [], "nothing is lost with it");
        }
    }
}

#[test]
fn nulls_are_left_out_where_they_are_refused() {
    // SGLang 0.5.23: 400 to `n: null` and `logprobs: null`.
    let request = body(&json!({"n": null, "logprobs": null, "stop": null, "temperature": 0}));
    let rewritten = on(&rule("sglang@0.5.23"), &request).unwrap();
    assert_eq!(sent(&rewritten), body(&json!({"temperature": 0})));
    assert_eq!(rewritten.losses, []);
    let rewritten = on(&rule("vllm@0.32.0"), &request).unwrap();
    assert_eq!(rewritten.edited(), None, "the others take them");
}

#[test]
fn a_schema_in_a_string_is_no_schema_to_llama_cpp() {
    let schema = json!({"type": "object"});
    let llama = rule("llama-cpp");
    let request = body(&json!({"json_schema": schema.to_string()}));
    assert_eq!(sent(&on(&llama, &request).unwrap())["json_schema"], schema);
    let request = body(&json!({"json_schema": schema}));
    assert_eq!(on(&llama, &request).unwrap().edited(), None);
}

#[test]
fn a_schema_without_a_name_gets_one_where_it_is_needed() {
    // vLLM and SGLang answer 400 to `json_schema` without `name`.
    let request = body(
        &json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}}),
    );
    let sglang = sent(&on(&rule("sglang@0.5.23"), &request).unwrap());
    assert_eq!(sglang["response_format"]["json_schema"]["name"], "output");
    let vllm = sent(&on(&rule("vllm@0.32.0"), &request).unwrap());
    assert_eq!(
        vllm["structured_outputs"]["json"],
        json!({"type": "object"})
    );
}

#[test]
fn tools_and_choices_are_sent_in_the_one_spelling_that_all_servers_take() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let flat = json!({"type": "function", "name": "f", "parameters": schema, "strict": true});
    let nested = json!({"type": "function", "function": {"name": "f", "parameters": schema, "strict": true}});
    let named = json!({"type": "function", "function": {"name": "f"}});
    for (choice, written) in [
        (json!("any"), json!("required")),
        (json!({"type": "any"}), json!("required")),
        (json!({"type": "function", "name": "f"}), named.clone()),
        (json!({"type": "tool", "name": "f"}), named.clone()),
        (json!("f"), named),
    ] {
        let request = body(&json!({"tools": [flat], "tool_choice": choice}));
        let sent = sent(&on(&rule("openai"), &request).unwrap());
        assert_eq!(
            (&sent["tools"], &sent["tool_choice"]),
            (&json!([nested]), &written)
        );
    }
    let request = body(&json!({"tools": [flat]}));
    assert_eq!(
        sent(&on(&rule("vllm@0.32.0"), &request).unwrap())["tools"],
        json!([nested])
    );
    let request = body(&json!({"tools": [nested], "tool_choice": "required"}));
    assert_eq!(
        on(&rule("openai"), &request).unwrap().edited(),
        None,
        "as it came"
    );
}

#[test]
fn a_loss_points_into_the_clients_own_body() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "number", "multipleOf": 3}}});
    let function =
        |name: &str| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    for (extra, pointer) in [
        (
            json!({"guided_json": schema}),
            "/guided_json/properties/a/multipleOf",
        ),
        (json!({"guided_json": schema.to_string()}), "/guided_json"),
        (
            json!({"response_format": {"type": "json_object", "schema": schema}}),
            "/response_format/schema/properties/a/multipleOf",
        ),
        (
            json!({"response_format": {"type": "json_schema", "schema": schema}}),
            "/response_format/schema/properties/a/multipleOf",
        ),
        (
            json!({"tools": [tool("g"), function("f")], "tool_choice": {"type": "function", "function": {"name": "f"}}}),
            "/tools/1/function/parameters/properties/a/multipleOf",
        ),
        (
            json!({"functions": [{"name": "f", "parameters": schema}], "function_call": {"name": "f"}}),
            "/functions/0/parameters/properties/a/multipleOf",
        ),
        (
            json!({"tools": [tool("g"), function("f")], "tool_choice": "required"}),
            "/tools",
        ),
    ] {
        // A single tool's schema is sent by itself; in an envelope it is one of the tools'.
        let mut bare = rule("sglang@0.5.22");
        for choice in bare.choices.values_mut() {
            choice.bare = choice.how == crate::rules::ChoiceHow::Constrain;
        }
        let losses = on(&bare, &body(&extra)).unwrap().losses;
        let pointers: Vec<&str> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
        assert_eq!(pointers, [pointer], "{extra}");
    }
}

#[test]
fn a_system_message_of_parts_gets_one_more() {
    let mut request = body(&json!({"response_format": {"type": "json_object"}}));
    request["messages"] = json!([{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, {"role": "user", "content": "hi"}]);
    let sent = sent(&on(&rule("plain"), &request).unwrap());
    assert_eq!(sent["messages"].as_array().unwrap().len(), 2);
    let parts = sent["messages"][0]["content"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[1]["type"]), (2, &json!("text")));
}

#[test]
fn a_renamed_field_is_sent_though_nothing_else_changes() {
    let rewritten = on(
        &rule("mistral"),
        &body(&json!({"max_completion_tokens": 9})),
    )
    .unwrap();
    assert_eq!(rewritten.strategy, Strategy::Passthrough);
    assert_eq!(sent(&rewritten), body(&json!({"max_tokens": 9})));
}
