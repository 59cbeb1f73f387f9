//! Arrays: what a schema says of items comes in; the same as the server reads it goes out.

use super::fits::types_of;
use super::{Lowering, Why, is_assertion, object};
use crate::schema::number::count_of;
use crate::schema::profile::{Additional, Tuples};
use serde_json::{Map, Value, json};

/// Lengths of which each becomes a branch.
const MAX_LENGTHS: u64 = 8;
/// Items of a tuple that are written out.
const MAX_ITEMS: u64 = 64;
/// What says how many items there are, or what they are.
const ITEMS: [&str; 4] = ["prefixItems", "items", "minItems", "maxItems"];

impl Lowering<'_> {
    /// `prefixItems` for a server that knows arrays of exactly those: a branch for each length.
    pub(super) fn tuples(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Some(Value::Array(first)) = map.get("prefixItems") else {
            return self.counted(map);
        };
        if self.profile.ignores("prefixItems")
            || self.profile.refuses("prefixItems", &map["prefixItems"])
        {
            return self.mixed(map, first);
        }
        let count = |keyword: &str| map.get(keyword).and_then(count_of);
        if self.profile.tuples == Tuples::Enforced {
            // Some compilers refuse a tuple that is longer than the array may be.
            let most = count("maxItems").filter(|most| *most < first.len() as u64)?;
            let mut new = map.clone();
            shorten(&mut new, first, most);
            return Some(new);
        }
        let least = count("minItems").unwrap_or(0);
        let mut most = count("maxItems");
        let rest = match map.get("items") {
            Some(Value::Bool(false)) => {
                let all = first.len() as u64;
                most = Some(most.map_or(all, |most| most.min(all)));
                json!({})
            }
            Some(rest) => rest.clone(),
            None => json!({}),
        };
        let is_array = map.get("type").is_none_or(|kind| kind == "array");
        let has_branches = ["$ref", "anyOf", "oneOf", "allOf"]
            .iter()
            .any(|keyword| map.contains_key(*keyword));
        let lengths = match most {
            Some(most) if most < least || most > MAX_ITEMS => Vec::new(),
            Some(most) if most - least < MAX_LENGTHS => (least..=most).collect(),
            _ => Vec::new(),
        };
        let is_exact = lengths.len() == 1
            || is_array && !has_branches && !lengths.is_empty() && self.may_move();
        if !is_exact {
            self.lose("prefixItems", Why::Narrower);
        }
        let length = most.unwrap_or(u64::MAX).min(least.max(first.len() as u64));
        let one = tuple(first, &rest, length.min(MAX_ITEMS));
        if !is_exact || lengths.len() == 1 {
            let mut new = without_items(map);
            new.extend(one);
            return Some(new);
        }
        let own = without_items(map);
        let (mut new, inner): (Map<_, _>, Map<_, _>) = own
            .into_iter()
            .partition(|(keyword, _)| super::restate::is_aside(keyword));
        let branches = lengths.into_iter().map(|length| {
            let mut branch = inner.clone();
            branch.insert("type".to_owned(), json!("array"));
            branch.extend(tuple(first, &rest, length));
            Value::Object(branch)
        });
        if !map.contains_key("type") {
            self.lose("prefixItems", Why::Narrower);
        }
        new.insert("anyOf".to_owned(), branches.collect());
        Some(new)
    }

    /// Counts of items for a server that reads them beside `items` alone (llama.cpp 10434: `maxItems: 0` let anything through).
    fn counted(&self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let counts = ["minItems", "maxItems"]
            .iter()
            .any(|count| map.contains_key(*count));
        let is_array = map.get("type").is_some_and(|kind| kind == "array");
        if self.profile.tuples != Tuples::Whole || !counts || !is_array || map.contains_key("items")
        {
            return None;
        }
        let mut new = map.clone();
        new.insert("items".to_owned(), json!({}));
        Some(new)
    }

    /// `items` that hold for every item, where those before are not read.
    fn mixed(&mut self, map: &Map<String, Value>, first: &[Value]) -> Option<Map<String, Value>> {
        let rest = map.get("items")?;
        let mut new = map.clone();
        if *rest == Value::Bool(false) {
            let known = map.get("maxItems").and_then(count_of);
            let count = first.len() as u64;
            let most = known.map_or(count, |known| known.min(count));
            new.insert("maxItems".to_owned(), json!(most));
        }
        let mut branches = first.to_vec();
        branches.extend((*rest != Value::Bool(false)).then(|| rest.clone()));
        let any = match self.may_move() && !branches.contains(&Value::Bool(true)) {
            true => json!({ "anyOf": branches }),
            false => json!({}),
        };
        new.insert("items".to_owned(), any);
        Some(new)
    }

    /// Says of what is about one value, branches included, what silence would say otherwise: that
    /// what is required is named, and that arrays and objects are open.
    pub(super) fn finished(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if self.is_branch || self.profile.additional != Additional::Closed {
            return None;
        }
        self.finished_at(map)
    }

    fn finished_at(&self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut new = None;
        // Beside anything else that is read, what could not be put together stays as it is.
        let is_read = |keyword: &&String| is_assertion(keyword) && !self.profile.ignores(keyword);
        let stands_alone = map.keys().filter(is_read).count() == 1;
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let branches = map.get(keyword).filter(|_| stands_alone);
            let branches = branches.and_then(Value::as_array);
            for (index, branch) in branches.into_iter().flatten().enumerate() {
                let finished = branch.as_object().and_then(|it| self.finished_at(it));
                if let Some(finished) = finished {
                    let new = new.get_or_insert_with(|| map.clone());
                    new[keyword][index] = Value::Object(finished);
                }
            }
        }
        let is_plain = !["$ref", "const", "enum", "anyOf", "oneOf", "allOf"]
            .iter()
            .any(|keyword| map.contains_key(*keyword));
        let declared = (is_plain && !map.contains_key("properties") && !self.profile.stands_alone)
            .then(|| object::declared(map))
            .flatten();
        let opened = self.opened(declared.as_ref().unwrap_or(map));
        opened.or(declared).or(new)
    }

    /// Says that arrays and objects are open, where anything said of them would close them.
    pub(super) fn opened(&self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if !self.profile.only_bare_is_open || self.profile.additional != Additional::Closed {
            return None;
        }
        const NOTES: [&str; 4] = ["type", "title", "description", "default"];
        let types = types_of(map.get("type")?);
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| map.contains_key(*keyword));
        let decides = ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"];
        if has(&decides) || map.keys().all(|keyword| NOTES.contains(&keyword.as_str())) {
            return None;
        }
        let first = map.get("prefixItems").and_then(Value::as_array);
        let least = map.get("minItems").and_then(count_of).unwrap_or(0);
        let mut new = None;
        let is_short = first.is_none_or(|first| (first.len() as u64) < least);
        if types.contains(&"array") && !has(&["items"]) && is_short {
            let new = new.get_or_insert_with(|| map.clone());
            new.insert("items".to_owned(), json!({}));
        }
        let named = [
            "properties",
            "patternProperties",
            "propertyNames",
            "additionalProperties",
        ];
        if types.contains(&"object") && !has(&named) {
            let new = new.get_or_insert_with(|| map.clone());
            new.insert("additionalProperties".to_owned(), json!(true));
        }
        new
    }
}

/// An array of exactly so many items, in words that say so on paper as well.
fn tuple(first: &[Value], rest: &Value, length: u64) -> Map<String, Value> {
    let mut new = Map::new();
    let items: Vec<Value> = first
        .iter()
        .chain(std::iter::repeat(rest))
        .take(usize::try_from(length).unwrap_or(usize::MAX))
        .cloned()
        .collect();
    if length > 0 {
        new.insert("prefixItems".to_owned(), Value::Array(items));
        new.insert("minItems".to_owned(), json!(length));
    } else {
        new.insert("items".to_owned(), json!({}));
    }
    new.insert("maxItems".to_owned(), json!(length));
    new
}

fn without_items(map: &Map<String, Value>) -> Map<String, Value> {
    let mut own = map.clone();
    own.retain(|keyword, _| !ITEMS.contains(&keyword.as_str()));
    own
}

fn shorten(map: &mut Map<String, Value>, first: &[Value], most: u64) {
    let items: Vec<Value> = first
        .iter()
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .cloned()
        .collect();
    if items.is_empty() {
        map.shift_remove("prefixItems");
    } else {
        map.insert("prefixItems".to_owned(), Value::Array(items));
    }
}
