//! A request as one server is to get it, before it is on the server's wire.

use super::{Fields, History, Origin, Part, Request, Role, Tool, ToolChoice, Turn, Wire};
use serde_json::value::RawValue;
use std::collections::HashMap;

/// What a server is asked that is not of the client's own dialect.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// Settings under the names that Chat has for them, and what the server's rule set in the server's
    /// own words.
    pub fields: Fields,
    /// The conversation.
    pub turns: Vec<Turn>,
    /// The tools that the server is shown.
    pub tools: Vec<Tool>,
    /// Which calls are asked for, where that is said.
    pub choice: Option<ToolChoice>,
    /// Whether several calls at once may come, where that is said.
    pub parallel: Option<bool>,
    /// How the server takes back what a model thought.
    pub history: History,
    /// Anthropic's marks of what to cache, by the tools that a client of Chat's set them on.
    pub marks: HashMap<Origin, Box<RawValue>>,
}

/// Fields of Chat's that are typed in a [`Draft`].
const TYPED: [&str; 6] = [
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
];

impl Draft {
    /// What a request asks, its conversation still to be read.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let is_idle = |name: &str| request.idle.iter().any(|idle| idle == name);
        let says_choice = request.states_choice && !request.tools.is_empty();
        let mut fields = request.settings().clone();
        for name in TYPED {
            fields.remove(name);
        }
        Self {
            fields,
            turns: Vec::new(),
            tools: request.tools.clone(),
            choice: says_choice.then(|| request.tool_choice.clone()),
            parallel: request
                .parallel_tool_calls
                .filter(|_| !is_idle("parallel_tool_calls")),
            history: History::default(),
            marks: marks(request),
        }
    }

    /// Tells the model something: in its first instructions where there are any, since many chat
    /// templates take no second.
    pub fn instruct(&mut self, text: &str) {
        let part = |text: String| Part::Text { text, cache: None };
        match self
            .turns
            .first_mut()
            .filter(|turn| turn.role == Role::System)
        {
            Some(turn) => match turn.parts.as_mut_slice() {
                [
                    Part::Text {
                        text: known,
                        cache: None,
                    },
                ] => {
                    known.push_str("\n\n");
                    known.push_str(text);
                }
                _ => turn.parts.push(part(text.to_owned())),
            },
            None => {
                let turn = Turn::of(Role::System, vec![part(text.to_owned())]);
                self.turns.insert(0, turn);
            }
        }
    }

    /// Appends a turn to the conversation.
    pub fn say(&mut self, role: Role, text: &str) {
        let part = Part::Text {
            text: text.to_owned(),
            cache: None,
        };
        self.turns.push(Turn::of(role, vec![part]));
    }
}

/// The marks on a client's tools, beside `function` or in it.
fn marks(request: &Request) -> HashMap<Origin, Box<RawValue>> {
    let may_have =
        |tools: &&str| memchr::memmem::find(tools.as_bytes(), b"\"cache_control\"").is_some();
    let tools = request.fields.raw("tools").filter(may_have);
    let tools = tools.filter(|_| request.wire == Some(Wire::Chat));
    let tools = tools.and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok());
    let Some(tools) = tools else {
        return HashMap::new();
    };
    let list = Origin::new("tools");
    let marked = |(index, mut tool): (usize, Fields)| {
        let function = tool.raw("function");
        let function = function.and_then(|raw| serde_json::from_str::<Fields>(raw).ok());
        let within = function.and_then(|mut function| function.remove("cache_control"));
        let mark = tool.remove("cache_control").or(within)?;
        (mark.get() != "null").then(|| (list.item(index), mark))
    };
    let tools = tools.into_iter().enumerate();
    tools.filter_map(marked).collect()
}
