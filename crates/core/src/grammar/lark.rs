//! Grammars for the engine: GBNF or Lark comes in, a compiled language goes out.
//!
//! The engine splits a text into greedy terminals before it parses, so `[a-z]+ "x"` would never
//! match `abx` if the class with its `+` were one terminal. GBNF knows no terminals: its language
//! is what its characters say. So a GBNF grammar without recursion becomes one regex, and one
//! with recursion becomes Lark whose every terminal is one character. Lark of a client's own is
//! passed on as it is: greedy terminals are what OpenAI and llguidance take it to mean.

mod automaton;
mod common;
mod lexing;
mod only_json;
mod read;
mod scan;
mod to_gbnf;
mod write;

use super::engine::Engine;
use super::gbnf::{Expr, Gbnf};
use super::{Grammar, GrammarFault, MAX_GRAMMAR_BYTES, MAX_REGEX_POSITIONS, regex};
use indexmap::IndexSet;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

pub(super) use only_json::schema_of;
use scan::Token;
pub(super) use to_gbnf::to_gbnf;
use write::{Binding, Writer};

/// How deep brackets nest in Lark: the engine recurses over them.
const MAX_NESTING: usize = 64;
/// Positions of a recursive grammar, counted over all rules: each element of a repetition
/// becomes symbols of the engine's grammar, which ends at 500,000 of them.
const MAX_SYMBOLS: u64 = 100_000;

/// What stands behind `%llguidance {}` at the beginning, which says nothing: guidance 0.3.1 writes it before each grammar.
fn without_header(text: &str) -> &str {
    let behind = |text: &str| {
        let options = text.trim_start().strip_prefix("%llguidance")?.trim_start();
        options
            .strip_prefix('{')?
            .trim_start()
            .strip_prefix('}')
            .map(str::len)
    };
    behind(text)
        .and_then(|left| text.get(text.len() - left..))
        .unwrap_or(text)
}

/// Compiles Lark, as OpenAI's custom tools and llguidance read it; the start rule is `start`.
pub(super) fn compile(text: &str) -> Result<Grammar, GrammarFault> {
    let text = without_header(text);
    if text.len() > MAX_GRAMMAR_BYTES {
        let message = format!("the grammar is longer than {MAX_GRAMMAR_BYTES} bytes");
        return Err(GrammarFault::too_complex(message));
    }
    if text.trim().is_empty() {
        return Err(GrammarFault::invalid("the grammar is empty"));
    }
    guard(text, scan::scan(text).as_deref().ok())?;
    Engine::compile(text.to_owned(), None).map(Grammar::of_engine)
}

/// Lark of a client's own for a decoder: as it is, once it is seen to name no tokens, which are no
/// text.
pub(super) fn for_decoder(text: &str) -> Result<String, GrammarFault> {
    let text = without_header(text);
    if text.len() > MAX_GRAMMAR_BYTES {
        let message = format!("the grammar is longer than {MAX_GRAMMAR_BYTES} bytes");
        return Err(GrammarFault::too_complex(message));
    }
    let words = scan::scan(text);
    guard(text, words.as_deref().ok())?;
    let words = words?;
    let named = words
        .iter()
        .find(|(word, _)| matches!(word, Token::Special(_) | Token::Mark("<" | "@")));
    match named {
        Some((_, line)) => Err(GrammarFault::unsupported(format!(
            "line {line} of the grammar: tokens (`<…>`) and other grammars (`@…`) cannot be named; \
             write their texts"
        ))),
        None => Ok(text.to_owned()),
    }
}

fn fault(line: usize, message: &str) -> GrammarFault {
    GrammarFault::invalid(format!("line {line} of the grammar: {message}"))
}

