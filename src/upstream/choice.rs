//! Which server is asked: a model's name and what is known of the servers in, one that can be used out.

use super::balance::{self, Seen};
use super::served::nobody_has;
use super::{State, Upstream, Upstreams};
use isogloss_core::error::{Error, Kind};
use isogloss_core::rules::Rule;
use std::sync::{Arc, PoisonError};
use tokio::time::Instant;

/// A server that can be used, and its rule.
#[derive(Debug, Clone)]
pub struct Target {
    /// The server.
    pub upstream: Arc<Upstream>,
    /// How it takes structured output.
    pub rule: Arc<Rule>,
    /// The same without what is only supposed for this request.
    pub known: Arc<Rule>,
    /// What it calls the model, where that is another name than the request's.
    pub model: Option<Arc<str>>,
}

/// What a request needs of a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The model that it names; empty where it names none.
    pub model: &'a str,
    /// What it has in common with those that are to go to the same server.
    pub key: Option<u64>,
    /// The servers that failed with it, by their place.
    pub tried: &'a [usize],
}

/// Who of all may be asked.
enum Candidates<'u> {
    /// In the order in which they are preferred: those of one tier are equal.
    Tiers([Vec<&'u Arc<Upstream>>; 2]),
    /// The model is known to be nowhere.
    Nowhere,
}

impl Upstreams {
    /// The server for a model that a request names, with the model's rule: of those that have the model, may be asked
    /// and can be used one of those whose rule ranks lowest. Waits for one that is starting, loading or restarting, at most the
    /// configured time.
    ///
    /// # Errors
    /// No server has the model; or none of them can be used: why the first one cannot.
    pub async fn ready(
        &self,
        wanted: &Wanted<'_>,
        may: impl Fn(&Upstream) -> bool,
        rank: impl Fn(&Target) -> u8,
    ) -> Result<Target, Error> {
        let arrived = Instant::now();
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let tiers = match self.candidates(wanted, &may) {
                Candidates::Tiers(tiers) => tiers,
                Candidates::Nowhere => return Err(self.nowhere(wanted, &may)),
            };
            if let Some(target) = self.target(&tiers, wanted, &rank) {
                return Ok(target);
            }
            let all = || tiers.iter().flatten();
            let deadlines = all().filter_map(|one| {
                let state = one.state.borrow();
                state.worth_waiting(arrived, self.loading)
            });
            // Another server failed already: there is an answer to give.
            let deadline = deadlines.max().filter(|_| wanted.tried.is_empty());
            let Some(deadline) = deadline else {
                return Err(refusal(all().next()));
            };
            let changed = tokio::time::timeout_at(deadline, changes.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return Err(refusal(all().next()));
            }
        }
    }

    /// What whoever may ask some of them is told of a model that none of those has.
    fn nowhere(&self, wanted: &Wanted<'_>, may: &impl Fn(&Upstream) -> bool) -> Error {
        nobody_has(wanted.model, self.all.iter().filter(|one| may(one)))
    }

    /// The server for a request that needs no dialect, of those that may be asked it: one that has the model (which may
    /// have no name), can be used and is not put aside for it, else one that is, else the first that is not known to be down, else the first.
    ///
    /// # Errors
    /// No server has the model, or there is none that may be asked.
    pub fn any(
        &self,
        wanted: &Wanted<'_>,
        may: impl Fn(&Upstream) -> bool,
    ) -> Result<Arc<Upstream>, Error> {
        let tiers = match self.candidates(wanted, &may) {
            Candidates::Tiers(tiers) => tiers,
            Candidates::Nowhere => return Err(self.nowhere(wanted, &may)),
        };
        if let Some(one) = self.usable_of(&tiers, wanted) {
            return Ok(Arc::clone(one));
        }
        let hopeful = |one: &&&Arc<Upstream>| !matches!(*one.state.borrow(), State::Down { .. });
        let mut all = tiers.iter().flatten();
        let found = all.clone().find(hopeful).or_else(|| all.next());
        found
            .map(|one| Arc::clone(one))
            .ok_or_else(|| refusal(None))
    }

    /// The server that such a request goes to next that failed at others: one that can be used, or none.
    pub fn another(
        &self,
        wanted: &Wanted<'_>,
        may: impl Fn(&Upstream) -> bool,
    ) -> Option<Arc<Upstream>> {
        match self.candidates(wanted, &may) {
            Candidates::Tiers(tiers) => self.usable_of(&tiers, wanted).cloned(),
            Candidates::Nowhere => None,
        }
    }

    /// The servers that may be asked for this model, whether they can be used or not: the worker where there is no other.
    #[must_use]
    pub fn having(&self, model: &str) -> Vec<&Arc<Upstream>> {
        let wanted = Wanted {
            model,
            ..Wanted::default()
        };
        match self.candidates(&wanted, &|_upstream: &Upstream| true) {
            Candidates::Tiers([servers, workers]) if servers.is_empty() => workers,
            Candidates::Tiers([servers, _workers]) => servers,
            Candidates::Nowhere => Vec::new(),
        }
    }

    fn usable_of<'u>(
        &self,
        tiers: &[Vec<&'u Arc<Upstream>>; 2],
        wanted: &Wanted<'_>,
    ) -> Option<&'u Arc<Upstream>> {
        tiers.iter().find_map(|tier| {
            let usable = tier.iter().filter(|one| one.is_usable()).copied();
            let mut usable: Vec<_> = usable.collect();
            first(&mut usable, wanted.model, |one| one);
            self.one_of(&usable, wanted)
        })
    }

    /// The servers that go by this rule for a model, by their place: what one of them cannot be sent, none can.
    #[must_use]
    pub fn alike(&self, rule: &Arc<Rule>, model: &str) -> Vec<usize> {
        let goes_by = |one: &&Arc<Upstream>| {
            let own = one.rule_for(model);
            own.is_some_and(|own| Arc::ptr_eq(&own, rule))
        };
        let alike = self.all.iter().filter(goes_by);
        alike.map(|one| one.index).collect()
    }

    /// The models that may be asked for where this one cannot be, in their order.
    #[must_use]
    pub fn fallbacks(&self, model: &str) -> Vec<String> {
        let has = self.all.iter().filter(|one| one.has(model));
        let mut all: Vec<String> = Vec::new();
        for name in has.flat_map(|one| one.fallback()) {
            if name != model && !all.contains(name) {
                all.push(name.clone());
            }
        }
        all
    }

    /// Another request came, of which some may be sent again.
    pub fn deposit(&self) {
        if self.all.len() > 1 {
            let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
            budget.deposit();
        }
    }

    /// Whether a request that failed at one server may be sent to another.
    #[must_use]
    pub fn may_send_again(&self) -> bool {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        self.all.len() > 1 && budget.withdraw(Instant::now())
    }

    fn candidates(&self, wanted: &Wanted<'_>, may: &impl Fn(&Upstream) -> bool) -> Candidates<'_> {
        let all = || {
            let untried = |one: &&Arc<Upstream>| !wanted.tried.contains(&one.index);
            self.all.iter().filter(|one| may(one)).filter(untried)
        };
        let (workers, servers): (Vec<_>, Vec<_>) = all().partition(|one| one.worker.is_some());
        if wanted.model.is_empty() {
            return Candidates::Tiers([servers, workers]);
        }
        // A server that was tried and has the model still shows where it is.
        let everybody = || self.all.iter().filter(|one| may(one));
        let is_known = everybody().any(|one| one.has(wanted.model));
        let has = |one: &&Arc<Upstream>| one.has(wanted.model);
        let may_have = |one: &&Arc<Upstream>| one.may_have();
        if is_known {
            return Candidates::Tiers([servers.into_iter().filter(has).collect(), workers]);
        }
        let mut upstreams = self.all.iter().filter(|one| one.worker.is_none());
        // Of one server nobody asks whether it lists what clients call its model.
        let is_alone = upstreams.clone().count() <= 1;
        let is_one_of_many = |one: &Arc<Upstream>| one.is_told_models() || one.is_discovered;
        if is_alone && !upstreams.clone().any(is_one_of_many) {
            return Candidates::Tiers([servers, workers]);
        }
        if !upstreams.any(|one| one.may_have()) {
            return Candidates::Nowhere;
        }
        Candidates::Tiers([servers.into_iter().filter(may_have).collect(), workers])
    }

    fn target(
        &self,
        tiers: &[Vec<&Arc<Upstream>>; 2],
        wanted: &Wanted<'_>,
        rank: &impl Fn(&Target) -> u8,
    ) -> Option<Target> {
        tiers.iter().find_map(|tier| {
            let mut targets: Vec<Target> = Vec::with_capacity(tier.len());
            targets.extend(tier.iter().filter_map(|one| one.target(wanted.model)));
            if targets.len() < 2 {
                return targets.pop();
            }
            first(&mut targets, wanted.model, |one| &one.upstream);
            if !self.is_ordered {
                best(&mut targets, rank);
            }
            let servers: Vec<&Arc<Upstream>> = targets.iter().map(|one| &one.upstream).collect();
            let index = self.one_of(&servers, wanted)?.index;
            targets.into_iter().find(|one| one.upstream.index == index)
        })
    }

    /// One of several that are equal.
    fn one_of<'u>(
        &self,
        servers: &[&'u Arc<Upstream>],
        wanted: &Wanted<'_>,
    ) -> Option<&'u Arc<Upstream>> {
        if servers.len() < 2 || self.is_ordered || wanted.model.is_empty() {
            return servers.first().copied();
        }
        let now = Instant::now();
        let seen: Vec<Seen> = servers.iter().map(|one| one.seen(now)).collect();
        let at = match wanted.key {
            Some(key) => {
                let places = servers
                    .iter()
                    .map(|one| balance::key(one.name().as_bytes()));
                balance::keep(&seen, &places.collect::<Vec<_>>(), key)
            }
            // Without randomness the first two are weighed, which is no reason to refuse.
            None => balance::choose(&seen, getrandom::u64().unwrap_or_default()),
        };
        servers.get(at?).copied()
    }
}

