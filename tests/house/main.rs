//! The tree itself: what its folders promise, and what its pages say.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod docs;
mod tidy;
