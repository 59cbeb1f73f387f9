//! A conversation of two sides with the system prompt apart: turns come in; what each of them is on
//! such a wire, those of a side together, goes out.

use super::ask::{Ask, invalid};
use crate::error::Error;
use crate::ir::{EnforcedBy, Role, Turn};
use serde_json::{Value, json};

/// What stands for the words of a user who said none.
const NOTHING: &str = "(No text.)";

/// A conversation as such wires have it.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Sides {
    /// The parts of the system prompt.
    pub(in crate::dialect) system: Vec<Value>,
    sides: Vec<(&'static str, Vec<Value>)>,
}

impl Sides {
    /// Takes the turns; those that follow each other on the same side become one. `assistant` is the
    /// model's side, all else is the `user`'s. `parts` writes a turn; an empty one says nothing.
    pub(in crate::dialect) fn take<'t>(
        ask: &mut Ask<'t>,
        assistant: &'static str,
        mut parts: impl FnMut(&mut Ask<'t>, &Turn) -> Result<Vec<Value>, Error>,
    ) -> Result<Self, Error> {
        let mut out = Self::default();
        for turn in ask.turns_and_failures() {
            if turn.role == Role::System {
                if !out.sides.is_empty() {
                    let reason = "instructions in the middle of a conversation go to its beginning";
                    ask.lose(&turn.origin.pointer(), reason, EnforcedBy::Nobody);
                }
                out.system.extend(parts(ask, turn)?);
                continue;
            }
            let side = match turn.role {
                Role::Assistant => assistant,
                Role::Tool | Role::User | Role::System => "user",
            };
            let mut said = parts(ask, turn)?;
            if said.is_empty() && turn.role == Role::User {
                let reason = format!(
                    "{} refuses a turn that says nothing: told as `{NOTHING}`",
                    ask.title
                );
                ask.lose(&turn.origin.pointer(), &reason, EnforcedBy::Nobody);
                said = parts(ask, &Turn::added(Role::User, NOTHING))?;
            }
            // What the model did not say is left out.
            if said.is_empty() {
                continue;
            }
            match out.sides.last_mut() {
                Some((last, all)) if *last == side => all.extend(said),
                _ => out.sides.push((side, said)),
            }
        }
        if out.sides.is_empty() {
            out.with_a_user(ask)?;
        }
        Ok(out)
    }

    /// Instructions alone are told by the user: such a server takes no conversation without one.
    fn with_a_user(&mut self, ask: &mut Ask<'_>) -> Result<(), Error> {
        let title = ask.title;
        let first = ask.turns_and_failures().first();
        if self.system.is_empty() {
            let at = first.map_or("messages", |turn| turn.origin.0.as_str());
            let message = format!("`{at}` says nothing: {title} takes no empty conversation");
            return Err(invalid(message, at));
        }
        if let Some(first) = first {
            let reason = format!("{title} takes no instructions alone: told as the user's words");
            ask.lose(&first.origin.pointer(), &reason, EnforcedBy::Nobody);
        }
        self.sides.push(("user", std::mem::take(&mut self.system)));
        Ok(())
    }

    /// The sides in turn, their parts under this name.
    pub(in crate::dialect) fn written(self, parts: &str) -> Vec<Value> {
        let sides = self.sides.into_iter();
        sides
            .map(|(side, said)| json!({"role": side, parts: said}))
            .collect()
    }
}
