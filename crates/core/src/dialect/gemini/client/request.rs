//! A request body, and what its path says, to [`Request`].
//!
//! The body must have passed [`crate::json::strict`]: one JSON object, no duplicate keys.

use super::object::Object;
use super::tools::lost;
use super::{config, tools};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request, ToolChoice, Wire, raw};
use serde_json::json;

/// What a path says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    /// `NAME`, or `tunedModels/NAME`.
    pub(super) model: String,
    pub(super) is_stream: bool,
}

/// Reads a path: `/v1beta/models/NAME:generateContent`.
///
/// # Errors
/// It is spelled so that servers could read another model's name.
pub(super) fn method(path: &str) -> Result<Method, Error> {
    let wrong = || {
        let message = "the path must be /v1beta/models/NAME:generateContent, or \
                       :streamGenerateContent, with a model's name in plain letters";
        Error::new(Kind::InvalidRequest, message).at("model")
    };
    let decoded = percent_decoded(path).ok_or_else(wrong)?;
    if decoded.contains(['?', '#', ';', '\\', '%']) || decoded.chars().any(char::is_control) {
        return Err(wrong());
    }
    let (name, method) = decoded
        .trim_end_matches('/')
        .rsplit_once(':')
        .ok_or_else(wrong)?;
    let is_stream = match method.to_ascii_lowercase().as_str() {
        "generatecontent" => false,
        "streamgeneratecontent" => true,
        _ => return Err(wrong()),
    };
    let mut segments = name.split('/').filter(|segment| !segment.is_empty());
    let is_kind =
        |segment: &str| ["models", "tunedmodels"].contains(&segment.to_ascii_lowercase().as_str());
    let kind = segments
        .find(|segment| is_kind(segment))
        .ok_or_else(wrong)?;
    let name: Vec<&str> = segments.collect();
    let name = name.join("/");
    if name.trim().is_empty() {
        return Err(wrong());
    }
    let is_tuned = kind.eq_ignore_ascii_case("tunedModels");
    Ok(Method {
        model: if is_tuned {
            format!("tunedModels/{name}")
        } else {
            name
        },
        is_stream,
    })
}

fn percent_decoded(path: &str) -> Option<String> {
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let (high, low) = (digit(bytes.get(at + 1))?, digit(bytes.get(at + 2))?);
            out.push(u8::try_from(high * 16 + low).ok()?);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

/// Reads a request.
///
/// # Errors
/// The field at fault, and the remedy.
pub(super) fn read(path: &str, body: &[u8]) -> Result<Request, Error> {
    let Method { model, is_stream } = method(path)?;
    let fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message = "the body is no JSON object: send one object with `contents`";
        Error::new(Kind::InvalidJson, message)
    })?;
    let mut object = Object::of(&fields, None)?;
    let mut losses = Vec::new();
    let mut settings = Fields::default();
    settings.set("model", raw(&model));
    if is_stream {
        settings.set("stream", raw(&true));
        // Each reply counts its tokens.
        settings.set("stream_options", raw(&json!({"include_usage": true})));
    }
    let config = config::read(&mut object, &mut settings, &mut losses)?;
    let tools::Calls {
        tools,
        choice,
        own_calls,
    } = tools::read(&mut object, &mut losses)?;
    // The conversation is read where somebody needs it; the path names the model.
    for name in ["contents", "systemInstruction", "cachedContent", "model"] {
        object.raw(name);
    }
    let reason = "only Gemini has it";
    losses.extend(object.rest().iter().map(|at| lost(at, reason)));
    let choice = choice.filter(|_| !tools.is_empty());
    Ok(Request {
        wire: Some(Wire::Gemini),
        settings: Some(settings),
        model,
        stream: is_stream,
        include_usage: true,
        counts_first: false,
        n: config.candidates,
        states_choice: choice.is_some(),
        tool_choice: choice.unwrap_or(match tools.is_empty() {
            true => ToolChoice::None,
            false => ToolChoice::Auto,
        }),
        tools,
        parallel_tool_calls: None,
        constraint: config.constraint,
        thinking: config.thinking,
        idle: Vec::new(),
        losses,
        hides_thoughts: !config.shows_thoughts,
        hosted_choice: None,
        takes_hosted: false,
        own_calls,
        legacy_functions: false,
        echo: None,
        restated: false,
        fields,
    })
}
