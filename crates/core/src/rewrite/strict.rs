//! Tools that the server is to hold to their schemas: those schemas in a form that it takes.

use super::Writer;
use super::place::{Stands, is_emptied};
use crate::ir::{EnforcedBy, Loss, Tool, ToolInput};
use crate::schema::{self, Lowered};
use serde_json::Value;
use std::borrow::Cow;

impl Writer<'_> {
    /// Lowers the parameters of strict tools, where the server refuses what it does not enforce.
    /// A tool of which too little would be left goes without `strict`; the proxy verifies it.
    pub(super) fn fit_strict_tools(&mut self) {
        if !self.rule.schema.strict_tools {
            return;
        }
        self.refit_tools(Self::fit);
    }

    /// Gives tools other inputs; `fit` gives none where a tool stays as it is.
    pub(super) fn refit_tools(&mut self, fit: impl Fn(&mut Self, &Tool) -> Option<ToolInput>) {
        let mut tools = std::mem::replace(&mut self.body.tools, Cow::Borrowed(&[]));
        for index in 0..tools.len() {
            if let Some(fitted) = tools.get(index).and_then(|tool| fit(self, tool)) {
                tools.to_mut()[index].input = fitted;
            }
        }
        self.body.tools = tools;
    }

    /// `None` where the tool stays as it is.
    fn fit(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema {
            schema,
            strict: true,
        } = &tool.input
        else {
            return None;
        };
        let (schema, strict) = match self.fitted(schema, tool.input_origin.pointer()) {
            Fitted::AsItIs => return None,
            Fitted::Lowered(lowered) => (lowered, true),
            Fitted::NotStrict => (schema.clone(), false),
        };
        Some(ToolInput::Schema { schema, strict })
    }

    /// What becomes of a strict tool's schema, which stands at `pointer`.
    fn fitted(&mut self, parameters: &Value, pointer: String) -> Fitted {
        let Lowered { schema, losses } = schema::lower(parameters, &self.rule.schema);
        if is_emptied(parameters, &schema, &losses) {
            let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            self.losses.push(Loss {
                pointer: format!("{parent}/strict"),
                reason: format!(
                    "{} takes strict tools only if their objects name all their properties",
                    self.rule.title
                ),
                enforced_by: EnforcedBy::Proxy,
            });
            return Fitted::NotStrict;
        }
        self.lose_keywords(&Stands::Schema(pointer), &losses);
        if schema.as_ref() == parameters {
            return Fitted::AsItIs;
        }
        Fitted::Lowered(schema.into_owned())
    }
}

/// What becomes of a strict tool.
enum Fitted {
    AsItIs,
    /// Its schema is another.
    Lowered(Value),
    /// Too little would be left of it.
    NotStrict,
}
