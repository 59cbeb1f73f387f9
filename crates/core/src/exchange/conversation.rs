//! The conversation as a server is to get it: thoughts that are proven to be the model's, instructions where the server
//! takes them, calls of tools that it knows, and nothing that it refuses.

use super::Demand;
use crate::dialect::client::Client;
use crate::dialect::server::{Server, editor};
use crate::history::{
    Fitting, GO_ON, Ledger, fit as fit_turns, may_go_on, prefill, told_by_the_user,
};
use crate::ir::{
    Asides, Calls, Constraint, Contract, Draft, Edits, EnforcedBy, Fields, History, Loss, Part,
    Refusal, Refusals, Request, Role, Seal, Stated, Strategy, Tool, ToolInput, Turn, Wire,
};
use crate::rules::{
    CALLS_OVER_BOUNDS, ChoiceHow, HOLDS_BEHIND_THOUGHTS, LIMIT_OVER_ROOM,
    NO_FORCED_CALLS_BESIDE_THINKING, NO_STREAM, NO_STREAM_WITH_SCHEMAS, NO_STREAM_WITH_TOOLS,
    NO_STRICT_CALLS, NO_TAGGED_CALLS, OPENS_ASKED_THOUGHTS, Rule, SCHEMAS_OVER_BOUNDS, StrictTools,
    TOOLS_ON_RESPONSES, renamed_field, told_limit, unknown_field,
};
use std::sync::Arc;

/// Makes a conversation from another wire one that the server can be told, and tells what is lost.
pub(super) fn read(turns: &mut Vec<Turn>, rule: &Rule, seal: &Seal) -> Vec<Loss> {
    let mut losses = Vec::new();
    for turn in turns.iter_mut() {
        prove(turn, seal, &mut losses);
        mark(turn, rule.history.marks);
    }
    leave_out_silent(turns, rule, &mut losses);
    if rule.history.asides == Asides::User {
        let mut ledger = Ledger::default();
        told_by_the_user(turns, &mut ledger);
        losses.extend(ledger.losses());
    }
    losses
}

/// Leaves out what the model did not say, and instructions of nothing: most wires refuse such a turn, and a chat template
/// renders one that the model takes for an example. What only the client's dialect has in it is lost.
fn leave_out_silent(turns: &mut Vec<Turn>, rule: &Rule, losses: &mut Vec<Loss>) {
    let is_silent = |turn: &Turn| {
        matches!(turn.role, Role::Assistant | Role::System)
            && turn.parts.is_empty()
            && turn.calls.is_empty()
            && turn.reasoning.is_none()
            && turn.sealed.is_empty()
    };
    turns.retain(|turn| {
        if !is_silent(turn) {
            return true;
        }
        losses.extend(turn.unknown.iter().map(|below| Loss {
            pointer: turn.origin.pointer() + below,
            reason: format!("the messages of {} have no place for it", rule.title),
            enforced_by: EnforcedBy::Nobody,
        }));
        false
    });
}

/// Tells what the server refuses in another form, and what that costs. `is_bound` is whether anything is demanded of the answer.
pub(super) fn fit(turns: &mut Vec<Turn>, rule: &Rule, model: &str, is_bound: bool) -> Vec<Loss> {
    let to = fitting(rule, model);
    let goes_on =
        is_bound && rule.history.refuses(Refusal::BoundPrefill) && prefill(turns).is_some();
    if !goes_on {
        return fit_turns(turns, &to);
    }
    let mut history = rule.history.clone();
    history.refuse(Refusal::Prefill);
    let history = &history;
    fit_turns(turns, &Fitting { history, ..to })
}

/// Whether something is demanded of the answer as a whole.
pub(super) fn is_bound(contract: &Contract) -> bool {
    contract.content.is_some() || contract.calls == Calls::Required
}

/// The client's fields with a word of the user's behind the model's own, where a server of its wire takes those at the end only where
/// nothing is demanded.
pub(super) fn gone_on(
    demand: &Demand,
    rule: &Rule,
    server: &dyn Server,
) -> Option<(Fields, Vec<Loss>)> {
    let request = &demand.request;
    let is_refused = rule.history.refuses(Refusal::BoundPrefill) && is_bound(&demand.contract);
    let is_same = request.wire == Some(server.wire());
    let editor = server.editor().filter(|_| is_refused && is_same)?;
    let conversation = request.fields.raw(demand.client.conversation()?)?;
    if !may_go_on(conversation.as_bytes()) {
        return None;
    }
    let turns = demand.client.turns(request).ok()?;
    let loss = Loss {
        pointer: prefill(&turns)?.origin.pointer(),
        reason: format!(
            "{} goes on with the model's own words only where nothing is demanded: it is asked to",
            rule.title
        ),
        enforced_by: EnforcedBy::Nobody,
    };
    let mut fields = request.fields.clone();
    editor.say(&mut fields, Role::User, GO_ON);
    Some((fields, vec![loss]))
}

