//! The upstream body while it is written: edits of raw top-level fields. `messages` is touched
//! only where the rule leaves nothing but the prompt.

use crate::error::{Error, Kind};
use crate::ir::{Contract, Fields, Request, Tool, ToolChoice, ToolInput, raw, raw_string};
use crate::rules::{FillError, Rule, Template, TemplateValues};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) struct Body {
    pub(super) fields: Fields,
    pub(super) changed: bool,
}

impl Body {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            fields: request.fields.clone(),
            changed: false,
        }
    }

    fn set(&mut self, name: &str, value: Box<RawValue>) {
        self.fields.set(name, value);
        self.changed = true;
    }

    fn remove(&mut self, name: &str) {
        self.changed |= self.fields.remove(name).is_some();
    }

    pub(super) fn apply(
        &mut self,
        template: &Template,
        values: &TemplateValues<'_>,
    ) -> Result<(), FillError> {
        self.changed = true;
        template.apply(&mut self.fields, values)
    }

    /// `tools: []` says nothing, but vLLM refuses it (400 from 0.20.0).
    pub(super) fn drop_empty_tools(&mut self) {
        for name in ["tools", "functions"] {
            if self
                .fields
                .raw(name)
                .is_some_and(|tools| tools.starts_with('['))
            {
                self.remove(name);
            }
        }
    }

    /// The legacy `functions` as `tools`, which every server knows.
    pub(super) fn modernise_functions(&mut self, request: &Request) {
        if let Some(functions) = self.fields.remove("functions") {
            let functions: Vec<Box<RawValue>> =
                serde_json::from_str(functions.get()).unwrap_or_default();
            let tools: Vec<Box<RawValue>> = functions
                .iter()
                .map(|function| {
                    raw_string(format!(
                        r#"{{"type":"function","function":{}}}"#,
                        function.get()
                    ))
                })
                .collect();
            self.set("tools", raw(&tools));
        }
        if self.fields.remove("function_call").is_some() {
            let choice = match &request.tool_choice {
                ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
                other => json!(other.kind()),
            };
            self.set("tool_choice", raw(&choice));
        }
    }

    /// Keeps only the tools that the contract allows.
    pub(super) fn keep_tools(&mut self, request: &Request, contract: &Contract) {
        if contract.tools.len() == request.tools.len() {
            return;
        }
        let Some(tools) = self.fields.raw("tools") else {
            return;
        };
        let tools: Vec<Box<RawValue>> = serde_json::from_str(tools).unwrap_or_default();
        let allowed: Vec<Box<RawValue>> = tools
            .into_iter()
            .zip(&request.tools)
            .filter(|(_, tool)| {
                contract
                    .tools
                    .iter()
                    .any(|allowed| allowed.name == tool.name)
            })
            .map(|(raw, _)| raw)
            .collect();
        self.set("tools", raw(&allowed));
    }

    /// Leaves the tools for the model to see, with a choice that lets the content be constrained.
    pub(super) fn show_tools(&mut self, request: &Request, rule: &Rule, choice: &str) {
        if !rule.custom_tools
            && request
                .tools
                .iter()
                .any(|tool| !matches!(tool.input, ToolInput::Schema { .. }))
        {
            let tools: Vec<Value> = request.tools.iter().filter_map(shown).collect();
            self.set("tools", raw(&tools));
        }
        self.set("tool_choice", raw(choice));
        self.remove("parallel_tool_calls");
    }

    /// Gives the tools to the chat template alone: no tool logic of the server is involved.
    pub(super) fn show_tools_in_template(&mut self, request: &Request) {
        let tools: Vec<Value> = request.tools.iter().filter_map(shown).collect();
        self.hide_tools();
        let kwargs = self
            .fields
            .raw("chat_template_kwargs")
            .and_then(|kwargs| serde_json::from_str::<Fields>(kwargs).ok());
        let mut kwargs = kwargs.unwrap_or_default();
        kwargs.set("tools", raw(&tools));
        self.set("chat_template_kwargs", raw(&kwargs));
    }

    pub(super) fn hide_tools(&mut self) {
        for name in [
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "functions",
            "function_call",
        ] {
            self.remove(name);
        }
    }

    /// Tells the model in a system message: the first one where there is one, since many chat
    /// templates take no second.
    pub(super) fn instruct(&mut self, text: &str) -> Result<(), Error> {
        let wrong = || {
            Error::new(
                Kind::InvalidRequest,
                "`messages` must be an array of messages",
            )
            .at("messages")
        };
        let messages = self.fields.raw("messages").ok_or_else(wrong)?;
        let mut messages: Vec<Box<RawValue>> =
            serde_json::from_str(messages).map_err(|_| wrong())?;
        match messages
            .first()
            .and_then(|first| extend_system(first, text))
        {
            Some(extended) => messages[0] = extended,
            None => messages.insert(0, raw(&json!({"role": "system", "content": text}))),
        }
        self.set("messages", raw(&messages));
        Ok(())
    }
}

fn extend_system(message: &RawValue, text: &str) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
    let role: String = serde_json::from_str(fields.raw("role")?).ok()?;
    if !["system", "developer"].contains(&role.as_str()) {
        return None;
    }
    let content: String = serde_json::from_str(fields.raw("content")?).ok()?;
    fields.set("content", raw(&format!("{content}\n\n{text}")));
    Some(raw(&fields))
}

/// A tool as the function form that every template renders.
fn shown(tool: &Tool) -> Option<Value> {
    let parameters = match &tool.input {
        ToolInput::Schema { schema, .. } => schema.clone(),
        ToolInput::Text(_) => {
            json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
        }
        ToolInput::Hosted(_) => return None,
    };
    let mut function = json!({"name": tool.name});
    if let Some(description) = &tool.description {
        function["description"] = json!(description);
    }
    function["parameters"] = parameters;
    Some(json!({"type": "function", "function": function}))
}
