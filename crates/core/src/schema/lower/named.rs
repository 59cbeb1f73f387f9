//! Properties by patterns of their names: what a schema says of them comes in; the same as the
//! server reads it goes out.

use super::anchor::{self, Whole};
use super::conjoin::Fail;
use super::{Lowering, Why, raw};
use crate::schema::position::{Step, write_pointer};
use crate::schema::profile::{NamePatterns, Optional, PatternReading};
use serde_json::{Map, Value, json};

const KEYWORD: &str = "patternProperties";
/// Names that become properties, and those of them that each get a copy of one schema.
const MAX_LISTED: usize = 1_000;
const MAX_COPIES: usize = 50;

/// The names that a schema of names allows.
enum Listed<'s> {
    All,
    These(Vec<&'s str>),
}

/// `None` where it says something else of them than a list.
fn listed(names: &Value) -> Option<Listed<'_>> {
    let map = match names {
        Value::Bool(true) => return Some(Listed::All),
        names => names.as_object()?,
    };
    let is_known = |keyword: &String| {
        matches!(keyword.as_str(), "type" | "enum" | "const") || super::is_note(keyword)
    };
    let is_string = map.get("type").is_none_or(|kind| {
        let mut kinds = super::fits::types_of(kind).into_iter();
        kinds.any(|kind| kind == "string")
    });
    if !is_string || !map.keys().all(is_known) {
        return None;
    }
    let mut these: Vec<&str> = match (map.get("const"), map.get("enum")) {
        (None, None) => return Some(Listed::All),
        (Some(Value::String(only)), None) => vec![only],
        (None, Some(Value::Array(values))) => values.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let mut known = std::collections::HashSet::new();
    these.retain(|name| known.insert(*name));
    Some(Listed::These(these))
}

