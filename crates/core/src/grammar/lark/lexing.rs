//! What Lark's terminals take away: a grammar comes in; whether a reader without terminals takes
//! more texts for its own goes out.
//!
//! llguidance reads the longest text that any terminal of the place takes, and never goes back:
//! with `/[a-z]+/ "x"` it takes no text at all. GBNF takes `abx`. Both read the same texts where
//! no terminal can go on at a byte with which the next one may begin. What may stand at a place
//! is taken from what may follow a terminal anywhere: that is more than stands there, so the
//! answer errs towards "more texts".

use super::automaton::{Budget, Bytes, Dfa, Overlap};
use super::read::Lark;
use crate::grammar::gbnf::Expr;
use std::collections::{BTreeSet, HashMap, HashSet};

/// More terminals than these are not compared.
const MAX_TERMINALS: usize = 500;

/// What a reader without terminals makes of a grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lexing {
    /// The same texts.
    Same,
    /// More texts, because this terminal may end early there.
    Wider(String),
    /// Too large to tell.
    Unknown,
}

/// The answer, and whether ignored text may stand at the start or the end of a text.
pub(super) fn examine(lark: &Lark, nullable: &HashSet<&str>) -> (Lexing, bool) {
    let unknown = (Lexing::Unknown, !lark.ignored.is_empty());
    let Some(mut grammar) = Adjacency::of(lark, nullable) else {
        return unknown;
    };
    let Some((places, leader)) = grammar.places() else {
        return unknown;
    };
    let start = &grammar.ends[Lark::START];
    // Ignored text may stand after any terminal where another may, so at the end where the text
    // may also go on, and at the start where the first terminal may be an empty one.
    let goes_on = |&last: &usize| !places[leader[last + 1]].is_empty();
    let is_empty = |&first: &usize| grammar.terminals[first].1.accepts_empty();
    let is_at_ends = start.last.iter().any(goes_on) || start.first.iter().any(is_empty);
    let lexing = grammar.compare(&places).unwrap_or(Lexing::Unknown);
    (lexing, is_at_ends && !lark.ignored.is_empty())
}

/// What may stand at each place: the start, and after each terminal.
type Places = Vec<BTreeSet<usize>>;

/// The terminals that a rule's texts begin and end with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ends {
    first: BTreeSet<usize>,
    last: BTreeSet<usize>,
    nullable: bool,
}

struct Adjacency<'a> {
    /// The one that is ignored, if any, comes last.
    terminals: Vec<(String, Dfa)>,
    ignored: Option<usize>,
    numbers: HashMap<&'a str, usize>,
    literals: HashMap<&'a str, usize>,
    nullable: &'a HashSet<&'a str>,
    ends: HashMap<&'a str, Ends>,
    follow: Vec<BTreeSet<usize>>,
    overlaps: HashMap<(usize, usize), Overlap>,
    budget: Budget,
}

impl<'a> Adjacency<'a> {
    /// `None` where it is too large.
    fn of(lark: &'a Lark, nullable: &'a HashSet<&'a str>) -> Option<Self> {
        let bodies: HashMap<&str, &Expr> = lark
            .terminals
            .iter()
            .map(|terminal| (terminal.name.as_str(), &terminal.body))
            .collect();
        let mut grammar = Adjacency {
            terminals: Vec::new(),
            ignored: None,
            numbers: HashMap::new(),
            literals: HashMap::new(),
            nullable,
            ends: HashMap::new(),
            follow: Vec::new(),
            overlaps: HashMap::new(),
            budget: Budget::default(),
        };
        for rule in &lark.rules {
            let mut used = Vec::new();
            rule.body.visit(&mut |expr| used.push(expr));
            for leaf in used {
                match leaf {
                    Expr::Rule(name)
                        if bodies.contains_key(name.as_str())
                            && !grammar.numbers.contains_key(name.as_str()) =>
                    {
                        let number = grammar.terminal(name, leaf, &bodies)?;
                        grammar.numbers.insert(name, number);
                    }
                    Expr::Literal(text) if !grammar.literals.contains_key(text.as_str()) => {
                        let number = grammar.terminal("", leaf, &bodies)?;
                        grammar.literals.insert(text, number);
                    }
                    _ => {}
                }
            }
        }
        grammar.follow = vec![BTreeSet::new(); grammar.terminals.len()];
        grammar.find_ends(lark);
        for rule in &lark.rules {
            grammar.join(&rule.body)?;
        }
        if !lark.ignored.is_empty() {
            let ignored = Expr::Choice(lark.ignored.clone());
            let number = grammar.terminal("%ignore", &ignored, &bodies)?;
            grammar.ignored = Some(number);
        }
        Some(grammar)
    }

