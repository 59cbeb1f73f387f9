//! Values in a notation of their own, held to a schema: objects with bare keys and strings between tokens,
//! `{city:<|"|>Oslo<|"|>,days:3}`; Python's keywords, `city="Oslo", days=3)`; elements in elements, `<city>Oslo</city>`.
//!
//! Where nothing in a string is escaped, its schema may say no more than which strings it may be. What is no string, object or list
//! is JSON. Where properties have commas between them, they stand in the schema's order, those that are required before the others:
//! a comma then stands before each of the others, whichever of them there are.

use super::{
    MAX_DEPTH, MAX_VALUES, constant, either, elements, in_order, is_required, optional, properties,
    sequence, simple,
};
use crate::markup::elements::{ITEM, Tokens};
use crate::markup::format::{Form, Shape};
use crate::markup::typed::{self, Taken, reference};
use crate::schema::number::BOUNDS;
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Properties of an object of which none is required: each may be the first.
const MAX_FIRSTS: usize = 8;
/// Schemas that are written, each as often as it is referred to or stands behind another first property.
const MAX_SCHEMAS: usize = 2_000;
/// A bound of a list, which is counted.
const MAX_ITEMS: u64 = 1_000;

/// How values are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Notation<'f> {
    /// Keys without quotes, strings between this token.
    BareKeys {
        quote: &'f str,
        /// A string that is an argument is read as the schema says.
        is_by_schema: bool,
    },
    /// Keywords, with values in Python's literals.
    Python,
    /// Each in tokens that hold its key.
    Elements(Tokens<'f>),
}

impl<'f> Notation<'f> {
    /// That of a form's arguments, if they have one.
    pub(super) fn of(form: &'f Form) -> Option<Self> {
        match form.shape {
            Shape::BareKeys => Some(Self::BareKeys {
                quote: &form.quote,
                is_by_schema: !form.parameters.is_empty(),
            }),
            Shape::Python => Some(Self::Python),
            Shape::Parameters => elements(&form.parameters).map(Self::Elements),
            Shape::Envelope | Shape::Json => None,
        }
    }

    /// Between members, and between items.
    const fn comma(self) -> &'static str {
        match self {
            Self::BareKeys { .. } => ",",
            Self::Python => ", ",
            Self::Elements(_) => "",
        }
    }

    /// A value that is no string, object or list.
    fn scalar(self, value: &Value) -> String {
        match (self, value) {
            (Self::Python, Value::Bool(true)) => "True".to_owned(),
            (Self::Python, Value::Bool(false)) => "False".to_owned(),
            (Self::Python, Value::Null) => "None".to_owned(),
            _ => value.to_string(),
        }
    }

    /// Any string.
    fn text(self) -> Value {
        match self {
            Self::BareKeys { quote, .. } => {
                Self::quoted(quote, json!({"type": "any_text", "excludes": [quote]}))
            }
            // JSON's escapes are Python's, but for the solidus, which ends in the string either way.
            Self::Python => json!({"type": "json_schema", "json_schema": {"type": "string"}}),
            Self::Elements(tokens) => json!({"type": "any_text", "excludes": [tokens.before()]}),
        }
    }

    /// This string; `None` where its reader would see its end elsewhere.
    fn string(self, text: &str) -> Option<Value> {
        match self {
            Self::BareKeys { quote, .. } => {
                (!text.contains(quote)).then(|| Self::quoted(quote, constant(text)))
            }
            Self::Python => Some(constant(&Value::from(text).to_string())),
            Self::Elements(tokens) => (!text.contains(tokens.before())).then(|| constant(text)),
        }
    }

    fn quoted(quote: &str, content: Value) -> Value {
        json!({"type": "tag", "begin": quote, "content": content, "end": quote})
    }

    /// A member's name, as it stands before the value of an argument, or of an object's in one.
    fn name(self, key: &str, is_argument: bool) -> String {
        match self {
            Self::Python if is_argument => format!("{key}="),
            Self::Python => format!("{}: ", Value::from(key)),
            _ => format!("{key}:"),
        }
    }

    /// Whether an object's key is read as it is written.
    fn has_key(self, key: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-$.".contains(&byte);
        !key.is_empty() && key.bytes().all(is_plain)
    }
}

/// One tool's arguments.
pub(super) struct Values<'s> {
    notation: Notation<'s>,
    /// The schema that others refer to.
    root: &'s Value,
    /// Schemas that were written so far.
    written: Cell<usize>,
}

/// A property of an object.
struct Member {
    /// As it stands before the value.
    name: String,
    is_required: bool,
    value: Value,
    /// Schemas that the value is written of.
    written: usize,
}

impl Member {
    /// The member behind this text, which is one with its name: a comma alone could begin them all.
    fn behind(&self, before: &str) -> Value {
        let name = constant(&format!("{before}{}", self.name));
        sequence(vec![name, self.value.clone()])
    }
}

