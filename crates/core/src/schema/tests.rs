//! What the guard and the validator promise, over our own hostile schemas and over real ones.

use super::{SchemaLimits, Validator, guard};
use crate::error::Kind;
use isogloss_testing::recipe::recipe;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn refused(schema: &Value) -> (Kind, String) {
    let fault = Validator::compile(schema).expect_err(&schema.to_string());
    (fault.kind, fault.pointer)
}

fn breach(schema: &Value, value: &Value) -> (String, String, String) {
    let validator = Validator::compile(schema).unwrap();
    let breach = validator
        .validate(value)
        .expect_err("should not satisfy the schema");
    (breach.pointer, breach.rule, breach.message)
}

const HANG: Duration = Duration::from_secs(60);

#[test]
fn hostile_schemas_meet_what_is_expected_of_them() {
    let data = include_str!("../../../../tests/data/schema_hostile.jsonl");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in data.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(outcome) = case["expect"]["outcome"].as_str() else {
            continue;
        };
        seen += 1;
        let id = case["id"].as_str().unwrap();
        let text = match case.get("recipe") {
            Some(steps) => recipe(steps),
            None => case["schema"].to_string(),
        };
        let parsed = serde_json::from_str::<Value>(&text);
        let start = Instant::now();
        let result = parsed
            .as_ref()
            .map_err(|_| None)
            .and_then(|schema| Validator::compile(schema).map_err(Some));
        let took = start.elapsed();
        match (&result, outcome) {
            (Ok(_), "reject") => wrong.push(format!("{id}: accepted")),
            (Err(fault), "accept") => wrong.push(format!("{id}: refused: {fault:?}")),
            (Err(Some(fault)), "reject") => {
                let code = case["expect"]["code"].as_str();
                if code.is_some_and(|code| code != fault.kind.code()) {
                    wrong.push(format!("{id}: wrong code: {fault:?}"));
                }
            }
            _ => {}
        }
        // Not a measurement, which `isogloss bench` is for: what is not bounded would take minutes.
        if took > HANG {
            wrong.push(format!("{id}: took {took:?}"));
        }
        if let Ok(validator) = &result {
            wrong.extend(instances(&case, validator).map(|fault| format!("{id}: {fault}")));
        }
    }
    assert!(seen > 120, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn instances<'a>(case: &'a Value, validator: &'a Validator) -> impl Iterator<Item = String> + 'a {
    let instances = case["instances"].as_array().into_iter().flatten();
    instances.filter_map(|instance| {
        let data = match instance.get("unit").and_then(Value::as_str) {
            Some(unit) => {
                let count = usize::try_from(instance["count"].as_u64().unwrap()).unwrap();
                json!(unit.repeat(count) + instance["suffix"].as_str().unwrap())
            }
            None => instance["data"].clone(),
        };
        let start = Instant::now();
        let valid = validator.validate(&data).is_ok();
        if start.elapsed() > HANG {
            return Some(format!("validating took {:?}", start.elapsed()));
        }
        let expected = instance.get("valid").and_then(Value::as_bool);
        (expected.is_some_and(|expected| expected != valid))
            .then(|| format!("an instance is valid: {valid}"))
    })
}

#[test]
fn a_reference_that_leads_out_of_the_schema_is_unsupported_and_says_what_to_do() {
    for keyword in ["$ref", "$dynamicRef"] {
        for uri in [
            "https://example.com/s",
            "file:///etc/passwd",
            "other.json",
            "//evil/s#/a",
        ] {
            let schema = json!({"properties": {"a": {keyword: uri}}});
            let fault = guard(&schema, &SchemaLimits::default()).unwrap_err();
            assert_eq!(fault.kind, Kind::UnsupportedSchema);
            assert_eq!(fault.pointer, format!("/properties/a/{keyword}"));
            assert!(fault.message.contains("never fetched"), "{}", fault.message);
            assert!(fault.message.contains("$defs"), "{}", fault.message);
        }
    }
}

#[test]
fn references_resolve_by_pointer_anchor_and_identity() {
    let schemas = [
        json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}),
        json!({"properties": {"x": {"$ref": "#n"}}, "$defs": {"m": {"$anchor": "n", "type": "integer"}}}),
        json!({"properties": {"x": {"$ref": "#/components/schemas/n"}},
               "components": {"schemas": {"n": {"$ref": "#/components/schemas/m"}, "m": {"type": "integer"}}}}),
        json!({"$id": "https://example.com/s", "properties": {"x": {"$ref": "https://example.com/s#/$defs/n"}},
               "$defs": {"n": {"type": "integer"}}}),
        json!({"$id": "https://example.com/s", "properties": {"x": {"$ref": "n.json"}},
               "$defs": {"n": {"$id": "https://example.com/n.json", "$ref": "#/$defs/i", "$defs": {"i": {"type": "integer"}}}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x/s",
               "properties": {"x": {"$ref": "s#/definitions/n"}}, "definitions": {"n": {"type": "integer"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#",
               "properties": {"x": {"$ref": "#n"}}, "definitions": {"m": {"$id": "#n", "type": "integer"}}}),
        json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"properties": {"x": {"type": "integer"}}}}}),
        json!({"properties": {"y": {"prefixItems": [true, {"type": "integer"}]}, "x": {"$ref": "#/properties/y/prefixItems/1"}}}),
    ];
    for schema in schemas {
        let validator = Validator::compile(&schema).unwrap_or_else(|e| panic!("{schema}: {e:?}"));
        assert!(validator.validate(&json!({"x": 1})).is_ok(), "{schema}");
        assert_eq!(
            validator.validate(&json!({"x": "a"})).unwrap_err().pointer,
            "/x",
            "{schema}"
        );
    }
    for reference in ["#/$defs/no", "#no", "#/$defs/list", "#/type"] {
        let schema = json!({"type": "object", "properties": {"x": {"$ref": reference}}, "$defs": {"list": []}});
        assert_eq!(
            refused(&schema),
            (Kind::InvalidSchema, "/properties/x/$ref".to_owned())
        );
    }
}

