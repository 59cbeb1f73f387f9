//! Where the commands meet the library: rules from their folder, constraints to checks, and what
//! the admin listener tells of a running proxy.

use super::demands::demands_json;
use super::findings::report_json;
use super::{Failure, console};
use crate::admin::{ConfigurationState, Fault, NameState, Query, Readiness, State, UpstreamState};
use crate::config::{Config, DialectPin};
use crate::proxy::House;
use crate::telemetry::{About, CompileMetrics, FAMILIES, Metrics};
use crate::upstream::{NameStatus, Phase, Proof, Refused, Upstream, Worker};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::passage;
use isogloss_core::rules::{Rule, RuleSet};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio::time::Instant;

/// The built-in rules, overlaid by the files of a folder.
pub(super) fn rules(folder: Option<&Path>) -> Result<RuleSet, Failure> {
    rule_set(&rule_files(folder)?)
}

/// The files of a folder of rules: each one's name and text.
pub(super) fn rule_files(folder: Option<&Path>) -> Result<Vec<(String, String)>, Failure> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let unreadable = |path: &Path, error: std::io::Error| {
        let path = path.display();
        Failure::Config(format!(
            "{path}: cannot be read: {error}: --rules names a folder of rule files"
        ))
    };
    let mut files = Vec::new();
    let markup = folder.join("markup");
    let markup = markup.is_dir().then_some(markup);
    for folder in std::iter::once(folder).chain(markup.as_deref()) {
        let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(folder, error))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let text =
                    std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
                files.push((path.display().to_string(), text));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The built-in rules, overlaid by these.
pub(super) fn rule_set(files: &[(String, String)]) -> Result<RuleSet, Failure> {
    if files.is_empty() {
        return Ok(RuleSet::builtin());
    }
    RuleSet::with_overlay(files).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Failure::Config(faults.join("\n"))
    })
}

/// Whether the worker has a rule. What the configuration pins was looked at when it was read.
pub(super) fn check_worker(config: &Config, rules: &RuleSet) -> Result<(), Failure> {
    if config.worker.model.is_some() {
        let pin = DialectPin {
            name: "worker".to_owned(),
            version: None,
        };
        rule(rules, &pin).map_err(Failure::Config)?;
    }
    Ok(())
}

/// Whether a word names a format of markup, or says that none is read.
fn check_markup(rules: &RuleSet, word: &str) -> Result<(), String> {
    let formats = rules.formats();
    if word == Rule::NO_MARKUP || formats.by_name(word).is_some() {
        return Ok(());
    }
    let names = formats.iter().map(|format| format.name());
    let names = names.collect::<Vec<_>>().join(", ");
    Err(format!(
        "there is no markup `{word}`: there are {names}, and `{}`",
        Rule::NO_MARKUP
    ))
}

/// The rule where the operator says in which markup models write.
pub(super) fn marked(rules: &RuleSet, rule: Rule, word: Option<&str>) -> Result<Rule, String> {
    let Some(word) = word else {
        return Ok(rule);
    };
    check_markup(rules, word)?;
    Ok(rule.clone().with_markup(word).unwrap_or(rule))
}

/// The rule of a pinned dialect, or what could be pinned instead.
pub(super) fn rule(rules: &RuleSet, pin: &DialectPin) -> Result<Rule, String> {
    rules.resolve(&pin.name, pin.version).ok_or_else(|| {
        let names = rules.names().join(", ");
        format!(
            "there is no rule for the dialect `{}`: there are {names}",
            pin.name
        )
    })
}

/// Builds the proxy. Needs a runtime.
pub(super) fn house(
    config: Config,
    rules: &Arc<RuleSet>,
) -> Result<(Arc<House>, Arc<Metrics>), Failure> {
    let mut metrics = Metrics::new(rules.names().into_iter().map(str::to_owned));
    if let Some(endpoint) = &config.otlp_endpoint {
        let about = About::of(|name| std::env::var(name).ok());
        let started = metrics.export_traces(endpoint, about);
        started.map_err(|error| Failure::Config(format!("otlp_endpoint: {}", chain(&error))))?;
    }
    let metrics = Arc::new(metrics);
    let compiler = compiler(&config, &metrics);
    let house = House::new(config, rules, compiler, Arc::clone(&metrics));
    match house {
        Ok(house) => Ok((house, metrics)),
        Err(error) => Err(Failure::Config(chain(&error))),
    }
}

/// The compiler with the configured bounds, counted in the metrics.
fn compiler(config: &Config, metrics: &Arc<Metrics>) -> Compiler {
    let limits = CompilerLimits {
        cache_entries: config.limits.cache_entries,
        cache_bytes: config.limits.cache_bytes,
        timeout: config.timeouts.compile,
        queue_timeout: config.timeouts.compile,
        ..CompilerLimits::default()
    };
    Compiler::observed(limits, Arc::new(CompileMetrics(Arc::clone(metrics))))
}

