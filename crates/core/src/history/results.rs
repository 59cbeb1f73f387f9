//! Calls and their results: each result right behind its call, in the order of the calls, each call answered and each
//! result an answer.

use super::roles::join;
use super::{Fitting, Ledger};
use crate::ir::{Call, CallInput, Edits, Part, Refusal, Role, Turn};
use std::collections::{HashMap, HashSet};

/// What a model is told that never got a result.
const UNANSWERED: &str = "This call has no result.";

/// Where a call stands: its turn, and its place among that turn's calls.
type Place = (usize, usize);

/// Arranges what is refused as it stands.
pub(super) fn arrange(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    let mut calls = turns.iter().flat_map(|turn| &turn.calls);
    let is_legacy = to.refuses(Refusal::LegacyCalls) && calls.any(is_legacy);
    let refused = [
        Refusal::MissingIds,
        Refusal::SharedIds,
        Refusal::Unordered,
        Refusal::Unanswered,
        Refusal::Strays,
    ];
    let has_any = |turn: &Turn| turn.role == Role::Tool || !turn.calls.is_empty();
    if !(is_legacy || to.refuses_any(&refused)) || !turns.iter().any(has_any) {
        return;
    }
    if to.refuses(Refusal::Unordered) {
        join_remarks(turns);
    }
    let answers = answers(turns);
    if is_legacy {
        let results = turns.iter_mut().filter(|turn| turn.role == Role::Tool);
        let legacy = results.filter(|turn| turn.call_id.is_none());
        legacy.for_each(|turn| turn.edits.add(Edits::ROLE));
    }
    if is_legacy || to.refuses_any(&[Refusal::MissingIds, Refusal::SharedIds]) {
        give_ids(turns, &answers, to);
    }
    if to.refuses(Refusal::Strays) {
        let answering: Vec<usize> = answers.values().copied().collect();
        for (index, turn) in turns.iter_mut().enumerate() {
            if turn.role == Role::Tool && !answering.contains(&index) {
                let reason = || {
                    let title = to.title;
                    format!(
                        "it answers no call, which {title} refuses: told among the user's words"
                    )
                };
                ledger.lose("strays", &turn.origin, reason);
                to_user(turn);
            }
        }
    }
    if to.refuses_any(&[Refusal::Unordered, Refusal::Unanswered]) {
        place(turns, &answers, to, ledger);
    }
}

/// What the model said between a call and its result, as strands 1.62 writes it to Ollama, joins the turn of the call: behind the result
/// it would have the model go on from its own words.
fn join_remarks(turns: &mut Vec<Turn>) {
    let is_text = |part: &Part| matches!(part, Part::Text { .. });
    let is_remark = |turn: &Turn| {
        turn.role == Role::Assistant
            && turn.calls.is_empty()
            && turn.reasoning.is_none()
            && turn.sealed.is_empty()
            && turn.parts.iter().all(is_text)
    };
    let mut at = 0;
    while at < turns.len() {
        let rest = turns.get(at + 1..).unwrap_or_default();
        let run = rest
            .iter()
            .take_while(|turn| turn.role == Role::Tool || is_remark(turn));
        // Once all calls are answered they are words of their own.
        let results = run
            .enumerate()
            .filter(|(_, turn)| turn.role == Role::Tool)
            .take(turns[at].calls.len());
        let last = results.map(|(place, _)| at + 1 + place).last();
        if let Some(last) = last {
            let run: Vec<Turn> = turns.drain(at + 1..=last).collect();
            let (remarks, results): (Vec<Turn>, Vec<Turn>) = run.into_iter().partition(is_remark);
            if !remarks.is_empty() {
                let is_empty =
                    |part: &Part| matches!(part, Part::Text { text, .. } if text.is_empty());
                turns[at].parts.retain(|part| !is_empty(part));
            }
            remarks
                .into_iter()
                .for_each(|turn| join(&mut turns[at], turn));
            turns.splice(at + 1..at + 1, results);
        }
        at += 1;
    }
}

