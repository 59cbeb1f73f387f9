//! `oneOf`: a schema object comes in; one that the server reads rightly goes out.

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

    fn as_any_of(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let renamed = |(keyword, value): (&String, &Value)| match keyword.as_str() {
            "oneOf" => ("anyOf".to_owned(), value.clone()),
            _ => (keyword.clone(), value.clone()),
        };
        if !map.contains_key("anyOf") {
            return map.iter().map(renamed).collect();
        }
        let mut new = map.clone();
        let branches = new.shift_remove("oneOf");
        if self.profile.all_of == AllOf::Enforced {
            let also = json!({ "anyOf": branches });
            match new.get_mut("allOf") {
                Some(Value::Array(all)) => all.push(also),
                _ => {
                    new.insert("allOf".to_owned(), json!([also]));
                }
            }
        }
        new
    }
}