impl<'s> Values<'s> {
    pub(super) const fn new(notation: Notation<'s>, root: &'s Value) -> Self {
        Self {
            notation,
            root,
            written: Cell::new(0),
        }
    }

    /// All arguments.
    pub(super) fn arguments(&self) -> Option<Value> {
        self.object(self.root, 0)
    }

    fn object(&self, schema: &Value, depth: usize) -> Option<Value> {
        if let Notation::Elements(tokens) = self.notation {
            return in_order(schema, &|key, property| {
                let value = self.argument(key, property, depth)?;
                Some(Self::element(tokens, key, value))
            });
        }
        let named = properties(schema)?;
        let mut members = Vec::with_capacity(named.len());
        for (key, property) in named {
            let before = self.written.get();
            members.push(Member {
                name: self.notation.name(key, depth == 0),
                is_required: is_required(schema, key),
                value: self.argument(key, property, depth)?,
                written: self.written.get() - before,
            });
        }
        let inside = self.members(members)?;
        let around = match self.notation {
            // What stands before and behind the arguments is the frame's.
            Notation::Python if depth == 0 => return Some(inside),
            _ => ["{", "}"].map(constant),
        };
        let [open, close] = around;
        Some(sequence(vec![open, inside, close]))
    }

    /// The members of an object, with commas between them.
    fn members(&self, mut members: Vec<Member>) -> Option<Value> {
        // Stable: within each the order stays.
        members.sort_by_key(|member| !member.is_required);
        let first = members.first().map(|member| member.is_required);
        match first {
            None => Some(constant("")),
            Some(true) => Some(self.following(&members, 0)),
            Some(false) if members.len() > MAX_FIRSTS => None,
            Some(false) => {
                // Each stands behind every one before it.
                let again = members.iter().enumerate();
                self.count(again.map(|(at, member)| at * member.written).sum())?;
                let firsts = (0..members.len()).map(|at| self.following(&members, at));
                Some(optional(either(firsts.collect())?))
            }
        }
    }

    fn element(tokens: Tokens<'_>, key: &str, content: Value) -> Value {
        let (begin, end) = (tokens.begin(key), tokens.end(key));
        json!({"type": "tag", "begin": begin, "content": content, "end": end})
    }

    /// `None` where too many were written with these.
    fn count(&self, written: usize) -> Option<()> {
        self.written.set(self.written.get().saturating_add(written));
        (self.written.get() <= MAX_SCHEMAS).then_some(())
    }

    /// The member at this place, and those behind it.
    fn following(&self, members: &[Member], at: usize) -> Value {
        let comma = self.notation.comma();
        let rest = members[at..].iter().enumerate();
        let elements = rest.map(|(index, member)| match (index, member.is_required) {
            (0, _) => member.behind(""),
            (_, true) => member.behind(comma),
            (_, false) => optional(member.behind(comma)),
        });
        sequence(elements.collect())
    }

    /// The value of a property, if its name is read as it is written.
    fn argument(&self, key: &str, property: &Value, depth: usize) -> Option<Value> {
        self.notation.has_key(key).then_some(())?;
        // As it is read, `null` and `5` between the tokens of a string are none where the schema lets them be others.
        let is_mixed = || typed::taken(property, self.root) == Some(Taken::Either);
        let is_by_schema = matches!(
            self.notation,
            Notation::BareKeys {
                is_by_schema: true,
                ..
            }
        );
        if depth == 0 && is_by_schema && is_mixed() {
            return None;
        }
        self.value(property, depth + 1)
    }

    fn value(&self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.count(1)?;
        if let Notation::Elements(tokens) = self.notation {
            match typed::taken(schema, self.root)? {
                Taken::Json => {}
                taken => return self.plain(schema, taken, tokens),
            }
        }
        let words = simple::words(schema)?;
        let kind = schema.get("type");
        match words.as_slice() {
            [("$ref", _)] => self.value(reference(schema, self.root)?, depth + 1),
            [("anyOf", Value::Array(branches))] => {
                self.is_told_apart(branches).then_some(())?;
                let branches = branches.iter().map(|branch| self.value(branch, depth + 1));
                either(branches.collect::<Option<_>>()?)
            }
            [("const", value)] => self.one_of(std::slice::from_ref(*value), None),
            [("enum", Value::Array(values))] => self.one_of(values, None),
            [("type", _), ("const", value)] | [("const", value), ("type", _)] => {
                self.one_of(std::slice::from_ref(*value), kind)
            }
            [("type", _), ("enum", Value::Array(values))]
            | [("enum", Value::Array(values)), ("type", _)] => self.one_of(values, kind),
            _ => match kind? {
                Value::String(kind) => self.of_type(kind, schema, &words, depth),
                Value::Array(kinds) if words.len() == 1 => {
                    self.is_told_apart(std::slice::from_ref(schema))
                        .then_some(())?;
                    let kinds = kinds.iter().map(|kind| {
                        let alone = json!({"type": kind});
                        self.of_type(kind.as_str()?, &alone, &[("type", kind)], depth)
                    });
                    either(kinds.collect::<Option<_>>()?)
                }
                _ => None,
            },
        }
    }

