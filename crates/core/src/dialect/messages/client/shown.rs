//! The tools of a request, as results that refer to them tell them.

use crate::ir::{Fields, raw};
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::collections::HashMap;

/// What a `tool_reference` in a result stands for: a client that shows its tools when they are needed (Claude Code's
/// `ToolSearch`) answers a search with references. Anthropic's API puts the definition in their place.
pub(super) struct Shown<'t> {
    fields: &'t Fields,
    /// Read where something refers to it: most requests have no references, and some have hundreds of tools.
    tools: RefCell<Option<HashMap<String, String>>>,
}

impl<'t> Shown<'t> {
    pub(super) const fn of(fields: &'t Fields) -> Self {
        Self {
            fields,
            tools: RefCell::new(None),
        }
    }

    /// A tool's definition, once: a conversation of many references is no longer for it. Behind the first, and of a tool that is
    /// not there, it is the name.
    pub(super) fn told(&self, name: &str) -> String {
        let mut tools = self.tools.borrow_mut();
        let tools = tools.get_or_insert_with(|| definitions(self.fields));
        tools
            .remove(name)
            .unwrap_or_else(|| function([("name", Some(raw(name)))]))
    }
}

fn definitions(fields: &Fields) -> HashMap<String, String> {
    let stated = fields.raw("tools").unwrap_or("[]");
    let tools: Vec<Fields> = serde_json::from_str(stated).unwrap_or_default();
    let definition = |mut tool: Fields| {
        let name: String = serde_json::from_str(tool.raw("name")?).ok()?;
        let told = [
            ("name", tool.remove("name")),
            ("description", tool.remove("description")),
            ("parameters", tool.remove("input_schema")),
        ];
        Some((name, function(told)))
    };
    tools.into_iter().filter_map(definition).collect()
}

/// In the words in which Claude's prompt shows a tool.
fn function<const N: usize>(stated: [(&str, Option<Box<RawValue>>); N]) -> String {
    let mut told = Fields::default();
    for (name, value) in stated {
        if let Some(value) = value.filter(|value| value.get() != "null") {
            told.set(name, value);
        }
    }
    format!("<function>{}</function>", raw(&told).get())
}
