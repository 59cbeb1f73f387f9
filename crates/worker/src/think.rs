//! An answer's text in pieces comes in; the same text as thinking and answer goes out.
//!
//! What stands in a leading `<think>…</think>`, or between a model's own [`ThinkTags`], is thinking. The tags go, with the line feeds that
//! models put around what is between them: Qwen's template strips `\n` on both sides when it shows
//! an answer again. What goes before the answer depends on what it must be: [`Lead`].
//!
//! Other models say everything in messages on channels, some of which are thinking: what stands around the messages goes.

use super::backend::Think;
use super::thoughts::ThinkTags;
use isogloss_core::ir::Delta;
use isogloss_core::markup::{Format, Piece, Reader, Tools};
use std::sync::Arc;

/// What stands between the closing tag and the answer, and is of neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lead {
    /// Line feeds: the answer is free text.
    #[default]
    Lines,
    /// Blanks and line feeds: the answer is JSON.
    Space,
    /// Nothing: a constraint says what each byte of the answer is.
    Nothing,
}

/// Takes thinking and answer apart.
#[derive(Debug)]
pub struct ThinkSplitter {
    state: State,
    lead: Lead,
    tags: ThinkTags,
    /// Text of which it is not known yet what it is: the beginning of a tag, or line feeds.
    held: String,
    messages: Option<Box<Messages>>,
}

/// Messages in a model's own markup, to whom no tool was shown.
#[derive(Debug)]
struct Messages {
    reader: Reader,
    /// The last that came was of a message that is thinking.
    is_thinking: bool,
}

