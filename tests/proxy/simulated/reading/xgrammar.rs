//! xgrammar, as vLLM, SGLang, TensorRT-LLM and LMDeploy use it.

use super::{
    BOUNDS, COUNTS, DEEP, LENGTHS, beside, closed_object, copy, each_of, has_any, whole_pattern,
};
use serde_json::{Map, Value, json};

/// `$ref`, const, enum, anyOf, oneOf, allOf, then the type: only the first is read.
pub(super) fn xgrammar(schema: &Value, depth: usize) -> Result<Value, String> {
    if depth > 64 {
        return Err(DEEP.to_owned());
    }
    let next = |schema: &Value| xgrammar(schema, depth + 1);
    let Value::Object(map) = schema else {
        return Ok(schema.clone());
    };
    let read = if let Some(reference) = map.get("$ref") {
        json!({ "$ref": reference })
    } else if let Some(value) = map.get("const") {
        json!({ "const": value })
    } else if let Some(values) = map.get("enum") {
        json!({ "enum": values })
    } else if let Some(all) = map.get("anyOf").or_else(|| map.get("oneOf")) {
        json!({ "anyOf": each_of(all, next)? })
    } else if let Some(all) = map.get("allOf") {
        match all.as_array().map(Vec::as_slice) {
            Some([only]) => next(only)?,
            _ => json!({}),
        }
    } else if let Some(Value::Array(kinds)) = map.get("type") {
        let kinds = kinds
            .iter()
            .map(|kind| xgrammar_type(map, kind.as_str(), &next));
        json!({ "anyOf": kinds.collect::<Result<Vec<_>, _>>()? })
    } else {
        let guessed = match map.get("type").and_then(Value::as_str) {
            Some(kind) => Some(kind),
            None if has_any(map, &["properties", "additionalProperties"]) => Some("object"),
            None if has_any(map, &["items", "prefixItems"]) => Some("array"),
            None => None,
        };
        xgrammar_type(map, guessed, &next)?
    };
    beside(map, read, next)
}

fn xgrammar_type(
    map: &Map<String, Value>,
    kind: Option<&str>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let Some(kind) = kind else {
        return Ok(json!({}));
    };
    let mut read = Map::from_iter([("type".to_owned(), json!(kind))]);
    match kind {
        "object" => {
            closed_object(map, &mut read, next)?;
            if !map.contains_key("properties") {
                copy(map, &mut read, &COUNTS);
                names_of_others(map, &mut read);
                one_pattern(map, &mut read, next)?;
            }
        }
        "array" => {
            if let Some(all) = map.get("prefixItems") {
                read.insert("prefixItems".to_owned(), json!(each_of(all, next)?));
                let rest = map.get("items").map_or(Ok(json!(false)), next)?;
                read.insert("items".to_owned(), rest);
            } else if let Some(items) = map.get("items") {
                read.insert("items".to_owned(), next(items)?);
            }
            copy(map, &mut read, &["minItems", "maxItems"]);
        }
        "string" => match (map.get("pattern"), map.get("format")) {
            (Some(pattern), _) => whole_pattern(pattern, &mut read),
            (None, Some(_)) => copy(map, &mut read, &["format"]),
            (None, None) => copy(map, &mut read, &LENGTHS),
        },
        "integer" | "number" => copy(map, &mut read, &BOUNDS),
        _ => {}
    }
    Ok(Value::Object(read))
}

/// Names with a pattern, of an object that names none.
fn names_of_others(map: &Map<String, Value>, read: &mut Map<String, Value>) {
    let (others, names) = (
        read.get("additionalProperties").cloned(),
        map.get("propertyNames"),
    );
    if let (Some(pattern), Some(others)) = (names.and_then(|it| it["pattern"].as_str()), others) {
        let pattern = format!("^(?:{pattern})$");
        read.insert("patternProperties".to_owned(), json!({pattern: others}));
        read.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// One pattern of names, of an object that names none: it is the whole name's, and there are no others.
fn one_pattern(
    map: &Map<String, Value>,
    read: &mut Map<String, Value>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<(), String> {
    let patterns = map.get("patternProperties").and_then(Value::as_object);
    if let Some((pattern, schema)) = patterns.and_then(|all| all.iter().next()) {
        let pattern = format!("^(?:{pattern})$");
        read.insert(
            "patternProperties".to_owned(),
            json!({pattern: next(schema)?}),
        );
        read.insert("additionalProperties".to_owned(), json!(false));
    }
    Ok(())
}
