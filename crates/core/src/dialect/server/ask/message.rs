//! Chat's messages, typed: texts, images and files, calls and their results, thinking.

use super::{Ask, invalid};
use crate::error::Error;
use crate::ir::{EnforcedBy, Fields, raw};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One message.
#[derive(Debug)]
pub(in crate::dialect) struct Message {
    /// Its place in `messages`.
    pub(in crate::dialect) at: usize,
    pub(in crate::dialect) role: Role,
    pub(in crate::dialect) parts: Vec<Part>,
    /// The calls that an assistant made.
    pub(in crate::dialect) calls: Vec<Call>,
    /// The call that a tool's message answers.
    pub(in crate::dialect) call_id: Option<String>,
    /// The tool that it is the answer of, where some message tells.
    pub(in crate::dialect) tool: Option<String>,
    /// What an assistant thought.
    pub(in crate::dialect) reasoning: Option<String>,
    /// Anthropic's thinking, signed, as it came with the reply.
    pub(in crate::dialect) thinking_blocks: Vec<Box<RawValue>>,
    /// Gemini's signature of the text.
    pub(in crate::dialect) signature: Option<String>,
}

/// A part of a message's content.
#[derive(Debug)]
pub(in crate::dialect) enum Part {
    Text {
        text: String,
        /// Anthropic's mark, which its clients set on parts of Chat messages too.
        cache: Option<Box<RawValue>>,
    },
    /// An image or a file, in base64.
    Data {
        media_type: String,
        data: String,
        cache: Option<Box<RawValue>>,
    },
    /// An image elsewhere.
    Link {
        url: String,
        cache: Option<Box<RawValue>>,
    },
}

/// A call that was made.
#[derive(Debug)]
pub(in crate::dialect) struct Call {
    pub(in crate::dialect) id: Option<String>,
    pub(in crate::dialect) name: String,
    /// A JSON object.
    pub(in crate::dialect) arguments: Box<RawValue>,
    /// Gemini's signature of the call.
    pub(in crate::dialect) signature: Option<String>,
}

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    function: Option<FunctionWire>,
    custom: Option<CustomWire>,
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: String,
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct CustomWire {
    name: String,
    input: String,
}

impl Message {
    /// The texts alone, a line each.
    pub(in crate::dialect) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Data { .. } | Part::Link { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Refuses a part that this wire has no place for.
    pub(in crate::dialect) fn refuse_part(&self, part: &Part, title: &str) -> Error {
        let at = format!("messages[{}].content", self.at);
        let message = match part {
            Part::Link { .. } => format!(
                "`{at}` names an image by its URL, and {title} takes none: send its bytes as a data URL"
            ),
            Part::Data { media_type, .. } => {
                let kind: String = media_type.chars().take(64).collect();
                format!("`{at}` has a file of the type `{kind}`, which {title} does not take")
            }
            Part::Text { .. } => format!("`{at}` has text where {title} takes none"),
        };
        invalid(message, at)
    }
}

impl Ask<'_> {
    /// The conversation.
    pub(in crate::dialect) fn messages(&mut self) -> Result<Vec<Message>, Error> {
        let expected = "a list of messages";
        let Some(messages) = self.take::<Vec<Fields>>("messages", expected)? else {
            let message = "`messages` is missing: send the conversation";
            return Err(invalid(message, "messages"));
        };
        let mut names = HashMap::new();
        let mut read = Vec::with_capacity(messages.len());
        for (at, fields) in messages.into_iter().enumerate() {
            let mut message = self.message(at, fields)?;
            for call in &message.calls {
                if let Some(id) = &call.id {
                    names.insert(id.clone(), call.name.clone());
                }
            }
            if let Some(name) = message.call_id.as_ref().and_then(|id| names.get(id)) {
                message.tool = Some(name.clone());
            }
            read.push(message);
        }
        Ok(read)
    }

