//! What a server takes in one of two spellings only, written in that one: a schema object comes in,
//! one that says the same goes out.

use super::{Lowering, Rewrite, Unkept, Why};
use crate::schema::number::count_of;
use crate::schema::profile::{Optional, Profile, Types};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Whole numbers that are listed.
const MAX_LISTED: i64 = 128;

/// What decides beside a list of types: there the types stay, and are told.
const BRANCHES: [&str; 4] = ["$ref", "anyOf", "oneOf", "allOf"];

/// What counts properties, items, characters.
const COUNTS: [&str; 6] = [
    "minProperties",
    "maxProperties",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
];

impl Lowering<'_> {
    /// `const` as `enum`, tuples, booleans and patterns of names as the server reads them, a list of
    /// types as branches of one each, `unevaluatedProperties` as what is read, and no more of `minItems` than is taken.
    pub(super) fn restated(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let steps: [Rewrite<'_, Self>; 10] = [
            &Self::whole_counts,
            &Self::listed,
            &Self::const_as_enum,
            &Self::format,
            &Self::tuples,
            &Self::spelled_out,
            &Self::names,
            &Self::fewer_items,
            &Self::one_type,
            &Self::seen_names,
        ];
        let mut new = None;
        for step in steps {
            let next = step(self, new.as_ref().unwrap_or(map));
            new = next.or(new);
        }
        new
    }

    /// Counts as whole numbers: `1.0` is the same count, and an error to many.
    fn whole_counts(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut new = None;
        for keyword in COUNTS {
            let Some(count) = map.get(keyword).filter(|count| !count.is_u64()) else {
                continue;
            };
            if let Some(count) = count_of(count) {
                let new = new.get_or_insert_with(|| map.clone());
                new.insert(keyword.to_owned(), json!(count));
            }
        }
        new
    }

    /// Whole numbers between bounds as a list, where the server does not read the bounds.
    fn listed(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        const SAYS: [&str; 5] = [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ];
        let decides = ["const", "enum"].iter().chain(&BRANCHES);
        let is_unread = |keyword: &str| {
            map.contains_key(keyword)
                && (self.profile.ignores_among(keyword, map)
                    || self.profile.refuses(keyword, &map[keyword]))
        };
        if map.get("type") != Some(&json!("integer"))
            || decides
                .into_iter()
                .any(|keyword| map.contains_key(*keyword))
            || !SAYS.iter().any(|keyword| is_unread(keyword))
            || self.profile.refuses("enum", &Value::Null)
            || self.profile.ignores("enum")
        {
            return None;
        }
        let bound = |keyword: &str| map.get(keyword).map(whole_number);
        let mut least = bound("minimum").map_or(Some(i64::MIN), |it| it.map(|it| it.0))?;
        let mut most = bound("maximum").map_or(Some(i64::MAX), |it| it.map(|it| it.1))?;
        if let Some(beyond) = bound("exclusiveMinimum") {
            least = least.max(beyond?.1.checked_add(1)?);
        }
        if let Some(below) = bound("exclusiveMaximum") {
            most = most.min(below?.0.checked_sub(1)?);
        }
        let step = match map.get("multipleOf") {
            None => 1,
            Some(step) => step.as_i64().filter(|step| *step > 0)?,
        };
        let count = most.checked_sub(least)?.checked_add(1)?;
        if !(1..=MAX_LISTED).contains(&count) {
            return None;
        }
        let values: Vec<Value> = (least..=most)
            .filter(|value| value % step == 0)
            .map(Value::from)
            .collect();
        if values.is_empty() {
            return None;
        }
        let mut new = map.clone();
        new.retain(|keyword, _| !SAYS.contains(&keyword.as_str()));
        new.insert("enum".to_owned(), Value::Array(values));
        Some(new)
    }

    fn const_as_enum(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let value = map.get("const")?;
        let takes =
            |keyword: &str| !self.profile.refuses(keyword, value) && !self.profile.ignores(keyword);
        if map.contains_key("enum") || takes("const") || !takes("enum") {
            return None;
        }
        let renamed = map.iter().map(|(keyword, value)| match keyword.as_str() {
            "const" => ("enum".to_owned(), json!([value])),
            _ => (keyword.clone(), value.clone()),
        });
        Some(renamed.collect())
    }

    fn fewer_items(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let most = self.profile.max_min_items?;
        if count_of(map.get("minItems")?)? <= most {
            return None;
        }
        self.lose("minItems", Why::Refused);
        let mut new = map.clone();
        new.insert("minItems".to_owned(), json!(most));
        Some(new)
    }

    /// A list of types: `nullable` where the server knows that word, else a branch for each, which
    /// has all that stands beside it.
    fn one_type(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Some(Value::Array(types)) = map.get("type") else {
            return None;
        };
        if self.profile.types == Types::Many || types.is_empty() {
            return None;
        }
        let with = |kind: &Value| {
            let mut new = map.clone();
            new.insert("type".to_owned(), kind.clone());
            new
        };
        if let [only] = types.as_slice() {
            return Some(with(only));
        }
        if BRANCHES.iter().any(|keyword| map.contains_key(*keyword)) || !self.may_move() {
            self.lose("type", Why::Refused);
            let mut new = map.clone();
            new.shift_remove("type");
            return Some(new);
        }
        let (own, shared): (Map<_, _>, Map<_, _>) = map
            .clone()
            .into_iter()
            .partition(|(keyword, _)| !is_aside(keyword));
        let branches: Vec<Value> = types
            .iter()
            .map(|kind| {
                let mut branch = own.clone();
                branch.insert("type".to_owned(), kind.clone());
                Value::Object(branch)
            })
            .collect();
        let mut new = shared;
        new.insert("anyOf".to_owned(), Value::Array(branches));
        Some(new)
    }

    /// Every named property is required, where the server takes no other: narrower, and told. One
    /// that leads back to where it stands and could never end stays.
    pub(super) fn complete(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if self.profile.optional == Optional::Allowed {
            return None;
        }
        let named = map.get("properties")?.as_object()?;
        let required = map.get("required").and_then(Value::as_array);
        let names: HashSet<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let is_required = |name: &str| names.contains(name);
        let mut missing: Vec<&String> = named.keys().filter(|name| !is_required(name)).collect();
        missing.retain(|name| {
            let schema = &named[name.as_str()];
            !self.leads_back(schema) || self.ends(schema)
        });
        // What may not be there is not named: there are no others.
        let (absent, missing): (Vec<&String>, Vec<&String>) =
            (missing.into_iter()).partition(|name| is_never(&named[name.as_str()]));
        if missing.is_empty() && absent.is_empty() {
            return None;
        }
        let mut new = map.clone();
        if let Some(Value::Object(named)) = new.get_mut("properties") {
            named.retain(|name, _| !absent.contains(&name));
        }
        if !missing.is_empty() {
            let mut all: Vec<Value> = required.cloned().unwrap_or_default();
            all.extend(missing.into_iter().map(|name| json!(name)));
            self.lose("required", Why::Narrower);
            new.insert("required".to_owned(), Value::Array(all));
        }
        Some(new)
    }
}

