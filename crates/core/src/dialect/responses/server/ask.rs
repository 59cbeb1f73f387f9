//! A request of another dialect in the words of Responses (openai-python 3.57, `types/responses/response_create_params.py`).

use crate::dialect::server::ask::{Ask, choice_of, text_format};
use crate::error::Error;
use crate::ir::{
    CallInput, Constraint, EnforcedBy, Fields, Part, Role, Tool, ToolChoice, ToolInput, Turn, raw,
};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Where such requests are sent.
pub(super) const PATH: &str = "/v1/responses";

/// The field with the conversation.
pub(super) const INPUT: &str = "input";

/// No fewer tokens may be asked for (a 400, "Expected a value >= 16").
const LEAST_TOKENS: u64 = 16;

/// What makes the server tell the tokens' probabilities.
const LOGPROBS: &str = "message.output_text.logprobs";

/// Chat's settings that have the same name here, and fields of this wire's own. Those that would leave the conversation, or the
/// answer, to the server's store are not among them.
const OWN: [&str; 17] = [
    "temperature",
    "top_p",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
    "metadata",
    "moderation",
    "access_programs",
    "reasoning",
    "text",
    "include",
    "truncation",
    "max_output_tokens",
    "max_tool_calls",
];

/// The path and the body.
pub(super) fn ask(ask: &mut Ask<'_>) -> Result<(String, Fields), Error> {
    ask.one_choice()?;
    let mut body = Fields::default();
    body.set("model", raw(&ask.model()?));
    body.set(INPUT, raw(&input(ask)?));
    if ask.stream()? {
        body.set("stream", raw(&true));
    }
    // It is kept where nobody says otherwise.
    let is_kept: Option<bool> = ask.take("store", "true or false")?;
    body.set("store", raw(&is_kept.unwrap_or(false)));
    tools(ask, &mut body)?;
    limit(ask, &mut body)?;
    probabilities(ask, &mut body)?;
    let mut text = ask.object("text")?;
    ask.member("verbosity", &mut text, "verbosity");
    if !text.0.is_empty() {
        body.set("text", raw(&text));
    }
    ask.rest(&OWN, &mut body);
    Ok((PATH.to_owned(), body))
}

/// The conversation as items.
pub(super) fn input(ask: &mut Ask<'_>) -> Result<Vec<Value>, Error> {
    let mut items = Vec::new();
    // A result is of its call's kind.
    let mut custom: HashSet<String> = HashSet::new();
    for turn in ask.turns() {
        match turn.role {
            Role::System if turn.is_developer => items.push(message(ask, turn, "developer")?),
            Role::System => items.push(message(ask, turn, "system")?),
            Role::User => items.push(message(ask, turn, "user")?),
            Role::Assistant => assistant(ask, turn, &mut custom, &mut items)?,
            Role::Tool => items.push(result(ask, turn, &custom)?),
        }
    }
    Ok(items)
}

fn message(ask: &Ask<'_>, turn: &Turn, role: &str) -> Result<Value, Error> {
    let content = content(ask, turn)?;
    Ok(json!({"type": "message", "role": role, "content": content}))
}

/// What is said to the model: a text, or parts.
fn content(ask: &Ask<'_>, turn: &Turn) -> Result<Value, Error> {
    if let [] | [Part::Text { .. }] = turn.parts.as_slice() {
        return Ok(json!(turn.text()));
    }
    let parts = turn.parts.iter().map(|part| self::part(ask, turn, part));
    Ok(Value::Array(parts.collect::<Result<_, _>>()?))
}

fn part(ask: &Ask<'_>, turn: &Turn, part: &Part) -> Result<Value, Error> {
    Ok(match part {
        Part::Text { text, .. } => json!({"type": "input_text", "text": text}),
        Part::Link { url, .. } => json!({"type": "input_image", "image_url": url}),
        Part::Document { url, .. } => json!({"type": "input_file", "file_url": url}),
        Part::Data {
            media_type,
            data,
            name,
            ..
        } => {
            let url = format!("data:{media_type};base64,{data}");
            match media_type.split_once('/') {
                Some(("image", _)) => json!({"type": "input_image", "image_url": url}),
                // Audio goes to Chat's route alone.
                Some(("audio" | "video", _)) | None => {
                    return Err(Ask::refuse_part(turn, part, ask.title));
                }
                Some((_, kind)) => {
                    let extension = if kind == "plain" { "txt" } else { kind };
                    let given = name.as_deref().cloned();
                    let name = given.unwrap_or_else(|| format!("file.{extension}"));
                    json!({"type": "input_file", "filename": name, "file_data": url})
                }
            }
        }
        Part::Opaque { .. } => return Err(Ask::refuse_part(turn, part, ask.title)),
    })
}

