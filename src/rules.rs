//! Rule files: what each server dialect takes, as data.

mod rule;
mod version;

pub use rule::{
    ChoiceHow, ChoiceRule, ComposeHow, ConstraintRule, FieldAction, FieldRule, LaunchRule, Rule,
    ShowTools, Template, ToolsSent,
};
pub use version::{Range, Version};
