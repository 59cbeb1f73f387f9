//! We are the server: a client's request in, typed; the events of its reply out, in Chat's words.

mod completed;
mod error;
mod request;
mod turns;
mod write;

pub use error::{error_body, error_event};
pub use request::read_request;
pub(in crate::dialect) use request::{
    function_tools, read_count, stated_constraint, stated_thinking,
};
pub(in crate::dialect) use turns::read_turns;
pub(in crate::dialect) use write::{counts, envelope};

use super::ending::last_words;
use crate::dialect::client::{Client, LastWords, Terms, Writer};
use crate::error::Error;
use crate::ir::{History, Place, Reply, Request, Turn};

/// Chat Completions, as its clients speak it.
#[derive(Debug, Clone, Copy)]
pub struct Chat;

impl Client for Chat {
    fn label(&self) -> &'static str {
        "chat"
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        read_request(body)
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        read_turns(&request.fields)
    }

    fn conversation(&self) -> Option<&'static str> {
        Some("messages")
    }

    fn is_plain_by_beginnings(&self) -> bool {
        true
    }

    /// What some servers refuse is told to them in another form.
    fn is_plain(&self, conversation: &[u8]) -> bool {
        !History::has_signs(conversation)
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::ChunkWriter::new(terms))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        write::whole(terms, reply)
    }

    fn completes(&self) -> bool {
        true
    }

    fn completed(&self, body: &[u8]) -> Option<Vec<u8>> {
        completed::completed(body)
    }

    fn wants_model(&self) -> bool {
        true
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn end_mark(&self) -> &'static [u8] {
        crate::sse::DONE.trim_ascii_end()
    }

    fn has_last_words(&self) -> bool {
        true
    }

    fn last_words(&self, events: &[u8]) -> Option<LastWords> {
        last_words(events)
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        error_body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        error_event(error)
    }

    fn limit(&self) -> &'static str {
        "max_completion_tokens"
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Choices => "choices".to_owned(),
            Place::Choice(choice) => format!("choices[{choice}]"),
            Place::Content(choice) => format!("choices[{choice}].message.content"),
            Place::Calls(choice) => format!("choices[{choice}].message.tool_calls"),
            Place::Call(choice, call) => format!("choices[{choice}].message.tool_calls[{call}]"),
        }
    }
}
