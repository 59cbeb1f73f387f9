//! Properties by patterns of their names: what a schema says of them comes in; the same as the
//! server reads it goes out.

use super::anchor::{self, Whole};
use super::conjoin::Fail;
use super::{Lowering, Why, raw};
use crate::schema::profile::{NamePatterns, PatternReading};
use serde_json::{Map, Value, json};

const KEYWORD: &str = "patternProperties";

impl Lowering<'_> {
    /// `patternProperties` that every name matches are `additionalProperties`; those of one schema
    /// are one pattern; and `propertyNames` says nothing where there are no names.
    pub(super) fn names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if self.profile.name_patterns == NamePatterns::Enforced {
            return None;
        }
        let without = self.no_names(map);
        let now = without.as_ref().unwrap_or(map);
        let next = self.every_name(now);
        let now = next.as_ref().unwrap_or(now);
        self.one_pattern(now).or(next).or(without)
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
            let name = match anchor::whole(pattern) {
                Whole::Already => pattern.clone(),
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
