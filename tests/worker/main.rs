//! The decoding worker: its models, its kernels, what it generates, and how it answers over HTTP.
#![cfg(feature = "worker")]
#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "tests"
)]

mod generation;
mod http;
mod kernel;
mod load;
mod media;
mod recorded;
mod support;