/// Whether no value satisfies it, as schemas say that a property may not be there.
fn is_never(schema: &Value) -> bool {
    let takes_all = |schema: &Value| *schema == true || *schema == json!({});
    *schema == false || schema.get("not").is_some_and(takes_all)
}

/// A bound's whole numbers: the first that is not below it, the last that is not above it.
fn whole_number(bound: &Value) -> Option<(i64, i64)> {
    if let Some(whole) = bound.as_i64() {
        return Some((whole, whole));
    }
    let bound = bound.as_f64().filter(|bound| bound.abs() < 1e15)?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
    Some((bound.ceil() as i64, bound.floor() as i64))
}

/// The schema with its `definitions` as `$defs`, where the server knows that word alone.
pub(super) fn definitions_moved(schema: &Value, profile: &Profile) -> Option<Value> {
    let known = profile.known.as_ref()?;
    let knows = |name: &str| known.iter().any(|word| word == name);
    let map = schema.as_object()?;
    let has_old = map.contains_key(OLD) && !map.contains_key(NEW);
    if !has_old || knows(OLD) || !knows(NEW) {
        return None;
    }
    let renamed = map.iter().map(|(keyword, value)| match keyword.as_str() {
        OLD => (NEW.to_owned(), value.clone()),
        _ => (keyword.clone(), value.clone()),
    });
    let mut moved = Value::Object(renamed.collect());
    redirect(&mut moved);
    Some(moved)
}

const OLD: &str = "definitions";
const NEW: &str = "$defs";

/// References into the old place lead into the new one.
fn redirect(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get_mut("$ref")
                && let Some(rest) = reference.strip_prefix("#/definitions/")
            {
                *reference = format!("#/{NEW}/{rest}");
            }
            map.values_mut().for_each(redirect);
        }
        Value::Array(items) => items.iter_mut().for_each(redirect),
        _ => {}
    }
}

/// Losses are told of the places in the client's schema.
pub(super) fn move_back(losses: &mut [Unkept]) {
    for loss in losses {
        if let Some(rest) = loss.pointer.strip_prefix("/$defs/") {
            loss.pointer = format!("/{OLD}/{rest}");
        }
    }
}

/// What belongs to the place rather than to the values there.
pub(super) fn is_aside(keyword: &str) -> bool {
    const ASIDE: [&str; 11] = [
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$defs",
        "definitions",
        "$comment",
        "title",
        "description",
        "default",
        "examples",
    ];
    ASIDE.contains(&keyword)
}
