//! Lowering, held against what servers make of schemas: a client's schema is lowered for a server,
//! read as that server reads it, and both are asked about the same instances.
//!
//! Public schemas are read from the folder `ISOGLOSS_DATA` (default `../shared/data`).
//! `tests/data/lowering-ratchet.json` has how many of them each server enforces exactly: the figures
//! may only improve. `UPDATE_RATCHET=1 cargo test --test lowering` writes them anew.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "lowering/engine.rs"]
mod engine;
#[path = "lowering/generate.rs"]
mod generate;
#[path = "lowering/reading.rs"]
mod reading;

use isogloss::compile::Memo;
use isogloss::exchange;
use isogloss::rules::{RuleSet, Version};
use isogloss::schema::{Profile, Validator, Why, lower};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SERVERS: [&str; 6] = [
    "vllm@0.32.0",
    "sglang@0.5.23",
    "sglang@0.5.20",
    "llama-cpp",
    "openai",
    "worker",
];

/// A server's label, or the name of a compiler.
fn profile(server: &str) -> Profile {
    let set = RuleSet::builtin();
    if let Some(profile) = set.profile(server) {
        return profile.clone();
    }
    let (name, version) = server.split_once('@').unwrap_or((server, ""));
    let rule = set.resolve(name, Version::parse(version));
    rule.unwrap().schema
}

/// One client's schema, and values that may or may not satisfy it.
struct Sample {
    name: String,
    schema: Value,
    instances: Vec<Value>,
}

