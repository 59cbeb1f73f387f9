//! From one configuration's servers to the next one's, while requests run: a server of which the next one makes the
//! same stays known (who it is, what it enforces, its connections) and is not asked again; one that is new is looked
//! at before it gets anything where others can serve; one that is gone is looked at no more, and answers what it was
//! asked.

use super::{State, Upstream, Upstreams, watch};
use crate::config::{Config, DialectPin, Name, Secret, UpstreamConfig, UpstreamTls};
use isogloss_core::probe::Depth;
use isogloss_core::rules::RuleSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// The place of a server that is in no configuration that is in force.
pub(super) const NOWHERE: usize = usize::MAX;

/// What a server is made of, as far as what is known of it depends on that.
#[derive(Clone)]
pub(super) struct Likeness(Option<Arc<Made>>);

#[derive(PartialEq)]
struct Made {
    url: reqwest::Url,
    api_key: Option<Secret>,
    dialect: Option<DialectPin>,
    markup: Option<String>,
    thoughts: Option<String>,
    tls: UpstreamTls,
    /// Of a name that stands for several servers, and which of them.
    place: Option<(Name, Option<IpAddr>)>,
    probe: Depth,
    connect: Duration,
    rules: Rules,
}

/// The same rules are the same value.
struct Rules(Arc<RuleSet>);

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Likeness {
    pub(super) fn of(upstream: &UpstreamConfig, config: &Config, rules: &Arc<RuleSet>) -> Self {
        let UpstreamConfig {
            url,
            api_key,
            dialect,
            markup,
            thoughts,
            // None of them says who it is: they are looked at for each request, or can be set.
            forward: _,
            queue: _,
            name: _,
            models: _,
            aliases: _,
            weight: _,
            fallback: _,
            tls,
            servers,
            member,
        } = upstream.clone();
        Self(Some(Arc::new(Made {
            url,
            api_key,
            dialect,
            markup,
            thoughts,
            tls,
            // What it gets of all is no part of who it is.
            place: servers.map(|name| (name, member.map(|member| member.address))),
            probe: config.probe,
            connect: config.timeouts.connect,
            rules: Rules(Arc::clone(rules)),
        })))
    }

    /// Of the worker, which is the same in every configuration.
    pub(super) const fn of_worker() -> Self {
        Self(None)
    }

    fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl fmt::Debug for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Likeness(…)")
    }
}

/// Those who look at servers. Dropping it ends them.
#[derive(Debug, Default)]
pub(super) struct Watching(Mutex<JoinSet<()>>);

impl Watching {
    pub(super) fn begin(&self, watcher: impl Future<Output = ()> + Send + 'static) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.spawn(watcher);
    }

    fn end(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.abort_all();
    }
}

impl Upstreams {
    /// The server of which the same was made, and as which no other is known: one that is listed twice is two.
    pub(super) fn like(
        &self,
        likeness: &Likeness,
        others: &[Arc<Upstream>],
    ) -> Option<&Arc<Upstream>> {
        let mut all = self.all.iter();
        all.find(|one| {
            one.likeness.is(likeness) && !others.iter().any(|other| other.is_known_as(one))
        })
    }

    /// How many of these servers are those of another configuration.
    #[must_use]
    pub fn known_from(&self, before: &Self) -> usize {
        let is_known = |one: &&Arc<Upstream>| before.all.iter().any(|other| one.is_known_as(other));
        self.all.iter().filter(is_known).count()
    }

    /// From now on these servers are those of the configuration in force.
    pub fn take_over(&self, before: Option<&Self>) {
        if let Some(before) = before {
            before.watching.end();
            for one in &before.all {
                one.admission.is_left();
                one.shown.store(NOWHERE, Ordering::Relaxed);
            }
        }
        for (index, one) in self.all.iter().enumerate() {
            one.state.send_if_modified(|state| {
                one.shown.store(index, Ordering::Relaxed);
                one.metrics.upstream_up(index, state.rule().is_some());
                false
            });
            one.admission.set(&one.queue);
            if before.is_some() {
                one.metrics.probed_anew(index, one.report().as_deref());
            }
            let mut known = before.iter().flat_map(|before| &before.all);
            if one.worker.is_none() && known.any(|known| one.is_known_as(known)) {
                self.watching.begin(watch::go_on(Arc::clone(one)));
            }
        }
        if let Some(worker) = &self.worker {
            worker.is_in_force();
        }
        if let Some(one) = self.all.first() {
            one.metrics.upstreams_are(self.all.len());
        }
    }

    /// Waits until something is known of every server, for so long at most.
    pub async fn looked_at(&self, patience: Duration) {
        let mut changes = self.changes.subscribe();
        let is_unknown = |one: &Arc<Upstream>| matches!(*one.state.borrow(), State::Unknown { .. });
        let all = async {
            while self.all.iter().any(is_unknown) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _as_long_as_may_be = tokio::time::timeout(patience, all).await;
    }
}

impl Upstream {
    /// The same server as in the configuration before: all that is known of it stays, and so do its connections.
    pub(super) fn known_as(self, known: &Self) -> Self {
        Self {
            client: known.client.clone(),
            shown: Arc::clone(&known.shown),
            models: Arc::clone(&known.models),
            state: Arc::clone(&known.state),
            kick: Arc::clone(&known.kick),
            health: Arc::clone(&known.health),
            unasked: Arc::clone(&known.unasked),
            seen_as: Arc::clone(&known.seen_as),
            known_key: Arc::clone(&known.known_key),
            admission: Arc::clone(&known.admission),
            ..self
        }
    }

    fn is_known_as(&self, known: &Self) -> bool {
        Arc::ptr_eq(&self.state, &known.state)
    }

    /// Its place in the configuration that is in force, where it is in that.
    pub(super) fn shown(&self) -> Option<usize> {
        let index = self.shown.load(Ordering::Relaxed);
        (index != NOWHERE).then_some(index)
    }

    /// Who the server is stays known, and how it is asked is read anew off the rules.
    pub(super) fn rule_anew(&self) {
        let is_news = self.state.send_if_modified(|state| {
            let State::Ready { identity, .. } = state else {
                return false;
            };
            *state = match self.rules.rule_of(identity) {
                Some(rule) => State::ready(identity.clone(), rule),
                None => State::no_rule(&identity.dialect),
            };
            true
        });
        if is_news {
            self.changes
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
