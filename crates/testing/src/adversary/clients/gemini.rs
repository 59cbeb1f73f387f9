//! Gemini, as google-genai reads it: the parts of all replies of a stream in a row.

use super::{Event, function, note, text};
use crate::adversary::fold::{Choice, Fault, Folded};
use crate::adversary::json::J;

pub(super) fn fold(events: &[Event]) -> Folded {
    let mut out = Folded::default();
    for (_, event) in events {
        let Some(candidates) = event.get("candidates") else {
            continue;
        };
        let Some(candidates) = candidates.items() else {
            note(&mut out.faults, "shape", "`candidates` is no list");
            continue;
        };
        for candidate in candidates {
            // Its zeros are left out, as protobuf's are.
            let index = candidate.get("index").map_or(Some(0), J::count);
            let Some(index) = index else {
                note(
                    &mut out.faults,
                    "index",
                    "a candidate's `index` is no whole number",
                );
                continue;
            };
            let mut known = out.choices.remove(&index).unwrap_or_default();
            take(candidate, &mut known, &mut out.faults);
            out.choices.insert(index, known);
        }
    }
    for choice in out.choices.values_mut() {
        match choice.finish.as_deref() {
            None => note(&mut out.faults, "finish", "a candidate has no finish"),
            Some("STOP") if choice.calls.is_empty() => choice.finish = Some("stop".to_owned()),
            Some("STOP") => choice.finish = Some("tool_calls".to_owned()),
            Some("MAX_TOKENS") => choice.finish = Some("length".to_owned()),
            Some("SAFETY" | "RECITATION" | "PROHIBITED_CONTENT" | "BLOCKLIST") => {
                choice.finish = Some("content_filter".to_owned());
            }
            Some(_) => {}
        }
    }
    out
}

fn take(candidate: &J, known: &mut Choice, faults: &mut Vec<Fault>) {
    let content = candidate.get("content");
    let parts = content.and_then(|content| content.get("parts"));
    for part in parts.and_then(J::items).unwrap_or_default() {
        if let Some(call) = part.get("functionCall") {
            let name = text(call, "name", faults);
            let args = call.get("args").cloned().unwrap_or(J::Obj(Vec::new()));
            if !matches!(args, J::Obj(_)) {
                note(faults, "shape", "`args` is no object");
            }
            let nth = known.calls.len() as u64;
            // Ids are optional here: clients answer by name and order.
            let id = call.get("id").and_then(J::str);
            let id = id.map_or_else(|| format!("nth {nth}"), str::to_owned);
            known.calls.push((nth, function(id, name, args.text())));
        } else if part.get("thought") != Some(&J::Bool(true)) {
            // Whatever else a part is, clients look for its text alone.
            known
                .content
                .push_str(part.get("text").and_then(J::str).unwrap_or_default());
        }
    }
    let role = content.and_then(|content| content.get("role"));
    if role.is_some_and(|role| role.str() != Some("model")) {
        note(faults, "role", "`role` is another's than the model's");
    }
    // Beside a good end it is for people.
    let message = candidate.get("finishMessage").and_then(J::str);
    let ends_well = candidate.get("finishReason").and_then(J::str) == Some("STOP");
    if let Some(refusal) = message.filter(|_| !ends_well) {
        known.refusal.push_str(refusal);
    }
    match candidate.get("finishReason") {
        None => {}
        Some(J::Str(word)) if known.finish.as_ref().is_some_and(|known| known != word) => {
            note(faults, "finish", "a candidate has two finishes");
        }
        Some(J::Str(word)) => known.finish = Some(word.clone()),
        Some(_) => note(faults, "shape", "`finishReason` is no string"),
    }
}
