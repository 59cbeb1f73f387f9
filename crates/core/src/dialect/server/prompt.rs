//! A request that needs a rendered prompt: what the server is asked for before, step by step, and
//! its answers in; the request itself out. Servers that take a prompt and constrain it have the
//! model's chat template, and a route that applies it.

use super::Asked;
use crate::error::{Error, Kind};
use crate::ir::{Fields, raw, raw_string};
use serde::Deserialize;
use serde_json::{Value, json};

/// Where a server renders a conversation. From its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Render {
    /// The path that takes `model` and `messages`.
    pub path: String,
    /// Where in its reply the text stands: a JSON Pointer.
    pub at: String,
    /// Where in its reply the prompt's tokens stand, each with `id` and `text`.
    pub tokens: Option<String>,
    /// The path that makes tokens of `inputs` in the way that the prompt will be read: what it
    /// puts before a text must not stand in the prompt as well.
    pub tokenize: Option<String>,
}

/// A request whose prompt is still to be asked for: what is sent now is not it yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    path: String,
    /// Its fields but the prompt, as JSON.
    fields: Vec<u8>,
    step: Awaited,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Awaited {
    /// The conversation is being rendered.
    Render(Render),
    /// It is rendered; whether the server begins every text with the same token is being asked.
    Begin {
        path: String,
        prompt: String,
        first: Token,
        tokens: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Token {
    id: u32,
    #[serde(default)]
    text: String,
}

/// The first request of those that lead to one with this path and these fields.
pub(in crate::dialect) fn first(
    render: &Render,
    conversation: Fields,
    path: &str,
    fields: &Fields,
) -> (String, Fields, Pending) {
    let pending = Pending {
        path: path.to_owned(),
        fields: fields.to_json(),
        step: Awaited::Render(render.clone()),
    };
    (render.path.clone(), conversation, pending)
}

impl Pending {
    /// The request that follows from the server's answer; it may be a question again, but never
    /// more than two come before the request itself.
    ///
    /// # Errors
    /// The answer has no prompt in it.
    pub fn next(self, answer: &[u8]) -> Result<Asked, Error> {
        match self.step {
            Awaited::Render(render) => {
                let unreadable = || unreadable(&render.path);
                let answer: Value = crate::json::value_of(answer).map_err(|_| unreadable())?;
                let prompt = answer.pointer(&render.at).and_then(Value::as_str);
                let prompt = prompt.ok_or_else(unreadable)?.to_owned();
                let tokens = render.tokens.and_then(|at| answer.pointer(&at)?.as_array());
                let count = tokens.map(Vec::len);
                let first = tokens.and_then(|tokens| tokens.first());
                let first = first.and_then(|token| Token::deserialize(token).ok());
                // Without a text it cannot be taken off.
                let first = first.filter(|token| {
                    !token.text.is_empty() && prompt.starts_with(token.text.as_str())
                });
                let (Some(path), Some(first)) = (render.tokenize, first) else {
                    return Ok(asked(self.path, &self.fields, &prompt, count));
                };
                let body = json!({"inputs": first.text}).to_string().into_bytes();
                let step = Awaited::Begin {
                    path: path.clone(),
                    prompt,
                    first,
                    tokens: count.unwrap_or_default(),
                };
                let pending = Self {
                    path: self.path,
                    fields: self.fields,
                    step,
                };
                Ok(Asked {
                    path,
                    body: body.into(),
                    losses: Vec::new(),
                    pending: Some(pending),
                    prompt_tokens: None,
                })
            }
            Awaited::Begin {
                path,
                prompt,
                first,
                tokens,
            } => {
                let answer: Vec<Token> =
                    serde_json::from_slice(answer).map_err(|_| unreadable(&path))?;
                let is_doubled =
                    answer.len() > 1 && answer.iter().take(2).all(|token| token.id == first.id);
                let prompt = match prompt.strip_prefix(first.text.as_str()) {
                    Some(rest) if is_doubled => rest,
                    _ => &prompt,
                };
                Ok(asked(self.path, &self.fields, prompt, Some(tokens)))
            }
        }
    }

    /// The request itself, with `prompt` for the prompt: for people.
    #[must_use]
    pub fn preview(&self, prompt: &str) -> Asked {
        asked(self.path.clone(), &self.fields, prompt, None)
    }
}

fn asked(path: String, fields: &[u8], prompt: &str, tokens: Option<usize>) -> Asked {
    let mut body = Fields::default();
    body.set("inputs", raw(prompt));
    let fields: Fields = serde_json::from_slice(fields).unwrap_or_default();
    for (name, value) in fields.0 {
        body.set(&name, raw_string(value.get().to_owned()));
    }
    Asked {
        path,
        body: body.to_json().into(),
        losses: Vec::new(),
        pending: None,
        prompt_tokens: tokens.map(|tokens| tokens as u64),
    }
}

fn unreadable(path: &str) -> Error {
    let message = format!("the server's answer at {path} has no rendered prompt in it");
    Error::new(Kind::UpstreamBadReply, message)
}
