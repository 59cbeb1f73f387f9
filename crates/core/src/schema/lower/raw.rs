//! Patterns for compilers that put their characters into the JSON as they are: a pattern comes in;
//! one that ends no string, and repeats nothing more often than the compiler lets it, goes out.

use super::anchor::bounds;
use crate::pattern::spelling::{begins_with_caret, characters, in_four_digits, write_class};
use regex_syntax::ast::{self, Ast, ClassPerl, ClassPerlKind};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// What a JSON text cannot hold as it is, within a class: quotes, backslashes, control characters.
const UNFIT: &str = r#""\\\x00-\x1f"#;
/// A pattern grows by splitting its repetitions: longer ones are not written.
const MAX_BYTES: usize = 4 << 10;
/// Characters beyond ASCII that are written one by one.
const MAX_CHARS: usize = 64;

/// A pattern for a compiler.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fitted {
    pub(super) pattern: String,
    /// Whether characters are left out that could stand there escaped.
    pub(super) is_narrower: bool,
    /// Whether characters beyond ASCII are let in that the pattern leaves out.
    pub(super) is_wider: bool,
}

/// What a compiler does with patterns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// Their characters go into the JSON as they are.
    pub(super) is_raw: bool,
    /// Classes are read rightly within ASCII alone: beyond it a negated one lets everything pass, or
    /// brings the compiler down, and one of ranges lets other characters pass.
    pub(super) is_ascii: bool,
    /// How often something may repeat.
    pub(super) most: Option<u64>,
}

/// The pattern as the compiler takes it; `None` where there is no such form.
pub(super) fn fitted(pattern: &str, reading: Reading) -> Option<Fitted> {
    let parsed = ast::parse::Parser::new().parse(pattern).ok()?;
    let mut fitting = Fitting {
        pattern,
        reading,
        is_narrower: false,
        is_wider: false,
    };
    let mut out = String::with_capacity(pattern.len());
    fitting.write(&parsed, &mut out)?;
    Some(Fitted {
        pattern: match reading.is_raw {
            true => in_four_digits(out),
            false => out,
        },
        is_narrower: fitting.is_narrower,
        is_wider: fitting.is_wider,
    })
}

struct Fitting<'p> {
    pattern: &'p str,
    reading: Reading,
    is_narrower: bool,
    is_wider: bool,
}

impl<'p> Fitting<'p> {
    fn write(&mut self, ast: &Ast, out: &mut String) -> Option<()> {
        if out.len() > MAX_BYTES {
            return None;
        }
        let is_raw = self.reading.is_raw;
        match ast {
            Ast::Repetition(repeated) => self.repeat(repeated, out),
            Ast::Group(group) => self.around(ast, std::slice::from_ref(&*group.ast), out),
            Ast::Alternation(all) => self.around(ast, &all.asts, out),
            Ast::Concat(all) => self.around(ast, &all.asts, out),
            Ast::Literal(literal) if is_raw && is_unfit(literal.c) => None,
            // Compilers that know no others know these least.
            Ast::ClassUnicode(_) if is_raw => None,
            Ast::Dot(_) if is_raw => {
                self.is_narrower = true;
                out.extend(["[^", UNFIT, "]"]);
                Some(())
            }
            Ast::ClassPerl(class) if is_raw => {
                self.named(class, out);
                Some(())
            }
            Ast::ClassBracketed(class) if is_raw => self.class(self.slice(ast), class.negated, out),
            _ => {
                out.push_str(self.slice(ast));
                Some(())
            }
        }
    }

    /// What stands inside, and the text between as it is.
    fn around(&mut self, whole: &Ast, inside: &[Ast], out: &mut String) -> Option<()> {
        let mut at = whole.span().start.offset;
        for part in inside {
            let span = part.span();
            out.push_str(&self.pattern[at..span.start.offset]);
            self.write(part, out)?;
            at = span.end.offset;
        }
        out.push_str(&self.pattern[at..whole.span().end.offset]);
        Some(())
    }

    /// A repetition as several, each of as many as may be: `a{1,200}` is `a{1,128}a{0,72}`.
    fn repeat(&mut self, repeated: &ast::Repetition, out: &mut String) -> Option<()> {
        let mut inner = String::new();
        self.write(&repeated.ast, &mut inner)?;
        let most = self.reading.most.unwrap_or(u64::MAX).max(1);
        let (mut from, mut to) = bounds(&repeated.op.kind);
        if from.max(to.unwrap_or(0)) <= most {
            out.push_str(&inner);
            out.push_str(&self.pattern[span_of(&repeated.op)]);
            return Some(());
        }
        let mut parts = String::new();
        while from > 0 || to != Some(0) {
            let least = from.min(most);
            let upto = to.map(|to| to.min(most));
            // Without an upper bound the last part alone is open.
            let upto = upto.or((from > most).then_some(most));
            parts.push_str(&inner);
            match upto {
                Some(upto) if upto == least => parts.push_str(&format!("{{{least}}}")),
                Some(upto) => parts.push_str(&format!("{{{least},{upto}}}")),
                None => {
                    parts.push_str(&format!("{{{least},}}"));
                    break;
                }
            }
            from -= least;
            to = to.map(|to| to - to.min(most));
            if out.len() + parts.len() > MAX_BYTES {
                return None;
            }
        }
        out.extend(["(?:", &parts, ")"]);
        Some(())
    }

