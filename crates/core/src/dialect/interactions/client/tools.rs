//! Tools, of which the functions are what a reply can be held to, and the choice among them.

use super::request::rest;
use crate::dialect::client::{field, invalid, member, object_arguments};
use crate::dialect::gemini::client::lost;
use crate::error::{Error, Kind, repeatable};
use crate::ir::{Fields, Loss, Origin, Tool, ToolChoice, ToolInput};
use serde_json::{Value, json};
use std::collections::HashSet;

/// More functions than this are refused.
const MAX_TOOLS: usize = 512;
/// A longer name is refused.
const MAX_NAME_CHARS: usize = 256;

/// Reads `tools`.
///
/// # Errors
/// The field at fault.
pub(super) fn read(fields: &Fields, losses: &mut Vec<Loss>) -> Result<Vec<Tool>, Error> {
    let listed = field::<Vec<Fields>>(fields, "tools", "a list of objects")?.unwrap_or_default();
    let mut tools: Vec<Tool> = Vec::new();
    let mut names = HashSet::new();
    for (index, mut tool) in listed.into_iter().enumerate() {
        let at = Origin::new("tools").item(index);
        let kind: Option<String> = member(&mut tool, "type", &at, "a word")?;
        if kind.as_deref() != Some("function") {
            losses.push(lost(
                &at,
                "only Google hosts this tool: it cannot be called",
            ));
            continue;
        }
        let tool = function(tool, at, losses)?;
        if !names.insert(tool.name.clone()) {
            let message = format!(
                "`{}` repeats the name `{}`: names must be unique",
                tool.origin,
                repeatable(&tool.name)
            );
            return Err(Error::new(Kind::DuplicateToolName, message).at(tool.origin.0));
        }
        tools.push(tool);
    }
    if tools.len() > MAX_TOOLS {
        let message = format!(
            "`tools` has {} functions: send at most {MAX_TOOLS}",
            tools.len()
        );
        return Err(invalid(message, "tools"));
    }
    Ok(tools)
}

fn function(mut tool: Fields, at: Origin, losses: &mut Vec<Loss>) -> Result<Tool, Error> {
    let name_at = at.member("name");
    let name: String = member(&mut tool, "name", &at, "a string")?.unwrap_or_default();
    if name.is_empty() {
        let message = format!("`{name_at}` is missing: a function needs a name");
        return Err(Error::new(Kind::InvalidToolName, message).at(name_at.0));
    }
    if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!(
            "`{name_at}` must be at most {MAX_NAME_CHARS} characters, none of them a control character"
        );
        return Err(Error::new(Kind::InvalidToolName, message).at(name_at.0));
    }
    let description = member(&mut tool, "description", &at, "a string")?;
    // It is for a search that is not made here: the function is shown as it is.
    tool.remove("short_description");
    let input_origin = at.member("parameters");
    let schema = match member::<Value>(&mut tool, "parameters", &at, "a schema")? {
        None => json!({"type": "object", "properties": {}}),
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => schema,
        Some(_) => {
            let message = format!("`{input_origin}` must be a schema, which is an object");
            return Err(Error::new(Kind::InvalidSchema, message).at(input_origin.0));
        }
    };
    losses.extend(rest(&tool, &at));
    Ok(Tool {
        name,
        description,
        input: ToolInput::Schema {
            schema: object_arguments(schema, &input_origin)?,
            strict: false,
        },
        origin: at,
        input_origin,
    })
}

/// Takes `tool_choice` out of the configuration: a word, or which tools are allowed.
///
/// # Errors
/// The field at fault.
pub(super) fn choice(
    config: &mut Fields,
    at: &Origin,
    tools: &[Tool],
    losses: &mut Vec<Loss>,
) -> Result<Option<ToolChoice>, Error> {
    let expected = "auto, any, none or validated, or an object with `allowed_tools`";
    let stated: Option<Value> = member(config, "tool_choice", at, expected)?;
    let at = at.member("tool_choice");
    let wrong = || invalid(format!("`{at}` must be {expected}"), at.0.clone());
    match stated {
        None => Ok(None),
        Some(Value::String(word)) => of_mode(&word, Vec::new(), &at, tools),
        Some(Value::Object(choice)) => {
            let mut choice: Fields =
                serde_json::from_value(Value::Object(choice)).map_err(|_| wrong())?;
            let allowed = member::<Fields>(&mut choice, "allowed_tools", &at, "an object")?;
            losses.extend(rest(&choice, &at));
            let Some(mut allowed) = allowed else {
                return Err(wrong());
            };
            let at = at.member("allowed_tools");
            let mode = member::<String>(&mut allowed, "mode", &at, "a word")?;
            let names =
                member::<Vec<String>>(&mut allowed, "tools", &at, "a list of functions' names")?;
            losses.extend(rest(&allowed, &at));
            let mode = mode.as_deref().unwrap_or("auto");
            of_mode(mode, names.unwrap_or_default(), &at, tools)
        }
        Some(_) => Err(wrong()),
    }
}

fn of_mode(
    mode: &str,
    names: Vec<String>,
    at: &Origin,
    tools: &[Tool],
) -> Result<Option<ToolChoice>, Error> {
    for name in &names {
        if !tools.iter().any(|tool| tool.name == *name) {
            let at = at.member("tools");
            let name = repeatable(name);
            let message = format!("`{at}` names `{name}`, which is not among the functions");
            return Err(Error::new(Kind::UnknownTool, message).at(at.0));
        }
    }
    let required = match mode.to_ascii_lowercase().as_str() {
        "none" => return Ok(Some(ToolChoice::None)),
        "any" => true,
        "auto" | "validated" => false,
        _ => {
            let message = format!("`{at}` must be auto, any, none or validated");
            return Err(invalid(message, at.0.clone()));
        }
    };
    if required && tools.is_empty() {
        let message = format!("`{at}` asks for a call, but there are no functions: add `tools`");
        return Err(invalid(message, at.0.clone()));
    }
    Ok(Some(match (required, names.as_slice()) {
        (true, []) => ToolChoice::Required,
        (true, [name]) => ToolChoice::Named(name.clone()),
        (false, []) => ToolChoice::Auto,
        _ => ToolChoice::Allowed { required, names },
    }))
}
