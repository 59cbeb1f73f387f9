//! Patterns written anew: what one means comes in; a pattern in plain syntax that means the same, whose groups say nothing but what
//! belongs together and whose flags are spelled out, goes out.

use super::spelling::write_class;
use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassSet, ClassSetItem, GroupKind, LiteralKind, Visitor,
};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

/// What is longer is not written.
const MAX_BYTES: usize = 4 << 10;

/// A pattern in plain syntax; `None` where there is none, or a long one. Whether a repetition is greedy is left out: what matches
/// whole is the same.
pub(crate) fn written(hir: &Hir) -> Option<String> {
    let mut out = String::new();
    write(hir, Place::Sequence, &mut out)?;
    (out.len() <= MAX_BYTES).then_some(out)
}

/// Whether a pattern sets flags, for a group (`(?i:yes)`) or for what follows (`(?i)yes`).
pub(crate) fn has_flags(pattern: &str) -> bool {
    // Nearly none does.
    pattern.contains("(?") && finds(pattern, has_flag)
}

/// Whether a pattern has what Python and Rust read and ECMA-262 does not: `(?i)` for all of it, `(?P<name>yes)`.
pub(crate) fn is_foreign(pattern: &str) -> bool {
    pattern.contains("(?")
        && finds(pattern, |ast| match ast {
            Ast::Flags(_) => true,
            Ast::Group(group) => {
                matches!(
                    group.kind,
                    GroupKind::CaptureName {
                        starts_with_p: true,
                        ..
                    }
                )
            }
            _ => false,
        })
}

/// Whether a class has what is a word of the regex crate's there, and to ECMA-262 the characters: `[`, `&&`, `--`, `~~`.
pub(crate) fn has_set_words(pattern: &str) -> bool {
    let mut all = pattern.chars();
    let (mut is_within, mut last) = (false, None);
    while let Some(c) = all.next() {
        match c {
            '\\' => {
                all.next();
                last = None;
            }
            '[' if is_within => return true,
            '&' | '-' | '~' if is_within && last == Some(c) => return true,
            '[' => (is_within, last) = (true, None),
            ']' => is_within = false,
            _ => last = Some(c),
        }
    }
    false
}

/// Whether a regex has anything that not every reader of regexes reads, or not as the regex crate does: flags, named groups, `.`, which
/// is a line break too for some, `\A` and `\z`, `[[:alpha:]]`, `[a&&b]`, `\x{41}`.
pub(crate) fn is_odd(regex: &str) -> bool {
    finds(regex, |ast| has_flag(ast) || is_dialect(ast))
}

fn has_flag(ast: &Ast) -> bool {
    match ast {
        Ast::Flags(_) => true,
        Ast::Group(group) => {
            matches!(&group.kind, GroupKind::NonCapturing(flags) if !flags.items.is_empty())
        }
        _ => false,
    }
}

fn is_dialect(ast: &Ast) -> bool {
    match ast {
        Ast::Dot(_) => true,
        Ast::Group(group) => matches!(group.kind, GroupKind::CaptureName { .. }),
        Ast::Assertion(assertion) => matches!(
            assertion.kind,
            AssertionKind::StartText | AssertionKind::EndText
        ),
        Ast::Literal(literal) => matches!(literal.kind, LiteralKind::HexBrace(_)),
        Ast::ClassBracketed(class) => is_odd_set(&class.kind),
        _ => false,
    }
}

fn is_odd_set(set: &ClassSet) -> bool {
    match set {
        ClassSet::BinaryOp(_) => true,
        ClassSet::Item(item) => is_odd_item(item),
    }
}

fn is_odd_item(item: &ClassSetItem) -> bool {
    match item {
        ClassSetItem::Ascii(_) | ClassSetItem::Bracketed(_) => true,
        ClassSetItem::Literal(literal) => matches!(literal.kind, LiteralKind::HexBrace(_)),
        ClassSetItem::Union(union) => union.items.iter().any(is_odd_item),
        _ => false,
    }
}

