//! Sets of characters as ECMA-262 names them: `.`, `\s`, `\p{…}` and what stands in brackets.

use regex_syntax::hir;

/// A set of code points, surrogates among them: a class may name halves of pairs, which no text has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    ranges: Vec<(u32, u32)>,
    /// Whether one code point was written, which may be the end of a range.
    is_single: bool,
}

const LAST: u32 = 0x10_FFFF;
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
const DIGITS: &[(u32, u32)] = &[(0x30, 0x39)];
const WORDS: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
/// `WhiteSpace` and `LineTerminator`: tabs and line ends, the byte order mark, and all of Zs.
const SPACES: &[(u32, u32)] = &[
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
];
const LINE_ENDS: &[(u32, u32)] = &[(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)];

impl Class {
    fn ranges(ranges: &[(u32, u32)]) -> Self {
        Self {
            ranges: ranges.to_vec(),
            is_single: false,
        }
    }

    pub(super) fn none() -> Self {
        Self::ranges(&[])
    }

    pub(super) fn all() -> Self {
        Self::ranges(&[(0, LAST)])
    }

    /// What `.` matches.
    pub(super) fn dot() -> Self {
        Self::ranges(LINE_ENDS).negated()
    }

    pub(super) fn of(c: char) -> Self {
        Self::of_code(u32::from(c))
    }

    pub(super) fn of_code(code: u32) -> Self {
        Self {
            ranges: vec![(code, code)],
            is_single: true,
        }
    }

    /// `\d`, `\w`, `\s` and their opposites.
    pub(super) fn perl(letter: char) -> Self {
        let class = Self::ranges(match letter.to_ascii_lowercase() {
            'd' => DIGITS,
            'w' => WORDS,
            _ => SPACES,
        });
        if letter.is_ascii_uppercase() {
            class.negated()
        } else {
            class
        }
    }

    /// `\p{…}`; `None` for a property that is not known.
    pub(super) fn property(name: &str, negated: bool) -> Option<Self> {
        let parsed = regex_syntax::parse(&format!(r"\p{{{name}}}")).ok()?;
        let class = match parsed.kind() {
            hir::HirKind::Class(hir::Class::Unicode(class)) => class.clone(),
            // A property of one character.
            hir::HirKind::Literal(literal) => {
                let c = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
                hir::ClassUnicode::new([hir::ClassUnicodeRange::new(c, c)])
            }
            _ => return None,
        };
        let ranges = class.ranges().iter();
        let ranges = ranges.map(|range| (u32::from(range.start()), u32::from(range.end())));
        let class = Self {
            ranges: ranges.collect(),
            is_single: false,
        };
        Some(if negated { class.negated() } else { class })
    }

    /// The code point that it is, if it was written as one.
    pub(super) fn single(&self) -> Option<u32> {
        let first = self.ranges.first().filter(|_| self.is_single);
        first.map(|(code, _)| *code)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ranges.extend_from_slice(&other.ranges);
        self.is_single = false;
    }

    pub(super) fn add_range(&mut self, from: u32, to: u32) {
        self.ranges.push((from, to));
        self.is_single = false;
    }

    pub(super) fn negated(self) -> Self {
        let mut ranges = Vec::new();
        let mut next = 0;
        for (from, to) in self.sorted() {
            if next < from {
                ranges.push((next, from - 1));
            }
            next = to + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self {
            ranges,
            is_single: false,
        }
    }

    /// Its ranges in order, those that touch as one.
    fn sorted(&self) -> Vec<(u32, u32)> {
        let mut ranges = self.ranges.clone();
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        merged
    }

    /// Its ranges of characters.
    fn characters(&self) -> Vec<(char, char)> {
        let of = |from: u32, to: u32| Some((char::from_u32(from)?, char::from_u32(to)?));
        let below = |(from, to): (u32, u32)| of(from, to.min(SURROGATES.0 - 1));
        let above = |(from, to): (u32, u32)| of(from.max(SURROGATES.1 + 1), to);
        let all = self.sorted().into_iter().flat_map(|range| {
            let low = (range.0 < SURROGATES.0).then(|| below(range)).flatten();
            let high = (range.1 > SURROGATES.1).then(|| above(range)).flatten();
            match (low, high) {
                // A range of characters steps over what is none.
                (Some((from, _)), Some((_, to))) if range.0 < SURROGATES.0 => {
                    [Some((from, to)), None]
                }
                both => [both.0, both.1],
            }
        });
        all.flatten().collect()
    }

    /// Appends it as it is written for the regex crate.
    pub(super) fn write(&self, out: &mut String) {
        let characters = self.characters();
        match characters.as_slice() {
            [] => out.push_str("[^\0-\u{10FFFF}]"),
            [(from, to)] if from == to => push(*from, out),
            several => {
                out.push('[');
                for (from, to) in several {
                    push(*from, out);
                    if from != to {
                        out.push('-');
                        push(*to, out);
                    }
                }
                out.push(']');
            }
        }
    }
}

fn push(c: char, out: &mut String) {
    if regex_syntax::is_meta_character(c) {
        out.push('\\');
    }
    out.push(c);
}
