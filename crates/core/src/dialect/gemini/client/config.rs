//! `generationConfig`: the settings under Chat's names, and what the content must be.

use super::object::{Object, invalid};
use super::schema::json_schema;
use super::tools::lost;
use crate::dialect::whole;
use crate::error::{Error, Kind};
use crate::ir::{
    Amount, ClientConstraint, Constraint, Effort, Fields, Loss, Origin, Thinking, raw,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// More choices than this are refused: a server fans them out before it schedules.
const MAX_CANDIDATES: u64 = 128;

/// Names, and Chat's for what is said there as it is.
const SETTINGS: [(&str, &str, &str); 9] = [
    ("temperature", "temperature", "a number"),
    ("topP", "top_p", "a number"),
    ("topK", "top_k", "a number"),
    ("maxOutputTokens", "max_tokens", "a whole number from 1"),
    ("seed", "seed", "a whole number"),
    ("presencePenalty", "presence_penalty", "a number"),
    ("frequencyPenalty", "frequency_penalty", "a number"),
    ("logprobs", "top_logprobs", "a whole number"),
    ("candidateCount", "n", "a whole number from 1"),
];

/// What Gemini calls a setting of Chat's.
fn own_name(chat: &str) -> Option<&'static str> {
    let mut settings = SETTINGS.iter();
    match chat {
        "max_completion_tokens" => Some("maxOutputTokens"),
        "stop" => Some("stopSequences"),
        "logprobs" => Some("responseLogprobs"),
        _ => settings.find_map(|(own, known, _)| (*known == chat).then_some(*own)),
    }
}

/// A loss under Gemini's name; `false` of what no client of Gemini's asks for.
pub(super) fn loss(loss: &mut Loss) -> bool {
    let name = loss.pointer.strip_prefix('/').unwrap_or_default();
    if name == "stream_options" {
        return false;
    }
    if let Some(own) = own_name(name) {
        loss.pointer = format!("/generationConfig/{own}");
    }
    true
}

/// The same of an error.
pub(super) fn blame(mut error: Error) -> Error {
    let chat = error.param.clone().unwrap_or_default();
    if let Some(own) = own_name(&chat) {
        let own = format!("generationConfig.{own}");
        error.message = error
            .message
            .replace(&format!("`{chat}`"), &format!("`{own}`"));
        error.param = Some(own);
    }
    error
}

/// What is read of it.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) candidates: u32,
    pub(super) constraint: Option<ClientConstraint>,
    pub(super) thinking: Option<Thinking>,
    /// `includeThoughts`, which is false unless it is stated.
    pub(super) shows_thoughts: bool,
}

/// Reads `generationConfig`.
///
/// # Errors
/// The field at fault.
pub(super) fn read(
    body: &mut Object,
    settings: &mut Fields,
    losses: &mut Vec<Loss>,
) -> Result<Config, Error> {
    let Some(mut config) = body.object("generationConfig")? else {
        return Ok(Config {
            candidates: 1,
            constraint: None,
            thinking: None,
            shows_thoughts: false,
        });
    };
    let constraint = constraint(&mut config)?;
    let at = config.origin("candidateCount");
    for (name, known, expected) in SETTINGS {
        if let Some((at, value)) = config.raw(name) {
            let is_whole = expected.starts_with("a whole");
            let number = number(&value, is_whole, &at, expected)?;
            // "max_output_tokens must be positive", as Gemini's own API says.
            if known == "max_tokens" && number.get().starts_with(['-', '0']) {
                return Err(invalid(&at, &format!("must be {expected}")));
            }
            settings.set(known, number);
        }
    }
    let candidates = candidates(settings, &at)?;
    let expected = "a list of texts";
    if let Some(stop) = config.take::<Vec<String>>("stopSequences", expected)? {
        settings.set("stop", raw(&stop));
    }
    let logprobs = config.take::<bool>("responseLogprobs", "true or false")?;
    if logprobs == Some(true) {
        settings.set("logprobs", raw(&true));
    } else if let Some(asked) = settings.remove("top_logprobs")
        && asked.get() != "0"
    {
        let problem = "asks for what `responseLogprobs` does not: set that to true";
        return Err(invalid(&config.origin("logprobs"), problem));
    }
    let mut shows_thoughts = false;
    let thinking = think(&mut config, &mut shows_thoughts, losses)?;
    modalities(&mut config, losses)?;
    let reason = "only Gemini has it";
    losses.extend(config.rest().iter().map(|at| lost(at, reason)));
    Ok(Config {
        candidates,
        constraint,
        thinking,
        shows_thoughts,
    })
}

