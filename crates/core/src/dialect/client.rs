//! The client faces of all dialects: we are the server. A client's request in, typed; the events of
//! its reply out, in its own words. [`crate::passage::client`] knows
//! them all.

use super::keeper::Keeper;
use super::server::Verbatim;
use super::socket::Socket;
use crate::error::{Error, Kind};
use crate::ir::{
    CallInput, Event, Fields, Framing, Ids, Loss, Origin, Place, Reply, Request, Seal, Stated,
    Turn, Violation,
};
use crate::schema::arguments;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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

    /// The face for a request with this query, where that says something of how the reply is written: another one of
    /// the same label.
    fn for_query(&self, _query: &str) -> Option<&'static dyn Client> {
        None
    }

    /// Whether a request's query goes along to the server.
    fn keeps_query(&self, _is_own_wire: bool) -> bool {
        true
    }

    /// The header, and if there is one the member of the query, in which clients of this dialect send their key, where it is not
    /// `authorization`.
    fn key(&self) -> Option<(&'static str, Option<&'static str>)> {
        None
    }

    /// The header in which clients of this dialect read a request's id off the reply, where that is not `x-request-id`.
    fn request_id(&self) -> Option<&'static str> {
        None
    }

    /// What a store has to know, where clients of this dialect go on from replies that are kept for them.
    fn keeper(&self) -> Option<&'static dyn Keeper> {
        None
    }

    /// What is said on a WebSocket, where clients of this dialect may open one instead of sending requests.
    fn socket(&self) -> Option<&'static dyn Socket> {
        None
    }

    /// The conversation of a request that [`Self::read`] has read.
    ///
    /// # Errors
    /// The field at fault.
    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error>;

    /// What the request says that is neither a setting nor in the conversation, and that only servers of its
    /// own wire can be told: a loss on all others.
    fn unsaid(&self, _request: &Request) -> Vec<Loss> {
        Vec::new()
    }

    /// The name of the top-level field that holds the conversation and nothing else: [`Self::read`] does not look into it.
    /// Requests that differ in it alone have one plan. `None` where there is no such field.
    fn conversation(&self) -> Option<&'static str> {
        None
    }

    /// What tells apart clients of one label that are answered otherwise.
    fn face(&self) -> &'static str {
        self.label()
    }

    /// Whether the model goes on with its own words where a conversation ends with them, rather than answering anew.
    fn prefills(&self) -> bool {
        false
    }

    /// Whether something of the conversation stands elsewhere in the body as well.
    fn goes_on(&self, _body: &[u8]) -> bool {
        false
    }

    /// Whether a conversation may be a text instead of a list.
    fn may_be_text(&self) -> bool {
        false
    }

    /// Whether all that [`Self::is_plain`] looks for stands at the beginning of a text: the inside of long ones is not shown
    /// to it then.
    fn is_plain_by_beginnings(&self) -> bool {
        false
    }

    /// Whether this conversation, a list or what [`Self::may_be_text`], is sent to servers of the client's wire as every
    /// other is.
    fn is_plain(&self, _conversation: &[u8]) -> bool {
        true
    }

    /// A loss as the client knows it: what is lost of [`Request::settings`] is told under Chat's names. `false` where
    /// the client did not ask for it at all.
    fn loss(&self, _loss: &mut Loss, _request: &Request) -> bool {
        true
    }

    /// The same of an error.
    fn blame(&self, error: Error) -> Error {
        error
    }

    /// Whether the dialect tells a refusal apart from an answer.
    fn has_refusals(&self) -> bool {
        true
    }

    /// A writer of one streamed reply.
    fn writer(&self, terms: Terms) -> Box<dyn Writer>;

    /// Writes a whole reply.
    fn whole(&self, terms: &Terms, reply: &Reply) -> Vec<u8>;

    /// Why a whole reply is none for a client of this face, whatever was demanded.
    fn lacking(&self, _reply: &Reply) -> Option<Violation> {
        None
    }

    /// The reply to a request that asks for no answer, and would only have a server of its own wire load a model: others
    /// do that by themselves.
    fn loaded(&self, _terms: &Terms, _request: &Request) -> Option<Vec<u8>> {
        None
    }

    /// Whether clients find something in every whole reply that servers of their own wire may leave out.
    fn completes(&self) -> bool {
        false
    }

    /// A whole reply of such a server with that; `None` where it has it.
    fn completed(&self, _body: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Whether a request is read whatever its content type says. One that a browser sends from another site says
    /// where it comes from.
    fn reads_any_type(&self) -> bool {
        false
    }

    /// Whether a request without a model is refused, unless the operator wants it forwarded.
    fn wants_model(&self) -> bool {
        false
    }

    /// The content type of a streamed reply.
    fn stream_type(&self) -> &'static str;

    /// What a streamed reply is made of.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// What the bytes of a whole stream end with, space behind it aside: clients close there.
    fn end_mark(&self) -> &'static [u8];

    /// Whether clients that stream are told there, under a status that says that all is well, of what their own server refuses.
    fn fails_in_streams(&self) -> bool {
        false
    }

    /// Whether some clients read over an error in a stream, and take what came before for all (Dify's Ollama, koog, Prism): the body
    /// breaks off behind it, which nobody reads over.
    fn overlooks_errors(&self) -> bool {
        false
    }

    /// Whether [`Self::last_words`] tells the end of every stream: one without any, and without the mark, broke off.
    fn has_last_words(&self) -> bool {
        false
    }

    /// What whole events of a stream that goes through as it is tell of its end.
    fn last_words(&self, _events: &[u8]) -> Option<LastWords> {
        None
    }

    /// An error as a reply's body.
    fn error_body(&self, error: &Error) -> Vec<u8>;

    /// An error as the last event of a stream, with its framing.
    fn error_event(&self, error: &Error) -> Vec<u8>;

    /// The field that says how many tokens a reply may have, as a dotted path.
    fn limit(&self) -> &'static str {
        "max_tokens"
    }

    /// A place in the reply, as the client knows it.
    fn place(&self, place: Place) -> String;
}

