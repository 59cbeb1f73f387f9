//! What the tests of Isogloss share: lying servers, scripted servers, requests, makers of files.
#![allow(
    clippy::disallowed_methods,
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests, and what is in it depends on its features"
)]

#[cfg(feature = "adversary")]
pub mod adversary;
pub mod gguf;
pub mod hot;
pub mod recipe;
pub mod requests;
#[cfg(feature = "scripted")]
pub mod scripted;
pub mod strict;

use std::path::PathBuf;

/// The top of the source tree.
#[must_use]
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A folder of recordings or models that is not part of the source tree: the one that a variable
/// names, else the one beside the tree.
#[must_use]
pub fn shared(variable: &str, name: &str) -> String {
    let beside = || root().join("../shared").join(name).display().to_string();
    std::env::var(variable).unwrap_or_else(|_| beside())
}
