//! Tools under `auto` beside a constraint on the answer, in the form that each server enforces.

use super::*;
use crate::grammar::Grammar;
use crate::ir::{Constraint, EnforcedBy, Notation};

/// The grammar that is sent, whichever field it is in.
fn grammar(sent: &Value) -> (Notation, String) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for (notation, found) in [
        (Notation::Gbnf, &sent["structured_outputs"]["grammar"]),
        (Notation::Gbnf, &sent["guided_grammar"]),
        (Notation::Gbnf, &sent["ebnf"]),
        (Notation::Gbnf, &sent["response_format"]["ebnf"]),
        (Notation::Gbnf, &sent["response_format"]["grammar"]),
        (Notation::Lark, &sent["response_format"]["lark"]),
        (Notation::Lark, &sent["grammar"]["value"]),
        (Notation::Gbnf, &sent["grammar"]),
    ] {
        if let Some(found) = text(found) {
            return (notation, found);
        }
    }
    unreachable!("{sent}")
}

fn call(name: &str, input: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {input}}}\n</tool_call>")
}

fn dated(extra: &Value) -> Value {
    let mut body = body(
        &json!({"tools": [tool("f"), tool("g")], "structured_outputs": {"regex": "[0-9]{4}-[0-9]{2}"}}),
    );
    let extra = extra.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(extra);
    body
}

#[test]
fn a_text_and_calls_become_one_grammar_where_the_server_has_grammars() {
    for label in [
        "vllm@0.32.0",
        "vllm@0.11.0",
        "vllm@0.10.2",
        "sglang@0.5.23",
        "sglang@0.4.2",
        "llama-cpp",
        "mistral-rs",
        "tensorrt-llm",
        "fireworks",
        "worker",
    ] {
        let rewritten = on(&rule(label), &dated(&json!({}))).unwrap();
        let (strategy, rewrap) = (rewritten.strategy, &rewritten.plan.rewrap);
        assert_eq!(
            (strategy, rewrap),
            (Strategy::Compose, &Rewrap::TaggedCallsOrAnswer),
            "{label}"
        );
        let wide = |loss: &&crate::ir::Loss| loss.enforced_by == EnforcedBy::Proxy;
        assert_eq!(rewritten.losses.iter().find(wide), None, "{label}");
        let sent = sent(&rewritten);
        assert_eq!(sent.get("regex"), None, "{label}");
        let (notation, text) = grammar(&sent);
        let grammar = Grammar::compile(&Constraint::Grammar { notation, text }).unwrap();
        for text in ["2026-11", &call("f", "{\"a\": 1}"), &call("g", "{}")] {
            assert_eq!(grammar.check(text), Ok(()), "{label}: {text}");
        }
        let two = format!("{}\n{}", call("f", "{}"), call("g", "{}"));
        for text in [
            "hello",
            &call("h", "{}"),
            &call("f", "{\"a\": \"x\"}"),
            &two,
        ] {
            assert!(grammar.check(text).is_err(), "{label}: {text}");
        }
    }
}

#[test]
fn several_calls_are_made_at_once_only_where_they_are_asked_for() {
    let two = format!("{}\n{}", call("f", "{}"), call("g", "{}"));
    for (parallel, several) in [
        (json!(true), true),
        (json!(false), false),
        (Value::Null, false),
    ] {
        let request = dated(&json!({"parallel_tool_calls": parallel}));
        let rewritten = on(&rule("llama-cpp"), &request).unwrap();
        let (notation, text) = grammar(&sent(&rewritten));
        let grammar = Grammar::compile(&Constraint::Grammar { notation, text }).unwrap();
        assert_eq!(grammar.check(&two).is_ok(), several, "{parallel}");
        assert!(!rewritten.plan.one_call);
    }
    // A schema holds one call or the answer: that is told where several were asked for.
    let schema = json!({"response_format": {"type": "json_object"}, "tools": [tool("f")]});
    for (parallel, count) in [(true, 1), (false, 0)] {
        let mut request = body(&schema);
        request["parallel_tool_calls"] = json!(parallel);
        let rewritten = on(&rule("vllm@0.32.0"), &request).unwrap();
        let told = rewritten.losses.iter();
        let told = told.filter(|loss| loss.pointer == "/parallel_tool_calls");
        assert_eq!(told.count(), count, "{parallel}");
    }
}

