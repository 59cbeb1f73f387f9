//! What compilers would drop, close or guess without a word.

use super::{Why, becomes, lower, narrow_minded, stays, strings};
use crate::schema::profile::{NamePatterns, Profile, References, Syntax, Tuples, Types, Untyped};
use serde_json::{Value, json};

/// A compiler that reads types first, as xgrammar does.
fn typed() -> Profile {
    Profile {
        untyped: Untyped::Ignored,
        guessed: strings(&["properties", "items"]),
        only_bare_is_open: true,
        name_patterns: NamePatterns::Alone,
        references: References::Plain,
        ..narrow_minded()
    }
}

#[test]
fn keywords_without_a_type_stand_beside_the_type_that_they_speak_of() {
    let others = |own: &str| {
        let all = ["object", "array", "string", "number", "boolean", "null"];
        json!(
            all.into_iter()
                .filter(|kind| *kind != own)
                .collect::<Vec<_>>()
        )
    };
    becomes(
        &typed(),
        &json!({"title": "T", "minimum": 3}),
        &json!({"title": "T", "anyOf": [{"type": "number", "minimum": 3}, {"type": others("number")}]}),
        &[],
    );
    becomes(
        &typed(),
        &json!({"type": "object", "properties": {"a": {"maxLength": 3}}}),
        &json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": others("string")}]}}}),
        &[],
    );
    // An object of which nothing is known but a name is open.
    becomes(
        &typed(),
        &json!({"required": ["a"]}),
        &json!({"anyOf": [
            {"type": "object", "required": ["a"], "properties": {"a": {}}, "additionalProperties": true},
            {"type": others("object")}
        ]}),
        &[],
    );
}

#[test]
fn the_type_that_is_guessed_from_a_structure_is_said_and_told() {
    becomes(
        &typed(),
        &json!({"properties": {"a": {"type": "string"}}}),
        &json!({"properties": {"a": {"type": "string"}}, "type": "object"}),
        &[("/properties", Why::Narrower)],
    );
    let silent = Profile {
        guessed: Vec::new(),
        ..typed()
    };
    let lowered = owned(&json!({"items": {"type": "string"}}), &silent);
    assert_eq!(lowered.schema["anyOf"][0]["type"], "array");
    assert_eq!(lowered.losses, []);
}

#[test]
fn a_branch_is_of_the_type_of_what_it_stands_in() {
    becomes(
        &typed(),
        &json!({"type": "integer", "anyOf": [{"minimum": 3}, {"maximum": 0}]}),
        &json!({"anyOf": [{"minimum": 3, "type": "integer"}, {"maximum": 0, "type": "integer"}]}),
        &[],
    );
    let lowered = owned(
        &json!({"anyOf": [{"minimum": 3}, {"type": "string"}]}),
        &typed(),
    );
    assert_eq!(lowered.schema["anyOf"][0]["anyOf"][0]["type"], "number");
    assert_eq!(lowered.losses, []);
}

#[test]
fn a_schema_of_notes_alone_is_of_every_type_where_none_is_an_error() {
    let refusing = |types| Profile {
        untyped: Untyped::Refused,
        types,
        ..narrow_minded()
    };
    let noted = json!({"description": "anything"});
    let lowered = lower(&noted, &refusing(Types::Many));
    assert_eq!(lowered.schema["type"].as_array().map(Vec::len), Some(6));
    let lowered = lower(&noted, &refusing(Types::One));
    assert_eq!(lowered.schema["anyOf"].as_array().map(Vec::len), Some(6));
    assert_eq!(lowered.losses, []);
    stays(&refusing(Types::Many), &json!({}));
}

#[test]
fn an_object_and_an_array_say_that_they_are_open_where_anything_else_would_close_them() {
    becomes(
        &typed(),
        &json!({"type": "object", "minProperties": 1}),
        &json!({"type": "object", "minProperties": 1, "additionalProperties": true}),
        &[],
    );
    becomes(
        &typed(),
        &json!({"type": "array", "maxItems": 2}),
        &json!({"type": "array", "maxItems": 2, "items": {}}),
        &[],
    );
    stays(&typed(), &json!({"type": "object", "description": "d"}));
    stays(
        &typed(),
        &json!({"type": "array", "prefixItems": [{"type": "null"}], "minItems": 1}),
    );
}

