//! Who speaks when: instructions where a server takes them, and turns that alternate.

use super::{Fitting, Ledger};
use crate::ir::{Edits, Origin, Part, Refusal, Role, Turn};

const ASIDE: &str = "most chat templates take instructions at the beginning alone: it is told among the user's words";

/// What the user says where the model is not to go on by itself.
pub const GO_ON: &str = "Go on.";

/// Instructions where the server takes them.
pub(super) fn instructions(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    if to.refuses_any(&[Refusal::Asides, Refusal::System]) {
        told_by_the_user(turns, ledger);
    }
    if to.refuses_any(&[Refusal::SecondSystem, Refusal::System]) {
        let leading = turns.iter().take_while(|turn| is_system(turn)).count();
        let others: Vec<Turn> = turns.drain(leading.min(1)..leading).collect();
        for other in others {
            if let Some(first) = turns.first_mut() {
                join(first, other);
            }
        }
    }
    if to.refuses(Refusal::System) {
        without_system(turns, to, ledger);
    }
}

/// A word of the user's in a conversation that has none.
pub(super) fn userless(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    let is_users = |turn: &Turn| turn.role == Role::User;
    if !to.refuses(Refusal::Userless) || turns.iter().any(is_users) {
        return;
    }
    let leading = turns.iter().take_while(|turn| is_system(turn)).count();
    let reason = || format!("{} takes no conversation without a user", to.title);
    let origin = turns
        .first()
        .map_or_else(|| Origin::new("messages"), |turn| turn.origin.clone());
    ledger.lose("userless", &origin, reason);
    if leading < turns.len() {
        turns.insert(leading, Turn::added(Role::User, "(The assistant begins.)"));
    } else if let Some(last) = turns.last_mut() {
        last.role = Role::User;
        last.edits.add(Edits::ROLE);
    }
}

fn is_system(turn: &Turn) -> bool {
    turn.role == Role::System
}

/// The instructions at the beginning as the first words of the user's.
fn without_system(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    let Some(first) = turns.first_mut().filter(|turn| is_system(turn)) else {
        return;
    };
    let reason = || {
        format!(
            "{} takes no instructions: told as the user's first words",
            to.title
        )
    };
    ledger.lose("system", &first.origin, reason);
    first.role = Role::User;
    first.edits.add(Edits::ROLE);
    first.edits.add(Edits::CONTENT);
    if turns.get(1).is_some_and(|turn| turn.role == Role::User) {
        let second = turns.remove(1);
        if let Some(first) = turns.first_mut() {
            join(first, second);
        }
    }
}

/// Instructions in the middle of a conversation: most chat templates refuse a system prompt there, and at
/// the beginning they would make all that is cached of the conversation worthless. So they are told where
/// they stand, marked, among the user's words.
pub fn told_by_the_user(turns: &mut Vec<Turn>, ledger: &mut Ledger) {
    let begin = turns.iter().position(|turn| !is_system(turn));
    let Some(begin) = begin.filter(|begin| turns.iter().skip(*begin).any(is_system)) else {
        return;
    };
    let mut fitted: Vec<Turn> = Vec::with_capacity(turns.len());
    // Whether the last turn ends with such instructions: a user's turn behind them goes on with it.
    let mut is_open = false;
    for (index, mut turn) in std::mem::take(turns).into_iter().enumerate() {
        let is_aside = index >= begin && is_system(&turn);
        if is_aside {
            ledger.lose_each(&turn.origin, ASIDE);
            turn.role = Role::User;
            turn.parts.iter_mut().for_each(mark);
            turn.edits.add(Edits::ROLE);
            turn.edits.add(Edits::CONTENT);
        }
        // Two turns of a user in a row are more than some templates take.
        match fitted.last_mut() {
            Some(last)
                if (is_aside || is_open)
                    && (last.role, turn.role) == (Role::User, Role::User)
                    && (last.unknown.is_empty() || turn.unknown.is_empty()) =>
            {
                join(last, turn);
            }
            _ => fitted.push(turn),
        }
        is_open = is_aside;
    }
    *turns = fitted;
}

