//! Tools that the server is to hold to their schemas: those schemas in a form that it takes.

use super::Writer;
use super::place::{Stands, is_emptied};
use crate::ir::{EnforcedBy, Fields, Loss, raw};
use crate::schema::{self, Lowered};
use serde_json::Value;

impl Writer<'_> {
    /// Lowers the parameters of strict tools, where the server refuses what it does not enforce.
    /// A tool of which too little would be left goes without `strict`; the proxy verifies it.
    pub(super) fn fit_strict_tools(&mut self) {
        if !self.rule.schema.strict_tools {
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
            self.body.fields.set("tools", raw(&tools));
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
        let Lowered { schema, losses } = schema::lower(&parameters, &self.rule.schema);
        let mut tools = self.request.tools.iter();
        let pointer = match tools.position(|tool| tool.name == name) {
            Some(place) => format!("/tools/{place}/function"),
            None => "/tools".to_owned(),
        };
        if is_emptied(&schema, &losses) {
            self.losses.push(Loss {
                pointer: format!("{pointer}/strict"),
                reason: format!(
                    "{} takes strict tools only if their objects name all their properties",
                    self.rule.title
                ),
                enforced_by: EnforcedBy::Proxy,
            });
            function.remove("strict");
            return Some(function);
        }
        self.lose_keywords(&Stands::Schema(format!("{pointer}/parameters")), &losses);
        if schema.as_ref() == &parameters {
            return None;
        }
        function.set("parameters", raw(schema.as_ref()));
        Some(function)
    }
}
