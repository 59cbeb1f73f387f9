//! What a reply that breaks its contract tells of its server: where it leaves thoughts.

use super::WayBack;
use crate::ir::{Choice, Delta, Quote, Violation};
use crate::rules::{ANSWERS_AS_THOUGHTS, BEGINS_INSIDE_THOUGHTS, THOUGHTS_IN_TEXT};

/// What most models mark their thoughts with: others are named by the operator.
const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Of a choice that is all there.
pub(super) fn of_choice(terms: &WayBack, choice: &Choice) -> Option<&'static str> {
    let is_end = |delta: &Delta| matches!(delta, Delta::Finish(_));
    if choice.has_reasoning {
        let only_thinks = choice.deltas.iter().all(is_end);
        return only_thinks.then_some(ANSWERS_AS_THOUGHTS);
    }
    let text: String = choice
        .deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    of_text(terms, &text)
}

/// Of a choice of a stream, of which so much is known.
pub(super) fn of_stream(
    terms: &WayBack,
    violation: &Violation,
    has_thought: bool,
    has_spoken: bool,
) -> Option<&'static str> {
    if has_thought {
        return (!has_spoken).then_some(ANSWERS_AS_THOUGHTS);
    }
    let Quote(said) = &violation.said;
    of_text(terms, said)
}

/// A text that was read as the answer, and is none.
fn of_text(terms: &WayBack, text: &str) -> Option<&'static str> {
    if terms.plan.thoughts.is_some() {
        return None;
    }
    if text.trim_start().starts_with(OPEN) {
        return Some(THOUGHTS_IN_TEXT);
    }
    let (thoughts, _) = text.split_once(CLOSE)?;
    // What begins as JSON or as a call has the mark in one of its strings, where a client's prompt may have put it.
    let is_answer = thoughts.trim_start().starts_with(['{', '[', '"', '<']);
    (!is_answer).then_some(BEGINS_INSIDE_THOUGHTS)
}
