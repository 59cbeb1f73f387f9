//! The messages of `/api/chat`, and the prompt of `/api/generate`, to turns.

use crate::dialect::client::{field, invalid, member};
use crate::error::{Error, Kind};
use crate::ir::{Call, CallInput, Fields, Origin, Part, Role, Stated, Turn, image_type};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    function: FunctionWire,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: String,
    arguments: Option<Box<RawValue>>,
}

/// A call that no tool has answered yet.
struct Open {
    id: String,
    name: String,
}

/// Reads `messages`.
///
/// # Errors
/// The field at fault.
pub(super) fn chat(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let list = Origin::new("messages");
    let messages: Vec<Fields> =
        field(fields, "messages", "a list of messages")?.unwrap_or_default();
    if messages.is_empty() {
        let message = "`messages` is empty: send the conversation; a server that is not Ollama loads its \
                       model by itself";
        return Err(invalid(message, "messages"));
    }
    let mut open: Vec<Open> = Vec::new();
    let mut turns = Vec::with_capacity(messages.len());
    for (index, fields) in messages.into_iter().enumerate() {
        let mut turn = turn(index, list.item(index), fields)?;
        for call in &turn.calls {
            open.push(Open {
                id: call.id.clone().unwrap_or_default(),
                name: call.name.clone(),
            });
        }
        if turn.role == Role::Tool {
            answer(&mut turn, &mut open);
        }
        turns.push(turn);
    }
    Ok(turns)
}

/// Finds the call that a tool's turn answers: by its id, else by the tool's name, else the next one.
fn answer(turn: &mut Turn, open: &mut Vec<Open>) {
    let by_id = |call: &Open| Some(&call.id) == turn.call_id.as_ref();
    let by_name = |call: &Open| Some(&call.name) == turn.tool.as_ref();
    let found = match (&turn.call_id, &turn.tool) {
        (Some(_), _) => open.iter().position(by_id),
        (None, Some(_)) => open.iter().position(by_name),
        (None, None) => (!open.is_empty()).then_some(0),
    };
    if let Some(at) = found {
        let call = open.remove(at);
        match turn.call_id {
            // Some put the id where the name should be (Dify).
            Some(_) => turn.tool = Some(call.name),
            None => {
                turn.call_id = Some(call.id);
                turn.tool.get_or_insert(call.name);
            }
        }
    }
}

fn turn(index: usize, origin: Origin, mut fields: Fields) -> Result<Turn, Error> {
    let role: String = member(&mut fields, "role", &origin, "a string")?.unwrap_or_default();
    let role = match role.as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => {
            let at = origin.member("role");
            let message = format!("`{at}` must be system, user, assistant or tool");
            return Err(invalid(message, at.0));
        }
    };
    let mut parts = Vec::new();
    let content: Option<String> = member(&mut fields, "content", &origin, "a string")?;
    let content = content.filter(|text| !text.is_empty() || role != Role::Assistant);
    parts.extend(content.map(|text| Part::Text { text, cache: None }));
    let images: Option<Vec<String>> =
        member(&mut fields, "images", &origin, "a list of images in base64")?;
    self::images(
        images.unwrap_or_default(),
        &origin.member("images"),
        &mut parts,
    )?;
    let thinking: Option<String> = member(&mut fields, "thinking", &origin, "a string")?;
    let thinking = thinking.filter(|text| !text.is_empty());
    let calls = calls(&mut fields, index, &origin)?;
    let call_id: Option<String> = member(&mut fields, "tool_call_id", &origin, "a string")?;
    let mut tool: Option<String> = member(&mut fields, "tool_name", &origin, "a string")?;
    if role == Role::Tool && tool.is_none() {
        tool = member(&mut fields, "name", &origin, "a string")?;
    }
    let is_said = |value: &RawValue| !matches!(value.get(), "null" | "[]" | "\"\"" | "{}");
    let said = fields.0.iter().filter(|(_, value)| is_said(value));
    let unknown = said.map(|(name, _)| {
        let name = name.replace('~', "~0").replace('/', "~1");
        format!("/{name}")
    });
    let unknown = unknown.collect();
    Ok(Turn {
        index,
        role,
        parts,
        reasoning: thinking.map(|text| Stated {
            origin: origin.member("thinking"),
            text,
        }),
        calls,
        call_id: call_id.filter(|id| !id.is_empty()),
        tool: tool.filter(|name| !name.is_empty()),
        unknown,
        ..at(origin, role)
    })
}

