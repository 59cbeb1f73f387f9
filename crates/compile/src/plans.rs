//! Whole plans: a request's shape comes in; what was worked out for one of that shape goes out, for the rule by which it
//! is to be sent. A shape that was seen costs one look-up instead of reading, planning and finding checks.

use super::Compiled;
use foldhash::quality::RandomState;
use indexmap::Equivalent;
use isogloss_core::exchange::{Prepared, Shape};
use isogloss_core::rules::Rule;
use quick_cache::{OptionsBuilder, Weighter, sync};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Rules for which one shape's plans are kept: servers times what was learnt of them meanwhile.
const MAX_RULES: usize = 4;

/// What is known of a shape.
#[derive(Debug)]
pub struct Known {
    /// The model that it names.
    pub model: String,
    /// Whether it asks for a stream.
    pub is_stream: bool,
    /// By the rule's own identity: a rule that learnt something is another.
    ready: Vec<(Arc<Rule>, Arc<Ready>)>,
    bytes: usize,
}

/// Everything that a request of a shape needs to be sent by one rule.
#[derive(Debug)]
pub struct Ready {
    /// The exchange, and what is sent.
    pub prepared: Prepared,
    /// What its reply is verified with.
    pub compiled: Compiled,
}

/// What is kept of shapes, within bounds. Cloning shares it.
#[derive(Clone)]
pub struct Plans {
    kept: Option<Arc<Kept>>,
    entries: usize,
    bytes: usize,
}

/// Hashed by what takes a hundred kilobytes of tools at once; two of one hash cost a comparison.
type Kept = sync::Cache<Key, Arc<Known>, Weight, RandomState>;

/// A [`Shape`] that owns its bytes.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    client: &'static str,
    path: Box<str>,
    before: Box<[u8]>,
    after: Box<[u8]>,
}

impl Key {
    fn shape(&self) -> Shape<'_> {
        Shape {
            client: self.client,
            path: &self.path,
            before: &self.before,
            after: &self.after,
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shape().hash(state);
    }
}

impl Equivalent<Key> for Wanted<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0 == key.shape()
    }
}

/// A shape to look up.
#[derive(Hash)]
struct Wanted<'a>(Shape<'a>);

/// An entry weighs its bytes, and no less than its share of the entries that are allowed.
#[derive(Clone)]
struct Weight(u64);

impl Weighter<Key, Arc<Known>> for Weight {
    fn weight(&self, _: &Key, known: &Arc<Known>) -> u64 {
        self.0.max(known.bytes as u64)
    }
}

impl Known {
    /// The plan for this rule.
    #[must_use]
    pub fn ready(&self, rule: &Arc<Rule>) -> Option<Arc<Ready>> {
        let mut ready = self.ready.iter();
        let found = ready.find(|(its, _)| Arc::ptr_eq(its, rule))?;
        Some(Arc::clone(&found.1))
    }
}

impl Plans {
    /// What keeps so many shapes, of so many bytes as estimated.
    pub(super) fn new(entries: usize, bytes: usize) -> Self {
        if entries == 0 || bytes == 0 {
            return Self {
                kept: None,
                entries,
                bytes,
            };
        }
        let share = (bytes / entries).max(1) as u64;
        // One shard: of as many as there are cores none would hold what an agent with many tools asks.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(entries)
            .weight_capacity(bytes as u64)
            .build();
        let kept = options.ok().map(|options| {
            let (hasher, lifecycle) = (RandomState::default(), sync::DefaultLifecycle::default());
            Arc::new(Kept::with_options(
                options,
                Weight(share),
                hasher,
                lifecycle,
            ))
        });
        Self {
            kept,
            entries,
            bytes,
        }
    }

    /// As much room, with nothing in it.
    pub(super) fn emptied(&self) -> Self {
        Self::new(self.entries, self.bytes)
    }

    /// What is known of a shape.
    #[must_use]
    pub fn find(&self, shape: &Shape<'_>) -> Option<Arc<Known>> {
        self.kept.as_ref()?.get(&Wanted(*shape))
    }

