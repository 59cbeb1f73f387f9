//! Keywords that a server refuses beside others, or without them, in what a schema became.

use super::Why;
use super::fits::types_of;
use super::measures::Carrying;
use crate::schema::position::children;
use serde_json::{Map, Value, json};

impl Carrying<'_> {
    /// Named properties, and the first items of an array, with nothing beside them.
    pub(super) fn alone(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if !self.profile.stands_alone {
            return None;
        }
        let mut new = map.clone();
        // Without any name these say nothing.
        if map
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
            && map.get("additionalProperties") != Some(&Value::Bool(false))
        {
            new.shift_remove("properties");
        }
        if !new.contains_key("properties") && new.shift_remove("required").is_some() {
            self.lose("required", Why::Refused);
        }
        let rest = new.get("additionalProperties");
        if new.contains_key("properties") && rest.is_some_and(|rest| *rest != Value::Bool(false)) {
            new.shift_remove("additionalProperties");
            // What the client says of others may stand under another keyword.
            let said = ["additionalProperties", "patternProperties"];
            let said = said.into_iter().find(|keyword| self.is_said(keyword));
            self.lose(said.unwrap_or("properties"), Why::Narrower);
        }
        if new.contains_key("prefixItems") {
            // An array has as many as are named: these say the same, or nothing could be.
            new.shift_remove("minItems");
            new.shift_remove("maxItems");
        }
        (new != *map).then_some(new)
    }

    /// Objects within the schema that require something: of those that name properties, the first.
    pub(super) fn demanding(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let is_needed = |keyword: &String| keyword == "required";
        let is_within = !self.pointer.is_empty();
        if !is_within || !self.profile.needs_within.iter().any(is_needed) || !lacks(map, "required")
        {
            return None;
        }
        let named = map.get("properties").and_then(Value::as_object)?;
        let first = named.keys().next()?;
        self.lose("properties", Why::Narrower);
        let mut new = map.clone();
        new.insert("required".to_owned(), json!([first]));
        Some(new)
    }
}

/// Whether an object within a schema says nothing under a keyword.
#[must_use]
pub fn has_object_without(schema: &Value, keyword: &str) -> bool {
    let Some(map) = schema.as_object() else {
        return false;
    };
    children(map).any(|child| {
        child
            .value
            .as_object()
            .is_some_and(|map| lacks(map, keyword))
            || has_object_without(child.value, keyword)
    })
}

/// Whether this is an object's schema, and says nothing under the keyword.
fn lacks(map: &Map<String, Value>, keyword: &str) -> bool {
    let is_object = match map.get("type") {
        Some(kind) => types_of(kind).contains(&"object"),
        None => map.contains_key("properties"),
    };
    let says_nothing = match map.get(keyword) {
        Some(Value::Array(list)) => list.is_empty(),
        stated => stated.is_none(),
    };
    is_object && says_nothing
}
