//! Thoughts before an answer, in the text: they are taken off the text as it comes, in whatever pieces.

use crate::ir::{Begin, Thoughts};
use std::sync::Arc;

/// More white space than this before anything else begins no thought.
const MAX_BLANK_BYTES: usize = 4 << 10;

/// Thoughts that may be none are held up to here: what is longer without an end is the answer.
const MAX_UNSURE_BYTES: usize = 1 << 20;

/// Takes thoughts off the beginning of a text.
#[derive(Debug, Clone)]
pub(super) struct Splitter {
    thoughts: Arc<Thoughts>,
    state: State,
    /// What it is not known of yet what it is.
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space has come.
    Start,
    /// Behind what opens them, before the first line that is not empty.
    Opened,
    /// Within them, or in the answer: so many bytes were looked at.
    Unsure(usize),
    /// Within them.
    Inside,
    /// Behind them: this many of `after` are done with.
    After(usize),
    /// In the answer.
    Over,
}

/// What a piece of text says: thoughts, then answer; either may be empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) thought: String,
    pub(super) text: String,
}

impl Splitter {
    pub(super) const fn new(thoughts: Arc<Thoughts>) -> Self {
        Self {
            thoughts,
            state: State::Start,
            held: String::new(),
        }
    }

    /// The same where they are over already.
    pub(super) fn behind(self) -> Self {
        Self {
            state: State::After(0),
            ..self
        }
    }

    /// Whether all that follows is the answer.
    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether nothing has come.
    pub(super) fn is_at_start(&self) -> bool {
        self.state == State::Start && self.held.is_empty()
    }

    pub(super) fn push(&mut self, text: &str) -> Split {
        let mut said = Split::default();
        self.held.push_str(text);
        while self.step(&mut said) {}
        said
    }

    /// The text ends here: what is held is what it looks like. `is_within` is whether it ends within thoughts, if nothing ended them.
    pub(super) fn finish(&mut self, is_within: bool) -> Split {
        let held = std::mem::take(&mut self.held);
        let mut said = Split::default();
        let is_thought = match self.thoughts.begin {
            Begin::Before => false,
            Begin::Inside => true,
            Begin::Perhaps => is_within,
        };
        match self.state {
            State::Start | State::Unsure(_) if is_thought => {
                held.trim().clone_into(&mut said.thought);
            }
            State::Start | State::Unsure(_) | State::Over => said.text = held,
            State::Opened | State::Inside => held.trim_end().clone_into(&mut said.thought),
            State::After(_) => held.trim_start_matches('\n').clone_into(&mut said.text),
        }
        self.state = State::Over;
        said
    }

    /// Goes on as far as it can in one state; whether the state changed.
    fn step(&mut self, said: &mut Split) -> bool {
        match self.state {
            State::Start => self.start(),
            State::Opened => {
                let blank = self.held.len() - self.held.trim_start().len();
                self.held.drain(..blank);
                let goes_on = !self.held.is_empty();
                if goes_on {
                    self.state = State::Inside;
                }
                goes_on
            }
            State::Unsure(searched) => self.unsure(searched),
            State::Inside => self.inside(said),
            State::After(done) => self.after(done),
            State::Over => {
                said.text.push_str(&std::mem::take(&mut self.held));
                false
            }
        }
    }

    fn start(&mut self) -> bool {
        let Thoughts { open, begin, .. } = &*self.thoughts;
        let text = self.held.trim_start();
        let is_blank = text.is_empty();
        if let Some(rest) = text.strip_prefix(open.as_str()) {
            self.held = rest.to_owned();
            self.state = State::Opened;
        } else if open.starts_with(text) && !(is_blank && self.held.len() > MAX_BLANK_BYTES) {
            return false;
        } else {
            self.state = match begin {
                Begin::Before => State::Over,
                Begin::Inside => State::Opened,
                Begin::Perhaps => State::Unsure(0),
            };
        }
        true
    }

