//! The constraint on content, in every spelling that clients use.
//!
//! Spellings are OpenAI's `response_format`, vLLM's `structured_outputs` (from 0.11) and
//! `guided_*` (to 0.11), SGLang's `regex`, `ebnf` and string `json_schema`, llama.cpp's
//! `json_schema` and `grammar`, mistral.rs's `grammar` with a `type`, NIM's `nvext`. Where a request states
//! several, one has to say what all of them say.

use super::{both, field};
use crate::dialect::client::truth;
use crate::dialect::{elsewhere, regexes};
use crate::error::{Error, Kind};
use crate::grammar;
use crate::ir::{ClientConstraint, Constraint, Fields, Loss, Notation, Origin};
use crate::schema::arguments;
use serde_json::{Map, Value};

/// The constraint that the request states, if any.
pub(super) fn read(fields: &Fields) -> Result<Option<ClientConstraint>, Error> {
    let mut found: Vec<ClientConstraint> = Vec::new();
    if let Some(format) =
        field::<Map<String, Value>>(fields, "response_format", "an object with a `type`")?
    {
        found.extend(response_format(&format)?);
    }
    if let Some(members) = field::<Map<String, Value>>(fields, "structured_outputs", "an object")? {
        found.extend(structured_outputs(&members)?);
    }
    if let Some(members) = field::<Map<String, Value>>(fields, "nvext", "an object")? {
        check_names("nvext", &members, GUIDED)?;
        for name in GUIDED {
            found.extend(guided(&format!("nvext.{name}"), name, members.get(*name))?);
        }
    }
    for name in GUIDED.iter().chain(TOP_LEVEL) {
        if fields.has(name) {
            let value = field::<Value>(fields, name, "a value")?;
            found.extend(guided(name, name, value.as_ref())?);
        }
    }
    both::conjoined(found)
}

/// Whether a field can state nothing but a constraint.
pub(super) fn is_constraint_field(name: &str) -> bool {
    name == "structured_outputs" || GUIDED.contains(&name) || TOP_LEVEL.contains(&name)
}

const GUIDED: &[&str] = &[
    "guided_json",
    "guided_json_object",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
];
const TOP_LEVEL: &[&str] = &["json_schema", "regex", "ebnf", "grammar", "structural_tag"];

/// An answer's form in words of other dialects.
pub(super) fn unheard(fields: &Fields) -> (Vec<Loss>, Vec<String>) {
    let here = "where an answer's form is said in `response_format`, and calls in `tool_choice`";
    elsewhere::losses(fields, is_own, here)
}

/// The fields of this dialect, as far as there are others like them, and those that nearly every request has.
fn is_own(name: &str) -> bool {
    matches!(
        name,
        "model"
            | "messages"
            | "stream"
            | "stream_options"
            | "temperature"
            | "top_p"
            | "max_tokens"
            | "max_completion_tokens"
            | "n"
            | "stop"
            | "seed"
            | "user"
            | "tools"
            | "tool_choice"
            | "parallel_tool_calls"
            | "functions"
            | "function_call"
            | "response_format"
            | "nvext"
    ) || is_constraint_field(name)
}

