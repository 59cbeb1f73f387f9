//! Replies of a server that begins with the model's own words that it was to go on with (llama.cpp): clients that mean a prefill put
//! the two together. The same events out without those words; where others come, all of them.

use crate::ir::{ByChoice, Delta, Event};
use std::sync::Arc;

/// How much of them came of each choice, in bytes; `None` where the answer goes on.
#[derive(Debug)]
pub(super) struct Repeated {
    words: Arc<str>,
    choices: ByChoice<Option<usize>>,
}

impl Repeated {
    pub(super) const fn new(words: Arc<str>) -> Self {
        Self {
            words,
            choices: ByChoice::new(),
        }
    }

    /// Takes an event; what is to be told.
    pub(super) fn take(&mut self, event: Event) -> impl Iterator<Item = Event> + use<> {
        let (before, event) = match event {
            Event::Delta { choice, delta } => {
                let (before, delta) = self.step(choice, delta);
                let told = move |delta| Event::Delta { choice, delta };
                (before.map(told), delta.map(told))
            }
            event => (None, Some(event)),
        };
        [before, event].into_iter().flatten()
    }

    fn step(&mut self, choice: u32, delta: Delta) -> (Option<Delta>, Option<Delta>) {
        let known = self.choices.get_or_insert_with(choice, || Some(0));
        let Some(came) = *known else {
            return (None, Some(delta));
        };
        let rest = self.words.get(came..).unwrap_or_default();
        match &delta {
            Delta::Text(text) if rest.len() > text.len() && rest.starts_with(text.as_str()) => {
                *known = Some(came + text.len());
                (None, None)
            }
            Delta::Text(text) => {
                *known = None;
                match text.strip_prefix(rest) {
                    Some(more) => (None, Some(Delta::Text(more.to_owned()))),
                    // They are others.
                    None => (said(&self.words, came), Some(delta)),
                }
            }
            Delta::Reasoning(_) => (None, Some(delta)),
            _ => {
                *known = None;
                (said(&self.words, came), Some(delta))
            }
        }
    }
}

/// The first of the words, which were none of those after all.
fn said(words: &str, came: usize) -> Option<Delta> {
    let text = words.get(..came).filter(|text| !text.is_empty())?;
    Some(Delta::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::Repeated;
    use crate::ir::{Delta, Event, FinishReason};

    #[test]
    fn the_words_that_were_to_be_gone_on_with_are_left_out_in_any_pieces() {
        for (pieces, expected) in [
            (vec!["Hello, my name"], " name"),
            (vec!["Hel", "lo, ", "my na", "me"], " name"),
            (vec!["Hello, my"], ""),
            (vec!["Hello, ", "your name"], "Hello, your name"),
            (vec![" name"], " name"),
            (vec!["Hel"], "Hel"),
            (vec!["Hello, my", "Hello, my"], "Hello, my"),
        ] {
            let mut repeated = Repeated::new("Hello, my".into());
            let texts = pieces.iter().map(|text| Delta::Text((*text).to_owned()));
            let deltas = texts.chain([Delta::Finish(FinishReason::Stop)]);
            let events = deltas.map(|delta| Event::Delta { choice: 0, delta });
            let told = events.flat_map(|event| repeated.take(event).collect::<Vec<_>>());
            let said: String = told
                .filter_map(|event| match event {
                    Event::Delta {
                        delta: Delta::Text(text),
                        ..
                    } => Some(text),
                    _ => None,
                })
                .collect();
            assert_eq!(said, expected, "{pieces:?}");
        }
    }
}
