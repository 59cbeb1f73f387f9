//! The servers that names stand for, while the proxy runs: what DNS says is put in force as another configuration is, so that
//! streams keep what they began with, a server that stays is not asked again, and one that went gets nothing new.

use super::House;
use crate::config::{Config, Name};
use crate::telemetry::Metrics;
use crate::upstream::{Answer, Names, News, Resolver, Trouble};
use futures_util::future::join_all;
use isogloss_core::rules::RuleSet;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// New servers are looked at before they take over, for so long at the most: those that went are not to be asked meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

/// What all that is in force comes from: a configuration as it was read, and the servers that its names stand for.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) rules: Arc<RuleSet>,
    pub(super) names: Names,
    resolver: Option<Resolver>,
}

impl Plan {
    pub(super) fn new(config: Config, rules: &Arc<RuleSet>, now: Instant) -> Self {
        Self::knowing(Names::default(), config, rules, now)
    }

    /// The same by another configuration.
    pub(super) fn followed_by(&self, config: Config, rules: &Arc<RuleSet>, now: Instant) -> Self {
        Self::knowing(self.names.clone(), config, rules, now)
    }

    fn knowing(mut names: Names, config: Config, rules: &Arc<RuleSet>, now: Instant) -> Self {
        names.follow(&config, now);
        Self {
            // What the machine's own DNS servers are may have changed since the last.
            resolver: resolver(&names),
            config,
            rules: Arc::clone(rules),
            names,
        }
    }

    /// The configuration with the servers in the place of their names.
    pub(super) fn expanded(&self) -> Config {
        self.config.with_servers(|name| self.names.endpoints(name))
    }

    /// Asks for all that is to be asked for now.
    pub(super) async fn ask(&mut self, metrics: &Metrics) {
        let Some(resolver) = self.resolver.clone() else {
            return;
        };
        let due = self.names.to_ask(Instant::now());
        for (name, answer) in ask(&resolver, due).await {
            metrics.looked_up(outcome(answer.as_ref().err().copied()));
            self.names.answered(&name, answer, Instant::now());
        }
    }
}

/// Nobody is asked where there is nothing to ask for.
fn resolver(names: &Names) -> Option<Resolver> {
    names.due().map(|_| Resolver::new(names.resolver()))
}

async fn ask(resolver: &Resolver, names: Vec<Name>) -> Vec<(Name, Result<Answer, Trouble>)> {
    let answers = names.into_iter().map(async |name| {
        let answer = resolver.ask(&name).await;
        (name, answer)
    });
    join_all(answers).await
}

/// Asks for each name when its answer ends, for as long as the proxy is there.
pub(super) async fn seek(house: Weak<House>, replanned: Arc<Notify>) {
    // Before that it is not there yet.
    replanned.notified().await;
    loop {
        let Some(there) = house.upgrade() else {
            return;
        };
        let due = there.plan.lock().await.names.due();
        // Who waits does not keep the proxy.
        drop(there);
        let wait = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wait => {}
            () = replanned.notified() => continue,
        }
        if let Some(there) = house.upgrade() {
            there.look_again().await;
        }
    }
}

impl House {
    /// Asks for the names whose answers have ended, and puts in force what that changes.
    async fn look_again(&self) {
        let (resolver, due) = {
            let plan = self.plan.lock().await;
            (plan.resolver.clone(), plan.names.to_ask(Instant::now()))
        };
        let Some(resolver) = resolver else {
            return;
        };
        // Whoever reloads does not wait for that.
        let answers = ask(&resolver, due).await;
        let mut plan = self.plan.lock().await;
        let before = plan.names.clone();
        let metrics = Arc::clone(&self.app().metrics);
        let mut is_changed = false;
        for (name, answer) in answers {
            let trouble = answer.as_ref().err().copied();
            let news = plan.names.answered(&name, answer, Instant::now());
            is_changed |= matches!(news, News::Servers { .. });
            tell(
                &metrics,
                &name,
                news,
                trouble,
                plan.names.endpoints(&name).len(),
            );
        }
        if is_changed && let Err(error) = self.put_in_force(&plan, PATIENCE).await {
            // The same configuration with other addresses: only files that are read anew (certificates' roots) can fail.
            tracing::error!(%error, "the servers that DNS names cannot be set up; those before stay in force");
            plan.names = before;
            plan.names.put_off(Instant::now());
        }
        self.tell_of(&plan.names);
    }
}

fn outcome(trouble: Option<Trouble>) -> &'static str {
    trouble.map_or("answered", Trouble::as_str)
}

fn tell(metrics: &Metrics, name: &Name, news: News, trouble: Option<Trouble>, servers: usize) {
    metrics.looked_up(outcome(trouble));
    let name = name.as_str();
    match (news, trouble) {
        (News::None, _) => {}
        (News::Trouble, Some(trouble)) => {
            tracing::warn!(name, servers, reason = %trouble, "DNS does not say which servers the name stands for; those that it named last stay");
        }
        (News::Trouble, None) => tracing::info!(
            name,
            servers,
            "DNS says again which servers the name stands for"
        ),
        (News::Servers { added, removed }, _) => {
            tracing::info!(name, servers, added, removed, "DNS names other servers");
        }
    }
}
