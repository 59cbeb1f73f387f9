//! What a schema becomes for a server, one rewrite at a time.

use super::{Why, lower};
use crate::schema::profile::{
    Additional, AllOf, Bounds, Lengths, OneOf, Optional, OtherFormats, PatternReading, Profile,
    Recursion, Siblings, Types,
};
use serde_json::{Value, json};

mod beside;
mod measures;
mod seen;
mod silent;
mod told;
mod unsent;

/// A server that reads the first deciding keyword only, closes objects, and matches whole texts.
fn narrow_minded() -> Profile {
    Profile {
        siblings: Siblings::Dropped,
        additional: Additional::Closed,
        pattern: PatternReading::Whole,
        lengths: Lengths::Refused,
        one_of: OneOf::AnyOf,
        all_of: AllOf::AnyJson,
        ..Profile::default()
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn becomes(profile: &Profile, schema: &Value, expected: &Value, losses: &[(&str, Why)]) {
    let lowered = lower(schema, profile);
    assert_eq!(&*lowered.schema, expected, "of {schema}");
    let found: Vec<(&str, Why)> = lowered
        .losses
        .iter()
        .map(|loss| (loss.pointer.as_str(), loss.why))
        .collect();
    assert_eq!(found, losses, "of {schema}");
    for loss in &lowered.losses {
        assert!(schema.pointer(&loss.pointer).is_some(), "{}", loss.pointer);
    }
}

fn stays(profile: &Profile, schema: &Value) {
    let lowered = lower(schema, profile);
    assert!(!lowered.changed(), "{schema} became {}", lowered.schema);
    assert_eq!(lowered.losses, [], "of {schema}");
}

#[test]
fn ordinary_schemas_stay_as_they_are() {
    let narrow = narrow_minded();
    for schema in [
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "A"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/A", "description": "an A"}}, "$defs": {"A": {"type": "object", "title": "A"}}}),
        json!({"properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}], "description": "an A"}}, "$defs": {"A": {"type": "object"}}}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "const": "a"}),
        json!({"type": "object", "anyOf": [{"type": "object", "properties": {}}, {"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "object"}}}),
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        json!({"type": "string", "pattern": "^[a-z]{1,8}$"}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
    ] {
        stays(&narrow, &schema);
        stays(&Profile::default(), &schema);
    }
}

#[test]
fn what_stands_beside_alternatives_goes_into_each() {
    becomes(
        &narrow_minded(),
        &json!({
            "title": "T",
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"maxLength": 3}}}]
        }),
        &json!({
            "title": "T",
            "anyOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]},
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "maxLength": 3}}, "required": ["b"]}
            ]
        }),
        &[],
    );
}

#[test]
fn what_stands_beside_a_reference_is_put_together_with_its_definition() {
    let definitions =
        json!({"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}});
    becomes(
        &narrow_minded(),
        &json!({"properties": {"x": {"$ref": "#/$defs/A", "required": ["next"]}}, "$defs": definitions}),
        &json!({
            "properties": {"x": {"required": ["next"], "type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}},
            "$defs": definitions
        }),
        &[],
    );
}

#[test]
fn values_keep_to_what_stands_beside_them() {
    becomes(
        &narrow_minded(),
        &json!({"type": "string", "enum": ["a", 1, "abc"], "maxLength": 2}),
        &json!({"type": "string", "enum": ["a"], "maxLength": 2}),
        &[],
    );
    becomes(
        &narrow_minded(),
        &json!({"enum": ["a", "b"], "pattern": "^a$"}),
        &json!({"enum": ["a", "b"], "pattern": "^a$"}),
        &[("/enum", Why::Inexact)],
    );
}

#[test]
fn branches_of_all_of_become_one() {
    becomes(
        &narrow_minded(),
        &json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "number", "minimum": 1}}, "required": ["a"]},
            {"properties": {"a": {"type": "integer", "minimum": 0, "maximum": 9}, "b": {"enum": [1, 2]}}, "required": ["b"]},
            {"properties": {"b": {"enum": [2, 3]}}}
        ]}),
        &json!({
            "type": "object",
            "properties": {"a": {"type": "integer", "minimum": 1, "maximum": 9}, "b": {"enum": [2]}},
            "required": ["a", "b"]
        }),
        &[],
    );
}

