//! Schemas and values of a small world, so that they often meet.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Any value of the world.
pub(crate) fn instance() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..4_i64).prop_map(Value::from),
        Just(json!(1.5)),
        "[ab1]{0,3}".prop_map(Value::from),
        Just(json!("a\"b")),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|named| Value::Object(named.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "kind"]).prop_map(str::to_owned)
}

/// A schema with two definitions, the second of which refers to itself.
pub(crate) fn schema() -> impl Strategy<Value = Value> {
    (part(), part(), part()).prop_map(|(mut root, one, other)| {
        let other = json!({"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/other"}}}, other]});
        if let Value::Object(map) = &mut root {
            map.insert("$defs".to_owned(), json!({"one": without_references(&one), "other": without_references_but(&other)}));
        }
        root
    })
}

/// A definition that refers to others could go round for ever.
fn without_references(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| *name != "$ref")
            .map(|(name, value)| (name.clone(), without_references(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_references).collect(),
        other => other.clone(),
    }
}

fn without_references_but(other: &Value) -> Value {
    let mut new = other.clone();
    new["anyOf"][1] = without_references(&other["anyOf"][1]);
    new
}

fn part() -> impl Strategy<Value = Value> {
    keywords(leaf().boxed()).prop_recursive(2, 16, 4, |inner| keywords(inner.boxed()))
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "object"})),
        Just(json!({"$ref": "#/$defs/one"})),
        Just(json!({"$ref": "#/$defs/other"})),
        Just(json!({"const": "a"})),
        Just(json!({"enum": ["a", 1, null]})),
        Just(json!({"required": ["a"]})),
        Just(json!({"type": "string", "nullable": true})),
    ]
}

/// An object of one to four keywords.
fn keywords(inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let branches = || prop::collection::vec(inner.clone(), 1..4);
    let named = |keyword: &'static str, value: BoxedStrategy<Value>| {
        value
            .prop_map(move |value| (keyword.to_owned(), value))
            .boxed()
    };
    let number = || (0..3_i64).prop_map(Value::from).boxed();
    let many = || branches().prop_map(Value::from).boxed();
    let select = |values: Vec<Value>| prop::sample::select(values).boxed();
    let properties = prop::collection::vec((name(), inner.clone()), 0..3)
        .prop_map(|named| Value::Object(named.into_iter().collect()))
        .boxed();
    let types = select(vec![
        json!("object"),
        json!("string"),
        json!("integer"),
        json!("number"),
        json!(["object", "null"]),
        json!(["string", "integer"]),
    ]);
    let patterns = select(vec![
        json!("a"),
        json!("^a"),
        json!("b$"),
        json!("^[ab]{1,2}$"),
        json!("^a|b"),
        json!(".*"),
    ]);
    let keyword = prop_oneof![
        4 => named("type", types),
        3 => named("properties", properties.clone()),
        2 => named("required", select(vec![json!(["a"]), json!(["a", "kind"]), json!([])])),
        2 => named("additionalProperties", prop_oneof![Just(json!(false)), Just(json!(true)), inner.clone()].boxed()),
        1 => named("patternProperties", properties.prop_map(|named| json!({"^a": named.get("a").unwrap_or(&json!(true))})).boxed()),
        2 => named("anyOf", many()),
        2 => named("oneOf", many()),
        2 => named("allOf", many()),
        1 => named("enum", select(vec![json!(["a", "b", 1]), json!([1, 2, null]), json!([{"a": 1}])])),
        1 => named("const", select(vec![json!("a"), json!(1), json!({"kind": "a"})])),
        1 => named("$ref", select(vec![json!("#/$defs/one"), json!("#/$defs/other")])),
        2 => named("pattern", patterns),
        1 => named("format", select(vec![json!("date"), json!("iri")])),
        1 => named("minLength", number()),
        1 => named("maxLength", number()),
        1 => named("minimum", number()),
        1 => named("exclusiveMaximum", number()),
        1 => named("multipleOf", Just(json!(2)).boxed()),
        1 => named("minProperties", number()),
        1 => named("items", inner.clone()),
        1 => named("prefixItems", many()),
        1 => named("minItems", number()),
        1 => named("uniqueItems", Just(json!(true)).boxed()),
        1 => named("contains", inner.clone()),
        1 => named("maxContains", Just(json!(1)).boxed()),
        1 => named("not", inner.clone()),
        1 => named("if", inner.clone()),
        1 => named("then", inner.clone()),
        1 => named("unevaluatedProperties", Just(json!(false)).boxed()),
        1 => named("nullable", Just(json!(true)).boxed()),
        1 => named("title", Just(json!("a title")).boxed()),
    ];
    prop::collection::vec(keyword, 1..4)
        .prop_map(|keywords| Value::Object(keywords.into_iter().collect()))
        .boxed()
}
