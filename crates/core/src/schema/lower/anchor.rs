//! Anchors: a pattern that may match anywhere comes in, one that matches the whole text goes out.

use crate::pattern;
use regex_syntax::ast::{self, AssertionKind, Ast, RepetitionKind, RepetitionRange};
use regex_syntax::hir::Look;

/// What stands for the text around a match. A JSON text may hold anything there, but engines that
/// build grammars put a pattern's characters into the JSON as they are: a quote would end the
/// string, and a raw control character is no JSON.
const AROUND: &str = r#"[^"\\\x00-\x1f]*"#;

/// Longer patterns are not read here: the guard refuses them.
const MAX_BYTES: usize = 4 << 10;

/// A pattern for an engine that matches whole texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// It has both anchors.
    Already,
    /// Every text matches: no pattern is needed.
    Anything,
    /// Anchored, and without quotes, backslashes and control characters around the match.
    Narrower(String),
    /// Its anchors stand where they cannot be moved.
    None,
}

pub(super) fn whole(pattern: &str) -> Whole {
    if pattern.len() > MAX_BYTES {
        return Whole::None;
    }
    let Ok(hir) = pattern::parse_ecma(pattern) else {
        return Whole::None;
    };
    let looks = hir.properties();
    let starts = looks.look_set_prefix().contains(Look::Start);
    let ends = looks.look_set_suffix().contains(Look::End);
    // Boundaries of words and lines are read by few.
    let is_plain = looks
        .look_set()
        .iter()
        .all(|look| matches!(look, Look::Start | Look::End));
    if starts && ends && is_plain {
        return Whole::Already;
    }
    let mut inner = pattern;
    if starts {
        inner = inner.strip_prefix('^').unwrap_or(inner);
    }
    if ends && !inner.ends_with("\\$") {
        inner = inner.strip_suffix('$').unwrap_or(inner);
    }
    let Ok(hir) = pattern::parse_ecma(inner) else {
        return Whole::None;
    };
    if !hir.properties().look_set().is_empty() {
        return Whole::None;
    }
    if hir.properties().minimum_len() == Some(0) {
        // What matches the empty text matches somewhere in every text.
        return Whole::Anything;
    }
    let before = if starts { "" } else { AROUND };
    let after = if ends { "" } else { AROUND };
    Whole::Narrower(format!("^{before}(?:{inner}){after}$"))
}

/// What stands between the anchors at a pattern's ends; `None` where others are left, or something that looks around.
pub(super) fn bare(pattern: &str) -> Option<&str> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let is_anchor = inner.ends_with('$') && !inner.ends_with("\\$");
    let inner = match is_anchor {
        true => &inner[..inner.len() - 1],
        false => inner,
    };
    if inner.len() > MAX_BYTES {
        return None;
    }
    // A choice that the anchors stood in is cut otherwise without them.
    let is_cut = inner.len() != pattern.len()
        && ast::parse::Parser::new()
            .parse(inner)
            .is_ok_and(|parsed| matches!(parsed, Ast::Alternation(_)));
    let parsed = pattern::parse_ecma(inner).ok()?;
    (!is_cut && parsed.properties().look_set().is_empty()).then_some(inner)
}

/// Whether the pattern, matched as a whole, keeps to the limit by itself.
pub(super) fn implies(pattern: &str, keyword: &str, limit: u64) -> bool {
    if pattern.len() > MAX_BYTES {
        return false;
    }
    let Ok(hir) = pattern::parse_ecma(pattern) else {
        return false;
    };
    let looks = hir.properties();
    let is_whole = looks.look_set_prefix().contains(Look::Start)
        && looks.look_set_suffix().contains(Look::End);
    // Lengths of a pattern are counted in bytes, at least as many as characters and at most four
    // times as many.
    match keyword {
        "maxLength" => {
            is_whole
                && looks
                    .maximum_len()
                    .is_some_and(|bytes| bytes as u64 <= limit)
        }
        _ => looks
            .minimum_len()
            .is_some_and(|bytes| bytes.div_ceil(4) as u64 >= limit),
    }
}

