//! Verifying: the reply against the client's original demand.

use crate::compile::Check;
use crate::error::{Error, Kind};

/// Where and how a reply breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `content`, or `tool_calls[0].function.arguments`.
    pub place: String,
    /// JSON Pointer into the JSON at `place`; empty for the whole of it.
    pub pointer: String,
    /// The rule that is broken: a schema keyword, `regex`, `tool_choice`, `json`, …
    pub rule: String,
    /// For the client and for the model. Quotes no output beyond names and numbers.
    pub message: String,
}

impl Violation {
    /// The error that the client gets.
    #[must_use]
    pub fn to_error(&self) -> Error {
        Error::new(Kind::ConstraintViolated, self.message.clone()).at(self.place.clone())
    }
}

/// The compiled contract.
#[derive(Debug, Default)]
pub struct Checks {
    _checks: Vec<Check>,
}

impl Checks {
    /// Puts the compiled constraints, in the order of [`crate::exchange::Exchange::constraints`], to the contract.
    #[must_use]
    pub fn new(checks: Vec<Check>) -> Self {
        Self { _checks: checks }
    }
}