/// What a stream says at its end, before its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastWords {
    /// An answer is whole; the mark of the end follows.
    Answer,
    /// All is said, if only that it failed, and nothing follows.
    End,
    /// There is an error in its place.
    Error,
    /// There is one that clients of the wire do not read as such.
    Unread {
        /// Where in its event, in bytes of what was looked at.
        at: usize,
    },
}

/// Whether a member of this name stands in whole events, with a value that begins so. Within a text a quote is escaped, so that it is
/// none of those.
#[must_use]
pub fn states(events: &[u8], name: &str, value: &str) -> bool {
    let quoted = format!("\"{name}\"");
    memchr::memmem::find_iter(events, quoted.as_bytes()).any(|at| {
        let behind = events.get(at + quoted.len()..).unwrap_or_default();
        let behind = behind.trim_ascii_start().strip_prefix(b":");
        behind.is_some_and(|it| it.trim_ascii_start().starts_with(value.as_bytes()))
    })
}

/// An error that names the limit of a reply by a server's word, with the client's own. Chat's clients know both words.
#[must_use]
pub fn in_words_of(client: &dyn Client, mut error: Error) -> Error {
    let named = ["max_tokens", "max_completion_tokens"];
    let stated = error
        .param
        .as_deref()
        .filter(|stated| named.contains(stated));
    let own = client.limit();
    // One that names both is ours, about the word that was sent.
    let names_both = error.message.contains(&format!("`{own}`"));
    let is_others = |stated: &&str| client.label() != "chat" && *stated != own && !names_both;
    if let Some(stated) = stated.filter(is_others) {
        let stated = format!("`{stated}`");
        error.message = error.message.replace(&stated, &format!("`{own}`"));
        error.param = Some(own.to_owned());
    }
    error
}

/// A question of a client's how many tokens a request has, on a route beside that of the request.
pub trait Counter: fmt::Debug + Send + Sync {
    /// Who asks.
    fn client(&self) -> &'static dyn Client;

    /// Reads what is to be counted, as the request that it would be; the body is strict JSON.
    ///
    /// # Errors
    /// The field at fault, and the remedy.
    fn read(&self, path: &str, body: &[u8]) -> Result<Request, Error>;

    /// The reply's body.
    fn told(&self, tokens: u64) -> Vec<u8>;
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

    /// What time it is, since the Unix epoch: streams go on for long after their [`Terms`] were made.
    fn now(&mut self, _since_epoch: Duration) {}

    /// What a store keeps of the stream behind its end: the reply as a whole, as the client put it together.
    fn kept(&self) -> Option<Vec<u8>> {
        None
    }

    /// Appends the error that ends the stream instead, and says so; else [`Client::error_event`] does.
    fn fail(&mut self, _error: &Error, _out: &mut Vec<u8>) -> bool {
        false
    }
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
    /// Its clients read counts that they did not ask for ([`Ends::counts_unasked`](crate::dialect::server::Ends)).
    pub keeps_counts: bool,
    /// [`Plan::counts_first`](crate::ir::Plan::counts_first).
    pub counts_first: bool,
    /// A server's bytes may go out as they came.
    pub keeps_bytes: bool,
    /// Signs thoughts that no server signed.
    pub seal: Seal,
    /// [`Request::echo`].
    pub echo: Option<Arc<Fields>>,
}

/// Tells a loss under the client's own name of a setting, a dotted path; where it has none, it said nothing of it and
/// lost nothing.
pub(super) fn rename(loss: &mut Loss, own: impl Fn(&str) -> Option<&str>) -> bool {
    let path = loss.pointer.get(1..).unwrap_or_default();
    let (field, below) = path.split_once('/').unwrap_or((path, ""));
    let Some(name) = own(field) else {
        return false;
    };
    if name != field {
        let below = if below.is_empty() {
            String::new()
        } else {
            format!("/{below}")
        };
        loss.pointer = format!("/{}{below}", name.replace('.', "/"));
    }
    true
}

