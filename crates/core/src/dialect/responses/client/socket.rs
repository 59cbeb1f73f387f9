//! The WebSocket of Responses: each message of a client's is a request, each event of its reply a message.
//!
//! As OpenAI documents its WebSocket mode (`developers.openai.com/api/docs/guides/websocket-mode`), and Open Responses of
//! 2026-04-24 the same: `response.create` holds the body of a request without `stream`; the last reply that nobody
//! stores is remembered by its connection, until the next one, or until a request that goes on from it fails; a
//! connection ends after an hour. Nothing of this is the server's: it is asked for one streamed reply after the other.

use super::Responses;
use super::field::{field, invalid};
use crate::dialect::client::{Client, Terms};
use crate::dialect::socket::{Asked, Socket, Talk};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Ids, Seal, raw};
use crate::json::strict;
use crate::sse::Decoder;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::mem;

/// The field that names what a request goes on from.
const PREVIOUS: &str = "previous_response_id";
/// What stands in every event that holds the reply as a whole, and in no text: a quote within one is escaped.
const WHOLE: &[u8] = b"\"response\":";
/// Characters of an error that is in nobody's shape.
const MAX_WORDS: usize = 1000;

/// The socket's face of Responses.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponsesSocket;

impl Socket for ResponsesSocket {
    fn talk(&self, limit: usize) -> Box<dyn Talk> {
        Box::new(Conversation {
            limit,
            remembered: None,
            turn: None,
            headers: Vec::new(),
        })
    }
}

/// A reply that is on its way.
#[derive(Debug)]
struct Turn {
    /// The reply that somebody stores, from which the conversation goes on.
    stored: Option<String>,
    /// What was said since, or from the beginning on.
    items: Vec<Box<RawValue>>,
    /// The reply that it goes on from, where its items were put before it.
    previous: Option<String>,
}

/// The last reply, with all that was said up to it.
#[derive(Debug)]
struct Remembered {
    id: String,
    /// As of its [`Turn`].
    stored: Option<String>,
    items: Vec<Box<RawValue>>,
}

/// What is said on one connection.
#[derive(Debug)]
struct Conversation {
    limit: usize,
    remembered: Option<Remembered>,
    turn: Option<Turn>,
    headers: Vec<(String, String)>,
}

/// An error of which nothing is known but its bytes.
fn in_words(status: u16, body: &[u8]) -> Fields {
    let words = String::from_utf8_lossy(body);
    let message = match words.trim() {
        "" => format!("the server answered {status}, and nothing else"),
        words => words.chars().take(MAX_WORDS).collect(),
    };
    let mut error = Fields::default();
    error.set("type", raw("upstream_error"));
    error.set("message", raw(&message));
    error
}

impl Talk for Conversation {
    fn take(&mut self, message: &[u8], ids: &Ids) -> Result<Asked, Error> {
        let message = &*strict::checked(message, &strict::Limits::default())?;
        let no_object = |_| {
            invalid(
                "type",
                "is missing: send an object of type `response.create`",
            )
        };
        let mut fields: Fields = serde_json::from_slice(message).map_err(no_object)?;
        match field::<String>(&fields, "type", "a string")?.as_deref() {
            Some("response.create") => {}
            // Codex says what it has read.
            Some("response.processed") => return Ok(Asked::Nothing),
            _ => return Err(invalid("type", "must be `response.create`")),
        }
        if fields.raw("stream_id").is_some_and(|id| id != "null") {
            let problem = "names a lane, and a connection has one here: leave it out, or open another connection";
            return Err(invalid("stream_id", problem));
        }
        let asks = field::<bool>(&fields, "generate", "true or false")?.unwrap_or(true);
        for name in ["type", "stream_id", "generate"] {
            fields.remove(name);
        }
        fields.set("stream", raw(&true));
        self.turn = Some(self.turn(&mut fields)?);
        let body = fields.to_json();
        match asks {
            true => Ok(Asked::Request(body.into())),
            false => self.prepared(&body, ids).map(Asked::Answer),
        }
    }

    fn head(&mut self, headers: Vec<(String, String)>) {
        self.headers = headers;
    }

    fn tell(&mut self, event: Vec<u8>) -> Vec<u8> {
        let headers = mem::take(&mut self.headers);
        let is_whole = memchr::memmem::find(&event, WHOLE).is_some();
        if headers.is_empty() && !is_whole {
            return event;
        }
        let Ok(mut fields) = serde_json::from_slice::<Fields>(&event) else {
            return event;
        };
        let response = fields.raw("response").map(serde_json::from_str::<Fields>);
        if let Some(Ok(mut response)) = response {
            if let Some(id) = self.turn.as_ref().and_then(|turn| turn.previous.as_ref()) {
                response.set(PREVIOUS, raw(id));
                fields.set("response", raw(&response));
            }
            match fields.raw("type") {
                Some("\"response.completed\"" | "\"response.incomplete\"") => {
                    self.remember(&response);
                }
                Some("\"response.failed\"") => self.turn = None,
                _ => {}
            }
        }
        if !headers.is_empty() {
            let said = headers
                .into_iter()
                .map(|(name, value)| (name, json!(value)));
            fields.set("headers", raw(&Value::Object(said.collect())));
        }
        fields.to_json()
    }

