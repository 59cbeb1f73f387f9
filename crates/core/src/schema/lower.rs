//! Lowering: a client's schema and what one server makes of schemas come in; the schema that makes
//! that server enforce the most of it, and what it still does not enforce, go out.
//!
//! Equivalent rewrites come first, then keywords are taken out: the result is never narrower than
//! the client's schema, but where the ledger says so. A schema that needs nothing is borrowed.

mod anchor;
mod array;
mod beside;
mod booleans;
mod combine;
mod conjoin;
mod disjoint;
mod fits;
mod floats;
mod formats;
mod measures;
mod named;
mod object;
mod one_of;
mod properties;
mod raw;
mod recursion;
mod refs;
mod restate;
mod seen;
mod syntax;
mod text;
mod told;
mod unsent;
mod untyped;
mod ways;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

use super::position::{AppliesTo, Child, Step, children, push_segment, write_pointer};
use super::profile::{Profile, Recursion};
use super::{identity, merge, nullable, rooted, validator};
pub use beside::has_object_without;
pub use formats::asserts;
use serde_json::{Map, Value};
use std::borrow::Cow;
pub(crate) use told::describe;
pub use told::{described, described_in_full};

/// How much one schema may grow by lowering, in values copied. Pushing keywords into branches
/// multiplies: what would cost more stays as it is, with a loss.
const BUDGET: usize = 20_000;
/// Comparisons of values and branches with each other, over the whole schema. Lists multiply, and
/// nothing here has passed the guard yet.
const STEPS: usize = 300_000;

/// Why a keyword does not reach the server as the client meant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server ignores it: it was left out where it holds other schemas than alternatives, and sent else.
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
    // On many wires a schema is an object.
    let any = (*schema == Value::Bool(true)).then(|| Value::Object(Map::new()));
    if any.is_none() && *profile == Profile::default() {
        return Lowered {
            schema: Cow::Borrowed(schema),
            losses: Vec::new(),
        };
    }
    if let Some(plain) = any.or_else(|| identity::without_idle(schema)) {
        let lowered = lower(&plain, profile);
        return Lowered {
            schema: Cow::Owned(lowered.schema.into_owned()),
            losses: lowered.losses,
        };
    }
    let stated = schema;
    let honoured = nullable::honour(schema);
    let redirected = refs::redirected(&honoured, profile);
    let (honoured, copies) = match redirected {
        Some(redirected) => (Cow::Owned(redirected.schema), redirected.moved),
        None => (honoured, Vec::new()),
    };
    let mut plain = plainly(honoured);
    if let Some(never) = booleans::nevers(&plain) {
        plain = Cow::Owned(never);
    }
    let moved = restate::definitions_moved(&plain, profile);
    let has_moved = moved.is_some();
    if let Some(moved) = moved {
        plain = Cow::Owned(moved);
    }
    let mut lowering = Lowering {
        root: &plain,
        profile,
        losses: Vec::new(),
        lost: 0,
        pointer: String::new(),
        expanding: Vec::new(),
        has_expanded: false,
        movable: None,
        budget: BUDGET,
        steps: STEPS,
        level: 0,
        conjoining: 0,
        rounded: false,
        is_branch: false,
        draft: validator::draft_of(schema),
    };
    let lowered = lowering.schema(&plain);
    let mut losses = lowering.losses;
    let whole = lowered.as_ref().unwrap_or(&plain);
    let lowered = measures::carried(whole, &plain, profile, &mut losses).or(lowered);
    if has_moved {
        restate::move_back(&mut losses);
    }
    for loss in &mut losses {
        let copy = copies.iter().find_map(|(copy, original)| {
            let rest = loss.pointer.strip_prefix(copy)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{original}{rest}"))
        });
        if let Some(original) = copy {
            loss.pointer = original;
        }
    }
    // A copy may have lost what its original lost as well.
    if !copies.is_empty() {
        let mut known = std::collections::HashSet::new();
        losses.retain(|loss| known.insert(loss.pointer.clone()));
    }
    let schema = match (lowered, plain) {
        (Some(lowered), _) => Cow::Owned(lowered),
        (None, plain) => plain,
    };
    let rooted = profile
        .plain_root
        .then(|| rooted::in_place(&schema))
        .flatten();
    let schema = rooted.map_or(schema, Cow::Owned);
    let schema = match profile.any_in_words && *schema == Value::Object(Map::new()) {
        true => Cow::Owned(unsent::any_json()),
        false => schema,
    };
    let schema = match profile.describes {
        true => told::described(schema, stated, &losses),
        false => schema,
    };
    Lowered { schema, losses }
}

