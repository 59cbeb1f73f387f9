//! One exchange, pure: the client's bytes to the upstream's, the upstream's back to the client's.
//!
//! The proxy, `isogloss explain` and the tests all call these same functions.

use crate::error::{Error, Kind};
use crate::ir::{Constraint, Contract, Ids, Loss, Plan, Request, Strategy};
use crate::rules::Rule;
use crate::verify::{Checks, Violation};
use std::sync::Arc;

/// A request that has been read, and the demand it states.
#[derive(Debug, Clone)]
pub struct Demand {
    /// The request.
    pub request: Request,
    /// What must be true of its reply.
    pub contract: Contract,
}

/// A demand in the words of one server.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the client asked.
    pub demand: Demand,
    /// How it is met.
    pub strategy: Strategy,
    /// The upstream request body; `None` where the client's own bytes go through untouched.
    pub body: Option<Vec<u8>>,
    /// What the reply means.
    pub plan: Plan,
    /// What the server was not told.
    pub losses: Vec<Loss>,
}

/// Why a reply cannot be given to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It breaks the contract.
    Violation(Violation),
    /// It is no usable reply, or the upstream reported an error in it.
    Error(Error),
}

/// How an upstream's reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The body ended by itself.
    Eof,
    /// The connection broke.
    Cut,
}

/// Reads a Chat Completions request body.
///
/// # Errors
/// What is wrong with it, naming the field and the remedy.
pub fn read_chat(_body: &[u8]) -> Result<Demand, Error> {
    Err(Error::new(Kind::Internal, "not wired yet"))
}

/// Chooses the strategy and writes the upstream request.
///
/// # Errors
/// A demand that this server cannot meet in any way, or that contradicts itself.
pub fn plan(_demand: Demand, _rule: &Rule) -> Result<Exchange, Error> {
    Err(Error::new(Kind::Internal, "not wired yet"))
}

impl Exchange {
    /// The constraints to compile before anything is sent, in the order that [`Checks::new`] takes.
    #[must_use]
    pub fn constraints(&self) -> Vec<Constraint> {
        Vec::new()
    }

    /// The upstream body that asks again, showing the model what was wrong with its reply.
    #[must_use]
    pub fn re_ask(&self, _violation: &Violation) -> Vec<u8> {
        Vec::new()
    }
}

/// Translates a whole reply: rewraps it, verifies it, writes it.
///
/// # Errors
/// The violation, or the error of a reply that cannot be used.
pub fn reply(
    _exchange: &Exchange,
    _checks: &Arc<Checks>,
    _ids: Ids,
    _body: &[u8],
) -> Result<Vec<u8>, Fault> {
    Err(Fault::Error(Error::new(Kind::Internal, "not wired yet")))
}

/// Translates a streamed reply, chunk by chunk.
#[derive(Debug)]
pub struct StreamTranslator {
    _checks: Arc<Checks>,
}

impl StreamTranslator {
    /// A translator for one reply. `event_bytes` bounds one unfinished event.
    #[must_use]
    pub fn new(_exchange: &Exchange, checks: Arc<Checks>, _ids: Ids, _event_bytes: usize) -> Self {
        Self { _checks: checks }
    }

    /// Takes the next bytes of the upstream's body and appends whole client events to `out`.
    /// What `out` got before an error is good and is to be sent.
    ///
    /// # Errors
    /// A violation, or an upstream error; the stream is over, and the caller writes [`error_event`].
    pub fn push(&mut self, _chunk: &[u8], _out: &mut Vec<u8>) -> Result<(), Fault> {
        Ok(())
    }

    /// The upstream's body ended. On success the client's stream is complete with `[DONE]`.
    ///
    /// # Errors
    /// A reply that was cut, or whose end breaks the contract.
    pub fn finish(&mut self, _end: End, _out: &mut Vec<u8>) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether `[DONE]` was written: whatever the upstream still sends is dropped.
    #[must_use]
    pub fn is_done(&self) -> bool {
        false
    }
}

/// The error as the Chat Completions body.
#[must_use]
pub fn error_body(error: &Error) -> Vec<u8> {
    error.message.clone().into_bytes()
}

/// The error as one SSE event (`data: {"error":…}`), after which the stream ends without `[DONE]`.
#[must_use]
pub fn error_event(error: &Error) -> Vec<u8> {
    error.message.clone().into_bytes()
}

/// An upstream's error reply, in the client's terms: status and `Retry-After` kept, launch-flag
/// errors explained by the rule.
#[must_use]
pub fn upstream_error(_rule: &Rule, status: u16, _body: &[u8]) -> Error {
    Error::new(Kind::UpstreamRefused, "not wired yet").with_status(status)
}