/// A number; proto's JSON writes 64-bit ones as texts, and whole ones with a point.
fn number(
    value: &RawValue,
    is_whole: bool,
    at: &Origin,
    expected: &str,
) -> Result<Box<RawValue>, Error> {
    let wrong = || invalid(at, &format!("must be {expected}"));
    let read: Value = crate::json::value(value.get()).map_err(|_| wrong())?;
    let read = match read.as_str() {
        Some(text) => serde_json::from_str(text).map_err(|_| wrong())?,
        None => read,
    };
    match (&read, read.as_f64().and_then(whole::of)) {
        (Value::Number(number), _) if number.is_i64() || number.is_u64() => Ok(raw(&read)),
        (Value::Number(_), Some(number)) if is_whole || at.0.ends_with('K') => Ok(raw(&number)),
        (Value::Number(_), _) if !is_whole => Ok(raw(&read)),
        _ => Err(wrong()),
    }
}

fn candidates(settings: &Fields, at: &Origin) -> Result<u32, Error> {
    let Some(stated) = settings.raw("n") else {
        return Ok(1);
    };
    let count = stated.parse::<u64>().ok();
    count
        .filter(|count| (1..=MAX_CANDIDATES).contains(count))
        .and_then(|count| u32::try_from(count).ok())
        .ok_or_else(|| invalid(at, &format!("must be 1 to {MAX_CANDIDATES}")))
}

/// A budget of tokens, of which a negative one leaves it to the model, or a level.
fn think(
    config: &mut Object,
    shows: &mut bool,
    losses: &mut Vec<Loss>,
) -> Result<Option<Thinking>, Error> {
    let Some(mut thinking) = config.object("thinkingConfig")? else {
        return Ok(None);
    };
    let mut said = Vec::new();
    let shown_at = thinking.origin("includeThoughts");
    let stated: Option<bool> = thinking.take("includeThoughts", "true or false")?;
    *shows = stated == Some(true);
    if let Some((at, stated)) = thinking.raw("thinkingBudget") {
        let budget = number(&stated, true, &at, "a whole number")?;
        let amount = match budget.get().parse::<u64>() {
            Ok(tokens) => Amount::of_tokens(tokens),
            Err(_) => Amount::On,
        };
        said.push((at, amount));
    }
    let at = thinking.origin("thinkingLevel");
    let level: Option<String> = thinking.take("thinkingLevel", "a string")?;
    if let Some(level) = level {
        match Effort::of(&level) {
            Some(effort @ (Effort::Minimal | Effort::Low | Effort::Medium | Effort::High)) => {
                said.push((at, Amount::Effort(effort)));
            }
            _ if level.eq_ignore_ascii_case("thinking_level_unspecified") => {}
            _ => return Err(invalid(&at, "must be MINIMAL, LOW, MEDIUM or HIGH")),
        }
    }
    // Gemini's models think unless they are told not to: who wants to see that says no more. Others think where they are asked to.
    if *shows && said.is_empty() {
        said.push((shown_at, Amount::On));
    }
    let reason = "only Gemini has it";
    losses.extend(thinking.rest().iter().map(|at| lost(at, reason)));
    Ok(Thinking::elsewhere(said))
}

