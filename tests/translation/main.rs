//! The translation, from the client's bytes to the client's bytes, without a server: what is written for
//! each server, what becomes of its replies, and what is true of all of them.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

mod advisories;
mod agents;
mod allocations;
mod anthropic;
mod asking;
mod clients;
mod corners;
mod empty;
mod equivalence;
mod foreign;
mod gemini;
mod golden;
mod grid;
mod history;
mod hosted_models;
mod hot_path;
mod instructions;
mod labelled;
mod lowering;
mod markup;
mod meant;
mod memory;
mod messages;
mod odd_replies;
mod odd_tools;
mod openai;
mod own_words;
mod programs;
mod recordings;
mod refusals;
mod replay;
mod responses;
mod responses_same;
mod sealed;
mod taught;
mod thoughts;
mod toys;
mod vendors;
mod wires;
