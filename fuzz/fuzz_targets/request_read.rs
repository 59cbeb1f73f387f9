//! Any request body is read or refused, never a panic; what passes the strict check is JSON.

#![no_main]

use isogloss_core::exchange::read_chat;
use isogloss_core::json::strict::{Limits, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let verdict = check(body, &Limits::default());
    if verdict.is_ok() {
        assert!(serde_json::from_slice::<serde_json::Value>(body).is_ok());
    }
    let demand = read_chat(body);
    assert!(verdict.is_ok() || demand.is_err());
});
