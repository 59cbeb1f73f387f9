//! Classes for compilers that read them rightly within ASCII alone: a GBNF text comes in; the same
//! with what is beyond ASCII in other words goes out.
//!
//! xgrammar before 0.2 ends on a negated class with U+0080, reads none of what other negated classes
//! say beyond ASCII, and lets wrong characters through for ranges there.

use super::convert::{Converted, Difference};
use super::gbnf::{Expr, Gbnf};
use super::{GrammarFault, regex};
use crate::ir::{Constraint, Notation};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Characters beyond ASCII that are written one by one.
const MAX_CHARS: usize = 64;

/// The grammar in such words; `None` where it needs no others.
///
/// # Errors
/// It is no GBNF, or a class of it has no character that could be written.
pub fn within_ascii(text: &str) -> Result<Option<Converted>, GrammarFault> {
    if !text.contains("[^") && text.is_ascii() && !text.contains('\\') {
        return Ok(None);
    }
    let mut gbnf = Gbnf::read(text)?;
    let mut found = Found::default();
    for rule in &mut gbnf.rules {
        rule.body.visit_mut(&mut |expr| {
            if let Expr::Class { negated, ranges } = expr {
                let class = class(*negated, ranges);
                if !class.is_ascii()
                    && let Some(written) = found.write(&class, *negated)
                {
                    *expr = written;
                }
            }
        });
    }
    if found.is_empty {
        return Err(GrammarFault::unsupported(
            "a class has characters beyond ASCII alone, too many to be written one by one",
        ));
    }
    if !found.is_changed {
        return Ok(None);
    }
    let differs = |is_there: bool, is_wider: bool, reason: &str| {
        is_there.then(|| Difference {
            pointer: String::new(),
            reason: reason.to_owned(),
            is_wider,
        })
    };
    let differences = [
        differs(
            found.is_wider,
            true,
            "negated classes let everything beyond ASCII pass",
        ),
        differs(
            found.is_narrower,
            false,
            "classes of many characters are written as their ASCII part",
        ),
    ];
    Ok(Some(Converted {
        constraint: Constraint::Grammar {
            notation: Notation::Gbnf,
            text: gbnf.to_string(),
        },
        differences: differences.into_iter().flatten().collect(),
    }))
}

/// The regex as a grammar in such words, where a class of it may speak of what is beyond ASCII;
/// `None` where none does.
///
/// # Errors
/// As [`within_ascii`], and where the regex cannot be written as a grammar.
pub fn regex_within_ascii(text: &str) -> Result<Option<Converted>, GrammarFault> {
    let escapes = ["\\u", "\\x", "\\U"];
    let is_plain = text.is_ascii() && !escapes.iter().any(|escape| text.contains(escape));
    if is_plain || !text.contains('[') {
        return Ok(None);
    }
    let mut whole = Converted::gbnf(regex::to_gbnf(text)?);
    let Constraint::Grammar { text, .. } = &whole.constraint else {
        return Ok(None);
    };
    if let Some(written) = within_ascii(text)? {
        whole.constraint = written.constraint;
        whole.differences.extend(written.differences);
    }
    Ok(Some(whole))
}

#[derive(Default)]
struct Found {
    is_changed: bool,
    is_wider: bool,
    is_narrower: bool,
    is_empty: bool,
}

impl Found {
    /// `None` where the class may stay.
    fn write(&mut self, class: &ClassUnicode, negated: bool) -> Option<Expr> {
        let all = ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]);
        let (mut within, mut beyond) = (class.clone(), class.clone());
        within.intersect(&all);
        beyond.difference(&all);
        let is_whole =
            matches!(beyond.ranges(), [one] if (one.start(), one.end()) == ('\u{80}', char::MAX));
        if is_whole && negated {
            return None;
        }
        self.is_changed = true;
        if beyond
            .ranges()
            .last()
            .is_some_and(|last| last.end() == char::MAX)
        {
            self.is_wider |= !is_whole;
            within.negate();
            within.intersect(&all);
            return Some(Expr::Class {
                negated: true,
                ranges: pairs(&within),
            });
        }
        let ascii = Expr::Class {
            negated: false,
            ranges: pairs(&within),
        };
        let chars = beyond.iter().flat_map(|range| range.start()..=range.end());
        let chars: Vec<char> = chars.take(MAX_CHARS + 1).collect();
        if chars.len() > MAX_CHARS {
            self.is_narrower = true;
            self.is_empty |= within.ranges().is_empty();
            return Some(ascii);
        }
        let mut parts: Vec<Expr> = Vec::new();
        if !within.ranges().is_empty() {
            parts.push(ascii);
        }
        parts.extend(chars.into_iter().map(|c| Expr::Literal(c.to_string())));
        Some(Expr::Choice(parts))
    }
}

fn class(negated: bool, ranges: &[(char, char)]) -> ClassUnicode {
    let ranges = ranges.iter();
    let mut class = ClassUnicode::new(ranges.map(|&(from, to)| ClassUnicodeRange::new(from, to)));
    if negated {
        class.negate();
    }
    class
}

fn pairs(class: &ClassUnicode) -> Vec<(char, char)> {
    let ranges = class.ranges().iter();
    ranges.map(|range| (range.start(), range.end())).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::within_ascii;
    use crate::ir::Constraint;

    fn becomes(text: &str) -> Option<(String, Vec<bool>)> {
        let converted = within_ascii(text).unwrap()?;
        let Constraint::Grammar { text, .. } = converted.constraint else {
            return None;
        };
        let differences = converted.differences.iter();
        Some((text, differences.map(|it| it.is_wider).collect()))
    }

    #[test]
    fn no_class_speaks_of_what_is_beyond_ascii() {
        for (grammar, expected, wider) in [
            (r"root ::= [^\u0080]", "root ::= [^]\n", vec![true]),
            (
                r"root ::= [^ \u00A0\u2000-\u200A]+",
                "root ::= [^ ]+\n",
                vec![true],
            ),
            (
                r"root ::= [\x00-\x1f!-\U0010FFFF]",
                "root ::= [^ ]\n",
                vec![],
            ),
            (r"root ::= [a-cé]", "root ::= [a-c] | \"é\"\n", vec![]),
            (
                "root ::= [а-в]{2}",
                "root ::= (\"а\" | \"б\" | \"в\"){2}\n",
                vec![],
            ),
            (
                r"root ::= [a-z\u4E00-\u9FFF]",
                "root ::= [a-z]\n",
                vec![false],
            ),
        ] {
            assert_eq!(
                becomes(grammar),
                Some((expected.to_owned(), wider)),
                "{grammar}"
            );
        }
        assert!(within_ascii(r"root ::= [\u4E00-\u9FFF]").is_err());
    }

    #[test]
    fn what_is_read_rightly_keeps_its_bytes() {
        for grammar in [
            "root ::= [a-z]+ \"é\"",
            "root ::= [^\"\\\\]*",
            "root  ::=  \"a\"",
        ] {
            assert_eq!(becomes(grammar), None, "{grammar}");
        }
    }
}
