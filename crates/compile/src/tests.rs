//! What is promised of the compiler: once, bounded, never confused, never stuck.

use super::{Check, Compiler, CompilerLimits, Observer, Outcome, Unobserved};
use isogloss_core::error::Kind;
use isogloss_core::ir::{Constraint, Notation};
use isogloss_core::schema::SchemaLimits;
use isogloss_testing::recipe::recipe;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn schema(value: Value) -> Constraint {
    Constraint::JsonSchema(value)
}

fn small() -> CompilerLimits {
    CompilerLimits {
        timeout: Duration::from_secs(20),
        queue_timeout: Duration::from_secs(20),
        ..CompilerLimits::default()
    }
}

#[derive(Default)]
struct Counts {
    compiled: AtomicUsize,
    hits: AtomicUsize,
    misses: AtomicUsize,
    waits: AtomicUsize,
    evicted: AtomicUsize,
}

impl Observer for Counts {
    fn compiled(&self, kind: &'static str, seconds: f64) {
        assert!(!kind.is_empty() && seconds >= 0.0);
        self.compiled.fetch_add(1, Relaxed);
    }
    fn hit(&self, _: &'static str) {
        self.hits.fetch_add(1, Relaxed);
    }
    fn miss(&self, _: &'static str) {
        self.misses.fetch_add(1, Relaxed);
    }
    fn wait(&self, _: &'static str) {
        self.waits.fetch_add(1, Relaxed);
    }
    fn evicted(&self, count: usize) {
        self.evicted.fetch_add(count, Relaxed);
    }
}

#[tokio::test]
async fn every_kind_of_constraint_compiles_to_its_check() {
    let compiler = Compiler::new(small());
    let text = "x".to_owned();
    let tag = json!({"format": {"type": "const_string", "value": "x"}});
    let cases = [
        (schema(json!({"type": "string"})), "Json("),
        (Constraint::JsonObject, "JsonObject"),
        (Constraint::Regex(text.clone()), "Text("),
        (Constraint::Choice(vec![text.clone()]), "Text("),
        (
            Constraint::Grammar {
                notation: Notation::Lark,
                text: "start: \"x\"".to_owned(),
            },
            "Text(",
        ),
        (
            Constraint::Grammar {
                notation: Notation::Gbnf,
                text: "root ::= \"x\"".to_owned(),
            },
            "Text(",
        ),
        (Constraint::StructuralTag(tag), "Tag("),
    ];
    for (constraint, expected) in cases {
        let check = compiler.compile(&constraint).await.unwrap();
        assert!(format!("{check:?}").starts_with(expected), "{check:?}");
    }
}

#[tokio::test]
async fn an_error_names_the_place_inside_of_the_schema() {
    let compiler = Compiler::new(small());
    let error = compiler
        .compile(&schema(json!({"properties": {"a": {"$ref": "https://x"}}})))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::UnsupportedSchema);
    assert!(
        error.message.contains("`/properties/a/$ref`"),
        "{}",
        error.message
    );
    let error = compiler
        .compile(&Constraint::Regex("(".to_owned()))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::InvalidGrammar);
    assert_eq!(compiler.stats().entries, 0, "failures are not kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_thousand_requests_for_one_cold_schema_compile_it_once() {
    let counts = Arc::new(Counts::default());
    let compiler = Compiler::observed(small(), counts.clone());
    let constraint = Arc::new(schema(
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]{1,500}$"}}}),
    ));
    let requests: Vec<_> = (0..2000)
        .map(|_| {
            let (compiler, constraint) = (compiler.clone(), constraint.clone());
            tokio::spawn(async move { compiler.compile(&constraint).await })
        })
        .collect();
    for request in requests {
        assert!(request.await.unwrap().is_ok());
    }
    assert_eq!(
        (counts.compiled.load(Relaxed), counts.misses.load(Relaxed)),
        (1, 1)
    );
    let stats = compiler.stats();
    assert_eq!((stats.misses, stats.entries), (1, 1));
    assert_eq!(stats.hits + stats.waits, 1999);
    assert_eq!(counts.hits.load(Relaxed) + counts.waits.load(Relaxed), 1999);
}

