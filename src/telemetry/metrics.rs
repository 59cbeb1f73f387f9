//! The recorder: method calls in, the Prometheus text format out. Owned, never global, so that
//! two proxies in one process (and tests) keep their numbers apart.

use super::families as family;
use super::families::{FAMILIES, Family, FamilyKind};
use crate::compile::Observer;
use crate::error::{Error, Kind, Side};
use crate::ir::{Loss, Strategy};
use crate::probe::{DEMANDS, Report};
use crate::rules::Verdict;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A word that is in none of a label's sets.
const OTHER: &str = "other";

const STRATEGIES: [&str; 6] = {
    let mut words = [""; 6];
    let mut index = 0;
    while index < words.len() {
        words[index] = Strategy::ALL[index].as_str();
        index += 1;
    }
    words
};

/// [`crate::ir::Constraint::kind`].
const CONSTRAINTS: &[&str] = &[
    "json_schema",
    "json_object",
    "regex",
    "choice",
    "grammar:gbnf",
    "grammar:lark",
    "structural_tag",
];

/// What [`crate::ir::Violation::rule`] can be: JSON Schema keywords (2020-12 and the older
/// drafts' own), and the proxy's words.
const RULES: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "content",
    "contentEncoding",
    "contentMediaType",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "false",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "required",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "choice",
    "depth",
    "grammar",
    "json",
    "json_object",
    "json_schema",
    "max_calls",
    "parallel_tool_calls",
    "regex",
    "schema",
    "structural_tag",
    "tool",
    "tool_choice",
    "tool_name",
];

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered, and the demand is met.
    Ok,
    /// Answered although the demand is broken (`on_violation = "pass"`).
    Passed,
    /// Refused: the reply broke the demand.
    Violated,
    /// Refused: the client can mend it.
    ClientError,
    /// The upstream failed.
    UpstreamError,
    /// The proxy was at a limit, shutting down, or wrong.
    ProxyError,
    /// The client went away first.
    ClientGone,
}

impl Outcome {
    /// The label's value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Passed => "passed",
            Self::Violated => "violated",
            Self::ClientError => "client_error",
            Self::UpstreamError => "upstream_error",
            Self::ProxyError => "proxy_error",
            Self::ClientGone => "client_gone",
        }
    }
}

impl From<Kind> for Outcome {
    fn from(kind: Kind) -> Self {
        match (kind, kind.side()) {
            (Kind::ConstraintViolated, _) => Self::Violated,
            (_, Side::Client) => Self::ClientError,
            (_, Side::Upstream) => Self::UpstreamError,
            (_, Side::Proxy) => Self::ProxyError,
        }
    }
}

impl From<&Error> for Outcome {
    fn from(error: &Error) -> Self {
        error.kind.into()
    }
}

/// What a finished request is counted under.
#[derive(Debug, Clone, Copy)]
pub struct RequestLabels<'a> {
    /// The client's dialect, a name of this program (`chat`).
    pub client: &'static str,
    /// The rule's name; one that is not among the loaded rules counts as `other`.
    pub server: &'a str,
    /// [`Strategy::as_str`].
    pub strategy: &'static str,
    /// How it ended.
    pub outcome: Outcome,
}

/// Histograms, one a strategy.
#[derive(Debug)]
struct ByStrategy([Histogram; STRATEGIES.len()]);

impl ByStrategy {
    fn new(recorder: &PrometheusRecorder, family: &Family) -> Self {
        Self(STRATEGIES.map(|strategy| {
            recorder.register_histogram(&key(family, [strategy.to_owned()]), &METADATA)
        }))
    }

    fn record(&self, strategy: &str, time: Duration) {
        let found = STRATEGIES.iter().position(|word| *word == strategy);
        if let Some(histogram) = found.and_then(|index| self.0.get(index)) {
            histogram.record(time);
        }
    }
}

/// All metrics of one proxy.
#[derive(Debug)]
pub struct Metrics {
    recorder: PrometheusRecorder,
    dialects: Vec<String>,
    duration: ByStrategy,
    added: ByStrategy,
    first_delta: ByStrategy,
    streams: Gauge,
    evictions: Counter,
    entries: Gauge,
    bytes: Gauge,
}

const METADATA: Metadata<'static> = Metadata::new("isogloss", Level::INFO, None);

