//! What a large request or reply takes at most while it is worked on, in multiples of its own bytes: no more than
//! the proxy charges its budget of memory for it.

use crate::replay;
use allocation_counter::measure;
use bytes::Bytes;
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::exchange::{self, Opened, cost};
use isogloss_core::ir::Ids;
use isogloss_testing::hot::{called, formatted};
use serde_json::{Value, json};

const SIZE: usize = 4 << 20;

/// A conversation of this size, in messages of so many bytes.
fn request(demand: &Value, message: usize) -> Bytes {
    let text = "Say something. ".repeat(message / 15);
    let messages = vec![json!({"role": "user", "content": text}); SIZE / message];
    let mut body = json!({"model": "m", "messages": messages});
    for (name, value) in demand.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    Bytes::from(body.to_string())
}

/// What is done of a request before its body is sent.
fn worked_on(body: Bytes, server: &str) {
    let opened = Opened::new(&Chat, "/v1/chat/completions", body).unwrap();
    let rule = replay::rule(server);
    let exchange = exchange::plan(opened.read().unwrap(), &rule).unwrap();
    let prepared = opened.prepare(&exchange, &rule);
    let written = prepared.and_then(|prepared| opened.written(&prepared, &rule));
    drop((exchange, written, opened));
}

/// A whole reply with so many words.
fn reply(words: usize) -> Bytes {
    let words = vec!["x".repeat(SIZE / words); words];
    let content = json!({"words": words}).to_string();
    let message = json!({"role": "assistant", "content": content});
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
    Bytes::from(body.to_string())
}

/// Holds what is taken against the charge.
fn hold(what: &str, body: &[u8], work: impl FnOnce()) {
    // The body itself is held as well.
    let taken = body.len() + usize::try_from(measure(work).bytes_max).unwrap();
    let times = |bytes: usize| bytes as f64 / body.len() as f64;
    let (taken, charged) = (times(taken), times(cost(body)));
    println!("{what}: takes {taken:.1} times its size, is charged for {charged:.1}");
    assert!(taken <= charged + 0.1, "{what}: {taken:.1} of {charged:.1}");
    // What is charged far too high would refuse what fits.
    assert!(taken * 4.0 >= charged, "{what}: {taken:.1} of {charged:.1}");
}

#[test]
fn a_large_request_takes_no_more_than_it_is_charged_for() {
    for (what, demand) in [
        ("nothing", json!({})),
        ("a format", formatted()),
        ("a call", called()),
    ] {
        for server in ["vllm@0.32.0", "anthropic", "gemini"] {
            for message in [SIZE, 1000, 200] {
                let body = request(&demand, message);
                let what = format!("{what} of {server}, messages of {message}");
                hold(&what, &body.clone(), || worked_on(body, server));
            }
        }
    }
}

#[test]
fn a_large_reply_takes_no_more_than_it_is_charged_for() {
    let any = json!({"response_format": {"type": "json_object"}});
    for (what, demand) in [
        ("an object", any),
        ("a format", formatted()),
        ("a call", called()),
    ] {
        for words in [1, SIZE / 100, SIZE / 10] {
            let mut ask = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
            for (name, value) in demand.as_object().into_iter().flatten() {
                ask[name] = value.clone();
            }
            let demand = exchange::read_chat(ask.to_string().as_bytes()).unwrap();
            let plan = exchange::plan(demand, &replay::rule("vllm@0.32.0")).unwrap();
            let checks = replay::checks(&plan).unwrap();
            let body = reply(words);
            hold(&format!("{what}, {words} words"), &body.clone(), || {
                drop(exchange::reply(&plan, &checks, Ids::new(1), &body));
            });
        }
    }
}
