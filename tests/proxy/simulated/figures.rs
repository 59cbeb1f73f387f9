//! What came of all requests to one server.

use super::demands::Demand;
use super::judge::{Outcome, Way};
use super::notes::Notes;
use super::promises::{Evidence, Reason, reason};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) notes: &'static Notes,
    pub(crate) counts: Counts,
    /// What was delivered and is not what was asked for, or was told badly.
    pub(crate) wrong: Vec<String>,
    /// What was said to be carried exactly, and came back wrong all the same, without a reason: the
    /// demand and the rule that was broken, and an example.
    pub(crate) broken: BTreeMap<(String, String), String>,
    /// The same with a reason, and how often.
    pub(crate) excused: BTreeMap<Reason, usize>,
    /// What servers refused of what the proxy wrote: the demand and the server's words.
    pub(crate) by_server: BTreeMap<(String, String), usize>,
    /// Why the proxy refused, and an example.
    refusals: BTreeMap<String, (usize, String)>,
}

/// How many of each there are. Every trip is right, reported, refused, refused by the server, cut, or wrong;
/// all but the refused ones went one of three ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) trips: usize,
    pub(crate) exact: usize,
    pub(crate) partly: usize,
    pub(crate) instructed: usize,
    pub(crate) right: usize,
    pub(crate) asked_again: usize,
    pub(crate) reported: usize,
    pub(crate) refused: usize,
    pub(crate) by_server: usize,
    pub(crate) cut: usize,
}

impl Figures {
    pub(crate) const HEAD: &'static str = "server              trips  exact  proxy-enforced  instructed  right  re-asked  reported  refused  by-server  cut";

    pub(crate) fn new(notes: &'static Notes) -> Self {
        Self {
            notes,
            counts: Counts::default(),
            wrong: Vec::new(),
            broken: BTreeMap::new(),
            excused: BTreeMap::new(),
            by_server: BTreeMap::new(),
            refusals: BTreeMap::new(),
        }
    }

    pub(crate) fn count(
        &mut self,
        demand: &Demand,
        (outcome, way): &(Outcome, Way),
        evidence: &Evidence,
    ) {
        let counts = &mut self.counts;
        counts.trips += 1;
        counts.asked_again += usize::from(way.asked > 1);
        let is_exact = !way.losses && way.strategy != "instruct";
        match outcome {
            Outcome::Refused(code) => {
                counts.refused += 1;
                let example = || (0, demand.name.clone());
                self.refusals.entry(code.clone()).or_insert_with(example).0 += 1;
                return;
            }
            Outcome::ServerRefused(words) => {
                counts.by_server += 1;
                let what = (demand.subject().to_owned(), words.clone());
                *self.by_server.entry(what).or_default() += 1;
                return;
            }
            Outcome::Reported(breach) => {
                counts.reported += 1;
                // The model is free to call, and to call badly.
                let is_promised =
                    demand.must_call || demand.tools.is_empty() && demand.customs.is_empty();
                if is_exact && is_promised {
                    match reason(breach, demand, self.notes, evidence) {
                        Some(reason) => *self.excused.entry(reason).or_default() += 1,
                        None => {
                            let what = (demand.subject().to_owned(), breach.rule.clone());
                            let (name, words) = (&demand.name, &breach.words);
                            let example = format!("{name} ({}): {words}", way.strategy);
                            self.broken.insert(what, example);
                        }
                    }
                }
            }
            Outcome::Cut => counts.cut += 1,
            Outcome::Right => counts.right += 1,
            Outcome::Wrong(_) => {}
        }
        let counts = &mut self.counts;
        match (way.strategy.as_str(), way.losses) {
            ("instruct", _) => counts.instructed += 1,
            (_, true) => counts.partly += 1,
            (_, false) => counts.exact += 1,
        }
    }

    /// What to look at.
    pub(crate) fn tell(&self) {
        let label = self.notes.label;
        for (code, (count, example)) in &self.refusals {
            println!("{label}: {count} x refused: {code}, for example {example}");
        }
        for ((subject, words), count) in &self.by_server {
            println!("{label}: {count} x refused by the server: {subject}: {words}");
        }
        for example in self.broken.values() {
            println!("{label}: carried exactly, and wrong: {example}");
        }
        for (reason, count) in &self.excused {
            println!("{label}: {count} x carried exactly, and wrong: {reason:?}");
        }
    }
}

impl Counts {
    /// In the order of [`Figures::HEAD`].
    pub(crate) const fn all(&self) -> [usize; 10] {
        [
            self.trips,
            self.exact,
            self.partly,
            self.instructed,
            self.right,
            self.asked_again,
            self.reported,
            self.refused,
            self.by_server,
            self.cut,
        ]
    }

    pub(crate) const fn of(
        [
            trips,
            exact,
            partly,
            instructed,
            right,
            asked_again,
            reported,
            refused,
            by_server,
            cut,
        ]: [usize; 10],
    ) -> Self {
        Self {
            trips,
            exact,
            partly,
            instructed,
            right,
            asked_again,
            reported,
            refused,
            by_server,
            cut,
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [
            trips,
            exact,
            partly,
            instructed,
            right,
            asked_again,
            reported,
            refused,
            by_server,
            cut,
        ] = self.counts.all();
        let label = self.notes.label;
        write!(
            f,
            "{label:18} {trips:6} {exact:6} {partly:15} {instructed:11} {right:6} {asked_again:9} {reported:9} {refused:8} {by_server:10} {cut:4}"
        )
    }
}
