//! A body of `/v1/completions` to [`Request`]. Where it states no constraint nothing is demanded, and nothing
//! of it is looked at but what the proxy itself goes by.

use crate::dialect::chat::client::stated_constraint;
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request, ToolChoice, Wire};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// More choices than this are refused, as on Chat's route.
const MAX_N: u32 = 128;

fn invalid(message: impl Into<String>, at: &str) -> Error {
    Error::new(Kind::InvalidRequest, message).at(at)
}

fn field<T: DeserializeOwned>(
    fields: &Fields,
    name: &str,
    expected: &str,
) -> Result<Option<T>, Error> {
    let Some(raw) = fields.raw(name) else {
        return Ok(None);
    };
    serde_json::from_str::<Option<T>>(raw)
        .map_err(|_| invalid(format!("`{name}` must be {expected}"), name))
}

/// Reads a request.
///
/// # Errors
/// The field at fault, and the remedy.
pub(super) fn read(body: &[u8]) -> Result<Request, Error> {
    let fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message = "the body is no JSON object: send one object with `model` and `prompt`";
        Error::new(Kind::InvalidJson, message)
    })?;
    let model = field::<String>(&fields, "model", "a string")?.unwrap_or_default();
    if model.chars().any(char::is_control) {
        let message = "`model` holds a control character: send the name that /v1/models lists";
        return Err(invalid(message, "model"));
    }
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or(false);
    let (constraint, idle) = stated_constraint(&fields)?;
    let n = match &constraint {
        None => 1,
        Some(stated) => demanding(&fields, &stated.spelling.0)?,
    };
    let include_usage = fields.raw("stream_options").is_some_and(|options| {
        let options: Option<Value> = serde_json::from_str(options).ok();
        options.is_some_and(|options| options["include_usage"] == true)
    });
    Ok(Request {
        wire: Some(Wire::Completions),
        settings: None,
        model,
        stream,
        include_usage,
        n,
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        states_choice: false,
        parallel_tool_calls: None,
        constraint,
        idle,
        losses: Vec::new(),
        legacy_functions: false,
        echo: None,
        fields,
    })
}

/// What has to be known of a request whose choices are held to a constraint; how many of them are asked for.
fn demanding(fields: &Fields, spelling: &str) -> Result<u32, Error> {
    let refused = |name: &str, why: &str| {
        let message = format!("{why} beside `{spelling}`");
        Error::new(Kind::UnsupportedConstraint, message).at(name)
    };
    match field::<Value>(fields, "prompt", "a string")? {
        Some(Value::String(_)) => {}
        Some(Value::Array(prompts)) => match prompts.as_slice() {
            [Value::String(_)] => {}
            [Value::String(_), ..] => {
                let why = "`prompt` has several prompts: send a request for each";
                return Err(refused("prompt", why));
            }
            [Value::Number(_) | Value::Array(_), ..] => {
                let why = "`prompt` has token ids: send the text itself";
                return Err(refused("prompt", why));
            }
            _ => return Err(invalid("`prompt` must be a string", "prompt")),
        },
        _ => return Err(invalid("`prompt` must be a string", "prompt")),
    }
    if field::<bool>(fields, "echo", "true or false")?.unwrap_or(false) {
        let why = "`echo` puts the prompt before the text that is constrained: leave it out";
        return Err(refused("echo", why));
    }
    count(fields, "best_of")?;
    count(fields, "n")
}

fn count(fields: &Fields, name: &str) -> Result<u32, Error> {
    let count = field::<u32>(fields, name, "a whole number from 1")?.unwrap_or(1);
    match count {
        1..=MAX_N => Ok(count),
        _ => {
            let message = format!("`{name}` is {count}: ask for 1 to {MAX_N} choices");
            Err(invalid(message, name))
        }
    }
}
