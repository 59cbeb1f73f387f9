//! Old drafts in new words: a schema object of draft 4, 6 or 7 comes in and is rewritten to mean
//! the same under 2020-12.
//!
//! One schema has one draft. Tools of several drafts can only share it if all speak one, and
//! 2020-12 is what servers assume.

use crate::schema::position::{Holds, children, holds};
use isogloss_validate::Draft;
use serde_json::{Map, Value};

/// Whether references still lead where they led once tuples and dependencies are renamed.
pub(super) fn may(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return true;
    };
    let reference = map.get("$ref").and_then(Value::as_str);
    reference.is_none_or(|reference| {
        reference == "#"
            || reference.starts_with("#/")
                && !reference.contains("tems/")
                && !reference.contains("/dependencies/")
    }) && children(map).all(|child| may(child.value))
}

/// Rewrites a whole schema.
pub(super) fn all(schema: &mut Value, draft: Option<Draft>) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map.iter_mut() {
        match (holds(keyword), value) {
            (Some((Holds::Named, _)), Value::Object(named)) => {
                named.values_mut().for_each(|schema| all(schema, draft));
            }
            (Some((Holds::Many | Holds::OneOrMany, _)), Value::Array(items)) => {
                items.iter_mut().for_each(|schema| all(schema, draft));
            }
            (Some((Holds::One | Holds::OneOrMany, _)), value) => all(value, draft),
            _ => {}
        }
    }
    modernise(map, draft);
}

/// Rewrites one schema object; its subschemas are the caller's.
pub(super) fn modernise(schema: &mut Map<String, Value>, draft: Option<Draft>) {
    let is_old = matches!(draft, Some(Draft::Draft4 | Draft::Draft6 | Draft::Draft7));
    if is_old && let Some(reference) = schema.shift_remove("$ref") {
        // Before 2019-09 a reference stood alone: what was beside it said nothing.
        schema.retain(|keyword, _| {
            matches!(
                keyword.as_str(),
                "$defs" | "definitions" | "title" | "description"
            )
        });
        schema.insert("$ref".to_owned(), reference);
        return;
    }
    if draft == Some(Draft::Draft4) {
        for (exclusive, bound) in [
            ("exclusiveMinimum", "minimum"),
            ("exclusiveMaximum", "maximum"),
        ] {
            let Some(Value::Bool(is_exclusive)) = schema.get(exclusive).cloned() else {
                continue;
            };
            schema.shift_remove(exclusive);
            if is_exclusive && let Some(limit) = schema.shift_remove(bound) {
                schema.insert(exclusive.to_owned(), limit);
            }
        }
    }
    if draft.is_some() && draft != Some(Draft::Draft202012) {
        old_items(schema);
    }
    if is_old && let Some(Value::Object(dependencies)) = schema.shift_remove("dependencies") {
        let (lists, schemas): (Map<_, _>, Map<_, _>) = dependencies
            .into_iter()
            .partition(|(_, value)| value.is_array());
        for (keyword, map) in [("dependentRequired", lists), ("dependentSchemas", schemas)] {
            if !map.is_empty() {
                schema.insert(keyword.to_owned(), Value::Object(map));
            }
        }
    }
}

/// `items` as an array is `prefixItems` now, and `additionalItems` is `items`.
fn old_items(schema: &mut Map<String, Value>) {
    let rest = schema.shift_remove("additionalItems");
    if !schema.get("items").is_some_and(Value::is_array) {
        // Beside one schema for all items, `additionalItems` says nothing.
        return;
    }
    let renamed = std::mem::take(schema).into_iter();
    schema.extend(renamed.map(|(keyword, value)| match keyword.as_str() {
        "items" => ("prefixItems".to_owned(), value),
        _ => (keyword, value),
    }));
    if let Some(rest) = rest {
        schema.insert("items".to_owned(), rest);
    }
}
