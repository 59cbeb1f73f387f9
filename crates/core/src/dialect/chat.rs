//! Chat Completions, OpenAI's wire form, with the extras of the servers that copy it.

pub mod client;
pub(super) mod server;
pub(super) mod wire;

use super::client::LastWords;

/// The last words of streams, as servers write them.
pub(in crate::dialect) const LAST_WORDS: LastWords = LastWords {
    answer: &[b"\"finish_reason\":\"", b"\"finish_reason\": \""],
    error: &[
        b"\"error\":{",
        b"\"error\": {",
        b"\"object\":\"error\"",
        b"\"object\": \"error\"",
    ],
};