    fn refuse(&mut self, status: u16, body: &[u8]) -> Vec<u8> {
        self.turn = None;
        let said: Fields = serde_json::from_slice(body).unwrap_or_default();
        let error: Option<Fields> = said
            .raw("error")
            .and_then(|error| serde_json::from_str(error).ok());
        // Who stands before a server has words of its own.
        let mut error = error.unwrap_or_else(|| in_words(status, body));
        // What clients know, whoever could not follow it and why: they send the whole conversation.
        if status == 400 && error.raw("param") == Some("\"previous_response_id\"") {
            error.set("code", raw("previous_response_not_found"));
        }
        let mut event = Fields::default();
        event.set("type", raw("error"));
        event.set("status", raw(&status));
        event.set("error", raw(&error));
        let headers = mem::take(&mut self.headers);
        if !headers.is_empty() {
            let said = headers
                .into_iter()
                .map(|(name, value)| (name, json!(value)));
            event.set("headers", raw(&Value::Object(said.collect())));
        }
        event.to_json()
    }

    fn expired(&self) -> Vec<u8> {
        let told = json!({"type": "error", "status": 400, "error": {
            "type": "invalid_request_error",
            "code": "websocket_connection_limit_reached",
            "message": "the connection is as old as one may be (60 minutes): open another one",
            "param": null,
        }});
        told.to_string().into_bytes()
    }
}

impl Conversation {
    /// Puts before a request what it goes on from, where the connection remembers that. What it does not is for whoever
    /// stores replies.
    fn turn(&mut self, fields: &mut Fields) -> Result<Turn, Error> {
        let previous = field::<String>(fields, PREVIOUS, "the id of a response")?;
        let own = items(fields)?;
        let is_it = |known: &mut Remembered| previous.as_ref() == Some(&known.id);
        let Some(before) = self.remembered.take_if(is_it) else {
            return Ok(Turn {
                stored: previous,
                items: own,
                previous: None,
            });
        };
        let mut items = before.items;
        items.extend(own);
        fields.set("input", raw(&items));
        match &before.stored {
            Some(id) => fields.set(PREVIOUS, raw(id)),
            None => drop(fields.remove(PREVIOUS)),
        }
        Ok(Turn {
            stored: before.stored,
            items,
            previous: Some(before.id),
        })
    }

    /// What is told of a request that only prepares: a reply without output, from which the next one goes on.
    fn prepared(&mut self, body: &[u8], ids: &Ids) -> Result<Vec<Vec<u8>>, Error> {
        // Nobody stores it, and no server is to.
        let face = Responses::Unkept;
        let request = face.read("/v1/responses", body)?;
        let mut writer = face.writer(Terms {
            ids: ids.clone(),
            model: request.model,
            legacy_functions: false,
            include_usage: false,
            keeps_counts: false,
            counts_first: false,
            keeps_bytes: false,
            // There is no thought in it.
            seal: Seal::default(),
            echo: request.echo,
        });
        let mut stream = Vec::new();
        writer.end(None, &mut stream);
        let mut events = Vec::new();
        let too_large = |_| {
            Error::new(
                Kind::Internal,
                "an event is larger than the stream it is in",
            )
        };
        Decoder::new(stream.len())
            .push(&stream, &mut events)
            .map_err(too_large)?;
        Ok(events
            .into_iter()
            .map(|event| self.tell(event.data))
            .collect())
    }

    /// Remembers a reply that is whole, unless somebody stores it.
    fn remember(&mut self, response: &Fields) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        if response.raw("store") == Some("true") {
            return;
        }
        let id = response.raw("id").map(serde_json::from_str::<String>);
        let output = response.raw("output").unwrap_or("[]");
        let output: Vec<Box<RawValue>> = serde_json::from_str(output).unwrap_or_default();
        let mut items = turn.items;
        items.extend(output.into_iter().filter(|item| says_something(item)));
        let size: usize = items.iter().map(|item| item.get().len()).sum();
        self.remembered = match id {
            Some(Ok(id)) if size <= self.limit => Some(Remembered {
                id,
                stored: turn.stored,
                items,
            }),
            _ => None,
        };
    }
}

/// The items of `input`.
fn items(fields: &Fields) -> Result<Vec<Box<RawValue>>, Error> {
    let problem = "must be text, or a list of objects";
    match fields.raw("input") {
        None | Some("null") => Ok(Vec::new()),
        Some(text) if text.starts_with('"') => {
            let content = fields.0.get("input");
            Ok(vec![raw(
                &json!({"type": "message", "role": "user", "content": content}),
            )])
        }
        Some(list) => serde_json::from_str(list).map_err(|_| invalid("input", problem)),
    }
}

/// Thoughts of which nothing was told stand for what only their server's own memory has: it would not find them.
fn says_something(item: &RawValue) -> bool {
    let Ok(item) = serde_json::from_str::<Fields>(item.get()) else {
        return true;
    };
    let says = |name| {
        let said = item.raw(name);
        said.is_some_and(|said| !matches!(said, "null" | "[]" | "\"\""))
    };
    item.raw("type") != Some("\"reasoning\"")
        || ["encrypted_content", "summary", "content"]
            .into_iter()
            .any(says)
}

#[cfg(test)]
mod tests;
