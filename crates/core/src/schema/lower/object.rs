//! Objects: what a schema says of properties that it does not name, made plain for servers that
//! read silence otherwise.

use super::{Lowering, Why};
use crate::schema::number::count_of;
use crate::schema::position::{Step, write_pointer};
use crate::schema::profile::Additional;
use serde_json::{Map, Value, json};

impl<'s> Lowering<'s> {
    /// A server that does not read `patternProperties` would judge those properties by
    /// `additionalProperties`: that must then allow what any of the patterns allows.
    pub(super) fn patterned(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let keyword = "patternProperties";
        // By now a refused one is gone; the client's schema still tells.
        let original = self.original()?.get(keyword)?;
        let is_lost = || {
            let place = format!("{}/{keyword}", self.pointer);
            self.losses.iter().any(|loss| loss.pointer == place)
        };
        if !self.profile.ignores(keyword) && (map.contains_key(keyword) || !is_lost()) {
            return None;
        }
        let Value::Object(patterns) = original else {
            return None;
        };
        let rest = map.get("additionalProperties");
        let is_open = matches!(rest, None | Some(Value::Bool(true)))
            || rest == Some(&Value::Object(Map::new()));
        if is_open && (rest.is_some() || self.profile.additional == Additional::Open) {
            return None;
        }
        let allowed = if is_open || !self.may_move() {
            Value::Bool(true)
        } else {
            let length = self.pointer.len();
            let mut branches = Vec::new();
            for (pattern, schema) in patterns {
                write_pointer(keyword, Step::Name(pattern), &mut self.pointer);
                branches.push(self.schema(schema).unwrap_or_else(|| schema.clone()));
                self.pointer.truncate(length);
            }
            branches.extend(rest.filter(|rest| **rest != Value::Bool(false)).cloned());
            match branches.len() {
                0 => Value::Bool(false),
                1 => branches.remove(0),
                _ => json!({ "anyOf": branches }),
            }
        };
        let mut new = map.clone();
        new.insert("additionalProperties".to_owned(), allowed);
        Some(new)
    }

    /// Makes silence plain: what is required is declared, and an object that plainly has more
    /// properties than it names says so.
    ///
    /// An object that names its properties and says nothing of others stays as it is, although many
    /// servers then close it: what it names is what its author wants, and all that a closed object
    /// lets pass satisfies the open one.
    pub(super) fn object(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        match self.profile.additional {
            Additional::Open => None,
            // A branch that requires a property stands in what names it.
            Additional::Closed if self.is_branch && !map.contains_key("properties") => None,
            // Named for this alone, they would rule out all others.
            Additional::Closed if self.profile.stands_alone && !map.contains_key("properties") => {
                None
            }
            Additional::Closed => declared(map),
            Additional::ClosedOnly => {
                let is_object = map.get("type") == Some(&Value::from("object"))
                    || map.contains_key("properties");
                if !is_object || map.get("additionalProperties") == Some(&Value::Bool(false)) {
                    return None;
                }
                self.lose("additionalProperties", Why::Narrower);
                let mut new = declared(map).unwrap_or_else(|| map.clone());
                new.insert("additionalProperties".to_owned(), Value::Bool(false));
                Some(new)
            }
        }
    }

    /// Closes an object whose names such a server cannot tell from others, where those are open.
    pub(super) fn closed_names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if !self.profile.ascii_names {
            return None;
        }
        let keyword = "additionalProperties";
        let named = map.get("properties").and_then(Value::as_object)?;
        let is_open = map
            .get(keyword)
            .is_some_and(|rest| *rest != Value::Bool(false));
        let is_odd = named.len() > 1 && !named.keys().all(|name| name.is_ascii());
        let least = map.get("minProperties").and_then(count_of);
        let needs_more = least.is_some_and(|least| least > named.len() as u64);
        if !is_open || !is_odd || needs_more {
            return None;
        }
        let original = self.original();
        let is_stated = |stated: &&str| original.is_some_and(|it| it.contains_key(*stated));
        let stated = [keyword, "patternProperties"].into_iter().find(is_stated);
        self.lose(stated.unwrap_or("properties"), Why::Narrower);
        let mut new = map.clone();
        new.insert(keyword.to_owned(), Value::Bool(false));
        Some(new)
    }

    /// Notes what is required and not named: closed objects are written without it. Nothing changes.
    pub(super) fn demanded(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if self.profile.additional == Additional::Closed && !self.is_branch && demands_more(map) {
            let original = self.original();
            let known = ["required", "anyOf", "oneOf", "allOf", "$ref", "properties"];
            let keyword = known
                .into_iter()
                .find(|keyword| original.is_some_and(|it| it.contains_key(*keyword)));
            let keyword = keyword.unwrap_or("required");
            let place = format!("{}/{keyword}", self.pointer);
            if !self.losses.iter().any(|loss| loss.pointer == place) {
                self.lose(keyword, Why::Ignored);
            }
        }
        None
    }

    /// The object of the client's schema that stands where lowering is.
    pub(super) fn original(&self) -> Option<&'s Map<String, Value>> {
        self.root.pointer(&self.pointer)?.as_object()
    }
}

/// The schema with every required property among `properties`: a closed object without it could
/// never be.
pub(super) fn declared(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    let is_plain = map.get("type").is_none_or(|kind| kind == "object")
        && !map.contains_key("patternProperties");
    let none = Map::new();
    let known = match map.get("properties") {
        Some(Value::Object(known)) => known,
        None => &none,
        Some(_) => return None,
    };
    let required = map.get("required").and_then(Value::as_array);
    let missing: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| !known.contains_key(*name))
        .collect();
    let rest = map.get("additionalProperties");
    let says_nothing = !map.contains_key("properties") && missing.is_empty();
    if !is_plain || says_nothing || rest == Some(&Value::Bool(false)) {
        return None;
    }
    let at_least = map.get("minProperties").and_then(count_of);
    let needs_more = rest.is_none()
        && (known.is_empty() && !missing.is_empty()
            || at_least.is_some_and(|least| least > (known.len() + missing.len()) as u64));
    if !needs_more && missing.is_empty() {
        return None;
    }
    let schema = match rest {
        None | Some(Value::Bool(_)) => Value::Object(Map::new()),
        Some(rest) => rest.clone(),
    };
    let mut new = map.clone();
    let named = new
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(named) = named {
        let added = missing.into_iter();
        named.extend(added.map(|name| (name.to_owned(), schema.clone())));
    }
    if needs_more {
        new.insert("additionalProperties".to_owned(), Value::Bool(true));
    }
    Some(new)
}

/// Whether the schema, or a branch of it, requires a property that it does not name.
fn demands_more(map: &Map<String, Value>) -> bool {
    let branches = ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|keyword| map.get(*keyword)?.as_array())
        .flatten()
        .filter_map(Value::as_object);
    let named = map.get("properties").and_then(Value::as_object);
    let is_named = |name: &str| named.is_some_and(|named| named.contains_key(name));
    let is_object = map
        .get("type")
        .is_none_or(|kind| super::fits::types_of(kind).contains(&"object"));
    let required = map.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    let listed = map.contains_key("const") || map.contains_key("enum");
    is_object && !listed && required.any(|name| !is_named(name))
        || branches.into_iter().any(demands_more)
}
