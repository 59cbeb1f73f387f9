//! Reading Lark, as llguidance and OpenAI's custom tools do: text comes in, its rules and
//! terminals go out.
//!
//! What has no counterpart outside of Lark is refused by its name.

use super::scan::{Token, scan};
use crate::grammar::gbnf::{Expr, GbnfRule};
use crate::grammar::{GrammarFault, MAX_GRAMMAR_BYTES, regex};
use std::collections::HashSet;

/// How deep brackets nest: llguidance ends at 30 too.
const MAX_NESTING: usize = 30;
/// Bound of a repetition.
const MAX_REPETITIONS: u32 = 20_000;

/// A grammar in Lark. In the bodies of rules a [`Expr::Literal`] is a terminal, and so is every
/// name that is not in lower case; classes stand in terminals alone.
#[derive(Debug)]
pub(super) struct Lark {
    pub(super) rules: Vec<GbnfRule>,
    /// The named ones, and those without a name, which get one that begins with a slash.
    pub(super) terminals: Vec<GbnfRule>,
    /// What may stand between two terminals.
    pub(super) ignored: Vec<Expr>,
}

impl Lark {
    pub(super) const START: &'static str = "start";

    /// Reads a grammar.
    ///
    /// # Errors
    /// What is wrong, or what cannot be said in another notation, and in which line.
    pub(super) fn read(text: &str) -> Result<Self, GrammarFault> {
        if text.len() > MAX_GRAMMAR_BYTES {
            let message = format!("the grammar is longer than {MAX_GRAMMAR_BYTES} bytes");
            return Err(GrammarFault::too_complex(message));
        }
        let mut reader = Reader {
            tokens: scan(text)?,
            at: 0,
            depth: 0,
            in_terminal: false,
            lark: Self {
                rules: Vec::new(),
                terminals: Vec::new(),
                ignored: Vec::new(),
            },
        };
        while reader.skip_line_ends() {
            reader.item()?;
        }
        reader.lark.check()?;
        Ok(reader.lark)
    }

    /// Every name stands for one thing, and no terminal for a rule or for itself.
    fn check(&self) -> Result<(), GrammarFault> {
        let mut names = HashSet::new();
        for rule in self.rules.iter().chain(&self.terminals) {
            if !names.insert(rule.name.as_str()) {
                let message = format!("`{}` is defined twice", rule.name);
                return Err(super::fault(rule.line, &message));
            }
        }
        if !names.contains(Self::START) {
            return Err(GrammarFault::invalid("the grammar has no rule `start`"));
        }
        for rule in self.rules.iter().chain(&self.terminals) {
            let mut missing = None;
            rule.body.visit(&mut |expr| match expr {
                Expr::Rule(name) if !names.contains(name.as_str()) => missing = Some(name.clone()),
                _ => {}
            });
            if let Some(name) = missing {
                return Err(super::fault(rule.line, &format!("`{name}` is not defined")));
            }
        }
        let has_end: &Test = &|expr, known| has_end(expr, known);
        let terminals = self.terminals.iter().map(|terminal| terminal.name.as_str());
        let message = "has no finite text: it cannot end without itself";
        check_each(&self.rules, terminals.collect(), has_end, message)?;
        let is_defined: &Test = &|expr, known| {
            let mut used = Vec::new();
            expr.visit(&mut |expr| used.push(expr));
            let is_known = |expr: &Expr| match expr {
                Expr::Rule(name) => known.contains(name.as_str()),
                _ => true,
            };
            used.into_iter().all(is_known)
        };
        let message = "is made of itself, or of a rule";
        check_each(&self.terminals, HashSet::new(), is_defined, message)
    }
}

type Test = dyn Fn(&Expr, &HashSet<&str>) -> bool;

/// Whether a test holds of each rule, once it holds of all that the rule uses.
fn check_each<'a>(
    rules: &'a [GbnfRule],
    given: HashSet<&'a str>,
    test: &Test,
    message: &str,
) -> Result<(), GrammarFault> {
    let mut known = given.clone();
    loop {
        let mut next = given.clone();
        let holds = rules.iter().filter(|rule| test(&rule.body, &known));
        next.extend(holds.map(|rule| rule.name.as_str()));
        if next.len() == known.len() {
            break;
        }
        known = next;
    }
    match rules
        .iter()
        .find(|rule| !known.contains(rule.name.as_str()))
    {
        None => Ok(()),
        Some(rule) => Err(super::fault(
            rule.line,
            &format!("`{}` {message}", rule.name),
        )),
    }
}

