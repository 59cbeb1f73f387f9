//! The pure core of Isogloss: bytes and values in, bytes and values out; no IO, no clock, no
//! threads, no randomness, no globals. Its dependencies show it (`tests/house/tidy.rs`), so that
//! others can embed it.
//!
//! The modules below are in row order: a module imports only from rows above its own.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and clocks"
    )
)]

// row 0: what can be said, and how the files of `rules/` are read
pub mod datafile;
pub mod error;
pub mod ir;
pub mod json;
pub mod pattern;
pub mod sse;

// row 1: the languages that a constraint is written in
pub mod grammar;
pub mod schema;

// row 2: the dialects' two faces, compiled constraints, and what mends a model's JSON
pub mod check;
pub mod dialect;
pub mod repair;

// row 3: the markup that models write
pub mod markup;

// row 4: rule files
pub mod rules;

// row 5: the translation itself, and what goes past it
pub mod history;
pub mod passage;
pub mod rewrap;
pub mod rewrite;
pub mod verify;

// row 6: one exchange, from the client's bytes to the client's bytes
pub mod exchange;
pub mod probe;
