//! What a reply says, piece by piece, to Chat's words: the chunks of a stream, or one body. Both
//! are made of the same pieces, so that they say the same.

use super::About;
use crate::ir::{Fields, raw, raw_string};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// One piece of what a reply says. Those of a choice name it.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// The reply's own id.
    Id(String),
    /// The model that answers.
    Model(String),
    /// Answer text.
    Text(u32, String),
    /// Thinking, apart from the answer.
    Reasoning(u32, String),
    /// A field of the message that is the wire's own, for clients that send it back.
    Own(u32, &'static str, Box<RawValue>),
    /// A call begins. `call` counts from 0 within the choice.
    Call {
        choice: u32,
        call: u32,
        id: Option<String>,
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        choice: u32,
        call: u32,
        text: String,
    },
    /// Log probabilities, as Chat has them: the `content` array.
    Logprobs(u32, Box<RawValue>),
    /// The choice ended, in Chat's word.
    Finish(u32, &'static str),
    /// The counts so far; later ones replace them.
    Usage(Usage),
    /// The reply is complete.
    Done,
    /// The server reports an error, raw; an object with a `message`, or a text.
    Error(Box<RawValue>),
    /// No event of this wire.
    Garbage,
}

/// Counts of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) prompt: u64,
    pub(super) completion: u64,
    pub(super) cached: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

impl Usage {
    fn to_json(self) -> Value {
        let mut usage = json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt.saturating_add(self.completion),
        });
        if let Some(cached) = self.cached {
            usage["prompt_tokens_details"] = json!({"cached_tokens": cached});
        }
        if let Some(reasoning) = self.reasoning {
            usage["completion_tokens_details"] = json!({"reasoning_tokens": reasoning});
        }
        usage
    }
}

impl Piece {
    const fn choice(&self) -> Option<u32> {
        match self {
            Self::Text(choice, _)
            | Self::Reasoning(choice, _)
            | Self::Own(choice, ..)
            | Self::Call { choice, .. }
            | Self::Arguments { choice, .. }
            | Self::Logprobs(choice, _)
            | Self::Finish(choice, _) => Some(*choice),
            _ => None,
        }
    }
}

/// The server's error as every reader of Chat's replies knows it.
fn error(raw_error: &RawValue) -> Vec<u8> {
    let mut fields = Fields::default();
    let text = serde_json::from_str::<String>(raw_error.get());
    fields.set(
        "error",
        match text {
            Ok(message) => raw(&json!({"message": message})),
            Err(_) => raw_error.to_owned(),
        },
    );
    fields.to_json()
}

/// The pieces of one choice, put together.
#[derive(Default)]
struct Said {
    text: Option<String>,
    reasoning: Option<String>,
    own: Fields,
    calls: BTreeMap<u32, Call>,
    logprobs: Option<Box<RawValue>>,
    finish: Option<&'static str>,
}

#[derive(Default)]
struct Call {
    start: Option<(Option<String>, String)>,
    arguments: String,
}

impl Said {
    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Text(_, text) => self.text.get_or_insert_default().push_str(&text),
            Piece::Reasoning(_, text) => self.reasoning.get_or_insert_default().push_str(&text),
            Piece::Own(_, name, value) => join(&mut self.own, name, value),
            Piece::Call { call, id, name, .. } => {
                self.calls.entry(call).or_default().start = Some((id, name));
            }
            Piece::Arguments { call, text, .. } => {
                self.calls.entry(call).or_default().arguments += &text;
            }
            Piece::Logprobs(_, content) => self.logprobs = Some(content),
            Piece::Finish(_, word) => self.finish = Some(word),
            _ => {}
        }
    }

    /// The message, or a part of it.
    fn message(&self, is_part: bool) -> Fields {
        let mut message = Fields::default();
        if let Some(text) = &self.text {
            message.set("content", raw(text));
        }
        if let Some(reasoning) = &self.reasoning {
            message.set("reasoning_content", raw(reasoning));
        }
        for (name, value) in &self.own.0 {
            message.set(name, value.clone());
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter();
            let calls: Vec<Value> = calls
                .map(|(index, call)| call.to_json(*index, is_part))
                .collect();
            message.set("tool_calls", raw(&calls));
        }
        message
    }

    fn set_logprobs(&self, choice: &mut Fields) {
        if let Some(content) = &self.logprobs {
            let text = format!(r#"{{"content":{}}}"#, content.get());
            choice.set("logprobs", raw_string(text));
        }
    }
}

impl Call {
    fn to_json(&self, index: u32, is_part: bool) -> Value {
        let mut function = json!({});
        let mut call = if is_part {
            json!({"index": index})
        } else {
            json!({})
        };
        if let Some((id, name)) = &self.start {
            if let Some(id) = id {
                call["id"] = json!(id);
            }
            call["type"] = json!("function");
            function["name"] = json!(name);
        }
        function["arguments"] = json!(self.arguments);
        call["function"] = function;
        call
    }
}

/// Lists of the same name become one.
fn join(fields: &mut Fields, name: &str, value: Box<RawValue>) {
    let list = |raw: &str| serde_json::from_str::<Vec<Box<RawValue>>>(raw).ok();
    if let (Some(mut all), Some(more)) = (fields.raw(name).and_then(list), list(value.get())) {
        all.extend(more);
        fields.set(name, raw(&all));
    } else {
        fields.set(name, value);
    }
}

