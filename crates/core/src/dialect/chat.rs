//! Chat Completions, OpenAI's wire form, with the extras of the servers that copy it.

pub mod client;
mod details;
pub(super) mod ending;
pub(super) mod server;
pub(super) mod wire;
