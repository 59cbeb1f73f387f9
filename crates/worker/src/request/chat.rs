//! The conversation of a Chat Completions request, as the chat template takes it.

use super::free::begins_of_tags;
use super::{Chat, field, invalid, last_text, must_be};
use isogloss_core::error::{Error, Kind};
use isogloss_core::ir::{Constraint, Fields, Request, ToolChoice, ToolInput};
use serde_json::{Map, Value, json};

/// Messages of one conversation; each costs the template a turn of its loop.
const MAX_MESSAGES: usize = 8_192;

pub(super) fn read(request: &Request) -> Result<Chat, Error> {
    check_choice(request)?;
    let constraint = request.constraint.as_ref().map(|stated| &stated.constraint);
    let messages = messages(&request.fields)?;
    Ok(Chat {
        goes_on: goes_on(&request.fields, &messages)?,
        messages,
        tools: tools(request)?,
        kwargs: kwargs(&request.fields)?,
        tags: constraint.map(begins_of_tags),
        // Who writes tags may write whatever stands around them.
        is_plain: constraint.is_some_and(|it| !matches!(it, Constraint::StructuralTag(_))),
    })
}

/// Calls are not parsed here: a forced one comes as a constraint on the content.
fn check_choice(request: &Request) -> Result<(), Error> {
    if !request.tool_choice.is_forced() {
        return Ok(());
    }
    let name = if request.legacy_functions {
        "function_call"
    } else {
        "tool_choice"
    };
    let message = format!(
        "`{name}` forces a call, which the worker takes as a constraint only: put the proxy in \
         front, or send \"none\" with a constraint on the content"
    );
    Err(invalid(name, message))
}

/// Whether the model goes on with its own last words, as vLLM has it.
fn goes_on(fields: &Fields, messages: &[Value]) -> Result<bool, Error> {
    const NAME: &str = "continue_final_message";
    const PROMPT: &str = "add_generation_prompt";
    const FLAG: &str = "true or false";
    let goes_on = field::<bool>(fields, NAME, FLAG)?.unwrap_or(false);
    if field::<bool>(fields, PROMPT, FLAG)?.is_some_and(|prompts| prompts == goes_on) {
        let message =
            format!("`{PROMPT}` must be false where `{NAME}` is true, and true elsewhere");
        return Err(invalid(PROMPT, message));
    }
    let is_open = |last: &Value| {
        let calls = last["tool_calls"]
            .as_array()
            .is_some_and(|calls| !calls.is_empty());
        last["role"] == "assistant" && last_text(last).is_some() && !calls
    };
    if goes_on && !messages.last().is_some_and(is_open) {
        let message = format!(
            "`{NAME}` goes on with the last message, which must be the assistant's, with text and without calls"
        );
        return Err(invalid(NAME, message));
    }
    Ok(goes_on)
}

pub(super) fn messages(fields: &Fields) -> Result<Vec<Value>, Error> {
    const NAME: &str = "messages";
    const EXPECTED: &str = "an array of at least one message, each an object with a `role`";
    let messages = field::<Vec<Value>>(fields, NAME, EXPECTED)?
        .filter(|messages| !messages.is_empty())
        .ok_or_else(|| must_be(NAME, EXPECTED))?;
    if messages.len() > MAX_MESSAGES {
        let message = format!(
            "`{NAME}` has {} messages: send at most {MAX_MESSAGES}",
            messages.len()
        );
        return Err(invalid(NAME, message));
    }
    for (index, message) in messages.iter().enumerate() {
        if !message.get("role").is_some_and(Value::is_string) {
            return Err(must_be(
                &format!("{NAME}[{index}]"),
                "an object with a `role`, which is a string",
            ));
        }
    }
    Ok(messages.into_iter().map(read_calls).collect())
}

/// Arguments of earlier calls are JSON text on the wire and values for templates (as vLLM and
/// transformers hand them over). Text that is none stays text.
fn read_calls(mut message: Value) -> Value {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        let Some(arguments) = call
            .get_mut("function")
            .and_then(|function| function.get_mut("arguments"))
        else {
            continue;
        };
        if let Some(text) = arguments.as_str()
            && let Ok(read @ Value::Object(_)) = isogloss_core::json::value(text)
        {
            *arguments = read;
        }
    }
    message
}

/// The tools as the client wrote them; legacy functions in today's form.
fn tools(request: &Request) -> Result<Vec<Value>, Error> {
    for (index, tool) in request.tools.iter().enumerate() {
        if let ToolInput::Hosted(_) = tool.input {
            let name = format!("tools[{index}].type");
            let message = format!(
                "`{name}` is of a tool that a hosted API runs: the worker runs none, send functions"
            );
            return Err(Error::new(Kind::InvalidRequest, message).at(name));
        }
    }
    let mut tools = if request.legacy_functions {
        let functions = field::<Vec<Value>>(&request.fields, "functions", "an array")?;
        functions
            .unwrap_or_default()
            .into_iter()
            .map(|function| json!({"type": "function", "function": function}))
            .collect()
    } else {
        field::<Vec<Value>>(&request.fields, "tools", "an array")?.unwrap_or_default()
    };
    if let ToolChoice::Allowed { names, .. } = &request.tool_choice {
        let mut listed = request.tools.iter();
        tools.retain(|_| listed.next().is_some_and(|tool| names.contains(&tool.name)));
    }
    Ok(tools)
}

/// `reasoning_effort` and `documents` are variables of templates too, as in vLLM.
pub(super) fn kwargs(fields: &Fields) -> Result<Map<String, Value>, Error> {
    /// What is the worker's own to give.
    const OURS: [&str; 4] = ["messages", "tools", "bos_token", "eos_token"];
    let given = field::<Map<String, Value>>(fields, "chat_template_kwargs", "an object")?;
    let mut kwargs = given.unwrap_or_default();
    if let Some(name) = OURS.iter().find(|name| kwargs.contains_key(**name)) {
        let path = format!("chat_template_kwargs.{name}");
        return Err(invalid(
            &path,
            format!("`{path}` is not the request's to set: leave it out"),
        ));
    }
    if let Some(effort) = field::<String>(fields, "reasoning_effort", "a string")? {
        kwargs.insert("reasoning_effort".to_owned(), Value::from(effort));
    }
    if let Some(documents) = field::<Vec<Value>>(fields, "documents", "an array")? {
        kwargs.insert("documents".to_owned(), Value::from(documents));
    }
    Ok(kwargs)
}
