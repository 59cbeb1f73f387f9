//! Ollama's two routes, as its SDK and the agents on it read them: what each line adds, until one is done.

use super::{Dialect, Event, function, note, only, text};
use crate::adversary::fold::{Choice, Fault, Folded};
use crate::adversary::json::J;

pub(super) fn fold(dialect: Dialect, lines: &[Event]) -> Folded {
    let mut faults = Vec::new();
    let mut choice = Choice::default();
    for (_, line) in lines {
        if choice.finish.is_some() {
            note(&mut faults, "framing", "a line follows the last");
        }
        maybe(line, "model", &mut faults);
        if dialect == Dialect::OllamaGenerate {
            let more = text(line, "response", &mut faults);
            choice.content.push_str(&more);
        } else {
            message(line.get("message"), &mut choice, &mut faults);
        }
        match line.get("done") {
            Some(J::Bool(true)) => {
                let reason = maybe(line, "done_reason", &mut faults);
                choice.finish = Some(match reason.as_str() {
                    "stop" if !choice.calls.is_empty() => "tool_calls".to_owned(),
                    _ => reason,
                });
            }
            None | Some(J::Null | J::Bool(false)) => {}
            _ => note(&mut faults, "shape", "`done` is neither true nor false"),
        }
    }
    if choice.finish.is_none() {
        note(&mut faults, "finish", "no line is the last");
    }
    only(choice, faults)
}

/// A text that may be left out.
fn maybe(of: &J, name: &str, faults: &mut Vec<Fault>) -> String {
    match of.get(name) {
        None | Some(J::Null) => String::new(),
        Some(_) => text(of, name, faults),
    }
}

fn message(message: Option<&J>, choice: &mut Choice, faults: &mut Vec<Fault>) {
    let Some(message) = message else {
        return note(faults, "shape", "a line has no `message`");
    };
    if message.get("role").and_then(J::str) != Some("assistant") {
        note(faults, "role", "`role` is another's than the assistant's");
    }
    let more = maybe(message, "content", faults);
    choice.content.push_str(&more);
    let calls = message.get("tool_calls").unwrap_or(&J::Null);
    if *calls == J::Null {
        return;
    }
    let Some(calls) = calls.items() else {
        return note(faults, "shape", "`tool_calls` is no list");
    };
    for call in calls {
        let Some(body) = call.get("function") else {
            note(faults, "shape", "a call has no `function`");
            continue;
        };
        let arguments = body.get("arguments").unwrap_or(&J::Null);
        if !matches!(arguments, J::Obj(_)) {
            note(faults, "shape", "`arguments` is no object");
        }
        let name = text(body, "name", faults);
        let nth = choice.calls.len() as u64;
        let id = call.get("id").and_then(J::str);
        let id = id.map_or_else(|| format!("nth {nth}"), str::to_owned);
        choice
            .calls
            .push((nth, function(id, name, arguments.text())));
    }
}
