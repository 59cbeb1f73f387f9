//! We are the server: a client's request in, typed; the events of its reply out, in the words of Responses.

mod compact;
mod count;
mod echo;
mod error;
mod field;
mod item;
mod kept;
mod names;
mod own;
mod request;
mod settings;
mod socket;
mod text;
mod tools;
mod turns;
mod write;

pub use count::InputTokens;
pub(super) use names::joined;
pub(super) use write::sealed;

use crate::dialect::client::{Client, LastWords, Terms, Writer, states};
use crate::dialect::keeper::Keeper;
use crate::dialect::socket::Socket;
use crate::error::Error;
use crate::ir::{Loss, Place, Reply, Request, Turn, Violation};

/// OpenAI's Responses, as its clients speak it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responses {
    /// There is no store: every request holds its whole conversation.
    Alone,
    /// There is one, and this reply is not kept in it.
    Unkept,
    /// There is one, and the reply is kept.
    Kept,
    /// The conversation in short is all that is asked for, on a route of its own.
    Compact,
}

impl Client for Responses {
    fn label(&self) -> &'static str {
        "responses"
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        let fields = request::fields(body)?;
        match self {
            Self::Compact => request::read_compact(fields),
            _ => request::read_fields(*self, fields),
        }
    }

    fn keeper(&self) -> Option<&'static dyn Keeper> {
        let compacts = *self == Self::Compact;
        Some(match compacts {
            true => &kept::ResponsesKeeper { compacts: true },
            false => &kept::ResponsesKeeper { compacts: false },
        })
    }

    fn socket(&self) -> Option<&'static dyn Socket> {
        Some(&socket::ResponsesSocket)
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        turns::read_turns(request)
    }

    fn face(&self) -> &'static str {
        match self {
            Self::Alone => self.label(),
            Self::Unkept => "responses, not kept",
            Self::Kept => "responses, kept",
            Self::Compact => "responses, in short",
        }
    }

    fn conversation(&self) -> Option<&'static str> {
        // What the user said in it is said in the reply.
        (*self != Self::Compact).then_some("input")
    }

    fn may_be_text(&self) -> bool {
        true
    }

    /// What is left out of it is told when the request is read, and what was sealed here goes to no server as it is.
    fn is_plain(&self, conversation: &[u8]) -> bool {
        let sealed = memchr::memmem::find(conversation, sealed::MARK.as_bytes());
        sealed.is_none() && item::is_plain(conversation)
    }

    fn goes_on(&self, body: &[u8]) -> bool {
        kept::goes_on(body)
    }

    fn loss(&self, loss: &mut Loss, request: &Request) -> bool {
        settings::loss(loss, &request.fields)
    }

    fn blame(&self, error: Error) -> Error {
        settings::blame(error)
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::EventWriter::new(terms))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        match self {
            Self::Compact => {
                let said = terms.echo.as_deref().map(echo::said).unwrap_or_default();
                compact::reply(terms, reply, said)
            }
            _ => write::whole(terms, reply),
        }
    }

    fn lacking(&self, reply: &Reply) -> Option<Violation> {
        match self {
            Self::Compact => compact::lacking(reply),
            _ => None,
        }
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn end_mark(&self) -> &'static [u8] {
        write::END_MARK
    }

    fn fails_in_streams(&self) -> bool {
        true
    }

    fn has_last_words(&self) -> bool {
        true
    }

    fn last_words(&self, events: &[u8]) -> Option<LastWords> {
        const ENDS: [&str; 4] = ["completed", "incomplete", "failed", "cancelled"];
        let event = |kind: &str| states(events, "type", &format!("\"{kind}\""));
        let ends = ENDS.iter().any(|end| event(&format!("response.{end}")));
        (ends || event("error")).then_some(LastWords::End)
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        error::error_body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        error::error_event(error)
    }

    fn limit(&self) -> &'static str {
        "max_output_tokens"
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Choices | Place::Choice(_) => "output".to_owned(),
            // As the clients name the text of all messages together.
            Place::Content(_) => "output_text".to_owned(),
            Place::Calls(_) => "output.function_calls".to_owned(),
            Place::Call(_, call) => format!("output.function_calls[{call}]"),
        }
    }
}

#[cfg(test)]
mod tests;
