//! JSON whose last closing brackets were added in; whether that is the only place where they can
//! have been meant. `{"user": {"id": 1, "role": "x"}` lacks a bracket at its end, or before
//! `"role"`: only the schema knows.

use super::view::{branches, property};
use serde_json::{Map, Value};

/// Whether no member could belong to an object or array around the one that it stands in.
#[must_use]
pub fn are_certain(text: &str, schema: Option<&Value>) -> bool {
    let Ok(root) = crate::json::value(text) else {
        return false;
    };
    let mut around: Vec<(&Value, Option<&Map<String, Value>>)> = Vec::new();
    let mut next = Some((&root, schema));
    while let Some((value, stated)) = next {
        let is_kept = match value {
            Value::Object(members) => members
                .keys()
                .skip(1)
                .all(|name| !around.iter().any(|outer| may_take(outer, name))),
            Value::Array(items) => {
                items.len() < 2 || !around.iter().any(|(outer, _)| outer.is_array())
            }
            _ => return true,
        };
        if !is_kept {
            return false;
        }
        let branch = schema
            .zip(stated)
            .and_then(|(all, stated)| only(all, stated, value));
        next = match value {
            Value::Object(members) => members
                .iter()
                .next_back()
                .map(|(name, inner)| (inner, branch.and_then(|branch| property(branch, name)))),
            Value::Array(items) => items
                .last()
                .map(|inner| (inner, branch.and_then(|branch| branch.get("items")))),
            _ => None,
        };
        around.push((value, branch));
    }
    true
}

/// The one alternative for objects, or for arrays.
fn only<'s>(root: &'s Value, schema: &'s Value, value: &Value) -> Option<&'s Map<String, Value>> {
    let word = if value.is_object() { "object" } else { "array" };
    let mut fitting = branches(root, schema)?
        .into_iter()
        .filter(|branch| branch.get("type").is_none_or(|stated| stated == word));
    let found = fitting.next()?;
    fitting.next().is_none().then_some(found)
}

/// Whether an object could have a member of this name beside those that it has.
fn may_take(outer: &(&Value, Option<&Map<String, Value>>), name: &str) -> bool {
    let (Value::Object(members), branch) = outer else {
        return false;
    };
    let named = branch.and_then(|branch| branch.get("properties")?.as_object());
    match named.filter(|named| !named.is_empty()) {
        Some(named) => named.contains_key(name) && !members.contains_key(name),
        None => !members.contains_key(name),
    }
}
