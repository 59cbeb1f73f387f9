//! What the worker did comes in; the Prometheus text format goes out.
//!
//! Counts of the engine and of the grammar cache belong to one model; where models take turns,
//! those of the ones before stay counted. No label holds a client's words.

mod text;

use super::scheduler::{EngineStats, MASK_SECONDS_BOUNDS};
use isogloss_compile::{CacheOutcome, Observer};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use text::{Kind, Page};

/// Compiling takes from a tenth of a millisecond to its time limit.
const COMPILE: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0,
];
/// A matcher is a copy of what is compiled: 0.08 ms in the middle, 0.4 ms at the worst hundredth.
const CLONE: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01,
];
const LOAD: &[f64] = &[
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// All metrics of one worker.
#[derive(Debug, Default)]
pub struct Metrics {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// By [`isogloss_core::ir::Constraint::kind`].
    kinds: BTreeMap<&'static str, OfKind>,
    evictions: u64,
    entries: usize,
    bytes: usize,
    clone: Histogram,
    load: Histogram,
    /// By endpoint and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// Of the models that are loaded no more.
    before: EngineStats,
}

/// What the grammar cache did for constraints of one kind.
#[derive(Debug, Default)]
struct OfKind {
    hits: u64,
    misses: u64,
    joins: u64,
    compile: Histogram,
}

/// Observations in buckets.
#[derive(Debug, Clone, Default)]
struct Histogram {
    /// Each observation in one bucket alone; made by the first one.
    buckets: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn observe(&mut self, bounds: &[f64], seconds: f64) {
        self.buckets.resize(bounds.len() + 1, 0);
        self.buckets[bounds.partition_point(|bound| *bound < seconds)] += 1;
        self.sum += seconds;
    }
}

/// What runs now, for a page of metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct Now<'a> {
    /// The loaded model's engine.
    pub engine: EngineStats,
    /// The loaded model's name.
    pub model: Option<&'a str>,
    /// What computes it.
    pub device: &'a str,
}

/// The outcome as it is told in headers.
#[must_use]
pub const fn outcome_word(outcome: CacheOutcome) -> &'static str {
    match outcome {
        CacheOutcome::Hit => "hit",
        CacheOutcome::Miss => "miss",
        CacheOutcome::Joined => "joined",
    }
}

impl Metrics {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        // Counts are whole after each statement.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A matcher was made of a compiled grammar.
    pub fn cloned(&self, seconds: f64) {
        self.counts().clone.observe(CLONE, seconds);
    }

    /// A model was loaded.
    pub fn loaded(&self, seconds: f64) {
        self.counts().load.observe(LOAD, seconds);
    }

    /// A model is loaded no more; `engine` is the last of its counts.
    pub fn unloaded(&self, engine: &EngineStats) {
        let mut counts = self.counts();
        counts.before = sum(&counts.before, engine);
        (counts.entries, counts.bytes) = (0, 0);
    }

    /// A request was answered.
    pub fn answered(&self, endpoint: &'static str, status: u16) {
        *self
            .counts()
            .requests
            .entry((endpoint, status))
            .or_default() += 1;
    }

    /// Everything in the Prometheus text format (version 0.0.4).
    #[must_use]
    pub fn render(&self, now: &Now<'_>) -> String {
        let counts = self.counts();
        let mut page = Page::default();
        page.family("build_info", Kind::Gauge, "What the worker is; always 1.");
        let info = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("model", now.model.unwrap_or_default()),
            ("device", now.device),
        ];
        page.value("", &info, 1.0);
        page.family(
            "requests_total",
            Kind::Counter,
            "Requests that were answered.",
        );
        for ((endpoint, status), count) in &counts.requests {
            let labels = [("endpoint", *endpoint), ("status", &status.to_string())];
            page.value("", &labels, float(*count));
        }
        counts.grammars(&mut page);
        engine(&sum(&counts.before, &now.engine), &mut page);
        page.family(
            "model_load_seconds",
            Kind::Histogram,
            "How long loading a model took.",
        );
        page.histogram(&[], LOAD, &counts.load.buckets, counts.load.sum);
        page.into_text()
    }
}