    /// A value that may be a string, in an element.
    fn plain(&self, schema: &Value, taken: Taken, tokens: Tokens<'_>) -> Option<Value> {
        if let Some(values) = simple::values(schema, self.root, 0) {
            self.count(values.len())?;
            let read = |text: &str| typed::of_schema(text, Some(schema), self.root);
            return simple::one_of(&values, &[tokens.before()], &read);
        }
        let is_any = match taken {
            Taken::Text => simple::is_free_text(schema, self.root, 0),
            _ => simple::is_free(schema, self.root, 0),
        };
        is_any.then(|| self.notation.text())
    }

    /// Whether a reader tells by the notation which of these a value is. Elements do not say whether they are a list or an object, nor
    /// which of two objects.
    fn is_told_apart(&self, branches: &[Value]) -> bool {
        let Notation::Elements(_) = self.notation else {
            return true;
        };
        let lets = branches
            .iter()
            .map(|branch| typed::lets(Some(branch), self.root));
        let nested = lets.map(|lets| match lets.is_told {
            true => usize::from(lets.array) + usize::from(lets.object),
            false => 2,
        });
        nested.sum::<usize>() <= 1
    }

    fn of_type(
        &self,
        kind: &str,
        schema: &Value,
        words: &[(&str, &Value)],
        depth: usize,
    ) -> Option<Value> {
        let says = |known: &[&str]| {
            let is_known = |(word, _): &(&str, &Value)| *word == "type" || known.contains(word);
            words.iter().all(is_known).then_some(())
        };
        match kind {
            "string" => {
                says(&[])?;
                Some(self.notation.text())
            }
            "integer" | "number" => {
                says(&BOUNDS)?;
                let mut own = Map::from_iter([("type".to_owned(), Value::from(kind))]);
                for (word, bound) in words.iter().filter(|(word, _)| *word != "type") {
                    bound.as_f64()?;
                    own.insert((*word).to_owned(), (*bound).clone());
                }
                Some(json!({"type": "json_schema", "json_schema": own}))
            }
            "boolean" => self.one_of(&[Value::Bool(true), Value::Bool(false)], None),
            "null" => self.one_of(&[Value::Null], None),
            "object" => self.object(schema, depth),
            "array" => {
                says(&["items", "minItems", "maxItems"])?;
                self.list(schema, depth)
            }
            _ => None,
        }
    }

    fn list(&self, schema: &Value, depth: usize) -> Option<Value> {
        let item = self.value(schema.get("items")?, depth + 1)?;
        let (item, [open, close]) = match self.notation {
            Notation::Elements(tokens) => (Self::element(tokens, ITEM, item), ["", ""]),
            _ => (item, ["[", "]"]),
        };
        let bound = |word: &str| match schema.get(word) {
            None => Some(None),
            Some(bound) => bound.as_u64().filter(|bound| *bound <= MAX_ITEMS).map(Some),
        };
        let (least, most) = (bound("minItems")?.unwrap_or(0), bound("maxItems")?);
        if most == Some(0) {
            return (least == 0).then(|| constant(&format!("{open}{close}")));
        }
        let comma = self.notation.comma();
        let next = match comma {
            "" => item.clone(),
            _ => sequence(vec![constant(comma), item.clone()]),
        };
        let more = json!({
            "type": "repeat",
            "min": least.saturating_sub(1),
            "max": most.map_or(json!(-1), |most| json!(most - 1)),
            "content": next,
        });
        let items = sequence(vec![item, more]);
        let items = match least {
            0 => optional(items),
            _ => items,
        };
        Some(match open {
            "" => items,
            _ => sequence(vec![constant(open), items, constant(close)]),
        })
    }

    /// One of these values, of those of this type.
    fn one_of(&self, values: &[Value], kind: Option<&Value>) -> Option<Value> {
        let is_meant = |value: &&Value| kind.is_none_or(|kind| typed::is_of_type(value, kind));
        let values: Vec<&Value> = values.iter().filter(is_meant).collect();
        if values.len() > MAX_VALUES {
            return None;
        }
        self.count(values.len())?;
        let written = values.into_iter().map(|value| match value {
            Value::String(text) => self.notation.string(text),
            Value::Array(_) | Value::Object(_) => None,
            scalar => Some(constant(&self.notation.scalar(scalar))),
        });
        either(written.collect::<Option<_>>()?)
    }
}
