//! What a server makes of a schema, said in JSON Schema: the schema that it was sent comes in, the
//! one that it really enforces goes out. Written from the server's side, not from the compiler's.

use isogloss::schema::Profile;
use isogloss::schema::profile::{
    AllOf, Bounds, Counts, Lengths, OneOf, Optional, OtherFormats, PatternReading, Siblings, Types,
};
use serde_json::{Map, Value, json};

const DECIDERS: [&str; 6] = ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"];
const NOTES: [&str; 7] = [
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "id",
];

/// `None` where the server refuses the schema.
///
/// That a server closes objects which say nothing of further properties is left out: all that it
/// then writes is what the client allows.
pub(crate) fn read(schema: &Value, profile: &Profile) -> Option<Value> {
    let Value::Object(map) = schema else {
        return Some(schema.clone());
    };
    let mut read = Map::new();
    if profile.counts == Counts::RequiredOnly && counts_optional(map) {
        return None;
    }
    if profile.optional == Optional::Refused && has_optional(map)
        || profile.types == Types::One && map.get("type").is_some_and(Value::is_array)
    {
        return None;
    }
    for (keyword, value) in map {
        if is_refused(keyword, value, profile) {
            return None;
        }
        if profile.ignored.contains(keyword) || is_idle(keyword, value, map, profile) {
            continue;
        }
        read.insert(keyword.clone(), inside(keyword, value, profile)?);
    }
    if profile.siblings == Siblings::Dropped
        && let Some(first) = DECIDERS.iter().find(|keyword| read.contains_key(**keyword))
    {
        read.retain(|keyword, _| keyword == first || NOTES.contains(&keyword.as_str()));
    }
    if let Some(Value::Array(branches)) = read.get("allOf") {
        match profile.all_of {
            AllOf::Enforced => {}
            AllOf::AnyJson if branches.len() > 1 => {
                read.shift_remove("allOf");
            }
            AllOf::AnyJson => {}
            AllOf::Merged | AllOf::Refused => return None,
        }
    }
    if let Some(branches) = read.get("oneOf").cloned() {
        match profile.one_of {
            OneOf::Enforced => {}
            OneOf::AnyOf => {
                read.shift_remove("oneOf");
                read.insert("allOf".to_owned(), json!([{ "anyOf": branches }]));
            }
            OneOf::Refused => return None,
        }
    }
    text(&mut read, profile)?;
    Some(Value::Object(read))
}

fn is_refused(keyword: &str, value: &Value, profile: &Profile) -> bool {
    let unknown = |known: &Vec<String>| !known.iter().any(|name| value == name);
    let many = |value: &Value| {
        let most = profile.max_min_items;
        most.is_some_and(|most| value.as_u64().is_some_and(|least| least > most))
    };
    profile.removed.iter().any(|removed| removed == keyword)
        || profile
            .known
            .as_ref()
            .is_some_and(|known| !known.iter().any(|name| name == keyword))
        || keyword == "minItems" && many(value)
        || keyword == "format"
            && profile.other_formats == OtherFormats::Refused
            && profile.formats.as_ref().is_some_and(unknown)
}

/// Keywords that count for nothing here.
fn is_idle(keyword: &str, value: &Value, map: &Map<String, Value>, profile: &Profile) -> bool {
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let unknown = |known: &Vec<String>| !known.iter().any(|name| value == name);
    keyword == "format" && profile.formats.as_ref().is_some_and(unknown)
        || bounds.contains(&keyword)
            && profile.bounds == Bounds::Integers
            && map.get("type") != Some(&json!("integer"))
}

/// A named property that is not required, and that does not contain its own kind: no server can
/// require such a one.
fn has_optional(map: &Map<String, Value>) -> bool {
    let named = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    named
        .into_iter()
        .flatten()
        .any(|(name, schema)| !is_required(name) && !schema.to_string().contains("\"$ref\""))
}

/// llguidance: it counts only where all named properties are required, or where one of them, and
/// nothing else, may be there or must.
fn counts_optional(map: &Map<String, Value>) -> bool {
    let count = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
    let (least, most) = (count("minProperties"), count("maxProperties"));
    let named = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let is_required =
        |name: &String| required.is_some_and(|names| names.iter().any(|it| it == name));
    let (fixed, optional): (Vec<&String>, Vec<&String>) = named
        .into_iter()
        .flat_map(Map::keys)
        .partition(|name| is_required(name));
    let fixed = fixed.len() as u64;
    if optional.is_empty() || least.unwrap_or(0) <= fixed && most.is_none() {
        return false;
    }
    let is_closed = map.get("additionalProperties") == Some(&json!(false))
        && !map.contains_key("patternProperties");
    let is_one = least.unwrap_or(0) <= fixed + 1 && most.is_none_or(|most| most == fixed + 1);
    !(is_closed && is_one)
}

fn text(read: &mut Map<String, Value>, profile: &Profile) -> Option<()> {
    let is_shaped = read.contains_key("pattern") || read.contains_key("format");
    for keyword in ["minLength", "maxLength"] {
        if is_shaped && read.contains_key(keyword) {
            match profile.lengths {
                Lengths::Enforced => {}
                Lengths::Ignored => {
                    read.shift_remove(keyword);
                }
                Lengths::Refused => return None,
            }
        }
    }
    if let (PatternReading::Whole, Some(Value::String(pattern))) =
        (profile.pattern, read.get_mut("pattern"))
    {
        *pattern = format!("^(?:{pattern})$");
    }
    Some(())
}

fn inside(keyword: &str, value: &Value, profile: &Profile) -> Option<Value> {
    match (keyword, value) {
        (
            "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas"
            | "dependencies",
            Value::Object(named),
        ) => {
            let read = named
                .iter()
                .map(|(name, schema)| Some((name.clone(), self::read(schema, profile)?)));
            read.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
            let read = schemas.iter().map(|schema| self::read(schema, profile));
            read.collect::<Option<Vec<_>>>().map(Value::Array)
        }
        (
            "items"
            | "additionalProperties"
            | "additionalItems"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedProperties"
            | "unevaluatedItems",
            Value::Object(_),
        ) => read(value, profile),
        _ => Some(value.clone()),
    }
}