/// Several calls of one turn as turns of their own, each with the results that answer it.
pub(super) fn one_by_one(turns: &mut Vec<Turn>, to: &Fitting<'_>) {
    let has_several = |turn: &Turn| turn.calls.len() > 1;
    if !to.refuses(Refusal::ParallelCalls) || !turns.iter().any(has_several) {
        return;
    }
    let mut apart: Vec<Turn> = Vec::with_capacity(turns.len());
    let mut left = std::mem::take(turns).into_iter().peekable();
    while let Some(mut turn) = left.next() {
        if !has_several(&turn) {
            apart.push(turn);
            continue;
        }
        let mut results = Vec::new();
        while let Some(result) = left.next_if(|next| next.role == Role::Tool) {
            results.push(result);
        }
        let calls = std::mem::take(&mut turn.calls);
        turn.edits.add(Edits::CALLS);
        let mut first = Some(turn);
        for call in calls {
            let id = call.id.clone();
            let its = first.take().unwrap_or_else(|| Turn {
                parts: Vec::new(),
                ..Turn::added(Role::Assistant, "")
            });
            apart.push(Turn {
                calls: vec![call],
                ..its
            });
            let (answers, others) = (results.into_iter()).partition(|result| result.call_id == id);
            apart.extend::<Vec<Turn>>(answers);
            results = others;
        }
        apart.append(&mut results);
    }
    *turns = apart;
}

/// Whether a call stands there in the words before there were tools.
fn is_legacy(call: &Call) -> bool {
    call.id.is_none() && call.origin.0.ends_with(".function_call")
}

/// The result that answers each call. An id counts up to the next turn with a call of the same id; of calls of one turn
/// that share one, the first result is the first one's. A result without an id answers the first call before it, of its
/// tool where it names one, that no other answers.
fn answers(turns: &[Turn]) -> HashMap<Place, usize> {
    let mut open: Vec<(Place, &Call)> = Vec::new();
    let mut answers = HashMap::new();
    for (index, turn) in turns.iter().enumerate() {
        for (nth, call) in turn.calls.iter().enumerate() {
            open.retain(|(place, other)| {
                call.id.is_none() || other.id != call.id || place.0 == index
            });
            open.push(((index, nth), call));
        }
        if turn.role != Role::Tool {
            continue;
        }
        let is_its = |(_, call): &(Place, &Call)| match (&turn.call_id, &call.id) {
            (Some(id), Some(known)) => id == known,
            _ => turn.tool.as_ref().is_none_or(|tool| *tool == call.name),
        };
        let has_its_id = |(_, call): &(Place, &Call)| call.id == turn.call_id;
        let found = match &turn.call_id {
            Some(_) => (open.iter().position(has_its_id)).or_else(|| open.iter().rposition(is_its)),
            None => open.iter().position(is_its),
        };
        if let Some(at) = found {
            let (place, _) = open.remove(at);
            answers.insert(place, index);
        }
    }
    answers
}

/// Calls without ids get one of their places, those with an earlier call's one like it, and so do their results.
fn give_ids(turns: &mut [Turn], answers: &HashMap<Place, usize>, to: &Fitting<'_>) {
    let (all, any, is_told) = (
        to.refuses(Refusal::MissingIds),
        to.refuses(Refusal::SharedIds),
        to.refuses(Refusal::LegacyCalls),
    );
    let ids = turns
        .iter()
        .flat_map(|turn| &turn.calls)
        .filter_map(|call| call.id.clone());
    let known: HashSet<String> = ids.collect();
    let mut told: HashSet<String> = HashSet::new();
    let mut given: Vec<(usize, String)> = Vec::new();
    for (index, turn) in turns.iter_mut().enumerate() {
        let place = turn.index;
        for (nth, call) in turn.calls.iter_mut().enumerate() {
            let own = call.id.clone().filter(|id| !id.is_empty());
            let id = match own {
                Some(id) if any && told.contains(&id) => {
                    let is_free = |other: &String| !known.contains(other) && !told.contains(other);
                    let others = (2_u32..).map(|time| format!("{id}_{time}"));
                    others.into_iter().find(is_free).unwrap_or(id)
                }
                Some(id) => id,
                None if all || (is_told && is_legacy(call)) => format!("call_{place}_{nth}"),
                None => continue,
            };
            if call.id.as_ref() != Some(&id) {
                turn.edits.add(Edits::CALLS);
                call.id = Some(id.clone());
            }
            told.insert(id.clone());
            if let Some(result) = answers.get(&(index, nth)) {
                given.push((*result, id));
            }
        }
    }
    for (result, id) in given {
        let Some(turn) = turns.get_mut(result) else {
            continue;
        };
        if turn.call_id.as_ref() != Some(&id) {
            turn.call_id = Some(id);
            // A legacy function's result has another role as well.
            turn.edits.add(Edits::CALL_ID);
            turn.edits.add(Edits::ROLE);
        }
    }
}

