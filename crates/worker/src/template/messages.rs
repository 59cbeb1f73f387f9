//! A conversation in the shape that a template knows: messages and tools as Chat Completions has
//! them come in; the messages that the template sees go out.
//!
//! - Content that is a list of texts is one text, with a newline between them (as in vLLM), for a
//!   template that has no loop over a content's parts.
//! - A call of a custom tool is one of a function with an `input`, which the tool is shown as; a
//!   legacy `function_call` and its result are a tool call and its result.
//! - A call's arguments are an object, where they are JSON: templates print them as JSON.
//! - A `developer` is the `system`, and that goes into the first user's message, for templates
//!   that do not know these roles.
//! - Calls' ids are made of their names and numbers, for templates that show nothing else of the names.
//! - Tools, calls and results are written as text in Hermes' style, which the proxy's forced and
//!   free tool calls have, too, for templates that have another style than any that is known, or none.

use super::python;
use isogloss_core::error::{Error, Kind};
use isogloss_core::markup::{Format, Tools, Written};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a template knows.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// It writes the tools itself.
    pub(super) native_tools: bool,
    /// It writes calls itself, in a style that is constrained and read as the model writes it.
    pub(super) native_calls: bool,
    /// It does so beside a text, too.
    pub(super) calls_beside_text: bool,
    /// It does so only where the content is none, and not where that is empty.
    pub(super) null_content: bool,
    /// The style of calls, where it is another than Hermes's.
    pub(super) style: Option<Arc<Format>>,
    /// It takes arguments for a text.
    pub(super) text_arguments: bool,
    /// Its calls have no name but their ids, which are `functions.NAME:NUMBER` (Kimi K2), or its results are told by such.
    pub(super) named_ids: bool,
    /// It loops over the parts of a content.
    pub(super) parts: bool,
    pub(super) tool_role: bool,
    pub(super) system_role: bool,
    pub(super) developer_role: bool,
}

impl Default for Shape {
    /// A template that knows nothing but texts of roles.
    fn default() -> Self {
        Self {
            native_tools: false,
            native_calls: false,
            calls_beside_text: false,
            null_content: false,
            style: None,
            text_arguments: false,
            named_ids: false,
            parts: false,
            tool_role: false,
            system_role: true,
            developer_role: false,
        }
    }
}

type Object = Map<String, Value>;

/// The messages as the template sees them.
pub(super) fn shaped(
    messages: &[Value],
    tools: &[Value],
    shape: &Shape,
) -> Result<Vec<Value>, Error> {
    let mut shaped: Vec<Object> = Vec::with_capacity(messages.len() + 1);
    let mut is_after_result = false;
    for (index, message) in messages.iter().enumerate() {
        let message = one(message, &format!("messages[{index}]"), shape)?;
        let is_result = role(&message) == "tool" && !shape.tool_role;
        match shaped.last_mut() {
            _ if !is_result => shaped.push(message),
            // One message for the results of one round of calls: roles often must alternate.
            Some(last) if is_after_result => append(last, "\n", &result_text(&message)),
            _ => shaped.push(made("user", result_text(&message), shape)),
        }
        is_after_result = is_result;
    }
    if !shape.native_tools && !tools.is_empty() {
        let block = tools_block(tools, shape.style.as_deref());
        match shaped.first_mut() {
            Some(first) if role(first) == "system" => append(first, "\n\n", &block),
            _ => shaped.insert(0, made("system", block, shape)),
        }
    }
    if !shape.system_role {
        fold_system(&mut shaped, shape);
    }
    if shape.named_ids {
        name_ids(&mut shaped);
    }
    Ok(shaped.into_iter().map(Value::Object).collect())
}

/// Ids of the conversation's calls as `functions.NAME:NUMBER`, counted from nought, and those of their results.
fn name_ids(messages: &mut [Object]) {
    let mut number = 0_usize;
    let mut known: Map<String, Value> = Map::new();
    for message in messages {
        if let Some(Value::Array(calls)) = message.get_mut("tool_calls") {
            for call in calls.iter_mut().filter_map(Value::as_object_mut) {
                let name = call
                    .get("function")
                    .and_then(|function| function["name"].as_str());
                let id = Value::from(format!("functions.{}:{number}", name.unwrap_or_default()));
                number += 1;
                if let Some(Value::String(before)) = call.insert("id".to_owned(), id.clone()) {
                    known.insert(before, id);
                }
            }
        }
        if let Some(id) = message.get_mut("tool_call_id")
            && let Some(named) = id.as_str().and_then(|id| known.get(id))
        {
            *id = named.clone();
        }
    }
}

fn role(message: &Object) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or("")
}

fn invalid(place: &str, message: &str) -> Error {
    Error::new(Kind::InvalidRequest, format!("{place}: {message}")).at(place)
}