fn public_samples() -> Option<Vec<Sample>> {
    let folder = std::env::var("ISOGLOSS_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let path = Path::new(&folder).join("schemas.jsonl");
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    let samples = BufReader::new(file).lines().map(|line| {
        let mut line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let tests = line["tests"].as_array().unwrap();
        let instances = tests.iter().map(|test| test["data"].clone()).collect();
        Sample {
            name: line["id"].as_str().unwrap().to_owned(),
            schema: line["schema"].take(),
            instances,
        }
    });
    Some(samples.collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The server enforces all of it, and is sent the client's own schema.
    Untouched,
    /// The server enforces all of it, in another form.
    Exact,
    /// The proxy enforces a part.
    Partly,
    /// The proxy does not take it.
    Refused,
}

/// Lowers, and holds what the server then accepts against what the client asked for.
fn check(sample: &Sample, profile: &Profile) -> Outcome {
    let Ok(asked) = Validator::compile(&sample.schema) else {
        return Outcome::Refused;
    };
    let lowered = lower(&sample.schema, profile);
    let name = &sample.name;
    // What the server ignores may say anything: a `not` of what became wider says less.
    let ignoring = Profile {
        ignored: profile.ignored.clone(),
        ..Profile::default()
    };
    let sent = reading::read(&lowered.schema, &ignoring).unwrap();
    let sent = Validator::compile(&sent).unwrap_or_else(|fault| {
        panic!(
            "{name}: what is sent is no schema: {fault}: {}",
            lowered.schema
        )
    });
    let read = reading::read(&lowered.schema, profile);
    let read = read.and_then(|read| Validator::compile(&read).ok());
    assert!(
        read.is_some() || !lowered.losses.is_empty(),
        "{name}: refused, and no loss says so"
    );
    let is_narrower = lowered.losses.iter().any(|loss| loss.why == Why::Narrower);
    for instance in &sample.instances {
        let wanted = asked.validate(instance).is_ok();
        let is_sent = sent.validate(instance).is_ok();
        let is_read = read.as_ref().map(|read| read.validate(instance).is_ok());
        let says = || {
            format!(
                "{name}: {instance}\n{}\n{}\n{:?}",
                sample.schema, lowered.schema, lowered.losses
            )
        };
        if wanted && !is_narrower {
            assert!(is_sent, "what is sent is narrower: {}", says());
            assert_ne!(is_read, Some(false), "what is read is narrower: {}", says());
        }
        if !wanted && lowered.losses.is_empty() {
            assert!(!is_sent, "what is sent is wider, in silence: {}", says());
            assert_eq!(
                is_read,
                Some(false),
                "what is read is wider, in silence: {}",
                says()
            );
        }
    }
    for loss in &lowered.losses {
        assert!(
            !loss.keyword.is_empty() && loss.pointer.ends_with(&loss.keyword),
            "{name}: {loss:?}"
        );
    }
    match (lowered.losses.is_empty(), lowered.changed()) {
        (true, false) => Outcome::Untouched,
        (true, true) => Outcome::Exact,
        (false, _) => Outcome::Partly,
    }
}

fn figures(samples: &[Sample], profile: &Profile) -> Map<String, Value> {
    let outcomes: Vec<Outcome> = samples
        .iter()
        .map(|sample| check(sample, profile))
        .collect();
    let count = |wanted| {
        json!(
            outcomes
                .iter()
                .filter(|outcome| **outcome == wanted)
                .count()
        )
    };
    Map::from_iter([
        ("untouched".to_owned(), count(Outcome::Untouched)),
        ("exact".to_owned(), count(Outcome::Exact)),
        ("partly".to_owned(), count(Outcome::Partly)),
        ("refused".to_owned(), count(Outcome::Refused)),
    ])
}

#[test]
fn public_schemas_are_never_narrowed_in_silence_and_more_and_more_are_exact() {
    let Some(samples) = public_samples() else {
        return;
    };
    let mut now = Map::new();
    let set = RuleSet::builtin();
    for server in SERVERS.into_iter().chain(set.profiles()) {
        let start = Instant::now();
        let profile = profile(server);
        for sample in &samples {
            std::hint::black_box(lower(&sample.schema, &profile));
        }
        let each = start.elapsed() / u32::try_from(samples.len()).unwrap().max(1);
        let figures = figures(&samples, &profile);
        println!(
            "{server:28} {} in {each:?} each",
            Value::Object(figures.clone())
        );
        now.insert(server.to_owned(), Value::Object(figures));
    }
    ratchet("public", &now);
}

/// Why the worker's engine may refuse a schema that was lowered for it: pieces of its messages.
const REFUSALS: [&str; 5] = [
    // A reference within its own target, with keywords beside it or branches around it.
    "circular references with sibling keys",
    "Schema intersection stack level exceeded",
    "are not disjoint",
    "Unsatisfiable schema",
    "Retrieving external resources is not supported",
];

#[test]
fn the_workers_engine_takes_nearly_every_schema_and_lets_nothing_through_in_silence() {
    let Some(samples) = public_samples() else {
        return;
    };
    let profile = profile("worker");
    // As much stack as the worker compiles with.
    let check = std::thread::Builder::new().stack_size(64 << 20);
    let taken = check.spawn(move || {
        let taken = samples
            .iter()
            .filter(|sample| engine_takes(sample, &profile));
        (taken.count(), samples.len())
    });
    let (taken, of) = taken.unwrap().join().unwrap();
    println!("the engine takes {taken} of {of}");
    assert!(taken * 100 >= of * 98, "{taken} of {of}");
}

fn engine_takes(sample: &Sample, profile: &Profile) -> bool {
    let Ok(asked) = Validator::compile(&sample.schema) else {
        return false;
    };
    let lowered = lower(&sample.schema, profile);
    let engine = match engine::Engine::compile(&lowered.schema) {
        Ok(engine) => engine,
        Err(reason) => {
            let is_known = REFUSALS.iter().any(|known| reason.contains(known));
            assert!(is_known, "{}: {reason}", sample.name);
            return false;
        }
    };
    for instance in &sample.instances {
        let is_wrong = asked.validate(instance).is_err() && engine.lets_through(instance);
        assert!(
            !is_wrong || !lowered.losses.is_empty(),
            "{}: let through in silence: {instance}\n{}",
            sample.name,
            lowered.schema
        );
    }
    true
}

#[test]
fn what_real_clients_ask_stays_as_it_is() {
    let samples: Vec<Sample> = recorded_schemas();
    assert!(samples.len() > 20, "the captures are there");
    let mut now = Map::new();
    for server in SERVERS {
        let figures = figures(&samples, &profile(server));
        println!("{server:14} {}", Value::Object(figures.clone()));
        now.insert(server.to_owned(), Value::Object(figures));
    }
    ratchet("clients", &now);
}

/// Fails where fewer schemas are enforced whole, or more are refused, than before.
fn ratchet(group: &str, now: &Map<String, Value>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lowering-ratchet.json");
    let mut known: Value = std::fs::read_to_string(&path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_else(|| json!({}));
    if std::env::var_os("UPDATE_RATCHET").is_some() {
        // Both groups write the same file.
        static WRITING: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _guard = WRITING.lock().unwrap();
        if let Ok(text) = std::fs::read_to_string(&path) {
            known = serde_json::from_str(&text).unwrap();
        }
        known[group] = Value::Object(now.clone());
        let text = serde_json::to_string_pretty(&known).unwrap() + "\n";
        std::fs::write(&path, text).unwrap();
        return;
    }
    for (server, figures) in now {
        let before = &known[group][server];
        let figure = |figures: &Value, name: &str| figures[name].as_u64().unwrap_or_default();
        let whole = |figures: &Value| figure(figures, "untouched") + figure(figures, "exact");
        assert!(
            whole(figures) >= whole(before),
            "{server}: {figures}, before {before}"
        );
        assert!(
            figure(figures, "refused") <= figure(before, "refused"),
            "{server}: {figures}, before {before}"
        );
    }
}

/// The schemas of the clients' recorded requests: tools' parameters, and answers.
fn recorded_schemas() -> Vec<Sample> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/requests");
    let mut samples: Vec<Sample> = Vec::new();
    let mut add = |path: &PathBuf, schema: &Value| {
        let is_known = samples.iter().any(|known| known.schema == *schema);
        if schema.is_object() && !is_known {
            samples.push(Sample {
                name: path.display().to_string(),
                schema: schema.clone(),
                instances: Vec::new(),
            });
        }
    };
    for client in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(client.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !path.to_str().unwrap().ends_with(".in.json") {
                continue;
            }
            let body: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            for tool in body["tools"].as_array().into_iter().flatten() {
                add(&path, &tool["function"]["parameters"]);
            }
            add(&path, &body["response_format"]["json_schema"]["schema"]);
            add(&path, &body["guided_json"]);
            add(&path, &body["structured_outputs"]["json"]);
        }
    }
    samples
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_schemas_are_never_narrowed_in_silence(
        schema in generate::schema(),
        instances in prop::collection::vec(generate::instance(), 24),
    ) {
        let sample = Sample { name: "made up".to_owned(), schema, instances };
        for server in SERVERS {
            check(&sample, &profile(server));
        }
    }
}

#[test]
fn lowering_costs_little() {
    let Some(samples) = public_samples() else {
        return;
    };
    let profile = profile("vllm@0.32.0");
    let mut times: Vec<Duration> = Vec::new();
    for sample in &samples {
        let bytes = sample.schema.to_string().len();
        if !(700..1400).contains(&bytes) || Validator::compile(&sample.schema).is_err() {
            continue;
        }
        let start = Instant::now();
        for _ in 0..20 {
            std::hint::black_box(lower(&sample.schema, &profile));
        }
        times.push(start.elapsed() / 20);
    }
    times.sort();
    let at = |share: usize| times[times.len() * share / 100];
    println!(
        "about 1 KB: {} schemas, p50 {:?}, p99 {:?}",
        times.len(),
        at(50),
        at(99)
    );
    // Some 20 times what an optimised build takes at the worst; this one is not optimised.
    assert!(at(50) < Duration::from_millis(1), "{:?}", at(50));
}

/// What real clients ask, planned for each server, without and with what was written before: the
/// same bodies. Prints what it saves.
#[test]
fn what_was_written_before_is_written_again_byte_for_byte() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/requests");
    let mut bodies = Vec::new();
    for client in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(client.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.to_str().unwrap().ends_with(".in.json") {
                bodies.push(std::fs::read(&path).unwrap());
            }
        }
    }
    let set = RuleSet::builtin();
    for server in [
        "vllm@0.32.0",
        "sglang@0.5.23",
        "llama-cpp",
        "mistral-rs",
        "fireworks",
    ] {
        let (name, version) = server.split_once('@').unwrap_or((server, ""));
        let rule = set.resolve(name, Version::parse(version)).unwrap();
        // A server without a tool parser needs the most.
        let rule = rule.knowing("no_auto_tools").unwrap_or(rule);
        let demands: Vec<_> = bodies
            .iter()
            .filter_map(|body| exchange::read_chat(body).ok())
            .collect();
        let memo = Memo::new(10_000, 256 << 20);
        let all = |memo: &Memo| {
            let options = exchange::Options {
                memo,
                is_compact: false,
            };
            let start = Instant::now();
            let planned = demands
                .iter()
                .map(|demand| exchange::plan_with(demand.clone(), &rule, &options).ok())
                .map(|planned| planned.map(|planned| (planned.body, planned.losses)))
                .collect::<Vec<_>>();
            (planned, start.elapsed())
        };
        let (without, first) = all(&Memo::none());
        let (filling, _) = all(&memo);
        let (with, again) = all(&memo);
        assert!(without == filling && without == with, "{server}");
        assert!(memo.stats().hits >= memo.stats().misses, "{server}");
        let count = u32::try_from(demands.len()).unwrap();
        println!(
            "{server:14} {:?} a request, again {:?}",
            first / count,
            again / count
        );
    }
}
