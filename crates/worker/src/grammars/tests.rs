//! What is promised of the cache of grammars: once, bounded, never confused, guarded first.

use super::{Grammars, marked};
use crate::backend::{Backend, Compiled, Demand, Matcher, Stuck, Think, TokenMask, Whitespace};
use crate::vocabulary::Token;
use isogloss_compile::at_work;
use isogloss_compile::{CacheOutcome, CompilerLimits, Observer, Unobserved};
use isogloss_core::error::{Error, Kind};
use isogloss_core::ir::Constraint;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Counts compilations and lets everything through.
#[derive(Debug, Default)]
struct Counting {
    compilations: AtomicUsize,
    slow: Duration,
}

/// Remembers what it was compiled from.
struct Open(Demand);

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Open").field(&self.0).finish()
    }
}

struct Nothing;

impl Backend for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn compile(&self, demand: &Demand) -> Result<Arc<dyn Compiled>, Error> {
        self.compilations.fetch_add(1, Relaxed);
        std::thread::sleep(self.slow);
        match &demand.constraint {
            Constraint::Regex(text) if text == "panic" => unreachable!("an assertion"),
            _ => Ok(Arc::new(Open(demand.clone()))),
        }
    }
}

impl Compiled for Open {
    fn matcher(&self) -> Box<dyn Matcher> {
        Box::new(Nothing)
    }

    fn estimated_bytes(&self) -> usize {
        10_000
    }
}

impl Matcher for Nothing {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        Err(Stuck::Budget)
    }
    fn consume(&mut self, _: Token) -> Result<(), Stuck> {
        Err(Stuck::Refused)
    }
    fn forced(&mut self) -> Vec<Token> {
        Vec::new()
    }
    fn is_accepting(&mut self) -> bool {
        true
    }
    fn is_finished(&self) -> bool {
        true
    }
}

fn grammars(limits: CompilerLimits, slow: Duration) -> (Grammars, Arc<Counting>) {
    let backend = Arc::new(Counting {
        slow,
        ..Counting::default()
    });
    let limits = CompilerLimits {
        timeout: Duration::from_secs(20),
        queue_timeout: Duration::from_secs(20),
        ..limits
    };
    let grammars = Grammars::new(backend.clone(), limits, Arc::new(Unobserved));
    (grammars, backend)
}

