//! The schema of a call's arguments, on wires where these are an object: a client's schema comes in; the same, which says so,
//! goes out.

use serde_json::{Map, Value, json};

/// The schema with `"type": "object"` where its root says no type, or others beside; `None` where it allows no object.
#[must_use]
pub fn of_object(mut schema: Value) -> Option<Value> {
    match &mut schema {
        Value::Bool(true) => schema = json!({"type": "object"}),
        Value::Object(map) => {
            if !allows_object(map) {
                return None;
            }
            let is_open = |kind: &Value| {
                kind.as_array()
                    .is_some_and(|several| several.iter().any(|one| one == "object"))
            };
            if map.get("type").is_none_or(is_open) {
                map.insert("type".to_owned(), json!("object"));
            }
        }
        // What allows nothing, or is no schema, is refused by its guard.
        _ => {}
    }
    Some(schema)
}

/// Whether a value that the schema allows may be an object, as far as its root tells.
#[must_use]
pub fn may_be_object(schema: &Value) -> bool {
    schema.as_object().is_none_or(allows_object)
}

fn allows_object(map: &Map<String, Value>) -> bool {
    const OTHERS: [&str; 6] = ["array", "string", "number", "integer", "boolean", "null"];
    // A word that is no type is told of elsewhere.
    let is_other = |word: &Value| word.as_str().is_some_and(|word| OTHERS.contains(&word));
    let by_type = match map.get("type") {
        Some(Value::Array(several)) => !several.iter().all(is_other),
        Some(one) => !is_other(one),
        None => true,
    };
    let by_value = match (map.get("const"), map.get("enum")) {
        (Some(value), _) => value.is_object(),
        (None, Some(Value::Array(values))) => values.iter().any(Value::is_object),
        _ => true,
    };
    by_type && by_value
}

#[cfg(test)]
mod tests {
    use super::of_object;
    use serde_json::{Value, json};

    #[test]
    fn arguments_are_an_object_whatever_their_schema_leaves_open() {
        let object = json!({"type": "object"});
        for (schema, said) in [
            (json!(true), object.clone()),
            (json!({}), object.clone()),
            (object.clone(), object),
            (
                json!({"type": ["null", "object"], "minProperties": 1}),
                json!({"type": "object", "minProperties": 1}),
            ),
            (
                json!({"anyOf": [{"required": ["a"]}]}),
                json!({"anyOf": [{"required": ["a"]}], "type": "object"}),
            ),
            (json!(false), json!(false)),
        ] {
            assert_eq!(of_object(schema), Some(said));
        }
        for schema in [
            json!({"type": "array"}),
            json!({"type": ["string", "null"]}),
            json!({"const": 1}),
            json!({"enum": ["a", 1]}),
        ] {
            assert_eq!(of_object(schema.clone()), None::<Value>, "{schema}");
        }
    }
}
