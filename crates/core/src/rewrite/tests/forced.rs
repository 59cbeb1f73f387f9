//! Forced calls: in the model's own markup where the server takes a tag or a grammar, else as JSON.

use super::tags::tag;
use super::*;
use crate::exchange::Told;
use crate::grammar::Grammar;
use crate::ir::{Constraint, EnforcedBy, Notation};
use crate::rules::{ChoiceHow, Finding, Probed, Verdict};

fn forced(extra: &Value) -> Value {
    let mut request = body(&json!({"tools": [tool("f"), tool("g")], "tool_choice": "required"}));
    request
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    request
}

/// The rule, where it has forced calls stand in tags.
fn tagged(label: &str) -> Rule {
    let mut rule = rule(label);
    for choice in ["required", "named", "allowed_required"] {
        rule.choices.get_mut(choice).unwrap().how = ChoiceHow::Tags;
    }
    rule
}

/// The grammar that is sent.
fn grammar(rewritten: &Rewritten) -> Constraint {
    let sent = sent(rewritten);
    let gbnf = [
        &sent["grammar"],
        &sent["structured_outputs"]["grammar"],
        &sent["ebnf"],
    ];
    let (notation, text) = match gbnf.into_iter().find_map(Value::as_str) {
        Some(text) => (Notation::Gbnf, text),
        None => (Notation::Lark, sent["grammar"]["value"].as_str().unwrap()),
    };
    Constraint::Grammar {
        notation,
        text: text.to_owned(),
    }
}

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

#[test]
fn a_tag_holds_one_call_or_as_many_as_are_wanted() {
    for label in ["sglang@0.5.4", "tensorrt-llm", "worker"] {
        for (parallel, several) in [
            (json!(true), true),
            (json!(false), false),
            (Value::Null, false),
        ] {
            let request = forced(&json!({"parallel_tool_calls": parallel}));
            let rewritten = on(&tagged(label), &request).unwrap();
            assert_eq!(
                (
                    rewritten.strategy,
                    &rewritten.plan.rewrap,
                    rewritten.plan.one_call
                ),
                (Strategy::Tags, &Rewrap::TaggedCalls, false),
                "{label} {parallel}"
            );
            assert_eq!(rewritten.losses, [], "{label} {parallel}");
            assert_eq!(sent(&rewritten).get("parallel_tool_calls"), None);
            let checker = crate::check::TagChecker::compile(&tag(&rewritten)).unwrap();
            assert_eq!(checker.check(CALL), Ok(()), "{label}");
            let two = format!("{CALL}\n{CALL}");
            assert_eq!(checker.check(&two).is_ok(), several, "{label} {parallel}");
            for other in ["So.", "", "{\"a\": 1}", &CALL.replace("\"f\"", "\"h\"")] {
                assert!(checker.check(other).is_err(), "{label} {other}");
            }
        }
    }
}

#[test]
fn a_grammar_holds_them_where_there_are_no_tags_or_not_every_backend_reads_them() {
    for label in ["llama-cpp", "mistral-rs", "vllm@0.12.0", "vllm@0.32.0"] {
        for several in [true, false] {
            let request = forced(&json!({"parallel_tool_calls": several}));
            let rewritten = on(&tagged(label), &request).unwrap();
            assert_eq!(
                (rewritten.strategy, &*rewritten.losses),
                (Strategy::Tags, &[][..]),
                "{label}"
            );
            assert_eq!(sent(&rewritten)["tool_choice"], "none");
            let grammar = Grammar::compile(&grammar(&rewritten)).unwrap();
            assert_eq!(grammar.check(CALL), Ok(()), "{label}");
            let two = format!("{CALL}\n{CALL}");
            assert_eq!(grammar.check(&two).is_ok(), several, "{label}");
            assert!(
                grammar.check("So.").is_err() && grammar.check(&format!("So.\n{CALL}")).is_err()
            );
        }
    }
}

