//! Regexes as xgrammar spells them: a regex comes in; the same texts in words that it reads as everybody does go out.

use super::parse;
use super::written::{is_odd, written};
use regex_syntax::ast::{self, Ast, ClassSet, ClassSetItem, Visitor};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// A regex in other words.
#[derive(Debug, PartialEq, Eq)]
pub enum Spelled {
    /// It is read as it is.
    Same,
    /// These words mean the same.
    Other(String),
    /// It names classes of Unicode's (`\p{L}`), which are not read at all, or has no short form in plain words.
    Names,
}

/// The regex in words that xgrammar reads as everybody does.
#[must_use]
pub fn spelled(regex: &str) -> Spelled {
    if !is_odd(regex) {
        return reworded(regex);
    }
    // What is too long for a regex is a grammar's.
    let plain = parse(regex).ok().and_then(|hir| written(&hir));
    plain.map_or(Spelled::Names, |plain| match reworded(&plain) {
        Spelled::Same => Spelled::Other(plain),
        other => other,
    })
}

/// The same of one in plain words.
fn reworded(regex: &str) -> Spelled {
    let Ok(parsed) = ast::parse::Parser::new().parse(regex) else {
        return Spelled::Same;
    };
    let Ok(found) = ast::visit(&parsed, Found::default());
    if found.names {
        return Spelled::Names;
    }
    let mut out = String::with_capacity(regex.len());
    let mut at = 0;
    for class in found.classes {
        let text = &regex[class.clone()];
        if begins_with_caret(text)
            && let Some(characters) = characters(text)
        {
            out.push_str(&regex[at..class.start]);
            write_class("[", &characters, &mut out);
            at = class.end;
        }
    }
    out.push_str(&regex[at..]);
    match in_four_digits(out) {
        same if same == regex => Spelled::Same,
        other => Spelled::Other(other),
    }
}

/// The classes of a regex.
#[derive(Default)]
struct Found {
    classes: Vec<std::ops::Range<usize>>,
    names: bool,
}

impl Visitor for Found {
    type Output = Self;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Self, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::ClassUnicode(_) => self.names = true,
            Ast::ClassBracketed(class) if matches!(class.kind, ClassSet::Item(_)) => {
                self.classes
                    .push(class.span.start.offset..class.span.end.offset);
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        self.names |= matches!(item, ClassSetItem::Unicode(_));
        Ok(())
    }
}

/// The characters of a class, as ECMA has them.
pub(crate) fn characters(class: &str) -> Option<ClassUnicode> {
    if class.contains(r"\p") || class.contains(r"\P") {
        return None;
    }
    // Within a class there are no brackets to spell out.
    let spelled = class.replace(r"\d", "0-9").replace(r"\w", "0-9A-Za-z_");
    let hir = super::parse(&spelled).ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let only = chars.next()?;
            Some(ClassUnicode::new([ClassUnicodeRange::new(only, only)]))
        }
        _ => None,
    }
}

/// Whether a class has an escaped `^` for its first character. However it is escaped, xgrammar takes it for the sign of a
/// negated class (0.2.8, where the pattern has a character beyond ASCII).
pub(crate) fn begins_with_caret(class: &str) -> bool {
    [r"[\^", r"[\x5e", r"[\x5E", r"[\u005e", r"[\u005E"]
        .iter()
        .any(|opening| class.starts_with(opening))
}

pub(crate) fn write_class(opening: &str, class: &ClassUnicode, out: &mut String) {
    let mut ranges: Vec<(char, char)> = class
        .iter()
        .map(|range| (range.start(), range.end()))
        .collect();
    // A `^` stands last, where it is nothing but itself.
    let is_first = opening == "[" && ranges.first().is_some_and(|(first, _)| *first == '^');
    if is_first {
        let (_, last) = ranges.remove(0);
        if last > '^' {
            ranges.insert(0, ('_', last));
        }
        if ranges.is_empty() {
            out.push_str(r"\^");
            return;
        }
    }
    out.push_str(opening);
    for (first, last) in ranges {
        write_char(first, out);
        if first != last {
            out.push('-');
            write_char(last, out);
        }
    }
    out.push_str(if is_first { "^]" } else { "]" });
}

/// The pattern with four digits in each `\x2d` that a hexadecimal digit follows: xgrammar takes that
/// for a digit of the same number (0.2.8, where the pattern has a character beyond ASCII: `\x2d0` is
/// U+02D0).
pub(crate) fn in_four_digits(pattern: String) -> String {
    if !pattern.contains(r"\x") {
        return pattern;
    }
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.as_str();
    while let Some((before, escape)) = rest.split_once('\\') {
        out.extend([before, "\\"]);
        let bytes = escape.as_bytes();
        rest = match bytes.first() {
            Some(b'x') if (1..=3).all(|at| is_digit(bytes.get(at))) => {
                out.push_str("u00");
                &escape[1..]
            }
            // A backslash that is itself escaped begins no escape.
            Some(b'\\') => {
                out.push('\\');
                &escape[1..]
            }
            _ => escape,
        };
    }
    out.push_str(rest);
    out
}

fn write_char(c: char, out: &mut String) {
    match c {
        '-' | '^' | '[' | ']' | '\\' | '\0'..='\x1f' => {
            out.push_str(&format!("\\x{:02x}", u32::from(c)));
        }
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::{Spelled, spelled};

    #[test]
    fn what_is_read_otherwise_is_spelled_otherwise() {
        for (regex, expected) in [
            (r"[\x2d0-9]", r"[\u002d0-9]"),
            (r"[\^a]+?", "[a^]+?"),
            (r"x[\x5e]{2}|\x41b", r"x\^{2}|\u0041b"),
            (r"([\^\]\d]|[^\^])*", r"([0-9\x5d-\x5e]|[^\^])*"),
        ] {
            assert_eq!(
                spelled(regex),
                Spelled::Other(expected.to_owned()),
                "{regex}"
            );
        }
        for regex in [r"\p{L}+", r"[\p{L}_]", r"a\PN"] {
            assert_eq!(spelled(regex), Spelled::Names, "{regex}");
        }
    }

    #[test]
    fn what_is_read_as_it_is_keeps_its_bytes() {
        for regex in [
            r"[a\^]\x2d[\x2d-\x2f]",
            "[^a]",
            r"\^\\x2d0",
            "[",
            r"(?=a)",
            "ß+",
        ] {
            assert_eq!(spelled(regex), Spelled::Same, "{regex}");
        }
    }
}
