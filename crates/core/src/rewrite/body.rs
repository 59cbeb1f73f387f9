//! What is sent while it is written: the tools that the server is shown, which calls it is asked for and
//! what the model is told, in nobody's words, beside the top-level fields. A server of another dialect is
//! sent a [`Draft`] of it. For one of the client's own, whatever was changed is edited into the client's
//! fields, and all else keeps its bytes.

use super::Sent;
use super::names::renamed_choice;
use super::prompt::describe;
use crate::dialect::server::{Editor, Server, editor};
use crate::error::Error;
use crate::ir::{
    Contract, Draft, Fields, History, Origin, Refusal, Request, Tool, ToolChoice, ToolInput, raw,
};
use crate::rules::{FillError, Rule, Template, TemplateValues};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) struct Body<'r> {
    request: &'r Request,
    /// Copied with the first edit: most requests that need none are the largest.
    pub(super) fields: Cow<'r, Fields>,
    pub(super) changed: bool,
    /// What the server is shown; borrowed as long as they are the client's.
    pub(super) tools: Cow<'r, [Tool]>,
    choice: Told<ToolChoice>,
    parallel: Told<bool>,
    /// What the model is told beside the conversation.
    instructions: Vec<String>,
    to: To,
}

/// Whose words the server reads.
enum To {
    /// The client's own.
    Same(&'static dyn Editor),
    /// Others, but Chat's messages are among the fields, since the server renders them itself.
    Prompt(Draft),
    /// Others.
    Other(Draft),
}

/// What is said of calls.
enum Told<T> {
    /// What the client says.
    Kept,
    /// This, or nothing.
    Now(Option<T>),
}

impl<T> Told<T> {
    fn or(self, client: Option<T>) -> Option<T> {
        match self {
            Self::Kept => client,
            Self::Now(said) => said,
        }
    }
}

impl<'r> Body<'r> {
    pub(super) fn new(request: &'r Request, server: &dyn Server) -> Self {
        let is_same = request.wire == Some(server.wire());
        if let Some(editor) = server.editor().filter(|_| is_same) {
            let (fields, tools) = (&request.fields, request.tools.as_slice());
            return Self::of(
                request,
                Cow::Borrowed(fields),
                Cow::Borrowed(tools),
                To::Same(editor),
            );
        }
        let mut draft = Draft::of(request);
        let mut fields = std::mem::take(&mut draft.fields);
        let tools = std::mem::take(&mut draft.tools);
        let messages = request.fields.0.get("messages");
        let messages = messages.filter(|_| request.settings.is_none() && server.takes_prompt());
        let to = match messages {
            None => To::Other(draft),
            Some(messages) => {
                fields.set("messages", messages.clone());
                To::Prompt(draft)
            }
        };
        Self::of(request, Cow::Owned(fields), Cow::Owned(tools), to)
    }

    const fn of(
        request: &'r Request,
        fields: Cow<'r, Fields>,
        tools: Cow<'r, [Tool]>,
        to: To,
    ) -> Self {
        Self {
            request,
            fields,
            changed: false,
            tools,
            choice: Told::Kept,
            parallel: Told::Kept,
            instructions: Vec::new(),
            to,
        }
    }

    /// Edits the client's fields, where the server reads its words, or Chat's messages.
    pub(super) fn splice(&mut self, history: &History) -> Result<(), Error> {
        let editor = match self.to {
            To::Other(_) => return Ok(()),
            To::Prompt(_) => editor::CHAT,
            To::Same(editor) => {
                self.say(editor);
                editor
            }
        };
        for text in std::mem::take(&mut self.instructions) {
            match history.refuses(Refusal::System) {
                true => editor.instruct_user(self.fields.to_mut(), &text)?,
                false => editor.instruct(self.fields.to_mut(), &text)?,
            }
            self.changed = true;
        }
        if self.changed {
            editor.settle(self.fields.to_mut());
        }
        Ok(())
    }

    /// Edits the fields in which tools and calls are spoken of.
    fn say(&mut self, editor: &dyn Editor) {
        if let Cow::Owned(tools) = &self.tools {
            editor.tools(self.fields.to_mut(), self.request, tools);
            self.changed = true;
        }
        if let Told::Now(choice) = &self.choice {
            editor.choice(self.fields.to_mut(), choice.as_ref(), &self.tools);
            self.changed = true;
        }
        if let Told::Now(parallel) = self.parallel {
            editor.parallel(self.fields.to_mut(), parallel);
            self.changed = true;
        }
    }

