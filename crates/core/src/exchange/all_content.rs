//! A reply whose constraint holds from its first token on. Its events in; the same events out, but that what the server took for thoughts
//! is content where nothing else is.
//!
//! The template opened thoughts, and the server's reader of them takes what comes for some until they end: it does not know that
//! the constraint lets the model write nothing but the answer. Where content follows, they were thoughts: which of the two they
//! are is known when the choice speaks, or ends.

use crate::ir::{Delta, Event, Plan};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of one choice. What is longer is content, or thoughts where there is room for them: nothing is held for good.
const MAX_HELD_BYTES: usize = 1 << 20;

/// What the server took for thoughts of each choice, of which nobody has counted how many there are.
#[derive(Debug)]
pub(super) struct AllContent {
    choices: BTreeMap<u32, Taken>,
    /// Of the request: what a reader may leave before content that it takes for thoughts, and whether there is room for those, so
    /// that they may be cut before they end.
    plan: Arc<Plan>,
    /// Some was content, to the reply's own end.
    was_content: bool,
}

#[derive(Debug)]
enum Taken {
    /// It is not known yet what they are.
    Held(String),
    /// They are content.
    Content,
    /// They are thoughts.
    Thoughts,
}

impl AllContent {
    pub(super) const fn new(plan: Arc<Plan>) -> Self {
        Self {
            choices: BTreeMap::new(),
            plan,
            was_content: false,
        }
    }

    /// Whether an answer, all of it, was taken for thoughts.
    pub(super) const fn was_content(&self) -> bool {
        self.was_content
    }

    /// Takes an event; what is certain then.
    pub(super) fn take(&mut self, event: Event) -> impl Iterator<Item = Event> + use<> {
        let (held, event) = match event {
            Event::Reasoning { choice, text, .. } => (None, self.thought(choice, text)),
            Event::Delta { choice, ref delta } => {
                let held = match delta {
                    Delta::Finish(reason) if reason.is_cut() => {
                        self.settle(choice, !self.plan.has_room)
                    }
                    Delta::Finish(_) => {
                        let held = self.settle(choice, true);
                        self.was_content |= held.is_some();
                        held
                    }
                    // Behind thoughts that there is room for come empty lines.
                    Delta::Text(text) if self.plan.has_room && !text.is_empty() => {
                        self.settle(choice, false)
                    }
                    delta if delta.has_substance() => self.settle(choice, false),
                    _ => None,
                };
                (held, Some(event))
            }
            event => (None, Some(event)),
        };
        [held, event].into_iter().flatten()
    }

    /// The reply is all there, whether its choices ended or not.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Event> {
        let choices: Vec<u32> = self.choices.keys().copied().collect();
        let settled = choices.into_iter();
        settled.filter_map(|choice| self.settle(choice, true))
    }

    fn thought(&mut self, choice: u32, text: String) -> Option<Event> {
        match self.of(choice) {
            Taken::Content => Some(content(choice, text)),
            Taken::Thoughts => Some(thoughts(choice, text)),
            Taken::Held(held) => {
                held.push_str(&text);
                let is_too_long = held.len() > MAX_HELD_BYTES;
                let is_content = !self.plan.has_room;
                is_too_long
                    .then(|| self.settle(choice, is_content))
                    .flatten()
            }
        }
    }

    fn of(&mut self, choice: u32) -> &mut Taken {
        let held = || Taken::Held(String::new());
        self.choices.entry(choice).or_insert_with(held)
    }

    /// Notes what was held of a choice, and gives it as that.
    fn settle(&mut self, choice: u32, is_content: bool) -> Option<Event> {
        let (known, event): (_, fn(u32, String) -> Event) = match is_content {
            true => (Taken::Content, content),
            false => (Taken::Thoughts, thoughts),
        };
        let state = self.of(choice);
        let Taken::Held(held) = state else {
            return None;
        };
        let mut text = std::mem::take(held);
        *state = known;
        if let Some(form) = self.plan.marks.as_ref().filter(|_| is_content) {
            for mark in std::iter::once(&form.open).chain(&form.after) {
                if text.starts_with(mark) {
                    text.drain(..mark.len());
                }
            }
        }
        (!text.is_empty()).then(|| event(choice, text))
    }
}

const fn content(choice: u32, text: String) -> Event {
    let delta = Delta::Text(text);
    Event::Delta { choice, delta }
}

const fn thoughts(choice: u32, text: String) -> Event {
    Event::Reasoning {
        choice,
        text,
        is_own: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Begin, FinishReason, Rewrap, Thoughts};

    /// What becomes of pieces of thoughts (`?`), of text and of the end (`.`, `-` where it is cut) of one choice, and of all of it.
    fn told(pieces: &[&str]) -> String {
        told_with(false, pieces)
    }

    fn told_with(has_room: bool, pieces: &[&str]) -> String {
        let form = Thoughts {
            open: "<|open|>".to_owned(),
            close: "<|close|>".to_owned(),
            after: vec!["<|answer|>".to_owned()],
            is_several: false,
            begin: Begin::Before,
        };
        let plan = Plan {
            has_room,
            marks: Some(Arc::new(form)),
            ..Plan::new(Rewrap::Keep)
        };
        let (mut all, mut out) = (AllContent::new(Arc::new(plan)), Vec::new());
        for piece in pieces {
            let delta = |delta| Event::Delta { choice: 0, delta };
            let event = match piece.strip_prefix('?') {
                Some(text) => thoughts(0, text.to_owned()),
                None if *piece == "." => delta(Delta::Finish(FinishReason::Stop)),
                None if *piece == "-" => delta(Delta::Finish(FinishReason::Length)),
                None => delta(Delta::Text((*piece).to_owned())),
            };
            out.extend(all.take(event));
        }
        out.extend(all.end());
        let told = out.iter().map(|event| match event {
            Event::Reasoning { text, .. } => format!("?{text} "),
            Event::Delta {
                delta: Delta::Text(text),
                ..
            } => format!("{text} "),
            _ => ". ".to_owned(),
        });
        told.collect()
    }

    #[test]
    fn what_comes_alone_is_content_and_what_comes_before_content_is_thoughts() {
        assert_eq!(told(&["?a", "?b", "."]), "ab . ");
        assert_eq!(told(&["?a", "", "?b", "c", "?d", "."]), " ?ab c ?d . ");
        assert_eq!(told(&["?a"]), "a ");
        assert_eq!(told(&["a", "."]), "a . ");
        assert_eq!(told(&["?a", "-"]), "a . ");
        assert_eq!(told(&["?<|op", "?en|>a", "."]), "a . ");
        assert_eq!(told(&["?<|answer|>a", "."]), "a . ");
        assert_eq!(told(&["?<|open|>a"]), "a ");
        assert_eq!(told(&["?<|open|>a", "b", "."]), "?<|open|>a b . ");
    }

    #[test]
    fn what_is_cut_where_thoughts_have_room_is_thoughts() {
        assert_eq!(told_with(true, &["?a", "-"]), "?a . ");
        assert_eq!(told_with(true, &["?a", "."]), "a . ");
        assert_eq!(told_with(true, &["?a", "b", "-"]), "?a b . ");
    }

    #[test]
    fn what_is_too_long_to_be_held_is_content_and_so_is_what_follows() {
        let long = format!("?{}", "x".repeat(MAX_HELD_BYTES + 1));
        let all = told(&[&long, "?y", "z", "."]);
        assert!(!all.contains('?') && all.ends_with("x y z . "));
    }
}