impl Counts {
    fn grammars(&self, page: &mut Page) {
        type Count = fn(&OfKind) -> u64;
        let by_kind: [(&str, Count, &str); 3] = [
            (
                "hits",
                |of| of.hits,
                "Constraints found in the grammar cache.",
            ),
            ("misses", |of| of.misses, "Constraints that were compiled."),
            (
                "joins",
                |of| of.joins,
                "Constraints that waited for a compilation under way.",
            ),
        ];
        for (name, count, help) in by_kind {
            page.family(&format!("grammar_cache_{name}_total"), Kind::Counter, help);
            for (kind, of) in &self.kinds {
                page.value("", &[("kind", kind)], float(count(of)));
            }
        }
        page.single(
            "grammar_cache_evictions_total",
            Kind::Counter,
            "Grammars dropped from the cache to make room.",
            float(self.evictions),
        );
        page.single(
            "grammar_cache_entries",
            Kind::Gauge,
            "Grammars in the cache.",
            float(self.entries as u64),
        );
        page.single(
            "grammar_cache_bytes",
            Kind::Gauge,
            "Bytes of the grammars in the cache, as estimated.",
            float(self.bytes as u64),
        );
        page.family(
            "grammar_compile_seconds",
            Kind::Histogram,
            "How long compiling a constraint took.",
        );
        for (kind, of) in &self.kinds {
            let compile = &of.compile;
            page.histogram(&[("kind", kind)], COMPILE, &compile.buckets, compile.sum);
        }
        page.family(
            "grammar_clone_seconds",
            Kind::Histogram,
            "How long a request's own copy of a compiled grammar took.",
        );
        page.histogram(&[], CLONE, &self.clone.buckets, self.clone.sum);
    }
}

fn engine(stats: &EngineStats, page: &mut Page) {
    for (name, help, value) in [
        ("running", "Answers that hold a slot.", stats.running as u64),
        (
            "slots",
            "Answers that may run at the same time.",
            stats.slots as u64,
        ),
        (
            "waiting",
            "Jobs that wait for a slot.",
            stats.waiting as u64,
        ),
        (
            "kept_tokens",
            "Tokens that the slots keep.",
            stats.kept_tokens,
        ),
        (
            "kv_cells",
            "Tokens that the KV cache has room for.",
            stats.kv_cells,
        ),
    ] {
        page.single(name, Kind::Gauge, help, float(value));
    }
    counts(stats, page);
    for (name, help, value) in [
        (
            "forward_seconds_total",
            "Time in forward passes.",
            stats.forward_seconds,
        ),
        (
            "mask_wait_seconds_total",
            "Time after forward passes in which masks were waited for.",
            stats.mask_wait_seconds,
        ),
    ] {
        page.single(name, Kind::Counter, help, value);
    }
    page.family(
        "mask_seconds",
        Kind::Histogram,
        "How long a token mask took.",
    );
    let masks = &stats.mask_seconds;
    page.histogram(&[], &MASK_SECONDS_BOUNDS, &masks.buckets, masks.sum);
}

