//! Printing GBNF: rules come in, a text that llama.cpp and xgrammar read goes out.

use super::{Expr, Gbnf, GbnfRule, Names};
use crate::grammar::GrammarFault;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use std::fmt::{self, Write};

/// A class of more ranges than these, seen from either side, is a class of Unicode's tables, and
/// printed as its ASCII part.
const MAX_RANGES: usize = 16;
/// How often llama.cpp lets an element repeat: its `MAX_REPETITION_THRESHOLD`, less one. What is in parentheses counts
/// for each rule that it names, and for what repeats in it (seen on 7e4c0a9).
const MAX_REPETITIONS: u32 = 1_999;

/// A grammar's text, for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Classes of Unicode's tables are their ASCII parts in it.
    pub is_ascii_only: bool,
}

impl Gbnf {
    /// The text for a server: [`fmt::Display`], but no wider than a server can take.
    ///
    /// # Errors
    /// Where something repeats more often than llama.cpp lets it.
    pub fn print(mut self) -> Result<Printed, GrammarFault> {
        let mut most = 0;
        let mut is_ascii_only = false;
        for rule in &mut self.rules {
            rule.body.visit_mut(&mut |expr| match expr {
                Expr::Repeat { min, max, .. } => most = most.max(max.unwrap_or(*min)),
                Expr::Class { negated, ranges } => {
                    is_ascii_only |= narrow(negated, ranges);
                }
                _ => {}
            });
        }
        if most > MAX_REPETITIONS {
            return Err(GrammarFault::too_complex(format!(
                "llama.cpp repeats nothing more than {MAX_REPETITIONS} times"
            )));
        }
        self.turn_around();
        self.name_plainly();
        self.name_what_repeats();
        Ok(Printed {
            text: self.to_string(),
            is_ascii_only,
        })
    }
}

impl Gbnf {
    /// Gives a rule of its own to what is too large in parentheses to repeat so often.
    fn name_what_repeats(&mut self) {
        let mut names = Names::default();
        names
            .0
            .extend(self.rules.iter().map(|rule| rule.name.clone()));
        let mut named = Vec::new();
        for rule in &mut self.rules {
            let like = format!("{}-more", rule.name);
            weigh(&mut rule.body, &mut |body| {
                let name = names.free(&like);
                let line = rule.line;
                named.push(GbnfRule {
                    name: name.clone(),
                    body,
                    line,
                });
                Expr::Rule(name)
            });
        }
        self.rules.append(&mut named);
    }
}

/// How much an expression counts where it repeats, once what counts too much in it has become a rule.
fn weigh(expr: &mut Expr, name: &mut impl FnMut(Expr) -> Expr) -> u64 {
    match expr {
        Expr::Choice(parts) | Expr::Sequence(parts) => {
            let mut weight = 1_u64;
            for part in parts {
                let more = match part {
                    Expr::Literal(_) | Expr::Class { .. } | Expr::Any => 0,
                    part => weigh(part, name),
                };
                weight = weight.saturating_add(more);
            }
            weight
        }
        Expr::Repeat { inner, min, max } => {
            let times = u64::from(max.unwrap_or(*min).max(1));
            let mut once = weigh(inner, name);
            if once > 1 && once.saturating_mul(times) > u64::from(MAX_REPETITIONS) {
                let body = std::mem::replace(&mut **inner, Expr::Any);
                **inner = name(body);
                once = 1;
            }
            once.saturating_mul(times)
        }
        _ => 1,
    }
}

/// Says a class from its shorter side, and leaves out what is beyond ASCII of a large one, which
/// it then tells.
fn narrow(negated: &mut bool, ranges: &mut Vec<(char, char)>) -> bool {
    let class = ClassUnicode::new(
        ranges
            .iter()
            .map(|&(first, last)| ClassUnicodeRange::new(first, last)),
    );
    let mut other = class.clone();
    other.negate();
    let shorter = match other.ranges().len() {
        1.. if other.ranges().len() < class.ranges().len() => {
            *negated = !*negated;
            other
        }
        _ => class,
    };
    if shorter.ranges().len() <= MAX_RANGES {
        *ranges = pairs(&shorter);
        return false;
    }
    let mut ascii = shorter;
    if *negated {
        ascii.negate();
        *negated = false;
    }
    let all = ascii.clone();
    ascii.intersect(&ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]));
    let is_narrower = !ascii.ranges().is_empty();
    *ranges = pairs(if is_narrower { &ascii } else { &all });
    is_narrower
}

