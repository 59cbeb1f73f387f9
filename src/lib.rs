//! Isogloss translates structured-output dialects between LLM clients and inference servers.
//!
//! The modules below are in row order: a module imports only from rows above its own
//! (`tests/tidy.rs` enforces it). Rows 0 to 4 are pure: bytes and values in, bytes and values
//! out; no IO, no clock, no randomness, no globals.

// row 0: what can be said
pub mod error;
pub mod ir;
pub mod json;
pub mod pattern;
pub mod sse;

// row 1: the languages that a constraint is written in, and the wires that are not Chat's
pub mod grammar;
pub mod schema;
pub mod wire;

// row 2: wire forms, rule files, the cache of compiled constraints, and what mends a model's JSON
pub mod compile;
pub mod dialect;
pub mod repair;
pub mod rules;

// row 3: the translation itself, and what goes past it
pub mod passage;
pub mod rewrap;
pub mod rewrite;
pub mod verify;

// row 4: one exchange, from the client's bytes to the client's bytes; still pure
pub mod exchange;
pub mod probe;

// row 5: configuration and telemetry
pub mod config;
pub mod telemetry;

// row 6: reaching a server, and one of our own
pub mod upstream;
#[cfg(feature = "worker")]
pub mod worker;

// row 7: the two listeners
pub mod admin;
pub mod proxy;

// row 8: flags to a running process
pub mod cli;
