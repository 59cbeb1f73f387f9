//! Tools, of which the functions are what a reply can be held to, and the choice among them.

use super::object::{Object, invalid};
use super::schema::json_schema;
use crate::dialect::client::object_arguments;
use crate::error::{Error, Kind, repeatable};
use crate::ir::{EnforcedBy, Loss, Origin, OwnCalls, Tool, ToolChoice, ToolInput};
use serde_json::{Value, json};
use std::collections::HashSet;

/// More functions than this are refused.
const MAX_TOOLS: usize = 512;
/// A longer name is refused; Gemini's own limit is 128.
const MAX_NAME_CHARS: usize = 256;

/// Why a tool is lost that is no function.
const UNHOSTED: &str = "only Gemini hosts this tool: it cannot be called";

/// What a request says of calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) tools: Vec<Tool>,
    /// Where it is said.
    pub(super) choice: Option<ToolChoice>,
    /// There is a tool whose functions Gemini brings itself, and the choice leaves room for them.
    pub(super) own_calls: Option<OwnCalls>,
}

/// What has no counterpart elsewhere.
pub(in crate::dialect) fn lost(origin: &Origin, reason: &str) -> Loss {
    Loss {
        pointer: origin.pointer(),
        reason: reason.to_owned(),
        enforced_by: EnforcedBy::Nobody,
    }
}

/// Reads `tools` and `toolConfig`.
///
/// # Errors
/// The field at fault.
pub(super) fn read(body: &mut Object, losses: &mut Vec<Loss>) -> Result<Calls, Error> {
    let mut tools = Vec::new();
    let mut own_calls = None;
    for mut tool in body.objects("tools")? {
        for declaration in tool.objects("functionDeclarations")? {
            tools.push(function(declaration, losses)?);
        }
        if let Some(computer) = tool.object("computerUse")? {
            losses.push(lost(&computer.at(), UNHOSTED));
            own_calls = Some(operated(computer)?);
        }
        losses.extend(tool.rest().iter().map(|at| lost(at, UNHOSTED)));
    }
    check_names(&tools)?;
    let choice = match body.object("toolConfig")? {
        None => None,
        Some(mut config) => {
            let calling = config.object("functionCallingConfig")?;
            let reason = "it is for the tools that only Gemini hosts";
            losses.extend(config.rest().iter().map(|at| lost(at, reason)));
            calling
                .map(|calling| choice(calling, &tools, losses))
                .transpose()?
                .flatten()
        }
    };
    Ok(Calls {
        own_calls: own_calls.filter(|_| choice.as_ref().is_none_or(ToolChoice::leaves_room)),
        tools,
        choice,
    })
}

/// What a computer is operated by (`click_at`, `type_text_at`, …) is called by names that are nowhere declared, and that
/// differ from model to model (`ComputerUse` in python-genai's types).
fn operated(mut computer: Object) -> Result<OwnCalls, Error> {
    let excluded = computer.take("excludedPredefinedFunctions", "a list of functions' names")?;
    Ok(OwnCalls {
        excluded: excluded.unwrap_or_default(),
    })
}

fn function(mut object: Object, losses: &mut Vec<Loss>) -> Result<Tool, Error> {
    let origin = object.origin("name");
    let name: String = object.take("name", "a string")?.unwrap_or_default();
    if name.is_empty() {
        let message = format!("`{origin}` is missing: a function needs a name");
        return Err(Error::new(Kind::InvalidToolName, message).at(origin.0));
    }
    if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!(
            "`{origin}` must be at most {MAX_NAME_CHARS} characters, none of them a control character"
        );
        return Err(Error::new(Kind::InvalidToolName, message).at(origin.0));
    }
    let description = object.take("description", "a string")?;
    let (input_origin, schema) = parameters(&mut object)?;
    // What it answers is told to nobody.
    for name in ["response", "responseJsonSchema", "behavior"] {
        if let Some((at, _)) = object.raw(name) {
            losses.push(lost(&at, "only Gemini is told it"));
        }
    }
    let reason = "only Gemini knows it";
    losses.extend(object.rest().iter().map(|at| lost(at, reason)));
    Ok(Tool {
        origin: object.at(),
        input_origin,
        name,
        description,
        input: ToolInput::Schema {
            schema,
            strict: false,
        },
    })
}

