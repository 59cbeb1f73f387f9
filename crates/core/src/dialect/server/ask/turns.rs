//! A conversation of two sides with the system prompt apart: Chat's messages come in; what each of
//! them is on another wire, in turns, goes out.

use super::{Ask, Message, Role};
use crate::error::Error;
use crate::ir::EnforcedBy;
use serde_json::{Value, json};

/// A conversation as such wires have it.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Turns {
    /// The parts of the system prompt.
    pub(in crate::dialect) system: Vec<Value>,
    turns: Vec<(&'static str, Vec<Value>)>,
}

impl Turns {
    /// Takes the messages; those of the same side become one turn. `assistant` is the model's side,
    /// all else is the `user`'s. `parts` writes a message; an empty one says nothing.
    pub(in crate::dialect) fn take<'t>(
        ask: &mut Ask<'t>,
        assistant: &'static str,
        mut parts: impl FnMut(&mut Ask<'t>, &Message) -> Result<Vec<Value>, Error>,
    ) -> Result<Self, Error> {
        let mut out = Self::default();
        for message in ask.messages()? {
            if message.role == Role::System {
                if !out.turns.is_empty() {
                    let pointer = format!("/messages/{}", message.at);
                    let reason = "instructions in the middle of a conversation go to its beginning";
                    ask.lose(&pointer, reason, EnforcedBy::Nobody);
                }
                out.system.extend(parts(ask, &message)?);
                continue;
            }
            let side = match message.role {
                Role::Assistant => assistant,
                Role::Tool | Role::User | Role::System => "user",
            };
            let said = parts(ask, &message)?;
            if said.is_empty() {
                continue;
            }
            match out.turns.last_mut() {
                Some((last, turn)) if *last == side => turn.extend(said),
                _ => out.turns.push((side, said)),
            }
        }
        Ok(out)
    }

    /// The turns, their parts under this name.
    pub(in crate::dialect) fn written(self, parts: &str) -> Vec<Value> {
        let turns = self.turns.into_iter();
        turns
            .map(|(side, said)| json!({"role": side, parts: said}))
            .collect()
    }
}
