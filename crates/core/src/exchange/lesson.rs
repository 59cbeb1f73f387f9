//! What a reply tells of its server, mostly one that breaks its contract: where it leaves thoughts, that it takes calls off the text, or
//! that it does not.

use super::WayBack;
use crate::ir::{Begin, Choice, Delta, Quote, RepairStep, Repairs, Rewrap, Violation};
use crate::rewrap::Reading;
use crate::rules::{
    ANSWERS_AS_THOUGHTS, ANSWERS_IN_FENCES, BEGINS_INSIDE_THOUGHTS, CALLS_IN_TEXT,
    HOLDS_BEHIND_THOUGHTS, NO_TAGGED_CALLS, READS_CALLS, THOUGHTS_IN_TEXT,
};

/// What most models mark their thoughts with, beside what this one is known by its name to.
const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
const FENCE: &str = "```";

/// What a good reply tells: a server that is to read calls left them in the text, or it took an answer for thoughts, so that the
/// prompt opened some.
pub(super) fn of_good(
    terms: &WayBack,
    repairs: Repairs,
    was_content: bool,
) -> Option<&'static str> {
    let is_unexpected = |reading: &Reading| !reading.is_expected;
    if repairs.has(RepairStep::Markup) && terms.reading.as_ref().is_some_and(is_unexpected) {
        return Some(CALLS_IN_TEXT);
    }
    terms.plan.tells_opening.filter(|_| was_content)
}

/// Of a choice that is all there.
pub(super) fn of_choice(terms: &WayBack, choice: &Choice) -> Option<&'static str> {
    let is_end = |delta: &Delta| matches!(delta, Delta::Finish(_));
    let says_nothing = choice.deltas.iter().all(is_end);
    if let Some(fact) = of_form(terms, says_nothing, choice.has_reasoning) {
        return Some(fact);
    }
    if choice.has_reasoning {
        return None;
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
    if let Some(fact) = of_form(terms, !has_spoken, has_thought) {
        return Some(fact);
    }
    if has_thought {
        return None;
    }
    let Quote(said) = &violation.said;
    of_text(terms, said)
}

/// What a reply tells whatever its words: it says nothing, but for thoughts perhaps, or breaks what it was held to. Where the text was held to calls in tags, and is
/// not there, the server may have read them off it: vLLM's newer parsers do and drop them, although `tool_choice` is `none`.
fn of_form(terms: &WayBack, says_nothing: bool, has_thought: bool) -> Option<&'static str> {
    let plan = &terms.plan;
    if terms.is_stopped {
        // It may say nothing, or too little, for that.
        return None;
    }
    if terms.is_held_completion {
        return Some(HOLDS_BEHIND_THOUGHTS);
    }
    let is_torn = (plan.is_all_content || plan.has_room) && has_thought;
    match (says_nothing, &plan.rewrap) {
        // The server made something else of a text that was held, or held something else: vLLM, of a parser with a tag of its own
        // (glm47), lets that be as well under `auto`, and calls without arguments are in it.
        (false, Rewrap::TaggedCalls) if plan.is_parsed || is_torn => Some(NO_TAGGED_CALLS),
        (false, _) => None,
        (true, Rewrap::TaggedCalls) => Some(READS_CALLS),
        (true, _) => (has_thought && !terms.seals_thoughts).then_some(ANSWERS_AS_THOUGHTS),
    }
}

/// A text that was read as the answer, and is none.
fn of_text(terms: &WayBack, text: &str) -> Option<&'static str> {
    let read = terms.plan.thoughts.as_deref();
    let own = terms.form.as_ref().map(|form| form.open.as_str());
    let mut marks = [Some(OPEN), own].into_iter().flatten();
    if marks.any(|open| text.trim_start().starts_with(open)) {
        return read.is_none().then_some(THOUGHTS_IN_TEXT);
    }
    if terms.plan.rewrap == Rewrap::Keep && text.trim_start().starts_with(FENCE) {
        return Some(ANSWERS_IN_FENCES);
    }
    // What begins as JSON or as a call has the mark in one of its strings, where a client's prompt may have put it.
    let is_answer = |text: &str| text.trim_start().starts_with(['{', '[', '"', '<']);
    let (thoughts, _) = text.split_once(CLOSE)?;
    let is_new = read.is_none_or(|thoughts| thoughts.begin == Begin::Before);
    (is_new && !is_answer(thoughts)).then_some(BEGINS_INSIDE_THOUGHTS)
}
