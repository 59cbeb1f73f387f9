//! What a server does not hold, told to its model: in the description of the schema at hand, as Anthropic's SDK does
//! (anthropics/anthropic-sdk-python@009b0353, `lib/_parse/_transform.py`). Whoever is told of a pattern nowhere meets it by luck alone.

use super::{Unkept, Why};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Of one keyword that is told; a longer one says less than it costs.
const MAX_BYTES: usize = 300;

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
            let mut all = format!("{{{}}}", texts.join(", "));
            if let Some(Value::String(known)) = map.get("description") {
                if known.ends_with(&all) {
                    continue;
                }
                all = format!("{known}\n\n{all}");
            }
            map.insert("description".to_owned(), Value::String(all));
        }
    }
    Cow::Owned(told)
}