/// A turn that says nothing yet.
fn at(origin: Origin, role: Role) -> Turn {
    Turn {
        origin,
        ..Turn::of(role, Vec::new())
    }
}

/// Older versions give calls no ids: theirs are made of their places.
fn calls(fields: &mut Fields, turn: usize, origin: &Origin) -> Result<Vec<Call>, Error> {
    let expected = "a list of calls, each with a `function` that has a `name`";
    let wires: Option<Vec<CallWire>> = member(fields, "tool_calls", origin, expected)?;
    let list = origin.member("tool_calls");
    let read = |(index, wire): (usize, CallWire)| {
        let origin = list.item(index);
        let arguments = wire.function.arguments;
        // PHP makes a list of an object without members.
        let arguments = arguments.filter(|said| !matches!(said.get(), "null" | "[]"));
        let input = arguments.unwrap_or_else(|| crate::ir::raw_string("{}".to_owned()));
        if !input.get().starts_with('{') {
            let at = origin.member("function").member("arguments");
            return Err(invalid(format!("`{at}` must be an object"), at.0));
        }
        let id = wire.id.filter(|id| !id.is_empty());
        Ok(Call {
            id: Some(id.unwrap_or_else(|| format!("call_{turn}_{index}"))),
            name: wire.function.name,
            input: CallInput::Object(input),
            signature: None,
            origin,
        })
    };
    (wires.unwrap_or_default().into_iter())
        .enumerate()
        .map(read)
        .collect()
}

fn images(images: Vec<String>, origin: &Origin, parts: &mut Vec<Part>) -> Result<(), Error> {
    for (index, data) in images.into_iter().enumerate() {
        // Nothing else tells.
        let Some(media_type) = image_type(&data) else {
            let at = origin.item(index);
            let message = format!("`{at}` must be a PNG, JPEG, GIF, WebP or BMP image in base64");
            return Err(invalid(message, at.0));
        };
        parts.push(Part::Data {
            media_type: media_type.into(),
            data,
            name: None,
            cache: None,
        });
    }
    Ok(())
}

/// Reads `system`, `prompt` and `images`.
///
/// # Errors
/// The field at fault, or one that no conversation can stand for.
pub(super) fn generate(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let is_raw = field::<bool>(fields, "raw", "true or false")?.unwrap_or(false);
    let suffix = field::<String>(fields, "suffix", "a string")?.unwrap_or_default();
    let refused = [("raw", is_raw), ("suffix", !suffix.is_empty())];
    if let Some((name, _)) = refused.into_iter().find(|(_, is_said)| *is_said) {
        let message = format!(
            "`{name}` is for a model's bare prompt, and this server is asked with a conversation: \
             leave it out, or POST to /v1/completions"
        );
        return Err(Error::new(Kind::InvalidRequest, message).at(name));
    }
    let system = field::<String>(fields, "system", "a string")?.unwrap_or_default();
    let prompt = field::<String>(fields, "prompt", "a string")?.unwrap_or_default();
    let images = field::<Vec<String>>(fields, "images", "a list of images in base64")?;
    let text = |text: String| Part::Text { text, cache: None };
    let mut turns = Vec::new();
    if !system.is_empty() {
        turns.push(Turn {
            parts: vec![text(system)],
            ..at(Origin::new("system"), Role::System)
        });
    }
    let mut parts = Vec::new();
    if !prompt.is_empty() {
        parts.push(text(prompt));
    }
    self::images(
        images.unwrap_or_default(),
        &Origin::new("images"),
        &mut parts,
    )?;
    if parts.is_empty() {
        let message = "`prompt` is empty: send the text to answer; a server that is not Ollama loads its \
                       model by itself";
        return Err(invalid(message, "prompt"));
    }
    turns.push(Turn {
        index: turns.len(),
        parts,
        ..at(Origin::new("prompt"), Role::User)
    });
    Ok(turns)
}