/// What the model said: a message, and an item for each call. Items without an id refer to nothing that is stored.
fn assistant(
    ask: &mut Ask<'_>,
    turn: &Turn,
    custom: &mut HashSet<String>,
    items: &mut Vec<Value>,
) -> Result<(), Error> {
    if let Some(thought) = &turn.reasoning {
        ask.lose_stated(thought);
    }
    ask.lose_sealed(turn);
    let mut content = Vec::new();
    for part in &turn.parts {
        match part {
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => content.push(json!({"type": "output_text", "text": text})),
            part => return Err(Ask::refuse_part(turn, part, ask.title)),
        }
    }
    if !content.is_empty() {
        items.push(json!({"type": "message", "role": "assistant", "content": content}));
    }
    for (index, call) in turn.calls.iter().enumerate() {
        let id = turn.id_of(call, index).into_owned();
        let (kind, said, input) = match &call.input {
            CallInput::Custom(text) => ("custom_tool_call", "input", text.as_str()),
            CallInput::Text(stated) => ("function_call", "arguments", stated.text.as_str()),
            input => (
                "function_call",
                "arguments",
                input.object().unwrap_or_default(),
            ),
        };
        items.push(json!({"type": kind, "call_id": id, "name": call.name, said: input}));
        match call.input {
            CallInput::Custom(_) => drop(custom.insert(id)),
            _ => drop(custom.remove(&id)),
        }
    }
    Ok(())
}

fn result(ask: &Ask<'_>, turn: &Turn, custom: &HashSet<String>) -> Result<Value, Error> {
    let id = turn.answered_id();
    let kind = match custom.contains(id.as_ref()) {
        true => "custom_tool_call_output",
        false => "function_call_output",
    };
    Ok(json!({"type": kind, "call_id": id, "output": content(ask, turn)?}))
}

fn tools(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    ask.lose_marks();
    let (tools, choice) = ask.typed_tools();
    let mut written = Vec::new();
    for tool in tools {
        match self::tool(tool) {
            Some(tool) => written.push(tool),
            None => ask.leave_out(tool)?,
        }
    }
    if written.is_empty() {
        return Ok(());
    }
    body.set("tools", raw(&written));
    if let Some(choice) = choice {
        body.set("tool_choice", raw(&self::choice(choice, tools)));
    }
    if let Some(parallel) = ask.parallel() {
        body.set("parallel_tool_calls", raw(&parallel));
    }
    Ok(())
}

/// A tool; none for one that the server would have to host.
fn tool(tool: &Tool) -> Option<Value> {
    let (kind, name, value) = match &tool.input {
        ToolInput::Schema { schema, .. } => ("function", "parameters", Some(schema.clone())),
        ToolInput::Text(stated) => ("custom", "format", stated.as_ref().and_then(format)),
        ToolInput::Hosted(_) => return None,
    };
    let mut out = json!({"type": kind, "name": tool.name});
    if let Some(description) = &tool.description {
        out["description"] = json!(description);
    }
    if let Some(value) = value {
        out[name] = value;
    }
    // Strict is what it takes a function for that says nothing of it.
    if let ToolInput::Schema { strict, .. } = &tool.input {
        out["strict"] = json!(strict);
    }
    Some(out)
}

/// Of a custom tool's text.
fn format(stated: &Constraint) -> Option<Value> {
    let (syntax, definition) = text_format(stated)?;
    Some(json!({"type": "grammar", "syntax": syntax, "definition": definition}))
}

pub(super) fn choice(choice: &ToolChoice, tools: &[Tool]) -> Value {
    let named = |kind: &str, name: &str| json!({"type": kind, "name": name});
    let allowed = |mode: &str, tools: Vec<Value>| json!({"type": "allowed_tools", "mode": mode, "tools": tools});
    choice_of(choice, tools, named, allowed)
}

fn limit(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let expected = "a whole number from 1";
    let older: Option<u64> = ask.take("max_tokens", expected)?;
    let newer: Option<u64> = ask.take("max_completion_tokens", expected)?;
    let (name, limit) = match (newer, older) {
        (Some(limit), _) => ("/max_completion_tokens", limit),
        (None, Some(limit)) => ("/max_tokens", limit),
        (None, None) => return Ok(()),
    };
    if limit < LEAST_TOKENS {
        let reason = format!(
            "{} takes no limit below {LEAST_TOKENS} tokens: so many are asked for",
            ask.title
        );
        ask.lose(name, &reason, EnforcedBy::Nobody);
    }
    body.set("max_output_tokens", raw(&limit.max(LEAST_TOKENS)));
    Ok(())
}

/// The tokens' probabilities, and how many others are told beside each.
fn probabilities(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let is_wanted: Option<bool> = ask.take("logprobs", "true or false")?;
    let others = ask.raw("top_logprobs");
    if is_wanted != Some(true) {
        if others.is_some() {
            let reason = "it says how many are told beside each token, and none is asked for";
            ask.lose("/top_logprobs", reason, EnforcedBy::Nobody);
        }
        return Ok(());
    }
    let mut include: Vec<String> = ask
        .take("include", "a list of strings")?
        .unwrap_or_default();
    include.push(LOGPROBS.to_owned());
    body.set("include", raw(&include));
    if let Some(others) = others {
        body.set("top_logprobs", others);
    }
    Ok(())
}
