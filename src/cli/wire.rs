//! Where the commands meet the library: rules from their folder, constraints to checks, and what
//! the admin listener tells of a running proxy.

use super::Failure;
use super::demands::demands_json;
use super::findings::report_json;
use crate::admin::{Readiness, State, UpstreamState};
use crate::compile::{Compiler, CompilerLimits};
use crate::config::{Config, DialectPin};
use crate::proxy::App;
use crate::rules::{Rule, RuleSet};
use crate::telemetry::{CompileMetrics, Metrics};
use crate::upstream::Upstream;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The built-in rules, overlaid by the files of a folder.
pub(super) fn rules(folder: Option<&Path>) -> Result<RuleSet, Failure> {
    let Some(folder) = folder else {
        return Ok(RuleSet::builtin());
    };
    let unreadable = |path: &Path, error: std::io::Error| {
        let path = path.display();
        Failure::Config(format!(
            "{path}: cannot be read: {error}: --rules names a folder of rule files"
        ))
    };
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
            files.push((path.display().to_string(), text));
        }
    }
    files.sort();
    RuleSet::with_overlay(&files).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Failure::Config(faults.join("\n"))
    })
}

/// Whether every pinned dialect has a rule.
pub(super) fn check_pins(config: &Config, rules: &RuleSet) -> Result<(), Failure> {
    for upstream in &config.upstreams {
        if let Some(pin) = &upstream.dialect {
            rule(rules, pin).map_err(Failure::Config)?;
        }
    }
    Ok(())
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
pub(super) fn app(config: Config, rules: RuleSet) -> Result<(Arc<App>, Arc<Metrics>), Failure> {
    let metrics = Arc::new(Metrics::new(rules.names().into_iter().map(str::to_owned)));
    let compiler = compiler(&config, &metrics);
    let app = App::new(config, &Arc::new(rules), compiler, Arc::clone(&metrics));
    match app {
        Ok(app) => Ok((app, metrics)),
        Err(error) => Err(Failure::Config(chain(&error))),
    }
}

/// The compiler with the configured bounds, counted in the metrics.
fn compiler(config: &Config, metrics: &Arc<Metrics>) -> Compiler {
    let limits = CompilerLimits {
        cache_entries: config.limits.cache_entries,
        cache_bytes: config.limits.cache_bytes,
        ..CompilerLimits::default()
    };
    Compiler::observed(limits, Arc::new(CompileMetrics(Arc::clone(metrics))))
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// What operators are told of a running proxy.
pub(super) fn operators(app: &Arc<App>, metrics: &Arc<Metrics>) -> Arc<dyn State> {
    Arc::new(Operators {
        app: Arc::clone(app),
        metrics: Arc::clone(metrics),
    })
}

struct Operators {
    app: Arc<App>,
    metrics: Arc<Metrics>,
}

impl State for Operators {
    fn ready(&self) -> Readiness {
        let draining = !self.app.is_accepting();
        let upstreams = self.app.upstreams().status().into_iter();
        Readiness {
            ready: !draining && self.app.upstreams().is_ready(),
            draining,
            upstreams: upstreams
                .map(|status| UpstreamState {
                    url: status.url,
                    state: status.state.to_owned(),
                    dialect: status.dialect,
                    reason: status.reason,
                })
                .collect(),
        }
    }

    fn capabilities(&self) -> Value {
        let upstream = |upstream: &Arc<Upstream>| {
            let status = upstream.status();
            let rule = upstream.rule();
            let rule = rule.as_deref();
            json!({
                "url": status.url,
                "state": status.state,
                "dialect": rule.map(|rule| &rule.dialect),
                "version": rule.and_then(|rule| rule.version).map(|version| version.to_string()),
                "strategies": rule.map(demands_json),
                "probe": upstream.report().as_deref().map(report_json),
            })
        };
        let upstreams: Vec<Value> = self.app.upstreams().iter().map(upstream).collect();
        json!({"client_dialects": ["chat"], "upstreams": upstreams})
    }

    fn metrics(&self) -> String {
        self.metrics.render()
    }
}
