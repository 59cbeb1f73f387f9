//! `oneOf`: a schema object comes in; one that the server reads rightly goes out.

use super::conjoin::Fail;
use super::{Lowering, Why};
use crate::schema::profile::{AllOf, OneOf};
use serde_json::{Map, Value, json};

impl Lowering<'_> {
    /// `relaxed` says that a branch is wider than it was: a value may now satisfy two of them,
    /// which `oneOf` forbids.
    pub(super) fn one_of(
        &mut self,
        map: &Map<String, Value>,
        relaxed: bool,
    ) -> Option<Map<String, Value>> {
        let Some(Value::Array(branches)) = map.get("oneOf") else {
            return None;
        };
        if self.profile.ignores("oneOf") || self.profile.one_of == OneOf::Enforced && !relaxed {
            return None;
        }
        let is_disjoint = self.all_disjoint(branches);
        if !is_disjoint {
            self.lose("oneOf", Why::Inexact);
        }
        let must_change = match self.profile.one_of {
            OneOf::Refused => true,
            // The server reads `anyOf` anyway; saying so keeps what is sent no narrower on paper.
            OneOf::AnyOf | OneOf::Enforced => relaxed && !is_disjoint,
        };
        must_change.then(|| self.as_any_of(map))
    }

    fn as_any_of(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        let renamed = |(keyword, value): (&String, &Value)| match keyword.as_str() {
            "oneOf" => ("anyOf".to_owned(), value.clone()),
            _ => (keyword.clone(), value.clone()),
        };
        if !map.contains_key("anyOf") {
            return map.iter().map(renamed).collect();
        }
        let mut new = map.clone();
        let also = Map::from_iter([(
            "anyOf".to_owned(),
            new.shift_remove("oneOf").unwrap_or_default(),
        )]);
        if self.profile.all_of == AllOf::Enforced {
            match new.get_mut("allOf") {
                Some(Value::Array(all)) => all.push(Value::Object(also)),
                _ => {
                    new.insert("allOf".to_owned(), json!([also]));
                }
            }
            return new;
        }
        let any = Map::from_iter([("anyOf".to_owned(), map["anyOf"].clone())]);
        let both = if self.may_move() {
            self.conjoin(&any, &also)
        } else {
            Err(Fail::Inexact)
        };
        match both {
            Ok(both) if both.keys().eq(["anyOf"]) => new.extend(both),
            _ => self.lose("oneOf", Why::Inexact),
        }
        new
    }
}
