//! Objects of which several schemas name the properties: a schema object comes in; one that names them all goes out. So
//! `unevaluatedProperties`, which few servers read, is `additionalProperties`, and a server that closes each object closes the whole.

use super::combine::resolve;
use super::conjoin::size;
use super::{Lowering, is_assertion};
use crate::schema::profile::{Additional, AllOf};
use serde_json::{Map, Value, json};

const REST: &str = "unevaluatedProperties";

/// Keywords that see properties by what stands elsewhere, or only of some values. (`$ref` and `allOf` do so of all.)
const MAY_SEE: [&str; 7] = [
    "$dynamicRef",
    "$recursiveRef",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose schemas all hold: what they see counts.
const CONJOINING: [&str; 2] = ["$ref", "allOf"];

/// References and conjunctions within a branch that are followed.
const MAX_DEPTH: usize = 8;

/// Levels of schemas below which nothing is put in another's place.
const MAX_LEVEL: usize = 32;

/// What the branches of an `allOf` say of one object, and what stands beside them.
#[derive(Default)]
struct Seen {
    properties: Map<String, Value>,
    required: Vec<Value>,
    is_object: bool,
    /// A branch may say that there are others, which will not come.
    may_be_open: bool,
}

impl Lowering<'_> {
    /// The same of an object that names its properties itself, or whose `allOf` has branches that do.
    pub(super) fn seen_names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        use isogloss_validate::Draft;
        // Most schemas have nothing to look at.
        let is_conjoined = || CONJOINING.iter().any(|keyword| map.contains_key(*keyword));
        let closes = self.profile.additional == Additional::ClosedOnly;
        if !(map.contains_key(REST) || closes && is_conjoined()) {
            return None;
        }
        let is_seen = !MAY_SEE.iter().any(|keyword| map.contains_key(*keyword));
        if !is_seen || map.contains_key("additionalProperties") {
            return None;
        }
        let mut seen = Seen::default();
        let Some(rest) = map.get(REST) else {
            seen.may_be_open = true;
            return self.conjoined(map, seen);
        };
        let is_unread = self.profile.ignores(REST) || self.profile.refuses(REST, rest);
        let is_known = !matches!(
            self.draft,
            Some(Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
        );
        if !is_known {
            return None;
        }
        if !is_conjoined() {
            return is_unread.then(|| renamed(map));
        }
        if !is_unread && self.profile.all_of == AllOf::Enforced {
            return None;
        }
        self.merged(map, seen)
    }

    /// Objects that together are one, as one, for a server that takes closed ones alone: each closed by itself, they would shut
    /// each other's properties out.
    fn conjoined(&mut self, map: &Map<String, Value>, seen: Seen) -> Option<Map<String, Value>> {
        let branches = map.get("allOf").and_then(Value::as_array);
        let own = ["$ref", "properties"]
            .iter()
            .filter(|keyword| map.contains_key(**keyword));
        let is_several = branches.map_or(0, Vec::len) + own.count() > 1;
        is_several.then(|| self.merged(map, seen))?
    }

    fn merged(&mut self, map: &Map<String, Value>, mut seen: Seen) -> Option<Map<String, Value>> {
        // What is in another's place is looked through again.
        if !self.may_move() || self.level > MAX_LEVEL {
            return None;
        }
        self.see(map, 0, &mut seen)?;
        let mut new = renamed(map);
        new.retain(|keyword, _| !CONJOINING.contains(&keyword.as_str()));
        if seen.is_object {
            new.insert("type".to_owned(), json!("object"));
        }
        if !seen.properties.is_empty() {
            new.insert("properties".to_owned(), Value::Object(seen.properties));
        }
        if !seen.required.is_empty() {
            new.insert("required".to_owned(), Value::Array(seen.required));
        }
        Some(new)
    }

    /// Adds what a branch says; `None` where it says anything but which properties there are.
    fn see(&mut self, map: &Map<String, Value>, depth: usize, seen: &mut Seen) -> Option<()> {
        if depth > MAX_DEPTH || !self.may_step(map.len() + 1) {
            return None;
        }
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("type", Value::String(kind)) if kind == "object" => seen.is_object = true,
                ("properties", Value::Object(named)) => {
                    self.budget = self.budget.saturating_sub(size(named, self.budget));
                    if self.budget == 0 {
                        return None;
                    }
                    for (name, schema) in named {
                        add(&mut seen.properties, name, schema);
                    }
                }
                ("required", Value::Array(names)) => {
                    for name in names {
                        if !seen.required.contains(name) {
                            seen.required.push(name.clone());
                        }
                    }
                }
                ("$ref", Value::String(reference)) => {
                    let Value::Object(target) = resolve(self.root, reference)? else {
                        return None;
                    };
                    if refers_to(target, reference) {
                        return None;
                    }
                    self.see(target, depth + 1, seen)?;
                }
                ("allOf", Value::Array(branches)) => {
                    for branch in branches {
                        let Value::Object(branch) = branch else {
                            return None;
                        };
                        self.see(branch, depth + 1, seen)?;
                    }
                }
                ("$defs" | "definitions", _) => {}
                ("additionalProperties", open) if seen.may_be_open && is_anything(open) => {}
                // What else stands beside the branches stays there.
                _ if depth > 0 && is_assertion(keyword) => return None,
                _ => {}
            }
        }
        Some(())
    }
}

/// Whether a schema leads to itself: in another's place it would do so again.
fn refers_to(map: &Map<String, Value>, reference: &str) -> bool {
    map.iter().any(|(keyword, value)| match value {
        Value::String(text) => keyword == "$ref" && text == reference,
        Value::Object(map) => refers_to(map, reference),
        Value::Array(items) => items.iter().any(|item| {
            item.as_object()
                .is_some_and(|map| refers_to(map, reference))
        }),
        _ => false,
    })
}

fn is_anything(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}

fn renamed(map: &Map<String, Value>) -> Map<String, Value> {
    let renamed = map.iter().map(|(keyword, value)| match keyword.as_str() {
        REST => ("additionalProperties".to_owned(), value.clone()),
        _ => (keyword.clone(), value.clone()),
    });
    renamed.collect()
}

fn add(properties: &mut Map<String, Value>, name: &str, schema: &Value) {
    match properties.get_mut(name) {
        Some(known) if known == schema => {}
        Some(known) => *known = json!({"allOf": [known.take(), schema]}),
        None => drop(properties.insert(name.to_owned(), schema.clone())),
    }
}
