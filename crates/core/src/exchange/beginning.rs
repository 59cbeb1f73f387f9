//! The beginning of a reply that goes through as it is: whether its server reports an error where an answer was to be, under a
//! head that says that all is well.

use super::upstream_error::{in_place, unreadable};
use super::{Exchange, cut, garbage};
use crate::dialect::server::{ReplyFault, error_text};
use crate::error::Error;
use crate::ir::{Event, Framing, Ids};
use crate::rules::Rule;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// How a stream begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// There is no event yet.
    NotYet,
    /// With something of an answer.
    Well,
    /// With an error, or not at all.
    Badly(InPlace),
}

/// An error in the place of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct InPlace {
    /// What it says.
    pub error: Error,
    /// The server's own clients read it as one. Of others, as vLLM's before 0.10.1, Snowflake's and `FastAPI`'s, they make an empty
    /// answer.
    pub is_read: bool,
}

impl InPlace {
    fn new(error: Error, data: &[u8]) -> Self {
        let is_read = is_read(data);
        Self { error, is_read }
    }
}

/// Whether SDKs take this for an error: OpenAI's, Gemini's and Ollama's by its name, Anthropic's and those of Responses by its type.
fn is_read(data: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow)]
        error: Option<&'a RawValue>,
        #[serde(borrow)]
        r#type: Option<Cow<'a, str>>,
    }
    let said: Result<Said<'_>, _> = serde_json::from_slice(data);
    said.is_ok_and(|said| {
        let is_type = |kind: Cow<'_, str>| kind == "error" || kind == "response.failed";
        let is_error = |raw: &RawValue| !matches!(raw.get(), "null" | "\"\"");
        said.error.is_some_and(is_error) || said.r#type.is_some_and(is_type)
    })
}

/// What stands in errors: most replies have nothing of it. A text that speaks of errors has no quotes around the word, or escaped ones.
const WORDS: [&str; 8] = [
    "\"error\"",
    "\"error_message\"",
    "\"msg\"",
    "\"errors\"",
    "\"base_resp\"",
    "\"detail\"",
    "\"message\":\"",
    "\"message\": \"",
];

/// Whether this can be no error, as no word of errors is in it: most replies are looked at no further.
fn is_plain(bytes: &[u8]) -> bool {
    let has = |word: &&str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    memchr::memchr(b'{', bytes).is_some() && !WORDS.iter().any(has)
}

/// Whether the first JSON stands where clients look for it.
fn is_framed(events: &[u8]) -> bool {
    let mut lines = events.split(|byte| matches!(byte, b'\n' | b'\r'));
    let line = lines.find(|line| memchr::memchr(b'{', line).is_some());
    line.is_some_and(|line| line.starts_with(b"data:"))
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

impl Exchange {
    /// How a stream begins whose first whole events these are, or which is `over` with them. `event_bytes` bounds an event.
    #[must_use]
    pub fn begins(&self, rule: &Rule, bytes: &[u8], over: bool, event_bytes: usize) -> Begun {
        let mut server = self.server.stream(self.about(), event_bytes);
        let (mut data, mut ids) = (Vec::new(), Ids::new(0));
        // What is too large for us is for the client to read, or not.
        if server.push(bytes, &mut data).is_err() {
            return Begun::Well;
        }
        if over {
            server.finish(&mut data);
        }
        let Some(first) = data.first() else {
            return match over {
                true => Begun::Badly(InPlace::new(cut(), b"")),
                false => Begun::NotYet,
            };
        };
        if is_plain(first) && is_json(first) {
            return Begun::Well;
        }
        // Of events, SDKs read nothing in an error that is a text (Xinference's).
        let is_lines = self.server.framing() == Framing::Lines;
        let framed = match is_lines || is_framed(bytes) && error_text(first).is_none() {
            true => first.as_slice(),
            false => b"",
        };
        match server.read(first, &mut ids).events.first() {
            Some(Event::Error(raw)) => Begun::Badly(InPlace::new(in_place(rule, raw), framed)),
            Some(Event::Done) => Begun::Badly(InPlace::new(cut(), first)),
            // What another wire says is for its clients to read, as long as it can be read.
            Some(Event::Garbage) if !is_json(first) => Begun::Badly(InPlace::new(garbage(), first)),
            _ => Begun::Well,
        }
    }

    /// What a whole reply reports in place of an answer, or that it is none.
    #[must_use]
    pub fn reports(&self, rule: &Rule, body: &[u8]) -> Option<InPlace> {
        let is_object = body.trim_ascii().starts_with(b"{") && body.trim_ascii().ends_with(b"}");
        if is_object && is_plain(body) {
            return None;
        }
        let error = match self.server.whole(body, &self.about(), &mut Ids::new(0)) {
            Err(ReplyFault::Error(raw)) => in_place(rule, &raw),
            Err(fault) if !is_json(body) => unreadable(fault, &rule.too_long),
            _ => return None,
        };
        // Of OpenAI's wire SDKs read nothing in an error that is a text.
        let is_lines = self.server.framing() == Framing::Lines;
        let read = match is_lines || error_text(body).is_none() {
            true => body,
            false => b"",
        };
        Some(InPlace::new(error, read))
    }
}
