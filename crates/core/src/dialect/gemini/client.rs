//! We are the server: a client's request in, typed; the events of its reply out, in Gemini's words.

mod config;
mod count;
mod error;
pub(super) mod object;
mod request;
pub(super) mod schema;
mod tools;
mod turns;
mod write;

use crate::dialect::client::{Client, LastWords, Terms, Writer, states};
use crate::dialect::{empty_list, images};
use crate::error::Error;
use crate::ir::{Fields, Loss, Place, Reply, Request, Turn};

pub use count::CountTokens;
pub(in crate::dialect) use error::{body as error_body, value as error_value};
pub(in crate::dialect) use tools::lost;

/// `generateContent` and `streamGenerateContent`, as their clients speak them.
#[derive(Debug, Clone, Copy)]
pub struct Gemini {
    frames: Frames,
}

/// How a stream's replies are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frames {
    /// Server-sent events, which `alt=sse` asks for.
    Events,
    /// The items of one JSON list.
    List,
}

/// What is asked for with `alt=sse`, or whole.
pub const EVENTS: &Gemini = &Gemini {
    frames: Frames::Events,
};

/// A stream without `alt=sse`.
pub const LIST: &Gemini = &Gemini {
    frames: Frames::List,
};

impl Client for Gemini {
    fn label(&self) -> &'static str {
        "gemini"
    }

    fn read(&self, path: &str, body: &[u8]) -> Result<Request, Error> {
        let mut request = request::read(path, body)?;
        if self.frames == Frames::List {
            // Servers are asked for events: none of their bytes could go out as they came.
            request.wire = None;
        }
        Ok(request)
    }

    fn for_query(&self, query: &str) -> Option<&'static dyn Client> {
        let mut pairs = query.split('&');
        let is_sse = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or_default();
            ["alt", "$alt", "%24alt"].contains(&name) && value.eq_ignore_ascii_case("sse")
        };
        pairs.any(is_sse).then_some(EVENTS)
    }

    fn keeps_query(&self, _is_own_wire: bool) -> bool {
        false
    }

    fn key(&self) -> Option<(&'static str, Option<&'static str>)> {
        Some(("x-goog-api-key", Some("key")))
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        turns::read(&request.fields)
    }

    fn conversation(&self) -> Option<&'static str> {
        // A plan is for one framing: lists are planned each.
        (self.frames == Frames::Events).then_some("contents")
    }

    /// What was signed here goes to no server as it is.
    fn is_plain(&self, conversation: &[u8]) -> bool {
        memchr::memmem::find(conversation, super::sealed::MARK.as_bytes()).is_none()
            && !empty_list::may_stand_in(conversation, "args")
            && !images::GEMINI.may_be_wrong(conversation)
    }

    fn loss(&self, loss: &mut Loss, _request: &Request) -> bool {
        config::loss(loss)
    }

    fn blame(&self, error: Error) -> Error {
        config::blame(error)
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::ReplyWriter::new(terms, self.frames))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        write::whole(terms, reply)
    }

    fn stream_type(&self) -> &'static str {
        match self.frames {
            Frames::Events => "text/event-stream",
            Frames::List => "application/json; charset=UTF-8",
        }
    }

    fn end_mark(&self) -> &'static [u8] {
        match self.frames {
            // Its end is the body's: no client closes before that, at whatever it has read.
            Frames::Events => b"\0",
            Frames::List => b"]",
        }
    }

    fn overlooks_errors(&self) -> bool {
        // A list is read as a whole.
        self.frames == Frames::Events
    }

    fn has_last_words(&self) -> bool {
        true
    }

    fn last_words(&self, events: &[u8]) -> Option<LastWords> {
        let is_told = |name| states(events, name, "\"");
        match is_told("finishReason") || is_told("blockReason") {
            true => Some(LastWords::End),
            false => states_error(events).then_some(LastWords::Error),
        }
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        error::body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        let body = error::body(error);
        match self.frames {
            Frames::Events => {
                let mut out = Vec::new();
                crate::sse::encode(&body, &mut out);
                out
            }
            // A stream has begun when it breaks.
            Frames::List => [b",\r\n".as_slice(), &body, b"]"].concat(),
        }
    }

    fn limit(&self) -> &'static str {
        "generationConfig.maxOutputTokens"
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Choices => "candidates".to_owned(),
            Place::Choice(choice) => format!("candidates[{choice}]"),
            Place::Content(choice) | Place::Calls(choice) => {
                format!("candidates[{choice}].content.parts")
            }
            Place::Call(choice, call) => {
                format!("candidates[{choice}].content.parts.functionCall[{call}]")
            }
        }
    }
}

/// Whether an event is an error: what a function is called with may have a member of that name too.
fn states_error(events: &[u8]) -> bool {
    let lines = events.split(|byte| matches!(byte, b'\n' | b'\r'));
    let may_be = lines.filter(|line| states(line, "error", "{"));
    let texts = may_be.map(|line| line.strip_prefix(b"data:").unwrap_or(line));
    let roots = texts.filter_map(|text| serde_json::from_slice::<Fields>(text).ok());
    roots.into_iter().any(|root| root.has("error"))
}
