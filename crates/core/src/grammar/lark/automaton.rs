//! Terminals as automata over bytes: what a terminal says comes in; which bytes may go on after a
//! whole text of one while another is still open goes out.

use crate::grammar::gbnf::Expr;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use regex_syntax::utf8::Utf8Sequences;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A set of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bytes([u128; 2]);

impl Bytes {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 7)] |= 1 << (byte & 127);
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    pub(super) const fn shares(self, other: Self) -> bool {
        self.0[0] & other.0[0] != 0 || self.0[1] & other.0[1] != 0
    }
}

/// States of all automata of a grammar, and steps of building and comparing them: 20 ms. Past
/// them nothing is known.
const MAX_STATES: usize = 20_000;
const MAX_STEPS: usize = 500_000;

/// What is left of the limits.
#[derive(Debug)]
pub(super) struct Budget {
    states: usize,
    steps: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            states: MAX_STATES,
            steps: MAX_STEPS,
        }
    }
}

impl Budget {
    fn state(&mut self) -> Option<()> {
        self.states = self.states.checked_sub(1)?;
        Some(())
    }

    pub(super) fn step(&mut self) -> Option<()> {
        self.spend(1)
    }

    fn spend(&mut self, steps: usize) -> Option<()> {
        self.steps = self.steps.checked_sub(steps)?;
        Some(())
    }
}

/// The automaton of one terminal; the start is state 0.
#[derive(Debug)]
pub(super) struct Dfa {
    states: Vec<State>,
}

#[derive(Debug, Default)]
struct State {
    accepts: bool,
    /// By first byte; what is not covered is dead.
    next: Vec<(u8, u8, usize)>,
}

/// How one terminal stands to another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overlap {
    /// A text is both.
    pub(super) both: bool,
    /// After a text of the first, with these bytes the second goes on.
    pub(super) open: Bytes,
}

impl Dfa {
    /// `None` past the budget.
    pub(super) fn of(
        expr: &Expr,
        terminals: &HashMap<&str, &Expr>,
        budget: &mut Budget,
    ) -> Option<Self> {
        let mut nfa = Nfa {
            states: vec![Node::default()],
            terminals,
        };
        let end = nfa.add(expr, 0, budget)?;
        nfa.determine(end, budget)
    }

    /// The bytes that a text begins with.
    pub(super) fn first(&self) -> Bytes {
        self.bytes(0)
    }

    pub(super) fn accepts_empty(&self) -> bool {
        self.states[0].accepts
    }

    /// Whether a text stays whole with every byte that may follow in it.
    pub(super) fn stays_whole(&self) -> bool {
        let is_whole = |&(_, _, next): &(u8, u8, usize)| self.states[next].accepts;
        let whole = self.states.iter().filter(|state| state.accepts);
        whole
            .skip(usize::from(self.states[0].accepts))
            .all(|state| state.next.iter().all(is_whole))
    }

    /// `None` past the budget.
    pub(super) fn overlap(&self, other: &Self, budget: &mut Budget) -> Option<Overlap> {
        let mut overlap = Overlap::default();
        let mut seen = HashSet::from([(0, 0)]);
        let mut pending = vec![(0, 0)];
        while let Some((own, its)) = pending.pop() {
            for &(first, last, own_next) in &self.states[own].next {
                for &(its_first, its_last, its_next) in &other.states[its].next {
                    budget.step()?;
                    if first.max(its_first) > last.min(its_last) {
                        continue;
                    }
                    if self.states[own_next].accepts {
                        overlap.both |= other.states[its_next].accepts;
                        overlap.open = overlap.open.union(other.bytes(its_next));
                    }
                    if seen.insert((own_next, its_next)) {
                        pending.push((own_next, its_next));
                    }
                }
            }
        }
        Some(overlap)
    }

    fn bytes(&self, state: usize) -> Bytes {
        let mut bytes = Bytes::default();
        for &(first, last, _) in &self.states[state].next {
            (first..=last).for_each(|byte| bytes.insert(byte));
        }
        bytes
    }
}

/// Thompson's construction.
struct Nfa<'a> {
    states: Vec<Node>,
    terminals: &'a HashMap<&'a str, &'a Expr>,
}

#[derive(Debug, Default)]
struct Node {
    free: Vec<usize>,
    on: Vec<(u8, u8, usize)>,
}

