//! Chat's messages to turns: texts, images and files, calls and their results, thinking.

mod returned;

use crate::dialect::client::{call_input, odd_item};
use crate::error::{Error, Kind};
use crate::ir::{
    Behind, Call, CallInput, Edits, Fields, Held, Origin, Part, Role, Sealed, Stated, Turn, raw,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    function: Option<FunctionWire>,
    custom: Option<CustomWire>,
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: String,
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct CustomWire {
    name: String,
    input: String,
}

fn invalid(message: impl Into<String>, at: &Origin) -> Error {
    Error::new(Kind::InvalidRequest, message).at(at.0.clone())
}

/// Reads `messages`.
///
/// # Errors
/// The field at fault.
pub(in crate::dialect) fn read_turns(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let list = Origin::new("messages");
    let messages = fields.raw("messages").filter(|raw| *raw != "null");
    let Some(messages) = messages else {
        let message = "`messages` is missing: send the conversation";
        return Err(invalid(message, &list));
    };
    let messages: Vec<Fields> = serde_json::from_str(messages).map_err(|_| {
        let whole = || invalid("`messages` must be a list of messages", &list);
        odd_item(messages, &list).unwrap_or_else(whole)
    })?;
    let mut names = HashMap::new();
    let mut turns = Vec::with_capacity(messages.len());
    for (index, fields) in messages.into_iter().enumerate() {
        let mut turn = turn(index, list.item(index), fields)?;
        for call in &turn.calls {
            if let Some(id) = &call.id {
                names.insert(id.clone(), call.name.clone());
            }
        }
        if let Some(name) = turn.call_id.as_ref().and_then(|id| names.get(id)) {
            turn.tool = Some(name.clone());
        }
        turns.push(turn);
    }
    Ok(turns)
}

fn turn(index: usize, origin: Origin, mut fields: Fields) -> Result<Turn, Error> {
    let role: String = member(&mut fields, "role", &origin)?.unwrap_or_default();
    let is_developer = role == "developer";
    let role = match role.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => {
            let at = origin.member("role");
            let message = format!("`{at}` must be system, developer, user, assistant or tool");
            return Err(invalid(message, &at));
        }
    };
    let name: Option<String> = member(&mut fields, "name", &origin)?;
    let mut resolutions = Vec::new();
    let mut edits = Edits::default();
    let returned = fields.raw("content").filter(|_| role == Role::Tool);
    if let Some(said) = returned.and_then(returned::in_parts) {
        fields.set("content", said);
        edits.add(Edits::CONTENT);
    }
    if fields.raw("content") == Some("[]") {
        edits.add(Edits::CONTENT);
    }
    let mark = fields.raw("cache_control");
    let mut marks = Marks {
        is_empty: mark == Some("null"),
        is_stated: mark.is_some_and(|mark| mark != "null"),
        ..Marks::default()
    };
    let mut turn = Turn {
        index,
        role,
        parts: parts(&mut fields, &origin, &mut resolutions, &mut marks)?,
        calls: calls(&mut fields, &origin, &mut edits)?,
        call_id: member(&mut fields, "tool_call_id", &origin)?,
        tool: None,
        failed: None,
        reasoning: reasoning(&mut fields, &origin)?,
        claimed: Vec::new(),
        sealed: sealed(&mut fields, &origin)?,
        resolutions,
        unknown: marks.unread,
        is_developer,
        edits,
        origin,
    };
    // Beside others, and beside calls, more would go.
    if marks.is_empty && !marks.is_stated && turn.calls.is_empty() {
        turn.edits.add(Edits::INNER);
    }
    if let Some(mark) = fields.0.get("cache_control")
        && let [Part::Text { cache, .. }] = turn.parts.as_mut_slice()
        && cache.is_none()
        && mark.get() != "null"
    {
        *cache = Some(mark.clone());
    }
    if role == Role::Tool {
        turn.tool = name;
    } else if name.is_some() {
        turn.unknown.push("/name".to_owned());
    }
    for (name, value) in &fields.0 {
        // That the words are no beginning (Mistral's, Moonshot's) is what every message is taken for.
        let is_no_mark = value.get() == "false" && ["prefix", "partial"].contains(&name.as_str());
        if !matches!(value.get(), "null" | "[]" | "\"\"" | "{}") && !is_no_mark {
            let name = name.replace('~', "~0").replace('/', "~1");
            turn.unknown.push(format!("/{name}"));
        }
    }
    Ok(turn)
}

