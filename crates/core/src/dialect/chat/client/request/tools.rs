//! Tools and the choice among them, in every spelling that clients use.

use super::field;
use crate::dialect::client::{member, objects, truth};
use crate::dialect::regexes;
use crate::error::{Error, Kind, repeatable};
use crate::ir::{Constraint, Fields, Hosted, Notation, Origin, Tool, ToolChoice, ToolInput};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// More tools than this are refused.
const MAX_TOOLS: usize = 512;
/// A longer name is refused; OpenAI's own limit is 64, other clients go beyond it.
const MAX_NAME_CHARS: usize = 256;

/// The tools of a request, and what it says of calls.
pub(super) struct ToolFields {
    pub(super) tools: Vec<Tool>,
    pub(super) states_choice: bool,
    pub(super) tool_choice: ToolChoice,
    pub(super) legacy_functions: bool,
    /// The field that asks for a call, of no tool by its name, where there are no tools.
    pub(super) vain: Option<&'static str>,
}

pub(super) fn read(fields: &Fields) -> Result<ToolFields, Error> {
    let modern = objects(fields, "tools", "an array of tools, each with a `type`")?;
    let modern = modern.unwrap_or_default();
    let expected = "an array of functions, each with a `name`";
    let legacy = objects(fields, "functions", expected)?.unwrap_or_default();
    let legacy_functions = !legacy.is_empty();
    if legacy_functions && !modern.is_empty() {
        let message = "`functions` and `tools` are both given: send only `tools`";
        return Err(Error::new(Kind::InvalidRequest, message).at("functions"));
    }
    let tools = if legacy_functions {
        legacy
            .into_iter()
            .enumerate()
            .map(|(index, fields)| {
                let origin = Origin::new("functions").item(index);
                function(fields, &origin, &origin)
            })
            .collect()
    } else {
        modern
            .into_iter()
            .enumerate()
            .map(|(index, fields)| tool(fields, index))
            .collect::<Result<Vec<_>, _>>()
    }?;
    check_names(
        &tools,
        if legacy_functions {
            "functions"
        } else {
            "tools"
        },
    )?;
    if legacy_functions {
        refuse_choice(fields, ["tool_choice", "tools"])?;
    } else if !tools.is_empty() {
        refuse_choice(fields, ["function_call", "functions"])?;
    }
    let modern = match legacy_functions {
        true => None,
        false => modern_choice(fields, &tools)?,
    };
    let legacy = legacy_choice(fields)?;
    // Without any tools a legacy demand is heard, too.
    let is_forced = legacy.as_ref().is_some_and(ToolChoice::is_forced);
    let (name, choice) = match legacy_functions || tools.is_empty() && is_forced {
        true => ("function_call", legacy),
        false => ("tool_choice", modern),
    };
    let is_vain = tools.is_empty() && choice == Some(ToolChoice::Required);
    let choice = choice.filter(|_| !is_vain);
    let states_choice = choice.is_some();
    let tool_choice = choice.unwrap_or(if tools.is_empty() {
        ToolChoice::None
    } else {
        ToolChoice::Auto
    });
    check_choice(name, &tool_choice, &tools)?;
    Ok(ToolFields {
        tools,
        states_choice,
        tool_choice,
        legacy_functions,
        vain: is_vain.then_some(name),
    })
}

/// The choice that goes with the other spelling of tools: nobody would hear it.
fn refuse_choice(fields: &Fields, [choice, tools]: [&str; 2]) -> Result<(), Error> {
    match fields.raw(choice) {
        None | Some("null" | "\"auto\"") => Ok(()),
        Some(_) => {
            let message = format!("`{choice}` goes with `{tools}`, which are not given");
            Err(Error::new(Kind::InvalidRequest, message).at(choice))
        }
    }
}

/// A schema that stands where other dialects have it is read from nowhere: any object would do.
fn refuse_misplaced(at: &Origin, tool: &Fields) -> Result<(), Error> {
    const NAMES: [&str; 3] = ["input_schema", "inputSchema", "schema"];
    match said_among(tool, &NAMES, says_schema) {
        Some(name) => Err(misplaced(&at.member(name))),
        None => Ok(()),
    }
}

/// The first of these members that says something.
fn said_among(
    object: &Fields,
    names: &[&'static str],
    says: fn(&str) -> bool,
) -> Option<&'static str> {
    let is_said = |name: &&&'static str| object.raw(name).is_some_and(says);
    names.iter().find(is_said).copied()
}

