//! Constraints: what output is allowed.

use super::Origin;
use serde_json::Value;

/// The notation of a grammar's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Notation {
    /// GBNF of llama.cpp, which xgrammar's EBNF reads too; the start rule is `root`.
    Gbnf,
    /// Lark as OpenAI and llguidance read it; the start rule is `start`.
    Lark,
}

impl Notation {
    /// The stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::Lark => "lark",
        }
    }

    /// What vLLM takes a grammar's text for: Lark unless a line has `::=`
    /// (vLLM 0.33 `structured_outputs.grammar`).
    #[must_use]
    pub fn guess(text: &str) -> Self {
        if text.contains("::=") {
            Self::Gbnf
        } else {
            Self::Lark
        }
    }
}

/// What a text may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Constraint {
    /// JSON that satisfies this schema. Key order is the client's own: it is meaningful.
    JsonSchema(Value),
    /// Any JSON object.
    JsonObject,
    /// Text that matches this regex as a whole.
    Regex(String),
    /// Exactly one of these texts.
    Choice(Vec<String>),
    /// Text of this grammar's language.
    Grammar {
        /// How `text` is written.
        notation: Notation,
        /// The grammar.
        text: String,
    },
    /// xgrammar's structural tags, either shape (`structures`/`triggers` or `format`).
    StructuralTag(Value),
}

/// Whether a string anywhere in a value has a mark in it.
fn spelled_in(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| spelled_in(item, mark)),
        Value::Object(fields) => fields.values().any(|value| spelled_in(value, mark)),
        _ => false,
    }
}

impl Constraint {
    /// Whether it spells out this mark, which then is part of the text that it demands.
    #[must_use]
    pub fn spells(&self, mark: &str) -> bool {
        match self {
            Self::JsonSchema(_) | Self::JsonObject => false,
            Self::Regex(text) | Self::Grammar { text, .. } => text.contains(mark),
            Self::Choice(texts) => texts.iter().any(|text| text.contains(mark)),
            Self::StructuralTag(tag) => spelled_in(tag, mark),
        }
    }

    /// The name that rule files, metrics and messages use.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::JsonSchema(_) => "json_schema",
            Self::JsonObject => "json_object",
            Self::Regex(_) => "regex",
            Self::Choice(_) => "choice",
            Self::Grammar {
                notation: Notation::Gbnf,
                ..
            } => "grammar:gbnf",
            Self::Grammar {
                notation: Notation::Lark,
                ..
            } => "grammar:lark",
            Self::StructuralTag(_) => "structural_tag",
        }
    }

    /// Whether a text that satisfies this is always JSON.
    #[must_use]
    pub const fn is_json(&self) -> bool {
        matches!(self, Self::JsonSchema(_) | Self::JsonObject)
    }
}

/// A constraint as the client stated it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConstraint {
    /// What is allowed.
    pub constraint: Constraint,
    /// Which field said so.
    pub spelling: Origin,
    /// Fields that say the same, or less: a server is sent one constraint, and none of these.
    pub also: Vec<Origin>,
    /// Whether the constraint is in other words than the client's, which no server is sent then.
    pub is_reworded: bool,
    /// The schema's name, where the spelling has one.
    pub name: Option<String>,
    /// What the format is for, where the spelling has it beside the schema.
    pub description: Option<String>,
    /// OpenAI's `strict`, where the spelling has it.
    pub strict: Option<bool>,
}

impl ClientConstraint {
    /// Whether the spelling has OpenAI's `strict`: where it is not said it means that the schema is a hint.
    #[must_use]
    pub fn may_say_strict(&self) -> bool {
        matches!(self.spelling.field(), "response_format" | "text")
    }
}
