//! Values that are written as elements: an object's members each between tokens that hold its key,
//! a list's items between tokens that hold `item`, and text in the innermost.

use super::format::Parameter;
use super::typed;
use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;

/// Deeper elements are text.
const MAX_DEPTH: usize = 64;
/// The key of a list's items.
pub(super) const ITEM: &str = "item";

/// The tokens around an element: what stands before its key and behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens<'p> {
    before: &'p str,
    behind: &'p str,
}

impl<'p> Tokens<'p> {
    /// A parameter's own; the end has a solidus before the key.
    pub(super) fn new(parameter: &'p Parameter) -> Option<Self> {
        let (before, behind) = parameter.begin.text().split_once("{key}")?;
        let is_pair = parameter.end == format!("{before}/{{key}}{behind}");
        (is_pair && !before.is_empty() && !behind.is_empty()).then_some(Self { before, behind })
    }

    /// What stands before every key, of a beginning and of an end.
    pub(super) const fn before(self) -> &'p str {
        self.before
    }

    pub(super) fn begin(self, key: &str) -> String {
        format!("{}{key}{}", self.before, self.behind)
    }

    pub(super) fn end(self, key: &str) -> String {
        format!("{}/{key}{}", self.before, self.behind)
    }
}

/// How far an open element was looked through for its end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scan {
    at: usize,
    depth: usize,
}

impl Scan {
    /// Where the content ends with which the text begins, and where what follows it begins;
    /// `Some(None)` where something else ends than began.
    pub(super) fn end(
        &mut self,
        text: &str,
        tokens: Tokens<'_>,
        key: &str,
    ) -> Option<Option<(usize, usize)>> {
        while let Some(found) = text.get(self.at..)?.find(tokens.before) {
            let start = self.at + found;
            let inner = start + tokens.before.len();
            let Some(length) = text[inner..].find(tokens.behind) else {
                self.at = start;
                return None;
            };
            let end = inner + length + tokens.behind.len();
            match (text[inner..].starts_with('/'), self.depth) {
                (false, _) => self.depth += 1,
                (true, 0) => {
                    let is_own = text[start..end] == tokens.end(key);
                    return Some(is_own.then_some((start, end)));
                }
                (true, _) => self.depth -= 1,
            }
            self.at = end;
        }
        // What is left may be the beginning of a token.
        let mut from = text.len().saturating_sub(tokens.before.len());
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        self.at = self.at.max(from);
        None
    }
}

/// The value of a parameter in JSON: elements, where the schema lets it be no text and they are whole; else what
/// [`typed::by_schema`] makes of it.
pub(super) fn value(
    raw: &str,
    tokens: Tokens<'_>,
    parameters: Option<&Value>,
    key: &str,
) -> String {
    let root = parameters.unwrap_or(&Value::Null);
    let property = typed::property(root, key);
    of(raw, tokens, property, root, 0).unwrap_or_else(|| typed::by_schema(raw, parameters, key))
}

/// An element's content in JSON, if it is elements, or if its schema says what it is.
fn of(
    raw: &str,
    tokens: Tokens<'_>,
    schema: Option<&Value>,
    root: &Value,
    depth: usize,
) -> Option<String> {
    let lets = typed::lets(schema, root);
    let is_blank = raw.trim().is_empty();
    if lets.text && schema.is_some() && lets.is_told || depth > MAX_DEPTH {
        return None;
    }
    if is_blank && lets.is_told {
        return match (lets.array, lets.object) {
            (true, _) => Some("[]".to_owned()),
            (_, true) => Some("{}".to_owned()),
            _ => None,
        };
    }
    let members = split(raw, tokens)?;
    let is_list = members.iter().all(|(key, _)| *key == ITEM) && (lets.array || !lets.is_told);
    let mut json = String::new();
    for (at, (key, content)) in members.iter().enumerate() {
        if !is_list && members[..at].iter().any(|(other, _)| other == key) {
            return None;
        }
        let own = match is_list {
            true => schema.and_then(|schema| typed::items(schema, root)),
            false => schema.and_then(|schema| typed::property_in(schema, root, key)),
        };
        json.push_str(if at > 0 { ", " } else { "" });
        if !is_list {
            json.push_str(&Value::from(*key).to_string());
            json.push_str(": ");
        }
        let inner = of(content, tokens, own, root, depth + 1);
        json.push_str(&inner.unwrap_or_else(|| typed::of_schema(content, own, root)));
    }
    Some(match is_list {
        true => format!("[{json}]"),
        false => format!("{{{json}}}"),
    })
}

/// The elements that a content is made of, and nothing but blanks between them.
fn split<'t>(raw: &'t str, tokens: Tokens<'_>) -> Option<Vec<(&'t str, &'t str)>> {
    let mut members = Vec::new();
    let mut rest = raw.trim();
    while !rest.is_empty() {
        let inner = rest.strip_prefix(tokens.before)?;
        let (key, content) = inner.split_once(tokens.behind)?;
        let (end, behind) = Scan::default().end(content, tokens, key)??;
        if key.is_empty() || key.starts_with('/') {
            return None;
        }
        members.push((key, &content[..end]));
        rest = content[behind..].trim_start();
    }
    (!members.is_empty()).then_some(members)
}

/// A value as elements, if what is read of them is the value again.
pub(super) fn write(
    json: &str,
    tokens: Tokens<'_>,
    parameters: Option<&Value>,
    key: &str,
) -> Option<String> {
    let mut text = String::new();
    content(json, tokens, &mut text);
    let is_same = |again: &str| {
        let again: Option<Value> = crate::json::value(again).ok();
        again.is_some() && again == crate::json::value(json).ok()
    };
    let again = value(&text, tokens, parameters, key);
    is_same(&again).then_some(text)
}

fn content(json: &str, tokens: Tokens<'_>, text: &mut String) {
    let items: Option<Vec<Box<RawValue>>> = serde_json::from_str(json).ok();
    let members: Option<IndexMap<String, Box<RawValue>>> = serde_json::from_str(json).ok();
    let string: Option<String> = serde_json::from_str(json).ok();
    let mut element = |key: &str, json: &RawValue| {
        text.push_str(&tokens.begin(key));
        content(json.get(), tokens, text);
        text.push_str(&tokens.end(key));
    };
    if let Some(items) = items {
        items.iter().for_each(|item| element(ITEM, item));
    } else if let Some(members) = members {
        members.iter().for_each(|(key, json)| element(key, json));
    } else {
        text.push_str(string.as_deref().unwrap_or(json));
    }
}
