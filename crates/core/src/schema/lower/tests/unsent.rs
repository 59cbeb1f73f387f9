//! What servers are not to see.

use super::{becomes, stays, strings};
use crate::schema::lower::{Why, lower};
use crate::schema::profile::Profile;
use serde_json::{Value, json};

fn ignoring() -> Profile {
    Profile {
        ignored: strings(&[
            "not",
            "if",
            "then",
            "dependencies",
            "uniqueItems",
            "unevaluatedProperties",
        ]),
        ..Profile::default()
    }
}

/// A server that follows `$ref` wherever it stands.
fn following() -> Profile {
    Profile {
        ref_words: true,
        any_in_words: true,
        ..ignoring()
    }
}

#[test]
fn what_is_ignored_and_holds_schemas_is_left_out() {
    // vLLM 0.32 finds two branches in there, and gives the schema to a compiler that refuses `not`.
    becomes(
        &ignoring(),
        &json!({"type": "string", "not": {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}}),
        &json!({"type": "string"}),
        &[("/not", Why::Ignored)],
    );
    becomes(
        &ignoring(),
        &json!({"$defs": {"a": {"items": {"if": {"minimum": 1}, "then": {"$ref": "x#/y"}, "type": "number"}}}}),
        &json!({"$defs": {"a": {"items": {"type": "number"}}}}),
        &[
            ("/$defs/a/items/if", Why::Ignored),
            ("/$defs/a/items/then", Why::Ignored),
        ],
    );
    // What holds none misleads nobody, and another release may keep to it.
    becomes(
        &ignoring(),
        &json!({"uniqueItems": true, "unevaluatedProperties": false, "dependencies": {"a": ["b"]}}),
        &json!({"uniqueItems": true, "unevaluatedProperties": false}),
        &[
            ("/uniqueItems", Why::Ignored),
            ("/unevaluatedProperties", Why::Ignored),
            ("/dependencies", Why::Ignored),
        ],
    );
    stays(
        &ignoring(),
        &json!({"properties": {"not": {"type": "string"}}, "default": {"if": {}}}),
    );
}

#[test]
fn alternatives_that_are_ignored_stay_for_whoever_reads_them() {
    let ignoring = Profile {
        ignored: strings(&["oneOf"]),
        ..Profile::default()
    };
    let schema = json!({"items": {"oneOf": [{"type": "string"}, {"type": "null"}]}});
    becomes(
        &ignoring,
        &schema,
        &schema,
        &[("/items/oneOf", Why::Ignored)],
    );
}

#[test]
fn what_is_referred_to_stays_where_it_is() {
    let schema = json!({"not": {"type": "null"}, "items": {"$ref": "#/not"}});
    becomes(&ignoring(), &schema, &schema, &[("/not", Why::Ignored)]);
}

#[test]
fn a_word_that_is_no_reference_is_not_sent_to_a_server_that_follows_it() {
    let reference = json!({"$ref": "#/x"});
    for note in ["default", "examples", "x-note"] {
        let schema = json!({"items": {"type": "string", note: [reference]}});
        becomes(
            &following(),
            &schema,
            &json!({"items": {"type": "string"}}),
            &[],
        );
        stays(&ignoring(), &schema);
    }
    becomes(
        &following(),
        &json!({"properties": {"a": {"const": reference}, "b": {"enum": ["c", [reference]]}}}),
        &json!({"properties": {"a": {"type": "object"}, "b": {"type": ["array", "string"]}}}),
        &[
            ("/properties/a/const", Why::Refused),
            ("/properties/b/enum", Why::Refused),
        ],
    );
    let named = json!({"$ref": {"type": "string"}, "a": {"type": "string"}});
    becomes(
        &following(),
        &json!({"type": "object", "properties": named, "required": ["$ref", "a"], "additionalProperties": false}),
        &json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": true}),
        &[("/properties", Why::Refused)],
    );
    stays(
        &following(),
        &json!({"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#/$defs/a"}, "default": ["$ref"]}),
    );
}

#[test]
fn any_json_is_a_schema_that_the_server_takes() {
    let words = json!({"type": ["object", "array", "string", "number", "boolean", "null"]});
    becomes(&following(), &json!({}), &words, &[]);
    becomes(
        &following(),
        &json!({"not": {"type": "null"}}),
        &words,
        &[("/not", Why::Ignored)],
    );
    stays(&following(), &json!({"title": "any"}));
    // `true` is no object, which a schema is on many wires.
    for (profile, expected) in [
        (Profile::default(), json!({})),
        (ignoring(), json!({})),
        (following(), words),
    ] {
        let lowered = lower(&Value::Bool(true), &profile);
        assert_eq!((&*lowered.schema, lowered.losses.len()), (&expected, 0));
    }
    let inside = json!({"items": true});
    stays(&ignoring(), &inside);
}
