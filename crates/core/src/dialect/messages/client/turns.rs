//! The system prompt and the messages to turns. A user's message holds what tools answered beside what
//! the user says: each answer is a turn of its own.

use super::blocks::{self, Said};
use super::{invalid, take};
use crate::error::Error;
use crate::ir::{Fields, Origin, Part, Role, Turn};
use std::collections::HashMap;

/// Reads the conversation.
///
/// # Errors
/// The field at fault.
pub(super) fn read(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let list = Origin::new("messages");
    let messages = fields.raw("messages").unwrap_or("null");
    let messages: Vec<Fields> = serde_json::from_str(messages)
        .map_err(|_| invalid("`messages` must be a list of messages", &list))?;
    let mut turns = Turns::default();
    turns.system(fields)?;
    for (index, message) in messages.into_iter().enumerate() {
        turns.message(message, list.item(index))?;
    }
    Ok(turns.all)
}

#[derive(Default)]
struct Turns {
    all: Vec<Turn>,
    /// The tools that were called, by the ids of the calls.
    names: HashMap<String, String>,
}

impl Turns {
    fn system(&mut self, fields: &Fields) -> Result<(), Error> {
        let origin = Origin::new("system");
        if fields.raw("system").is_none_or(|raw| raw == "null") {
            return Ok(());
        }
        let said = Said::of(blocks::list(fields, "system", &origin)?, "")?;
        said.only_text(&origin)?;
        self.push(Role::System, origin, said);
        Ok(())
    }

    fn message(&mut self, mut message: Fields, origin: Origin) -> Result<(), Error> {
        let role: Option<String> = take(&mut message, "role", &origin, "a string")?;
        let at = origin.member("content");
        if message.raw("content").is_none_or(|raw| raw == "null") {
            let message = format!("`{at}` is missing: it must be a text or a list of blocks");
            return Err(invalid(message, &at));
        }
        let mut said = Said::of(blocks::list(&message, "content", &at)?, "/content")?;
        message.remove("content");
        said.rest(&message, "");
        match role.as_deref() {
            Some("user") => self.user(origin, said),
            Some("assistant") => {
                said.no_results()?;
                for call in &said.calls {
                    let id = call.id.clone().unwrap_or_default();
                    self.names.insert(id, call.name.clone());
                }
                self.push(Role::Assistant, origin, said);
                Ok(())
            }
            Some("system") => {
                said.only_text(&at)?;
                self.aside(origin, said);
                Ok(())
            }
            _ => {
                let at = origin.member("role");
                let message = format!("`{at}` must be user, assistant or system");
                Err(invalid(message, &at))
            }
        }
    }

    /// What tools answered comes first: other wires want it right behind the calls.
    fn user(&mut self, origin: Origin, mut said: Said) -> Result<(), Error> {
        said.no_calls()?;
        for mut result in std::mem::take(&mut said.results) {
            let name = result.call_id.as_ref().and_then(|id| self.names.get(id));
            result.tool = name.cloned();
            result.index = self.all.len();
            self.all.push(result);
        }
        if !said.parts.is_empty() || !said.unknown.is_empty() {
            self.push(Role::User, origin, said);
        }
        Ok(())
    }

    /// Instructions in the middle of a conversation: most chat templates refuse a system prompt there, and
    /// at the beginning they would make all that is cached of the conversation worthless. So they are told
    /// where they stand, marked, among the user's words.
    fn aside(&mut self, origin: Origin, mut said: Said) {
        if self.all.iter().all(|turn| turn.role == Role::System) {
            self.push(Role::System, origin, said);
            return;
        }
        for part in &mut said.parts {
            if let Part::Text { text, .. } = part {
                *text = format!("<system>\n{text}\n</system>");
            }
        }
        match self.all.last_mut() {
            // Two turns of a user in a row are more than some templates take.
            Some(last) if last.role == Role::User && said.unknown.is_empty() => {
                last.parts.append(&mut said.parts);
            }
            _ => self.push(Role::User, origin, said),
        }
    }

    fn push(&mut self, role: Role, origin: Origin, said: Said) {
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
            reasoning: said.reasoning,
            sealed: said.sealed,
            unknown: said.unknown,
            origin,
            ..Turn::of(role, said.parts)
        });
    }
}

/// Where instructions stand in the middle of a conversation, and where the last turn is one that the model is
/// to go on with: JSON Pointers, each with what becomes of it.
pub(super) fn moved(fields: &Fields) -> Vec<(String, &'static str)> {
    #[derive(serde::Deserialize)]
    struct Spoken {
        role: Option<String>,
    }
    const ASIDE: &str = "most chat templates take instructions at the beginning alone: it is told among the user's words";
    const BEGUN: &str =
        "other servers answer behind a last turn of the assistant's rather than going on with it";
    let messages = fields.raw("messages").unwrap_or("[]");
    let roles: Vec<Spoken> = serde_json::from_str(messages).unwrap_or_default();
    let is = |index: usize, role: &str| {
        let spoken: Option<&Spoken> = roles.get(index);
        spoken.is_some_and(|spoken| spoken.role.as_deref() == Some(role))
    };
    let first = (0..roles.len()).find(|index| !is(*index, "system"));
    let behind = first.unwrap_or(roles.len())..roles.len();
    let asides = behind.filter(|index| is(*index, "system"));
    let mut out: Vec<_> = asides
        .map(|index| (format!("/messages/{index}"), ASIDE))
        .collect();
    if let Some(last) = roles
        .len()
        .checked_sub(1)
        .filter(|last| is(*last, "assistant"))
    {
        out.push((format!("/messages/{last}"), BEGUN));
    }
    out
}
