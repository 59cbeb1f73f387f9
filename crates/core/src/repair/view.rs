//! What a schema says of one value, where that is plain: the alternatives, each without
//! references.

use crate::schema::is_annotation;
use serde_json::{Map, Value};

/// References that lead to references, at most.
const MAX_HOPS: usize = 16;
/// More alternatives are not looked at.
const MAX_BRANCHES: usize = 64;

/// Keywords whose meaning is not followed here: where one stands, nothing is repaired.
const OPAQUE: [&str; 7] = [
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "$dynamicRef",
    "$recursiveRef",
];

type Schema = Map<String, Value>;

/// The alternatives that a schema leaves, each a schema of keywords alone; `None` where it is not
/// plain.
pub(super) fn branches<'s>(root: &'s Value, schema: &'s Value) -> Option<Vec<&'s Schema>> {
    let mut found = Vec::new();
    collect(root, schema, MAX_HOPS, &mut found)?;
    (!found.is_empty()).then_some(found)
}

fn collect<'s>(
    root: &'s Value,
    schema: &'s Value,
    hops: usize,
    found: &mut Vec<&'s Schema>,
) -> Option<()> {
    let schema = schema.as_object()?;
    if hops == 0 || OPAQUE.iter().any(|word| schema.contains_key(*word)) {
        return None;
    }
    let stands_alone = |word: &str| {
        let mut others = schema.keys().filter(|key| key.as_str() != word);
        others.all(|key| key == "$schema" || is_annotation(key))
    };
    if let Some(pointer) = schema.get("$ref") {
        let pointer = pointer.as_str()?.strip_prefix('#')?;
        let target = root.pointer(pointer).filter(|_| stands_alone("$ref"))?;
        return collect(root, target, hops - 1, found);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        let Some(parts) = schema.get(word) else {
            continue;
        };
        let parts = parts.as_array().filter(|_| stands_alone(word))?;
        if word == "allOf" && parts.len() != 1 {
            return None;
        }
        return parts
            .iter()
            .try_for_each(|part| collect(root, part, hops - 1, found));
    }
    found.push(schema);
    (found.len() <= MAX_BRANCHES).then_some(())
}

/// Whether a branch says which types a value may have: without that, anything may be meant.
pub(super) fn is_typed(branch: &Schema) -> bool {
    branch.contains_key("type") || options(branch).is_some()
}

/// The values of `enum` or `const`.
pub(super) fn options(branch: &Schema) -> Option<Vec<&Value>> {
    match (branch.get("enum"), branch.get("const")) {
        (_, Some(only)) => Some(vec![only]),
        (Some(Value::Array(values)), _) => Some(values.iter().collect()),
        _ => None,
    }
}

/// Whether a branch allows values of this type.
pub(super) fn allows(branch: &Schema, word: &str) -> bool {
    match branch.get("type") {
        Some(Value::String(only)) => only == word,
        Some(Value::Array(types)) => types.iter().any(|known| known == word),
        _ => options(branch).is_some_and(|values| values.iter().any(|value| has_type(value, word))),
    }
}

/// Whether a value is of this type; an integer is a number too.
pub(super) fn has_type(value: &Value, word: &str) -> bool {
    match value {
        Value::Null => word == "null",
        Value::Bool(_) => word == "boolean",
        Value::Number(number) => {
            let is_whole = || number.as_f64().is_some_and(|number| number.fract() == 0.0);
            word == "number" || word == "integer" && is_whole()
        }
        Value::String(_) => word == "string",
        Value::Array(_) => word == "array",
        Value::Object(_) => word == "object",
    }
}

/// Whether a value is one that the branch allows, as far as its type and its options tell.
pub(super) fn fits(branch: &Schema, value: &Value) -> bool {
    const TYPES: [&str; 7] = [
        "null", "boolean", "integer", "number", "string", "array", "object",
    ];
    let is_typed = !branch.contains_key("type")
        || TYPES
            .iter()
            .any(|word| has_type(value, word) && allows(branch, word));
    is_typed && options(branch).is_none_or(|values| values.contains(&value))
}

/// The schema of an object's property, where one is named for it.
pub(super) fn property<'s>(branch: &'s Schema, name: &str) -> Option<&'s Value> {
    let named = branch.get("properties").and_then(|named| named.get(name));
    let others = || {
        let others = branch.get("additionalProperties")?;
        (!branch.contains_key("patternProperties")).then_some(others)
    };
    named.or_else(others)
}

/// The schema of an array's items, where all have the same.
pub(super) fn items(branch: &Schema) -> Option<&Value> {
    let items = branch.get("items").filter(|items| items.is_object())?;
    (!branch.contains_key("prefixItems")).then_some(items)
}
