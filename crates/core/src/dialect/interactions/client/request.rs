//! A request body to [`Request`]: what steers it, typed; `input` is read where somebody needs it.
//!
//! The body must have passed [`crate::json::strict`]: one JSON object, no duplicate keys.

use super::{Interactions, tools};
use crate::dialect::client::{field, invalid, member, model};
use crate::dialect::gemini::client::lost;
use crate::dialect::{elsewhere, whole};
use crate::error::{Error, Kind};
use crate::ir::{
    Amount, ClientConstraint, Constraint, Effort, Fields, Loss, Origin, Request, Thinking,
    ToolChoice, raw,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// The configuration, which is one object.
const CONFIG: &str = "generation_config";

/// Numbers of it, and Chat's names for them.
const NUMBERS: [(&str, &str); 7] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("max_output_tokens", "max_tokens"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
];

/// Fields that are read, or that say nothing to anybody but Google.
const READ: [&str; 13] = [
    "model",
    "input",
    "system_instruction",
    "tools",
    "response_format",
    "response_mime_type",
    "response_modalities",
    CONFIG,
    "stream",
    "store",
    "background",
    "previous_interaction_id",
    "labels",
];

/// What names something that only Google has, of which the answer would be another one: each with the remedy.
const REFUSED: [(&str, &str); 4] = [
    (
        "agent",
        "names an agent, and only Google runs those: name a `model`",
    ),
    (
        "cached_content",
        "names what only Google has kept: send it in `input`",
    ),
    (
        "continuation_token",
        "goes on from what only Google has begun: leave it out",
    ),
    (
        "environment",
        "names a machine that only Google has: leave it out",
    ),
];

const HERE: &str = "where an answer's form is said in `response_format`, and a call is demanded in `generation_config.tool_choice`";

/// The client's own name of a setting.
pub(super) fn own_name(chat: &str) -> Option<&str> {
    match chat {
        "temperature" => Some("generation_config.temperature"),
        "top_p" => Some("generation_config.top_p"),
        "top_k" => Some("generation_config.top_k"),
        "max_tokens" | "max_completion_tokens" => Some("generation_config.max_output_tokens"),
        "seed" => Some("generation_config.seed"),
        "presence_penalty" => Some("generation_config.presence_penalty"),
        "frequency_penalty" => Some("generation_config.frequency_penalty"),
        "stop" => Some("generation_config.stop_sequences"),
        "reasoning_effort" => Some("generation_config.thinking_level"),
        "stream_options" => None,
        other => Some(other),
    }
}

/// Reads a request.
///
/// # Errors
/// The field at fault, and the remedy.
pub(super) fn read(face: Interactions, body: &[u8]) -> Result<Request, Error> {
    let fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message = "the body is no JSON object: send one object with `model` and `input`";
        Error::new(Kind::InvalidJson, message)
    })?;
    refuse(face, &fields)?;
    let name = model(&fields, "/v1beta/models")?;
    // As `generateContent` has it in its path.
    let name = name.strip_prefix("models/").unwrap_or(&name).to_owned();
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or_default();
    let (mut losses, idle) = elsewhere::losses(&fields, |name| READ.contains(&name), HERE);
    losses.extend(only_googles(face, &fields, &idle)?);
    let mut settings = Fields::default();
    settings.set("model", raw(&name));
    settings.set("stream", raw(&stream));
    if stream {
        settings.set("stream_options", raw(&json!({"include_usage": true})));
    }
    let mut config = field::<Fields>(&fields, CONFIG, "an object")?.unwrap_or_default();
    whole::mend(&mut config);
    let mut said = Config::default();
    said.read(&mut config, &mut settings, &mut losses)?;
    let tools = tools::read(&fields, &mut losses)?;
    let choice = tools::choice(&mut config, &Origin::new(CONFIG), &tools, &mut losses)?;
    let choice = choice.filter(|_| !tools.is_empty());
    losses.extend(rest(&config, &Origin::new(CONFIG)));
    Ok(Request {
        wire: None,
        settings: Some(settings),
        model: name,
        stream,
        include_usage: true,
        counts_first: false,
        n: 1,
        states_choice: choice.is_some(),
        tool_choice: choice.unwrap_or(match tools.is_empty() {
            true => ToolChoice::None,
            false => ToolChoice::Auto,
        }),
        tools,
        parallel_tool_calls: None,
        constraint: constraint(&fields)?,
        thinking: said.thinking,
        idle,
        losses,
        hides_thoughts: !said.shows_thoughts,
        hosted_choice: None,
        takes_hosted: false,
        own_calls: None,
        legacy_functions: false,
        echo: Some(Arc::new(echo(face, &fields))),
        restated: false,
        fields,
    })
}

/// What the reply repeats, and whether it is kept.
fn echo(face: Interactions, fields: &Fields) -> Fields {
    let mut echo = Fields::default();
    let previous = fields.0.get("previous_interaction_id");
    if let Some(previous) = previous.filter(|previous| previous.get() != "null") {
        echo.set("previous_interaction_id", previous.clone());
    }
    echo.set("store", raw(&(face == Interactions::Kept)));
    echo
}

