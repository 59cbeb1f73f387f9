//! llama.cpp's converter, which Ollama and LM Studio use as well.

use super::{BOUNDS, DEEP, LENGTHS, beside, closed_object, copy, each_of, has_any, is_of};
use serde_json::{Map, Value, json};

/// `$ref`, oneOf, anyOf, a list of types, const, enum, properties, allOf, then the type.
pub(super) fn llama(schema: &Value, depth: usize) -> Result<Value, String> {
    if depth > 64 {
        return Err(DEEP.to_owned());
    }
    let next = |schema: &Value| llama(schema, depth + 1);
    let Value::Object(map) = schema else {
        return Ok(schema.clone());
    };
    let is_object = is_of(map, &["object"]) || !map.contains_key("type");
    let read = if let Some(reference) = map.get("$ref") {
        if !reference.as_str().is_some_and(|it| it.starts_with('#')) {
            return Err("Unsupported ref".to_owned());
        }
        json!({ "$ref": reference })
    } else if let Some(all) = map.get("oneOf").or_else(|| map.get("anyOf")) {
        json!({ "anyOf": each_of(all, next)? })
    } else if let Some(Value::Array(kinds)) = map.get("type") {
        let kinds = kinds.iter().map(|kind| {
            let mut one = map.clone();
            one.insert("type".to_owned(), kind.clone());
            one.shift_remove("$defs");
            one.shift_remove("definitions");
            llama(&Value::Object(one), depth + 1)
        });
        json!({ "anyOf": kinds.collect::<Result<Vec<_>, _>>()? })
    } else if let Some(value) = map.get("const") {
        json!({ "const": value })
    } else if let Some(values) = map.get("enum") {
        json!({ "enum": values })
    } else if is_object
        && (map.contains_key("properties")
            || map.get("additionalProperties").is_some_and(|it| it != true))
    {
        let mut read = Map::from_iter([("type".to_owned(), json!("object"))]);
        closed_object(map, &mut read, &next)?;
        Value::Object(read)
    } else if is_object && map.contains_key("allOf") {
        llama_all_of(map, &next)?
    } else {
        llama_type(map, &next)?
    };
    beside(map, read, next)
}

/// The branches' properties in one object, all of them required.
fn llama_all_of(
    map: &Map<String, Value>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let mut properties = Map::new();
    for branch in map["allOf"].as_array().into_iter().flatten() {
        for (name, schema) in branch["properties"].as_object().into_iter().flatten() {
            properties.insert(name.clone(), next(schema)?);
        }
    }
    let required: Vec<&String> = properties.keys().collect();
    Ok(
        json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false}),
    )
}

fn llama_type(
    map: &Map<String, Value>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let is_array = has_any(map, &["items", "prefixItems"]);
    let kind = match map.get("type").and_then(Value::as_str) {
        Some(kind) => kind,
        None if is_array => "array",
        None if has_any(map, &["pattern", "format"]) => "string",
        None => return Ok(json!({})),
    };
    let mut read = Map::from_iter([("type".to_owned(), json!(kind))]);
    match kind {
        "array" => return llama_array(map, next),
        "string" => match (
            map.get("pattern").and_then(Value::as_str),
            map.get("format"),
        ) {
            (Some(pattern), _) => {
                let is_anchored = pattern.starts_with('^') && pattern.ends_with('$');
                if is_anchored {
                    read.insert("pattern".to_owned(), json!(pattern));
                }
            }
            (None, Some(format))
                if ["date", "time", "date-time", "uuid"]
                    .iter()
                    .any(|it| format == it) =>
            {
                read.insert("format".to_owned(), format.clone());
            }
            (None, Some(_)) => {}
            (None, None) => copy(map, &mut read, &LENGTHS),
        },
        "integer" => copy(map, &mut read, &BOUNDS),
        "number" | "boolean" | "null" | "object" => {}
        other => return Err(format!("Unrecognized schema: type {other}")),
    }
    Ok(Value::Object(read))
}

fn llama_array(
    map: &Map<String, Value>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let mut read = Map::from_iter([("type".to_owned(), json!("array"))]);
    match (map.get("items"), map.get("prefixItems")) {
        (Some(Value::Bool(false)), _) => return Err("Unrecognized schema: false".to_owned()),
        (Some(items), _) => {
            read.insert("items".to_owned(), next(items)?);
        }
        (None, Some(all)) => {
            let all = each_of(all, next)?;
            read.insert("minItems".to_owned(), json!(all.len()));
            read.insert("prefixItems".to_owned(), json!(all));
            read.insert("items".to_owned(), json!(false));
            return Ok(Value::Object(read));
        }
        (None, None) => {}
    }
    copy(map, &mut read, &["minItems", "maxItems"]);
    Ok(Value::Object(read))
}
