//! Numbers for a compiler that reads them as 64-bit floats and writes ranges of them as regexes (llguidance 1.9.1,
//! `json/numeric.rs`): what a schema says of numbers comes in; the same without what would be read wrongly goes out.

use super::fits::types_of;
use crate::schema::number::BOUNDS;
use serde_json::{Map, Number, Value, json};

/// Whole numbers up to here are floats too.
const EXACT: u64 = 1 << 53;
/// Bounds from here on are an error: their digits are read as a whole number of 64 bits, and one digit more is asked for.
const LARGEST: u64 = 1_000_000_000_000_000_000;
/// How many decimals a number between two bounds has at the least.
const DECIMALS: i32 = 9;

const VALUES: [&str; 2] = ["const", "enum"];

/// What changes, and the keywords that are taken out. `None` where nothing does.
pub(super) fn carried(map: &Map<String, Value>) -> Option<(Map<String, Value>, Vec<&'static str>)> {
    let says = |keyword: &&str| map.contains_key(*keyword);
    if !VALUES.iter().chain(&BOUNDS).any(says) {
        return None;
    }
    let mut new = map.clone();
    let mut lost = Vec::new();
    for keyword in VALUES {
        if map.get(keyword).is_some_and(|value| !is_exact(value)) {
            let kinds = kinds_of(keyword, map);
            new.shift_remove(keyword);
            new.entry("type").or_insert(kinds);
            lost.push(keyword);
        }
    }
    let types = map.get("type").map(types_of);
    let is_whole =
        types.is_some_and(|types| types.contains(&"integer") && !types.contains(&"number"));
    for keyword in BOUNDS {
        let bound = map.get(keyword).and_then(Value::as_number);
        let read = bound.map(|bound| match is_whole {
            true => read_whole(bound, keyword.contains("ax")),
            false if is_beyond(bound, LARGEST) => Read::Not,
            false => Read::Rightly,
        });
        if matches!(read, Some(Read::Not | Read::Idle)) {
            new.shift_remove(keyword);
        }
        if matches!(read, Some(Read::Not | Read::Nearly)) {
            lost.push(keyword);
        }
    }
    if !is_whole {
        close(&mut new);
    }
    (new != *map || !lost.is_empty()).then_some((new, lost))
}

/// How a bound is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    Rightly,
    /// As the nearest float.
    Nearly,
    /// It is an error, and says nothing of whole numbers of 64 bits.
    Idle,
    /// It is an error.
    Not,
}

/// A bound of whole numbers, which are counted in 64 bits: upper ones beyond are the largest of these.
fn read_whole(bound: &Number, is_upper: bool) -> Read {
    const END: f64 = 9_223_372_036_854_775_808.0;
    let float = bound.as_f64().unwrap_or(f64::INFINITY);
    match is_upper {
        true if float >= END => Read::Rightly,
        true if float <= -END => Read::Not,
        false if float <= -END => Read::Idle,
        false if float >= END => Read::Not,
        _ => {
            #[expect(clippy::cast_possible_truncation, reason = "it is within 64 bits")]
            let read = float as i64;
            match bound.as_i64().is_none_or(|said| said == read) {
                true => Read::Rightly,
                false => Read::Nearly,
            }
        }
    }
}

fn is_beyond(number: &Number, limit: u64) -> bool {
    let whole = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
    #[expect(clippy::cast_precision_loss, reason = "the limits are floats")]
    let float = || {
        number
            .as_f64()
            .is_none_or(|float| float.abs() > limit as f64)
    };
    whole.map_or_else(float, |whole| whole > limit)
}

/// Whether all numbers in a value are what they are as floats.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !is_beyond(number, EXACT),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// The types of the values that are not told.
fn kinds_of(keyword: &str, map: &Map<String, Value>) -> Value {
    let values = match (keyword, map.get(keyword)) {
        ("enum", Some(Value::Array(values))) => values.as_slice(),
        (_, Some(value)) => std::slice::from_ref(value),
        (_, None) => &[],
    };
    let mut kinds: Vec<&str> = values.iter().map(kind_of).collect();
    kinds.sort_unstable();
    kinds.dedup();
    match kinds.as_slice() {
        [only] => json!(only),
        several => json!(several),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => "integer",
            _ => "number",
        },
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// An open bound at a whole number is taken for a closed one where the other is less than one away (`0` passes
/// `exclusiveMinimum: 0` beside `maximum: 0.5`): a number just beyond it is a closed one instead.
fn close(map: &mut Map<String, Value>) {
    let bound = |keyword| map.get(keyword).and_then(Value::as_f64);
    let (least, above) = (bound("minimum"), bound("exclusiveMinimum"));
    let (most, below) = (bound("maximum"), bound("exclusiveMaximum"));
    let from = above.filter(|above| least.is_none_or(|least| least <= *above));
    let to = below.filter(|below| most.is_none_or(|most| most >= *below));
    let (lower, upper) = (from.or(least), to.or(most));
    let (Some(lower), Some(upper)) = (lower, upper) else {
        return;
    };
    if upper <= lower || upper - lower >= 1.0 {
        return;
    }
    let step = 10_f64.powi(-DECIMALS.max(places(upper - lower)));
    let is_whole = |bound: f64| bound.fract() == 0.0;
    if from.is_some_and(is_whole) && lower >= 0.0 {
        map.shift_remove("exclusiveMinimum");
        map.insert("minimum".to_owned(), json!(lower + step));
    } else if to.is_some_and(is_whole) && upper <= 0.0 {
        map.shift_remove("exclusiveMaximum");
        map.insert("maximum".to_owned(), json!(upper - step));
    }
}

/// So many decimals that there are numbers with them within a gap.
fn places(gap: f64) -> i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the exponent of a float has three digits"
    )]
    let zeros = (-gap.log10()).ceil() as i32;
    zeros + 3
}