#[test]
fn recursion_through_the_value_is_legal_and_recursion_in_place_is_not() {
    let list = json!({
        "type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["v", "next"]
    });
    let validator = Validator::compile(&list).unwrap();
    assert!(
        validator
            .validate(&json!({"v": 1, "next": {"v": 2, "next": null}}))
            .is_ok()
    );
    let breach = validator
        .validate(&json!({"v": 1, "next": {"v": "2", "next": null}}))
        .unwrap_err();
    assert_eq!(
        (breach.pointer.as_str(), breach.rule.as_str()),
        ("/next/v", "type")
    );
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}),
        json!({"properties": {"x": {"if": {"$ref": "#/properties/x"}}}}),
    ] {
        assert_eq!(refused(&schema).0, Kind::UnsupportedSchema, "{schema}");
    }
}

#[test]
fn a_schema_that_no_finite_value_satisfies_is_unsupported() {
    for schema in [
        json!(false),
        json!({"not": {}}),
        json!({"enum": []}),
        json!({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]}),
        json!({"type": "array", "items": {"$ref": "#"}, "minItems": 1}),
        json!({"type": "string", "minLength": 3, "maxLength": 2}),
        json!({"type": "object", "properties": {"a": false}, "required": ["a"]}),
        json!({"anyOf": [false, {"type": "integer", "minimum": 2, "maximum": 1}]}),
    ] {
        assert_eq!(refused(&schema).0, Kind::UnsupportedSchema, "{schema}");
    }
    // What is wrong is said where it can be.
    let closed = |required: &str| json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": [required], "additionalProperties": false});
    let within =
        |schema: Value| json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
    for (schema, pointer) in [
        (closed("citty"), "/required/0"),
        (within(closed("citty")), "/properties/a/required/0"),
        (
            within(json!({"type": "integer", "enum": ["1", "2"]})),
            "/properties/a/enum",
        ),
        (
            json!({"anyOf": [false, within(closed("citty"))]}),
            "/anyOf/1/properties/a/required/0",
        ),
        // Of what the root does not need nothing is said.
        (
            json!({"type": "object", "properties": {"o": {"type": "integer", "enum": ["x"]}, "n": {"type": "integer", "minimum": 3, "maximum": 1}}, "required": ["n"]}),
            "",
        ),
    ] {
        let fault = guard(&schema, &SchemaLimits::default()).unwrap_err();
        assert_eq!(fault.pointer, pointer, "{schema}");
    }
    // Drafts up to 7 ignore what stands beside a reference, and `nullable` takes a null.
    let beside = |draft: &str| json!({"$schema": draft, "$ref": "#/definitions/A", "type": "object", "additionalProperties": false, "required": ["a"], "definitions": {"A": {"properties": {"a": {"type": "integer"}}}}});
    let old = beside("http://json-schema.org/draft-07/schema#");
    assert!(Validator::compile(&old).is_ok());
    let new = beside("https://json-schema.org/draft/2020-12/schema");
    assert_eq!(refused(&new).0, Kind::UnsupportedSchema);
    for (nullable, is_taken) in [(true, true), (false, false)] {
        for schema in [
            json!({"type": "string", "enum": [null], "nullable": nullable}),
            json!({"type": "string", "const": null, "nullable": nullable}),
        ] {
            let within = within(schema);
            assert_eq!(Validator::compile(&within).is_ok(), is_taken, "{within}");
        }
    }
    let other = json!({"type": "string", "enum": [1], "nullable": true});
    assert_eq!(refused(&other).0, Kind::UnsupportedSchema);
    for schema in [
        closed("city"),
        json!({"type": "object", "properties": {"a": closed("citty")}}),
        json!({"type": "number", "enum": [1.5, "x"]}),
        json!({"type": "integer", "enum": [1.0]}),
        json!({"type": ["string", "null"], "enum": [null]}),
    ] {
        assert!(Validator::compile(&schema).is_ok(), "{schema}");
    }
    for schema in [
        json!({"type": "object", "properties": {"n": {"$ref": "#"}}}),
        json!({"type": "array", "items": {"$ref": "#"}}),
        json!({"type": "object", "properties": {"n": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["n"]}),
        json!({"type": ["object", "null"], "properties": {"n": {"$ref": "#"}}, "required": ["n"]}),
        json!(true),
        json!({}),
    ] {
        assert!(Validator::compile(&schema).is_ok(), "{schema}");
    }
}

