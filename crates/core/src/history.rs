//! A conversation that began on one server goes on on another: what the next one, or its model's chat template,
//! refuses or would leave out in silence ([`Refusal`]) is told in another form. What that costs is a loss; a form
//! that means the same (an id, the order of results) is none.
//!
//! Pure, over typed turns: which server refuses what stands in its rule, or was learnt from its errors. Turns that
//! nothing is done to are left as they are, so that they keep their bytes where the server is of the client's wire.

mod content;
mod ids;
mod names;
mod results;
mod roles;
mod text;

use crate::ir::{EnforcedBy, History, Loss, Origin, Refusal, Turn};
use crate::markup::Format;
use std::collections::HashSet;
use std::sync::Arc;

pub use roles::{GO_ON, told_by_the_user};

/// What a conversation is made fit for.
#[derive(Debug)]
pub struct Fitting<'a> {
    /// The server's name, for people.
    pub title: &'a str,
    /// How it takes conversations.
    pub history: &'a History,
    /// Whether the model is told to write its calls between tags, where the server is shown none.
    pub is_tagged: bool,
    /// In which markup its model writes calls, where that is known.
    pub markup: Option<Arc<Format>>,
}

/// Makes a conversation fit, and tells what is lost: of each kind the first place, since a long conversation
/// repeats itself.
#[must_use]
pub fn fit(turns: &mut Vec<Turn>, to: &Fitting<'_>) -> Vec<Loss> {
    let mut ledger = Ledger::default();
    content::said(turns, to, &mut ledger);
    content::ending_thoughts(turns, to, &mut ledger);
    results::arrange(turns, to, &mut ledger);
    results::one_by_one(turns, to);
    ids::rename(turns, to);
    names::rename(turns, to);
    ids::sign(turns, to);
    content::text_files(turns, to);
    content::files(turns, to, &mut ledger);
    content::images(turns, to, &mut ledger);
    text::calls(turns, to, &mut ledger);
    content::silent(turns);
    content::empty(turns, to, &mut ledger);
    roles::instructions(turns, to, &mut ledger);
    roles::userless(turns, to, &mut ledger);
    roles::alternate(turns, to, &mut ledger);
    ledger.losses
}

/// The model's own words at the end of a conversation, with which it may be meant to go on.
#[must_use]
pub fn prefill(turns: &[Turn]) -> Option<&Turn> {
    let says = |turn: &&Turn| roles::is_open(turn) && !turn.text().trim().is_empty();
    turns.last().filter(says)
}

/// Whether a list of messages may end with a turn of the model's, by the last role that stands in it.
#[must_use]
pub fn may_go_on(messages: &[u8]) -> bool {
    const ROLE: &[u8] = b"\"role\"";
    let at = memchr::memmem::rfind(messages, ROLE);
    let rest = at.and_then(|at| messages.get(at + ROLE.len()..));
    let said = rest.and_then(|rest| rest.trim_ascii_start().strip_prefix(b":"));
    said.is_some_and(|said| said.trim_ascii_start().starts_with(b"\"assistant\""))
}

impl Fitting<'_> {
    fn refuses(&self, what: Refusal) -> bool {
        self.history.refuses(what)
    }

    fn refuses_any(&self, what: &[Refusal]) -> bool {
        what.iter().any(|what| self.refuses(*what))
    }
}

/// What is lost, each reason once.
#[derive(Debug, Default)]
pub struct Ledger {
    losses: Vec<Loss>,
    told: HashSet<&'static str>,
}

impl Ledger {
    /// Notes a loss. `kind` stands for its reason.
    fn lose(&mut self, kind: &'static str, origin: &Origin, reason: impl FnOnce() -> String) {
        if self.told.insert(kind) {
            self.losses.push(Loss {
                pointer: origin.pointer(),
                reason: reason(),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }

    /// The same of each place.
    fn lose_each(&mut self, origin: &Origin, reason: &str) {
        self.losses.push(Loss {
            pointer: origin.pointer(),
            reason: reason.to_owned(),
            enforced_by: EnforcedBy::Nobody,
        });
    }

    /// What was noted.
    #[must_use]
    pub fn losses(self) -> Vec<Loss> {
        self.losses
    }
}
