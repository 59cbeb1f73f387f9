//! An automaton as a regex: states come in, and go one by one; what leads past them goes out. Of an automaton in which each text has
//! one way it is a regex in which each has one.

use super::automaton::Dfa;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};
use std::collections::BTreeMap;

/// States of an automaton that is written as a regex, and how large that gets.
const MAX_STATES: usize = 60;
const MAX_SIZE: usize = 3_000;

/// What leads from one state to another.
type Edges = BTreeMap<(usize, usize), Hir>;

/// `None` where it would be too large.
pub(super) fn regex(dfa: &Dfa) -> Option<Hir> {
    if dfa.states.len() > MAX_STATES {
        return None;
    }
    let count = dfa.states.len();
    let (start, end) = (count, count + 1);
    let mut edges = Edges::from([((start, 0), Hir::empty())]);
    for (at, state) in dfa.states.iter().enumerate() {
        if state.accepts {
            edges.insert((at, end), Hir::empty());
        }
        for (ranges, next) in &state.next {
            let ranges = ranges.iter();
            let ranges = ranges.map(|&(first, last)| ClassUnicodeRange::new(first, last));
            let class = Hir::class(Class::Unicode(ClassUnicode::new(ranges)));
            edges.insert((at, *next), class);
        }
    }
    let mut left: Vec<usize> = (0..count).collect();
    while let Some(cheapest) = left
        .iter()
        .copied()
        .min_by_key(|state| cost(&edges, *state))
    {
        left.retain(|state| *state != cheapest);
        remove(&mut edges, cheapest)?;
    }
    edges.remove(&(start, end))
}

/// How much longer what leads past a state gets.
fn cost(edges: &Edges, state: usize) -> usize {
    let (mut into, mut out, mut own) = ((0, 0), (0, 0), 0);
    for ((from, to), hir) in edges {
        match (*from == state, *to == state) {
            (true, true) => own = size(hir),
            (true, false) => out = (out.0 + 1, out.1 + size(hir)),
            (false, true) => into = (into.0 + 1, into.1 + size(hir)),
            (false, false) => {}
        }
    }
    into.0 * (out.1 + own) + out.0 * into.1
}

fn remove(edges: &mut Edges, state: usize) -> Option<()> {
    let own = edges.remove(&(state, state));
    let again = own.map_or_else(Hir::empty, |own| repeat(own, None));
    let touching: Vec<(usize, usize)> = edges.keys().copied().collect();
    let (mut into, mut out) = (Vec::new(), Vec::new());
    for (from, to) in touching {
        if from == state {
            out.extend(edges.remove(&(from, to)).map(|hir| (to, hir)));
        } else if to == state {
            into.extend(edges.remove(&(from, to)).map(|hir| (from, hir)));
        }
    }
    for (from, first) in &into {
        for (to, last) in &out {
            let past = Hir::concat(vec![first.clone(), again.clone(), last.clone()]);
            let both = match edges.remove(&(*from, *to)) {
                Some(other) => either(other, past),
                None => past,
            };
            if size(&both) > MAX_SIZE {
                return None;
            }
            edges.insert((*from, *to), both);
        }
    }
    Some(())
}

/// One of both; where one is the empty text, the other or nothing.
fn either(one: Hir, other: Hir) -> Hir {
    match (one.kind(), other.kind()) {
        (HirKind::Empty, HirKind::Empty) => one,
        (HirKind::Empty, _) => repeat(other, Some(1)),
        (_, HirKind::Empty) => repeat(one, Some(1)),
        _ => Hir::alternation(vec![one, other]),
    }
}

fn repeat(sub: Hir, max: Option<u32>) -> Hir {
    // regex-syntax prints `(a+)?` as `a+?`, but groups as such.
    let sub = match sub.kind() {
        HirKind::Repetition(_) => Hir::capture(regex_syntax::hir::Capture {
            index: 1,
            name: None,
            sub: Box::new(sub),
        }),
        _ => sub,
    };
    Hir::repetition(Repetition {
        min: 0,
        max,
        greedy: true,
        sub: Box::new(sub),
    })
}

fn size(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => 2 + class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => 2 + class.ranges().len(),
        HirKind::Repetition(repeated) => 1 + size(&repeated.sub),
        HirKind::Capture(capture) => size(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(size).sum::<usize>() + parts.len()
        }
    }
}
