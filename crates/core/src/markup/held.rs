//! Typed parameters, held to a tool's schema: the schema comes in; the format that a structural tag has in the place of a
//! call's arguments goes out.
//!
//! Where a call's arguments are no JSON object, a schema of them says nothing of the text: each parameter stands between its own
//! tokens, a string as it is and all else as JSON, or all of them in an object with bare keys. So each becomes a tag of its own,
//! and what the format lets through is what [`Reader`](super::Reader) reads as arguments that satisfy the schema. What cannot be
//! said so exactly is not said at all.

mod bare;

use super::Tools;
use super::format::{Form, Format, Parameter, ParameterValue, Shape};
use super::pattern::{Holes, Look, Match, anything};
use super::typed::{self, Taken, reference};
use crate::schema::is_annotation;
use bare::Bare;
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// References, and unions in unions, that are followed.
const MAX_DEPTH: usize = 16;
/// Values of an `enum`, each of which is a text of its own.
const MAX_VALUES: usize = 500;
/// Where the schemas stand that others refer to.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

impl Format {
    /// Whether a call's arguments are parameters that a structural tag can hold to a schema, one by one: see
    /// [`Format::parameters`].
    #[must_use]
    pub fn is_typed(&self) -> bool {
        self.forms.first().is_some_and(Form::is_typed)
    }

    /// The format, of a structural tag, of a tool's parameters as they stand between what a [`Frame`](super::Frame) says: in the
    /// order of the schema's properties, those that are required and any of the others. `schema` is what the calls are read
    /// by, `sent` the same schema as the server is to be sent it.
    ///
    /// `None` where arguments are written as something else, or the schema says what this cannot: a string of which more is said
    /// than which it may be, a string or something of which more is said than its type, properties without a name, and what is said
    /// of all properties together.
    #[must_use]
    pub fn parameters(&self, schema: &Value, sent: &Value) -> Option<Value> {
        let form = self.forms.first().filter(|form| form.is_typed())?;
        if form.shape == Shape::BareKeys {
            let bare = Bare {
                quote: &form.quote,
                root: schema,
                is_by_schema: !form.parameters.is_empty(),
                written: Cell::new(0),
            };
            return bare.arguments();
        }
        let parameter = form.parameters.first()?;
        let named = properties(schema)?;
        let held = Held {
            parameter,
            schema,
            sent,
        };
        let mut elements = Vec::with_capacity(named.len());
        for key in named.keys() {
            let tag = held.tag(key)?;
            elements.push(match is_required(schema, key) {
                true => tag,
                false => json!({"type": "optional", "content": tag}),
            });
        }
        Some(match elements.is_empty() {
            true => constant(""),
            false => json!({"type": "sequence", "elements": elements}),
        })
    }
}

impl Form {
    fn is_typed(&self) -> bool {
        self.typed && matches!(self.shape, Shape::Parameters | Shape::BareKeys)
    }
}

/// The properties of an object of which nothing else is said, each of the required ones among them.
fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    let all = schema.as_object()?;
    let named = all.get("properties")?.as_object()?;
    let is_known = |(word, value): (&String, &Value)| match word.as_str() {
        "type" => value == "object",
        "properties" | "required" | "$schema" => true,
        // Properties of any name are left out, if there are others.
        "additionalProperties" => {
            value == &Value::Bool(false) || says_nothing(value) && !named.is_empty()
        }
        word => is_annotation(word),
    };
    let required = all
        .get("required")
        .map_or(Some(&[][..]), |all| all.as_array().map(Vec::as_slice))?;
    let is_named = |name: &Value| name.as_str().is_some_and(|name| named.contains_key(name));
    (all.iter().all(is_known) && required.iter().all(is_named)).then_some(named)
}

fn is_required(schema: &Value, key: &str) -> bool {
    let mut required = schema["required"].as_array().into_iter().flatten();
    required.any(|name| name == key)
}

/// Whether a schema lets a value be anything.
fn says_nothing(schema: &Value) -> bool {
    match schema {
        Value::Bool(is_any) => *is_any,
        Value::Object(words) => words.keys().all(|word| is_annotation(word)),
        _ => false,
    }
}

fn constant(text: &str) -> Value {
    json!({"type": "const_string", "value": text})
}

/// One tool's parameters.
struct Held<'s> {
    parameter: &'s Parameter,
    schema: &'s Value,
    sent: &'s Value,
}