fn mark(part: &mut Part) {
    if let Part::Text { text, .. } = part {
        *text = format!("<system>\n{text}\n</system>");
    }
}

/// What only the client's dialect has is told by the place of its turn: at most one of the two has some, or the
/// second's goes.
pub(super) fn join(last: &mut Turn, mut turn: Turn) {
    if last.unknown.is_empty() && !turn.unknown.is_empty() {
        last.origin = turn.origin;
        last.index = turn.index;
        last.unknown = turn.unknown;
    }
    last.hold_on(std::mem::take(&mut turn.sealed));
    last.parts.append(&mut turn.parts);
    last.calls.append(&mut turn.calls);
    last.resolutions.append(&mut turn.resolutions);
    last.reasoning = match (last.reasoning.take(), turn.reasoning) {
        (Some(mut first), Some(second)) => {
            first.text.push('\n');
            first.text.push_str(&second.text);
            Some(first)
        }
        (first, second) => first.or(second),
    };
    last.edits.add(Edits::CONTENT);
    if !last.calls.is_empty() {
        last.edits.add(Edits::CALLS);
    }
}

/// Turns in the order in which the server takes them.
pub(super) fn alternate(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    let refused = [Refusal::Repeats, Refusal::UserAfterResult, Refusal::Prefill];
    if !to.refuses_any(&refused) {
        return;
    }
    let mut fitted: Vec<Turn> = Vec::with_capacity(turns.len());
    for turn in std::mem::take(turns) {
        let last = fitted.last_mut();
        let last_role = last.as_ref().map(|last| last.role);
        let is_first = matches!(last_role, None | Some(Role::System));
        if is_first && turn.role == Role::Assistant && to.refuses(Refusal::Repeats) {
            let reason = || format!("{} takes no conversation that the model begins", to.title);
            ledger.lose("begins", &turn.origin, reason);
            fitted.push(Turn::added(Role::User, "(The assistant begins.)"));
            fitted.push(turn);
            continue;
        }
        if last_role == Some(Role::Tool)
            && turn.role == Role::User
            && to.refuses(Refusal::UserAfterResult)
        {
            let reason = || {
                let title = to.title;
                format!(
                    "{title} takes the user's words only behind the model's: an empty answer stands between"
                )
            };
            ledger.lose("user_after_result", &turn.origin, reason);
            fitted.push(Turn::added(Role::Assistant, "OK."));
            fitted.push(turn);
            continue;
        }
        match last {
            // Calls wait for their results.
            Some(last)
                if last.role == turn.role
                    && matches!(turn.role, Role::User | Role::Assistant)
                    && last.calls.is_empty()
                    && to.refuses(Refusal::Repeats) =>
            {
                let reason = || {
                    let title = to.title;
                    format!("{title} takes no two turns of one speaker in a row: they are one turn")
                };
                ledger.lose("repeats", &turn.origin, reason);
                join(last, turn);
            }
            _ => fitted.push(turn),
        }
    }
    if let Some(last) = fitted.last().filter(|turn| is_open(turn))
        && to.refuses(Refusal::Prefill)
    {
        let reason = || {
            format!(
                "{} does not go on with the model's own words: it is asked to",
                to.title
            )
        };
        ledger.lose("prefill", &last.origin, reason);
        fitted.push(Turn::added(Role::User, GO_ON));
    }
    *turns = fitted;
}

/// Whether the model may be meant to go on with what it says there.
pub(super) fn is_open(turn: &Turn) -> bool {
    turn.role == Role::Assistant && turn.calls.is_empty() && !has_mark(turn)
}

/// Whether the client marked the turn as one to go on with, in a server's own words.
fn has_mark(turn: &Turn) -> bool {
    let marks = ["/prefix", "/partial"];
    turn.unknown
        .iter()
        .any(|below| marks.contains(&below.as_str()))
}
