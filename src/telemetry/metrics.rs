//! The recorder: method calls in, the Prometheus text format out. Owned, never global, so that
//! two proxies in one process (and tests) keep their numbers apart.

mod outcome;
mod upstreams;

use super::about::About;
use super::families as family;
use super::families::{FAMILIES, Family, FamilyKind};
use super::labels::{
    CONSTRAINTS, HANDSHAKES, LIMITS, OTHER, PHASES, RULES, STRATEGIES, WHYS, closed, lost,
};
use super::process;
use super::traces::Traces;
use isogloss_compile::Observer;
use isogloss_core::error::{Kind, Side};
use isogloss_core::ir::{Loss, RepairStep, Repairs};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};
pub use outcome::Outcome;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use upstreams::Places;
pub use upstreams::QueueRefusal;

/// What the store of responses does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreWork {
    /// Keeps a reply.
    Write,
    /// Looks for some.
    Read,
    /// Forgets one that a client wants forgotten.
    Delete,
    /// Forgets what has expired.
    Sweep,
}

impl StoreWork {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Write, Self::Read, Self::Delete, Self::Sweep];

    /// The label's value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Delete => "delete",
            Self::Sweep => "sweep",
        }
    }
}

/// What a finished request is counted under.
#[derive(Debug, Clone, Copy)]
pub struct RequestLabels<'a> {
    /// The client's dialect, a name of this program (`chat`).
    pub client: &'static str,
    /// The rule's name; one that is not among the loaded rules counts as `other`.
    pub server: &'a str,
    /// [`isogloss_core::ir::Strategy::as_str`].
    pub strategy: &'static str,
    /// How it ended.
    pub outcome: Outcome,
}

/// Where a finished request's time went.
#[derive(Debug, Clone, Copy)]
pub struct RequestTimes {
    /// From the request's head to the last byte of its reply.
    pub whole: Duration,
    /// The proxy's own share of it.
    pub own: Duration,
    /// The upstream's, where it was sent anything.
    pub upstream: Option<Duration>,
    /// To the first event of a streamed reply.
    pub first_delta: Option<Duration>,
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
    dialects: RwLock<Vec<String>>,
    places: Places,
    duration: ByStrategy,
    added: ByStrategy,
    upstream: ByStrategy,
    first_delta: ByStrategy,
    in_flight: Open,
    streams: Open,
    sockets: Open,
    buffered: Gauge,
    traces: Option<Traces>,
    evictions: Counter,
    entries: Gauge,
    bytes: Gauge,
    translations: Translations,
}

/// What is counted of what was written for servers before.
#[derive(Debug)]
struct Translations {
    hits: Counter,
    misses: Counter,
    evictions: Counter,
    entries: Gauge,
    bytes: Gauge,
}

impl Translations {
    fn new(recorder: &PrometheusRecorder) -> Self {
        let counter = |family| recorder.register_counter(&key(family, []), &METADATA);
        let gauge = |family| recorder.register_gauge(&key(family, []), &METADATA);
        Self {
            hits: counter(&family::TRANSLATION_HITS),
            misses: counter(&family::TRANSLATION_MISSES),
            evictions: counter(&family::TRANSLATION_EVICTIONS),
            entries: gauge(&family::TRANSLATION_ENTRIES),
            bytes: gauge(&family::TRANSLATION_BYTES),
        }
    }
}

/// What became of a configuration that was read anew.
const APPLIED: &str = "applied";
const REFUSED: &str = "refused";

fn seconds_since_epoch() -> f64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.unwrap_or_default().as_secs_f64()
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

