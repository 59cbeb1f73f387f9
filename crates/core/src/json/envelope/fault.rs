//! Why content is not of the expected shape.

use crate::json::scan::ScanFaultKind;

/// Where and why content is not of the expected shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct EnvelopeFault {
    /// The first impossible byte, from 0; the length of the content where it ends too early.
    pub offset: usize,
    /// What is wrong there.
    pub kind: EnvelopeFaultKind,
}

impl EnvelopeFault {
    /// Whether everything was right so far, and only the rest is missing.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.kind == EnvelopeFaultKind::Syntax(ScanFaultKind::Incomplete)
    }
}

/// What is wrong with a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeFaultKind {
    /// It is no JSON.
    #[error("{0}")]
    Syntax(ScanFaultKind),
    /// Another value stands where an envelope must.
    #[error("an object with `name` and `arguments` is expected")]
    NotAnObject,
    /// The name is another value than a string.
    #[error("`name` must be a string")]
    NameNotString,
    /// The name is over [`super::Caps::name_bytes`].
    #[error("`name` is longer than the limit of {limit} bytes")]
    NameTooLong {
        /// The limit.
        limit: usize,
    },
    /// The envelope ended without a name.
    #[error("the object has no `name`")]
    NoName,
    /// The envelope ended without arguments.
    #[error("the object has no `arguments`")]
    NoInput,
    /// The object has something else than an answer.
    #[error("the object is not one of an `answer` alone")]
    NoAnswer,
    /// A key that decides something is there twice, be it in another spelling.
    #[error("the object has a second `{0}`")]
    Second(&'static str),
    /// The envelope is both a call and an answer.
    #[error("the object is a call and an `answer` at once")]
    CallAndAnswer,
    /// Arguments before the name are over [`super::Caps::held_bytes`].
    #[error("`arguments` before `name` are larger than the limit of {limit} bytes")]
    HeldTooLarge {
        /// The limit.
        limit: usize,
    },
}
