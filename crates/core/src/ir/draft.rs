//! A request as one server is to get it, before it is on the server's wire.

use super::{Fields, History, Part, Request, Role, Tool, ToolChoice, Turn};

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
