//! The server faces of all wires: we are the client. In: a [`Draft`], as it was written for the server;
//! out: path and body on the server's own wire. Back: a reply or the bytes of a stream in, the
//! reply's events out.
//!
//! What a wire cannot say is a loss or refused, never left out in silence. Fields of the wire's own
//! that a rule or a client wrote go along as they are.

pub(in crate::dialect) mod ask;
pub(in crate::dialect) mod calls;
mod count;
pub mod editor;
mod frames;
mod prompt;
pub(in crate::dialect) mod sides;
pub(in crate::dialect) mod sink;
mod stream;
mod verbatim;

use super::{chat, cohere, completions, gemini, messages, ollama, responses, tgi};
use crate::error::{Error, Kind};
use crate::ir::{Draft, Event, Fields, Framing, Ids, Loss, Wire};
pub(crate) use ask::one_choice;
use bytes::Bytes;
use serde_json::value::RawValue;
use sink::OpenCallsOf;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use ask::Ask;
pub use count::{Counting, Heard, Question, Rendering};
pub use editor::Editor;
pub(crate) use frames::KEPT_EVENTS;
pub use frames::TooLarge;
pub(in crate::dialect) use prompt::first;
pub use prompt::{Pending, Render};
pub use sink::Sink;
pub use stream::ServerStream;
pub use verbatim::Verbatim;

/// Chat Completions' own path.
pub const CHAT_PATH: &str = "/v1/chat/completions";

/// A wire, as its servers speak it.
pub trait Server: fmt::Debug + Send + Sync {
    /// Its name.
    fn wire(&self) -> Wire;

    /// How its streams are framed.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Whether a text may be a refusal of which the end alone tells.
    fn refuses_late(&self) -> bool {
        false
    }

    /// Whether it runs tools of its own in the middle of a reply, on the way to the answer ([`Event::Hosted`]), and may be asked for a
    /// form as well.
    fn hosts_tools(&self) -> bool {
        false
    }

    /// Whether a call that a limit cut is an object all the same where a reply is whole: closed where it was cut.
    fn closes_cut_calls(&self) -> bool {
        false
    }

    /// Whether its thoughts are told apart by who made the model: an answer is never among them.
    fn seals_thoughts(&self) -> bool {
        false
    }

    /// Whether it takes a prompt in place of a conversation. Who asks for the prompt sends Chat's
    /// messages then.
    fn takes_prompt(&self) -> bool {
        false
    }

    /// What edits a request that came on this wire already; none where no client speaks it.
    fn editor(&self) -> Option<&'static dyn Editor> {
        None
    }

    /// Writes a request of another dialect. `render` says where the server renders conversations,
    /// which wires that take a prompt need. A route beside a server's own wire has none: nobody but its own clients is
    /// sent to it ([`facing`]).
    ///
    /// # Errors
    /// What the wire cannot say and nobody could do without, by its field.
    fn write(&self, _ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        let message = "this route is asked by its own clients alone";
        Err(Error::new(Kind::Internal, message))
    }

    /// The conversation alone, and the field in which [`Self::write`] writes it: for requests that differ in nothing else.
    /// `None` where what is written of it depends on more.
    ///
    /// # Errors
    /// As [`Self::write`].
    fn conversation(&self, _ask: &mut Ask<'_>) -> Result<Option<Told>, Error> {
        Ok(None)
    }

    /// What of a request to this path makes its prompt, as the wire's servers take it to count its tokens.
    fn counted(&self, _path: &str, body: Fields) -> Fields {
        body
    }

    /// Reads a whole reply; the bytes come back where a client of the same wire may have them as
    /// they are.
    ///
    /// # Errors
    /// The body is none on this wire, or reports an error.
    fn read<'b>(
        &self,
        body: &'b [u8],
        about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault>;

    /// A reader of one streamed reply.
    fn reader(&self, about: About) -> Box<dyn Reader>;
}

/// Reads a stream.
pub trait Reader: fmt::Debug + Send {
    /// Reads the data of one event; the bytes come back where a client of the same wire may have
    /// them as they are.
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>>;

