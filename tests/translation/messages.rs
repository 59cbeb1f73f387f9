//! Anthropic's Messages as a client dialect: what real clients of it ask of every kind of server, and what
//! they get back. Goldens stand in `tests/golden/clients/messages`, as those of Chat do (`golden.rs`).

mod reading;
mod replies;
mod same_wire;

use crate::replay::{self, rule};
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::messages::client::Messages;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, Exchange, Fault};
use isogloss_core::ir::Ids;
use isogloss_core::rules::Rule;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const PATH: &str = "/v1/messages";

fn planned(body: &[u8], rule: &Rule) -> Result<Exchange, Error> {
    exchange::plan(exchange::read(&Messages, PATH, body)?, rule)
}

fn asked(body: &Value, server: &str) -> Exchange {
    planned(body.to_string().as_bytes(), &rule(server)).unwrap()
}

/// What a server is sent.
fn sent(exchange: &Exchange) -> Value {
    serde_json::from_slice(exchange.sent().unwrap()).unwrap()
}

/// What the client gets of a whole reply.
fn whole(exchange: &Exchange, body: &Value) -> Result<Value, Fault> {
    let checks = replay::checks(exchange).unwrap();
    let ids = Ids::new(42).at(1_700_000_000);
    let reply = exchange::reply(exchange, &checks, ids, body.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

fn folder() -> PathBuf {
    isogloss_testing::root().join("tests/golden/clients/messages")
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = |path: &Path| {
        std::fs::read_dir(path)
            .unwrap()
            .map(|file| file.unwrap().path())
    };
    let mut found: Vec<PathBuf> = entries(folder)
        .flat_map(|path| entries(&path).collect::<Vec<_>>())
        .collect();
    found.retain(|path| path.to_str().unwrap().ends_with(ending));
    found.sort();
    found
}

/// The same file with another ending.
fn beside(path: &Path, from: &str, to: &str) -> PathBuf {
    PathBuf::from(path.to_str().unwrap().replace(from, to))
}

/// The generations that are asked in other words, and its own server.
const SERVERS: [&str; 5] = ["vllm@0.32.0", "llama-cpp", "plain", "openai", "anthropic"];

#[test]
fn every_client_of_it_asks_every_server_in_the_servers_words() {
    let mut failures = Vec::new();
    let inputs = files(&folder().join("requests"), ".in.json");
    assert!(inputs.len() > 40, "the captures are there");
    for input in &inputs {
        let body = std::fs::read(input).unwrap();
        let mut grid = Map::new();
        for server in SERVERS {
            grid.insert(server.to_owned(), outcome(&body, &rule(server)));
        }
        let text = serde_json::to_string_pretty(&Value::Object(grid)).unwrap() + "\n";
        let output = beside(input, ".in.json", ".out.json");
        crate::golden::compare(&output, &text, &mut failures);
    }
    assert_eq!(
        inputs.len(),
        files(&folder().join("requests"), ".out.json").len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn outcome(body: &[u8], rule: &Rule) -> Value {
    let exchange = match planned(body, rule) {
        Ok(exchange) => exchange,
        Err(error) => {
            let told: Value = serde_json::from_slice(&Messages.error_body(&error)).unwrap();
            return json!({"refused": error.kind.code(), "param": error.param, "told": told});
        }
    };
    let mut out = json!({"strategy": exchange.strategy.as_str(), "path": exchange.path()});
    out["body"] = match exchange.sent() {
        Some(body) => serde_json::from_slice(body).unwrap(),
        None => json!("as it came"),
    };
    out["reply"] = json!(format!("{:?}", exchange.plan.rewrap));
    if !exchange.losses.is_empty() {
        out["losses"] = json!(exchange.losses);
    }
    out
}
