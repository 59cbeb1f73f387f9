//! What a server cannot carry: a lowered schema comes in; one whose bounds and lengths it
//! reads rightly, and that does not bring it down, goes out. Done last, over the whole: what was put
//! together from several places counts as what it became.

use super::{Rewrite, Unkept, Why, fits::types_of, floats, put, unsent};
use crate::pattern::{irregular, plain, without_looks};
use crate::schema::number::count_of;
use crate::schema::position::{Child, children, push_segment, write_pointer};
use crate::schema::profile::{Bounds, IntegerBounds, Profile, Syntax};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The largest bound of compilers that count in 64 bits, whose ends mean "no bound".
const LARGEST: i128 = i64::MAX as i128 - 1;
const LOWER: [&str; 2] = ["minimum", "exclusiveMinimum"];
const UPPER: [&str; 2] = ["maximum", "exclusiveMaximum"];
const PAIRS: [(&str, &str); 2] = [("minLength", "maxLength"), ("minItems", "maxItems")];
const LENGTHS: [&str; 2] = ["minLength", "maxLength"];

/// The schema with numbers that the server can carry; `None` where nothing changes.
pub(super) fn carried(
    schema: &Value,
    client: &Value,
    profile: &Profile,
    losses: &mut Vec<Unkept>,
) -> Option<Value> {
    let is_idle = profile.integer_bounds == IntegerBounds::Any
        && profile.most_repeats.is_none()
        && !profile.plain_names
        && !profile.float_numbers
        && !profile.plain_lengths
        && profile.bounds != Bounds::Wrong
        && profile.syntax != Syntax::Unbounded
        && !profile.stands_alone
        && profile.needs_within.is_empty()
        && profile.ignored.is_empty()
        && !profile.ref_words
        && !has_pattern(schema, &|pattern| is_odd(pattern, profile));
    if is_idle {
        return None;
    }
    let known = losses.len();
    let carry = |keeps_ignored, losses: &mut Vec<Unkept>| {
        let mut carrying = Carrying {
            client,
            profile,
            losses,
            pointer: String::new(),
            repeats: profile.repeats_in_all.unwrap_or(u64::MAX),
            keeps_ignored,
        };
        carrying.schema(schema)
    };
    let carried = carry(false, losses)?;
    if !unsent::dangles(&carried, schema) {
        return Some(carried);
    }
    // Something refers to what an ignored keyword holds.
    losses.truncate(known);
    carry(true, losses)
}

pub(super) struct Carrying<'a> {
    client: &'a Value,
    pub(super) profile: &'a Profile,
    losses: &'a mut Vec<Unkept>,
    pub(super) pointer: String,
    /// How many more repetitions the server can carry.
    repeats: u64,
    /// Whether ignored keywords stay.
    pub(super) keeps_ignored: bool,
}