fn one(message: &Value, place: &str, shape: &Shape) -> Result<Object, Error> {
    let Value::Object(message) = message else {
        return Err(invalid(place, "a message is an object"));
    };
    let mut message = message.clone();
    let role = match message.get("role") {
        Some(Value::String(role)) => role.clone(),
        _ => return Err(invalid(place, "a message has a `role`, which is a text")),
    };
    if role == "developer" && !shape.developer_role {
        message.insert("role".to_owned(), "system".into());
    }
    modernise(&mut message);
    let is_called = match message.get_mut("tool_calls") {
        Some(Value::Array(calls)) if !calls.is_empty() => {
            calls.iter_mut().for_each(|call| {
                as_function(call);
                match shape.text_arguments {
                    true => print_arguments(call),
                    false => parse_arguments(call),
                }
            });
            true
        }
        // Templates ask whether the key is there.
        Some(_) => {
            message.remove("tool_calls");
            false
        }
        None => false,
    };
    let mut content = content(message.get("content"), place, shape)?;
    let is_empty = match &content {
        Value::String(text) => text.is_empty(),
        parts => parts.as_array().is_some_and(Vec::is_empty),
    };
    let is_shown = shape.native_calls && (is_empty || shape.calls_beside_text);
    if is_called && is_shown && is_empty && shape.null_content {
        content = Value::Null;
    }
    message.insert("content".to_owned(), content);
    if is_called && !is_shown {
        write_calls(&mut message, shape);
    }
    Ok(message)
}

/// The content of a message. None at all is an empty one: templates split it, or print `None`.
fn content(content: Option<&Value>, place: &str, shape: &Shape) -> Result<Value, Error> {
    let parts = match content {
        Some(Value::String(text)) => return Ok(text.clone().into()),
        Some(Value::Array(parts)) => parts,
        Some(Value::Null) | None => return Ok("".into()),
        Some(_) => {
            let place = format!("{place}.content");
            return Err(invalid(&place, "content is a text or a list of parts"));
        }
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        texts.push(part_text(part, &format!("{place}.content[{index}]"))?);
    }
    Ok(match shape.parts {
        true => texts
            .into_iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect(),
        false => texts.join("\n").into(),
    })
}

fn part_text<'a>(part: &'a Value, place: &str) -> Result<&'a str, Error> {
    if let Value::String(text) = part {
        return Ok(text);
    }
    let kind = part.get("type").and_then(Value::as_str);
    let field = match kind {
        Some("text" | "input_text" | "output_text") => "text",
        Some("refusal") => "refusal",
        // Images and audio that the model takes are no parts any more when they come here.
        Some("image_url") => {
            return Err(invalid(place, "this model takes no images: send text"));
        }
        Some("image" | "input_image") => {
            let message = "images are parts of the type `image_url`, where the model takes any";
            return Err(invalid(place, message));
        }
        Some("input_audio" | "audio_url") => {
            return Err(invalid(place, "this model takes no audio: send text"));
        }
        Some("audio") => {
            let message = "audio is a part of the type `input_audio`, where the model takes any";
            return Err(invalid(place, message));
        }
        Some("video_url" | "video") => {
            return Err(invalid(place, "this model takes no video: send text"));
        }
        _ => {
            let message = "this model takes parts of the type `text` alone";
            return Err(invalid(place, message));
        }
    };
    part.get(field)
        .and_then(Value::as_str)
        .ok_or_else(|| invalid(place, &format!("a part of this type has a text `{field}`")))
}

/// A legacy call and its result in today's form: templates pass over what they do not know.
fn modernise(message: &mut Object) {
    if role(message) == "function" {
        message.insert("role".to_owned(), "tool".into());
    }
    match message.remove("function_call") {
        Some(function @ Value::Object(_)) if !message.contains_key("tool_calls") => {
            let call = json!({"type": "function", "function": function});
            message.insert("tool_calls".to_owned(), json!([call]));
        }
        _ => {}
    }
}

/// The call of a custom tool as one of the function that the tool is shown as.
fn as_function(call: &mut Value) {
    let Value::Object(call) = call else { return };
    if call.contains_key("function") {
        return;
    }
    let Some(custom) = call.remove("custom") else {
        return;
    };
    let function = json!({"name": custom["name"], "arguments": {"input": custom["input"]}});
    call.insert("type".to_owned(), "function".into());
    call.insert("function".to_owned(), function);
}

/// Arguments are a JSON text on the wire. What is no JSON object stays as it is.
fn parse_arguments(call: &mut Value) {
    let arguments = call
        .get_mut("function")
        .and_then(|function| function.get_mut("arguments"));
    if let Some(arguments) = arguments
        && let Some(text) = arguments.as_str()
    {
        match text.trim().is_empty() {
            true => *arguments = json!({}),
            false => {
                if let Ok(object @ Value::Object(_)) = isogloss_core::json::value(text) {
                    *arguments = object;
                }
            }
        }
    }
}