/// Has the server told to go on with the model's own words at the end, where the client's dialect means that; what cannot be
/// is a loss.
pub(super) fn go_on(draft: &mut Draft, demand: &Demand, title: &str) -> Option<Loss> {
    let Some(last) = prefill(&draft.turns).filter(|_| demand.client.prefills()) else {
        draft.history.prefill = None;
        return None;
    };
    let contract = &demand.contract;
    let reason = if is_bound(contract) {
        "what is demanded is demanded of the whole answer, which does not go on with the model's own words".to_owned()
    } else if draft.history.prefill.is_none() {
        format!("{title} cannot be told to go on with the model's own words: it answers anew")
    } else {
        return None;
    };
    let pointer = last.origin.pointer();
    draft.history.prefill = None;
    Some(Loss {
        pointer,
        reason,
        enforced_by: EnforcedBy::Nobody,
    })
}

/// The words that the server goes on with, where its reply begins with them.
pub(super) fn repeated(draft: &Draft) -> Option<Arc<str>> {
    let repeats = draft.history.prefill.as_ref()?.repeats;
    let last = prefill(&draft.turns).filter(|_| repeats)?;
    Some(last.text().into())
}

fn fitting<'r>(rule: &'r Rule, model: &str) -> Fitting<'r> {
    let is_tagged = |kind: &str| {
        let choice = rule.choices.get(kind);
        choice.is_some_and(|choice| choice.how == ChoiceHow::Tags)
    };
    Fitting {
        title: &rule.title,
        history: &rule.history,
        is_tagged: is_tagged("auto"),
        markup: rule.markup_of(model).map(|markup| markup.format),
    }
}

/// Leaves the marks of what to cache on parts where they are told; else they are noted as a loss.
fn mark(turn: &mut Turn, is_told: bool) {
    let is_mark = |below: &String| below.ends_with("/cache_control");
    if !turn.unknown.iter().any(is_mark) {
        return;
    }
    if !is_told {
        for part in &mut turn.parts {
            part.unmark();
        }
        return;
    }
    // That of a turn as a whole is its only text's.
    let is_one = matches!(turn.parts.as_slice(), [Part::Text { cache: Some(_), .. }]);
    let is_whole = |below: &String| below == "/cache_control";
    // A call has no place for one.
    let (at, calls) = (turn.origin.pointer(), &turn.calls);
    let is_of_call = |below: &String| {
        let mark = format!("{at}{below}");
        calls
            .iter()
            .any(|call| call.origin.member("cache_control").pointer() == mark)
    };
    turn.unknown
        .retain(|below| !is_mark(below) || is_whole(below) && !is_one || is_of_call(below));
}

/// Thoughts that were signed here are the model's own; of others nobody knows whose they are.
fn prove(turn: &mut Turn, seal: &Seal, losses: &mut Vec<Loss>) {
    const FOREIGN: &str = "it was not signed here, so that nobody knows whose thought it is: the server is not told it";
    for claimed in std::mem::take(&mut turn.claimed) {
        let Stated { origin, text } = claimed.stated;
        if text.is_empty() {
            continue;
        }
        if !seal.proves(&text, &claimed.signature) {
            losses.push(Loss {
                pointer: origin.pointer(),
                reason: FOREIGN.to_owned(),
                enforced_by: EnforcedBy::Nobody,
            });
            continue;
        }
        match &mut turn.reasoning {
            Some(known) => known.text.push_str(&text),
            None => turn.reasoning = Some(Stated { origin, text }),
        }
    }
}

/// Whether every request of such a client is read for what this server refuses of a conversation, where it keeps its
/// bytes otherwise.
pub(super) fn reads_all(request: &Request, rule: &Rule, server: &dyn Server) -> bool {
    is_kept(request, server) && rule.history.reads_all()
}

/// Whether the server is sent the client's own messages, in Chat's words.
fn is_kept(request: &Request, server: &dyn Server) -> bool {
    let is_same = request.wire == Some(server.wire()) && server.wire() == Wire::Chat;
    is_same || (request.wire == Some(Wire::Chat) && server.takes_prompt())
}

/// The client's fields with a conversation that the server takes, where it refuses something of theirs, and what is
/// lost. What cannot be read is left to the server to judge.
pub(super) fn retold(
    client: &dyn Client,
    request: &Request,
    rule: &Rule,
    server: &dyn Server,
) -> Option<(Fields, Vec<Loss>)> {
    if !is_kept(request, server) {
        return None;
    }
    let conversation = request.fields.raw(client.conversation()?)?;
    if !rule.history.reads(conversation.as_bytes()) {
        return None;
    }
    let mut turns = client.turns(request).ok()?;
    let before = turns.len();
    let losses = fit_turns(&mut turns, &fitting(rule, &request.model));
    let is_edited = turns.iter().any(|turn| turn.edits.is_any());
    if turns.len() == before && !is_edited && is_in_order(&turns) {
        return None;
    }
    let mut fields = request.fields.clone();
    editor::CHAT
        .retell(&mut fields, &turns, &rule.history, &rule.title)
        .then_some((fields, losses))
}

