//! What schemas of values say that stand as they are between tokens: which few they may be, or that nothing more is said of them
//! than their type.

use super::{MAX_DEPTH, MAX_VALUES, constant, either};
use crate::markup::typed::{self, reference};
use crate::schema::is_annotation;
use serde_json::Value;

/// The words of a schema that say something.
pub(super) fn words(schema: &Value) -> Option<Vec<(&str, &Value)>> {
    let words = schema.as_object()?.iter();
    let words = words.filter(|(word, _)| !is_annotation(word));
    Some(words.map(|(word, value)| (word.as_str(), value)).collect())
}

/// The schema that is meant, where this one refers to another in the root and says nothing else.
fn resolved<'s>(mut schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    for _ in 0..MAX_DEPTH {
        if schema.get("$ref").is_none() {
            return Some(schema);
        }
        let is_alone = |word: &String| word == "$ref" || is_annotation(word);
        schema.as_object()?.keys().all(is_alone).then_some(())?;
        schema = reference(schema, root)?;
    }
    None
}

/// All values that a schema lets be, where they are few enough to be written down.
pub(super) fn values<'s>(
    schema: &'s Value,
    root: &'s Value,
    depth: usize,
) -> Option<Vec<&'s Value>> {
    const NULL: &Value = &Value::Null;
    const BOOLEANS: [&Value; 2] = [&Value::Bool(true), &Value::Bool(false)];
    if depth > MAX_DEPTH {
        return None;
    }
    let words = words(resolved(schema, root)?)?;
    let values = match words.as_slice() {
        [("const", value)] => vec![*value],
        [("enum", values)] => values.as_array()?.iter().collect(),
        [("type", kind), ("enum" | "const", _)] | [("enum" | "const", _), ("type", kind)] => {
            let (_, values) = words.iter().find(|(word, _)| *word != "type")?;
            let is_list = words.iter().any(|(word, _)| *word == "enum");
            let values: Vec<&Value> = match is_list {
                true => values.as_array()?.iter().collect(),
                false => vec![*values],
            };
            let fits = |value: &&Value| typed::is_of_type(value, kind);
            values.into_iter().filter(fits).collect()
        }
        [("type", Value::String(kind))] if kind == "null" => vec![NULL],
        [("type", Value::String(kind))] if kind == "boolean" => BOOLEANS.to_vec(),
        [("anyOf", Value::Array(branches))] => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(values(branch, root, depth + 1)?);
            }
            all
        }
        _ => return None,
    };
    (values.len() <= MAX_VALUES).then_some(values)
}

/// Whether a schema lets every string be.
pub(super) fn is_free_text(schema: &Value, root: &Value, depth: usize) -> bool {
    let words = resolved(schema, root).and_then(words);
    let Some(words) = words.filter(|_| depth <= MAX_DEPTH) else {
        return false;
    };
    match words.as_slice() {
        [("type", kind)] => *kind == "string",
        [("anyOf", Value::Array(branches))] => {
            let is_free = |branch| is_free_text(branch, root, depth + 1);
            branches.iter().any(is_free)
        }
        _ => false,
    }
}

/// Whether a schema lets every value be of the types that it names, so that whatever a text is read as is one.
pub(super) fn is_free(schema: &Value, root: &Value, depth: usize) -> bool {
    let words = resolved(schema, root).and_then(words);
    let Some(words) = words.filter(|_| depth <= MAX_DEPTH) else {
        return schema == &Value::Bool(true);
    };
    match words.as_slice() {
        [] | [("type", _)] => true,
        [("anyOf", Value::Array(branches))] => {
            let is_free = |branch| is_free(branch, root, depth + 1);
            branches.iter().all(is_free)
        }
        _ => false,
    }
}

/// One of these values as it stands, if each is read as the value again and none of these tokens is in it.
pub(super) fn one_of(
    values: &[&Value],
    tokens: &[&str],
    read: &dyn Fn(&str) -> String,
) -> Option<Value> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_same = crate::json::value(&read(&text)).is_ok_and(|read: Value| read == **value);
        if !is_same || tokens.iter().any(|token| text.contains(token)) {
            return None;
        }
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    either(texts.iter().map(|text| constant(text)).collect())
}
