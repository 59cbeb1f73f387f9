//! Languages of texts: a regex, a list of choices or a grammar comes in; a matcher that takes a
//! reply byte by byte goes out, or the same language in a notation that a server reads.

pub mod choice;
mod convert;
pub mod gbnf;
mod json;
pub mod lark;
pub mod regex;

mod engine;
mod matcher;

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
mod tests;

use crate::error::Kind;
use crate::ir::{Constraint, Notation};

pub use convert::{Converted, Difference, convert};
pub use matcher::{Grammar, Matcher};

/// Why a regex or a grammar is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GrammarFault {
    /// [`Kind::InvalidGrammar`], [`Kind::UnsupportedConstraint`] or [`Kind::SchemaTooComplex`].
    pub kind: Kind,
    /// What is wrong, in which line where there is one, and what to change.
    pub message: String,
}

impl GrammarFault {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::InvalidGrammar,
            message: message.into(),
        }
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::UnsupportedConstraint,
            message: message.into(),
        }
    }

    pub(crate) fn too_complex(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::SchemaTooComplex,
            message: message.into(),
        }
    }
}

/// Bytes of a regex. A longer one is no regex that a person wrote, and a list is better said as
/// `choice`.
pub const MAX_REGEX_BYTES: usize = 64 << 10;
/// Bytes of a grammar. Grammars for whole programming languages are near 20 KB.
pub const MAX_GRAMMAR_BYTES: usize = 64 << 10;
/// Characters that a regex spells out, as [`crate::pattern::positions`] counts them. Each is a
/// state of 1-2 KB once a text reaches it; the engine stops at 25,000 of those.
pub const MAX_REGEX_POSITIONS: u64 = 1 << 16;
/// Texts to choose from.
pub const MAX_CHOICES: usize = 10_000;

impl Grammar {
    /// Compiles a constraint on text. Needs a big stack: the libraries recurse.
    ///
    /// # Errors
    /// Where it cannot be read, is not regular, or is over a limit; and for the constraints that
    /// are no language of texts (JSON, structural tags).
    pub fn compile(constraint: &Constraint) -> Result<Self, GrammarFault> {
        match constraint {
            Constraint::Choice(choices) => Self::of_choices(choices),
            Constraint::Regex(pattern) => regex::compile(pattern),
            Constraint::Grammar {
                notation: Notation::Gbnf,
                text,
            } => lark::compile_gbnf(text),
            Constraint::Grammar {
                notation: Notation::Lark,
                text,
            } => lark::compile(text),
            other => Err(GrammarFault::unsupported(format!(
                "`{}` is not a language of texts",
                other.kind()
            ))),
        }
    }
}
