//! Patterns for compilers that follow each way of a text through them by itself: a pattern comes in; the same, or where a text has
//! very many ways, another of the same texts in which it has one, goes out.

use crate::pattern::written::written;
use crate::pattern::{self, ways};

/// The pattern, which is anchored at both ends and in plain syntax, with few ways; `None` where there is no such form.
pub(super) fn one_way(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let hir = pattern::parse_ecma(inner).ok()?;
    if !ways::overrun(&hir) {
        return Some(pattern.to_owned());
    }
    written(&ways::one_way(&hir)?).map(|inner| format!("^{inner}$"))
}

#[cfg(test)]
mod tests {
    use super::one_way;

    #[test]
    fn a_pattern_of_many_ways_is_told_with_one() {
        for (pattern, expected) in [
            (
                "^(([a-z]+)*[0-9])+$",
                "^([a-z]|[0-9][0-9]*[a-z])*[0-9][0-9]*$",
            ),
            (
                "^(é|[^\\x00-\\x1f\"\\\\.]+)*[.]$",
                "^[^\\x00-\\x1f\".\\x5c]*\\.$",
            ),
            ("^([ab]+|[a-z])*\\[x$", "^[a-z]*\\[x$"),
        ] {
            assert_eq!(one_way(pattern).as_deref(), Some(expected), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_few_ways_keeps_its_bytes() {
        for pattern in ["^[a-z]+@[a-z]+[.][a-z]+$", "^(a|b)*?$", "^a{2,30}$"] {
            assert_eq!(one_way(pattern).as_deref(), Some(pattern), "{pattern}");
        }
        // Which of the last letters was an `a` is 2^20 states.
        assert_eq!(one_way("^(([ab]+)*a[ab]{20})+c$"), None);
    }
}