/// What is wrong with a field.
pub(super) fn invalid(message: impl Into<String>, at: impl Into<String>) -> Error {
    Error::new(Kind::InvalidRequest, message).at(at)
}

/// A field of a known type at the top of a body; absent and `null` are the same.
pub(super) fn field<T: DeserializeOwned>(
    fields: &Fields,
    name: &str,
    expected: &str,
) -> Result<Option<T>, Error> {
    let Some(raw) = fields.raw(name) else {
        return Ok(None);
    };
    serde_json::from_str::<Option<T>>(raw)
        .map_err(|_| invalid(format!("`{name}` must be {expected}"), name))
}

/// A member of an object, taken out of it; absent and `null` are the same.
pub(super) fn member<T: DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    origin: &Origin,
    expected: &str,
) -> Result<Option<T>, Error> {
    let Some(value) = fields.remove(name) else {
        return Ok(None);
    };
    serde_json::from_str::<Option<T>>(value.get()).map_err(|_| {
        let at = origin.member(name);
        invalid(format!("`{at}` must be {expected}"), at.0)
    })
}

/// A list of objects at the top of a body; absent and `null` are the same. What is wrong with an item is told of that one.
pub(super) fn objects(
    fields: &Fields,
    name: &str,
    expected: &str,
) -> Result<Option<Vec<Fields>>, Error> {
    field(fields, name, expected).map_err(|error| {
        let list = fields.raw(name).unwrap_or_default();
        odd_item(list, &Origin::new(name)).unwrap_or(error)
    })
}

/// What is wrong with the first item of a list that is no object; `None` where it is no list, or has none such.
pub(super) fn odd_item(list: &str, at: &Origin) -> Option<Error> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let is_odd = |item: &&RawValue| serde_json::from_str::<Fields>(item.get()).is_err();
    let at = at.item(items.iter().position(is_odd)?);
    Some(invalid(format!("`{at}` must be an object"), at.0))
}

/// What stands where true or false is to stand; some write it as a text.
pub(super) fn truth(stated: &Value, at: impl FnOnce() -> String) -> Result<bool, Error> {
    match stated {
        Value::Bool(said) => Ok(*said),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        _ => {
            let at = at();
            Err(invalid(format!("`{at}` must be true or false"), &at))
        }
    }
}

/// `model`; nothing where none is named. `listed` is the route that lists the names.
pub(super) fn model(fields: &Fields, listed: &str) -> Result<String, Error> {
    let model = field::<String>(fields, "model", "a string")?.unwrap_or_default();
    // A name that ends at a NUL for one reader and goes on for another is two models.
    if model.chars().any(char::is_control) {
        let message =
            format!("`model` holds a control character: send the name that {listed} lists");
        return Err(invalid(message, "model"));
    }
    Ok(model)
}

/// The schema of a tool, where a call's arguments are written as an object.
pub(super) fn object_arguments(schema: Value, origin: &Origin) -> Result<Value, Error> {
    arguments::of_object(schema).ok_or_else(|| {
        let message = format!(
            "`{origin}` allows no object, and arguments are one here: make the value one of its `properties`"
        );
        Error::new(Kind::InvalidSchema, message).at(origin.0.clone())
    })
}

/// Whether readers with 64-bit floats read a JSON value, which is well-formed: `1e400` is none of their numbers. It is written
/// only where a reply that breaks its contract is let pass.
pub(super) fn is_readable(json: &str) -> bool {
    const LONGEST: usize = 300;
    let bytes = json.as_bytes();
    let has_exponent = bytes
        .windows(2)
        .any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E'));
    let is_long = || {
        bytes
            .split(|byte| !byte.is_ascii_digit())
            .any(|digits| digits.len() >= LONGEST)
    };
    // A name may be written in escapes.
    let may_be_private = || ["serde_json", "\\u00"].iter().any(|it| json.contains(it));
    !(has_exponent || is_long() || may_be_private()) || crate::json::value(json).is_ok()
}

/// The input of a call, as a conversation has it in a text: the object that stands there, half surrogate pairs in it mended as in
/// the request itself, or the text where no reader would read one.
pub(super) fn call_input(text: String, origin: Origin) -> CallInput {
    let object = |text: &str| {
        let object = serde_json::from_str::<Box<RawValue>>(text).ok();
        let object = object.filter(|object| object.get().starts_with('{'))?;
        crate::json::value(text).is_ok().then_some(object)
    };
    let mended = || {
        let mended = String::from_utf8(crate::json::mend(text.as_bytes())?).ok()?;
        object(&mended)
    };
    match object(&text).or_else(mended) {
        Some(object) => CallInput::Object(object),
        None => CallInput::Text(Stated { origin, text }),
    }
}
