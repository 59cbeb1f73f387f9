//! Tools that the server is to hold to their schemas: which those are, and their schemas in a form that it takes.

use super::Writer;
use super::place::{Stands, is_circular, is_emptied};
use super::plain_tools::any_object;
use crate::ir::{EnforcedBy, Loss, Tool, ToolInput};
use crate::rules::StrictTools;
use crate::schema::described_in_full;
use serde_json::{Value, json};
use std::borrow::Cow;

impl Writer<'_> {
    /// Says which tools are strict, and lowers the parameters of those, where the server refuses what it does not enforce.
    /// A tool of which too little would be left goes without `strict`; the proxy verifies it.
    pub(super) fn fit_strict_tools(&mut self, which: StrictTools) {
        match which {
            StrictTools::None => self.refit_tools(Self::loose),
            StrictTools::All => self.refit_tools(|writer, tool| writer.fit(tool, false)),
            StrictTools::Stated if self.rule.schema.strict_tools => {
                self.refit_tools(|writer, tool| writer.fit(tool, true));
            }
            StrictTools::Stated => {}
        }
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

    /// `None` where the tool stays as it is: `is_stated` says that only those are strict of which the client says so.
    fn fit(&mut self, tool: &Tool, is_stated: bool) -> Option<ToolInput> {
        let ToolInput::Schema { schema, strict } = &tool.input else {
            return None;
        };
        if is_stated && !strict {
            return None;
        }
        let told = match is_stated {
            true => Cow::Borrowed(schema),
            false => as_object(schema),
        };
        let held = self.memo.lower(&told, &self.rule.schema);
        let lowered = held.schema.as_ref().unwrap_or(&told);
        if is_circular(&self.rule.schema, &held.losses) {
            let title = &self.rule.title;
            let reason = format!("{title} takes no strict tool whose schema refers to itself");
            return self.loosened(tool, reason);
        }
        if is_emptied(&told, lowered, &held.losses) {
            let title = &self.rule.title;
            let reason = format!(
                "{title} takes strict tools only if their objects name all their properties"
            );
            return self.loosened(tool, reason);
        }
        self.lose_keywords(&Stands::Schema(tool.input_origin.pointer()), &held.losses);
        // The model is shown what the server is told, whatever holds it.
        let lowered = described_in_full(Cow::Borrowed(lowered), &told, &held.losses);
        (!strict || *lowered != *schema).then(|| ToolInput::Schema {
            schema: lowered.into_owned(),
            strict: true,
        })
    }

    /// `None` where the tool stays as it is.
    fn loose(&mut self, tool: &Tool) -> Option<ToolInput> {
        let title = &self.rule.title;
        let reason = format!("{title} does not hold this tool to its schema");
        self.loosened(tool, reason)
    }

    /// The tool without `strict`, and why, where the client says it.
    fn loosened(&mut self, tool: &Tool, reason: String) -> Option<ToolInput> {
        let ToolInput::Schema {
            schema,
            strict: true,
        } = &tool.input
        else {
            return None;
        };
        let pointer = tool.input_origin.pointer();
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.losses.push(Loss {
            pointer: format!("{parent}/strict"),
            reason,
            enforced_by: EnforcedBy::Proxy,
        });
        let (schema, strict) = (schema.clone(), false);
        Some(ToolInput::Schema { schema, strict })
    }
}

/// The same where arguments are an object, which they are whatever their schema says: a server that compiles it is to be told.
fn as_object(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Bool(true) => Cow::Owned(any_object()),
        Value::Object(map) if map.is_empty() => Cow::Owned(any_object()),
        Value::Object(map) if map.contains_key("properties") && !map.contains_key("type") => {
            let mut map = map.clone();
            map.insert("type".to_owned(), json!("object"));
            Cow::Owned(Value::Object(map))
        }
        _ => Cow::Borrowed(schema),
    }
}
