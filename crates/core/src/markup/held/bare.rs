//! Objects with bare keys and strings between tokens, held to a schema: `{city:<|"|>Oslo<|"|>,days:3}`.
//!
//! Nothing in a string is escaped, so its schema may say no more than which strings it may be. What is no string, object or list
//! is JSON. Properties stand in the schema's order, those that are required before the others: a comma then stands before each of
//! the others, whichever of them there are.

use super::{MAX_DEPTH, MAX_VALUES, constant, is_required, properties};
use crate::markup::typed::{self, Taken, reference};
use crate::schema::is_annotation;
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Properties of an object of which none is required: each may be the first.
const MAX_FIRSTS: usize = 8;
/// Schemas that are written, each as often as it is referred to or stands behind another first property.
const MAX_SCHEMAS: usize = 2_000;
/// A bound of a list, which is counted.
const MAX_ITEMS: u64 = 1_000;
/// What may be said of a number.
const BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

/// One tool's arguments.
pub(super) struct Bare<'s> {
    /// Around strings.
    pub(super) quote: &'s str,
    /// The schema that others refer to.
    pub(super) root: &'s Value,
    /// Whether a string that is an argument is read as the schema says.
    pub(super) is_by_schema: bool,
    /// Schemas that were written so far.
    pub(super) written: Cell<usize>,
}

/// A property of an object.
struct Member<'s> {
    key: &'s str,
    is_required: bool,
    value: Value,
    /// Schemas that the value is written of.
    written: usize,
}

impl Member<'_> {
    /// The member behind this text, which is one with its name: a comma alone could begin them all.
    fn behind(&self, before: &str) -> Value {
        let name = constant(&format!("{before}{}:", self.key));
        sequence(vec![name, self.value.clone()])
    }
}

impl Bare<'_> {
    /// All arguments.
    pub(super) fn arguments(&self) -> Option<Value> {
        self.object(self.root, 0)
    }

    fn object(&self, schema: &Value, depth: usize) -> Option<Value> {
        let named = properties(schema)?;
        let mut members = Vec::with_capacity(named.len());
        for (key, property) in named {
            let before = self.written.get();
            members.push(Member {
                key,
                is_required: is_required(schema, key),
                value: self.argument(key, property, depth)?,
                written: self.written.get() - before,
            });
        }
        // Stable: within each the order stays.
        members.sort_by_key(|member| !member.is_required);
        let first = members.first().map(|member| member.is_required);
        let inside = match first {
            None => return Some(constant("{}")),
            Some(true) => Self::following(&members, 0),
            Some(false) if members.len() > MAX_FIRSTS => return None,
            Some(false) => {
                // Each stands behind every one before it.
                let again = members.iter().enumerate();
                self.count(again.map(|(at, member)| at * member.written).sum())?;
                let firsts = (0..members.len()).map(|at| Self::following(&members, at));
                json!({"type": "optional", "content": either(firsts.collect())?})
            }
        };
        Some(sequence(vec![constant("{"), inside, constant("}")]))
    }

    /// `None` where too many were written with these.
    fn count(&self, written: usize) -> Option<()> {
        self.written.set(self.written.get().saturating_add(written));
        (self.written.get() <= MAX_SCHEMAS).then_some(())
    }

    /// The member at this place, and those behind it.
    fn following(members: &[Member<'_>], at: usize) -> Value {
        let rest = members[at..].iter().enumerate();
        let elements = rest.map(|(index, member)| match (index, member.is_required) {
            (0, _) => member.behind(""),
            (_, true) => member.behind(","),
            (_, false) => json!({"type": "optional", "content": member.behind(",")}),
        });
        sequence(elements.collect())
    }

    /// The value of a property, if its name is read as it is written.
    fn argument(&self, key: &str, property: &Value, depth: usize) -> Option<Value> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-$.".contains(&byte);
        if key.is_empty() || !key.bytes().all(is_plain) {
            return None;
        }
        // As it is read, `null` and `5` between the tokens of a string are none where the schema lets them be others.
        let is_mixed = || typed::taken(property, self.root) == Some(Taken::Either);
        if depth == 0 && self.is_by_schema && is_mixed() {
            return None;
        }
        self.value(property, depth + 1)
    }

    fn value(&self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.count(1)?;
        let all = schema.as_object()?;
        let words = all.iter().filter(|(word, _)| !is_annotation(word));
        let words: Vec<_> = words.map(|(word, value)| (word.as_str(), value)).collect();
        let kind = all.get("type");
        match words.as_slice() {
            [("$ref", _)] => self.value(reference(schema, self.root)?, depth + 1),
            [("anyOf", Value::Array(branches))] => {
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
                let text = json!({"type": "any_text", "excludes": [self.quote]});
                Some(self.quoted(text))
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
            "boolean" => either(vec![constant("true"), constant("false")]),
            "null" => Some(constant("null")),
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
        let bound = |word: &str| match schema.get(word) {
            None => Some(None),
            Some(bound) => bound.as_u64().filter(|bound| *bound <= MAX_ITEMS).map(Some),
        };
        let (least, most) = (bound("minItems")?.unwrap_or(0), bound("maxItems")?);
        if most == Some(0) {
            return (least == 0).then(|| constant("[]"));
        }
        let more = json!({
            "type": "repeat",
            "min": least.saturating_sub(1),
            "max": most.map_or(json!(-1), |most| json!(most - 1)),
            "content": sequence(vec![constant(","), item.clone()]),
        });
        let items = sequence(vec![item, more]);
        let items = match least {
            0 => json!({"type": "optional", "content": items}),
            _ => items,
        };
        Some(sequence(vec![constant("["), items, constant("]")]))
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
            Value::String(text) => {
                (!text.contains(self.quote)).then(|| self.quoted(constant(text)))
            }
            Value::Array(_) | Value::Object(_) => None,
            scalar => Some(constant(&scalar.to_string())),
        });
        either(written.collect::<Option<_>>()?)
    }

    fn quoted(&self, content: Value) -> Value {
        json!({"type": "tag", "begin": self.quote, "content": content, "end": self.quote})
    }
}

fn sequence(elements: Vec<Value>) -> Value {
    json!({"type": "sequence", "elements": elements})
}

fn either(mut elements: Vec<Value>) -> Option<Value> {
    match elements.len() {
        0 => None,
        1 => elements.pop(),
        _ => Some(json!({"type": "or", "elements": elements})),
    }
}
