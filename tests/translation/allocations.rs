//! How often the hot path asks for memory: counts, not times, so that a machine's mood does not matter.
//! None may grow over `tests/data/allocations.txt`; `UPDATE_RATCHET=1` writes what is there now.

use crate::replay;
use allocation_counter::measure;
use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::verify::Checks;
use isogloss_testing::hot::{self, EVENTS, called, formatted, request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

fn planned(demand: &Value, server: &str, stream: bool) -> (Exchange, Arc<Checks>) {
    let demand = exchange::read_chat(&request(demand, stream)).unwrap();
    let exchange = exchange::plan(demand, &replay::rule(server)).unwrap();
    let checks = replay::checks(&exchange).unwrap();
    (exchange, checks)
}

/// Allocations an event of a stream that a client gets from this server.
fn of_an_event(demand: &Value, server: &str) -> u64 {
    let (exchange, checks) = planned(demand, server, true);
    let events = hot::stream();
    let mut out = Vec::with_capacity(1 << 20);
    let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
    let counted = measure(|| {
        for event in &events {
            translator.push(event, &mut out).unwrap();
        }
        translator.finish(End::Eof, &mut out).unwrap();
    });
    assert!(out.ends_with(b"data: [DONE]\n\n"));
    counted.count_total.div_ceil(EVENTS)
}

fn of_a_request(demand: &Value, server: &str) -> u64 {
    let body = request(demand, false);
    let rule = replay::rule(server);
    let counted = measure(|| {
        let demand = exchange::read_chat(&body).unwrap();
        drop(exchange::plan(demand, &rule).unwrap());
    });
    counted.count_total
}

fn of_a_reply(demand: &Value, server: &str) -> u64 {
    let (exchange, checks) = planned(demand, server, false);
    let body = hot::reply();
    let counted = measure(|| {
        let reply = exchange::reply(&exchange, &checks, Ids::new(1), &body);
        drop(reply.unwrap());
    });
    counted.count_total
}

fn counts() -> BTreeMap<&'static str, u64> {
    let (called, formatted, free) = (called(), formatted(), json!({}));
    let vllm = "vllm@0.32.0";
    BTreeMap::from([
        ("a request that demands nothing", of_a_request(&free, vllm)),
        (
            "a request with a format, native",
            of_a_request(&formatted, vllm),
        ),
        (
            "a request with a tool, constrained",
            of_a_request(&called, vllm),
        ),
        (
            "a request with a tool, on Anthropic's wire",
            of_a_request(&called, "anthropic"),
        ),
        ("a reply that is verified", of_a_reply(&formatted, vllm)),
        ("a reply that is rewrapped", of_a_reply(&called, vllm)),
        ("an event that is verified", of_an_event(&formatted, vllm)),
        ("an event that is rewrapped", of_an_event(&called, vllm)),
    ])
}

#[test]
fn the_hot_path_asks_for_memory_no_more_often_than_it_did() {
    let path = isogloss_testing::root().join("tests/data/allocations.txt");
    // The first look at anything fills what is filled once.
    counts();
    let counts = counts();
    if std::env::var_os("UPDATE_RATCHET").is_some() {
        let mut text = String::new();
        for (what, count) in &counts {
            writeln!(text, "{count:6} {what}").unwrap();
        }
        std::fs::write(&path, text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap();
    let known: BTreeMap<&str, u64> = (known.lines())
        .map(|line| line.trim_start().split_once(' ').unwrap())
        .map(|(count, what)| (what, count.parse().unwrap()))
        .collect();
    for (what, count) in &counts {
        let known = known
            .get(what)
            .unwrap_or_else(|| panic!("{what}: {count}, not in the table"));
        assert!(
            count <= known,
            "{what}: {count} allocations, {known} before"
        );
    }
}