/// Leaves those that are to be asked before others: none that is put aside for the model where another is not, and of what is
/// left the first tier.
fn first<T>(all: &mut Vec<T>, model: &str, server: impl Fn(&T) -> &Upstream) {
    let now = Instant::now();
    let is_aside = |one: &T| server(one).is_aside(model, now);
    if !all.iter().all(is_aside) {
        all.retain(|one| !is_aside(one));
    }
    let tier = all.iter().map(|one| server(one).tier).min();
    all.retain(|one| Some(server(one).tier) == tier);
}

/// Leaves those that enforce best what is asked. Where all go by one rule nothing has to be ranked.
fn best(targets: &mut Vec<Target>, rank: &impl Fn(&Target) -> u8) {
    let first = targets.first().map(|one| Arc::clone(&one.rule));
    let is_same = |one: &Target| {
        first
            .as_ref()
            .is_some_and(|first| Arc::ptr_eq(first, &one.rule))
    };
    if targets.iter().all(is_same) {
        return;
    }
    let ranks: Vec<u8> = targets.iter().map(rank).collect();
    let lowest = ranks.iter().min().copied();
    let mut ranks = ranks.into_iter();
    targets.retain(|_| ranks.next() == lowest);
}

/// The same key for the same bytes.
#[must_use]
pub fn key(bytes: &[u8]) -> u64 {
    balance::key(bytes)
}

