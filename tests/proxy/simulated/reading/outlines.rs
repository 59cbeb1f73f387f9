//! outlines-core, as TGI uses it: a regex is made of the schema.

use super::{LENGTHS, Read, beside, closed_object, copy, each_of, has_any, whole_pattern};
use serde_json::{Map, Value, json};

/// Properties, allOf, anyOf, oneOf, prefixItems, enum, const, `$ref`, then the type.
pub(super) fn outlines(schema: &Value, depth: usize) -> Read {
    if depth > 12 {
        // Recursion is unrolled to a depth.
        return Ok(Some(json!({"type": "null"})));
    }
    let next = |schema: &Value| match outlines(schema, depth + 1)? {
        Some(read) => Ok(read),
        None => Err(NO_JSON.to_owned()),
    };
    let Value::Object(map) = schema else {
        return Ok(Some(schema.clone()));
    };
    let read = if map.contains_key("properties") {
        let mut read = Map::from_iter([("type".to_owned(), json!("object"))]);
        closed_object(map, &mut read, &next).map(|()| {
            read.insert("additionalProperties".to_owned(), json!(false));
            Value::Object(read)
        })
    } else if let Some(all) = map.get("allOf") {
        match all.as_array().map(Vec::as_slice) {
            Some([only]) => next(only),
            _ => return Ok(None),
        }
    } else if let Some(all) = map.get("anyOf").or_else(|| map.get("oneOf")) {
        each_of(all, next).map(|all| json!({ "anyOf": all }))
    } else if let Some(all) = map.get("prefixItems") {
        each_of(all, next).map(|all| json!({"type": "array", "minItems": all.len(), "prefixItems": all, "items": false}))
    } else if let Some(values) = map.get("enum") {
        Ok(json!({ "enum": values }))
    } else if let Some(value) = map.get("const") {
        Ok(json!({ "const": value }))
    } else if let Some(reference) = map.get("$ref") {
        Ok(json!({ "$ref": reference }))
    } else {
        outlines_type(map, &next)
    };
    match read.and_then(|read| beside(map, read, next)) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error == NO_JSON => Ok(None),
        Err(error) => Err(error),
    }
}

/// Branches of allOf are written one after the other.
const NO_JSON: &str = "no JSON";

fn outlines_type(
    map: &Map<String, Value>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    if let Some(Value::Array(kinds)) = map.get("type") {
        let kinds = kinds.iter().map(|kind| {
            let mut one = map.clone();
            one.insert("type".to_owned(), kind.clone());
            outlines_type(&one, next)
        });
        return Ok(json!({ "anyOf": kinds.collect::<Result<Vec<_>, _>>()? }));
    }
    let Some(kind) = map.get("type").and_then(Value::as_str) else {
        return Ok(json!({}));
    };
    let mut read = Map::from_iter([("type".to_owned(), json!(kind))]);
    match kind {
        "array" => {
            if let Some(items) = map.get("items") {
                read.insert("items".to_owned(), next(items)?);
            }
            copy(map, &mut read, &["minItems", "maxItems"]);
        }
        "object" => {
            if let Some(others) = map.get("additionalProperties") {
                read.insert("additionalProperties".to_owned(), next(others)?);
            }
        }
        "string" if has_any(map, &LENGTHS) => copy(map, &mut read, &LENGTHS),
        "string" => match (
            map.get("pattern"),
            map.get("format").and_then(Value::as_str),
        ) {
            (Some(pattern), _) => whole_pattern(pattern, &mut read),
            (None, Some("date" | "date-time" | "time" | "uuid")) => {
                copy(map, &mut read, &["format"])
            }
            (None, Some(format)) => {
                return Err(format!("Format {format} is not supported by Outlines"));
            }
            (None, None) => {}
        },
        _ => {}
    }
    Ok(Value::Object(read))
}
