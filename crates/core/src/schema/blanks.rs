//! What programs write for nothing in schemas, and types in capitals: PHP's `[]` for an object without members (`"properties": []`:
//! modelcontextprotocol/php-sdk#411, WordPress/ai-provider-for-openai#24), `null` for a keyword that is not said, `STRING` as Gemini's
//! API has it. None of it is a schema's, and each has one meaning. So have bounds that a truth says to be exclusive, as in draft 4 and
//! OpenAPI 3.0, where no draft is named or a later one: since draft 6 a number says so.

use super::position::{Holds, any_object, holds, rewrite};
use super::validator::draft_of;
use isogloss_validate::Draft;
use serde_json::{Map, Value, json};

/// What holds no schema, and is never `null`. What is `type`, `const` or `default` may be meant so.
const ASSERTING: [&str; 18] = [
    "enum",
    "required",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "title",
    "description",
];

/// What a truth said something of, and of which bound.
const EXCLUSIVE: [(&str, &str); 2] = [
    ("exclusiveMinimum", "minimum"),
    ("exclusiveMaximum", "maximum"),
];

const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// Reads them as what they mean, in every schema within this one. Whether there is any.
pub(crate) fn mend(schema: &mut Value) -> bool {
    let is_draft4 = draft_of(schema) == Some(Draft::Draft4);
    let is_such = |map: &Map<String, Value>| {
        let mut all = map.iter();
        all.any(|(name, value)| meant(name, value) != Meant::Same)
            || is_empty_list(map) && is_draft4
            || !is_draft4 && has_truths(map)
    };
    if !any_object(schema, &is_such) {
        return false;
    }
    let mut is_mended = false;
    rewrite(schema, &mut |map| {
        for name in map.keys().cloned().collect::<Vec<_>>() {
            let said = map
                .get(&name)
                .map_or(Meant::Same, |value| meant(&name, value));
            is_mended |= said != Meant::Same;
            match said {
                Meant::Same => {}
                Meant::Nothing => drop(map.shift_remove(&name)),
                Meant::Other(value) => drop(map.insert(name, value)),
            }
        }
        if is_draft4 && is_empty_list(map) {
            map.shift_remove("required");
            is_mended = true;
        }
        is_mended |= !is_draft4 && with_numbers(map);
    });
    is_mended
}

/// Whether nothing is required, in a list: draft 4 alone takes none without members.
fn is_empty_list(map: &Map<String, Value>) -> bool {
    let required = map.get("required").and_then(Value::as_array);
    required.is_some_and(Vec::is_empty)
}

fn has_truths(map: &Map<String, Value>) -> bool {
    let mut all = EXCLUSIVE.iter();
    all.any(|(exclusive, _)| map.get(*exclusive).is_some_and(Value::is_boolean))
}

/// Says exclusive bounds by their numbers; whether there was any truth.
fn with_numbers(map: &mut Map<String, Value>) -> bool {
    let mut is_mended = false;
    for (exclusive, bound) in EXCLUSIVE {
        let Some(is_exclusive) = map.get(exclusive).and_then(Value::as_bool) else {
            continue;
        };
        map.shift_remove(exclusive);
        if is_exclusive && let Some(limit) = map.shift_remove(bound) {
            map.insert(exclusive.to_owned(), limit);
        }
        is_mended = true;
    }
    is_mended
}

/// What a keyword's value means.
#[derive(PartialEq)]
enum Meant {
    Same,
    Nothing,
    Other(Value),
}

fn meant(keyword: &str, value: &Value) -> Meant {
    let held = holds(keyword).map(|(held, _)| held);
    match (value, held) {
        (Value::Null, held) if held.is_some() || ASSERTING.contains(&keyword) => Meant::Nothing,
        (Value::Array(items), Some(Holds::Named | Holds::One | Holds::OneOrMany))
            if items.is_empty() =>
        {
            Meant::Other(json!({}))
        }
        (Value::Object(named), Some(Holds::Named)) if keyword != "dependencies" => {
            let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
            if !named.values().any(is_empty) {
                return Meant::Same;
            }
            let mended = named.iter().map(|(name, value)| match is_empty(value) {
                true => (name.clone(), json!({})),
                false => (name.clone(), value.clone()),
            });
            Meant::Other(Value::Object(mended.collect()))
        }
        _ if keyword == "type" => in_small_letters(value).map_or(Meant::Same, Meant::Other),
        _ => Meant::Same,
    }
}

/// A type, or a list of some, that is one in small letters alone.
fn in_small_letters(value: &Value) -> Option<Value> {
    match value {
        Value::String(word) => {
            let is_other = |kind: &&&str| word.eq_ignore_ascii_case(kind) && word != **kind;
            TYPES.iter().find(is_other).map(|kind| json!(kind))
        }
        Value::Array(words) => {
            let mut small = words.clone();
            for word in small.iter_mut().filter(|word| word.is_string()) {
                if let Some(other) = in_small_letters(word) {
                    *word = other;
                }
            }
            (small != *words).then(|| Value::Array(small))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::mend;
    use serde_json::{Value, json};

    fn mended(mut schema: Value) -> Value {
        mend(&mut schema);
        schema
    }

    #[test]
    fn what_is_written_for_nothing_says_nothing() {
        for (schema, meant) in [
            (
                json!({"type": "object", "properties": [], "required": null}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"type": "OBJECT", "properties": {"a": {"type": ["STRING", "null"], "enum": null, "items": null}, "b": []}}),
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {}}}),
            ),
            (
                json!({"items": {"minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false}}),
                json!({"items": {"exclusiveMinimum": 1, "maximum": 2}}),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "minimum": 1, "exclusiveMinimum": true}),
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "exclusiveMinimum": 1}),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-04/schema#", "required": [], "items": {"required": ["a"]}}),
                json!({"$schema": "http://json-schema.org/draft-04/schema#", "items": {"required": ["a"]}}),
            ),
            (
                json!({"items": [], "$defs": null, "anyOf": [{"properties": null}]}),
                json!({"items": {}, "anyOf": [{}]}),
            ),
        ] {
            assert_eq!(mended(schema.clone()), meant, "{schema}");
        }
    }

    #[test]
    fn what_is_data_or_a_name_stays() {
        for schema in [
            json!({"const": null, "default": {"required": null, "type": "STRING", "properties": []}, "enum": [null, "STRING"]}),
            json!({"type": "object", "properties": {"type": {"const": "STRING"}, "required": {}, "items": {}}}),
            json!({"type": "Text"}),
            json!({"required": [], "allOf": [], "dependencies": {"a": []}}),
            json!({"properties": {"exclusiveMinimum": true}}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true}),
        ] {
            assert!(!mend(&mut schema.clone()), "{schema}");
        }
    }
}