impl Messages {
    fn say(&mut self, pieces: Vec<Piece>, out: &mut Vec<Delta>) {
        for piece in pieces {
            self.is_thinking = matches!(piece, Piece::Thought(_));
            match piece {
                Piece::Text(text) => say(Delta::Text, &text, out),
                Piece::Thought(text) => say(Delta::Reasoning, &text, out),
                // Without tools nothing is read as a call.
                Piece::Call { .. } | Piece::Input(_) | Piece::End | Piece::Broken { .. } => {}
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space has come: a tag may.
    Start,
    /// After the tag, before the first line that is not empty.
    ThinkStart,
    Think,
    /// After the closing tag, before the first line that is not empty.
    AnswerStart,
    Answer,
}

impl ThinkSplitter {
    /// At the beginning of an answer, of a model with these texts around its thoughts.
    #[must_use]
    pub const fn new(think: Think, lead: Lead, tags: ThinkTags) -> Self {
        Self {
            state: match think {
                Think::None => State::Answer,
                Think::Optional => State::Start,
                Think::Open => State::ThinkStart,
            },
            lead,
            tags,
            held: String::new(),
            messages: None,
        }
    }

    /// At the beginning of an answer of messages in this markup, by a model that was shown no tools.
    #[must_use]
    pub fn of_messages(format: &Arc<Format>) -> Self {
        let tools = Arc::new(Tools::default());
        let messages = Messages {
            reader: Reader::new(Arc::clone(format), tools),
            is_thinking: false,
        };
        Self {
            messages: Some(Box::new(messages)),
            ..Self::new(Think::None, Lead::Lines, ThinkTags::default())
        }
    }

    /// Whether what comes next may be thinking, and not the answer yet.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        let is_in_block = matches!(self.state, State::ThinkStart | State::Think);
        is_in_block || (self.messages.as_ref()).is_some_and(|messages| messages.is_thinking)
    }

    /// Takes the next piece of text; appends what is known now, no piece of it empty.
    pub fn push(&mut self, text: &str, out: &mut Vec<Delta>) {
        if let Some(messages) = &mut self.messages {
            let mut pieces = Vec::new();
            messages.reader.push(text, &mut pieces);
            messages.say(pieces, out);
            return;
        }
        if self.state == State::Answer {
            say(Delta::Text, text, out);
            return;
        }
        self.held.push_str(text);
        while self.step(out) {}
    }

    /// The answer is over: what was held back is what it looks like.
    pub fn finish(&mut self, out: &mut Vec<Delta>) {
        if let Some(messages) = &mut self.messages {
            let mut pieces = Vec::new();
            messages.reader.finish(true, &mut pieces);
            messages.say(pieces, out);
            return;
        }
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Start | State::Answer => say(Delta::Text, &held, out),
            State::ThinkStart | State::Think => {
                say(Delta::Reasoning, held.trim_matches('\n'), out);
            }
            State::AnswerStart => {}
        }
        self.state = State::Answer;
    }

    /// Goes on as far as it can in one state; whether the state changed.
    fn step(&mut self, out: &mut Vec<Delta>) -> bool {
        match self.state {
            State::Start => self.start(),
            State::ThinkStart => self.skip(&['\n'], State::Think),
            State::Think => self.think(out),
            State::AnswerStart => {
                let lead: &[char] = match self.lead {
                    Lead::Lines => &['\n'],
                    Lead::Space => &['\n', ' '],
                    Lead::Nothing => &[],
                };
                self.skip(lead, State::Answer)
            }
            State::Answer => {
                say(Delta::Text, &std::mem::take(&mut self.held), out);
                false
            }
        }
    }

    fn start(&mut self) -> bool {
        let text = self.held.trim_start();
        let open = self.tags.open();
        self.state = match text.strip_prefix(open) {
            Some(rest) => {
                self.held = rest.to_owned();
                State::ThinkStart
            }
            None if open.starts_with(text) => return false,
            None => State::Answer,
        };
        true
    }

    fn skip(&mut self, what: &[char], next: State) -> bool {
        let skipped = self.held.len() - self.held.trim_start_matches(what).len();
        self.held.drain(..skipped);
        let is_over = !self.held.is_empty();
        if is_over {
            self.state = next;
        }
        is_over
    }

    fn think(&mut self, out: &mut Vec<Delta>) -> bool {
        let close = self.tags.close();
        if let Some(at) = self.held.find(close) {
            say(
                Delta::Reasoning,
                self.held[..at].trim_end_matches('\n'),
                out,
            );
            self.held.drain(..at + close.len());
            self.state = State::AnswerStart;
            return true;
        }
        // The longest end that may be the beginning of the tag; line feeds before it may be those
        // before the tag.
        let begun = (1..close.len())
            .rev()
            .find(|length| {
                close.is_char_boundary(*length) && self.held.ends_with(&close[..*length])
            })
            .unwrap_or(0);
        let known = self.held[..self.held.len() - begun]
            .trim_end_matches('\n')
            .len();
        say(Delta::Reasoning, &self.held[..known], out);
        self.held.drain(..known);
        false
    }
}

fn say(what: fn(String) -> Delta, text: &str, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(what(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Thinking and answer, each put together, of a text that comes in pieces of so many bytes.
    fn split(think: Think, text: &str, bytes: usize) -> (String, String) {
        split_by(ThinkTags::default(), think, text, bytes)
    }

    fn split_by(tags: ThinkTags, think: Think, text: &str, bytes: usize) -> (String, String) {
        let mut splitter = ThinkSplitter::new(think, Lead::Lines, tags);
        let mut out = Vec::new();
        let mut piece = String::new();
        for character in text.chars() {
            piece.push(character);
            if piece.len() >= bytes {
                splitter.push(&std::mem::take(&mut piece), &mut out);
            }
        }
        splitter.push(&piece, &mut out);
        splitter.finish(&mut out);
        let (mut thought, mut answer) = (String::new(), String::new());
        for delta in out {
            match delta {
                Delta::Reasoning(text) => thought += &text,
                Delta::Text(text) => answer += &text,
                other => unreachable!("{other:?}"),
            }
        }
        (thought, answer)
    }

    #[test]
    fn the_split_is_the_same_wherever_the_text_is_cut() {
        use Think::{None, Open, Optional};
        for (think, text, thought, answer) in [
            (
                Optional,
                "<think>\nhm\n</think>\n\n{\"a\": 1}",
                "hm",
                "{\"a\": 1}",
            ),
            (Optional, "\n <think>hm</think>yes", "hm", "yes"),
            (Optional, "<think>\n\n</think>\n\nyes", "", "yes"),
            (Optional, "no <think>hm</think>", "", "no <think>hm</think>"),
            (Optional, " <thin air", "", " <thin air"),
            (Optional, "<thi", "", "<thi"),
            (Optional, "<think>a\n\nb </thi", "a\n\nb </thi", ""),
            (
                Optional,
                "<think>a </thing> b</think> c",
                "a </thing> b",
                " c",
            ),
            (Optional, "<think>a</think>b</think>", "a", "b</think>"),
            (Optional, "<think>ä<</think>ö", "ä<", "ö"),
            (Open, "\nhm\n</think>\n\nyes\n", "hm", "yes\n"),
            (Open, "never ends\n", "never ends", ""),
            (None, "<think>hm</think>yes", "", "<think>hm</think>yes"),
            (None, "\n\nyes", "", "\n\nyes"),
            (Optional, "", "", ""),
        ] {
            for bytes in 1..=text.len().max(1) {
                let (got_thought, got_answer) = split(think, text, bytes);
                assert_eq!(
                    (got_thought.as_str(), got_answer.as_str()),
                    (thought, answer),
                    "{think:?} {text:?} {bytes}"
                );
            }
        }
    }

    #[test]
    fn a_models_own_tags_are_split_at_wherever_the_text_is_cut() {
        let template = "{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}[THINK][/THINK]";
        let text = "[THINK]a [/THIN] </think>\n[/THINK]\n\nyes";
        for bytes in 1..=text.len() {
            let tags = ThinkTags::of_template(template);
            let (thought, answer) = split_by(tags, Think::Optional, text, bytes);
            assert_eq!(
                (&*thought, &*answer),
                ("a [/THIN] </think>", "yes"),
                "{bytes}"
            );
        }
    }

    #[test]
    fn nothing_of_what_stands_around_messages_is_text() {
        use isogloss_core::markup::Formats;
        let formats = Formats::builtin();
        let format = formats.by_name("harmony").unwrap();
        let said = |text: &str, bytes: usize| {
            let mut splitter = ThinkSplitter::of_messages(format);
            let mut out = Vec::new();
            let pieces: Vec<char> = text.chars().collect();
            for piece in pieces.chunks(bytes) {
                splitter.push(&piece.iter().collect::<String>(), &mut out);
            }
            splitter.finish(&mut out);
            let (mut thought, mut answer) = (String::new(), String::new());
            for delta in out {
                match delta {
                    Delta::Reasoning(text) => thought += &text,
                    Delta::Text(text) => answer += &text,
                    other => unreachable!("{other:?}"),
                }
            }
            (thought, answer)
        };
        for (text, thought, answer) in [
            ("<|channel|>final<|message|>It is late.", "", "It is late."),
            (
                "<|channel|>analysis<|message|>Late?<|end|><|start|>assistant<|channel|>final<|message|>\nYes.\n<|return|>",
                "Late?",
                "\nYes.\n",
            ),
            (
                "<|channel|>commentary to=functions.clock <|constrain|>json<|message|>{}<|call|>",
                "",
                "{}",
            ),
            ("<|channel|>analysis<|message|>It is cu", "It is cu", ""),
            (
                "<|channel|>final<|message|>Of <|channel|> and <|message|>: to=all, final.",
                "",
                "Of <|channel|> and <|message|>: to=all, final.",
            ),
            (
                "<|channel|>final<|message|>Hi<|end|><|start|>assi",
                "",
                "Hi",
            ),
            ("<|channel|>", "", ""),
            ("No message at all <|", "", "No message at all <|"),
        ] {
            for bytes in 1..=text.chars().count() {
                let expected = (thought.to_owned(), answer.to_owned());
                assert_eq!(said(text, bytes), expected, "{text} {bytes}");
            }
        }
    }

    #[test]
    fn what_goes_before_an_answer_depends_on_what_it_must_be() {
        for (lead, answer) in [
            (Lead::Lines, " \n7"),
            (Lead::Space, "7"),
            (Lead::Nothing, "\n \n7"),
        ] {
            let mut splitter = ThinkSplitter::new(Think::Optional, lead, ThinkTags::default());
            let mut out = Vec::new();
            splitter.push("<think>\nhm\n</think>", &mut out);
            splitter.push("\n \n7", &mut out);
            splitter.finish(&mut out);
            let (thought, answer) = ("hm".to_owned(), answer.to_owned());
            assert_eq!(
                out,
                [Delta::Reasoning(thought), Delta::Text(answer)],
                "{lead:?}"
            );
        }
    }

    #[test]
    fn text_goes_out_as_soon_as_it_is_known() {
        let mut splitter = ThinkSplitter::new(Think::Optional, Lead::Lines, ThinkTags::default());
        let mut out = Vec::new();
        splitter.push("<think>\nlet me", &mut out);
        assert_eq!(out, [Delta::Reasoning("let me".to_owned())]);
        splitter.push(" see\n</th", &mut out);
        assert_eq!(out[1], Delta::Reasoning(" see".to_owned()));
        splitter.push("ink>\n\nyes", &mut out);
        assert_eq!(out[2..], [Delta::Text("yes".to_owned())]);
    }
}
