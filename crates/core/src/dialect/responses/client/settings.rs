//! What is set beside the demand, under Chat's names; and the fields that are refused by name.

use super::Responses;
use super::field::{field, invalid, lose, lose_rest, member};
use super::kept::before;
use crate::dialect::elsewhere;
use crate::error::Error;
use crate::ir::{Fields, Loss, Origin, raw};
use serde_json::json;

/// Nobody would verify what is asked for later.
const BACKGROUND: (&str, &str) = (
    "background",
    "is asked for, and nobody works here while nobody waits: leave it out, and wait for the reply or stream it",
);

/// Fields that only the server that stored something can follow.
const STORED: [(&str, &str); 3] = [
    (
        "previous_response_id",
        "cannot be followed: nothing is stored here; start isogloss with --responses-store memory, or send the whole \
         conversation in `input`, with the output items of the earlier response",
    ),
    (
        "conversation",
        "cannot be followed: conversations are not stored here; send the whole conversation in `input`, or go on with \
         `previous_response_id` where responses are stored",
    ),
    (
        "prompt",
        "names a stored prompt, and nothing is stored here: send its text in `instructions` or `input`",
    ),
];

/// Fields of Chat Completions, and what says the same here. One that constrains would bind nobody.
const ELSEWHERE: [(&str, &str); 24] = [
    ("messages", "input"),
    ("response_format", "text.format"),
    ("functions", "tools"),
    ("function_call", "tool_choice"),
    ("max_tokens", "max_output_tokens"),
    ("max_completion_tokens", "max_output_tokens"),
    ("reasoning_effort", "reasoning.effort"),
    ("verbosity", "text.verbosity"),
    ("logprobs", "top_logprobs"),
    ("structured_outputs", "text.format"),
    ("guided_json", "text.format"),
    ("guided_json_object", "text.format"),
    ("guided_regex", "a custom tool with a grammar"),
    ("guided_choice", "text.format"),
    ("guided_grammar", "a custom tool with a grammar"),
    ("nvext", "text.format"),
    ("json_schema", "text.format"),
    ("regex", "a custom tool with a grammar"),
    ("ebnf", "a custom tool with a grammar"),
    ("grammar", "a custom tool with a grammar"),
    ("structural_tag", "tools"),
    ("format", "text.format"),
    ("n", "several requests"),
    ("best_of", "several requests"),
];

/// What only OpenAI's own servers do.
const THEIRS: [&str; 6] = [
    "client_metadata",
    "context_management",
    "moderation",
    "prompt_cache_options",
    "access_programs",
    "max_tool_calls",
];

/// What is read elsewhere, or only repeated in the reply.
const READ: [&str; 19] = [
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "stream",
    "stream_options",
    "reasoning",
    "include",
    "truncation",
    "metadata",
    "store",
    "background",
    "previous_response_id",
    "conversation",
    "prompt",
    "max_output_tokens",
];

/// Settings under Chat's names, and where they stand here.
const RENAMED: [(&str, &str); 7] = [
    ("max_completion_tokens", "max_output_tokens"),
    ("max_tokens", "max_output_tokens"),
    ("reasoning_effort", "reasoning.effort"),
    ("verbosity", "text.verbosity"),
    ("logprobs", "top_logprobs"),
    ("messages", "input"),
    ("response_format", "text.format"),
];

/// What `include` says of the tokens' probabilities.
const LOGPROBS: &str = "message.output_text.logprobs";

/// A field of ours, which makes servers count tokens at the end of a stream.
const COUNTING: &str = "stream_options";

/// Refuses what could not be done, or would be done by nobody.
pub(super) fn refuse(fields: &Fields) -> Result<(), Error> {
    // One choice is what there is.
    let is_set = |name: &str| {
        let said = fields.raw(name);
        said.is_some_and(|said| !matches!(said, "null" | "false" | "1"))
    };
    let (name, problem) = BACKGROUND;
    if is_set(name) {
        return Err(invalid(name, problem));
    }
    for (name, here) in ELSEWHERE {
        if is_set(name) {
            let here = match here.contains(' ') {
                true => here.to_owned(),
                false => format!("`{here}`"),
            };
            let problem = format!("is no field of Responses: send {here} instead");
            return Err(invalid(name, &problem));
        }
    }
    let others = elsewhere::said(fields, |name| READ.contains(&name));
    match others.first() {
        Some((name, _)) => {
            let problem = "is no field of Responses: send an answer's form in `text.format`, and a call's in `tool_choice`";
            Err(invalid(name, problem))
        }
        None => Ok(()),
    }
}

/// Refuses what only another server could follow.
pub(super) fn refuse_stored(fields: &Fields) -> Result<(), Error> {
    let is_set = |name: &str| fields.raw(name).is_some_and(|said| said != "null");
    for (name, problem) in STORED {
        let is_followed = name == "previous_response_id" && before(fields).is_some();
        if is_set(name) && !is_followed {
            return Err(invalid(name, problem));
        }
    }
    Ok(())
}

