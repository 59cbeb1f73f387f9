//! The contract: what must be true of the reply, whichever server gives it.

use super::{Constraint, OwnCalls, Request, Tool, ToolChoice, ToolInput};

/// Whether the reply holds calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// The request has no tools and says nothing of calls.
    Unstated,
    /// It must not.
    Forbidden,
    /// It may.
    Optional,
    /// It must hold at least one.
    Required,
}

/// What must be true of every choice of the reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// Whether calls are there.
    pub calls: Calls,
    /// A call of a tool that the server runs itself counts too, where calls are required.
    pub takes_hosted: bool,
    /// Calls of functions that the server brings itself may come too.
    pub own_calls: Option<OwnCalls>,
    /// The tools that may be called; a call's input must satisfy its tool.
    pub tools: Vec<Tool>,
    /// At most so many calls.
    pub max_calls: Option<usize>,
    /// What the content must be in a choice that calls nothing.
    pub content: Option<Constraint>,
}

impl Contract {
    /// Reads the contract off a request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let all = || request.tools.clone();
        let only = |names: &[String]| {
            request
                .tools
                .iter()
                .filter(|tool| names.contains(&tool.name))
                .cloned()
                .collect()
        };
        let (calls, tools) = match &request.tool_choice {
            _ if request.tools.is_empty() => (Calls::Unstated, Vec::new()),
            ToolChoice::None => (Calls::Forbidden, Vec::new()),
            ToolChoice::Auto => (Calls::Optional, all()),
            ToolChoice::Required => (Calls::Required, all()),
            ToolChoice::Named(name) => (Calls::Required, only(std::slice::from_ref(name))),
            ToolChoice::Allowed {
                required: true,
                names,
            } => (Calls::Required, only(names)),
            ToolChoice::Allowed {
                required: false,
                names,
            } => (Calls::Optional, only(names)),
        };
        // The legacy functions know one call only.
        let one = request.parallel_tool_calls == Some(false) || request.legacy_functions;
        Self {
            calls,
            max_calls: one.then_some(1),
            takes_hosted: request.takes_hosted || tools.iter().any(Tool::is_servers),
            own_calls: request.own_calls.clone(),
            content: request
                .constraint
                .as_ref()
                .map(|stated| stated.constraint.clone()),
            tools,
        }
    }

    /// Whether nothing is demanded: such a request passes through untouched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.is_none() && self.calls == Calls::Unstated
    }

    /// The constraints to compile, each with the request field that states it: the content's
    /// first, then the tools' in order.
    #[must_use]
    pub fn constraints(&self, request: &Request) -> Vec<(String, Constraint)> {
        let content = request
            .constraint
            .as_ref()
            .map(|stated| (stated.spelling.0.clone(), stated.constraint.clone()));
        let tools = self.tools.iter().filter_map(|tool| {
            let constraint = match &tool.input {
                ToolInput::Schema { schema, .. } => Constraint::JsonSchema(schema.clone()),
                ToolInput::Text(stated) => stated.clone()?,
                ToolInput::Hosted(_) => return None,
            };
            Some((tool.input_origin.0.clone(), constraint))
        });
        content.into_iter().chain(tools).collect()
    }
}
