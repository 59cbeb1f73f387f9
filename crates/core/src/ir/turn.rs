//! The conversation, as every client dialect reads it and every server's is written from it. It is read
//! only where somebody needs it: a request that goes to a server of the client's own wire is not.

use super::{Origin, Sealed};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Whoever gives the model its instructions (`system`, `developer`).
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool, answering a call.
    Tool,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Where it stands.
    pub origin: Origin,
    /// Its place in the conversation.
    pub index: usize,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// What an assistant thought.
    pub reasoning: Option<Stated>,
    /// What only the server that made it can read, and where it stands.
    pub sealed: Vec<(Origin, Sealed)>,
    /// The calls that an assistant made.
    pub calls: Vec<Call>,
    /// The id of the call that a tool's turn answers.
    pub call_id: Option<String>,
    /// The tool that it is the answer of, where some turn tells.
    pub tool: Option<String>,
    /// Where the resolution of an image is asked for.
    pub resolutions: Vec<Origin>,
    /// What stands there that only the client's dialect has: JSON Pointers below the turn.
    pub unknown: Vec<String>,
}

/// A text, and where it stands.
#[derive(Debug, Clone)]
pub struct Stated {
    /// Where.
    pub origin: Origin,
    /// The text.
    pub text: String,
}

/// A part of a turn.
#[derive(Debug, Clone)]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Anthropic's mark, which its clients set on parts of other dialects too.
        cache: Option<Box<RawValue>>,
    },
    /// An image, audio or a file.
    Data {
        /// Such as `image/png`; in small letters.
        media_type: String,
        /// Base64.
        data: String,
        /// As above.
        cache: Option<Box<RawValue>>,
    },
    /// An image elsewhere.
    Link {
        /// Its URL.
        url: String,
        /// As above.
        cache: Option<Box<RawValue>>,
    },
    /// What only the client's own dialect has.
    Opaque {
        /// Where it stands.
        origin: Origin,
    },
}

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Call {
    /// Where it stands.
    pub origin: Origin,
    /// Its id; legacy ones have none.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub input: CallInput,
    /// Gemini's signature of the call.
    pub signature: Option<String>,
}

/// What a tool was called with.
#[derive(Debug, Clone)]
pub enum CallInput {
    /// A JSON object, as it came.
    Object(Box<RawValue>),
    /// A text that is none, and where it stands.
    Text(Stated),
    /// The input of a custom tool.
    Custom(String),
}

impl Turn {
    /// A turn of our own: what is wrong with it is no fault of the client's.
    #[must_use]
    pub fn of(role: Role, parts: Vec<Part>) -> Self {
        Self {
            origin: Origin::new("messages"),
            index: 0,
            role,
            parts,
            reasoning: None,
            sealed: Vec::new(),
            calls: Vec::new(),
            call_id: None,
            tool: None,
            resolutions: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// The id of its call at `index`. Legacy calls have none: theirs is made of the call's place, so
    /// that [`Turn::answered_id`] of the turn behind it is the same.
    #[must_use]
    pub fn id_of<'a>(&self, call: &'a Call, index: usize) -> Cow<'a, str> {
        match &call.id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(place_id(self.index, index)),
        }
    }

    /// The id of the call that this turn of a tool answers. A legacy function's result follows its
    /// call, the only one of its turn.
    #[must_use]
    pub fn answered_id(&self) -> Cow<'_, str> {
        match &self.call_id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(place_id(self.index.saturating_sub(1), 0)),
        }
    }

    /// The texts alone, a line each.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Data { .. } | Part::Link { .. } | Part::Opaque { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

fn place_id(turn: usize, call: usize) -> String {
    format!("call_{turn}_{call}")
}
