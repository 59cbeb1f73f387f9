//! Conjunction: two schema objects come in; one that means both goes out, where there is one
//! without `allOf`.

use super::combine::resolve;
use super::fits::{fits_all, fits_beside, types_of};
use super::{Lowering, disjoint, is_assertion, object};
use crate::schema::profile::Additional;
use serde_json::{Map, Value, json};

/// Definitions within definitions that are put in the place of references.
const MAX_EXPANSIONS: usize = 16;

/// Levels of properties and branches that two schemas are followed into.
const MAX_LEVELS: usize = 24;

/// Levels of schemas below which no reference is replaced: what it leads to nests as well.
const MAX_DEPTH: usize = 64;

/// Why there is no schema of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fail {
    /// No value can satisfy both.
    Never,
    /// What they say together cannot be said exactly, or not briefly.
    Inexact,
}

type Both = Result<Map<String, Value>, Fail>;

impl Lowering<'_> {
    /// One schema that means both.
    pub(super) fn conjoin(&mut self, a: &Map<String, Value>, b: &Map<String, Value>) -> Both {
        self.spend(a, b)?;
        // Two recursive definitions together go on without end.
        if self.conjoining >= MAX_LEVELS {
            return Err(Fail::Inexact);
        }
        self.conjoining += 1;
        let both = self.conjoin_here(a, b);
        self.conjoining -= 1;
        both
    }

    fn conjoin_here(&mut self, a: &Map<String, Value>, b: &Map<String, Value>) -> Both {
        if a == b || !b.keys().any(|keyword| is_assertion(keyword)) {
            return Ok(a.clone());
        }
        if !a.keys().any(|keyword| is_assertion(keyword)) {
            return Ok(with_notes(b, a));
        }
        for (one, other) in [(a, b), (b, a)] {
            if let Some(Value::String(reference)) = one.get("$ref") {
                decides_alone(one)?;
                if other.get("$ref") == one.get("$ref") {
                    decides_alone(other)?;
                    return Ok(with_notes(b, a));
                }
                let expanded = self.expand(reference)?;
                return if std::ptr::eq(one, a) {
                    self.conjoin(&with_notes(&expanded, a), b)
                } else {
                    self.conjoin(a, &expanded)
                };
            }
        }
        for (one, other) in [(a, b), (b, a)] {
            if let Some(values) = disjoint::values(one) {
                let checks = values.len().saturating_mul(size(other, self.steps).max(1));
                if !self.may_step(checks) {
                    return Err(Fail::Inexact);
                }
                return fitting(one, values, other).map(|both| with_notes(&both, a));
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            for (one, other) in [(a, b), (b, a)] {
                if let Some(Value::Array(branches)) = one.get(keyword) {
                    decides_alone(one)?;
                    let both = self.distribute(keyword, branches, other)?;
                    return Ok(with_notes(&both, a));
                }
            }
        }
        if a.contains_key("allOf") || b.contains_key("allOf") {
            return Err(Fail::Inexact);
        }
        let both = self.plain(a, b)?;
        // Either may have brought the pattern, and the other the length.
        let (shorter, lost) = self.lengths(&both);
        self.rounded |= !lost.is_empty();
        let both = shorter.unwrap_or(both);
        let is_closed = self.profile.additional == Additional::Closed;
        Ok(is_closed
            .then(|| object::declared(&both))
            .flatten()
            .unwrap_or(both))
    }

    /// Two schemas, booleans among them.
    pub(super) fn conjoin_values(&mut self, a: &Value, b: &Value) -> Result<Value, Fail> {
        match (a, b) {
            (Value::Bool(false), _) | (_, Value::Bool(false)) => Err(Fail::Never),
            (Value::Bool(true), other) | (other, Value::Bool(true)) => Ok(other.clone()),
            (Value::Object(a), Value::Object(b)) => self.conjoin(a, b).map(Value::Object),
            _ => Err(Fail::Inexact),
        }
    }

    /// The other schema in every branch; without the branches that then nothing can satisfy.
    fn distribute(
        &mut self,
        keyword: &str,
        branches: &[Value],
        other: &Map<String, Value>,
    ) -> Both {
        let other = Value::Object(other.clone());
        let mut new = Vec::new();
        for branch in branches {
            match self.conjoin_values(branch, &other) {
                Err(Fail::Never) => {}
                Err(Fail::Inexact) => return Err(Fail::Inexact),
                Ok(Value::Object(mut both)) if keyword == "anyOf" && is_only(&both, "anyOf") => {
                    if let Some(Value::Array(inner)) = both.shift_remove("anyOf") {
                        new.extend(inner);
                    }
                }
                Ok(both) => new.push(both),
            }
        }
        match (new.len(), new.first_mut()) {
            (0, _) => Err(Fail::Never),
            (1, Some(Value::Object(only))) => Ok(std::mem::take(only)),
            _ => Ok(Map::from_iter([(keyword.to_owned(), Value::Array(new))])),
        }
    }

    /// What a reference leads to, lowered, for use in its place.
    fn expand(&mut self, reference: &str) -> Both {
        let is_open = self.expanding.iter().any(|known| known == reference);
        if is_open || self.expanding.len() >= MAX_EXPANSIONS || self.level > MAX_DEPTH {
            return Err(Fail::Inexact);
        }
        let Some(Value::Object(target)) = resolve(self.root, reference) else {
            return Err(Fail::Inexact);
        };
        self.spend(target, &Map::new())?;
        self.expanding.push(reference.to_owned());
        self.has_expanded = true;
        let here = std::mem::replace(&mut self.pointer, reference[1..].to_owned());
        let mut inner = target.clone();
        // The root's own definitions stay where they are.
        for keyword in ["$defs", "definitions", "$schema", "$id", "id"] {
            inner.shift_remove(keyword);
        }
        let inner = Value::Object(inner);
        // It will stand with what it is put together with.
        let was_branch = std::mem::replace(&mut self.is_branch, true);
        let lowered = self.schema(&inner).unwrap_or(inner);
        self.is_branch = was_branch;
        self.pointer = here;
        self.expanding.pop();
        match lowered {
            Value::Object(map) => Ok(map),
            _ => Err(Fail::Inexact),
        }
    }

    fn spend(&mut self, a: &Map<String, Value>, b: &Map<String, Value>) -> Result<(), Fail> {
        let cost = size(a, self.budget).saturating_add(size(b, self.budget));
        self.budget = self.budget.saturating_sub(cost.max(1));
        (self.budget > 0).then_some(()).ok_or(Fail::Inexact)
    }

    /// Whether so many comparisons are left; takes them.
    pub(super) fn may_step(&mut self, steps: usize) -> bool {
        let is_enough = self.steps >= steps;
        self.steps = self.steps.saturating_sub(steps);
        is_enough
    }

    /// Two schemas without alternatives.
    fn plain(&mut self, a: &Map<String, Value>, b: &Map<String, Value>) -> Both {
        let mut both = with_notes(a, b);
        for (keyword, theirs) in b.iter().filter(|(keyword, _)| is_assertion(keyword)) {
            let group = group_of(keyword);
            if !group.is_empty() && group.iter().any(|member| a.contains_key(*member)) {
                continue;
            }
            let value = match a.get(keyword) {
                None => theirs.clone(),
                Some(ours) if ours == theirs => continue,
                // The server reads neither, and the ledger has both.
                Some(_) if self.profile.ignores(keyword) => continue,
                Some(ours) => single(keyword, ours, theirs)?,
            };
            both.insert(keyword.clone(), value);
        }
        self.items(a, b, &mut both)?;
        super::properties::merge(self, a, b, &mut both)?;
        for group in [&CONTAINS[..], &CONDITION] {
            let says = |map: &Map<String, Value>| {
                let said: Map<String, Value> = map
                    .iter()
                    .filter(|(keyword, _)| group.contains(&keyword.as_str()))
                    .filter(|(keyword, _)| !self.profile.ignores(keyword))
                    .map(|(keyword, value)| (keyword.clone(), value.clone()))
                    .collect();
                said
            };
            let (ours, theirs) = (says(a), says(b));
            if !ours.is_empty() && !theirs.is_empty() && ours != theirs {
                return Err(Fail::Inexact);
            }
        }
        Ok(both)
    }

    fn items(
        &mut self,
        a: &Map<String, Value>,
        b: &Map<String, Value>,
        both: &mut Map<String, Value>,
    ) -> Result<(), Fail> {
        let says =
            |map: &Map<String, Value>| ITEMS.iter().any(|keyword| map.contains_key(*keyword));
        let same = ITEMS
            .iter()
            .all(|keyword| a.get(*keyword) == b.get(*keyword));
        if !says(a) || !says(b) || same {
            return Ok(());
        }
        let only_items =
            |map: &Map<String, Value>| !ITEMS[1..].iter().any(|k| map.contains_key(*k));
        match (a.get("items"), b.get("items")) {
            (Some(ours), Some(theirs)) if only_items(a) && only_items(b) => {
                // An empty array would satisfy what no item can.
                let items = self
                    .conjoin_values(ours, theirs)
                    .map_err(|_| Fail::Inexact)?;
                both.insert("items".to_owned(), items);
                Ok(())
            }
            _ => Err(Fail::Inexact),
        }
    }
}

