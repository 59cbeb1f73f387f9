//! One choice on its way: rewrapped, then verified.

use super::Exchange;
use crate::ir::{Delta, Ids, Plan, Rewrap, Violation};
use crate::rewrap::Rewrapper;
use crate::verify::{Checks, Verifier};
use std::sync::Arc;

/// The way of one choice.
#[derive(Debug)]
pub(super) struct ChoiceFlow {
    choice: u32,
    rewrapper: Rewrapper,
    /// `None` after a violation that was let pass.
    verifier: Option<Verifier>,
    is_lenient: bool,
    has_said: bool,
    /// The first violation, where it was let pass.
    pub(super) passed: Option<Violation>,
}

impl ChoiceFlow {
    pub(super) fn new(exchange: &Exchange, checks: &Arc<Checks>, choice: u32) -> Self {
        Self {
            choice,
            rewrapper: Rewrapper::new(&exchange.plan, choice),
            verifier: Some(Verifier::new(Arc::clone(checks), choice)),
            is_lenient: exchange.passes_violations,
            has_said: false,
            passed: None,
        }
    }

    /// Takes a delta of the server, appends those for the client.
    pub(super) fn step(
        &mut self,
        delta: Delta,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let from = out.len();
        let unread = self.is_lenient.then(|| delta.clone());
        let rewrapped = self.rewrapper.step(delta, ids, out);
        self.verify(&out[from..])?;
        self.has_said |= out.len() > from;
        match (rewrapped, unread) {
            (Err(violation), Some(unread)) => {
                self.give_up(violation, unread, out);
                Ok(())
            }
            (rewrapped, _) => rewrapped,
        }
    }

    fn verify(&mut self, deltas: &[Delta]) -> Result<(), Violation> {
        for delta in deltas {
            let Some(verifier) = &mut self.verifier else {
                return Ok(());
            };
            if let Err(violation) = verifier.step(delta) {
                let violation = self.rewrapper.quote(violation);
                if !self.is_lenient {
                    return Err(violation);
                }
                self.verifier = None;
                self.passed.get_or_insert(violation);
            }
        }
        Ok(())
    }

    /// The content cannot be read as what it should be: from here on text is text.
    fn give_up(&mut self, violation: Violation, unread: Delta, out: &mut Vec<Delta>) {
        let plan = Plan {
            rewrap: Rewrap::Keep,
            tools: indexmap::IndexMap::new(),
            one_call: false,
            legacy_functions: false,
        };
        self.rewrapper = Rewrapper::new(&plan, self.choice);
        self.verifier = None;
        if !self.has_said && !violation.said.0.is_empty() {
            out.push(Delta::Text(violation.said.0.clone()));
            if let Delta::Finish(_) = unread {
                out.push(unread);
            }
        } else {
            out.push(unread);
        }
        self.has_said = true;
        self.passed.get_or_insert(violation);
    }
}
