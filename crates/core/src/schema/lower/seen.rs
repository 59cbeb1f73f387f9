//! `unevaluatedProperties`, which few servers read: a schema object comes in; the same in words of
//! `additionalProperties` goes out, where all that names properties is known.

use super::combine::resolve;
use super::conjoin::size;
use super::{Lowering, is_assertion};
use crate::schema::profile::AllOf;
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

/// What the branches of an `allOf` say of one object, and what stands beside them.
#[derive(Default)]
struct Seen {
    properties: Map<String, Value>,
    required: Vec<Value>,
    is_object: bool,
}

impl Lowering<'_> {
    /// The same of an object that names its properties itself, or whose `allOf` has branches that do.
    pub(super) fn seen_names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        use isogloss_validate::Draft;
        let rest = map.get(REST)?;
        let is_unread = self.profile.ignores(REST) || self.profile.refuses(REST, rest);
        let is_known = !matches!(
            self.draft,
            Some(Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
        );
        let is_seen = !MAY_SEE.iter().any(|keyword| map.contains_key(*keyword));
        if !is_known || !is_seen || map.contains_key("additionalProperties") {
            return None;
        }
        if !CONJOINING.iter().any(|keyword| map.contains_key(*keyword)) {
            return is_unread.then(|| renamed(map));
        }
        if !is_unread && self.profile.all_of == AllOf::Enforced || !self.may_move() {
            return None;
        }
        let mut seen = Seen::default();
        self.see(map, 0, &mut seen)?;
        let mut new = renamed(map);
        new.retain(|keyword, _| !CONJOINING.contains(&keyword.as_str()));
        if seen.is_object {
            new.insert("type".to_owned(), json!("object"));
        }
        for (keyword, value) in [
            ("properties", Value::Object(seen.properties)),
            ("required", Value::Array(seen.required)),
        ] {
            new.insert(keyword.to_owned(), value);
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
                // What else stands beside the branches stays there.
                _ if depth > 0 && is_assertion(keyword) => return None,
                _ => {}
            }
        }
        Some(())
    }
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
