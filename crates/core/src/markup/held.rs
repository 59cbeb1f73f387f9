//! Typed arguments, held to a tool's schema: the schema comes in; the format that a structural tag has in the place of a
//! call's arguments goes out.
//!
//! Where a call's arguments are no JSON object, a schema of them says nothing of the text: each parameter stands between its own
//! tokens, a string as it is and all else as JSON or in elements of its own, or all of them in an object with bare keys, or as
//! Python's keywords. So each is held by itself, and what the format lets through is what [`Reader`](super::Reader) reads as
//! arguments that satisfy the schema. What cannot be said so exactly is not said at all.

mod between;
mod simple;
mod values;

use super::CallText;
use super::elements::Tokens;
use super::format::{Form, Format, Parameter, ParameterValue, Shape};
use super::pattern::Pattern;
use super::typed::lets;
use crate::schema::is_annotation;
use between::{Between, Kinds};
use serde_json::{Map, Value, json};
use simple::{is_free, is_free_text};
use values::{Notation, Values};

/// References, and unions in unions, that are followed.
const MAX_DEPTH: usize = 16;
/// Values of an `enum`, each of which is a text of its own.
const MAX_VALUES: usize = 500;

impl Format {
    /// Whether a call's arguments are parameters that a structural tag can hold to a schema, one by one: see
    /// [`Format::parameters`].
    #[must_use]
    pub fn is_typed(&self) -> bool {
        self.forms.first().is_some_and(|form| form.typed)
    }

    /// Whether a server that holds of typed parameters all but those that may be a string holds arguments of this schema: of
    /// no such property more is said than that. Where arguments are JSON it holds all of them.
    #[must_use]
    pub fn leaves_texts_free(&self, schema: &Value) -> bool {
        let Some(form) = self.forms.first() else {
            return true;
        };
        if matches!(form.shape, Shape::Envelope | Shape::Json) {
            return true;
        }
        let named = schema.get("properties").and_then(Value::as_object);
        named.into_iter().flatten().all(|(_, own)| {
            let may_be_text = lets(Some(own), schema).text;
            !may_be_text || is_free_text(own, schema, 0) || is_free(own, schema, 0)
        })
    }

    /// The format, of a structural tag, of a tool's parameters as they stand between what a [`Frame`](super::Frame) says: in the
    /// order of the schema's properties, those that are required and any of the others. `schema` is what the calls are read
    /// by, `sent` the same schema as the server is to be sent it; `text` is what is known of the text in which they stand.
    ///
    /// `None` where arguments are written as something else, or the schema says what this cannot: a string of which more is said
    /// than which it may be, a string or something of which more is said than its type, properties without a name, and what is said
    /// of all properties together.
    #[must_use]
    pub fn parameters(&self, schema: &Value, sent: &Value, text: CallText) -> Option<Value> {
        let form = self.forms.first().filter(|form| form.typed)?;
        form.holds_in(text).then_some(())?;
        if let Some(notation) = Notation::of(form) {
            return Values::new(notation, schema).arguments();
        }
        let between = Between {
            kinds: Kinds::of(&form.parameters)?,
            schema,
            sent,
            stops: match text {
                CallText::Parsed => form.stops().collect(),
                CallText::Shared | CallText::Own | CallText::Whole => Vec::new(),
            },
        };
        between.arguments()
    }
}

impl Form {
    /// Whether typed parameters can be held in such a text.
    pub(super) fn holds_in(&self, text: CallText) -> bool {
        match text {
            CallText::Shared => false,
            CallText::Parsed => Notation::of(self).is_none(),
            CallText::Own | CallText::Whole => true,
        }
    }

    /// What begins or ends a call, or a block of them.
    fn stops(&self) -> impl Iterator<Item = &str> {
        let begins = self.begins.iter().chain(&self.heads);
        let all = begins.chain(&self.call_ends).chain(&self.ends);
        all.filter_map(Pattern::first_literal)
    }
}

/// Whether the arguments of a form of this shape, with these parameters, can be held one by one.
pub(super) fn can_hold(shape: Shape, parameters: &[Parameter]) -> bool {
    match shape {
        Shape::BareKeys | Shape::Python => true,
        Shape::Parameters => elements(parameters).is_some() || Kinds::of(parameters).is_some(),
        Shape::Envelope | Shape::Json => false,
    }
}

/// The tokens of the one parameter whose value is elements.
fn elements(parameters: &[Parameter]) -> Option<Tokens<'_>> {
    match parameters {
        [only] if only.value == ParameterValue::Elements => Tokens::new(only),
        _ => None,
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

/// The members of an object in the schema's order, of which each is written by itself and those may be left out that are not required.
fn in_order(schema: &Value, member: &dyn Fn(&str, &Value) -> Option<Value>) -> Option<Value> {
    let members = properties(schema)?.iter().map(|(key, property)| {
        let member = member(key, property)?;
        Some(match is_required(schema, key) {
            true => member,
            false => optional(member),
        })
    });
    let members: Vec<Value> = members.collect::<Option<_>>()?;
    Some(match members.is_empty() {
        true => constant(""),
        false => sequence(members),
    })
}

fn sequence(elements: Vec<Value>) -> Value {
    json!({"type": "sequence", "elements": elements})
}

fn optional(content: Value) -> Value {
    json!({"type": "optional", "content": content})
}

fn either(mut elements: Vec<Value>) -> Option<Value> {
    match elements.len() {
        0 => None,
        1 => elements.pop(),
        _ => Some(json!({"type": "or", "elements": elements})),
    }
}