#[test]
fn booleans_are_spelled_out_where_only_objects_are_schemas() {
    let profile = Profile {
        booleans: Some(strings(&["additionalProperties"])),
        ..narrow_minded()
    };
    becomes(
        &profile,
        &json!({"type": "object", "properties": {"a": true, "b": false}, "additionalProperties": false}),
        &json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "array", "items": false}),
        &json!({"type": "array", "items": {}, "maxItems": 0}),
        &[],
    );
    becomes(
        &profile,
        &json!({"anyOf": [{"type": "string"}, false]}),
        &json!({"anyOf": [{"type": "string"}]}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "object", "properties": {"a": {"type": "null"}, "b": false}, "required": ["b"]}),
        &json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {}}, "required": ["b"]}),
        &[("/properties", Why::Inexact)],
    );
}

#[test]
fn tuples_have_a_branch_for_each_length_where_each_has_one() {
    let profile = Profile {
        tuples: Tuples::Whole,
        ..narrow_minded()
    };
    let (a, b) = (json!({"type": "string"}), json!({"type": "integer"}));
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [a, b], "items": false, "minItems": 2}),
        &json!({"type": "array", "prefixItems": [a, b], "minItems": 2, "maxItems": 2}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [a], "items": b, "minItems": 1, "maxItems": 2}),
        &json!({"anyOf": [
            {"type": "array", "prefixItems": [a], "minItems": 1, "maxItems": 1},
            {"type": "array", "prefixItems": [a, b], "minItems": 2, "maxItems": 2}
        ]}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [a], "items": b}),
        &json!({"type": "array", "prefixItems": [a], "minItems": 1, "maxItems": 1}),
        &[("/prefixItems", Why::Narrower)],
    );
    // Items are counted where something is said of them.
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [a], "items": false}),
        &json!({"anyOf": [
            {"type": "array", "items": {}, "maxItems": 0},
            {"type": "array", "prefixItems": [a], "minItems": 1, "maxItems": 1}
        ]}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "array", "minItems": 2, "maxItems": 3}),
        &json!({"type": "array", "minItems": 2, "maxItems": 3, "items": {}}),
        &[],
    );
    // However they are written: no length is left of these.
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [a, b], "items": false, "minItems": 2.0}),
        &json!({"type": "array", "prefixItems": [a, b], "minItems": 2, "maxItems": 2}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [a], "items": false, "minItems": 1e40}),
        &json!({"type": "array", "prefixItems": [a], "minItems": 1, "maxItems": 1}),
        &[("/prefixItems", Why::Narrower)],
    );
}

#[test]
fn an_object_is_closed_whose_names_cannot_be_told_from_others() {
    let profile = Profile {
        ascii_names: true,
        ignored: strings(&["patternProperties"]),
        ..narrow_minded()
    };
    let object = |names: [&str; 2], rest: Value| {
        let mut object = json!({"type": "object", "properties": {}, "additionalProperties": rest});
        for name in names {
            object["properties"][name] = json!({"type": "string"});
        }
        object
    };
    let (odd, plain) = (["имя", "age"], ["name", "age"]);
    for rest in [json!(true), json!({"type": "string"})] {
        becomes(
            &profile,
            &object(odd, rest.clone()),
            &object(odd, json!(false)),
            &[("/additionalProperties", Why::Narrower)],
        );
        becomes(
            &profile,
            &object(plain, rest.clone()),
            &object(plain, rest),
            &[],
        );
    }
    let closed = object(odd, json!(false));
    becomes(&profile, &closed, &closed, &[]);
}

#[test]
fn items_after_a_tuple_that_is_not_read_are_any_of_both() {
    let profile = Profile {
        ignored: strings(&["prefixItems"]),
        ..narrow_minded()
    };
    becomes(
        &profile,
        &json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}}),
        &json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
        &[("/prefixItems", Why::Ignored)],
    );
}

#[test]
fn names_by_patterns_stand_alone_where_they_must() {
    becomes(
        &typed(),
        &json!({"type": "object", "properties": {"a": {"type": "null"}}, "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}),
        &json!({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "string"}}),
        &[("/patternProperties", Why::Refused)],
    );
    becomes(
        &typed(),
        &json!({"type": "object", "patternProperties": {"^x$": {"type": "null"}, "^y$": {"type": "null"}}, "additionalProperties": false}),
        &json!({"type": "object", "patternProperties": {"(?:^x$)|(?:^y$)": {"type": "null"}}, "additionalProperties": false}),
        &[],
    );
    // Every name matches.
    becomes(
        &typed(),
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}, "patternProperties": {".*": {"minimum": 1}}}),
        &json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "additionalProperties": {"anyOf": [
            {"type": "number", "minimum": 1},
            {"type": ["object", "array", "string", "boolean", "null"]}
        ]}}),
        &[],
    );
    becomes(
        &typed(),
        &json!({"type": "object", "propertyNames": {"type": "string", "maxLength": 3}, "additionalProperties": false}),
        &json!({"type": "object", "additionalProperties": false}),
        &[],
    );
}

