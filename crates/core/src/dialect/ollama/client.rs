//! We are the server: Ollama's two routes that generate, their requests in, typed; the events of a reply
//! out, as lines of JSON or one object.

mod error;
mod request;
mod turns;
mod write;

use crate::dialect::client::{Client, LastWords, Terms, Writer, states};
use crate::error::Error;
use crate::ir::{Fields, Framing, Loss, Place, Reply, Request, Turn};

/// Ollama, as its clients speak it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ollama {
    /// `/api/chat`: a conversation.
    Chat,
    /// `/api/generate`: one prompt.
    Generate,
}

impl Client for Ollama {
    fn label(&self) -> &'static str {
        match self {
            Self::Chat => "ollama_chat",
            Self::Generate => "ollama_generate",
        }
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        request::read(*self, body)
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        match self {
            Self::Chat => turns::chat(&request.fields),
            Self::Generate => turns::generate(&request.fields),
        }
    }

    /// Its templates leave the last turn open, whosever it is.
    fn prefills(&self) -> bool {
        true
    }

    fn conversation(&self) -> Option<&'static str> {
        matches!(self, Self::Chat).then_some("messages")
    }

    fn unsaid(&self, request: &Request) -> Vec<Loss> {
        request::unsaid(*self, request)
    }

    fn loss(&self, loss: &mut Loss, _request: &Request) -> bool {
        request::loss(loss)
    }

    fn has_refusals(&self) -> bool {
        false
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::LineWriter::new(*self, terms))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        write::whole(*self, terms, reply)
    }

    /// As Ollama does: `curl -d` says that it sends a form.
    fn reads_any_type(&self) -> bool {
        true
    }

    /// `ollama run` asks so before anything else.
    fn loaded(&self, terms: &Terms, request: &Request) -> Option<Vec<u8>> {
        request::asks_nothing(*self, &request.fields)
            .then(|| write::loaded(*self, terms, request::unloads(&request.fields)))
    }

    fn stream_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn end_mark(&self) -> &'static [u8] {
        write::END
    }

    fn overlooks_errors(&self) -> bool {
        true
    }

    fn has_last_words(&self) -> bool {
        true
    }

    fn last_words(&self, events: &[u8]) -> Option<LastWords> {
        // What a tool is called with may have such members too.
        let may_end = |line: &&[u8]| states(line, "done", "true") || states(line, "error", "\"");
        let lines = events.split(|byte| *byte == b'\n').filter(may_end);
        let mut told = lines.filter_map(|line| {
            let line: Fields = serde_json::from_slice(line).unwrap_or_default();
            let error = line.raw("error").filter(|error| error.starts_with('"'));
            let done = line.raw("done").filter(|done| *done == "true");
            match (error, done) {
                (Some(_), _) => Some(LastWords::Error),
                (None, Some(_)) => Some(LastWords::End),
                (None, None) => None,
            }
        });
        told.next()
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        error::body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        let mut line = error::body(error);
        line.push(b'\n');
        line
    }

    fn limit(&self) -> &'static str {
        "options.num_predict"
    }

    fn place(&self, place: Place) -> String {
        match (self, place) {
            (Self::Generate, _) => "response".to_owned(),
            (Self::Chat, Place::Choices | Place::Choice(_)) => "message".to_owned(),
            (Self::Chat, Place::Content(_)) => "message.content".to_owned(),
            (Self::Chat, Place::Calls(_)) => "message.tool_calls".to_owned(),
            (Self::Chat, Place::Call(_, call)) => format!("message.tool_calls[{call}]"),
        }
    }
}
