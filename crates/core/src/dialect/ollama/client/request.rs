//! A body of `/api/chat` or `/api/generate` to [`Request`].

use super::Ollama;
use crate::dialect::chat::client::function_tools;
use crate::dialect::client::{field, invalid, model, object_arguments};
use crate::dialect::{elsewhere, whole};
use crate::error::{Error, Kind};
use crate::ir::{
    Amount, ClientConstraint, Constraint, Effort, EnforcedBy, Fields, Loss, Origin, Request,
    Thinking, Tool, ToolChoice, ToolInput, Wire, raw,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// Numbers among `options`, and Chat's names for them.
const NUMBERS: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("typical_p", "typical_p"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("repeat_penalty", "repetition_penalty"),
];

/// Fields that are read, at the top of either.
const READ: [&str; 11] = [
    "model",
    "stream",
    "options",
    "think",
    "format",
    "logprobs",
    "top_logprobs",
    "messages",
    "tools",
    "prompt",
    "system",
];
/// Those that the turns of a prompt are made of, or that are refused there.
const OF_A_PROMPT: [&str; 3] = ["images", "suffix", "raw"];

const HERE: &str = "where an answer's form is said in `format`, and no call is demanded";

/// Reads a request.
///
/// # Errors
fn tools(fields: &Fields) -> Result<Vec<Tool>, Error> {
    let with_object = |mut tool: Tool| {
        if let ToolInput::Schema { schema, .. } = &mut tool.input {
            *schema = object_arguments(schema.take(), &tool.input_origin)?;
        }
        Ok(tool)
    };
    function_tools(fields)?
        .into_iter()
        .map(with_object)
        .collect()
}

/// The field at fault, and the remedy.
pub(super) fn read(form: Ollama, body: &[u8]) -> Result<Request, Error> {
    let mut fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message = "the body is no JSON object: send one object with `model`";
        Error::new(Kind::InvalidJson, message)
    })?;
    whole::mend(&mut fields);
    let model = model(&fields, "/api/tags")?;
    // Streams are what is made where nothing is said.
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or(true);
    let settings = settings(&fields, &model, stream)?;
    let tools = match form {
        Ollama::Chat => tools(&fields)?,
        Ollama::Generate => Vec::new(),
    };
    let wire = match form {
        Ollama::Chat => Wire::OllamaChat,
        Ollama::Generate => Wire::OllamaGenerate,
    };
    let thinking = thinking(&fields)?;
    let (losses, idle) = elsewhere::losses(&fields, |name| READ.contains(&name), HERE);
    Ok(Request {
        wire: Some(wire),
        settings: Some(settings),
        model,
        stream,
        // Every stream ends with its counts.
        include_usage: true,
        counts_first: false,
        n: 1,
        tool_choice: match tools.is_empty() {
            true => ToolChoice::None,
            false => ToolChoice::Auto,
        },
        // There is no field for it.
        states_choice: false,
        tools,
        parallel_tool_calls: None,
        constraint: format(&fields)?,
        // Whoever says nothing of it is told them, as by Ollama.
        hides_thoughts: thinking
            .as_ref()
            .is_some_and(|thinking| thinking.amount == Amount::Off),
        thinking,
        idle,
        losses,
        hosted_choice: None,
        takes_hosted: false,
        own_calls: None,
        legacy_functions: false,
        echo: None,
        restated: false,
        fields,
    })
}

/// `"json"`, or a schema; an empty text says nothing.
fn format(fields: &Fields) -> Result<Option<ClientConstraint>, Error> {
    let expected = "\"json\" or a JSON Schema";
    let constraint = match field::<Value>(fields, "format", expected)? {
        None => return Ok(None),
        Some(Value::String(word)) if word.is_empty() => return Ok(None),
        Some(Value::String(word)) if word == "json" => Constraint::JsonObject,
        Some(schema @ Value::Object(_)) => Constraint::JsonSchema(schema),
        Some(_) => return Err(invalid(format!("`format` must be {expected}"), "format")),
    };
    Ok(Some(ClientConstraint {
        constraint,
        spelling: Origin::new("format"),
        also: Vec::new(),
        is_reworded: false,
        name: None,
        description: None,
        strict: None,
    }))
}

/// Whether there is nothing to answer: no message, or no prompt.
pub(super) fn asks_nothing(form: Ollama, fields: &Fields) -> bool {
    let is_empty = |name: &str| matches!(fields.raw(name), None | Some("null" | "\"\"" | "[]"));
    match form {
        Ollama::Chat => is_empty("messages"),
        Ollama::Generate => ["prompt", "suffix", "images"].into_iter().all(is_empty),
    }
}

/// Whether the model is to be let go: kept alive for no time.
pub(super) fn unloads(fields: &Fields) -> bool {
    let kept = fields.raw("keep_alive").unwrap_or_default();
    matches!(kept.trim_matches('"'), "0" | "0s" | "0m" | "0h")
}