#[test]
fn every_limit_holds_at_its_number_and_refuses_one_more() {
    let limits = SchemaLimits {
        depth: 4,
        ref_depth: 3,
        paths: 20,
        properties: 6,
        optional_properties: 3,
        enum_values: 3,
        patterns: 2,
        pattern_bytes: 8,
        patterns_bytes: 10,
        pattern_states: 20,
        branches: 6,
        name_bytes: 5,
        recursive_definitions: 2,
        text_bytes: 600,
    };
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"items": inner}));
    let refs = |links: usize| {
        let mut defs = serde_json::Map::new();
        for link in 0..links {
            defs.insert(
                format!("d{link}"),
                json!({"$ref": format!("#/$defs/d{}", link + 1)}),
            );
        }
        defs.insert(format!("d{links}"), json!({}));
        json!({"$defs": defs})
    };
    let doubling = |links: usize| {
        let mut defs = serde_json::Map::new();
        for link in 0..links {
            let next = json!({"$ref": format!("#/$defs/d{}", link + 1)});
            defs.insert(format!("d{link}"), json!({"allOf": [next, next]}));
        }
        defs.insert(format!("d{links}"), json!({}));
        json!({"$defs": defs})
    };
    let optional = |count: usize| {
        let names = (0..count)
            .map(|i| (i.to_string(), json!({})))
            .collect::<serde_json::Map<_, _>>();
        json!({"properties": names})
    };
    let any = |count: usize| json!({"anyOf": vec![json!({}); count]});
    let cycle = |count: usize| {
        let mut defs = serde_json::Map::new();
        for link in 0..count {
            let next = json!({"$ref": format!("#/$defs/d{}", (link + 1) % count)});
            defs.insert(format!("d{link}"), json!({"items": next}));
        }
        json!({"$defs": defs})
    };
    let two = |a: usize, b: usize| json!({"items": optional(a), "not": optional(b)});
    let cases = [
        ("depth", nested(4), nested(5)),
        ("references in a row", refs(3), refs(4)),
        (
            "paths",
            doubling(1),
            json!({"items": doubling(2), "anyOf": vec![nested(1); 6], "$defs": doubling(2)["$defs"]}),
        ),
        (
            "branches",
            json!({"allOf": [any(2), any(3)]}),
            json!({"allOf": [any(2), any(4)]}),
        ),
        ("optional properties", optional(3), optional(4)),
        (
            "properties",
            two(3, 3),
            json!({"items": two(3, 3), "not": optional(1)}),
        ),
        (
            "enum values",
            json!({"enum": [1, 2, 3]}),
            json!({"enum": [1, 2, 3, 4]}),
        ),
        (
            "patterns",
            json!({"pattern": "a", "patternProperties": {"b": {}}}),
            json!({"pattern": "a", "patternProperties": {"b": {}, "c": {}}}),
        ),
        (
            "bytes of a pattern",
            json!({"pattern": "12345678"}),
            json!({"pattern": "123456789"}),
        ),
        (
            "bytes of patterns",
            json!({"pattern": "12345", "not": {"pattern": "12345"}}),
            json!({"pattern": "12345", "not": {"pattern": "123456"}}),
        ),
        (
            "pattern states",
            json!({"pattern": "a{19}"}),
            json!({"pattern": "a{21}"}),
        ),
        (
            "names",
            json!({"properties": {"12345": {}}}),
            json!({"properties": {"123456": {}}}),
        ),
        ("recursive definitions", cycle(2), cycle(3)),
        (
            "text",
            json!({"description": "x".repeat(500)}),
            json!({"description": "x".repeat(600)}),
        ),
    ];
    for (what, within, over) in cases {
        let within = guard(&within, &limits);
        assert_eq!(within, Ok(()), "{what}");
        let fault = guard(&over, &limits).expect_err(what);
        assert_eq!(fault.kind, Kind::SchemaTooComplex, "{what}: {fault:?}");
    }
}