/// An error and its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// What operators are told of a running proxy.
pub(super) fn operators(
    house: &Arc<House>,
    metrics: &Arc<Metrics>,
    reloads: watch::Receiver<ConfigurationState>,
) -> Arc<dyn State> {
    Arc::new(Operators {
        house: Arc::clone(house),
        reloads,
        metrics: Arc::clone(metrics),
        has_been_proven: AtomicBool::new(false),
    })
}

struct Operators {
    house: Arc<House>,
    metrics: Arc<Metrics>,
    /// What became of the configuration that was read last.
    reloads: watch::Receiver<ConfigurationState>,
    /// A server that enforces nothing keeps a proxy from becoming ready. It does not take ready
    /// ones out of service, all at once: they go on with instructions and verification, and an
    /// alert tells.
    has_been_proven: AtomicBool,
}

impl State for Operators {
    fn ready(&self) -> Readiness {
        let app = self.house.app();
        let draining = !app.is_accepting();
        let upstreams = app.upstreams();
        if upstreams.is_proven() {
            self.has_been_proven.store(true, Ordering::Relaxed);
        }
        let proven = self.has_been_proven.load(Ordering::Relaxed);
        let tell = |upstream: &Arc<Upstream>| {
            let status = upstream.status();
            let proof = upstream.proof();
            UpstreamState {
                index: upstream.index(),
                name: upstream.given_name().map(str::to_owned),
                url: status.url,
                state: status.state.to_owned(),
                dialect: status.dialect,
                enforcement: proof.as_str(),
                reason: (status.reason)
                    .or_else(|| upstream.refused().map(key_refused))
                    .or_else(|| unproven(proof).map(str::to_owned)),
            }
        };
        Readiness {
            ready: !draining && proven && upstreams.is_ready(),
            draining,
            upstreams: upstreams.iter().map(tell).collect(),
            configuration: self.reloads.borrow().clone(),
            names: self.house.names().into_iter().map(name_state).collect(),
        }
    }

    fn capabilities(&self) -> Value {
        let upstream = |upstream: &Arc<Upstream>| {
            let status = upstream.status();
            let rule = upstream.rule();
            let rule = rule.as_deref();
            json!({
                "name": upstream.label(),
                "url": status.url,
                "state": status.state,
                "aliases": upstream.aliases().collect::<BTreeMap<_, _>>(),
                "in_flight": upstream.in_flight(),
                "circuits": circuits_json(upstream),
                "dialect": rule.map(|rule| &rule.dialect),
                "version": rule.and_then(|rule| rule.version).map(|version| version.to_string()),
                "strategies": rule.map(demands_json),
                "probe": upstream.report().as_deref().map(report_json),
                "models": models_json(upstream),
                "markup": upstream.markup().map(|markup| json!({
                    "format": markup.format.name(),
                    "from": markup.from.as_str(),
                })),
            })
        };
        let app = self.house.app();
        let upstreams: Vec<Value> = app.upstreams().iter().map(upstream).collect();
        let mut told = json!({"client_dialects": passage::clients(), "upstreams": upstreams});
        if let Some(worker) = app.upstreams().worker() {
            told["worker"] = worker_json(worker);
        }
        told
    }

    fn metrics(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            let app = self.house.app();
            let theirs = match app.upstreams().worker() {
                Some(worker) => worker.metrics().await,
                None => None,
            };
            let mut text = self.metrics.render();
            let circuits = app.upstreams().iter().flat_map(|one| {
                let all = one.circuits_open().into_iter();
                all.map(|(model, is_open)| ((one.index(), model), is_open))
            });
            text += &Metrics::circuits(&circuits.collect());
            let all = app.upstreams().iter();
            let called = all.map(|one| (one.index(), one.label(), one.name().to_owned()));
            text += &Metrics::upstreams(called);
            if let Some(theirs) = theirs {
                text.extend(others(&theirs));
            }
            text
        })
    }

    fn drained(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _leaving = self.house.app().leave();
            quiet(&self.metrics).await;
        })
    }

    fn overview(&self) -> BoxFuture<'_, Value> {
        Box::pin(async {
            let (readiness, capabilities) = (json!(self.ready()), self.capabilities());
            console::overview(
                &readiness,
                &capabilities,
                &self.metrics().await,
                &self.house.app(),
            )
        })
    }

    fn requests(&self, query: &Query) -> Value {
        console::requests(self.house.app().journal(), query)
    }

    fn request(&self, id: &str) -> Option<Value> {
        console::request(self.house.app().journal(), id)
    }

    fn ended(&self) -> u64 {
        self.house.app().journal().size().0
    }

    fn explain(&self, question: Bytes) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async move {
            let app = self.house.app();
            // A plan may be long work, which nobody else is to wait for.
            block_in_place(|| Handle::current().block_on(console::explained(&app, &question)))
        })
    }

    fn send(&self, question: Bytes) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async move { console::sent(&self.house.app(), &question).await })
    }
}

fn name_state(status: NameStatus) -> NameState {
    NameState {
        name: status.name,
        servers: status.servers,
        stale: status.trouble.is_some(),
        reason: status.trouble.map(|trouble| trouble.to_string()),
    }
}

