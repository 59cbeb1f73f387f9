//! A conversation of two sides with the system prompt apart: turns come in; what each of them is on
//! such a wire, those of a side together, goes out.

use super::ask::Ask;
use crate::error::Error;
use crate::ir::{EnforcedBy, Role, Turn};
use serde_json::{Value, json};

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
        for turn in ask.turns() {
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
            let said = parts(ask, turn)?;
            if said.is_empty() {
                continue;
            }
            match out.sides.last_mut() {
                Some((last, all)) if *last == side => all.extend(said),
                _ => out.sides.push((side, said)),
            }
        }
        Ok(out)
    }

    /// The sides in turn, their parts under this name.
    pub(in crate::dialect) fn written(self, parts: &str) -> Vec<Value> {
        let sides = self.sides.into_iter();
        sides
            .map(|(side, said)| json!({"role": side, parts: said}))
            .collect()
    }
}
