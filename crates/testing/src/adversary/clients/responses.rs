//! Responses, as OpenAI's SDK reads them: items put together from their pieces, and the whole response that comes with
//! the last event. Some clients take the one, some the other: both count.

use super::{Event, note, only, text};
use crate::adversary::fold::{Choice, Fault, Folded, FoldedCall};
use crate::adversary::json::J;

pub(super) fn whole(response: &J) -> Folded {
    let mut faults = Vec::new();
    let mut choice = Choice::default();
    if response.get("object").and_then(J::str) != Some("response") {
        note(&mut faults, "envelope", "`object` is no response");
    }
    for name in ["id", "model"] {
        text(response, name, &mut faults);
    }
    match response.get("output").and_then(J::items) {
        Some(items) => {
            for item in items {
                take(item, &mut choice, &mut faults);
            }
        }
        None => note(&mut faults, "shape", "`output` is no list"),
    }
    finish(response, &mut choice, &mut faults);
    only(choice, faults)
}

fn finish(response: &J, choice: &mut Choice, faults: &mut Vec<Fault>) {
    let reason = response
        .get("incomplete_details")
        .and_then(|why| why.get("reason"));
    let word = match (
        response.get("status").and_then(J::str),
        reason.and_then(J::str),
    ) {
        (Some("completed"), _) if choice.calls.is_empty() => "stop",
        (Some("completed"), _) => "tool_calls",
        (Some("incomplete"), Some("max_output_tokens")) => "length",
        (Some("incomplete"), Some(other)) => other,
        _ => return note(faults, "finish", "a response has no end that clients know"),
    };
    choice.finish = Some(word.to_owned());
}

/// One item of the output.
fn take(item: &J, choice: &mut Choice, faults: &mut Vec<Fault>) {
    text(item, "id", faults);
    match item.get("type").and_then(J::str) {
        Some("message") => {
            if item.get("role").and_then(J::str) != Some("assistant") {
                note(faults, "role", "`role` is another's than the assistant's");
            }
            for part in item.get("content").and_then(J::items).unwrap_or_default() {
                match part.get("type").and_then(J::str) {
                    Some("output_text") => {
                        let more = text(part, "text", faults);
                        choice.content.push_str(&more);
                        if part.get("annotations").and_then(J::items).is_none() {
                            note(faults, "shape", "`annotations` is no list");
                        }
                    }
                    Some("refusal") => {
                        let more = text(part, "refusal", faults);
                        choice.refusal.push_str(&more);
                    }
                    _ => note(faults, "shape", "a part is of no kind"),
                }
            }
        }
        Some(kind @ ("function_call" | "custom_tool_call")) => {
            let is_custom = kind == "custom_tool_call";
            let input = if is_custom { "input" } else { "arguments" };
            let call = FoldedCall {
                id: text(item, "call_id", faults),
                kind: if is_custom { "custom" } else { "function" }.to_owned(),
                name: text(item, "name", faults),
                input: text(item, input, faults),
            };
            choice.calls.push((choice.calls.len() as u64, call));
        }
        // SDKs hand kinds that are newer than they are to the program.
        Some(kind) if kind.bytes().all(|it| it.is_ascii_lowercase() || it == b'_') => {}
        _ => note(faults, "shape", "an item is of no kind"),
    }
}

/// What the pieces make, and what the last event has.
pub(super) fn streamed(events: &[Event]) -> Vec<Folded> {
    let mut faults = Vec::new();
    let mut items: Vec<J> = Vec::new();
    let mut last = None;
    for (number, (name, event)) in events.iter().enumerate() {
        if event.get("type").and_then(J::str) != Some(name) {
            note(&mut faults, "framing", "an event's name is not its type");
        }
        if event.get("sequence_number").and_then(J::count) != Some(number as u64) {
            note(
                &mut faults,
                "framing",
                "`sequence_number` does not count on",
            );
        }
        if last.is_some() {
            note(&mut faults, "framing", "something follows the last event");
        }
        if number == 0 && name != "response.created" {
            note(&mut faults, "framing", "a stream begins with another event");
        }
        match name.as_str() {
            "response.completed" | "response.incomplete" => last = event.get("response"),
            name => piece(name, event, &mut items, &mut faults),
        }
    }
    let Some(last) = last else {
        note(
            &mut faults,
            "finish",
            "the stream ends without its last event",
        );
        return vec![only(Choice::default(), faults)];
    };
    let mut at_last = whole(last);
    at_last.faults.extend(faults.iter().cloned());
    let mut choice = Choice::default();
    for item in &items {
        take(item, &mut choice, &mut faults);
    }
    finish(last, &mut choice, &mut faults);
    vec![only(choice, faults), at_last]
}

fn piece(name: &str, event: &J, items: &mut Vec<J>, faults: &mut Vec<Fault>) {
    let (known, delta) = match name {
        "response.created" | "response.in_progress" | "response.queued" => return,
        "response.output_item.added" => {
            let place = event.get("output_index").and_then(J::count);
            if place != Some(items.len() as u64) {
                note(faults, "framing", "an item is out of its place");
            }
            items.extend(event.get("item").cloned());
            return;
        }
        "response.output_text.delta" => ("text", true),
        "response.refusal.delta" => ("refusal", true),
        "response.function_call_arguments.delta" => ("arguments", true),
        "response.custom_tool_call_input.delta" => ("input", true),
        "response.reasoning_text.delta" => ("text", true),
        "response.content_part.added" => ("content", false),
        name if name.ends_with(".done") || name.starts_with("response.reasoning") => return,
        _ => return note(faults, "framing", "an event that no client knows"),
    };
    let place = event.get("output_index").and_then(J::count);
    let item = place.and_then(|place| items.get_mut(place as usize));
    let Some(item) = item.filter(|item| item.get("id") == event.get("item_id")) else {
        return note(faults, "framing", "a piece of an item that is not there");
    };
    let index = event.get("content_index").and_then(J::count);
    if !delta {
        let parts = item.get_mut("content").and_then(J::items_mut);
        let part = event.get("part").cloned();
        match (parts, part) {
            (Some(parts), Some(part)) if index == Some(parts.len() as u64) => parts.push(part),
            _ => note(faults, "framing", "a part is out of its place"),
        }
        return;
    }
    let in_part = matches!(known, "text" | "refusal");
    let to = if in_part {
        let parts = item.get_mut("content").and_then(J::items_mut);
        let part = parts
            .zip(index)
            .and_then(|(parts, at)| parts.get_mut(at as usize));
        part.and_then(|part| part.get_mut(known))
    } else {
        item.get_mut(known)
    };
    match (to, event.get("delta")) {
        (Some(J::Str(text)), Some(J::Str(more))) => text.push_str(more),
        _ => note(faults, "framing", "a piece has no place"),
    }
}