/// The schema in the words of 2020-12. Places stay what they were, but for tuples of old drafts.
fn plainly(schema: Cow<'_, Value>) -> Cow<'_, Value> {
    if validator::draft_of(&schema)
        .is_none_or(|draft| draft == isogloss_validate::Draft::Draft202012)
    {
        return schema;
    }
    match merge::modern(&schema) {
        Some(modern) => Cow::Owned(modern),
        None => schema,
    }
}

/// A rewrite of the schema at hand; `None` where nothing changes.
type Rewrite<'f, L> = &'f dyn Fn(&mut L, &Map<String, Value>) -> Option<Map<String, Value>>;

struct Lowering<'s> {
    root: &'s Value,
    profile: &'s Profile,
    losses: Vec<Unkept>,
    /// How often something was lost, known losses included.
    lost: usize,
    /// Where the schema at hand stands in the client's.
    pointer: String,
    /// References that are being replaced by what they lead to.
    expanding: Vec<String>,
    /// Whether any was.
    has_expanded: bool,
    /// Whether subschemas may be copied and moved; found out when it is first asked.
    movable: Option<bool>,
    budget: usize,
    steps: usize,
    /// Levels of schemas within schemas, references that were replaced included.
    level: usize,
    /// Levels of conjunctions within conjunctions.
    conjoining: usize,
    /// Whether putting schemas together made something that the server does not read.
    rounded: bool,
    /// Whether the schema at hand is about the same value as the one that it stands in: what that
    /// says counts as well.
    is_branch: bool,
    /// The draft of the client's schema, where it says so.
    draft: Option<isogloss_validate::Draft>,
}