fn modalities(config: &mut Object, losses: &mut Vec<Loss>) -> Result<(), Error> {
    let at = config.origin("responseModalities");
    let asked: Option<Vec<String>> = config.take("responseModalities", "a list of words")?;
    let is_text = |word: &String| {
        word.eq_ignore_ascii_case("TEXT") || word.eq_ignore_ascii_case("MODALITY_UNSPECIFIED")
    };
    if asked.is_some_and(|asked| !asked.iter().all(is_text)) {
        losses.push(lost(&at, "other servers answer in text alone"));
    }
    Ok(())
}

/// What the content must be.
fn constraint(config: &mut Object) -> Result<Option<ClientConstraint>, Error> {
    if let Some((at, format)) = config.raw("responseFormat")
        && format.get() != "[]"
    {
        let problem = "is not translated: use `responseMimeType` with `responseJsonSchema`";
        return Err(Error::new(Kind::UnsupportedConstraint, format!("`{at}` {problem}")).at(at.0));
    }
    let mime_at = config.origin("responseMimeType");
    let mime: Option<String> = config.take("responseMimeType", "a string")?;
    let schema = schema(config)?;
    let mime = mime.map(|mime| {
        let end = mime.find(';').unwrap_or(mime.len());
        mime[..end].trim().to_ascii_lowercase()
    });
    let (constraint, spelling) = match (mime.as_deref(), schema) {
        (None | Some("" | "text/plain"), None) => return Ok(None),
        (None | Some("" | "text/plain"), Some((at, _))) => {
            let problem = "is a schema of text/plain: set `responseMimeType` to application/json";
            return Err(invalid(&at, problem));
        }
        // Any JSON: lists are as right as objects.
        (Some("application/json"), None) => (Constraint::JsonSchema(json!({})), mime_at),
        (Some("application/json"), Some((at, schema))) => (Constraint::JsonSchema(schema), at),
        (Some("text/x.enum"), Some((at, schema))) => (choices(&schema, &at)?, at),
        (Some("text/x.enum"), None) => {
            return Err(invalid(&mime_at, "needs a `responseSchema` with an `enum`"));
        }
        (Some(_), _) => {
            let message = format!(
                "`{mime_at}` is of a format that nothing verifies: use application/json, text/x.enum or text/plain"
            );
            return Err(Error::new(Kind::UnsupportedConstraint, message).at(mime_at.0));
        }
    };
    Ok(Some(ClientConstraint {
        constraint,
        spelling,
        also: Vec::new(),
        is_reworded: false,
        name: None,
        description: None,
        strict: None,
    }))
}

/// The schema, in either of its languages, and where it stands.
fn schema(config: &mut Object) -> Result<Option<(Origin, Value)>, Error> {
    let own = config.raw("responseSchema");
    let json_stated = config.raw("responseJsonSchema");
    let (at, stated, is_own) = match (own, json_stated) {
        (None, None) => return Ok(None),
        (Some((first, _)), Some((second, _))) => {
            let message =
                format!("`{first}` and `{second}` each state a constraint: send only one of them");
            return Err(Error::new(Kind::ConflictingConstraints, message).at(second.0));
        }
        (Some((at, stated)), None) => (at, stated, true),
        (None, Some((at, stated))) => (at, stated, false),
    };
    match serde_json::from_str(stated.get()) {
        Ok(schema @ Value::Object(_)) if is_own => Ok(Some((at, json_schema(schema)))),
        Ok(schema @ (Value::Object(_) | Value::Bool(_))) if !is_own => Ok(Some((at, schema))),
        _ => {
            let message = format!("`{at}` must be a schema, which is an object");
            Err(Error::new(Kind::InvalidSchema, message).at(at.0))
        }
    }
}

/// The texts of an enumeration, of which the answer is one, without quotes.
fn choices(schema: &Value, at: &Origin) -> Result<Constraint, Error> {
    let values: Option<Vec<String>> = schema
        .get("enum")
        .and_then(|values| serde_json::from_value(values.clone()).ok());
    match values.filter(|values| !values.is_empty()) {
        Some(values) => Ok(Constraint::Choice(values)),
        None => {
            let problem = "must have an `enum` of texts, of which text/x.enum answers one";
            Err(invalid(at, problem))
        }
    }
}
