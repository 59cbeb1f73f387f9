//! Schemas that some servers do not take as they are: roots that are no objects, and what refers to itself.

use super::{body, on, rule, sent};
use crate::ir::{Rewrap, Strategy};
use crate::rules::{CALLS_OVER_BOUNDS, SCHEMAS_OVER_BOUNDS};
use serde_json::{Value, json};

fn asked_for(schema: &Value, strict: Option<bool>) -> Value {
    let mut format = json!({"name": "recipes", "schema": schema});
    if let Some(strict) = strict {
        format["strict"] = json!(strict);
    }
    body(&json!({"response_format": {"type": "json_schema", "json_schema": format}}))
}

fn recipes() -> Value {
    json!({"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}},
        "required": ["name"], "additionalProperties": false}})
}

#[test]
fn a_list_is_asked_for_in_an_object_where_the_server_takes_objects_alone() {
    for (label, strict, at) in [
        ("openai", None, "/response_format/json_schema/schema"),
        ("openai", Some(false), "/response_format/json_schema/schema"),
        ("openai", Some(true), "/response_format/json_schema/schema"),
        ("openai-responses", Some(true), "/text/format/schema"),
        ("anthropic", None, "/output_config/format/schema"),
        ("cohere", None, "/response_format/json_schema"),
        ("tgi", None, "/response_format/value"),
    ] {
        let rewritten = on(&rule(label), &asked_for(&recipes(), strict)).unwrap();
        let planned = (rewritten.strategy, &rewritten.plan.rewrap);
        assert_eq!(planned, (Strategy::Native, &Rewrap::Answer), "{label}");
        assert_eq!(rewritten.losses, [], "{label}");
        let sent = sent(&rewritten);
        let schema = sent.pointer(at);
        let Some(schema) = schema else {
            unreachable!("{label}: {sent}")
        };
        assert_eq!(schema["properties"]["answer"], recipes(), "{label}");
        assert_eq!(schema["required"], json!(["answer"]), "{label}");
        assert_eq!(schema["type"], "object", "{label}");
    }
}

#[test]
fn what_has_an_object_at_its_root_or_goes_to_a_server_that_takes_any_stays_as_it_is() {
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "required": ["a"], "additionalProperties": false});
    for (label, schema) in [
        ("openai", &object),
        ("anthropic", &object),
        ("vllm@0.32.0", &recipes()),
        ("gemini", &recipes()),
        ("llama-cpp", &recipes()),
    ] {
        let rewritten = on(&rule(label), &asked_for(schema, Some(true))).unwrap();
        assert_eq!(rewritten.plan.rewrap, Rewrap::Keep, "{label}");
        assert_eq!(rewritten.strategy, Strategy::Native, "{label}");
    }
}

/// Who names properties means an object, in which `answer` may be one of them.
#[test]
fn what_names_properties_goes_into_no_object() {
    let schema = json!({"properties": {"answer": {"type": "object"}, "why": {}}});
    for strict in [None, Some(true)] {
        let rewritten = on(&rule("openai"), &asked_for(&schema, strict)).unwrap();
        assert_ne!(rewritten.plan.rewrap, Rewrap::Answer, "{strict:?}");
    }
}

#[test]
fn a_union_at_the_root_is_held_as_it_is_within_an_object() {
    let branch = |kind: &str| {
        json!({"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"],
            "additionalProperties": false})
    };
    let union = json!({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
        "$defs": {"a": branch("a"), "b": branch("b")}});
    for label in ["openai", "anthropic"] {
        let rewritten = on(&rule(label), &asked_for(&union, Some(true))).unwrap();
        assert_eq!(rewritten.plan.rewrap, Rewrap::Answer, "{label}");
        assert_eq!(rewritten.losses, [], "{label}");
    }
    let rewritten = on(&rule("openai"), &asked_for(&union, Some(true))).unwrap();
    let sent = sent(&rewritten);
    let schema = &sent["response_format"]["json_schema"]["schema"];
    let first = schema["properties"]["answer"]["anyOf"][0]["$ref"].as_str();
    let target = first.and_then(|at| schema.pointer(at.trim_start_matches('#')));
    assert_eq!(target, Some(&branch("a")), "{schema}");
}

#[test]
fn a_list_beside_tools_is_asked_for_in_an_object_too() {
    let mut request = asked_for(&recipes(), Some(true));
    request["tools"] = json!([super::tool("f")]);
    for label in ["openai", "anthropic"] {
        let rewritten = on(&rule(label), &request).unwrap();
        let planned = (rewritten.strategy, &rewritten.plan.rewrap);
        assert_eq!(planned, (Strategy::Native, &Rewrap::Answer), "{label}");
    }
}

fn tree() -> Value {
    json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["children"], "additionalProperties": false})
}

#[test]
fn what_refers_to_itself_is_asked_for_in_the_prompt_where_the_server_refuses_it() {
    let rewritten = on(&rule("anthropic"), &asked_for(&tree(), Some(true))).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Instruct);
    assert!(rewritten.losses[0].reason.contains("refers to itself"));
    let rewritten = on(&rule("openai"), &asked_for(&tree(), Some(true))).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Native);
    // A tool goes without `strict`, its schema as it is.
    let tool = |name: &str, schema: &Value| json!({"type": "function", "function": {"name": name, "strict": true, "parameters": schema}});
    let object = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let request = body(&json!({"tools": [tool("f", &tree()), tool("g", &object)]}));
    let rewritten = on(&rule("anthropic"), &request).unwrap();
    assert_eq!(rewritten.losses.len(), 1, "{:?}", rewritten.losses);
    assert_eq!(rewritten.losses[0].pointer, "/tools/0/function/strict");
}

#[test]
fn schemas_that_a_server_refuses_to_compile_are_asked_for_in_the_prompt() {
    let format = asked_for(&recipes(), Some(true));
    let forced = body(&json!({"tools": [super::tool("f")], "tool_choice": "required"}));
    for (label, fact) in [
        ("anthropic", SCHEMAS_OVER_BOUNDS),
        ("openai", SCHEMAS_OVER_BOUNDS),
        ("gemini", CALLS_OVER_BOUNDS),
    ] {
        let known = rule(label).knowing(fact).unwrap();
        let rewritten = on(&known, &format).unwrap();
        assert_eq!(rewritten.strategy, Strategy::Instruct, "{label}");
        let rewritten = on(&known, &forced).unwrap();
        let strategy = match fact {
            CALLS_OVER_BOUNDS => Strategy::Instruct,
            _ => Strategy::Native,
        };
        assert_eq!(rewritten.strategy, strategy, "{label}");
    }
}

#[test]
fn any_json_is_asked_for_in_json_mode_where_a_schema_says_something() {
    let mode = json!({"type": "json_object"});
    for label in [
        "openai",
        "groq",
        "xai",
        "together",
        "fireworks",
        "openrouter",
        "mistral",
        "cerebras",
    ] {
        for schema in [json!({}), json!(true)] {
            let rewritten = on(&rule(label), &asked_for(&schema, None)).unwrap();
            assert_eq!(rewritten.strategy, Strategy::Native, "{label}");
            assert_eq!(rewritten.losses, [], "{label}");
            assert_eq!(sent(&rewritten)["response_format"], mode, "{label}");
        }
    }
    // Who takes it is sent it.
    let rewritten = on(&rule("vllm@0.32.0"), &asked_for(&json!({}), None)).unwrap();
    let sent = sent(&rewritten);
    assert_ne!(sent["response_format"], mode);
}
