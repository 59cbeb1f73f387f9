//! A request that came on Ollama's own wire, edited.

use crate::dialect::server::editor::{Editor, append, items, keep_tools, set_stops};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request, Role, Tool, ToolChoice, ToolInput, raw};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Edits the bodies of `/api/chat`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChatEditor;

impl Editor for ChatEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed("/api/chat")
    }

    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]) {
        keep_tools(fields, "tools", (request, tools), |_, tool, item| {
            parameters(tool, item).unwrap_or_else(|| item.to_owned())
        });
    }

    // There are no fields for these.
    fn choice(&self, _fields: &mut Fields, _choice: Option<&ToolChoice>, _tools: &[Tool]) {}

    fn parallel(&self, _fields: &mut Fields, _parallel: Option<bool>) {}

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let mut messages = items(fields, "messages").ok_or_else(|| {
            let message = "`messages` must be a list of messages";
            Error::new(Kind::InvalidRequest, message).at("messages")
        })?;
        match messages.first().and_then(|first| extended(first, text)) {
            Some(extended) => messages[0] = extended,
            None => messages.insert(0, raw(&json!({"role": "system", "content": text}))),
        }
        fields.set("messages", raw(&messages));
        Ok(())
    }

    fn stop_at(&self, fields: &mut Fields, kept: &[String]) {
        set_stops(fields, &["options", "stop"], kept);
    }

    fn say(&self, fields: &mut Fields, role: Role, text: &str) {
        let role = match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        append(fields, "messages", &json!({"role": role, "content": text}));
    }
}

/// A function with other parameters.
fn parameters(tool: &Tool, item: &RawValue) -> Option<Box<RawValue>> {
    let ToolInput::Schema { schema, .. } = &tool.input else {
        return None;
    };
    let mut written: Fields = serde_json::from_str(item.get()).ok()?;
    let mut function: Fields = serde_json::from_str(written.raw("function")?).ok()?;
    function.set("parameters", raw(schema));
    written.set("function", raw(&function));
    Some(raw(&written))
}

fn extended(message: &RawValue, text: &str) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
    let role: String = serde_json::from_str(fields.raw("role")?).ok()?;
    let content: String = serde_json::from_str(fields.raw("content")?).ok()?;
    if role != "system" {
        return None;
    }
    fields.set("content", raw(&format!("{content}\n\n{text}")));
    Some(raw(&fields))
}

/// Edits the bodies of `/api/generate`, which have no tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptEditor;

impl PromptEditor {
    fn add(fields: &mut Fields, name: &str, text: &str) {
        let known = fields.raw(name).and_then(|raw| {
            let known: Option<String> = serde_json::from_str(raw).ok()?;
            known.filter(|known| !known.is_empty())
        });
        let text = known.map_or_else(|| text.to_owned(), |known| format!("{known}\n\n{text}"));
        fields.set(name, raw(&text));
    }
}

impl Editor for PromptEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed("/api/generate")
    }

    fn tools(&self, _fields: &mut Fields, _request: &Request, _tools: &[Tool]) {}

    fn choice(&self, _fields: &mut Fields, _choice: Option<&ToolChoice>, _tools: &[Tool]) {}

    fn parallel(&self, _fields: &mut Fields, _parallel: Option<bool>) {}

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        if fields.raw("raw") == Some("true") {
            let message = "`raw` leaves no place to tell the model what the answer must be, and this \
                           server cannot be made to keep to it otherwise: leave `raw` out";
            return Err(Error::new(Kind::UnsupportedConstraint, message).at("raw"));
        }
        Self::add(fields, "system", text);
        Ok(())
    }

    fn stop_at(&self, fields: &mut Fields, kept: &[String]) {
        set_stops(fields, &["options", "stop"], kept);
    }

    fn say(&self, fields: &mut Fields, _role: Role, text: &str) {
        Self::add(fields, "prompt", text);
    }
}
