//! Ways through a language become states: sets of places come in; the smallest automaton in which each text has one way goes out.

use super::Nfa;
use regex_syntax::hir::Hir;
use std::collections::HashMap;

/// States of an automaton: a rule of a grammar each.
const MAX_STATES: usize = 400;
/// Steps of building it.
const MAX_STEPS: usize = 2_000_000;

/// An automaton in which each text has one way at most. The start is state 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dfa {
    /// The states.
    pub states: Vec<State>,
}

/// One state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// Whether a text may end here.
    pub accepts: bool,
    /// Where one gets with which letters, each state once.
    pub next: Vec<(Vec<(char, char)>, usize)>,
}

impl Dfa {
    /// The automaton of a language; `None` where it is too large, no language of texts, or has no text.
    #[must_use]
    pub fn of(hir: &Hir) -> Option<Self> {
        let nfa = Nfa::of(hir)?;
        let table = determine(&nfa)?;
        let table = smallest(&living(table)?);
        Some(Self {
            states: table.iter().map(|row| state(row, &nfa.letters)).collect(),
        })
    }
}

/// A state by letters: where one gets with each.
#[derive(Debug, Clone)]
struct Row {
    accepts: bool,
    next: Vec<Option<usize>>,
}

fn determine(nfa: &Nfa) -> Option<Vec<Row>> {
    let mut steps = MAX_STEPS;
    let start = nfa.reached(0, &mut steps)?;
    let mut numbers = HashMap::from([(start.clone(), 0)]);
    let mut sets = vec![start];
    let mut rows = Vec::new();
    while let Some(set) = sets.get(rows.len()).cloned() {
        if sets.len() > MAX_STATES {
            return None;
        }
        let mut targets: Vec<Vec<usize>> = vec![Vec::new(); nfa.letters.len()];
        for &node in &set {
            if let Some((class, next)) = nfa.nodes[node].on {
                for &letter in &nfa.classes[class] {
                    steps = steps.checked_sub(1)?;
                    targets[letter].push(nfa.resolved(next));
                }
            }
        }
        // Most letters lead to the same places.
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut row = Row {
            accepts: set.contains(&nfa.end),
            next: Vec::with_capacity(targets.len()),
        };
        for mut target in targets {
            target.sort_unstable();
            target.dedup();
            if target.is_empty() {
                row.next.push(None);
                continue;
            }
            if let Some(number) = known.get(&target) {
                row.next.push(Some(*number));
                continue;
            }
            let mut all = std::collections::BTreeSet::new();
            for &place in &target {
                all.extend(nfa.reached(place, &mut steps)?);
            }
            let all: Vec<usize> = all.into_iter().collect();
            let number = *numbers.entry(all).or_insert_with_key(|all| {
                sets.push(all.clone());
                sets.len() - 1
            });
            known.insert(target, number);
            row.next.push(Some(number));
        }
        rows.push(row);
    }
    Some(rows)
}

/// Without the states from which no text ends; `None` where no text does.
fn living(mut rows: Vec<Row>) -> Option<Vec<Row>> {
    let mut lives: Vec<bool> = rows.iter().map(|row| row.accepts).collect();
    loop {
        let mut changed = false;
        for (at, row) in rows.iter().enumerate() {
            let leads = row.next.iter().flatten().any(|next| lives[*next]);
            if !lives[at] && leads {
                lives[at] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    for row in &mut rows {
        for next in &mut row.next {
            *next = next.filter(|next| lives[*next]);
        }
    }
    // What does not live is reached no more, and is left behind by what looks for the smallest.
    lives.first().copied()?.then_some(rows)
}

/// States of which the same texts are still to come are one (Moore's way).
fn smallest(rows: &[Row]) -> Vec<Row> {
    let mut groups: Vec<usize> = rows.iter().map(|row| usize::from(row.accepts)).collect();
    let mut count = 0;
    loop {
        let mut numbers = HashMap::new();
        let refined: Vec<usize> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let next = row.next.iter().map(|next| next.map(|next| groups[next]));
                let key: (usize, Vec<Option<usize>>) = (groups[at], next.collect());
                let free = numbers.len();
                *numbers.entry(key).or_insert(free)
            })
            .collect();
        let is_same = numbers.len() == count;
        count = numbers.len();
        groups = refined;
        if is_same {
            break;
        }
    }
    // Numbered as they are reached.
    let mut order = vec![0];
    let mut numbers = HashMap::from([(groups[0], 0)]);
    let mut out = Vec::new();
    while let Some(&at) = order.get(out.len()) {
        let next = rows[at].next.iter().map(|next| {
            next.map(|next| {
                *numbers.entry(groups[next]).or_insert_with(|| {
                    order.push(next);
                    order.len() - 1
                })
            })
        });
        let next = next.collect();
        out.push(Row {
            accepts: rows[at].accepts,
            next,
        });
    }
    out
}

fn state(row: &Row, letters: &[(char, char)]) -> State {
    let mut next: Vec<(Vec<(char, char)>, usize)> = Vec::new();
    for (&(first, last), to) in letters.iter().zip(&row.next) {
        let Some(to) = *to else { continue };
        match next.iter_mut().find(|(_, known)| *known == to) {
            Some((ranges, _)) => match ranges.last_mut() {
                Some((_, end)) if follows(*end, first) => *end = last,
                _ => ranges.push((first, last)),
            },
            None => next.push((vec![(first, last)], to)),
        }
    }
    State {
        accepts: row.accepts,
        next,
    }
}

/// Whether a character is the next one.
fn follows(before: char, c: char) -> bool {
    let next = u32::from(before) + 1;
    next == u32::from(c) || before == '\u{d7ff}' && c == '\u{e000}'
}
