//! Schemas whose root is no object, for servers that take objects alone. In: the client's schema. Out: that of an object
//! with the answer in it, which is taken out again on the way back.
//!
//! Lists are what clients of Gemini and Ollama ask for most (`list[Recipe]`), and unions come from any of them; OpenAI
//! answers 400 to both ("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'"), strict or not.

use super::Writer;
use crate::error::Error;
use crate::ir::{Calls, Constraint, Rewrap, Strategy};
use crate::schema::merge::{self, Alternatives};
use serde_json::{Map, Value};

impl Writer<'_> {
    /// Puts the client's constraint on the answer where the server enforces it, in an object if it takes nothing else;
    /// `None` where there is no such place.
    pub(super) fn place_stated(
        &mut self,
        stated: &Constraint,
    ) -> Result<Option<(Strategy, Rewrap)>, Error> {
        let spelling = self.request.constraint.as_ref();
        let spelling = spelling.map(|stated| stated.spelling.0.as_str());
        let any_object = Constraint::JsonObject;
        let stated = match self.is_any(stated) {
            true => &any_object,
            false => stated,
        };
        if let Some(wrapped) = self.in_object(stated) {
            let known = self.losses.len();
            self.wraps_answer = true;
            if let Some(strategy) = self.place(&wrapped, spelling)? {
                return Ok(Some((strategy, Rewrap::Answer)));
            }
            // Why, the schema itself is told.
            self.wraps_answer = false;
            self.losses.truncate(known);
        }
        let placed = self.place(stated, spelling)?;
        // A remark may stand beside calls.
        let is_alone = self.contract.calls != Calls::Optional && stated.is_json();
        let rewrap = match is_alone && self.rule.answers_in_fences {
            true => Rewrap::Json,
            false => Rewrap::Keep,
        };
        Ok(placed.map(|strategy| (strategy, rewrap)))
    }

    /// Whether any JSON is asked for (Gemini's JSON mode), where the server takes no schema that says nothing: what its own JSON mode
    /// answers satisfies that.
    fn is_any(&self, stated: &Constraint) -> bool {
        let Constraint::JsonSchema(schema) = stated else {
            return false;
        };
        let says_nothing = match schema {
            Value::Object(map) => map.is_empty(),
            other => *other == Value::Bool(true),
        };
        says_nothing && self.rule.schema.any_as_object
    }

    /// The schema of an object around the answer, where the server takes no schema of a root like this one's.
    fn in_object(&self, stated: &Constraint) -> Option<Constraint> {
        let Constraint::JsonSchema(schema) = stated else {
            return None;
        };
        let profile = &self.rule.schema;
        // One that names properties and no type is an object's to whoever writes it.
        let is_elses = |map: &Map<String, Value>| {
            !map.is_empty() && (map.contains_key("type") || !map.contains_key("properties"))
        };
        if profile.needs.is_empty() || !schema.as_object().is_some_and(is_elses) {
            return None;
        }
        let is_lacking = match profile.strict_only && !self.is_strict() {
            true => self.lacking(schema).is_some(),
            false => {
                let lowered = self.memo.lower(schema, profile);
                self.lacking(lowered.schema.as_ref().unwrap_or(schema))
                    .is_some()
            }
        };
        is_lacking.then(|| {
            let around = Alternatives::CallOrAnswer { answer: schema };
            Constraint::JsonSchema(merge::envelope(&[], around))
        })
    }
}