fn counts(stats: &EngineStats, page: &mut Page) {
    for (name, help, value) in [
        (
            "prompt_tokens_total",
            "Tokens of prompts.",
            stats.prompt_tokens,
        ),
        (
            "cached_tokens_total",
            "Tokens of prompts that were computed already.",
            stats.cached_tokens,
        ),
        (
            "completion_tokens_total",
            "Tokens of answers.",
            stats.completion_tokens,
        ),
        (
            "forced_tokens_total",
            "Tokens of answers that a constraint forced, without sampling.",
            stats.forced_tokens,
        ),
        (
            "steered_tokens_total",
            "Tokens of answers that were chosen so that the answer ends in time.",
            stats.steered_tokens,
        ),
        (
            "steered_total",
            "Answers that were brought to their end in time, or out of a run without one.",
            stats.steered,
        ),
        (
            "unplanned_total",
            "Constrained answers that began though no way to their end in time was known.",
            stats.unplanned,
        ),
        (
            "cut_total",
            "Constrained answers that were not whole when their tokens were spent.",
            stats.cut,
        ),
        (
            "drafted_tokens_total",
            "Tokens that were drafted, and went through the model before they were chosen.",
            stats.drafted_tokens,
        ),
        (
            "accepted_tokens_total",
            "Drafted tokens that the answers then had.",
            stats.accepted_tokens,
        ),
        ("steps_total", "Forward passes.", stats.steps),
        (
            "computed_tokens_total",
            "Tokens that went through them.",
            stats.computed_tokens,
        ),
        (
            "finished_total",
            "Answers that came to their end.",
            stats.finished,
        ),
        ("failed_total", "Answers that failed.", stats.failed),
        (
            "cancelled_total",
            "Answers whose client went away.",
            stats.cancelled,
        ),
        (
            "refused_total",
            "Jobs that the full queue refused.",
            stats.refused,
        ),
        (
            "preempted_total",
            "Answers that made room for an older one and were computed anew.",
            stats.preempted,
        ),
    ] {
        page.single(name, Kind::Counter, help, float(value));
    }
}

/// The counts of engines that ran one after the other; what is going on now is the second's.
fn sum(before: &EngineStats, now: &EngineStats) -> EngineStats {
    let mut all = *now;
    let (masks, more) = (&mut all.mask_seconds, &before.mask_seconds);
    masks.count += more.count;
    masks.sum += more.sum;
    masks.max = masks.max.max(more.max);
    for (bucket, more) in masks.buckets.iter_mut().zip(more.buckets) {
        *bucket += more;
    }
    all.prompt_tokens += before.prompt_tokens;
    all.cached_tokens += before.cached_tokens;
    all.completion_tokens += before.completion_tokens;
    all.forced_tokens += before.forced_tokens;
    all.steered_tokens += before.steered_tokens;
    all.steered += before.steered;
    all.unplanned += before.unplanned;
    all.cut += before.cut;
    all.drafted_tokens += before.drafted_tokens;
    all.accepted_tokens += before.accepted_tokens;
    all.steps += before.steps;
    all.computed_tokens += before.computed_tokens;
    all.forward_seconds += before.forward_seconds;
    all.mask_wait_seconds += before.mask_wait_seconds;
    all.finished += before.finished;
    all.failed += before.failed;
    all.cancelled += before.cancelled;
    all.refused += before.refused;
    all.preempted += before.preempted;
    all
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Prometheus has no other numbers"
)]
fn float(count: u64) -> f64 {
    count as f64
}

impl Observer for Metrics {
    fn compiled(&self, kind: &'static str, seconds: f64) {
        let mut counts = self.counts();
        counts
            .kinds
            .entry(kind)
            .or_default()
            .compile
            .observe(COMPILE, seconds);
    }

    fn hit(&self, kind: &'static str) {
        self.counts().kinds.entry(kind).or_default().hits += 1;
    }

    fn miss(&self, kind: &'static str) {
        self.counts().kinds.entry(kind).or_default().misses += 1;
    }

    fn wait(&self, kind: &'static str) {
        self.counts().kinds.entry(kind).or_default().joins += 1;
    }

    fn evicted(&self, count: usize) {
        self.counts().evictions += count as u64;
    }

