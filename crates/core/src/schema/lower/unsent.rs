//! What a server is not to see, in what a schema became: keywords that it ignores and that hold objects, and `$ref` where
//! that is a mere word. Servers look into what they ignore: to find out which compiler is to have the schema (vLLM 0.32), or
//! for references to follow (llama.cpp).

use super::Why;
use super::fits::is_of_type;
use super::measures::Carrying;
use crate::schema::position::{follow, holds};
use serde_json::{Map, Value, json};

const REFERENCE: &str = "$ref";
/// Every type; `integer` is within `number`.
const TYPES: [&str; 6] = ["object", "array", "string", "number", "boolean", "null"];

impl Carrying<'_> {
    /// Without ignored keywords that hold objects. They were told as losses when they were met. Alternatives stay: where
    /// they count for nothing, they are still all that a model could be told of the value.
    pub(super) fn unread(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let is_unread = |keyword: &str, value: &Value| {
            self.profile.ignores(keyword)
                && !matches!(keyword, "anyOf" | "oneOf")
                && holds_object(value)
        };
        if self.keeps_ignored || !map.iter().any(|(keyword, value)| is_unread(keyword, value)) {
            return None;
        }
        let mut new = map.clone();
        new.retain(|keyword, value| !is_unread(keyword, value));
        Some(new)
    }

    /// Without values and notes that have the word `$ref` in them, where a server would follow it.
    pub(super) fn references_in_values(
        &mut self,
        map: &Map<String, Value>,
    ) -> Option<Map<String, Value>> {
        if !self.profile.ref_words {
            return None;
        }
        let is_value = |keyword: &str, value: &Value| holds(keyword).is_none() && says_ref(value);
        let found: Vec<&String> = map
            .iter()
            .filter(|(keyword, value)| is_value(keyword, value))
            .map(|(keyword, _)| keyword)
            .collect();
        if found.is_empty() {
            return None;
        }
        let mut new = map.clone();
        for keyword in found {
            let value = new.shift_remove(keyword);
            let values: &[Value] = match (keyword.as_str(), &value) {
                ("const", Some(value)) => std::slice::from_ref(value),
                ("enum", Some(Value::Array(values))) => values,
                // A note, or what nobody knows.
                _ => continue,
            };
            self.lose(keyword, Why::Refused);
            let is_there = |kind: &&str| values.iter().any(|value| is_of_type(value, kind));
            let kinds: Vec<&str> = TYPES.into_iter().filter(is_there).collect();
            new.entry("type").or_insert(match kinds.as_slice() {
                [only] => json!(only),
                several => json!(several),
            });
        }
        Some(new)
    }
}

/// Any JSON, in words: where a server takes no empty schema.
pub(super) fn any_json() -> Value {
    json!({ "type": TYPES })
}

/// Whether a reference leads nowhere that led somewhere before.
pub(super) fn dangles(new: &Value, before: &Value) -> bool {
    let mut pending = vec![new];
    while let Some(value) = pending.pop() {
        if let Some(pointer) = value.get(REFERENCE).and_then(Value::as_str)
            && let Some(pointer) = pointer.strip_prefix('#')
            && follow(new, pointer).is_none()
            && follow(before, pointer).is_some()
        {
            return true;
        }
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => pending.extend(map.values()),
            _ => {}
        }
    }
    false
}

/// Whether `$ref` is a name of some object in the value.
fn says_ref(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(says_ref),
        Value::Object(map) => map.contains_key(REFERENCE) || map.values().any(says_ref),
        _ => false,
    }
}

fn holds_object(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_object),
        value => value.is_object(),
    }
}