    fn message(&mut self, at: usize, mut fields: Fields) -> Result<Message, Error> {
        let place = format!("messages[{at}]");
        let role: String = member(&mut fields, "role", &place)?.unwrap_or_default();
        let role = match role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            _ => {
                let message =
                    format!("`{place}.role` must be system, developer, user, assistant or tool");
                return Err(invalid(message, format!("{place}.role")));
            }
        };
        let name: Option<String> = member(&mut fields, "name", &place)?;
        let mut message = Message {
            at,
            role,
            parts: self.parts(at, &mut fields)?,
            calls: self.calls(at, &mut fields)?,
            call_id: member(&mut fields, "tool_call_id", &place)?,
            tool: None,
            reasoning: reasoning(&mut fields, &place)?,
            thinking_blocks: member(&mut fields, "thinking_blocks", &place)?.unwrap_or_default(),
            signature: fields
                .remove("extra_content")
                .and_then(|extra| signature(&serde_json::from_str(extra.get()).ok()?)),
        };
        if role == Role::Tool {
            message.tool = name;
        } else if name.is_some() {
            self.lose_member(at, "name");
        }
        for (name, value) in &fields.0 {
            if !matches!(value.get(), "null" | "[]" | "\"\"" | "{}") {
                self.lose_member(at, name);
            }
        }
        Ok(message)
    }

    /// Notes a member of a message that has no counterpart.
    pub(in crate::dialect) fn lose_member(&mut self, at: usize, name: &str) {
        let reason = format!("the messages of {} have no place for it", self.title);
        let pointer = format!("/messages/{at}/{}", super::escaped(name));
        self.lose(&pointer, &reason, EnforcedBy::Nobody);
    }

    fn parts(&mut self, at: usize, fields: &mut Fields) -> Result<Vec<Part>, Error> {
        let place = format!("messages[{at}]");
        let mut parts = Vec::new();
        if let Some(refusal) = member::<String>(fields, "refusal", &place)? {
            parts.push(text(refusal));
        }
        if fields
            .raw("content")
            .is_some_and(|raw| raw.starts_with('"'))
        {
            parts.extend(member(fields, "content", &place)?.map(text));
        }
        let all: Option<Vec<Fields>> = member(fields, "content", &place)?;
        for (part, fields) in all.unwrap_or_default().into_iter().enumerate() {
            parts.push(self.part(at, part, fields)?);
        }
        Ok(parts)
    }

    fn part(&mut self, at: usize, part: usize, mut fields: Fields) -> Result<Part, Error> {
        let place = format!("messages[{at}].content[{part}]");
        let Some(read) = read_part(&mut fields, &place)? else {
            let message = format!("`{place}` is of a type that {} cannot be sent", self.title);
            return Err(invalid(message, place));
        };
        if fields
            .raw("detail")
            .is_some_and(|detail| detail != "\"auto\"")
        {
            let pointer = format!("/messages/{at}/content/{part}/image_url/detail");
            let reason = format!("{} chooses the resolution itself", self.title);
            self.lose(&pointer, &reason, EnforcedBy::Nobody);
        }
        Ok(read)
    }

    fn calls(&mut self, at: usize, fields: &mut Fields) -> Result<Vec<Call>, Error> {
        let place = format!("messages[{at}]");
        let mut calls = Vec::new();
        let wires: Vec<CallWire> = member(fields, "tool_calls", &place)?.unwrap_or_default();
        for (index, wire) in wires.into_iter().enumerate() {
            let place = format!("{place}.tool_calls[{index}]");
            let signature = wire.extra_content.as_ref().and_then(signature);
            let (name, arguments) = match (wire.function, wire.custom) {
                (Some(function), _) => {
                    let pointer = format!("/messages/{at}/tool_calls/{index}/function/arguments");
                    let arguments = self.arguments(function.arguments.as_deref(), &pointer);
                    (function.name, arguments)
                }
                (None, Some(custom)) => (custom.name, raw(&json!({"input": custom.input}))),
                (None, None) => {
                    let message = format!("`{place}` calls no function");
                    return Err(invalid(message, place));
                }
            };
            calls.push(Call {
                id: wire.id,
                name,
                arguments,
                signature,
            });
        }
        if let Some(function) = member::<FunctionWire>(fields, "function_call", &place)? {
            let pointer = format!("/messages/{at}/function_call/arguments");
            calls.push(Call {
                id: None,
                arguments: self.arguments(function.arguments.as_deref(), &pointer),
                name: function.name,
                signature: None,
            });
        }
        Ok(calls)
    }

    /// Chat has arguments as text, the others as an object.
    fn arguments(&mut self, arguments: Option<&RawValue>, pointer: &str) -> Box<RawValue> {
        let text = arguments.map(|raw| {
            serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
        });
        let text = text.unwrap_or_default();
        if text.trim().is_empty() {
            return raw(&json!({}));
        }
        let object = serde_json::from_str::<Box<RawValue>>(&text).ok();
        let object = object.filter(|value| value.get().starts_with('{'));
        object.unwrap_or_else(|| {
            let reason = "the arguments are no JSON object: sent as the text of one, `input`";
            self.lose(pointer, reason, EnforcedBy::Nobody);
            raw(&json!({"input": text}))
        })
    }
}