#[test]
fn a_branch_that_cannot_be_put_in_exactly_is_left_to_the_proxy() {
    becomes(
        &narrow_minded(),
        &json!({"allOf": [
            {"type": "string", "pattern": "^a[a-z]*$"},
            {"pattern": "^[a-z]*z$"},
            {"maxLength": 9, "type": "string"}
        ]}),
        &json!({"type": "string", "pattern": "^a[a-z]{0,8}$"}),
        &[("/allOf", Why::Inexact)],
    );
}

#[test]
fn a_closed_branch_keeps_out_what_others_name() {
    becomes(
        &narrow_minded(),
        &json!({"allOf": [
            {"type": "object", "properties": {"a": {}}, "additionalProperties": false},
            {"properties": {"a": {"type": "string"}, "b": {}}}
        ]}),
        &json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        &[],
    );
}

#[test]
fn one_of_is_any_of_where_branches_exclude_each_other() {
    let refusing = Profile {
        one_of: OneOf::Refused,
        ..Profile::default()
    };
    let branch = |kind: &str| json!({"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]});
    let branches = json!([branch("a"), branch("b")]);
    becomes(
        &refusing,
        &json!({"oneOf": branches}),
        &json!({"anyOf": branches}),
        &[],
    );
    let closed = json!([
        {"type": "object", "required": ["a"]},
        {"type": "object", "properties": {"b": {}}, "additionalProperties": false}
    ]);
    becomes(
        &refusing,
        &json!({"oneOf": closed}),
        &json!({"anyOf": closed}),
        &[],
    );
    let unclear = json!([{"minimum": 1}, {"maximum": 5}]);
    becomes(
        &refusing,
        &json!({"oneOf": unclear}),
        &json!({"anyOf": unclear}),
        &[("/oneOf", Why::Inexact)],
    );
}

#[test]
fn what_is_refused_is_taken_out_and_one_of_does_not_become_narrower_by_it() {
    let refusing = Profile {
        removed: strings(&["multipleOf"]),
        ..Profile::default()
    };
    becomes(
        &refusing,
        &json!({"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]}),
        &json!({"anyOf": [{"type": "integer"}, {"type": "integer"}]}),
        &[
            ("/oneOf/0/multipleOf", Why::Refused),
            ("/oneOf/1/multipleOf", Why::Refused),
            ("/oneOf", Why::Inexact),
        ],
    );
    becomes(
        &refusing,
        &json!({"type": "integer", "not": {"multipleOf": 2}}),
        &json!({"type": "integer"}),
        &[("/not", Why::Inexact)],
    );
}

#[test]
fn properties_of_a_pattern_that_is_not_read_are_still_allowed() {
    let profile = Profile {
        ignored: strings(&["patternProperties"]),
        additional: Additional::Closed,
        ..Profile::default()
    };
    let patterns = json!({"^x-": {"type": "string"}});
    let lost = [("/patternProperties", Why::Ignored)];
    becomes(
        &profile,
        &json!({"patternProperties": patterns, "additionalProperties": false}),
        &json!({"additionalProperties": {"type": "string"}}),
        &lost,
    );
    becomes(
        &profile,
        &json!({"properties": {"a": {}}, "patternProperties": patterns}),
        &json!({"properties": {"a": {}}, "additionalProperties": true}),
        &lost,
    );
}

#[test]
fn what_is_required_is_declared_where_objects_are_closed() {
    becomes(
        &narrow_minded(),
        &json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"], "additionalProperties": {"type": "null"}}),
        &json!({"type": "object", "properties": {"a": {}, "b": {"type": "null"}}, "required": ["a", "b"], "additionalProperties": {"type": "null"}}),
        &[],
    );
    let only_false = Profile {
        additional: Additional::ClosedOnly,
        ..Profile::default()
    };
    let schema = json!({"type": "object", "properties": {"a": {}}});
    let lowered = lower(&schema, &only_false);
    assert_eq!(lowered.schema["additionalProperties"], json!(false));
    assert_eq!(lowered.losses[0].why, Why::Narrower);
}

#[test]
fn lengths_that_a_pattern_implies_are_no_loss() {
    becomes(
        &narrow_minded(),
        &json!({"type": "string", "pattern": "^[a-z]{2,5}$", "minLength": 1, "maxLength": 5}),
        &json!({"type": "string", "pattern": "^[a-z]{2,5}$"}),
        &[],
    );
    becomes(
        &narrow_minded(),
        &json!({"type": "string", "pattern": "^[a-z]*$", "minLength": 1, "maxLength": 5}),
        &json!({"type": "string", "pattern": "^[a-z]{1,5}$"}),
        &[],
    );
    becomes(
        &narrow_minded(),
        &json!({"type": "string", "pattern": "^[a-z]*[0-9]*$", "maxLength": 5}),
        &json!({"type": "string", "pattern": "^[a-z]*[0-9]*$"}),
        &[("/maxLength", Why::Refused)],
    );
}

#[test]
fn old_drafts_speak_the_latest_where_it_differs() {
    becomes(
        &narrow_minded(),
        &json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": [{"type": "string"}],
            "additionalItems": false
        }),
        &json!({"prefixItems": [{"type": "string"}], "items": false}),
        &[],
    );
    stays(
        &narrow_minded(),
        &json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {}}}),
    );
}

