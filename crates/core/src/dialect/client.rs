//! The client faces of all dialects: we are the server. A client's request in, typed; the events of
//! its reply out, in its own words. [`crate::passage::client`] knows
//! them all.

use super::server::Verbatim;
use crate::error::Error;
use crate::ir::{Event, Ids, Loss, Place, Reply, Request, Turn};
use std::fmt;

/// A client dialect.
pub trait Client: fmt::Debug + Send + Sync {
    /// The value of the metrics' `client` label.
    fn label(&self) -> &'static str;

    /// Reads a request's body, which is strict JSON ([`crate::json::strict`]). In some dialects the
    /// path, as it came, says something as well.
    ///
    /// # Errors
    /// The field at fault, and the remedy.
    fn read(&self, path: &str, body: &[u8]) -> Result<Request, Error>;

    /// The conversation of a request that [`Self::read`] has read.
    ///
    /// # Errors
    /// The field at fault.
    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error>;

    /// What no server of another wire could be told of a request: asked where it goes to one.
    fn unsaid(&self, _request: &Request) -> Vec<Loss> {
        Vec::new()
    }

    /// A loss of a setting, which is told under Chat's name for it, where the client stated it; `None`
    /// where it is nothing that the client said.
    fn told(&self, loss: Loss) -> Option<Loss> {
        Some(loss)
    }

    /// The name of the top-level field that holds the conversation and nothing else: [`Self::read`] does not look into it.
    /// Requests that differ in it alone have one plan. `None` where there is no such field.
    fn conversation(&self) -> Option<&'static str> {
        None
    }

    /// A writer of one streamed reply.
    fn writer(&self, terms: Terms) -> Box<dyn Writer>;

    /// Writes a whole reply.
    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8>;

    /// The content type of a streamed reply.
    fn stream_type(&self) -> &'static str;

    /// What the bytes of a whole stream end with, space behind it aside: clients close there.
    fn end_mark(&self) -> &'static [u8];

    /// An error as a reply's body.
    fn error_body(&self, error: &Error) -> Vec<u8>;

    /// An error as the last event of a stream, with its framing.
    fn error_event(&self, error: &Error) -> Vec<u8>;

    /// A place in the reply, as the client knows it.
    fn place(&self, place: Place) -> String;
}

/// Writes a stream. What one frame of the server says is one event at most, or none.
pub trait Writer: fmt::Debug + Send {
    /// Takes the events of one frame, and appends what they are to the client, if anything. `verbatim` are
    /// the frame's bytes, where they say nothing else, and the client may have them.
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    );

    /// Appends the end of the stream; `note` is for people.
    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>);
}

/// What a reply is written with.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The id and the time of a reply that has none.
    pub ids: Ids,
    /// The model the client asked for.
    pub model: String,
    /// Calls are written as Chat's legacy `function_call`.
    pub legacy_functions: bool,
    /// A stream ends with its counts of tokens.
    pub include_usage: bool,
    /// A server's bytes may go out as they came.
    pub keeps_bytes: bool,
}
