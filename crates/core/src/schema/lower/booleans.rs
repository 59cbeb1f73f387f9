//! `true` and `false` for schemas: a schema object comes in; one that says the same in keywords goes
//! out, for servers that take objects alone.

use super::{Lowering, Why, is_note, put};
use crate::schema::number::count_of;
use crate::schema::percent_decode;
use crate::schema::position::{Child, Step, children, write_pointer};
use crate::schema::validator::draft_of;
use isogloss_validate::Draft;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

impl Lowering<'_> {
    pub(super) fn spelled_out(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let taken = self.profile.booleans.as_ref()?;
        let mut new = None;
        for Child {
            keyword,
            step,
            value,
            ..
        } in children(map)
        {
            let Value::Bool(says) = value else { continue };
            let is_unread = self.profile.ignores(keyword)
                || self.profile.refuses(keyword, &map[keyword])
                || self.profile.refuses_among(keyword, map);
            if is_unread || taken.iter().any(|known| known == keyword) {
                continue;
            }
            let new = new.get_or_insert_with(|| map.clone());
            if *says {
                put(new, keyword, step, json!({}));
            }
        }
        // From behind, so that places in lists stay what they are.
        let never: Vec<(&str, Step<'_>)> = children(map)
            .filter(|child| *child.value == Value::Bool(false))
            .filter(|child| !self.profile.ignores(child.keyword))
            .filter(|child| !taken.iter().any(|known| known == child.keyword))
            .map(|child| (child.keyword, child.step))
            .collect();
        for (keyword, step) in never.into_iter().rev() {
            if let Some(new) = &mut new {
                self.without_false(new, keyword, step);
            }
        }
        new
    }

    /// Takes out a part that nothing can satisfy.
    fn without_false(&mut self, new: &mut Map<String, Value>, keyword: &str, step: Step<'_>) {
        match (keyword, step) {
            ("$defs" | "definitions", _) => {}
            ("properties", Step::Name(name)) => {
                let is_closed = new.get("additionalProperties") == Some(&Value::Bool(false));
                let required = new.get("required").and_then(Value::as_array);
                let is_required =
                    required.is_some_and(|names| names.iter().any(|known| known == name));
                if !is_closed || is_required {
                    self.lose("properties", Why::Inexact);
                }
                if let Some(Value::Object(named)) = new.get_mut("properties") {
                    named.shift_remove(name);
                }
            }
            ("anyOf" | "oneOf", Step::Index(index)) => {
                if let Some(Value::Array(branches)) = new.get_mut(keyword)
                    && branches.len() > 1
                {
                    branches.remove(index);
                } else {
                    self.lose(keyword, Why::Refused);
                    new.shift_remove(keyword);
                }
            }
            ("prefixItems", Step::Index(index)) => {
                if let Some(Value::Array(items)) = new.get_mut("prefixItems") {
                    items.truncate(index);
                    if items.is_empty() {
                        new.shift_remove("prefixItems");
                    }
                }
                at_most(new, index);
            }
            ("items", Step::Whole) => {
                let before = new.get("prefixItems").and_then(Value::as_array);
                let count = before.map_or(0, Vec::len);
                new.insert("items".to_owned(), json!({}));
                at_most(new, count);
            }
            // Every value that is not of the schema that nothing is of.
            ("not", _) => drop(new.shift_remove("not")),
            _ => {
                self.lose(keyword, Why::Refused);
                new.shift_remove(keyword);
                if keyword == "if" {
                    new.shift_remove("then");
                    new.shift_remove("else");
                }
            }
        }
    }
}

/// The schema with `false` where a schema says that nothing is allowed in other words (`{"not": {}}`, as zod-to-json-schema writes
/// `z.never()`), but for definitions and what else a reference leads to: servers refuse that. `None` where none does.
pub(super) fn nevers(schema: &Value) -> Option<Value> {
    // Draft 4 has no truths for schemas.
    if draft_of(schema) == Some(Draft::Draft4) || !holds_never(schema) {
        return None;
    }
    let mut nevers = Nevers {
        targets: HashSet::new(),
        pointer: String::new(),
        found: Vec::new(),
    };
    nevers.targets(schema);
    nevers.find(schema);
    let mut plain = schema.clone();
    for pointer in &nevers.found {
        *plain.pointer_mut(pointer)? = Value::Bool(false);
    }
    (!nevers.found.is_empty()).then_some(plain)
}

struct Nevers {
    /// Where references lead.
    targets: HashSet<String>,
    /// Of the schema at hand.
    pointer: String,
    found: Vec<String>,
}

impl Nevers {
    fn targets(&mut self, schema: &Value) {
        let Value::Object(map) = schema else { return };
        let reference = map.get("$ref").and_then(Value::as_str);
        if let Some(place) = reference.and_then(|text| text.strip_prefix('#')) {
            self.targets.insert(percent_decode(place));
        }
        for child in children(map) {
            self.targets(child.value);
        }
    }

    fn find(&mut self, schema: &Value) {
        let Value::Object(map) = schema else { return };
        for child in children(map) {
            let length = self.pointer.len();
            write_pointer(child.keyword, child.step, &mut self.pointer);
            let is_defined = matches!(child.keyword, "$defs" | "definitions");
            if is_never(child.value) && !is_defined && !self.targets.contains(&self.pointer) {
                self.found.push(self.pointer.clone());
            }
            self.find(child.value);
            self.pointer.truncate(length);
        }
    }
}

fn is_never(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return false;
    };
    let is_any = |not: &Value| *not == Value::Bool(true) || *not == json!({});
    map.get("not").is_some_and(is_any) && map.keys().all(|name| name == "not" || is_note(name))
}

fn holds_never(schema: &Value) -> bool {
    let mut inside = schema.as_object().into_iter().flat_map(children);
    inside.any(|child| is_never(child.value) || holds_never(child.value))
}

/// An array has no more items than this.
fn at_most(map: &mut Map<String, Value>, count: usize) {
    let known = map.get("maxItems").and_then(count_of);
    let most = known.map_or(count as u64, |known| known.min(count as u64));
    map.insert("maxItems".to_owned(), json!(most));
}
