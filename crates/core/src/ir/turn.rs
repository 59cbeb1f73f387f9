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
    /// Thoughts with a signature of ours, which is still to be proven.
    pub claimed: Vec<Claimed>,
    /// What only the server that made it can read.
    pub sealed: Vec<Held>,
    /// The calls that an assistant made.
    pub calls: Vec<Call>,
    /// The id of the call that a tool's turn answers.
    pub call_id: Option<String>,
    /// The tool that it is the answer of, where some turn tells.
    pub tool: Option<String>,
    /// Of a tool's turn: that the tool failed.
    pub failed: Option<Failed>,
    /// Where the resolution of an image is asked for.
    pub resolutions: Vec<Origin>,
    /// What stands there that only the client's dialect has: JSON Pointers below the turn.
    pub unknown: Vec<String>,
    /// Whether instructions are said to be a developer's.
    pub is_developer: bool,
    /// What of it is not as the client said it.
    pub edits: Edits,
}

/// What of a turn is not as the client said it: all else keeps its bytes where the server is of the client's wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edits(u16);

impl Edits {
    /// Who speaks.
    pub const ROLE: Self = Self(1);
    /// What is said.
    pub const CONTENT: Self = Self(2);
    /// The calls.
    pub const CALLS: Self = Self(4);
    /// The call that is answered.
    pub const CALL_ID: Self = Self(8);
    /// The speaker's name, which goes.
    pub const NAME: Self = Self(16);
    /// The thoughts, which go.
    pub const THOUGHTS: Self = Self(32);
    /// Everything: the client said no such turn.
    pub const ALL: Self = Self(64);
    /// The members that the server's API does not name, which go.
    pub const EXTRAS: Self = Self(128);
    /// The members that say nothing, which go.
    pub const NULLS: Self = Self(256);
    /// The members of parts and of calls that the server's API does not name, which go.
    pub const INNER: Self = Self(512);

    /// Notes one more.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether it is among them.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0 || self.0 & Self::ALL.0 != 0
    }

    /// Whether there is any.
    #[must_use]
    pub const fn is_any(self) -> bool {
        self.0 != 0
    }
}

/// Where a tool's failure is told.
#[derive(Debug, Clone)]
pub enum Failed {
    /// Apart from the result (Anthropic's `is_error`).
    Apart(Origin),
    /// In the result, which anybody reads who reads it (Gemini's `error`).
    Within,
}

/// A text, and where it stands.
#[derive(Debug, Clone)]
pub struct Stated {
    /// Where.
    pub origin: Origin,
    /// The text.
    pub text: String,
}

/// A thought that is said to be signed here ([`super::Seal`]).
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The thought.
    pub stated: Stated,
    /// Its signature; empty where it has none.
    pub signature: String,
}

/// What a server sealed of a turn, and its place there: Anthropic takes blocks of thinking back in the order in which it gave them
/// alone, among texts and calls (its documentation of interleaved thinking).
#[derive(Debug, Clone)]
pub struct Held {
    /// Where it stands.
    pub origin: Origin,
    /// The thing itself.
    pub sealed: Sealed,
    /// What of the turn stands before it.
    pub behind: Behind,
}

/// How much of a turn stands before something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behind {
    /// How many of its parts.
    pub parts: usize,
    /// How many of its calls.
    pub calls: usize,
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
        media_type: Box<str>,
        /// Base64.
        data: String,
        /// A file's name.
        name: Option<Box<String>>,
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
    /// A document elsewhere.
    Document {
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
    /// An empty text, which means an object without members.
    Empty,
    /// The input of a custom tool.
    Custom(String),
}

impl CallInput {
    /// The object that a function was called with, as JSON; `None` where it was none.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Object(object) => Some(object.get()),
            Self::Empty => Some("{}"),
            Self::Text(_) | Self::Custom(_) => None,
        }
    }
}

/// What images in base64 begin with, and their types.
const IMAGES: [(&str, &str); 5] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("Qk", "image/bmp"),
];

/// The type of an image in base64, by its first bytes.
#[must_use]
pub fn image_type(data: &str) -> Option<&'static str> {
    let known = IMAGES.iter().find(|(begin, _)| data.starts_with(begin));
    known.map(|(_, media_type)| *media_type)
}

/// The media type of bytes in base64: the stated one without its parameters, in small letters; of an image, and where nothing is stated
/// by it, what its first bytes say. Anthropic and Gemini refuse what is stated otherwise (home-assistant/core#167208), and `image/jpg`,
/// which nobody registered.
#[must_use]
pub fn media_type(stated: &str, data: &str) -> Box<str> {
    let essence = stated.split(';').next().unwrap_or_default().trim();
    let known = essence.to_ascii_lowercase();
    let seen = match known.as_str() {
        "" | "*/*" | "application/octet-stream" | "binary/octet-stream" => sure_type(data),
        image if image.starts_with("image/") => image_type(data),
        _ => None,
    };
    match seen {
        Some(seen) => seen.into(),
        None if known == "image/jpg" => "image/jpeg".into(),
        None => known.into(),
    }
}