/// Keywords that mean something only together.
const ITEMS: [&str; 4] = [
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
];
const CONTAINS: [&str; 3] = ["contains", "minContains", "maxContains"];
const CONDITION: [&str; 3] = ["if", "then", "else"];
pub(super) const PROPERTIES: [&str; 4] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
];

fn group_of(keyword: &str) -> &'static [&'static str] {
    [&ITEMS[..], &CONTAINS, &CONDITION, &PROPERTIES]
        .into_iter()
        .find(|group| group.contains(&keyword))
        .unwrap_or_default()
}

/// One keyword that both schemas have.
fn single(keyword: &str, ours: &Value, theirs: &Value) -> Result<Value, Fail> {
    match keyword {
        "type" => common_type(ours, theirs),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            pick(ours, theirs, |ours, theirs| ours >= theirs)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            pick(ours, theirs, |ours, theirs| ours <= theirs)
        }
        "uniqueItems" => Ok(json!(ours == &json!(true) || theirs == &json!(true))),
        "required" => match (ours, theirs) {
            (Value::Array(ours), Value::Array(theirs)) => {
                let more = theirs.iter().filter(|name| !ours.contains(name));
                Ok(ours.iter().chain(more).cloned().collect())
            }
            _ => Err(Fail::Inexact),
        },
        _ => Err(Fail::Inexact),
    }
}

