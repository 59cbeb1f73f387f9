//! Wire forms: one folder each, with the faces that it has. In `client` we are the server: a client's
//! request is read and its reply written; in `server` we are the client.

pub mod chat;
pub mod client;
mod cohere;
pub mod completions;
mod elsewhere;
mod empty_list;
pub mod gemini;
mod images;
pub mod interactions;
pub mod keeper;
pub mod messages;
pub(crate) mod mixed;
pub mod ollama;
mod regexes;
pub mod responses;
pub mod server;
pub mod socket;
mod tgi;
pub(crate) mod time;
mod whole;