#[test]
fn what_is_called_by_its_place_is_not_moved() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}]
    });
    becomes(
        &narrow_minded(),
        &schema,
        &schema,
        &[("/anyOf", Why::Inexact)],
    );
}

#[test]
fn recursive_definitions_put_together_come_to_an_end() {
    let schema = json!({
        "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
        "$defs": {
            "A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}},
            "B": {"type": "object", "properties": {"next": {"$ref": "#/$defs/B"}}}
        }
    });
    let lowered = lower(&schema, &narrow_minded());
    assert_eq!(lowered.schema["$ref"], "#/$defs/A");
    assert_eq!(lowered.losses[0].pointer, "/allOf");
}

#[test]
fn hostile_schemas_come_to_an_end() {
    let data = include_str!("../../../../../tests/data/schema_hostile.jsonl");
    let mut profile = narrow_minded();
    let mut seen = 0;
    for refused in [strings(&[]), strings(&["multipleOf", "not"])] {
        profile.removed = refused;
        for line in data.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let text = match case.get("recipe") {
                Some(steps) => isogloss_testing::recipe::recipe(steps),
                None => case["schema"].to_string(),
            };
            // What nests deeper is refused before any of it is a value.
            let Ok(schema) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            // What costs too much does not come back: there is no clock in this.
            std::hint::black_box(lower(&schema, &profile));
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn a_list_of_types_becomes_branches_where_one_type_is_all_that_is_taken() {
    let profile = Profile {
        types: Types::One,
        ..Profile::default()
    };
    let lowered = |schema: &Value| lower(schema, &profile).schema.into_owned();
    assert_eq!(
        lowered(&json!({"title": "t", "type": ["string", "null"], "minLength": 1})),
        json!({"title": "t", "anyOf": [{"type": "string", "minLength": 1}, {"type": "null", "minLength": 1}]})
    );
    assert_eq!(
        lowered(&json!({"type": ["string"]})),
        json!({"type": "string"})
    );
    let beside = json!({"type": ["string", "null"], "anyOf": [{"minLength": 1}, {"const": null}]});
    let beside = lower(&beside, &profile);
    assert_eq!(beside.losses[0].pointer, "/type");
    assert_eq!(beside.schema.get("type"), None);
}

#[test]
fn what_only_one_word_says_is_said_in_the_word_that_is_known() {
    let profile = Profile {
        known: Some(strings(&[
            "type",
            "enum",
            "properties",
            "$ref",
            "$defs",
            "minItems",
        ])),
        max_min_items: Some(1),
        ..Profile::default()
    };
    let schema = json!({
        "definitions": {"a": {"const": "x"}},
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/a"}, "b": {"type": "array", "minItems": 3}, "c": {"$ref": "#/own/c"}},
        "own": {"c": {"type": "string"}},
    });
    let lowered = lower(&schema, &profile);
    assert_eq!(
        *lowered.schema,
        json!({
            "$defs": {"a": {"enum": ["x"]}},
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"type": "array", "minItems": 1}, "c": {}},
        })
    );
    let lost: Vec<_> = lowered.losses.iter().map(|loss| &*loss.pointer).collect();
    assert_eq!(
        lost,
        ["/own", "/properties/b/minItems", "/properties/c/$ref"]
    );
}

