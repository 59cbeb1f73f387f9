//! GBNF, the grammars of llama.cpp, which xgrammar's EBNF reads too: text comes in, its rules go
//! out; rules come in, text goes out.

mod read;

use std::fmt::{self, Write};

/// A grammar: named rules; the text is one of the rule `root`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gbnf {
    /// In the order of the text.
    pub rules: Vec<Rule>,
}

/// A named rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Letters, digits and hyphens.
    pub name: String,
    /// What it stands for.
    pub body: Expr,
    /// Where it is defined, from 1.
    pub line: usize,
}

/// What a rule stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// One of these.
    Choice(Vec<Expr>),
    /// These in turn; none of them is the empty text.
    Sequence(Vec<Expr>),
    /// This text.
    Literal(String),
    /// One character in, or not in, these ranges.
    Class {
        /// Not in them.
        negated: bool,
        /// First and last.
        ranges: Vec<(char, char)>,
    },
    /// Any character, line ends included.
    Any,
    /// Another rule.
    Rule(String),
    /// As often.
    Repeat {
        /// What repeats.
        inner: Box<Expr>,
        /// At least.
        min: u32,
        /// At most, where there is a bound.
        max: Option<u32>,
    },
}

impl Gbnf {
    /// The start rule.
    pub const ROOT: &'static str = "root";

    /// A grammar of one rule.
    #[must_use]
    pub fn of(body: Expr) -> Self {
        let name = Self::ROOT.to_owned();
        Self {
            rules: vec![Rule {
                name,
                body,
                line: 1,
            }],
        }
    }
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
        Expr::Class { negated, ranges } => {
            f.write_str(if *negated { "[^" } else { "[" })?;
            for &(first, last) in ranges {
                write_char(f, first, true)?;
                if first != last {
                    f.write_char('-')?;
                    write_char(f, last, true)?;
                }
            }
            f.write_char(']')
        }
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
/// before `-` or `^`, so those are written by their number.
fn write_char(f: &mut fmt::Formatter<'_>, c: char, in_class: bool) -> fmt::Result {
    match c {
        '"' | '\\' if !in_class => write!(f, "\\{c}"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '[' | ']' | '-' | '^' | '\\' | '"' if in_class => write!(f, "\\x{:02X}", u32::from(c)),
        '\0'..'\x20' | '\x7f' => write!(f, "\\x{:02X}", u32::from(c)),
        c if in_class && !c.is_ascii() => match u32::from(c) {
            code @ ..=0xFFFF => write!(f, "\\u{code:04X}"),
            code => write!(f, "\\U{code:08X}"),
        },
        c => f.write_char(c),
    }
}
