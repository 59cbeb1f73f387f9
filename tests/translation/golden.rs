//! The golden grid: what every recorded client asks, in the words of every server dialect; and
//! what recorded servers answered, as the client gets it.
//!
//! `tests/golden/requests/<client>/<case>.in.json` is a body as a real client sent it;
//! `<case>.out.json` says for each dialect what Isogloss makes of it. `tests/golden/replies/<server>/`
//! has recorded replies (`<case>.in.http`), the request they answer (`<case>.request.json`), and
//! what the client gets (`<case>.out.txt`); cases named `tags-…` are not recorded but written in the
//! form in which these servers were recorded, and so are those named `written-…`, in the form of the wire's SDK;
//! `anthropic` and `ollama-native` have recordings of vLLM's and SGLang's routes on those wires. `tests/golden/servers/<dialect>.json` says the same as
//! the grid for the servers that are in none, of the few demands in `cases.json`, which leave out
//! `model` and `messages`; for those of the grid, of tools beside a constraint alone.
//! `tests/golden/grid/<server>.txt` has the recorded requests for those servers too, and for older
//! generations of all: a line for each request, with a digest of what is too long for it.
//! `UPDATE_GOLDEN=1 cargo test -p isogloss-core --test translation golden` writes the outputs anew: read the difference before
//! you commit it.

use crate::replay;
use crate::replay::{rule, rules};
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::rules::Rule;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The servers of the grid: every generation that takes other words.
const DIALECTS: &[&str] = &[
    "vllm@0.10.2",
    "vllm@0.11.0",
    "vllm@0.32.0",
    "sglang@0.5.23",
    "llama-cpp",
    "openai",
    "plain",
];

/// Older generations that take other words still, beside those of the grid and every other rule.
const GENERATIONS: &[&str] = &[
    "vllm@0.3.3",
    "vllm@0.5.5",
    "vllm@0.8.4",
    "vllm@0.9.2",
    "vllm@0.32.0+no_auto_tools",
    "sglang@0.4.1",
    "sglang@0.4.3",
    "sglang@0.5.20",
    "llama-cpp+no_tools",
    "ollama@0.4.7",
    "tgi@2.0.4",
];

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let root = isogloss_testing::root().join("tests/golden").join(folder);
    let mut found = Vec::new();
    for client in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(client.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.to_str().unwrap().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn with_ending(path: &Path, from: &str, to: &str) -> PathBuf {
    PathBuf::from(path.to_str().unwrap().replace(from, to))
}

/// Compares with the golden file, or writes it.
pub(crate) fn compare(path: &Path, actual: &str, failures: &mut Vec<String>) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != actual {
        let line = expected
            .lines()
            .zip(actual.lines())
            .position(|(a, b)| a != b)
            .unwrap_or(0);
        failures.push(format!(
            "{}: line {}:\n  expected {:?}\n  actual   {:?}",
            path.display(),
            line + 1,
            expected.lines().nth(line).unwrap_or_default(),
            actual.lines().nth(line).unwrap_or_default()
        ));
    }
}

