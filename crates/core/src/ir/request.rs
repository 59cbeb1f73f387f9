//! The request as every client dialect reads it.

use super::{
    Amount, ClientConstraint, Constraint, Fields, Loss, Origin, OwnCalls, Thinking, Tool,
    ToolChoice, ToolInput, Wire,
};
use crate::error::Error;
use serde_json::Value;
use std::sync::Arc;

/// A request: what is understood, typed, beside all of its fields, raw.
#[derive(Debug, Clone)]
pub struct Request {
    /// The wire that it came on, where servers speak it too: such a server is sent the client's own
    /// bytes, edited, and its bytes go back.
    pub wire: Option<Wire>,
    /// Every top-level field as it came, in order. Rewriting edits a copy.
    pub fields: Fields,
    /// The model, the limits, the sampling and whatever else is a setting, under the names that Chat
    /// has for them; `None` where `fields` have these names.
    pub settings: Option<Fields>,
    /// The model's name, for routing and logs; never a metric label.
    pub model: String,
    /// Whether the reply is streamed. Decided by the body alone, never by `Accept`.
    pub stream: bool,
    /// Whether a stream ends with a chunk that counts tokens.
    pub include_usage: bool,
    /// Whether one begins with the count of the prompt's tokens.
    pub counts_first: bool,
    /// How many choices.
    pub n: u32,
    /// The tools, unique by name.
    pub tools: Vec<Tool>,
    /// Which calls are asked for; `Auto` where tools are given without a choice, else `None`.
    pub tool_choice: ToolChoice,
    /// Whether the client says which.
    pub states_choice: bool,
    /// `parallel_tool_calls` where stated.
    pub parallel_tool_calls: Option<bool>,
    /// What the content must be, where stated.
    pub constraint: Option<ClientConstraint>,
    /// How much the model is to think, where the client says so in words that are known.
    pub thinking: Option<Thinking>,
    /// Fields that are there and say nothing (`structured_outputs: {}`, `tools: []` and the choice
    /// among no tools): no server is sent them, since some refuse them.
    pub idle: Vec<String>,
    /// What is asked for that no server could be told.
    pub losses: Vec<Loss>,
    /// The client is told no thoughts: in its dialect only who asks for them is.
    pub hides_thoughts: bool,
    /// Why no server can keep the choice but one of the client's own wire, which runs the tool that must be used.
    pub hosted_choice: Option<Error>,
    /// A call of a tool that the server runs itself, and that is not among `tools`, is what the choice demands too.
    pub takes_hosted: bool,
    /// A server of the client's own wire may call functions that it brings itself.
    pub own_calls: Option<OwnCalls>,
    /// Spoken in the legacy `functions` / `function_call`.
    pub legacy_functions: bool,
    /// What the client's dialect notes for its own writer of the reply, such as fields that a reply repeats;
    /// nobody else looks into it. Nothing of the conversation is in it.
    pub echo: Option<Arc<Fields>>,
    /// A schema of it was mended when it was read: the client's own bytes are not what it means.
    pub restated: bool,
}

impl Request {
    /// Every JSON Schema that it states: its tools', each with its place in the body, and its answer's.
    pub(crate) fn schemas_mut(&mut self) -> impl Iterator<Item = (Option<&Origin>, &mut Value)> {
        let tools = self
            .tools
            .iter_mut()
            .filter_map(|tool| match &mut tool.input {
                ToolInput::Schema { schema, .. } => Some((Some(&tool.input_origin), schema)),
                _ => None,
            });
        let answer = self.constraint.as_mut();
        let answer = answer.and_then(|stated| match &mut stated.constraint {
            Constraint::JsonSchema(schema) => Some((None, schema)),
            _ => None,
        });
        tools.chain(answer)
    }

    /// Whether no model is named, not even by a template of the server's (`prompt` of Responses).
    #[must_use]
    pub fn is_nameless(&self) -> bool {
        let has_template = self.wire == Some(Wire::Responses) && self.fields.has("prompt");
        self.model.is_empty() && !has_template
    }

    /// Whether the client asks for thoughts.
    #[must_use]
    pub fn asks_for_thoughts(&self) -> bool {
        let thinking = self.thinking.as_ref();
        thinking.is_some_and(|thinking| thinking.amount != Amount::Off)
    }

    /// What is set, under the names that Chat has for it.
    #[must_use]
    pub fn settings(&self) -> &Fields {
        self.settings.as_ref().unwrap_or(&self.fields)
    }
}
