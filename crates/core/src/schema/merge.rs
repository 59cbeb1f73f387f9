//! Several tools in one schema: the tools' schemas come in, one schema of an envelope around a
//! call of any of them goes out.
//!
//! An envelope is `{"name": …, "arguments": …}`. A tool's references lead into its own schema, so
//! its definitions move to the common root, under names that clash with nobody's, and every
//! reference is rewritten to where its target went. Key order is kept everywhere: many servers
//! generate properties in the order of the schema.

mod hoist;
mod modernise;

use hoist::Definitions;
use serde_json::{Map, Value, json};

/// What can be called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Callable<'a> {
    /// Unique among the callables.
    pub name: &'a str,
    /// What it takes.
    pub input: CallableInput<'a>,
}

/// What a call carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallableInput<'a> {
    /// `"arguments"`, of this schema.
    Schema(&'a Value),
    /// `"input"`, a text; of this pattern, where one is given.
    Text {
        /// An anchored JSON Schema pattern.
        pattern: Option<&'a str>,
    },
}

/// The form of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alternatives<'a> {
    /// One envelope.
    Call,
    /// An array of one envelope or more.
    Calls {
        /// At most so many.
        max: Option<usize>,
    },
    /// One envelope, or `{"answer": …}` with a value of the answer's schema.
    CallOrAnswer {
        /// The answer's schema.
        answer: &'a Value,
    },
}

/// The schema of an envelope around a call of any of the tools. With none, and no answer either,
/// nothing can satisfy it.
///
/// The schemas must have passed [`super::guard()`]; a reference that leads nowhere stays as it is.
#[must_use]
pub fn envelope(tools: &[Callable<'_>], shape: Alternatives<'_>) -> Value {
    let mut definitions = Definitions::default();
    let mut branches: Vec<Value> = tools
        .iter()
        .map(|tool| call(tool, &mut definitions))
        .collect();
    if let Alternatives::CallOrAnswer { answer } = shape {
        let answer = definitions.adopt("answer", answer);
        branches.push(closed([("answer", answer)]));
    }
    let either = match branches.len() {
        1 => branches.remove(0),
        _ => json!({"anyOf": branches}),
    };
    let mut root = match shape {
        Alternatives::Call | Alternatives::CallOrAnswer { .. } => either,
        Alternatives::Calls { max } => {
            let mut array = json!({"type": "array", "items": either, "minItems": 1});
            if let (Some(max), Value::Object(map)) = (max, &mut array) {
                map.insert("maxItems".to_owned(), json!(max));
            }
            array
        }
    };
    if let (Some(definitions), Value::Object(map)) = (definitions.into_value(), &mut root) {
        map.insert("$defs".to_owned(), definitions);
    }
    root
}

/// The schema of those values of a schema that are objects; `None` where its type says that none
/// is. What refers to the whole schema still means all of its values.
#[must_use]
pub fn objects_only(schema: &Value) -> Option<Value> {
    let Value::Object(map) = schema else {
        return (*schema == Value::Bool(true)).then(|| json!({"type": "object"}));
    };
    let speaks_types = !map.contains_key("$ref");
    if speaks_types && map.get("type").is_some_and(|kind| *kind == "object") {
        return Some(schema.clone());
    }
    let mut definitions = Definitions::default();
    let mut map = match definitions.adopt("answer", schema) {
        Value::Object(map) => map,
        other => return Some(other),
    };
    match map.get("type") {
        None => {}
        Some(Value::Array(kinds)) if kinds.contains(&json!("object")) => {}
        Some(kind) if *kind == "object" => {}
        Some(_) => return None,
    }
    map.insert("type".to_owned(), json!("object"));
    if let Some(definitions) = definitions.into_value() {
        map.insert("$defs".to_owned(), definitions);
    }
    Some(Value::Object(map))
}

/// The schema in the words of 2020-12; `None` where it already speaks them, or where a reference
/// may lead to a place that would move.
pub(super) fn modern(schema: &Value) -> Option<Value> {
    let draft = super::validator::draft_of(schema);
    if !modernise::may(schema) {
        return None;
    }
    let mut modern = schema.clone();
    modernise::all(&mut modern, draft);
    if modern == *schema {
        return None;
    }
    if let Value::Object(map) = &mut modern {
        map.shift_remove("$schema");
    }
    Some(modern)
}

/// Whether the schema is of an old draft, and a reference keeps it from being put in new words.
pub(super) fn speaks_old(schema: &Value) -> bool {
    !modernise::may(schema)
}

/// The schema of one tool's arguments alone: the tool's schema itself.
#[must_use]
pub fn bare(schema: &Value) -> Value {
    schema.clone()
}

fn call(tool: &Callable<'_>, definitions: &mut Definitions) -> Value {
    // `enum` of one rather than `const`: every converter takes it, older ones (outlines before
    // `const`, OpenAPI subsets) included, and it means the same.
    let name = json!({"type": "string", "enum": [tool.name]});
    match tool.input {
        CallableInput::Schema(schema) => {
            let arguments = definitions.adopt(tool.name, schema);
            closed([("name", name), ("arguments", arguments)])
        }
        CallableInput::Text { pattern } => {
            let mut input = json!({"type": "string"});
            if let (Some(pattern), Value::Object(map)) = (pattern, &mut input) {
                map.insert("pattern".to_owned(), json!(pattern));
            }
            closed([("name", name), ("input", input)])
        }
    }
}

/// An object of exactly these properties, in this order.
fn closed<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required: Vec<_> = properties.iter().map(|(name, _)| json!(name)).collect();
    let properties: Map<_, _> = properties
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
mod tests;