impl Carrying<'_> {
    fn schema(&mut self, schema: &Value) -> Option<Value> {
        let map = schema.as_object()?;
        let mut new: Option<Map<String, Value>> = None;
        for child in children(map) {
            let Child { keyword, step, .. } = child;
            if self.profile.ignores(keyword) {
                continue;
            }
            let length = self.pointer.len();
            write_pointer(keyword, step, &mut self.pointer);
            let carried = self.schema(child.value);
            self.pointer.truncate(length);
            if let Some(carried) = carried {
                put(
                    new.get_or_insert_with(|| map.clone()),
                    keyword,
                    step,
                    carried,
                );
            }
        }
        let steps: [Rewrite<'_, Self>; 10] = [
            &Self::unread,
            &Self::references_in_values,
            &Self::bounds,
            &Self::floats,
            &Self::plain_lengths,
            &Self::lengths,
            &Self::names,
            &Self::alone,
            &Self::demanding,
            &Self::pattern,
        ];
        for step in steps {
            let next = step(self, new.as_ref().unwrap_or(map));
            new = next.or(new);
        }
        new.map(Value::Object)
    }

    /// Bounds of whole numbers, as whole numbers.
    fn bounds(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let is_whole = types_of(map.get("type")?).contains(&"integer");
        let has = |names: [&str; 2]| names.iter().any(|name| map.contains_key(*name));
        if self.profile.integer_bounds == IntegerBounds::Any
            || !is_whole
            || !(has(LOWER) || has(UPPER))
        {
            return None;
        }
        let limit = match self.profile.bound_bits {
            Some(bits @ ..63) => (1_i128 << bits) - 1,
            _ => LARGEST,
        };
        let (least, most) = (least(map), most(map));
        let is_paired = self.profile.integer_bounds == IntegerBounds::Paired;
        let is_beyond = |bound: i128| bound.abs() > limit;
        let is_empty = least.zip(most).is_some_and(|(least, most)| least > most)
            || least.is_some_and(|least| least > limit)
            || most.is_some_and(|most| most < -limit);
        let mut new = map.clone();
        new.retain(|keyword, _| {
            !LOWER.contains(&keyword.as_str()) && !UPPER.contains(&keyword.as_str())
        });
        for (keywords, bound) in [(LOWER, least), (UPPER, most)] {
            // A server of pairs writes no numbers so long that they could be out of bounds.
            let is_lost = is_empty || bound.is_some_and(is_beyond) && !is_paired;
            if let Some(keyword) = keywords.iter().find(|keyword| map.contains_key(**keyword))
                && is_lost
            {
                self.lose(keyword, Why::Refused);
            }
        }
        if is_empty {
            return Some(new);
        }
        let least = least.filter(|least| !is_beyond(*least));
        let most = most.filter(|most| !is_beyond(*most));
        let (mut from, mut to) = (least, most);
        if is_paired {
            // One bound of several digits, or an upper one below zero, is read wrongly alone.
            if from.is_some_and(|from| from > 9) {
                to = to.or(Some(LARGEST));
            }
            if to.is_some_and(|to| to < 0) {
                from = from.or(Some(-LARGEST));
            }
        }
        if self.profile.bounds == Bounds::Wrong && to.is_none() && from.is_some_and(|it| it < 0) {
            if limit == LARGEST {
                to = Some(LARGEST);
            } else {
                // A fellow that says nothing is beyond its bits.
                from = None;
                self.lose("minimum", Why::Inexact);
            }
        }
        for (keyword, bound) in [("minimum", from), ("maximum", to)] {
            if let Some(bound) = bound.and_then(|bound| i64::try_from(bound).ok()) {
                new.insert(keyword.to_owned(), json!(bound));
            }
        }
        (new != *map).then_some(new)
    }

    /// Numbers as floats.
    fn floats(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        if !self.profile.float_numbers {
            return None;
        }
        let (new, lost) = floats::carried(map)?;
        lost.into_iter()
            .for_each(|keyword| self.lose(keyword, Why::Refused));
        Some(new)
    }

    /// Tells of lengths of texts that are written without escapes where they have any.
    fn plain_lengths(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        for keyword in LENGTHS {
            if self.profile.writes_plainly(keyword, map) {
                self.lose(keyword, Why::Narrower);
            }
        }
        None
    }

    /// Lengths and counts of items.
    fn lengths(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let most_repeats = self.profile.most_repeats?;
        let mut new = None;
        for (lower, upper) in PAIRS {
            let count = |keyword: &str| map.get(keyword).and_then(count_of);
            let (least, most) = (count(lower), count(upper));
            let room = most_repeats.min(self.repeats);
            let kept_least = least.map(|least| least.min(room));
            let is_kept = |most: &u64| *most <= room && least.is_none_or(|least| least <= *most);
            let kept_most = most.filter(is_kept);
            self.repeats -= kept_most.or(kept_least).unwrap_or(0);
            for (keyword, was, kept) in [(lower, least, kept_least), (upper, most, kept_most)] {
                if kept == was && was.map(Value::from).as_ref() == map.get(keyword) {
                    continue;
                }
                let Some(was) = was else { continue };
                let new = new.get_or_insert_with(|| map.clone());
                match kept {
                    Some(kept) => drop(new.insert(keyword.to_owned(), json!(kept))),
                    None => drop(new.shift_remove(keyword)),
                }
                if kept != Some(was) {
                    self.lose(keyword, Why::Refused);
                }
            }
        }
        new
    }

    /// A pattern without look-around, which no server reads; none where boundaries of words are not read.
    fn pattern(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let pattern = map.get("pattern")?.as_str()?;
        let is_unread = self.profile.syntax == Syntax::Unbounded && has_boundary(pattern);
        let left = match self.profile.plain_patterns {
            true => plain(pattern),
            false if irregular(pattern).is_some() => without_looks(pattern).map(Cow::Owned),
            false => Some(Cow::Borrowed(pattern)),
        };
        let left = left.filter(|_| !is_unread);
        if left.as_deref() == Some(pattern) {
            return None;
        }
        // A name of a group says nothing: without it all is told.
        let is_same = left.is_some() && irregular(pattern).is_none();
        if !is_same {
            self.lose("pattern", Why::Refused);
        }
        let mut new = map.clone();
        match left {
            Some(wider) => drop(new.insert("pattern".to_owned(), json!(wider))),
            None => drop(new.shift_remove("pattern")),
        }
        Some(new)
    }

    /// Without properties whose names need an escape, or would be read as a reference: what else there is may then be
    /// there.
    fn names(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Profile {
            plain_names,
            ref_words,
            ..
        } = *self.profile;
        let is_plain = |name: &str| {
            let is_escaped = |c: char| c.is_ascii_control() || c == '"' || c == '\\';
            !(plain_names && name.chars().any(is_escaped) || ref_words && name == "$ref")
        };
        let named = map.get("properties")?.as_object()?;
        if named.keys().all(|name| is_plain(name)) {
            return None;
        }
        self.lose("properties", Why::Refused);
        let mut new = map.clone();
        let named = named.iter().filter(|(name, _)| is_plain(name));
        let named: Map<String, Value> = named
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .collect();
        if named.is_empty() {
            new.shift_remove("properties");
        } else {
            new.insert("properties".to_owned(), Value::Object(named));
        }
        if let Some(Value::Array(required)) = new.get_mut("required") {
            required.retain(|name| name.as_str().is_none_or(is_plain));
        }
        new.insert("additionalProperties".to_owned(), json!(true));
        Some(new)
    }

    /// Whether the client's schema has the keyword at this place.
    pub(super) fn is_said(&self, keyword: &str) -> bool {
        let here = self.client.pointer(&self.pointer);
        here.is_some_and(|here| here.get(keyword).is_some())
    }

    /// Notes a loss at the place in the client's schema, or the nearest above it that there is.
    pub(super) fn lose(&mut self, keyword: &str, why: Why) {
        let mut pointer = self.pointer.clone();
        push_segment(&mut pointer, keyword);
        while self.client.pointer(&pointer).is_none() {
            match pointer.rfind('/') {
                Some(at) if at > 0 => pointer.truncate(at),
                _ => break,
            }
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let keyword = last.replace("~1", "/").replace("~0", "~");
        if self.losses.iter().all(|known| known.pointer != pointer) {
            self.losses.push(Unkept {
                pointer,
                keyword,
                why,
            });
        }
    }
}

