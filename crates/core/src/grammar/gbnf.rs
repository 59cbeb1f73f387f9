//! GBNF, the grammars of llama.cpp, which xgrammar's EBNF reads too: text comes in, its rules go
//! out; rules come in, text goes out.

mod plain;
mod print;
mod read;

pub use print::Printed;

use std::collections::HashSet;

/// A grammar: named rules; the text is one of the rule `root`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gbnf {
    /// In the order of the text.
    pub rules: Vec<GbnfRule>,
}

/// A named rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GbnfRule {
    /// Letters, digits, hyphens and, where a client wrote it for xgrammar, underscores.
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

/// Names of rules that are given out, each once.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// A name like this one, in the letters that llama.cpp takes.
    pub(super) fn free(&mut self, like: &str) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let base: String = like.chars().map(letter).take(40).collect();
        let base = base.trim_matches('-');
        // xgrammar's names do not begin with a digit.
        let base = match base.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => base.to_owned(),
            false => format!("r{base}"),
        };
        let mut free = base.clone();
        let mut number = 1;
        while !self.0.insert(free.clone()) {
            number += 1;
            free = format!("{base}-{number}");
        }
        free
    }
}

impl Gbnf {
    /// The start rule.
    pub const ROOT: &'static str = "root";

    /// A grammar of one rule.
    #[must_use]
    pub fn of(body: Expr) -> Self {
        let name = Self::ROOT.to_owned();
        Self {
            rules: vec![GbnfRule {
                name,
                body,
                line: 1,
            }],
        }
    }
}

/// The rules that take the empty text.
pub(super) fn nullable<'r>(rules: impl Iterator<Item = &'r GbnfRule> + Clone) -> HashSet<&'r str> {
    let mut known = HashSet::new();
    loop {
        let before = known.len();
        for rule in rules.clone() {
            if rule.body.is_nullable(&|name| known.contains(name)) {
                known.insert(rule.name.as_str());
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

impl Expr {
    /// Whether it takes the empty text, where it is known of which rules do.
    pub(super) fn is_nullable(&self, rule: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Choice(parts) => parts.iter().any(|part| part.is_nullable(rule)),
            Self::Sequence(parts) => parts.iter().all(|part| part.is_nullable(rule)),
            Self::Literal(text) => text.is_empty(),
            Self::Class { .. } | Self::Any => false,
            Self::Rule(name) => rule(name),
            Self::Repeat { inner, min, .. } => *min == 0 || inner.is_nullable(rule),
        }
    }

    /// The empty text.
    #[must_use]
    pub const fn empty() -> Self {
        Self::Sequence(Vec::new())
    }

    /// This, or nothing.
    #[must_use]
    pub fn optional(self) -> Self {
        self.repeat(0, Some(1))
    }

    /// This as often.
    #[must_use]
    pub fn repeat(self, min: u32, max: Option<u32>) -> Self {
        let inner = Box::new(self);
        Self::Repeat { inner, min, max }
    }

    /// The same with fewer parentheses: what is nested without need becomes flat.
    #[must_use]
    pub fn flat(self) -> Self {
        match self {
            Self::Choice(parts) => {
                let mut all = Vec::with_capacity(parts.len());
                for part in parts {
                    match part.flat() {
                        Self::Choice(inner) => all.extend(inner),
                        part => all.push(part),
                    }
                }
                match all.len() {
                    1 => all.swap_remove(0),
                    _ => Self::Choice(all),
                }
            }
            Self::Sequence(parts) => {
                let mut all: Vec<Self> = Vec::with_capacity(parts.len());
                for part in parts {
                    let inner = match part.flat() {
                        Self::Sequence(inner) => inner,
                        part => vec![part],
                    };
                    for part in inner {
                        match (all.last_mut(), part) {
                            (_, Self::Literal(next)) if next.is_empty() => {}
                            (Some(Self::Literal(text)), Self::Literal(next)) => {
                                text.push_str(&next)
                            }
                            (_, part) => all.push(part),
                        }
                    }
                }
                match all.len() {
                    1 => all.swap_remove(0),
                    _ => Self::Sequence(all),
                }
            }
            Self::Repeat { max: Some(0), .. } => Self::empty(),
            Self::Repeat { inner, min, max } => inner.flat().repeat(min, max),
            Self::Literal(_) | Self::Class { .. } | Self::Any | Self::Rule(_) => self,
        }
    }
}