#[test]
fn a_grammar_is_taken_only_where_it_holds_as_much_as_the_arguments_alone_would_be_held() {
    let between = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 70000}}});
    let tools = |schema: &Value| json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}], "tool_choice": "required", "parallel_tool_calls": false});
    let times =
        json!({"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0.1}}});
    let rewritten = on(&rule("mistral-rs"), &body(&tools(&times))).unwrap();
    assert_eq!(
        rewritten.strategy,
        Strategy::Constrain,
        "llguidance knows multipleOf, no grammar does"
    );
    let rewritten = on(&rule("llama-cpp"), &body(&tools(&between))).unwrap();
    assert_eq!(
        (rewritten.strategy, &*rewritten.losses),
        (Strategy::Tags, &[][..])
    );
    // What neither holds is told where it stands.
    let rewritten = on(&rule("llama-cpp"), &body(&tools(&times))).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Tags);
    assert_eq!(
        rewritten.losses[0].pointer,
        "/tools/0/function/parameters/properties/a/multipleOf"
    );
    assert_eq!(rewritten.losses[0].enforced_by, EnforcedBy::Proxy);
}

#[test]
fn the_markup_is_the_models_own_and_its_special_tokens_are_asked_for() {
    let begins = |model: &str, label: &str| {
        let request = forced(&json!({"model": model, "tools": [tool("f")]}));
        let rewritten = on(&rule(label), &request).unwrap();
        assert_eq!(rewritten.strategy, Strategy::Tags, "{model} {label}");
        assert_eq!(
            sent(&rewritten)["skip_special_tokens"],
            false,
            "{model} {label}"
        );
        tag(&rewritten)["format"].clone()
    };
    {
        let label = "tensorrt-llm";
        let hermes = begins("Qwen/Qwen3-8B", label);
        assert_eq!(
            hermes["begin"],
            "<tool_call>\n{\"name\": \"f\", \"arguments\": "
        );
        let mistral = begins("mistralai/Mistral-Small-3.2-24B", label);
        assert_eq!(mistral["begin"], "[TOOL_CALLS]f[ARGS]");
        let llama = begins("meta-llama/Llama-3.1-8B-Instruct", label);
        assert_eq!(llama["begin"], "{\"name\": \"f\", \"parameters\": ");
    }
    let request = forced(&json!({"model": "mistralai/Mistral-Small-3.2-24B"}));
    let vllm = on(&tagged("vllm@0.32.0"), &request).unwrap();
    let held = Grammar::compile(&grammar(&vllm)).unwrap();
    assert_eq!(held.check("[TOOL_CALLS]f[ARGS]{\"a\": 1}"), Ok(()));
    // Where somebody else reads the text, and arguments are no JSON, calls are asked for as an envelope.
    let request = forced(&json!({"model": "Qwen/Qwen3-Coder-30B"}));
    let rewritten = on(&rule("tensorrt-llm"), &request).unwrap();
    assert_eq!(
        (rewritten.strategy, &rewritten.plan.rewrap),
        (Strategy::Constrain, &Rewrap::Call)
    );
    assert_eq!(sent(&rewritten).get("skip_special_tokens"), None);
}

