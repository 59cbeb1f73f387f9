//! Anthropic's `/v1/messages`.

pub mod client;
pub(super) mod server;
