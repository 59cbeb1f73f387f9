//! Where schemas stand inside a schema: an object comes in, its direct subschemas go out.
//!
//! This is the only list of keywords that hold schemas. What is not listed (`const`, `enum`,
//! `default`, `examples`, unknown keywords) is data, whatever it looks like.

use serde_json::{Map, Value};

/// What a keyword's value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// One schema.
    One,
    /// An array of schemas.
    Many,
    /// One schema, or an array of schemas (`items` before 2020-12).
    OneOrMany,
    /// An object whose values are schemas.
    Named,
}

/// Which instance a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppliesTo {
    /// The same instance: a cycle of these never ends.
    Same,
    /// A part of the instance: a cycle of these ends with the instance.
    Inside,
    /// None until something refers to it.
    Aside,
}

const KEYWORDS: &[(&str, Holds, AppliesTo)] = &[
    ("properties", Holds::Named, AppliesTo::Inside),
    ("items", Holds::OneOrMany, AppliesTo::Inside),
    ("anyOf", Holds::Many, AppliesTo::Same),
    ("allOf", Holds::Many, AppliesTo::Same),
    ("oneOf", Holds::Many, AppliesTo::Same),
    ("additionalProperties", Holds::One, AppliesTo::Inside),
    ("$defs", Holds::Named, AppliesTo::Aside),
    ("definitions", Holds::Named, AppliesTo::Aside),
    ("prefixItems", Holds::Many, AppliesTo::Inside),
    ("patternProperties", Holds::Named, AppliesTo::Inside),
    ("propertyNames", Holds::One, AppliesTo::Inside),
    ("additionalItems", Holds::One, AppliesTo::Inside),
    ("contains", Holds::One, AppliesTo::Inside),
    ("unevaluatedProperties", Holds::One, AppliesTo::Inside),
    ("unevaluatedItems", Holds::One, AppliesTo::Inside),
    ("not", Holds::One, AppliesTo::Same),
    ("if", Holds::One, AppliesTo::Same),
    ("then", Holds::One, AppliesTo::Same),
    ("else", Holds::One, AppliesTo::Same),
    ("dependentSchemas", Holds::Named, AppliesTo::Same),
    ("dependencies", Holds::Named, AppliesTo::Same),
    // An annotation in 2019-09 and later: it asserts nothing about the string.
    ("contentSchema", Holds::One, AppliesTo::Aside),
];

/// What a keyword holds, where it holds schemas at all.
pub fn holds(keyword: &str) -> Option<(Holds, AppliesTo)> {
    KEYWORDS
        .iter()
        .find(|(name, ..)| *name == keyword)
        .map(|&(_, holds, place)| (holds, place))
}

/// The last step of the way to a subschema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The keyword's value itself.
    Whole,
    /// A name in the keyword's object.
    Name(&'a str),
    /// A place in the keyword's array.
    Index(usize),
}

/// A subschema of an object.
#[derive(Debug, Clone, Copy)]
pub struct Child<'a> {
    /// Under which keyword.
    pub keyword: &'a str,
    /// Where in the keyword's value.
    pub step: Step<'a>,
    /// What the keyword speaks of.
    pub place: AppliesTo,
    /// The subschema.
    pub value: &'a Value,
}

/// Appends the way to a subschema to a JSON Pointer.
pub fn write_pointer(keyword: &str, step: Step<'_>, pointer: &mut String) {
    push_segment(pointer, keyword);
    match step {
        Step::Whole => {}
        Step::Name(name) => push_segment(pointer, name),
        Step::Index(index) => push_segment(pointer, &index.to_string()),
    }
}

/// The subschemas of a schema object, in order.
pub fn children(schema: &Map<String, Value>) -> impl Iterator<Item = Child<'_>> {
    schema.iter().flat_map(|(keyword, value)| {
        let (one, many, named, place) = match (holds(keyword), value) {
            (Some((Holds::One | Holds::OneOrMany, place)), value) if is_schema(value) => {
                (Some(value), None, None, place)
            }
            (Some((Holds::Many | Holds::OneOrMany, place)), Value::Array(items)) => {
                (None, Some(items), None, place)
            }
            (Some((Holds::Named, place)), Value::Object(map)) => (None, None, Some(map), place),
            _ => (None, None, None, AppliesTo::Aside),
        };
        let one = one.into_iter().map(|value| (Step::Whole, value));
        let many = many.into_iter().flatten().enumerate();
        let many = many.map(|(index, value)| (Step::Index(index), value));
        let named = named.into_iter().flatten();
        // `dependencies` may hold arrays of names beside schemas: those are no schemas.
        let named = named.map(|(name, value)| (Step::Name(name), value));
        one.chain(many)
            .chain(named)
            .filter(|(_, value)| is_schema(value))
            .map(move |(step, value)| Child {
                keyword,
                step,
                place,
                value,
            })
    })
}

/// Whether any object within a value is such, be it a schema or not.
pub(crate) fn any_object(value: &Value, is_such: &impl Fn(&Map<String, Value>) -> bool) -> bool {
    match value {
        Value::Object(map) => is_such(map) || map.values().any(|value| any_object(value, is_such)),
        Value::Array(items) => items.iter().any(|item| any_object(item, is_such)),
        _ => false,
    }
}

/// Changes every schema object inside of a schema, from the inside out, and the schema itself.
pub fn rewrite(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map.iter_mut() {
        match (holds(keyword), value) {
            (Some(_), Value::Array(items)) => {
                items.iter_mut().for_each(|item| rewrite(item, change));
            }
            (Some((Holds::Named, _)), Value::Object(named)) => {
                named.values_mut().for_each(|item| rewrite(item, change));
            }
            (Some(_), value) => rewrite(value, change),
            (None, _) => {}
        }
    }
    change(map);
}

/// A keyword's value with other schemas where it has schemas.
pub fn replaced(keyword: &str, value: &Value, new: impl Fn(&Value) -> Value) -> Value {
    match (holds(keyword), value) {
        (Some((Holds::Many | Holds::OneOrMany, _)), Value::Array(items)) => {
            items.iter().map(new).collect()
        }
        (Some((Holds::Named, _)), Value::Object(map)) => map
            .iter()
            .map(|(name, value)| (name.clone(), new(value)))
            .collect::<Map<_, _>>()
            .into(),
        (Some((Holds::One | Holds::OneOrMany, _)), value) if is_schema(value) => new(value),
        _ => value.clone(),
    }
}

/// Whether it is an object or a boolean.
#[must_use]
pub const fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

/// Appends `/segment`, escaped as RFC 6901 says.
pub fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    for c in segment.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// Follows a JSON Pointer; `None` where it leads nowhere.
pub fn follow<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    // serde_json's own `pointer` does exactly RFC 6901, escapes and array places included.
    root.pointer(pointer)
}
