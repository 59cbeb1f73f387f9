//! Cohere's `/v2/chat`.

pub(super) mod server;
