//! We are the server: a request in, typed as far as it demands anything; the events of its reply out.

mod request;
mod write;

use crate::dialect::chat::client::{error_body, error_event};
use crate::dialect::chat::ending::last_words;
use crate::dialect::client::{Client, LastWords, Terms, Writer};
use crate::error::{Error, Kind};
use crate::ir::{Place, Reply, Request, Turn};

/// Legacy Completions, as its clients speak it.
#[derive(Debug, Clone, Copy)]
pub struct Completions;

impl Client for Completions {
    fn label(&self) -> &'static str {
        "completions"
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        request::read(body)
    }

    /// A prompt is no conversation: every server is asked at its own route.
    fn turns(&self, _request: &Request) -> Result<Vec<Turn>, Error> {
        let message = "`prompt` goes through no chat template, and this server has no route for that: POST \
                       `messages` to /v1/chat/completions";
        Err(Error::new(Kind::UnverifiedRoute, message).at("prompt"))
    }

    fn has_refusals(&self) -> bool {
        false
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::ChunkWriter::new(terms))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        write::whole(terms, reply)
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

    fn place(&self, place: Place) -> String {
        match place {
            Place::Choices => "choices".to_owned(),
            Place::Choice(choice) => format!("choices[{choice}]"),
            // There are no calls.
            Place::Content(choice) | Place::Calls(choice) | Place::Call(choice, _) => {
                format!("choices[{choice}].text")
            }
        }
    }
}