    fn named(&mut self, class: &ClassPerl, out: &mut String) {
        let own = match class.kind {
            ClassPerlKind::Digit => "0-9",
            ClassPerlKind::Word => "A-Za-z0-9_",
            // The other white space is control characters, and what few texts have.
            ClassPerlKind::Space => " ",
        };
        match (class.negated, &class.kind) {
            (true, _) => {
                self.is_narrower = true;
                out.extend(["[^", own, UNFIT, "]"]);
            }
            (false, ClassPerlKind::Space) => {
                self.is_narrower = true;
                out.push_str("[ ]");
            }
            (false, _) => out.push_str(&self.pattern[span_of_class(class)]),
        }
    }

    fn class(&mut self, text: &str, is_negated: bool, out: &mut String) -> Option<()> {
        let class = characters(text)?;
        let mut unfit = ClassUnicode::new([
            ClassUnicodeRange::new('\0', '\x1f'),
            ClassUnicodeRange::new('"', '"'),
            ClassUnicodeRange::new('\\', '\\'),
        ]);
        let mut fit = class.clone();
        fit.difference(&unfit);
        unfit.intersect(&class);
        self.is_narrower |= !unfit.ranges().is_empty();
        if fit.ranges().is_empty() {
            return None;
        }
        let is_open = fit
            .ranges()
            .last()
            .is_some_and(|last| last.end() == char::MAX);
        if self.reading.is_ascii && !class.is_ascii() {
            return self.ascii(&fit, is_open, out);
        }
        if unfit.ranges().is_empty() && begins_with_caret(text) {
            write_class("[", &fit, out);
        } else if unfit.ranges().is_empty() {
            out.push_str(text);
        } else if is_negated {
            out.push_str(text.strip_suffix(']')?);
            out.extend([UNFIT, "]"]);
        } else if is_open {
            fit.negate();
            write_class("[^", &fit, out);
        } else {
            write_class("[", &fit, out);
        }
        Some(())
    }

    /// A class of which only the ASCII part is read as a class: the others one by one, or all.
    fn ascii(&mut self, class: &ClassUnicode, is_open: bool, out: &mut String) -> Option<()> {
        let mut ascii = class.clone();
        let mut beyond = class.clone();
        let all = ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]);
        ascii.intersect(&all);
        beyond.difference(&all);
        if is_open {
            // Few are left out of what nearly all are in.
            self.is_wider |= beyond.ranges().len() > 1 || beyond.ranges()[0].start() != '\u{80}';
            ascii.negate();
            ascii.intersect(&all);
            write_class("[^", &ascii, out);
            return Some(());
        }
        let chars = beyond.iter().flat_map(|range| range.start()..=range.end());
        let chars: Vec<char> = chars.take(MAX_CHARS + 1).collect();
        if chars.len() <= MAX_CHARS {
            out.push_str("(?:");
            if !ascii.ranges().is_empty() {
                write_class("[", &ascii, out);
                out.push('|');
            }
            let chars: Vec<String> = chars.into_iter().map(String::from).collect();
            out.extend([&chars.join("|"), ")"]);
            return Some(());
        }
        self.is_narrower = true;
        let has_some = !ascii.ranges().is_empty();
        has_some.then(|| write_class("[", &ascii, out))
    }

    fn slice(&self, ast: &Ast) -> &'p str {
        let span = ast.span();
        &self.pattern[span.start.offset..span.end.offset]
    }
}

const fn is_unfit(c: char) -> bool {
    matches!(c, '"' | '\\' | '\0'..='\x1f')
}

const fn span_of(op: &ast::RepetitionOp) -> std::ops::Range<usize> {
    op.span.start.offset..op.span.end.offset
}

