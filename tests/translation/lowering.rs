//! Lowering, held against what servers make of schemas: a client's schema is lowered for a server,
//! read as that server reads it, and both are asked about the same instances.
//!
//! Public schemas are read from the folder `ISOGLOSS_DATA` (default `../shared/data`).
//! `tests/data/lowering-ratchet.txt` has for each of them what each server makes of it: none may get
//! worse, whatever gets better. `UPDATE_RATCHET=1 cargo test -p isogloss-core --test translation lowering` writes it anew.

mod engine;
mod generate;
mod ratchet;
mod reading;

use crate::replay::rules;
use isogloss_compile::MemoCache;
use isogloss_core::exchange;
use isogloss_core::rewrite::{Memo, NoMemo};
use isogloss_core::rules::Version;
use isogloss_core::schema::{Profile, Validator, Why, lower};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::rc::Rc;
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
    let set = rules();
    if let Some(profile) = set.profile(server) {
        return profile.clone();
    }
    let (name, version) = server.split_once('@').unwrap_or((server, ""));
    let rule = set.resolve(name, Version::parse(version));
    rule.unwrap().schema
}

/// One client's schema, and values that may or may not satisfy it.
struct Sample {
    /// The data set that it is of.
    set: String,
    name: String,
    schema: Value,
    instances: Vec<Value>,
}

/// The lines of a file of the public data; `None` where the folder is absent.
fn public_lines(file: &str) -> Option<impl Iterator<Item = Value>> {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let path = Path::new(&folder).join(file);
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    let lines = BufReader::new(file).lines();
    Some(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()))
}

fn instances(tests: &Value) -> Vec<Value> {
    let tests = tests.as_array().into_iter().flatten();
    tests.map(|test| test["data"].clone()).collect()
}

fn public_samples() -> Option<Vec<Sample>> {
    let samples = public_lines("schemas.jsonl")?.map(|mut line| Sample {
        set: line["dataset"].as_str().unwrap().to_owned(),
        name: line["id"].as_str().unwrap().to_owned(),
        instances: instances(&line["tests"]),
        schema: line["schema"].take(),
    });
    Some(samples.collect())
}

/// The groups of the JSON-Schema-Test-Suite that need nothing fetched, each in its own draft. Which
/// texts are of a format, and whether 1.0 is a whole number, differs between drafts in corners that no
/// server knows: those are left out.
fn suite_samples() -> Option<Vec<Sample>> {
    const DRAFTS: [(&str, &str); 3] = [
        ("draft4", "http://json-schema.org/draft-04/schema#"),
        ("draft6", "http://json-schema.org/draft-06/schema#"),
        ("draft7", "http://json-schema.org/draft-07/schema#"),
    ];
    let groups = public_lines("json_schema_test_suite.jsonl")?;
    let samples = groups
        .filter(|group| group["needs_remote"] != true)
        .filter(|group| {
            let file = group["file"].as_str().unwrap();
            !file.contains("format") && !file.contains("zeroTerminatedFloats")
        })
        .enumerate()
        .map(|(at, mut group)| {
            let draft = group["draft"].as_str().unwrap();
            let old = DRAFTS.iter().find(|(name, _)| *name == draft);
            let name = format!("{draft} {} {at}", group["file"]);
            let mut schema = group["schema"].take();
            if let (Some((_, uri)), Value::Object(map)) = (old, &mut schema) {
                map.entry("$schema").or_insert_with(|| json!(uri));
            }
            Sample {
                set: "JSON-Schema-Test-Suite".to_owned(),
                name,
                schema,
                instances: instances(&group["tests"]),
            }
        });
    Some(samples.collect())
}

/// The parameters of public tools, and the arguments of recorded calls.
fn tool_samples() -> Option<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    for line in public_lines("tool_calls.jsonl")? {
        let calls = line["calls"].as_array().cloned().unwrap_or_default();
        for tool in line["tools"].as_array().into_iter().flatten() {
            let function = &tool["function"];
            let of = calls.iter().filter(|call| call["name"] == function["name"]);
            samples.push(Sample {
                set: "BFCL v4".to_owned(),
                name: format!("{} {}", line["id"], function["name"]),
                schema: function["parameters"].clone(),
                instances: of.map(|call| call["arguments"].clone()).collect(),
            });
        }
    }
    Some(samples)
}

/// What is made to do harm, as far as it is a schema at all.
fn hostile_samples() -> Vec<Sample> {
    let data = include_str!("../data/schema_hostile.jsonl");
    let cases = data.lines().map(|line| serde_json::from_str(line).unwrap());
    cases
        .filter(|case: &Value| case.get("recipe").is_none())
        .map(|mut case| Sample {
            set: "hostile".to_owned(),
            name: case["id"].to_string(),
            instances: instances(&case["instances"]),
            schema: case["schema"].take(),
        })
        .collect()
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

/// A sample, and what was found out about it: many servers are sent the same schema.
struct Known<'s> {
    sample: &'s Sample,
    /// Which of the instances the client asked for; `None` where the proxy does not take the schema.
    wanted: Option<Vec<bool>>,
    verdicts: HashMap<String, Rc<Verdicts>>,
}

