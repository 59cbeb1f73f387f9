//! What a server's schema compiler makes of a schema: the schema as it was sent comes in, the
//! schema that the decoder then keeps to goes out, or the server's refusal.
//!
//! Written from what the compilers were seen and read to do, each by itself; nothing here knows
//! what the proxy would write.

mod llama;
mod outlines;
mod xgrammar;

use llama::llama;
use outlines::outlines;
use serde_json::{Map, Value, json};
use xgrammar::xgrammar;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// xgrammar behind vLLM's check, in an engine that has compiled with xgrammar before: what the
    /// check sends to another backend is refused.
    Vllm,
    /// xgrammar behind SGLang's check, from 0.5.22.
    Sglang,
    /// xgrammar, unchecked.
    XGrammar,
    /// llama.cpp's converter.
    LlamaCpp,
    /// outlines-core.
    Outlines,
    /// llguidance, which refuses what it cannot do.
    Llguidance,
    /// OpenAI's strict subset.
    Strict,
    /// JSON Schema, as a hosted API keeps to it.
    Whole,
}

/// `Ok(None)` where nothing is enforced, not even JSON.
pub(crate) type Read = Result<Option<Value>, String>;

const CHECKED_FORMATS: [&str; 14] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "json-pointer",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];
const KEPT: [&str; 4] = ["$defs", "definitions", "$schema", "$id"];

impl Compiler {
    /// A tool's parameters, which the check of keywords does not look at: they are a part of the
    /// server's own grammar.
    pub(crate) fn read_parameters(self, schema: &Value) -> Read {
        match self {
            Self::Vllm | Self::Sglang => Self::XGrammar.read(schema),
            Self::Outlines => outlines(schema, 0),
            other => other.read(schema),
        }
    }

    pub(crate) fn read(self, schema: &Value) -> Read {
        if !schema.is_object() && !schema.is_boolean() {
            return Err("the schema must be an object".to_owned());
        }
        match self {
            Self::Vllm => {
                walk(schema, &mut vllm_check)?;
                xgrammar(schema, 0).map(Some)
            }
            Self::Sglang => {
                walk(schema, &mut sglang_check)?;
                xgrammar(schema, 0).map(Some)
            }
            Self::XGrammar => xgrammar(schema, 0).map(Some),
            Self::LlamaCpp => llama(schema, 0).map(Some),
            Self::Outlines => {
                if !schema["properties"].is_object() {
                    return Err("Grammar error: schema must have properties".to_owned());
                }
                outlines(schema, 0)
            }
            Self::Llguidance => {
                walk(schema, &mut llguidance_check)?;
                Ok(Some(schema.clone()))
            }
            Self::Strict => {
                if schema["type"] != "object" {
                    return Err("schema must be a JSON Schema of 'type: \"object\"'".to_owned());
                }
                walk(schema, &mut strict_check)?;
                Ok(Some(schema.clone()))
            }
            Self::Whole => Ok(Some(schema.clone())),
        }
    }
}

/// Every subschema, the outermost first.
pub(crate) fn walk(
    schema: &Value,
    check: &mut impl FnMut(&Map<String, Value>) -> Result<(), String>,
) -> Result<(), String> {
    let Value::Object(map) = schema else {
        return Ok(());
    };
    check(map)?;
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => named.values().try_for_each(|schema| walk(schema, check))?,
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(all)) => {
                all.iter().try_for_each(|schema| walk(schema, check))?;
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                Value::Object(_),
            ) => walk(value, check)?,
            _ => {}
        }
    }
    Ok(())
}

fn has_any(map: &Map<String, Value>, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| map.contains_key(*keyword))
}

fn is_of(map: &Map<String, Value>, kinds: &[&str]) -> bool {
    map.get("type")
        .is_some_and(|kind| kinds.iter().any(|it| kind == it))
}

fn has_unknown_format(map: &Map<String, Value>) -> bool {
    map.get("format")
        .and_then(Value::as_str)
        .is_some_and(|it| !CHECKED_FORMATS.contains(&it))
}

const LENGTHS: [&str; 2] = ["minLength", "maxLength"];
const COUNTS: [&str; 2] = ["minProperties", "maxProperties"];

/// vLLM 0.33's check; what fails it goes to guidance, which this engine is not.
fn vllm_check(map: &Map<String, Value>) -> Result<(), String> {
    let is_object = is_of(map, &["object"]);
    let patterns = map.get("patternProperties").and_then(Value::as_object);
    let names = ["properties", "patternProperties", "unevaluatedProperties"];
    let fails = is_of(map, &["integer", "number"]) && map.contains_key("multipleOf")
        || is_of(map, &["array"])
            && has_any(
                map,
                &["uniqueItems", "contains", "minContains", "maxContains"],
            )
        || is_of(map, &["string"]) && has_unknown_format(map)
        || is_of(map, &["string"])
            && has_any(map, &["format", "pattern"])
            && has_any(map, &LENGTHS)
        || is_object
            && map.contains_key("propertyNames")
            && (has_any(map, &names) || has_any(map, &COUNTS))
        || is_object && patterns.is_some_and(|all| map.contains_key("properties") || all.len() > 1)
        || branches(map, "allOf") > 1;
    match fails {
        true => Err("Structured output processing only supports one backend per engine".to_owned()),
        false => Ok(()),
    }
}