/// Refuses what the engine must not see: nesting that it would recurse over, and directives that
/// embed another language, which has guards of its own elsewhere. In a text, a comment or a regex
/// the same characters are no directive.
///
/// What could not be split into `words` is for the engine to name, and is guarded as if nothing in it were quoted.
fn guard(text: &str, words: Option<&[(Token<'_>, usize)]>) -> Result<(), GrammarFault> {
    for directive in ["%json", "%llguidance", "%lark", "%regex"] {
        let is_it =
            |word: &Token<'_>| matches!(word, Token::Directive(name) if *name == &directive[1..]);
        let is_there = match words {
            Some(words) => words.iter().any(|(word, _)| is_it(word)),
            None => text.contains(directive),
        };
        if is_there {
            return Err(GrammarFault::unsupported(format!(
                "`{directive}` in a grammar is not supported; write the rules out"
            )));
        }
    }
    let is_within = match words {
        Some(words) => nests_within(words.iter().flat_map(|(word, _)| match word {
            Token::Mark(mark) => mark.chars(),
            Token::Regex(pattern, _) => pattern.chars(),
            _ => "".chars(),
        })),
        None => nests_within(text.chars()),
    };
    match is_within {
        true => Ok(()),
        false => Err(GrammarFault::too_complex(format!(
            "the grammar nests deeper than {MAX_NESTING} brackets"
        ))),
    }
}

fn nests_within(chars: impl Iterator<Item = char>) -> bool {
    let mut depth = 0_usize;
    for c in chars {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return false;
        }
    }
    true
}

/// Compiles GBNF; the start rule is `root`.
pub(super) fn compile_gbnf(text: &str) -> Result<Grammar, GrammarFault> {
    let gbnf = Gbnf::read(text)?;
    let rules = Rules::of(&gbnf)?;
    // Rules within rules may come to groups deeper than a regex parser takes.
    if let Some(grammar) = rules.to_regex().and_then(|hir| regex::of_hir(&hir).ok()) {
        return Ok(grammar);
    }
    let accepts_empty = rules.accepts_empty();
    Engine::compile(rules.to_lark()?, Some(accepts_empty)).map(Grammar::of_engine)
}

/// Lark of a GBNF grammar: one terminal where it is regular, else one for each character.
///
/// # Errors
/// Where no text is finite, or where it is too large.
pub fn of_gbnf(gbnf: &Gbnf) -> Result<String, GrammarFault> {
    let rules = Rules::of(gbnf)?;
    match rules.to_regex() {
        Some(hir) if hir.properties().minimum_len().is_some() => Ok(regex::lark_of_hir(&hir)),
        _ => rules.to_lark(),
    }
}

/// The regex of a GBNF grammar.
///
/// # Errors
/// Where it is recursive, too large for a regex, or not a grammar.
pub fn to_regex(gbnf: &Gbnf) -> Result<String, GrammarFault> {
    let hir = Rules::of(gbnf)?.to_regex();
    match hir.filter(|hir| hir.properties().minimum_len().is_some()) {
        Some(hir) => Ok(hir.to_string()),
        None => Err(GrammarFault::unsupported(
            "the grammar is recursive, or too large once it is one regex",
        )),
    }
}

/// The rules that `root` leads to, by number.
struct Rules<'a> {
    bodies: Vec<Cow<'a, Expr>>,
    numbers: HashMap<&'a str, usize>,
    /// Used before it is fully defined: by itself, in the end.
    is_recursive: bool,
    /// Positions once expanded.
    positions: u64,
    symbols: u64,
}

impl<'a> Rules<'a> {
    fn of(gbnf: &'a Gbnf) -> Result<Self, GrammarFault> {
        let by_name: HashMap<&str, &Expr> = gbnf
            .rules
            .iter()
            .map(|rule| (rule.name.as_str(), &rule.body))
            .collect();
        let mut order: IndexSet<&str> = IndexSet::from([Gbnf::ROOT]);
        let mut bodies = Vec::new();
        while let Some(&name) = order.get_index(bodies.len()) {
            let Some(&body) = by_name.get(name) else {
                return Err(GrammarFault::invalid(format!(
                    "the rule `{name}` is not defined"
                )));
            };
            let mut used = Vec::new();
            names(body, &mut used);
            order.extend(used);
            bodies.push(iterate(name, body).map_or(Cow::Borrowed(body), Cow::Owned));
        }
        let numbers = order
            .into_iter()
            .enumerate()
            .map(|(number, name)| (name, number))
            .collect();
        let mut rules = Self {
            bodies,
            numbers,
            is_recursive: false,
            positions: 0,
            symbols: 0,
        };
        rules.measure();
        rules.check_finite()?;
        if rules.symbols > MAX_SYMBOLS {
            return Err(GrammarFault::too_complex(
                "the grammar is too large once its repetitions are counted; lower their bounds",
            ));
        }
        Ok(rules)
    }

