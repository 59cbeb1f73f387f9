//! A request of another dialect in Chat's words.

use super::super::details;
use crate::dialect::server::CHAT_PATH;
use crate::dialect::server::ask::{Ask, choice_of, text_format};
use crate::error::Error;
use crate::ir::{
    CallInput, Constraint, Fields, Held, Part, Refusal, Role, Sealed, Sealing, Tool, ToolChoice,
    ToolInput, Turn, raw, raw_string,
};
use serde_json::{Value, json};

/// The path and the body. Settings have Chat's names already.
pub(super) fn ask(ask: &mut Ask<'_>) -> Result<(String, Fields), Error> {
    let mut body = Fields::default();
    body.set("model", raw(&ask.model()?));
    body.set("messages", raw(&messages(ask)?));
    let prefill = ask.history().prefill.as_deref();
    for (name, value) in prefill.into_iter().flat_map(|prefill| &prefill.send) {
        body.set(name, raw(value));
    }
    let (tools, choice) = ask.typed_tools();
    if !tools.is_empty() {
        let written: Vec<Value> = tools.iter().map(tool).collect();
        body.set("tools", raw(&written));
        if let Some(choice) = choice {
            body.set("tool_choice", raw(&self::choice(choice, tools)));
        }
        if let Some(parallel) = ask.parallel() {
            body.set("parallel_tool_calls", raw(&parallel));
        }
    }
    ask.all(&mut body);
    Ok((CHAT_PATH.to_owned(), body))
}

/// The conversation.
pub(in crate::dialect) fn messages(ask: &mut Ask<'_>) -> Result<Vec<Value>, Error> {
    let turns = ask.turns();
    let written: Result<Vec<Value>, Error> = turns.iter().map(|turn| message(ask, turn)).collect();
    let mut written = written?;
    // What was left of the model's last turn is no beginning to go on with; elsewhere it keeps two turns of the user's apart.
    while written.last().is_some_and(is_empty_answer) && written.len() > 1 {
        written.pop();
    }
    let is_system = |turn: &&Turn| turn.role == Role::System;
    let leading = turns.iter().take_while(is_system).count();
    Ok(with_one_system(written, leading))
}

/// A message of the model's with nothing but an empty text.
fn is_empty_answer(message: &Value) -> bool {
    let has_more = |message: &Value| message.as_object().is_some_and(|fields| fields.len() > 2);
    message["role"] == "assistant" && message["content"] == "" && !has_more(message)
}

/// The instructions at the beginning as one message: many chat templates take no second.
fn with_one_system(mut messages: Vec<Value>, leading: usize) -> Vec<Value> {
    let texts: Option<Vec<&str>> = (messages.iter().take(leading))
        .map(|message| message["content"].as_str())
        .collect();
    if let Some(texts) = texts.filter(|texts| texts.len() > 1) {
        let text = texts.join("\n\n");
        messages.drain(1..leading);
        messages[0]["content"] = json!(text);
    }
    messages
}

pub(super) const fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

pub(super) fn message(ask: &mut Ask<'_>, turn: &Turn) -> Result<Value, Error> {
    let mut message = json!({"role": role(turn.role)});
    let parts: Vec<Value> = (turn.parts.iter())
        .map(|part| self::part(ask, turn, part))
        .collect::<Result<_, _>>()?;
    let is_text = |part: &Part| matches!(part, Part::Text { cache: None, .. });
    message["content"] = if turn.parts.is_empty() && turn.calls.is_empty() {
        // OpenAI and Ollama take no null but beside calls, and chat templates print `None`.
        json!("")
    } else if turn.parts.is_empty() {
        Value::Null
    } else if turn.parts.iter().all(is_text) {
        json!(turn.text())
    } else {
        Value::Array(parts)
    };
    let history = ask.history();
    match (&turn.reasoning, history.reasoning()) {
        (Some(thought), Some(name)) => message[name] = json!(thought.text),
        (Some(thought), None) => ask.lose_stated(thought),
        (None, _) => {}
    }
    match history.sealed {
        Sealing::Blocks => seal(&mut message, turn),
        Sealing::Details => {
            let details = turn.sealed.iter().filter_map(details_of);
            let details: Vec<Value> = details.flatten().collect();
            if !details.is_empty() {
                message[details::FIELD] = json!(details);
            }
            ask.lose_sealed_but(turn, |sealed| details_of(sealed).is_some());
        }
        Sealing::Nothing => ask.lose_sealed(turn),
    }
    if !turn.calls.is_empty() {
        let calls = turn.calls.iter().enumerate().map(|(index, call)| {
            let id = turn.id_of(call, index);
            let as_text = !history.refuses(Refusal::StringArguments);
            let mut written = match &call.input {
                CallInput::Custom(text) => {
                    json!({"id": id, "type": "custom", "custom": {"name": call.name, "input": text}})
                }
                CallInput::Text(stated) => function(&id, &call.name, json!(stated.text)),
                input => {
                    let object = input.object().unwrap_or_default();
                    let arguments = match as_text {
                        true => json!(object),
                        false => json!(raw_string(object.to_owned())),
                    };
                    function(&id, &call.name, arguments)
                }
            };
            if let Some(signature) = call.signature.as_ref().filter(|_| history.sealed == Sealing::Blocks) {
                written["extra_content"] = signed(signature);
            }
            written
        });
        message["tool_calls"] = calls.collect();
    }
    if turn.role == Role::Tool {
        message["tool_call_id"] = json!(turn.answered_id());
    }
    Ok(message)
}