impl Lowering<'_> {
    /// The schema lowered; `None` where nothing changes.
    fn schema(&mut self, schema: &Value) -> Option<Value> {
        let Value::Object(map) = schema else {
            return None;
        };
        self.level += 1;
        let lowered = self.object_schema(map);
        self.level -= 1;
        lowered.map(Value::Object)
    }

    fn object_schema(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let restated = self.restated(map);
        let map = restated.as_ref().unwrap_or(map);
        let mut new = self.without_unwanted(map).or_else(|| restated.clone());
        let relaxed = self.subschemas(map, &mut new);
        // Beside other alternatives `oneOf` is judged alone: its branches go into theirs. Else what
        // stands beside it may tell its branches apart.
        let is_early = ["$ref", "anyOf", "allOf"]
            .iter()
            .any(|keyword| map.contains_key(*keyword));
        let early = |this: &mut Self, map: &Map<String, Value>| {
            is_early.then(|| this.one_of(map, relaxed)).flatten()
        };
        let late = |this: &mut Self, map: &Map<String, Value>| {
            (!is_early).then(|| this.one_of(map, relaxed)).flatten()
        };
        let steps: [Rewrite<'_, Self>; 12] = [
            &Self::patterned,
            &Self::anchored_names,
            &Self::text,
            &early,
            &Self::combine,
            &late,
            &Self::object,
            &Self::complete,
            &Self::typed,
            &Self::finished,
            &Self::closed_names,
            &Self::demanded,
        ];

        for step in steps {
            let next = step(self, new.as_ref().unwrap_or(map));
            new = next.or(new);
        }
        new
    }

    /// Takes out what the server refuses, and notes what it ignores.
    fn without_unwanted(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut new = None;
        for (keyword, value) in map {
            if keyword == "$schema" && self.speaks_old() {
                // Its tuples have another spelling: without this they would be no schemas at all.
                if self.profile.refuses(keyword, value) {
                    self.lose(keyword, Why::Inexact);
                }
                continue;
            }
            let is_lost = match (keyword.as_str(), value.as_str()) {
                ("$ref", Some(text)) => {
                    self.profile.lacks_target(value)
                        || !refs::is_found(text, self.profile.references)
                }
                ("$dynamicRef" | "$recursiveRef", _) => true,
                _ => self.profile.refuses_count(keyword, map),
            };
            if self.profile.misreads(keyword, map) {
                self.lose(keyword, Why::Inexact);
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
                continue;
            }
            // Nothing is among no values, which compilers of grammars refuse.
            let lists_none = keyword == "enum" && value.as_array().is_some_and(Vec::is_empty);
            if is_lost
                || lists_none
                || self.profile.refuses(keyword, value)
                || self.profile.refuses_among(keyword, map)
            {
                // What asserts nothing is no loss.
                if !is_note(keyword) {
                    self.lose(keyword, Why::Refused);
                }
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
            } else if self.profile.ignores_among(keyword, map) {
                self.lose(keyword, Why::Ignored);
            } else if self.is_content(keyword) {
                self.lose(keyword, Why::Ignored);
                // What no server knows some refuse: the worker does.
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
            } else if keyword == "$ref" && self.profile.recursion != Recursion::Enforced {
                self.lose_depth(value);
            }
        }
        new
    }

    /// Whether the schema could not be put in the words of 2020-12.
    fn speaks_old(&self) -> bool {
        validator::draft_of(self.root)
            .is_some_and(|draft| draft != isogloss_validate::Draft::Draft202012)
            && merge::speaks_old(self.root)
    }

    /// Whether the keyword says what a text decodes to: an assertion in drafts 6 and 7, which no server
    /// reads.
    fn is_content(&self, keyword: &str) -> bool {
        use isogloss_validate::Draft;
        matches!(self.draft, Some(Draft::Draft6 | Draft::Draft7))
            && matches!(keyword, "contentEncoding" | "contentMediaType")
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
                || self.profile.refuses_among(keyword, map)
                || new.as_ref().is_some_and(|new| !new.contains_key(keyword));
            if is_unwanted {
                continue;
            }
            let (known, lost) = (self.losses.len(), self.lost);
            let length = self.pointer.len();
            write_pointer(keyword, step, &mut self.pointer);
            // Names are strings, whether it is said or not.
            let is_branch = child.place == AppliesTo::Same || keyword == "propertyNames";
            let was_branch = std::mem::replace(&mut self.is_branch, is_branch);
            let lowered = self.schema(child.value);
            self.is_branch = was_branch;
            self.pointer.truncate(length);
            // A definition that it refers to may become wider as well.
            let is_wider = |now: usize| now > lost || refers(child.value);
            relaxed |= keyword == "oneOf" && is_wider(self.lost);
            // What holds if its inside does not: a wider inside would make the whole narrower.
            let turns = matches!(keyword, "not" | "if")
                || keyword == "contains" && map.contains_key("maxContains");
            if turns && is_wider(self.lost) {
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

    /// Notes that the keyword of the schema at hand is not kept to.
    fn lose(&mut self, keyword: &str, why: Why) {
        self.lost += 1;
        let length = self.pointer.len();
        push_segment(&mut self.pointer, keyword);
        let loss = Unkept {
            pointer: self.pointer.clone(),
            keyword: keyword.to_owned(),
            why,
        };
        self.pointer.truncate(length);
        // A definition may be lowered more than once, where it is put in the place of references.
        let is_known =
            self.losses.last() == Some(&loss) || self.has_expanded && self.losses.contains(&loss);
        if !is_known {
            self.losses.push(loss);
        }
    }
}

/// Whether a keyword is JSON Schema's, or OpenAPI's, and asserts nothing.
fn is_note(keyword: &str) -> bool {
    const NOTES: [&str; 14] = [
        "$schema",
        "$id",
        "id",
        "$comment",
        "$vocabulary",
        "title",
        "description",
        "default",
        "example",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "nullable",
    ];
    NOTES.contains(&keyword)
}

/// Whether anything inside refers to a schema elsewhere.
fn refers(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return false;
    };
    map.contains_key("$ref") || children(map).any(|child| refers(child.value))
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
pub(super) fn is_assertion(keyword: &str) -> bool {
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
            .is_some_and(|(_, place)| place != super::position::AppliesTo::Aside)
}
