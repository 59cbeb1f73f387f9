//! The decoding worker: a model file and requests in; text of which each token was allowed by the
//! request's constraint out. It runs as a child process of the proxy, which reaches it like any
//! other server (`rules/worker.toml`), so that native code can abort without harm to the proxy.
//!
//! Its parts, from the inside out, each depending only on those above it:
//!
//! - [`vocabulary`]: a model's tokens, and text to tokens
//! - [`backend`]: a constraint compiled for a vocabulary, and one answer's way through it
//! - [`grammars`]: the cache of those
//! - [`media`]: images and audio among a prompt's tokens
//! - [`kernel`]: forward passes over sequences
//! - [`watchdog`]: calls of native code that never return
//! - [`model`]: model files, and what is loaded from them
//! - [`builtin`]: the model that this program carries
//! - [`job`]: what the scheduler is asked, and what it tells
//! - [`sampler`]: logits to tokens
//! - [`ending`]: a constrained answer's end, in time
//! - [`text`]: tokens' bytes to text, up to a stop text
//! - [`scheduler`]: many answers at once, one forward pass a step
//! - [`template`]: a conversation to a prompt's text
//! - [`thoughts`]: a chat template to the texts around its model's thoughts
//! - [`think`]: an answer's text to thinking and answer
//! - [`request`]: a body to what is asked
//! - [`prompt`]: what is asked to a prompt's tokens
//! - [`reply`]: events to a reply's bytes
//! - [`metrics`]: what it did, for Prometheus
//! - [`options`]: what it is started with
//! - [`models`]: model files that take turns
//! - [`server`]: HTTP over all of it

pub mod backend;
pub mod builtin;
pub mod ending;
pub mod grammars;
pub mod job;
pub mod kernel;
pub mod media;
pub mod metrics;
pub mod model;
pub mod models;
pub mod options;
pub mod prompt;
pub mod reply;
pub mod request;
pub mod sampler;
pub mod scheduler;
pub mod server;
pub mod template;
pub mod text;
pub mod think;
pub mod thoughts;
#[cfg(test)]
mod toy;
pub mod vocabulary;
pub mod watchdog;