fn has_end(expr: &Expr, known: &HashSet<&str>) -> bool {
    match expr {
        Expr::Choice(parts) => parts.iter().any(|part| has_end(part, known)),
        Expr::Sequence(parts) => parts.iter().all(|part| has_end(part, known)),
        Expr::Literal(_) | Expr::Class { .. } | Expr::Any => true,
        Expr::Rule(name) => known.contains(name.as_str()),
        Expr::Repeat { inner, min, .. } => *min == 0 || has_end(inner, known),
    }
}

struct Reader<'a> {
    tokens: Vec<(Token<'a>, usize)>,
    at: usize,
    depth: usize,
    in_terminal: bool,
    lark: Lark,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|&(token, _)| token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    fn line(&self) -> usize {
        let at = self.at.min(self.tokens.len().saturating_sub(1));
        self.tokens.get(at).map_or(1, |&(_, line)| line)
    }

    fn take(&mut self, mark: &str) -> bool {
        let is_mark = self.peek() == Some(Token::Mark(mark));
        self.at += usize::from(is_mark);
        is_mark
    }

    fn expect(&mut self, mark: &str) -> Result<(), GrammarFault> {
        if self.take(mark) {
            Ok(())
        } else {
            self.fault(&format!("expected `{mark}`"))
        }
    }

    fn fault<T>(&self, message: &str) -> Result<T, GrammarFault> {
        Err(super::fault(self.line(), message))
    }

    fn refuse<T>(&self, what: &str) -> Result<T, GrammarFault> {
        Err(GrammarFault::unsupported(format!(
            "line {} of the grammar: {what} cannot be converted exactly",
            self.line()
        )))
    }

    /// Whether anything follows.
    fn skip_line_ends(&mut self) -> bool {
        while self.peek() == Some(Token::LineEnd) {
            self.at += 1;
        }
        self.peek().is_some()
    }

    fn item(&mut self) -> Result<(), GrammarFault> {
        let line = self.line();
        match self.next() {
            Some(Token::Rule(name)) => {
                self.in_terminal = false;
                let name = name.strip_prefix('!').unwrap_or(name);
                let name = name.strip_prefix('?').unwrap_or(name).to_owned();
                let body = self.definition()?;
                self.lark.rules.push(GbnfRule { name, body, line });
            }
            Some(Token::Terminal(name)) => {
                self.in_terminal = true;
                let (name, body) = (name.to_owned(), self.definition()?);
                self.lark.terminals.push(GbnfRule { name, body, line });
            }
            Some(Token::Directive("ignore")) => {
                self.in_terminal = true;
                let ignored = self.choice()?;
                self.lark.ignored.push(ignored);
            }
            Some(Token::Directive("import")) => self.import(line)?,
            Some(Token::Directive(name)) => return self.refuse(&format!("`%{name}`")),
            _ => return self.fault("expected a rule, a terminal or a directive"),
        }
        match self.peek() {
            None | Some(Token::LineEnd) => Ok(()),
            _ => self.fault("expected the end of the line"),
        }
    }

    fn definition(&mut self) -> Result<Expr, GrammarFault> {
        match self.peek() {
            Some(Token::Mark("{")) => return self.refuse("a template"),
            Some(Token::Mark(".")) => return self.refuse("a priority"),
            Some(Token::Mark("::")) => return self.refuse("a parameter"),
            Some(Token::Mark("[")) => self.attributes()?,
            _ => {}
        }
        self.expect(":")?;
        self.choice()
    }

    /// `[capture]` names a part of a text; all others change which texts are taken.
    fn attributes(&mut self) -> Result<(), GrammarFault> {
        self.expect("[")?;
        loop {
            match self.next() {
                Some(Token::Rule("capture")) => {
                    if self.take("=") {
                        self.next();
                    }
                }
                Some(Token::Rule(name)) => return self.refuse(&format!("the attribute `{name}`")),
                _ => return self.fault("expected an attribute"),
            }
            if !self.take(",") {
                return self.expect("]");
            }
        }
    }

    fn import(&mut self, line: usize) -> Result<(), GrammarFault> {
        let mut path = Vec::new();
        loop {
            match self.next() {
                Some(Token::Rule(name) | Token::Terminal(name)) => path.push(name),
                _ => return self.fault("expected a name to import"),
            }
            if !self.take(".") {
                break;
            }
        }
        if self.take("(") {
            return self.import_several(&path, line);
        }
        let Some((&name, module)) = path.split_last() else {
            return self.fault("expected a name to import");
        };
        let alias = match self.take("->") {
            false => name,
            true => match self.next() {
                Some(Token::Terminal(alias) | Token::Rule(alias)) => alias,
                _ => return self.fault("expected a name after `->`"),
            },
        };
        self.import_one(module, name, alias, line)
    }

    fn import_several(&mut self, module: &[&str], line: usize) -> Result<(), GrammarFault> {
        loop {
            match self.next() {
                Some(Token::Terminal(name)) => self.import_one(module, name, name, line)?,
                _ => return self.fault("expected the name of a terminal to import"),
            }
            if !self.take(",") {
                return self.expect(")");
            }
        }
    }

    fn import_one(
        &mut self,
        module: &[&str],
        name: &str,
        alias: &str,
        line: usize,
    ) -> Result<(), GrammarFault> {
        let known = super::common::regex(name).filter(|_| module == ["common"]);
        let Some(pattern) = known else {
            return self.refuse(&format!("the import of `{}.{name}`", module.join(".")));
        };
        let (name, body) = (alias.to_owned(), regex::to_expr(pattern)?);
        self.lark.terminals.push(GbnfRule { name, body, line });
        Ok(())
    }

    fn choice(&mut self) -> Result<Expr, GrammarFault> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("the grammar nests deeper than {MAX_NESTING} brackets");
            return Err(GrammarFault::too_complex(message));
        }
        let mut parts = vec![self.sequence()?];
        loop {
            let at = self.at;
            if self.peek() == Some(Token::LineEnd) {
                self.at += 1;
            }
            if !self.take("|") {
                self.at = at;
                break;
            }
            parts.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Expr::Choice(parts),
        })
    }

    fn sequence(&mut self) -> Result<Expr, GrammarFault> {
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                None | Some(Token::LineEnd | Token::Mark("|" | ")" | "]")) => break,
                Some(Token::Mark("->")) => {
                    self.at += 1;
                    match self.next() {
                        Some(Token::Rule(_)) => break,
                        _ => return self.fault("expected a name after `->`"),
                    }
                }
                Some(Token::Mark("&")) => return self.refuse("`&`, what two patterns share,"),
                Some(Token::Directive(name)) => return self.refuse(&format!("`%{name}`")),
                _ => {
                    let atom = self.atom()?;
                    parts.push(self.repeated(atom)?);
                }
            }
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Expr::Sequence(parts),
        })
    }

    fn atom(&mut self) -> Result<Expr, GrammarFault> {
        match self.next() {
            Some(Token::Mark("(")) => {
                let inner = self.choice()?;
                self.skip_line_ends();
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Mark("[")) => {
                let inner = self.choice()?;
                self.skip_line_ends();
                self.expect("]")?;
                Ok(inner.repeat(0, Some(1)))
            }
            Some(Token::Text(text)) if self.take("..") => {
                let (Some(first), Some(Token::Text(last))) = (one_char(text), self.next()) else {
                    return self.fault("expected `\"a\"..\"z\"`");
                };
                match one_char(last) {
                    Some(last) if first <= last => {
                        let (negated, ranges) = (false, vec![(first, last)]);
                        Ok(self.terminal(Expr::Class { negated, ranges }))
                    }
                    _ => self.fault("a range ends before it begins, or at no single character"),
                }
            }
            Some(Token::Text(text)) => match unquoted(text) {
                Some((text, _)) if text.is_empty() => Ok(Expr::Sequence(Vec::new())),
                Some((text, false)) => Ok(Expr::Literal(text)),
                Some((text, true)) => {
                    let pattern = format!("(?i){}", regex_syntax::escape(&text));
                    let body = regex::to_expr(&pattern)?;
                    Ok(self.terminal(body))
                }
                None => self.fault("an escape that is none"),
            },
            Some(Token::Regex(pattern, flags)) => {
                if flags.contains('l') {
                    return self.refuse("the flag `l` of a regex");
                }
                let body = match flags {
                    "" => regex::to_expr(pattern),
                    flags => regex::to_expr(&format!("(?{flags}){pattern}")),
                };
                let line = self.line();
                let body = body.map_err(|fault| GrammarFault {
                    message: format!("line {line} of the grammar: {}", fault.message),
                    ..fault
                })?;
                Ok(self.terminal(body))
            }
            Some(Token::Rule(name) | Token::Terminal(name)) => match self.peek() {
                Some(Token::Mark("::")) => self.refuse("a parameter"),
                _ => Ok(Expr::Rule(name.to_owned())),
            },
            Some(Token::Mark("~")) => self.refuse("`~` before a pattern, all but it,"),
            Some(Token::Special(_) | Token::Mark("<")) => self.refuse("a token in `<…>`"),
            Some(Token::Mark("@")) => self.refuse("`@`, another grammar,"),
            _ => self.fault("expected a name, a text, a regex or a bracket"),
        }
    }

    /// A terminal of its own in a rule, and a part of one in a terminal.
    fn terminal(&mut self, body: Expr) -> Expr {
        if self.in_terminal {
            return body;
        }
        let (name, line) = (format!("/{}", self.lark.terminals.len()), self.line());
        self.lark.terminals.push(GbnfRule {
            name: name.clone(),
            body,
            line,
        });
        Expr::Rule(name)
    }

    fn repeated(&mut self, atom: Expr) -> Result<Expr, GrammarFault> {
        let (min, max) = match self.peek() {
            Some(Token::Mark("*")) => (0, None),
            Some(Token::Mark("+")) => (1, None),
            Some(Token::Mark("?")) => (0, Some(1)),
            Some(Token::Mark("~")) => {
                self.at += 1;
                let min = self.count()?;
                let max = match self.take("..") {
                    true => self.count()?,
                    false => min,
                };
                return self.bounded(atom, min, Some(max));
            }
            Some(Token::Mark("{")) => {
                self.at += 1;
                if !matches!(self.peek(), Some(Token::Number(_) | Token::Mark(","))) {
                    return self.refuse("a template");
                }
                let min = match self.peek() {
                    Some(Token::Number(_)) => self.count()?,
                    _ => 0,
                };
                let max = match self.take(",") {
                    false => Some(min),
                    true if self.peek() == Some(Token::Mark("}")) => None,
                    true => Some(self.count()?),
                };
                self.expect("}")?;
                return self.bounded(atom, min, max);
            }
            _ => return Ok(atom),
        };
        self.at += 1;
        Ok(atom.repeat(min, max))
    }

    fn count(&mut self) -> Result<u32, GrammarFault> {
        match self.next() {
            Some(Token::Number(digits)) => match digits.parse() {
                Ok(count) if count <= MAX_REPETITIONS => Ok(count),
                _ => Err(GrammarFault::too_complex(format!(
                    "line {} of the grammar: more than {MAX_REPETITIONS} repetitions",
                    self.line()
                ))),
            },
            _ => self.fault("expected how often something repeats"),
        }
    }

    fn bounded(&self, atom: Expr, min: u32, max: Option<u32>) -> Result<Expr, GrammarFault> {
        if max.is_some_and(|max| max < min) {
            return self.fault("a repetition's upper bound is below its lower one");
        }
        Ok(atom.repeat(min, max))
    }
}

/// What a text in quotes says, and whether in any case; its escapes are those of JSON, and `\xHH`.
fn unquoted(quoted: &str) -> Option<(String, bool)> {
    let (quoted, ignores_case) = match quoted.strip_suffix('i') {
        Some(quoted) => (quoted, true),
        None => (quoted, false),
    };
    let mut json = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match (c == '\\').then(|| chars.next()).flatten() {
            Some('x') => json.push_str("\\u00"),
            Some(escaped) => json.extend(['\\', escaped]),
            None => json.push(c),
        }
    }
    Some((serde_json::from_str(&json).ok()?, ignores_case))
}

fn one_char(quoted: &str) -> Option<char> {
    let (text, ignores_case) = unquoted(quoted)?;
    let mut chars = text.chars();
    let first = chars.next().filter(|_| !ignores_case)?;
    chars.next().is_none().then_some(first)
}
