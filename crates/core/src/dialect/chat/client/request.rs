//! A request body to [`Request`]: typed where the demand stands, raw everywhere else.
//!
//! The body must have passed [`crate::json::strict`]: one JSON object, no duplicate keys.

mod both;
mod constraint;
mod thinking;
mod tools;

use crate::dialect::client::{field, model};
use crate::dialect::whole;
use crate::error::{Error, Kind};
use crate::ir::{ClientConstraint, EnforcedBy, Fields, Loss, Request, Thinking, Tool, Wire};
use serde::Deserialize;

/// More choices than this are refused: a server fans them out before it schedules
/// (CVE-2026-34756, vLLM before 0.19.0).
const MAX_N: u64 = 128;

/// The constraint that a body states in any spelling of Chat's, for routes that take the same, and the fields
/// that could state one and do not ([`Request::idle`]).
///
/// # Errors
/// The field at fault.
pub(in crate::dialect) fn stated_constraint(
    fields: &Fields,
) -> Result<(Option<ClientConstraint>, Vec<String>), Error> {
    let constraint = constraint::read(fields)?;
    let idle = idle(fields, constraint.as_ref(), false, None);
    Ok((constraint, idle))
}

/// How much the model is to think, as settings under Chat's names say it.
pub(in crate::dialect) fn stated_thinking(settings: &Fields) -> Option<Thinking> {
    thinking::read(settings)
}

/// The tools of another dialect that has them in Chat's form, in `tools`.
///
/// # Errors
/// The field at fault.
pub(in crate::dialect) fn function_tools(fields: &Fields) -> Result<Vec<Tool>, Error> {
    let mut alone = Fields::default();
    if let Some(tools) = fields.0.get("tools") {
        alone.set("tools", tools.clone());
    }
    Ok(tools::read(&alone)?.tools)
}

/// Reads a Chat Completions request.
///
/// # Errors
/// The field at fault, and the remedy.
pub fn read_request(body: &[u8]) -> Result<Request, Error> {
    let mut fields: Fields = serde_json::from_slice(body).map_err(|_| {
        Error::new(
            Kind::InvalidJson,
            "the body is no JSON object: send one object with `model` and `messages`",
        )
    })?;
    whole::mend(&mut fields);
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or(false);
    let stream_options = field::<StreamOptions>(&fields, "stream_options", "an object")?;
    let n = read_count(&fields, "n")?;
    // vLLM's own, until it went: fanned out like `n`.
    read_count(&fields, "best_of")?;
    let parallel_tool_calls = field::<bool>(&fields, "parallel_tool_calls", "true or false")?;
    let model = model(&fields, "/v1/models")?;
    let constraint = constraint::read(&fields)?;
    let tools::ToolFields {
        tools,
        tool_choice,
        states_choice,
        legacy_functions,
        vain,
    } = tools::read(&fields)?;
    let mut idle = idle(&fields, constraint.as_ref(), tools.is_empty(), vain);
    let (mut losses, unheard) = constraint::unheard(&fields);
    idle.extend(unheard);
    losses.extend(vain.map(vain_choice));
    Ok(Request {
        wire: Some(Wire::Chat),
        settings: None,
        model,
        stream,
        include_usage: stream_options
            .and_then(|options| options.include_usage)
            .unwrap_or(false),
        counts_first: false,
        n,
        tools,
        tool_choice,
        states_choice,
        parallel_tool_calls,
        constraint,
        thinking: thinking::read(&fields),
        idle,
        losses,
        legacy_functions,
        // vLLM's word, which servers of Chat's wire are told as it stands.
        hides_thoughts: fields.raw("include_reasoning") == Some("false"),
        hosted_choice: None,
        takes_hosted: false,
        own_calls: None,
        echo: None,
        restated: false,
        fields,
    })
}

/// A choice among no tools: LlamaIndex asks for a call before it has any, and no reply can hold one.
fn vain_choice(name: &str) -> Loss {
    Loss {
        pointer: format!("/{name}"),
        reason: "it asks for a call, and no tools are given: there is nothing to call".to_owned(),
        enforced_by: EnforcedBy::Nobody,
    }
}

/// See [`Request::idle`].
fn idle(
    fields: &Fields,
    stated: Option<&ClientConstraint>,
    no_tools: bool,
    vain: Option<&str>,
) -> Vec<String> {
    const TOOLS: [&str; 2] = ["tools", "functions"];
    const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    const CHOICES: [&str; 3] = ["tool_choice", "parallel_tool_calls", "function_call"];
    let is_stated = |name: &str| {
        stated.is_some_and(|stated| {
            let mut spellings = std::iter::once(&stated.spelling).chain(&stated.also);
            spellings.any(|spelling| spelling.field() == name)
        })
    };
    let has_empty_tools = no_tools && TOOLS.iter().any(|name| fields.has(name));
    let is_idle = |name: &str| {
        if name == "nvext" {
            fields.raw(name) == Some("null")
        } else if vain == Some(name) {
            true
        } else if LIMITS.contains(&name) {
            // As many as there is room for, which is what is meant by none (LM Studio, llama.cpp).
            fields.raw(name) == Some("-1")
        } else if TOOLS.contains(&name) || CHOICES.contains(&name) {
            has_empty_tools
        } else {
            constraint::is_constraint_field(name) && !is_stated(name)
        }
    };
    let names = fields.0.keys().filter(|name| is_idle(name));
    names.cloned().collect()
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// How many choices are asked for.
pub(in crate::dialect) fn read_count(fields: &Fields, name: &str) -> Result<u32, Error> {
    let Some(count) = field::<u64>(fields, name, "a whole number from 1")? else {
        return Ok(1);
    };
    u32::try_from(count)
        .ok()
        .filter(|count| (1..=MAX_N).contains(&u64::from(*count)))
        .ok_or_else(|| {
            Error::new(
                Kind::InvalidRequest,
                format!("`{name}` is {count}: ask for 1 to {MAX_N} choices"),
            )
            .at(name)
        })
}

#[cfg(test)]
mod tests;