#[test]
fn typed_parameters_are_held_by_a_grammar_where_nobody_else_reads_them() {
    let properties = json!({"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}});
    let parameters = json!({"type": "object", "properties": properties, "required": ["city"]});
    let weather =
        json!({"type": "function", "function": {"name": "weather", "parameters": parameters}});
    for (model, call) in [
        (
            "zai-org/GLM-4.6",
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
        ),
        (
            "Qwen/Qwen3-Coder-30B",
            "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "deepseek-ai/DeepSeek-V3.2",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        (
            "meta-llama/Llama-4-Scout",
            "[weather(city=\"Oslo\", days=3)]",
        ),
    ] {
        for (label, strategy) in [
            ("vllm@0.32.0", Strategy::Tags),
            ("vllm@0.22.0", Strategy::Constrain),
            ("sglang@0.5.23", Strategy::Constrain),
        ] {
            let request = json!({"model": model, "tools": [weather], "tool_choice": "required"});
            let rewritten = on(&rule(label), &body(&request)).unwrap();
            assert_eq!(rewritten.strategy, strategy, "{model} {label}");
            if strategy != Strategy::Tags {
                continue;
            }
            assert_eq!(rewritten.losses, [], "{model}");
            let held = Grammar::compile(&grammar(&rewritten)).unwrap();
            assert_eq!(held.check(call), Ok(()), "{model}");
            for other in [
                call.replace('3', "10"),
                call.replace("days", "hours"),
                call.replace("weather", "clock"),
                format!("So. {call}"),
            ] {
                assert!(held.check(&other).is_err(), "{model} {other}");
            }
        }
        // What a text between tokens cannot say is asked for as JSON.
        let mut exact = weather.clone();
        exact["function"]["parameters"]["properties"]["city"]["minLength"] = json!(2);
        let request = json!({"model": model, "tools": [exact], "tool_choice": "required"});
        let rewritten = on(&rule("vllm@0.32.0"), &body(&request)).unwrap();
        let strategy = match model.contains("DeepSeek") {
            true => Strategy::Tags,
            false => Strategy::Constrain,
        };
        assert_eq!(rewritten.strategy, strategy, "{model}");
    }
}

#[test]
fn a_server_that_takes_schemas_alone_is_sent_an_envelope_where_its_template_shows_the_tools() {
    let request = forced(&json!({"tools": [tool("f")]}));
    let rewritten = on(&tagged("lmdeploy"), &request).unwrap();
    assert_eq!(
        (rewritten.strategy, &rewritten.plan.rewrap),
        (Strategy::Constrain, &Rewrap::Call)
    );
    // One that tells of its older tags takes the same calls as a grammar.
    let guidance = tagged("sglang@0.5.23").knowing("old_tags").unwrap();
    let rewritten = on(&guidance, &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Tags);
    let sent = sent(&rewritten);
    assert!(sent["ebnf"].as_str().unwrap().contains("<tool_call>"));
    // One that tells that it knows neither gets the envelope.
    let told = br#"{"error": {"message": "Outlines structured outputs backend does not support grammar specifications"}}"#;
    let vllm = rule("vllm@0.32.0");
    let facts: Vec<_> = crate::exchange::launch_facts(&vllm, told)
        .into_iter()
        .map(|told| told.fact)
        .collect();
    assert_eq!(facts, ["no_tags", "no_grammars"]);
    let known = |rule: Rule, fact: &String| rule.knowing(fact).unwrap();
    let outlines = facts.iter().fold(vllm, known);
    assert_eq!(on(&outlines, &request).unwrap().plan.rewrap, Rewrap::Call);
    // Nothing but schemas, and no template that shows the tools: the arguments alone, of which the prompt tells.
    let rewritten = on(&rule("ollama@0.12.0"), &request).unwrap();
    assert_eq!(
        rewritten.plan.rewrap,
        Rewrap::Arguments {
            tool: "f".to_owned()
        }
    );
}

#[test]
fn a_server_that_fails_at_a_grammar_of_calls_is_sent_an_envelope_from_then_on() {
    let called = forced(&json!({"tools": [tool("f")]}));
    let free = body(&json!({"tools": [tool("f")]}));
    for (server, said, is_sure) in [
        (
            "vllm@0.32.0",
            "Grammar error: at 4(59): invalid regex",
            true,
        ),
        (
            "mistral-rs",
            "Parser Error: token \"\u{fffd}[4083]\" doesn't satisfy the grammar; forced bytes: got '<'",
            true,
        ),
        // Whatever happens within them.
        ("vllm@0.32.0", "Internal server error", false),
        (
            "mistral-rs",
            "The model failed to process the request.",
            false,
        ),
    ] {
        let server = rule(server);
        assert_eq!(on(&server, &called).unwrap().strategy, Strategy::Tags);
        let told = json!({"error": {"message": said}}).to_string();
        let told = crate::exchange::launch_facts(&server, told.as_bytes());
        let Told { fact, words, .. } = &told[0];
        assert_eq!(
            (fact.as_str(), told[0].is_sure),
            ("no_tagged_calls", is_sure)
        );
        assert!(said.contains(words.as_str()));
        let concerns = |body: &Value, asked: Strategy| {
            let demand = crate::exchange::read_chat(body.to_string().as_bytes()).unwrap();
            crate::exchange::concerns(&demand, asked, &server, fact)
        };
        // Anything else that fails says nothing of calls.
        assert!(concerns(&called, Strategy::Tags));
        assert!(!concerns(&called, Strategy::Constrain) && !concerns(&free, Strategy::Tags));
        let known = server.knowing(fact).unwrap();
        assert_eq!(known.knowing(fact), None);
        assert_eq!(on(&known, &called).unwrap().plan.rewrap, Rewrap::Call);
    }
}

#[test]
fn a_server_that_reads_calls_itself_is_asked_for_them_under_auto() {
    let known = rule("vllm@0.32.0").knowing("reads_calls").unwrap();
    assert_eq!(known.knowing("reads_calls"), None);
    let text =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": text}});
    let asked = |model: &str| {
        let request = forced(&json!({"model": model, "tools": [tool]}));
        on(&known, &request).unwrap()
    };
    let rewritten = asked("Qwen/Qwen3-Coder-30B");
    assert_eq!(rewritten.strategy, Strategy::Tags);
    assert_eq!(sent(&rewritten)["tool_choice"], "auto");
    assert_eq!(sent(&rewritten)["tools"][0]["function"]["name"], "f");
    let held = Grammar::compile(&grammar(&rewritten)).unwrap();
    let call = |value: &str| {
        format!(
            "<tool_call>\n<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>"
        )
    };
    for value in ["", "so", "a </b> \n<c>"] {
        assert_eq!(held.check(&call(value)), Ok(()), "{value}");
    }
    // Where another reader would see the call's end, or another call.
    for value in [
        "a </tool_call>",
        "</function>",
        "<tool_call>",
        "<function=f>",
    ] {
        assert!(held.check(&call(value)).is_err(), "{value}");
    }
    // What we alone read as it is held is asked for as JSON.
    let rewritten = asked("meta-llama/Llama-4-Scout");
    assert_eq!(rewritten.strategy, Strategy::Constrain);
    // Who is asked under `auto` anyway has nothing to learn, nor who takes no constraint there.
    assert_eq!(rule("sglang@0.5.23").knowing("reads_calls"), None);
    assert_eq!(rule("llama-cpp").knowing("reads_calls"), None);
}

#[test]
fn a_server_that_leaves_typed_strings_free_is_asked_for_them_by_a_grammar() {
    let strategy = |model: &str, own: Value| {
        let parameters = json!({"type": "object", "properties": {"a": own}, "required": ["a"]});
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
        let request = json!({"model": model, "tools": [tool], "parallel_tool_calls": true});
        on(&rule("llama-cpp"), &forced(&request)).unwrap().strategy
    };
    let either = json!({"enum": ["x", "y"]});
    assert_eq!(strategy("GLM-4.6", either.clone()), Strategy::Tags);
    let nullable = json!({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]});
    assert_eq!(strategy("GLM-4.6", nullable), Strategy::Tags);
    // What no grammar of parameters holds, one of JSON does.
    let pattern = json!({"type": "string", "pattern": "^[a-z]+$"});
    assert_eq!(strategy("GLM-4.6", pattern), Strategy::Constrain);
    for held in [
        json!({"type": "string", "description": "any"}),
        json!({"type": ["string", "null"]}),
        json!({"type": "integer", "enum": [1, 2]}),
        json!({"type": "array", "items": {"type": "string", "enum": ["x"]}}),
    ] {
        assert_eq!(
            strategy("GLM-4.6", held.clone()),
            Strategy::Native,
            "{held}"
        );
    }
    assert_eq!(strategy("Qwen3-8B", either), Strategy::Native);
}

#[test]
fn a_form_that_a_rule_leaves_out_is_not_sent_whatever_it_would_hold() {
    let held = |version: &str, tool: &Value| {
        let request = forced(&json!({"tools": [tool], "parallel_tool_calls": true}));
        let rewritten = on(&rule(&format!("vllm@{version}")), &request).unwrap();
        let sent = sent(&rewritten)["structured_outputs"].clone();
        let field = sent.as_object().unwrap().keys().next().unwrap().clone();
        (rewritten.strategy, field)
    };
    let plain = tool("f");
    let grammar = (Strategy::Tags, "grammar".to_owned());
    let json = (Strategy::Constrain, "json".to_owned());
    assert_eq!(held("0.32.0", &plain), grammar);
    assert_eq!(held("0.23.0", &plain), grammar);
    assert_eq!(held("0.22.1", &plain), json);
    assert_eq!(held("0.12.0", &plain), json);
    // A grammar would hold less of it than a schema: that is what is sent, and no structural tag.
    let mut untold = tool("f");
    untold["function"]["parameters"] = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "format": "uri-template"}},
        "required": ["a"],
    });
    assert_eq!(held("0.32.0", &untold), json);
    let mut open = rule("vllm@0.32.0");
    open.choices.get_mut("required").unwrap().forms.clear();
    let request = forced(&json!({"tools": [untold]}));
    let rewritten = on(&open, &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Tags);
    assert_eq!(tag(&rewritten)["type"], "structural_tag");
}