#[test]
fn names_that_are_listed_are_properties_where_names_are_not_read() {
    let deaf = Profile {
        ignored: strings(&["propertyNames"]),
        ..typed()
    };
    let text = json!({"type": "string"});
    for (names, rest, expected) in [
        (
            json!({"enum": ["a", "b"]}),
            Some(text.clone()),
            json!({"a": text, "b": text}),
        ),
        (
            json!({"type": "string", "const": "a"}),
            Some(json!(true)),
            json!({"a": {}}),
        ),
        (
            json!({"enum": ["a", 1, "a"], "title": "N"}),
            None,
            json!({"a": {}}),
        ),
        (
            json!({"enum": ["a", "c"]}),
            Some(json!(false)),
            json!({"c": {"type": "null"}}),
        ),
    ] {
        let mut schema = json!({"type": "object", "propertyNames": names});
        if let Some(rest) = rest {
            schema["additionalProperties"] = rest;
        }
        if names["enum"][1] == "c" {
            schema["properties"] = json!({"c": {"type": "null"}, "d": text});
        }
        let closed =
            json!({"type": "object", "properties": expected, "additionalProperties": false});
        becomes(&deaf, &schema, &closed, &[]);
        stays(&Profile::default(), &schema);
    }
    let lost = [("/propertyNames", Why::Ignored)];
    for schema in [
        json!({"type": "object", "propertyNames": {"enum": ["a"], "pattern": "^a"}}),
        json!({"type": "object", "propertyNames": {"enum": ["a"]}, "patternProperties": {"^x$": text}}),
    ] {
        let lowered = lower(&schema, &deaf);
        assert!(
            lowered.losses.iter().any(|loss| loss.pointer == lost[0].0),
            "{schema}"
        );
    }
    // Every name is a string.
    for names in [
        json!(true),
        json!({}),
        json!({"type": "string"}),
        json!({"type": ["string", "null"], "description": "D"}),
    ] {
        becomes(
            &deaf,
            &json!({"type": "object", "propertyNames": names, "additionalProperties": text}),
            &json!({"type": "object", "additionalProperties": text}),
            &[],
        );
    }
}

#[test]
fn names_are_strings() {
    let names = json!({"type": "object", "propertyNames": {"pattern": "^[a-z]$"}});
    stays(&typed(), &names);
}

#[test]
fn what_is_required_and_cannot_be_named_is_told() {
    becomes(
        &typed(),
        &json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"], "additionalProperties": false}),
        &json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"], "additionalProperties": false}),
        &[("/required", Why::Ignored)],
    );
}

#[test]
fn references_by_name_lead_to_places() {
    becomes(
        &typed(),
        &json!({
            "type": "object",
            "properties": {"a": {"$ref": "#one"}, "b": {"$ref": "two"}, "c": {"$ref": "#/$defs/x~1y"}},
            "$defs": {"one": {"$anchor": "one", "type": "string"}, "two": {"$id": "two", "type": "integer"}, "x/y": {"type": "null"}}
        }),
        &json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/one"}, "b": {"$ref": "#/$defs/two"}, "c": {"$ref": "#/$defs/x1y"}},
            "$defs": {"one": {"type": "string"}, "two": {"type": "integer"}, "x/y": {"type": "null"}, "x1y": {"type": "null"}}
        }),
        &[],
    );
    let below = Profile {
        references: References::Below,
        ..typed()
    };
    let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    let copied = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/root"}}});
    let mut expected = copied.clone();
    expected["$defs"] = json!({ "root": copied });
    becomes(&below, &list, &expected, &[]);
}

#[test]
fn what_stands_below_a_keyword_that_is_taken_out_is_copied_where_it_is_referred_to() {
    let profile = Profile {
        removed: strings(&["not"]),
        ..typed()
    };
    let schema = json!({"type": "array", "items": {"$ref": "#/not/items"}, "not": {"items": {"type": "null"}}});
    let lowered = owned(&schema, &profile);
    assert_eq!(lowered.schema["items"], json!({"$ref": "#/$defs/items"}));
    assert_eq!(lowered.schema["$defs"], json!({"items": {"type": "null"}}));
}

#[test]
fn losses_of_a_copy_are_told_where_its_original_stands() {
    let below = Profile {
        references: References::Below,
        ignored: strings(&["uniqueItems"]),
        ..typed()
    };
    let list = json!({"type": "array", "uniqueItems": true, "items": {"$ref": "#"}});
    let lowered = lower(&list, &below);
    let told: Vec<&str> = lowered
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    assert_eq!(told, ["/uniqueItems"]);
}

