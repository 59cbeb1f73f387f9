//! A request body to [`Request`]: typed where the demand stands, raw everywhere else.
//!
//! The body must have passed [`crate::json::strict`]: one JSON object, no duplicate keys.

use super::{invalid, member, need, tools};
pub(super) use crate::dialect::client::field;
use crate::dialect::whole;
use crate::error::{Error, Kind};
use crate::ir::{
    Amount, ClientConstraint, Constraint, Effort, EnforcedBy, Fields, Loss, Origin, OwnCalls,
    Request, Thinking, Wire, raw,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// Fields in which other dialects state a demand. Here nobody would hold the reply to it.
const FOREIGN: [&str; 16] = [
    "response_format",
    "structured_outputs",
    "guided_json",
    "guided_json_object",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "guided_decoding",
    "structural_tag",
    "json_schema",
    "regex",
    "ebnf",
    "grammar",
    "format",
    "functions",
    "function_call",
];

/// A longer `user` is a 400 of OpenAI's.
const MAX_USER_CHARS: usize = 64;

/// Reads a Messages request.
pub(super) fn read(body: &[u8]) -> Result<Request, Error> {
    let fields = object(body)?;
    let max_tokens = field::<u64>(&fields, "max_tokens", LIMIT)?;
    if max_tokens.is_none_or(|limit| limit == 0) {
        let wrong = match max_tokens {
            Some(_) => "is 0",
            None => "is missing",
        };
        let message = format!("`max_tokens` {wrong}: it must be {LIMIT}");
        return Err(invalid(message, &Origin::new("max_tokens")));
    }
    read_fields(fields)
}

/// Reads a request of which the tokens are to be counted: it needs no limit, and is not streamed.
pub(super) fn read_to_count(body: &[u8]) -> Result<Request, Error> {
    let mut fields = object(body)?;
    field::<u64>(&fields, "max_tokens", LIMIT)?;
    fields.remove("stream");
    let mut request = read_fields(fields)?;
    // A limit is no part of a prompt: that there is none is no loss.
    let settings = request.settings.get_or_insert_default();
    settings.set("max_tokens", raw(&1));
    Ok(request)
}

const LIMIT: &str = "a whole number from 1";

fn object(body: &[u8]) -> Result<Fields, Error> {
    let mut fields: Fields = serde_json::from_slice(body).map_err(|_| {
        let message =
            "the body is no JSON object: send one object with `model`, `max_tokens` and `messages`";
        Error::new(Kind::InvalidJson, message)
    })?;
    whole::mend(&mut fields);
    Ok(fields)
}

fn read_fields(fields: Fields) -> Result<Request, Error> {
    let model = model(&fields)?;
    if fields.raw("messages").is_none_or(|raw| raw == "null") {
        let message = "`messages` is missing: send the conversation";
        return Err(invalid(message, &Origin::new("messages")));
    }
    refuse_foreign(&fields)?;
    let stream = field::<bool>(&fields, "stream", "true or false")?.unwrap_or(false);
    let tools::ToolFields {
        tools,
        tool_choice,
        states_choice,
        parallel,
    } = tools::read(&fields)?;
    let constraint = constraint(&fields)?;
    let has_own = tool_choice.leaves_room() && tools.iter().any(tools::is_set);
    let own_calls = has_own.then(OwnCalls::default);
    let settings = settings(&fields, stream)?;
    let (thinking, losses) = thinking(&fields)?;
    Ok(Request {
        wire: Some(Wire::Messages),
        settings: Some(settings),
        model,
        stream,
        include_usage: true,
        // `message_start` tells them.
        counts_first: true,
        n: 1,
        tools,
        tool_choice,
        states_choice,
        parallel_tool_calls: parallel,
        constraint,
        thinking,
        idle: Vec::new(),
        losses,
        hides_thoughts: !asks_for_thoughts(&fields)?,
        hosted_choice: None,
        takes_hosted: false,
        own_calls,
        legacy_functions: false,
        echo: None,
        restated: false,
        fields,
    })
}

fn refuse_foreign(fields: &Fields) -> Result<(), Error> {
    let is_stated = |name: &&&str| fields.raw(name).is_some_and(|raw| raw != "null");
    if let Some(name) = FOREIGN.iter().find(is_stated) {
        let message = format!(
            "`{name}` is no field of Messages: state a schema in `output_config.format`, and calls in `tool_choice`"
        );
        return Err(invalid(message, &Origin::new(*name)));
    }
    Ok(())
}

/// A conversation that Anthropic keeps is not known elsewhere. Its SDKs (2.14.0, `lib/threads`) know the error by its
/// `error_code`, and send all of the conversation then.
pub(super) fn refuse_thread(fields: &Fields) -> Result<(), Error> {
    let thread: Option<Value> = field(fields, "thread", "an object")?;
    if thread.is_none_or(|thread| thread["type"] == "create") {
        return Ok(());
    }
    let message =
        "`thread` goes on with a conversation that is not kept here: send all of it in `messages`";
    Err(Error {
        code: Some(super::error::NO_THREAD.to_owned()),
        ..invalid(message, &Origin::new("thread")).with_status(404)
    })
}

fn model(fields: &Fields) -> Result<String, Error> {
    let at = Origin::new("model");
    let model = field::<String>(fields, "model", "a string")?.filter(|model| !model.is_empty());
    let Some(model) = model else {
        return Err(invalid("`model` is missing: name one", &at));
    };
    // A name that ends at a NUL for one reader and goes on for another is two models.
    if model.chars().any(char::is_control) {
        let message = "`model` holds a control character: send the name that /v1/models lists";
        return Err(invalid(message, &at));
    }
    Ok(model)
}

/// What is set, under the names that Chat has for it.
fn settings(fields: &Fields, stream: bool) -> Result<Fields, Error> {
    let mut settings = Fields::default();
    let mut keep = |name: &str, raw: Option<Box<RawValue>>| {
        if let Some(raw) = raw {
            settings.set(name, raw);
        }
    };
    let known = |name: &str| {
        fields
            .0
            .get(name)
            .filter(|raw| raw.get() != "null")
            .cloned()
    };
    keep("model", known("model"));
    keep("max_tokens", known("max_tokens"));
    for name in ["temperature", "top_p"] {
        field::<f64>(fields, name, "a number")?;
        keep(name, known(name));
    }
    field::<u64>(fields, "top_k", "a whole number")?;
    keep("top_k", known("top_k"));
    field::<Vec<String>>(fields, "stop_sequences", "a list of strings")?;
    keep(
        "stop",
        known("stop_sequences").filter(|raw| raw.get() != "[]"),
    );
    keep("stream", Some(raw(&stream)));
    if stream {
        let counted = serde_json::json!({"include_usage": true});
        keep("stream_options", Some(raw(&counted)));
    }
    keep("user", user(fields)?.map(|user| raw(&user)));
    let tier = field::<String>(fields, "service_tier", "`auto` or `standard_only`")?;
    // `auto` is what everybody does who is told nothing.
    let is_standard = tier.as_deref() == Some("standard_only");
    keep("service_tier", is_standard.then(|| raw("default")));
    Ok(settings)
}

/// Who asks, where other servers take so long a name.
pub(super) fn user(fields: &Fields) -> Result<Option<String>, Error> {
    let origin = Origin::new("metadata");
    let metadata = field::<Fields>(fields, "metadata", "an object")?;
    let mut metadata = metadata.unwrap_or_default();
    let user = member::<String>(&mut metadata, "user_id", &origin, "a string")?;
    Ok(user.filter(|user| user.chars().count() <= MAX_USER_CHARS))
}

/// Whether `thinking` asks for thoughts: who doesn't takes the first block for the answer, as Anthropic's own examples do.
fn asks_for_thoughts(fields: &Fields) -> Result<bool, Error> {
    let thinking = field::<Fields>(fields, "thinking", "an object")?;
    let is_off = |thinking: &Fields| matches!(thinking.raw("type"), None | Some("\"disabled\""));
    Ok(thinking.is_some_and(|thinking| !is_off(&thinking)))
}

/// How much is thought: `thinking`, which is off, a budget or the model's own choice, and the effort beside it.
/// An effort that is not known is the most there is, which is a loss.
fn thinking(fields: &Fields) -> Result<(Option<Thinking>, Vec<Loss>), Error> {
    let mut losses = Vec::new();
    let mut said = Vec::new();
    let at = Origin::new("thinking");
    if let Some(mut thinking) = field::<Fields>(fields, "thinking", "an object")? {
        whole::mend(&mut thinking);
        let kind = member::<String>(&mut thinking, "type", &at, "a string")?;
        let budget = member::<u64>(&mut thinking, "budget_tokens", &at, "a whole number")?;
        match (kind.as_deref(), budget) {
            (Some("disabled"), _) => said.push((at, Amount::Off)),
            (Some("enabled"), Some(tokens)) => {
                said.push((at.member("budget_tokens"), Amount::of_tokens(tokens)));
            }
            (Some("enabled" | "adaptive" | "auto"), _) => said.push((at, Amount::On)),
            (None, _) => {}
            (Some(_), _) => {
                let at = at.member("type");
                let message = format!(
                    "`{at}` is not known: there are \"enabled\", \"adaptive\" and \"disabled\""
                );
                return Err(Error::new(Kind::InvalidRequest, message).at(at.0));
            }
        }
    }
    let at = Origin::new("output_config");
    let config = field::<Fields>(fields, "output_config", "an object")?;
    let stated = member::<String>(&mut config.unwrap_or_default(), "effort", &at, "a string")?;
    if let Some(word) = stated {
        let at = at.member("effort");
        let known = Effort::of(&word);
        if known.is_none() {
            losses.push(Loss {
                pointer: at.pointer(),
                reason: "this effort is not known: the most that there is is asked for".to_owned(),
                enforced_by: EnforcedBy::Nobody,
            });
        }
        said.push((at, Amount::Effort(known.unwrap_or(Effort::Max))));
    }
    Ok((Thinking::elsewhere(said), losses))
}

fn constraint(fields: &Fields) -> Result<Option<ClientConstraint>, Error> {
    let config = field::<Fields>(fields, "output_config", "an object")?.unwrap_or_default();
    let origin = Origin::new("output_config").member("format");
    let stated = schema(&config, "format", &origin)?;
    // As it was called in the beta.
    let older = Origin::new("output_format");
    let also = schema(fields, "output_format", &older)?;
    let (schema, spelling, also) = match (stated, also) {
        (None, None) => return Ok(None),
        (Some(schema), None) => (schema, origin, Vec::new()),
        (None, Some(schema)) => (schema, older, Vec::new()),
        (Some(schema), Some(other)) if schema == other => (schema, origin, vec![older]),
        (Some(_), Some(_)) => {
            let message = "`output_format` and `output_config.format` do not say the same: send only `output_config.format`";
            let error = Error::new(Kind::ConflictingConstraints, message);
            return Err(error.at("output_format"));
        }
    };
    Ok(Some(ClientConstraint {
        constraint: Constraint::JsonSchema(schema),
        spelling,
        also,
        is_reworded: false,
        name: None,
        description: None,
        strict: None,
    }))
}

fn schema(fields: &Fields, name: &str, origin: &Origin) -> Result<Option<Value>, Error> {
    let Some(format) = fields.raw(name).filter(|raw| *raw != "null") else {
        return Ok(None);
    };
    let mut format: Fields = serde_json::from_str(format).map_err(|_| {
        invalid(
            format!("`{origin}` must be an object with a `type`"),
            origin,
        )
    })?;
    let kind: String = need(&mut format, "type", origin, "`json_schema`")?;
    if kind != "json_schema" {
        let at = origin.member("type");
        return Err(invalid(format!("`{at}` must be `json_schema`"), &at));
    }
    let schema: Value = need(&mut format, "schema", origin, "a JSON Schema object")?;
    if !schema.is_object() && !schema.is_boolean() {
        let at = origin.member("schema");
        let error = Error::new(
            Kind::InvalidSchema,
            format!("`{at}` must be a JSON Schema object"),
        );
        return Err(error.at(at.0));
    }
    Ok(Some(schema))
}