fn response_format(format: &Map<String, Value>) -> Result<Option<ClientConstraint>, Error> {
    let kind = match format.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        _ => {
            return Err(invalid(
                "response_format.type",
                "must be a string such as \"json_schema\", \"json_object\" or \"text\"",
            ));
        }
    };
    let at = |member: &str| format!("response_format.{member}");
    let text = |members: &[&str], spelling: &str, build: fn(String) -> Constraint| {
        let (name, value) = first_of(format, members);
        let text = text_of(&at(name), value)?;
        Ok(Some(stated(spelling, build(text))))
    };
    match kind {
        "text" => match ["json_schema", "schema"]
            .into_iter()
            .find(|name| format.get(*name).is_some_and(says_something))
        {
            Some(_) => Err(invalid(
                "response_format.type",
                "is \"text\", under which no schema is heard: say \"json_schema\"",
            )),
            None => Ok(None),
        },
        // With a wrapper it is that of the other type.
        "json_object" if format.get("json_schema").is_some_and(is_wrapper) => {
            Ok(json_schema(format)?.map(of_object))
        }
        "json_object" => match first_of(
            format,
            &["schema", "response_schema", "json_schema", "value"],
        ) {
            (_, None) => Ok(Some(stated(
                "response_format.json_object",
                Constraint::JsonObject,
            ))),
            (name, Some(schema)) => Ok(Some(of_object(stated(
                "response_format.json_object_schema",
                schema_of(&at(name), schema)?,
            )))),
        },
        "json_schema" => json_schema(format),
        "json" => {
            let (name, value) = first_of(format, &["schema", "value"]);
            let schema =
                value.ok_or_else(|| invalid(&at(name), "is missing: put the JSON Schema there"))?;
            Ok(Some(stated(
                "response_format.json",
                schema_of(&at(name), schema)?,
            )))
        }
        "regex" | "regex_schema" => {
            let members = ["regex", "pattern", "value", "regex_schema"];
            let (name, value) = first_of(format, &members);
            regex(&at(name), value, "response_format.regex").map(Some)
        }
        "ebnf" => text(&["ebnf", "grammar", "value"], "response_format.ebnf", gbnf),
        "lark" => text(&["lark", "grammar", "value"], "response_format.lark", lark),
        "grammar" => text(&["grammar", "value"], "response_format.grammar", guess),
        "structural_tag" => {
            let mut tag = format.clone();
            tag.insert("type".to_owned(), Value::from("structural_tag"));
            Ok(Some(stated(
                "response_format.structural_tag",
                Constraint::StructuralTag(Value::Object(tag)),
            )))
        }
        other => Err(invalid(
            "response_format.type",
            &format!(
                "is `{}`, which is not known: use text, json_object, json_schema, regex, ebnf, lark, grammar or structural_tag",
                other.chars().take(40).collect::<String>()
            ),
        )),
    }
}

/// Whether this is more than the empty schema of SDKs that write each member.
fn says_something(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    }
}

/// Whether this holds a schema, rather than being one.
fn is_wrapper(value: &Value) -> bool {
    let member = |name: &str| value.get(name);
    member("schema").is_some_and(Value::is_object) && member("name").is_some_and(Value::is_string)
}

/// `json_schema.schema`, or the short form `schema` that SGLang takes.
fn json_schema(format: &Map<String, Value>) -> Result<Option<ClientConstraint>, Error> {
    let (path, wrapper) = match format.get("json_schema") {
        Some(Value::Object(wrapper)) => ("response_format.json_schema.schema", wrapper),
        None | Some(Value::Null) if format.contains_key("schema") => {
            ("response_format.schema", format)
        }
        None | Some(Value::Null) => {
            return Err(invalid(
                "response_format.json_schema",
                "is missing: send an object with `name` and `schema`, or use {\"type\": \"json_object\"} for any object",
            ));
        }
        Some(_) => {
            return Err(invalid(
                "response_format.json_schema",
                "must be an object with `name` and `schema`",
            ));
        }
    };
    let schema = wrapper.get("schema").filter(|schema| !schema.is_null()).ok_or_else(|| {
        invalid(path, "is missing: put the JSON Schema there, or use {\"type\": \"json_object\"} for any object")
    })?;
    let name = wrapper.get("name").and_then(Value::as_str);
    // Servers refuse it without a name, and the short form: neither is ever sent as it is.
    let spelling = match name {
        Some(_) if path == "response_format.json_schema.schema" => "response_format.json_schema",
        _ => path,
    };
    let mut stated = stated(spelling, schema_of(path, schema)?);
    stated.name = name.map(str::to_owned);
    let description = wrapper.get("description").and_then(Value::as_str);
    stated.description = description.map(str::to_owned);
    if let Some(strict) = wrapper.get("strict").filter(|strict| !strict.is_null()) {
        let at = || path.strip_suffix("schema").unwrap_or_default().to_owned() + "strict";
        stated.strict = Some(truth(strict, at)?);
        // No server is sent a text there.
        stated.is_reworded = strict.is_string();
    }
    Ok(Some(stated))
}