/// Whether the server was sent a schema that it compiles: that of the answer, of a strict tool or, where it compiles those of calls, of a
/// tool.
fn is_compiled(demand: &Demand, rule: &Rule, compiles_calls: bool) -> bool {
    let Demand {
        request, contract, ..
    } = demand;
    let is_strict = |tool: &Tool| matches!(tool.input, ToolInput::Schema { strict: true, .. });
    let choice = rule.choices.get(request.tool_choice.kind());
    let is_forced = contract.calls == Calls::Required;
    let makes_grammar = is_forced || choice.is_some_and(|choice| choice.lowered);
    matches!(contract.content, Some(Constraint::JsonSchema(_))) && !is_forced
        || request.tools.iter().any(is_strict)
        || compiles_calls && makes_grammar && !request.tools.is_empty()
}

fn is_in_order(turns: &[Turn]) -> bool {
    turns.iter().enumerate().all(|(at, turn)| turn.index == at)
}

/// Whether asking again with this fact, which the server's error told, is another question: a fact about conversations
/// is only where this one has what it is about, one about forced calls in tags where that is how one was asked for, one about
/// thoughts where some were.
#[must_use]
pub fn concerns(demand: &Demand, asked: Strategy, rule: &Rule, fact: &str) -> bool {
    let settings = demand.request.settings();
    let is_bare = demand.request.wire == Some(Wire::Completions);
    if fact == NO_TAGGED_CALLS {
        return asked == Strategy::Tags && demand.contract.calls == Calls::Required;
    }
    if fact == NO_STRICT_CALLS {
        let choice = rule.choices.get(demand.request.tool_choice.kind());
        let is_strict = choice.is_some_and(|choice| choice.strict == StrictTools::All);
        return asked == Strategy::Native && is_strict && !demand.request.tools.is_empty();
    }
    if fact == HOLDS_BEHIND_THOUGHTS {
        return demand.request.wire == Some(Wire::Completions) && !demand.contract.is_empty();
    }
    if [NO_STREAM, NO_STREAM_WITH_TOOLS, NO_STREAM_WITH_SCHEMAS].contains(&fact) {
        let is_there = match fact {
            NO_STREAM_WITH_TOOLS => !demand.request.tools.is_empty(),
            NO_STREAM_WITH_SCHEMAS => !matches!(asked, Strategy::Passthrough | Strategy::Instruct),
            _ => true,
        };
        let wire = demand.request.wire;
        let is_unread = wire == Some(rule.server.wire()) && wire != Some(Wire::Chat);
        return is_there && demand.request.stream && !is_bare && !is_unread;
    }
    if fact == NO_FORCED_CALLS_BESIDE_THINKING {
        let is_forced = demand.contract.calls == Calls::Required;
        return is_forced && demand.request.asks_for_thoughts();
    }
    if fact == OPENS_ASKED_THOUGHTS {
        return demand.request.thinking.is_some();
    }
    if fact == LIMIT_OVER_ROOM {
        let limits = ["max_tokens", "max_completion_tokens"];
        // A completion without one has 16 tokens.
        return !is_bare && limits.iter().any(|limit| settings.has(limit));
    }
    if let Some(most) = told_limit(fact) {
        let limits = ["max_tokens", "max_completion_tokens"];
        let limits = limits.iter().filter_map(|limit| settings.raw(limit));
        let mut limits = limits.filter_map(|limit| limit.parse::<u64>().ok());
        return !is_bare && limits.any(|limit| limit > most);
    }
    if [SCHEMAS_OVER_BOUNDS, CALLS_OVER_BOUNDS].contains(&fact) {
        return asked != Strategy::Instruct && is_compiled(demand, rule, fact == CALLS_OVER_BOUNDS);
    }
    // What goes to a server's own route of completions is not looked through.
    if let Some(field) = unknown_field(fact) {
        let is_own = demand.request.wire == Some(rule.server.wire());
        return !is_bare && settings.has(field) && !(is_own && rule.ends.own_errors);
    }
    if let Some((name, to)) = renamed_field(fact) {
        return !is_bare && [name, to].iter().any(|name| settings.has(name));
    }
    if fact == TOOLS_ON_RESPONSES {
        return !demand.request.tools.is_empty();
    }
    let Some(refusal) = Refusal::of_fact(fact) else {
        return true;
    };
    // The instructions may be our own.
    if refusal == Refusal::System {
        return true;
    }
    let Ok(mut turns) = demand.client.turns(&demand.request) else {
        return false;
    };
    let mut history = History {
        refuses: Refusals::default(),
        ..rule.history.clone()
    };
    history.refuse(refusal);
    let to = Fitting {
        history: &history,
        ..fitting(rule, &demand.request.model)
    };
    let before = turns.len();
    // What is read in other words than it stands there is so whatever the server refuses.
    for turn in &mut turns {
        turn.edits = Edits::default();
    }
    // What it costs is told once the request is planned with it.
    let _losses = fit_turns(&mut turns, &to);
    turns.len() != before || turns.iter().any(|turn| turn.edits.is_any()) || !is_in_order(&turns)
}
