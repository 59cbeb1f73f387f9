//! JSON's numbers as rules: bounds come in, the texts of the numbers within them go out.

use super::literal;
use crate::grammar::gbnf::Expr;
use serde_json::{Map, Value};

/// Integers beyond these are not written as bounds: `f64` cannot tell them apart.
const MAX_BOUND: f64 = 9e15;

/// What the bounds of a schema leave.
pub(super) enum Bounded {
    /// Every number.
    All,
    /// None.
    None,
    /// These.
    Only(Expr),
}

pub(super) fn integer() -> Expr {
    Expr::Sequence(vec![literal("-").optional(), natural()])
}

pub(super) fn number() -> Expr {
    Expr::Sequence(vec![literal("-").optional(), positive()])
}

fn positive() -> Expr {
    let sign = Expr::Class {
        negated: false,
        ranges: vec![('+', '+'), ('-', '-')],
    };
    let e = Expr::Class {
        negated: false,
        ranges: vec![('E', 'E'), ('e', 'e')],
    };
    let digits = digit('0', '9').repeat(1, None);
    let fraction = Expr::Sequence(vec![literal("."), digits.clone()]);
    let exponent = Expr::Sequence(vec![e, sign.optional(), digits]);
    Expr::Sequence(vec![natural(), fraction.optional(), exponent.optional()])
}

fn natural() -> Expr {
    let more = Expr::Sequence(vec![digit('1', '9'), digit('0', '9').repeat(0, None)]);
    Expr::Choice(vec![literal("0"), more])
}

fn digit(first: char, last: char) -> Expr {
    let (negated, ranges) = (false, vec![(first, last)]);
    match first == last {
        true => Expr::Literal(first.to_string()),
        false => Expr::Class { negated, ranges },
    }
}

/// The numbers within the bounds, and the keywords that are said by it.
pub(super) fn lower(map: &Map<String, Value>, is_integer: bool) -> (Bounded, Vec<&'static str>) {
    let bound = |keyword: &str| {
        let bound = map.get(keyword).and_then(Value::as_f64);
        bound.filter(|bound| bound.abs() < MAX_BOUND)
    };
    if !is_integer {
        // `-0.0` is left out: it is zero in other words.
        return match bound("minimum").or_else(|| bound("exclusiveMinimum")) {
            Some(0.0) if bound("minimum").is_some() => (Bounded::Only(positive()), vec!["minimum"]),
            Some(least) if least >= 0.0 => (Bounded::Only(positive()), vec![]),
            _ => (Bounded::All, vec![]),
        };
    }
    let (mut low, mut high): (Option<i64>, Option<i64>) = (None, None);
    let mut said = Vec::new();
    for keyword in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"] {
        let Some(bound) = bound(keyword) else {
            continue;
        };
        said.push(keyword);
        match keyword {
            "minimum" => low = low.max(Some(bound.ceil() as i64)),
            "exclusiveMinimum" => low = low.max(Some(bound.floor() as i64 + 1)),
            "maximum" => {
                high =
                    Some(high.map_or(bound.floor() as i64, |high| high.min(bound.floor() as i64)))
            }
            _ => {
                let bound = bound.ceil() as i64 - 1;
                high = Some(high.map_or(bound, |high| high.min(bound)));
            }
        }
    }
    let bounded = match (low, high) {
        (None, None) => Bounded::All,
        (Some(low), Some(high)) if low > high => Bounded::None,
        (low, high) => Bounded::Only(between(low, high)),
    };
    (bounded, said)
}

fn between(low: Option<i64>, high: Option<i64>) -> Expr {
    let mut ways = Vec::new();
    if low.is_none_or(|low| low < 0) {
        // Zero has no sign.
        let least = high.map_or(1, |high| (-high).max(1)).unsigned_abs();
        let most = low.map(i64::unsigned_abs);
        ways.push(Expr::Sequence(vec![literal("-"), naturals(least, most)]));
    }
    if high.is_none_or(|high| high >= 0) {
        let least = low.unwrap_or(0).max(0).unsigned_abs();
        ways.push(naturals(least, high.map(i64::unsigned_abs)));
    }
    Expr::Choice(ways)
}

fn naturals(least: u64, most: Option<u64>) -> Expr {
    let Some(most) = most else {
        let same = 10_u64.saturating_pow(least.max(1).ilog10() + 1) - 1;
        let length = least.max(1).ilog10() + 1;
        let longer = vec![digit('1', '9'), digit('0', '9').repeat(length, None)];
        return Expr::Choice(vec![naturals(least, Some(same)), Expr::Sequence(longer)]);
    };
    let mut ways = Vec::new();
    let mut low = least;
    // One way for each number of digits.
    while low <= most {
        let length = low.max(1).ilog10() + 1;
        let last = (10_u64.saturating_pow(length) - 1).min(most);
        let (first, last_text) = (low.to_string(), last.to_string());
        ways.push(same_length(first.as_bytes(), last_text.as_bytes()));
        low = last + 1;
    }
    Expr::Choice(ways)
}

/// The numbers between two of the same number of digits.
fn same_length(low: &[u8], high: &[u8]) -> Expr {
    let (Some((&first, low)), Some((&last, high))) = (low.split_first(), high.split_first()) else {
        return Expr::empty();
    };
    let (first, last) = (char::from(first), char::from(last));
    let rest = u32::try_from(low.len()).unwrap_or_default();
    let any = digit('0', '9').repeat(rest, Some(rest));
    let lowest = low.iter().all(|&digit| digit == b'0');
    let highest = high.iter().all(|&digit| digit == b'9');
    if first == last {
        let rest = if lowest && highest {
            any
        } else {
            same_length(low, high)
        };
        return Expr::Sequence(vec![digit(first, first), rest]);
    }
    let mut ways = Vec::new();
    let next = |c: char| char::from(c as u8 + 1);
    let before = |c: char| char::from(c as u8 - 1);
    let from = if lowest { first } else { next(first) };
    let to = if highest { last } else { before(last) };
    if !lowest {
        let nines = vec![b'9'; low.len()];
        ways.push(Expr::Sequence(vec![
            digit(first, first),
            same_length(low, &nines),
        ]));
    }
    if from <= to {
        ways.push(Expr::Sequence(vec![digit(from, to), any]));
    }
    if !highest {
        let zeros = vec![b'0'; high.len()];
        ways.push(Expr::Sequence(vec![
            digit(last, last),
            same_length(&zeros, high),
        ]));
    }
    Expr::Choice(ways)
}
