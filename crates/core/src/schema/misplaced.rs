//! A schema that says nothing of JSON Schema's, though it was meant to say something: a map of properties without what
//! stands around it, `properties` under another name, or all of it in another object. It would allow anything, and nobody would
//! hear of it; `OpenAI` refuses the first two ("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'": browserbase/stagehand#1159).

use super::SchemaFault;
use crate::error::repeatable;
use serde_json::{Map, Value};

/// Keywords that say what is allowed, but for those that say nothing of an object whose properties stand elsewhere (`required`,
/// `additionalProperties` as a boolean).
const SAYING: [&str; 44] = [
    "$defs",
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "nullable",
];

/// Keywords that only tell of it, whatever their values are.
const TELLING: [&str; 11] = [
    "additionalProperties",
    "default",
    "discriminator",
    "enumDescriptions",
    "errorMessage",
    "example",
    "examples",
    "externalDocs",
    "required",
    "type",
    "xml",
];

/// Refuses such a schema.
pub(super) fn check(schema: &Value) -> Result<(), SchemaFault> {
    let Some(map) = schema.as_object() else {
        return Ok(());
    };
    check_wrapper(map)?;
    let is_object = match map.get("type") {
        Some(Value::String(kind)) => kind == "object",
        // A property of that name.
        None | Some(Value::Object(_)) => true,
        Some(_) => false,
    };
    let is_open = |value: &Value| !value.is_boolean();
    let others = map.get("additionalProperties").is_some_and(is_open);
    let says = |name: &String| SAYING.contains(&name.as_str());
    if !is_object || others || map.keys().any(says) {
        return Ok(());
    }
    let is_untyped = !map.get("type").is_some_and(Value::is_string);
    let Some((name, value)) = map
        .iter()
        .find(|(name, value)| is_meant(name, value, is_untyped))
    else {
        return Ok(());
    };
    let name = repeatable(name);
    let message = match value.as_object().is_some_and(holds_schemas) {
        true => format!(
            "`{name}` is no keyword of JSON Schema, and without one any object is allowed: is it `properties`?"
        ),
        false => format!(
            "`{name}` is no keyword of JSON Schema, and without one anything is allowed: put the properties under \
             `properties`, beside \"type\": \"object\""
        ),
    };
    Err(SchemaFault::invalid("", message))
}

/// What stands around a schema in some dialects (`{"name": …, "schema": {…}}`) has no keyword of JSON Schema in it: it
/// would allow anything.
fn check_wrapper(map: &Map<String, Value>) -> Result<(), SchemaFault> {
    const AROUND: [&str; 6] = [
        "type",
        "name",
        "description",
        "strict",
        "schema",
        "json_schema",
    ];
    let inner = ["schema", "json_schema"]
        .into_iter()
        .find(|name| map.get(*name).is_some_and(Value::is_object));
    match inner.filter(|_| map.keys().all(|name| AROUND.contains(&name.as_str()))) {
        Some(inner) => Err(SchemaFault::invalid(
            format!("/{inner}"),
            format!("the schema stands in another object, under `{inner}`: send what is in there"),
        )),
        None => Ok(()),
    }
}

/// Whether a member is meant to say what is allowed.
fn is_meant(name: &str, value: &Value, is_untyped: bool) -> bool {
    /// Types, in the words of people who write no JSON Schema.
    const WORDS: [&str; 12] = [
        "array", "bool", "boolean", "date", "dict", "float", "int", "integer", "list", "number",
        "str", "string",
    ];
    let tells = TELLING.contains(&name) && (name != "type" || !value.is_object());
    if tells || name.starts_with("x-") || name.starts_with('$') {
        return false;
    }
    match value {
        Value::Object(map) => is_schema(map) || holds_schemas(map),
        // Of all that is there, since a title may be one of them.
        Value::String(word) => is_untyped && !is_note(name) && WORDS.contains(&word.as_str()),
        _ => false,
    }
}

fn is_note(name: &str) -> bool {
    ["title", "description", "name", "id"].contains(&name)
}

/// Whether an object is a schema, to all appearances.
fn is_schema(map: &Map<String, Value>) -> bool {
    let kind = map.get("type");
    kind.is_some_and(|kind| kind.is_string() || kind.is_array())
        || ["$ref", "anyOf", "oneOf", "allOf", "enum", "properties"]
            .iter()
            .any(|keyword| map.contains_key(*keyword))
}

/// Whether an object holds schemas alone.
fn holds_schemas(map: &Map<String, Value>) -> bool {
    !map.is_empty()
        && map
            .values()
            .all(|value| value.as_object().is_some_and(is_schema))
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::json;

    #[test]
    fn what_was_meant_to_say_something_is_refused() {
        let text = || json!({"type": "string"});
        for schema in [
            json!({"name": text(), "age": {"type": "integer"}}),
            json!({"title": text(), "type": text()}),
            json!({"name": "str", "age": "int"}),
            json!({"type": "object", "name": text()}),
            json!({"type": "object", "name": text(), "required": ["name"], "additionalProperties": false}),
            json!({"type": "object", "propertes": {"a": text()}, "requird": ["a"]}),
            json!({"description": "A person.", "fields": {"a": text()}}),
        ] {
            assert!(check(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn what_says_something_or_is_meant_to_say_nothing_is_not() {
        let text = || json!({"type": "string"});
        for schema in [
            json!({}),
            json!(true),
            json!({"title": "X"}),
            json!({"type": "object"}),
            json!({"type": "object", "required": ["a"]}),
            json!({"type": "object", "additionalProperties": text()}),
            json!({"type": "object", "example": {"type": "x"}, "x-order": {"a": text()}}),
            json!({"type": "object", "properties": {}, "foo": {"a": text()}}),
            json!({"type": "string", "foo": text()}),
            json!({"name": "person", "description": "string"}),
            json!({"$ref": "#/foo", "foo": text()}),
            json!({"items": text(), "foo": text()}),
            json!({"foo": {"bar": 1}, "unknown": true}),
        ] {
            assert!(check(&schema).is_ok(), "{schema}");
        }
    }
}
