//! Wires other than Chat Completions. In: a request in Chat's words, as it was rewritten for the
//! server; out: path and body on the server's own wire. Back: a reply or the bytes of a stream in,
//! the same in Chat's words out.
//!
//! Everything else (rewrapping, verifying, asking again) knows Chat's words alone. What a wire
//! cannot say is a loss or refused, never left out in silence. Fields of the wire's own that a rule
//! or a client wrote into the body go along as they are.

mod ask;
mod cohere;
mod frames;
mod gemini;
mod messages;
mod ollama;
mod prompt;
mod say;
mod tgi;

use crate::error::Error;
use crate::ir::{Fields, Ids, Loss};
use ask::Ask;
pub(crate) use ask::one_choice;
use frames::Frames;
use say::{Piece, Script};

pub use frames::TooLarge;
pub use prompt::{Pending, Render};

/// Chat Completions' own path.
pub const CHAT_PATH: &str = "/v1/chat/completions";

/// Which wire a server is asked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wire {
    /// OpenAI's Chat Completions.
    #[default]
    Chat,
    /// Ollama's `/api/chat`.
    OllamaChat,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// Gemini's `generateContent`.
    Gemini,
    /// Cohere's `/v2/chat`.
    CohereChat,
    /// TGI's `/generate`.
    TgiGenerate,
}

/// A request on a server's own wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The path below the server's base, with its query.
    pub path: String,
    /// The body.
    pub body: Vec<u8>,
    /// What the wire cannot say.
    pub losses: Vec<Loss>,
    /// What its reply is for, where this is not the request itself but a question before it.
    pub pending: Option<Pending>,
    /// How many tokens the prompt has, where a question before told.
    pub prompt_tokens: Option<u64>,
}

/// What a reply is written with where its wire does not say it.
#[derive(Debug, Clone)]
pub struct About {
    /// The model that was asked for.
    pub model: String,
    /// Whether a stream ends with a chunk that counts tokens.
    pub include_usage: bool,
    /// The reply's id and time, and ids for calls.
    pub ids: Ids,
    /// The texts that end a reply.
    pub stop: Vec<String>,
    /// How many tokens the prompt has, where that is known already.
    pub prompt_tokens: Option<u64>,
}

impl About {
    /// What is written where nothing else is known.
    #[must_use]
    pub fn new(model: impl Into<String>, include_usage: bool, ids: Ids) -> Self {
        Self {
            model: model.into(),
            include_usage,
            ids,
            stop: Vec::new(),
            prompt_tokens: None,
        }
    }
}

/// The texts that end a reply to this request.
#[must_use]
pub fn stop_texts(fields: &Fields) -> Vec<String> {
    let stop = fields.raw("stop").unwrap_or("null");
    let one = |_| serde_json::from_str(stop).map(|stop| vec![stop]);
    serde_json::from_str(stop).or_else(one).unwrap_or_default()
}

