//! Gemini's `Schema`, a subset of OpenAPI 3.0, in; the same demand in JSON Schema's own words out. What of
//! JSON Schema somebody writes there all the same keeps its meaning.

use super::object::camel;
use serde_json::{Map, Value, json};

/// The schema in JSON Schema's words.
pub(in crate::dialect::gemini) fn json_schema(schema: Value) -> Value {
    let Value::Object(map) = schema else {
        return schema;
    };
    let mut out = Map::new();
    let mut ordering = Vec::new();
    let mut is_nullable = false;
    for (own, value) in map {
        match camel(&own).as_ref() {
            "nullable" => is_nullable = value == json!(true),
            "propertyOrdering" => ordering = names(value),
            "type" => out.extend(kind(value).map(|kind| ("type".to_owned(), kind))),
            // What Gemini calls an enumeration's texts.
            "format" if value == "enum" => {}
            "example" => drop(out.insert("examples".to_owned(), json!([value]))),
            "ref" => drop(out.insert("$ref".to_owned(), reference(value))),
            "defs" => drop(out.insert("$defs".to_owned(), members(value))),
            "$ref" => drop(out.insert("$ref".to_owned(), reference(value))),
            name @ ("properties" | "$defs" | "patternProperties" | "dependentSchemas") => {
                out.insert(name.to_owned(), members(value));
            }
            name @ ("anyOf" | "oneOf" | "allOf" | "prefixItems") => {
                out.insert(name.to_owned(), branches(value));
            }
            name @ ("items" | "additionalProperties" | "not") => {
                out.insert(name.to_owned(), json_schema(value));
            }
            name @ ("minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
            | "maxProperties") => drop(out.insert(name.to_owned(), count(value))),
            _ => drop(out.insert(own, value)),
        }
    }
    order(&mut out, ordering);
    number_enum(&mut out);
    if is_nullable {
        nullable(out)
    } else {
        Value::Object(out)
    }
}

/// Proto's JSON writes 64-bit counts as texts.
fn count(value: Value) -> Value {
    let number = value.as_str().and_then(|text| text.parse::<u64>().ok());
    number.map_or(value, Value::from)
}

/// `STRING` and the like; none where nothing is said.
fn kind(value: Value) -> Option<Value> {
    match value {
        Value::String(word) if word.eq_ignore_ascii_case("TYPE_UNSPECIFIED") => None,
        Value::String(word) => Some(Value::String(word.to_ascii_lowercase())),
        Value::Array(words) => Some(Value::Array(words.into_iter().filter_map(kind).collect())),
        other => Some(other),
    }
}

/// References lead to `$defs`, under either name.
fn reference(value: Value) -> Value {
    match value.as_str().and_then(|text| text.strip_prefix("#/defs/")) {
        Some(name) => Value::String(format!("#/$defs/{name}")),
        None => value,
    }
}

fn names(value: Value) -> Vec<String> {
    serde_json::from_value(value).unwrap_or_default()
}

fn members(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let members = map.into_iter();
            members
                .map(|(name, schema)| (name, json_schema(schema)))
                .collect()
        }
        other => other,
    }
}

fn branches(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(json_schema).collect(),
        other => other,
    }
}

/// The order of properties is the order in which they are written.
fn order(out: &mut Map<String, Value>, ordering: Vec<String>) {
    let Some(Value::Object(properties)) = out.get_mut("properties") else {
        return;
    };
    let mut ordered = Map::new();
    for name in ordering {
        if let Some(schema) = properties.shift_remove(&name) {
            ordered.insert(name, schema);
        }
    }
    ordered.append(properties);
    *properties = ordered;
}

/// An enumeration is of texts there, whatever the type.
fn number_enum(out: &mut Map<String, Value>) {
    let is_number = matches!(
        out.get("type").and_then(Value::as_str),
        Some("integer" | "number")
    );
    if let Some(Value::Array(values)) = out.get_mut("enum").filter(|_| is_number) {
        for value in values {
            let number = value
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok());
            if let Some(number @ Value::Number(_)) = number {
                *value = number;
            }
        }
    }
}

/// The same, or null: unlike OpenAPI's, an enumeration need not list it.
fn nullable(mut schema: Map<String, Value>) -> Value {
    const OTHERS: [&str; 5] = ["$ref", "oneOf", "allOf", "not", "const"];
    if OTHERS.iter().any(|name| schema.contains_key(*name)) {
        // What references lead to stays at the root.
        let defs = schema.shift_remove("$defs");
        let mut either = json!({"anyOf": [schema, {"type": "null"}]});
        if let Some(defs) = defs {
            either["$defs"] = defs;
        }
        return either;
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push(json!("null")),
        Some(one @ Value::String(_)) if *one != "null" => *one = json!([one.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.push(json!({"type": "null"}));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::json_schema;
    use serde_json::{Value, json};

    #[test]
    fn a_schema_of_geminis_is_said_in_json_schemas_words() {
        let rows = [
            (
                json!({"type": "OBJECT", "properties": {"b": {"type": "INTEGER", "format": "int32"},
                    "a": {"type": "STRING", "nullable": true}}, "property_ordering": ["a", "b"],
                    "required": ["a"]}),
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"]},
                    "b": {"type": "integer", "format": "int32"}}, "required": ["a"]}),
            ),
            (
                json!({"type": "ARRAY", "items": {"type": "STRING", "format": "enum", "enum": ["x"]},
                    "minItems": "2", "max_items": 3}),
                json!({"type": "array", "items": {"type": "string", "enum": ["x"]},
                    "minItems": 2, "maxItems": 3}),
            ),
            (
                json!({"type": "STRING", "enum": ["x"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["x", null]}),
            ),
            (
                json!({"any_of": [{"type": "NUMBER"}, {"type": "BOOLEAN"}], "nullable": true}),
                json!({"anyOf": [{"type": "number"}, {"type": "boolean"}, {"type": "null"}]}),
            ),
            (
                json!({"ref": "#/defs/N", "nullable": true, "defs": {"N": {"type": "STRING"}}}),
                json!({"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}], "$defs": {"N": {"type": "string"}}}),
            ),
            (
                json!({"type": "INTEGER", "enum": ["1", "2"], "example": 1}),
                json!({"type": "integer", "enum": [1, 2], "examples": [1]}),
            ),
            (json!({"type": "TYPE_UNSPECIFIED"}), json!({})),
            // Names are names, whatever they look like.
            (
                json!({"type": "OBJECT", "properties": {"type": {"type": "STRING"}, "any_of": {"type": "NULL"}},
                    "default": {"type": "STRING"}}),
                json!({"type": "object", "properties": {"type": {"type": "string"}, "any_of": {"type": "null"}},
                    "default": {"type": "STRING"}}),
            ),
        ];
        for (schema, expected) in rows {
            assert_eq!(json_schema(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn the_order_that_is_asked_for_is_the_order_of_the_properties() {
        let schema = json!({"type": "OBJECT", "properties": {"a": {}, "b": {}, "c": {}},
            "propertyOrdering": ["c", "missing", "a"]});
        let out = json_schema(schema);
        let names: Vec<&str> = (out["properties"].as_object().into_iter())
            .flat_map(|map| map.keys().map(String::as_str))
            .collect();
        assert_eq!(names, ["c", "a", "b"]);
        assert_eq!(out.get("propertyOrdering"), None::<&Value>);
    }
}
