//! What the hot path costs, in time: an event of a stream, a request, a reply. The gate counts
//! allocations (`tests/translation/allocations.rs`); this prints what they mean on this machine.
//!
//!   cargo bench -p isogloss-core
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a benchmark"
)]

use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::rules::{Rule, RuleSet, Version};
use isogloss_core::schema::SchemaLimits;
use isogloss_testing::hot::{EVENTS, called, formatted, reply, request, stream};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ROUNDS: usize = 51;

/// The middle of what some rounds took.
fn timed(mut round: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            round();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn print(what: &str, time: Duration) {
    println!("{:9.2} µs  {what}", time.as_secs_f64() * 1e6);
}

fn planned(demand: &Value, rule: &Rule, stream: bool) -> Exchange {
    let demand = exchange::read_chat(&request(demand, stream)).unwrap();
    exchange::plan(demand, rule).unwrap()
}

fn an_event(demand: &Value, rule: &Rule) -> Duration {
    let exchange = planned(demand, rule, true);
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let events = stream();
    let mut out = Vec::with_capacity(1 << 20);
    let whole = timed(|| {
        out.clear();
        let mut translator = StreamTranslator::new(&exchange, checks.clone(), Ids::new(1), 1 << 20);
        for event in &events {
            translator.push(event, &mut out).unwrap();
        }
        translator.finish(End::Eof, &mut out).unwrap();
    });
    whole / u32::try_from(EVENTS).unwrap()
}

fn a_request(demand: &Value, rule: &Rule) -> Duration {
    let body = request(demand, false);
    timed(|| {
        let demand = exchange::read_chat(&body).unwrap();
        drop(exchange::plan(demand, rule).unwrap());
    })
}

fn a_reply(demand: &Value, rule: &Rule) -> Duration {
    let exchange = planned(demand, rule, false);
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let body = reply();
    timed(|| drop(exchange::reply(&exchange, &checks, Ids::new(1), &body).unwrap()))
}

fn main() {
    let rules = RuleSet::builtin();
    let vllm = rules.resolve("vllm", Version::parse("0.32.0")).unwrap();
    let anthropic = rules.resolve("anthropic", None).unwrap();
    print("an event that is verified", an_event(&formatted(), &vllm));
    print("an event that is rewrapped", an_event(&called(), &vllm));
    print(
        "a request that demands nothing",
        a_request(&json!({}), &vllm),
    );
    print(
        "a request with a format, native",
        a_request(&formatted(), &vllm),
    );
    print(
        "a request with a tool, constrained",
        a_request(&called(), &vllm),
    );
    print(
        "a request with a tool, on Anthropic's wire",
        a_request(&called(), &anthropic),
    );
    print("a reply that is verified", a_reply(&formatted(), &vllm));
    print("a reply that is rewrapped", a_reply(&called(), &vllm));
}
