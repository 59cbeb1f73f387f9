//! A body of `/v1/completions` to [`Request`]. Where it states no constraint nothing is demanded, and nothing
//! of it is looked at but what the proxy itself goes by.

use crate::dialect::chat::client::{read_count, stated_constraint};
use crate::dialect::client::{field, invalid, model};
use crate::dialect::whole;
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request, ToolChoice, Wire};
use serde_json::Value;

/// Reads a request.
///
/// # Errors
/// The field at fault, and the remedy.
pub(super) fn read(body: &[u8]) -> Result<Request, Error> {
    let mut fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message = "the body is no JSON object: send one object with `model` and `prompt`";
        Error::new(Kind::InvalidJson, message)
    })?;
    whole::mend(&mut fields);
    let model = model(&fields, "/v1/models")?;
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or(false);
    let (constraint, idle) = stated_constraint(&fields)?;
    let n = match &constraint {
        None => 1,
        Some(stated) => demanding(&fields, &stated.spelling.0)?,
    };
    let include_usage = fields.raw("stream_options").is_some_and(|options| {
        let options: Option<Value> = crate::json::value(options).ok();
        options.is_some_and(|options| options["include_usage"] == true)
    });
    Ok(Request {
        wire: Some(Wire::Completions),
        settings: None,
        model,
        stream,
        include_usage,
        counts_first: false,
        n,
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        states_choice: false,
        parallel_tool_calls: None,
        constraint,
        // No chat template is asked.
        thinking: None,
        idle,
        losses: Vec::new(),
        hides_thoughts: false,
        hosted_choice: None,
        takes_hosted: false,
        own_calls: None,
        legacy_functions: false,
        echo: None,
        restated: false,
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
    read_count(fields, "best_of")?;
    read_count(fields, "n")
}