impl Metrics {
    /// Registers every family. `dialects` are the names of the loaded rules.
    #[must_use]
    pub fn new(dialects: impl IntoIterator<Item = String>) -> Self {
        let recorder = recorder();
        let plain = |family: &Family| key(family, []);
        let metrics = Self {
            dialects: RwLock::new(dialects.into_iter().collect()),
            places: Places::default(),
            duration: ByStrategy::new(&recorder, &family::REQUEST_DURATION),
            added: ByStrategy::new(&recorder, &family::ADDED),
            upstream: ByStrategy::new(&recorder, &family::UPSTREAM_TIME),
            first_delta: ByStrategy::new(&recorder, &family::FIRST_DELTA),
            in_flight: Open::new(&recorder, &family::IN_FLIGHT),
            streams: Open::new(&recorder, &family::STREAMS_OPEN),
            sockets: Open::new(&recorder, &family::SOCKETS_OPEN),
            buffered: recorder.register_gauge(&plain(&family::BUFFERED), &METADATA),
            traces: None,
            evictions: recorder.register_counter(&plain(&family::CACHE_EVICTIONS), &METADATA),
            entries: recorder.register_gauge(&plain(&family::CACHE_ENTRIES), &METADATA),
            bytes: recorder.register_gauge(&plain(&family::CACHE_BYTES), &METADATA),
            translations: Translations::new(&recorder),
            recorder,
        };
        metrics.gauge(
            &family::BUILD_INFO,
            [env!("CARGO_PKG_VERSION").to_owned()],
            1.0,
        );
        for family in [
            &family::CACHE_HITS,
            &family::CACHE_MISSES,
            &family::CACHE_JOINS,
        ] {
            metrics.begin(family, CONSTRAINTS);
        }
        let errors = Kind::ALL
            .iter()
            .filter(|kind| kind.side() == Side::Upstream);
        let errors: Vec<&str> = errors.map(|kind| kind.code()).collect();
        metrics.begin(&family::UPSTREAM_ERRORS, &errors);
        metrics.begin(&family::REPAIRS, &RepairStep::ALL.map(RepairStep::as_str));
        metrics.begin(&family::RETRIES, WHYS);
        metrics.begin(&family::CLIENT_GONE, PHASES);
        metrics.begin(&family::LIMITS_HIT, LIMITS);
        metrics.begin(&family::HANDSHAKES_FAILED, HANDSHAKES);
        metrics.begin(&family::RELOADS, &[APPLIED, REFUSED]);
        metrics.gauge(&family::RELOAD_OK, [], 1.0);
        for family in [&family::START_TIME, &family::RELOAD_TIME] {
            metrics.gauge(family, [], seconds_since_epoch());
        }
        metrics
    }

    /// From now on requests are traced, and their spans go to this collector. Needs a runtime.
    ///
    /// # Errors
    /// No root certificates for an `https` collector.
    pub fn export_traces(
        &mut self,
        endpoint: &reqwest::Url,
        about: About,
    ) -> Result<(), reqwest::Error> {
        let dropped = key(&family::SPANS_DROPPED, []);
        let dropped = self.recorder.register_counter(&dropped, &METADATA);
        self.traces = Some(Traces::start(endpoint, about, dropped)?);
        Ok(())
    }

    /// Where spans go, if anywhere.
    #[must_use]
    pub const fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    /// Waits until the spans of all requests that are over are delivered, or cannot be.
    pub async fn flush_traces(&self) {
        if let Some(traces) = &self.traces {
            traces.flush().await;
        }
    }

    /// A rate needs a beginning: what has not happened yet is 0, not absent.
    fn begin(&self, family: &Family, values: &[&str]) {
        for value in values {
            let labels = key(family, [(*value).to_owned()]);
            let counter = self.recorder.register_counter(&labels, &METADATA);
            counter.increment(0);
        }
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

    /// From now on these rules are loaded.
    pub fn dialects_are(&self, names: impl IntoIterator<Item = String>) {
        let mut dialects = self
            .dialects
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *dialects = names.into_iter().collect();
    }

    fn is_dialect(&self, name: &str) -> bool {
        let dialects = self.dialects.read().unwrap_or_else(PoisonError::into_inner);
        dialects.iter().any(|known| known == name)
    }

    /// A request is over.
    pub fn request_finished(&self, labels: RequestLabels<'_>, times: RequestTimes) {
        let server = match self.is_dialect(labels.server) {
            true => labels.server,
            false => OTHER,
        };
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
        self.duration.record(labels.strategy, times.whole);
        self.added.record(labels.strategy, times.own);
        if let Some(upstream) = times.upstream {
            self.upstream.record(labels.strategy, upstream);
        }
        if let Some(first) = times.first_delta {
            self.first_delta.record(labels.strategy, first);
        }
    }

    /// A request came; its reply has ended when the guard drops.
    #[must_use]
    pub fn request_opened(&self) -> OpenGuard {
        self.in_flight.open()
    }

    /// How many requests there are whose reply has not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.counts.now.load(Ordering::Relaxed)
    }

