//! Names of tools in the letters and the length that a server takes, as they are shown to it.

use super::Fitting;
use crate::ir::{Edits, Refusal, Turn, plain_name};

/// Renames the calls of tools whose names the server does not take.
pub(super) fn rename(turns: &mut [Turn], to: &Fitting<'_>) {
    if !to.refuses(Refusal::OddNames) {
        return;
    }
    for turn in turns {
        for call in &mut turn.calls {
            if let Some(plain) = plain_name(&call.name) {
                call.name = plain;
                turn.edits.add(Edits::CALLS);
            }
        }
        // On Chat's wire a result need not say whose it is.
        if let Some(plain) = turn.tool.as_deref().and_then(plain_name) {
            turn.tool = Some(plain);
            turn.edits.add(Edits::NAME);
        }
    }
}
