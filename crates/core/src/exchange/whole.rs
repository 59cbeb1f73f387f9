//! A reply that is all there: rewrapped, verified, mended where it must be, written.

use super::all_content::AllContent;
use super::beside::without_answer;
use super::flow::ChoiceFlow;
use super::repeated::Repeated;
use super::{
    Exchange, Fault, WayBack, context, fold, lesson, no_call, too_few_choices, too_many_choices,
};
use crate::dialect::server::{Frame, Verbatim};
use crate::ir::{Choice, Delta, Event, Ids, Plan, Repairs, Reply, Violation};
use crate::verify::Checks;
use std::collections::HashSet;
use std::sync::Arc;

/// A reply as the client gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// The client's body.
    pub body: Vec<u8>,
    /// What it breaks all the same, where [`Exchange::passes_violations`].
    pub violation: Option<Violation>,
    /// What was mended in it.
    pub repairs: Repairs,
    /// What it tells of its server, though it is good: a fact, in the words of the rule files.
    pub fact: Option<&'static str>,
}

/// Translates a whole reply: rewraps it, verifies it, writes it.
///
/// # Errors
/// The violation, or the error of a reply that cannot be used.
pub fn reply(
    exchange: &Exchange,
    checks: &Arc<Checks>,
    mut ids: Ids,
    body: &[u8],
) -> Result<Translated, Fault> {
    let frame = exchange.frame(body, &mut ids).map_err(Fault::Error)?;
    translated(exchange, checks, ids, frame)
}

/// The same, where the upstream sent the events of a stream although none was asked for.
///
/// # Errors
/// As there.
pub fn reply_of_events(
    exchange: &Exchange,
    checks: &Arc<Checks>,
    mut ids: Ids,
    body: &[u8],
) -> Result<Translated, Fault> {
    let frame = fold::fold(exchange, &mut ids, body)?;
    translated(exchange, checks, ids, frame)
}

/// One choice for each that was asked for: a client takes them by their index.
fn check_choices(terms: &WayBack, choices: &[Choice]) -> Result<(), Violation> {
    if choices.is_empty() {
        return Err(too_few_choices(0, terms.choices));
    }
    if terms.demands_nothing {
        return Ok(());
    }
    let mut known = HashSet::new();
    let is_asked = |choice: &Choice| choice.index < terms.choices;
    if !choices
        .iter()
        .all(|choice| is_asked(choice) && known.insert(choice.index))
    {
        return Err(too_many_choices(terms.choices));
    }
    match u32::try_from(choices.len()) {
        Ok(came) if came < terms.choices => Err(too_few_choices(came, terms.choices)),
        _ => Ok(()),
    }
}

fn translated(
    exchange: &Exchange,
    checks: &Arc<Checks>,
    mut ids: Ids,
    frame: Frame<'_>,
) -> Result<Translated, Fault> {
    let terms = exchange.terms();
    let no_call = frame.events.iter().find_map(|event| match event {
        Event::NoCall { choice, fault } => Some(no_call(*fault, *choice)),
        _ => None,
    });
    if let Some(violation) = no_call {
        return Err(Fault::Violation(violation));
    }
    for event in &frame.events {
        if let Event::Usage(usage) = event {
            context::check(terms.least_tokens, usage)?;
        }
    }
    let (mut reply, was_content) = folded(&terms, frame.events);
    let mut violation = check_choices(&terms, &reply.choices).err();
    let may_pass = terms.passes_violations && !reply.choices.is_empty();
    let mut repairs = Repairs::default();
    if let Some(violation) = violation.take_if(|_| !may_pass) {
        return Err(Fault::Violation(violation));
    }
    let mut says_all = true;
    let (mut is_unchanged, mut has_remark) = (true, false);
    for choice in &mut reply.choices {
        let before = ids.clone();
        let mut read = flown(&terms, checks, choice, &mut ids, false);
        let mut others = Vec::new();
        if read.is_err() {
            others = readings(choice, &terms);
            if let Some(right) = right_one(&terms, checks, choice, &others, &before) {
                (read, ids) = right;
                has_remark |= (choice.deltas.iter()).any(|it| matches!(it, Delta::Reasoning(_)));
            }
        }
        if !matches!(read, Ok(Read { passed: None, .. })) {
            // As it came before anything else.
            let stated = choice.deltas.to_vec();
            let mended = std::iter::once(stated.clone())
                .chain(others)
                .find_map(|deltas| {
                    let mut again = before.clone();
                    choice.deltas = deltas.into();
                    let (deltas, steps) = exchange.repaired(checks, choice, &mut again)?;
                    Some((deltas, steps, again))
                });
            if let Some((deltas, steps, again)) = mended {
                ids = again;
                repairs.join(steps);
                is_unchanged = false;
                choice.replace(deltas, &[]);
                continue;
            }
            choice.deltas = stated.into();
            // What passes although it is wrong is what a stream would have let pass.
            if read.is_ok() {
                ids = before;
                read = flown(&terms, checks, choice, &mut ids, true);
            }
        }
        let telling = |broken: Violation| {
            let fact = lesson::of_choice(&terms, choice);
            broken.telling(fact)
        };
        let read = read.map_err(|broken| Fault::Violation(telling(broken)))?;
        violation = violation.or_else(|| read.passed.map(telling));
        is_unchanged &= choice.deltas.as_slice() == read.deltas;
        choice.replace(read.deltas, &read.ends);
        says_all &= !read.is_empty;
        repairs.join(read.repairs);
    }
    if let Some(lacking) = terms.client.lacking(&reply) {
        return Err(Fault::Violation(lacking));
    }
    // The framing of calls is repaired wherever there are any, unless it is known to be right.
    let calls = |delta: &Delta| matches!(delta, Delta::CallStart { .. });
    let mut deltas = reply.choices.iter().flat_map(|choice| &choice.deltas);
    let tells_calls = frame.verbatim.as_ref().is_some_and(Verbatim::tells_calls);
    let calls_are_told = !deltas.any(calls) || tells_calls && is_unchanged;
    let is_right = says_all && !has_remark && repairs.is_empty();
    let is_kept = terms.keeps_bytes() && is_right && calls_are_told;
    let body = match frame.verbatim.filter(|_| is_kept) {
        Some(verbatim) => {
            let bytes = verbatim.as_bytes();
            let completed = terms.client.completed(bytes);
            completed.unwrap_or_else(|| bytes.to_vec())
        }
        None => {
            terms.tell_whole(&mut reply.choices);
            terms.client.whole(&terms.written(&ids), &reply)
        }
    };
    Ok(Translated {
        fact: lesson::of_good(&terms, repairs, was_content),
        body,
        violation,
        repairs,
    })
}

