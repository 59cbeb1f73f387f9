//! References at the root, and from it, and as programs write them that never heard of URIs.
//!
//! A fragment takes neither spaces nor letters beyond ASCII: names of definitions with such (`Page<Item>`, `Größe`) are escaped in it.
//!
//! References without their `#`: litellm tells Anthropic's API `{"$ref": "/$defs/Name"}`
//! (`ref_template` in its `llms/anthropic/chat/transformation.py`, 1.110.2), which is a path from the root of some server
//! and leads nowhere by the specification.

use super::graph::percent_encode;
use super::position::{any_object, rewrite};
use serde_json::{Map, Value};
use std::borrow::Cow;

const REF: &str = "$ref";

/// What says nothing of a schema's values: definitions, and notes.
pub(crate) const BESIDE: [&str; 6] = [
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "title",
    "description",
];

/// Reads references that begin with `/` as paths from the root of this very schema, where they lead to something there and no
/// `$id` says otherwise. Whether any does.
pub(crate) fn mend(schema: &mut Value) -> bool {
    if schema.get("$id").is_some() || !any_object(schema, &|map| rooted(map).is_some()) {
        return false;
    }
    let root = schema.clone();
    let mut is_mended = false;
    rewrite(schema, &mut |map| {
        if let Some(reference) = rooted(map)
            && root.pointer(reference).is_some()
        {
            let spelled = format!("#{reference}");
            map.insert(REF.to_owned(), Value::String(spelled));
            is_mended = true;
        }
    });
    is_mended
}

/// Escapes in references within the schema what no URI takes as it is. Whether there is any.
pub(crate) fn escape(schema: &mut Value) -> bool {
    if !any_object(schema, &|map| escaped(map).is_some()) {
        return false;
    }
    let mut is_mended = false;
    rewrite(schema, &mut |map| {
        if let Some(escaped) = escaped(map) {
            map.insert(REF.to_owned(), Value::String(escaped));
            is_mended = true;
        }
    });
    is_mended
}

fn escaped(map: &Map<String, Value>) -> Option<String> {
    let reference = map.get(REF)?.as_str()?;
    let pointer = reference
        .strip_prefix('#')
        .filter(|it| it.starts_with('/'))?;
    match percent_encode(pointer, true) {
        Cow::Owned(escaped) => Some(format!("#{escaped}")),
        Cow::Borrowed(_) => None,
    }
}

/// What the root refers to, in its place; `None` where it refers to nothing else, or says more than that.
pub(crate) fn in_place(schema: &Value) -> Option<Value> {
    /// Definitions that lead to others, and those to others.
    const MOST_STEPS: usize = 8;
    let map = schema.as_object()?;
    let mut target = map;
    for _ in 0..MOST_STEPS {
        let Some(reference) = target.get(REF) else {
            break;
        };
        let says_more = target.len() > 1 && !std::ptr::eq(target, map);
        let pointer = reference.as_str()?.strip_prefix('#')?;
        target = schema
            .pointer(pointer)
            .filter(|_| !says_more)?
            .as_object()?;
    }
    if target.contains_key(REF) || std::ptr::eq(target, map) {
        return None;
    }
    let mut beside = map.clone();
    beside.shift_remove(REF);
    if beside.keys().any(|name| !BESIDE.contains(&name.as_str())) {
        return None;
    }
    let mut rooted = target.clone();
    rooted.extend(beside);
    Some(Value::Object(rooted))
}

fn rooted(map: &Map<String, Value>) -> Option<&str> {
    let reference = map.get(REF)?.as_str()?;
    reference.starts_with('/').then_some(reference)
}

#[cfg(test)]
mod tests {
    use super::{escape, in_place, mend};
    use serde_json::{Value, json};

    fn mended(mut schema: Value) -> Value {
        mend(&mut schema);
        schema
    }

    #[test]
    fn a_path_from_the_root_is_one_within_the_schema() {
        let schema = |reference: &str| {
            json!({"$defs": {"P": {"type": "string"}}, "properties": {
                "default": {"items": {"$ref": reference}},
                "x": {"anyOf": [{"$ref": reference}, {"type": "null"}], "default": {"$ref": "/$defs/P"}, "const": {"$ref": "/$defs/P"}},
            }})
        };
        assert_eq!(mended(schema("/$defs/P")), schema("#/$defs/P"));
    }

    #[test]
    fn a_name_that_no_uri_takes_is_escaped_in_the_reference() {
        let schema = |reference: &str| json!({"$defs": {"Page<Item>": {}, "a b": {}, "Größe": {}, "50%": {}}, "items": {"$ref": reference}, "default": {"$ref": "#/ "}});
        for (said, meant) in [
            ("#/$defs/Page<Item>", "#/$defs/Page%3CItem%3E"),
            ("#/$defs/a b", "#/$defs/a%20b"),
            ("#/$defs/Größe", "#/$defs/Gr%C3%B6%C3%9Fe"),
            ("#/$defs/50%", "#/$defs/50%25"),
        ] {
            let mut mended = schema(said);
            assert!(escape(&mut mended));
            assert_eq!(mended, schema(meant));
            // What is escaped already stays.
            assert!(!escape(&mut mended), "{mended}");
            assert!(
                crate::schema::Validator::compile(&mended).is_ok(),
                "{mended}"
            );
        }
        assert!(!escape(&mut schema("#anchor ")) && !escape(&mut schema("other.json#/a b")));
    }

    #[test]
    fn what_the_root_leads_to_stands_in_its_place_with_all_definitions() {
        let definitions = json!({"A": {"$ref": "#/$defs/B"}, "B": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}}});
        let schema = json!({"$ref": "#/$defs/A", "title": "T", "$defs": definitions});
        let rooted = json!({"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}, "title": "T", "$defs": definitions});
        assert_eq!(in_place(&schema), Some(rooted));
        for stays in [
            json!({"type": "object", "$defs": {}}),
            json!({"$ref": "#"}),
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}),
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B", "minLength": 1}, "B": {}}}),
            json!({"$ref": "#/$defs/A", "minProperties": 1, "$defs": {"A": {}}}),
            json!({"$ref": "other.json"}),
        ] {
            assert_eq!(in_place(&stays), None, "{stays}");
        }
    }

    #[test]
    fn what_leads_elsewhere_or_nowhere_stays() {
        for schema in [
            json!({"items": {"$ref": "/$defs/Q"}, "$defs": {"P": {}}}),
            json!({"$id": "https://x.example/a", "items": {"$ref": "/$defs/P"}, "$defs": {"P": {}}}),
            json!({"items": {"$ref": "P"}, "$defs": {"P": {}}}),
            json!({"properties": {"$ref": {"type": "string"}}}),
        ] {
            assert_eq!(mended(schema.clone()), schema);
        }
    }
}
