//! Lowering: a client's schema and what one server makes of schemas come in; the schema that makes
//! that server enforce the most of it, and what it still does not enforce, go out.
//!
//! Equivalent rewrites come first, then keywords are taken out: the result is never narrower than
//! the client's schema, but where the ledger says so. A schema that needs nothing is borrowed.

mod anchor;
mod combine;
mod conjoin;
mod disjoint;
mod fits;
mod object;
mod one_of;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

use super::position::{Child, Step, children, push_segment, write_pointer};
use super::profile::{Lengths, Profile};
use super::{merge, nullable, validator};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// How much one schema may grow by lowering, in values copied. Pushing keywords into branches
/// multiplies: what would cost more stays as it is, with a loss.
const BUDGET: usize = 20_000;

/// Why a keyword does not reach the server as the client meant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server ignores it: it was sent all the same.
    Ignored,
    /// The server refuses it: it was taken out.
    Refused,
    /// The server reads it otherwise, and there is no exact form that it would read rightly.
    Inexact,
    /// The server can only be told something narrower: not all that the client allows may come.
    Narrower,
}

/// One keyword that the server does not enforce as it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unkept {
    /// JSON Pointer into the client's schema.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// Why.
    pub why: Why,
}

/// A schema for one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered<'s> {
    /// What the server is sent; borrowed where it is the client's own schema.
    pub schema: Cow<'s, Value>,
    /// What the server does not enforce.
    pub losses: Vec<Unkept>,
}

impl Lowered<'_> {
    /// Whether the server is sent something else than the client's schema.
    #[must_use]
    pub const fn changed(&self) -> bool {
        matches!(self.schema, Cow::Owned(_))
    }
}

/// Lowers a schema for a server.
#[must_use]
pub fn lower<'s>(schema: &'s Value, profile: &Profile) -> Lowered<'s> {
    if *profile == Profile::default() {
        return Lowered {
            schema: Cow::Borrowed(schema),
            losses: Vec::new(),
        };
    }
    let plain = plainly(schema);
    let mut lowering = Lowering {
        root: &plain,
        profile,
        losses: Vec::new(),
        pointer: String::new(),
        expanding: Vec::new(),
        movable: None,
        budget: BUDGET,
        conjoining: 0,
    };
    let lowered = lowering.schema(&plain);
    let losses = lowering.losses;
    let schema = match (lowered, plain) {
        (Some(lowered), _) => Cow::Owned(lowered),
        (None, plain) => plain,
    };
    Lowered { schema, losses }
}

/// The schema in the words of 2020-12, OpenAPI's `nullable` included. Places stay what they were,
/// but for tuples of old drafts.
fn plainly(schema: &Value) -> Cow<'_, Value> {
    let schema = nullable::honour(schema);
    if validator::draft_of(&schema).is_none_or(|draft| draft == jsonschema::Draft::Draft202012) {
        return schema;
    }
    match merge::modern(&schema) {
        Some(modern) => Cow::Owned(modern),
        None => schema,
    }
}

struct Lowering<'s> {
    root: &'s Value,
    profile: &'s Profile,
    losses: Vec<Unkept>,
    /// Where the schema at hand stands in the client's.
    pointer: String,
    /// References that are being replaced by what they lead to.
    expanding: Vec<String>,
    /// Whether subschemas may be copied and moved; found out when it is first asked.
    movable: Option<bool>,
    budget: usize,
    /// Levels of conjunctions within conjunctions.
    conjoining: usize,
}

