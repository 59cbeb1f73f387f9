//! The properties of two objects: what both schemas say of them comes in, one saying of both goes
//! out.

use super::Lowering;
use super::conjoin::{Fail, PROPERTIES};
use serde_json::{Map, Value};

/// What both say of properties, written into `both`.
pub(super) fn merge(
    lowering: &mut Lowering<'_>,
    a: &Map<String, Value>,
    b: &Map<String, Value>,
    both: &mut Map<String, Value>,
) -> Result<(), Fail> {
    let says =
        |map: &Map<String, Value>| PROPERTIES.iter().any(|keyword| map.contains_key(*keyword));
    if !says(a) || !says(b) {
        return Ok(());
    }
    if PROPERTIES
        .iter()
        .all(|keyword| a.get(*keyword) == b.get(*keyword))
    {
        return Ok(());
    }
    for keyword in ["patternProperties", "unevaluatedProperties"] {
        if a.contains_key(keyword) || b.contains_key(keyword) {
            return Err(Fail::Inexact);
        }
    }
    let none = Map::new();
    let named = |map: &'_ Map<String, Value>| match map.get("properties") {
        Some(Value::Object(named)) => named.clone(),
        _ => none.clone(),
    };
    let (ours, theirs) = (named(a), named(b));
    let (our_rest, their_rest) = (rest_of(a), rest_of(b));
    let rest = match lowering.conjoin_values(our_rest, their_rest) {
        Err(Fail::Never) => Value::Bool(false),
        other => other?,
    };
    let mut properties = Map::new();
    let names = ours
        .keys()
        .chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
    for name in names {
        let left = ours.get(name).unwrap_or(our_rest);
        let right = theirs.get(name).unwrap_or(their_rest);
        match lowering.conjoin_values(left, right) {
            Ok(schema) => {
                properties.insert(name.clone(), schema);
            }
            // What is no object satisfies all that is said of properties.
            Err(Fail::Never) if is_required(both, name) => {
                let is_object = both.get("type") == Some(&Value::from("object"));
                return Err(if is_object {
                    Fail::Never
                } else {
                    Fail::Inexact
                });
            }
            // Not named in a closed object, it cannot be there.
            Err(Fail::Never) if rest == Value::Bool(false) => {}
            Err(_) => return Err(Fail::Inexact),
        }
    }
    if a.contains_key("properties") || b.contains_key("properties") {
        both.insert("properties".to_owned(), Value::Object(properties));
    }
    if a.contains_key("additionalProperties") || b.contains_key("additionalProperties") {
        both.insert("additionalProperties".to_owned(), rest);
    }
    Ok(())
}

fn rest_of(map: &Map<String, Value>) -> &Value {
    map.get("additionalProperties")
        .unwrap_or(&Value::Bool(true))
}

fn is_required(map: &Map<String, Value>, name: &str) -> bool {
    let is_it = |names: &Vec<Value>| names.iter().any(|known| known == name);
    map.get("required")
        .and_then(Value::as_array)
        .is_some_and(is_it)
}
