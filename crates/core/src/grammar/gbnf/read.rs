//! Reading GBNF, as llama.cpp's parser does: nested groups, classes, repetition, comments.

use super::{Expr, Gbnf, GbnfRule};
use crate::grammar::{GrammarFault, MAX_GRAMMAR_BYTES};
use std::collections::HashSet;

/// How deep groups nest. Reading and printing recurse over them.
const MAX_NESTING: usize = 64;
/// Bound of a repetition; llama.cpp's own is 2,000.
const MAX_REPETITIONS: u32 = 20_000;

impl Gbnf {
    /// Reads a grammar.
    ///
    /// # Errors
    /// What is wrong, and in which line: syntax, a rule that is not defined or defined twice, no
    /// rule `root`, or a limit.
    pub fn read(text: &str) -> Result<Self, GrammarFault> {
        Self::read_noting(text).map(|(gbnf, _)| gbnf)
    }

    /// The same, and whether llama.cpp reads every word of it: others take more names, escapes and line ends.
    ///
    /// # Errors
    /// As of [`Self::read`].
    pub(in crate::grammar) fn read_noting(text: &str) -> Result<(Self, bool), GrammarFault> {
        if text.len() > MAX_GRAMMAR_BYTES {
            let message = format!("the grammar is longer than {MAX_GRAMMAR_BYTES} bytes");
            return Err(GrammarFault::too_complex(message));
        }
        let mut reader = Reader {
            rest: text,
            line: 1,
            depth: 0,
            is_plain: true,
        };
        let mut rules: Vec<GbnfRule> = Vec::new();
        let mut names = HashSet::new();
        reader.skip_blank(true);
        while !reader.rest.is_empty() {
            let rule = reader.rule()?;
            if !names.insert(rule.name.clone()) {
                let message = format!("the rule `{}` is defined twice", rule.name);
                return Err(fault(rule.line, &message));
            }
            rules.push(rule);
            reader.skip_blank(true);
        }
        if !names.contains(Self::ROOT) {
            return Err(GrammarFault::invalid("the grammar has no rule `root`"));
        }
        for rule in &rules {
            let mut missing = None;
            rule.body.visit(&mut |expr| match expr {
                Expr::Rule(name) if !names.contains(name) => missing = Some(name.clone()),
                _ => {}
            });
            if let Some(name) = missing {
                return Err(fault(
                    rule.line,
                    &format!("the rule `{name}` is not defined"),
                ));
            }
        }
        Ok((Self { rules }, reader.is_plain))
    }
}

impl Expr {
    /// Calls `f` on this and everything inside.
    pub(crate) fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Self)) {
        f(self);
        match self {
            Self::Choice(parts) | Self::Sequence(parts) => {
                parts.iter().for_each(|part| part.visit(f));
            }
            Self::Repeat { inner, .. } => inner.visit(f),
            Self::Literal(_) | Self::Class { .. } | Self::Any | Self::Rule(_) => {}
        }
    }

    /// Calls `f` on this and everything inside, from the outside in.
    pub(crate) fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Self)) {
        f(self);
        match self {
            Self::Choice(parts) | Self::Sequence(parts) => {
                parts.iter_mut().for_each(|part| part.visit_mut(f));
            }
            Self::Repeat { inner, .. } => inner.visit_mut(f),
            Self::Literal(_) | Self::Class { .. } | Self::Any | Self::Rule(_) => {}
        }
    }
}

fn fault(line: usize, message: &str) -> GrammarFault {
    GrammarFault::invalid(format!("line {line} of the grammar: {message}"))
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    depth: usize,
    /// Whether llama.cpp reads all of it so far.
    is_plain: bool,
}

