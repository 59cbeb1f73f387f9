//! Constants against keywords: a value and a schema come in; whether the value is valid, where that
//! can be told without compiling anything, goes out.

use crate::schema::number::count_of;
use serde_json::{Map, Value};

/// Whether the value satisfies the schema; `None` where a keyword is not judged here.
pub(super) fn fits(value: &Value, schema: &Value) -> Option<bool> {
    match schema {
        Value::Bool(says) => Some(*says),
        Value::Object(map) => fits_all(value, map),
        _ => None,
    }
}

/// [`fits`] for a schema object.
pub(super) fn fits_all(value: &Value, map: &Map<String, Value>) -> Option<bool> {
    let mut unsure = false;
    for (keyword, says) in map {
        match keeps(value, keyword, says) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => unsure = true,
        }
    }
    (!unsure).then_some(true)
}

/// [`fits_all`] for one of the values that the schema itself lists.
pub(super) fn fits_beside(value: &Value, map: &Map<String, Value>) -> Option<bool> {
    let list = if map.contains_key("const") {
        "const"
    } else {
        "enum"
    };
    let mut unsure = false;
    for (keyword, says) in map.iter().filter(|(keyword, _)| *keyword != list) {
        match keeps(value, keyword, says) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => unsure = true,
        }
    }
    (!unsure).then_some(true)
}

fn keeps(value: &Value, keyword: &str, says: &Value) -> Option<bool> {
    if !super::is_assertion(keyword) {
        return Some(true);
    }
    match keyword {
        "type" => return Some(types_of(says).iter().any(|name| is_of_type(value, name))),
        "const" => return Some(equal(value, says)),
        "enum" => return Some(says.as_array()?.iter().any(|one| equal(value, one))),
        "anyOf" => return any(value, says.as_array()?),
        "allOf" => {
            let all: Option<Vec<bool>> = says
                .as_array()?
                .iter()
                .map(|one| fits(value, one))
                .collect();
            return all.map(|all| all.into_iter().all(|fits| fits));
        }
        _ => {}
    }
    match value {
        Value::Null | Value::Bool(_) => is_about_parts(keyword).then_some(true),
        Value::Number(number) => number_keeps(number.as_f64()?, keyword, says),
        Value::String(text) => {
            let chars = text.chars().count() as u64;
            match keyword {
                "minLength" => Some(chars >= count_of(says)?),
                "maxLength" => Some(chars <= count_of(says)?),
                "pattern" | "format" => None,
                _ => is_about_parts(keyword).then_some(true),
            }
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn any(value: &Value, branches: &[Value]) -> Option<bool> {
    let mut unsure = false;
    for branch in branches {
        match fits(value, branch) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unsure = true,
        }
    }
    (!unsure).then_some(false)
}

/// Keywords that say nothing about a value that has no parts and is no other of their kind.
fn is_about_parts(keyword: &str) -> bool {
    !matches!(
        keyword,
        "$ref"
            | "$dynamicRef"
            | "$recursiveRef"
            | "allOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else"
    )
}

fn number_keeps(number: f64, keyword: &str, says: &Value) -> Option<bool> {
    match keyword {
        "minimum" => Some(number >= says.as_f64()?),
        "maximum" => Some(number <= says.as_f64()?),
        "exclusiveMinimum" => Some(number > says.as_f64()?),
        "exclusiveMaximum" => Some(number < says.as_f64()?),
        "multipleOf" => None,
        _ => is_about_parts(keyword).then_some(true),
    }
}

/// The names that `type` allows.
pub(super) fn types_of(says: &Value) -> Vec<&str> {
    match says {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number"
                || name == "integer"
                    && (!number.is_f64() || number.as_f64().is_some_and(|n| n.fract() == 0.0))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Equality as JSON Schema has it: `1` is `1.0`.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => l == r || l.as_f64() == r.as_f64(),
        (Value::Array(l), Value::Array(r)) => {
            l.len() == r.len() && l.iter().zip(r).all(|(l, r)| equal(l, r))
        }
        (Value::Object(l), Value::Object(r)) => {
            l.len() == r.len()
                && l.iter()
                    .all(|(name, l)| r.get(name).is_some_and(|r| equal(l, r)))
        }
        _ => left == right,
    }
}