/// The settings under Chat's names.
fn settings(fields: &Fields, model: &str, stream: bool) -> Result<Fields, Error> {
    let mut settings = Fields::default();
    settings.set("model", raw(model));
    settings.set("stream", raw(&stream));
    if stream {
        settings.set(
            "stream_options",
            raw(&serde_json::json!({"include_usage": true})),
        );
    }
    for name in ["logprobs", "top_logprobs"] {
        let said = fields.0.get(name).filter(|said| said.get() != "null");
        if let Some(said) = said {
            settings.set(name, said.clone());
        }
    }
    let options = options(fields)?;
    for (name, chat) in NUMBERS {
        if let Some(value) = number(&options, name)? {
            settings.set(chat, value);
        }
    }
    if let Some(limit) = number(&options, "num_predict")? {
        // What is not above zero is no limit.
        if !limit.get().starts_with('-') && limit.get() != "0" {
            settings.set("max_tokens", limit);
        }
    }
    if let Some(stop) = options.0.get("stop").filter(|stop| stop.get() != "null") {
        let is_list = serde_json::from_str::<Vec<String>>(stop.get()).is_ok();
        if !is_list && serde_json::from_str::<String>(stop.get()).is_err() {
            let message = "`options.stop` must be a list of strings";
            return Err(invalid(message, "options.stop"));
        }
        settings.set("stop", stop.clone());
    }
    Ok(settings)
}

fn options(fields: &Fields) -> Result<Fields, Error> {
    let options = field::<Fields>(fields, "options", "an object")?;
    let mut options = options.unwrap_or_default();
    whole::mend(&mut options);
    Ok(options)
}

fn number(options: &Fields, name: &str) -> Result<Option<Box<RawValue>>, Error> {
    let value = options.0.get(name).filter(|value| value.get() != "null");
    let Some(value) = value else {
        return Ok(None);
    };
    let is_number = (value.get().bytes().next()).is_some_and(|b| b == b'-' || b.is_ascii_digit());
    if !is_number {
        let at = format!("options.{name}");
        return Err(invalid(format!("`{at}` must be a number"), at));
    }
    Ok(Some(value.clone()))
}

/// How much the model is to think.
fn thinking(fields: &Fields) -> Result<Option<Thinking>, Error> {
    let expected = "true, false, \"low\", \"medium\", \"high\" or \"max\"";
    let wrong = || invalid(format!("`think` must be {expected}"), "think");
    let amount = match field::<Value>(fields, "think", expected)? {
        None => return Ok(None),
        Some(Value::Bool(true)) => Amount::On,
        Some(Value::Bool(false)) => Amount::Off,
        Some(Value::String(word)) => match Effort::of(&word) {
            Some(effort @ (Effort::Low | Effort::Medium | Effort::High | Effort::Max)) => {
                Amount::Effort(effort)
            }
            _ => return Err(wrong()),
        },
        Some(_) => return Err(wrong()),
    };
    Ok(Thinking::elsewhere(vec![(Origin::new("think"), amount)]))
}

/// What no server of another wire could be told.
pub(super) fn unsaid(form: Ollama, request: &Request) -> Vec<Loss> {
    let fields = &request.fields;
    let is_said = |name: &str| {
        let raw = fields.raw(name).unwrap_or("null");
        !matches!(raw, "null" | "\"\"" | "[]" | "{}" | "false")
    };
    let loss = |pointer: String, reason: &str| Loss {
        pointer,
        reason: reason.to_owned(),
        enforced_by: EnforcedBy::Nobody,
    };
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    let mut losses = Vec::new();
    for name in options(fields).unwrap_or_default().0.keys() {
        let is_known = |(known, _): &(&str, &str)| known == name;
        let is_read = name == "num_predict" || name == "stop" || NUMBERS.iter().any(is_known);
        if !is_read {
            let pointer = format!("/options/{}", escaped(name));
            losses.push(loss(pointer, "only Ollama's own runner has this option"));
        }
    }
    let is_prompt = form == Ollama::Generate;
    let is_other = |name: &&String| {
        let is_read = match name.as_str() {
            "messages" | "tools" => !is_prompt,
            "prompt" | "system" => is_prompt,
            name => READ.contains(&name) || is_prompt && OF_A_PROMPT.contains(&name),
        };
        // Those are told already.
        !is_read && is_said(name) && !request.idle.contains(name)
    };
    for name in fields.0.keys().filter(is_other) {
        losses.push(loss(
            format!("/{}", escaped(name)),
            "only Ollama itself has this field",
        ));
    }
    losses
}

/// A loss of a setting, where the client stated it; none of what it did not state.
pub(super) fn loss(loss: &mut Loss) -> bool {
    let name = loss.pointer.strip_prefix('/').unwrap_or_default();
    let option = |(_, chat): &&(&str, &str)| *chat == name;
    loss.pointer = match name {
        "stream_options" => return false,
        "max_tokens" | "max_completion_tokens" => "/options/num_predict".to_owned(),
        "stop" => "/options/stop".to_owned(),
        _ => match NUMBERS.iter().find(option) {
            Some((own, _)) => format!("/options/{own}"),
            None => return true,
        },
    };
    true
}
