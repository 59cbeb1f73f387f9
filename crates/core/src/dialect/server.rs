//! The server faces of all wires: we are the client. In: a [`Draft`], as it was written for the server;
//! out: path and body on the server's own wire. Back: a reply or the bytes of a stream in, the
//! reply's events out.
//!
//! What a wire cannot say is a loss or refused, never left out in silence. Fields of the wire's own
//! that a rule or a client wrote go along as they are.

pub(in crate::dialect) mod ask;
pub(in crate::dialect) mod calls;
mod frames;
mod prompt;
pub(in crate::dialect) mod sides;
pub(in crate::dialect) mod sink;

use super::{chat, cohere, gemini, messages, ollama, tgi};
use crate::error::Error;
use crate::ir::{Draft, Event, Fields, FinishReason, Ids, Loss, Wire};
use ask::Ask;
pub(crate) use ask::one_choice;
use bytes::Bytes;
use frames::Frames;
use sink::{Calls, Sink};

pub use chat::Verbatim;
pub use frames::TooLarge;
pub(in crate::dialect) use prompt::first;
pub use prompt::{Pending, Render};

/// Chat Completions' own path.
pub const CHAT_PATH: &str = "/v1/chat/completions";

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
    /// How many tokens the prompt has, where that is known already.
    pub prompt_tokens: Option<u64>,
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
    let stop = fields.raw("stop").unwrap_or("null");
    let one = |_| serde_json::from_str(stop).map(|stop| vec![stop]);
    serde_json::from_str(stop).or_else(one).unwrap_or_default()
}

impl Wire {
    /// Writes a request. `title` is the server's name, for people; `render` says where it renders
    /// conversations, which wires that take a prompt need.
    ///
    /// # Errors
    /// What the wire cannot say and nobody could do without, by its field.
    pub fn ask(self, draft: &Draft, title: &str, render: Option<&Render>) -> Result<Asked, Error> {
        let mut ask = Ask::new(draft, title);
        let mut pending = None;
        let (path, body) = match self {
            Self::Chat => chat::server::ask(&mut ask)?,
            Self::OllamaChat => ollama::server::ask(&mut ask)?,
            Self::Messages => messages::server::ask(&mut ask)?,
            Self::Gemini => gemini::server::ask(&mut ask)?,
            Self::CohereChat => cohere::server::ask(&mut ask)?,
            Self::TgiGenerate => {
                let (path, body, then) = tgi::server::ask(&mut ask, render)?;
                pending = Some(then);
                (path, body)
            }
        };
        Ok(Asked {
            path,
            body: body.to_json().into(),
            losses: ask.finish(),
            pending,
            prompt_tokens: None,
        })
    }

    /// What a whole reply says. `ids` are for calls that have none.
    ///
    /// # Errors
    /// The body is none on this wire, or reports an error.
    pub fn whole<'b>(
        self,
        body: &'b [u8],
        about: &About,
        ids: &mut Ids,
    ) -> Result<Frame<'b>, ReplyFault> {
        let mut calls = Calls::new();
        let mut sink = Sink::new(&mut calls, ids);
        let mut verbatim = None;
        if self == Self::Chat {
            verbatim = chat::server::whole(body, about, &mut sink)?;
        } else {
            let mended = crate::json::mend(body);
            let body = mended.as_deref().unwrap_or(body);
            let read = match self {
                Self::Chat => None,
                Self::OllamaChat => ollama::server::whole(body, &mut sink),
                Self::Messages => messages::server::whole(body, &mut sink),
                Self::Gemini => gemini::server::whole(body, &mut sink),
                Self::CohereChat => cohere::server::whole(body, &mut sink),
                Self::TgiGenerate => tgi::server::whole(body, about, &mut sink),
            };
            read.ok_or(ReplyFault::NotAReply)?;
        }
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

    /// A reader of one streamed reply. `event_bytes` bounds one unfinished event.
    #[must_use]
    pub fn stream(self, about: About, event_bytes: usize) -> ServerStream {
        let state = match self {
            Self::Chat => State::Chat(chat::server::Stream::new(about)),
            Self::OllamaChat => State::Ollama(ollama::server::Stream::default()),
            Self::Messages => State::Messages(messages::server::Stream::default()),
            Self::Gemini => State::Gemini(gemini::server::Stream::default()),
            Self::CohereChat => State::Cohere(cohere::server::Stream::default()),
            Self::TgiGenerate => State::Tgi(tgi::server::Stream::new(&about)),
        };
        ServerStream {
            frames: Frames::new(self.framing(), event_bytes),
            state,
            calls: Calls::new(),
        }
    }
}

/// One streamed reply: bytes of its wire in, in any chunking; what each event says out.
#[derive(Debug)]
pub struct ServerStream {
    frames: Frames,
    state: State,
    calls: Calls,
}

#[derive(Debug)]
enum State {
    Chat(chat::server::Stream),
    Ollama(ollama::server::Stream),
    Messages(messages::server::Stream),
    Gemini(gemini::server::Stream),
    Cohere(cohere::server::Stream),
    Tgi(tgi::server::Stream),
}

impl ServerStream {
    /// Takes the next bytes of the body; appends the data of each event that they complete.
    ///
    /// # Errors
    /// An unfinished event over the limit.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), TooLarge> {
        self.frames.push(chunk, out)
    }

    /// The body ended: says whether nothing was left of an event that is not whole.
    pub fn finish(&mut self, out: &mut Vec<Vec<u8>>) -> bool {
        self.frames.finish(out)
    }

    /// What the data of the next event says. `ids` are for calls that have none.
    pub fn read<'d>(&mut self, data: &'d [u8], ids: &mut Ids) -> Frame<'d> {
        let mut sink = Sink::new(&mut self.calls, ids);
        if let State::Chat(stream) = &mut self.state {
            let verbatim = stream.event(data, &mut sink);
            let events = sink.into_events();
            return Frame { events, verbatim };
        }
        let mended = crate::json::mend(data);
        let data = mended.as_deref().unwrap_or(data);
        if data.trim_ascii() == b"[DONE]" {
            // Each of these wires has an end of its own.
            return Frame::default();
        }
        let read = match &mut self.state {
            State::Chat(_) => Some(()),
            State::Ollama(stream) => stream.event(data, &mut sink),
            State::Messages(stream) => stream.event(data, &mut sink),
            State::Gemini(stream) => stream.event(data, &mut sink),
            State::Cohere(stream) => stream.event(data, &mut sink),
            State::Tgi(stream) => stream.event(data, &mut sink),
        };
        if read.is_none() {
            sink.garbage();
        }
        Frame {
            events: sink.into_events(),
            verbatim: None,
        }
    }

    /// What it says that the body ended, after its last event.
    pub fn end(&mut self, ids: &mut Ids) -> Frame<'static> {
        let mut sink = Sink::new(&mut self.calls, ids);
        if let State::Gemini(stream) = &mut self.state {
            stream.end(&mut sink);
        }
        Frame {
            events: sink.into_events(),
            verbatim: None,
        }
    }

    /// The end of a choice whose server names none: it means that it is done.
    pub fn end_choice(&mut self, choice: u32, ids: &mut Ids) -> Frame<'static> {
        let mut sink = Sink::new(&mut self.calls, ids);
        sink.finish(choice, FinishReason::Stop);
        Frame {
            events: sink.into_events(),
            verbatim: None,
        }
    }
}
