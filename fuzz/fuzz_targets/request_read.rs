//! Any request body is read or refused, never a panic; what passes the strict check is JSON; what is prepared for others of
//! its shape is, for itself, what is sent.

#![no_main]

use bytes::Bytes;
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::exchange::{Opened, plan, read_chat};
use isogloss_core::json::strict::{Limits, check};
use isogloss_core::rules::{Rule, RuleSet, Version};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fn rule() -> &'static Rule {
    static RULE: OnceLock<Rule> = OnceLock::new();
    RULE.get_or_init(|| {
        let vllm = RuleSet::builtin().resolve("vllm", Version::parse("0.32.0"));
        vllm.expect("a rule of vLLM")
    })
}

fuzz_target!(|body: &[u8]| {
    let verdict = check(body, &Limits::default());
    if verdict.is_ok() {
        assert!(serde_json::from_slice::<serde_json::Value>(body).is_ok());
    }
    let demand = read_chat(body);
    assert!(verdict.is_ok() || demand.is_err());
    let bytes = Bytes::copy_from_slice(body);
    if let Ok(demand) = demand
        && let Ok(opened) = Opened::new(&Chat, "/v1/chat/completions", bytes)
        && let Ok(exchange) = plan(demand, rule())
        && let Some(prepared) = opened.prepare(&exchange, rule())
    {
        let sent = exchange.sent().map_or(body, |sent| sent);
        assert_eq!(opened.written(&prepared, rule()).map(|body| body.concat()).as_deref(), Some(sent));
    }
});
