//! The decoding worker: a model file and requests in; text of which each token was allowed by the
//! request's constraint out. It runs as a child process of the proxy, which reaches it like any
//! other server (`rules/worker.toml`), so that native code can abort without harm to the proxy.
//!
//! Its parts, from the inside out, each depending only on those above it:
//!
//! - [`vocabulary`]: a model's tokens, and text to tokens
//! - [`backend`]: a constraint compiled for a vocabulary, and one answer's way through it
//! - [`grammars`]: the cache of those
//! - [`kernel`]: forward passes over sequences
//! - [`model`]: model files, and what is loaded from them
//! - [`job`]: what the scheduler is asked, and what it tells
//! - [`sampler`]: logits to tokens
//! - [`text`]: tokens' bytes to text, up to a stop text
//! - [`scheduler`]: many answers at once, one forward pass a step
//! - [`template`]: a conversation to a prompt

pub mod backend;
pub mod grammars;
pub mod job;
pub mod kernel;
pub mod model;
pub mod sampler;
pub mod scheduler;
pub mod template;
pub mod text;
pub mod vocabulary;
