//! The fields of a reply that clients read, each with the type that it must have; whole replies
//! and chunks are read here alike.
//!
//! A known field of another type is no reply of this wire. What readers would disagree about (a
//! name that stands twice, content in parts, an index that is left out, a second place for the
//! text) is read one way and has to be written anew: only a [`Verbatim`] goes to a client as it
//! came.

use crate::dialect::server::Verbatim;
use crate::ir::{CallKind, Fields, FinishReason};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A known field that has not the type that clients expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) struct NotOfTheWire;

/// The top level of a reply or a chunk, read one level deep.
pub(in crate::dialect) struct Head<'d> {
    pub(in crate::dialect) fields: Fields,
    data: Cow<'d, [u8]>,
    is_plain: bool,
}

/// Which form of a choice is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A choice of a whole reply: what it says is its `message`.
    Whole,
    /// A choice of a chunk: what it says is its `delta`.
    Part,
}

/// One choice, as far as clients read it.
pub(super) struct ChoiceReading {
    pub(super) index: u32,
    pub(super) fields: Fields,
    pub(super) message: Fields,
    pub(super) content: Option<String>,
    /// The thoughts among the parts of the content.
    pub(super) thought: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) calls: Vec<CallReading>,
    pub(super) finish: Option<FinishReason>,
    /// It says so where a whole reply does, not where a chunk should.
    pub(super) is_elsewhere: bool,
    /// Clients read what was read here, and nothing else.
    pub(super) is_plain: bool,
}

/// One call, or a piece of one.
pub(super) struct CallReading {
    pub(super) index: Option<u32>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) text: Option<String>,
    /// `None` where it has neither a function nor a custom input.
    pub(super) kind: Option<CallKind>,
    /// What else it has, which clients keep that do not understand it (Gemini's `extra_content`).
    pub(super) own: Fields,
}

#[derive(Default)]
struct CallWire {
    index: Option<u32>,
    id: Option<String>,
    function: Option<FunctionWire>,
    custom: Option<CustomWire>,
    own: Fields,
}

impl<'de> Deserialize<'de> for CallWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = CallWire;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a call")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<CallWire, A::Error> {
                let mut call = CallWire::default();
                while let Some(member) = members.next_key()? {
                    match member {
                        Member::Index => {
                            let index: Option<IndexWire> = members.next_value()?;
                            once(&mut call.index, index.map(|index| index.0), "index")?;
                        }
                        Member::Id => {
                            let id: Option<IdWire> = members.next_value()?;
                            once(&mut call.id, id.map(IdWire::into_text), "id")?;
                        }
                        Member::Function => {
                            once(&mut call.function, members.next_value()?, "function")?;
                        }
                        Member::Custom => once(&mut call.custom, members.next_value()?, "custom")?,
                        Member::Type => {
                            members.next_value::<IgnoredAny>()?;
                        }
                        Member::Own(name) => {
                            let value: Box<RawValue> = members.next_value()?;
                            if value.get() != "null" && !is_looked_for(&name) {
                                call.own.set(&name, value);
                            }
                        }
                    }
                }
                Ok(call)
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// An id; a number of some gateways' (AI-Shell-Team/aish#189) is the text of it.
#[derive(Deserialize)]
#[serde(untagged)]
enum IdWire {
    Text(String),
    Number(u64),
}

impl IdWire {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A place; some write the digits as a text.
struct IndexWire(u32);

impl<'de> Deserialize<'de> for IndexWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u32),
            Text(String),
        }

        match Either::deserialize(deserializer)? {
            Either::Number(index) => Ok(Self(index)),
            Either::Text(text) => text.parse().map(Self).map_err(de::Error::custom),
        }
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Member {
    Index,
    Id,
    Type,
    Function,
    Custom,
    /// One that the server alone knows.
    Own(String),
}

/// Takes a member that clients read: of two, they differ in which they take.
fn once<T, E: de::Error>(
    known: &mut Option<T>,
    value: Option<T>,
    name: &'static str,
) -> Result<(), E> {
    match known.is_some() {
        true => Err(E::duplicate_field(name)),
        false => {
            *known = value;
            Ok(())
        }
    }
}