/// Refuses a member whose name is nearly one that states a constraint: nobody would hear it.
fn check_names(field: &str, members: &Map<String, Value>, names: &[&str]) -> Result<(), Error> {
    for member in members
        .keys()
        .filter(|member| !names.contains(&member.as_str()))
    {
        let is_near = |name: &&&str| strsim::osa_distance(name, member) <= 2;
        if let Some(near) = names.iter().find(is_near) {
            let problem = format!("is not known: is it `{near}`?");
            return Err(invalid(&format!("{field}.{member}"), &problem));
        }
    }
    Ok(())
}

fn structured_outputs(members: &Map<String, Value>) -> Result<Vec<ClientConstraint>, Error> {
    const NAMES: [&str; 6] = [
        "json",
        "json_object",
        "regex",
        "choice",
        "grammar",
        "structural_tag",
    ];
    let mut found = Vec::new();
    check_names("structured_outputs", members, &NAMES)?;
    for name in NAMES {
        let path = format!("structured_outputs.{name}");
        found.extend(guided(&path, name, members.get(name))?);
    }
    if found.is_empty() && members.values().any(|value| !value.is_null()) {
        return Err(invalid(
            "structured_outputs",
            "states no constraint: set one of json, json_object, regex, choice, grammar, structural_tag",
        ));
    }
    Ok(found)
}

/// One member whose name says the kind; `null` states nothing.
fn guided(
    path: &str,
    name: &str,
    value: Option<&Value>,
) -> Result<Option<ClientConstraint>, Error> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    if let ("grammar", Value::Object(grammar)) = (path, value) {
        return typed_grammar(grammar).map(Some);
    }
    let constraint = match name.trim_start_matches("guided_") {
        "json" | "json_schema" => schema_of(path, value)?,
        "json_object" => match value {
            Value::Bool(true) => Constraint::JsonObject,
            Value::Bool(false) => return Ok(None),
            _ => return Err(invalid(path, "must be true or false")),
        },
        "regex" => return regex(path, Some(value), path).map(Some),
        "choice" => Constraint::Choice(choices_of(path, value)?),
        "ebnf" => gbnf(text_of(path, Some(value))?),
        "grammar" => {
            let text = text_of(path, Some(value))?;
            // guidance has no other words for a schema.
            if let Some(schema) = grammar::schema_of(&text) {
                return Ok(Some(ClientConstraint {
                    is_reworded: true,
                    ..stated(path, Constraint::JsonSchema(schema))
                }));
            }
            guess(text)
        }
        _ => Constraint::StructuralTag(tag_of(path, value)?),
    };
    // SGLang to 0.3 took a string there, llama.cpp takes only an object.
    let spelling = match (path, value) {
        ("json_schema", Value::String(_)) => "json_schema.text",
        _ => path,
    };
    Ok(Some(stated(spelling, constraint)))
}

/// mistral.rs's `grammar`: a type, and the value of that type.
fn typed_grammar(grammar: &Map<String, Value>) -> Result<ClientConstraint, Error> {
    let path = "grammar.value";
    let value = grammar.get("value");
    let constraint = match grammar.get("type").and_then(Value::as_str) {
        Some("json_schema") => match value {
            Some(schema) => schema_of(path, schema),
            None => Err(invalid(path, "is missing: put the JSON Schema there")),
        },
        Some("regex") => return regex(path, value, path),
        Some("lark") => text_of(path, value).map(lark),
        Some("llguidance") => Err(Error::new(
            Kind::UnsupportedConstraint,
            "`grammar.type` is `llguidance`, which cannot be verified: use json_schema, regex or lark",
        )
        .at("grammar.type")),
        _ => Err(invalid(
            "grammar.type",
            "must be json_schema, regex or lark; a grammar's text may also stand in `grammar` itself",
        )),
    };
    Ok(stated(path, constraint?))
}

/// A regex, in words that all of its readers take alike.
fn regex(path: &str, value: Option<&Value>, spelling: &str) -> Result<ClientConstraint, Error> {
    let (constraint, is_reworded) = regexes::of_text(&text_of(path, value)?, path)?;
    Ok(ClientConstraint {
        is_reworded,
        ..stated(spelling, constraint)
    })
}

