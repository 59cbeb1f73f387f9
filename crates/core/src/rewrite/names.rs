//! Tools under other names, where the server does not take theirs: one such name would fail the whole request.

use super::Writer;
use crate::ir::{Refusal, Tool, ToolChoice, ToolInput, Wire, plain_name};
use std::collections::HashMap;

impl Writer<'_> {
    /// The name of a tool as the server is told it.
    pub(super) fn told_name(&self, name: &str) -> Option<String> {
        self.renames().then(|| plain_name(name)).flatten()
    }

    /// Names in other wires than Chat's are left to their own clients: what their own servers refuse they are told.
    fn renames(&self) -> bool {
        let is_own = self.body.keeps_wire() && self.request.wire != Some(Wire::Chat);
        !is_own && self.rule.history.refuses(Refusal::OddNames)
    }

    /// Gives tools the names that the server takes, and tells the client's by those.
    pub(super) fn rename_tools(&mut self) -> HashMap<String, String> {
        let mut renamed = HashMap::new();
        if !self.renames() {
            return renamed;
        }
        let plain = |tool: &Tool| match tool.input {
            ToolInput::Hosted(_) => None,
            ToolInput::Schema { .. } | ToolInput::Text(_) => plain_name(&tool.name),
        };
        for index in 0..self.body.tools.len() {
            if let Some(name) = self.body.tools.get(index).and_then(plain) {
                let tool = &mut self.body.tools.to_mut()[index];
                let stated = std::mem::replace(&mut tool.name, name.clone());
                renamed.insert(name, stated);
            }
        }
        if !renamed.is_empty() {
            self.body.rename_choice();
        }
        renamed
    }
}

/// The choice under the new names; `None` where it names no tool that has one.
pub(super) fn renamed_choice(choice: &ToolChoice) -> Option<ToolChoice> {
    match choice {
        ToolChoice::None | ToolChoice::Auto | ToolChoice::Required => None,
        ToolChoice::Named(name) => plain_name(name).map(ToolChoice::Named),
        ToolChoice::Allowed { required, names } => {
            let is_renamed = |name: &String| plain_name(name).is_some();
            let told = |name: &String| plain_name(name).unwrap_or_else(|| name.clone());
            names.iter().any(is_renamed).then(|| ToolChoice::Allowed {
                required: *required,
                names: names.iter().map(told).collect(),
            })
        }
    }
}
