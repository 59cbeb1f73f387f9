//! Compiled constraints: a constraint comes in; a check that verification runs goes out.
//!
//! Compiling a client's schema or grammar is where a small hostile text can do the most harm:
//! what it may cost is bounded by [`SchemaLimits`], and whoever serves strangers keeps it off the
//! threads that serve (`isogloss-compile`).

pub mod tag;

use crate::error::Error;
use crate::grammar::{Grammar, GrammarFault};
use crate::ir::Constraint;
use crate::schema::{SchemaFault, SchemaLimits, Validator};
use std::sync::Arc;
pub use tag::{TagBreach, TagChecker};

/// Stack that compiling may take: jsonschema and llguidance recurse over references. 64 MiB hold
/// 8,000 levels, where the guard lets 64, or 1,000 recursive definitions, through.
pub const STACK_BYTES: usize = 64 << 20;

/// A compiled constraint. Cloning shares it.
#[derive(Debug, Clone)]
pub enum Check {
    /// JSON that satisfies a schema.
    Json(Arc<Validator>),
    /// Any JSON object.
    JsonObject,
    /// A text of a regular language, of a grammar, or one of a list.
    Text(Arc<Grammar>),
    /// A text with structural tags.
    Tag(Arc<TagChecker>),
}

impl Check {
    /// Compiles a constraint, on the calling thread and on as much stack as it needs.
    ///
    /// # Errors
    /// The constraint's own faults, each of a client kind, with the place inside of it.
    pub fn compile(constraint: &Constraint, limits: &SchemaLimits) -> Result<Self, Error> {
        // A thread that was made for it has most of this left.
        stacker::maybe_grow(STACK_BYTES / 2, STACK_BYTES, || match constraint {
            Constraint::JsonObject => Ok(Self::JsonObject),
            Constraint::JsonSchema(schema) => Validator::compile_within(schema, limits)
                .map(|validator| Self::Json(Arc::new(validator)))
                .map_err(schema_error),
            Constraint::Regex(_) | Constraint::Choice(_) | Constraint::Grammar { .. } => {
                Grammar::compile(constraint)
                    .map(|grammar| Self::Text(Arc::new(grammar)))
                    .map_err(grammar_error)
            }
            Constraint::StructuralTag(description) => {
                TagChecker::compile(description).map(|checker| Self::Tag(Arc::new(checker)))
            }
        })
    }

    /// Whether it says of some text how many tokens it may have, which is not checked.
    #[must_use]
    pub fn has_budgets(&self) -> bool {
        matches!(self, Self::Tag(checker) if checker.has_budgets())
    }

    /// Bytes of memory that this takes, as estimated.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        match self {
            Self::Json(validator) => validator.estimated_bytes(),
            Self::JsonObject => 0,
            Self::Text(grammar) => grammar.estimated_bytes(),
            Self::Tag(checker) => checker.estimated_bytes(),
        }
    }
}

/// The error of a schema's fault, with the place inside of the schema; the caller adds the field
/// of the request that holds the schema.
#[must_use]
pub fn schema_error(fault: SchemaFault) -> Error {
    let place = match fault.pointer.as_str() {
        "" => "the schema".to_owned(),
        pointer => format!("the schema at `{pointer}`"),
    };
    Error::new(fault.kind, format!("{place}: {}", fault.message))
}

/// The error of a grammar's fault.
#[must_use]
pub fn grammar_error(fault: GrammarFault) -> Error {
    Error::new(fault.kind, fault.message)
}
