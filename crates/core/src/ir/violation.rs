//! Where and how a reply breaks its contract.

use super::{FinishReason, Place};
use std::fmt;

/// One breach of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where in the reply.
    pub place: Place,
    /// JSON Pointer into the JSON at `place`; empty for the whole of it.
    pub pointer: String,
    /// The rule that is broken: a schema keyword, `regex`, `choice`, `tool_choice`, `json`, …
    pub rule: String,
    /// For the client and for the model. Quotes no output beyond names and numbers.
    pub message: String,
    /// What it tells of the server: a word of [`crate::rules::Rule::knowing`].
    pub fact: Option<&'static str>,
    /// What the model said, for the model alone when it is asked again.
    pub said: Quote,
}

/// A model's own words: never in a log, nor in an error.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Quote(pub Box<str>);

impl fmt::Debug for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quote(…)")
    }
}

impl Violation {
    /// A violation of a rule at a place.
    #[must_use]
    pub fn new(place: Place, rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place,
            pointer: String::new(),
            rule: rule.into(),
            message: message.into(),
            fact: None,
            said: Quote::default(),
        }
    }

    /// The same, of a reply that ended so: with what the client can do about it.
    #[must_use]
    pub fn ended_by(mut self, reason: &FinishReason) -> Self {
        if let FinishReason::StopText(text) = reason {
            let why = format!(" (the request's own stop text {text:?} ended it: leave that out)");
            self.message.push_str(&why);
        }
        self
    }

    /// The same, telling this of the server.
    #[must_use]
    pub const fn telling(mut self, fact: Option<&'static str>) -> Self {
        self.fact = fact;
        self
    }
}
