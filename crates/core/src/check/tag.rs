//! Structural tags: xgrammar's description comes in; a checker of whole texts goes out.
//!
//! Both shapes are read: `structures` with `triggers`, and `format`. A format that is not known
//! here is an error and not an open door: the caller refuses what nobody can verify.

mod parameters;
mod read;
mod walk;

pub use parameters::Parameters;
pub use read::{Leaves, Shape, read};

use super::schema_error;
use crate::error::Error;
use crate::grammar::Grammar;
use crate::ir::Constraint;
use crate::schema::Validator;
use serde_json::Value;
use std::sync::Arc;
use walk::{Around, Walk};

/// A compiled description.
#[derive(Debug)]
pub struct TagChecker {
    format: Format,
    has_budgets: bool,
}

/// Where and how a text breaks a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagBreach {
    /// Offset in bytes of the furthest place that was reached.
    pub offset: usize,
    /// JSON Pointer into the JSON at the offset, where JSON is what is broken.
    pub pointer: String,
    /// What is broken: a schema keyword, `json`, `tag`, …
    pub rule: String,
    /// For a person, and for the model; quotes nothing.
    pub message: String,
}

/// What a stretch of text must be: JSON of `J`, or text of `T`.
#[derive(Debug)]
pub enum Format<J = Arc<Validator>, T = Grammar> {
    /// This text.
    Const(String),
    /// JSON of a schema.
    Json(J),
    /// Text of a regex or a grammar.
    Text(T),
    /// JSON's properties as the parameters of a call in markup.
    Parameters(J, Parameters),
    /// Any text without these in it. Inside of a tag it ends where the tag's end first occurs.
    Any {
        /// What it may not have in it.
        excludes: Vec<String>,
        /// Unicode characters; `None` for any number.
        max_chars: Option<usize>,
    },
    /// One after the other.
    Sequence(Vec<Self>),
    /// One of these.
    Or(Vec<Self>),
    /// A tag.
    Tag(Tag<J, T>),
    /// The same, so many times.
    Repeat(Repeat<J, T>),
    /// Free text with tags.
    Triggered(Triggered<J, T>),
    /// Tags alone.
    Separated(Separated<J, T>),
}

/// A format some times over.
#[derive(Debug)]
pub struct Repeat<J, T> {
    /// What comes again.
    pub content: Box<Format<J, T>>,
    /// How often at least.
    pub min: usize,
    /// How often at most; `None` where there is no end to it.
    pub max: Option<usize>,
}

/// Tags with nothing but the same text between them.
#[derive(Debug)]
pub struct Separated<J, T> {
    /// Any of these, in any order.
    pub tags: Vec<Tag<J, T>>,
    /// What stands between two of them.
    pub separator: String,
    /// Whether there must be one.
    pub at_least_one: bool,
    /// Whether the first is the last.
    pub stop_after_first: bool,
}

/// What stands between two texts.
#[derive(Debug)]
pub struct Tag<J, T> {
    /// How it begins.
    pub begin: String,
    /// What stands in it.
    pub content: Box<Format<J, T>>,
    /// How it ends: any of these.
    pub ends: Vec<String>,
}

/// Free text in which each trigger begins a tag. Where there must be one, the text begins with it.
#[derive(Debug)]
pub struct Triggered<J, T> {
    /// Texts with which some tag begins, and that the free text does not have in it.
    pub triggers: Vec<String>,
    /// Those that may follow.
    pub tags: Vec<Tag<J, T>>,
    /// Whether there must be one.
    pub at_least_one: bool,
    /// Whether the text ends with the first.
    pub stop_after_first: bool,
    /// What else the free text may not have in it.
    pub excludes: Vec<String>,
}

/// Compiles what stands inside of tags.
struct Checked;

impl Leaves for Checked {
    type Json = Arc<Validator>;
    type Text = Grammar;

    fn json(&mut self, schema: &Value) -> Result<Arc<Validator>, Error> {
        let validator = Validator::compile(schema).map_err(schema_error)?;
        Ok(Arc::new(validator))
    }

    fn text(&mut self, constraint: &Constraint) -> Result<Grammar, Error> {
        Grammar::compile(constraint).map_err(|fault| Error::new(fault.kind, fault.message))
    }
}

impl TagChecker {
    /// Reads a description: an object, or the JSON text of one.
    ///
    /// # Errors
    /// `invalid_request` where it is none, `unsupported_constraint` where it uses what cannot be
    /// verified here, and the faults of the schemas and grammars inside.
    pub fn compile(description: &Value) -> Result<Self, Error> {
        Ok(Self {
            format: read(description, &mut Checked)?,
            has_budgets: read::has_budgets(description),
        })
    }

    /// Whether some free text may have so many tokens only, which a text does not show.
    #[must_use]
    pub const fn has_budgets(&self) -> bool {
        self.has_budgets
    }

    /// Checks a whole text.
    ///
    /// # Errors
    /// The breach that is furthest into the text.
    pub fn check(&self, text: &str) -> Result<(), TagBreach> {
        let mut walk = Walk::new(text);
        let ends = walk.ends(&self.format, 0, Around::NOTHING);
        if ends.contains(&text.len()) {
            return Ok(());
        }
        if walk.is_spent() {
            walk.furthest = None;
            walk.fail(0, "tag", "the text is too ambiguous to be checked");
        } else if let Some(&last) = ends.last()
            && (walk.furthest.as_ref()).is_none_or(|breach| breach.offset < last)
        {
            walk.fail(last, "tag", "the text goes on after the last tag");
        }
        let other = TagBreach {
            offset: 0,
            pointer: String::new(),
            rule: "tag".to_owned(),
            message: "the text does not have the form of the structural tag".to_owned(),
        };
        Err(walk.furthest.unwrap_or(other))
    }

    /// Checks a text that was cut: it must be one that could have become right.
    ///
    /// # Errors
    /// The breach that is furthest into the text.
    pub fn check_cut(&self, text: &str) -> Result<(), TagBreach> {
        let mut walk = Walk::new(text);
        let ends = walk.ends(&self.format, 0, Around::NOTHING);
        if walk.is_open || ends.contains(&text.len()) {
            return Ok(());
        }
        self.check(text)
    }

    /// Bytes of memory that this takes, as estimated.
    pub(super) fn estimated_bytes(&self) -> usize {
        self.format.estimated_bytes()
    }
}

impl Format {
    fn estimated_bytes(&self) -> usize {
        let all = |parts: &[Self]| parts.iter().map(Self::estimated_bytes).sum::<usize>();
        let tags = |tags: &[Tag<_, _>]| {
            let each = tags.iter().map(|tag| 256 + tag.content.estimated_bytes());
            each.sum::<usize>()
        };
        256 + match self {
            Self::Const(_) | Self::Any { .. } => 0,
            Self::Json(validator) => validator.estimated_bytes(),
            Self::Parameters(validator, parameters) => {
                validator.estimated_bytes() + parameters.estimated_bytes()
            }
            Self::Text(grammar) => grammar.estimated_bytes(),
            Self::Sequence(parts) | Self::Or(parts) => all(parts),
            Self::Tag(tag) => tag.content.estimated_bytes(),
            Self::Repeat(repeat) => repeat.content.estimated_bytes(),
            Self::Triggered(triggered) => tags(&triggered.tags),
            Self::Separated(separated) => tags(&separated.tags),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