    /// Looks for the end of thoughts of which nothing else tells that they are there.
    fn unsure(&mut self, searched: usize) -> bool {
        let close = &self.thoughts.close;
        // What was looked at may end with the beginning of the mark.
        let from = (searched.saturating_sub(close.len())..=searched)
            .find(|at| self.held.is_char_boundary(*at))
            .unwrap_or(0);
        // Thoughts begin in words.
        let is_answer = self.held.trim_start().starts_with(['{', '[']);
        self.state = match self.held[from..].contains(close.as_str()) {
            _ if is_answer => State::Over,
            true => State::Opened,
            false if self.held.len() > MAX_UNSURE_BYTES => State::Over,
            false => State::Unsure(self.held.len()),
        };
        matches!(self.state, State::Opened | State::Over)
    }

    fn inside(&mut self, said: &mut Split) -> bool {
        let close = &self.thoughts.close;
        if let Some(at) = self.held.find(close.as_str()) {
            said.thought.push_str(self.held[..at].trim_end());
            self.held.drain(..at + close.len());
            self.state = State::After(0);
            return true;
        }
        // The longest end that may begin the mark, and the white space before it.
        let begun = (1..close.len())
            .rev()
            .filter(|length| close.is_char_boundary(*length))
            .find(|length| self.held.ends_with(&close[..*length]))
            .unwrap_or(0);
        let known = self.held[..self.held.len() - begun].trim_end().len();
        // Models run on in space: it is not held for ever.
        let known = match self.held.len() - known > MAX_BLANK_BYTES {
            true => self.held.len() - begun,
            false => known,
        };
        said.thought.push_str(&self.held[..known]);
        self.held.drain(..known);
        false
    }