#[test]
fn every_client_asks_every_server_in_the_servers_words() {
    let mut failures = Vec::new();
    let inputs = files("requests", ".in.json");
    assert!(inputs.len() > 100, "the captures are there");
    let mut outputs = BTreeSet::new();
    for input in &inputs {
        let body = std::fs::read(input).unwrap();
        let mut grid = Map::new();
        for dialect in DIALECTS {
            grid.insert((*dialect).to_owned(), outcome(&body, &rule(dialect)));
        }
        let mut text = serde_json::to_string_pretty(&Value::Object(grid)).unwrap();
        text.push('\n');
        let output = with_ending(input, ".in.json", ".out.json");
        compare(&output, &text, &mut failures);
        outputs.insert(output);
    }
    for output in files("requests", ".out.json") {
        assert!(
            outputs.contains(&output),
            "{} has no input",
            output.display()
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What becomes of a body on one server: the strategy, and the fields that differ.
fn outcome(body: &[u8], rule: &Rule) -> Value {
    let exchange = match exchange::read_chat(body).and_then(|demand| exchange::plan(demand, rule)) {
        Ok(exchange) => exchange,
        Err(error) => {
            return json!({"refused": error.kind.code(), "param": error.param, "message": error.message});
        }
    };
    let mut out = json!({"strategy": exchange.strategy.as_str()});
    if let Some(asked) = &exchange.asked {
        out["path"] = json!(asked.path);
        out["body"] = serde_json::from_slice(&asked.body).unwrap();
        if let Some(pending) = &asked.pending {
            let then = pending.preview("<the prompt>");
            let body: Value = serde_json::from_slice(&then.body).unwrap();
            out["then"] = json!({"path": then.path, "body": body});
        }
        out["reply"] = json!(format!("{:?}", exchange.plan.rewrap));
    } else if let Some(sent) = &exchange.body {
        let before: Map<String, Value> = serde_json::from_slice(body).unwrap();
        let after: Map<String, Value> = serde_json::from_slice(sent).unwrap();
        let set: Map<String, Value> = after
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(value))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        let removed: Vec<&String> = before
            .keys()
            .filter(|name| !after.contains_key(*name))
            .collect();
        out["set"] = Value::Object(set);
        out["removed"] = json!(removed);
        out["reply"] = json!(format!("{:?}", exchange.plan.rewrap));
    }
    if !exchange.losses.is_empty() {
        out["losses"] = json!(exchange.losses);
    }
    out
}

#[test]
fn every_client_asks_every_other_server_in_that_servers_words_too() {
    let folder = isogloss_testing::root().join("tests/golden/grid");
    let names = rules();
    let mut labels: BTreeSet<&str> = names.names().into_iter().collect();
    for label in DIALECTS {
        labels.remove(label.split('@').next().unwrap());
    }
    labels.extend(GENERATIONS);
    let inputs: Vec<(String, Vec<u8>)> = files("requests", ".in.json")
        .iter()
        .map(|path| (case_of(path), std::fs::read(path).unwrap()))
        .collect();
    let mut failures = Vec::new();
    let mut expected = BTreeSet::new();
    for label in labels {
        let rule = rule(label);
        let lines: String = inputs
            .iter()
            .map(|(case, body)| format!("{case}: {}\n", in_a_line(&outcome(body, &rule))))
            .collect();
        let file = format!("{label}.txt");
        compare(&folder.join(&file), &lines, &mut failures);
        expected.insert(file);
    }
    assert_eq!(names_in(&folder), expected, "one file for each server");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// `<client>/<case>`.
fn case_of(path: &Path) -> String {
    let mut parts: Vec<&str> = path.to_str().unwrap().rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/").replace(".in.json", "")
}

/// All servers: the newest of every rule, or those of the grid.
pub(crate) fn labels() -> BTreeSet<&'static str> {
    let mut labels: BTreeSet<&str> = rules().names().into_iter().collect();
    for label in DIALECTS {
        labels.remove(label.split('@').next().unwrap());
    }
    labels.extend(DIALECTS);
    labels
}

/// The strategy, where the request goes, its fields but for the conversation, and the losses.
pub(crate) fn in_a_line_of(exchange: &Exchange, sent: &Value) -> String {
    let mut line = format!("{} {}", exchange.strategy.as_str(), exchange.path());
    for (name, value) in sent.as_object().unwrap() {
        match name.as_str() {
            "model" => {}
            "messages" | "contents" | "input" | "prompt" | "inputs"
                if value.to_string().len() < 60 => {}
            _ => line.push_str(&format!(" {name}={}", short(value, 1))),
        }
    }
    for loss in &exchange.losses {
        line.push_str(&format!(" | lost {}: {}", loss.pointer, loss.reason));
    }
    line
}

/// The strategy, the fields that go out and in, how the reply is read, the losses.
fn in_a_line(outcome: &Value) -> String {
    if let Some(code) = outcome.get("refused") {
        let (code, param) = (code.as_str().unwrap(), &outcome["param"]);
        return format!("refused {code} at {param}: {}", outcome["message"]);
    }
    let mut line = outcome["strategy"].as_str().unwrap().to_owned();
    for name in outcome["removed"].as_array().into_iter().flatten() {
        line.push_str(&format!(" -{}", name.as_str().unwrap()));
    }
    for (name, value) in outcome["set"].as_object().into_iter().flatten() {
        line.push_str(&format!(" +{name}={}", short(value, 2)));
    }
    if let Some(reply) = outcome["reply"].as_str() {
        line.push_str(&format!(
            " | {}",
            reply.split([' ', '{', '(']).next().unwrap()
        ));
    }
    for loss in outcome["losses"].as_array().into_iter().flatten() {
        line.push_str(&format!(
            " | lost {}: {}",
            loss["pointer"].as_str().unwrap(),
            loss["reason"]
        ));
    }
    line
}

/// A value in few words: what is long or deep is its digest.
fn short(value: &Value, depth: usize) -> String {
    let whole = value.to_string();
    match value {
        _ if whole.len() <= 48 => whole,
        Value::Object(map) if depth > 0 => {
            let parts = map
                .iter()
                .map(|(name, value)| format!("{name}:{}", short(value, depth - 1)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
        }
        _ => format!("#{:08x}", digest(&whole)),
    }
}

/// FNV-1a, which never changes.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Every chat request of the recordings in `ISOGLOSS_CAPTURES` is an input of the grid.
#[test]
fn no_recorded_request_is_left_out_of_the_grid() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let clients = Path::new(&folder).join("clients");
    if !clients.is_dir() {
        println!("skipped: {} is not there", clients.display());
        return;
    }
    let known: BTreeSet<String> = files("requests", ".in.json")
        .iter()
        .map(|path| sorted(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
        .collect();
    let mut missing = Vec::new();
    for client in std::fs::read_dir(&clients).unwrap() {
        let path = client.unwrap().path();
        for file in path.read_dir().into_iter().flatten() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let capture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let mut bodies = Vec::new();
            chat_bodies(&capture, &mut bodies);
            if bodies.iter().any(|body| !known.contains(body)) {
                missing.push(path.display().to_string());
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The bodies of chat requests, wherever they stand in a capture.
fn chat_bodies(value: &Value, found: &mut Vec<String>) {
    let is_chat = value["path"]
        .as_str()
        .is_some_and(|path| path.contains("chat/completions"));
    if is_chat && value["body"].is_object() {
        found.push(sorted(&value["body"]));
    }
    match value {
        Value::Object(map) => map.values().for_each(|value| chat_bodies(value, found)),
        Value::Array(items) => items.iter().for_each(|value| chat_bodies(value, found)),
        _ => {}
    }
}

/// A text that is the same whatever the order of the keys.
fn sorted(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

/// Every dialect has its file.
#[test]
fn every_other_server_is_asked_in_its_words() {
    let folder = isogloss_testing::root().join("tests/golden/servers");
    let cases = std::fs::read(folder.join("cases.json")).unwrap();
    let cases: Map<String, Value> = serde_json::from_slice(&cases).unwrap();
    let mut failures = Vec::new();
    let mut expected = BTreeSet::from(["cases.json".to_owned()]);
    for name in rules().names() {
        // Of the servers of the grid only what few clients ask: tools beside a constraint.
        let is_in_grid = DIALECTS
            .iter()
            .any(|label| label.split('@').next() == Some(name));
        let rule = rule(name);
        let mut outcomes = Map::new();
        for (case, demand) in &cases {
            if is_in_grid && !case.starts_with("tools-auto-and") && !case.contains("-of-two") {
                continue;
            }
            let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Go."}]});
            let demand = demand.as_object().unwrap().clone();
            body.as_object_mut().unwrap().extend(demand);
            outcomes.insert(case.clone(), outcome(body.to_string().as_bytes(), &rule));
        }
        let mut text = serde_json::to_string_pretty(&Value::Object(outcomes)).unwrap();
        text.push('\n');
        let file = format!("{name}.json");
        compare(&folder.join(&file), &text, &mut failures);
        expected.insert(file);
    }
    assert_eq!(
        names_in(&folder),
        expected,
        "one file for each dialect, and no other"
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn recorded_replies_come_back_in_the_clients_shape() {
    let mut failures = Vec::new();
    let inputs = files("replies", ".in.http");
    assert!(!inputs.is_empty(), "the recordings are there");
    for input in &inputs {
        let server = input
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let request = std::fs::read(with_ending(input, ".in.http", ".request.json")).unwrap();
        let recorded = replay::Recorded::read(&std::fs::read(input).unwrap());
        let exchange = plan(&request, &server);
        let text = replay::whole(&exchange, &rule(&server), &recorded);
        compare(
            &with_ending(input, ".in.http", ".out.txt"),
            &text,
            &mut failures,
        );
        for chunking in replay::chunkings(recorded.body.len()) {
            let cut = replay::cut(&exchange, &rule(&server), &recorded, &chunking);
            assert_eq!(cut, text, "{} cut at {chunking:?}", input.display());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn plan(request: &[u8], server: &str) -> Exchange {
    let demand = exchange::read_chat(request).unwrap();
    exchange::plan(demand, &rule(server)).unwrap()
}