    /// How many requests there have ever been.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.in_flight.counts.ever.load(Ordering::Relaxed)
    }

    /// A streamed reply began; it is over when the guard drops.
    #[must_use]
    pub fn stream_opened(&self) -> OpenGuard {
        self.streams.open()
    }

    /// A WebSocket was opened; it is closed when the guard drops.
    #[must_use]
    pub fn socket_opened(&self) -> OpenGuard {
        self.sockets.open()
    }

    /// So many bytes more are held in memory.
    pub fn buffered(&self, bytes: usize) {
        self.buffered.increment(bytes as f64);
    }

    /// So many bytes are not held any more.
    pub fn unbuffered(&self, bytes: usize) {
        self.buffered.decrement(bytes as f64);
    }

    /// A reply broke the rule; `action` is what was done (`retry`, `reject`, `pass`, `cut`).
    pub fn violation(&self, rule: &str, action: &'static str) {
        self.count(
            &family::VIOLATIONS,
            [closed(rule, RULES), action.to_owned()],
        );
    }

    /// A reply was mended.
    pub fn repaired(&self, repairs: Repairs) {
        for step in repairs.iter() {
            self.count(&family::REPAIRS, [step.as_str().to_owned()]);
        }
    }

    /// A request was sent again.
    pub fn retry(&self, why: &'static str) {
        self.count(&family::RETRIES, [why.to_owned()]);
    }

    /// Something was not carried to a server.
    pub fn loss(&self, loss: &Loss) {
        let enforced_by = loss.enforced_by.as_str().to_owned();
        self.count(&family::LOSSES, [lost(&loss.pointer), enforced_by]);
    }

    /// An upstream failed with a request that another is asked, or the same once more: the client hears nothing of it. What is
    /// the request's own is no failure.
    pub fn upstream_failed(&self, kind: Kind) {
        if kind.side() == Side::Upstream {
            self.upstream_error(kind);
        }
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

    /// A client's TLS handshake failed.
    pub fn handshake_failed(&self, why: &'static str) {
        self.count(&family::HANDSHAKES_FAILED, [why.to_owned()]);
    }

    /// A request with a client's key is over. The names are the configuration's: there are so many and no more.
    pub fn client_request(&self, client: &str, outcome: Outcome) {
        let labels = [client, outcome.as_str()].map(str::to_owned);
        self.count(&family::CLIENT_REQUESTS, labels);
    }

    /// It took so many tokens.
    pub fn client_tokens(&self, client: &str, tokens: u64) {
        let labels = key(&family::CLIENT_TOKENS, [client.to_owned()]);
        let counter = self.recorder.register_counter(&labels, &METADATA);
        counter.increment(tokens);
    }

    /// The configuration was read anew, and is in force where it has no fault.
    pub fn reloaded(&self, is_applied: bool) {
        let outcome = if is_applied { APPLIED } else { REFUSED };
        self.count(&family::RELOADS, [outcome.to_owned()]);
        let value = if is_applied { 1.0 } else { 0.0 };
        self.gauge(&family::RELOAD_OK, [], value);
        if is_applied {
            self.gauge(&family::RELOAD_TIME, [], seconds_since_epoch());
        }
    }

    /// There is a store: what it cannot do is counted from 0 on.
    pub fn store_opened(&self) {
        let all = StoreWork::ALL.map(StoreWork::as_str);
        self.begin(&family::STORE_ERRORS, &all);
    }

    /// The store could not do its work.
    pub fn store_failed(&self, work: StoreWork) {
        self.count(&family::STORE_ERRORS, [work.as_str().to_owned()]);
    }

    /// Everything in the Prometheus text format (version 0.0.4).
    #[must_use]
    pub fn render(&self) -> String {
        self.of_now(self.recorder.handle().render()) + &process::render()
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

/// A gauge of what is open now, which can be read too.
#[derive(Debug, Clone)]
struct Open {
    gauge: Gauge,
    counts: Arc<OpenCounts>,
}

#[derive(Debug, Default)]
struct OpenCounts {
    now: AtomicUsize,
    ever: AtomicU64,
}

impl Open {
    fn new(recorder: &PrometheusRecorder, family: &Family) -> Self {
        Self {
            gauge: recorder.register_gauge(&key(family, []), &METADATA),
            counts: Arc::default(),
        }
    }

    fn open(&self) -> OpenGuard {
        self.gauge.increment(1.0);
        self.counts.now.fetch_add(1, Ordering::Relaxed);
        self.counts.ever.fetch_add(1, Ordering::Relaxed);
        OpenGuard(self.clone())
    }
}

/// One request or stream that is counted as open.
#[derive(Debug)]
pub struct OpenGuard(Open);

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.gauge.decrement(1.0);
        self.0.counts.now.fetch_sub(1, Ordering::Relaxed);
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
        self.0.count(&family::CACHE_JOINS, labels);
    }

    fn evicted(&self, count: usize) {
        self.0.evictions.increment(count as u64);
    }

    fn size(&self, entries: usize, bytes: usize) {
        self.0.entries.set(entries as f64);
        self.0.bytes.set(bytes as f64);
    }

    fn recalled(&self) {
        self.0.translations.hits.increment(1);
    }

    fn written(&self, forgotten: usize) {
        self.0.translations.misses.increment(1);
        self.0.translations.evictions.increment(forgotten as u64);
    }

    fn remembered(&self, entries: usize, bytes: usize) {
        self.0.translations.entries.set(entries as f64);
        self.0.translations.bytes.set(bytes as f64);
    }
}

#[cfg(test)]
mod tests;