/// Whether a value says anything, be it wrong: it is not null, and not empty.
fn says_anything(value: &str) -> bool {
    match value.as_bytes() {
        [b'{', inner @ .., b'}'] | [b'[', inner @ .., b']'] | [b'"', inner @ .., b'"'] => {
            !inner.trim_ascii().is_empty()
        }
        value => value != b"null",
    }
}

/// Whether a member is there, and not null.
fn has(object: &Fields, name: &str) -> bool {
    object.raw(name).is_some_and(|value| value != "null")
}

fn misplaced(at: &Origin) -> Error {
    let message =
        format!("`{at}` is not read: the schema of a tool's arguments is `function.parameters`");
    Error::new(Kind::InvalidRequest, message).at(at.0.clone())
}

fn elsewhere(body: &Origin, parameters: &Origin) -> Error {
    let message = format!(
        "`{body}` has its schema under another name, where it is not read: send it as `{parameters}`"
    );
    Error::new(Kind::InvalidRequest, message).at(body.0.clone())
}

/// Whether a function has a schema where it is read.
fn says_parameters(function: &Fields) -> bool {
    function.raw("parameters").is_some_and(says_schema)
}

/// Whether a value is a schema that says more than that there is an object.
fn says_schema(value: &str) -> bool {
    crate::json::object(value).is_ok_and(|schema| is_schema(&schema))
}

fn is_schema(schema: &Map<String, Value>) -> bool {
    let says = |value: &Value| match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    schema.iter().any(|(name, value)| match name.as_str() {
        "type" | "title" | "description" | "additionalProperties" => false,
        "properties" | "required" => says(value),
        name => !name.starts_with('$'),
    })
}

/// Whether what stands elsewhere is a schema, to all appearances.
fn says_schema_elsewhere(tool: &Fields) -> bool {
    let is_one = |name: &&str| {
        let object = tool.raw(name).map(serde_json::from_str::<Fields>);
        let object = object.and_then(Result::ok);
        object.is_some_and(|object| match *name {
            "properties" => !object.0.is_empty(),
            _ => has(&object, "properties"),
        })
    };
    SCHEMA_ELSEWHERE.iter().any(is_one)
}

fn misplaced_format(tool: &Origin) -> Error {
    let at = tool.member("custom").member("format");
    let message = format!("the grammar of a custom tool is read in `{at}` alone: send it there");
    Error::new(Kind::InvalidRequest, message).at(at.0)
}

/// Names under which other programs have the schema of a function's arguments.
const SCHEMA_ELSEWHERE: [&str; 8] = [
    "args",
    "args_schema",
    "arguments",
    "json_schema",
    "params",
    "parametersJsonSchema",
    "parameters_json_schema",
    "properties",
];

/// Places of a custom tool's grammar that are not `format`.
const GRAMMAR_ELSEWHERE: [&str; 2] = ["grammar", "syntax"];

/// Chat nests the grammar, Responses does not; both are read.
#[derive(Deserialize)]
struct FormatWire {
    r#type: String,
    grammar: Option<GrammarWire>,
    syntax: Option<String>,
    definition: Option<String>,
}

#[derive(Deserialize)]
struct GrammarWire {
    syntax: String,
    definition: String,
}

