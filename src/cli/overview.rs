//! A proxy's metrics in the text format in, the same as JSON out: what the console and `isogloss top`
//! show of it at a glance.

use serde_json::{Map, Value, json};

/// One line of an exposition.
struct Sample<'a> {
    name: &'a str,
    labels: Map<String, Value>,
    value: f64,
}

/// What a family's observations come to.
#[derive(Default)]
struct Observed {
    labels: Map<String, Value>,
    sum: f64,
    count: f64,
    /// Each bucket's bound, and how many are within it.
    within: Vec<(f64, f64)>,
}

/// Every family of an exposition: for a counter or a gauge a list of `{labels, value}`, for a histogram of
/// `{labels, sum, count, p50, p99, most}`, where the last three are the bounds of the buckets that hold so many.
pub(super) fn families(text: &str) -> Value {
    let mut histograms: Vec<&str> = Vec::new();
    let mut told: Map<String, Value> = Map::new();
    let mut observed: Vec<(String, Vec<Observed>)> = Vec::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            if let Some(name) = kind.strip_suffix(" histogram") {
                histograms.push(name);
            }
            continue;
        }
        let Some(sample) = sample(line) else {
            continue;
        };
        let part = ["_bucket", "_sum", "_count"].into_iter().find_map(|part| {
            let stem = sample.name.strip_suffix(part)?;
            histograms.contains(&stem).then_some((stem, part))
        });
        match part {
            Some((stem, part)) => observe(&mut observed, stem, part, sample),
            None => {
                let list = told.entry(sample.name).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(json!({"labels": sample.labels, "value": sample.value}));
                }
            }
        }
    }
    for (name, list) in observed {
        let list: Vec<Value> = list.iter().map(Observed::told).collect();
        told.insert(name, list.into());
    }
    told.into()
}

fn observe(
    observed: &mut Vec<(String, Vec<Observed>)>,
    stem: &str,
    part: &str,
    mut sample: Sample<'_>,
) {
    let bound = sample.labels.remove("le");
    let at = match observed.iter().position(|(name, _)| name == stem) {
        Some(at) => at,
        None => {
            observed.push((stem.to_owned(), Vec::new()));
            observed.len() - 1
        }
    };
    let Some((_, list)) = observed.get_mut(at) else {
        return;
    };
    if list.last().is_none_or(|last| last.labels != sample.labels) {
        list.push(Observed {
            labels: sample.labels,
            ..Observed::default()
        });
    }
    let Some(one) = list.last_mut() else {
        return;
    };
    match part {
        "_sum" => one.sum = sample.value,
        "_count" => one.count = sample.value,
        _ => {
            let bound = bound.as_ref().and_then(Value::as_str);
            if let Some(bound) = bound.and_then(|bound| bound.parse().ok()) {
                one.within.push((bound, sample.value));
            }
        }
    }
}

impl Observed {
    /// The bound of the smallest bucket that holds so large a share.
    fn bound(&self, share: f64) -> Option<f64> {
        let wanted = self.count * share;
        let mut within = self.within.iter();
        let found = within.find(|(_, count)| self.count > 0.0 && *count >= wanted)?;
        found.0.is_finite().then_some(found.0)
    }

    fn told(&self) -> Value {
        json!({
            "labels": self.labels, "sum": self.sum, "count": self.count,
            "p50": self.bound(0.5), "p99": self.bound(0.99), "most": self.bound(1.0),
        })
    }
}

/// `name{label="value",…} 12`; `None` where a line is no sample.
fn sample(line: &str) -> Option<Sample<'_>> {
    if line.starts_with('#') {
        return None;
    }
    let (name, mut rest) = match line.find(['{', ' ']) {
        Some(end) => line.split_at(end),
        None => return None,
    };
    let mut labels = Map::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while let Some((label, value)) = rest.split_once("=\"") {
            if label.contains('}') {
                break;
            }
            let (value, after) = quoted(value)?;
            labels.insert(label.trim_start_matches(',').to_owned(), value.into());
            rest = after;
            if rest.starts_with('}') {
                break;
            }
        }
        rest = rest.trim_start_matches(',').strip_prefix('}')?;
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// A label's value up to its quote, and what follows that.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            _ => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_become_lists() {
        let text = "# HELP a_total what = \"x\"\n# TYPE a_total counter\n\
                    a_total{rule=\"a\\\"b}\",action=\"retry\"} 3\na_total{rule=\"c\",action=\"x\"} 1.5\n\
                    # TYPE up gauge\nup 1\n\
                    # TYPE t_seconds histogram\n\
                    t_seconds_bucket{kind=\"regex\",le=\"0.1\"} 1\nt_seconds_bucket{kind=\"regex\",le=\"1\"} 4\n\
                    t_seconds_bucket{kind=\"regex\",le=\"+Inf\"} 4\nt_seconds_sum{kind=\"regex\"} 2\n\
                    t_seconds_count{kind=\"regex\"} 4\n\nnonsense\n";
        let told = families(text);
        assert_eq!(
            told,
            json!({
                "a_total": [
                    {"labels": {"rule": "a\"b}", "action": "retry"}, "value": 3.0},
                    {"labels": {"rule": "c", "action": "x"}, "value": 1.5},
                ],
                "up": [{"labels": {}, "value": 1.0}],
                "t_seconds": [{
                    "labels": {"kind": "regex"}, "sum": 2.0, "count": 4.0,
                    "p50": 1.0, "p99": 1.0, "most": 1.0,
                }],
            })
        );
    }
}