/// Why the first server cannot be used.
fn refusal(first: Option<&&Arc<Upstream>>) -> Error {
    first.map_or_else(
        || Error::new(Kind::UpstreamUnreachable, "no upstream is configured"),
        |one| one.state.borrow().refusal(),
    )
}

impl Upstream {
    pub(super) fn target(self: &Arc<Self>, model: &str) -> Option<Target> {
        let alias = self.alias(model);
        let model = alias.as_deref().unwrap_or(model);
        let (rule, is_asked) = {
            let models = self.models.borrow();
            let model = models.meant(model);
            let state = self.state.borrow();
            let rule = state.rule_of(model).cloned()?;
            (rule, state.report_of(model).is_some())
        };
        if !is_asked {
            self.want(model);
        }
        Some(Target {
            upstream: Arc::clone(self),
            known: Arc::clone(&rule),
            rule,
            model: alias,
        })
    }

    fn rule_for(&self, model: &str) -> Option<Arc<Rule>> {
        let alias = self.alias(model);
        let models = self.models.borrow();
        self.rule_of(models.meant(alias.as_deref().unwrap_or(model)))
    }

    /// The server and its rule for a model, as if this were known of it; `None` where that is nothing new.
    pub fn supposing(self: &Arc<Self>, facts: &[String], model: &str) -> Option<Target> {
        let target = self.target(model)?;
        let mut supposed = None;
        for fact in facts {
            let known = supposed.as_ref().unwrap_or(&*target.rule);
            supposed = known.knowing(fact).or(supposed);
        }
        Some(Target {
            rule: self.in_use.shared(Arc::new(supposed?)),
            ..target
        })
    }
}