#[derive(Deserialize)]
struct FunctionWire {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct CustomWire {
    name: Option<String>,
    input: Option<String>,
}

/// Text, or parts of which those of text and of thoughts count (Mistral's habit).
enum Content {
    Text(String),
    Parts(Vec<PartWire>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrParts;

        impl<'de> Visitor<'de> for TextOrParts {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of parts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = items.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }

        deserializer.deserialize_any(TextOrParts)
    }
}

/// A part of text, or one of thoughts: parts of text again (mistralai 3.7.0, `models/thinkchunk.py`; Databricks' have a `summary`).
#[derive(Deserialize)]
struct PartWire {
    text: Option<String>,
    thinking: Option<Box<RawValue>>,
    summary: Option<Box<RawValue>>,
}

/// The fields at the top that clients read, what they take for each, and whether they do without.
const TOP: [(&str, Type, bool); 6] = [
    ("id", Type::Text, false),
    ("object", Type::Text, false),
    ("created", Type::Number, false),
    ("model", Type::Text, false),
    ("usage", Type::Object, true),
    ("system_fingerprint", Type::Text, true),
];

/// Whatever readers look for anywhere in a reply. A field whose name is one of these but for the
/// case of its letters is taken for it by readers that mind no case (Go's encoding/json; .NET's
/// and Java's where they are so configured).
const LOOKED_FOR: [&str; 24] = [
    "arguments",
    "choices",
    "content",
    "created",
    "custom",
    "delta",
    "error",
    "finish_reason",
    "function",
    "function_call",
    "id",
    "index",
    "input",
    "logprobs",
    "message",
    "model",
    "name",
    "object",
    "refusal",
    "role",
    "text",
    "tool_calls",
    "type",
    "usage",
];

/// Texts that clients show, and of which nobody demands anything.
const SHOWN: [&str; 2] = ["reasoning_content", "reasoning"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Number,
    Object,
}

impl Type {
    fn has(self, raw: &str) -> bool {
        let first = raw.as_bytes().first();
        raw == "null"
            || match self {
                Self::Text => first == Some(&b'"'),
                Self::Number => first.is_some_and(|b| b.is_ascii_digit() || *b == b'-'),
                Self::Object => first == Some(&b'{'),
            }
    }
}

impl<'d> Head<'d> {
    /// Reads the top level; `None` where it is no JSON object.
    pub(in crate::dialect) fn read(data: &'d [u8]) -> Option<Self> {
        let mended = crate::json::mend(data);
        let data = mended.map_or(Cow::Borrowed(data), Cow::Owned);
        let (mut fields, repeats) = Fields::read(&data).ok()?;
        let mut is_plain = !repeats & take_look_alikes(&mut fields);
        for (name, expected, is_optional) in TOP {
            is_plain &= keep_typed(&mut fields, name, expected);
            is_plain &= is_optional || fields.raw(name).is_some_and(|raw| raw != "null");
        }
        // Clients read counts in it that are not there (zed-industries/zed#42893).
        if fields.raw("usage") == Some("{}") {
            fields.remove("usage");
            is_plain = false;
        }
        Some(Self {
            fields,
            data,
            is_plain,
        })
    }

    /// The choices; `None` where there are none to be read.
    pub(super) fn choices(&self, form: Form) -> Option<Result<Vec<ChoiceReading>, NotOfTheWire>> {
        let raw = self.fields.raw("choices")?;
        let Ok(choices) = Fields::read_list(raw) else {
            let is_list = serde_json::from_str::<Vec<&RawValue>>(raw).is_ok();
            return is_list.then_some(Err(NotOfTheWire));
        };
        let read = |(place, (fields, repeats))| read_choice(place, fields, repeats, form);
        Some(choices.into_iter().enumerate().map(read).collect())
    }

    /// The fields, and the bytes where a client may have them: nothing is read otherwise here
    /// and there.
    pub(super) fn close(self, choices: &[ChoiceReading]) -> (Fields, Option<Verbatim<'d>>) {
        self.close_as(choices.iter().all(|choice| choice.is_plain))
    }

