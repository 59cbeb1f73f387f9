//! The upstream body while it is written. For a server of the client's own dialect: edits of the client's
//! raw top-level fields, `messages` touched only where the rule leaves nothing but the prompt. For any
//! other: a [`Draft`].

use super::Sent;
use crate::dialect::server::Server;
use crate::error::{Error, Kind};
use crate::ir::{
    Contract, Draft, Fields, Request, Tool, ToolChoice, ToolInput, Wire, raw, raw_string,
};
use crate::rules::{FillError, Rule, Template, TemplateValues};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) struct Body<'r> {
    /// Copied with the first edit: most requests that need none are the largest.
    pub(super) fields: Cow<'r, Fields>,
    pub(super) changed: bool,
    /// Where the server is of another dialect.
    pub(super) typed: Option<Typed>,
}

/// What the server's dialect writes.
#[derive(Debug)]
pub(super) struct Typed {
    /// But for its fields, which are the body's.
    pub(super) draft: Draft,
    /// What the model is told beside the conversation, which nobody has read yet.
    instructions: Vec<String>,
    /// The conversation is among the fields, since the server renders Chat's messages itself.
    is_spliced: bool,
}

impl<'r> Body<'r> {
    pub(super) fn new(request: &'r Request, server: &dyn Server) -> Self {
        if request.wire == Some(server.wire()) {
            return Self {
                fields: Cow::Borrowed(&request.fields),
                changed: false,
                typed: None,
            };
        }
        let mut draft = Draft::of(request);
        let mut fields = std::mem::take(&mut draft.fields);
        let messages = request.fields.0.get("messages");
        let messages =
            messages.filter(|_| request.wire == Some(Wire::Chat) && server.takes_prompt());
        if let Some(messages) = messages {
            fields.set("messages", messages.clone());
        }
        Self {
            fields: Cow::Owned(fields),
            changed: false,
            typed: Some(Typed {
                draft,
                instructions: Vec::new(),
                is_spliced: messages.is_some(),
            }),
        }
    }

    /// What is sent: of the client's own dialect where something was changed, or of another.
    pub(super) fn into_sent(self) -> Sent {
        match self.typed {
            Some(typed) => {
                let fields = self.fields.into_owned();
                let draft = Draft {
                    fields,
                    ..typed.draft
                };
                Sent::Draft(draft, typed.instructions)
            }
            None if self.changed => Sent::Body(self.fields.to_json()),
            None => Sent::Untouched,
        }
    }

    fn set(&mut self, name: &str, value: Box<RawValue>) {
        self.fields.to_mut().set(name, value);
        self.changed = true;
    }

    fn remove(&mut self, name: &str) {
        if self.fields.has(name) {
            self.fields.to_mut().remove(name);
            self.changed = true;
        }
    }

    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.fields
            .has(name)
            .then(|| self.fields.to_mut().remove(name))?
    }

    pub(super) fn apply(
        &mut self,
        template: &Template,
        values: &TemplateValues<'_>,
    ) -> Result<(), FillError> {
        self.changed = true;
        let Some(typed) = &mut self.typed else {
            return template.apply(self.fields.to_mut(), values);
        };
        // A rule says which calls it asks for in Chat's words, whatever its server's are.
        let mut template = template.clone();
        if let Some(choice) = template.0.shift_remove("tool_choice") {
            typed.draft.choice = match choice.as_str() {
                Some("none") => Some(ToolChoice::None),
                Some("auto") => Some(ToolChoice::Auto),
                Some("required") => Some(ToolChoice::Required),
                _ => values.tool.map(|tool| ToolChoice::Named(tool.to_owned())),
            };
        }
        template.apply(self.fields.to_mut(), values)
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
        if self.typed.is_some() {
            return;
        }
        if let Some(functions) = self.take("functions") {
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
        if self.take("function_call").is_some() {
            self.set("tool_choice", raw(&choice_wire(request)));
        }
    }

    /// Flat tools and choices (the spelling of the Responses API), and `any` for `required`, in the
    /// spelling that every server takes. What has it already keeps its bytes.
    pub(super) fn respell_tools(&mut self, request: &Request) {
        if self.typed.is_some() {
            return;
        }
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
        let is_allowed = |tool: &Tool| contract.tools.iter().any(|it| it.name == tool.name);
        if let Some(typed) = &mut self.typed {
            typed.draft.tools.retain(is_allowed);
            return;
        }
        let Some(tools) = self.fields.raw("tools") else {
            return;
        };
        let tools: Vec<Box<RawValue>> = serde_json::from_str(tools).unwrap_or_default();
        let allowed: Vec<Box<RawValue>> = tools
            .into_iter()
            .zip(&request.tools)
            .filter(|(_, tool)| is_allowed(tool))
            .map(|(raw, _)| raw)
            .collect();
        self.set("tools", raw(&allowed));
    }

    /// Gives tools other parameters, by their names.
    pub(super) fn set_parameters(&mut self, changed: &[(&str, Value)]) {
        if let Some(typed) = &mut self.typed {
            for tool in &mut typed.draft.tools {
                let other = changed.iter().find(|(known, _)| tool.name == *known);
                if let (Some((_, parameters)), ToolInput::Schema { schema, .. }) =
                    (other, &mut tool.input)
                {
                    schema.clone_from(parameters);
                }
            }
            return;
        }
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
        if let Some(typed) = &mut self.typed {
            typed.draft.parallel = Some(false);
            return;
        }
        self.set("parallel_tool_calls", raw(&false));
    }

    /// Leaves the tools for the model to see, with a choice that lets the content be constrained.
    pub(super) fn show_tools(&mut self, tools: &[Tool], rule: &Rule, choice: ToolChoice) {
        if let Some(typed) = &mut self.typed {
            let takes_all = rule.custom_tools;
            let shown = tools.iter().cloned();
            typed.draft.tools = match takes_all {
                true => shown.collect(),
                false => shown.filter_map(as_function).collect(),
            };
            typed.draft.choice = Some(choice);
            typed.draft.parallel = None;
            return;
        }
        if !rule.custom_tools
            && tools
                .iter()
                .any(|tool| !matches!(tool.input, ToolInput::Schema { .. }))
        {
            let tools: Vec<Value> = tools.iter().filter_map(shown).collect();
            self.set("tools", raw(&tools));
        }
        self.set("tool_choice", raw(choice.kind()));
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
        if let Some(typed) = &mut self.typed {
            typed.draft.tools.clear();
            typed.draft.choice = None;
            typed.draft.parallel = None;
            return;
        }
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
        if let Some(typed) = self.typed.as_mut().filter(|typed| !typed.is_spliced) {
            typed.instructions.push(text.to_owned());
            return Ok(());
        }
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

/// A tool as a function, which every server and every template knows; none for one that the server
/// would have to host.
fn as_function(mut tool: Tool) -> Option<Tool> {
    let schema = match tool.input {
        ToolInput::Schema { schema, .. } => schema,
        ToolInput::Text(_) => {
            json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
        }
        ToolInput::Hosted(_) => return None,
    };
    let strict = false;
    tool.input = ToolInput::Schema { schema, strict };
    Some(tool)
}

/// The same in Chat's words.
fn shown(tool: &Tool) -> Option<Value> {
    let tool = as_function(tool.clone())?;
    let ToolInput::Schema {
        schema: parameters, ..
    } = tool.input
    else {
        return None;
    };
    let mut function = json!({"name": tool.name});
    if let Some(description) = &tool.description {
        function["description"] = json!(description);
    }
    function["parameters"] = parameters;
    Some(json!({"type": "function", "function": function}))
}
