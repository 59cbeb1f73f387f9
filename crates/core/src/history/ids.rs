//! Ids of calls in the letters and the length that a server takes: the same id is rewritten alike in the call and in
//! its result, in this request and in the next. And signatures of calls, which travel in ids too.

use super::Fitting;
use crate::dialect::gemini::{is_signed, is_signed_as_it_is};
use crate::ir::{CallIds, Edits, Refusal, Turn};
use std::collections::{HashMap, HashSet};

/// The ids that a server takes; `None` where it takes any.
fn taken_by(to: &Fitting<'_>) -> Option<CallIds> {
    if to.refuses(Refusal::ForeignIds) {
        Some(CallIds::Nine)
    } else if to.refuses(Refusal::OddIds) {
        Some(CallIds::Word)
    } else if to.refuses(Refusal::LongIds) {
        Some(CallIds::Forty)
    } else {
        None
    }
}

/// Rewrites the ids that the server does not take.
pub(super) fn rename(turns: &mut [Turn], to: &Fitting<'_>) {
    let Some(shape) = taken_by(to) else {
        return;
    };
    let stays = |id: &str| {
        let is_kept = to.history.signed_ids && is_signed_as_it_is(id);
        is_kept || shape.takes(id)
    };
    let said = |turn: &Turn| -> Vec<String> {
        let calls = turn.calls.iter().filter_map(|call| call.id.clone());
        calls.chain(turn.call_id.clone()).collect()
    };
    // Ids that stay are nobody else's.
    let all = || turns.iter().flat_map(said);
    let mut taken: HashSet<String> = all().filter(|id| stays(id)).collect();
    let mut renamed: HashMap<String, String> = HashMap::new();
    for id in all().filter(|id| !stays(id)) {
        if renamed.contains_key(&id) {
            continue;
        }
        let mut others = (0..).map(|turn| shape.other(&id, turn));
        if let Some(other) = others.find(|other| !taken.contains(other)) {
            taken.insert(other.clone());
            renamed.insert(id, other);
        }
    }
    if renamed.is_empty() {
        return;
    }
    for turn in turns {
        for call in &mut turn.calls {
            let other = call.id.as_ref().and_then(|id| renamed.get(id));
            if let Some(other) = other {
                call.id = Some(other.clone());
                turn.edits.add(Edits::CALLS);
            }
        }
        let other = turn.call_id.as_ref().and_then(|id| renamed.get(id));
        if let Some(other) = other {
            turn.call_id = Some(other.clone());
            turn.edits.add(Edits::CALL_ID);
        }
    }
}

/// Puts what stands for a signature on the first call of each turn that has none: of several at once the model signs the
/// first alone. It is put on those of earlier turns too, at which nobody looks, so that the beginning of a conversation
/// stays the same from turn to turn.
pub(super) fn sign(turns: &mut [Turn], to: &Fitting<'_>) {
    let stand_in = to.history.unsigned.as_deref();
    let Some(stand_in) = stand_in.filter(|_| to.refuses(Refusal::UnsignedCalls)) else {
        return;
    };
    for turn in turns {
        let Some(first) = turn.calls.first_mut() else {
            continue;
        };
        if first.signature.is_none() && !first.id.as_deref().is_some_and(is_signed) {
            first.signature = Some(stand_in.to_owned());
            turn.edits.add(Edits::CALLS);
        }
    }
}
