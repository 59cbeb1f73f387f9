//! Patterns for compilers that follow each way of a text through them by itself: a pattern comes in; the same, or where a text has
//! very many ways, another of the same texts in which it has one, goes out.

use crate::pattern::spelling::write_class;
use crate::pattern::{self, ways};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

/// What is longer is not written.
const MAX_BYTES: usize = 4 << 10;

/// The pattern, which is anchored at both ends and in plain syntax, with few ways; `None` where there is no such form.
pub(super) fn one_way(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let hir = pattern::parse_ecma(inner).ok()?;
    if !ways::overrun(&hir) {
        return Some(pattern.to_owned());
    }
    let mut out = String::from("^");
    write(&ways::one_way(&hir)?, Place::Sequence, &mut out)?;
    out.push('$');
    (out.len() <= MAX_BYTES).then_some(out)
}

/// What may stand in a place without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Choice,
    Sequence,
    Repeated,
}

fn write(hir: &Hir, place: Place, out: &mut String) -> Option<()> {
    let own = match hir.kind() {
        HirKind::Capture(capture) => return write(&capture.sub, place, out),
        HirKind::Alternation(_) => Place::Choice,
        HirKind::Class(_) => Place::Repeated,
        _ => Place::Sequence,
    };
    if own < place {
        out.push('(');
        write(hir, Place::Choice, out)?;
        out.push(')');
        return Some(());
    }
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            for c in std::str::from_utf8(&literal.0).ok()?.chars() {
                if "^$.[]()|{}*+?\\".contains(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        HirKind::Class(Class::Unicode(class)) => write_any(class, out),
        HirKind::Repetition(repeated) => {
            write(&repeated.sub, Place::Repeated, out)?;
            out.push(match (repeated.min, repeated.max) {
                (0, None) => '*',
                (1, None) => '+',
                (0, Some(1)) => '?',
                _ => return None,
            });
        }
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, Place::Sequence, out)?;
            }
        }
        HirKind::Alternation(parts) => {
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    out.push('|');
                }
                write(part, Place::Sequence, out)?;
            }
        }
        HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) | HirKind::Capture(_) => return None,
    }
    Some(())
}

fn write_any(class: &ClassUnicode, out: &mut String) {
    let is_open = class
        .ranges()
        .last()
        .is_some_and(|last| last.end() == char::MAX);
    let mut rest = class.clone();
    rest.negate();
    match is_open && !rest.ranges().is_empty() {
        true => write_class("[^", &rest, out),
        false => write_class("[", class, out),
    }
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
