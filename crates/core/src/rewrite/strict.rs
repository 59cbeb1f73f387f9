//! Tools that the server is to hold to their schemas: those schemas in a form that it takes.

use super::Writer;
use super::place::{Stands, is_emptied};
use crate::ir::{EnforcedBy, Fields, Loss, Tool, ToolInput, raw};
use crate::schema::{self, Lowered};
use serde_json::Value;

impl Writer<'_> {
    /// Lowers the parameters of strict tools, where the server refuses what it does not enforce.
    /// A tool of which too little would be left goes without `strict`; the proxy verifies it.
    pub(super) fn fit_strict_tools(&mut self) {
        if !self.rule.schema.strict_tools {
            return;
        }
        if let Some(typed) = &mut self.body.typed {
            let mut tools = std::mem::take(&mut typed.draft.tools);
            for tool in &mut tools {
                self.fit_typed(tool);
            }
            if let Some(typed) = &mut self.body.typed {
                typed.draft.tools = tools;
            }
            return;
        }
        let tools = self.body.fields.raw("tools");
        let Some(mut tools) = tools.and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok())
        else {
            return;
        };
        let mut is_changed = false;
        for tool in &mut tools {
            let function = tool.raw("function");
            let function = function.and_then(|raw| serde_json::from_str::<Fields>(raw).ok());
            if let Some(fitted) = function.and_then(|function| self.fit(function)) {
                tool.set("function", raw(&fitted));
                is_changed = true;
            }
        }
        if is_changed {
            self.body.fields.to_mut().set("tools", raw(&tools));
            self.body.changed = true;
        }
    }

    /// `None` where the function stays as it is.
    fn fit(&mut self, mut function: Fields) -> Option<Fields> {
        if function.raw("strict") != Some("true") {
            return None;
        }
        let name: String = serde_json::from_str(function.raw("name")?).ok()?;
        let parameters: Value = serde_json::from_str(function.raw("parameters")?).ok()?;
        let pointer = match self.request.tools.iter().find(|tool| tool.name == name) {
            Some(tool) => tool.input_origin.pointer(),
            None => "/tools".to_owned(),
        };
        match self.fitted(&parameters, pointer) {
            Fitted::AsItIs => return None,
            Fitted::Lowered(schema) => function.set("parameters", raw(&schema)),
            Fitted::NotStrict => {
                function.remove("strict");
            }
        }
        Some(function)
    }

    fn fit_typed(&mut self, tool: &mut Tool) {
        let ToolInput::Schema { schema, strict } = &mut tool.input else {
            return;
        };
        if !*strict {
            return;
        }
        match self.fitted(schema, tool.input_origin.pointer()) {
            Fitted::AsItIs => {}
            Fitted::Lowered(lowered) => *schema = lowered,
            Fitted::NotStrict => *strict = false,
        }
    }

    /// What becomes of a strict tool's schema, which stands at `pointer`.
    fn fitted(&mut self, parameters: &Value, pointer: String) -> Fitted {
        let Lowered { schema, losses } = schema::lower(parameters, &self.rule.schema);
        if is_emptied(&schema, &losses) {
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
