//! What was written for servers before: clients send the same tools and schemas with every
//! request, and whoever translates many of them keeps what these became.

use crate::grammar::{self, Converted, GrammarFault, TaggedCall, Union};
use crate::ir::Constraint;
use crate::schema::{Profile, Unkept, lower};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Answers what a schema or a grammar becomes for a server: from memory, or by working it out.
/// Either comes to the same.
pub trait Memo: Send + Sync + std::fmt::Debug {
    /// A schema for a server: [`crate::schema::lower()`].
    fn lower(&self, schema: &Value, profile: &Profile) -> Arc<ForServer>;

    /// A constraint as another kind: [`grammar::convert`].
    ///
    /// # Errors
    /// As there.
    fn convert(&self, constraint: &Constraint, kind: &str) -> Result<Arc<Converted>, GrammarFault>;

    /// A grammar of calls, and of what stands around them: [`unite`].
    ///
    /// # Errors
    /// As there.
    fn union(
        &self,
        calls: &[TaggedCall<'_>],
        is_one: bool,
        around: &Around<&str, &Constraint>,
        kind: &str,
    ) -> Result<Arc<Union>, GrammarFault>;
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemo;

/// What stands around calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Around<T, C> {
    /// Any text that does not have this in it.
    Text(T),
    /// A text of this constraint, instead of calls.
    Answer(C),
    /// Nothing but these texts.
    Block {
        /// Before the first call.
        open: T,
        /// Between two calls.
        between: T,
        /// After the last call.
        close: T,
    },
}

/// A schema as one server is sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForServer {
    /// `None` where that is the client's own.
    pub schema: Option<Value>,
    /// What the server does not enforce.
    pub losses: Vec<Unkept>,
}

impl Memo for NoMemo {
    fn lower(&self, schema: &Value, profile: &Profile) -> Arc<ForServer> {
        Arc::new(ForServer::of(schema, profile))
    }

    fn convert(&self, constraint: &Constraint, kind: &str) -> Result<Arc<Converted>, GrammarFault> {
        grammar::convert(constraint, kind).map(Arc::new)
    }

    fn union(
        &self,
        calls: &[TaggedCall<'_>],
        is_one: bool,
        around: &Around<&str, &Constraint>,
        kind: &str,
    ) -> Result<Arc<Union>, GrammarFault> {
        unite(calls, is_one, around, kind).map(Arc::new)
    }
}

impl ForServer {
    /// What a schema becomes for the servers of a profile.
    #[must_use]
    pub fn of(schema: &Value, profile: &Profile) -> Self {
        let lowered = lower(schema, profile);
        Self {
            schema: match lowered.schema {
                Cow::Borrowed(_) => None,
                Cow::Owned(schema) => Some(schema),
            },
            losses: lowered.losses,
        }
    }
}

impl Around<String, Constraint> {
    /// The same, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> Around<&str, &Constraint> {
        match self {
            Self::Text(trigger) => Around::Text(trigger),
            Self::Answer(answer) => Around::Answer(answer),
            Self::Block {
                open,
                between,
                close,
            } => Around::Block {
                open,
                between,
                close,
            },
        }
    }
}

/// A grammar of calls, and of what stands around them: [`grammar::text_with_calls`],
/// [`grammar::calls_or_text`], [`grammar::calls_alone`].
///
/// # Errors
/// As there.
pub fn unite(
    calls: &[TaggedCall<'_>],
    is_one: bool,
    around: &Around<&str, &Constraint>,
    kind: &str,
) -> Result<Union, GrammarFault> {
    match around {
        Around::Text(trigger) => grammar::text_with_calls(calls, trigger, is_one, kind),
        Around::Answer(answer) => grammar::calls_or_text(calls, is_one, answer, kind),
        Around::Block {
            open,
            between,
            close,
        } => grammar::calls_alone(calls, is_one, [open, between, close], kind),
    }
}