/// A member of an object; `null` says nothing.
fn member<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    place: &str,
) -> Result<Option<T>, Error> {
    let Some(value) = fields.remove(name).filter(|value| value.get() != "null") else {
        return Ok(None);
    };
    serde_json::from_str(value.get()).map(Some).map_err(|_| {
        let at = format!("{place}.{name}");
        invalid(format!("`{at}` has the wrong type"), at)
    })
}

/// Under whatever name the client keeps it.
fn reasoning(fields: &mut Fields, place: &str) -> Result<Option<String>, Error> {
    let mut found = None;
    for name in ["reasoning_content", "reasoning", "thinking"] {
        let text: Option<String> = member(fields, name, place)?;
        found = found.or(text.filter(|text| !text.is_empty()));
    }
    Ok(found)
}

/// `{"google": {"thought_signature": …}}`, as Gemini's compatible route has it.
fn signature(extra: &Value) -> Option<String> {
    extra["google"]["thought_signature"]
        .as_str()
        .map(str::to_owned)
}

const fn text(text: String) -> Part {
    Part::Text { text, cache: None }
}

#[derive(Deserialize)]
struct Image {
    url: String,
    detail: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Audio {
    data: String,
    format: String,
}

#[derive(Deserialize)]
struct File {
    file_data: Option<String>,
}

/// One part; `None` for types that no wire here has. `detail` is put back for the caller.
fn read_part(fields: &mut Fields, place: &str) -> Result<Option<Part>, Error> {
    let kind: String = member(fields, "type", place)?.unwrap_or_else(|| "text".to_owned());
    let cache = fields.remove("cache_control");
    Ok(match kind.as_str() {
        "text" | "input_text" | "output_text" | "refusal" => {
            let name = if kind == "refusal" { "refusal" } else { "text" };
            let text = member(fields, name, place)?.unwrap_or_default();
            Some(Part::Text { text, cache })
        }
        "image_url" => {
            let Some(image) = member::<Image>(fields, "image_url", place)? else {
                return Ok(None);
            };
            if let Some(detail) = image.detail {
                fields.set("detail", detail);
            }
            if !image.url.starts_with("data:") {
                let url = image.url;
                return Ok(Some(Part::Link { url, cache }));
            }
            Some(data_url(&image.url, cache, place)?)
        }
        "input_audio" => {
            let audio = member::<Audio>(fields, "input_audio", place)?;
            audio.map(|audio| Part::Data {
                media_type: format!("audio/{}", audio.format),
                data: audio.data,
                cache,
            })
        }
        "file" => {
            let file = member::<File>(fields, "file", place)?;
            match file.and_then(|file| file.file_data) {
                Some(url) => Some(data_url(&url, cache, place)?),
                None => None,
            }
        }
        _ => None,
    })
}

/// `data:image/png;base64,…`
fn data_url(url: &str, cache: Option<Box<RawValue>>, place: &str) -> Result<Part, Error> {
    let split = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(','))
        .and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data)));
    let Some((media_type, data)) = split else {
        let message = format!("`{place}` has no data URL in base64: data:image/png;base64,…");
        return Err(invalid(message, place));
    };
    let media_type = media_type.split(';').next().unwrap_or_default();
    Ok(Part::Data {
        media_type: media_type.to_ascii_lowercase(),
        data: data.to_owned(),
        cache,
    })
}