#[test]
fn patterns_that_need_backtracking_are_named_with_their_place() {
    let schema = json!({"properties": {"a": {"pattern": r"(x)\1"}}});
    assert_eq!(
        refused(&schema),
        (Kind::UnsupportedSchema, "/properties/a/pattern".to_owned())
    );
    let schema = json!({"patternProperties": {"(?!x)y": {}}});
    assert_eq!(refused(&schema).1, "/patternProperties/(?!x)y");
    let schema = json!({"patternProperties": {r"(a)\1": {}}});
    assert_eq!(refused(&schema).1, r"/patternProperties/(a)\1");
    let schema = json!({"properties": {"a": {"pattern": "("}}});
    assert_eq!(
        refused(&schema),
        (Kind::InvalidSchema, "/properties/a/pattern".to_owned())
    );
}

#[test]
fn a_schema_that_is_none_says_where() {
    assert_eq!(
        refused(&json!({"required": "a"})),
        (Kind::InvalidSchema, "/required".to_owned())
    );
    assert_eq!(
        refused(&json!({"items": {"type": "strin"}})),
        (Kind::InvalidSchema, "/items/type".to_owned())
    );
    let inner = json!({"type": "object", "required": ["a"]});
    for (wrapper, at) in [
        (
            json!({"name": "s", "strict": true, "schema": inner}),
            "/schema",
        ),
        (
            json!({"type": "json_schema", "json_schema": {"name": "s", "schema": inner}}),
            "/json_schema",
        ),
        (json!({"type": "STRING"}), "/type"),
        (
            json!({"properties": {"a": {"type": ["string", "any"]}}}),
            "/properties/a/type",
        ),
    ] {
        assert_eq!(refused(&wrapper), (Kind::InvalidSchema, at.to_owned()));
    }
    // A property may have any name, and what is no wrapper may have other words.
    for schema in [
        json!({"properties": {"schema": inner, "type": {"enum": ["STRING"]}}}),
        json!({"schema": "public"}),
    ] {
        assert!(Validator::compile(&schema).is_ok(), "{schema}");
    }
    assert_eq!(refused(&json!(3)).0, Kind::InvalidSchema);
    assert_eq!(
        refused(&json!({"$schema": "urn:mine"})).0,
        Kind::UnsupportedSchema
    );
}

