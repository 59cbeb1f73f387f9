//! The prompts of a Completions request.

use super::{MAX_CHOICES, Source, Text, field, invalid, must_be};
use crate::vocabulary::Token;
use isogloss_core::error::Error;
use isogloss_core::ir::Fields;
use serde::Deserialize;

/// Tokens of an answer where the request does not say: OpenAI's and vLLM's default.
pub(super) const MAX_TOKENS: u32 = 16;

const EXPECTED: &str = "a string, an array of strings, an array of token ids, or an array of such";

#[derive(Deserialize)]
#[serde(untagged)]
enum PromptWire {
    Text(String),
    Tokens(Vec<Token>),
    Texts(Vec<String>),
    TokenLists(Vec<Vec<Token>>),
}

pub(super) fn read(fields: &Fields) -> Result<Source, Error> {
    let prompt = field::<PromptWire>(fields, "prompt", EXPECTED)?
        .ok_or_else(|| invalid("prompt", "`prompt` is missing: send the text to go on from"))?;
    let prompts: Vec<Text> = match prompt {
        PromptWire::Text(text) => vec![Text::Plain(text)],
        // An empty array reads as this one.
        PromptWire::Tokens(tokens) => vec![Text::Tokens(tokens)],
        PromptWire::Texts(texts) => texts.into_iter().map(Text::Plain).collect(),
        PromptWire::TokenLists(lists) => lists.into_iter().map(Text::Tokens).collect(),
    };
    if prompts
        .iter()
        .any(|prompt| matches!(prompt, Text::Tokens(tokens) if tokens.is_empty()))
    {
        return Err(must_be("prompt", EXPECTED));
    }
    if prompts.len() > MAX_CHOICES {
        let message = format!(
            "`prompt` has {} prompts: send at most {MAX_CHOICES} at once",
            prompts.len()
        );
        return Err(invalid("prompt", message));
    }
    let special = field::<bool>(fields, "add_special_tokens", "true or false")?.unwrap_or(true);
    Ok(Source::Prompts { prompts, special })
}
