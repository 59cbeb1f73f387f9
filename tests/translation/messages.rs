//! Anthropic's Messages as a client dialect: what real clients of it ask of every kind of server, and what
//! they get back. Goldens stand in `tests/golden/clients/messages`, as those of Chat do (`golden.rs`).

mod reading;
mod replies;
mod same_wire;

use crate::replay::{self, rule};
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::messages::client::Messages;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, Exchange, Fault, StreamTranslator};
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

#[test]
fn a_stream_begins_with_the_prompts_tokens_where_the_server_tells_them_so_early() {
    let body = json!({
        "model": "m", "max_tokens": 50, "stream": true, "messages": [{"role": "user", "content": "hi"}],
    });
    let chunk = |delta: Value, counts: Option<[u64; 2]>| {
        let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        if let Some([prompt, completion]) = counts {
            chunk["usage"] = json!({"prompt_tokens": prompt, "completion_tokens": completion});
        }
        format!("data: {chunk}\n\n")
    };
    let role = json!({"role": "assistant", "content": ""});
    for (server, first, early) in [
        ("vllm@0.32.0", Some([13, 0]), 13),
        // SGLang's first has the role alone.
        ("sglang", None, 13),
        ("llama-cpp", None, 0),
    ] {
        let exchange = asked(&body, server);
        let is_told = early > 0;
        let options = &sent(&exchange)["stream_options"];
        assert_eq!(options["continuous_usage_stats"] == true, is_told);
        assert_eq!(options["include_usage"], true);
        let counts = |count| Some([13, count]).filter(|_| is_told);
        let mut stream = chunk(role.clone(), first);
        stream += &chunk(json!({"content": "Hel"}), counts(1));
        stream += &chunk(json!({"content": "lo"}), counts(2));
        stream += &chunk(json!({}), counts(3))
            .replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
        stream += "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":13,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
        for width in [1, 7, 4096] {
            let told = replay::streamed(&exchange, stream.as_bytes(), width).unwrap();
            let data = told.lines().filter_map(|line| line.strip_prefix("data: "));
            let events: Vec<Value> = data
                .map(|data| serde_json::from_str(data).unwrap())
                .collect();
            let named =
                |name: &'static str| events.iter().filter(move |event| event["type"] == name);
            assert_eq!(
                events[0]["message"]["usage"]["input_tokens"], early,
                "{server}"
            );
            assert_eq!(named("message_start").count(), 1);
            let text: String = named("content_block_delta")
                .map(|event| event["delta"]["text"].as_str().unwrap())
                .collect();
            assert_eq!(text, "Hello");
            let usage = &named("message_delta").next().unwrap()["usage"];
            assert_eq!(
                (&usage["input_tokens"], &usage["output_tokens"]),
                (&json!(13), &json!(3))
            );
        }
    }
    // What stands before vLLM may refuse the field, and an old one would.
    let is_asked = |rule: &Rule| {
        let exchange = planned(body.to_string().as_bytes(), rule).unwrap();
        sent(&exchange)["stream_options"]
            .get("continuous_usage_stats")
            .is_some()
    };
    let vllm = rule("vllm@0.32.0");
    assert!(is_asked(&vllm));
    assert!(!is_asked(&vllm.knowing("no_first_counts").unwrap()));
    assert!(!is_asked(&rule("vllm@0.5.0")));
    // Whoever asks for a whole reply is told at its end alone.
    let mut whole = body;
    whole["stream"] = json!(false);
    assert_eq!(
        sent(&asked(&whole, "vllm@0.32.0"))["stream_options"],
        Value::Null
    );
}

#[test]
fn a_stream_begins_although_nobody_counts_and_what_comes_is_not_for_the_client() {
    let body = json!({
        "model": "m", "max_tokens": 50, "stream": true, "messages": [{"role": "user", "content": "hi"}],
    });
    let exchange = asked(&body, "sglang");
    let checks = replay::checks(&exchange).unwrap();
    let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    for (delta, has_begun) in [
        (json!({"role": "assistant", "content": ""}), false),
        (json!({"reasoning_content": "Hm"}), true),
    ] {
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        translator
            .push(format!("data: {chunk}\n\n").as_bytes(), &mut out)
            .unwrap();
        assert_eq!(out.starts_with(b"event: message_start"), has_begun);
    }
}

/// llama.cpp's replies begin with the words that it was to go on with.
#[test]
fn words_that_the_client_has_already_are_not_told_again() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": "Hello, my"}]});
    for (server, told) in [("llama-cpp", " name"), ("vllm@0.32.0", "Hello, my name")] {
        let exchange = asked(&body, server);
        let checks = replay::checks(&exchange).unwrap();
        let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
            "message": {"role": "assistant", "content": "Hello, my name"}, "finish_reason": "stop"}]});
        let reply = exchange::reply(
            &exchange,
            &checks,
            Ids::new(1),
            reply.to_string().as_bytes(),
        );
        let reply: Value = serde_json::from_slice(&reply.unwrap().body).unwrap();
        assert_eq!(reply["content"][0]["text"], told, "{server}");
    }
}