/// The settings. What is not known here goes along, as servers have fields of their own.
pub(super) fn read(
    face: Responses,
    fields: &Fields,
    stream: bool,
    losses: &mut Vec<Loss>,
) -> Result<Fields, Error> {
    let mut settings = Fields::default();
    check(fields)?;
    for (name, value) in &fields.0 {
        let name = name.as_str();
        let at = Origin::new(name);
        if value.get() == "null" || ELSEWHERE.iter().any(|(known, _)| *known == name) {
            continue;
        }
        if THEIRS.contains(&name) {
            lose(losses, &at, "only OpenAI's own servers do it");
        } else if name == "top_logprobs" {
            if value.get() != "0" {
                settings.set("logprobs", raw(&true));
                settings.set(name, value.clone());
            }
        } else if !READ.contains(&name) {
            settings.set(name, value.clone());
        }
    }
    if let Some(model) = fields.0.get("model") {
        settings.set("model", model.clone());
    }
    if fields.has("stream") {
        settings.set("stream", raw(&stream));
    }
    if stream {
        settings.set(COUNTING, raw(&json!({"include_usage": true})));
    }
    if let Some(limit) = field::<u64>(fields, "max_output_tokens", "a whole number from 1")? {
        if limit == 0 {
            return Err(invalid(
                "max_output_tokens",
                "must be a whole number from 1",
            ));
        }
        settings.set("max_completion_tokens", raw(&limit));
    }
    reasoning(fields, &mut settings, losses)?;
    include(fields, &mut settings, losses)?;
    unkept(face, fields, losses)?;
    Ok(settings)
}

/// Fields that go along, or into the reply, as they are: of a wrong type they are the client's fault, whatever
/// the server would say.
fn check(fields: &Fields) -> Result<(), Error> {
    for name in ["temperature", "top_p"] {
        field::<f64>(fields, name, "a number")?;
    }
    for name in ["top_logprobs", "max_tool_calls"] {
        field::<u64>(fields, name, "a whole number")?;
    }
    for name in [
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "service_tier",
        "instructions",
    ] {
        field::<String>(fields, name, "a string")?;
    }
    field::<Fields>(fields, "metadata", "an object of strings")?;
    field::<bool>(fields, "background", "true or false")?;
    Ok(())
}

fn reasoning(fields: &Fields, settings: &mut Fields, losses: &mut Vec<Loss>) -> Result<(), Error> {
    let at = Origin::new("reasoning");
    let Some(mut reasoning) = field::<Fields>(fields, "reasoning", "an object")? else {
        return Ok(());
    };
    if let Some(effort) = member::<String>(&mut reasoning, "effort", &at, "a string")? {
        settings.set("reasoning_effort", raw(&effort));
    }
    for name in ["summary", "generate_summary"] {
        if member::<String>(&mut reasoning, name, &at, "a string")?.is_some() {
            let reason = "nobody sums up the model's thoughts: those that the server tells stand in its place";
            lose(losses, &at.member(name), reason);
        }
    }
    lose_rest(losses, &reasoning, &at);
    Ok(())
}

fn include(fields: &Fields, settings: &mut Fields, losses: &mut Vec<Loss>) -> Result<(), Error> {
    let wanted = field::<Vec<String>>(fields, "include", "a list of strings")?;
    let at = Origin::new("include");
    for (index, wanted) in wanted.unwrap_or_default().iter().enumerate() {
        match wanted.as_str() {
            LOGPROBS => settings.set("logprobs", raw(&true)),
            // What is thought, where the server has nothing that only it can read.
            "reasoning.encrypted_content" => {}
            _ => lose(losses, &at.item(index), "no server here has it to include"),
        }
    }
    Ok(())
}

/// What is asked of a service around the model.
fn unkept(face: Responses, fields: &Fields, losses: &mut Vec<Loss>) -> Result<(), Error> {
    let is_kept = field::<bool>(fields, "store", "true or false")?;
    if is_kept == Some(true) && face == Responses::Alone {
        let reason = "nothing is stored here (responses.store): the next request has to hold the whole conversation";
        lose(losses, &Origin::new("store"), reason);
    }
    match field::<String>(fields, "truncation", "\"auto\" or \"disabled\"")?.as_deref() {
        None | Some("disabled") => {}
        Some("auto") => {
            let reason =
                "nothing is cut out of a conversation that is too long: the server refuses it";
            lose(losses, &Origin::new("truncation"), reason);
        }
        Some(_) => return Err(invalid("truncation", "must be \"auto\" or \"disabled\"")),
    }
    let at = Origin::new("stream_options");
    if let Some(options) = field::<Fields>(fields, "stream_options", "an object")? {
        lose_rest(losses, &options, &at);
    }
    Ok(())
}

/// Puts a loss of a setting where the client set it; says whether the client did.
pub(super) fn loss(loss: &mut Loss, fields: &Fields) -> bool {
    let Some(name) = loss.pointer.strip_prefix('/') else {
        return true;
    };
    let is_ours = name == COUNTING;
    // Two places ask for them.
    if name == "logprobs"
        && fields
            .raw("include")
            .is_some_and(|raw| raw.contains(LOGPROBS))
    {
        loss.pointer = Origin::new("include").pointer();
    } else if let Some((_, ours)) = RENAMED.iter().find(|(chats, _)| *chats == name) {
        loss.pointer = Origin::new(*ours).pointer();
    }
    !is_ours
}

/// An error about a setting, likewise.
pub(super) fn blame(mut error: Error) -> Error {
    for (chats, ours) in RENAMED {
        if error.param.as_deref() == Some(chats) {
            error.message = error
                .message
                .replace(&format!("`{chats}`"), &format!("`{ours}`"));
            error.param = Some(ours.to_owned());
            break;
        }
    }
    error
}
