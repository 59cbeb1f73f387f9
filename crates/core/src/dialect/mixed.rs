//! A body of one dialect on another one's route. Cursor sends Responses' requests to `/v1/chat/completions`, and reads Chat's replies
//! (gabrii/Cursor-Azure-GPT-5#69, askalf/dario#203).

use super::chat::client::Chat;
use super::client::{Client, LastWords, Terms, Writer};
use super::responses::client::Responses;
use crate::error::Error;
use crate::ir::{Fields, Loss, Place, Reply, Request, Turn, raw};
use serde_json::value::RawValue;
use std::borrow::Cow;

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

/// The body without what of it is Chat's: counts in a stream are told anyway, the limit has another name, and tools have no object of
/// their own.
fn of_responses(body: &[u8]) -> Cow<'_, [u8]> {
    let Ok(mut fields) = serde_json::from_slice::<Fields>(body) else {
        return Cow::Borrowed(body);
    };
    if let Some(mut options) = object(fields.raw("stream_options"))
        && options.remove("include_usage").is_some()
    {
        fields.set("stream_options", raw(&options));
    }
    for name in ["max_completion_tokens", "max_tokens"] {
        let limit = fields.remove(name).filter(|limit| limit.get() != "null");
        let is_unsaid = fields.raw(LIMIT).is_none_or(|said| said == "null");
        if let Some(limit) = limit.filter(|_| is_unsaid) {
            fields.set(LIMIT, limit);
        }
    }
    let tools = fields.raw("tools");
    let tools = tools.and_then(|tools| serde_json::from_str::<Vec<Box<RawValue>>>(tools).ok());
    if let Some(tools) = tools {
        let flat = |tool: Box<RawValue>| flat(tool.get()).unwrap_or(tool);
        let tools: Vec<Box<RawValue>> = tools.into_iter().map(flat).collect();
        fields.set("tools", raw(&tools));
    }
    if let Some(choice) = fields.raw("tool_choice").and_then(flat) {
        fields.set("tool_choice", choice);
    }
    Cow::Owned(fields.to_json())
}

const LIMIT: &str = "max_output_tokens";

/// What Chat says of a tool in an object of its own, beside its type.
fn flat(stated: &str) -> Option<Box<RawValue>> {
    let mut fields = object(Some(stated))?;
    let mut kinds = ["function", "custom"].into_iter();
    let within = kinds.find_map(|kind| fields.remove(kind))?;
    for (name, value) in object(Some(within.get()))?.0 {
        fields.set(&name, value);
    }
    Some(raw(&fields))
}

fn object(value: Option<&str>) -> Option<Fields> {
    serde_json::from_str(value?).ok()
}

impl Client for ResponsesOnChat {
    fn label(&self) -> &'static str {
        Chat.label()
    }

    fn read(&self, path: &str, body: &[u8]) -> Result<Request, Error> {
        let request = Responses::Alone.read(path, &of_responses(body))?;
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

    fn loss(&self, loss: &mut Loss, request: &Request) -> bool {
        Responses::Alone.loss(loss, request)
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