    fn size(&self, entries: usize, bytes: usize) {
        let mut counts = self.counts();
        (counts.entries, counts.bytes) = (entries, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(metrics: &Metrics, engine: EngineStats) -> String {
        metrics.render(&Now {
            engine,
            model: Some("a\"b\\c\nd"),
            device: "CPU",
        })
    }

    fn has(page: &str, line: &str) {
        assert!(page.lines().any(|have| have == line), "{line} in\n{page}");
    }

    #[test]
    fn every_family_is_described_once_whatever_happened() {
        let empty = page(&Metrics::default(), EngineStats::default());
        let mut described: Vec<&str> = empty
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "))
            .collect();
        let count = described.len();
        described.dedup();
        assert_eq!(described.len(), count);
        for family in [
            "grammar_cache_hits_total counter",
            "grammar_cache_misses_total counter",
            "grammar_cache_joins_total counter",
            "grammar_cache_evictions_total counter",
            "grammar_cache_entries gauge",
            "grammar_cache_bytes gauge",
            "grammar_compile_seconds histogram",
            "grammar_clone_seconds histogram",
            "mask_seconds histogram",
            "forced_tokens_total counter",
            "cancelled_total counter",
        ] {
            has(&empty, &format!("# TYPE isogloss_worker_{family}"));
        }
        has(&empty, "isogloss_worker_mask_seconds_count 0");
        has(
            &empty,
            &format!(
                r#"isogloss_worker_build_info{{version="{}",model="a\"b\\c\nd",device="CPU"}} 1"#,
                env!("CARGO_PKG_VERSION")
            ),
        );
    }

    #[test]
    fn the_grammar_cache_is_counted_by_kind() {
        let metrics = Metrics::default();
        metrics.miss("regex");
        metrics.compiled("regex", 0.000_3);
        metrics.compiled("regex", 99.0);
        metrics.hit("choice");
        metrics.hit("choice");
        metrics.wait("choice");
        metrics.evicted(3);
        metrics.size(4, 1_000);
        metrics.cloned(0.000_01);
        let page = page(&metrics, EngineStats::default());
        for line in [
            r#"grammar_cache_misses_total{kind="regex"} 1"#,
            r#"grammar_cache_hits_total{kind="choice"} 2"#,
            r#"grammar_cache_joins_total{kind="choice"} 1"#,
            "grammar_cache_evictions_total 3",
            "grammar_cache_entries 4",
            "grammar_cache_bytes 1000",
            r#"grammar_compile_seconds_bucket{kind="regex",le="0.00025"} 0"#,
            r#"grammar_compile_seconds_bucket{kind="regex",le="0.0005"} 1"#,
            r#"grammar_compile_seconds_bucket{kind="regex",le="5"} 1"#,
            r#"grammar_compile_seconds_bucket{kind="regex",le="+Inf"} 2"#,
            r#"grammar_compile_seconds_count{kind="regex"} 2"#,
            r#"grammar_clone_seconds_bucket{le="0.00001"} 1"#,
        ] {
            has(&page, &format!("isogloss_worker_{line}"));
        }
    }

    #[test]
    fn counts_outlive_the_model_that_they_are_of() {
        let metrics = Metrics::default();
        let mut first = EngineStats {
            running: 3,
            steps: 10,
            ..EngineStats::default()
        };
        first.mask_seconds.buckets[1] = 4;
        metrics.size(4, 1_000);
        metrics.unloaded(&first);
        let mut second = EngineStats {
            running: 1,
            steps: 5,
            ..EngineStats::default()
        };
        second.mask_seconds.buckets[1] = 1;
        let page = page(&metrics, second);
        for line in [
            "running 1",
            "steps_total 15",
            "mask_seconds_count 5",
            r#"mask_seconds_bucket{le="0.00001"} 0"#,
            "grammar_cache_entries 0",
        ] {
            has(&page, &format!("isogloss_worker_{line}"));
        }
    }

    #[test]
    fn requests_are_counted_by_endpoint_and_status() {
        let metrics = Metrics::default();
        metrics.answered("/v1/models", 200);
        metrics.answered("/v1/models", 200);
        has(
            &page(&metrics, EngineStats::default()),
            r#"isogloss_worker_requests_total{endpoint="/v1/models",status="200"} 2"#,
        );
    }
}