    /// What is sent: the client's own bytes where nothing was changed.
    pub(super) fn into_sent(self) -> Sent {
        match self.to {
            To::Prompt(draft) | To::Other(draft) => {
                let draft = Draft {
                    fields: self.fields.into_owned(),
                    tools: self.tools.into_owned(),
                    choice: self.choice.or(draft.choice),
                    parallel: self.parallel.or(draft.parallel),
                    turns: draft.turns,
                    history: draft.history,
                    marks: draft.marks,
                };
                Sent::Draft(Box::new(draft), self.instructions.into())
            }
            To::Same(_) if self.changed => Sent::Body(self.fields.to_json()),
            To::Same(_) => Sent::Untouched,
        }
    }

    /// Whether the server is of the client's own wire.
    pub(super) const fn keeps_wire(&self) -> bool {
        matches!(self.to, To::Same(_))
    }

    /// Whether it is a prompt alone.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.to, To::Same(editor) if editor.is_bare())
    }

    fn remove(&mut self, name: &str) {
        if self.fields.has(name) {
            self.fields.to_mut().remove(name);
            self.changed = true;
        }
    }

    pub(super) fn apply(
        &mut self,
        template: &Template,
        values: &TemplateValues<'_>,
    ) -> Result<(), FillError> {
        self.changed = true;
        template.apply(self.fields.to_mut(), values)
    }

    /// Asks for these calls, whatever the client asks for.
    pub(super) fn ask_for(&mut self, choice: ToolChoice) {
        self.choice = Told::Now(Some(choice));
    }

    /// Takes one of the client's own spellings of its constraint out, and gives back what is not sent
    /// any more with it.
    pub(super) fn unstate(&mut self, stated: &Origin) -> Option<Box<RawValue>> {
        let editor = match (&self.to, &self.request.settings) {
            (To::Same(editor), _) => *editor,
            (To::Prompt(_) | To::Other(_), None) => editor::CHAT,
            // It is not among the settings.
            (To::Prompt(_) | To::Other(_), Some(_)) => return None,
        };
        if !self.fields.has(stated.field()) {
            return None;
        }
        let removed = editor.unstate(self.fields.to_mut(), stated);
        self.changed |= removed.is_some();
        removed
    }

    /// Leaves these stop texts of the client's.
    pub(super) fn stop_at(&mut self, kept: &[String]) {
        let fields = self.fields.to_mut();
        match self.to {
            To::Same(editor) => editor.stop_at(fields, kept),
            To::Prompt(_) | To::Other(_) => editor::set_stops(fields, &["stop"], kept),
        }
        self.changed = true;
    }

    /// vLLM answers 400 to `tools: []` (from 0.20.0), to a choice without tools and to
    /// `structured_outputs: {}`; servers that know a field not at all refuse its `null` too. Before any rule of a field, which may give
    /// it another name.
    pub(super) fn without_idle(mut self) -> Self {
        let request = self.request;
        for name in &request.idle {
            self.remove(name);
        }
        self
    }

    /// What only some servers of the client's dialect take, in the words that all of them do. Says where a thought of
    /// another server stood.
    pub(super) fn respell(&mut self, history: &History) -> Option<String> {
        let To::Same(editor) = self.to else {
            return None;
        };
        let is_respelled = editor.respell(&mut self.fields, self.request);
        self.changed |= is_respelled;
        self.changed |= editor.sign(&mut self.fields, history);
        // It is looked for only where something was left out: a body may be long.
        let stated = is_respelled.then_some(&self.request.fields);
        stated.and_then(|stated| editor.foreign_thought(stated))
    }

    /// Takes marks of what to cache off the client's own tools, where the server refuses them. Whether there was any.
    pub(super) fn unmark_tools(&mut self, history: &History) -> bool {
        let To::Same(editor) = self.to else {
            return false;
        };
        let is_unmarked =
            history.refuses(Refusal::InnerMembers) && editor.unmark_tools(&mut self.fields);
        self.changed |= is_unmarked;
        is_unmarked
    }