/// Whether a pattern looks around, or something that reads like it, or is not in the words that this server reads.
fn is_odd(pattern: &str, profile: &Profile) -> bool {
    irregular(pattern).is_some()
        || profile.plain_patterns && !matches!(plain(pattern), Some(Cow::Borrowed(_)))
}

/// Whether a pattern anywhere is such, or something that reads like one.
fn has_pattern(schema: &Value, is_such: &impl Fn(&str) -> bool) -> bool {
    let is_one = |(name, value): (&String, &Value)| {
        let pattern = value.as_str().filter(|_| name == "pattern");
        pattern.is_some_and(is_such) || has_pattern(value, is_such)
    };
    match schema {
        Value::Object(map) => map.iter().any(is_one),
        Value::Array(items) => items.iter().any(|item| has_pattern(item, is_such)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether `\b` or `\B` stands outside of a class, where `\b` is another thing.
fn has_boundary(pattern: &str) -> bool {
    let (mut chars, mut in_class) = (pattern.chars(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' if matches!(chars.next(), Some('b' | 'B')) && !in_class => return true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    false
}

/// The least whole number that the bounds allow.
fn least(map: &Map<String, Value>) -> Option<i128> {
    let least = map
        .get("minimum")
        .and_then(|bound| integer(bound, f64::ceil));
    let above = map
        .get("exclusiveMinimum")
        .and_then(|bound| integer(bound, f64::floor));
    least.max(above.map(|above| above + 1))
}

/// The greatest whole number that the bounds allow.
fn most(map: &Map<String, Value>) -> Option<i128> {
    let most = map
        .get("maximum")
        .and_then(|bound| integer(bound, f64::floor));
    let below = map
        .get("exclusiveMaximum")
        .and_then(|bound| integer(bound, f64::ceil));
    let below = below.map(|below| below - 1);
    match (most, below) {
        (Some(most), Some(below)) => Some(most.min(below)),
        (most, below) => most.or(below),
    }
}

/// A bound as a whole number; what is beyond all numbers of a server stays beyond them.
fn integer(bound: &Value, round: fn(f64) -> f64) -> Option<i128> {
    let whole = bound
        .as_i64()
        .map(i128::from)
        .or_else(|| bound.as_u64().map(i128::from));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it saturates, far beyond every limit"
    )]
    whole
        .or_else(|| bound.as_f64().map(|bound| round(bound) as i128))
        .map(|bound| bound.clamp(-(1 << 100), 1 << 100))
}
