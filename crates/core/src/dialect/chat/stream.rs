//! One event's data to what it says. Framing is [`crate::sse`]'s.

use super::reading::{CallReading, ChoiceReading, Form, Head, NotOfTheWire, Verbatim};
use crate::ir::{CallKind, Fields, FinishReason};
use serde::de::IgnoredAny;

/// What one event of a streamed reply is.
#[derive(Debug, Clone)]
pub enum StreamEvent<'d> {
    /// `[DONE]`.
    Done,
    /// A chunk.
    Chunk(Box<Chunk<'d>>),
    /// The server reports an error; the raw `error`.
    Error(String),
    /// JSON, but nothing that a reply is made of: no effect.
    Nothing,
    /// Not JSON.
    Garbage,
}

/// One chunk.
#[derive(Debug, Clone)]
pub struct Chunk<'d> {
    /// Every top-level field, raw, `choices` among them.
    pub fields: Fields,
    /// The choices that this chunk moves.
    pub choices: Vec<ChunkChoice>,
    /// The event's data, where a client may have it as it came.
    pub verbatim: Option<Verbatim<'d>>,
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
    /// Whose call it is; `None` where the piece has no body.
    pub kind: Option<CallKind>,
}

impl ChunkChoice {
    /// The end of a choice whose server names none.
    #[must_use]
    pub fn end(index: u32) -> Self {
        Self {
            index,
            fields: Fields::default(),
            delta: Fields::default(),
            content: None,
            refusal: None,
            calls: Vec::new(),
            finish: Some(FinishReason::Stop),
        }
    }

    /// Whether it says anything that a client would take for a part of the answer.
    #[must_use]
    pub fn has_substance(&self) -> bool {
        let is_said =
            |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        is_said(&self.content) || is_said(&self.refusal) || !self.calls.is_empty()
    }
}

/// Reads one event's data.
#[must_use]
pub fn read_event(data: &[u8]) -> StreamEvent<'_> {
    if data.trim_ascii() == b"[DONE]" {
        return StreamEvent::Done;
    }
    let Some(head) = Head::read(data) else {
        let mended = crate::json::mend(data);
        let is_json = serde_json::from_slice::<IgnoredAny>(mended.as_deref().unwrap_or(data));
        return is_json.map_or(StreamEvent::Garbage, |_| StreamEvent::Nothing);
    };
    if let Some(error) = head.fields.raw("error").filter(|error| *error != "null") {
        return StreamEvent::Error(error.to_owned());
    }
    // vLLM before 0.10.1 and SGLang put the error at the top.
    if head.fields.raw("object") == Some("\"error\"") {
        return StreamEvent::Error(String::from_utf8_lossy(data).into_owned());
    }
    match head.choices(Form::Part) {
        None => StreamEvent::Nothing,
        Some(Err(NotOfTheWire)) => StreamEvent::Garbage,
        Some(Ok(choices)) => {
            let (fields, verbatim) = head.close(&choices);
            StreamEvent::Chunk(Box::new(Chunk {
                fields,
                choices: choices.into_iter().map(ChunkChoice::from).collect(),
                verbatim,
            }))
        }
    }
}

impl From<ChoiceReading> for ChunkChoice {
    fn from(choice: ChoiceReading) -> Self {
        Self {
            index: choice.index,
            fields: choice.fields,
            delta: choice.message,
            content: choice.content,
            refusal: choice.refusal,
            calls: (0..).zip(choice.calls).map(piece).collect(),
            finish: choice.finish,
        }
    }
}

fn piece((place, call): (u32, CallReading)) -> CallPiece {
    CallPiece {
        index: call.index.unwrap_or(place),
        id: call.id,
        name: call.name,
        text: call.text,
        kind: call.kind,
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