impl Lowering<'_> {
    /// The schema lowered; `None` where nothing changes.
    fn schema(&mut self, schema: &Value) -> Option<Value> {
        let Value::Object(map) = schema else {
            return None;
        };
        let mut new = self.without_unwanted(map);
        let relaxed = self.subschemas(map, &mut new);
        for step in [Self::patterned, Self::text, Self::combine] {
            let next = step(self, new.as_ref().unwrap_or(map));
            new = next.or(new);
        }
        let next = self.one_of(new.as_ref().unwrap_or(map), relaxed);
        new = next.or(new);
        let next = self.object(new.as_ref().unwrap_or(map));
        next.or(new).map(Value::Object)
    }

    /// Takes out what the server refuses, and notes what it ignores.
    fn without_unwanted(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut new = None;
        for (keyword, value) in map {
            if self.profile.refuses(keyword, value) {
                self.lose(keyword, Why::Refused);
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
            } else if self.profile.ignores(keyword) {
                self.lose(keyword, Why::Ignored);
            }
        }
        new
    }

    /// Lowers what stands inside. Says whether a branch of `oneOf` became wider.
    fn subschemas(
        &mut self,
        map: &Map<String, Value>,
        new: &mut Option<Map<String, Value>>,
    ) -> bool {
        let mut relaxed = false;
        for child in children(map) {
            let Child { keyword, step, .. } = child;
            let is_unwanted = self.profile.ignores(keyword)
                || self.profile.refuses(keyword, &map[keyword])
                || new.as_ref().is_some_and(|new| !new.contains_key(keyword));
            if is_unwanted {
                continue;
            }
            let known = self.losses.len();
            let length = self.pointer.len();
            write_pointer(keyword, step, &mut self.pointer);
            let lowered = self.schema(child.value);
            self.pointer.truncate(length);
            let is_wider = self.losses.len() > known;
            relaxed |= keyword == "oneOf" && is_wider;
            // What holds if its inside does not: a wider inside would make the whole narrower.
            let turns = matches!(keyword, "not" | "if")
                || keyword == "contains" && map.contains_key("maxContains");
            if turns && is_wider {
                self.losses.truncate(known);
                self.lose(keyword, Why::Inexact);
                let new = new.get_or_insert_with(|| map.clone());
                new.shift_remove(keyword);
                if keyword == "if" {
                    new.shift_remove("then");
                    new.shift_remove("else");
                }
            } else if let Some(lowered) = lowered {
                put(
                    new.get_or_insert_with(|| map.clone()),
                    keyword,
                    step,
                    lowered,
                );
            }
        }
        if new.is_some()
            && self
                .losses
                .iter()
                .any(|loss| loss.pointer.starts_with(&self.pointer))
        {
            self.forget_evaluation(map, new);
        }
        relaxed
    }

    /// `unevaluatedProperties` counts what other keywords saw: without one of them it would refuse
    /// more.
    fn forget_evaluation(
        &mut self,
        map: &Map<String, Value>,
        new: &mut Option<Map<String, Value>>,
    ) {
        for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
            if map.contains_key(keyword) && !self.profile.ignores(keyword) {
                self.lose(keyword, Why::Inexact);
                if let Some(new) = new {
                    new.shift_remove(keyword);
                }
            }
        }
    }

    /// What is said of texts: anchors, and lengths beside a pattern.
    fn text(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut new = None;
        if let Some(Value::String(pattern)) = map.get("pattern")
            && !self.profile.ignores("pattern")
            && self.profile.pattern == super::profile::PatternReading::Whole
        {
            match anchor::whole(pattern) {
                anchor::Whole::Already => {}
                anchor::Whole::Anything => {
                    new.get_or_insert_with(|| map.clone())
                        .shift_remove("pattern");
                }
                anchor::Whole::Narrower(whole) => {
                    self.lose("pattern", Why::Narrower);
                    let new = new.get_or_insert_with(|| map.clone());
                    new.insert("pattern".to_owned(), Value::String(whole));
                }
                anchor::Whole::None => {
                    self.lose("pattern", Why::Inexact);
                    new.get_or_insert_with(|| map.clone())
                        .shift_remove("pattern");
                }
            }
        }
        let now = new.as_ref().unwrap_or(map);
        if self.profile.lengths == Lengths::Enforced
            || !["pattern", "format"]
                .iter()
                .any(|keyword| now.contains_key(*keyword))
        {
            return new;
        }
        let pattern = now
            .get("pattern")
            .and_then(Value::as_str)
            .map(str::to_owned);
        for keyword in ["minLength", "maxLength"] {
            let Some(limit) = map.get(keyword) else {
                continue;
            };
            let is_implied = pattern.as_deref().is_some_and(|pattern| {
                limit
                    .as_u64()
                    .is_some_and(|limit| anchor::implies(pattern, keyword, limit))
            });
            if !is_implied {
                self.lose(
                    keyword,
                    match self.profile.lengths {
                        Lengths::Refused => Why::Refused,
                        _ => Why::Ignored,
                    },
                );
            }
            if self.profile.lengths == Lengths::Refused {
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
            }
        }
        new
    }

    /// Notes that the keyword of the schema at hand is not kept to.
    fn lose(&mut self, keyword: &str, why: Why) {
        let length = self.pointer.len();
        push_segment(&mut self.pointer, keyword);
        let loss = Unkept {
            pointer: self.pointer.clone(),
            keyword: keyword.to_owned(),
            why,
        };
        self.pointer.truncate(length);
        // A definition may be lowered more than once, where it is put in the place of references.
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }
}

/// Puts a subschema in its place.
fn put(map: &mut Map<String, Value>, keyword: &str, step: Step<'_>, schema: Value) {
    let place = map.get_mut(keyword).and_then(|holder| match step {
        Step::Whole => Some(holder),
        Step::Name(name) => holder.get_mut(name),
        Step::Index(index) => holder.get_mut(index),
    });
    if let Some(place) = place {
        *place = schema;
    }
}

/// Whether a keyword says something about values.
fn is_assertion(keyword: &str) -> bool {
    const PLAIN: [&str; 20] = [
        "type",
        "enum",
        "const",
        "required",
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
    ];
    PLAIN.contains(&keyword)
        || matches!(
            keyword,
            "$ref" | "$dynamicRef" | "$recursiveRef" | "dependentRequired"
        )
        || super::position::holds(keyword)
            .is_some_and(|(_, place)| place != super::position::Place::Aside)
}
