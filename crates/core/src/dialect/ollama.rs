//! Ollama's `/api/chat`.

pub(super) mod server;