/// The type of what may be no image at all.
fn sure_type(data: &str) -> Option<&'static str> {
    image_type(data).filter(|kind| match *kind {
        // Sounds begin so, too.
        "image/webp" => data.get(12..16) == Some("RUJQ"),
        // Two letters say little.
        "image/bmp" => false,
        _ => true,
    })
}

impl Part {
    /// What `data:image/png;base64,…` has in it; `None` where it is no such URL.
    #[must_use]
    pub fn of_data_url(url: &str) -> Option<Self> {
        let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
        Some(Self::Data {
            media_type: media_type(head.strip_suffix(";base64")?, data),
            data: data.to_owned(),
            name: None,
            cache: None,
        })
    }

    /// What a conversation was put in short as, where it stands in that one's place.
    #[must_use]
    pub fn in_short(summary: &str) -> Self {
        Self::Text {
            text: format!("What was said before, in short:\n\n{summary}"),
            cache: None,
        }
    }

    /// The same with Anthropic's mark.
    #[must_use]
    pub fn cached(mut self, mark: Option<Box<RawValue>>) -> Self {
        if let Self::Text { cache, .. }
        | Self::Data { cache, .. }
        | Self::Link { cache, .. }
        | Self::Document { cache, .. } = &mut self
        {
            *cache = mark;
        }
        self
    }

    /// Takes Anthropic's mark off; whether there was one.
    pub fn unmark(&mut self) -> bool {
        match self {
            Self::Text { cache, .. }
            | Self::Data { cache, .. }
            | Self::Link { cache, .. }
            | Self::Document { cache, .. } => cache.take().is_some(),
            Self::Opaque { .. } => false,
        }
    }

    /// The same file with a name; nothing else has one.
    #[must_use]
    pub fn named(mut self, named: Option<String>) -> Self {
        if let Self::Data { name, .. } = &mut self {
            *name = named.map(Box::new);
        }
        self
    }
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
            claimed: Vec::new(),
            sealed: Vec::new(),
            calls: Vec::new(),
            call_id: None,
            tool: None,
            failed: None,
            resolutions: Vec::new(),
            unknown: Vec::new(),
            is_developer: false,
            edits: Edits::default(),
        }
    }

    /// The same in the middle of a client's conversation.
    #[must_use]
    pub fn added(role: Role, text: &str) -> Self {
        let part = Part::Text {
            text: text.to_owned(),
            cache: None,
        };
        Self {
            edits: Edits::ALL,
            ..Self::of(role, vec![part])
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

    /// All that it says and calls as yet.
    #[must_use]
    pub fn behind(&self) -> Behind {
        Behind {
            parts: self.parts.len(),
            calls: self.calls.len(),
        }
    }

    /// Notes something sealed that stands behind all of it.
    pub fn hold(&mut self, origin: Origin, sealed: Sealed) {
        let behind = self.behind();
        self.sealed.push(Held {
            origin,
            sealed,
            behind,
        });
    }

    /// Takes along what is sealed of a turn that goes on with this one, before that one's parts and calls are taken along.
    pub fn hold_on(&mut self, more: Vec<Held>) {
        let before = self.behind();
        self.sealed.extend(more.into_iter().map(|held| {
            let behind = Behind {
                parts: before.parts + held.behind.parts,
                calls: before.calls + held.behind.calls,
            };
            Held { behind, ..held }
        }));
    }

    /// Whether a block of thinking stands behind its last part: a text that follows is another one.
    #[must_use]
    pub fn thinks_behind_parts(&self) -> bool {
        self.sealed.last().is_some_and(|held| {
            matches!(held.sealed, Sealed::Thinking(_)) && held.behind.parts == self.parts.len()
        })
    }

    /// The texts alone, a line each.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Data { .. } | Part::Link { .. } | Part::Document { .. } | Part::Opaque { .. } => {
                None
            }
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

fn place_id(turn: usize, call: usize) -> String {
    format!("call_{turn}_{call}")
}

#[cfg(test)]
mod tests {
    use super::media_type;

    #[test]
    fn the_type_of_an_image_is_what_its_first_bytes_say() {
        let (png, jpeg) = ("iVBORw0KGgoAAAANSUhEUg", "/9j/4AAQSkZJRg");
        let (webp, wave) = ("UklGRiQAAABXRUJQVlA4", "UklGRiQAAABXQVZFZm10");
        for (stated, data, known) in [
            ("image/jpeg", png, "image/png"),
            ("image/*", jpeg, "image/jpeg"),
            ("IMAGE/PNG; x=y", webp, "image/webp"),
            ("", png, "image/png"),
            ("application/octet-stream", webp, "image/webp"),
            ("application/octet-stream", wave, "application/octet-stream"),
            (
                "application/octet-stream",
                "Qk0A",
                "application/octet-stream",
            ),
            ("image/jpg", "AAAA", "image/jpeg"),
            ("image/heic", "AAAA", "image/heic"),
            ("application/pdf", png, "application/pdf"),
        ] {
            assert_eq!(&*media_type(stated, data), known, "{stated} {data}");
        }
    }
}