const fn span_of_class(class: &ClassPerl) -> std::ops::Range<usize> {
    class.span.start.offset..class.span.end.offset
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{Fitted, Reading, fitted};

    const RAW: Reading = Reading {
        is_raw: true,
        is_ascii: false,
        most: None,
    };

    fn becomes(pattern: &str, reading: Reading) -> Option<(String, bool)> {
        let fitted = fitted(pattern, reading);
        fitted.map(
            |Fitted {
                 pattern,
                 is_narrower,
                 ..
             }| (pattern, is_narrower),
        )
    }

    #[test]
    fn no_character_of_a_pattern_ends_the_string_that_it_stands_in() {
        for (pattern, expected) in [
            (r"^\S+@\S+$", r#"^[^ "\\\x00-\x1f]+@[^ "\\\x00-\x1f]+$"#),
            ("^.{3}$", r#"^[^"\\\x00-\x1f]{3}$"#),
            (
                r"^\D\W$",
                r#"^[^0-9"\\\x00-\x1f][^A-Za-z0-9_"\\\x00-\x1f]$"#,
            ),
            (r"^[^\s@]+$", r#"^[^\s@"\\\x00-\x1f]+$"#),
            (r"^[\s\S]*$", r#"^[^\x00-\x1f"\x5c]*$"#),
            (r#"^['"a-c]$"#, "^['a-c]$"),
            (r"^a\sb$", "^a[ ]b$"),
            ("^(a|.)$", r#"^(a|[^"\\\x00-\x1f])$"#),
        ] {
            let expected = Some((expected.to_owned(), true));
            assert_eq!(becomes(pattern, RAW), expected, "{pattern}");
        }
        // Nothing else could stand there.
        for pattern in [
            r#"^"a"$"#,
            r"^a\\b$",
            r#"^["]$"#,
            r"^\n$",
            r"^\p{L}$",
            r"^[\p{L}]$",
        ] {
            assert_eq!(becomes(pattern, RAW), None, "{pattern}");
        }
    }

    #[test]
    fn no_number_of_a_character_runs_into_the_digit_behind_it() {
        for (pattern, expected, is_narrower) in [
            (r"^[\t\-0]$", r"^[\u002d0]$", true),
            (r"^[\t\-:]$", r"^[\x2d:]$", true),
            (r"^[\x00-`b-\u{10ffff}]$", r#"^[^\x00-\x1f"\u005ca]$"#, true),
            // So may the client have written.
            (r"^é\x2da[\x41b]$", r"^é\u002da[\u0041b]$", false),
            (
                r"^\x2d[\x41-\x5a]-[x2d0]$",
                r"^\x2d[\x41-\x5a]-[x2d0]$",
                false,
            ),
        ] {
            let expected = Some((expected.to_owned(), is_narrower));
            assert_eq!(becomes(pattern, RAW), expected, "{pattern}");
        }
    }

    #[test]
    fn no_class_begins_with_a_caret_that_is_a_character() {
        for (pattern, expected, is_narrower) in [
            (r"^é[\^a]+$", "^é[a^]+$", false),
            (r"^[\x5e]{2}$", r"^\^{2}$", false),
            (r"^[\u005e-z]$", "^[_-z^]$", false),
            (r"^[\n\^é]$", "^[é^]$", true),
            // These are what they were.
            (r"^[a\^]$", r"^[a\^]$", false),
            (r"^[^\^a]$", r#"^[^\^a"\\\x00-\x1f]$"#, true),
        ] {
            let expected = Some((expected.to_owned(), is_narrower));
            assert_eq!(becomes(pattern, RAW), expected, "{pattern}");
        }
    }

    #[test]
    fn what_leaves_no_quote_stays_as_it_is() {
        for pattern in [
            r"^\d{3}-[\w.-]+$",
            "^(?:a|b)+?c$",
            r#"^[^"\\\x00-\x1f]*$"#,
            "^[а-яё]+$",
            r"^a\.b\/c$",
        ] {
            let expected = Some((pattern.to_owned(), false));
            assert_eq!(becomes(pattern, RAW), expected, "{pattern}");
        }
    }

    #[test]
    fn beyond_ascii_no_class_is_written_where_none_is_read() {
        let ascii = Reading {
            is_ascii: true,
            ..RAW
        };
        for (pattern, expected, is_narrower, is_wider) in [
            ("^[а-в]$", "^(?:а|б|в)$", false, false),
            ("^[a-cé]+$", "^(?:[a-c]|é)+$", false, false),
            (r"^[^\u{80}]$", r#"^[^\x00-\x1f"\x5c]$"#, true, true),
            ("^[^,é]$", r#"^[^\x00-\x1f",\x5c]$"#, true, true),
            ("^[a-z一-龥]$", "^[a-z]$", true, false),
            (r"^[^\s,]$", r#"^[^\x00- ",\x5c]$"#, true, true),
            ("^[a-z]$", "^[a-z]$", false, false),
        ] {
            let fitted = fitted(pattern, ascii).unwrap();
            assert_eq!(fitted.pattern, expected, "{pattern}");
            assert_eq!(
                (fitted.is_narrower, fitted.is_wider),
                (is_narrower, is_wider),
                "{pattern}"
            );
        }
        assert_eq!(fitted("^[一-龥]$", ascii), None);
    }

    #[test]
    fn a_long_repetition_is_several_that_mean_the_same() {
        let few = Reading {
            is_raw: false,
            is_ascii: false,
            most: Some(3),
        };
        for (pattern, expected) in [
            ("^a{3}.*$", "^a{3}.*$"),
            ("^a{1,5}$", "^(?:a{1,3}a{0,2})$"),
            ("^a{7}$", "^(?:a{3}a{3}a{1})$"),
            ("^[ab]{4,}$", "^(?:[ab]{3}[ab]{1,})$"),
            ("^a{3,}$", "^a{3,}$"),
            (
                "^(a{4}b){0,4}$",
                "^(?:((?:a{3}a{1})b){0,3}((?:a{3}a{1})b){0,1})$",
            ),
        ] {
            let expected = Some((expected.to_owned(), false));
            assert_eq!(becomes(pattern, few), expected, "{pattern}");
        }
        // What would grow beyond all measure has no such form.
        assert_eq!(becomes("^(a{60000}){60000}$", few), None);
    }
}