/// SGLang's check from 0.5.22.
fn sglang_check(map: &Map<String, Value>) -> Result<(), String> {
    let refused = [
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "then",
        "else",
        "not",
        "multipleOf",
        "uniqueItems",
        "minContains",
        "maxContains",
    ];
    let fails = has_any(map, &refused)
        || has_unknown_format(map)
        || has_any(map, &["format", "pattern"]) && has_any(map, &LENGTHS);
    match fails {
        true => Err("Failed to compile json grammar: unsupported keyword".to_owned()),
        false => Ok(()),
    }
}

fn llguidance_check(map: &Map<String, Value>) -> Result<(), String> {
    let refused = [
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
    ];
    match refused.iter().find(|keyword| map.contains_key(**keyword)) {
        Some(keyword) => Err(format!("Unimplemented keys: [\"{keyword}\"]")),
        None => Ok(()),
    }
}

fn strict_check(map: &Map<String, Value>) -> Result<(), String> {
    let refused = [
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "propertyNames",
        "uniqueItems",
        "contains",
        "minProperties",
        "maxProperties",
    ];
    if let Some(keyword) = refused.iter().find(|keyword| map.contains_key(**keyword)) {
        return Err(format!(
            "Invalid schema: In context=(), '{keyword}' is not permitted."
        ));
    }
    let Some(properties) = map.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    if map.get("additionalProperties") != Some(&json!(false)) {
        return Err(
            "'additionalProperties' is required to be supplied and to be false.".to_owned(),
        );
    }
    let required: Vec<&Value> = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    match properties
        .keys()
        .find(|name| !required.iter().any(|it| *it == *name))
    {
        Some(_) => Err("'required' is required to include every key in properties.".to_owned()),
        None => Ok(()),
    }
}

fn branches(map: &Map<String, Value>, keyword: &str) -> usize {
    map.get(keyword)
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

/// Definitions stay beside whatever is read.
fn beside(
    map: &Map<String, Value>,
    mut read: Value,
    each: impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let Some(read) = read.as_object_mut() else {
        return Ok(read);
    };
    for keyword in KEPT {
        match map.get(keyword) {
            Some(Value::Object(named)) => {
                let named: Result<Map<_, _>, String> = named
                    .iter()
                    .map(|(name, schema)| Ok((name.clone(), each(schema)?)))
                    .collect();
                read.insert(keyword.to_owned(), Value::Object(named?));
            }
            Some(other) => {
                read.insert(keyword.to_owned(), other.clone());
            }
            None => {}
        }
    }
    Ok(Value::Object(std::mem::take(read)))
}

fn each_of(
    value: &Value,
    each: impl Fn(&Value) -> Result<Value, String>,
) -> Result<Vec<Value>, String> {
    value.as_array().into_iter().flatten().map(each).collect()
}

const DEEP: &str = "the schema is nested too deeply";

const BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

fn copy(from: &Map<String, Value>, to: &mut Map<String, Value>, keywords: &[&str]) {
    for keyword in keywords {
        if let Some(value) = from.get(*keyword) {
            to.insert((*keyword).to_owned(), value.clone());
        }
    }
}

fn whole_pattern(pattern: &Value, read: &mut Map<String, Value>) {
    if let Some(pattern) = pattern.as_str() {
        read.insert("pattern".to_owned(), json!(format!("^(?:{pattern})$")));
    }
}

/// Named properties in their order, and no others unless the schema says so.
fn closed_object(
    map: &Map<String, Value>,
    read: &mut Map<String, Value>,
    next: &impl Fn(&Value) -> Result<Value, String>,
) -> Result<(), String> {
    let named = map.get("properties").and_then(Value::as_object);
    if let Some(named) = named {
        let named: Result<Map<_, _>, String> = named
            .iter()
            .map(|(name, schema)| Ok((name.clone(), next(schema)?)))
            .collect();
        read.insert("properties".to_owned(), Value::Object(named?));
    }
    // What is required and not named is not asked for.
    let required = map.get("required").and_then(Value::as_array);
    let required: Vec<&Value> = required
        .into_iter()
        .flatten()
        .filter(|name| {
            named.is_some_and(|named| name.as_str().is_some_and(|it| named.contains_key(it)))
        })
        .collect();
    if !required.is_empty() {
        read.insert("required".to_owned(), json!(required));
    }
    let others = match map.get("additionalProperties") {
        Some(others) => next(others)?,
        None => json!(named.is_none()),
    };
    read.insert("additionalProperties".to_owned(), others);
    Ok(())
}
