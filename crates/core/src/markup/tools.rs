//! What a reader must know of the tools that the model was shown.

use crate::ir::CallKind;
use serde_json::Value;
use std::collections::BTreeMap;

/// The tools by their names: what kind each is of, and the schema of its parameters.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    tools: BTreeMap<String, (CallKind, Option<Value>)>,
    /// The longest first, so that a name is not taken for a shorter one that it begins with.
    names: Vec<String>,
}

impl Tools {
    /// The tools that were shown. The schema is that of the parameters (an object's), if there is
    /// one: values that the markup writes as bare text are read by it.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = (String, CallKind, Option<Value>)>) -> Self {
        let tools: BTreeMap<_, _> = tools
            .into_iter()
            .map(|(name, kind, schema)| (name, (kind, schema)))
            .collect();
        let mut names: Vec<String> = tools.keys().cloned().collect();
        names.retain(|name| !name.is_empty());
        names.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Self { tools, names }
    }

    /// Whether none was shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether a tool of this name was shown.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// What kind of input the tool takes; that of a function where it is not known.
    #[must_use]
    pub fn kind(&self, name: &str) -> CallKind {
        self.tools
            .get(name)
            .map_or(CallKind::Function, |(kind, _)| *kind)
    }

    /// The schema of the tool's parameters.
    pub(super) fn schema(&self, name: &str) -> Option<&Value> {
        self.tools.get(name)?.1.as_ref()
    }

    /// The names, the longest first.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}