#[test]
fn a_rule_may_ask_for_the_arguments_alone() {
    let mut bare = rule("lmdeploy");
    bare.choices.get_mut("required").unwrap().bare = true;
    let request = forced(&json!({"tools": [tool("f")]}));
    let rewritten = on(&bare, &request).unwrap();
    assert_eq!(
        rewritten.plan.rewrap,
        Rewrap::Arguments {
            tool: "f".to_owned()
        }
    );
    assert_eq!(
        sent(&rewritten)["response_format"]["json_schema"]["schema"],
        tool("f")["function"]["parameters"]
    );
}

#[test]
fn a_server_that_forces_calls_itself_is_asked_for_them_in_tags_where_it_cannot_be_asked_for_one() {
    let llama = rule("llama-cpp");
    let native = on(&llama, &forced(&json!({}))).unwrap();
    assert_eq!(native.strategy, Strategy::Native);
    let one = on(&llama, &forced(&json!({"parallel_tool_calls": false}))).unwrap();
    assert_eq!((one.strategy, one.plan.one_call), (Strategy::Tags, false));
    assert_eq!(one.losses, []);
    // What the server was found not to force, it is sent in tags as well.
    let found = Finding {
        probed: Probed::Choice("required".to_owned()),
        words: String::new(),
        streamed: false,
        verdict: Verdict::Ignored,
        fact: None,
    };
    let probed = llama.probed(&[found]);
    assert_eq!(
        on(&probed, &forced(&json!({}))).unwrap().strategy,
        Strategy::Tags
    );
}

#[test]
fn only_allowed_tools_are_shown_where_a_tag_opens_no_other() {
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {
        "mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}],
    }});
    for label in ["tensorrt-llm", "mistral-rs"] {
        let rewritten = on(&rule(label), &forced(&json!({"tool_choice": allowed}))).unwrap();
        assert_eq!(rewritten.strategy, Strategy::Tags, "{label}");
        assert_eq!(
            sent(&rewritten)["tools"].as_array().unwrap().len(),
            1,
            "{label}"
        );
    }
}
