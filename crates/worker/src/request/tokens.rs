//! The bodies of `/tokenize` and `/detokenize`, in vLLM's shape.

use super::{Chat, Source, Text, chat, field, invalid, must_be};
use crate::vocabulary::Token;
use isogloss_core::error::Error;
use isogloss_core::ir::Fields;
use isogloss_core::json::strict;
use serde_json::Value;

/// What `/tokenize` is asked.
#[derive(Debug, Clone)]
pub struct Tokenize {
    /// The model's name; may be empty.
    pub model: String,
    /// What to take apart.
    pub source: Source,
    /// Whether each token's text is told too.
    pub with_text: bool,
}

/// What `/detokenize` is asked.
#[derive(Debug, Clone)]
pub struct Detokenize {
    /// The model's name; may be empty.
    pub model: String,
    /// The tokens.
    pub tokens: Vec<Token>,
}

impl Tokenize {
    /// Reads the body.
    ///
    /// # Errors
    /// The field at fault, and the remedy.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
        const FLAG: &str = "true or false";
        let fields = read(
            body,
            &[
                "model",
                "prompt",
                "messages",
                "tools",
                "chat_template_kwargs",
                "add_special_tokens",
                "add_generation_prompt",
                "return_token_strs",
            ],
        )?;
        let special = field::<bool>(&fields, "add_special_tokens", FLAG)?;
        let source = if fields.has("messages") {
            if field::<bool>(&fields, "add_generation_prompt", FLAG)? == Some(false) {
                let message = "`add_generation_prompt` must be true: prompts end where the \
                               answer begins";
                return Err(invalid("add_generation_prompt", message));
            }
            Source::Chat(Chat {
                messages: chat::messages(&fields)?,
                tools: field(&fields, "tools", "an array")?.unwrap_or_default(),
                kwargs: chat::kwargs(&fields)?,
                tags: None,
                is_plain: false,
                goes_on: false,
            })
        } else {
            let prompt = field::<String>(&fields, "prompt", "a string")?
                .ok_or_else(|| invalid("prompt", "send `prompt` or `messages`"))?;
            Source::Prompts {
                prompts: vec![Text::Plain(prompt)],
                special: special.unwrap_or(true),
            }
        };
        Ok(Self {
            model: field(&fields, "model", "a string")?.unwrap_or_default(),
            source,
            with_text: field(&fields, "return_token_strs", FLAG)?.unwrap_or(false),
        })
    }
}

impl Detokenize {
    /// Reads the body.
    ///
    /// # Errors
    /// The field at fault, and the remedy.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
        const EXPECTED: &str = "an array of token ids";
        let fields = read(body, &["model", "tokens"])?;
        Ok(Self {
            model: field(&fields, "model", "a string")?.unwrap_or_default(),
            tokens: field::<Vec<Token>>(&fields, "tokens", EXPECTED)?
                .ok_or_else(|| must_be("tokens", EXPECTED))?,
        })
    }
}

fn read(body: &[u8], known: &[&str]) -> Result<Fields, Error> {
    strict::check(body, &strict::Limits::default())?;
    let fields: Fields =
        serde_json::from_slice(body).map_err(|_| invalid("", "the body must be a JSON object"))?;
    let is_stated = |name: &&String| fields.raw(name).is_some_and(|raw| raw != "null");
    let mut names = fields.0.keys().filter(is_stated);
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(super::known::unknown(name)),
        None => Ok(fields),
    }
}

/// Whether a value says nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
