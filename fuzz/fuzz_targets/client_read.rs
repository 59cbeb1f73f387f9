//! Any body, sent to any route that is translated: it is read or refused in the dialect's own shape, never a panic, and
//! what is read has a conversation, losses and a plan for every wire, or an error that names a field.
//!
//! The first byte says which route, the second which server; the rest is the body.

#![no_main]

use isogloss_core::exchange::{self, plan};
use isogloss_core::rules::{Rule, RuleSet};
use isogloss_testing::adversary::case::rule;
use isogloss_testing::adversary::clients::Dialect;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    RULES.get_or_init(|| {
        let set = RuleSet::builtin();
        let names = set.names();
        names.into_iter().filter_map(rule).collect()
    })
}

fuzz_target!(|input: &[u8]| {
    let [route, server, body @ ..] = input else {
        return;
    };
    let dialect = Dialect::ALL[usize::from(route >> 1) % Dialect::ALL.len()];
    let (path, client) = dialect.route(route & 1 == 1);
    let told = |error| {
        let body = client.error_body(&error);
        assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
        assert!((400..600).contains(&error.status()));
    };
    let demand = match exchange::read(client, path, body) {
        Ok(demand) => demand,
        Err(error) => return told(error),
    };
    if let Err(error) = client.turns(&demand.request) {
        return told(error);
    }
    for loss in client.unsaid(&demand.request) {
        assert!(loss.pointer.starts_with('/'), "{loss:?}");
    }
    let rules = rules();
    match plan(demand, &rules[usize::from(*server) % rules.len()]) {
        Ok(exchange) => {
            let sent = exchange.sent().map_or(body, |sent| sent);
            assert!(serde_json::from_slice::<serde_json::Value>(sent).is_ok());
            assert!(
                exchange
                    .losses
                    .iter()
                    .all(|loss| loss.pointer.starts_with('/'))
            );
        }
        Err(error) => told(error),
    }
});