fn common_type(ours: &Value, theirs: &Value) -> Result<Value, Fail> {
    let (ours, theirs) = (types_of(ours), types_of(theirs));
    let mut common: Vec<&str> = Vec::new();
    for one in &ours {
        for other in &theirs {
            let both = match (*one, *other) {
                (one, other) if one == other => one,
                ("integer", "number") | ("number", "integer") => "integer",
                _ => continue,
            };
            if !common.contains(&both) {
                common.push(both);
            }
        }
    }
    match common.as_slice() {
        [] => Err(Fail::Never),
        [only] => Ok(json!(only)),
        several => Ok(json!(several)),
    }
}

fn pick(ours: &Value, theirs: &Value, keeps: impl Fn(f64, f64) -> bool) -> Result<Value, Fail> {
    let (Some(l), Some(r)) = (ours.as_f64(), theirs.as_f64()) else {
        return Err(Fail::Inexact);
    };
    Ok(if keeps(l, r) { ours } else { theirs }.clone())
}

/// The values of one schema that the other allows.
fn fitting(one: &Map<String, Value>, values: &[Value], other: &Map<String, Value>) -> Both {
    let mut left = Vec::new();
    for value in values {
        // What stands beside the values counts as well.
        match (fits_all(value, other), fits_beside(value, one)) {
            (Some(false), _) | (_, Some(false)) => {}
            (Some(true), Some(true)) => left.push(value.clone()),
            _ => return Err(Fail::Inexact),
        }
    }
    if left.is_empty() {
        return Err(Fail::Never);
    }
    let mut both: Map<String, Value> = one
        .iter()
        .filter(|(keyword, _)| *keyword == "type" || !is_assertion(keyword))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect();
    match one.get("const") {
        Some(value) => both.insert("const".to_owned(), value.clone()),
        None => both.insert("enum".to_owned(), Value::Array(left)),
    };
    Ok(both)
}

fn decides_alone(map: &Map<String, Value>) -> Result<(), Fail> {
    let count = map.keys().filter(|keyword| is_assertion(keyword)).count();
    (count == 1).then_some(()).ok_or(Fail::Inexact)
}

fn is_only(map: &Map<String, Value>, keyword: &str) -> bool {
    map.len() == 1 && map.contains_key(keyword)
}

/// The schema, with those notes (titles, descriptions, defaults) of the other that it lacks.
fn with_notes(schema: &Map<String, Value>, notes: &Map<String, Value>) -> Map<String, Value> {
    let mut with = schema.clone();
    for (keyword, value) in notes {
        if !is_assertion(keyword) && !with.contains_key(keyword) {
            with.insert(keyword.clone(), value.clone());
        }
    }
    with
}

/// How many values a schema is made of, counted up to a limit.
pub(super) fn size(map: &Map<String, Value>, limit: usize) -> usize {
    let mut count = 0;
    let mut pending: Vec<&Value> = map.values().collect();
    while let Some(value) = pending.pop() {
        count += 1;
        if count > limit {
            break;
        }
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => pending.extend(map.values()),
            _ => {}
        }
    }
    count
}
