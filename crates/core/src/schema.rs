//! JSON Schema: a client's schema comes in; a guarded, compiled validator, a canonical text, a
//! merged schema of several tools, or the schema that suits one server goes out. Nothing here
//! opens a file or a connection, whatever a schema refers to.

pub mod arguments;
pub mod canonical;
pub mod close;
pub mod guard;
pub mod lower;
pub mod merge;
pub mod nullable;
pub mod profile;
pub mod reply;
pub mod validator;

pub(crate) mod blanks;
mod definite;
pub(crate) mod drafts;
mod graph;
mod identity;
mod measure;
mod misplaced;
mod moment;
pub(crate) mod number;
mod patterns;
pub mod position;
mod prefix;
pub(crate) mod rooted;
pub(crate) mod tuples;

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test may panic"
)]
pub(crate) mod tests;

use crate::error::Kind;

pub use canonical::canonical;
pub(crate) use graph::percent_decode;
pub use guard::{SchemaLimits, guard};
pub(crate) use lower::describe;
pub use lower::{Lowered, Unkept, Why, described, described_in_full, has_object_without, lower};
pub use number::reads_exactly;
pub use profile::Profile;
pub use reply::read_reply_json;
pub use validator::{SchemaBreach, Validator};

/// What says nothing of a value.
const ANNOTATIONS: [&str; 11] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$defs",
    "definitions",
];

/// Whether a keyword says nothing of a value.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFault {
    /// [`Kind::InvalidSchema`], [`Kind::UnsupportedSchema`] or [`Kind::SchemaTooComplex`].
    pub kind: Kind,
    /// JSON Pointer into the schema; empty for the whole of it.
    pub pointer: String,
    /// What is wrong there, and what to change. Quotes names and numbers only.
    pub message: String,
}

impl SchemaFault {
    pub(crate) fn invalid(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidSchema, pointer, message)
    }

    pub(crate) fn unsupported(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Kind::UnsupportedSchema, pointer, message)
    }

    pub(crate) fn too_complex(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Kind::SchemaTooComplex, pointer, message)
    }

    fn new(kind: Kind, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}
