//! A whole reply body to deltas, and the pieces that writing it again needs.

use super::stream::{CallWire, FunctionWire};
use crate::ir::{CallKind, Delta, Fields, FinishReason, Ids};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A reply that came whole.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Every top-level field, raw, `choices` among them.
    pub fields: Fields,
    /// The choices.
    pub choices: Vec<Choice>,
    /// The body, where its text had to be mended to be read.
    pub mended: Option<Vec<u8>>,
}

/// One choice of a whole reply.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its place on the wire.
    pub index: u32,
    /// Every field of the choice, raw.
    pub fields: Fields,
    /// Every field of its message, raw.
    pub message: Fields,
    /// What it says, the finish included.
    pub deltas: Vec<Delta>,
}

/// A body that is no Chat Completions reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyFault {
    /// Not one JSON object with `choices`.
    NotAReply,
    /// The server reported an error under a success status; its raw `error`.
    Error(String),
}

#[derive(Deserialize)]
struct MessageWire {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallWire>>,
    function_call: Option<FunctionWire>,
}

/// Text, or parts of which the text ones count (Mistral's habit).
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<PartWire>),
}

#[derive(Deserialize)]
pub(super) struct PartWire {
    text: Option<String>,
}

impl Content {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

/// Reads a reply body.
///
/// # Errors
/// The body is none.
pub fn read_reply(body: &[u8], ids: &mut Ids) -> Result<Reply, ReplyFault> {
    let mended = crate::json::mend(body);
    let body = mended.as_deref().unwrap_or(body);
    let fields: Fields = serde_json::from_slice(body).map_err(|_| ReplyFault::NotAReply)?;
    if let Some(error) = fields.raw("error").filter(|error| *error != "null") {
        return Err(ReplyFault::Error(error.to_owned()));
    }
    let raw = fields.raw("choices").ok_or(ReplyFault::NotAReply)?;
    let choices: Vec<Fields> = serde_json::from_str(raw).map_err(|_| ReplyFault::NotAReply)?;
    let choices = choices
        .into_iter()
        .enumerate()
        .map(|(place, fields)| read_choice(place, fields, ids))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Reply {
        fields,
        choices,
        mended,
    })
}

fn read_choice(place: usize, fields: Fields, ids: &mut Ids) -> Result<Choice, ReplyFault> {
    let raw = fields.raw("message").ok_or(ReplyFault::NotAReply)?;
    let message: Fields = serde_json::from_str(raw).map_err(|_| ReplyFault::NotAReply)?;
    let wire: MessageWire = serde_json::from_str(raw).map_err(|_| ReplyFault::NotAReply)?;
    let mut deltas = Vec::new();
    if let Some(text) = wire
        .content
        .map(Content::into_text)
        .filter(|text| !text.is_empty())
    {
        deltas.push(Delta::Text(text));
    }
    if let Some(text) = wire.refusal.filter(|text| !text.is_empty()) {
        deltas.push(Delta::Refusal(text));
    }
    let finish = fields
        .raw("finish_reason")
        .and_then(|raw| serde_json::from_str::<Option<String>>(raw).ok().flatten());
    let finish = finish.map_or(FinishReason::Stop, |word| FinishReason::read(&word));
    let calls = wire.tool_calls.unwrap_or_default();
    for (call, wire) in (0..).zip(calls) {
        deltas.extend(call_deltas(call, wire, &finish, ids)?);
    }
    if let Some(function) = wire.function_call {
        let call = CallWire::function(function);
        deltas.extend(call_deltas(0, call, &finish, ids)?);
    }
    deltas.push(Delta::Finish(finish));
    let index = fields
        .raw("index")
        .and_then(|raw| raw.parse().ok())
        .unwrap_or(u32::try_from(place).unwrap_or(u32::MAX));
    Ok(Choice {
        index,
        fields,
        message,
        deltas,
    })
}

/// What a call says that says nothing: some servers write the empty text, which is no JSON.
pub(crate) const NO_ARGUMENTS: &str = "{}";

fn call_deltas(
    call: u32,
    wire: CallWire,
    finish: &FinishReason,
    ids: &mut Ids,
) -> Result<[Delta; 2], ReplyFault> {
    let id = wire.id.filter(|id| !id.is_empty());
    let (kind, name, text) = match (wire.function, wire.custom) {
        (Some(function), _) => (
            CallKind::Function,
            function.name,
            function.arguments.map(|raw| argument_text(&raw)),
        ),
        (None, Some(custom)) => (CallKind::Custom, custom.name, custom.input),
        (None, None) => return Err(ReplyFault::NotAReply),
    };
    let name = name.ok_or(ReplyFault::NotAReply)?;
    let mut text = text.unwrap_or_default();
    if text.is_empty() && kind == CallKind::Function && !finish.is_cut() {
        text.push_str(NO_ARGUMENTS);
    }
    Ok([
        Delta::CallStart {
            call,
            id: id.unwrap_or_else(|| ids.call()),
            name,
            kind,
        },
        Delta::CallInput { call, kind, text },
    ])
}

/// Arguments are a JSON string; a server that sends the object itself (TGI, Ollama) means its text.
pub(super) fn argument_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| {
        if raw.get() == "null" {
            String::new()
        } else {
            raw.get().to_owned()
        }
    })
}
