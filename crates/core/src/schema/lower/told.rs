//! What a server does not hold, told to its model: in the description of the schema at hand, as Anthropic's SDK does
//! (anthropics/anthropic-sdk-python@009b0353, `lib/_parse/_transform.py`). Whoever is told of a pattern nowhere meets it by luck alone.

use super::{Unkept, Why};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Of one keyword that is told; a longer one says less than it costs.
const MAX_BYTES: usize = 300;

/// Of a schema that is told as a whole.
const MAX_WHOLE_BYTES: usize = 4000;

/// Keywords that say something to whoever reads them by themselves.
const TOLD: [&str; 28] = [
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "dependentRequired",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "pattern",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "uniqueItems",
];

/// The lowered schema with descriptions of what it lost of the stated one, where it does not have them yet.
pub fn described<'s>(lowered: Cow<'s, Value>, stated: &Value, losses: &[Unkept]) -> Cow<'s, Value> {
    let mut places: Vec<(&str, Vec<String>)> = Vec::new();
    for loss in losses.iter().filter(|loss| loss.why != Why::Narrower) {
        let Some((place, _)) = loss.pointer.rsplit_once('/') else {
            continue;
        };
        let value = stated.pointer(&loss.pointer);
        let Some(value) = value.filter(|_| TOLD.contains(&loss.keyword.as_str())) else {
            continue;
        };
        let target = lowered.pointer(place).and_then(Value::as_object);
        let is_lost = |map: &Map<String, Value>| {
            !map.contains_key("$ref") && map.get(&loss.keyword) != Some(value)
        };
        let text = format!("{}: {value}", loss.keyword);
        if !target.is_some_and(is_lost) || text.len() > MAX_BYTES {
            continue;
        }
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, texts)) => texts.push(text),
            None => places.push((place, vec![text])),
        }
    }
    if places.is_empty() {
        return lowered;
    }
    let mut told = lowered.into_owned();
    for (place, texts) in places {
        let target = told.pointer_mut(place).and_then(Value::as_object_mut);
        if let Some(map) = target {
            describe(map, &format!("{{{}}}", texts.join(", ")));
        }
    }
    Cow::Owned(told)
}

/// Adds to what a schema says of itself, once.
pub(crate) fn describe(map: &mut Map<String, Value>, text: &str) {
    let known = map.get("description").and_then(Value::as_str);
    let all = match known.filter(|known| !known.is_empty()) {
        Some(known) if known.ends_with(text) => return,
        Some(known) => format!("{known}\n\n{text}"),
        None => text.to_owned(),
    };
    map.insert("description".to_owned(), Value::String(all));
}

/// The same where the model is shown the lowered schema alone: what cannot be told at its own place (a conjunction, a reference, what
/// stood within one) is told as a whole.
pub fn described_in_full<'s>(
    lowered: Cow<'s, Value>,
    stated: &Value,
    losses: &[Unkept],
) -> Cow<'s, Value> {
    let told = described(lowered, stated, losses);
    if !losses.iter().any(|loss| is_untold(&told, stated, loss)) {
        return told;
    }
    let all = stated.to_string();
    if all.len() > MAX_WHOLE_BYTES || !told.is_object() {
        return told;
    }
    let mut told = told.into_owned();
    if let Some(map) = told.as_object_mut() {
        describe(
            map,
            &format!("All of it has to satisfy this JSON Schema: {all}"),
        );
    }
    Cow::Owned(told)
}

/// Whether nobody who reads the schema knows of what was lost.
fn is_untold(told: &Value, stated: &Value, loss: &Unkept) -> bool {
    if loss.why == Why::Narrower {
        return false;
    }
    let place = loss.pointer.rsplit_once('/').map(|(place, _)| place);
    let target = place.and_then(|place| told.pointer(place)?.as_object());
    let (Some(target), Some(value)) = (target, stated.pointer(&loss.pointer)) else {
        return true;
    };
    let text = format!("{}: {value}", loss.keyword);
    let described = target.get("description").and_then(Value::as_str);
    target.get(&loss.keyword) != Some(value)
        && !described.is_some_and(|known| known.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::{Unkept, Why, described_in_full};
    use serde_json::{Value, json};
    use std::borrow::Cow;

    fn told(lowered: &Value, stated: &Value, pointer: &str) -> String {
        let keyword = pointer.rsplit('/').next().unwrap_or_default().to_owned();
        let losses = [Unkept {
            pointer: pointer.to_owned(),
            keyword,
            why: Why::Inexact,
        }];
        let told = described_in_full(Cow::Borrowed(lowered), stated, &losses);
        told["description"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn what_cannot_be_told_at_its_own_place_is_told_as_a_whole() {
        let stated = json!({"type": "object", "allOf": [{"properties": {"a": {"multipleOf": 3}}}], "description": "It."});
        let lowered = json!({"type": "object", "description": "It."});
        let all = told(&lowered, &stated, "/allOf");
        assert!(
            all.starts_with("It.\n\n") && all.ends_with(&stated.to_string()),
            "{all}"
        );
        // What was within it is nowhere either.
        let all = told(&lowered, &stated, "/allOf/0/properties/a/multipleOf");
        assert!(all.contains("multipleOf"), "{all}");
        // At its own place it is enough.
        let stated = json!({"type": "object", "not": {"required": ["b"]}});
        let all = told(&json!({"type": "object"}), &stated, "/not");
        assert_eq!(all, r#"{not: {"required":["b"]}}"#);
        // What is still there need not be told.
        assert_eq!(told(&stated, &stated, "/not"), "");
    }
}