fn to_user(turn: &mut Turn) {
    turn.role = Role::User;
    let head = match turn.tool.take() {
        Some(tool) => format!("A result of the tool {tool}:"),
        None => "A result of a tool:".to_owned(),
    };
    turn.call_id = None;
    turn.parts.insert(0, plain(head));
    turn.unknown.retain(|below| below != "/name");
    for edit in [Edits::ROLE, Edits::CONTENT, Edits::CALL_ID, Edits::NAME] {
        turn.edits.add(edit);
    }
}

const fn plain(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// Puts results behind their calls, and says of calls that have none that it is so.
fn place(
    turns: &mut Vec<Turn>,
    answers: &HashMap<Place, usize>,
    to: &Fitting<'_>,
    ledger: &mut Ledger,
) {
    let was_result = turns.last().is_some_and(|turn| turn.role == Role::Tool);
    let mut left: Vec<Option<Turn>> = std::mem::take(turns).into_iter().map(Some).collect();
    let mut placed: Vec<Turn> = Vec::with_capacity(left.len());
    // Of a call whose results stay where they are, what is to come behind them.
    let mut behind: Vec<Turn> = Vec::new();
    for index in 0..left.len() {
        let Some(turn) = left[index].take() else {
            continue;
        };
        if turn.role != Role::Tool {
            placed.append(&mut behind);
        }
        let calls: Vec<Call> = turn.calls.clone();
        placed.push(turn);
        for (nth, call) in calls.iter().enumerate() {
            let answer = answers.get(&(index, nth)).copied();
            match answer.and_then(|at| left.get_mut(at)) {
                Some(slot) if to.refuses(Refusal::Unordered) => placed.extend(slot.take()),
                Some(_) => {}
                None if to.refuses(Refusal::Unanswered) => {
                    let reason = || {
                        let title = to.title;
                        format!(
                            "it has no result, which {title} refuses: the model is told so in its place"
                        )
                    };
                    ledger.lose("unanswered", &call.origin, reason);
                    let result = unanswered(call);
                    match to.refuses(Refusal::Unordered) {
                        true => placed.push(result),
                        false => behind.push(result),
                    }
                }
                None => {}
            }
        }
    }
    placed.append(&mut behind);
    // Who takes any order is to go on from the results, and not from what the model said before them.
    let ends_otherwise = placed
        .last()
        .is_some_and(|turn| turn.role == Role::Assistant);
    if was_result && ends_otherwise && !to.refuses(Refusal::Unanswered) {
        placed.sort_by_key(|turn| turn.index);
    }
    *turns = placed;
}

fn unanswered(call: &Call) -> Turn {
    Turn {
        call_id: call.id.clone(),
        tool: Some(call.name.clone()),
        origin: call.origin.clone(),
        ..Turn::added(Role::Tool, UNANSWERED)
    }
}

/// Calls of custom tools as calls of functions with one text, and arguments that are none as the text of one.
pub(super) fn as_objects(turn: &mut Turn, to: &Fitting<'_>, ledger: &mut Ledger) {
    for call in &mut turn.calls {
        let text = match &call.input {
            CallInput::Empty if to.refuses(Refusal::TextArguments) => {
                call.input = CallInput::Object(crate::ir::raw(&serde_json::json!({})));
                turn.edits.add(Edits::CALLS);
                continue;
            }
            CallInput::Custom(text) if to.refuses(Refusal::CustomCalls) => text,
            CallInput::Text(stated) if to.refuses(Refusal::TextArguments) => {
                let reason = || {
                    "the arguments are no JSON object: sent as the text of one, `input`".to_owned()
                };
                ledger.lose("text_arguments", &stated.origin, reason);
                &stated.text
            }
            _ => continue,
        };
        call.input = CallInput::Object(crate::ir::raw(&serde_json::json!({"input": text})));
        turn.edits.add(Edits::CALLS);
    }
}