/// A member of an object; `null` says nothing.
fn member<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    origin: &Origin,
) -> Result<Option<T>, Error> {
    let Some(value) = fields.remove(name).filter(|value| value.get() != "null") else {
        return Ok(None);
    };
    serde_json::from_str(value.get()).map(Some).map_err(|_| {
        let at = origin.member(name);
        invalid(format!("`{at}` has the wrong type"), &at)
    })
}

/// Under whatever name the client keeps it.
fn reasoning(fields: &mut Fields, origin: &Origin) -> Result<Option<Stated>, Error> {
    let mut found = None;
    for name in ["reasoning_content", "reasoning", "thinking"] {
        let text: Option<String> = member(fields, name, origin)?;
        let stated = text.filter(|text| !text.is_empty()).map(|text| Stated {
            origin: origin.member(name),
            text,
        });
        found = found.or(stated);
    }
    Ok(found)
}

/// What other servers want back as it came, under the names that Chat's clients keep it by: its place among texts and calls no such
/// message tells.
fn sealed(fields: &mut Fields, origin: &Origin) -> Result<Vec<Held>, Error> {
    let mut sealed = Vec::new();
    let held = |name: &str, sealed: Sealed| Held {
        origin: origin.member(name),
        sealed,
        behind: Behind::default(),
    };
    let blocks: Option<Vec<Box<RawValue>>> = member(fields, "thinking_blocks", origin)?;
    for mut block in blocks.unwrap_or_default() {
        // Its place in a stream, which no server signed.
        if let Ok(mut known) = serde_json::from_str::<Fields>(block.get())
            && known.remove("index").is_some()
        {
            block = raw(&known);
        }
        sealed.push(held("thinking_blocks", Sealed::Thinking(block)));
    }
    let extra = fields.remove("extra_content");
    if let Some(text) = extra.and_then(|raw| signature(&serde_json::from_str(raw.get()).ok()?)) {
        sealed.push(held("extra_content", Sealed::Signature(text)));
    }
    Ok(sealed)
}

/// `{"google": {"thought_signature": …}}`, as Gemini's compatible route has it.
fn signature(extra: &Value) -> Option<String> {
    extra["google"]["thought_signature"]
        .as_str()
        .map(str::to_owned)
}

const fn text(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// Marks of what to cache.
#[derive(Default)]
struct Marks {
    /// There is one of null.
    is_empty: bool,
    /// There is another one.
    is_stated: bool,
    /// JSON Pointers below the turn to those of parts that are not read.
    unread: Vec<String>,
}

fn parts(
    fields: &mut Fields,
    origin: &Origin,
    resolutions: &mut Vec<Origin>,
    marks: &mut Marks,
) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    if let Some(refusal) = member::<String>(fields, "refusal", origin)? {
        parts.push(text(refusal));
    }
    if fields
        .raw("content")
        .is_some_and(|raw| raw.starts_with('"'))
    {
        parts.extend(member(fields, "content", origin)?.map(text));
    }
    let content = origin.member("content");
    let stated = fields.remove("content");
    let stated = stated.as_ref().map_or("null", |stated| stated.get());
    let all: Option<Vec<Fields>> = serde_json::from_str(stated).map_err(|_| {
        let whole = || invalid(format!("`{content}` has the wrong type"), &content);
        odd_item(stated, &content).unwrap_or_else(whole)
    })?;
    for (index, mut fields) in all.unwrap_or_default().into_iter().enumerate() {
        let origin = content.item(index);
        let at = origin.member("image_url").member("detail");
        if fields.raw("cache_control") == Some("null") {
            fields.remove("cache_control");
            marks.is_empty = true;
        }
        let is_marked = fields.has("cache_control");
        marks.is_stated |= is_marked;
        let read = part(&mut fields, origin)?;
        if is_marked && matches!(read, Part::Opaque { .. }) {
            let unread = format!("/content/{index}/cache_control");
            marks.unread.push(unread);
        }
        parts.push(read);
        if fields
            .raw("detail")
            .is_some_and(|detail| detail != "\"auto\"")
        {
            resolutions.push(at);
        }
    }
    Ok(parts)
}

#[derive(Deserialize)]
struct Image {
    url: String,
    detail: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    Url(String),
    Object { url: String },
}

#[derive(Deserialize)]
struct Audio {
    data: String,
    format: String,
}

#[derive(Deserialize)]
struct File {
    file_data: Option<String>,
    filename: Option<String>,
}

/// The members that say what a part is.
const SAID: [&str; 5] = ["text", "image_url", "input_audio", "file", "refusal"];