fn schema(value: Value) -> Demand {
    Demand {
        constraint: Constraint::JsonSchema(value),
        think: Think::None,
        whitespace: Whitespace::Flexible,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_requests_at_once_compile_one_grammar() {
    let (grammars, backend) = grammars(CompilerLimits::default(), Duration::from_millis(300));
    let demand = Arc::new(schema(json!({"type": "object"})));
    let requests: Vec<_> = (0..100)
        .map(|_| {
            let (grammars, demand) = (grammars.clone(), demand.clone());
            tokio::spawn(async move { grammars.compiled(&demand).await.unwrap().1 })
        })
        .collect();
    let mut outcomes = Vec::new();
    for request in requests {
        outcomes.push(request.await.unwrap());
    }
    let count = |wanted| {
        outcomes
            .iter()
            .filter(|&&outcome| outcome == wanted)
            .count()
    };
    assert_eq!(backend.compilations.load(Relaxed), 1);
    assert_eq!(count(CacheOutcome::Miss), 1);
    assert_eq!(count(CacheOutcome::Joined) + count(CacheOutcome::Hit), 99);
    let (_, outcome) = grammars.compiled(&demand).await.unwrap();
    assert_eq!(outcome, CacheOutcome::Hit);
    let stats = grammars.stats();
    assert_eq!((stats.misses, stats.entries), (1, 1));
    assert_eq!(stats.hits + stats.waits, 100);
}

#[tokio::test]
async fn demands_that_differ_never_share_a_grammar() {
    let (grammars, _) = grammars(CompilerLimits::default(), Duration::ZERO);
    let one = json!({"properties": {"a": {"type": "string"}, "b": {"type": "null"}}});
    // The same to a validator; another order of properties to a decoder.
    let turned = json!({"properties": {"b": {"type": "null"}, "a": {"type": "string"}}});
    let text = "a".to_owned();
    let mut demands = vec![
        schema(one.clone()),
        schema(turned),
        schema(json!({"const": 1})),
        schema(json!({"const": 1.0})),
        schema(json!({"const": "1"})),
    ];
    for constraint in [
        Constraint::JsonObject,
        Constraint::StructuralTag(one.clone()),
        Constraint::Regex(text.clone()),
        Constraint::Choice(vec![text]),
    ] {
        demands.push(Demand {
            constraint,
            ..schema(json!(true))
        });
    }
    demands.retain(|demand| !matches!(demand.constraint, Constraint::StructuralTag(_)));
    for think in [Think::Optional, Think::Open] {
        demands.push(Demand {
            think,
            ..schema(one.clone())
        });
    }
    demands.push(Demand {
        whitespace: Whitespace::Compact,
        ..schema(one)
    });
    for demand in &demands {
        let (compiled, outcome) = grammars.compiled(demand).await.unwrap();
        assert_eq!(outcome, CacheOutcome::Miss, "{demand:?}");
        assert_eq!(format!("{compiled:?}"), format!("Open({demand:?})"));
    }
    for demand in &demands {
        let (compiled, outcome) = grammars.compiled(demand).await.unwrap();
        assert_eq!(outcome, CacheOutcome::Hit, "{demand:?}");
        assert_eq!(format!("{compiled:?}"), format!("Open({demand:?})"));
    }
}

#[tokio::test]
async fn what_came_once_makes_room_for_what_is_used_within_both_bounds() {
    let limits = CompilerLimits {
        cache_entries: 20,
        cache_bytes: 105_000,
        ..CompilerLimits::default()
    };
    let (grammars, _) = grammars(limits, Duration::ZERO);
    for n in 0..50 {
        grammars
            .compiled(&schema(json!({"const": n})))
            .await
            .unwrap();
        grammars
            .compiled(&schema(json!({"const": 0})))
            .await
            .unwrap();
        let stats = grammars.stats();
        assert!(stats.entries <= 20 && stats.bytes <= 105_000, "{stats:?}");
    }
    let stats = grammars.stats();
    assert!(stats.entries >= 8, "{stats:?}");
    assert_eq!(stats.evictions + stats.entries as u64, 50);
    let outcome = |n: u32| {
        let grammars = grammars.clone();
        async move {
            grammars
                .compiled(&schema(json!({"const": n})))
                .await
                .unwrap()
                .1
        }
    };
    assert_eq!(outcome(0).await, CacheOutcome::Hit, "used all the time");
    assert_eq!(outcome(49).await, CacheOutcome::Hit);
    assert_eq!(outcome(40).await, CacheOutcome::Miss, "came once");
}

#[tokio::test]
async fn the_guards_come_before_the_backend() {
    let (grammars, backend) = grammars(CompilerLimits::default(), Duration::ZERO);
    let remote = json!({"properties": {"a": {"$ref": "https://example.com/x"}}});
    let error = grammars
        .compiled(&schema(remote.clone()))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::UnsupportedSchema);
    assert!(
        error.message.contains("`/properties/a/$ref`"),
        "{}",
        error.message
    );
    let tags = [
        json!({"structures": [{"begin": "<a>", "schema": remote, "end": "</a>"}], "triggers": ["<a"]}),
        json!({"format": {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": remote}, "end": "</a>"}}),
    ];
    for tag in tags {
        for tag in [json!(tag.to_string()), tag] {
            let demand = Demand {
                constraint: Constraint::StructuralTag(tag),
                ..schema(json!(true))
            };
            let error = grammars.compiled(&demand).await.unwrap_err();
            assert_eq!(error.kind, Kind::UnsupportedSchema);
        }
    }
    let deep = (0..300).fold(json!(true), |inner, _| json!({"items": inner}));
    let error = grammars.compiled(&schema(deep)).await.unwrap_err();
    assert_eq!(error.kind, Kind::SchemaTooComplex);
    assert_eq!(backend.compilations.load(Relaxed), 0);
    assert_eq!(grammars.stats().entries, 0, "failures are not kept");
}

#[tokio::test]
async fn a_panic_inside_of_a_backend_is_an_error_of_the_request() {
    let (grammars, _) = grammars(CompilerLimits::default(), Duration::ZERO);
    let demand = Demand {
        constraint: Constraint::Regex("panic".to_owned()),
        ..schema(json!(true))
    };
    for _ in 0..3 {
        let error = grammars.compiled(&demand).await.unwrap_err();
        assert_eq!(error.kind, Kind::SchemaTooComplex);
    }
    assert!(grammars.compiled(&schema(json!(true))).await.is_ok());
}

#[derive(Default)]
struct Heard(AtomicUsize);

impl Observer for Heard {
    fn compiled(&self, kind: &'static str, _: f64) {
        assert_eq!(kind, "json_object");
        self.0.fetch_add(1, Relaxed);
    }
}

#[tokio::test]
async fn an_observer_hears_the_kind() {
    let heard = Arc::new(Heard::default());
    let backend = Arc::new(Counting::default());
    let grammars = Grammars::new(backend, CompilerLimits::default(), heard.clone());
    let demand = Demand {
        constraint: Constraint::JsonObject,
        ..schema(json!(true))
    };
    grammars.compiled(&demand).await.unwrap();
    assert_eq!(heard.0.load(Relaxed), 1);
}

/// What is noted while it compiles, and while it is asked for a mask.
#[derive(Debug)]
struct Looking {
    notes: std::path::PathBuf,
    seen: Arc<std::sync::Mutex<Vec<Vec<u64>>>>,
}

impl Looking {
    fn look(&self) {
        self.seen.lock().unwrap().push(at_work::left(&self.notes));
    }
}

struct Looked(Arc<Looking>);

impl Backend for Arc<Looking> {
    fn name(&self) -> &'static str {
        "looking"
    }
    fn compile(&self, _: &Demand) -> Result<Arc<dyn Compiled>, Error> {
        self.look();
        Ok(Arc::new(Looked(self.clone())))
    }
}

impl std::fmt::Debug for Looked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Compiled for Looked {
    fn matcher(&self) -> Box<dyn Matcher> {
        self.0.look();
        Box::new(Self(self.0.clone()))
    }
    fn estimated_bytes(&self) -> usize {
        1
    }
}

impl Matcher for Looked {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        self.0.look();
        Err(Stuck::Budget)
    }
    fn consume(&mut self, _: Token) -> Result<(), Stuck> {
        self.0.look();
        Ok(())
    }
    fn forced(&mut self) -> Vec<Token> {
        self.0.look();
        Vec::new()
    }
    fn is_accepting(&mut self) -> bool {
        true
    }
    fn is_finished(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn it_is_noted_while_a_constraint_is_compiled_or_gone_through_and_at_no_other_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes");
    at_work::create(&path).unwrap();
    let mark = at_work::Notes::open(&path).unwrap().mark("2a");
    let seen = Arc::<std::sync::Mutex<Vec<Vec<u64>>>>::default();
    let looking = Arc::new(Looking {
        notes: path.clone(),
        seen: seen.clone(),
    });
    let limits = CompilerLimits::default();
    let grammars = Grammars::new(Arc::new(looking), limits, Arc::new(Unobserved));
    let demand = schema(json!({"type": "object"}));
    let (compiled, _) = (grammars.compiled_for(demand, mark.clone()).await).unwrap();
    assert!(at_work::left(&path).is_empty());
    let mut matcher = marked(compiled.matcher(), mark);
    let _stuck = matcher.mask();
    matcher.consume(1).unwrap();
    matcher.forced();
    let seen = seen.lock().unwrap().clone();
    let is = vec![42];
    assert_eq!(seen, [is.clone(), vec![], is.clone(), is.clone(), is]);
    assert!(at_work::left(&path).is_empty());
}

/// Answers each question otherwise than a matcher that knows nothing.
struct Telling;

impl Matcher for Telling {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        Ok(TokenMask::alloc(9))
    }
    fn consume(&mut self, _: Token) -> Result<(), Stuck> {
        Ok(())
    }
    fn forced(&mut self) -> Vec<Token> {
        vec![1]
    }
    fn is_accepting(&mut self) -> bool {
        true
    }
    fn is_finished(&self) -> bool {
        true
    }
    fn is_bound(&self) -> bool {
        false
    }
    fn fork(&self) -> Option<Box<dyn Matcher>> {
        Some(Box::new(Self))
    }
    fn way(&mut self, after: Option<Token>) -> Option<Vec<Token>> {
        Some([2].into_iter().chain(after).collect())
    }
    fn growth(&self) -> Option<u32> {
        Some(3)
    }
    fn spell(&self, text: &[u8]) -> Option<Vec<Token>> {
        Some(text.iter().copied().map(Token::from).collect())
    }
    fn completes(&mut self, tokens: &[Token]) -> bool {
        tokens == [4]
    }
}

#[test]
fn a_matcher_of_which_work_is_noted_tells_all_that_it_told_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes");
    at_work::create(&path).unwrap();
    let mark = at_work::Notes::open(&path).unwrap().mark("2a");
    assert!(mark.is_some());
    let noted = marked(Box::new(Telling), mark);
    let copy = noted.fork().unwrap();
    for mut matcher in [noted, copy] {
        assert_eq!(matcher.mask().unwrap().len(), 9);
        assert_eq!(matcher.forced(), [1]);
        assert!(matcher.is_accepting() && matcher.is_finished() && !matcher.is_bound());
        assert_eq!(matcher.way(None), Some(vec![2]));
        assert_eq!(matcher.way(Some(7)), Some(vec![2, 7]));
        assert_eq!(matcher.growth(), Some(3));
        assert_eq!(matcher.spell(b"\x05"), Some(vec![5]));
        assert!(matcher.completes(&[4]) && !matcher.completes(&[5]));
    }
}