    /// What it says that the body ended.
    fn end(&mut self, _sink: &mut Sink<'_>) {}
}

/// A request as a wire writes it.
#[derive(Debug, Clone)]
pub struct Written {
    /// The path below the server's base, with its query.
    pub path: String,
    /// The body.
    pub body: Fields,
    /// What the reply is for, where this is a question before the request itself.
    pub pending: Option<Pending>,
}

/// A field of a server's wire, and the conversation that is its value.
pub type Told = (&'static str, Box<RawValue>);

impl Written {
    /// A request that needs no question before it.
    #[must_use]
    pub fn of((path, body): (String, Fields)) -> Self {
        Self {
            path,
            body,
            pending: None,
        }
    }
}

/// The face of Chat's servers, which most are.
pub const CHAT: &dyn Server = &chat::server::ChatServer;

/// The face of a wire; none for one that is not known here.
#[must_use]
pub const fn of(wire: Wire) -> Option<&'static dyn Server> {
    Some(match wire {
        Wire::Chat => CHAT,
        Wire::OllamaChat => &ollama::server::OllamaServer,
        Wire::OllamaGenerate => &ollama::server::GenerateServer,
        Wire::Completions => &completions::server::CompletionsServer,
        Wire::Messages => &messages::server::MessagesServer,
        Wire::Responses => &responses::server::ResponsesServer,
        Wire::Gemini => &gemini::server::GeminiServer,
        Wire::CohereChat => &cohere::server::CohereServer,
        Wire::TgiGenerate => &tgi::server::TgiServer,
        Wire::Other(_) => return None,
    })
}

/// The face that a server shows a request: some have older routes beside their own wire, which take the
/// same words in what steers. Whoever asks on such a route is answered there; on `/v1/responses` where the server
/// `has_responses` that are as good as its own wire.
#[must_use]
pub fn facing(
    server: &'static dyn Server,
    wire: Option<Wire>,
    has_responses: bool,
) -> &'static dyn Server {
    match (wire, server.wire()) {
        (Some(Wire::Responses), _) if has_responses => &responses::server::ResponsesServer,
        (Some(Wire::Completions), _) => &completions::server::CompletionsServer,
        (Some(Wire::OllamaGenerate), Wire::OllamaChat) => &ollama::server::GenerateServer,
        _ => server,
    }
}

/// A request on a server's own wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The path below the server's base, with its query.
    pub path: String,
    /// The body.
    pub body: Bytes,
    /// What the wire cannot say.
    pub losses: Vec<Loss>,
    /// What its reply is for, where this is not the request itself but a question before it.
    pub pending: Option<Pending>,
    /// How many tokens the prompt has, where a question before told.
    pub prompt_tokens: Option<u64>,
}

/// What is known of a reply before it comes.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The names that the server may have for a message's thoughts, where its wire leaves that
    /// open; the first that is there counts.
    pub reasoning: Vec<String>,
    /// The texts that end a reply.
    pub stop: Vec<String>,
    /// The names that the server may have for the one that did.
    pub stopped: Vec<String>,
    /// The server's own words for how a reply ended.
    pub ends: Arc<Ends>,
    /// How many tokens the prompt has, where that is known already.
    pub prompt_tokens: Option<u64>,
    /// Its client is of another wire, and gets nothing that only this one says.
    pub is_translated: bool,
}

/// Words for the end of a reply that are of one server alone, where its wire has others for the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    /// It was cut at a limit of tokens.
    pub cut: Vec<String>,
    /// It went wrong, whatever came of it.
    pub failed: Vec<String>,
    /// What the content of such a reply begins with where it is the server's error, and no model's word.
    pub faults: Vec<String>,
    /// Clients of the same wire act on what stands in its errors, which they are given as they came.
    pub own_errors: bool,
    /// Clients of the same wire read the counts of tokens in the last chunk of a stream, which nobody asks for.
    pub counts_unasked: bool,
}

/// What one event of a stream says, or a whole reply.
#[derive(Debug, Clone, Default)]
pub struct Frame<'d> {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The bytes, where a client of the same wire may have them as they came.
    pub verbatim: Option<Verbatim<'d>>,
}

/// A body that is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyFault {
    /// It is none on this wire.
    NotAReply,
    /// The server reported an error under a success status: its own JSON text.
    Error(String),
}

/// The texts that end a reply to this request.
#[must_use]
pub fn stop_texts(fields: &Fields) -> Vec<String> {
    let Some(stop) = fields.raw("stop").filter(|stop| *stop != "null") else {
        return Vec::new();
    };
    let one = |_| serde_json::from_str(stop).map(|stop| vec![stop]);
    serde_json::from_str(stop).or_else(one).unwrap_or_default()
}

