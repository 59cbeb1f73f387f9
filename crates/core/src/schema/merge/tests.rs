use super::super::{SchemaLimits, Validator, guard};
use super::{Alternatives, Callable, CallableInput, bare, envelope};
use serde_json::{Value, json};

fn function<'a>(name: &'a str, schema: &'a Value) -> Callable<'a> {
    Callable {
        name,
        input: CallableInput::Schema(schema),
    }
}

#[test]
fn one_tool_needs_no_choice_and_several_have_one() {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let branch = |name: &str| {
        json!({
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [name]}, "arguments": city},
            "required": ["name", "arguments"],
            "additionalProperties": false
        })
    };
    assert_eq!(
        envelope(&[function("a", &city)], Alternatives::Call),
        branch("a")
    );
    let both = [function("a", &city), function("b", &city)];
    assert_eq!(
        envelope(&both, Alternatives::Call),
        json!({"anyOf": [branch("a"), branch("b")]})
    );
    assert_eq!(
        envelope(&both, Alternatives::Calls { max: Some(2) }),
        json!({"type": "array", "items": {"anyOf": [branch("a"), branch("b")]}, "minItems": 1, "maxItems": 2})
    );
    let answer = json!({"type": "integer"});
    let answered = json!({
        "type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": false
    });
    assert_eq!(
        envelope(&both[..1], Alternatives::CallOrAnswer { answer: &answer }),
        json!({"anyOf": [branch("a"), answered]})
    );
    assert_eq!(bare(&city), city);
}

#[test]
fn a_custom_tool_takes_a_text_of_its_pattern() {
    let tool = Callable {
        name: "sh",
        input: CallableInput::Text {
            pattern: Some("^ls.*$"),
        },
    };
    let schema = Validator::compile(&envelope(&[tool], Alternatives::Call)).unwrap();
    assert!(
        schema
            .validate(&json!({"name": "sh", "input": "ls -l"}))
            .is_ok()
    );
    assert!(
        schema
            .validate(&json!({"name": "sh", "input": "rm"}))
            .is_err()
    );
    assert!(
        schema
            .validate(&json!({"name": "sh", "arguments": "ls"}))
            .is_err()
    );
}

#[test]
fn definitions_move_to_the_root_and_keep_their_names_where_they_can() {
    let one = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/P"}, "q": {"$ref": "#/$defs/Q"}},
        "$defs": {"P": {"type": "string"}, "Q": {"items": {"$ref": "#/$defs/P"}}}
    });
    let mut other = one.clone();
    other["$defs"]["P"] = json!({"type": "integer"});
    let merged = envelope(
        &[
            function("a", &one),
            function("b", &one),
            function("c", &other),
        ],
        Alternatives::Call,
    );
    let definitions: Vec<_> = merged["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(
        definitions,
        ["P", "Q", "c.P", "c.Q"],
        "the same definition is there once"
    );
    assert_eq!(
        merged["$defs"]["c.Q"],
        json!({"items": {"$ref": "#/$defs/c.P"}})
    );
    assert_eq!(
        merged["anyOf"][2]["properties"]["arguments"]["properties"]["q"]["$ref"],
        "#/$defs/c.Q"
    );
    assert!(!merged.to_string().contains("$schema"));
}

#[test]
fn a_reference_in_data_is_left_alone() {
    let schema = json!({
        "properties": {"$ref": {"const": {"$ref": "#/$defs/x"}}, "y": {"default": {"$ref": "#"}, "$ref": "#/$defs/x"}},
        "enum": [{"$ref": "#"}],
        "$defs": {"x": true}
    });
    let merged = envelope(
        &[
            function("t", &schema),
            function("u", &json!({"$defs": {"x": false}})),
        ],
        Alternatives::Call,
    );
    let copy = &merged["anyOf"][0]["properties"]["arguments"];
    assert_eq!(copy["properties"], schema["properties"]);
    assert_eq!(copy["enum"], schema["enum"]);
}

