//! The system prompt and the messages to turns. A user's message holds what tools answered beside what
//! the user says: each answer is a turn of its own.

use super::blocks::{self, Blocks};
use super::shown::Shown;
use super::{invalid, member};
use crate::dialect::client::odd_item;
use crate::error::Error;
use crate::ir::{Fields, Origin, Role, Turn};
use std::collections::HashMap;

/// Reads the conversation.
///
/// # Errors
/// The field at fault.
pub(super) fn read(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let list = Origin::new("messages");
    let messages = fields.raw("messages").unwrap_or("null");
    let messages: Vec<Fields> = serde_json::from_str(messages).map_err(|_| {
        let whole = || invalid("`messages` must be a list of messages", &list);
        odd_item(messages, &list).unwrap_or_else(whole)
    })?;
    if messages.is_empty() {
        // Servers behind a chat template fail on it, or answer a prompt of nobody's.
        let message = "`messages` is empty: send at least one message";
        return Err(invalid(message, &list));
    }
    let mut turns = Turns::default();
    let shown = Shown::of(fields);
    turns.system(fields)?;
    for (index, message) in messages.into_iter().enumerate() {
        turns.message(message, list.item(index), &shown)?;
    }
    turns.all_answered()?;
    Ok(turns.all)
}

#[derive(Default)]
struct Turns {
    all: Vec<Turn>,
    /// The tools that were called, by the ids of the calls.
    names: HashMap<String, String>,
    /// The calls of the last turn of the model's that no result answered yet.
    waiting: Vec<(String, Origin)>,
    /// The user spoke behind them.
    is_answered: bool,
}

impl Turns {
    fn system(&mut self, fields: &Fields) -> Result<(), Error> {
        let origin = Origin::new("system");
        // llama-index sends an empty one where there is none.
        if matches!(fields.raw("system"), None | Some("null" | "\"\"")) {
            return Ok(());
        }
        let said = Blocks::of(blocks::list(fields, "system", &origin)?, "")?;
        said.only_text(&origin)?;
        self.push(Role::System, origin, said);
        Ok(())
    }

    fn message(
        &mut self,
        mut message: Fields,
        origin: Origin,
        shown: &Shown<'_>,
    ) -> Result<(), Error> {
        let role: Option<String> = member(&mut message, "role", &origin, "a string")?;
        let at = origin.member("content");
        if message.raw("content").is_none_or(|raw| raw == "null") {
            let message = format!("`{at}` is missing: it must be a text or a list of blocks");
            return Err(invalid(message, &at));
        }
        let blocks = blocks::list(&message, "content", &at)?;
        let mut said = match role.as_deref() {
            Some("assistant") => Blocks::of_model(blocks, "/content")?,
            _ => Blocks::of_user(blocks, "/content", shown)?,
        };
        message.remove("content");
        said.rest(&message, "");
        match role.as_deref() {
            Some("user") => self.user(origin, said),
            Some("assistant") => {
                said.no_results()?;
                // Turns of the same side that follow each other are one.
                if std::mem::take(&mut self.is_answered) {
                    self.all_answered()?;
                }
                for call in &said.calls {
                    let id = call.id.clone().unwrap_or_default();
                    self.names.insert(id.clone(), call.name.clone());
                    self.waiting.push((id, call.origin.clone()));
                }
                self.push(Role::Assistant, origin, said);
                Ok(())
            }
            Some("system") => {
                said.only_text(&at)?;
                self.push(Role::System, origin, said);
                Ok(())
            }
            _ => {
                let at = origin.member("role");
                let message = format!("`{at}` must be user, assistant or system");
                Err(invalid(message, &at))
            }
        }
    }

    /// As Anthropic has it: each call is answered in what the user says next.
    fn all_answered(&self) -> Result<(), Error> {
        match self.waiting.first() {
            Some((_, origin)) => {
                let message = format!(
                    "`{origin}` has no answer: send its `tool_result` at the beginning of the next user message"
                );
                Err(invalid(message, origin))
            }
            None => Ok(()),
        }
    }

    fn answer(&mut self, result: &Turn) -> Result<(), Error> {
        let waiting = &mut self.waiting;
        let id = result.call_id.as_deref().unwrap_or_default();
        match waiting.iter().position(|(known, _)| known == id) {
            Some(at) => {
                waiting.remove(at);
                Ok(())
            }
            None => {
                let at = result.origin.member("tool_use_id");
                let message = format!(
                    "`{at}` answers no call: a `tool_result` belongs in the user message behind its `tool_use`, and there once"
                );
                Err(invalid(message, &at))
            }
        }
    }

    /// What tools answered comes first: other wires want it right behind the calls.
    fn user(&mut self, origin: Origin, mut said: Blocks<'_>) -> Result<(), Error> {
        said.no_calls()?;
        self.is_answered = true;
        let results = std::mem::take(&mut said.results);
        let is_told = !results.is_empty() && said.parts.is_empty() && said.unknown.is_empty();
        for mut result in results {
            self.answer(&result)?;
            let name = result.call_id.as_ref().and_then(|id| self.names.get(id));
            result.tool = name.cloned();
            result.index = self.all.len();
            self.all.push(result);
        }
        if !is_told {
            self.push(Role::User, origin, said);
        }
        Ok(())
    }

    fn push(&mut self, role: Role, origin: Origin, said: Blocks<'_>) {
        if let Some(last) = self.all.last_mut()
            && (last.role, role) == (Role::System, Role::System)
            && said.unknown.is_empty()
        {
            last.parts.extend(said.parts);
            return;
        }
        self.all.push(Turn {
            index: self.all.len(),
            calls: said.calls,
            claimed: said.claimed,
            sealed: said.sealed,
            unknown: said.unknown,
            origin,
            ..Turn::of(role, said.parts)
        });
    }
}