impl Nfa<'_> {
    fn state(&mut self, budget: &mut Budget) -> Option<usize> {
        budget.state()?;
        self.states.push(Node::default());
        Some(self.states.len() - 1)
    }

    /// Adds an expression from a state on; the state where it ends.
    fn add(&mut self, expr: &Expr, from: usize, budget: &mut Budget) -> Option<usize> {
        match expr {
            Expr::Choice(parts) => {
                let end = self.state(budget)?;
                for part in parts {
                    let begin = self.state(budget)?;
                    self.states[from].free.push(begin);
                    let last = self.add(part, begin, budget)?;
                    self.states[last].free.push(end);
                }
                Some(end)
            }
            Expr::Sequence(parts) => parts
                .iter()
                .try_fold(from, |from, part| self.add(part, from, budget)),
            Expr::Literal(text) => text.bytes().try_fold(from, |from, byte| {
                let next = self.state(budget)?;
                self.states[from].on.push((byte, byte, next));
                Some(next)
            }),
            Expr::Class { negated, ranges } => {
                let ranges = ranges
                    .iter()
                    .map(|&(first, last)| ClassUnicodeRange::new(first, last));
                let mut class = ClassUnicode::new(ranges);
                if *negated {
                    class.negate();
                }
                self.class(&class, from, budget)
            }
            Expr::Any => {
                let all = ClassUnicodeRange::new('\0', char::MAX);
                self.class(&ClassUnicode::new([all]), from, budget)
            }
            Expr::Rule(name) => {
                let body = *self.terminals.get(name.as_str())?;
                self.add(body, from, budget)
            }
            Expr::Repeat { inner, min, max } => {
                let mut from = from;
                for _ in 0..*min {
                    from = self.add(inner, from, budget)?;
                }
                let Some(max) = max else {
                    let hub = self.state(budget)?;
                    self.states[from].free.push(hub);
                    let last = self.add(inner, hub, budget)?;
                    self.states[last].free.push(hub);
                    return Some(hub);
                };
                let end = self.state(budget)?;
                for _ in *min..*max {
                    self.states[from].free.push(end);
                    from = self.add(inner, from, budget)?;
                }
                self.states[from].free.push(end);
                Some(end)
            }
        }
    }

    fn class(&mut self, class: &ClassUnicode, from: usize, budget: &mut Budget) -> Option<usize> {
        let end = self.state(budget)?;
        for range in class.ranges() {
            for sequence in Utf8Sequences::new(range.start(), range.end()) {
                let (last, before) = sequence.as_slice().split_last()?;
                let mut at = from;
                for bytes in before {
                    let next = self.state(budget)?;
                    self.states[at].on.push((bytes.start, bytes.end, next));
                    at = next;
                }
                self.states[at].on.push((last.start, last.end, end));
            }
        }
        Some(end)
    }

    fn determine(&self, end: usize, budget: &mut Budget) -> Option<Dfa> {
        let start = self.closure(vec![0], budget)?;
        let mut numbers = HashMap::from([(start.clone(), 0)]);
        let mut sets = vec![start];
        let mut states = Vec::new();
        while let Some(set) = sets.get(states.len()).cloned() {
            budget.state()?;
            let on: Vec<_> = set.iter().flat_map(|&node| &self.states[node].on).collect();
            let mut cuts: Vec<u16> = on
                .iter()
                .flat_map(|(first, last, _)| [u16::from(*first), u16::from(*last) + 1])
                .collect();
            cuts.sort_unstable();
            cuts.dedup();
            let mut state = State {
                accepts: set.contains(&end),
                next: Vec::new(),
            };
            for cut in cuts.windows(2) {
                let (Ok(first), Ok(last)) = (u8::try_from(cut[0]), u8::try_from(cut[1] - 1)) else {
                    continue;
                };
                budget.spend(on.len())?;
                let next = on
                    .iter()
                    .filter(|(low, high, _)| *low <= first && last <= *high)
                    .map(|(_, _, next)| *next);
                let next = self.closure(next.collect(), budget)?;
                if next.is_empty() {
                    continue;
                }
                let number = *numbers.entry(next).or_insert_with_key(|next| {
                    sets.push(next.clone());
                    sets.len() - 1
                });
                state.next.push((first, last, number));
            }
            states.push(state);
        }
        Some(Dfa { states })
    }

    /// The states that are reached for nothing, sorted.
    fn closure(&self, mut pending: Vec<usize>, budget: &mut Budget) -> Option<Vec<usize>> {
        let mut set = BTreeSet::new();
        while let Some(node) = pending.pop() {
            budget.step()?;
            if set.insert(node) {
                pending.extend(&self.states[node].free);
            }
        }
        Some(set.into_iter().collect())
    }
}
