//! Every recorded request of a client, of every dialect: it is among the goldens, and every server is asked it, or it is
//! refused by its own field.

use crate::golden::labels;
use crate::replay::rule;
use isogloss_core::exchange;
use isogloss_core::passage;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Of the requests that stand somewhere in a capture: path and body.
fn requests(value: &Value, found: &mut Vec<(String, Value)>) {
    if let Some(path) = value["path"].as_str().filter(|_| value["body"].is_object()) {
        found.push((path.to_owned(), value["body"].clone()));
    }
    match value {
        Value::Object(map) => map.values().for_each(|value| requests(value, found)),
        Value::Array(items) => items.iter().for_each(|value| requests(value, found)),
        _ => {}
    }
}

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            json_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
}

/// A text that is the same whatever the order of the keys.
fn sorted(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_recorded_request_is_a_golden_and_can_be_put_to_every_server() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let clients = Path::new(&folder).join("clients");
    if !clients.is_dir() {
        println!("skipped: {} is not there", clients.display());
        return;
    }
    let golden = isogloss_testing::root().join("tests/golden");
    let mut files = Vec::new();
    json_files(&golden.join("requests"), &mut files);
    json_files(&golden.join("clients"), &mut files);
    files.retain(|path| path.to_str().unwrap().ends_with(".in.json"));
    let known: BTreeSet<String> = files
        .iter()
        .map(|path| read(path))
        .map(|case| {
            sorted(if case["path"].is_string() {
                case["body"].clone()
            } else {
                case
            })
        })
        .collect();
    let mut captures = Vec::new();
    json_files(&clients, &mut captures);
    let (mut missing, mut refused) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<&str>>::new());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unread = BTreeSet::new();
    for file in &captures {
        let mut found = Vec::new();
        requests(&read(file), &mut found);
        for (target, body) in found {
            let path = target.split('?').next().unwrap();
            let Some(client) = passage::client(path) else {
                continue;
            };
            *counts.entry(client.label()).or_default() += 1;
            if !known.contains(&sorted(body.clone())) {
                missing.insert(format!("{} {}", client.label(), file.display()));
            }
            let bytes = body.to_string();
            let demand = match exchange::read(client, path, bytes.as_bytes()) {
                Ok(demand) => demand,
                Err(error) => {
                    unread.insert(error.param.unwrap_or_default());
                    continue;
                }
            };
            for label in labels() {
                if let Err(error) = exchange::plan(demand.clone(), &rule(label)) {
                    assert!(error.param.is_some(), "{label}: {error}");
                    let why = format!("{}: {}", client.label(), error.param.unwrap_or_default());
                    refused.entry(why).or_default().insert(label);
                }
            }
        }
    }
    println!("{counts:?}, refused: {refused:?}");
    for label in [
        "chat",
        "responses",
        "messages",
        "gemini",
        "ollama_chat",
        "ollama_generate",
    ] {
        assert!(
            counts.get(label).is_some_and(|count| *count > 0),
            "{label}: {counts:?}"
        );
    }
    // Nothing is stored unless the operator wants it.
    unread.retain(|field| field != "previous_response_id");
    assert!(unread.is_empty(), "{unread:?}");
    assert!(missing.is_empty(), "{missing:#?}");
    // Words alone can say all but tags in a text, and nothing beside a bare prompt.
    let plain = refused
        .iter()
        .filter(|(_, labels)| labels.contains("plain"));
    let plain: Vec<&str> = plain.map(|(why, _)| why.as_str()).collect();
    let nobody_can = [
        "chat: structured_outputs.structural_tag",
        "completions: structured_outputs.choice",
        // Only the server that kept it.
        "messages: thread",
        "responses: previous_response_id",
    ];
    assert_eq!(plain, nobody_can);
}
