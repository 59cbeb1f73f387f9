//! Tools and the choice among them.

mod known;

pub(super) use known::TOLD;

use super::request::field;
use super::{invalid, member, need};
use crate::dialect::client::{object_arguments, objects, truth};
use crate::error::{Error, Kind, repeatable};
use crate::ir::{Fields, Hosted, Origin, Tool, ToolChoice, ToolInput};
use serde_json::Value;
use std::collections::HashSet;

/// More tools than this are refused.
const MAX_TOOLS: usize = 512;
/// A longer name is refused.
const MAX_NAME_CHARS: usize = 256;

/// The tools of a request, and what it says of calls.
pub(super) struct ToolFields {
    pub(super) tools: Vec<Tool>,
    pub(super) tool_choice: ToolChoice,
    pub(super) states_choice: bool,
    pub(super) parallel: Option<bool>,
}

pub(super) fn read(fields: &Fields) -> Result<ToolFields, Error> {
    let list = Origin::new("tools");
    let stated = objects(fields, "tools", "a list of tools")?.unwrap_or_default();
    if stated.len() > MAX_TOOLS {
        let count = stated.len();
        let message = format!("`tools` has {count} tools: send at most {MAX_TOOLS}");
        return Err(invalid(message, &list));
    }
    let tools: Vec<Tool> = (stated.into_iter().enumerate())
        .map(|(index, fields)| tool(fields, list.item(index)))
        .collect::<Result<_, _>>()?;
    check_names(&tools)?;
    let (choice, parallel) = choice(fields)?;
    check_choice(choice.as_ref(), &tools)?;
    let choice = choice.filter(|_| !tools.is_empty());
    Ok(ToolFields {
        states_choice: choice.is_some(),
        tool_choice: choice.unwrap_or(match tools.is_empty() {
            true => ToolChoice::None,
            false => ToolChoice::Auto,
        }),
        parallel: parallel.filter(|_| !tools.is_empty()),
        tools,
    })
}

fn tool(mut fields: Fields, origin: Origin) -> Result<Tool, Error> {
    let kind: Option<String> = member(&mut fields, "type", &origin, "a string")?;
    if let Some(kind) = kind.filter(|kind| kind != "custom") {
        // Chat's tool, or a name that is misspelt: it would be left out for one that the server hosts.
        let is_said = |schema: &str| schema != "null";
        if fields.raw("input_schema").is_some_and(is_said) || kind == "function" {
            let at = origin.member("type");
            let message = format!(
                "`{at}` is \"{}\", which has no schema: leave it out, and send the tool's `name`, `description` and `input_schema`",
                repeatable(&kind)
            );
            return Err(invalid(message, &at));
        }
        let published = known::published(&kind, &fields);
        let name = match published {
            Some(_) => name(&mut fields, &origin)?,
            // Sets of tools have none.
            None => member(&mut fields, "name", &origin, "a string")?
                .unwrap_or_else(|| origin.0.clone()),
        };
        return Ok(Tool {
            input_origin: origin.clone(),
            name,
            origin,
            description: None,
            input: ToolInput::Hosted(Hosted { kind, published }),
        });
    }
    let name = name(&mut fields, &origin)?;
    let schema: Value = need(&mut fields, "input_schema", &origin, "a JSON Schema object")?;
    let input_origin = origin.member("input_schema");
    if !schema.is_object() && !schema.is_boolean() {
        let message = format!("`{input_origin}` must be a JSON Schema object");
        return Err(Error::new(Kind::InvalidSchema, message).at(input_origin.0));
    }
    let schema = object_arguments(schema, &input_origin)?;
    let strict: Option<Value> = member(&mut fields, "strict", &origin, "true or false")?;
    let strict = strict.map(|stated| truth(&stated, || origin.member("strict").0));
    let strict = strict.transpose()?.unwrap_or(false);
    Ok(Tool {
        name,
        description: member(&mut fields, "description", &origin, "a string")?,
        input: ToolInput::Schema { schema, strict },
        input_origin,
        origin,
    })
}

/// Whether it stands for tools that the request does not list (`computer_toolset_20260801`): Anthropic's servers call them by
/// names of their own (anthropic-python 2.14, `BetaComputerLeftClickToolUseBlock`).
pub(super) fn is_set(tool: &Tool) -> bool {
    let ToolInput::Hosted(hosted) = &tool.input else {
        return false;
    };
    known::family(&hosted.kind).is_some_and(|family| family.ends_with("_toolset"))
}

fn name(fields: &mut Fields, origin: &Origin) -> Result<String, Error> {
    let at = origin.member("name");
    let wrong = |message: String| Error::new(Kind::InvalidToolName, message).at(at.0.clone());
    let name: Option<String> = member(fields, "name", origin, "a string")?;
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(wrong(format!("`{at}` is missing: a tool needs a name")));
    };
    if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!(
            "`{at}` must be at most {MAX_NAME_CHARS} characters, none of them a control character"
        );
        return Err(wrong(message));
    }
    Ok(name)
}

fn check_names(tools: &[Tool]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let Some(again) = tools.iter().find(|tool| !seen.insert(tool.name.as_str())) else {
        return Ok(());
    };
    let message = format!(
        "`{}` repeats the name `{}`: names must be unique",
        again.origin,
        repeatable(&again.name)
    );
    Err(Error::new(Kind::DuplicateToolName, message).at(again.origin.0.clone()))
}

/// The choice, and whether several calls at once may come, where that is said.
fn choice(fields: &Fields) -> Result<(Option<ToolChoice>, Option<bool>), Error> {
    const EXPECTED: &str = "an object with a `type`: `auto`, `any`, `tool` or `none`";
    let origin = Origin::new("tool_choice");
    let Some(mut stated) = field::<Fields>(fields, "tool_choice", EXPECTED)? else {
        return Ok((None, None));
    };
    let kind: String = need(
        &mut stated,
        "type",
        &origin,
        "`auto`, `any`, `tool` or `none`",
    )?;
    let choice = match kind.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(need(&mut stated, "name", &origin, "the name of a tool")?),
        _ => {
            let at = origin.member("type");
            let message = format!("`{at}` must be `auto`, `any`, `tool` or `none`");
            return Err(invalid(message, &at));
        }
    };
    // As Anthropic's own: it names the tool that is meant, and any other could be called.
    if !matches!(choice, ToolChoice::Named(_))
        && stated.raw("name").is_some_and(|name| name != "null")
    {
        let at = origin.member("name");
        let message = format!("`{at}` goes with the type `tool`, and not with `{kind}`");
        return Err(invalid(message, &at));
    }
    let single: Option<bool> = member(
        &mut stated,
        "disable_parallel_tool_use",
        &origin,
        "true or false",
    )?;
    Ok((Some(choice), single.map(|single| !single)))
}

fn check_choice(choice: Option<&ToolChoice>, tools: &[Tool]) -> Result<(), Error> {
    let origin = Origin::new("tool_choice");
    let Some(choice) = choice.filter(|choice| choice.is_forced()) else {
        return Ok(());
    };
    if tools.is_empty() {
        let message = "`tool_choice` asks for a call, but no tools are given: add `tools`";
        return Err(invalid(message, &origin));
    }
    match choice {
        ToolChoice::Named(name) if tools.iter().all(|tool| tool.name != *name) => {
            let at = origin.member("name");
            let name = repeatable(name);
            let message = format!("`{at}` is `{name}`, which is not among the tools");
            Err(Error::new(Kind::UnknownTool, message).at(at.0))
        }
        _ => Ok(()),
    }
}
