//! Writing Lark: rules over characters come in, a text in which every terminal is one character
//! goes out.

use super::class;
use crate::grammar::gbnf::Expr;
use indexmap::IndexSet;
use std::collections::HashMap;
use std::fmt::Write;

/// How deep groups nest in what is written here; llguidance ends at 30.
const MAX_GROUPS: usize = 12;

/// What may stand in a place without parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Binding {
    Choice,
    Sequence,
    Element,
}

/// Writes Lark in which every terminal is one character.
pub(super) struct Writer<'a> {
    numbers: &'a HashMap<&'a str, usize>,
    pub(super) terminals: IndexSet<String>,
    /// What would nest too deep, as rules of their own.
    pub(super) groups: Vec<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(numbers: &'a HashMap<&'a str, usize>) -> Self {
        Self {
            numbers,
            terminals: IndexSet::new(),
            groups: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, expr: &Expr, place: Binding, depth: usize, out: &mut String) {
        let own = match expr {
            Expr::Choice(_) => Binding::Choice,
            Expr::Sequence(_) => Binding::Sequence,
            Expr::Literal(text) if text.chars().count() != 1 => Binding::Sequence,
            // A repetition cannot repeat again.
            Expr::Repeat { .. } => Binding::Sequence,
            _ => Binding::Element,
        };
        if own >= place {
            self.write_bare(expr, depth, out);
        } else if depth < MAX_GROUPS {
            out.push('(');
            self.write_bare(expr, depth + 1, out);
            out.push(')');
        } else {
            let mut group = String::new();
            self.write_bare(expr, 0, &mut group);
            let _ = write!(out, "g{}", self.groups.len());
            self.groups.push(group);
        }
    }

    fn write_list(
        &mut self,
        parts: &[Expr],
        between: &str,
        place: Binding,
        depth: usize,
        out: &mut String,
    ) {
        for (index, part) in parts.iter().enumerate() {
            out.push_str(if index > 0 { between } else { "" });
            self.write(part, place, depth, out);
        }
    }

    fn write_bare(&mut self, expr: &Expr, depth: usize, out: &mut String) {
        match expr {
            Expr::Choice(parts) => {
                self.write_list(parts, " | ", Binding::Sequence, depth, out);
            }
            Expr::Sequence(parts) if !parts.is_empty() => {
                self.write_list(parts, " ", Binding::Sequence, depth, out);
            }
            Expr::Literal(text) if !text.is_empty() => {
                for (index, c) in text.chars().enumerate() {
                    out.push_str(if index > 0 { " " } else { "" });
                    self.write_terminal(false, &[(c, c)], out);
                }
            }
            Expr::Sequence(_) | Expr::Literal(_) => out.push_str("\"\""),
            Expr::Class { negated, ranges } => self.write_terminal(*negated, ranges, out),
            Expr::Any => self.write_terminal(true, &[], out),
            Expr::Rule(name) => {
                let _ = write!(out, "r{}", self.numbers[name.as_str()]);
            }
            Expr::Repeat { max: Some(0), .. } => out.push_str("\"\""),
            Expr::Repeat { inner, min, max } => {
                let mut once = String::new();
                self.write(inner, Binding::Element, depth, &mut once);
                let _ = match (min, max) {
                    (0, None) => write!(out, "{once}*"),
                    (1, None) => write!(out, "{once}+"),
                    (0, Some(1)) => write!(out, "{once}?"),
                    (min, None) => write!(out, "{once}~{min} {once}*"),
                    (min, Some(max)) if min == max => write!(out, "{once}~{min}"),
                    (min, Some(max)) => write!(out, "{once}~{min} .. {max}"),
                };
            }
        }
    }

    fn write_terminal(&mut self, negated: bool, ranges: &[(char, char)], out: &mut String) {
        let mut text = String::from("[");
        for range in class(negated, ranges).ranges() {
            write_code(range.start(), &mut text);
            if range.start() != range.end() {
                text.push('-');
                write_code(range.end(), &mut text);
            }
        }
        text.push(']');
        let (number, _) = self.terminals.insert_full(text);
        let _ = write!(out, "T{number}");
    }
}

/// A character by its number, as Rust and Python both read it.
fn write_code(c: char, out: &mut String) {
    let _ = match u32::from(c) {
        code @ ..=0xFF => write!(out, "\\x{code:02x}"),
        code @ ..=0xFFFF => write!(out, "\\u{code:04x}"),
        code => write!(out, "\\U{code:08x}"),
    };
}