#[test]
fn properties_that_may_be_left_out_are_required_where_none_may_but_for_what_would_never_end() {
    let profile = Profile {
        optional: Optional::Refused,
        ..Profile::default()
    };
    let list = json!({
        "$defs": {"item": {"type": "object", "properties": {"value": {}, "next": {"$ref": "#/$defs/item"}}, "required": ["value"]}},
        "properties": {"head": {"$ref": "#/$defs/item"}, "size": {"type": "integer"}},
    });
    let lowered = lower(&list, &profile);
    assert_eq!(lowered.schema["required"], json!(["size"]));
    assert_eq!(lowered.schema["$defs"], list["$defs"]);
    assert_eq!(
        (lowered.losses.len(), lowered.losses[0].why),
        (1, Why::Narrower)
    );
    let whole = json!({"properties": {"a": {}}, "required": ["a"]});
    assert!(!lower(&whole, &profile).changed());
    // What may not be there is not asked for.
    let either = json!({"properties": {"a": {}, "b": {"not": {}}, "c": false}, "required": ["a"]});
    let lowered = lower(&either, &profile);
    assert_eq!(
        *lowered.schema,
        json!({"properties": {"a": {}}, "required": ["a"]})
    );
    assert_eq!(lowered.losses, []);
    // A list may be empty, and nothing may stand for nothing.
    for kids in [
        json!({"type": "array", "items": {"$ref": "#/$defs/node"}}),
        json!({"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}),
    ] {
        let node = json!({"type": "object", "properties": {"name": {}, "kids": kids}, "required": ["name"]});
        let tree =
            json!({"$defs": {"node": node}, "properties": {"root": {"$ref": "#/$defs/node"}}});
        let lowered = lower(&tree, &profile);
        assert_eq!(lowered.schema["required"], json!(["root"]), "{kids}");
        let required = &lowered.schema["$defs"]["node"]["required"];
        assert_eq!(*required, json!(["name", "kids"]), "{kids}");
    }
}

#[test]
fn what_is_ignored_by_its_value_is_told() {
    let profile = Profile {
        formats: Some(strings(&["date"])),
        other_formats: OtherFormats::Ignored,
        bounds: Bounds::Integers,
        recursion: Recursion::Bounded,
        ..Profile::default()
    };
    let lost = |schema: &Value| {
        let lowered = lower(schema, &profile);
        assert!(!lowered.changed(), "{schema}");
        lowered
            .losses
            .into_iter()
            .map(|loss| (loss.keyword, loss.why))
            .collect::<Vec<_>>()
    };
    let why = |keyword: &str, why| vec![(keyword.to_owned(), why)];
    assert_eq!(lost(&json!({"format": "date"})), []);
    assert_eq!(
        lost(&json!({"format": "uri-template"})),
        why("format", Why::Ignored)
    );
    assert_eq!(lost(&json!({"type": "integer", "minimum": 1})), []);
    assert_eq!(
        lost(&json!({"type": "number", "minimum": 1})),
        why("minimum", Why::Ignored)
    );
    let tree = json!({"properties": {"left": {"$ref": "#"}}});
    assert_eq!(lost(&tree), why("$ref", Why::Narrower));
    let flat = json!({"$defs": {"a": {}}, "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/a"}}});
    assert_eq!(lost(&flat), []);
}

#[test]
fn hostile_schemas_end_whatever_the_server_reads() {
    let data = include_str!("../../../../../tests/data/schema_hostile.jsonl");
    let profile = Profile {
        types: Types::One,
        optional: Optional::Refused,
        recursion: Recursion::Bounded,
        bounds: Bounds::Integers,
        ..narrow_minded()
    };
    for line in data.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(steps) = case.get("recipe") else {
            continue;
        };
        let text = isogloss_testing::recipe::recipe(steps);
        if let Ok(schema) = serde_json::from_str::<Value>(&text) {
            std::hint::black_box(lower(&schema, &profile));
        }
    }
}

#[test]
fn what_may_not_be_there_is_so_in_words_that_all_read() {
    let taken = Profile {
        ignored: strings(&["not"]),
        booleans: Some(strings(&["additionalProperties"])),
        ..Profile::default()
    };
    let never = json!({"not": {}, "description": "never"});
    becomes(
        &taken,
        &json!({"type": "object", "properties": {"a": {}, "b": never}, "additionalProperties": never}),
        &json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
        &[],
    );
    // Servers refuse a definition that nothing satisfies.
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/N"}, "b": {"$ref": "#/properties/c"}, "c": never}, "$defs": {"N": never}});
    let lowered = lower(&schema, &taken);
    assert!(!lowered.schema.to_string().contains("false"));
    assert!(!lowered.losses.is_empty());
}