/// Whether this is true of some part of a pattern, which some reader takes.
fn finds(pattern: &str, is_it: impl Fn(&Ast) -> bool) -> bool {
    struct Finding<F>(F, bool);
    impl<F: Fn(&Ast) -> bool> Visitor for Finding<F> {
        type Output = bool;
        type Err = std::convert::Infallible;

        fn finish(self) -> Result<bool, Self::Err> {
            Ok(self.1)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            self.1 |= (self.0)(ast);
            Ok(())
        }
    }
    let parsed = ast::parse::Parser::new().parse(pattern);
    parsed.is_ok_and(|parsed| ast::visit(&parsed, Finding(is_it, false)) == Ok(true))
}

/// What may stand in a place without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Choice,
    Sequence,
    Repeated,
}

fn write(hir: &Hir, place: Place, out: &mut String) -> Option<()> {
    if out.len() > MAX_BYTES {
        return None;
    }
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
            match (repeated.min, repeated.max) {
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (0, Some(1)) => out.push('?'),
                (min, None) => out.push_str(&format!("{{{min},}}")),
                (min, Some(max)) if min == max => out.push_str(&format!("{{{min}}}")),
                (min, Some(max)) => out.push_str(&format!("{{{min},{max}}}")),
            }
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
        HirKind::Look(Look::Start) => out.push('^'),
        HirKind::Look(Look::End) => out.push('$'),
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
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::pattern::parse;

    #[test]
    fn flags_are_spelled_out() {
        for (pattern, expected) in [
            ("^(?i:yes|no)$", "^([Yy][Ee][Ss\u{17f}]|[Nn][Oo])$"),
            ("(?i)b", "[Bb]"),
            ("(?s:.)", "[\\x00-\u{10ffff}]"),
            ("(?i:a){2,3}x?", "[Aa]{2,3}(x)?"),
            ("(?-i:ab)\\.", "ab\\."),
        ] {
            assert!(has_flags(pattern), "{pattern}");
            let plain = written(&parse(pattern).unwrap());
            assert_eq!(plain.as_deref(), Some(expected), "{pattern}");
        }
        for (regex, expected) in [
            ("^start.*end$", "^start[^\\x0a]*end$"),
            ("[[:alpha:]]{2}\\z", "[A-Za-z]{2}$"),
            ("\\Aa|b", "(^a|b)"),
            ("(?P<y>[a-z&&[^b]])\\x{41}", "[ac-z]A"),
        ] {
            assert!(is_odd(regex), "{regex}");
            let plain = written(&parse(regex).unwrap());
            assert_eq!(plain.as_deref(), Some(expected), "{regex}");
        }
        for regex in ["^[a-z]+(?:a|b)\\d{2}$", "\\.", "[.]", "\\x41"] {
            assert!(!is_odd(regex), "{regex}");
        }
        for pattern in ["(?:a)", "(?P<n>a)", "[(?i)]", "\\(?i", "(?=a)"] {
            assert!(!has_flags(pattern), "{pattern}");
        }
        for pattern in ["(?i)a", "(?P<n>a)"] {
            assert!(is_foreign(pattern), "{pattern}");
        }
        for pattern in ["[^[]", "[a&&b]", "x[+--]", "[~~]", "[^]a[b]"] {
            assert_eq!(has_set_words(pattern), pattern != "[^]a[b]", "{pattern}");
        }
        for pattern in ["a&&b", "[a-z&]&", r"[\[\&&]", r"[a]\[", "[a][b]"] {
            assert!(!has_set_words(pattern), "{pattern}");
        }
        for pattern in ["(?i:a)", "(?<n>a)", "[(?i)]", "\\(?P<a", "(?=a)"] {
            assert!(!is_foreign(pattern), "{pattern}");
        }
    }
}