fn tool(mut fields: Fields, index: usize) -> Result<Tool, Error> {
    let origin = Origin::new("tools").item(index);
    let kind: Option<String> = member(&mut fields, "type", &origin, "a string")?;
    match kind.as_deref().unwrap_or("function") {
        "function" => {
            let body = origin.member("function");
            let nested: Option<Fields> = member(&mut fields, "function", &origin, "an object")?;
            let Some(nested) = nested else {
                if says_schema_elsewhere(&fields) && !says_parameters(&fields) {
                    return Err(elsewhere(&origin, &origin.member("parameters")));
                }
                // What else stands beside a type may be of any dialect.
                let is_known = |name: &String| !SCHEMA_ELSEWHERE.contains(&name.as_str());
                fields.0.retain(|name, _| is_known(name));
                return function(fields, &origin, &body);
            };
            // Nearly always nothing stands beside it.
            if !fields.0.is_empty() && !says_parameters(&nested) {
                if says_parameters(&fields) {
                    return Err(misplaced(&origin.member("parameters")));
                }
                refuse_misplaced(&origin, &fields)?;
                if says_schema_elsewhere(&fields) {
                    return Err(elsewhere(&origin, &body.member("parameters")));
                }
            }
            function(nested, &origin, &body)
        }
        "custom" => {
            refuse_misplaced(&origin, &fields)?;
            let nested: Option<Fields> = member(&mut fields, "custom", &origin, "an object")?;
            let Some(nested) = nested else {
                return custom(fields, &origin);
            };
            let is_grammar =
                |format: &FormatWire| format.r#type != "text" || format.grammar.is_some();
            let beside: Option<FormatWire> = member(&mut fields, "format", &origin, FORMAT)?;
            let is_beside = beside.as_ref().is_some_and(is_grammar) && !has(&nested, "format");
            if is_beside || said_among(&nested, &GRAMMAR_ELSEWHERE, says_anything).is_some() {
                return Err(misplaced_format(&origin));
            }
            custom(nested, &origin)
        }
        // It would be left out for one that the server hosts.
        kind if is_function(kind) && (has(&fields, "function") || has(&fields, "parameters")) => {
            let at = origin.member("type");
            let message = format!(
                "`{at}` is \"{}\", which has no schema: a function is of type \"function\"",
                repeatable(kind)
            );
            Err(Error::new(Kind::InvalidRequest, message).at(at.0))
        }
        hosted => {
            let mut name: Option<String> = member(&mut fields, "name", &origin, "a string")?;
            // Moonshot's `$web_search`, which its models call by that name.
            let nested = fields.raw("function").map(serde_json::from_str::<Fields>);
            if let (None, Some(Ok(mut nested))) = (&name, nested) {
                name = member(&mut nested, "name", &origin.member("function"), "a string")?;
            }
            Ok(Tool {
                input_origin: origin.clone(),
                origin,
                name: name.unwrap_or_else(|| hosted.to_owned()),
                description: None,
                input: ToolInput::Hosted(Hosted {
                    kind: hosted.to_owned(),
                    published: None,
                }),
            })
        }
    }
}

/// Whether a type is that of a function, but for how it is written. Others have members of these names, too (Moonshot's
/// `builtin_function`, `OpenRouter`'s own).
fn is_function(kind: &str) -> bool {
    const WORDS: [&str; 4] = ["function", "functions", "function_call", "tool"];
    WORDS.iter().any(|word| kind.eq_ignore_ascii_case(word))
}

fn function(mut fields: Fields, origin: &Origin, body: &Origin) -> Result<Tool, Error> {
    let input_origin = body.member("parameters");
    let wrong = "a JSON Schema object";
    let parameters: Option<Value> = member(&mut fields, "parameters", body, wrong)?;
    let is_said = |schema: &Value| schema.as_object().is_none_or(is_schema);
    if !parameters.as_ref().is_some_and(is_said) {
        refuse_misplaced(body, &fields)?;
        if said_among(&fields, &SCHEMA_ELSEWHERE, says_schema).is_some() {
            return Err(elsewhere(body, &input_origin));
        }
    }
    let schema = match parameters {
        // OpenAI: "Omitting parameters defines a function with an empty parameter list."
        None => json!({"type": "object", "properties": {}}),
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => schema,
        Some(_) => {
            let message = format!("`{input_origin}` must be {wrong}");
            return Err(Error::new(Kind::InvalidSchema, message).at(input_origin.0));
        }
    };
    let strict: Option<Value> = member(&mut fields, "strict", body, "true or false")?;
    let strict = strict.map(|stated| truth(&stated, || body.member("strict").0));
    Ok(Tool {
        origin: origin.clone(),
        input_origin,
        name: required_name(&mut fields, body)?,
        description: member(&mut fields, "description", body, "a string")?,
        input: ToolInput::Schema {
            schema,
            strict: strict.transpose()?.unwrap_or(false),
        },
    })
}

fn custom(mut fields: Fields, origin: &Origin) -> Result<Tool, Error> {
    let body = origin.member("custom");
    let input_origin = body.member("format");
    let format: Option<FormatWire> = member(&mut fields, "format", &body, FORMAT)?;
    let constraint = format
        .map(|format| format.read(&input_origin.0))
        .transpose()?
        .flatten();
    Ok(Tool {
        origin: origin.clone(),
        input_origin,
        name: required_name(&mut fields, &body)?,
        description: member(&mut fields, "description", &body, "a string")?,
        input: ToolInput::Text(constraint),
    })
}

