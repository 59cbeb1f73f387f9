//! Anchors: a pattern that may match anywhere comes in, one that matches the whole text goes out.

use crate::pattern;
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
    let Ok(hir) = pattern::parse(pattern) else {
        return Whole::None;
    };
    let looks = hir.properties();
    let starts = looks.look_set_prefix().contains(Look::Start);
    let ends = looks.look_set_suffix().contains(Look::End);
    if starts && ends {
        return Whole::Already;
    }
    let mut inner = pattern;
    if starts {
        inner = inner.strip_prefix('^').unwrap_or(inner);
    }
    if ends && !inner.ends_with("\\$") {
        inner = inner.strip_suffix('$').unwrap_or(inner);
    }
    let Ok(hir) = pattern::parse(inner) else {
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

/// Whether the pattern, matched as a whole, keeps to the limit by itself.
pub(super) fn implies(pattern: &str, keyword: &str, limit: u64) -> bool {
    if pattern.len() > MAX_BYTES {
        return false;
    }
    let Ok(hir) = pattern::parse(pattern) else {
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

#[cfg(test)]
mod tests {
    use super::{Whole, implies, whole};

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
