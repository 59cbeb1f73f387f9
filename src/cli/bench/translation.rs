//! What it costs to write a request for a server, with and without what was written before: the same
//! requests, planned both ways in turn; times out. No server takes part.

use super::super::Failure;
use isogloss_compile::MemoCache;
use isogloss_core::exchange::{self, Demand, Options};
use isogloss_core::rewrite::{Memo, NoMemo};
use isogloss_core::rules::{RuleSet, Version};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// As many requests one way, then the other, so that drift hits both alike.
const SLICE: usize = 8;

/// One kind of request to one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A forced call, constrained: the tools' schemas become one.
    Schema,
    /// Tools and a regex under `auto`: a grammar of calls or the answer.
    Grammar,
    /// A schema that is lowered: references, alternatives, a pattern.
    Lowering,
}

/// Times of both ways, sorted.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) work: Work,
    without: Vec<Duration>,
    with: Vec<Duration>,
}

impl Work {
    const ALL: [Self; 3] = [Self::Schema, Self::Grammar, Self::Lowering];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "tools, required",
            Self::Grammar => "tools or a regex",
            Self::Lowering => "schema, lowered",
        }
    }

    /// The server that it is written for, and its version.
    pub(super) const fn server(self) -> (&'static str, &'static str) {
        match self {
            Self::Schema | Self::Lowering => ("vllm", "0.33.0"),
            Self::Grammar => ("llama-cpp", ""),
        }
    }

    fn body(self) -> Value {
        let tool = |name: &str| {
            json!({"type": "function", "function": {"name": name, "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1, "maxLength": 80},
                    "kind": {"enum": ["story", "poem", "report"], "type": "string"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
                },
                "required": ["query", "kind"],
            }}})
        };
        let tools: Vec<Value> = ["search", "archive", "publish"].map(tool).to_vec();
        let mut body =
            json!({"model": "bench", "messages": [{"role": "user", "content": "Go on."}]});
        match self {
            Self::Schema => {
                body["tools"] = json!(tools);
                body["tool_choice"] = json!("required");
            }
            Self::Grammar => {
                body["tools"] = json!(tools);
                body["response_format"] =
                    json!({"type": "regex", "regex": "[A-Z][a-z]{2,12}( [a-z]{1,12}){0,20}\\."});
            }
            Self::Lowering => {
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "pattern": "[a-z]+-\\d{4}"},
                        "owner": {"$ref": "#/$defs/person", "description": "who has it"},
                        "size": {"allOf": [{"type": "integer"}, {"minimum": 1}, {"maximum": 9}]},
                    },
                    "anyOf": [{"required": ["id"]}, {"required": ["owner"]}],
                    "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}}},
                });
                body["response_format"] = json!({"type": "json_schema", "json_schema": {"name": "thing", "schema": schema}});
            }
        }
        body
    }
}

impl Timed {
    pub(super) fn p50_without(&self) -> Duration {
        middle(&self.without)
    }

    pub(super) fn p50_with(&self) -> Duration {
        middle(&self.with)
    }

    /// How many times as long it takes without.
    pub(super) fn ratio(&self) -> f64 {
        self.p50_without().as_secs_f64() / self.p50_with().as_secs_f64().max(f64::EPSILON)
    }
}

fn middle(times: &[Duration]) -> Duration {
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Measures each for its share of the time.
pub(super) fn measure(time: Duration) -> Result<Vec<Timed>, Failure> {
    let each = time / u32::try_from(Work::ALL.len()).unwrap_or(1);
    Work::ALL.map(|work| one(work, each)).into_iter().collect()
}

fn one(work: Work, time: Duration) -> Result<Timed, Failure> {
    let failed = |what: String| Failure::Runtime(format!("{}: {what}", work.as_str()));
    let (name, version) = work.server();
    let rules = RuleSet::builtin();
    let rule = rules
        .resolve(name, Version::parse(version))
        .ok_or_else(|| failed(format!("no rules for {name}")))?;
    let body = work.body().to_string();
    let demand =
        exchange::read_chat(body.as_bytes()).map_err(|error| failed(error.message.clone()))?;
    let (without, with) = (NoMemo, MemoCache::new(64, 16 << 20));
    let plan = |demand: Demand, memo: &dyn Memo| {
        let options = Options {
            memo,
            is_compact: false,
            seal: isogloss_core::ir::Seal::default(),
        };
        let start = Instant::now();
        let planned = exchange::plan_with(demand, &rule, &options);
        let took = start.elapsed();
        planned
            .map(|planned| (took, planned.body))
            .map_err(|error| failed(error.message.clone()))
    };
    // The first fills what is remembered; speed of something else is none.
    if plan(demand.clone(), &without)?.1 != plan(demand.clone(), &with)?.1 {
        return Err(failed("what was remembered differs".to_owned()));
    }
    let mut timed = Timed {
        work,
        without: Vec::new(),
        with: Vec::new(),
    };
    let until = Instant::now() + time;
    while Instant::now() < until {
        let memos: [(&dyn Memo, _); 2] = [(&without, &mut timed.without), (&with, &mut timed.with)];
        for (memo, times) in memos {
            for _ in 0..SLICE {
                times.push(plan(demand.clone(), memo)?.0);
            }
        }
    }
    timed.without.sort_unstable();
    timed.with.sort_unstable();
    Ok(timed)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{Work, measure};
    use std::time::Duration;

    #[test]
    fn both_ways_write_the_same_and_both_are_timed() {
        let timed = measure(Duration::from_millis(3)).unwrap();
        assert_eq!(timed.len(), Work::ALL.len());
        for timed in timed {
            assert!(timed.p50_with() > Duration::ZERO, "{:?}", timed.work);
            assert_eq!(timed.with.len(), timed.without.len());
        }
    }
}
