//! A body of Chat Completions, Completions, or of the tokeniser's own endpoints comes in; what is
//! asked, checked, goes out. Nothing here knows a model: what depends on one ([`Asked::check`]) is
//! checked when it is there.
//!
//! No field is ignored in silence: what would change the answer and is not served is refused by
//! its name.

mod chat;
mod completion;
mod free;
mod known;
mod sampling;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
mod tokens;

use super::backend::Whitespace;
use super::job::{Limits, Sampling};
use super::vocabulary::Token;
use isogloss_core::dialect::chat::client::read_request;
use isogloss_core::error::{Error, Kind};
use isogloss_core::ir::{ClientConstraint, Fields, Request};
use isogloss_core::json::strict;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
pub use tokens::{Detokenize, Tokenize};

/// Choices of one request: `n` times the prompts. Each is a job of its own in the queue.
pub const MAX_CHOICES: usize = 128;

/// What a request asks for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The model's name, as the client says it; may be empty.
    pub model: String,
    /// Whether the reply is streamed.
    pub stream: bool,
    /// Whether a stream ends with a chunk that counts tokens.
    pub include_usage: bool,
    /// Whether one begins with the count of the prompt's.
    pub counts_first: bool,
    /// Choices for each prompt.
    pub n: u32,
    /// What to go on from.
    pub source: Source,
    /// What the answer must be.
    pub constraint: Option<ClientConstraint>,
    /// How JSON is laid out, where the request says.
    pub whitespace: Option<Whitespace>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// When the answer ends.
    pub limits: Limits,
    /// How many tokens thoughts before the answer may have, where the request says.
    pub thoughts: Option<u32>,
    /// Whether the answer may hold calls: free text of a conversation without tools may not.
    pub may_call: bool,
}

/// What an answer goes on from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A conversation, for the chat template.
    Chat(Chat),
    /// Prompts as they are; the client may have written control tokens into them.
    Prompts {
        /// At least one.
        prompts: Vec<Text>,
        /// Whether the token that the model wants at the beginning is put there.
        special: bool,
    },
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chat {
    /// The messages; at least one.
    pub messages: Vec<Value>,
    /// The tools that the model is shown.
    pub tools: Vec<Value>,
    /// Whatever else the template is given (`enable_thinking`, …).
    pub kwargs: Map<String, Value>,
    /// The texts with which tags begin that the answer is held to; `None` where it is held to nothing.
    pub tags: Option<Vec<String>>,
    /// Whether the answer is held to something that knows nothing of what the model writes before answers.
    pub is_plain: bool,
    /// Whether the model goes on with the last message, which is its own, instead of answering it.
    pub goes_on: bool,
}

/// The text that a message ends with.
pub(super) fn last_text(message: &Value) -> Option<&str> {
    let text = match &message["content"] {
        Value::String(text) => Some(text.as_str()),
        Value::Array(parts) => parts.last().and_then(|part| part["text"].as_str()),
        _ => None,
    };
    text.filter(|text| !text.trim().is_empty())
}

/// A prompt as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// As text.
    Plain(String),
    /// As tokens.
    Tokens(Vec<Token>),
}

/// The words of chat templates for whether the model thinks first: Qwen's, and DeepSeek's and
/// Granite's.
const THINKING: [&str; 2] = ["enable_thinking", "thinking"];

impl Asked {
    /// Where the answer is constrained from its beginning and the client does not say whether to
    /// think, the template is told that the model does not, and this says so. A model that the
    /// constraint keeps from what it would say escapes into a think block otherwise, which nothing
    /// ends but `max_tokens`. Free text with tagged calls in it is no such case, nor thoughts that have a bound.
    pub fn answer_at_once(&mut self) -> bool {
        let is_whole = self.is_bound();
        let Source::Chat(chat) = &mut self.source else {
            return false;
        };
        let may_think = self.thoughts.is_some_and(|tokens| tokens > 0);
        if !is_whole || may_think || THINKING.iter().any(|word| chat.kwargs.contains_key(*word)) {
            return false;
        }
        for word in THINKING {
            chat.kwargs.insert(word.to_owned(), Value::Bool(false));
        }
        true
    }

    /// Whether the answer is constrained from its beginning to its end, so that none is better for being longer than it
    /// need be, and none is cut.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        let stated = self.constraint.as_ref();
        stated.is_some_and(|stated| !free::begins_free(&stated.constraint))
    }

    /// Checks what depends on the model.
    ///
    /// # Errors
    /// A token that its vocabulary of `tokens` tokens does not have.
    pub fn check(&self, tokens: usize) -> Result<(), Error> {
        let outside = |name: &str, token: Token| {
            let message = format!(
                "`{name}` has the token {token}: this model's go from 0 to {}",
                tokens.saturating_sub(1)
            );
            Err(invalid(name, message))
        };
        let known = |token: &Token| (*token as usize) < tokens;
        if let Some((token, _)) = self
            .sampling
            .logit_bias
            .iter()
            .find(|(token, _)| !known(token))
        {
            return outside("logit_bias", *token);
        }
        if let Source::Prompts { prompts, .. } = &self.source {
            for prompt in prompts {
                if let Text::Tokens(prompt) = prompt
                    && let Some(token) = prompt.iter().find(|token| !known(token))
                {
                    return outside("prompt", *token);
                }
            }
        }
        Ok(())
    }

    /// How many answers there will be.
    #[must_use]
    pub fn choices(&self) -> usize {
        let prompts = match &self.source {
            Source::Chat(_) => 1,
            Source::Prompts { prompts, .. } => prompts.len(),
        };
        prompts.saturating_mul(self.n as usize)
    }
}

