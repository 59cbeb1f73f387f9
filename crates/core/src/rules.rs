//! Rule files: what each server dialect takes, as data.
//!
//! TOML text (`rules/*.toml`, embedded, or a user's own) becomes a checked [`RuleSet`]; a server's
//! kind and version become one [`Rule`]; a rule's templates are merged into request bodies.
//! `rules/README.md` is the vocabulary. Nothing here reads a file or asks a server.

mod apply;
mod check;
mod choice;
mod compile;
mod conversation;
mod count;
mod dialect;
mod errors;
mod facts;
mod http;
mod markup;
mod matrix;
mod probed;
mod profile;
mod recognise;
mod route;
mod rule;
mod set;
mod thinking;
mod thoughts;
mod words;

#[cfg(test)]
mod tests;

pub use crate::datafile::{Range, RuleFault, Version};
pub use apply::{FillError, Patch, TemplateValues, apply_fields, drop_unknown, merge};
pub use choice::{Asks, ChoiceHow, ChoiceRule, StrictTools, ToolsSent};
pub use dialect::Bug;
pub use facts::{
    ANSWERS_AS_THOUGHTS, ANSWERS_IN_FENCES, BEGINS_INSIDE_THOUGHTS, CALLS_IN_TEXT,
    CALLS_OVER_BOUNDS, HOLDS_BEHIND_THOUGHTS, LIMIT_OVER_ROOM, NO_FORCED_CALLS_BESIDE_THINKING,
    NO_STREAM, NO_STREAM_WITH_SCHEMAS, NO_STREAM_WITH_TOOLS, NO_STRICT_CALLS, NO_TAGGED_CALLS,
    OPENS_ASKED_THOUGHTS, OPENS_THOUGHTS, READS_CALLS, SCHEMAS_OVER_BOUNDS, THINKS_IN_TEXT,
    THOUGHTS_IN_TEXT, TOOLS_ON_RESPONSES, is_of_one_request, limit_of, renamed_field, told_limit,
    unknown_field,
};
pub use markup::{KnownFormats, Markup, MarkupFrom, MarkupSeen, Markups};
pub use matrix::matrix_markdown;
pub use probed::{Finding, Probed, Verdict};
pub use recognise::{Identity, ProbeAnswer, Recogniser, Recognition};
pub use route::Route;
pub use rule::{
    AllowRule, Compact, ComposeHow, ConstraintRule, ContextRule, ContextSize, FieldAction,
    FieldRule, Http, LaunchRule, Moved, Rule, ShowTools, TagShape, Template, TextUnion,
    ThinkingRule, ThinkingSend, ThinkingWords, Unstreamed,
};
pub use set::RuleSet;
pub use thoughts::{InText, PromptOpens, ThoughtForm, ThoughtForms};