/// The schema of the arguments, in either of its languages.
fn parameters(object: &mut Object) -> Result<(Origin, Value), Error> {
    let schema = object.raw("parameters");
    let json_stated = object.raw("parametersJsonSchema");
    let (origin, value, is_own) = match (schema, json_stated) {
        (Some((first, _)), Some((second, _))) => {
            let message = format!(
                "`{first}` and `{second}` each state the arguments' schema: send only one of them"
            );
            return Err(Error::new(Kind::ConflictingConstraints, message).at(second.0));
        }
        (Some((origin, value)), None) => (origin, value, true),
        (None, Some((origin, value))) => (origin, value, false),
        (None, None) => {
            let none = json!({"type": "object", "properties": {}});
            return Ok((object.origin("parameters"), none));
        }
    };
    let schema = match serde_json::from_str(value.get()) {
        Ok(schema @ Value::Object(_)) if is_own => json_schema(schema),
        Ok(schema @ (Value::Object(_) | Value::Bool(_))) if !is_own => schema,
        _ => {
            let message = format!("`{origin}` must be a schema, which is an object");
            return Err(Error::new(Kind::InvalidSchema, message).at(origin.0));
        }
    };
    let schema = object_arguments(schema, &origin)?;
    Ok((origin, schema))
}

fn check_names(tools: &[Tool]) -> Result<(), Error> {
    if tools.len() > MAX_TOOLS {
        let message = format!(
            "`tools` has {} functions: send at most {MAX_TOOLS}",
            tools.len()
        );
        return Err(Error::new(Kind::InvalidRequest, message).at("tools"));
    }
    let mut seen = HashSet::new();
    for tool in tools {
        if !seen.insert(tool.name.as_str()) {
            let message = format!(
                "`{}` repeats the name `{}`: names must be unique",
                tool.origin,
                repeatable(&tool.name)
            );
            return Err(Error::new(Kind::DuplicateToolName, message).at(tool.origin.0.clone()));
        }
    }
    Ok(())
}

/// The mode's word; Google's reader takes the enumeration's numbers too.
fn mode(value: &Value) -> Option<String> {
    const WORDS: [&str; 5] = ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    let word = match number {
        Some(number) => (*WORDS.get(number)?).to_owned(),
        None => value.as_str()?.to_ascii_uppercase(),
    };
    WORDS.contains(&word.as_str()).then_some(word)
}

fn choice(
    mut config: Object,
    tools: &[Tool],
    losses: &mut Vec<Loss>,
) -> Result<Option<ToolChoice>, Error> {
    let at = config.origin("mode");
    let stated: Option<Value> = config.take("mode", "a string")?;
    let mode = match stated {
        None => "AUTO".to_owned(),
        Some(stated) => {
            mode(&stated).ok_or_else(|| invalid(&at, "must be AUTO, ANY, NONE or VALIDATED"))?
        }
    };
    let names_at = config.origin("allowedFunctionNames");
    let names: Vec<String> = config
        .take("allowedFunctionNames", "a list of functions' names")?
        .unwrap_or_default();
    let reason = "calls are streamed whole";
    losses.extend(config.rest().iter().map(|at| lost(at, reason)));
    for name in &names {
        if !tools.iter().any(|tool| tool.name == *name) {
            let name = repeatable(name);
            let message = format!("`{names_at}` names `{name}`, which is not among the functions");
            return Err(Error::new(Kind::UnknownTool, message).at(names_at.0));
        }
    }
    let required = mode == "ANY";
    if required && tools.is_empty() {
        let problem = "asks for a call, but there are no functions: add `tools`";
        return Err(invalid(&at, problem));
    }
    Ok(match (mode.as_str(), names.as_slice()) {
        ("NONE", _) => Some(ToolChoice::None),
        ("ANY", []) => Some(ToolChoice::Required),
        ("ANY", [name]) => Some(ToolChoice::Named(name.clone())),
        ("AUTO" | "VALIDATED", []) => Some(ToolChoice::Auto),
        // Nothing is said.
        (_, []) => None,
        _ => Some(ToolChoice::Allowed { required, names }),
    })
}
