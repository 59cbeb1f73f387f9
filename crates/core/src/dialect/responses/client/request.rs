//! A request body to [`Request`]: typed where the demand stands, raw everywhere else.
//!
//! The body must have passed [`crate::json::strict`]: one JSON object, no duplicate keys.

use super::field::field;
use super::{Responses, echo, item, settings, text, tools};
use crate::dialect::chat::client::stated_thinking;
use crate::dialect::whole;
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request, Wire, raw};
use std::sync::Arc;

/// The fields of a body.
///
/// # Errors
/// It is no object.
pub(super) fn fields(body: &[u8]) -> Result<Fields, Error> {
    let mut fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message = "the body is no JSON object: send one object with `model` and `input`";
        Error::new(Kind::InvalidJson, message)
    })?;
    whole::mend(&mut fields);
    Ok(fields)
}

/// Reads a request.
///
/// # Errors
/// The field at fault, and the remedy.
pub(super) fn read_fields(face: Responses, fields: Fields) -> Result<Request, Error> {
    settings::refuse(&fields)?;
    // A server that stores something itself may be asked to go on from it.
    if face != Responses::Alone {
        settings::refuse_stored(&fields)?;
    }
    let mut losses = Vec::new();
    let model = read_model(&fields)?;
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or(false);
    let mut text = text::read(&fields, &mut losses)?;
    let mut tools = tools::read(&fields, &mut losses)?;
    item::check(&fields, &mut losses)?;
    let parallel_tool_calls = field::<bool>(&fields, "parallel_tool_calls", "true or false")?;
    let mut settings = settings::read(face, &fields, stream, &mut losses)?;
    if let Some(verbosity) = &text.verbosity {
        settings.set("verbosity", raw(verbosity));
    }
    // `reasoning.effort` is among the settings, as are fields that servers have of their own.
    let thinking = stated_thinking(&settings);
    let mut echo = echo::of(face, &fields, &tools.names, &mut losses)?;
    let compacts = item::asks_compaction(&fields);
    if compacts {
        echo::note_compaction(&mut echo);
        // Nothing is to be called, and no form is kept to.
        tools.leave_out();
        text.constraint = None;
    }
    Ok(Request {
        // What is kept here is made here: a server with a store of its own would know nothing of it.
        wire: (face == Responses::Alone).then_some(Wire::Responses),
        settings: Some(settings),
        model,
        stream,
        // The last event has the counts.
        include_usage: true,
        counts_first: false,
        n: 1,
        tools: tools.tools,
        tool_choice: tools.choice,
        states_choice: tools.states_choice,
        parallel_tool_calls,
        constraint: text.constraint,
        thinking,
        idle: Vec::new(),
        losses,
        hides_thoughts: compacts,
        hosted_choice: tools.hosted_choice,
        takes_hosted: tools.takes_hosted,
        own_calls: None,
        legacy_functions: false,
        echo: Some(Arc::new(echo)),
        restated: false,
        fields,
    })
}

/// The request of the route that asks for nothing but the conversation in short.
pub(super) fn read_compact(fields: Fields) -> Result<Request, Error> {
    let (fields, said) = super::compact::asked(fields)?;
    let mut request = read_fields(Responses::Compact, fields)?;
    if let Some(echo) = request.echo.as_mut().map(Arc::make_mut) {
        echo::note_said(echo, &said);
    }
    Ok(request)
}

fn read_model(fields: &Fields) -> Result<String, Error> {
    let model = field::<String>(fields, "model", "a string")?.unwrap_or_default();
    let problem = if model.is_empty() && fields.raw("prompt").is_some_and(|raw| raw != "null") {
        // The template may name it.
        return Ok(model);
    } else if model.is_empty() {
        "is missing: name the model, as /v1/models lists it"
    } else if model.chars().any(char::is_control) {
        // A name that ends at a NUL for one reader and goes on for another is two models.
        "holds a control character: send the name that /v1/models lists"
    } else {
        return Ok(model);
    };
    Err(super::field::invalid("model", problem))
}