impl Held<'_> {
    /// A parameter, with its tokens.
    fn tag(&self, key: &str) -> Option<Value> {
        let begin = self.begin(key)?;
        let Parameter {
            around, end, after, ..
        } = self.parameter;
        let begin = begin + around;
        let end = format!("{around}{end}{after}");
        let content = self.content(key)?;
        Some(json!({"type": "tag", "begin": begin, "content": content, "end": end}))
    }

    /// A parameter's beginning, if its name is read as it is written.
    fn begin(&self, key: &str) -> Option<String> {
        let holes = Holes {
            key: Some(key),
            ..Holes::default()
        };
        let begin = self.parameter.begin.fill(&holes)?;
        let look = Look {
            tools: &Tools::default(),
            whole: true,
            then: &anything,
        };
        let found = self.parameter.begin.find(&begin, &look);
        let is_same = matches!(&found, Match::Yes((end, found)) if *end == begin.len() && found.key == Some(key));
        (is_same && !key.is_empty()).then_some(begin)
    }

    /// What stands between a parameter's tokens.
    fn content(&self, key: &str) -> Option<Value> {
        let property = self.schema["properties"].get(key)?;
        let taken = typed::taken(property, self.schema)?;
        if taken == Taken::Json {
            return self.json(key);
        }
        if let Some(values) = self.values(property, 0) {
            return self.one_of(key, &values);
        }
        let is_any = match taken {
            Taken::Text => self.is_free_text(property, 0),
            _ => self.is_free(property, 0),
        };
        is_any.then(|| self.text())
    }

    /// JSON of the property's schema.
    fn json(&self, key: &str) -> Option<Value> {
        let own = self.sent.get("properties")?.get(key)?;
        refers_to_definitions(own).then_some(())?;
        let mut own = own.clone();
        for word in DEFINITIONS {
            if let (Some(words), Some(all)) = (own.as_object_mut(), self.sent.get(word)) {
                refers_to_definitions(all).then_some(())?;
                words.insert(word.to_owned(), all.clone());
            }
        }
        Some(json!({"type": "json_schema", "json_schema": own}))
    }

    /// Text that ends where the parameter does, as its reader sees it.
    fn text(&self) -> Value {
        let begin = self.parameter.begin.first_literal().unwrap_or_default();
        json!({"type": "any_text", "excludes": [self.parameter.end, begin]})
    }

    /// One of these values, if each is read as it is written.
    fn one_of(&self, key: &str, values: &[&Value]) -> Option<Value> {
        let tokens = [
            self.parameter.end.as_str(),
            self.parameter.begin.first_literal().unwrap_or_default(),
        ];
        let mut texts = Vec::with_capacity(values.len());
        for value in values {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let read = typed::by_schema(&text, Some(self.schema), key);
            let is_same = serde_json::from_str(&read).is_ok_and(|read: Value| read == **value);
            if !is_same || tokens.iter().any(|token| text.contains(token)) {
                return None;
            }
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let mut texts: Vec<Value> = texts.iter().map(|text| constant(text)).collect();
        match texts.len() {
            0 => None,
            1 => texts.pop(),
            _ => Some(json!({"type": "or", "elements": texts})),
        }
    }

    /// The schema that is meant, where this one refers to another and says nothing else.
    fn resolved<'s>(&'s self, mut schema: &'s Value) -> Option<&'s Value> {
        for _ in 0..MAX_DEPTH {
            if schema.get("$ref").is_none() {
                return Some(schema);
            }
            let is_alone = |word: &String| word == "$ref" || is_annotation(word);
            schema.as_object()?.keys().all(is_alone).then_some(())?;
            schema = reference(schema, self.schema)?;
        }
        None
    }

    /// The words of a schema that say something.
    fn words<'s>(&'s self, schema: &'s Value) -> Option<Vec<(&'s str, &'s Value)>> {
        let words = self.resolved(schema)?.as_object()?.iter();
        let words = words.filter(|(word, _)| !is_annotation(word));
        Some(words.map(|(word, value)| (word.as_str(), value)).collect())
    }

    /// All values that a schema lets be, where they are few enough to be written down.
    fn values<'s>(&'s self, schema: &'s Value, depth: usize) -> Option<Vec<&'s Value>> {
        const NULL: &Value = &Value::Null;
        const BOOLEANS: [&Value; 2] = [&Value::Bool(true), &Value::Bool(false)];
        if depth > MAX_DEPTH {
            return None;
        }
        let words = self.words(schema)?;
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
                let mut values = Vec::new();
                for branch in branches {
                    values.extend(self.values(branch, depth + 1)?);
                }
                values
            }
            _ => return None,
        };
        (values.len() <= MAX_VALUES).then_some(values)
    }

    /// Whether a schema lets every string be, and nothing else.
    fn is_free_text(&self, schema: &Value, depth: usize) -> bool {
        let Some(words) = self.words(schema).filter(|_| depth <= MAX_DEPTH) else {
            return false;
        };
        match words.as_slice() {
            [("type", kind)] => *kind == "string",
            [("anyOf", Value::Array(branches))] => {
                let is_free = |branch| self.is_free_text(branch, depth + 1);
                branches.iter().any(is_free)
            }
            _ => false,
        }
    }

    /// Whether a schema lets every value be of the types that it names, so that whatever a text is read as is one.
    fn is_free(&self, schema: &Value, depth: usize) -> bool {
        let Some(words) = self.words(schema).filter(|_| depth <= MAX_DEPTH) else {
            return schema == &Value::Bool(true);
        };
        match words.as_slice() {
            [] | [("type", _)] => true,
            [("anyOf", Value::Array(branches))] => {
                let is_free = |branch| self.is_free(branch, depth + 1);
                branches.iter().all(is_free)
            }
            _ => false,
        }
    }
}

/// Whether all that a schema refers to goes along with it: the definitions of the whole.
fn refers_to_definitions(schema: &Value) -> bool {
    match schema {
        Value::Array(all) => all.iter().all(refers_to_definitions),
        Value::Object(words) => words
            .iter()
            .all(|(word, value)| match (word.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    let is_in = |name: &&str| target.starts_with(&format!("#/{name}/"));
                    DEFINITIONS.iter().any(is_in)
                }
                ("$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef", _) => {
                    false
                }
                (_, value) => refers_to_definitions(value),
            }),
        _ => true,
    }
}

/// Whether a parameter of this kind says by the schema alone what its value is.
pub(super) fn is_by_schema(parameters: &[Parameter]) -> bool {
    let is_own = |parameter: &Parameter| {
        parameter.value == ParameterValue::Schema
            && parameter.inside.is_none()
            && !parameter.begin.has("{type}")
            && !parameter.end.is_empty()
    };
    matches!(parameters, [only] if is_own(only))
}