    /// The same, where the choices were read elsewhere.
    pub(in crate::dialect) fn close_as(self, is_plain: bool) -> (Fields, Option<Verbatim<'d>>) {
        let is_plain = self.is_plain && is_plain;
        (self.fields, is_plain.then(|| Verbatim::of(self.data)))
    }
}

/// Takes out the fields that are [`LOOKED_FOR`] in other letters; says whether there were none.
pub(in crate::dialect) fn take_look_alikes(fields: &mut Fields) -> bool {
    let count = fields.0.len();
    fields.0.retain(|name, _| !is_look_alike(name));
    fields.0.len() == count
}

fn is_look_alike(name: &str) -> bool {
    // Nearly all names are done with here.
    let is_plain = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    !is_plain && is_looked_for(name)
}

/// Whether it is one of these in any letters.
fn is_looked_for(name: &str) -> bool {
    // What Unicode folds to these two letters are the long s and the Kelvin sign.
    let folded = name.replace('\u{17f}', "s").replace('\u{212a}', "k");
    LOOKED_FOR.contains(&folded.to_ascii_lowercase().as_str())
}

/// Takes a field out that has another type than clients take; says whether it could stay.
fn keep_typed(fields: &mut Fields, name: &str, expected: Type) -> bool {
    let is_kept = fields.raw(name).is_none_or(|raw| expected.has(raw));
    if !is_kept {
        fields.remove(name);
    }
    is_kept
}

/// A field's value; `None` where it is absent or null.
pub(in crate::dialect) fn typed<T: DeserializeOwned>(
    fields: &Fields,
    name: &str,
) -> Result<Option<T>, NotOfTheWire> {
    match fields.raw(name) {
        None | Some("null") => Ok(None),
        Some(raw) => serde_json::from_str(raw).map_err(|_| NotOfTheWire),
    }
}

fn read_choice(
    place: usize,
    mut fields: Fields,
    repeats: bool,
    form: Form,
) -> Result<ChoiceReading, NotOfTheWire> {
    let (body, other) = match form {
        Form::Whole => ("message", "delta"),
        Form::Part => ("delta", "message"),
    };
    let mut is_plain = !repeats & take_look_alikes(&mut fields);
    // A second place for what is said, which some clients would read.
    let elsewhere = fields.remove(other);
    is_plain &= elsewhere.is_none();
    for other in ["text", "content", "tool_calls", "function_call"] {
        is_plain &= fields.remove(other).is_none();
    }
    let mut is_elsewhere = false;
    let raw = match (fields.raw(body), form) {
        (None | Some("null"), Form::Whole) => return Err(NotOfTheWire),
        // The chunks of some are whole replies in their form.
        (None | Some("null"), Form::Part) => {
            let elsewhere = elsewhere.as_ref().map(|raw| raw.get());
            let elsewhere = elsewhere.filter(|raw| *raw != "null");
            is_elsewhere = elsewhere.is_some();
            elsewhere.unwrap_or("{}")
        }
        (Some(raw), _) => raw,
    };
    let (mut message, repeats) = Fields::read(raw.as_bytes()).map_err(|_| NotOfTheWire)?;
    is_plain &= take_look_alikes(&mut message) & !repeats;
    is_plain &= is_role_plain(&message, form)?;
    is_plain &= message.remove("parsed").is_none();
    for name in SHOWN {
        let text = message.raw(name).and_then(object_text);
        if let Some(text) = text {
            message.set(name, crate::ir::raw(&text));
            is_plain = false;
        }
        is_plain &= keep_typed(&mut message, name, Type::Text);
    }
    // Clients take it for the beginning of calls (zed-industries/zed#42893).
    if form == Form::Part && message.raw("tool_calls") == Some("[]") {
        message.remove("tool_calls");
        is_plain = false;
    }
    // Cloudflare has the object there that its JSON mode was asked for, where its text should be (anomalyco/opencode#30381).
    let object = message.raw("content").filter(|raw| raw.starts_with('{'));
    if let Some(object) = object.filter(|_| form == Form::Whole) {
        let text = crate::ir::raw(object);
        message.set("content", text);
        is_plain = false;
    }
    let content: Option<Content> = typed(&message, "content")?;
    is_plain &= !matches!(content, Some(Content::Parts(_)));
    let thought = content.as_ref().and_then(Content::thought);
    let index: Option<IndexWire> = typed(&fields, "index")?;
    is_plain &= (fields.raw("index")).is_some_and(|raw| Type::Number.has(raw) && raw != "null");
    // An empty word is a server's way to say that it goes on.
    let word: Option<String> = typed(&fields, "finish_reason")?;
    is_plain &= (word.as_ref()).map_or(form == Form::Part, |word| !word.is_empty());
    is_plain &= form == Form::Part || word.as_deref() != Some("tool_calls");
    is_plain &= (word.as_ref()).is_none_or(|word| FinishReason::read(word).as_str() == word);
    is_plain &= keep_typed(&mut fields, "logprobs", Type::Object);
    let calls = read_calls(&message)?;
    Ok(ChoiceReading {
        index: index.map_or(u32::try_from(place).unwrap_or(u32::MAX), |index| index.0),
        content: content.map(Content::into_text),
        thought,
        refusal: typed(&message, "refusal")?,
        finish: (word.filter(|word| !word.is_empty())).map(|word| FinishReason::read(&word)),
        // Calls are always written anew: their framing is what servers get wrong.
        is_plain: is_plain && calls.is_empty(),
        calls,
        fields,
        message,
        is_elsewhere,
    })
}

/// Whether the message is the assistant's in its own word; a chunk need not say so.
fn is_role_plain(message: &Fields, form: Form) -> Result<bool, NotOfTheWire> {
    let role: Option<String> = typed(message, "role")?;
    Ok(match role.as_deref() {
        Some(role) => role == "assistant",
        None => form == Form::Part,
    })
}

fn read_calls(message: &Fields) -> Result<Vec<CallReading>, NotOfTheWire> {
    // One alone in TGI's streams before 3.2 (huggingface/text-generation-inference#2864).
    let is_one = |raw: &str| raw.starts_with('{');
    let calls: Option<Vec<Option<CallWire>>> = match message.raw("tool_calls").is_some_and(is_one) {
        true => typed(message, "tool_calls")?.map(|call| vec![call]),
        false => typed(message, "tool_calls")?,
    };
    let legacy: Option<FunctionWire> = typed(message, "function_call")?;
    let mut calls: Vec<CallWire> = calls.into_iter().flatten().flatten().collect();
    // Servers that speak both words (llama-cpp-python) say the same call twice.
    if let (true, Some(function)) = (calls.is_empty(), legacy) {
        calls.push(CallWire {
            index: None,
            id: None,
            function: Some(function),
            ..CallWire::default()
        });
    }
    calls.into_iter().map(read_call).collect()
}

fn read_call(wire: CallWire) -> Result<CallReading, NotOfTheWire> {
    let (kind, name, text) = match (wire.function, wire.custom) {
        // Clients differ in which of the two they take.
        (Some(_), Some(_)) => return Err(NotOfTheWire),
        (Some(function), None) => {
            let text = function.arguments.map(|raw| argument_text(&raw));
            (Some(CallKind::Function), function.name, text)
        }
        (None, Some(custom)) => (Some(CallKind::Custom), custom.name, custom.input),
        (None, None) => (None, None, None),
    };
    Ok(CallReading {
        index: wire.index,
        id: wire.id.filter(|id| !id.is_empty()),
        name: name.filter(|name| !name.is_empty()),
        text,
        kind,
        own: wire.own,
    })
}

/// Arguments are a JSON string; a server that sends the object itself (TGI, Ollama) means its text.
fn argument_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| {
        if raw.get() == "null" {
            String::new()
        } else {
            raw.get().to_owned()
        }
    })
}

impl Content {
    /// What the parts of thoughts say.
    fn thought(&self) -> Option<String> {
        let Self::Parts(parts) = self else {
            return None;
        };
        let raw = parts
            .iter()
            .filter_map(|part| part.thinking.as_deref().or(part.summary.as_deref()));
        let thought: String = raw.filter_map(thinking_text).collect();
        Some(thought).filter(|thought| !thought.is_empty())
    }

    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

/// The text of an object that is one (envoyproxy/ai-gateway#1222).
fn object_text(raw: &str) -> Option<String> {
    raw.starts_with('{')
        .then(|| serde_json::from_str::<PartWire>(raw).ok()?.text)
        .flatten()
}

/// A text, or parts of some; what else may stand there (references) has none.
fn thinking_text(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<Content>(raw.get())
        .ok()
        .map(Content::into_text)
}
