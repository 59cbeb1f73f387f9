//! Keywords that stand together: a schema object comes in; one whose meaning hangs on a single
//! deciding keyword goes out, for servers that look at the first of them only.

use super::conjoin::{Fail, size};
use super::fits::{fits_beside, is_of_type, types_of};
use super::{Lowering, Why, disjoint, is_assertion};
use crate::schema::position::children;
use crate::schema::profile::{AllOf, Siblings};
use serde_json::{Map, Value, json};

/// Keywords that decide alone where siblings are dropped.
const DECIDERS: [&str; 6] = ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"];

impl Lowering<'_> {
    /// Puts together what the server would not read together.
    pub(super) fn combine(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let deciders: Vec<&str> = DECIDERS
            .into_iter()
            .filter(|keyword| map.contains_key(*keyword) && !self.profile.ignores(keyword))
            .collect();
        if deciders.is_empty() || !self.is_misread(map, &deciders) {
            return None;
        }
        if let Some(values) = disjoint::values(map)
            && self.profile.siblings == Siblings::Dropped
        {
            let values = values.to_vec();
            return self.filtered(map, &values);
        }
        if !self.may_move() {
            self.lose(deciders[deciders.len() - 1], Why::Inexact);
            return None;
        }
        Some(self.combined(map))
    }

    fn is_misread(&self, map: &Map<String, Value>, deciders: &[&str]) -> bool {
        let branches = map
            .get("allOf")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let all_of = deciders.contains(&"allOf")
            && match self.profile.all_of {
                AllOf::Enforced => false,
                AllOf::AnyJson => branches > 1,
                AllOf::Merged | AllOf::Refused => true,
            };
        if all_of || self.profile.siblings == Siblings::Enforced {
            return all_of;
        }
        let others: Vec<&str> = map
            .keys()
            .map(String::as_str)
            .filter(|keyword| is_assertion(keyword))
            .filter(|keyword| !deciders.contains(keyword) && !self.profile.ignores(keyword))
            .collect();
        if deciders.len() == 1 && others.is_empty() {
            return false;
        }
        let is_implied = match disjoint::values(map) {
            Some(values) => values
                .iter()
                .all(|value| fits_beside(value, map) == Some(true)),
            None => others == ["type"] && self.is_type_implied(map),
        };
        deciders.len() > 1 || !is_implied
    }

    /// Whether every branch says at least as much of the type as stands beside the branches.
    fn is_type_implied(&self, map: &Map<String, Value>) -> bool {
        let wanted = types_of(&map["type"]);
        let says = |branch: &Value| {
            let branch = branch
                .as_object()
                .and_then(|map| target(self.root, map))
                .unwrap_or(branch);
            let Value::Object(branch) = branch else {
                return false;
            };
            if let Some(values) = disjoint::values(branch) {
                return values
                    .iter()
                    .all(|value| wanted.iter().any(|name| is_of_type(value, name)));
            }
            let types = branch.get("type").map(types_of).unwrap_or_default();
            !types.is_empty()
                && types.iter().all(|name| {
                    wanted.contains(name) || *name == "integer" && wanted.contains(&"number")
                })
        };
        ["anyOf", "oneOf", "allOf"]
            .iter()
            .find_map(|keyword| map.get(*keyword)?.as_array())
            .map_or_else(
                || target(self.root, map).is_some_and(says),
                |branches| branches.iter().all(says),
            )
    }

    /// A list of values, without those that what stands beside it rules out.
    fn filtered(
        &mut self,
        map: &Map<String, Value>,
        values: &[Value],
    ) -> Option<Map<String, Value>> {
        let keyword = if map.contains_key("const") {
            "const"
        } else {
            "enum"
        };
        let beside = size(map, self.steps).saturating_sub(values.len()).max(1);
        if !self.may_step(values.len().saturating_mul(beside)) {
            self.lose(keyword, Why::Inexact);
            return None;
        }
        let mut unsure = false;
        let mut left = Vec::new();
        for value in values {
            match fits_beside(value, map) {
                Some(false) => {}
                Some(true) => left.push(value.clone()),
                None => {
                    unsure = true;
                    left.push(value.clone());
                }
            }
        }
        if unsure || left.is_empty() {
            self.lose(keyword, Why::Inexact);
        }
        if left.is_empty() {
            return None;
        }
        let mut new = map.clone();
        if keyword == "enum" {
            new.insert("enum".to_owned(), Value::Array(left));
        }
        if !unsure {
            // The values left satisfy all the rest, so the list says everything.
            new.retain(|other, _| other == keyword || !DECIDERS.contains(&other.as_str()));
        }
        (new != *map).then_some(new)
    }

    fn combined(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        let (mut frame, mut all) = (Map::new(), Map::new());
        let is_dropped = self.profile.siblings == Siblings::Dropped;
        let mut parts = Vec::new();
        for (keyword, value) in map {
            let is_part = match keyword.as_str() {
                "allOf" => true,
                "$ref" | "anyOf" | "oneOf" => is_dropped,
                _ => false,
            };
            if is_part {
                parts.push((keyword.as_str(), value));
            } else if is_assertion(keyword) {
                all.insert(keyword.clone(), value.clone());
            } else {
                frame.insert(keyword.clone(), value.clone());
            }
        }
        parts.sort_by_key(|(keyword, _)| DECIDERS.iter().position(|known| known == keyword));
        // References and branches of `allOf` first: what they add goes into the alternatives.
        let order = |keyword: &str| usize::from(!matches!(keyword, "$ref" | "allOf"));
        parts.sort_by_key(|(keyword, _)| order(keyword));
        for (keyword, value) in parts {
            match (keyword, value) {
                ("allOf", Value::Array(branches)) => {
                    for branch in branches {
                        self.add(&mut all, keyword, branch);
                    }
                }
                _ => self.add(&mut all, keyword, &json!({ keyword: value })),
            }
        }
        for (keyword, value) in all {
            frame.entry(keyword).or_insert(value);
        }
        frame
    }

    /// Adds one more demand to what holds already, if there is an exact form of both.
    fn add(&mut self, all: &mut Map<String, Value>, keyword: &str, part: &Value) {
        let part = match part {
            Value::Object(part) => part,
            Value::Bool(true) => return,
            _ => return self.lose(keyword, Why::Inexact),
        };
        self.rounded = false;
        match self.conjoin(all, part) {
            Ok(both) => {
                if self.rounded {
                    self.lose(keyword, Why::Inexact);
                }
                *all = both;
            }
            Err(Fail::Never) => self.lose(keyword, Why::Inexact),
            Err(Fail::Inexact) => {
                self.lose(keyword, Why::Inexact);
                // One of the two must do. A reference is the better part of a schema; alternatives
                // are where nothing else says what the value is.
                let is_heard = |map: &Map<String, Value>| {
                    map.iter().any(|(keyword, value)| {
                        is_assertion(keyword)
                            && !self.profile.ignores_among(keyword, map)
                            && !self.profile.refuses(keyword, value)
                    })
                };
                if !is_heard(part) {
                    return;
                }
                let says_little = !is_heard(all)
                    || !["type", "properties", "$ref", "anyOf", "oneOf"]
                        .iter()
                        .any(|keyword| all.contains_key(*keyword));
                if keyword == "$ref" || says_little {
                    all.clone_from(part);
                }
            }
        }
    }

    /// Whether subschemas may be copied to other places: nothing in the schema is called by a name
    /// or a place of its own but its definitions.
    pub(super) fn may_move(&mut self) -> bool {
        let root = self.root;
        *self
            .movable
            .get_or_insert_with(|| is_movable(root, root, true))
    }
}

fn is_movable(root: &Value, schema: &Value, is_root: bool) -> bool {
    const NAMES: [&str; 5] = [
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$recursiveAnchor",
        "$recursiveRef",
    ];
    let Value::Object(map) = schema else {
        return true;
    };
    let is_named = NAMES.iter().any(|name| map.contains_key(*name))
        || !is_root && (map.contains_key("$id") || map.get("id").is_some_and(Value::is_string));
    if is_named || map.contains_key("$ref") && target(root, map).is_none() {
        return false;
    }
    children(map).all(|child| is_movable(root, child.value, false))
}

/// What the schema's reference leads to, where that is the root or a definition there.
pub(super) fn target<'r>(root: &'r Value, map: &Map<String, Value>) -> Option<&'r Value> {
    resolve(root, map.get("$ref")?.as_str()?)
}

pub(super) fn resolve<'r>(root: &'r Value, reference: &str) -> Option<&'r Value> {
    if reference == "#" {
        return Some(root);
    }
    let name = reference
        .strip_prefix("#/$defs/")
        .or_else(|| reference.strip_prefix("#/definitions/"))?;
    if name.contains(['/', '%']) {
        return None;
    }
    root.pointer(&reference[1..])
}