fn is_said(raw: &RawValue) -> bool {
    !matches!(raw.get(), "null" | "[]" | "{}" | "\"\"" | "false")
}

/// What would be another answer, or none, without whoever is named there.
fn refuse(face: Interactions, fields: &Fields) -> Result<(), Error> {
    let is_stated = |name: &str| fields.0.get(name).is_some_and(|raw| is_said(raw));
    for (name, problem) in REFUSED {
        if is_stated(name) {
            return Err(invalid(format!("`{name}` {problem}"), name));
        }
    }
    if field::<bool>(fields, "background", "true or false")? == Some(true) {
        let message =
            "`background` is not possible here: leave it out, and wait for the reply, or stream it";
        return Err(invalid(message, "background"));
    }
    let previous = field::<String>(fields, "previous_interaction_id", "an interaction's id")?;
    if previous.is_some_and(|id| !id.is_empty()) && face == Interactions::Alone {
        let message = "`previous_interaction_id` names what is not stored here: send the conversation in `input`, or start \
                       isogloss with --responses-store memory, or the path of a file (responses.store)";
        return Err(invalid(message, "previous_interaction_id"));
    }
    Ok(())
}

/// Fields that no other server could be told.
fn only_googles(face: Interactions, fields: &Fields, idle: &[String]) -> Result<Vec<Loss>, Error> {
    let mut losses = Vec::new();
    for (name, value) in &fields.0 {
        if READ.contains(&name.as_str()) || idle.contains(name) || !is_said(value) {
            continue;
        }
        losses.push(lost(&Origin::new(name), "only Google has this field"));
    }
    if field::<bool>(fields, "store", "true or false")? == Some(true) && face == Interactions::Alone
    {
        losses.push(lost(&Origin::new("store"), "nothing is stored here"));
    }
    if fields.0.get("labels").is_some_and(|raw| is_said(raw)) {
        losses.push(lost(&Origin::new("labels"), "only Google counts by them"));
    }
    let kinds = field::<Vec<String>>(fields, "response_modalities", "a list of words")?;
    let kinds = kinds.unwrap_or_default();
    let is_text = |kind: &String| kind.eq_ignore_ascii_case("text");
    if !kinds.is_empty() && !kinds.iter().any(is_text) {
        let message =
            "`response_modalities` asks for no text, and text is all that is answered here";
        return Err(invalid(message, "response_modalities"));
    }
    for (index, kind) in kinds.iter().enumerate() {
        if !is_text(kind) {
            let at = Origin::new("response_modalities").item(index);
            losses.push(lost(&at, "text is all that is answered here"));
        }
    }
    Ok(losses)
}

/// What is left of an object of which everything that is known was taken.
pub(super) fn rest(fields: &Fields, at: &Origin) -> Vec<Loss> {
    let left = fields.0.iter().filter(|(_, value)| is_said(value));
    left.map(|(name, _)| lost(&at.member(name), "only Google has it"))
        .collect()
}

/// What is read of the configuration beside the settings.
#[derive(Debug, Default)]
struct Config {
    thinking: Option<Thinking>,
    /// Summaries of thoughts are told to those that ask for them.
    shows_thoughts: bool,
}

impl Config {
    fn read(
        &mut self,
        config: &mut Fields,
        settings: &mut Fields,
        losses: &mut Vec<Loss>,
    ) -> Result<(), Error> {
        let at = Origin::new(CONFIG);
        for (name, chat) in NUMBERS {
            if let Some(number) = member::<serde_json::Number>(config, name, &at, "a number")? {
                settings.set(chat, raw(&number));
            }
        }
        let expected = "a list of texts";
        if let Some(stop) = member::<Vec<String>>(config, "stop_sequences", &at, expected)? {
            settings.set("stop", raw(&stop));
        }
        let level = member::<String>(config, "thinking_level", &at, "a word")?;
        if let Some(level) = level {
            let at = at.member("thinking_level");
            match Effort::of(&level) {
                Some(effort) => {
                    self.thinking = Thinking::elsewhere(vec![(at, Amount::Effort(effort))]);
                }
                None => losses.push(lost(&at, "no other server knows this word")),
            }
        }
        let summaries = member::<String>(config, "thinking_summaries", &at, "auto or none")?;
        self.shows_thoughts = summaries.is_some_and(|word| !word.eq_ignore_ascii_case("none"));
        // Google's models think unless they are told not to: who wants to see that says no more. Others think where they are asked to.
        if self.shows_thoughts && self.thinking.is_none() {
            let at = at.member("thinking_summaries");
            self.thinking = Thinking::elsewhere(vec![(at, Amount::On)]);
        }
        Ok(())
    }
}