#[test]
fn a_breach_names_place_rule_and_expectation_and_quotes_no_value() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 3},
            "s": {"type": "string", "format": "date"},
            "e": {"enum": ["red", "green"]},
            "a/b": {"type": "array", "maxItems": 1},
            "u": {"anyOf": [
                {"type": "object", "properties": {"k": {"const": 1}, "v": {"type": "integer"}}, "required": ["k", "v"]},
                {"type": "null"}
            ]}
        },
        "required": ["n"],
        "additionalProperties": false
    });
    let text = |text: &str| text.to_owned();
    let secret = "secret-of-the-reply";
    let cases = [
        (
            json!({"n": secret}),
            "/n",
            "type",
            "expected integer, got string",
        ),
        (
            json!({"n": 1}),
            "/n",
            "minimum",
            "is less than the minimum 3",
        ),
        (
            json!({}),
            "",
            "required",
            "the required property `n` is missing",
        ),
        (
            json!({"n": 3, "s": secret}),
            "/s",
            "format",
            "is not of the format `date`",
        ),
        (
            json!({"n": 3, "e": secret}),
            "/e",
            "enum",
            "is none of the 2 values that `enum` allows",
        ),
        (
            json!({"n": 3, "a/b": [secret, 2]}),
            "/a~1b",
            "maxItems",
            "has more than 1 items",
        ),
        (
            json!({"n": 3, "x": secret}),
            "",
            "additionalProperties",
            "the schema does not allow the properties `x`",
        ),
        (
            json!({"n": 3, "u": {"k": 1, "v": secret}}),
            "/u/v",
            "type",
            "expected integer, got string",
        ),
        (
            json!({"n": 3, "u": {"k": 1}}),
            "/u",
            "required",
            "the required property `v` is missing",
        ),
        (
            json!({"n": 3, "u": secret}),
            "/u",
            "anyOf",
            "satisfies none of the 2 alternatives",
        ),
    ];
    for (value, pointer, rule, message) in cases {
        let found = breach(&schema, &value);
        assert_eq!(found, (text(pointer), text(rule), text(message)), "{value}");
    }
}