/// Schemas whose references are of every kind, with instances and whether they are valid.
fn zoo() -> Vec<(Value, Vec<(Value, bool)>)> {
    let tree =
        |leaf: &str| json!({"v": 1, "next": [{"v": 2, "next": []}, {"v": leaf, "next": []}]});
    vec![
        (
            json!({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"type": "array", "items": {"$ref": "#"}}}, "required": ["v"]}),
            vec![
                (json!({"v": 1, "next": [{"v": 2}]}), true),
                (tree("x"), false),
                (json!({}), false),
            ],
        ),
        (
            json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {"v": {"type": "string"}, "next": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["v"]}}}),
            vec![
                (json!({"v": "a", "next": [{"v": "b"}]}), true),
                (json!({"v": "a", "next": [{"v": 1}]}), false),
            ],
        ),
        (
            json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {"v": {"type": "boolean"}, "p": {"$ref": "#"}}, "required": ["v"]}}}),
            vec![
                (json!({"v": true, "p": {"v": false}}), true),
                (json!({"v": true, "p": {"v": 1}}), false),
            ],
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://x/t",
                   "properties": {"a": {"$ref": "#/definitions/Node", "type": "string"}, "b": {"$ref": "https://x/t#/properties/a"}, "c": {"$ref": "#anchor"}},
                   "definitions": {"Node": {"type": "integer"}, "m": {"$id": "#anchor", "type": "null"}}, "required": ["a"]}),
            vec![
                (json!({"a": 1, "b": 2, "c": null}), true),
                (json!({"a": "x"}), false),
                (json!({"a": 1, "b": "x"}), false),
                (json!({"a": 1, "c": 1}), false),
            ],
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
                   "properties": {"n": {"type": "number", "minimum": 1, "exclusiveMinimum": true}, "t": {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false}},
                   "dependencies": {"t": ["n"], "u": {"required": ["t"]}}}),
            vec![
                (json!({"n": 1.5, "t": ["a", 1]}), true),
                (json!({"n": 1}), false),
                (json!({"n": 2, "t": ["a", 1, 2]}), false),
                (json!({"t": []}), false),
                (json!({"u": 1}), false),
            ],
        ),
        (
            json!({"$defs": {"a/b #%": {"type": "string"}, "é": {"$anchor": "e", "type": "integer"}}, "type": "object",
                   "properties": {"a": {"$ref": "#/$defs/a~1b%20%23%25"}, "b": {"$ref": "#e"}, "c": {"$ref": "#/$defs/%C3%A9"}}}),
            vec![
                (json!({"a": "x", "b": 1, "c": 2}), true),
                (json!({"a": 1}), false),
                (json!({"b": "x"}), false),
                (json!({"c": "x"}), false),
            ],
        ),
        (
            json!({"type": "object", "properties": {"x": {"$dynamicRef": "#n"}}, "$defs": {"Node": {"$dynamicAnchor": "n", "type": "array", "items": {"$dynamicRef": "#n"}}}}),
            vec![
                (json!({"x": [[], [[]]]}), true),
                (json!({"x": [[1]]}), false),
            ],
        ),
        (json!({}), vec![(json!(1), true), (json!({}), true)]),
        (json!(true), vec![(json!(null), true)]),
    ]
}

fn check(cases: &[(Value, Vec<(Value, bool)>)]) -> usize {
    let names: Vec<_> = (0..cases.len())
        .map(|index| format!("tool.{index} é#/"))
        .collect();
    let tools: Vec<_> = cases
        .iter()
        .zip(&names)
        .map(|((schema, _), name)| function(name, schema))
        .collect();
    let merged = envelope(&tools, Alternatives::Call);
    guard(&merged, &SchemaLimits::default())
        .unwrap_or_else(|fault| panic!("{fault:?}\n{merged:#}"));
    let one = Validator::compile(&merged).unwrap_or_else(|fault| panic!("{fault:?}\n{merged:#}"));
    let several = Validator::compile(&envelope(&tools, Alternatives::Calls { max: None })).unwrap();
    let mut checked = 0;
    for (name, (schema, instances)) in names.iter().zip(cases) {
        for (instance, valid) in instances {
            let call = json!({"name": name, "arguments": instance});
            assert_eq!(
                one.validate(&call).is_ok(),
                *valid,
                "{schema}\n{instance}\n{merged:#}"
            );
            assert_eq!(
                several.validate(&json!([call])).is_ok(),
                *valid,
                "{schema}\n{instance}"
            );
            checked += 1;
        }
    }
    checked
}