/// Why a server that is there does not make the proxy ready.
const fn unproven(proof: Proof) -> Option<&'static str> {
    match proof {
        Proof::Asking => Some("it is being asked what it enforces"),
        Proof::EnforcesNothing => Some(
            "it enforces nothing that it was asked for; see /capabilities, or set probe = \"off\" to serve all the same",
        ),
        // Of which the key's own words tell.
        Proof::Enforces | Proof::KeyRefused | Proof::NotAsked => None,
    }
}

fn key_refused(refused: Refused) -> String {
    let status = refused.status;
    format!("the key that is configured was refused ({status})")
}

/// How long nothing must be in flight: a pod that ends still gets requests until every balancer
/// knows of it.
const QUIET: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Ends when there was no request for [`QUIET`], however short.
async fn quiet(metrics: &Metrics) {
    let (mut since, mut seen) = (Instant::now(), metrics.requests());
    while since.elapsed() < QUIET {
        tokio::time::sleep(LOOK_EVERY).await;
        let requests = metrics.requests();
        if metrics.in_flight() > 0 || requests != seen {
            (since, seen) = (Instant::now(), requests);
        }
    }
}

/// What operators are told of the worker, beside what holds for every upstream.
fn worker_json(worker: &Worker) -> Value {
    let status = worker.status();
    let facts = match &status.phase {
        Phase::Ready(facts) => Some(facts),
        _ => None,
    };
    json!({
        "upstream": worker.index(),
        "restarts": status.restarts,
        "models": facts.map(|facts| &facts.models),
        "device": facts.map(|facts| &facts.device),
        "layers": facts.map(|facts| facts.layers),
        "offloaded": facts.map(|facts| facts.offloaded),
        "takes": facts.map(|facts| &facts.takes),
    })
}

/// The lines of an exposition that tell of families which are not our own: a family may stand in
/// one exposition only once.
fn others(text: &str) -> impl Iterator<Item = String> {
    let is_other = |line: &&str| {
        let name = line
            .strip_prefix("# HELP ")
            .or_else(|| line.strip_prefix("# TYPE "))
            .unwrap_or(line);
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let name = name.split(|c| !is_letter(c)).next().unwrap_or_default();
        let parts = ["_bucket", "_sum", "_count"];
        let stem = parts.iter().find_map(|part| name.strip_suffix(part));
        let is_ours = |name: &str| FAMILIES.iter().any(|family| family.name == name);
        !name.is_empty() && !is_ours(name) && !stem.is_some_and(is_ours)
    };
    text.lines()
        .filter(is_other)
        .map(|line| format!("{line}\n"))
}

/// The models that failed since the server last answered them well.
fn circuits_json(upstream: &Upstream) -> Value {
    let circuits = upstream.circuits();
    let circuits = circuits
        .iter()
        .map(|one| json!({"model": one.model, "state": one.state, "failures": one.failures}));
    circuits.collect()
}

/// What each model was found to enforce that has been asked, and how demands are met with it.
fn models_json(upstream: &Upstream) -> Value {
    let reports = upstream.reports();
    let models = reports.iter().map(|report| {
        let rule = upstream.rule_of(&report.model);
        json!({
            "model": report.model,
            "strategies": rule.as_deref().map(demands_json),
            "probe": report_json(report),
        })
    });
    models.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_proxy_is_drained_when_nothing_was_in_flight_for_a_while() {
        let metrics = Metrics::new([]);
        let request = metrics.request_opened();
        let waiting = tokio::time::timeout(Duration::from_secs(600), quiet(&metrics));
        assert!(waiting.await.is_err(), "a request is in flight");
        drop(request);
        let begun = Instant::now();
        quiet(&metrics).await;
        assert!(begun.elapsed() >= QUIET);
        // Some are over before anybody looks.
        let begun = Instant::now();
        let short = async {
            tokio::time::sleep(QUIET / 2).await;
            drop(metrics.request_opened());
        };
        tokio::join!(quiet(&metrics), short);
        assert!(begun.elapsed() >= QUIET + QUIET / 2);
    }

    #[test]
    fn of_the_workers_families_those_go_along_that_the_proxy_has_not() {
        let text = "# HELP isogloss_grammar_compile_seconds x\n\
                    # TYPE isogloss_grammar_compile_seconds histogram\n\
                    isogloss_grammar_compile_seconds_bucket{kind=\"regex\",le=\"1\"} 3\n\
                    isogloss_grammar_compile_seconds_sum{kind=\"regex\"} 3\n\
                    process_start_time_seconds 1\n\
                    \n\
                    # HELP isogloss_worker_steps_total isogloss_grammar_compile_seconds\n\
                    # TYPE isogloss_worker_steps_total counter\n\
                    isogloss_worker_steps_total 9\n\
                    isogloss_worker_mask_seconds_bucket{le=\"1\"} 3\n";
        let kept: String = others(text).collect();
        assert_eq!(
            kept,
            "# HELP isogloss_worker_steps_total isogloss_grammar_compile_seconds\n\
             # TYPE isogloss_worker_steps_total counter\n\
             isogloss_worker_steps_total 9\n\
             isogloss_worker_mask_seconds_bucket{le=\"1\"} 3\n"
        );
    }
}