    /// Counts each rule after those that it uses; what never becomes ready is recursive.
    fn measure(&mut self) {
        let count = self.bodies.len();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut waits = vec![0_usize; count];
        for (number, body) in self.bodies.iter().enumerate() {
            let mut used = Vec::new();
            names(body, &mut used);
            waits[number] = used.len();
            for name in used {
                users[self.numbers[name]].push(number);
            }
        }
        let mut positions = vec![1_u64; count];
        let mut ready: Vec<usize> = (0..count).filter(|&number| waits[number] == 0).collect();
        let mut done = 0;
        while let Some(number) = ready.pop() {
            done += 1;
            positions[number] = self.size(&self.bodies[number], &|rule| positions[rule]);
            for &user in &users[number] {
                waits[user] -= 1;
                if waits[user] == 0 {
                    ready.push(user);
                }
            }
        }
        self.is_recursive = done < count;
        self.positions = positions.first().copied().unwrap_or_default();
        let symbols = self.bodies.iter().map(|body| self.size(body, &|_| 1));
        self.symbols = symbols.fold(0, u64::saturating_add);
    }

    fn size(&self, expr: &Expr, of_rule: &dyn Fn(usize) -> u64) -> u64 {
        match expr {
            Expr::Choice(parts) | Expr::Sequence(parts) => parts
                .iter()
                .fold(1, |sum, part| self.size(part, of_rule).saturating_add(sum)),
            Expr::Literal(text) => text.len() as u64,
            Expr::Class { .. } | Expr::Any => 1,
            Expr::Rule(name) => of_rule(self.numbers[name.as_str()]),
            Expr::Repeat { inner, min, max } => {
                let times = max.unwrap_or(min.saturating_add(1)).max(1);
                self.size(inner, of_rule).saturating_mul(u64::from(times))
            }
        }
    }

    /// Refuses a rule without any finite text: a text that enters it never ends.
    fn check_finite(&self) -> Result<(), GrammarFault> {
        let finite = self.fixpoint(&|rules, expr, known| rules.is_finite(expr, known));
        let endless = self.numbers.iter().filter(|&(_, &number)| !finite[number]);
        match endless.min_by_key(|&(_, &number)| number) {
            None => Ok(()),
            Some((name, _)) => Err(GrammarFault::invalid(format!(
                "the rule `{name}` has no finite text: it cannot end without itself"
            ))),
        }
    }

    fn accepts_empty(&self) -> bool {
        let empty = self
            .fixpoint(&|rules, expr, known| expr.is_nullable(&|name| known[rules.numbers[name]]));
        empty.first() == Some(&true)
    }

    fn fixpoint(&self, test: &dyn Fn(&Self, &Expr, &[bool]) -> bool) -> Vec<bool> {
        let mut known = vec![false; self.bodies.len()];
        loop {
            let mut changed = false;
            // Rules are numbered from `root` on: what they use mostly comes later.
            for number in (0..self.bodies.len()).rev() {
                if !known[number] && test(self, &self.bodies[number], &known) {
                    known[number] = true;
                    changed = true;
                }
            }
            if !changed {
                return known;
            }
        }
    }

    fn is_finite(&self, expr: &Expr, known: &[bool]) -> bool {
        match expr {
            Expr::Choice(parts) => parts.iter().any(|part| self.is_finite(part, known)),
            Expr::Sequence(parts) => parts.iter().all(|part| self.is_finite(part, known)),
            Expr::Literal(_) | Expr::Class { .. } | Expr::Any => true,
            Expr::Rule(name) => known[self.numbers[name.as_str()]],
            Expr::Repeat { inner, min, .. } => *min == 0 || self.is_finite(inner, known),
        }
    }

    /// The whole as one regex, where it is regular plainly and not too large.
    fn to_regex(&self) -> Option<Hir> {
        if self.is_recursive || self.positions > MAX_REGEX_POSITIONS {
            return None;
        }
        let mut done: Vec<Option<Hir>> = vec![None; self.bodies.len()];
        let mut pending = vec![0];
        while let Some(&number) = pending.last() {
            let mut used = Vec::new();
            names(&self.bodies[number], &mut used);
            let used = used.into_iter().map(|name| self.numbers[name]);
            let missing: Vec<_> = used.filter(|&rule| done[rule].is_none()).collect();
            if missing.is_empty() {
                done[number] = Some(self.hir(&self.bodies[number], &done));
                pending.pop();
            } else {
                pending.extend(missing);
            }
        }
        done.swap_remove(0)
    }