fn pairs(class: &ClassUnicode) -> Vec<(char, char)> {
    class
        .ranges()
        .iter()
        .map(|range| (range.start(), range.end()))
        .collect()
}

impl fmt::Display for Gbnf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in &self.rules {
            write!(f, "{} ::= ", rule.name)?;
            write_expr(f, &rule.body, Binding::Choice)?;
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// What may stand in a place without parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Choice,
    Sequence,
    Element,
}

fn write_expr(f: &mut fmt::Formatter<'_>, expr: &Expr, place: Binding) -> fmt::Result {
    let own = match expr {
        Expr::Choice(_) => Binding::Choice,
        Expr::Sequence(_) => Binding::Sequence,
        // A repetition cannot repeat again, and a text of several characters must repeat whole.
        _ => Binding::Element,
    };
    if own < place {
        f.write_char('(')?;
        write_expr(f, expr, Binding::Choice)?;
        return f.write_char(')');
    }
    match expr {
        Expr::Choice(parts) => write_list(f, parts, " | ", Binding::Sequence),
        Expr::Sequence(parts) if parts.is_empty() => f.write_str("\"\""),
        Expr::Sequence(parts) => write_list(f, parts, " ", Binding::Element),
        Expr::Literal(text) => {
            f.write_char('"')?;
            text.chars().try_for_each(|c| write_char(f, c, false))?;
            f.write_char('"')
        }
        Expr::Class { negated, ranges } => write_class(f, *negated, ranges),
        Expr::Any => f.write_char('.'),
        Expr::Rule(name) => f.write_str(name),
        Expr::Repeat { inner, min, max } => {
            let again = matches!(**inner, Expr::Repeat { .. });
            if again {
                f.write_char('(')?;
            }
            write_expr(f, inner, Binding::Element)?;
            if again {
                f.write_char(')')?;
            }
            match (min, max) {
                (0, None) => f.write_char('*'),
                (1, None) => f.write_char('+'),
                (0, Some(1)) => f.write_char('?'),
                (min, None) => write!(f, "{{{min},}}"),
                (min, Some(max)) if min == max => write!(f, "{{{min}}}"),
                (min, Some(max)) => write!(f, "{{{min},{max}}}"),
            }
        }
    }
}

/// xgrammar negates a class that begins with a caret, however that is spelled (0.2.8: `[\u005Ea]` is not `a`), so that one stands
/// behind the others, or by itself.
fn write_class(f: &mut fmt::Formatter<'_>, negated: bool, ranges: &[(char, char)]) -> fmt::Result {
    let caret = match ranges {
        [('^', last), ..] if !negated => Some(*last),
        _ => None,
    };
    if let ([_], Some('^')) = (ranges, caret) {
        return f.write_str("\"^\"");
    }
    f.write_str(if negated { "[^" } else { "[" })?;
    let behind = caret.filter(|last| *last > '^').map(|last| ('_', last));
    let rest = ranges.iter().copied().skip(usize::from(caret.is_some()));
    for (first, last) in behind.into_iter().chain(rest) {
        write_char(f, first, true)?;
        if first != last {
            f.write_char('-')?;
            write_char(f, last, true)?;
        }
    }
    if caret.is_some() {
        write_char(f, '^', true)?;
    }
    f.write_char(']')
}

fn write_list(
    f: &mut fmt::Formatter<'_>,
    parts: &[Expr],
    between: &str,
    place: Binding,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        write_expr(f, part, place)?;
    }
    Ok(())
}

/// Escapes that llama.cpp and xgrammar both read. Inside of a class neither reads a backslash
/// before `-` or `^`, so those are written by their number: of four digits, since xgrammar takes all hexadecimal digits
/// behind a `\x` for its own (0.2.8: `[\x2DA]` is U+02DA).
fn write_char(f: &mut fmt::Formatter<'_>, c: char, in_class: bool) -> fmt::Result {
    match c {
        '"' | '\\' if !in_class => write!(f, "\\{c}"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '[' | ']' | '-' | '^' | '\\' | '"' if in_class => write!(f, "\\u{:04X}", u32::from(c)),
        '\0'..'\x20' | '\x7f' => write!(f, "\\u{:04X}", u32::from(c)),
        c if in_class && !c.is_ascii() => match u32::from(c) {
            code @ ..=0xFFFF => write!(f, "\\u{code:04X}"),
            code => write!(f, "\\U{code:08X}"),
        },
        c => f.write_char(c),
    }
}
