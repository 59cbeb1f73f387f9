//! Any text but for what must not stand in it, or what something follows, as rules of a grammar: one rule for each beginning of a
//! stop with which what has come may end. What follows goes on with it, begins another, or is text.

use super::gbnf::{Expr, Gbnf};
use super::union::Builder;
use std::cmp::Reverse;
use std::collections::BTreeSet;

impl Builder {
    /// Any text, in which the trigger is followed by this, or comes at all where it must.
    pub(super) fn text_up_to(&mut self, start: &str, trigger: &str, after: Expr, must_come: bool) {
        let name = |seen: usize| match (seen, start) {
            (0, start) => start.to_owned(),
            (seen, Gbnf::ROOT) => format!("seen{seen}"),
            (seen, start) => format!("{start}{seen}"),
        };
        self.text(&name, &[trigger.to_owned()], Some(&after), must_come);
    }

    /// Any text in which none of these stands.
    pub(super) fn text_without(&mut self, mut stops: Vec<String>) -> Expr {
        stops.retain(|stop| !stop.is_empty());
        stops.sort_unstable();
        stops.dedup();
        if let Some((_, name)) = self.texts.iter().find(|(known, _)| *known == stops) {
            return Expr::Rule(name.clone());
        }
        let start = format!("text{}", self.texts.len());
        let name = |state: usize| match state {
            0 => start.clone(),
            state => format!("{start}-{state}"),
        };
        self.text(&name, &stops, None, false);
        self.texts.push((stops, start.clone()));
        Expr::Rule(start)
    }

    /// Any text in which each of these stops is followed by what follows one, or in which none stands where nothing does.
    fn text(
        &mut self,
        name: &dyn Fn(usize) -> String,
        stops: &[String],
        after: Option<&Expr>,
        must_come: bool,
    ) {
        let beginnings = |stop: &String| {
            let ends = stop.char_indices().map(|(at, _)| at);
            ends.map(|at| stop[..at].to_owned()).collect::<Vec<_>>()
        };
        // The empty beginning, which sorts first, is there without a stop.
        let states: BTreeSet<String> = stops.iter().flat_map(beginnings).collect();
        let mut states: Vec<String> = states.into_iter().collect();
        if states.is_empty() {
            states.push(String::new());
        }
        let marks: BTreeSet<char> = stops.iter().flat_map(|stop| stop.chars()).collect();
        for (at, state) in states.iter().enumerate() {
            let mut known = Vec::new();
            let mut ways = Vec::new();
            for mark in &marks {
                let come = format!("{state}{mark}");
                let is_stop = stops.iter().any(|stop| come.ends_with(stop));
                let mut ends = come.char_indices().map(|(from, _)| &come[from..]);
                let next = ends.find_map(|end| {
                    let found = states.binary_search_by(|state| state.as_str().cmp(end));
                    found.ok()
                });
                let (place, next) = match (is_stop, next) {
                    (true, _) => (states.len(), after.cloned()),
                    (false, Some(next)) => (next, Some(Expr::Rule(name(next)))),
                    (false, None) => continue,
                };
                known.push((*mark, *mark));
                if let Some(next) = next {
                    let mark = Expr::Literal(mark.to_string());
                    ways.push((Reverse(place), Expr::Sequence(vec![mark, next])));
                }
            }
            // What has come furthest is first.
            ways.sort_by_key(|(place, _)| *place);
            let mut ways: Vec<Expr> = ways.into_iter().map(|(_, way)| way).collect();
            let other = Expr::Class {
                negated: true,
                ranges: known,
            };
            ways.push(Expr::Sequence(vec![other, Expr::Rule(name(0))]));
            let body = match must_come {
                true => Expr::Choice(ways),
                false => Expr::Choice(ways).optional(),
            };
            match name(at) {
                root if root == Gbnf::ROOT => self.root(body),
                rule => self.define(&rule, body),
            }
        }
    }
}
