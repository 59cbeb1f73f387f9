//! The events of a request's jobs come in; the reply goes out, whole or as server-sent events, in
//! the shape of Chat Completions or of Completions.
//!
//! Chat is written by [`isogloss_core::dialect::chat`]; Completions follows the same habits of clients: `id`,
//! `object`, `created` and `model` on every chunk, an error in the middle of a stream as one event
//! without `[DONE]` after it.

mod chat;
mod logprobs;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
mod wire;

use super::job::{Chosen, Event, Finish, Usage};
use super::think::ThinkSplitter;
use super::vocabulary::Vocabulary;
use chat::Chunks;
use isogloss_core::dialect::chat::client::error_event;
use isogloss_core::error::Error;
use isogloss_core::ir::Delta;
use isogloss_core::sse;
use logprobs::Logprobs;
use wire::{Reply, TextChoice, UsageWire};

/// Whose shape a reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Chat Completions.
    Chat,
    /// Completions.
    Completion,
}

/// What every part of a reply says.
#[derive(Debug, Clone)]
pub struct Head {
    /// Whose shape it has.
    pub shape: Shape,
    /// Its id.
    pub id: String,
    /// Unix seconds.
    pub created: u64,
    /// The model's name.
    pub model: String,
    /// What computes: answers of the same seed differ only where this does.
    pub fingerprint: String,
    /// Whether a stream ends with a chunk that counts tokens.
    pub include_usage: bool,
    /// Whether its first chunk with a text tells the prompt's.
    pub counts_first: bool,
}

/// One choice, as its events come.
#[derive(Debug)]
struct Progress {
    splitter: ThinkSplitter,
    /// Characters of the tokens told so far.
    offset: usize,
    finish: Option<Finish>,
    /// Tokens of its thoughts so far.
    thoughts: u32,
}

impl Progress {
    const fn new(splitter: ThinkSplitter) -> Self {
        Self {
            splitter,
            offset: 0,
            finish: None,
            thoughts: 0,
        }
    }

    /// Takes more text, of so many tokens.
    fn push(&mut self, text: &str, tokens: u32, out: &mut Vec<Delta>) {
        let was_thinking = self.splitter.is_thinking();
        self.splitter.push(text, out);
        if was_thinking || self.splitter.is_thinking() {
            self.thoughts = self.thoughts.saturating_add(tokens);
        }
    }
}

/// What the answers of one reply took together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Total(pub Usage);

impl Total {
    /// Adds an answer. Those of one prompt are one prompt: `is_first` of its answers.
    fn add(&mut self, usage: &Usage, is_first: bool) {
        let total = &mut self.0;
        if is_first {
            total.prompt = total.prompt.saturating_add(usage.prompt);
            total.cached = total.cached.saturating_add(usage.cached);
        }
        total.completion = total.completion.saturating_add(usage.completion);
        total.thoughts = total.thoughts.saturating_add(usage.thoughts);
        total.forced = total.forced.saturating_add(usage.forced);
        total.steered = total.steered.saturating_add(usage.steered);
        total.unplanned = total.unplanned.saturating_add(usage.unplanned);
        total.mask_micros = total.mask_micros.saturating_add(usage.mask_micros);
    }
}

/// Writes a reply as it comes.
#[derive(Debug)]
pub struct Streamed {
    head: Head,
    /// Where it is a chat.
    chat: Option<Chunks>,
    /// Where log probabilities are told: the names of their tokens.
    words: Option<Vocabulary>,
    /// Choices of one prompt.
    n: usize,
    choices: Vec<Progress>,
    total: Total,
    is_over: bool,
}

impl Streamed {
    /// A reply of these choices, `n` for each prompt.
    #[must_use]
    pub fn new(
        head: Head,
        words: Option<Vocabulary>,
        n: usize,
        choices: Vec<ThinkSplitter>,
    ) -> Self {
        Self {
            chat: (head.shape == Shape::Chat).then(|| Chunks::new(&head)),
            head,
            words,
            n: n.max(1),
            choices: choices.into_iter().map(Progress::new).collect(),
            total: Total::default(),
            is_over: false,
        }
    }