#[test]
fn what_a_grammar_cannot_say_of_the_calls_goes_into_a_structural_tag() {
    let even = json!({"type": "object", "properties": {"at": {"type": "string", "format": "iri"}, "n": {"type": "string", "format": "email"}}});
    let picky = json!({"type": "function", "function": {"name": "f", "parameters": even}});
    let request =
        |parallel: bool| dated(&json!({"tools": [picky], "parallel_tool_calls": parallel}));
    for label in ["sglang@0.5.10", "tensorrt-llm"] {
        let rewritten = on(&rule(label), &request(false)).unwrap();
        let format = &sent(&rewritten)["response_format"]["format"];
        assert_eq!(format["type"], "or", "{label}");
        assert_eq!(
            format["elements"][0]["begin"],
            "<tool_call>\n{\"name\": \"f\", \"arguments\": "
        );
        assert_eq!(
            format["elements"][1],
            json!({"type": "regex", "pattern": "[0-9]{4}-[0-9]{2}"})
        );
        let several = on(&rule(label), &request(true)).unwrap();
        let format = &sent(&several)["response_format"]["format"]["elements"][0];
        assert_eq!(format["type"], "tags_with_separator", "{label}");
    }
    // llama.cpp has no tags: the grammar is what there is, and the rest is told.
    let llama = on(&rule("llama-cpp"), &request(false)).unwrap();
    assert_eq!(llama.plan.rewrap, Rewrap::TaggedCallsOrAnswer);
    assert!(
        llama.losses.iter().any(|loss| loss
            .pointer
            .starts_with("/tools/0/function/parameters/properties/")),
        "{:?}",
        llama.losses
    );
}

#[test]
fn without_a_form_for_texts_the_answer_is_a_json_string_of_its_pattern() {
    for (regex, is_kept) in [("[0-9]{4}-[0-9]{2}", true), ("a.c", false)] {
        let request = dated(&json!({"structured_outputs": {"regex": regex}}));
        let rewritten = on(&rule("lmdeploy"), &request).unwrap();
        assert_eq!(rewritten.plan.rewrap, Rewrap::CallOrAnswer { text: true });
        let schema = &sent(&rewritten)["response_format"]["json_schema"]["schema"];
        let answer = &schema["anyOf"][2]["properties"]["answer"];
        let pattern = is_kept.then(|| json!(format!("^(?:{regex})$")));
        assert_eq!(answer.get("pattern"), pattern.as_ref());
        let pointers: Vec<_> = rewritten.losses.iter().map(|loss| &*loss.pointer).collect();
        assert_eq!(
            pointers.contains(&"/structured_outputs/regex"),
            !is_kept,
            "{pointers:?}"
        );
    }
}

#[test]
fn a_text_of_a_custom_tool_that_an_envelope_cannot_constrain_is_told() {
    let lark =
        json!({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: \"a\""}});
    let custom = json!({"type": "custom", "custom": {"name": "c", "format": lark}});
    let request = body(&json!({"tools": [tool("f"), custom], "tool_choice": "required"}));
    let rewritten = on(&rule("vllm@0.32.0"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Constrain);
    assert_eq!(rewritten.losses[0].pointer, "/tools/1/custom/format");
    assert_eq!(rewritten.losses[0].enforced_by, EnforcedBy::Proxy);
}

#[test]
fn the_model_is_told_of_the_answer_where_it_is_told_of_the_tags() {
    let request = dated(&json!({}));
    let mut bare = rule("llama-cpp").knowing("no_tools").unwrap();
    let told = |rule: &Rule| sent(&on(rule, &request).unwrap())["messages"].to_string();
    let both = told(&bare);
    assert!(
        both.contains("<tool_call>") && both.contains("[0-9]{4}"),
        "{both}"
    );
    bare.text_unions.clear();
    assert!(told(&bare).contains("\\\"answer\\\""));
    assert!(!told(&rule("llama-cpp")).contains("<tool_call>"));
}
