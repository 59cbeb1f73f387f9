//! We are the server: a client's Messages request in, typed; the events of its reply out, as content
//! blocks.

mod blocks;
mod count;
mod error;
mod request;
mod shown;
mod tools;
mod turns;
mod unsaid;
mod write;

use crate::dialect::client::{Client, LastWords, Terms, Writer, member, rename, states};
use crate::dialect::messages::server::has_odd;
use crate::dialect::{empty_list, images};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Loss, Origin, Place, Reply, Request, Seal, Turn};
use serde::de::DeserializeOwned;

pub use count::CountTokens;

/// Anthropic's Messages, as its clients speak it.
#[derive(Debug, Clone, Copy)]
pub struct Messages;

impl Client for Messages {
    fn label(&self) -> &'static str {
        "messages"
    }

    fn key(&self) -> Option<(&'static str, Option<&'static str>)> {
        Some(("x-api-key", None))
    }

    /// `_request_id` of the SDKs, of replies and errors (anthropic 0.125.0).
    fn request_id(&self) -> Option<&'static str> {
        Some("request-id")
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        request::read(body)
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        request::refuse_thread(&request.fields)?;
        turns::read(&request.fields)
    }

    fn unsaid(&self, request: &Request) -> Vec<Loss> {
        unsaid::losses(request)
    }

    fn loss(&self, loss: &mut Loss, _request: &Request) -> bool {
        rename(loss, |name| {
            Some(match name {
                "stop" => "stop_sequences",
                "user" => "metadata.user_id",
                "parallel_tool_calls" => "tool_choice.disable_parallel_tool_use",
                // Counts of tokens are always in a reply: nobody asked for them.
                "stream_options" => return None,
                name => name,
            })
        })
    }

    // `?beta=true` is Anthropic's alone.
    fn keeps_query(&self, is_own_wire: bool) -> bool {
        is_own_wire
    }

    /// "The response content will continue immediately from the content in that message" (Anthropic's API reference, `messages`).
    fn prefills(&self) -> bool {
        true
    }

    fn conversation(&self) -> Option<&'static str> {
        Some("messages")
    }

    /// Thoughts that we signed are taken out before Anthropic, ids of other servers get others, empty lists are objects, and images have
    /// their own type. A reference to a tool
    /// stands for what is said elsewhere in the request.
    fn is_plain(&self, conversation: &[u8]) -> bool {
        let has = |mark: &str| memchr::memmem::find(conversation, mark.as_bytes()).is_some();
        !Seal::may_stand_in(conversation)
            && !has(blocks::REFERENCE)
            && !has_odd(conversation)
            && !empty_list::may_stand_in(conversation, "input")
            && !images::MESSAGES.may_be_wrong(conversation)
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::EventWriter::new(terms))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        write::whole(terms, reply)
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn end_mark(&self) -> &'static [u8] {
        write::END.trim_ascii_end()
    }

    fn has_last_words(&self) -> bool {
        true
    }

    fn last_words(&self, events: &[u8]) -> Option<LastWords> {
        let event = |kind: &str| states(events, "type", &format!("\"{kind}\""));
        match () {
            () if event("message_stop") => Some(LastWords::End),
            () if event("error") => Some(LastWords::Error),
            () if states(events, "stop_reason", "\"") => Some(LastWords::Answer),
            () => None,
        }
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        error::body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        let mut out = Vec::new();
        write::event("error", &error::body(error), &mut out);
        out
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Choices | Place::Choice(_) | Place::Calls(_) => "content".to_owned(),
            Place::Content(_) => "content.text".to_owned(),
            Place::Call(_, call) => format!("content.tool_use[{call}]"),
        }
    }
}

fn invalid(message: impl Into<String>, at: &Origin) -> Error {
    Error::new(Kind::InvalidRequest, message).at(at.0.clone())
}

/// A member that has to be there.
fn need<T: DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    origin: &Origin,
    expected: &str,
) -> Result<T, Error> {
    member(fields, name, origin, expected)?.ok_or_else(|| {
        let at = origin.member(name);
        invalid(format!("`{at}` is missing: it must be {expected}"), &at)
    })
}
