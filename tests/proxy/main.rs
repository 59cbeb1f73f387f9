//! The proxy as its clients see it: over loopback, before servers that are scripted, simulated or absent.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod batch;
mod cli;
mod contract;
mod contract_chat;
mod contract_count;
mod contract_dialects;
mod contract_faults;
mod contract_first;
mod contract_fleet;
mod contract_history;
mod contract_kept;
mod contract_launch;
mod contract_markup;
mod contract_names;
mod contract_probe;
mod contract_socket;
mod contract_taught;
mod contract_thinking;
mod contract_wires;
mod early;
mod hostile;
mod journal;
mod metrics;
mod nesting;
mod overload;
mod reload;
mod simulated;
mod supervisor;
mod support;
mod trust;
