//! Schemas that say no type: keywords that hold for some types come in; each beside the type that it
//! speaks of goes out.
//!
//! JSON Schema lets a value of another type pass. Compilers ignore such keywords, refuse them, or
//! take the type that they guess for the only one. Where they guess, so do people, who mean an
//! object where they name properties: there the guess stays, and is told.

use super::{Lowering, Why, disjoint, fits, is_assertion, restate};
use crate::schema::number::count_of;
use crate::schema::profile::{Types, Untyped};
use serde_json::{Map, Value, json};

/// Every type; `integer` is within `number`.
const TYPES: [&str; 6] = ["object", "array", "string", "number", "boolean", "null"];
const BRANCHES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

impl Lowering<'_> {
    pub(super) fn typed(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        // A branch is judged with what it stands in.
        if self.profile.untyped == Untyped::Enforced || self.is_branch {
            return None;
        }
        self.typed_at(map, None)
    }

    /// `within` is the keyword of the client's that this stands in, where it is a branch.
    fn typed_at(
        &mut self,
        map: &Map<String, Value>,
        within: Option<&str>,
    ) -> Option<Map<String, Value>> {
        let has = |keyword: &str| map.contains_key(keyword);
        if has("type") || has("$ref") {
            return None;
        }
        if let Some(values) = disjoint::values(map) {
            return self.typed_values(map, values);
        }
        let deciding = BRANCHES.into_iter().find(|keyword| has(keyword));
        if let Some(keyword) = deciding.filter(|keyword| !self.profile.ignores(keyword)) {
            return self.typed_branches(map, keyword, within);
        }
        let own: Vec<&str> = map
            .keys()
            .map(String::as_str)
            .filter(|keyword| is_assertion(keyword) && !self.profile.ignores_among(keyword, map))
            .collect();
        let mut kinds: Vec<&'static str> = Vec::new();
        for keyword in &own {
            let Some(kind) = kind_of(keyword) else {
                // It is about values of every type.
                self.lose(within.unwrap_or(keyword), Why::Inexact);
                return None;
            };
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let guessed = self.guessed(&own);
        match (kinds.as_slice(), guessed) {
            ([], _) if self.profile.untyped == Untyped::Refused && !map.is_empty() => {
                Some(self.of_any_type(map))
            }
            ([], _) => None,
            ([kind], Some(keyword)) if !contradicts(map) => {
                self.lose(within.unwrap_or(&keyword), Why::Narrower);
                let mut new = map.clone();
                new.insert("type".to_owned(), json!(kind));
                Some(new)
            }
            _ => Some(self.by_type(map, &kinds)),
        }
    }

    /// The types of listed values, where a schema without a type is refused.
    fn typed_values(
        &self,
        map: &Map<String, Value>,
        values: &[Value],
    ) -> Option<Map<String, Value>> {
        if self.profile.untyped != Untyped::Refused || self.profile.types == Types::One {
            return None;
        }
        let is_there = |kind: &&str| values.iter().any(|value| fits::is_of_type(value, kind));
        let kinds: Vec<&str> = TYPES.into_iter().filter(is_there).collect();
        let mut new = map.clone();
        let kind = match kinds.as_slice() {
            [only] => json!(only),
            several => json!(several),
        };
        new.insert("type".to_owned(), kind);
        Some(new)
    }

    /// The client's keyword from which the server guesses a type: what was added here is none.
    fn guessed(&self, own: &[&str]) -> Option<String> {
        let original = self.original();
        let is_clients = |keyword: &str| original.is_some_and(|it| it.contains_key(keyword));
        let keyword = own
            .iter()
            .find(|keyword| self.profile.guessed.iter().any(|known| known == **keyword))?;
        let mut from = std::iter::once(*keyword).chain(BRANCHES).chain(["$ref"]);
        from.find(|keyword| is_clients(keyword)).map(str::to_owned)
    }

    fn typed_branches(
        &mut self,
        map: &Map<String, Value>,
        keyword: &str,
        within: Option<&str>,
    ) -> Option<Map<String, Value>> {
        let original = self.original();
        let is_clients = |known: &&&str| original.is_some_and(|it| it.contains_key(**known));
        let mut known = BRANCHES.iter().chain(&["$ref", "type"]);
        let within = within
            .or_else(|| known.find(is_clients).copied())
            .unwrap_or(keyword);
        let mut new = None;
        for (index, branch) in map[keyword].as_array()?.iter().enumerate() {
            let typed = match branch {
                Value::Object(branch) => self.typed_at(branch, Some(within)),
                _ => None,
            };
            if let Some(typed) = typed {
                let new = new.get_or_insert_with(|| map.clone());
                new[keyword][index] = Value::Object(typed);
            }
        }
        new
    }

    fn of_any_type(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let mut new = map.clone();
        match self.profile.types {
            Types::Many => new.insert("type".to_owned(), json!(TYPES)),
            Types::One => new.insert(
                "anyOf".to_owned(),
                TYPES.iter().map(|kind| json!({ "type": kind })).collect(),
            ),
        };
        new
    }

    /// A branch for each type that is spoken of, and one for the others.
    fn by_type(&self, map: &Map<String, Value>, kinds: &[&str]) -> Map<String, Value> {
        let branch = |kind: &str| {
            let mut branch = Map::from_iter([("type".to_owned(), json!(kind))]);
            let own = map
                .iter()
                .filter(|(keyword, _)| kind_of(keyword) == Some(kind));
            branch.extend(own.map(|(keyword, value)| (keyword.clone(), value.clone())));
            let opened = self.opened(&branch);
            Value::Object(opened.unwrap_or(branch))
        };
        let mut branches: Vec<Value> = kinds.iter().map(|kind| branch(kind)).collect();
        let others: Vec<&str> = TYPES
            .into_iter()
            .filter(|kind| !kinds.contains(kind))
            .collect();
        match (self.profile.types, others.as_slice()) {
            (_, []) => {}
            (Types::Many, [_, _, ..]) => branches.push(json!({ "type": others })),
            _ => branches.extend(others.iter().map(|kind| json!({ "type": kind }))),
        }
        let mut new: Map<String, Value> = map
            .iter()
            .filter(|(keyword, _)| {
                let kind = kind_of(keyword);
                restate::is_aside(keyword) || kind.is_none_or(|kind| !kinds.contains(&kind))
            })
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        new.insert("anyOf".to_owned(), Value::Array(branches));
        new
    }
}

/// Whether the counts leave nothing of the type that they speak of.
fn contradicts(map: &Map<String, Value>) -> bool {
    let count = |keyword: &str| map.get(keyword).and_then(count_of);
    [("minItems", "maxItems"), ("minProperties", "maxProperties")]
        .into_iter()
        .any(|(least, most)| {
            count(most).is_some_and(|most| count(least).is_some_and(|it| it > most))
        })
}

/// The type that a keyword speaks of.
pub(super) fn kind_of(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies"
        | "unevaluatedProperties" => "object",
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems"
        | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => "array",
        "pattern" | "format" | "minLength" | "maxLength" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        _ => return None,
    })
}
