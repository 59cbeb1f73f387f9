//! What a server is asked, as its rule has it, and what is learnt of its errors.

use crate::replay::rule;
use isogloss_core::exchange::{self, Exchange, concerns, launch_facts};
use isogloss_core::passage;
use isogloss_core::rules::Rule;
use serde_json::{Value, json};

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const MESSAGES: &str = "/v1/messages";

pub(crate) fn planned(path: &str, body: &Value, rule: &Rule) -> Exchange {
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, rule).unwrap()
}

pub(crate) fn sent(body: &Value, exchange: &Exchange) -> Value {
    match exchange.sent() {
        Some(sent) => serde_json::from_slice(sent).unwrap(),
        None => body.clone(),
    }
}

pub(crate) fn lost(exchange: &Exchange) -> Vec<&str> {
    let losses = exchange.losses.iter();
    losses.map(|loss| loss.pointer.as_str()).collect()
}

/// A request of Chat's that says `more`.
pub(crate) fn chat(more: &Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let fields = body.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    body
}

/// Asks a server that `refuses` some of what it is asked at a path until it is content, or nothing new is learnt of its error: each fact
/// once, as the proxy supposes them.
pub(crate) fn learnt(
    server: &str,
    (path, body): (&str, &Value),
    refuses: impl Fn(&str, &Value) -> Option<String>,
) -> (Vec<String>, Option<Exchange>) {
    let mut rule = rule(server);
    let mut known = Vec::new();
    loop {
        let exchange = planned(path, body, &rule);
        let Some(message) = refuses(&exchange.path(), &sent(body, &exchange)) else {
            return (known, Some(exchange));
        };
        let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
        let facing = rule.facing(&exchange.demand.request);
        let told = launch_facts(facing, error.to_string().as_bytes());
        let next = told.into_iter().find_map(|told| {
            let is_new = concerns(&exchange.demand, exchange.strategy, facing, &told.fact);
            let next = rule.knowing(&told.fact)?;
            (is_new && !known.contains(&told.fact)).then_some((told.fact, next))
        });
        let Some((fact, next)) = next else {
            return (known, None);
        };
        known.push(fact);
        rule = next;
    }
}