    fn hir(&self, expr: &Expr, done: &[Option<Hir>]) -> Hir {
        let all = |parts: &[Expr]| parts.iter().map(|part| self.hir(part, done)).collect();
        match expr {
            Expr::Choice(parts) => Hir::alternation(all(parts)),
            Expr::Sequence(parts) => Hir::concat(all(parts)),
            Expr::Literal(text) => Hir::literal(text.as_bytes()),
            Expr::Class { negated, ranges } => Hir::class(Class::Unicode(class(*negated, ranges))),
            Expr::Any => Hir::class(Class::Unicode(class(true, &[]))),
            Expr::Rule(name) => done[self.numbers[name.as_str()]]
                .clone()
                .unwrap_or_else(Hir::fail),
            Expr::Repeat { inner, min, max } => regex::repeat(self.hir(inner, done), *min, *max),
        }
    }

    fn to_lark(&self) -> Result<String, GrammarFault> {
        let mut writer = Writer::new(&self.numbers);
        let mut out = String::from("start: r0\n");
        for (number, body) in self.bodies.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(out, "r{number}: ");
            writer.write(body, Binding::Choice, 0, &mut out);
            out.push('\n');
        }
        for (number, group) in writer.groups.iter().enumerate() {
            let _ = writeln!(out, "g{number}: {group}");
        }
        for (number, terminal) in writer.terminals.iter().enumerate() {
            let _ = writeln!(out, "T{number}: /{terminal}/");
        }
        // Sixteen times what was read: `"a"` becomes a name of its own.
        if out.len() > 16 * MAX_GRAMMAR_BYTES {
            return Err(GrammarFault::too_complex("the grammar is too large"));
        }
        Ok(out)
    }
}

fn class(negated: bool, ranges: &[(char, char)]) -> ClassUnicode {
    let ranges = ranges
        .iter()
        .map(|&(first, last)| ClassUnicodeRange::new(first, last));
    let mut class = ClassUnicode::new(ranges);
    if negated {
        class.negate();
    }
    class
}

/// A rule that ends in itself, as a repetition: `a ::= x a | y` is `x* y`. `None` for others.
///
/// The engine keeps an item for each level of such a rule, so a list of n items took n^2 steps:
/// 4 s for 3,000 of them.
fn iterate(name: &str, body: &Expr) -> Option<Expr> {
    let (mut before, last) = split_tail(name, body);
    if before.is_empty() {
        return None;
    }
    // `a ::= a` adds no text.
    before.retain(|part| part != &Expr::Sequence(Vec::new()));
    if before.is_empty() {
        return Some(Expr::Choice(last));
    }
    let before = Box::new(Expr::Choice(before));
    let again = Expr::Repeat {
        inner: before,
        min: 0,
        max: None,
    };
    Some(Expr::Sequence(vec![again, Expr::Choice(last)]))
}

/// The alternatives of an expression: what comes before the rule where it is last, and those
/// where it is not.
fn split_tail(name: &str, expr: &Expr) -> (Vec<Expr>, Vec<Expr>) {
    match expr {
        Expr::Rule(rule) if rule == name => (vec![Expr::Sequence(Vec::new())], Vec::new()),
        Expr::Choice(parts) => {
            let (before, last): (Vec<_>, Vec<_>) =
                parts.iter().map(|part| split_tail(name, part)).unzip();
            (before.concat(), last.concat())
        }
        Expr::Sequence(parts) if !parts.is_empty() => {
            let (head, tail) = parts.split_at(parts.len() - 1);
            let (before, last) = split_tail(name, &tail[0]);
            if before.is_empty() {
                return (before, vec![expr.clone()]);
            }
            let join = |tail: Expr| match tail {
                Expr::Sequence(tail) => Expr::Sequence([head, &tail].concat()),
                tail => Expr::Sequence([head, &[tail]].concat()),
            };
            (
                before.into_iter().map(join).collect(),
                last.into_iter().map(join).collect(),
            )
        }
        Expr::Repeat {
            inner,
            min: 0,
            max: Some(1),
        } => {
            let (before, mut last) = split_tail(name, inner);
            if before.is_empty() {
                return (before, vec![expr.clone()]);
            }
            last.push(Expr::Sequence(Vec::new()));
            (before, last)
        }
        _ => (Vec::new(), vec![expr.clone()]),
    }
}

/// The rules that an expression uses, with repeats.
fn names<'a>(expr: &'a Expr, into: &mut Vec<&'a str>) {
    match expr {
        Expr::Choice(parts) | Expr::Sequence(parts) => {
            parts.iter().for_each(|part| names(part, into));
        }
        Expr::Rule(name) => into.push(name),
        Expr::Repeat { inner, .. } => names(inner, into),
        Expr::Literal(_) | Expr::Class { .. } | Expr::Any => {}
    }
}
