//! Ollama's `/api/chat` and `/api/generate`.

pub mod client;
pub(super) mod server;
