//! Languages of texts: a regex, a list of choices or a grammar comes in; a matcher that takes a
//! reply byte by byte goes out, or the same language in a notation that a server reads.

mod ascii;
pub mod choice;
mod content;
mod convert;
pub mod gbnf;
mod json;
pub mod lark;
pub mod regex;
mod text;
mod union;

mod engine;
mod matcher;

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
mod tests;

use crate::error::Kind;
use crate::ir::{Constraint, Notation};

pub use ascii::{regex_within_ascii, within_ascii};
pub use convert::{Converted, Difference, convert, in_one_way, in_plain_words};
pub use matcher::{Grammar, Matcher};
pub use union::{
    AfterThoughts, CALL_NUMBER, TaggedCall, Union, after_thoughts, calls_alone, calls_or_text,
    text_with_calls,
};

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

/// Whether every text of a regex stands between the quotes of a JSON string as it is: none has a
/// quote, a backslash or a control character. A regex that cannot be read has none that is known.
#[must_use]
pub fn is_plain_in_json(text: &str) -> bool {
    let Ok(expr) = regex::to_expr(text) else {
        return false;
    };
    let is_escaped = |c: char| c == '"' || c == '\\' || c < ' ';
    let mut is_plain = true;
    expr.visit(&mut |part| {
        is_plain &= match part {
            gbnf::Expr::Literal(text) => !text.contains(is_escaped),
            gbnf::Expr::Class { negated, ranges } => {
                let has = |c: char| {
                    ranges
                        .iter()
                        .any(|(first, last)| (*first..=*last).contains(&c))
                };
                let escaped = ('\0'..' ').chain(['"', '\\']);
                escaped.into_iter().all(|c| has(c) == *negated)
            }
            gbnf::Expr::Any => false,
            _ => true,
        };
    });
    is_plain
}

/// A constraint on text as a decoder takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decodable {
    /// A regular language: what stands between the slashes of a Lark terminal. Nothing stands there
    /// where only the empty text is of the language.
    Terminal {
        /// In the `regex` crate's syntax.
        regex: String,
        /// Whether the empty text is of the language.
        takes_empty: bool,
    },
    /// A whole grammar in Lark.
    Lark(String),
}

impl Decodable {
    /// Writes a constraint on text for a decoder.
    ///
    /// # Errors
    /// Where it cannot be read, is over a limit, or names tokens; and for the constraints that are
    /// no language of texts (JSON, structural tags).
    pub fn of(constraint: &Constraint) -> Result<Self, GrammarFault> {
        match constraint {
            Constraint::Regex(text) => Self::of_regex(text),
            Constraint::Choice(choices) => {
                Grammar::of_choices(choices)?;
                Self::of_choices(choices)
            }
            Constraint::Grammar {
                notation: Notation::Gbnf,
                text,
            } => {
                let gbnf = gbnf::Gbnf::read(text)?;
                match lark::to_regex(&gbnf).map(|regex| Self::of_regex(&regex)) {
                    Ok(Ok(terminal)) => Ok(terminal),
                    _ => lark::of_gbnf(&gbnf).map(Self::Lark),
                }
            }
            Constraint::Grammar {
                notation: Notation::Lark,
                text,
            } => lark::for_decoder(text).map(Self::Lark),
            other => Err(GrammarFault::unsupported(format!(
                "`{}` is not a language of texts",
                other.kind()
            ))),
        }
    }

    fn of_regex(text: &str) -> Result<Self, GrammarFault> {
        Ok(Self::Terminal {
            regex: regex::to_terminal(text)?,
            takes_empty: regex::takes_empty(text),
        })
    }

    /// Choices have a limit of their own, not that of a regex.
    fn of_choices(choices: &[String]) -> Result<Self, GrammarFault> {
        let escaped: Vec<String> = choices
            .iter()
            .map(|choice| regex_syntax::escape(choice))
            .collect();
        let takes_empty = choices.iter().any(String::is_empty);
        let regex = match choices.iter().all(String::is_empty) {
            true => String::new(),
            false => format!("(?:{})", escaped.join("|")),
        };
        Ok(Self::Terminal {
            regex: llguidance::regex_to_lark(&regex, ""),
            takes_empty,
        })
    }
}

/// The JSON Schema that a grammar in Lark is, where it is one and nothing else.
#[must_use]
pub fn schema_of(lark: &str) -> Option<serde_json::Value> {
    lark::schema_of(lark)
}

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