impl<'a> Reader<'a> {
    fn fault<T>(&self, message: &str) -> Result<T, GrammarFault> {
        Err(fault(self.line, message))
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips blanks and comments, and line ends where they mean nothing.
    fn skip_blank(&mut self, line_ends: bool) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => {}
                '\r' | '\n' if line_ends => {}
                '#' => {
                    let end = self.rest.find(['\r', '\n']).unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                    continue;
                }
                _ => return,
            }
            self.next();
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        // llama.cpp takes letters, digits and hyphens; xgrammar underscores too.
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.is_plain &= !name.contains('_');
        (!name.is_empty()).then_some(name)
    }

    fn rule(&mut self) -> Result<GbnfRule, GrammarFault> {
        let line = self.line;
        let Some(name) = self.name() else {
            return self.fault("expected the name of a rule");
        };
        self.skip_blank(false);
        if !self.take("::=") {
            return self.fault("expected `::=` after the name of a rule");
        }
        self.skip_blank(true);
        let body = self.choice()?;
        self.skip_blank(false);
        match self.peek() {
            None | Some('\r' | '\n') => Ok(GbnfRule {
                name: name.to_owned(),
                body,
                line,
            }),
            Some(')') => self.fault("a `)` has no `(`"),
            Some(_) => self.fault("expected the end of the rule"),
        }
    }

    fn choice(&mut self) -> Result<Expr, GrammarFault> {
        let mut parts = vec![self.sequence()?];
        loop {
            // A line may end before a bar, or inside of a group.
            let (rest, line) = (self.rest, self.line);
            self.skip_blank(true);
            if !self.take("|") {
                if self.depth == 0 {
                    (self.rest, self.line) = (rest, line);
                }
                break;
            }
            // llama.cpp ends a rule with its line, but behind a bar.
            self.is_plain &= self.depth > 0 || self.line == line;
            self.skip_blank(true);
            parts.push(self.sequence()?);
        }
        Ok(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Expr::Choice(parts)
        })
    }

    fn sequence(&mut self) -> Result<Expr, GrammarFault> {
        let mut parts = Vec::new();
        loop {
            self.skip_blank(self.depth > 0);
            let Some(element) = self.element()? else {
                break;
            };
            parts.push(self.repeated(element)?);
        }
        Ok(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Expr::Sequence(parts)
        })
    }

    fn element(&mut self) -> Result<Option<Expr>, GrammarFault> {
        Ok(Some(match self.peek() {
            Some('"') => {
                self.next();
                self.literal()?
            }
            Some('[') => {
                self.next();
                self.class()?
            }
            Some('(') => {
                self.next();
                self.depth += 1;
                if self.depth > MAX_NESTING {
                    return Err(GrammarFault::too_complex(format!(
                        "line {} of the grammar: groups nest deeper than {MAX_NESTING} levels",
                        self.line
                    )));
                }
                self.skip_blank(true);
                let inner = self.choice()?;
                self.skip_blank(true);
                if !self.take(")") {
                    return self.fault("a `(` has no `)`");
                }
                self.depth -= 1;
                inner
            }
            Some('.') => {
                self.next();
                Expr::Any
            }
            Some('<') => {
                return Err(GrammarFault::unsupported(format!(
                    "line {} of the grammar: tokens in `<…>` cannot be verified in a text",
                    self.line
                )));
            }
            _ => match self.name() {
                Some(name) => Expr::Rule(name.to_owned()),
                None => return Ok(None),
            },
        }))
    }

    fn repeated(&mut self, mut expr: Expr) -> Result<Expr, GrammarFault> {
        loop {
            let (min, max) = match self.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => {
                    self.next();
                    let bounds = self.bounds()?;
                    expr = Expr::Repeat {
                        inner: Box::new(expr),
                        min: bounds.0,
                        max: bounds.1,
                    };
                    continue;
                }
                _ => return Ok(expr),
            };
            self.next();
            expr = Expr::Repeat {
                inner: Box::new(expr),
                min,
                max,
            };
        }
    }

    fn bounds(&mut self) -> Result<(u32, Option<u32>), GrammarFault> {
        let Some((inside, rest)) = self.rest.split_once('}') else {
            return self.fault("a `{` has no `}`");
        };
        self.rest = rest;
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let bounds = match inside.split_once(',') {
            None => number(inside).map(|count| (count, Some(count))),
            Some((min, max)) => match (min.trim().is_empty(), max.trim().is_empty()) {
                (true, true) => None,
                (true, false) => {
                    self.is_plain = false;
                    number(max).map(|max| (0, Some(max)))
                }
                (false, true) => number(min).map(|min| (min, None)),
                (false, false) => number(min)
                    .zip(number(max))
                    .map(|(min, max)| (min, Some(max))),
            },
        };
        match bounds {
            Some((min, max)) if max.is_some_and(|max| max < min) => {
                self.fault("a repetition's upper bound is below its lower one")
            }
            Some((min, max)) if max.unwrap_or(min) > MAX_REPETITIONS => {
                Err(GrammarFault::too_complex(format!(
                    "line {} of the grammar: more than {MAX_REPETITIONS} repetitions",
                    self.line
                )))
            }
            Some(bounds) => Ok(bounds),
            None => self.fault("expected `{n}`, `{n,}`, `{,m}` or `{n,m}`"),
        }
    }

    fn literal(&mut self) -> Result<Expr, GrammarFault> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(Expr::Literal(text)),
                Some('\\') => text.push(self.escape()?),
                Some('\n') | None => return self.fault("a text in quotes has no end"),
                Some(c) => text.push(c),
            }
        }
    }

    fn class(&mut self) -> Result<Expr, GrammarFault> {
        let negated = self.take("^");
        let mut ranges = Vec::new();
        loop {
            let first = match self.next() {
                Some(']') => break,
                Some('\\') => self.escape()?,
                Some('\n') | None => return self.fault("a `[` has no `]`"),
                Some(c) => c,
            };
            // A hyphen at the end is itself.
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            let last = match is_range {
                false => first,
                true => {
                    self.next();
                    match self.next() {
                        Some('\\') => self.escape()?,
                        Some('\n') | None => return self.fault("a `[` has no `]`"),
                        Some(c) => c,
                    }
                }
            };
            if last < first {
                return self.fault("a range in `[…]` ends before it begins");
            }
            ranges.push((first, last));
        }
        if ranges.is_empty() && !negated {
            return self.fault("an empty `[]` matches nothing");
        }
        Ok(Expr::Class { negated, ranges })
    }

    fn escape(&mut self) -> Result<char, GrammarFault> {
        let digits = match self.next() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(c) if c.is_ascii_punctuation() => {
                self.is_plain &= matches!(c, '\\' | '"' | '[' | ']');
                return Ok(c);
            }
            _ => return self.fault("an escape that is none"),
        };
        let code = self.rest.get(..digits).and_then(|hex| {
            self.rest = &self.rest[digits..];
            u32::from_str_radix(hex, 16).ok()
        });
        match code.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => self.fault("an escape that is no character"),
        }
    }
}
