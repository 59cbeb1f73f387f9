//! GBNF in words that llama.cpp reads: rules come in; rules of the same texts go out, with names that it takes and, where that can be
//! said, none that begins with itself.
//!
//! Its names are letters, digits and hyphens, and it refuses every grammar with a left recursion (`llama_grammar_detect_left_recursion`
//! of src/llama-grammar.cpp, read at 0c1e57098).

use super::{Expr, Gbnf, Names, nullable};
use std::collections::{HashMap, HashSet};

impl Gbnf {
    /// Gives rules other names whose own it does not take.
    pub(super) fn name_plainly(&mut self) {
        let (plain, odd): (Vec<&str>, Vec<&str>) = (self.rules.iter())
            .map(|rule| rule.name.as_str())
            .partition(|name| !name.contains('_'));
        if odd.is_empty() {
            return;
        }
        let mut names = Names::default();
        names.0.extend(plain.into_iter().map(str::to_owned));
        let renamed: HashMap<String, String> = odd
            .into_iter()
            .map(|name| (name.to_owned(), names.free(name)))
            .collect();
        for rule in &mut self.rules {
            if let Some(name) = renamed.get(&rule.name) {
                rule.name.clone_from(name);
            }
            rule.body.visit_mut(&mut |expr| {
                if let Expr::Rule(known) = expr
                    && let Some(name) = renamed.get(known.as_str())
                {
                    known.clone_from(name);
                }
            });
        }
    }

    /// Writes what begins with itself as a repetition: `a ::= a "x" | "y"` as `a ::= "y" "x"*`.
    pub(in crate::grammar) fn turn_around(&mut self) {
        for rule in &mut self.rules {
            let body = std::mem::replace(&mut rule.body, Expr::empty());
            rule.body = turned(&rule.name, body);
        }
    }

    /// Why llama.cpp takes these rules for a left recursion, and what to write in their place; `None` where it does not.
    pub(in crate::grammar) fn left_recursion(&self) -> Option<String> {
        let blank: HashSet<&str> = (self.rules.iter())
            .filter(|rule| has_nothing(&rule.body))
            .map(|rule| rule.name.as_str())
            .collect();
        for rule in &self.rules {
            let mut is_endless = false;
            rule.body.visit(&mut |expr| {
                if let Expr::Repeat {
                    inner, max: None, ..
                } = expr
                {
                    // In parentheses it is a rule of its own, which it does not look into.
                    let is_repeat = matches!(**inner, Expr::Repeat { .. });
                    is_endless |= !is_repeat && may_be_empty(inner, &blank);
                }
            });
            if is_endless {
                return Some(format!(
                    "what is repeated in the rule `{}` may be the empty text: leave that out of it",
                    rule.name
                ));
            }
        }
        // It looks for some of the rules alone that take nothing, and its stacks grow without end where one begins with itself behind
        // any other of them (`e ::= ws e "+" e`, `ws ::= " "*`).
        let name = self.first_of_itself(&nullable(self.rules.iter()))?;
        Some(format!(
            "the rule `{name}` may begin with itself (left recursion): write first what it begins with in the end, and repeat the \
             rest, as in `a ::= b (\"+\" b)*`"
        ))
    }

    /// A rule that may begin with itself, through others perhaps.
    fn first_of_itself(&self, empty: &HashSet<&str>) -> Option<&str> {
        let numbers: HashMap<&str, usize> = (self.rules.iter().enumerate())
            .map(|(number, rule)| (rule.name.as_str(), number))
            .collect();
        let mut begins: Vec<Vec<usize>> = Vec::new();
        let mut begun_by: Vec<Vec<usize>> = vec![Vec::new(); self.rules.len()];
        for (number, rule) in self.rules.iter().enumerate() {
            let mut names = Vec::new();
            firsts(&rule.body, empty, &mut names);
            let first: Vec<usize> = (names.iter())
                .filter_map(|name| numbers.get(name).copied())
                .collect();
            first.iter().for_each(|first| begun_by[*first].push(number));
            begins.push(first);
        }
        // Those that begin with none are taken away, until none is left but what leads to a circle.
        let mut left: Vec<usize> = begins.iter().map(Vec::len).collect();
        let mut done: Vec<usize> = (0..left.len()).filter(|rule| left[*rule] == 0).collect();
        while let Some(rule) = done.pop() {
            for &before in &begun_by[rule] {
                left[before] -= 1;
                if left[before] == 0 {
                    done.push(before);
                }
            }
        }
        let mut at = left.iter().position(|left| *left > 0)?;
        let mut seen = HashSet::new();
        while seen.insert(at) {
            at = begins[at].iter().copied().find(|next| left[*next] > 0)?;
        }
        Some(&self.rules[at].name)
    }
}

fn turned(name: &str, body: Expr) -> Expr {
    let begins = |part: &Expr| match part {
        Expr::Rule(first) => first == name,
        Expr::Sequence(parts) => {
            matches!(parts.first(), Some(Expr::Rule(first)) if first == name)
        }
        _ => false,
    };
    let parts = match body {
        Expr::Choice(parts) if parts.iter().any(begins) => parts,
        body => return body,
    };
    let (again, first): (Vec<Expr>, Vec<Expr>) = parts.into_iter().partition(begins);
    if first.is_empty() {
        return Expr::Choice(again);
    }
    // What is itself and nothing more says nothing.
    let rest = |part: Expr| match part {
        Expr::Sequence(mut parts) => {
            parts.remove(0);
            Some(Expr::Sequence(parts))
        }
        _ => None,
    };
    let rests: Vec<Expr> = again.into_iter().filter_map(rest).collect();
    let first = Expr::Choice(first);
    match rests.is_empty() {
        true => first.flat(),
        false => Expr::Sequence(vec![first, Expr::Choice(rests).repeat(0, None)]).flat(),
    }
}

/// Whether an expression has no element at all.
fn is_nothing(expr: &Expr) -> bool {
    match expr {
        Expr::Sequence(parts) => parts.iter().all(is_nothing),
        Expr::Literal(text) => text.is_empty(),
        _ => false,
    }
}

/// Whether one of a rule's alternatives has none.
fn has_nothing(body: &Expr) -> bool {
    match body {
        Expr::Choice(parts) => parts.iter().any(is_nothing),
        body => is_nothing(body),
    }
}

/// Whether an element may be the empty text, as far as llama.cpp looks.
fn may_be_empty(expr: &Expr, blank: &HashSet<&str>) -> bool {
    match expr {
        Expr::Rule(name) => blank.contains(name.as_str()),
        Expr::Repeat { inner, min, .. } => *min == 0 || may_be_empty(inner, blank),
        expr => has_nothing(expr),
    }
}

/// The rules that an expression may begin with.
fn firsts<'a>(expr: &'a Expr, empty: &HashSet<&str>, out: &mut Vec<&'a str>) {
    match expr {
        Expr::Rule(name) => out.push(name),
        Expr::Choice(parts) => parts.iter().for_each(|part| firsts(part, empty, out)),
        Expr::Sequence(parts) => {
            for part in parts {
                firsts(part, empty, out);
                if !part.is_nullable(&|name| empty.contains(name)) {
                    break;
                }
            }
        }
        Expr::Repeat { inner, .. } => firsts(inner, empty, out),
        Expr::Literal(_) | Expr::Class { .. } | Expr::Any => {}
    }
}