/// One part. An image's `detail` is put back for the caller.
fn part(fields: &mut Fields, origin: Origin) -> Result<Part, Error> {
    let kind: Option<String> = member(fields, "type", &origin)?;
    // Some clients leave it out.
    let named = || SAID.iter().find(|name| fields.has(name)).copied();
    let kind = kind.unwrap_or_else(|| named().unwrap_or_default().to_owned());
    let cache = fields.remove("cache_control");
    let read = match kind.as_str() {
        "text" | "input_text" | "output_text" | "refusal" => {
            let name = if kind == "refusal" { "refusal" } else { "text" };
            let text = member(fields, name, &origin)?.unwrap_or_default();
            Some(Part::Text { text, cache })
        }
        "image_url" => match member::<Image>(fields, "image_url", &origin)? {
            None => None,
            Some(image) => {
                if let Some(detail) = image.detail {
                    fields.set("detail", detail);
                }
                Some(if image.url.starts_with("data:") {
                    data_url(&image.url, cache, &origin)?
                } else {
                    let url = image.url;
                    Part::Link { url, cache }
                })
            }
        },
        // Mistral's (`DocumentURLChunk` of its SDK); its API takes an object with the URL, too, as of images.
        "document_url" => match member::<Document>(fields, "document_url", &origin)? {
            Some(Document::Url(url) | Document::Object { url }) if url.starts_with("data:") => {
                Some(data_url(&url, cache, &origin)?)
            }
            Some(Document::Url(url) | Document::Object { url }) => {
                Some(Part::Document { url, cache })
            }
            None => None,
        },
        "input_audio" => {
            let audio = member::<Audio>(fields, "input_audio", &origin)?;
            audio.map(|audio| Part::Data {
                media_type: format!("audio/{}", audio.format).into(),
                data: audio.data,
                name: None,
                cache,
            })
        }
        "file" => match member::<File>(fields, "file", &origin)? {
            Some(File {
                file_data: Some(url),
                filename,
            }) => Some(data_url(&url, cache, &origin)?.named(filename)),
            _ => None,
        },
        _ => None,
    };
    Ok(read.unwrap_or(Part::Opaque { origin }))
}

/// `data:image/png;base64,…`
fn data_url(url: &str, cache: Option<Box<RawValue>>, origin: &Origin) -> Result<Part, Error> {
    let data = Part::of_data_url(url).ok_or_else(|| {
        let message = format!("`{origin}` has no data URL in base64: data:image/png;base64,…");
        invalid(message, origin)
    })?;
    Ok(data.cached(cache))
}

fn calls(fields: &mut Fields, origin: &Origin, edits: &mut Edits) -> Result<Vec<Call>, Error> {
    let mut calls = Vec::new();
    // OpenAI: "empty array. Expected an array with minimum length 1" (openai/openai-node#1341).
    if fields.is_empty_list("tool_calls") {
        edits.add(Edits::CALLS);
    }
    let wires: Vec<CallWire> = member(fields, "tool_calls", origin)?.unwrap_or_default();
    let list = origin.member("tool_calls");
    for (index, wire) in wires.into_iter().enumerate() {
        let origin = list.item(index);
        let (name, input) = match (wire.function, wire.custom) {
            (Some(function), _) => {
                let at = origin.member("function").member("arguments");
                let input = arguments(function.arguments.as_deref(), at, edits);
                (function.name, input)
            }
            (None, Some(custom)) => (custom.name, CallInput::Custom(custom.input)),
            (None, None) => {
                let message = format!("`{origin}` calls no function");
                return Err(invalid(message, &origin));
            }
        };
        calls.push(Call {
            origin,
            id: wire.id,
            name,
            input,
            signature: wire.extra_content.as_ref().and_then(signature),
        });
    }
    if let Some(function) = member::<FunctionWire>(fields, "function_call", origin)? {
        let origin = origin.member("function_call");
        calls.push(Call {
            id: None,
            input: arguments(
                function.arguments.as_deref(),
                origin.member("arguments"),
                edits,
            ),
            name: function.name,
            signature: None,
            origin,
        });
    }
    Ok(calls)
}

/// Chat has arguments as text; some clients send the object itself. PHP makes `[]` of one without members (prism-php/prism#896).
fn arguments(arguments: Option<&RawValue>, origin: Origin, edits: &mut Edits) -> CallInput {
    let text = arguments.map(|raw| {
        serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
    });
    let text = text.unwrap_or_default();
    match text.trim() {
        "" | "null" => return CallInput::Empty,
        "[]" => {
            edits.add(Edits::CALLS);
            return CallInput::Empty;
        }
        _ => {}
    }
    call_input(text, origin)
}
