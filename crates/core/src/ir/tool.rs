//! Tools and the choice among them.

use super::{CallKind, Constraint, Origin};
use serde_json::Value;

/// What a tool takes.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    /// A function: JSON arguments that satisfy this schema.
    Schema {
        /// The parameter schema; an absent one is `{"type":"object","properties":{}}`.
        schema: Value,
        /// OpenAI's `strict: true`.
        strict: bool,
    },
    /// A custom tool: free text, perhaps of a grammar.
    Text(Option<Constraint>),
    /// A tool that a server of its wire knows by its type alone, and perhaps runs (`web_search`, …). Carried, never forced.
    Hosted(Hosted),
}

/// A tool of which the request says its type alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosted {
    /// Its type.
    pub kind: String,
    /// What the models of other servers are told of it, where the client carries it out (`bash_20250124`).
    pub published: Option<Published>,
}

/// A tool that a dialect brings along, as a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// For the model.
    pub description: String,
    /// Of its arguments.
    pub schema: Value,
}

/// One tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Where it stands.
    pub origin: Origin,
    /// Where its schema stands, or the format of its text.
    pub input_origin: Origin,
    /// Unique among the request's tools.
    pub name: String,
    /// For the model.
    pub description: Option<String>,
    /// What it takes.
    pub input: ToolInput,
}

impl Tool {
    /// As what it is called: the proxy makes no calls of those that servers host.
    #[must_use]
    pub const fn called_as(&self) -> CallKind {
        match self.input {
            ToolInput::Text(_) => CallKind::Custom,
            ToolInput::Schema { .. } | ToolInput::Hosted(_) => CallKind::Function,
        }
    }

    /// Whether the server runs it itself.
    #[must_use]
    pub const fn is_servers(&self) -> bool {
        matches!(
            self.input,
            ToolInput::Hosted(Hosted {
                published: None,
                ..
            })
        )
    }
}

/// Calls that a server makes of functions which it brings itself, for the client to carry out: no tool of the request
/// has their names (Gemini's `computerUse`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnCalls {
    /// The client wants none of these.
    pub excluded: Vec<String>,
}

/// Which calls the client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// No call.
    None,
    /// Calls or text, as the model likes.
    Auto,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
    /// Only these tools may be called (OpenAI's `allowed_tools`).
    Allowed {
        /// At least one call, or as the model likes.
        required: bool,
        /// The names.
        names: Vec<String>,
    },
}

impl ToolChoice {
    /// The name that rule files and metrics use.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Named(_) => "named",
            Self::Allowed { required: true, .. } => "allowed_required",
            Self::Allowed {
                required: false, ..
            } => "allowed_auto",
        }
    }

    /// Whether tools may be called that it does not name.
    #[must_use]
    pub const fn leaves_room(&self) -> bool {
        matches!(self, Self::Auto | Self::Required)
    }

    /// Whether the reply must hold a call.
    #[must_use]
    pub const fn is_forced(&self) -> bool {
        matches!(
            self,
            Self::Required | Self::Named(_) | Self::Allowed { required: true, .. }
        )
    }
}
