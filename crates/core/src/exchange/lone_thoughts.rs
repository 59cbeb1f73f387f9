//! A reply that is nothing but thoughts, to a client that is told none: it would be empty.
//!
//! A server that is to tell thoughts apart (vLLM's reasoning parsers) takes all of a text for some that never closes any: a model
//! that does not think answers there. Where something else comes, or a limit cuts it, they were thoughts.

use crate::ir::{ByChoice, Delta, Event, FinishReason};

/// What is longer is not kept.
const MAX_BYTES: usize = 1 << 20;

/// The thoughts of each choice that says nothing else so far; `None` of one that does.
#[derive(Debug)]
pub(super) struct LoneThoughts {
    choices: ByChoice<Option<String>>,
}

impl LoneThoughts {
    pub(super) const fn new() -> Self {
        Self {
            choices: ByChoice::new(),
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
                delta: Delta::Finish(FinishReason::Stop | FinishReason::StopText(_)),
            } => {
                let lone = self.choices.get_mut(*choice)?.take();
                let text = lone.filter(|text| !text.trim().is_empty())?;
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
}

#[cfg(test)]
mod tests {
    use super::LoneThoughts;
    use crate::ir::{CallKind, Delta, Event, FinishReason};

    fn told(events: Vec<Event>) -> String {
        let mut lone = LoneThoughts::new();
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
}
