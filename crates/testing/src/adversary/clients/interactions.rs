//! Google's Interactions, as google-genai reads them: steps in their order, each put together from its pieces.

use super::{Event, function, note, only, text};
use crate::adversary::fold::{Choice, Fault, Folded};
use crate::adversary::json::J;

pub(super) fn whole(interaction: &J) -> Folded {
    let mut faults = Vec::new();
    let mut choice = Choice::default();
    head(interaction, &mut faults);
    match interaction.get("steps").and_then(J::items) {
        Some(steps) => {
            for step in steps {
                take(step, &mut choice, &mut faults);
            }
        }
        None => note(&mut faults, "shape", "`steps` is no list"),
    }
    finish(interaction, &mut choice, &mut faults);
    only(choice, faults)
}

fn head(interaction: &J, faults: &mut Vec<Fault>) {
    if interaction.get("object").and_then(J::str) != Some("interaction") {
        note(faults, "envelope", "`object` is no interaction");
    }
    for name in ["id", "model", "created"] {
        text(interaction, name, faults);
    }
}

fn finish(interaction: &J, choice: &mut Choice, faults: &mut Vec<Fault>) {
    let word = match interaction.get("status").and_then(J::str) {
        Some("completed") => "stop",
        Some("requires_action") => "tool_calls",
        Some("incomplete") => "length",
        Some("failed") => "content_filter",
        _ => {
            return note(
                faults,
                "finish",
                "an interaction has no end that clients know",
            );
        }
    };
    choice.finish = Some(word.to_owned());
}

fn take(step: &J, choice: &mut Choice, faults: &mut Vec<Fault>) {
    match step.get("type").and_then(J::str) {
        Some("thought") => drop(text(step, "signature", faults)),
        Some("model_output") => {
            if let Some(error) = step.get("error") {
                let more = text(error, "message", faults);
                choice.refusal.push_str(&more);
            }
            for part in step.get("content").and_then(J::items).unwrap_or_default() {
                if part.get("type").and_then(J::str) == Some("text") {
                    let more = text(part, "text", faults);
                    choice.content.push_str(&more);
                } else {
                    note(faults, "shape", "a content is of no kind");
                }
            }
        }
        Some("function_call") => {
            let input = match step.get("arguments") {
                Some(J::Obj(members)) => J::Obj(members.clone()).text(),
                // Of a stream: the pieces of its text.
                Some(J::Str(text)) => text.clone(),
                _ => {
                    note(faults, "shape", "`arguments` is no object");
                    String::new()
                }
            };
            let (id, name) = (text(step, "id", faults), text(step, "name", faults));
            let nth = choice.calls.len() as u64;
            choice.calls.push((nth, function(id, name, input)));
        }
        _ => note(faults, "shape", "a step is of no kind"),
    }
}

/// What the pieces make.
pub(super) fn streamed(events: &[Event]) -> Folded {
    let mut faults = Vec::new();
    let mut steps: Vec<(J, bool)> = Vec::new();
    let mut last = None;
    for (number, (name, event)) in events.iter().enumerate() {
        if event.get("event_type").and_then(J::str) != Some(name) {
            note(&mut faults, "framing", "an event's name is not its type");
        }
        if number == 0 && name != "interaction.created" {
            note(&mut faults, "framing", "a stream begins with another event");
        }
        if last.is_some() {
            note(&mut faults, "framing", "something follows the last event");
        }
        let place = event.get("index").and_then(J::count);
        let place = place.and_then(|place| usize::try_from(place).ok());
        match name.as_str() {
            "interaction.created" => {
                let interaction = event.get("interaction").cloned();
                head(&interaction.unwrap_or(J::Null), &mut faults);
            }
            "interaction.status_update" => {}
            "interaction.completed" => last = event.get("interaction"),
            "step.start" => {
                if place != Some(steps.len()) {
                    note(&mut faults, "framing", "a step is out of its place");
                }
                steps.extend(event.get("step").map(|step| (begun(step), true)));
            }
            "step.delta" => {
                let step = place.and_then(|place| steps.get_mut(place));
                match (step, event.get("delta")) {
                    (Some((step, true)), Some(delta)) => piece(step, delta, &mut faults),
                    _ => note(&mut faults, "framing", "a piece of a step that is not open"),
                }
            }
            "step.stop" => match place.and_then(|place| steps.get_mut(place)) {
                Some((_, is_open @ true)) => *is_open = false,
                _ => note(&mut faults, "framing", "the end of a step that is not open"),
            },
            _ => note(&mut faults, "framing", "an event that no client knows"),
        }
    }
    if steps.iter().any(|(_, is_open)| *is_open) {
        note(&mut faults, "framing", "a step has no end");
    }
    let Some(last) = last else {
        note(
            &mut faults,
            "finish",
            "the stream ends without its last event",
        );
        return only(Choice::default(), faults);
    };
    let mut choice = Choice::default();
    // Where steps stand in the last event, SDKs hand these out.
    match last.get("steps").and_then(J::items) {
        Some(steps) => {
            for step in steps {
                take(step, &mut choice, &mut faults);
            }
        }
        None => {
            for (step, _) in &steps {
                take(step, &mut choice, &mut faults);
            }
        }
    }
    finish(last, &mut choice, &mut faults);
    only(choice, faults)
}

/// A step as it begins, with room for its pieces.
fn begun(step: &J) -> J {
    let mut step = step.clone();
    let room = match step.get("type").and_then(J::str) {
        Some("function_call") => ("arguments", J::Str(String::new())),
        Some("thought") => ("signature", J::Str(String::new())),
        _ => {
            let text = J::Obj(vec![
                ("type".to_owned(), J::Str("text".to_owned())),
                ("text".to_owned(), J::Str(String::new())),
            ]);
            ("content", J::Arr(vec![text]))
        }
    };
    if let J::Obj(members) = &mut step {
        members.retain(|(name, _)| name != room.0);
        members.push((room.0.to_owned(), room.1));
    }
    step
}

fn piece(step: &mut J, delta: &J, faults: &mut Vec<Fault>) {
    let kind = delta.get("type").and_then(J::str);
    let (place, more) = match kind {
        Some("text") => {
            let content = step.get_mut("content").and_then(J::items_mut);
            let first = content.and_then(|content| content.first_mut());
            (
                first.and_then(|first| first.get_mut("text")),
                delta.get("text"),
            )
        }
        Some("arguments_delta") => (step.get_mut("arguments"), delta.get("arguments")),
        Some("thought_signature") => (step.get_mut("signature"), delta.get("signature")),
        Some("thought_summary") => return,
        _ => return note(faults, "framing", "a piece of no kind"),
    };
    match (place, more) {
        (Some(J::Str(text)), Some(J::Str(more))) => text.push_str(more),
        _ => note(faults, "framing", "a piece has no place"),
    }
}
