//! A reply that is nothing but thoughts: to a client that is told none it would be empty.
//!
//! A server that is to tell thoughts apart (vLLM's reasoning parsers) takes all of a text for some that never closes any: a model
//! that does not think answers there, and one that calls without having closed its thoughts (Kimi K2, Qwen 3.5) calls there. Where
//! something else comes, or a limit cuts it, they were thoughts.

use crate::ir::{ByChoice, Delta, Event, FinishReason};
use crate::markup::{Piece, Reader};
use crate::rewrap::Reading;
use std::sync::Arc;

/// What is longer is not kept.
const MAX_BYTES: usize = 1 << 20;

/// The thoughts of each choice that says nothing else so far; `None` of one that does.
#[derive(Debug)]
pub(super) struct LoneThoughts {
    choices: ByChoice<Option<String>>,
    /// How calls are read that end them.
    reading: Option<Reading>,
    /// They are the answer where they end with no call.
    are_answers: bool,
}

impl LoneThoughts {
    pub(super) const fn new(reading: Option<Reading>, are_answers: bool) -> Self {
        Self {
            choices: ByChoice::new(),
            reading,
            are_answers,
        }
    }

    /// Takes an event; what is to be said before it.
    pub(super) fn take(&mut self, event: &Event) -> Option<Event> {
        match event {
            Event::Reasoning { choice, text, .. } => {
                let known = || Some(String::new());
                let lone = self.choices.get_or_insert_with(*choice, known);
                let thoughts = lone.as_mut()?;
                thoughts.push_str(text);
                if thoughts.len() > MAX_BYTES {
                    *lone = None;
                }
            }
            Event::Delta {
                choice,
                delta:
                    Delta::Finish(
                        reason @ (FinishReason::Stop
                        | FinishReason::StopText(_)
                        | FinishReason::ToolCalls),
                    ),
            } => {
                let lone = self.choices.get_mut(*choice)?.take();
                let text = self.answer(lone?, *reason != FinishReason::ToolCalls)?;
                let delta = Delta::Text(text);
                let choice = *choice;
                return Some(Event::Delta { choice, delta });
            }
            Event::Delta {
                delta: Delta::Text(text),
                ..
            } if text.trim().is_empty() => {}
            Event::Delta { choice, .. } | Event::Hosted { choice, .. } => {
                *self.choices.get_or_insert_with(*choice, || None) = None;
            }
            _ => {}
        }
        None
    }

    fn answer(&self, mut thoughts: String, may_be_one: bool) -> Option<String> {
        let calls = self.reading.as_ref();
        if let Some(at) = calls.and_then(|reading| last_calls(reading, &thoughts)) {
            return Some(thoughts.split_off(at));
        }
        (self.are_answers && may_be_one && !thoughts.trim().is_empty()).then_some(thoughts)
    }
}

/// Where the calls begin that a text ends with, all of them whole.
fn last_calls(reading: &Reading, text: &str) -> Option<usize> {
    let reader = Reader::new(Arc::clone(&reading.format), Arc::clone(&reading.tools));
    let mut reader = reader.keeping_thoughts();
    let mut pieces = Vec::new();
    reader.push(text, &mut pieces);
    reader.finish(false, &mut pieces);
    let call = |piece: &Piece| matches!(piece, Piece::Call { .. });
    let (before, calls) = pieces.split_at(pieces.iter().position(call)?);
    let is_of_calls = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Thought(text) => text.trim().is_empty(),
        Piece::Call { .. } | Piece::Input(_) | Piece::End => true,
        Piece::Broken { .. } => false,
    };
    let said = before.iter().filter_map(|piece| match piece {
        Piece::Text(text) | Piece::Thought(text) => Some(text.as_str()),
        _ => None,
    });
    let said: String = said.collect();
    let said = said.trim_end();
    (calls.iter().all(is_of_calls) && text.starts_with(said)).then_some(said.len())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::LoneThoughts;
    use crate::ir::{CallKind, Delta, Event, FinishReason};
    use crate::markup::{Formats, Tools};
    use crate::rewrap::Reading;
    use std::sync::Arc;

    fn told(events: Vec<Event>) -> String {
        said(LoneThoughts::new(None, true), &events)
    }

    fn said(mut lone: LoneThoughts, events: &[Event]) -> String {
        let said = events.iter().filter_map(|event| lone.take(event));
        let texts = said.map(|event| match event {
            Event::Delta {
                delta: Delta::Text(text),
                ..
            } => text,
            other => format!("{other:?}"),
        });
        texts.collect()
    }

    #[test]
    fn thoughts_are_an_answer_where_nothing_else_is() {
        let thought = |text: &str| Event::Reasoning {
            choice: 0,
            text: text.to_owned(),
            is_own: false,
        };
        let of = |delta| Event::Delta { choice: 0, delta };
        let text = |text: &str| of(Delta::Text(text.to_owned()));
        let end = |reason| of(Delta::Finish(reason));
        let call = of(Delta::CallStart {
            call: 0,
            id: "c".to_owned(),
            name: "f".to_owned(),
            kind: CallKind::Function,
        });
        for (said, expected) in [
            (
                vec![thought("Hel"), thought("lo"), end(FinishReason::Stop)],
                "Hello",
            ),
            (
                vec![thought("Hi"), text("\n"), end(FinishReason::Stop)],
                "Hi",
            ),
            (vec![thought("Hi"), text("a"), end(FinishReason::Stop)], ""),
            (vec![thought("Hi"), call, end(FinishReason::ToolCalls)], ""),
            (vec![thought("Hi"), end(FinishReason::Length)], ""),
            (vec![text("a"), thought("Hi"), end(FinishReason::Stop)], ""),
            (vec![thought(" "), end(FinishReason::Stop)], ""),
            (vec![end(FinishReason::Stop)], ""),
        ] {
            assert_eq!(told(said.clone()), expected, "{said:?}");
        }
    }

    #[test]
    fn whole_calls_at_the_end_of_thoughts_are_calls() {
        let reading = |format: &str| Reading {
            format: Arc::clone(Formats::builtin().by_name(format).unwrap()),
            tools: Arc::new(Tools::new([("f".to_owned(), CallKind::Function, None)])),
            is_expected: false,
            keeps_thoughts: true,
            may_follow_text: true,
            is_constrained: false,
            is_anywhere: false,
        };
        let call = r#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
        let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>";
        for (format, before, calls, behind, is_call) in [
            ("hermes", "I look it up.\n\n", call, "\n", true),
            ("hermes", "", call, "", true),
            ("hermes", "So <b>", call.repeat(2).as_str(), "", true),
            ("hermes", "It would be ", call, " but no", false),
            (
                "hermes",
                "",
                call.replace("\"f\"", "\"g\"").as_str(),
                "",
                false,
            ),
            ("hermes", "", &call[..30], "", false),
            ("hermes", "Nothing", "", "", false),
            ("kimi-k2", "I call ", kimi, "", true),
        ] {
            let text = format!("{before}{calls}{behind}");
            let events = [
                Event::Reasoning {
                    choice: 0,
                    text,
                    is_own: false,
                },
                Event::Delta {
                    choice: 0,
                    delta: Delta::Finish(FinishReason::Stop),
                },
            ];
            let told = said(LoneThoughts::new(Some(reading(format)), false), &events);
            let told = told.trim();
            assert_eq!(
                told,
                if is_call { calls } else { "" },
                "{before}{calls}{behind}"
            );
        }
    }
}