/// A pattern of the texts that match and have so many characters: for a sequence of single
/// characters of which one alone repeats as it likes, by the bounds of that repetition.
pub(super) fn within(pattern: &str, least: Option<u64>, most: Option<u64>) -> Option<String> {
    if pattern.len() > MAX_BYTES {
        return None;
    }
    let parsed = ast::parse::Parser::new().parse(pattern).ok()?;
    let Ast::Concat(whole) = &parsed else {
        return None;
    };
    let is_anchor = |ast: Option<&Ast>, wanted: AssertionKind| matches!(ast, Some(Ast::Assertion(it)) if it.kind == wanted);
    if !is_anchor(whole.asts.first(), AssertionKind::StartLine)
        || !is_anchor(whole.asts.last(), AssertionKind::EndLine)
    {
        return None;
    }
    let mut fixed = 0_u64;
    let mut free = None;
    for part in whole.asts.get(1..whole.asts.len() - 1)? {
        match part {
            single if is_character(single) => fixed += 1,
            Ast::Repetition(repeated) if is_character(&repeated.ast) => {
                let (from, to) = bounds(&repeated.op.kind);
                if to == Some(from) {
                    fixed = fixed.checked_add(from)?;
                } else if free.replace((repeated, from, to)).is_some() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    let (repeated, from, to) = free?;
    let from = from.max(least.unwrap_or(0).saturating_sub(fixed));
    let to = match (to, most) {
        (to, None) => to,
        (to, Some(most)) => {
            let left = most.checked_sub(fixed)?;
            Some(to.map_or(left, |to| to.min(left)))
        }
    };
    if to.is_some_and(|to| to < from) {
        return None;
    }
    let to = to.map_or_else(String::new, |to| to.to_string());
    let (before, after) = (
        &pattern[..repeated.op.span.start.offset],
        &pattern[repeated.op.span.end.offset..],
    );
    Some(format!("{before}{{{from},{to}}}{after}"))
}

/// Whether it matches one character, whichever.
fn is_character(ast: &Ast) -> bool {
    matches!(
        ast,
        Ast::Literal(_) | Ast::Dot(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_)
    )
}

/// How often something is repeated: at least, and at most where there is an end to it.
pub(super) fn bounds(kind: &RepetitionKind) -> (u64, Option<u64>) {
    match kind {
        RepetitionKind::ZeroOrOne => (0, Some(1)),
        RepetitionKind::ZeroOrMore => (0, None),
        RepetitionKind::OneOrMore => (1, None),
        RepetitionKind::Range(RepetitionRange::Exactly(count)) => {
            (u64::from(*count), Some(u64::from(*count)))
        }
        RepetitionKind::Range(RepetitionRange::AtLeast(count)) => (u64::from(*count), None),
        RepetitionKind::Range(RepetitionRange::Bounded(from, to)) => {
            (u64::from(*from), Some(u64::from(*to)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Whole, implies, whole, within};

    #[test]
    fn lengths_are_bounds_of_the_one_repetition() {
        for (pattern, least, most, expected) in [
            ("^[a-z]*$", None, Some(5), Some("^[a-z]{0,5}$")),
            ("^[a-z]+$", Some(2), Some(5), Some("^[a-z]{2,5}$")),
            (
                "^[A-Z][a-z]{0,9}$",
                Some(2),
                Some(4),
                Some("^[A-Z][a-z]{1,3}$"),
            ),
            (r"^ab\d+c{2}$", None, Some(7), Some(r"^ab\d{1,3}c{2}$")),
            ("^.*$", Some(1), None, Some("^.{1,}$")),
            ("^a+b+$", None, Some(5), None),
            ("^(ab)+$", None, Some(5), None),
            ("^a|b*$", None, Some(5), None),
            ("[a-z]*", None, Some(5), None),
            ("^[a-z]{3,}$", None, Some(2), None),
        ] {
            let found = within(pattern, least, most);
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_is_anchored_only_where_it_was_not() {
        for anchored in ["^a$", "^(a|b)$", "^a$|^b$", r"^\$$", "^$"] {
            assert_eq!(whole(anchored), Whole::Already, "{anchored}");
        }
        for (pattern, expected) in [
            ("a", r#"^[^"\\\x00-\x1f]*(?:a)[^"\\\x00-\x1f]*$"#),
            ("^a", r#"^(?:a)[^"\\\x00-\x1f]*$"#),
            ("a$", r#"^[^"\\\x00-\x1f]*(?:a)$"#),
            (r"a\$", r#"^[^"\\\x00-\x1f]*(?:a\$)[^"\\\x00-\x1f]*$"#),
            ("a|b", r#"^[^"\\\x00-\x1f]*(?:a|b)[^"\\\x00-\x1f]*$"#),
            (
                "(?:a)?b",
                r#"^[^"\\\x00-\x1f]*(?:(?:a)?b)[^"\\\x00-\x1f]*$"#,
            ),
        ] {
            assert_eq!(
                whole(pattern),
                Whole::Narrower(expected.to_owned()),
                "{pattern}"
            );
        }
    }

    #[test]
    fn what_matches_the_empty_text_matches_everywhere() {
        for pattern in ["", "a*", ".*", "^", "$", "^.*"] {
            assert_eq!(whole(pattern), Whole::Anything, "{pattern}");
        }
    }

    #[test]
    fn anchors_of_single_alternatives_cannot_be_moved() {
        for pattern in ["^a|b", "^a|^b", "a|b$", r"\bword\b", "(^a)+b"] {
            assert_eq!(whole(pattern), Whole::None, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_may_imply_a_length() {
        assert!(implies("^[a-z]{3,10}$", "maxLength", 10));
        assert!(!implies("^[a-z]{3,10}$", "maxLength", 9));
        assert!(!implies("[a-z]{3,10}", "maxLength", 10));
        assert!(implies("^[a-z]+$", "minLength", 1));
        assert!(!implies("^[a-z]*$", "minLength", 1));
        // One character of four bytes.
        assert!(!implies("^\u{1F600}$", "minLength", 2));
    }
}