/// Arguments are text, whatever they came as.
fn print_arguments(call: &mut Value) {
    let arguments = (call.get_mut("function")).and_then(|function| function.get_mut("arguments"));
    if let Some(arguments) = arguments
        && !arguments.is_string()
    {
        *arguments = python::dumps(arguments).into();
    }
}

/// A content, of a text that was made here.
fn content_of(text: String, shape: &Shape) -> Value {
    match shape.parts {
        true => json!([{"type": "text", "text": text}]),
        false => text.into(),
    }
}

/// A message of a text that was made here.
fn made(role: &str, text: String, shape: &Shape) -> Object {
    Object::from_iter([
        ("role".to_owned(), role.into()),
        ("content".to_owned(), content_of(text, shape)),
    ])
}

/// Adds to a content; the separator stands only between two texts.
fn append(message: &mut Object, separator: &str, more: &str) {
    match message.get_mut("content") {
        Some(Value::String(text)) => {
            if !text.is_empty() {
                text.push_str(separator);
            }
            text.push_str(more);
        }
        Some(Value::Array(parts)) => {
            let text = match parts.is_empty() {
                true => more.to_owned(),
                false => format!("{separator}{more}"),
            };
            parts.push(json!({"type": "text", "text": text}));
        }
        _ => {
            message.insert("content".to_owned(), more.into());
        }
    }
}

/// Writes an assistant's calls into its content, in the template's style, or as the Hermes and Qwen models do.
fn write_calls(message: &mut Object, shape: &Shape) {
    let Some(Value::Array(calls)) = message.remove("tool_calls") else {
        return;
    };
    let calls: Vec<_> = calls.iter().map(|call| called(call, shape)).collect();
    match &shape.style {
        Some(style) => {
            let written = calls.iter().map(|(name, input)| Written {
                id: None,
                name: name.as_str().unwrap_or_default(),
                input,
            });
            let written: Vec<_> = written.collect();
            append(message, "\n", &style.write(&written, &Tools::default()));
        }
        None => {
            for (name, input) in calls {
                let name = python::dumps(name);
                let call = format!("{{\"name\": {name}, \"arguments\": {input}}}");
                append(message, "\n", &format!("<tool_call>\n{call}\n</tool_call>"));
            }
        }
    }
    if let (true, Some(Value::String(text))) = (shape.parts, message.get("content")) {
        let text = text.clone();
        message.insert("content".to_owned(), content_of(text, shape));
    }
}

/// A call's name and its arguments as JSON.
fn called<'c>(call: &'c Value, shape: &Shape) -> (&'c Value, String) {
    let function = call.get("function").unwrap_or(call);
    let input = match function.get("arguments") {
        Some(Value::String(text)) if shape.text_arguments => text.clone(),
        Some(arguments) => python::dumps(arguments),
        None => "{}".to_owned(),
    };
    (function.get("name").unwrap_or(&Value::Null), input)
}

fn result_text(message: &Object) -> String {
    let text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    format!("<tool_response>\n{text}\n</tool_response>")
}

/// What a model is told of its tools, in the words that the Hermes and Qwen models were trained
/// on; in this style calls are written, where it is another.
fn tools_block(tools: &[Value], style: Option<&Format>) -> String {
    let mut block = "# Tools\n\nYou may call one or more functions to assist with the user query.\
        \n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>"
        .to_owned();
    for tool in tools {
        block.push('\n');
        block.push_str(&python::dumps(tool));
    }
    if let Some(style) = style {
        let call = Written {
            id: None,
            name: "<function-name>",
            input: "<args-json-object>",
        };
        block.push_str("\n</tools>\n\nFor each function call, write:\n");
        block.push_str(&style.write(&[call], &Tools::default()));
        return block;
    }
    block.push_str(
        "\n</tools>\n\nFor each function call, return a json object with function name and \
         arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": \
         <function-name>, \"arguments\": <args-json-object>}\n</tool_call>",
    );
    block
}

/// Puts what the system says first into the first user's message.
fn fold_system(messages: &mut Vec<Object>, shape: &Shape) {
    let count = messages
        .iter()
        .take_while(|message| role(message) == "system")
        .count();
    let system: Vec<Object> = messages.drain(..count).collect();
    let mut folded = Object::new();
    for message in system {
        let text = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect::<Vec<_>>().concat()
            }
            _ => String::new(),
        };
        append(&mut folded, "\n\n", &text);
    }
    let Some(Value::String(text)) = folded.remove("content") else {
        return;
    };
    if text.is_empty() {
        return;
    }
    let user = messages
        .iter_mut()
        .find(|message| role(message) == "user")
        .and_then(|message| message.get_mut("content"));
    match user {
        Some(Value::String(content)) => *content = format!("{text}\n\n{content}"),
        Some(Value::Array(parts)) => {
            let text = format!("{text}\n\n");
            parts.insert(0, json!({"type": "text", "text": text}));
        }
        _ => messages.insert(0, made("user", text, shape)),
    }
}
