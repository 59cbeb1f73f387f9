//! JSON's strings as rules: patterns and lengths come in, the texts of the strings go out, in
//! quotes and with their escapes.

use super::literal;
use crate::grammar::gbnf::Expr;
use crate::grammar::regex;
use crate::pattern::{self, ways};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};
use serde_json::{Map, Value};

/// Characters of a pattern, as [`pattern::positions`] counts them, that are written.
const MAX_POSITIONS: u64 = 4_000;
/// Lengths beyond what llama.cpp lets something repeat are not written.
const MAX_LENGTH: u64 = 1_999;

/// Any string.
pub(super) fn string() -> Expr {
    quoted(character().repeat(0, None))
}

fn quoted(inner: Expr) -> Expr {
    Expr::Sequence(vec![literal("\""), inner, literal("\"")])
}

fn class(ranges: &[(char, char)]) -> Expr {
    let ranges = ranges.to_vec();
    Expr::Class {
        negated: false,
        ranges,
    }
}

fn plain() -> ClassUnicode {
    let ranges = [(' ', '!'), ('#', '['), (']', char::MAX)];
    ClassUnicode::new(ranges.map(|(first, last)| ClassUnicodeRange::new(first, last)))
}

/// One character of a string, however it is spelled. Those that take two `\u` are spelled out, so
/// that each counts as one.
fn character() -> Expr {
    let hex = class(&[('0', '9'), ('A', 'F'), ('a', 'f')]);
    let not_d = class(&[('0', '9'), ('A', 'C'), ('E', 'F'), ('a', 'c'), ('e', 'f')]);
    let before_surrogates = Expr::Sequence(vec![
        class(&[('D', 'D'), ('d', 'd')]),
        class(&[('0', '7')]),
        hex.clone().repeat(2, Some(2)),
    ]);
    let codes = Expr::Choice(vec![
        Expr::Sequence(vec![not_d, hex.repeat(3, Some(3))]),
        before_surrogates,
    ]);
    let short = ['"', '/', '\\', 'b', 'f', 'n', 'r', 't'].map(|c| (c, c));
    let escape = Expr::Choice(vec![
        class(&short),
        Expr::Sequence(vec![literal("u"), codes]),
    ]);
    Expr::Choice(vec![
        class(&pairs(&plain())),
        Expr::Sequence(vec![literal("\\"), escape]),
    ])
}

fn pairs(class: &ClassUnicode) -> Vec<(char, char)> {
    let ranges = class.ranges().iter();
    ranges.map(|range| (range.start(), range.end())).collect()
}

/// A text inside of quotes, in its one canonical spelling.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The characters that are spelled with a backslash.
pub(super) fn escapes() -> Expr {
    let short = ['"', '\\', 'b', 'f', 'n', 'r', 't'].map(|c| (c, c));
    let low = Expr::Sequence(vec![
        literal("0"),
        class(&[('0', '7'), ('b', 'b'), ('e', 'f')]),
    ]);
    let high = Expr::Sequence(vec![literal("1"), class(&[('0', '9'), ('a', 'f')])]);
    let codes = Expr::Sequence(vec![literal("u00"), Expr::Choice(vec![low, high])]);
    Expr::Sequence(vec![
        literal("\\"),
        Expr::Choice(vec![class(&short), codes]),
    ])
}

/// Characters of a class inside of quotes, each in its one canonical spelling.
pub(super) fn spelled(class: &ClassUnicode) -> Expr {
    spelled_with(class, escapes)
}

/// The same, with all that have a backslash as given.
pub(super) fn spelled_with(of: &ClassUnicode, escapes: impl FnOnce() -> Expr) -> Expr {
    let mut simple = of.clone();
    simple.intersect(&plain());
    let mut special = all();
    special.difference(&plain());
    let count = |class: &ClassUnicode| class.iter().map(|range| range.len()).sum::<usize>();
    let whole = count(&special);
    special.intersect(of);
    let mut ways = Vec::new();
    if !simple.ranges().is_empty() {
        ways.push(class(&pairs(&simple)));
    }
    if count(&special) == whole {
        ways.push(escapes());
    } else {
        let special = special.iter().flat_map(|range| range.start()..=range.end());
        ways.extend(special.map(|c| Expr::Literal(escaped(&c.to_string()))));
    }
    Expr::Choice(ways)
}

fn all() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

/// Any text inside of quotes, in its canonical spelling.
pub(super) fn anything() -> Expr {
    spelled(&all()).repeat(0, None)
}