/// What the text must be. One format, or a list of one for each kind of output; in the words of earlier revisions, a schema.
fn constraint(fields: &Fields) -> Result<Option<ClientConstraint>, Error> {
    const FORMAT: &str = "response_format";
    let mime = field::<String>(fields, "response_mime_type", "a media type")?;
    let stated = field::<Value>(fields, FORMAT, "an object, or a list of objects")?;
    let at = Origin::new(FORMAT);
    let formats = match stated {
        None => Vec::new(),
        Some(Value::Array(formats)) => {
            let formats = formats.into_iter().enumerate();
            formats.map(|(index, it)| (at.item(index), it)).collect()
        }
        Some(format) => vec![(at, format)],
    };
    let mut found: Option<(Origin, Constraint)> = None;
    for (at, format) in formats {
        let Some((at, constraint)) = of_format(at, format, mime.as_deref())? else {
            continue;
        };
        if let Some((first, _)) = &found {
            let message =
                format!("`{first}` and `{at}` each state a constraint: send only one of them");
            return Err(Error::new(Kind::ConflictingConstraints, message).at(at.0));
        }
        found = Some((at, constraint));
    }
    if found.is_none() {
        let at = Origin::new("response_mime_type");
        found = match media_type(&at, mime.as_deref())? {
            Some(true) => Some((at, Constraint::JsonSchema(json!({})))),
            Some(false) | None => None,
        };
    }
    Ok(found.map(|(spelling, constraint)| ClientConstraint {
        constraint,
        spelling,
        also: Vec::new(),
        is_reworded: false,
        name: None,
        description: None,
        strict: None,
    }))
}

/// Whether a media type is JSON; `None` where none is stated.
fn media_type(at: &Origin, stated: Option<&str>) -> Result<Option<bool>, Error> {
    let word = stated.map(|stated| {
        let end = stated.find(';').unwrap_or(stated.len());
        stated[..end].trim().to_ascii_lowercase()
    });
    match word.as_deref() {
        None | Some("") => Ok(None),
        Some("text/plain") => Ok(Some(false)),
        Some("application/json") => Ok(Some(true)),
        Some(_) => {
            let message = format!(
                "`{at}` is of a format that nothing verifies: use application/json or text/plain"
            );
            Err(Error::new(Kind::UnsupportedConstraint, message).at(at.0.clone()))
        }
    }
}

fn not_of_plain_text(at: &Origin, mime_at: &Origin) -> Error {
    let message = format!("`{at}` is a schema of text/plain: set `{mime_at}` to application/json");
    invalid(message, at.0.clone())
}

fn of_format(
    at: Origin,
    format: Value,
    mime: Option<&str>,
) -> Result<Option<(Origin, Constraint)>, Error> {
    let Value::Object(mut format) = format else {
        return Err(invalid(format!("`{at}` must be an object"), at.0));
    };
    let kind = format.get("type").and_then(Value::as_str);
    let is_text = match kind {
        Some("text") => true,
        Some("audio" | "image" | "video") => {
            let message = format!(
                "`{at}` asks for what is no text, and text is all that is answered here: leave it out"
            );
            return Err(Error::new(Kind::UnsupportedConstraint, message).at(at.0));
        }
        Some(_) => false,
        None => format.contains_key("schema") || format.contains_key("mime_type"),
    };
    if !is_text {
        // A schema that stands there by itself.
        let mime_at = Origin::new("response_mime_type");
        if media_type(&mime_at, mime)? == Some(false) {
            return Err(not_of_plain_text(&at, &mime_at));
        }
        return Ok(Some((at, Constraint::JsonSchema(Value::Object(format)))));
    }
    let is_known = |name: &&String| !["type", "mime_type", "schema"].contains(&name.as_str());
    if let Some(name) = format.keys().find(is_known) {
        let at = at.member(name);
        let message =
            format!("`{at}` is no part of a format: say it in `type`, `mime_type` and `schema`");
        return Err(invalid(message, at.0));
    }
    let own = format.get("mime_type").filter(|own| !own.is_null());
    if own.is_some_and(|own| !own.is_string()) {
        let at = at.member("mime_type");
        return Err(invalid(format!("`{at}` must be a media type"), at.0));
    }
    let own = own.and_then(Value::as_str);
    let mime_at = match own {
        Some(_) => at.member("mime_type"),
        None => Origin::new("response_mime_type"),
    };
    let is_json = media_type(&mime_at, own.or(mime))?;
    let schema = format.remove("schema").filter(|schema| !schema.is_null());
    match (is_json, schema) {
        (None | Some(false), None) => Ok(None),
        (Some(false), Some(_)) => Err(not_of_plain_text(&at.member("schema"), &mime_at)),
        (Some(true), None) => Ok(Some((at, Constraint::JsonSchema(json!({}))))),
        (_, Some(schema @ (Value::Object(_) | Value::Bool(_)))) => {
            Ok(Some((at.member("schema"), Constraint::JsonSchema(schema))))
        }
        (_, Some(_)) => {
            let at = at.member("schema");
            let message = format!("`{at}` must be a schema, which is an object");
            Err(Error::new(Kind::InvalidSchema, message).at(at.0))
        }
    }
}
