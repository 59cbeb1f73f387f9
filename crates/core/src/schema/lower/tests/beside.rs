//! What is refused beside other keywords, or without them: SGLang's check before outlines, and Cohere's.

use super::becomes;
use super::stays;
use crate::rules::RuleSet;
use crate::schema::lower::Why;
use crate::schema::profile::Profile;
use serde_json::json;

/// SGLang from 0.5.22 on, launched with outlines.
fn outlines() -> Profile {
    let rule = RuleSet::builtin().resolve("sglang", None).unwrap();
    rule.backends["outlines"].clone()
}

fn cohere() -> Profile {
    RuleSet::builtin().resolve("cohere", None).unwrap().schema
}

#[test]
fn what_outlines_would_let_pass_is_taken_out_of_what_it_is_sent() {
    becomes(
        &outlines(),
        &json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}),
        &json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        &[("/properties/n/minimum", Why::Refused)],
    );
    stays(
        &outlines(),
        &json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}),
    );
}

#[test]
fn named_properties_stand_alone() {
    becomes(
        &outlines(),
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}),
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
        &[("/additionalProperties", Why::Narrower)],
    );
    // Others may be anything where none is named.
    stays(
        &outlines(),
        &json!({"type": "object", "additionalProperties": {"type": "string"}}),
    );
    becomes(
        &outlines(),
        &json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        &json!({"type": "object", "additionalProperties": {"type": "string"}}),
        &[],
    );
    becomes(
        &outlines(),
        &json!({"type": "object", "required": ["a"]}),
        &json!({"type": "object"}),
        &[("/required", Why::Ignored)],
    );
    becomes(
        &outlines(),
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}, "patternProperties": {"^x": {"type": "string"}}}),
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
        &[("/patternProperties", Why::Refused)],
    );
}

#[test]
fn an_array_of_these_items_has_no_count_beside() {
    becomes(
        &outlines(),
        &json!({"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 1, "maxItems": 1}),
        &json!({"type": "array", "prefixItems": [{"type": "integer"}]}),
        &[],
    );
}

#[test]
fn an_object_within_requires_something() {
    let whole = |within| json!({"type": "object", "properties": {"b": within}, "required": ["b"]});
    becomes(
        &cohere(),
        &whole(
            json!({"type": "object", "properties": {"y": {"type": "string"}, "z": {"type": "string"}}}),
        ),
        &whole(
            json!({"type": "object", "properties": {"y": {"type": "string"}, "z": {"type": "string"}}, "required": ["y"]}),
        ),
        &[("/properties/b/properties", Why::Narrower)],
    );
    // Of the whole, others say what becomes.
    stays(
        &cohere(),
        &json!({"type": "object", "properties": {"y": {"type": "string"}}}),
    );
}

#[test]
fn a_pattern_has_no_anchors() {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    stays(&cohere(), &text("[a-z]+"));
    for (pattern, bare) in [
        ("^[a-z]+$", "[a-z]+"),
        ("^a", "a"),
        (r"a\$", r"a\$"),
        ("^(a|b)$", "(a|b)"),
    ] {
        if pattern == bare {
            stays(&cohere(), &text(pattern));
        } else {
            becomes(
                &cohere(),
                &text(pattern),
                &text(bare),
                &[("/pattern", Why::Inexact)],
            );
        }
    }
    for pattern in ["^a|b$", r"\bword\b", "(?=a)b", "a(^b)"] {
        becomes(
            &cohere(),
            &text(pattern),
            &json!({"type": "string"}),
            &[("/pattern", Why::Refused)],
        );
    }
}
