//! The decoding worker: its models, its kernels, what it generates, and how it answers over HTTP.
#![cfg(feature = "worker")]
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod drafts;
mod faults;
mod generation;
mod http;
mod kernel;
mod load;
mod media;
mod recorded;
mod runaway;
mod steering;
mod support;
mod written;