    /// Keeps only the tools that the contract allows.
    pub(super) fn keep_tools(&mut self, contract: &Contract) {
        if contract.tools.len() == self.request.tools.len() {
            return;
        }
        let is_allowed = |tool: &&Tool| contract.tools.iter().any(|it| it.name == tool.name);
        let kept = self.tools.iter().filter(is_allowed).cloned();
        self.tools = Cow::Owned(kept.collect());
    }

    /// Gives the tools of the choice other names.
    pub(super) fn rename_choice(&mut self) {
        let choice = match (&self.choice, &self.to) {
            (Told::Now(None), _) => None,
            (Told::Now(Some(choice)), _) => Some(choice),
            (Told::Kept, To::Same(_)) => Some(&self.request.tool_choice),
            (Told::Kept, To::Prompt(draft) | To::Other(draft)) => draft.choice.as_ref(),
        };
        let renamed = choice.and_then(renamed_choice);
        if renamed.is_some() {
            self.choice = Told::Now(renamed);
        }
    }

    /// Gives tools other parameters, by their names.
    pub(super) fn set_parameters(&mut self, changed: Vec<(&str, Value)>) {
        if changed.is_empty() {
            return;
        }
        let tools = self.tools.to_mut();
        for (name, parameters) in changed {
            let tool = tools.iter_mut().find(|tool| tool.name == name);
            if let Some(ToolInput::Schema { schema, .. }) = tool.map(|tool| &mut tool.input) {
                *schema = parameters;
            }
        }
    }

    pub(super) fn ask_for_one_call(&mut self) {
        self.parallel = Told::Now(Some(false));
    }

    pub(super) fn say_nothing_of_parallel(&mut self) {
        self.parallel = Told::Now(None);
    }

    /// Leaves the tools for the model to see, with a choice that lets the content be constrained.
    pub(super) fn show_tools(&mut self, rule: &Rule, choice: ToolChoice) {
        let is_function = |tool: &Tool| matches!(tool.input, ToolInput::Schema { .. });
        let keeps_bytes = matches!(self.to, To::Same(_)) && self.tools.iter().all(is_function);
        if !rule.custom_tools && !keeps_bytes {
            self.tell_as_functions();
        }
        self.choice = Told::Now(Some(choice));
        self.parallel = Told::Now(None);
    }

    /// Tells custom tools as functions, and those that the server would have to host not at all.
    pub(super) fn tell_as_functions(&mut self) {
        let shown = self.tools.iter().cloned().filter_map(as_function);
        self.tools = Cow::Owned(shown.collect());
    }

    /// Gives the tools to the chat template alone: no tool logic of the server is involved.
    pub(super) fn show_tools_in_template(&mut self) {
        let tools: Vec<Value> = self.tools.iter().filter_map(shown).collect();
        self.hide_tools();
        let kwargs = self
            .fields
            .raw("chat_template_kwargs")
            .and_then(|kwargs| serde_json::from_str::<Fields>(kwargs).ok());
        let mut kwargs = kwargs.unwrap_or_default();
        kwargs.set("tools", raw(&tools));
        self.fields
            .to_mut()
            .set("chat_template_kwargs", raw(&kwargs));
        self.changed = true;
    }

    pub(super) fn hide_tools(&mut self) {
        self.tools = Cow::Owned(Vec::new());
        self.choice = Told::Now(None);
        self.parallel = Told::Now(None);
    }

    /// Tells the model something beside the conversation.
    pub(super) fn instruct(&mut self, text: String) {
        self.instructions.push(text);
    }
}

/// A tool as a function, which every server and every template knows; none for one that the server
/// would have to host.
fn as_function(mut tool: Tool) -> Option<Tool> {
    let schema = match tool.input {
        ToolInput::Schema { schema, .. } => schema,
        ToolInput::Text(stated) => {
            let mut input = json!({"type": "string"});
            if let Some(stated) = &stated {
                input["description"] = json!(format!("A text that {}", describe(stated)));
            }
            json!({"type": "object", "properties": {"input": input}, "required": ["input"]})
        }
        ToolInput::Hosted(_) => return None,
    };
    let strict = false;
    tool.input = ToolInput::Schema { schema, strict };
    Some(tool)
}

/// The same as chat templates know it.
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
