//! Whether a server read all of a prompt: what it counts is held against what was sent.

use super::{Demand, Fault};
use crate::error::{Error, Kind};
use crate::ir::{Part, Role, Usage};
use crate::rules::Rule;

/// The fewest tokens that the prompt of a request can have; `None` where the server is not known to cut, or nothing is
/// demanded that would be lost.
///
/// Tokens end where words do in all tokenizers in use, so that a prompt has no fewer than words; a quarter less is
/// asked for, since some have tokens for a few frequent pairs. What a model said is left out: chat templates drop the
/// thoughts in it.
pub(super) fn least_tokens(demand: &Demand, rule: &Rule) -> Option<u64> {
    if !rule.context.cuts || demand.contract.is_empty() {
        return None;
    }
    let turns = demand.client.turns(&demand.request).ok()?;
    let said = turns.iter().filter(|turn| turn.role != Role::Assistant);
    let texts = said
        .flat_map(|turn| &turn.parts)
        .filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Data { .. } | Part::Link { .. } | Part::Document { .. } | Part::Opaque { .. } => {
                None
            }
        });
    let is_word = |word: &&str| word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let words = texts.map(|text| text.split_ascii_whitespace().filter(is_word).count());
    let words = words.sum::<usize>() as u64;
    Some(words / 4 * 3)
}

/// # Errors
/// The server read less than that of the prompt.
pub(super) fn check(least: Option<u64>, usage: &Usage) -> Result<(), Fault> {
    match least {
        // Nothing is no count.
        Some(least) if 0 < usage.prompt && usage.prompt < least => {
            let message = format!(
                "the server read {} tokens of a prompt that has at least {least}: it cut off the beginning, and the \
                 instructions and tools with it. Send less, or give the model a longer context (Ollama: \
                 OLLAMA_CONTEXT_LENGTH, or `num_ctx` of the model)",
                usage.prompt
            );
            Err(Fault::Error(Error::new(Kind::ContextLength, message)))
        }
        _ => Ok(()),
    }
}