    /// Empty lines, and marks that some models set before their answer; or more thoughts, of which some gateways make a block each.
    fn after(&mut self, done: usize) -> bool {
        let text = self.held.trim_start_matches('\n');
        self.held.drain(..self.held.len() - text.len());
        let open = self.thoughts.open.as_str();
        let may_be_more = done == 0 && self.thoughts.is_several;
        if may_be_more && self.held.starts_with(open) {
            self.held.drain(..open.len());
            self.state = State::Inside;
            return true;
        }
        if may_be_more && open.starts_with(self.held.as_str()) {
            return false;
        }
        let Some(mark) = self.thoughts.after.get(done) else {
            let goes_on = !self.held.is_empty();
            if goes_on {
                self.state = State::Over;
            }
            return goes_on;
        };
        if self.held.starts_with(mark.as_str()) {
            self.held.drain(..mark.len());
        } else if mark.starts_with(self.held.as_str()) {
            return false;
        }
        self.state = State::After(done + 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(open: &str, close: &str, after: &[&str], begin: Begin) -> Arc<Thoughts> {
        Arc::new(Thoughts {
            open: open.to_owned(),
            close: close.to_owned(),
            after: after.iter().map(|&mark| mark.to_owned()).collect(),
            is_several: false,
            begin,
        })
    }

    /// Thoughts and answer of a text in two pieces, cut anywhere, and in single characters.
    fn splits(thoughts: &Arc<Thoughts>, text: &str) -> Vec<(String, String)> {
        let cut = |at: usize| vec![&text[..at], &text[at..]];
        let mut all: Vec<Vec<&str>> = (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .map(cut)
            .collect();
        all.push(text.split_inclusive(|_: char| true).collect());
        let read = |pieces: Vec<&str>| {
            let mut splitter = Splitter::new(Arc::clone(thoughts));
            let mut said: Vec<Split> = pieces.iter().map(|piece| splitter.push(piece)).collect();
            said.push(splitter.finish(false));
            let thought = said.iter().map(|said| said.thought.as_str()).collect();
            let text = said.iter().map(|said| said.text.as_str()).collect();
            (thought, text)
        };
        all.into_iter().map(read).collect()
    }

    #[test]
    fn thoughts_are_the_same_wherever_the_text_is_cut() {
        let think = form("<think>", "</think>", &[], Begin::Before);
        let several = Arc::new(Thoughts {
            is_several: true,
            ..(*think).clone()
        });
        let inside = form("<think>", "</think>", &[], Begin::Inside);
        let perhaps = form("<think>", "</think>", &[], Begin::Perhaps);
        let kimi = form("◁think▷", "◁/think▷", &[], Begin::Before);
        let harmony = form(
            "<|channel|>analysis<|message|>",
            "<|end|>",
            &["<|start|>assistant", "<|channel|>final<|message|>"],
            Begin::Before,
        );
        for (form, text, thought, answer) in [
            (
                &think,
                "<think>\nhm\n</think>\n\n{\"a\": 1}",
                "hm",
                "{\"a\": 1}",
            ),
            (&think, "\n <think>a\n\nb</think>yes", "a\n\nb", "yes"),
            (&think, "<think>\n\n</think>\n\nyes\n", "", "yes\n"),
            (&think, "no <think>hm</think>", "", "no <think>hm</think>"),
            (&think, " <thin air", "", " <thin air"),
            (&think, "<thi", "", "<thi"),
            (&think, "", "", ""),
            (&think, "<think>never ends </thi", "never ends </thi", ""),
            (
                &think,
                "<think>a </thing> b</think> c",
                "a </thing> b",
                " c",
            ),
            (&think, "<think>a</think>b</think>", "a", "b</think>"),
            (
                &think,
                "<think>a</think><think> is a tag",
                "a",
                "<think> is a tag",
            ),
            (
                &several,
                "<think>a</think><think> b</think>\n<think>c</think>d <think>e</think>",
                "a bc",
                "d <think>e</think>",
            ),
            (&think, "<think>a</think><thin", "a", "<thin"),
            (&think, "only </think> later", "", "only </think> later"),
            (&inside, "hm\n</think>\n\nyes", "hm", "yes"),
            (&inside, "<think>hm</think>yes", "hm", "yes"),
            (&inside, "\n\n</think>yes", "", "yes"),
            (&perhaps, "hm ü\n</think>\n\nyes", "hm ü", "yes"),
            (&perhaps, "<think>hm</think>yes", "hm", "yes"),
            (&perhaps, "\n</think>yes", "", "yes"),
            (&perhaps, "yes </thin", "", "yes </thin"),
            (&perhaps, "", "", ""),
            (&kimi, "◁think▷hm◁/think▷ja", "hm", "ja"),
            (&kimi, "◁think▷◁/◁/think▷ja", "◁/", "ja"),
            (
                &harmony,
                "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes",
                "hm",
                "yes",
            ),
            (
                &harmony,
                "<|channel|>analysis<|message|>hm<|end|>yes",
                "hm",
                "yes",
            ),
            (
                &harmony,
                "<|channel|>analysis<|message|>hm<|end|><|sta",
                "hm",
                "<|sta",
            ),
        ] {
            for got in splits(form, text) {
                assert_eq!(got, (thought.to_owned(), answer.to_owned()), "{text:?}");
            }
        }
    }

    #[test]
    fn nothing_waits_longer_than_it_must() {
        let mut splitter = Splitter::new(form("<think>", "</think>", &[], Begin::Before));
        assert_eq!(splitter.push("<think>\nlet me").thought, "let me");
        assert_eq!(splitter.push(" see\n</th").thought, " see");
        assert_eq!(splitter.push("ink>\n\nyes").text, "yes");
        assert!(splitter.is_over());
        let mut splitter = Splitter::new(form("<think>", "</think>", &[], Begin::Before));
        assert_eq!(splitter.push("y").text, "y");
        let mut blank = Splitter::new(form("<think>", "</think>", &[], Begin::Before));
        let said: usize = (0..100)
            .map(|_| blank.push(&" ".repeat(1000)).text.len())
            .sum();
        assert!(said > 90_000, "{said}");
        let mut within = Splitter::new(form("<think>", "</think>", &[], Begin::Before));
        within.push("<think>a");
        let said: usize = (0..100)
            .map(|_| within.push(&" ".repeat(1000)).thought.len())
            .sum();
        assert!(said > 90_000, "{said}");
        let mut unsure = Splitter::new(form("<think>", "</think>", &[], Begin::Perhaps));
        assert_eq!(unsure.push("let me"), Split::default());
        let said: usize = (0..2000)
            .map(|_| unsure.push(&"a".repeat(1000)).text.len())
            .sum();
        assert_eq!(said, 2_000_006);
    }
}