/// Reads the body of `/v1/chat/completions`.
///
/// # Errors
/// The field at fault, and the remedy.
pub fn read_chat(body: &[u8]) -> Result<Asked, Error> {
    let request = read(body)?;
    known::check(&request.fields, known::Endpoint::Chat)?;
    let source = Source::Chat(chat::read(&request)?);
    let sampling = Sampling {
        logprobs: sampling::chat_logprobs(&request.fields)?,
        ..sampling::read(&request.fields)?
    };
    let limits = Limits {
        // Who asks in a conversation is answered; a prompt may be at its end.
        is_said: true,
        ..sampling::limits(&request.fields, None)?
    };
    asked(request, source, sampling, limits)
}

/// Reads the body of `/v1/completions`.
///
/// # Errors
/// The field at fault, and the remedy.
pub fn read_completion(body: &[u8]) -> Result<Asked, Error> {
    let request = read(body)?;
    known::check(&request.fields, known::Endpoint::Completions)?;
    let source = completion::read(&request.fields)?;
    let sampling = Sampling {
        logprobs: sampling::completion_logprobs(&request.fields)?,
        ..sampling::read(&request.fields)?
    };
    let limits = sampling::limits(&request.fields, Some(completion::MAX_TOKENS))?;
    asked(request, source, sampling, limits)
}

fn read(body: &[u8]) -> Result<Request, Error> {
    strict::check(body, &strict::Limits::default())?;
    read_request(body)
}

fn asked(
    request: Request,
    source: Source,
    sampling: Sampling,
    limits: Limits,
) -> Result<Asked, Error> {
    let asked = Asked {
        whitespace: whitespace(&request.fields)?,
        thoughts: thoughts(&request.fields)?,
        may_call: request.constraint.is_some()
            || !matches!(&source, Source::Chat(chat) if chat.tools.is_empty()),
        model: request.model,
        stream: request.stream,
        include_usage: request.include_usage,
        counts_first: counts_first(&request.fields)?,
        n: request.n,
        constraint: request.constraint,
        source,
        sampling,
        limits,
    };
    let choices = asked.choices();
    if choices > MAX_CHOICES {
        let message = format!(
            "`n` times the prompts are {choices} choices: ask for at most {MAX_CHOICES} at once"
        );
        return Err(invalid("n", message));
    }
    Ok(asked)
}

/// `structured_outputs.disable_any_whitespace` is vLLM's, `whitespace` our own.
fn whitespace(fields: &Fields) -> Result<Option<Whitespace>, Error> {
    let structured = field::<Map<String, Value>>(fields, "structured_outputs", "an object")?;
    let structured = structured.unwrap_or_default();
    let top = field::<Value>(fields, "whitespace", "\"compact\" or \"flexible\"")?;
    let places = [
        ("whitespace", top.as_ref()),
        (
            "structured_outputs.whitespace",
            structured.get("whitespace"),
        ),
    ];
    for (name, value) in places {
        return match value {
            None | Some(Value::Null) => continue,
            Some(Value::String(word)) if word == "compact" => Ok(Some(Whitespace::Compact)),
            Some(Value::String(word)) if word == "flexible" => Ok(Some(Whitespace::Flexible)),
            Some(_) => Err(must_be(name, "\"compact\" or \"flexible\"")),
        };
    }
    const VLLM: &str = "disable_any_whitespace";
    match structured.get(VLLM) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(Whitespace::Compact)),
        Some(_) => Err(must_be(
            &format!("structured_outputs.{VLLM}"),
            "true or false",
        )),
    }
}

fn counts_first(fields: &Fields) -> Result<bool, Error> {
    let options = field::<Fields>(fields, "stream_options", "an object")?.unwrap_or_default();
    let first = field::<bool>(&options, known::COUNTS_FIRST, "true or false")?;
    Ok(first.unwrap_or(false))
}

/// `thinking_token_budget`, vLLM's word.
fn thoughts(fields: &Fields) -> Result<Option<u32>, Error> {
    let budget = field::<u64>(fields, "thinking_token_budget", "a whole number")?;
    // More than any context window: the window is the limit.
    Ok(budget.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
}

/// A field of a known type; absent and `null` are the same.
fn field<T: DeserializeOwned>(
    fields: &Fields,
    name: &str,
    expected: &str,
) -> Result<Option<T>, Error> {
    let Some(raw) = fields.raw(name) else {
        return Ok(None);
    };
    serde_json::from_str::<Option<T>>(raw).map_err(|_| must_be(name, expected))
}

fn invalid(name: &str, message: impl Into<String>) -> Error {
    Error::new(Kind::InvalidRequest, message).at(name)
}

fn must_be(name: &str, expected: &str) -> Error {
    invalid(name, format!("`{name}` must be {expected}"))
}
