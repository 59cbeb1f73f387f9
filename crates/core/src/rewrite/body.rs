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

    /// vLLM answers 400 to `tools: []` (from 0.20.0), to a choice without tools and to
    /// `structured_outputs: {}`; servers that know a field not at all refuse its `null` too.
    pub(super) fn drop_idle(&mut self, request: &Request) {
        for name in &request.idle {
            self.remove(name);
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
            self.set("tool_choice", raw(&choice_wire(request)));
        }
    }

    /// Flat tools and choices (the spelling of the Responses API), and `any` for `required`, in the
    /// spelling that every server takes. What has it already keeps its bytes.
    pub(super) fn respell_tools(&mut self, request: &Request) {
        if let Some(tools) = self.fields.raw("tools").and_then(nested_tools) {
            self.set("tools", tools);
        }
        let stated = self.fields.raw("tool_choice").filter(|raw| *raw != "null");
        let stated: Option<Value> = stated.and_then(|raw| serde_json::from_str(raw).ok());
        let wanted = choice_wire(request);
        if stated.is_some_and(|stated| stated != wanted && stated["type"] != "allowed_tools") {
            self.set("tool_choice", raw(&wanted));
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

    /// Gives tools other parameters, by their names.
    pub(super) fn set_parameters(&mut self, changed: &[(&str, Value)]) {
        let Some(tools) = self.fields.raw("tools") else {
            return;
        };
        let mut tools: Vec<Value> = serde_json::from_str(tools).unwrap_or_default();
        for tool in &mut tools {
            let name = tool["function"]["name"].as_str();
            let other = changed.iter().find(|(known, _)| name == Some(*known));
            if let Some((_, parameters)) = other {
                tool["function"]["parameters"] = parameters.clone();
            }
        }
        self.set("tools", raw(&tools));
    }

    pub(super) fn ask_for_one_call(&mut self) {
        self.set("parallel_tool_calls", raw(&false));
    }

    /// Leaves the tools for the model to see, with a choice that lets the content be constrained.
    pub(super) fn show_tools(&mut self, tools: &[Tool], rule: &Rule, choice: &str) {
        if !rule.custom_tools
            && tools
                .iter()
                .any(|tool| !matches!(tool.input, ToolInput::Schema { .. }))
        {
            let tools: Vec<Value> = tools.iter().filter_map(shown).collect();
            self.set("tools", raw(&tools));
        }
        self.set("tool_choice", raw(choice));
        self.remove("parallel_tool_calls");
    }

    /// Gives the tools to the chat template alone: no tool logic of the server is involved.
    pub(super) fn show_tools_in_template(&mut self, tools: &[Tool]) {
        let tools: Vec<Value> = tools.iter().filter_map(shown).collect();
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
    let content = match serde_json::from_str(fields.raw("content")?).ok()? {
        Value::String(content) => json!(format!("{content}\n\n{text}")),
        Value::Array(mut parts) => {
            parts.push(json!({"type": "text", "text": text}));
            Value::Array(parts)
        }
        _ => return None,
    };
    fields.set("content", raw(&content));
    Some(raw(&fields))
}

/// The choice in Chat Completions' own spelling.
fn choice_wire(request: &Request) -> Value {
    let choice = &request.tool_choice;
    let ToolChoice::Named(name) = choice else {
        return json!(choice.kind());
    };
    let is_custom = |tool: &Tool| tool.name == *name && matches!(tool.input, ToolInput::Text(_));
    let kind = if request.tools.iter().any(is_custom) {
        "custom"
    } else {
        "function"
    };
    json!({"type": kind, kind: {"name": name}})
}

/// The tools with the flat ones nested; `None` where none is flat.
fn nested_tools(tools: &str) -> Option<Box<RawValue>> {
    let mut tools: Vec<Fields> = serde_json::from_str(tools).ok()?;
    let mut changed = false;
    for tool in &mut tools {
        let kind = tool.raw("type").unwrap_or("\"function\"");
        let kind: String = serde_json::from_str(kind).ok()?;
        if !["function", "custom"].contains(&kind.as_str()) || tool.has(&kind) && tool.has("type") {
            continue;
        }
        changed = true;
        tool.remove("type");
        let body = match tool.remove(&kind) {
            Some(body) => body,
            None => raw(&std::mem::take(tool)),
        };
        let rest = std::mem::take(tool);
        tool.set("type", raw(&kind));
        tool.set(&kind, body);
        for (name, value) in rest.0 {
            tool.set(&name, value);
        }
    }
    changed.then(|| raw(&tools))
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