    /// Keeps the plan of a request for those of its shape.
    pub fn keep(&self, shape: &Shape<'_>, rule: &Arc<Rule>, ready: Arc<Ready>) {
        let Some(kept) = &self.kept else {
            return;
        };
        let mut all: Vec<_> = match kept.get(&Wanted(*shape)) {
            Some(known) => known.ready.clone(),
            None => Vec::new(),
        };
        all.retain(|(its, _)| !Arc::ptr_eq(its, rule));
        if all.len() >= MAX_RULES {
            all.remove(0);
        }
        let request = &ready.prepared.exchange.demand.request;
        let (model, is_stream) = (request.model.clone(), request.stream);
        all.push((Arc::clone(rule), ready));
        let of = |(_, ready): &(_, Arc<Ready>)| {
            ready.prepared.estimated_bytes(shape) + ready.compiled.bytes
        };
        let bytes = shape.before.len() + shape.after.len() + all.iter().map(of).sum::<usize>();
        let key = Key {
            client: shape.client,
            path: shape.path.into(),
            before: shape.before.into(),
            after: shape.after.into(),
        };
        let known = Known {
            model,
            is_stream,
            ready: all,
            bytes,
        };
        kept.insert(key, Arc::new(known));
    }
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.kept.as_ref().map_or(0, |kept| kept.len());
        f.debug_struct("Plans")
            .field("entries", &entries)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::{Compiler, CompilerLimits};
    use isogloss_core::exchange::{self, Opened};
    use isogloss_core::passage;
    use isogloss_core::rules::{RuleSet, Version};

    const CHAT: &str = "/v1/chat/completions";

    fn asked(tools: usize, question: &str) -> Opened {
        let words = "what a tool is good for ".repeat(40);
        let tool = |number| {
            format!(
                r#"{{"type":"function","function":{{"name":"f{number}","description":"{words}","parameters":{{"type":"object","properties":{{"a":{{"type":"integer"}}}}}}}}}}"#
            )
        };
        let tools = (0..tools).map(tool).collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"{question}"}}],"tools":[{tools}],"tool_choice":"required"}}"#
        );
        Opened::new(passage::client(CHAT).unwrap(), CHAT, body).unwrap()
    }

    #[tokio::test]
    async fn an_agent_with_many_tools_is_planned_once() {
        let limits = CompilerLimits::default();
        let compiler = Compiler::new(limits);
        let version = Version::parse("0.12.0");
        let rule = Arc::new(RuleSet::builtin().resolve("vllm", version).unwrap());
        for tools in [1, 20, 150] {
            let first = asked(tools, "one");
            let mut exchange = exchange::plan(first.read().unwrap(), &rule).unwrap();
            let compiled = compiler.checks(&mut exchange).await.unwrap();
            let prepared = first.prepare(&exchange, &rule).unwrap();
            let ready = Arc::new(Ready { prepared, compiled });
            compiler.plans().keep(&first.shape().unwrap(), &rule, ready);
            let next = asked(tools, "another");
            let known = compiler.plans().find(&next.shape().unwrap());
            assert!(
                known.is_some_and(|known| known.ready(&rule).is_some()),
                "{tools} tools"
            );
        }
    }

    #[tokio::test]
    async fn what_is_kept_weighs_no_more_than_is_allowed() {
        let compiler = Compiler::new(CompilerLimits::default());
        let plans = Plans::new(64, 1 << 20);
        let rule = Arc::new(RuleSet::builtin().resolve("vllm", None).unwrap());
        for number in 0..100 {
            let opened = asked(1, "x");
            let mut exchange = exchange::plan(opened.read().unwrap(), &rule).unwrap();
            let compiled = compiler.checks(&mut exchange).await.unwrap();
            let prepared = opened.prepare(&exchange, &rule).unwrap();
            let shape = opened.shape().unwrap();
            let path = format!("/{number}");
            let shape = Shape {
                path: &path,
                ..shape
            };
            plans.keep(&shape, &rule, Arc::new(Ready { prepared, compiled }));
            assert!(plans.kept.as_ref().unwrap().weight() <= 1 << 20);
        }
        assert!(plans.kept.as_ref().unwrap().len() > 1);
    }
}
