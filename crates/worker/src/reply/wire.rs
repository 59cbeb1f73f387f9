//! The JSON of replies in the shape of Completions.

use super::Head;
use super::logprobs::Logprobs;
use crate::job::{Finish, Usage};
use serde::{Serialize, Serializer};

#[derive(Serialize)]
pub(super) struct Reply<'a, C> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    system_fingerprint: &'a str,
    choices: &'a [C],
    /// Absent, null, or there.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<UsageWire>>,
}

impl<'a, C: Serialize> Reply<'a, C> {
    pub(super) fn chunk(
        head: &'a Head,
        choices: &'a [C],
        usage: Option<Option<UsageWire>>,
    ) -> Self {
        Self::of(head, choices, usage)
    }

    pub(super) fn whole(head: &'a Head, choices: &'a [C], usage: UsageWire) -> Self {
        Self::of(head, choices, Some(Some(usage)))
    }

    fn of(head: &'a Head, choices: &'a [C], usage: Option<Option<UsageWire>>) -> Self {
        Self {
            id: &head.id,
            object: "text_completion",
            created: head.created,
            model: &head.model,
            system_fingerprint: &head.fingerprint,
            choices,
            usage,
        }
    }

    /// Nothing in it can fail to be written: there are no maps but of strings, and no number
    /// that is none.
    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct UsageWire {
    prompt_tokens: u32,
    completion_tokens: u32,
    total_tokens: u32,
    prompt_tokens_details: PromptDetails,
    /// Where there are thoughts, or what was steered.
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct PromptDetails {
    cached_tokens: u32,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct CompletionDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u32>,
    /// Chosen so that the answer ends in time, where the model liked others.
    #[serde(skip_serializing_if = "Option::is_none")]
    steered_tokens: Option<u32>,
}

impl UsageWire {
    pub(super) fn of(usage: &Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt,
            completion_tokens: usage.completion,
            total_tokens: usage.prompt.saturating_add(usage.completion),
            prompt_tokens_details: PromptDetails {
                cached_tokens: usage.cached,
            },
            completion_tokens_details: (usage.thoughts > 0 || usage.steered > 0).then_some(
                CompletionDetails {
                    reasoning_tokens: (usage.thoughts > 0).then_some(usage.thoughts),
                    steered_tokens: (usage.steered > 0).then_some(usage.steered),
                },
            ),
        }
    }
}

/// A choice of a completion, the same in chunks and in whole replies.
#[derive(Serialize)]
pub(super) struct TextChoice {
    index: usize,
    text: String,
    pub(super) logprobs: Option<Logprobs>,
    #[serde(serialize_with = "finish_word")]
    pub(super) finish_reason: Option<Finish>,
}

impl TextChoice {
    pub(super) const fn of(index: usize, text: String) -> Self {
        Self {
            index,
            text,
            logprobs: None,
            finish_reason: None,
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands the field over by reference")]
fn finish_word<S: Serializer>(finish: &Option<Finish>, serializer: S) -> Result<S::Ok, S::Error> {
    match finish {
        None => serializer.serialize_none(),
        Some(Finish::Stop) => serializer.serialize_str("stop"),
        Some(Finish::Length) => serializer.serialize_str("length"),
    }
}