fn gbnf(text: String) -> Constraint {
    Constraint::Grammar {
        notation: Notation::Gbnf,
        text,
    }
}

fn lark(text: String) -> Constraint {
    Constraint::Grammar {
        notation: Notation::Lark,
        text,
    }
}

fn guess(text: String) -> Constraint {
    Constraint::Grammar {
        notation: Notation::guess(&text),
        text,
    }
}

fn stated(spelling: &str, constraint: Constraint) -> ClientConstraint {
    ClientConstraint {
        constraint,
        spelling: Origin(spelling.to_owned()),
        also: Vec::new(),
        is_reworded: false,
        name: None,
        description: None,
        strict: None,
    }
}

/// A schema as an object or a boolean, or as a string that holds one (vLLM's and SGLang's habit).
fn schema_of(path: &str, value: &Value) -> Result<Constraint, Error> {
    match value {
        Value::Object(_) | Value::Bool(_) => Ok(Constraint::JsonSchema(value.clone())),
        Value::String(text) => match crate::json::value(text) {
            Ok(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(Constraint::JsonSchema(schema)),
            // SGLang's name for any JSON.
            _ if text == "$$ANY$$" => Ok(Constraint::JsonSchema(Value::Bool(true))),
            _ => Err(Error::new(
                Kind::InvalidSchema,
                format!("`{path}` is a string that holds no JSON Schema object"),
            )
            .at(path)),
        },
        _ => Err(Error::new(
            Kind::InvalidSchema,
            format!("`{path}` must be a JSON Schema object"),
        )
        .at(path)),
    }
}

/// An object of the schema, since both are stated; of one that says nothing, any.
fn of_object(mut stated: ClientConstraint) -> ClientConstraint {
    let Constraint::JsonSchema(schema) = &stated.constraint else {
        return stated;
    };
    let says_nothing = match schema {
        Value::Object(map) => map.is_empty(),
        schema => *schema == true,
    };
    let constraint = match (says_nothing, arguments::of_object(schema.clone())) {
        (true, _) => Constraint::JsonObject,
        (false, Some(object)) => Constraint::JsonSchema(object),
        // It allows no object, which was meant.
        (false, None) => return stated,
    };
    stated.is_reworded = constraint != stated.constraint;
    stated.constraint = constraint;
    stated
}

fn text_of(path: &str, value: Option<&Value>) -> Result<String, Error> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        Some(Value::String(_)) => Err(invalid(path, "is empty")),
        _ => Err(invalid(path, "must be a string")),
    }
}

fn choices_of(path: &str, value: &Value) -> Result<Vec<String>, Error> {
    let wrong = || invalid(path, "must be an array of at least one string");
    let choices: Option<Vec<String>> = value
        .as_array()
        .ok_or_else(wrong)?
        .iter()
        .map(|choice| choice.as_str().map(str::to_owned))
        .collect();
    choices
        .filter(|choices| !choices.is_empty())
        .ok_or_else(wrong)
}

/// A structural tag as an object, or as a string that holds one (vLLM takes only the string).
fn tag_of(path: &str, value: &Value) -> Result<Value, Error> {
    let tag = match value {
        Value::String(text) => crate::json::value(text).unwrap_or(Value::Null),
        other => other.clone(),
    };
    tag.is_object().then_some(tag).ok_or_else(|| {
        invalid(
            path,
            "must be a structural tag: an object, or a string that holds one",
        )
    })
}

fn first_of<'a, 'n>(
    format: &'a Map<String, Value>,
    names: &[&'n str],
) -> (&'n str, Option<&'a Value>) {
    names
        .iter()
        .find_map(|name| {
            format
                .get(*name)
                .filter(|value| !value.is_null())
                .map(|value| (*name, Some(value)))
        })
        .unwrap_or((names[0], None))
}

fn invalid(path: &str, problem: &str) -> Error {
    Error::new(Kind::InvalidRequest, format!("`{path}` {problem}")).at(path)
}
