//! We are the server: a client's request in, typed; the events of its reply out, as the steps of an interaction.

mod kept;
mod request;
mod tools;
mod turns;
mod write;

use crate::dialect::client::{Client, Terms, Writer, rename};
use crate::dialect::gemini::client::{error_body, error_value};
use crate::dialect::keeper::Keeper;
use crate::error::Error;
use crate::ir::{Loss, Place, Reply, Request, Turn};
use serde_json::json;

/// What the ids of interactions begin with.
pub(in crate::dialect) const PREFIX: &str = "v1_";

/// Interactions, as their clients speak them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interactions {
    /// There is no store: every request holds its whole conversation.
    Alone,
    /// There is one, and this reply is not kept in it.
    Unkept,
    /// There is one, and the reply is kept.
    Kept,
}

impl Client for Interactions {
    fn label(&self) -> &'static str {
        "interactions"
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        request::read(*self, body)
    }

    fn keeps_query(&self, _is_own_wire: bool) -> bool {
        false
    }

    fn key(&self) -> Option<(&'static str, Option<&'static str>)> {
        Some(("x-goog-api-key", Some("key")))
    }

    fn keeper(&self) -> Option<&'static dyn Keeper> {
        Some(&kept::InteractionsKeeper)
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        turns::read(&request.fields)
    }

    fn face(&self) -> &'static str {
        match self {
            Self::Alone => self.label(),
            Self::Unkept => "interactions, not kept",
            Self::Kept => "interactions, kept",
        }
    }

    fn conversation(&self) -> Option<&'static str> {
        Some("input")
    }

    fn may_be_text(&self) -> bool {
        true
    }

    fn wants_model(&self) -> bool {
        true
    }

    fn loss(&self, loss: &mut Loss, _request: &Request) -> bool {
        rename(loss, request::own_name)
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Box::new(write::EventWriter::new(terms))
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        write::whole(terms, reply)
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn end_mark(&self) -> &'static [u8] {
        b"data: [DONE]"
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        error_body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        let told = error_value(error);
        let event = json!({
            "error": {"code": told["error"]["status"], "message": told["error"]["message"]},
            "event_type": "error",
        });
        let mut out = Vec::new();
        write::event("error", &event, &mut out);
        write::end(&mut out);
        out
    }

    fn limit(&self) -> &'static str {
        "generation_config.max_output_tokens"
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Choices | Place::Choice(_) => "steps".to_owned(),
            // As the SDK names the text of the last of them.
            Place::Content(_) => "output_text".to_owned(),
            Place::Calls(_) => "steps.function_call".to_owned(),
            Place::Call(_, call) => format!("steps.function_call[{call}]"),
        }
    }
}

#[cfg(test)]
mod tests;
