//! The translation, from the client's bytes to the client's bytes, without a server: what is written for
//! each server, what becomes of its replies, and what is true of all of them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "tests"
)]

mod advisories;
mod allocations;
mod corners;
mod equivalence;
mod golden;
mod labelled;
mod lowering;
mod recordings;
mod replay;
mod toys;
mod wires;
