//! How calls are read off the content.

use crate::ir::{CallKind, Contract, Rewrap, Strategy, ToolInput};
use crate::markup::Tools;
use crate::rewrap::Reading;
use crate::rewrite::Rewritten;
use crate::rules::{Markup, Rule};
use std::sync::Arc;

/// As the model writes them, where that is known, or was told to.
pub(super) fn of(contract: &Contract, rule: &Rule, asked: &Rewritten, markup: &Markup) -> Reading {
    let tools = contract.tools.iter().filter_map(|tool| {
        let (kind, schema) = match &tool.input {
            ToolInput::Schema { schema, .. } => (CallKind::Function, Some(schema.clone())),
            ToolInput::Text(_) => (CallKind::Custom, None),
            // What the server would have to host, no text can call.
            ToolInput::Hosted(_) => return None,
        };
        Some((tool.name.clone(), kind, schema))
    });
    Reading {
        format: Arc::clone(&markup.format),
        tools: Arc::new(Tools::new(tools)),
        keeps_thoughts: asked.plan.rewrap == Rewrap::Keep,
        is_expected: asked.plan.rewrap != Rewrap::Keep || rule.calls_in_text,
        may_follow_text: asked.strategy == Strategy::Instruct,
        is_constrained: asked.strategy == Strategy::Tags || asked.own_tags,
        is_anywhere: asked.own_tags,
    }
}
