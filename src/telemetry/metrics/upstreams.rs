//! What is told of each upstream, by its place in the configuration that is in force. That may change: what stood under
//! a place that there is not any more is told no longer.

use super::{Family, METADATA, Metrics, family, key};
use isogloss_core::probe::{DEMANDS, Report};
use isogloss_core::rules::Verdict;
use metrics::Recorder as _;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Why a request got no turn at an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRefusal {
    /// As many waited as may.
    Full,
    /// It took too long.
    Timeout,
}

impl QueueRefusal {
    /// The label's value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Timeout => "timeout",
        }
    }
}

/// Which upstreams there are, and were.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// How many there are.
    count: AtomicUsize,
    /// How many there have been at the most.
    most: AtomicUsize,
    /// Which of them were asked what they enforce, at any time.
    probed: Mutex<BTreeSet<usize>>,
}

/// A family as it is at this moment, by the values of its labels; nothing where there are no samples.
fn gauges(family: &Family, samples: impl Iterator<Item = (Vec<String>, u8)>) -> String {
    let escaped = |value: &str| {
        value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    let name = family.name;
    let mut text = String::new();
    for (values, value) in samples {
        if text.is_empty() {
            text = format!("# HELP {name} {}\n# TYPE {name} gauge\n", family.help);
        }
        let labels = family.labels.iter().zip(&values);
        let labels: Vec<String> = labels
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        text += &format!("{name}{{{}}} {value}\n", labels.join(","));
    }
    text
}

impl Metrics {
    /// So many requests wait for their turn at an upstream. Said once, its families are there.
    pub fn queue_length(&self, index: usize, length: usize) {
        self.gauge(&family::QUEUE_LENGTH, [index.to_string()], length as f64);
    }

    /// A request waited for so long for its turn.
    pub fn queue_waited(&self, index: usize, time: Duration) {
        let labels = key(&family::QUEUE_WAIT, [index.to_string()]);
        let histogram = self.recorder.register_histogram(&labels, &METADATA);
        histogram.record(time);
    }

    /// A request got no turn.
    pub fn queue_refused(&self, index: usize, why: QueueRefusal) {
        let labels = [index.to_string(), why.as_str().to_owned()];
        self.count(&family::QUEUE_REFUSED, labels);
    }

    /// Whether an upstream can be used; `index` is its place in the configuration.
    pub fn upstream_up(&self, index: usize, up: bool) {
        let value = if up { 1.0 } else { 0.0 };
        self.gauge(&family::UPSTREAM_UP, [index.to_string()], value);
    }

    /// An upstream is not asked for a model for a while.
    pub fn upstream_put_aside(&self, index: usize) {
        self.count(&family::UPSTREAM_ASIDE, [index.to_string()]);
    }

    /// The circuits of this moment in the Prometheus text format: an upstream's place, a model, whether it is put aside for
    /// that. Nothing stays of one that is over, so that models do not add up.
    #[must_use]
    pub fn circuits(open: &BTreeMap<(usize, String), bool>) -> String {
        let samples = open.iter().map(|((index, model), is_open)| {
            let labels = vec![index.to_string(), model.clone()];
            (labels, u8::from(*is_open))
        });
        gauges(&family::UPSTREAM_CIRCUIT, samples)
    }

    /// What the upstreams of this moment are called and where they are, in the same format: place, name and URL of each.
    #[must_use]
    pub fn upstreams(all: impl Iterator<Item = (usize, String, String)>) -> String {
        let samples = all.map(|(index, name, url)| (vec![index.to_string(), name, url], 1));
        gauges(&family::UPSTREAM_INFO, samples)
    }

    /// Another model answered than the request named.
    pub fn fell_back(&self, index: usize) {
        self.count(&family::FALLBACKS, [index.to_string()]);
    }

    /// A DNS name stands for so many servers, by an answer that is old or not.
    pub fn name_stands_for(&self, name: &str, servers: usize, is_stale: bool) {
        self.gauge(&family::NAME_SERVERS, [name.to_owned()], servers as f64);
        let stale = if is_stale { 1.0 } else { 0.0 };
        self.gauge(&family::NAME_STALE, [name.to_owned()], stale);
    }

    /// DNS was asked which servers a name stands for.
    pub fn looked_up(&self, outcome: &'static str) {
        self.count(&family::NAME_LOOKUPS, [outcome.to_owned()]);
    }

    /// From now on there are so many upstreams; of more nothing is told any longer.
    pub fn upstreams_are(&self, count: usize) {
        self.places.count.store(count, Ordering::Relaxed);
        self.places.most.fetch_max(count, Ordering::Relaxed);
    }

    /// Whether a sample is of an upstream that is not there any more.
    fn is_of_the_past(&self, line: &str) -> bool {
        const LABEL: &str = "upstream=\"";
        let count = self.places.count.load(Ordering::Relaxed);
        let index = line.split_once(LABEL).and_then(|(before, after)| {
            let is_label = before.ends_with(['{', ',']);
            let index = after.split('"').next().filter(|_| is_label)?;
            index.parse::<usize>().ok()
        });
        index.is_some_and(|index| index >= count)
    }

    /// What an upstream was found to do; what was not asked has no verdict.
    pub fn probed(&self, index: usize, report: &Report) {
        let mut probed = self
            .places
            .probed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        probed.insert(index);
        drop(probed);
        self.found(index, Some(report));
    }

    /// What is known of an upstream that stands where another may have stood before.
    pub fn probed_anew(&self, index: usize, report: Option<&Report>) {
        let probed = self
            .places
            .probed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let was_probed = probed.contains(&index);
        drop(probed);
        match report {
            Some(report) => self.probed(index, report),
            None if was_probed => self.found(index, None),
            None => {}
        }
    }

    fn found(&self, index: usize, report: Option<&Report>) {
        for demand in DEMANDS {
            let found = report.and_then(|report| report.verdict(demand));
            let found = found.map(Verdict::as_str);
            for word in Verdict::WORDS {
                let value = if found == Some(word) { 1.0 } else { 0.0 };
                let labels = [index.to_string(), demand.to_owned(), word.to_owned()];
                self.gauge(&family::PROBE_RESULTS, labels, value);
            }
        }
    }

    /// An exposition without what is told of upstreams that are not there any more.
    pub(super) fn of_now(&self, text: String) -> String {
        let count = self.places.count.load(Ordering::Relaxed);
        if count >= self.places.most.load(Ordering::Relaxed) {
            return text;
        }
        let lines = text.split_inclusive('\n');
        lines.filter(|line| !self.is_of_the_past(line)).collect()
    }

    /// Whether the worker takes requests. Said once, its families are there.
    pub fn worker_up(&self, up: bool) {
        self.gauge(&family::WORKER_UP, [], if up { 1.0 } else { 0.0 });
        for family in [&family::WORKER_RESTARTS, &family::WORKER_STUCK] {
            let counter = self.recorder.register_counter(&key(family, []), &METADATA);
            counter.increment(0);
        }
    }

    /// The worker was started again.
    pub fn worker_restarted(&self) {
        self.count(&family::WORKER_RESTARTS, []);
    }

    /// A computation of the worker did not end.
    pub fn worker_stuck(&self) {
        self.count(&family::WORKER_STUCK, []);
    }
}
