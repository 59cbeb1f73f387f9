//! Two schemas for the same value: both come in, one that says what both say goes out, and
//! whether it says all of it. It never says more.

use serde_json::{Map, Value, json};

/// Keywords that can refuse a value.
const ASSERTIONS: [&str; 46] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "type",
    "enum",
    "const",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "nullable",
    "extends",
    "disallow",
];

pub(super) fn is_assertion(keyword: &str) -> bool {
    ASSERTIONS.contains(&keyword)
}

/// One schema of two; whether it says all that both say. `None` where no value is of both.
pub(super) fn merge(one: &Map<String, Value>, other: &Value) -> Option<(Map<String, Value>, bool)> {
    let other = match other {
        Value::Bool(false) => return None,
        Value::Object(other) => other,
        _ => return Some((one.clone(), true)),
    };
    let mut merged = one.clone();
    let mut is_exact = closes_alike(one, other);
    for (keyword, its) in other {
        let Some(own) = merged.get_mut(keyword) else {
            merged.insert(keyword.clone(), its.clone());
            continue;
        };
        if own == its || !is_assertion(keyword) {
            continue;
        }
        match (keyword.as_str(), &mut *own, its) {
            ("type", own, its) => *own = common_type(own, its)?,
            ("required", Value::Array(own), Value::Array(its)) => {
                let new = its.iter().filter(|name| !own.contains(name));
                let new: Vec<_> = new.cloned().collect();
                own.extend(new);
            }
            ("allOf", Value::Array(own), Value::Array(its)) => own.extend(its.iter().cloned()),
            ("properties", Value::Object(own), Value::Object(its)) => {
                for (name, schema) in its {
                    match own.get_mut(name) {
                        Some(known) if known != schema => {
                            *known = json!({"allOf": [known.take(), schema]});
                        }
                        Some(_) => {}
                        None => {
                            own.insert(name.clone(), schema.clone());
                        }
                    }
                }
            }
            ("items", own, its) if !own.is_array() && !its.is_array() => {
                *own = json!({"allOf": [own.take(), its]});
            }
            ("enum", Value::Array(own), Value::Array(its)) => {
                own.retain(|value| its.contains(value));
                if own.is_empty() {
                    return None;
                }
            }
            ("const", ..) => return None,
            ("additionalProperties", own, Value::Bool(false)) => *own = json!(false),
            ("additionalProperties", own @ Value::Bool(true), its) => *own = its.clone(),
            (
                "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties",
                Value::Number(own),
                Value::Number(its),
            ) => {
                if own.as_f64() < its.as_f64() {
                    own.clone_from(its);
                }
            }
            (
                "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties",
                Value::Number(own),
                Value::Number(its),
            ) => {
                if own.as_f64() > its.as_f64() {
                    own.clone_from(its);
                }
            }
            _ => is_exact = false,
        }
    }
    Some((merged, is_exact))
}

/// Whether what one says of the rest, of properties or of items, is the rest of both.
fn closes_alike(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let names = |map: &Map<String, Value>, of: &str| -> Vec<String> {
        let names = map.get(of).and_then(Value::as_object);
        let mut names: Vec<_> = names
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        names.sort_unstable();
        names
    };
    let closes = |map: &Map<String, Value>| {
        map.get("additionalProperties")
            .is_some_and(|rest| rest != &Value::Bool(true))
    };
    let is_same = |of| names(one, of) == names(other, of);
    let properties =
        !closes(one) && !closes(other) || is_same("properties") && is_same("patternProperties");
    let lists = |map: &Map<String, Value>| {
        map.contains_key("prefixItems") || map.get("items").is_some_and(Value::is_array)
    };
    let items = !lists(one) && !lists(other)
        || one.get("prefixItems") == other.get("prefixItems")
            && one.get("items") == other.get("items");
    let has_items = |map: &Map<String, Value>| {
        ["items", "prefixItems"]
            .iter()
            .any(|&keyword| map.contains_key(keyword))
    };
    properties && (items || !has_items(one) || !has_items(other))
}

fn names_of(types: &Value) -> Vec<&str> {
    match types {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        types => types.as_str().into_iter().collect(),
    }
}

fn common_type(one: &Value, other: &Value) -> Option<Value> {
    let (one, other) = (names_of(one), names_of(other));
    let mut common: Vec<&str> = Vec::new();
    for &name in &one {
        for &its in &other {
            match (name, its) {
                ("number", "integer") | ("integer", "number") => common.push("integer"),
                (name, its) if name == its => common.push(name),
                _ => {}
            }
        }
    }
    match common.as_slice() {
        [] => None,
        [only] => Some(json!(only)),
        several => Some(json!(several)),
    }
}

/// Whether no value is of two of the schemas, as far as types, and properties of one value, tell.
pub(super) fn are_disjoint(schemas: &[Value]) -> bool {
    let pairs = schemas
        .iter()
        .enumerate()
        .flat_map(|(index, one)| schemas[index + 1..].iter().map(move |other| (one, other)));
    pairs.into_iter().all(|(one, other)| {
        let (Value::Object(one), Value::Object(other)) = (one, other) else {
            return false;
        };
        let types = one.get("type").zip(other.get("type"));
        types.is_some_and(|(one, other)| common_type(one, other).is_none())
            || constant(one)
                .zip(constant(other))
                .is_some_and(|(one, other)| one != other)
            || tags(one)
                .any(|(name, value)| tags(other).any(|(its, other)| its == name && other != value))
    })
}

/// The one value of a schema that is not a number: `1` and `1.0` are the same.
fn constant(schema: &Map<String, Value>) -> Option<&Value> {
    let only = schema
        .get("enum")
        .and_then(Value::as_array)
        .filter(|values| values.len() == 1);
    let value = schema.get("const").or_else(|| only?.first())?;
    value.is_string().then_some(value)
}

/// The required properties of one value; of objects alone.
fn tags(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let is_object = schema.get("type") == Some(&json!("object"));
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .filter(|_| is_object)
        .into_iter()
        .flatten()
        .filter(move |(name, _)| required.is_some_and(|names| names.iter().any(|one| one == *name)))
        .filter_map(|(name, schema)| Some((name, constant(schema.as_object()?)?)))
}