#[test]
fn a_deep_value_neither_overflows_a_small_stack_nor_multiplies_the_work() {
    // Every level goes through sixty schemas in a row, and a value nests a hundred levels.
    let mut defs = serde_json::Map::new();
    for link in 0..58 {
        defs.insert(
            format!("d{link}"),
            json!({"$ref": format!("#/$defs/d{}", link + 1)}),
        );
    }
    defs.insert(
        "d58".to_owned(),
        json!({"items": {"$ref": "#/$defs/d0"}, "type": "array"}),
    );
    let chain = json!({"$ref": "#/$defs/d0", "$defs": defs});
    // Both branches look at the same part of the value: 2^100 ways, were they all walked.
    let branch = |name: &str| json!({"type": "object", "properties": {"c": {"$ref": "#/$defs/t"}}, "required": [name]});
    let tree = json!({"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [branch("x"), branch("y"), {"type": "null"}]}}});
    let unevaluated = json!({"$ref": "#/$defs/t", "$defs": {"t": {
        "anyOf": [branch("x"), branch("y"), {"type": "null"}], "unevaluatedProperties": false}}});
    let array = (0..100).fold(json!([]), |inner, _| json!([inner]));
    let wrong = (0..100).fold(json!([3]), |inner, _| json!([inner]));
    let object = (0..100).fold(json!({}), |inner, _| json!({"c": inner}));
    let run = move || {
        let chain = Validator::compile(&chain).unwrap();
        assert!(chain.validate(&array).is_ok());
        assert!(chain.validate(&wrong).is_err());
        for schema in [tree, unevaluated] {
            let start = Instant::now();
            assert!(
                Validator::compile(&schema)
                    .unwrap()
                    .validate(&object)
                    .is_err()
            );
            assert!(start.elapsed() < HANG, "{:?}", start.elapsed());
        }
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_large_value_that_fails_alternatives_is_refused_without_collecting_every_error() {
    let branches: Vec<_> = (0..100)
        .map(|n| json!({"items": {"const": format!("a{n}")}}))
        .collect();
    let validator = Validator::compile(&json!({"anyOf": branches})).unwrap();
    let start = Instant::now();
    let breach = validator.validate(&json!(vec![1; 100_000])).unwrap_err();
    assert!(start.elapsed() < HANG, "{:?}", start.elapsed());
    assert_eq!(breach.rule, "schema");
    assert_eq!(validator.validate(&json!([1])).unwrap_err().rule, "anyOf");
}

#[test]
fn real_schemas_agree_with_their_labels() {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(data) = std::fs::read_to_string(format!("{folder}/schemas.jsonl")) else {
        println!("skipped: no {folder}/schemas.jsonl (set ISOGLOSS_DATA)");
        return;
    };
    let (mut compiled, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for line in data.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap_or_default();
        match Validator::compile(&case["schema"]) {
            Ok(validator) => {
                compiled += 1;
                for test in case["tests"].as_array().into_iter().flatten() {
                    let result = validator.validate(&test["data"]);
                    let labels = [&test["valid"], &test["valid_no_format"]];
                    if !labels.contains(&&json!(result.is_ok())) {
                        wrong.push(format!("{id}: {result:?}"));
                    }
                }
            }
            Err(fault) => refused.push(format!(
                "{id}: {} {} {}",
                fault.kind.code(),
                fault.pointer,
                fault.message
            )),
        }
    }
    println!("{compiled} compiled; refused: {refused:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        refused.len() * 50 <= compiled,
        "{compiled} compiled, {} refused",
        refused.len()
    );
}

#[test]
fn minus_zero_is_an_integer_in_draft_4_too() {
    let schema =
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "items": {"type": "integer"}});
    let validator = Validator::compile(&schema).unwrap();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert!(validator.validate(&read("[-0, 1]")).is_ok());
    assert!(validator.validate(&read("[-0, 1.5]")).is_err());
}

#[test]
fn a_format_is_checked_whatever_the_draft() {
    for draft in ["draft-04", "draft-06", "draft-07"] {
        let uri = format!("http://json-schema.org/{draft}/schema#");
        for (format, right) in [
            ("uuid", "8f14e45f-ceea-467f-9e5b-d2b0a1b0c1d2"),
            ("duration", "PT5M"),
            ("json-pointer", "/a"),
            ("email", "a@example.org"),
        ] {
            let schema = json!({"$schema": uri, "type": "string", "format": format});
            let validator = Validator::compile(&schema).unwrap();
            assert!(validator.validate(&json!(right)).is_ok(), "{schema}");
            assert!(validator.validate(&json!("no such")).is_err(), "{schema}");
        }
    }
}