/// One body of all pieces.
pub(super) fn whole(pieces: Vec<Piece>, about: &About) -> Vec<u8> {
    let mut top = Envelope::new(about);
    let mut usage = None;
    let mut choices: BTreeMap<u32, Said> = BTreeMap::new();
    for piece in pieces {
        match piece {
            Piece::Id(id) => top.id = id,
            Piece::Model(model) => top.model = model,
            Piece::Usage(counts) => usage = Some(counts),
            Piece::Error(raw_error) => return error(&raw_error),
            piece => {
                if let Some(choice) = piece.choice() {
                    choices.entry(choice).or_default().take(piece);
                }
            }
        }
    }
    let choices: Vec<Fields> = choices
        .iter()
        .map(|(index, said)| {
            let mut message = Fields::default();
            message.set("role", raw("assistant"));
            message.set("content", raw(&said.text));
            for (name, value) in said.message(false).0 {
                message.set(&name, value);
            }
            let mut choice = Fields::default();
            choice.set("index", raw(index));
            choice.set("message", raw(&message));
            said.set_logprobs(&mut choice);
            choice.set("finish_reason", raw(said.finish.unwrap_or("stop")));
            choice
        })
        .collect();
    let mut body = top.fields("chat.completion", &choices);
    if let Some(usage) = usage {
        body.set("usage", raw(&usage.to_json()));
    }
    body.to_json()
}

#[derive(Debug)]
struct Envelope {
    id: String,
    model: String,
    created: u64,
}

impl Envelope {
    fn new(about: &About) -> Self {
        Self {
            id: about.ids.reply(),
            model: about.model.clone(),
            created: about.ids.created(),
        }
    }

    fn fields(&self, object: &str, choices: &[Fields]) -> Fields {
        let mut fields = Fields::default();
        fields.set("id", raw(&self.id));
        fields.set("object", raw(object));
        fields.set("created", raw(&self.created));
        fields.set("model", raw(&self.model));
        fields.set("choices", raw(choices));
        fields
    }
}

/// The chunks of one stream.
#[derive(Debug)]
pub(super) struct Script {
    envelope: Envelope,
    include_usage: bool,
    usage: Option<Usage>,
    /// Choices that have begun: their role is told.
    begun: BTreeSet<u32>,
    is_done: bool,
}

impl Script {
    pub(super) fn new(about: About) -> Self {
        Self {
            envelope: Envelope::new(&about),
            include_usage: about.include_usage,
            usage: None,
            begun: BTreeSet::new(),
            is_done: false,
        }
    }

    /// Writes the pieces of one event: what each choice says in one chunk, its end in another.
    pub(super) fn write(&mut self, pieces: Vec<Piece>, out: &mut Vec<Vec<u8>>) {
        let mut choices: BTreeMap<u32, Said> = BTreeMap::new();
        for piece in pieces {
            if self.is_done {
                return;
            }
            match piece {
                Piece::Id(id) => self.envelope.id = id,
                Piece::Model(model) => self.envelope.model = model,
                Piece::Usage(counts) => self.usage = Some(counts),
                Piece::Error(raw_error) => {
                    self.flush(&mut choices, out);
                    out.push(error(&raw_error));
                }
                Piece::Garbage => {
                    self.flush(&mut choices, out);
                    // Nothing that any reader takes for JSON.
                    out.push(Vec::new());
                }
                Piece::Done => {
                    self.flush(&mut choices, out);
                    self.done(out);
                }
                piece => {
                    if let Some(choice) = piece.choice() {
                        choices.entry(choice).or_default().take(piece);
                    }
                }
            }
        }
        self.flush(&mut choices, out);
    }

    fn flush(&mut self, choices: &mut BTreeMap<u32, Said>, out: &mut Vec<Vec<u8>>) {
        for (index, said) in mem::take(choices) {
            let mut delta = Fields::default();
            if self.begun.insert(index) {
                delta.set("role", raw("assistant"));
                delta.set("content", raw(""));
            }
            for (name, value) in said.message(true).0 {
                delta.set(&name, value);
            }
            if !delta.0.is_empty() {
                let mut choice = chunk_choice(index, &delta, None);
                said.set_logprobs(&mut choice);
                out.push(self.chunk(&[choice]).to_json());
            }
            if let Some(word) = said.finish {
                let choice = chunk_choice(index, &Fields::default(), Some(word));
                out.push(self.chunk(&[choice]).to_json());
            }
        }
    }

    fn chunk(&self, choices: &[Fields]) -> Fields {
        self.envelope.fields("chat.completion.chunk", choices)
    }

    fn done(&mut self, out: &mut Vec<Vec<u8>>) {
        if let Some(usage) = self.usage.filter(|_| self.include_usage) {
            let mut chunk = self.chunk(&[]);
            chunk.set("usage", raw(&usage.to_json()));
            out.push(chunk.to_json());
        }
        out.push(b"[DONE]".to_vec());
        self.is_done = true;
    }
}

fn chunk_choice(index: u32, delta: &Fields, finish: Option<&str>) -> Fields {
    let mut choice = Fields::default();
    choice.set("index", raw(&index));
    choice.set("delta", raw(delta));
    choice.set("finish_reason", raw(&finish));
    choice
}
