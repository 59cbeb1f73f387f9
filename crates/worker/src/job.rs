//! Jobs: what the scheduler is asked to generate, and what it tells on the way.

use super::backend::Matcher;
use super::media::Sequence;
use super::vocabulary::Token;
use isogloss_core::error::Error;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Events that wait for their reader: more than an answer can have, which is its tokens and a few.
/// Sending never waits.
const MAX_EVENTS: usize = 1 << 20;

/// What an answer's events go through.
#[must_use]
pub fn events() -> (Sender<Event>, Receiver<Event>) {
    channel(MAX_EVENTS)
}

/// How the next token is chosen. Names and meanings are those of OpenAI's and vLLM's fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// The likeliest tokens whose probabilities add up to this; 1 for all.
    pub top_p: f32,
    /// So many of the likeliest tokens; 0 for all.
    pub top_k: u32,
    /// Tokens at least this likely, as a share of the likeliest one's probability; 0 for all.
    pub min_p: f32,
    /// Off the logit of each token that occurred in the answer, once.
    pub presence_penalty: f32,
    /// Off the logit of each token that occurred in the answer, as often as it did.
    pub frequency_penalty: f32,
    /// Divides (or, below zero, multiplies) the logit of each token that occurred in the prompt
    /// or the answer; 1 for nothing.
    pub repetition_penalty: f32,
    /// Added to the logits of these tokens.
    pub logit_bias: Vec<(Token, f32)>,
    /// The same seed, request and build give the same answer.
    pub seed: Option<u64>,
    /// Whether each token's log probability is told, and how many of the likeliest beside it.
    pub logprobs: Option<u32>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            logit_bias: Vec::new(),
            seed: None,
            logprobs: None,
        }
    }
}

/// When an answer ends, beside the model's own end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Tokens of the answer; without it, as many as the context window holds.
    pub max_tokens: Option<u32>,
    /// Without `max_tokens`, a quarter of what the prompt leaves of the window is left to the next turn.
    pub leaves_a_quarter: bool,
    /// The answer ends before the first of these texts.
    pub stop: Vec<String>,
    /// The model's own end does not end the answer (vLLM's `ignore_eos`); a constraint's does.
    pub ignore_end: bool,
    /// The answer does not end before it began, unless a constraint's does.
    pub is_said: bool,
    /// The answer is free text in which tags may stand: no stop text ends it within one, which nobody could read then.
    pub spares_tags: bool,
}

/// One answer to be generated.
pub struct Job {
    /// The prompt, which ends with a token.
    pub prompt: Sequence,
    /// The way through the constraint, where there is one.
    pub matcher: Option<Box<dyn Matcher>>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// When the answer ends.
    pub limits: Limits,
    /// Where its events go. Closed: nobody wants the answer any more.
    pub events: Sender<Event>,
    /// What must live until the job is over, however long its events are read after that.
    pub holds: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("prompt", &self.prompt.len())
            .field("is_constrained", &self.matcher.is_some())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A token and how likely it was.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    /// The token.
    pub token: Token,
    /// Natural logarithm of its probability, of the distribution that the constraint allows,
    /// before temperature.
    pub logprob: f32,
}

/// One chosen token, told where it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The token.
    pub token: TokenLogprob,
    /// The likeliest ones in its place, likeliest first.
    pub top: Vec<TokenLogprob>,
}

/// What happens to a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Its prompt is being computed.
    Started {
        /// Tokens of the prompt.
        prompt: u32,
        /// Those of them that were computed already, for another request.
        cached: u32,
    },
    /// More of the answer. Characters are whole, and what may be the beginning of a stop text is
    /// held back until it is known.
    Text {
        /// The text; empty where only tokens are told.
        text: String,
        /// The tokens chosen since the last event, where log probabilities were asked for.
        chosen: Vec<Chosen>,
        /// How many tokens came since the last event.
        tokens: u32,
    },
    /// The answer is over. The last event.
    Finished {
        /// Why.
        reason: Finish,
        /// What it took.
        usage: Usage,
    },
    /// The answer cannot be given. The last event.
    Failed(Error),
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model or the constraint ended it, or a stop text came.
    Stop,
    /// `max_tokens`, or the context window is full.
    Length,
}

/// What an answer took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Those that were computed already, for another request.
    pub cached: u32,
    /// Tokens of the answer.
    pub completion: u32,
    /// Those of the answer that are thoughts; who takes the text apart counts them.
    pub thoughts: u32,
    /// Those of the answer that the constraint forced, without sampling.
    pub forced: u32,
    /// Those of the answer that stand where the model's own would have led past the last token that it might have, or on
    /// and on.
    pub steered: u32,
    /// Constrained answers that began though it was not known that they can be whole in time.
    pub unplanned: u32,
    /// Microseconds spent on masks.
    pub mask_micros: u64,
}
