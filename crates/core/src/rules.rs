//! Rule files: what each server dialect takes, as data.
//!
//! TOML text (`rules/*.toml`, embedded, or a user's own) becomes a checked [`RuleSet`]; a server's
//! kind and version become one [`Rule`]; a rule's templates are merged into request bodies.
//! `rules/README.md` is the vocabulary. Nothing here reads a file or asks a server.

mod apply;
mod check;
mod compile;
mod dialect;
mod facts;
mod fault;
mod http;
mod matrix;
mod probed;
mod raw;
mod recognise;
mod route;
mod rule;
mod set;
mod version;
mod words;

#[cfg(test)]
mod tests;

pub use apply::{FillError, Patch, TemplateValues, apply_fields, drop_unknown, merge};
pub use dialect::Bug;
pub use facts::ANSWERS_AS_THOUGHTS;
pub use fault::RuleFault;
pub use matrix::matrix_markdown;
pub use probed::{Finding, Probed, Verdict};
pub use recognise::{Identity, ProbeAnswer, Recogniser, Recognition};
pub use route::Route;
pub use rule::{
    AllowRule, Asks, ChoiceHow, ChoiceRule, Compact, ComposeHow, ConstraintRule, FieldAction,
    FieldRule, Http, LaunchRule, Rule, ShowTools, TagShape, Template, TextUnion, ToolsSent,
};
pub use set::RuleSet;
pub use version::{Range, Version};