/// Which of the instances satisfy a schema, or why it is none.
type Verdicts = Result<Vec<bool>, String>;

fn verdicts(sample: &Sample, schema: &Value) -> Verdicts {
    let validator = Validator::compile(schema).map_err(|fault| fault.to_string())?;
    let instances = sample.instances.iter();
    let verdicts = instances.map(|instance| validator.validate(instance).is_ok());
    Ok(verdicts.collect())
}

impl<'s> Known<'s> {
    fn of(sample: &'s Sample) -> Self {
        Self {
            sample,
            wanted: verdicts(sample, &sample.schema).ok(),
            verdicts: HashMap::new(),
        }
    }

    fn verdicts(&mut self, schema: &Value) -> Rc<Verdicts> {
        let known = self.verdicts.entry(schema.to_string());
        Rc::clone(known.or_insert_with(|| Rc::new(verdicts(self.sample, schema))))
    }

    /// Lowers, and holds what the server then accepts against what the client asked for. The time is the lowering's.
    fn check(&mut self, profile: &Profile) -> (Outcome, Duration) {
        let Sample { name, schema, .. } = self.sample;
        let begin = Instant::now();
        let lowered = lower(schema, profile);
        let time = begin.elapsed();
        let Some(wanted) = self.wanted.clone() else {
            return (Outcome::Refused, time);
        };
        // What the server ignores may say anything: a `not` of what became wider says less.
        let ignoring = Profile {
            ignored: profile.ignored.clone(),
            ..Profile::default()
        };
        let sent = reading::read(&lowered.schema, &ignoring).unwrap();
        let sent = self.verdicts(&sent);
        let sent = match &*sent {
            Ok(sent) => sent,
            // What no value satisfies is plainer to see where keywords stand together.
            Err(fault) if IMPOSSIBLE.iter().any(|piece| fault.contains(piece)) => {
                // A server that takes nothing but required properties requires one that no value satisfies, too.
                let is_told = lowered.losses.iter().any(|loss| loss.why == Why::Narrower);
                let satisfies = wanted.contains(&true);
                assert!(
                    !satisfies || is_told,
                    "{name}: what is sent satisfies nothing"
                );
                let outcome = if is_told {
                    Outcome::Partly
                } else {
                    Outcome::Exact
                };
                return (outcome, time);
            }
            // A keyword that nobody knows, to which a reference led before that was led elsewhere.
            Err(fault) if fault.contains("is no keyword of JSON Schema") => {
                let outcome = match lowered.losses.is_empty() {
                    true => Outcome::Exact,
                    false => Outcome::Partly,
                };
                return (outcome, time);
            }
            Err(fault) => panic!(
                "{name}: what is sent is no schema: {fault}: {}",
                lowered.schema
            ),
        };
        let read = reading::read(&lowered.schema, profile).map(|read| self.verdicts(&read));
        let read = read.as_ref().and_then(|read| read.as_ref().as_ref().ok());
        assert!(
            read.is_some() || !lowered.losses.is_empty(),
            "{name}: refused, and no loss says so"
        );
        let is_narrower = lowered.losses.iter().any(|loss| loss.why == Why::Narrower);
        for (at, instance) in self.sample.instances.iter().enumerate() {
            let (wanted, is_sent) = (wanted[at], sent[at]);
            let is_read = read.map(|read| read[at]);
            let says = || {
                format!(
                    "{name}: {instance}\n{schema}\n{}\n{:?}",
                    lowered.schema, lowered.losses
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
            let segment = loss.keyword.replace('~', "~0").replace('/', "~1");
            assert!(
                !loss.keyword.is_empty() && loss.pointer.ends_with(&segment),
                "{name}: {loss:?}"
            );
        }
        let outcome = match (lowered.losses.is_empty(), lowered.changed()) {
            (true, false) => Outcome::Untouched,
            (true, true) => Outcome::Exact,
            (false, _) => Outcome::Partly,
        };
        (outcome, time)
    }
}

/// What is said of schemas that no value satisfies.
const IMPOSSIBLE: [&str; 3] = [
    "no finite value",
    "is no property of an object that may have no others",
    "no value of it is of the schema's `type`",
];

impl Outcome {
    const fn letter(self) -> char {
        match self {
            Self::Untouched => 'u',
            Self::Exact => 'e',
            Self::Partly => 'p',
            Self::Refused => 'r',
        }
    }
}

/// What every profile makes of every sample, on all cores: thousands of schemas for dozens of servers.
fn check_all(samples: &[Sample], profiles: &[Profile]) -> Vec<Vec<(Outcome, Duration)>> {
    let check = |sample: &Sample| {
        let mut known = Known::of(sample);
        let outcomes = profiles.iter().map(|profile| known.check(profile));
        outcomes.collect::<Vec<_>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = samples.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = samples
            .chunks(part)
            .map(|part| scope.spawn(|| part.iter().map(check).collect::<Vec<_>>()))
            .collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap());
        parts.flatten().collect()
    })
}

