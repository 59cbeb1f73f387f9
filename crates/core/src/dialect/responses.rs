//! OpenAI's `/v1/responses`.

pub mod client;
pub mod server;
