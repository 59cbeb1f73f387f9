//! Legacy completions, as OpenAI's clients read them: texts by their choice's index.

use super::{Event, note, server_sent, text};
use crate::adversary::fold::{Fault, Folded, fault};
use crate::adversary::json::J;

/// A stream's events; the end mark is the last.
pub(super) fn events(stream: &str) -> Result<Vec<Event>, Fault> {
    let Some(all) = stream.strip_suffix("data: [DONE]\n\n") else {
        let all = server_sent(stream)?;
        let last = all.last().map(|(_, last)| last);
        return match last.and_then(|last| last.get("error")) {
            Some(_) => Ok(all),
            None => Err(fault(
                "framing",
                "the stream ends without [DONE] and without an error",
            )),
        };
    };
    server_sent(all)
}

pub(super) fn fold(events: &[Event]) -> Folded {
    let mut out = Folded::default();
    for (_, event) in events {
        let Some(choices) = event.get("choices").and_then(J::items) else {
            note(&mut out.faults, "shape", "`choices` is no list");
            continue;
        };
        for choice in choices {
            let index = choice.get("index").and_then(J::count);
            let Some(index) = index else {
                note(
                    &mut out.faults,
                    "index",
                    "a choice's `index` is no whole number",
                );
                continue;
            };
            let more = text(choice, "text", &mut out.faults);
            let known = out.choices.entry(index).or_default();
            known.content.push_str(&more);
            match choice.get("finish_reason") {
                None | Some(J::Null) => {}
                Some(J::Str(_)) if known.finish.is_some() => {
                    note(
                        &mut out.faults,
                        "finish",
                        "a choice has more than one finish",
                    );
                }
                Some(J::Str(word)) => known.finish = Some(word.clone()),
                Some(_) => note(&mut out.faults, "shape", "`finish_reason` is no string"),
            }
        }
    }
    if out.choices.values().any(|choice| choice.finish.is_none()) {
        note(&mut out.faults, "finish", "a choice has no finish");
    }
    out
}