/// Lowers for every server and compiler, prints what comes of each data set, and holds what comes of
/// each schema against what came of it before.
fn survey(group: &str, samples: &[Sample]) {
    let mut sets: Vec<&str> = samples.iter().map(|sample| sample.set.as_str()).collect();
    sets.dedup();
    println!(
        "| server | data set | schemas | carried exactly | of these unchanged | with proxy-enforced keywords | refused | each |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut now = ratchet::Baseline::default();
    let set = rules();
    let servers: Vec<&str> = SERVERS.into_iter().chain(set.profiles()).collect();
    let profiles: Vec<Profile> = servers.iter().map(|server| profile(server)).collect();
    let outcomes = check_all(samples, &profiles);
    for (place, server) in servers.into_iter().enumerate() {
        for set in &sets {
            let mut counts = [0_u32; 4];
            let mut all = Duration::ZERO;
            let of = samples.iter().zip(&outcomes);
            for (sample, outcomes) in of.filter(|(sample, _)| sample.set == *set) {
                let (outcome, time) = outcomes[place];
                counts[outcome as usize] += 1;
                all += time;
                now.note(group, server, sample, outcome.letter());
            }
            let [untouched, exact, partly, refused] = counts;
            let of: u32 = counts.iter().sum();
            println!(
                "| {server} | {set} | {of} | {} | {untouched} | {partly} | {refused} | {:.0?} |",
                untouched + exact,
                all / of.max(1),
            );
        }
    }
    now.hold(group);
}

#[test]
fn public_schemas_are_never_narrowed_in_silence_and_more_and_more_are_exact() {
    if let Some(samples) = public_samples() {
        survey("public", &samples);
    }
}

#[test]
fn every_keyword_of_the_test_suite_is_carried_or_told() {
    if let Some(samples) = suite_samples() {
        survey("suite", &samples);
    }
}

#[test]
fn public_tools_are_carried_or_told() {
    if let Some(samples) = tool_samples() {
        survey("tools", &samples);
    }
}

#[test]
fn hostile_schemas_are_carried_or_told() {
    survey("hostile", &hostile_samples());
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
    survey("clients", &samples);
}

/// The schemas of the clients' recorded requests: tools' parameters, and answers.
fn recorded_schemas() -> Vec<Sample> {
    let root = isogloss_testing::root().join("tests/golden/requests");
    let mut samples: Vec<Sample> = Vec::new();
    let mut add = |path: &PathBuf, schema: &Value| {
        let is_known = samples.iter().any(|known| known.schema == *schema);
        if schema.is_object() && !is_known {
            samples.push(Sample {
                set: "recorded clients".to_owned(),
                // The same wherever the checkout stands.
                name: path
                    .strip_prefix(isogloss_testing::root())
                    .unwrap_or(path)
                    .display()
                    .to_string(),
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

/// What random ones once showed.
#[test]
fn schemas_that_went_wrong_once_do_not_again() {
    let schema = json!({"allOf": [{"minProperties": 0, "oneOf": [{"type": "object"}]}], "uniqueItems": true});
    let instances = vec![json!({"a": null}), json!({}), json!([])];
    let sample = Sample {
        set: String::new(),
        name: "an object in a union of one".to_owned(),
        schema,
        instances,
    };
    let mut known = Known::of(&sample);
    for server in SERVERS {
        known.check(&profile(server));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_schemas_are_never_narrowed_in_silence(
        schema in generate::schema(),
        instances in prop::collection::vec(generate::instance(), 24),
    ) {
        let sample = Sample { set: String::new(), name: "made up".to_owned(), schema, instances };
        let mut known = Known::of(&sample);
        for server in SERVERS {
            known.check(&profile(server));
        }
    }
}

/// What real clients ask, planned for each server, without and with what was written before: the
/// same bodies. Prints what it saves.
#[test]
fn what_was_written_before_is_written_again_byte_for_byte() {
    let root = isogloss_testing::root().join("tests/golden/requests");
    let mut bodies = Vec::new();
    for client in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(client.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.to_str().unwrap().ends_with(".in.json") {
                bodies.push(std::fs::read(&path).unwrap());
            }
        }
    }
    let set = rules();
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
        let memo = MemoCache::new(10_000, 256 << 20);
        let all = |memo: &dyn Memo| {
            let options = exchange::Options {
                memo,
                is_compact: false,
                seal: isogloss_core::ir::Seal::default(),
            };
            let start = Instant::now();
            let planned = demands
                .iter()
                .map(|demand| exchange::plan_with(demand.clone(), &rule, &options).ok())
                .map(|planned| planned.map(|planned| (planned.body, planned.losses)))
                .collect::<Vec<_>>();
            (planned, start.elapsed())
        };
        let (without, first) = all(&NoMemo);
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
