//! `unevaluatedProperties` in words of `additionalProperties`.

use super::{becomes, stays, strings};
use crate::schema::lower::{Why, lower};
use crate::schema::profile::{Additional, AllOf, Profile};
use serde_json::{Value, json};

fn ignoring() -> Profile {
    Profile {
        ignored: strings(&["unevaluatedProperties"]),
        all_of: AllOf::Merged,
        ..Profile::default()
    }
}

fn named(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

#[test]
fn an_object_that_names_its_properties_itself_is_closed_in_the_word_that_all_read() {
    for (rest, name) in [(json!(false), "a"), (json!({"type": "integer"}), "b")] {
        let mut stated = named(name);
        stated["unevaluatedProperties"] = rest.clone();
        let mut told = named(name);
        told["additionalProperties"] = rest;
        becomes(&ignoring(), &stated, &told, &[]);
        // Whoever reads it is sent it.
        stays(&Profile::default(), &stated);
    }
}

#[test]
fn what_all_branches_name_is_named_in_one_object() {
    let base = json!({"type": "object", "title": "Base", "properties": {"a": {"type": "string"}, "c": {"minimum": 1}}, "required": ["a"]});
    let stated = json!({
        "$defs": {"base": base},
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "integer"}}, "required": ["b", "a"]}],
        "unevaluatedProperties": false
    });
    let lowered = lower(&stated, &ignoring());
    assert_eq!(lowered.losses, []);
    let told = lowered.schema.into_owned();
    assert_eq!(told["type"], "object");
    assert_eq!(told["additionalProperties"], false);
    assert_eq!(told["required"], json!(["a", "b"]));
    assert_eq!(
        told["properties"],
        json!({"a": {"type": "string"}, "c": {"minimum": 1}, "b": {"type": "integer"}})
    );
    assert!(told.get("allOf").is_none() && told.get("unevaluatedProperties").is_none());
    // A reference beside the keyword is a branch as well.
    let beside = json!({"$defs": {"base": base}, "$ref": "#/$defs/base", "properties": {"b": {"type": "integer"}},
        "required": ["b"], "unevaluatedProperties": false});
    let told = lower(&beside, &ignoring()).schema.into_owned();
    assert_eq!(told["additionalProperties"], false);
    assert_eq!(told["properties"].as_object().unwrap().len(), 3);
    assert!(told.get("$ref").is_none());
}

#[test]
fn what_depends_on_the_value_or_on_a_draft_is_left() {
    let lost = [("/unevaluatedProperties", Why::Ignored)];
    for stated in [
        json!({"type": "object", "anyOf": [named("a"), named("b")], "unevaluatedProperties": false}),
        json!({"type": "object", "properties": {"a": {}}, "if": {"required": ["a"]}, "unevaluatedProperties": false}),
    ] {
        let losses = lower(&stated, &ignoring()).losses;
        assert!(
            losses.iter().any(|loss| loss.pointer == lost[0].0),
            "{stated}: {losses:?}"
        );
    }
    // A branch that is closed or open itself, or says more.
    for branch in [
        json!({"additionalProperties": true}),
        json!({"patternProperties": {"^x": {}}}),
        json!({"anyOf": [named("a")]}),
        json!({"$ref": "#/$defs/none"}),
        json!(true),
    ] {
        let stated = json!({"allOf": [named("a"), branch], "unevaluatedProperties": false});
        let told = lower(&stated, &ignoring()).schema.into_owned();
        assert_ne!(
            told["additionalProperties"],
            json!(false),
            "{stated}: {told}"
        );
    }
    let mut old = named("a");
    old["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    old["unevaluatedProperties"] = json!(false);
    assert!(
        lower(&old, &ignoring())
            .schema
            .get("additionalProperties")
            .is_none()
    );
}

#[test]
fn objects_that_are_one_together_are_one_to_a_server_that_closes_each() {
    let closing = Profile {
        additional: Additional::ClosedOnly,
        all_of: AllOf::Refused,
        ..Profile::default()
    };
    let base = named("b");
    let open = json!({"type": "object", "properties": {"c": {"type": "integer"}}, "additionalProperties": true});
    for stated in [
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "allOf": [base, open]}),
        json!({"allOf": [named("a"), {"$ref": "#/$defs/base"}, open], "$defs": {"base": base}}),
        json!({"$ref": "#/$defs/base", "allOf": [open], "properties": {"a": {"type": "string"}}, "required": ["a"], "$defs": {"base": base}}),
    ] {
        let lowered = lower(&stated, &closing);
        let told = &lowered.schema;
        let mut names: Vec<&String> = told["properties"].as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, ["a", "b", "c"], "{stated}: {told}");
        assert_eq!(told["additionalProperties"], false);
        assert_eq!(told["type"], "object");
        let whys: Vec<Why> = lowered.losses.iter().map(|loss| loss.why).collect();
        assert!(
            whys.iter().all(|why| *why == Why::Narrower),
            "{:?}",
            lowered.losses
        );
    }
    // What leads to itself stays where it is.
    let tree = json!({"$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}},
        "allOf": [{"$ref": "#/$defs/t"}, named("a")]});
    assert!(lower(&tree, &closing).schema["properties"]["t"]["properties"].is_null());
}
