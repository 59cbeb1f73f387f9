//! Anthropic's `/v1/messages`.

pub(super) mod server;