/// What providers behind OpenRouter signed.
fn details_of(held: &Held) -> Option<Vec<Value>> {
    match &held.sealed {
        Sealed::Thinking(block) => details::of(block),
        Sealed::Signature(_) => None,
    }
}

/// What servers signed, as gateways to them take it.
fn seal(message: &mut Value, turn: &Turn) {
    let mut blocks = Vec::new();
    for held in &turn.sealed {
        match &held.sealed {
            Sealed::Thinking(block) if details::of(block).is_some() => {}
            Sealed::Thinking(block) => blocks.push(block),
            Sealed::Signature(signature) => message["extra_content"] = signed(signature),
        }
    }
    if !blocks.is_empty() {
        message["thinking_blocks"] = json!(blocks);
    }
}

fn function(id: &str, name: &str, arguments: Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn signed(signature: &str) -> Value {
    json!({"google": {"thought_signature": signature}})
}

fn part(ask: &Ask<'_>, turn: &Turn, part: &Part) -> Result<Value, Error> {
    let (mut written, cache) = match part {
        Part::Text { text, cache } => (json!({"type": "text", "text": text}), cache),
        Part::Link { url, cache } => {
            let image = json!({"type": "image_url", "image_url": {"url": url}});
            (image, cache)
        }
        Part::Data {
            media_type,
            data,
            name,
            cache,
        } => (
            file(media_type, data, name.as_deref().map(String::as_str)),
            cache,
        ),
        Part::Document { .. } | Part::Opaque { .. } => {
            return Err(Ask::refuse_part(turn, part, ask.title));
        }
    };
    if let Some(cache) = cache {
        written["cache_control"] = json!(cache);
    }
    Ok(written)
}

/// OpenAI takes no file without a name.
fn file(media_type: &str, data: &str, name: Option<&str>) -> Value {
    let url = || format!("data:{media_type};base64,{data}");
    match media_type.split_once('/') {
        Some(("image", _)) => json!({"type": "image_url", "image_url": {"url": url()}}),
        Some(("audio", format)) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        Some((_, kind)) => {
            let extension = if kind == "plain" { "txt" } else { kind };
            let name = name.map_or_else(|| format!("file.{extension}"), str::to_owned);
            json!({"type": "file", "file": {"filename": name, "file_data": url()}})
        }
        None => json!({"type": "file", "file": {"file_data": url()}}),
    }
}

pub(super) fn tool(tool: &Tool) -> Value {
    let mut body = json!({"name": tool.name});
    if let Some(description) = &tool.description {
        body["description"] = json!(description);
    }
    match &tool.input {
        ToolInput::Schema { schema, strict } => {
            body["parameters"] = schema.clone();
            if *strict {
                body["strict"] = json!(true);
            }
            json!({"type": "function", "function": body})
        }
        ToolInput::Text(stated) => {
            if let Some(format) = stated.as_ref().and_then(format) {
                body["format"] = format;
            }
            json!({"type": "custom", "custom": body})
        }
        ToolInput::Hosted(hosted) => json!({"type": hosted.kind}),
    }
}

fn format(stated: &Constraint) -> Option<Value> {
    let (syntax, definition) = text_format(stated)?;
    let grammar = json!({"syntax": syntax, "definition": definition});
    Some(json!({"type": "grammar", "grammar": grammar}))
}

pub(super) fn choice(choice: &ToolChoice, tools: &[Tool]) -> Value {
    let named = |kind: &str, name: &str| json!({"type": kind, kind: {"name": name}});
    let allowed = |mode: &str, tools: Vec<Value>| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}});
    choice_of(choice, tools, named, allowed)
}
