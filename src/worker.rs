//! The decoding worker: a model file and requests in; text of which each token was allowed by the
//! request's constraint out. It runs as a child process of the proxy, which reaches it like any
//! other server (`rules/worker.toml`), so that native code can abort without harm to the proxy.
//!
//! Its parts, from the inside out, each depending only on those above it:
//!
//! - [`vocabulary`]: a model's tokens, and text to tokens
//! - [`backend`]: a constraint compiled for a vocabulary, and one answer's way through it
//! - [`kernel`]: forward passes over sequences
//! - [`job`]: what the scheduler is asked, and what it tells
//! - [`think`]: an answer's text to thinking and answer
//! - [`request`]: a body to what is asked
//! - [`metrics`]: what it did, for Prometheus
//! - [`prompt`]: a conversation to a prompt's tokens
//! - [`models`]: model files that take turns
//! - [`reply`]: events to a reply's bytes
//! - [`server`]: HTTP over all of it

pub mod backend;
pub mod job;
pub mod kernel;
pub mod metrics;
pub mod models;
pub mod prompt;
pub mod reply;
pub mod request;
pub mod server;
pub mod think;
#[cfg(test)]
mod toy;
pub mod vocabulary;