/// The reply that events are, and whether an answer was taken for thoughts.
fn folded(terms: &WayBack, events: Vec<Event>) -> (Reply, bool) {
    let events = match terms.repeated.clone().map(Repeated::new) {
        Some(mut repeated) => {
            let events = events.into_iter();
            events.flat_map(|event| repeated.take(event)).collect()
        }
        None => events,
    };
    let events = events.into_iter().filter_map(|event| terms.said(event));
    if terms.plan.is_all_content {
        let (events, was_content) = all_content(events, &terms.plan);
        return (Reply::fold(events), was_content);
    }
    let Some(mut lone) = terms.lone_thoughts() else {
        return (Reply::fold(events), false);
    };
    let events = events.flat_map(|event| lone.take(&event).into_iter().chain([event]));
    (Reply::fold(events), false)
}

/// What a choice that breaks its contract may be instead, the likeliest first: some of its texts no answer, its last call cut.
fn readings(choice: &Choice, terms: &WayBack) -> Vec<Vec<Delta>> {
    let cut = |deltas: &[Delta]| match terms.closes_cut_calls {
        true => with_open_call(deltas),
        false => None,
    };
    let mut all: Vec<Vec<Delta>> = cut(&choice.deltas).into_iter().collect();
    for deltas in without_answer(choice, terms.may_be) {
        let also = cut(&deltas);
        all.push(deltas);
        all.extend(also);
    }
    all
}

/// Gives the choice the first of these readings that is right; `None` where none is, and it stays as it came.
fn right_one(
    terms: &WayBack,
    checks: &Arc<Checks>,
    choice: &mut Choice,
    readings: &[Vec<Delta>],
    ids: &Ids,
) -> Option<(Result<Read, Violation>, Ids)> {
    let stated = std::mem::take(&mut choice.deltas);
    for deltas in readings {
        let mut ids = ids.clone();
        choice.deltas = deltas.as_slice().into();
        let read = flown(terms, checks, choice, &mut ids, false);
        if read.is_ok() {
            return Some((read, ids));
        }
    }
    choice.deltas = stated;
    None
}

/// The same without the end of the last call, of a reply that a limit cut: its server closes that where it was.
fn with_open_call(deltas: &[Delta]) -> Option<Vec<Delta>> {
    let [.., Delta::CallInput { text, .. }, Delta::Finish(reason)] = deltas else {
        return None;
    };
    let open = text.trim_end_matches(|c: char| matches!(c, '}' | ']') || c.is_whitespace());
    let open = open.strip_suffix('"').unwrap_or(open);
    if !reason.is_cut() || open.len() == text.len() {
        return None;
    }
    let open = open.to_owned();
    let mut deltas = deltas.to_vec();
    if let [.., Delta::CallInput { text, .. }, _] = &mut deltas[..] {
        *text = open;
    }
    Some(deltas)
}

/// The same events, where what the server took for thoughts may be the content; and whether an answer was.
fn all_content(events: impl Iterator<Item = Event>, plan: &Arc<Plan>) -> (Vec<Event>, bool) {
    let mut all = AllContent::new(Arc::clone(plan));
    let mut certain: Vec<Event> = events.flat_map(|event| all.take(event)).collect();
    certain.extend(all.end());
    (certain, all.was_content())
}

/// A choice as it came, or as a stream of it is mended on its way.
struct Read {
    deltas: Vec<Delta>,
    /// How many there are behind each that came.
    ends: Vec<usize>,
    /// What it breaks, where that is let pass.
    passed: Option<Violation>,
    /// The answer is an empty text.
    is_empty: bool,
    /// Calls were read off the content; and what was mended.
    repairs: Repairs,
}

fn flown(
    terms: &WayBack,
    checks: &Arc<Checks>,
    choice: &Choice,
    ids: &mut Ids,
    is_mended: bool,
) -> Result<Read, Violation> {
    let mut flow = ChoiceFlow::new(terms, checks, choice.index);
    if is_mended {
        flow = flow.mending(terms);
    }
    if choice.has_reasoning {
        flow.thinks_apart();
    }
    for call in &choice.hosted {
        flow.host(call);
    }
    let mut deltas = Vec::new();
    let is_placed = !(choice.parts.is_empty() && choice.sealed.is_empty());
    let mut ends = Vec::new();
    for delta in choice.deltas.iter().cloned() {
        flow.step(delta, ids, &mut deltas)?;
        ends.extend(is_placed.then_some(deltas.len()));
    }
    Ok(Read {
        ends,
        repairs: flow.repairs(),
        deltas,
        is_empty: flow.is_empty,
        passed: flow.passed,
    })
}