/// What a custom tool's `format` has to be.
const FORMAT: &str = "a grammar with `syntax` and `definition`, or {\"type\": \"text\"}";

impl FormatWire {
    fn read(self, at: &str) -> Result<Option<Constraint>, Error> {
        if self.r#type == "text" && self.grammar.is_none() {
            return Ok(None);
        }
        let (syntax, text) = match (self.grammar, self.syntax, self.definition) {
            (Some(grammar), _, _) => (grammar.syntax, grammar.definition),
            (None, Some(syntax), Some(definition)) => (syntax, definition),
            _ => {
                let message = format!("`{at}` must be {FORMAT}");
                return Err(Error::new(Kind::InvalidRequest, message).at(at));
            }
        };
        match syntax.as_str() {
            "regex" => regexes::of_custom_tool(&text, at).map(Some),
            "lark" => Ok(Some(Constraint::Grammar {
                notation: Notation::Lark,
                text,
            })),
            _ => {
                let message = format!("`{at}.grammar.syntax` must be \"lark\" or \"regex\"");
                Err(Error::new(Kind::InvalidRequest, message).at(format!("{at}.grammar.syntax")))
            }
        }
    }
}

fn required_name(fields: &mut Fields, at: &Origin) -> Result<String, Error> {
    let path = at.member("name").0;
    let name: Option<String> = member(fields, "name", at, "a string")?;
    let name = name.filter(|name| !name.is_empty()).ok_or_else(|| {
        Error::new(
            Kind::InvalidToolName,
            format!("`{path}` is missing: a tool needs a name"),
        )
        .at(path.clone())
    })?;
    if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!(
            "`{path}` must be at most {MAX_NAME_CHARS} characters, none of them a control character"
        );
        return Err(Error::new(Kind::InvalidToolName, message).at(path));
    }
    Ok(name)
}