    fn terminal(
        &mut self,
        name: &str,
        expr: &Expr,
        bodies: &HashMap<&str, &Expr>,
    ) -> Option<usize> {
        if self.terminals.len() >= MAX_TERMINALS {
            return None;
        }
        let name = match name {
            "" => "a text",
            name if name.starts_with('/') => "a regex",
            name => name,
        };
        let dfa = Dfa::of(expr, bodies, &mut self.budget)?;
        self.terminals.push((name.to_owned(), dfa));
        Some(self.terminals.len() - 1)
    }

    fn find_ends(&mut self, lark: &'a Lark) {
        for rule in &lark.rules {
            self.ends.insert(&rule.name, Ends::default());
        }
        loop {
            let mut changed = false;
            for rule in lark.rules.iter().rev() {
                let ends = self.ends(&rule.body);
                if self.ends.get(rule.name.as_str()) != Some(&ends) {
                    self.ends.insert(&rule.name, ends);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn ends(&self, expr: &Expr) -> Ends {
        let only = |number: usize, nullable| Ends {
            first: BTreeSet::from([number]),
            last: BTreeSet::from([number]),
            nullable,
        };
        let empty = Ends {
            nullable: true,
            ..Ends::default()
        };
        match expr {
            Expr::Choice(parts) => {
                parts
                    .iter()
                    .map(|part| self.ends(part))
                    .fold(Ends::default(), |mut all, part| {
                        all.first.extend(part.first);
                        all.last.extend(part.last);
                        all.nullable |= part.nullable;
                        all
                    })
            }
            Expr::Sequence(parts) => {
                parts
                    .iter()
                    .map(|part| self.ends(part))
                    .fold(empty, |mut all, part| {
                        if all.nullable {
                            all.first.extend(&part.first);
                        }
                        if !part.nullable {
                            all.last.clear();
                        }
                        all.last.extend(part.last);
                        all.nullable &= part.nullable;
                        all
                    })
            }
            Expr::Rule(name) => match self.numbers.get(name.as_str()) {
                Some(&number) => only(number, self.nullable.contains(name.as_str())),
                None => self.ends.get(name.as_str()).cloned().unwrap_or_default(),
            },
            Expr::Literal(text) => self
                .literals
                .get(text.as_str())
                .map_or(empty, |&number| only(number, false)),
            Expr::Repeat { max: Some(0), .. } => empty,
            Expr::Repeat { inner, min, .. } => {
                let mut ends = self.ends(inner);
                ends.nullable |= *min == 0;
                ends
            }
            // They stand in terminals alone.
            Expr::Class { .. } | Expr::Any => Ends::default(),
        }
    }

    /// Notes what may follow what.
    fn join(&mut self, expr: &Expr) -> Option<()> {
        match expr {
            Expr::Choice(parts) => parts.iter().try_for_each(|part| self.join(part)),
            Expr::Sequence(parts) => {
                let mut last = BTreeSet::new();
                for part in parts {
                    self.join(part)?;
                    let ends = self.ends(part);
                    self.follows(&last, &ends.first)?;
                    if !ends.nullable {
                        last.clear();
                    }
                    last.extend(ends.last);
                }
                Some(())
            }
            Expr::Repeat { inner, max, .. } => {
                self.join(inner)?;
                if *max != Some(1) {
                    let ends = self.ends(inner);
                    self.follows(&ends.last, &ends.first)?;
                }
                Some(())
            }
            Expr::Rule(_) | Expr::Literal(_) | Expr::Class { .. } | Expr::Any => Some(()),
        }
    }

    fn follows(&mut self, last: &BTreeSet<usize>, first: &BTreeSet<usize>) -> Option<()> {
        for &last in last {
            for &first in first {
                self.budget.step()?;
                self.follow[last].insert(first);
            }
        }
        Some(())
    }

    /// The places, and which one stands for each: where a text is of two terminals, the place
    /// after it is the place after both. `None` where it is too large.
    fn places(&mut self) -> Option<(Places, Vec<usize>)> {
        let mut places = vec![self.ends.get(Lark::START)?.first.clone()];
        for follow in &self.follow {
            let ignored = self.ignored.filter(|_| !follow.is_empty());
            places.push(follow.iter().copied().chain(ignored).collect());
        }
        let mut leader: Vec<usize> = (0..places.len()).collect();
        let mut pending = leader.clone();
        while let Some(place) = pending.pop() {
            let here: Vec<usize> = places[place].iter().copied().collect();
            for (at, &one) in here.iter().enumerate() {
                for &other in &here[at + 1..] {
                    self.budget.step()?;
                    let is_ignored = Some(other) == self.ignored;
                    if is_ignored || !self.overlap(one, other)?.both {
                        continue;
                    }
                    let (one, other) = (leader[one + 1], leader[other + 1]);
                    if one != other {
                        let moved = std::mem::take(&mut places[other]);
                        places[one].extend(moved);
                        let moved = leader.iter_mut().filter(|known| **known == other);
                        moved.for_each(|known| *known = one);
                        pending.push(one);
                    }
                }
            }
        }
        Some((places, leader))
    }

    /// `None` where it is too large.
    fn compare(&mut self, places: &Places) -> Option<Lexing> {
        for place in places {
            for &own in place {
                let begins = self.begins(own, place);
                for &its in place {
                    let overlap = self.overlap(own, its)?;
                    // What is ignored wins over a terminal of the same text.
                    let is_taken = overlap.both && own != its && Some(its) == self.ignored;
                    if is_taken || overlap.open.shares(begins) {
                        return Some(Lexing::Wider(self.terminals[own].0.clone()));
                    }
                }
            }
        }
        Some(Lexing::Same)
    }

    /// The bytes that may come after a terminal at a place.
    fn begins(&self, own: usize, place: &BTreeSet<usize>) -> Bytes {
        let mut bytes = Bytes::default();
        let mut add = |number: usize| bytes = bytes.union(self.terminals[number].1.first());
        if Some(own) == self.ignored {
            // After what is ignored come the place's own; more of it is nothing new, where it
            // cannot stop half way.
            let stays = self.terminals[own].1.stays_whole();
            place
                .iter()
                .filter(|&&number| number != own || !stays)
                .for_each(|&number| add(number));
            return bytes;
        }
        self.follow[own].iter().for_each(|&number| add(number));
        if !self.follow[own].is_empty() {
            self.ignored.into_iter().for_each(add);
        }
        bytes
    }

    fn overlap(&mut self, own: usize, its: usize) -> Option<Overlap> {
        if let Some(&overlap) = self.overlaps.get(&(own, its)) {
            return Some(overlap);
        }
        let (one, other) = (&self.terminals[own].1, &self.terminals[its].1);
        let overlap = match one.first().shares(other.first()) {
            true => one.overlap(other, &mut self.budget)?,
            false => Overlap::default(),
        };
        self.overlaps.insert((own, its), overlap);
        Some(overlap)
    }
}