impl dyn Server {
    /// Asks for what a draft says. `title` is the server's name, for people.
    ///
    /// # Errors
    /// As [`Server::write`].
    pub fn ask(&self, draft: &Draft, title: &str, render: Option<&Render>) -> Result<Asked, Error> {
        let mut ask = Ask::new(draft, title);
        let written = self.write(&mut ask, render)?;
        Ok(Asked {
            path: written.path,
            body: written.body.to_json().into(),
            losses: ask.finish(),
            pending: written.pending,
            prompt_tokens: None,
        })
    }

    /// The conversation of a draft by itself; `None` where that cannot be written alone, or not without a loss.
    #[must_use]
    pub fn told(&self, draft: &Draft, title: &str) -> Option<Told> {
        let mut ask = Ask::new(draft, title);
        let told = self.conversation(&mut ask).ok()??;
        ask.finish().is_empty().then_some(told)
    }

    /// What a whole reply says. `ids` are for calls that have none.
    ///
    /// # Errors
    /// As [`Server::read`].
    pub fn whole<'b>(
        &self,
        body: &'b [u8],
        about: &About,
        ids: &mut Ids,
    ) -> Result<Frame<'b>, ReplyFault> {
        if crate::json::names_private(body) {
            return Err(ReplyFault::NotAReply);
        }
        let mut calls = OpenCallsOf::new();
        let mut sink = Sink::new(&mut calls, ids);
        let read = self.read(body, about, &mut sink);
        let verbatim = read.map_err(|fault| match fault {
            ReplyFault::NotAReply if error_text(body).is_some() => {
                ReplyFault::Error(String::from_utf8_lossy(body).into_owned())
            }
            fault => fault,
        })?;
        sink.end_open();
        let mut events = sink.into_events();
        let is_error = |event: &Event| matches!(event, Event::Error(_));
        if let Some(at) = events.iter().position(is_error)
            && let Event::Error(raw) = events.swap_remove(at)
        {
            return Err(ReplyFault::Error(raw));
        }
        Ok(Frame { events, verbatim })
    }

    /// A stream of its replies. `event_bytes` bounds one unfinished event.
    #[must_use]
    pub fn stream(&self, about: About, event_bytes: usize) -> ServerStream {
        ServerStream::new(self.framing(), self.reader(about), event_bytes)
    }
}

/// Two faces of one wire are the same.
impl PartialEq for dyn Server {
    fn eq(&self, other: &Self) -> bool {
        self.wire() == other.wire()
    }
}

/// What stands behind the first quote of an error that is a text: `{"error": "…"}`. Quotes within it may be unescaped, so that it is no
/// JSON (transformers serve).
#[must_use]
pub(crate) fn error_text(data: &[u8]) -> Option<&[u8]> {
    let name = data.trim_ascii_start().strip_prefix(b"{")?;
    let value = name.trim_ascii_start().strip_prefix(b"\"error\"")?;
    let value = value.trim_ascii_start().strip_prefix(b":")?;
    let text = value.trim_ascii_start().strip_prefix(b"\"")?;
    (!text.starts_with(b"\"")).then_some(text)
}

/// Bytes of a server with what is no Unicode replaced.
#[must_use]
pub fn mended(data: &[u8]) -> Cow<'_, [u8]> {
    crate::json::mend(data).map_or(Cow::Borrowed(data), Cow::Owned)
}

/// Reads a whole reply of which a client gets no bytes as they came; `None` says that it is none.
pub(in crate::dialect) fn anew<'b>(
    body: &[u8],
    read: impl FnOnce(&[u8]) -> Option<()>,
) -> Result<Option<Verbatim<'b>>, ReplyFault> {
    read(&mended(body))
        .map(|()| None)
        .ok_or(ReplyFault::NotAReply)
}

/// Reads a stream of which a client gets no bytes as they came.
pub(in crate::dialect) trait Pieces: fmt::Debug + Send {
    /// Reads the data of one event, which is Unicode; `None` says that it is none of the wire.
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<()>;

    /// What it says that the body ended.
    fn over(&mut self, _sink: &mut Sink<'_>) {}
}

/// The reader of such a stream. Each of these wires has an end of its own.
#[derive(Debug)]
pub(in crate::dialect) struct Anew<P>(pub(in crate::dialect) P);

impl<P: Pieces> Reader for Anew<P> {
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        let data = mended(data);
        if data.trim_ascii() != b"[DONE]" && self.0.piece(&data, sink).is_none() {
            sink.garbage();
        }
        None
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.0.over(sink);
    }
}