    /// What is sent before the first event.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(chat) = &mut self.chat {
            (0..self.choices.len()).for_each(|index| chat.begin(index, out));
        }
    }

    /// Takes an event of a choice, appends what is sent of it. After the last one it ends the
    /// stream.
    pub fn event(&mut self, index: usize, event: Event, out: &mut Vec<u8>) {
        let Some(choice) = self.choices.get_mut(index).filter(|_| !self.is_over) else {
            return;
        };
        match event {
            Event::Started { prompt, cached } => {
                if let Some(chat) = self.chat.as_mut().filter(|_| self.head.counts_first) {
                    let usage = Usage {
                        prompt,
                        cached,
                        ..Usage::default()
                    };
                    chat.counts(UsageWire::of(&usage));
                }
            }
            Event::Text {
                text,
                chosen,
                tokens,
            } => self.text(index, &text, tokens, &chosen, out),
            Event::Finished { reason, mut usage } => {
                choice.finish = Some(reason);
                usage.thoughts = choice.thoughts;
                self.total.add(&usage, index.is_multiple_of(self.n));
                self.finish(index, reason, out);
            }
            Event::Failed(error) => self.fail(&error, out),
        }
    }

    /// Ends the stream with an error.
    pub fn fail(&mut self, error: &Error, out: &mut Vec<u8>) {
        if !self.is_over {
            out.extend_from_slice(&error_event(error));
            self.is_over = true;
        }
    }

    /// Whether the stream has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    fn text(
        &mut self,
        index: usize,
        text: &str,
        tokens: u32,
        chosen: &[Chosen],
        out: &mut Vec<u8>,
    ) {
        let choice = &mut self.choices[index];
        let mut deltas = Vec::new();
        choice.push(text, tokens, &mut deltas);
        if deltas.is_empty() && chosen.is_empty() {
            return;
        }
        if let Some(chat) = &mut self.chat {
            let words = self.words.as_ref();
            let logprobs = words.map(|words| logprobs::chat(chosen, words));
            chat.say(index, deltas, logprobs.unwrap_or_default(), out);
            return;
        }
        let mut part = TextChoice::of(index, join(deltas));
        if let Some(words) = &self.words {
            part.logprobs = Some(Logprobs::of(chosen, words, &mut choice.offset));
        }
        self.chunk(&[part], out);
    }

    fn finish(&mut self, index: usize, reason: Finish, out: &mut Vec<u8>) {
        let mut deltas = Vec::new();
        self.choices[index].splitter.finish(&mut deltas);
        if let Some(chat) = &mut self.chat {
            deltas.push(chat::finish(reason));
            chat.say(index, deltas, Vec::new(), out);
        } else {
            let mut part = TextChoice::of(index, join(deltas));
            part.finish_reason = Some(reason);
            self.chunk(&[part], out);
        }
        if self.choices.iter().any(|choice| choice.finish.is_none()) {
            return;
        }
        self.is_over = true;
        let usage = UsageWire::of(&self.total.0);
        if let Some(chat) = &mut self.chat {
            chat.end(usage, out);
            return;
        }
        if self.head.include_usage {
            let none: &[TextChoice] = &[];
            sse::encode(
                &Reply::chunk(&self.head, none, Some(Some(usage))).to_json(),
                out,
            );
        }
        out.extend_from_slice(sse::DONE);
    }

    /// With usage wanted, OpenAI's chunks before the last have it as null.
    fn chunk(&self, choices: &[TextChoice], out: &mut Vec<u8>) {
        let usage = self.head.include_usage.then_some(None);
        sse::encode(&Reply::chunk(&self.head, choices, usage).to_json(), out);
    }
}

/// Gathers a reply that is sent whole.
#[derive(Debug)]
pub struct Whole {
    head: Head,
    /// Where log probabilities are told: the names of their tokens.
    words: Option<Vocabulary>,
    n: usize,
    choices: Vec<Gathered>,
    total: Total,
}

#[derive(Debug)]
struct Gathered {
    progress: Progress,
    deltas: Vec<Delta>,
    chosen: Vec<Chosen>,
}

impl Whole {
    /// A reply of these choices, `n` for each prompt.
    #[must_use]
    pub fn new(
        head: Head,
        words: Option<Vocabulary>,
        n: usize,
        choices: Vec<ThinkSplitter>,
    ) -> Self {
        let gathered = |splitter| Gathered {
            progress: Progress::new(splitter),
            deltas: Vec::new(),
            chosen: Vec::new(),
        };
        Self {
            head,
            words,
            n: n.max(1),
            choices: choices.into_iter().map(gathered).collect(),
            total: Total::default(),
        }
    }

    /// Takes an event of a choice.
    ///
    /// # Errors
    /// The choice failed, and the reply with it.
    pub fn event(&mut self, index: usize, event: Event) -> Result<(), Error> {
        let Some(choice) = self.choices.get_mut(index) else {
            return Ok(());
        };
        let Gathered {
            progress,
            deltas,
            chosen,
        } = choice;
        match event {
            Event::Started { .. } => {}
            Event::Text {
                text,
                chosen: more,
                tokens,
            } => {
                progress.push(&text, tokens, deltas);
                chosen.extend(more);
            }
            Event::Finished { reason, mut usage } => {
                usage.thoughts = progress.thoughts;
                progress.splitter.finish(deltas);
                progress.finish = Some(reason);
                self.total.add(&usage, index.is_multiple_of(self.n));
            }
            Event::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// What the answers took together.
    #[must_use]
    pub const fn total(&self) -> &Usage {
        &self.total.0
    }

    /// The reply's body.
    #[must_use]
    pub fn body(self) -> Vec<u8> {
        let usage = UsageWire::of(&self.total.0);
        if self.head.shape == Shape::Chat {
            let choices = self.choices.into_iter().map(|mut choice| {
                choice
                    .deltas
                    .extend(choice.progress.finish.map(chat::finish));
                let words = self.words.as_ref();
                let logprobs = words.map(|words| logprobs::chat(&choice.chosen, words));
                (choice.deltas, logprobs.unwrap_or_default())
            });
            return chat::whole(&self.head, choices.collect(), usage);
        }
        let choices: Vec<_> = (self.choices.into_iter().enumerate())
            .map(|(index, choice)| {
                let mut part = TextChoice::of(index, join(choice.deltas));
                part.finish_reason = choice.progress.finish;
                if let Some(words) = &self.words {
                    part.logprobs = Some(Logprobs::of(&choice.chosen, words, &mut 0));
                }
                part
            })
            .collect();
        Reply::whole(&self.head, &choices, usage).to_json()
    }
}

/// All text, whatever it is.
fn join(deltas: Vec<Delta>) -> String {
    deltas
        .into_iter()
        .map(|delta| match delta {
            Delta::Text(text) | Delta::Reasoning(text) => text,
            _ => String::new(),
        })
        .collect()
}
