//! Parameters of a call in markup, as Qwen and MiniMax write them: a schema's properties come in;
//! the places where parameters that satisfy it may end go out.
//!
//! A text stands there as it is, everything else as JSON. Where the schema does not say which, both
//! readings are tried.

use super::TagBreach;
use super::walk::json_prefix;
use crate::schema::Validator;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const CLOSE: &str = "</parameter>";
/// References that are followed to what a property is.
const MAX_HOPS: usize = 16;

/// How a parameter begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `<parameter=name>`
    Qwen,
    /// `<parameter name="name">`
    MiniMax,
}

/// What a property's value is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Json,
    Either,
}

/// The form of the parameters.
#[derive(Debug)]
pub struct Parameters {
    style: Style,
    kinds: BTreeMap<String, Kind>,
}

/// Parameters in their two readings, which differ in what is not known to be a text or JSON.
#[derive(Debug, Default)]
struct Members {
    texts: Map<String, Value>,
    jsons: Map<String, Value>,
    /// Where the last whole one ends.
    end: usize,
    breach: Option<TagBreach>,
}

impl Parameters {
    pub(super) fn new(style: Style, schema: &Value) -> Self {
        let named = resolved(schema, schema)["properties"].as_object();
        let kinds = named.into_iter().flatten();
        let kinds = kinds.map(|(name, property)| (name.clone(), kind(schema, property)));
        Self {
            style,
            kinds: kinds.collect(),
        }
    }

    pub(super) fn estimated_bytes(&self) -> usize {
        self.kinds.keys().map(|name| name.len() + 64).sum()
    }

    /// The places where the parameters at the beginning of `text` may end.
    pub(super) fn read(&self, text: &str, validator: &Validator) -> Result<Vec<usize>, TagBreach> {
        let members = self.members(text);
        if let Some(breach) = members.breach {
            return Err(breach);
        }
        let read = validator.validate(&Value::Object(members.jsons));
        let read = read.or_else(|_| validator.validate(&Value::Object(members.texts)));
        let at = members.end;
        read.map_err(|wrong| TagBreach {
            offset: at,
            pointer: wrong.pointer,
            rule: wrong.rule,
            message: wrong.message,
        })?;
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_ascii_start().len();
        Ok(vec![at, at + blank])
    }

    /// Whether parameters that end with the text could go on to some that satisfy the schema.
    pub(super) fn may_go_on(&self, text: &str, validator: &Validator) -> bool {
        let members = self.members(text);
        let rest = text[members.end..].trim_ascii_start();
        let open = match self.style {
            Style::Qwen => "<parameter=",
            Style::MiniMax => "<parameter name=\"",
        };
        // Behind what is whole, one more may have begun.
        if !(open.starts_with(rest) || rest.starts_with(open) && !rest.contains(CLOSE)) {
            return false;
        }
        [members.jsons, members.texts].into_iter().any(|members| {
            let mut text = Value::Object(members).to_string();
            text.pop();
            if text.len() > 1 {
                text.push(',');
            }
            validator.validate_prefix(&text).is_ok()
        })
    }

    /// The parameters that a text begins with, as far as they are whole.
    fn members(&self, text: &str) -> Members {
        let mut members = Members::default();
        loop {
            let rest = &text[members.end..];
            let blank = rest.len() - rest.trim_ascii_start().len();
            let Some((name, begin)) = self.begin(&rest[blank..]) else {
                return members;
            };
            let begin = members.end + blank + begin;
            let kind = self.kinds.get(name).copied().unwrap_or(Kind::Either);
            let Some((as_text, as_json, end)) = value(&text[begin..], kind) else {
                let message = "a parameter has no value that ends";
                members.breach = Some(breach(begin, "parameter", message));
                return members;
            };
            members.jsons.insert(name.to_owned(), as_json);
            if members.texts.insert(name.to_owned(), as_text).is_some() {
                members.breach = Some(breach(begin, "parameter", "a parameter is there twice"));
                return members;
            }
            members.end = begin + end;
        }
    }

    /// A parameter's name, and where its value begins.
    fn begin<'t>(&self, text: &'t str) -> Option<(&'t str, usize)> {
        let (open, close) = match self.style {
            Style::Qwen => ("<parameter=", ">"),
            Style::MiniMax => ("<parameter name=\"", "\">"),
        };
        let rest = text.strip_prefix(open)?;
        let end = rest.find(close)?;
        Some((&rest[..end], open.len() + end + close.len()))
    }
}

/// A value as a text and as JSON, and where its parameter ends.
fn value(text: &str, kind: Kind) -> Option<(Value, Value, usize)> {
    if kind == Kind::Json {
        let (value, end) = json_prefix(text)?;
        let rest = &text[end..];
        let blank = rest.len() - rest.trim_ascii_start().len();
        rest[blank..].starts_with(CLOSE).then_some(())?;
        return Some((value.clone(), value, end + blank + CLOSE.len()));
    }
    let end = text.find(CLOSE)?;
    let said = Value::String(text[..end].to_owned());
    let json = match kind {
        Kind::Either => crate::json::value(&text[..end]).unwrap_or_else(|_| said.clone()),
        _ => said.clone(),
    };
    Some((said, json, end + CLOSE.len()))
}

/// A schema, or what it refers to.
fn resolved<'s>(root: &'s Value, mut schema: &'s Value) -> &'s Value {
    for _ in 0..MAX_HOPS {
        let Some(pointer) = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#')) else {
            return schema;
        };
        let Some(found) = root.pointer(pointer) else {
            return schema;
        };
        schema = found;
    }
    schema
}

fn kind(root: &Value, property: &Value) -> Kind {
    match resolved(root, property)["type"].as_str() {
        Some("string") => Kind::Text,
        Some(_) => Kind::Json,
        None => Kind::Either,
    }
}

fn breach(offset: usize, rule: &str, message: &str) -> TagBreach {
    TagBreach {
        offset,
        pointer: String::new(),
        rule: rule.to_owned(),
        message: message.to_owned(),
    }
}
