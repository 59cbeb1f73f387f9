//! Chosen tokens to log probabilities, in the shapes of Chat Completions and of Completions.

use crate::job::{Chosen, TokenLogprob};
use crate::vocabulary::{Token, Vocabulary};
use isogloss_core::ir::raw;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What JSON has no number for, as vLLM writes it.
const LEAST: f32 = -9999.0;

/// Those of a completion, as the old arrays.
#[derive(Serialize)]
pub(super) struct Logprobs {
    tokens: Vec<String>,
    token_logprobs: Vec<f32>,
    top_logprobs: Vec<Map<String, Value>>,
    text_offset: Vec<usize>,
}

#[derive(Serialize)]
struct ChatToken {
    #[serde(flatten)]
    chosen: ChatLogprob,
    top_logprobs: Vec<ChatLogprob>,
}

#[derive(Serialize)]
struct ChatLogprob {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
}

impl ChatLogprob {
    fn of(told: &TokenLogprob, vocabulary: &Vocabulary) -> Self {
        Self {
            token: shown(told.token, vocabulary),
            logprob: finite(told.logprob),
            bytes: vocabulary.name(told.token).to_vec(),
        }
    }
}

/// Those of a chat, an entry a token.
pub(super) fn chat(chosen: &[Chosen], vocabulary: &Vocabulary) -> Vec<Box<RawValue>> {
    let token = |chosen: &Chosen| ChatToken {
        chosen: ChatLogprob::of(&chosen.token, vocabulary),
        top_logprobs: (chosen.top.iter())
            .map(|told| ChatLogprob::of(told, vocabulary))
            .collect(),
    };
    chosen.iter().map(|chosen| raw(&token(chosen))).collect()
}

impl Logprobs {
    /// `offset`: characters of the tokens before these; moved on.
    pub(super) fn of(chosen: &[Chosen], vocabulary: &Vocabulary, offset: &mut usize) -> Self {
        let tokens: Vec<String> = (chosen.iter())
            .map(|chosen| shown(chosen.token.token, vocabulary))
            .collect();
        let text_offset = (tokens.iter())
            .map(|token| {
                let begin = *offset;
                *offset = offset.saturating_add(token.chars().count());
                begin
            })
            .collect();
        // The token itself is always among the likeliest, as OpenAI has it.
        let top = |chosen: &Chosen| {
            let mut top = Map::new();
            for told in chosen.top.iter().chain([&chosen.token]) {
                top.entry(shown(told.token, vocabulary))
                    .or_insert_with(|| Value::from(finite(told.logprob)));
            }
            top
        };
        Self {
            tokens,
            token_logprobs: (chosen.iter())
                .map(|chosen| finite(chosen.token.logprob))
                .collect(),
            top_logprobs: chosen.iter().map(top).collect(),
            text_offset,
        }
    }
}

fn finite(logprob: f32) -> f32 {
    if logprob.is_finite() {
        logprob.max(LEAST)
    } else {
        LEAST
    }
}

/// Control tokens by their names: they are no text, but were chosen.
fn shown(token: Token, vocabulary: &Vocabulary) -> String {
    String::from_utf8_lossy(vocabulary.name(token)).into_owned()
}