#[tokio::test]
async fn a_waiter_that_goes_away_ends_nothing() {
    let compiler = Compiler::new(small());
    let constraint =
        schema(json!({"enum": (0..9000).map(|n| format!("value {n}")).collect::<Vec<_>>()}));
    let gone = compiler.compile(&constraint);
    // Polled once: the compilation has begun.
    assert!(futures_util::FutureExt::now_or_never(gone).is_none_or(|done| done.is_ok()));
    assert!(compiler.compile(&constraint).await.is_ok());
    assert_eq!(compiler.stats().misses, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_schemas_stay_within_both_bounds() {
    let counts = Arc::new(Counts::default());
    let limits = CompilerLimits {
        cache_entries: 300,
        cache_bytes: 2 << 20,
        ..small()
    };
    let compiler = Compiler::observed(limits.clone(), counts.clone());
    for n in 0..10_000 {
        let constraint =
            schema(json!({"type": "object", "properties": {format!("p{n}"): {"const": n}}}));
        compiler.compile(&constraint).await.unwrap();
        if n % 100 == 0 {
            let stats = compiler.stats();
            assert!(stats.entries <= 300 && stats.bytes <= 2 << 20, "{stats:?}");
        }
    }
    let stats = compiler.stats();
    assert!(stats.entries > 100, "{stats:?}");
    assert_eq!(stats.evictions + stats.entries as u64, 10_000);
    assert_eq!(counts.evicted.load(Relaxed) as u64, stats.evictions);
    // What is larger than the whole cache is compiled and not kept.
    let large = schema(json!({"description": "x".repeat(200_000)}));
    compiler.compile(&large).await.unwrap();
    assert_eq!(compiler.stats().evictions, stats.evictions);
}

#[tokio::test]
async fn what_is_used_stays_and_what_came_once_goes() {
    let limits = CompilerLimits {
        cache_entries: 3,
        ..small()
    };
    let compiler = Compiler::new(limits);
    let constraint = |n: u32| schema(json!({"const": n}));
    for n in [1, 2, 1, 2, 3, 4, 1, 5, 2, 6] {
        compiler.compile(&constraint(n)).await.unwrap();
    }
    let before = compiler.stats();
    for used in [1, 2] {
        compiler.compile(&constraint(used)).await.unwrap();
    }
    assert_eq!(compiler.stats().hits, before.hits + 2);
    for once in [3, 4] {
        compiler.compile(&constraint(once)).await.unwrap();
    }
    assert_eq!(compiler.stats().misses, before.misses + 2);
}

#[tokio::test]
async fn constraints_that_look_alike_never_share_a_check() {
    let compiler = Compiler::new(small());
    let values = [
        json!(1),
        json!("1"),
        json!(true),
        json!("true"),
        json!([1]),
        json!({"a": 1}),
        json!(null),
    ];
    for _ in 0..2 {
        for value in &values {
            let check = compiler
                .compile(&schema(json!({"const": value})))
                .await
                .unwrap();
            let Check::Json(validator) = check else {
                unreachable!()
            };
            for other in &values {
                assert_eq!(
                    validator.validate(other).is_ok(),
                    value == other,
                    "{value} {other}"
                );
            }
        }
    }
    // Order of keys means nothing; kind does.
    let before = compiler.stats();
    compiler
        .compile(&schema(json!({"type": "string", "minLength": 1})))
        .await
        .unwrap();
    compiler
        .compile(&schema(json!({"minLength": 1, "type": "string"})))
        .await
        .unwrap();
    assert_eq!(compiler.stats().hits, before.hits + 1);
    compiler
        .compile(&Constraint::Regex("ab".to_owned()))
        .await
        .unwrap();
    compiler
        .compile(&Constraint::Choice(vec!["ab".to_owned()]))
        .await
        .unwrap();
    assert_eq!(compiler.stats().hits, before.hits + 1);
}

/// How long a slow build takes; far more than anything else here, on a loaded machine too.
const SLOW: Duration = Duration::from_secs(3);

/// Builds what is quick, sleeps over a regex, and panics over a choice.
fn build(constraint: &Constraint, _: &SchemaLimits) -> Outcome {
    match constraint {
        Constraint::Regex(_) => std::thread::sleep(SLOW),
        Constraint::Choice(_) => unreachable!("an assertion inside of a library"),
        _ => {}
    }
    Ok(Check::JsonObject)
}

fn slow(n: usize) -> Constraint {
    Constraint::Regex(n.to_string())
}

fn building(limits: CompilerLimits) -> Compiler {
    Compiler::building(build, limits, Arc::new(Unobserved))
}

#[tokio::test]
async fn a_compilation_past_its_time_is_refused_and_its_thread_replaced() {
    let compiler = building(CompilerLimits {
        threads: 1,
        timeout: SLOW / 6,
        ..small()
    });
    let begin = Instant::now();
    for _ in 0..3 {
        // Asking again waits for nothing and takes no second thread.
        let error = compiler.compile(&slow(1)).await.unwrap_err();
        assert_eq!(error.kind, Kind::SchemaTooComplex);
    }
    assert_eq!(compiler.stats().misses, 1);
    // The one thread is at it still; another stands in.
    assert!(compiler.compile(&schema(json!(1))).await.is_ok());
    assert!(begin.elapsed() < SLOW, "{:?}", begin.elapsed());
    // What ends late is of use to those who ask later.
    std::thread::sleep(SLOW);
    assert!(compiler.compile(&slow(1)).await.is_ok());
    assert_eq!((compiler.stats().misses, compiler.stats().hits), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_and_a_long_wait_are_answered_with_overloaded() {
    let limits = CompilerLimits {
        threads: 1,
        queue: 2,
        queue_timeout: SLOW / 6,
        ..small()
    };
    let compiler = building(limits);
    let requests: Vec<_> = (0..8)
        .map(|n| {
            let compiler = compiler.clone();
            tokio::spawn(async move { compiler.compile(&slow(n)).await })
        })
        .collect();
    let mut overloaded = 0;
    for request in requests {
        if let Err(error) = request.await.unwrap() {
            assert_eq!((error.kind, error.retry_after), (Kind::Overloaded, Some(1)));
            overloaded += 1;
        }
    }
    assert_eq!(
        overloaded, 7,
        "one ran, two waited too long, five found the queue full"
    );
    // It recovers.
    assert!(compiler.compile(&schema(json!(true))).await.is_ok());
}

#[tokio::test]
async fn a_panic_inside_of_a_library_is_an_error_and_the_thread_lives() {
    let compiler = building(CompilerLimits {
        threads: 1,
        ..small()
    });
    for _ in 0..3 {
        let error = compiler
            .compile(&Constraint::Choice(vec![]))
            .await
            .unwrap_err();
        assert_eq!(error.kind, Kind::SchemaTooComplex);
    }
    assert!(compiler.compile(&schema(json!(true))).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_schemas_end_in_a_check_or_a_client_error() {
    let compiler = Compiler::new(small());
    let data = include_str!("../../../tests/data/schema_hostile.jsonl");
    for line in data.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = match case.get("recipe") {
            Some(steps) => recipe(steps),
            None => case["schema"].to_string(),
        };
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let result = compiler.compile(&schema(value)).await;
        match case["expect"]["outcome"].as_str() {
            Some("accept") => assert!(result.is_ok(), "{}", case["id"]),
            Some("reject") => {
                let error = result.unwrap_err();
                assert_eq!(error.status(), 400, "{}", case["id"]);
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_hit_and_a_small_validation_are_cheap() {
    let compiler = Compiler::new(small());
    let properties: serde_json::Map<_, _> = (0..12)
        .map(|n| {
            (
                format!("property_{n}"),
                json!({"type": "string", "description": "what it is, in a few words"}),
            )
        })
        .collect();
    let constraint =
        schema(json!({"type": "object", "properties": properties, "required": ["property_0"]}));
    let value = json!({"property_0": "a", "property_1": "b"});
    compiler.compile(&constraint).await.unwrap();
    let mut times = Vec::new();
    for _ in 0..2000 {
        let begin = Instant::now();
        let Check::Json(validator) = compiler.compile(&constraint).await.unwrap() else {
            unreachable!()
        };
        validator.validate(&value).unwrap();
        times.push(begin.elapsed());
    }
    times.sort();
    println!(
        "hit and validate: p50 {:?}, p99 {:?}",
        times[1000], times[1980]
    );
    // A hundred times what a release build takes: only a hop to a thread would show.
    assert!(times[1000] < Duration::from_millis(1));
}