/// How the events of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// A JSON text on each line.
    Lines,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 6] = [
        Self::Chat,
        Self::OllamaChat,
        Self::Messages,
        Self::Gemini,
        Self::CohereChat,
        Self::TgiGenerate,
    ];

    /// How its streams are framed.
    #[must_use]
    pub const fn framing(self) -> Framing {
        match self {
            Self::OllamaChat => Framing::Lines,
            Self::Chat | Self::Messages | Self::Gemini | Self::CohereChat | Self::TgiGenerate => {
                Framing::Events
            }
        }
    }

    /// Whether it takes a prompt in place of a conversation.
    #[must_use]
    pub const fn takes_prompt(self) -> bool {
        matches!(self, Self::TgiGenerate)
    }

    /// Writes a request. `title` is the server's name, for people; `render` says where it renders
    /// conversations, which wires that take a prompt need.
    ///
    /// # Errors
    /// What the wire cannot say and nobody could do without, by its field.
    pub fn ask(
        self,
        fields: &Fields,
        title: &str,
        render: Option<&Render>,
    ) -> Result<Asked, Error> {
        let mut ask = Ask::new(fields, title);
        let mut pending = None;
        let (path, body) = match self {
            Self::Chat => {
                return Ok(Asked {
                    path: CHAT_PATH.to_owned(),
                    body: fields.to_json(),
                    losses: Vec::new(),
                    pending: None,
                    prompt_tokens: None,
                });
            }
            Self::OllamaChat => ollama::ask(&mut ask)?,
            Self::Messages => messages::ask(&mut ask)?,
            Self::Gemini => gemini::ask(&mut ask)?,
            Self::CohereChat => cohere::ask(&mut ask)?,
            Self::TgiGenerate => {
                let (path, body, then) = tgi::ask(&mut ask, render)?;
                pending = Some(then);
                (path, body)
            }
        };
        Ok(Asked {
            path,
            body: body.to_json(),
            losses: ask.finish(),
            pending,
            prompt_tokens: None,
        })
    }

    /// A whole reply in Chat's words; an error that the server reports in it goes along. `None`
    /// where the body is no reply on this wire.
    #[must_use]
    pub fn whole(self, body: &[u8], about: &About) -> Option<Vec<u8>> {
        let mended = crate::json::mend(body);
        let body = mended.as_deref().unwrap_or(body);
        let mut pieces = Vec::new();
        let mut ids = about.ids.clone();
        match self {
            Self::Chat => return Some(body.to_vec()),
            Self::OllamaChat => ollama::whole(body, &mut pieces),
            Self::Messages => messages::whole(body, &mut pieces),
            Self::Gemini => gemini::whole(body, &mut ids, &mut pieces),
            Self::CohereChat => cohere::whole(body, &mut pieces),
            Self::TgiGenerate => tgi::whole(body, &about.stop, about.prompt_tokens, &mut pieces),
        }?;
        Some(say::whole(pieces, about))
    }

    /// A decoder of one streamed reply. `event_bytes` bounds one unfinished event.
    #[must_use]
    pub fn decoder(self, about: About, event_bytes: usize) -> Decoder {
        let state = match self {
            Self::Chat => State::Chat,
            Self::OllamaChat => State::Ollama(ollama::Stream::default()),
            Self::Messages => State::Messages(messages::Stream::default()),
            Self::Gemini => State::Gemini(gemini::Stream::new(about.ids.clone())),
            Self::CohereChat => State::Cohere(cohere::Stream::default()),
            Self::TgiGenerate => State::Tgi(tgi::Stream::new(&about.stop, about.prompt_tokens)),
        };
        Decoder {
            frames: Frames::new(self.framing(), event_bytes),
            state,
            script: Script::new(about),
        }
    }
}

/// One streamed reply: bytes of its wire in, in any chunking; the data of Chat's events out.
#[derive(Debug)]
pub struct Decoder {
    frames: Frames,
    state: State,
    script: Script,
}

#[derive(Debug)]
enum State {
    Chat,
    Ollama(ollama::Stream),
    Messages(messages::Stream),
    Gemini(gemini::Stream),
    Cohere(cohere::Stream),
    Tgi(tgi::Stream),
}

impl Decoder {
    /// Takes the next bytes of the body; appends the data of each event in Chat's words, `[DONE]`
    /// among them. What is no event of this wire comes as data that is no JSON.
    ///
    /// # Errors
    /// An unfinished event over the limit.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), TooLarge> {
        let mut events = Vec::new();
        let framed = self.frames.push(chunk, &mut events);
        for event in events {
            self.event(event, out);
        }
        framed
    }

    /// The body ended: says whether nothing was left of an event that is not whole.
    pub fn finish(&mut self, out: &mut Vec<Vec<u8>>) -> bool {
        let mut events = Vec::new();
        let is_clean = self.frames.finish(&mut events);
        for event in events {
            self.event(event, out);
        }
        let mut pieces = Vec::new();
        if let State::Gemini(stream) = &mut self.state {
            stream.finish(&mut pieces);
        }
        self.script.write(pieces, out);
        is_clean
    }

    fn event(&mut self, data: Vec<u8>, out: &mut Vec<Vec<u8>>) {
        if matches!(self.state, State::Chat) {
            out.push(data);
            return;
        }
        let data = crate::json::mend(&data).unwrap_or(data);
        if data.trim_ascii() == b"[DONE]" {
            // Each of these wires has an end of its own.
            return;
        }
        let mut pieces = Vec::new();
        let read = match &mut self.state {
            State::Chat => Some(()),
            State::Ollama(stream) => stream.event(&data, &mut pieces),
            State::Messages(stream) => stream.event(&data, &mut pieces),
            State::Gemini(stream) => stream.event(&data, &mut pieces),
            State::Cohere(stream) => stream.event(&data, &mut pieces),
            State::Tgi(stream) => stream.event(&data, &mut pieces),
        };
        if read.is_none() {
            pieces.push(Piece::Garbage);
        }
        self.script.write(pieces, out);
    }
}