fn key<const N: usize>(family: &Family, values: [String; N]) -> Key {
    let names = family.labels.iter();
    let labels: Vec<Label> = names
        .zip(values)
        .map(|(name, value)| Label::new(*name, value))
        .collect();
    Key::from_parts(family.name, labels)
}

fn closed(word: &str, set: &[&'static str]) -> String {
    set.iter()
        .find(|known| **known == word)
        .map_or(OTHER, |known| *known)
        .to_owned()
}

impl Metrics {
    /// Registers every family. `dialects` are the names of the loaded rules.
    #[must_use]
    pub fn new(dialects: impl IntoIterator<Item = String>) -> Self {
        let recorder = recorder();
        let plain = |family: &Family| key(family, []);
        let metrics = Self {
            dialects: dialects.into_iter().collect(),
            duration: ByStrategy::new(&recorder, &family::REQUEST_DURATION),
            added: ByStrategy::new(&recorder, &family::ADDED),
            first_delta: ByStrategy::new(&recorder, &family::FIRST_DELTA),
            streams: recorder.register_gauge(&plain(&family::STREAMS_OPEN), &METADATA),
            evictions: recorder.register_counter(&plain(&family::CACHE_EVICTIONS), &METADATA),
            entries: recorder.register_gauge(&plain(&family::CACHE_ENTRIES), &METADATA),
            bytes: recorder.register_gauge(&plain(&family::CACHE_BYTES), &METADATA),
            recorder,
        };
        metrics.gauge(
            &family::BUILD_INFO,
            [env!("CARGO_PKG_VERSION").to_owned()],
            1.0,
        );
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let start = since_epoch.unwrap_or_default().as_secs_f64();
        metrics.gauge(&family::START_TIME, [], start);
        metrics
    }

    fn count<const N: usize>(&self, family: &Family, values: [String; N]) {
        self.recorder
            .register_counter(&key(family, values), &METADATA)
            .increment(1);
    }

    fn gauge<const N: usize>(&self, family: &Family, values: [String; N], value: f64) {
        self.recorder
            .register_gauge(&key(family, values), &METADATA)
            .set(value);
    }

    /// A request is over. `added` is the proxy's own share of `duration`.
    pub fn request_finished(
        &self,
        labels: RequestLabels<'_>,
        duration: Duration,
        added: Duration,
        first_delta: Option<Duration>,
    ) {
        let known = self.dialects.iter().any(|name| name == labels.server);
        let server = if known { labels.server } else { OTHER };
        self.count(
            &family::REQUESTS,
            [
                labels.client,
                server,
                labels.strategy,
                labels.outcome.as_str(),
            ]
            .map(str::to_owned),
        );
        self.duration.record(labels.strategy, duration);
        self.added.record(labels.strategy, added);
        if let Some(first) = first_delta {
            self.first_delta.record(labels.strategy, first);
        }
    }

    /// A streamed reply began; it is over when the guard drops.
    #[must_use]
    pub fn stream_opened(&self) -> StreamGuard {
        self.streams.increment(1.0);
        StreamGuard(self.streams.clone())
    }

    /// A reply broke the rule; `action` is what was done (`retry`, `reject`, `pass`, `cut`).
    pub fn violation(&self, rule: &str, action: &'static str) {
        self.count(
            &family::VIOLATIONS,
            [closed(rule, RULES), action.to_owned()],
        );
    }

    /// A request was sent again.
    pub fn retry(&self, why: &'static str) {
        self.count(&family::RETRIES, [why.to_owned()]);
    }

    /// Something was not carried to a server.
    pub fn loss(&self, loss: &Loss) {
        self.count(&family::LOSSES, [loss.enforced_by.as_str().to_owned()]);
    }

    /// An upstream failed.
    pub fn upstream_error(&self, kind: Kind) {
        self.count(&family::UPSTREAM_ERRORS, [kind.code().to_owned()]);
    }

    /// A client went away; `phase` is how far its reply had come.
    pub fn client_gone(&self, phase: &'static str) {
        self.count(&family::CLIENT_GONE, [phase.to_owned()]);
    }

    /// A limit was hit; `limit` is its name in the configuration.
    pub fn limit_hit(&self, limit: &'static str) {
        self.count(&family::LIMITS_HIT, [limit.to_owned()]);
    }

    /// Whether an upstream can be used; `index` is its place in the configuration.
    pub fn upstream_up(&self, index: usize, up: bool) {
        let value = if up { 1.0 } else { 0.0 };
        self.gauge(&family::UPSTREAM_UP, [index.to_string()], value);
    }

    /// Whether the worker takes requests. Said once, its families are there.
    pub fn worker_up(&self, up: bool) {
        self.gauge(&family::WORKER_UP, [], if up { 1.0 } else { 0.0 });
        self.recorder
            .register_counter(&key(&family::WORKER_RESTARTS, []), &METADATA)
            .increment(0);
    }

    /// The worker was started again.
    pub fn worker_restarted(&self) {
        self.count(&family::WORKER_RESTARTS, []);
    }

    /// What an upstream was found to do; what was not asked has no verdict.
    pub fn probed(&self, index: usize, report: &Report) {
        for demand in DEMANDS {
            let found = report.verdict(demand).map(Verdict::as_str);
            for word in Verdict::WORDS {
                let value = if found == Some(word) { 1.0 } else { 0.0 };
                let labels = [index.to_string(), demand.to_owned(), word.to_owned()];
                self.gauge(&family::PROBE_RESULTS, labels, value);
            }
        }
    }

    /// Everything in the Prometheus text format (version 0.0.4).
    #[must_use]
    pub fn render(&self) -> String {
        self.recorder.handle().render()
    }

    /// Folds observations into their buckets. The recorder keeps each one until then or until
    /// [`Metrics::render`], so call it every few seconds even where nobody scrapes.
    pub fn upkeep(&self) {
        self.recorder.handle().run_upkeep();
    }
}

fn recorder() -> PrometheusRecorder {
    let mut builder = PrometheusBuilder::new();
    for family in FAMILIES {
        if let FamilyKind::Histogram(buckets) = family.kind {
            let name = Matcher::Full(family.name.to_owned());
            match builder.set_buckets_for_metric(name, buckets) {
                Ok(next) => builder = next,
                // The one error is an empty list, and `FAMILIES` is constant.
                Err(error) => unreachable!("{}: {error}", family.name),
            }
        }
    }
    let recorder = builder.build_recorder();
    for family in FAMILIES {
        let name = KeyName::from_const_str(family.name);
        let help = family.help.into();
        match family.kind {
            FamilyKind::Counter => recorder.describe_counter(name, None, help),
            FamilyKind::Gauge => recorder.describe_gauge(name, None, help),
            FamilyKind::Histogram(_) => recorder.describe_histogram(name, None, help),
        }
    }
    recorder
}

/// One streamed reply that is being sent.
#[derive(Debug)]
pub struct StreamGuard(Gauge);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// What the cache of compiled constraints tells of itself.
#[derive(Debug, Clone)]
pub struct CompileMetrics(pub Arc<Metrics>);

impl Observer for CompileMetrics {
    fn compiled(&self, kind: &'static str, seconds: f64) {
        let labels = [closed(kind, CONSTRAINTS)];
        self.0
            .recorder
            .register_histogram(&key(&family::COMPILE, labels), &METADATA)
            .record(seconds);
    }

    fn hit(&self, kind: &'static str) {
        let labels = [closed(kind, CONSTRAINTS)];
        self.0.count(&family::CACHE_HITS, labels);
    }

    fn miss(&self, kind: &'static str) {
        let labels = [closed(kind, CONSTRAINTS)];
        self.0.count(&family::CACHE_MISSES, labels);
    }

    fn wait(&self, kind: &'static str) {
        let labels = [closed(kind, CONSTRAINTS)];
        self.0.count(&family::CACHE_WAITS, labels);
    }

    fn evicted(&self, count: usize) {
        self.0.evictions.increment(count as u64);
    }

    fn size(&self, entries: usize, bytes: usize) {
        self.0.entries.set(entries as f64);
        self.0.bytes.set(bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Arc<Metrics> {
        Arc::new(Metrics::new(["vllm".to_owned(), "openai".to_owned()]))
    }

    #[track_caller]
    fn says(text: &str, line: &str) {
        assert!(
            text.lines().any(|found| found == line),
            "no `{line}` in\n{text}"
        );
    }

    #[test]
    fn a_finished_request_is_counted_and_timed() {
        let metrics = metrics();
        let labels = RequestLabels {
            client: "chat",
            server: "vllm",
            strategy: "native",
            outcome: Outcome::Ok,
        };
        let ms = Duration::from_millis;
        metrics.request_finished(labels, ms(400), Duration::from_micros(300), Some(ms(20)));
        let text = metrics.render();
        says(
            &text,
            "isogloss_requests_total{client_dialect=\"chat\",server_dialect=\"vllm\",strategy=\"native\",outcome=\"ok\"} 1",
        );
        says(
            &text,
            "isogloss_request_duration_seconds_bucket{strategy=\"native\",le=\"0.25\"} 0",
        );
        says(
            &text,
            "isogloss_request_duration_seconds_bucket{strategy=\"native\",le=\"0.5\"} 1",
        );
        says(
            &text,
            "isogloss_added_seconds_bucket{strategy=\"native\",le=\"0.00035\"} 1",
        );
        says(
            &text,
            "isogloss_first_delta_seconds_count{strategy=\"native\"} 1",
        );
    }

    #[test]
    fn words_outside_the_closed_sets_count_as_other() {
        let metrics = metrics();
        metrics.violation("what the model wrote", "reject");
        metrics.violation("required", "retry");
        let labels = RequestLabels {
            client: "chat",
            server: "evil\"server",
            strategy: "native",
            outcome: Outcome::from(Kind::ConstraintViolated),
        };
        metrics.request_finished(labels, Duration::ZERO, Duration::ZERO, None);
        CompileMetrics(Arc::clone(&metrics)).hit("cheese");
        let text = metrics.render();
        says(
            &text,
            "isogloss_violations_total{rule=\"other\",action=\"reject\"} 1",
        );
        says(
            &text,
            "isogloss_violations_total{rule=\"required\",action=\"retry\"} 1",
        );
        says(
            &text,
            "isogloss_requests_total{client_dialect=\"chat\",server_dialect=\"other\",strategy=\"native\",outcome=\"violated\"} 1",
        );
        says(&text, "isogloss_grammar_cache_hits_total{kind=\"other\"} 1");
    }

    #[test]
    fn the_worker_has_series_once_there_is_one() {
        let metrics = metrics();
        assert!(!metrics.render().contains("isogloss_worker"));
        metrics.worker_up(true);
        says(&metrics.render(), "isogloss_worker_up 1");
        says(&metrics.render(), "isogloss_worker_restarts_total 0");
        metrics.worker_up(false);
        metrics.worker_restarted();
        says(&metrics.render(), "isogloss_worker_up 0");
        says(&metrics.render(), "isogloss_worker_restarts_total 1");
    }

    #[test]
    fn a_stream_is_open_until_its_guard_drops() {
        let metrics = metrics();
        let one = metrics.stream_opened();
        let two = metrics.stream_opened();
        drop(one);
        says(&metrics.render(), "isogloss_streams_open 1");
        drop(two);
        says(&metrics.render(), "isogloss_streams_open 0");
    }

    #[test]
    fn the_cache_tells_its_size_and_its_evictions() {
        let metrics = metrics();
        let cache = CompileMetrics(Arc::clone(&metrics));
        cache.miss("json_schema");
        cache.compiled("json_schema", 0.02);
        cache.evicted(3);
        cache.size(7, 4096);
        let text = metrics.render();
        says(
            &text,
            "isogloss_grammar_cache_misses_total{kind=\"json_schema\"} 1",
        );
        says(
            &text,
            "isogloss_compile_seconds_bucket{kind=\"json_schema\",le=\"0.025\"} 1",
        );
        says(&text, "isogloss_grammar_cache_evictions_total 3");
        says(&text, "isogloss_grammar_cache_entries 7");
        says(&text, "isogloss_grammar_cache_bytes 4096");
    }

    #[test]
    fn every_family_that_has_a_series_has_help_and_type() {
        let metrics = metrics();
        let text = metrics.render();
        for family in [
            &family::STREAMS_OPEN,
            &family::BUILD_INFO,
            &family::START_TIME,
        ] {
            says(&text, &format!("# HELP {} {}", family.name, family.help));
            says(
                &text,
                &format!("# TYPE {} {}", family.name, family.kind.as_str()),
            );
        }
        let mut names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
        for family in FAMILIES {
            let counts = family.kind == FamilyKind::Counter;
            assert_eq!(counts, family.name.ends_with("_total"), "{}", family.name);
        }
    }

    #[test]
    fn two_proxies_in_one_process_keep_their_numbers_apart() {
        let (one, two) = (metrics(), metrics());
        one.retry("violation");
        says(&one.render(), "isogloss_retries_total{why=\"violation\"} 1");
        assert!(!two.render().contains("retries"));
    }
}