#[test]
fn a_dynamic_reference_is_a_plain_one_where_one_schema_alone_has_its_anchor() {
    let tree = json!({
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}}
    });
    becomes(
        &typed(),
        &tree,
        &json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}),
        &[],
    );
    let two = json!({
        "type": "object",
        "properties": {"a": {"$dynamicRef": "#t"}},
        "$defs": {
            "a": {"$dynamicAnchor": "t", "type": "string"},
            "b": {"$id": "b", "$dynamicAnchor": "t", "type": "integer"}
        }
    });
    let lowered = lower(&two, &typed());
    assert_eq!(lowered.schema["properties"]["a"], json!({}));
    assert_eq!(lowered.losses[0].pointer, "/properties/a/$dynamicRef");
}

#[test]
fn a_class_has_the_characters_that_ecma_reads_in_it() {
    let profile = narrow_minded();
    for (pattern, told) in [("^[a&&c]$", "^[&ac]$"), ("^[^[]$", r"^[^\x5b]$")] {
        becomes(
            &profile,
            &json!({"type": "string", "pattern": pattern}),
            &json!({"type": "string", "pattern": told}),
            &[],
        );
    }
}

#[test]
fn patterns_are_plain_where_no_others_are_read() {
    let profile = Profile {
        syntax: Syntax::Plain,
        ..narrow_minded()
    };
    becomes(
        &profile,
        &json!({"type": "string", "pattern": "^\\d{4}-\\d{2}$"}),
        &json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}),
        &[],
    );
    becomes(
        &profile,
        &json!({"type": "string", "pattern": "^\\p{L}$"}),
        &json!({"type": "string"}),
        &[("/pattern", Why::Inexact)],
    );
}

#[test]
fn formats_that_are_not_known_are_patterns_or_say_nothing() {
    let profile = Profile {
        formats: Some(strings(&["date-time"])),
        ..narrow_minded()
    };
    becomes(
        &profile,
        &json!({"type": "integer", "format": "int64"}),
        &json!({"type": "integer"}),
        &[],
    );
    let lowered = owned(
        &json!({"type": "string", "format": "uuid", "maxLength": 36}),
        &profile,
    );
    assert_eq!(lowered.losses, []);
    assert_eq!(lowered.schema.get("format"), None);
    assert_eq!(lowered.schema.get("maxLength"), None);
    assert!(lowered.schema["pattern"].is_string());
    let lowered = owned(&json!({"type": "string", "format": "date"}), &profile);
    assert_eq!(lowered.losses[0].why, Why::Inexact);
    assert!(lowered.schema["pattern"].is_string());
    let lowered = owned(&json!({"type": "string", "format": "iri"}), &profile);
    assert_eq!(lowered.losses[0].why, Why::Refused);
}

#[test]
fn bounds_that_are_not_read_are_a_list_where_few_numbers_are_within() {
    let profile = Profile {
        ignored: strings(&["minimum", "exclusiveMaximum", "multipleOf"]),
        ..Profile::default()
    };
    becomes(
        &profile,
        &json!({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 10, "multipleOf": 3, "description": "d"}),
        &json!({"type": "integer", "description": "d", "enum": [3, 6, 9]}),
        &[],
    );
    stays_told(
        &profile,
        &json!({"type": "integer", "minimum": 0}),
        "/minimum",
    );
    stays_told(
        &profile,
        &json!({"type": "number", "minimum": 0, "maximum": 1}),
        "/minimum",
    );
}

fn owned(schema: &Value, profile: &Profile) -> super::super::Lowered<'static> {
    let lowered = lower(schema, profile);
    super::super::Lowered {
        schema: std::borrow::Cow::Owned(lowered.schema.into_owned()),
        losses: lowered.losses,
    }
}

fn stays_told(profile: &Profile, schema: &Value, pointer: &str) {
    let lowered = lower(schema, profile);
    assert!(!lowered.changed(), "{}", lowered.schema);
    assert_eq!(lowered.losses[0].pointer, pointer);
}

#[test]
fn what_a_text_decodes_to_is_told_and_goes_to_no_server() {
    let profile = Profile {
        removed: strings(&["not"]),
        ..Profile::default()
    };
    let base64 = json!({"type": "string", "contentEncoding": "base64"});
    let mut schema = json!({"type": "object", "properties": {"a": base64}});
    // From 2019-09 on it asserts nothing.
    stays(&profile, &schema);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    let lowered = lower(&schema, &profile);
    assert_eq!(lowered.schema["properties"]["a"], json!({"type": "string"}));
    assert_eq!(lowered.losses.len(), 1);
    assert_eq!(lowered.losses[0].why, Why::Ignored);
}
