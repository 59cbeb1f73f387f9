//! Anthropic's Messages, as its SDK reads them: blocks in their order, one at a time, each piece of the kind of its
//! block.

use super::{Event, function, note, only, text};
use crate::adversary::fold::{Choice, Fault, Folded};
use crate::adversary::json::J;

pub(super) fn whole(message: &J) -> Folded {
    let mut faults = Vec::new();
    let mut choice = Choice::default();
    head(message, &mut faults);
    for block in message
        .get("content")
        .and_then(J::items)
        .unwrap_or_default()
    {
        open(block, &mut choice, &mut faults);
        if let Some(J::Obj(members)) = block.get("input")
            && let Some((_, call)) = choice.calls.last_mut()
        {
            call.input = J::Obj(members.clone()).text();
        }
    }
    if message.get("content").and_then(J::items).is_none() {
        note(&mut faults, "shape", "`content` is no list");
    }
    finish(message.get("stop_reason"), &mut choice, &mut faults);
    let is_cut = matches!(choice.finish.as_deref(), Some("length" | "content_filter"));
    if let Some((_, call)) = choice
        .calls
        .last_mut()
        .filter(|(_, call)| is_cut && call.input == "{}")
    {
        // An input is an object here: of one that was cut there is none, and the stop reason says so.
        call.input.clear();
    }
    only(choice, faults)
}

/// What a message says of itself. What its own server leaves out of it is not the proxy's to make up.
fn head(message: &J, faults: &mut Vec<Fault>) {
    for (name, word) in [("type", "message"), ("role", "assistant")] {
        let stated = message.get(name).filter(|stated| **stated != J::Null);
        if stated.is_some_and(|stated| stated.str() != Some(word)) {
            note(faults, "envelope", &format!("`{name}` is not {word}"));
        }
    }
    if !matches!(message.get("usage"), None | Some(J::Null | J::Obj(_))) {
        note(faults, "envelope", "`usage` is no object");
    }
}

/// The beginning of a block.
fn open(block: &J, choice: &mut Choice, faults: &mut Vec<Fault>) {
    match block.get("type").and_then(J::str) {
        Some("text") => choice
            .content
            .push_str(block.get("text").and_then(J::str).unwrap_or_default()),
        Some("tool_use") => {
            let (id, name) = (text(block, "id", faults), text(block, "name", faults));
            if !matches!(block.get("input"), Some(J::Obj(_))) {
                note(faults, "shape", "`input` is no object");
            }
            let nth = choice.calls.len() as u64;
            choice.calls.push((nth, function(id, name, String::new())));
        }
        // Whatever else comes, clients look for these.
        _ => {}
    }
}

fn finish(reason: Option<&J>, choice: &mut Choice, faults: &mut Vec<Fault>) {
    let word = match reason.and_then(J::str) {
        Some("end_turn" | "stop_sequence") => "stop",
        Some("tool_use") => "tool_calls",
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("refusal") => {
            // Whatever stands in it, it is no answer: the client is told so.
            choice.refusal = std::mem::take(&mut choice.content);
            "content_filter"
        }
        Some(other) => other,
        None => return note(faults, "finish", "a message has no `stop_reason`"),
    };
    choice.finish = Some(word.to_owned());
}

pub(super) fn streamed(events: &[Event]) -> Folded {
    let mut state = State::default();
    for (name, event) in events {
        if event.get("type").and_then(J::str) != Some(name) {
            note(
                &mut state.faults,
                "framing",
                "an event's name is not its type",
            );
        }
        state.take(name, event);
    }
    if !state.is_over {
        note(
            &mut state.faults,
            "finish",
            "the stream ends without `message_stop`",
        );
    }
    let State {
        mut choice,
        mut faults,
        reason,
        ..
    } = state;
    for (_, call) in &mut choice.calls {
        // Nothing said is no arguments.
        if call.input.is_empty() {
            "{}".clone_into(&mut call.input);
        }
    }
    finish(reason.as_ref(), &mut choice, &mut faults);
    only(choice, faults)
}

#[derive(Default)]
struct State {
    choice: Choice,
    faults: Vec<Fault>,
    reason: Option<J>,
    has_begun: bool,
    /// The block that is open: its place and its kind.
    open: Option<(u64, String)>,
    blocks: u64,
    is_over: bool,
}

impl State {
    fn take(&mut self, name: &str, event: &J) {
        if self.is_over {
            note(
                &mut self.faults,
                "framing",
                "something follows `message_stop`",
            );
        }
        if !self.has_begun && !matches!(name, "message_start" | "ping") {
            note(
                &mut self.faults,
                "framing",
                "the message does not begin with its start",
            );
        }
        let index = event.get("index").and_then(J::count);
        match name {
            "ping" => {}
            "message_start" => {
                self.has_begun = true;
                let message = event.get("message").unwrap_or(&J::Null);
                head(message, &mut self.faults);
                if !matches!(message.get("content").and_then(J::items), None | Some([])) {
                    note(&mut self.faults, "shape", "a message begins with content");
                }
            }
            "content_block_start" => {
                if self.open.is_some() || index != Some(self.blocks) {
                    note(&mut self.faults, "framing", "a block is out of its place");
                }
                self.blocks += 1;
                let block = event.get("content_block").unwrap_or(&J::Null);
                let kind = block.get("type").and_then(J::str).unwrap_or_default();
                self.open = Some((index.unwrap_or_default(), kind.to_owned()));
                open(block, &mut self.choice, &mut self.faults);
            }
            "content_block_delta" => self.delta(index, event.get("delta").unwrap_or(&J::Null)),
            "content_block_stop" => {
                let closed = self.open.take().map(|open| open.0);
                if closed != index {
                    note(
                        &mut self.faults,
                        "framing",
                        "another block ends than is open",
                    );
                }
            }
            "message_delta" => {
                if self.open.is_some() {
                    note(
                        &mut self.faults,
                        "framing",
                        "a block is still open at the end",
                    );
                }
                if self.reason.is_some() {
                    note(
                        &mut self.faults,
                        "finish",
                        "a message has more than one finish",
                    );
                }
                self.reason = event
                    .get("delta")
                    .and_then(|delta| delta.get("stop_reason"))
                    .cloned();
                let usage = event
                    .get("usage")
                    .and_then(|usage| usage.get("output_tokens"));
                if usage.and_then(J::count).is_none() {
                    note(
                        &mut self.faults,
                        "envelope",
                        "the SDK finds no `usage.output_tokens`",
                    );
                }
            }
            "message_stop" => self.is_over = true,
            // The SDK skips it.
            _ => {}
        }
    }

    fn delta(&mut self, index: Option<u64>, delta: &J) {
        let faults = &mut self.faults;
        let Some((_, kind)) = self.open.as_ref().filter(|open| Some(open.0) == index) else {
            return note(faults, "framing", "a piece of a block that is not open");
        };
        let word = delta.get("type").and_then(J::str).unwrap_or_default();
        match (kind.as_str(), word) {
            ("text", "text_delta") => {
                let more = delta.get("text").and_then(J::str);
                self.choice.content.push_str(more.unwrap_or_default());
            }
            ("tool_use", "input_json_delta") => {
                let more = text(delta, "partial_json", faults);
                if let Some((_, call)) = self.choice.calls.last_mut() {
                    call.input.push_str(&more);
                }
            }
            // The SDK adds nothing of what is of another kind than its block.
            _ => {}
        }
    }
}