fn check_names(tools: &[Tool], field: &str) -> Result<(), Error> {
    if tools.len() > MAX_TOOLS {
        let message = format!(
            "`{field}` has {} tools: send at most {MAX_TOOLS}",
            tools.len()
        );
        return Err(Error::new(Kind::InvalidRequest, message).at(field));
    }
    let mut seen = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        if !seen.insert(tool.name.as_str()) {
            let message = format!(
                "`{field}[{index}]` repeats the name `{}`: names must be unique",
                repeatable(&tool.name)
            );
            return Err(
                Error::new(Kind::DuplicateToolName, message).at(format!("{field}[{index}]"))
            );
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ChoiceWire {
    Word(String),
    Object(ChoiceObject),
}

#[derive(Deserialize)]
struct ChoiceObject {
    r#type: Option<String>,
    name: Option<String>,
    function: Option<NameWire>,
    custom: Option<NameWire>,
    allowed_tools: Option<AllowedWire>,
    mode: Option<String>,
    tools: Option<Vec<AllowedTool>>,
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Deserialize)]
struct NameWire {
    name: String,
}

#[derive(Deserialize)]
struct AllowedWire {
    mode: Option<String>,
    tools: Vec<AllowedTool>,
}

#[derive(Deserialize)]
struct AllowedTool {
    name: Option<String>,
    function: Option<NameWire>,
    custom: Option<NameWire>,
}

fn modern_choice(fields: &Fields, tools: &[Tool]) -> Result<Option<ToolChoice>, Error> {
    const EXPECTED: &str = "\"auto\", \"none\", \"required\", or an object that names a function, a custom tool or allowed_tools";
    match field::<ChoiceWire>(fields, "tool_choice", EXPECTED)? {
        None => Ok(None),
        Some(ChoiceWire::Word(word)) => {
            // TGI's clients may say a tool's name alone ("The Tools Parameter" of its guide to guidance).
            let named = || tools.iter().any(|tool| tool.name == word);
            let choice =
                word_choice(&word).or_else(|| named().then(|| ToolChoice::Named(word.clone())));
            choice.map(Some).ok_or_else(|| wrong_choice(EXPECTED))
        }
        Some(ChoiceWire::Object(object)) => {
            if object.disable_parallel_tool_use == Some(true) {
                let at = "tool_choice.disable_parallel_tool_use";
                let message = format!(
                    "`{at}` is no field of Chat Completions: set `parallel_tool_calls` to false"
                );
                return Err(Error::new(Kind::InvalidRequest, message).at(at));
            }
            if object.lacks_mode() {
                let at = "tool_choice.mode";
                let message = format!("`{at}` is missing: it must be \"auto\" or \"required\"");
                return Err(Error::new(Kind::InvalidRequest, message).at(at));
            }
            let choice = object.read().map(Some);
            choice.ok_or_else(|| wrong_choice(EXPECTED))
        }
    }
}

fn wrong_choice(expected: &str) -> Error {
    Error::new(
        Kind::InvalidRequest,
        format!("`tool_choice` must be {expected}"),
    )
    .at("tool_choice")
}

/// `any` is what Mistral and Anthropic call `required`.
fn word_choice(word: &str) -> Option<ToolChoice> {
    match word {
        "none" => Some(ToolChoice::None),
        "auto" => Some(ToolChoice::Auto),
        "required" | "any" => Some(ToolChoice::Required),
        _ => None,
    }
}

impl ChoiceObject {
    /// As a 400 of OpenAI's: nobody could say whether a call is demanded.
    fn lacks_mode(&self) -> bool {
        let nested = self.allowed_tools.as_ref().and_then(|it| it.mode.as_ref());
        self.r#type.as_deref() == Some("allowed_tools") && nested.or(self.mode.as_ref()).is_none()
    }

    fn read(self) -> Option<ToolChoice> {
        let named = self
            .function
            .or(self.custom)
            .map(|named| named.name)
            .or(self.name);
        match self.r#type.as_deref() {
            Some("allowed_tools") => {
                let (mode, tools) = match self.allowed_tools {
                    Some(allowed) => (allowed.mode, allowed.tools),
                    None => (self.mode, self.tools?),
                };
                let required = match mode.as_deref() {
                    Some("required") => true,
                    Some("auto") => false,
                    // With `none` nobody could say what is allowed.
                    _ => return None,
                };
                let names: Option<Vec<String>> = tools
                    .into_iter()
                    .map(|tool| {
                        tool.function
                            .or(tool.custom)
                            .map(|named| named.name)
                            .or(tool.name)
                    })
                    .collect();
                Some(ToolChoice::Allowed {
                    required,
                    names: names?,
                })
            }
            Some("function" | "custom" | "tool") | None => named.map(ToolChoice::Named),
            // A word that leaves the choice to the model names none.
            Some(word) => word_choice(word).filter(|_| named.is_none()),
        }
    }
}

fn legacy_choice(fields: &Fields) -> Result<Option<ToolChoice>, Error> {
    const EXPECTED: &str = "\"auto\", \"none\", or an object with the function's `name`";
    let wrong = || {
        Error::new(
            Kind::InvalidRequest,
            format!("`function_call` must be {EXPECTED}"),
        )
        .at("function_call")
    };
    match field::<ChoiceWire>(fields, "function_call", EXPECTED)? {
        None => Ok(None),
        Some(ChoiceWire::Word(word)) => word_choice(&word).map(Some).ok_or_else(wrong),
        Some(ChoiceWire::Object(object)) => object
            .name
            .map(|name| Some(ToolChoice::Named(name)))
            .ok_or_else(wrong),
    }
}

fn check_choice(field: &str, choice: &ToolChoice, tools: &[Tool]) -> Result<(), Error> {
    if choice.is_forced() && tools.is_empty() {
        let message = format!("`{field}` asks for a call, but no tools are given: add `tools`");
        return Err(Error::new(Kind::InvalidRequest, message).at(field));
    }
    let names: &[String] = match choice {
        ToolChoice::Named(name) => std::slice::from_ref(name),
        ToolChoice::Allowed { names, .. } if names.is_empty() => {
            let message = format!("`{field}` allows no tool: name at least one");
            return Err(Error::new(Kind::InvalidRequest, message).at(field));
        }
        ToolChoice::Allowed { names, .. } => names,
        _ => return Ok(()),
    };
    for name in names {
        if !tools.iter().any(|tool| tool.name == *name) {
            let name = repeatable(name);
            let message = format!("`{field}` names `{name}`, which is not among the tools");
            return Err(Error::new(Kind::UnknownTool, message).at(field));
        }
    }
    Ok(())
}
