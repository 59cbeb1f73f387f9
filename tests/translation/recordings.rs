//! Every recorded Chat Completions reply, through the whole translation: cut anywhere, the client
//! gets the same; what ends well has all that real clients were measured to need.
//!
//! The recordings answer the requests as they were sent to the servers, not as Isogloss would have
//! written them, so violations and errors are expected: what is demanded is that each is told, and
//! told alike however the bytes arrive. The folder is `ISOGLOSS_CAPTURES`, `../shared/captures`
//! where that is not set; without it there is nothing to test.

use crate::replay;
use isogloss_core::exchange;
use isogloss_core::ir::Rewrap;
use isogloss_core::rules::Rule;
use replay::{Recorded, rule};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The recorded folders, and the server that each is.
const SERVERS: &[(&str, &str)] = &[
    ("llamacpp-0c1e57098", "llama-cpp"),
    ("sglang-0.5.23", "sglang@0.5.23"),
    ("sglang-0.5.23-reason", "sglang@0.5.23"),
    ("transformers-serve-5.23.0", "plain"),
    ("vllm-0.10.2", "vllm@0.10.2"),
    ("vllm-0.32.0", "vllm@0.32.0"),
    ("vllm-0.32.0-bare", "vllm@0.32.0"),
    ("vllm-0.32.0-reason", "vllm@0.32.0"),
];

/// Longer replies are fed byte by byte only now and then: a debug build is slow.
const SHORT: usize = 4 << 10;

#[test]
fn every_recorded_reply_is_translated_alike_however_it_is_cut() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let root = Path::new(&folder).join("servers");
    if !root.is_dir() {
        println!("skipped: no {} (set ISOGLOSS_CAPTURES)", root.display());
        return;
    }
    let mut faults = Vec::new();
    for (server, label) in SERVERS {
        let counts = replay_all(&root.join(server), &rule(label), &mut faults);
        println!("{server} as {label}: {counts:?}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// How often each outcome came.
#[derive(Debug, Default)]
struct Counts {
    ok: usize,
    violation: usize,
    error: usize,
    /// The request is none that Isogloss takes.
    refused: usize,
}

fn replay_all(folder: &Path, rule: &Rule, faults: &mut Vec<String>) -> Counts {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(".response.txt"))
        .collect();
    paths.sort();
    let mut counts = Counts::default();
    for (nth, path) in paths.iter().enumerate() {
        let Some(request) = chat_request(path) else {
            continue;
        };
        let planned = exchange::read_chat(&request).and_then(|demand| exchange::plan(demand, rule));
        let Ok(planned) = planned else {
            counts.refused += 1;
            continue;
        };
        let raw = std::fs::read(path).unwrap();
        if !raw.starts_with(b"HTTP/") {
            // The recorder gave up before the server answered.
            continue;
        }
        let recorded = Recorded::read(&raw);
        let told = replay::whole(&planned, rule, &recorded);
        let case = path.display();
        if recorded.status < 400 && recorded.streamed {
            for cuts in cuts(recorded.body.len(), nth) {
                let again = replay::cut(&planned, rule, &recorded, &cuts);
                if again != told {
                    faults.push(format!("{case}: cut at {} places, it differs", cuts.len()));
                }
            }
        }
        if told.starts_with("REFUSED ") {
            counts.refused += 1;
        } else if recorded.status >= 400 || told.contains("ERROR ") {
            counts.error += 1;
        } else if told.contains("VIOLATION ") {
            counts.violation += 1;
        } else {
            counts.ok += 1;
            // A chunk that is the client's own already keeps its token counts where they are.
            let usage = (planned.plan.rewrap != Rewrap::Keep)
                .then_some(planned.demand.request.include_usage);
            let outcome = if recorded.streamed {
                check_stream(&told, usage)
            } else {
                check_reply(&told)
            };
            if let Err(fault) = outcome {
                faults.push(format!("{case}: {fault}"));
            }
        }
    }
    counts
}

/// The body of the request that a recording answers, where it is a Chat Completion.
fn chat_request(response: &Path) -> Option<Vec<u8>> {
    let path = response
        .to_str()
        .unwrap()
        .replace(".response.txt", ".request.json");
    let value: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let body = match value.get("path") {
        Some(path) if path == "/v1/chat/completions" => value.get("body")?,
        Some(_) => return None,
        None => &value,
    };
    body.get("messages")?;
    Some(body.to_string().into_bytes())
}

/// Byte by byte, and in uneven pieces that differ from case to case.
fn cuts(length: usize, seed: usize) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    if length <= SHORT || seed.is_multiple_of(8) {
        all.push((1..length).collect());
    }
    let mut state = (seed as u64) | 1;
    let mut pieces = Vec::new();
    let mut at = 0;
    loop {
        // A linear congruence (Knuth's MMIX): the upper bits are even enough for piece lengths.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        at += 1 + usize::try_from(state >> 33).unwrap() % 97;
        if at >= length {
            break;
        }
        pieces.push(at);
    }
    all.push(pieces);
    all
}

