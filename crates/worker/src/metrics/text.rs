//! The Prometheus text format, version 0.0.4.

use std::fmt::Write as _;

const PREFIX: &str = "isogloss_worker_";

/// What a family counts like.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A label's name and value.
type Label<'a> = (&'a str, &'a str);

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    family: String,
}

impl Page {
    /// Begins a family: what follows is of it.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.family = format!("{PREFIX}{name}");
        let family = &self.family;
        // Writing to a string never fails.
        let _ = writeln!(self.text, "# HELP {family} {help}\n# TYPE {family} {kind}");
    }

    /// A family of one value.
    pub(super) fn single(&mut self, name: &str, kind: Kind, help: &str, value: f64) {
        self.family(name, kind, help);
        self.value("", &[], value);
    }

    pub(super) fn value(&mut self, suffix: &str, labels: &[Label<'_>], value: f64) {
        self.text += &self.family;
        self.text += suffix;
        for (index, (name, value)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{name}=\"");
            for character in value.chars() {
                match character {
                    '\\' => self.text += "\\\\",
                    '"' => self.text += "\\\"",
                    '\n' => self.text += "\\n",
                    other => self.text.push(other),
                }
            }
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// `buckets`: one more than `bounds`, each observation in one alone; empty where there is
    /// none.
    pub(super) fn histogram(
        &mut self,
        labels: &[Label<'_>],
        bounds: &[f64],
        buckets: &[u64],
        sum: f64,
    ) {
        let mut count = 0;
        for index in 0..=bounds.len() {
            count += buckets.get(index).copied().unwrap_or(0);
            let bound = bounds.get(index).map(f64::to_string);
            let bound = bound.as_deref().unwrap_or("+Inf");
            let labels: Vec<Label<'_>> = labels.iter().copied().chain([("le", bound)]).collect();
            self.value("_bucket", &labels, super::float(count));
        }
        self.value("_sum", labels, sum);
        self.value("_count", labels, super::float(count));
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
