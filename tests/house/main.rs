//! The tree itself: what its folders promise, and what its pages say.
#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod docs;
mod tidy;