/// What every client needs of a whole reply.
fn check_reply(told: &str) -> Result<(), String> {
    let reply: Map<String, Value> =
        serde_json::from_str(told).map_err(|error| format!("no JSON: {error}"))?;
    check_envelope(&reply, "chat.completion")?;
    let mut ids = HashSet::new();
    for choice in list(&reply, "choices")? {
        let message = &choice["message"];
        demand(choice["index"].is_u64(), "no choice index")?;
        demand(message["role"] == "assistant", "no role")?;
        demand(choice["finish_reason"].is_string(), "no finish_reason")?;
        let content = &message["content"];
        demand(content.is_string() || content.is_null(), "odd content")?;
        let none = Vec::new();
        for call in message["tool_calls"].as_array().unwrap_or(&none) {
            check_start(call, &mut ids)?;
            let input = &call["function"]["arguments"];
            demand(input.is_string(), "arguments are no string")?;
        }
    }
    let usage = &reply.get("usage").unwrap_or(&Value::Null);
    for name in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        demand(usage[name].is_u64(), "no usage")?;
    }
    Ok(())
}

/// What every client needs of a stream.
fn check_stream(told: &str, usage: Option<bool>) -> Result<(), String> {
    let mut events: Vec<&str> = told.trim_end().split("\n\n").collect();
    demand(events.pop() == Some("data: [DONE]"), "no [DONE]")?;
    let mut ids = HashSet::new();
    let mut choices: BTreeMap<u64, StreamedChoice> = BTreeMap::new();
    let mut usages = 0;
    for event in events {
        let Some(data) = event.strip_prefix("data: ") else {
            return Err(format!("an event without data: {event}"));
        };
        let chunk: Map<String, Value> =
            serde_json::from_str(data).map_err(|error| format!("no JSON: {error}"))?;
        check_envelope(&chunk, "chat.completion.chunk")?;
        let parts = list(&chunk, "choices")?;
        usages += usize::from(parts.is_empty());
        for part in parts {
            let index = part["index"].as_u64().ok_or("no choice index")?;
            choices
                .entry(index)
                .or_default()
                .step(part, &mut ids)
                .map_err(|fault| format!("choice {index}: {fault}"))?;
        }
    }
    for (index, choice) in choices {
        demand(choice.finished, &format!("choice {index} has no finish"))?;
    }
    demand(
        usage.is_none_or(|asked| usages == usize::from(asked)),
        "a usage chunk if and only if it is asked for",
    )
}

#[derive(Default)]
struct StreamedChoice {
    has_role: bool,
    finished: bool,
    calls: HashSet<u64>,
}

impl StreamedChoice {
    fn step(&mut self, part: &Value, ids: &mut HashSet<String>) -> Result<(), String> {
        let delta = &part["delta"];
        demand(delta.is_object(), "no delta")?;
        demand(!self.finished, "something follows the finish")?;
        self.has_role |= delta["role"] == "assistant";
        demand(self.has_role, "the role is not first")?;
        self.finished = part["finish_reason"].is_string();
        let none = Vec::new();
        for call in delta["tool_calls"].as_array().unwrap_or(&none) {
            let index = call["index"].as_u64().ok_or("a call without index")?;
            if self.calls.insert(index) {
                check_start(call, ids)?;
                continue;
            }
            let keys: Vec<&String> = call.as_object().into_iter().flat_map(Map::keys).collect();
            demand(keys == ["index", "function"], "a later piece says too much")?;
            let function = call["function"].as_object().ok_or("no function")?;
            demand(
                function.len() == 1 && function["arguments"].is_string(),
                "a later piece is not arguments alone",
            )?;
        }
        Ok(())
    }
}

/// The first piece of a call, or a whole one.
fn check_start(call: &Value, ids: &mut HashSet<String>) -> Result<(), String> {
    let id = call["id"].as_str().filter(|id| !id.is_empty());
    let id = id.ok_or("a call without id")?;
    demand(ids.insert(id.to_owned()), "an id comes twice")?;
    demand(call["type"] == "function", "a call without type")?;
    demand(
        call["function"]["name"].is_string(),
        "a call without a name",
    )
}

fn check_envelope(fields: &Map<String, Value>, object: &str) -> Result<(), String> {
    demand(fields.get("id").is_some_and(Value::is_string), "no id")?;
    demand(
        fields.get("object").is_some_and(|it| it == object),
        "another object",
    )?;
    demand(
        fields.get("created").is_some_and(Value::is_u64),
        "no created",
    )?;
    demand(
        fields.get("model").is_some_and(Value::is_string),
        "no model",
    )
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a Vec<Value>, String> {
    let list = fields.get(name).and_then(Value::as_array);
    list.ok_or_else(|| format!("no {name}"))
}

fn demand(held: bool, otherwise: &str) -> Result<(), String> {
    held.then_some(()).ok_or_else(|| otherwise.to_owned())
}
