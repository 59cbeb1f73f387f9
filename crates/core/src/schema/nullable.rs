//! OpenAPI's `nullable: true`: a schema comes in; the same demand in JSON Schema's own words goes
//! out.
//!
//! JSON Schema does not know the word and ignores it, so a validator would refuse the `null` that
//! the client expressly allows. Google's clients and smolagents send it, and servers whose
//! converters know OpenAPI act on it.
//!
//! `enum` and `const` are not widened: a clarification of OpenAPI 3.0.3 says that `nullable` adds
//! `null` to the `type` alone, and that an `enum` which allows it must list it.

use super::position::{Child, children, rewrite};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The schema with `null` allowed wherever it says `nullable: true`; borrowed where it says so
/// nowhere.
#[must_use]
pub fn honour(schema: &Value) -> Cow<'_, Value> {
    if !mentions(schema) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut rewrite_one);
    Cow::Owned(schema)
}

fn mentions(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return false;
    };
    map.get("nullable") == Some(&Value::Bool(true))
        || children(map).any(|Child { value, .. }| mentions(value))
}

fn rewrite_one(map: &mut Map<String, Value>) {
    if map.remove("nullable") == Some(Value::Bool(true)) {
        allow_null(map);
    }
}

/// Widens in place, so that references into the schema keep leading where they led.
fn allow_null(map: &mut Map<String, Value>) {
    match map.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push(json!("null")),
        Some(one @ Value::String(_)) if *one != "null" => *one = json!([one.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.push(json!({"type": "null"}));
    }
    // What else constrains a null has to become one branch of two.
    const OTHERS: [&str; 9] = [
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
    ];
    let mut branch = Map::new();
    for keyword in OTHERS {
        if let Some(value) = map.shift_remove(keyword) {
            branch.insert(keyword.to_owned(), value);
        }
    }
    if branch.is_empty() {
        return;
    }
    let either = json!([Value::Object(branch), {"type": "null"}]);
    match map.shift_remove("anyOf") {
        None => map.insert("anyOf".to_owned(), either),
        Some(any) => map.insert(
            "allOf".to_owned(),
            json!([{"anyOf": any}, {"anyOf": either}]),
        ),
    };
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::super::Validator;
    use super::honour;
    use serde_json::{Value, json};

    fn accepts(schema: &Value, instance: &Value) -> bool {
        Validator::compile(schema)
            .unwrap()
            .validate(instance)
            .is_ok()
    }

    #[test]
    fn null_is_allowed_beside_every_kind_of_constraint() {
        let schemas = [
            json!({"type": "string"}),
            json!({"type": ["string", "integer"]}),
            json!({"enum": ["a", null]}),
            json!({"type": "string", "enum": ["a", null]}),
            json!({"$ref": "#/$defs/s"}),
            json!({"anyOf": [{"type": "string"}]}),
            json!({"allOf": [{"$ref": "#/$defs/s"}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string"}], "allOf": [{"minLength": 1, "type": "string"}]}),
            json!({"type": "string", "not": {"type": "null"}}),
        ];
        for inner in schemas {
            let mut inner = inner;
            inner["nullable"] = json!(true);
            let schema = json!({"$defs": {"s": {"type": "string"}}, "properties": {"x": inner}});
            assert!(accepts(&schema, &json!({"x": null})), "{schema}");
            assert!(accepts(&schema, &json!({"x": "a"})), "{schema}");
            assert!(!accepts(&schema, &json!({"x": [1]})), "{schema}");
        }
    }

    #[test]
    fn an_enum_lists_null_itself_or_does_not_allow_it() {
        for schema in [
            json!({"type": "string", "enum": ["a"], "nullable": true}),
            json!({"enum": ["a"], "nullable": true}),
            json!({"type": "string", "const": "a", "nullable": true}),
            json!({"anyOf": [{"type": "string"}], "enum": ["a"], "nullable": true}),
        ] {
            assert!(!accepts(&schema, &Value::Null), "{schema}");
            assert!(accepts(&schema, &json!("a")), "{schema}");
        }
    }

    #[test]
    fn a_property_named_nullable_is_only_a_name() {
        let schema = json!({
            "properties": {"nullable": {"type": "boolean"}},
            "default": {"nullable": true}
        });
        assert!(matches!(honour(&schema), std::borrow::Cow::Borrowed(_)));
        assert!(!accepts(&schema, &json!({"nullable": null})));
        let off = json!({"type": "string", "nullable": false});
        assert!(!accepts(&off, &Value::Null));
    }
}
