//! One event's data to what it says. Framing is [`crate::sse`]'s.

use super::reply::Content;
use crate::ir::{Fields, FinishReason};
use crate::json::mend;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What one event of a streamed reply is.
#[derive(Debug, Clone)]
pub enum StreamEvent {
    /// `[DONE]`.
    Done,
    /// A chunk.
    Chunk(Box<Chunk>),
    /// The server reports an error; the raw `error`.
    Error(String),
    /// JSON, but nothing that a reply is made of: no effect.
    Nothing,
    /// Not JSON.
    Garbage,
}

/// One chunk.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Every top-level field, raw, `choices` among them.
    pub fields: Fields,
    /// The choices that this chunk moves.
    pub choices: Vec<ChunkChoice>,
    /// The event's data, where its text had to be mended to be read.
    pub mended: Option<Vec<u8>>,
}

/// One choice's part of a chunk.
#[derive(Debug, Clone)]
pub struct ChunkChoice {
    /// Which choice.
    pub index: u32,
    /// Every field of the choice, raw.
    pub fields: Fields,
    /// Every field of the delta, raw.
    pub delta: Fields,
    /// Answer text.
    pub content: Option<String>,
    /// Refusal text.
    pub refusal: Option<String>,
    /// Pieces of calls.
    pub calls: Vec<CallPiece>,
    /// Set on the last chunk of the choice.
    pub finish: Option<FinishReason>,
}

/// A piece of a call, as the wire has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPiece {
    /// Which call; wires that leave it out mean the only one.
    pub index: u32,
    /// Set on the first piece.
    pub id: Option<String>,
    /// Set on the first piece.
    pub name: Option<String>,
    /// More arguments or input.
    pub text: Option<String>,
    /// A custom tool's call.
    pub custom: bool,
}

#[derive(Deserialize)]
struct DeltaWire {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallWire>>,
    function_call: Option<FunctionWire>,
}

#[derive(Deserialize)]
pub(super) struct CallWire {
    index: Option<u32>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionWire>,
    pub(super) custom: Option<CustomWire>,
}

impl CallWire {
    pub(super) const fn function(function: FunctionWire) -> Self {
        Self {
            index: None,
            id: None,
            function: Some(function),
            custom: None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct FunctionWire {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct CustomWire {
    pub(super) name: Option<String>,
    pub(super) input: Option<String>,
}

/// Reads one event's data.
#[must_use]
pub fn read_event(data: &[u8]) -> StreamEvent {
    if data.trim_ascii() == b"[DONE]" {
        return StreamEvent::Done;
    }
    let mended = mend(data);
    let data = mended.as_deref().unwrap_or(data);
    if serde_json::from_slice::<&RawValue>(data).is_err() {
        return StreamEvent::Garbage;
    }
    let Ok(fields) = serde_json::from_slice::<Fields>(data) else {
        return StreamEvent::Nothing;
    };
    if let Some(error) = fields.raw("error").filter(|error| *error != "null") {
        return StreamEvent::Error(error.to_owned());
    }
    // vLLM before 0.10.1 and SGLang put the error at the top.
    if fields.raw("object") == Some("\"error\"") {
        return StreamEvent::Error(String::from_utf8_lossy(data).into_owned());
    }
    let Some(choices) = fields
        .raw("choices")
        .and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok())
    else {
        return StreamEvent::Nothing;
    };
    match choices
        .into_iter()
        .enumerate()
        .map(|(place, choice)| read_choice(place, choice))
        .collect()
    {
        Some(choices) => StreamEvent::Chunk(Box::new(Chunk {
            fields,
            choices,
            mended,
        })),
        None => StreamEvent::Garbage,
    }
}

fn read_choice(place: usize, fields: Fields) -> Option<ChunkChoice> {
    let raw = fields
        .raw("delta")
        .filter(|raw| *raw != "null")
        .unwrap_or("{}");
    let delta: Fields = serde_json::from_str(raw).ok()?;
    let wire: DeltaWire = serde_json::from_str(raw).ok()?;
    let mut calls: Vec<CallPiece> = (0..)
        .zip(wire.tool_calls.unwrap_or_default())
        .map(|(place, call)| piece(place, call))
        .collect();
    calls.extend(
        wire.function_call
            .map(|function| piece(0, CallWire::function(function))),
    );
    let finish = fields
        .raw("finish_reason")
        .and_then(|raw| serde_json::from_str::<Option<String>>(raw).ok().flatten());
    Some(ChunkChoice {
        index: fields
            .raw("index")
            .and_then(|raw| raw.parse().ok())
            .unwrap_or(u32::try_from(place).unwrap_or(u32::MAX)),
        content: wire.content.map(Content::into_text),
        refusal: wire.refusal,
        calls,
        finish: finish.map(|word| FinishReason::read(&word)),
        fields,
        delta,
    })
}

fn piece(place: u32, wire: CallWire) -> CallPiece {
    let custom = wire.custom.is_some();
    let (name, text) = match (wire.function, wire.custom) {
        (Some(function), _) => (
            function.name,
            function
                .arguments
                .map(|raw| super::reply::argument_text(&raw)),
        ),
        (None, Some(custom)) => (custom.name, custom.input),
        (None, None) => (None, None),
    };
    CallPiece {
        index: wire.index.unwrap_or(place),
        id: wire.id.filter(|id| !id.is_empty()),
        name: name.filter(|name| !name.is_empty()),
        text,
        custom,
    }
}

#[cfg(test)]
#[expect(clippy::panic, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        let data = br#"{"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}"#;
        let StreamEvent::Chunk(chunk) = read_event(data) else {
            panic!("no chunk")
        };
        assert_eq!(chunk.choices[0].content.as_deref(), Some("a\u{fffd}"));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let StreamEvent::Chunk(chunk) =
            read_event(b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}")
        else {
            panic!("no chunk")
        };
        assert_eq!(chunk.choices[0].content.as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn odd_events_have_no_effect_and_garbage_is_told() {
        assert!(matches!(read_event(b"null"), StreamEvent::Nothing));
        assert!(matches!(read_event(b"[]"), StreamEvent::Nothing));
        assert!(matches!(
            read_event(b"{\"usage\":{}}"),
            StreamEvent::Nothing
        ));
        assert!(matches!(read_event(b"{oops"), StreamEvent::Garbage));
        assert!(matches!(read_event(b" [DONE] "), StreamEvent::Done));
    }

    #[test]
    fn both_error_shapes_are_errors() {
        assert!(matches!(
            read_event(br#"{"error":{"message":"x"}}"#),
            StreamEvent::Error(_)
        ));
        assert!(matches!(
            read_event(br#"{"object":"error","message":"x"}"#),
            StreamEvent::Error(_)
        ));
    }
}