/// The strings of a schema, and the keywords that are not said by it. `None` for all strings.
pub(super) fn lower(map: &Map<String, Value>) -> (Option<Expr>, Vec<&'static str>) {
    let mut unsaid = Vec::new();
    let mut bounds = [None, None];
    for (index, keyword) in ["minLength", "maxLength"].into_iter().enumerate() {
        match map
            .get(keyword)
            .and_then(Value::as_f64)
            .map(|bound| bound as u64)
        {
            Some(bound) if bound <= MAX_LENGTH => bounds[index] = u32::try_from(bound).ok(),
            Some(_) => unsaid.push(keyword),
            None => {}
        }
    }
    let (min, max) = (bounds[0].unwrap_or(0), bounds[1]);
    let has_bounds = min > 0 || max.is_some();
    let Some(Value::String(text)) = map.get("pattern") else {
        let any = has_bounds.then(|| quoted(character().repeat(min, max)));
        return (any, unsaid);
    };
    let Some(hir) = read(text) else {
        unsaid.push("pattern");
        let any = has_bounds.then(|| quoted(character().repeat(min, max)));
        return (any, unsaid);
    };
    // What repeats one character is bounded by the lengths too.
    let hir = match one_class(&hir) {
        Some((sub, least, most)) if has_bounds => {
            let most = match (most, max) {
                (Some(most), Some(max)) => Some(most.min(max)),
                (most, max) => most.or(max),
            };
            let least = least.max(min);
            if most.is_some_and(|most| most < least) {
                unsaid.extend(["minLength", "maxLength"]);
                hir
            } else {
                regex::repeat(sub, least, most)
            }
        }
        _ => {
            if min > 0 {
                unsaid.push("minLength");
            }
            if max.is_some() {
                unsaid.push("maxLength");
            }
            hir
        }
    };
    // Servers follow all ways through a pattern by themselves.
    let hir = match ways::overrun(&hir) {
        true => ways::one_way(&hir),
        false => Some(hir),
    };
    let Some(hir) = hir else {
        unsaid.push("pattern");
        return (None, unsaid);
    };
    match regex::expr(&hir) {
        Ok(expr) => (Some(quoted(in_quotes(expr))), unsaid),
        Err(_) => {
            unsaid.push("pattern");
            (None, unsaid)
        }
    }
}

/// The pattern of whole texts in which a schema's pattern is found.
fn read(text: &str) -> Option<Hir> {
    let hir = pattern::parse_ecma(text).ok()?;
    if pattern::positions(&hir) > MAX_POSITIONS || hir.properties().minimum_len().is_none() {
        return None;
    }
    found(&hir)
}

fn found(hir: &Hir) -> Option<Hir> {
    let anything = || {
        regex::repeat(
            Hir::class(regex_syntax::hir::Class::Unicode(all())),
            0,
            None,
        )
    };
    let parts = match hir.kind() {
        HirKind::Capture(capture) => return found(&capture.sub),
        HirKind::Alternation(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(found).collect();
            return Some(Hir::alternation(parts?));
        }
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(hir),
    };
    let is = |part: Option<&Hir>, look| matches!(part.map(Hir::kind), Some(HirKind::Look(found)) if *found == look);
    let (starts, ends) = (is(parts.first(), Look::Start), is(parts.last(), Look::End));
    let to = parts.len() - usize::from(ends);
    let inner = parts.get(usize::from(starts).min(to)..to)?;
    let mut whole = Vec::new();
    if !starts {
        whole.push(anything());
    }
    for part in inner {
        whole.push(regex::whole(part, false, false).ok()?);
    }
    if !ends {
        whole.push(anything());
    }
    Some(Hir::concat(whole))
}

/// A class that repeats, and how often.
fn one_class(hir: &Hir) -> Option<(Hir, u32, Option<u32>)> {
    match hir.kind() {
        HirKind::Repetition(repetition) if matches!(repetition.sub.kind(), HirKind::Class(_)) => {
            Some(((*repetition.sub).clone(), repetition.min, repetition.max))
        }
        HirKind::Class(_) => Some((hir.clone(), 1, Some(1))),
        _ => None,
    }
}

/// A pattern's texts as they stand inside of quotes.
fn in_quotes(expr: Expr) -> Expr {
    match expr {
        Expr::Choice(parts) => Expr::Choice(parts.into_iter().map(in_quotes).collect()),
        Expr::Sequence(parts) => Expr::Sequence(parts.into_iter().map(in_quotes).collect()),
        Expr::Literal(text) => Expr::Literal(escaped(&text)),
        Expr::Class { negated, ranges } => {
            let ranges = ranges
                .into_iter()
                .map(|(first, last)| ClassUnicodeRange::new(first, last));
            let mut class = ClassUnicode::new(ranges);
            if negated {
                class.negate();
            }
            spelled(&class)
        }
        Expr::Any => spelled(&all()),
        Expr::Rule(_) => expr,
        Expr::Repeat { inner, min, max } => in_quotes(*inner).repeat(min, max),
    }
}
