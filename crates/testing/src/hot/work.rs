//! What is done for each request, reply and event, for what counts its cost and what times it.

use super::{EVENTS, called, counted_stream, formatted, reply, request, stream};
use bytes::Bytes;
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::dialect::messages::client::Messages;
use isogloss_core::exchange::{self, Demand, End, Exchange, Opened, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::rules::{Rule, RuleSet, Version};
use isogloss_core::schema::SchemaLimits;
use isogloss_core::verify::Checks;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// Work with a name, how many times one run does it, and a run.
pub type Work = (&'static str, u64, Box<dyn FnMut()>);

fn rule(label: &str) -> Rule {
    let (name, version) = label.split_once('@').unwrap_or((label, ""));
    static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::builtin);
    let rule = RULES.resolve(name, Version::parse(version));
    rule.expect(label)
}

fn planned(demand: &Value, server: &str, stream: bool) -> (Exchange, Arc<Checks>) {
    let demand = exchange::read_chat(&request(demand, stream)).unwrap();
    checked(demand, server)
}

fn checked(demand: Demand, server: &str) -> (Exchange, Arc<Checks>) {
    let exchange = exchange::plan(demand, &rule(server)).unwrap();
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    (exchange, checks)
}

/// The events of a stream that a client gets from this server.
fn events(demand: &Value, server: &str) -> Box<dyn FnMut()> {
    let (exchange, checks) = planned(demand, server, true);
    translated(exchange, checks, stream(), "data: [DONE]\n\n")
}

/// Those that a client of Anthropic's wire gets, whose server counts tokens in each.
fn counted_events(server: &str) -> Box<dyn FnMut()> {
    let body = json!({
        "model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "hi"}],
    });
    let demand = exchange::read(&Messages, "/v1/messages", body.to_string().as_bytes()).unwrap();
    let (exchange, checks) = checked(demand, server);
    let end = "data: {\"type\":\"message_stop\"}\n\n";
    translated(exchange, checks, counted_stream(), end)
}

fn translated(
    exchange: Exchange,
    checks: Arc<Checks>,
    events: Vec<Vec<u8>>,
    end: &'static str,
) -> Box<dyn FnMut()> {
    let mut out = Vec::with_capacity(1 << 20);
    Box::new(move || {
        out.clear();
        let checks = Arc::clone(&checks);
        let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
        for event in &events {
            translator.push(event, &mut out).unwrap();
        }
        translator.finish(End::Eof, &mut out).unwrap();
        assert!(out.ends_with(end.as_bytes()));
    })
}

fn a_request(demand: &Value, server: &str) -> Box<dyn FnMut()> {
    let body = request(demand, false);
    let rule = rule(server);
    Box::new(move || {
        let demand = exchange::read_chat(&body).unwrap();
        drop(exchange::plan(demand, &rule).unwrap());
    })
}

/// A request that differs from one before in its conversation alone.
fn a_known_request(demand: &Value, server: &str) -> Box<dyn FnMut()> {
    let open = || {
        let body = Bytes::from(request(demand, false));
        Opened::new(&Chat, "/v1/chat/completions", body).unwrap()
    };
    let before = open();
    let rule = rule(server);
    let exchange = exchange::plan(before.read().unwrap(), &rule).unwrap();
    let prepared = before.prepare(&exchange, &rule).unwrap();
    let body = before.body().clone();
    Box::new(move || {
        let opened = Opened::new(&Chat, "/v1/chat/completions", body.clone()).unwrap();
        assert!(opened.shape().is_some());
        drop(opened.written(&prepared, &rule).unwrap());
    })
}

fn a_reply(demand: &Value, server: &str) -> Box<dyn FnMut()> {
    let (exchange, checks) = planned(demand, server, false);
    let body = reply();
    Box::new(move || {
        let reply = exchange::reply(&exchange, &checks, Ids::new(1), &body);
        drop(reply.unwrap());
    })
}

/// All of it.
#[must_use]
pub fn hot_path() -> Vec<Work> {
    let (called, formatted, free) = (called(), formatted(), json!({}));
    let vllm = "vllm@0.32.0";
    // It constrains forced calls as JSON, as most servers are asked to.
    let json = "vllm@0.12.0";
    let anthropic = "anthropic";
    vec![
        ("a request that demands nothing", 1, a_request(&free, vllm)),
        (
            "a request with a format, native",
            1,
            a_request(&formatted, vllm),
        ),
        (
            "a request with a tool, constrained",
            1,
            a_request(&called, json),
        ),
        (
            "a request with a tool, known",
            1,
            a_known_request(&called, json),
        ),
        (
            "a request with a tool, on Anthropic's wire",
            1,
            a_request(&called, anthropic),
        ),
        ("a reply that is verified", 1, a_reply(&formatted, vllm)),
        ("a reply that is rewrapped", 1, a_reply(&called, json)),
        (
            "an event that is verified",
            EVENTS,
            events(&formatted, vllm),
        ),
        ("an event that is rewrapped", EVENTS, events(&called, json)),
        (
            "an event that counts, on Anthropic's wire",
            EVENTS,
            counted_events(vllm),
        ),
    ]
}
