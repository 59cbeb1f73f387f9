//! What is refused of a reply that was cut, and that nothing right ever is.

use super::super::Validator;
use serde_json::{Value, json};

fn refusal(schema: &Value, prefix: &str) -> Option<(String, String)> {
    Validator::compile(schema)
        .unwrap()
        .validate_prefix(prefix)
        .err()
        .map(|breach| (breach.pointer, breach.rule))
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 10},
            "name": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"},
            "kind": {"enum": ["cat", "dog", 7]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
            "shape": {"anyOf": [
                {"type": "object", "properties": {"r": {"type": "number"}}, "required": ["r"],
                 "additionalProperties": false},
                {"type": "array", "items": {"type": "number", "multipleOf": 5}}
            ]}
        },
        "propertyNames": {"maxLength": 5},
        "maxProperties": 3,
        "required": ["age", "name"],
        "additionalProperties": false
    })
}

#[test]
fn what_no_continuation_mends_is_refused_with_its_place() {
    for (prefix, pointer, rule) in [
        (r#"{"age":"bad""#, "/age", "type"),
        (r#"{"age":"ba"#, "/age", "type"),
        (r#"{"age":t"#, "/age", "type"),
        (r#"{"age":["#, "/age", "type"),
        (r#"{"age":5,"#, "/age", "minimum"),
        (r#"{"age":10.5 "#, "/age", "type"),
        (r#"{"name":1"#, "/name", "type"),
        (r#"{"name":"abcd"#, "/name", "maxLength"),
        (r#"{"name":"A","#, "/name", "pattern"),
        (r#"{"kind":"ca_"#, "/kind", "enum"),
        (r#"{"kind":"d""#, "/kind", "enum"),
        (r#"{"tags":["a",1"#, "/tags/1", "type"),
        (r#"{"tags":["a","a","#, "/tags", "uniqueItems"),
        (r#"{"tags":["a","b",""#, "/tags", "maxItems"),
        (r#"{"tags":{"#, "/tags", "type"),
        (r#"{"zzz":"#, "", "additionalProperties"),
        (r#"{"zzz""#, "", "additionalProperties"),
        (r#"{"shape":{"x":1"#, "/shape", "anyOf"),
        (r#"{"shape":{"r":"#, "", ""),
        (r#"{"shape":{"r":"x"#, "/shape/r", "type"),
        (r#"{"shape":[5,6,"#, "/shape/1", "multipleOf"),
        (r#"{"shape":"s"#, "/shape", "anyOf"),
        ("[", "", "type"),
        ("7", "", "type"),
        (r#"{"age":12,"age":13"#, "/age", "json"),
        (r#"{"age":12,"age""#, "/age", "json"),
        (r#"{"age":01"#, "", "json"),
        ("nothing", "", "json"),
        (r#"{"age":12}"#, "", "required"),
        (r#"{"age":12,"name":"a"} x"#, "", "json"),
    ] {
        let expected = (!rule.is_empty()).then(|| (pointer.to_owned(), rule.to_owned()));
        assert_eq!(refusal(&person(), prefix), expected, "{prefix}");
    }
}

#[test]
fn what_may_yet_become_right_passes() {
    for prefix in [
        "",
        "  ",
        "{",
        r#"{"zzz"#,
        r#"{"age""#,
        r#"{"age":"#,
        r#"{"age":-"#,
        r#"{"age":5"#,
        r#"{"age":10.5"#,
        r#"{"age":12,"#,
        r#"{"name":"abc"#,
        r#"{"name":"a\u00"#,
        r#"{"name":""#,
        r#"{"kind":"c"#,
        r#"{"kind":7"#,
        r#"{"tags":["a","a"#,
        r#"{"shape":{"#,
        r#"{"shape":[6"#,
        r#"{"shape":[5,10"#,
        r#"{"age":12,"name":"a"}"#,
    ] {
        assert_eq!(refusal(&person(), prefix), None, "{prefix}");
    }
}

#[test]
fn a_condition_on_what_is_still_open_excuses_what_hangs_on_it() {
    let conditional = json!({
        "if": {"required": ["strict"]},
        "then": {"properties": {"n": {"$ref": "#/$defs/even"}, "s": {"type": "string"}}},
        "else": {"properties": {"n": {"type": "null"}}},
        "$defs": {"even": {"multipleOf": 2}}
    });
    assert_eq!(refusal(&conditional, r#"{"n":3,"#), None);
    let dynamic = json!({
        "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["b"]}, {}],
        "unevaluatedProperties": {"type": "integer"}
    });
    assert_eq!(refusal(&dynamic, r#"{"a":"x","#), None);
    let whole = json!({"properties": {"o": dynamic}});
    assert!(refusal(&whole, r#"{"o":{"a":true},"#).is_some());
    let several = json!({"oneOf": [{"type": "object"}, {"required": ["a"]}]});
    assert_eq!(refusal(&several, r#"{"a":1,"#), None);
    assert_eq!(
        refusal(&json!({"not": {"maxProperties": 1}}), r#"{"a":1,"#),
        None
    );
    assert_eq!(refusal(&json!({"contains": {"const": 1}}), "[2,3,"), None);
}

#[test]
fn numbers_beyond_64_bits_are_judged_as_in_a_whole_text() {
    let big = "[18446744073709551616,";
    assert_eq!(
        refusal(&json!({"items": {"maximum": u64::MAX}}), big),
        Some(("/0".to_owned(), "maximum".to_owned()))
    );
    assert_eq!(refusal(&json!({"items": {"minimum": 1}}), big), None);
    assert_eq!(refusal(&json!({"items": {"multipleOf": 1}}), big), None);
    assert_eq!(
        refusal(&json!({"items": {"multipleOf": 2}}), big),
        Some((String::new(), "json".to_owned()))
    );
}

/// Instances longer than this are cut at some places only.
const MAX_CUTS: usize = 150;

fn cuts(text: &str) -> impl Iterator<Item = &str> {
    let step = text.len().div_ceil(MAX_CUTS).max(1);
    (0..=text.len())
        .step_by(step)
        .filter(|at| text.is_char_boundary(*at))
        .map(|at| &text[..at])
}

#[test]
fn no_prefix_of_anything_right_is_refused() {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let (mut prefixes, mut wrong, mut broken, mut found) = (0, Vec::new(), 0, 0);
    for file in ["json_schema_test_suite.jsonl", "schemas.jsonl"] {
        let Ok(data) = std::fs::read_to_string(format!("{folder}/{file}")) else {
            println!("skipped: no {folder}/{file} (set ISOGLOSS_DATA)");
            return;
        };
        for line in data.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let Ok(validator) = Validator::compile(&drafted(&case)) else {
                continue;
            };
            for test in case["tests"].as_array().into_iter().flatten() {
                let text = test["data"].to_string();
                if validator.validate_text(&text).is_ok() {
                    for prefix in cuts(&text) {
                        prefixes += 1;
                        if let Err(breach) = validator.validate_prefix(prefix) {
                            wrong.push(format!("{}: {prefix}: {breach:?}", case["id"]));
                        }
                    }
                } else {
                    broken += 1;
                    let end = text.trim_end_matches(['}', ']']);
                    found += usize::from(validator.validate_prefix(&format!("{end} ")).is_err());
                }
            }
        }
    }
    println!(
        "{prefixes} prefixes; {found} of {broken} breaches are found before the last brackets"
    );
    assert!(
        wrong.is_empty(),
        "{} wrong, {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    assert!(found * 3 >= broken, "{found} of {broken}");
}

/// The schema of a case with the draft that it is for.
fn drafted(case: &Value) -> Value {
    let mut schema = case["schema"].clone();
    let uri = match case["draft"].as_str() {
        Some("draft4") => "http://json-schema.org/draft-04/schema#",
        Some("draft6") => "http://json-schema.org/draft-06/schema#",
        Some("draft7") => "http://json-schema.org/draft-07/schema#",
        Some("draft2019-09") => "https://json-schema.org/draft/2019-09/schema",
        _ => return schema,
    };
    if let Some(map) = schema.as_object_mut() {
        map.entry("$schema").or_insert_with(|| json!(uri));
    }
    schema
}
