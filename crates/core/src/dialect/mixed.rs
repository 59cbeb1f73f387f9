//! A body of one dialect on another one's route. Cursor sends Responses' requests to `/v1/chat/completions`, and reads Chat's replies
//! (gabrii/Cursor-Azure-GPT-5#69, askalf/dario#203).

use super::chat::client::Chat;
use super::client::{Client, LastWords, Terms, Writer};
use super::responses::client::Responses;
use crate::error::Error;
use crate::ir::{Loss, Place, Reply, Request, Turn};

/// Asks as Responses' clients do, and hears as Chat's.
#[derive(Debug, Clone, Copy)]
struct ResponsesOnChat;

/// The client of a body whose conversation does not stand where its route has it: `has` says whether a field is there.
pub(crate) fn client(
    of_route: &'static dyn Client,
    has: impl Fn(&str) -> bool,
) -> Option<&'static dyn Client> {
    let is_chat = of_route.conversation() == Chat.conversation() && of_route.face() == Chat.face();
    let is_responses = || !has("messages") && has("input");
    (is_chat && is_responses()).then_some(&ResponsesOnChat)
}

impl Client for ResponsesOnChat {
    fn label(&self) -> &'static str {
        Chat.label()
    }

    fn read(&self, path: &str, body: &[u8]) -> Result<Request, Error> {
        let request = Responses::Alone.read(path, body)?;
        // No server has this wire.
        Ok(Request {
            wire: None,
            ..request
        })
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        Responses::Alone.turns(request)
    }

    fn face(&self) -> &'static str {
        "chat, asked as responses"
    }

    fn loss(&self, loss: &mut Loss) -> bool {
        Responses::Alone.loss(loss)
    }

    fn blame(&self, error: Error) -> Error {
        Responses::Alone.blame(error)
    }

    fn writer(&self, terms: Terms) -> Box<dyn Writer> {
        Chat.writer(terms)
    }

    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8> {
        Chat.whole(terms, reply)
    }

    fn stream_type(&self) -> &'static str {
        Chat.stream_type()
    }

    fn end_mark(&self) -> &'static [u8] {
        Chat.end_mark()
    }

    fn has_last_words(&self) -> bool {
        Chat.has_last_words()
    }

    fn last_words(&self, events: &[u8]) -> Option<LastWords> {
        Chat.last_words(events)
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        Chat.error_body(error)
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        Chat.error_event(error)
    }

    fn limit(&self) -> &'static str {
        Responses::Alone.limit()
    }

    fn place(&self, place: Place) -> String {
        Chat.place(place)
    }
}