impl Lowering<'_> {
    /// `patternProperties` that every name matches are `additionalProperties`; those of one schema
    /// are one pattern; and `propertyNames` says nothing where there are no names.
    pub(super) fn names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let listed = self.listed_names(map);
        if self.profile.name_patterns == NamePatterns::Enforced {
            return listed;
        }
        let without = self.no_names(listed.as_ref().unwrap_or(map)).or(listed);
        let now = without.as_ref().unwrap_or(map);
        let next = self.every_name(now);
        let now = next.as_ref().unwrap_or(now);
        self.one_pattern(now).or(next).or(without)
    }

    /// `propertyNames` that says nothing, and that lists the names: an object of those and no others.
    fn listed_names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        const NAMES: &str = "propertyNames";
        const OTHERS: &str = "additionalProperties";
        let stated = map.get(NAMES)?;
        let is_read = !self.profile.ignores(NAMES)
            && !self.profile.refuses(NAMES, stated)
            && !self.profile.refuses_among(NAMES, map);
        if is_read || !self.may_move() {
            return None;
        }
        let mut new = map.clone();
        new.shift_remove(NAMES);
        let listed = match listed(stated)? {
            Listed::All => return Some(new),
            Listed::These(names) => names,
        };
        let rest = map.get(OTHERS).unwrap_or(&Value::Bool(true));
        // What is not named is what others judge; and a copy may not stand elsewhere.
        let is_seen = ["patternProperties", "unevaluatedProperties"]
            .iter()
            .any(|keyword| map.contains_key(*keyword))
            || self.is_branch && !map.contains_key(OTHERS);
        if is_seen
            || listed.is_empty()
            || listed.len() > MAX_LISTED
            || self.profile.optional == Optional::Refused
            || self.profile.refuses("properties", &Value::Null)
            || self.profile.ignores("properties")
        {
            return None;
        }
        if !rest.is_boolean() && (listed.len() > MAX_COPIES || self.loses(OTHERS, rest)) {
            return None;
        }
        let named = map.get("properties").and_then(Value::as_object);
        let of_name = |name: &str| named.and_then(|named| named.get(name)).unwrap_or(rest);
        let kept = listed.into_iter().map(|name| (name, of_name(name)));
        let kept = kept.filter(|(_, schema)| **schema != Value::Bool(false));
        let kept = kept.map(|(name, schema)| match schema {
            Value::Bool(_) => (name.to_owned(), Value::Object(Map::new())),
            schema => (name.to_owned(), schema.clone()),
        });
        new.insert("properties".to_owned(), Value::Object(kept.collect()));
        new.insert(OTHERS.to_owned(), Value::Bool(false));
        Some(new)
    }

    /// Whether something is lost of a schema under this keyword: of copies it would be told where the client has nothing.
    fn loses(&mut self, keyword: &str, schema: &Value) -> bool {
        let (known, lost, length) = (self.losses.len(), self.lost, self.pointer.len());
        write_pointer(keyword, Step::Whole, &mut self.pointer);
        self.schema(schema);
        self.pointer.truncate(length);
        let loses = self.lost > lost;
        self.losses.truncate(known);
        self.lost = lost;
        loses
    }

    fn no_names(&self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let is_empty = map.get("additionalProperties") == Some(&Value::Bool(false))
            && !map.contains_key("properties")
            && !map.contains_key(KEYWORD);
        if !is_empty || !map.contains_key("propertyNames") {
            return None;
        }
        let mut new = map.clone();
        new.shift_remove("propertyNames");
        Some(new)
    }

    fn every_name(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let patterns = map.get(KEYWORD)?.as_object()?;
        let [(pattern, schema)] = patterns.iter().collect::<Vec<_>>()[..] else {
            return None;
        };
        if anchor::whole(pattern) != Whole::Anything {
            return None;
        }
        let mut new = map.clone();
        new.shift_remove(KEYWORD);
        new.insert("additionalProperties".to_owned(), schema.clone());
        let Some(Value::Object(named)) = map.get("properties") else {
            return Some(new);
        };
        if !self.may_move() {
            return None;
        }
        let mut both = Map::new();
        for (name, own) in named {
            match self.conjoin_values(own, schema) {
                Ok(schema) => both.insert(name.clone(), schema),
                Err(Fail::Never | Fail::Inexact) => return None,
            };
        }
        new.insert("properties".to_owned(), Value::Object(both));
        Some(new)
    }

    fn one_pattern(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let patterns = map.get(KEYWORD)?.as_object()?;
        let schema = patterns.values().next()?;
        let is_one = patterns.len() > 1 && patterns.values().all(|other| other == schema);
        if self.profile.name_patterns != NamePatterns::Alone || !is_one {
            return None;
        }
        let either: Vec<String> = patterns
            .keys()
            .map(|pattern| format!("(?:{pattern})"))
            .collect();
        let mut new = map.clone();
        new.insert(KEYWORD.to_owned(), json!({either.join("|"): schema}));
        Some(new)
    }

    /// Patterns of whole names; `None` where nothing changes.
    pub(super) fn anchored_names(
        &mut self,
        map: &Map<String, Value>,
    ) -> Option<Map<String, Value>> {
        let profile = self.profile;
        if profile.pattern != PatternReading::Whole
            || profile.name_patterns == NamePatterns::Enforced
            || profile.ignores(KEYWORD)
        {
            return None;
        }
        let patterns = map.get(KEYWORD)?.as_object()?;
        let mut new = None;
        if !map.contains_key("properties") {
            if map.contains_key("required") {
                self.lose("required", Why::Ignored);
            }
            let rest = map.get("additionalProperties");
            if rest.is_some_and(|rest| *rest != Value::Bool(false)) {
                // There are no others, whatever is said of them.
                self.lose("additionalProperties", Why::Narrower);
            }
        }
        let mut anchored = Map::new();
        let mut why = None;
        for (pattern, schema) in patterns {
            let Some(pattern) = self.flagless(pattern) else {
                why = Some(Why::Inexact);
                continue;
            };
            let name = match anchor::whole(&pattern) {
                Whole::Already => pattern.into_owned(),
                Whole::Anything => {
                    why = why.or(Some(Why::Narrower));
                    ANY.to_owned()
                }
                Whole::Narrower(whole) => {
                    why = why.or(Some(Why::Narrower));
                    whole
                }
                Whole::None => {
                    why = Some(Why::Inexact);
                    continue;
                }
            };
            let reading = raw::Reading {
                is_raw: profile.raw_patterns,
                is_ascii: profile.ascii_classes,
                most: profile.pattern_repeats,
            };
            let fitted = raw::fitted(&name, reading).filter(|fitted| !fitted.is_wider);
            let Some(fitted) = fitted else {
                why = Some(Why::Inexact);
                continue;
            };
            if fitted.is_narrower {
                why = why.or(Some(Why::Narrower));
            }
            anchored.insert(fitted.pattern, schema.clone());
        }
        if let Some(why) = why {
            self.lose(KEYWORD, why);
        }
        if anchored != *patterns {
            let new = new.insert(map.clone());
            if why == Some(Why::Inexact) {
                // A name of a pattern that is not read is one of the others.
                new.shift_remove(KEYWORD);
                let rest = new.get("additionalProperties");
                if rest.is_none_or(|rest| *rest != Value::Bool(true)) {
                    new.insert("additionalProperties".to_owned(), json!(true));
                }
            } else {
                new.insert(KEYWORD.to_owned(), Value::Object(anchored));
            }
        }
        new
    }
}

/// A name without what would end the string.
const ANY: &str = r#"^[^"\\\x00-\x1f]*$"#;