#[test]
fn a_call_is_valid_exactly_if_its_arguments_are_valid_for_its_tool() {
    let zoo = zoo();
    for (schema, instances) in &zoo {
        let validator = Validator::compile(schema).unwrap();
        for (instance, valid) in instances {
            assert_eq!(
                validator.validate(instance).is_ok(),
                *valid,
                "{schema} {instance}"
            );
        }
    }
    check(&zoo);
    // The same again in each order of two: who comes first keeps its names.
    for first in &zoo {
        for second in &zoo {
            check(&[first.clone(), second.clone()]);
        }
    }
}

#[test]
fn a_definition_is_shared_only_if_all_that_it_refers_to_is_the_same() {
    let tool = |e: &str, valid: Value, invalid: Value| {
        let schema = json!({
            "properties": {"d": {"$ref": "#/$defs/D"}},
            "$defs": {"D": {"items": {"$ref": "#/$defs/E"}}, "E": {"type": e}}
        });
        (
            schema,
            vec![
                (json!({"d": [valid]}), true),
                (json!({"d": [invalid]}), false),
            ],
        )
    };
    let integer = tool("integer", json!(1), json!("a"));
    let string = tool("string", json!("a"), json!(1));
    let only_e = (
        json!({"$ref": "#/$defs/E", "$defs": {"E": {"type": "integer"}}}),
        vec![(json!(1), true)],
    );
    let mut old = integer.clone();
    old.0["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    let all = [only_e, string, integer, old];
    check(&all);
    let mut reversed = all;
    reversed.reverse();
    check(&reversed);
}

#[test]
fn real_schemas_keep_their_meaning_when_merged() {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(data) = std::fs::read_to_string(format!("{folder}/schemas.jsonl")) else {
        println!("skipped: no {folder}/schemas.jsonl (set ISOGLOSS_DATA)");
        return;
    };
    let mut cases = Vec::new();
    for line in data.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Ok(alone) = Validator::compile(&case["schema"]) else {
            continue;
        };
        let tests = case["tests"].as_array().into_iter().flatten();
        let instances =
            tests.map(|test| (test["data"].clone(), alone.validate(&test["data"]).is_ok()));
        // Small ones, such that four of them stay within the limits of one.
        if case["schema"].to_string().len() < 8_000 {
            cases.push((case["schema"].clone(), instances.collect::<Vec<_>>()));
        }
    }
    let checked: usize = cases.chunks(4).map(check).sum();
    assert!(checked > 500, "{checked}");
}

#[test]
fn tools_of_real_clients_merge() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let Ok(clients) = std::fs::read_dir(format!("{folder}/clients")) else {
        println!("skipped: no {folder}/clients (set ISOGLOSS_CAPTURES)");
        return;
    };
    let mut merged = 0;
    for client in clients.flatten() {
        for file in std::fs::read_dir(client.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            let Ok(capture) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            for tools in tool_lists(&capture) {
                let tools: Vec<_> = tools
                    .iter()
                    .map(|(name, schema)| function(name, schema))
                    .collect();
                let schema = envelope(&tools, Alternatives::Calls { max: None });
                let result = Validator::compile(&schema);
                assert!(result.is_ok(), "{:?}: {result:?}", file.path());
                merged += 1;
            }
        }
    }
    assert!(merged > 20, "{merged}");
}

/// Every list of tools in a capture, whichever dialect it is in.
fn tool_lists(value: &Value) -> Vec<Vec<(String, Value)>> {
    let mut found = Vec::new();
    match value {
        Value::Object(map) => {
            let tools = map
                .get("tools")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let list: Vec<_> = tools
                .filter_map(|tool| {
                    let tool = tool.get("function").unwrap_or(tool);
                    let schema = tool
                        .get("parameters")
                        .or_else(|| tool.get("input_schema"))?;
                    Some((tool.get("name")?.as_str()?.to_owned(), schema.clone()))
                })
                .collect();
            if !list.is_empty() {
                found.push(list);
            }
            found.extend(map.values().flat_map(tool_lists));
        }
        Value::Array(items) => found.extend(items.iter().flat_map(tool_lists)),
        _ => {}
    }
    found
}
