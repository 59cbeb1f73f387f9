//! What compilers make of objects that say nothing of unnamed properties, in words that everything reads: a schema comes
//! in, the same with `additionalProperties: false` in such objects goes out. Whatever satisfies that satisfies the schema.

use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Keywords by which a value may be asked for more than stands in one place, or for less than that.
const CONJOINING: [&str; 7] = [
    "$dynamicRef",
    "allOf",
    "dependencies",
    "dependentSchemas",
    "if",
    "not",
    "oneOf",
];

/// Keywords that speak of properties which are not named.
const OF_OTHERS: [&str; 6] = [
    "additionalProperties",
    "minProperties",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "unevaluatedProperties",
];

/// The schema with its objects closed that name their properties and say nothing of others. As it is, where some place
/// in it may be asked for together with another: closed, they could shut each other out.
#[must_use]
pub fn closed(schema: &Value) -> Cow<'_, Value> {
    if conjoins(schema) {
        return Cow::Borrowed(schema);
    }
    let mut new = schema.clone();
    close(&mut new);
    Cow::Owned(new)
}

fn close(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    for below in ["additionalProperties", "items"] {
        if let Some(below) = map.get_mut(below) {
            close(below);
        }
    }
    for several in ["$defs", "anyOf", "definitions", "prefixItems", "properties"] {
        match map.get_mut(several) {
            Some(Value::Array(list)) => list.iter_mut().for_each(close),
            Some(Value::Object(named)) => named.values_mut().for_each(close),
            _ => {}
        }
    }
    if names_all(map) && !OF_OTHERS.iter().any(|keyword| map.contains_key(*keyword)) {
        map.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// Whether the object names its properties, and all that it requires.
fn names_all(map: &Map<String, Value>) -> bool {
    let Some(properties) = map.get("properties").and_then(Value::as_object) else {
        return false;
    };
    let required = map.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    required.all(|name| properties.contains_key(name))
}

/// Whether some value may be asked for by two places at once. A property that is called as such a keyword counts too: then
/// nothing is closed.
fn conjoins(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let leads_on = ["$ref", "anyOf"].iter().any(|key| map.contains_key(*key));
            leads_on && map.contains_key("properties")
                || CONJOINING.iter().any(|key| map.contains_key(*key))
                || map.values().any(conjoins)
        }
        Value::Array(list) => list.iter().any(conjoins),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::closed;
    use serde_json::{Value, json};

    fn person(open: bool) -> Value {
        let mut person = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        if !open {
            person["additionalProperties"] = json!(false);
        }
        person
    }

    #[test]
    fn objects_that_name_their_properties_are_closed_wherever_they_stand() {
        let around = |person: Value| {
            json!({
                "$defs": {"p": person},
                "type": "object",
                "properties": {
                    "one": {"$ref": "#/$defs/p"},
                    "many": {"type": "array", "items": person},
                    "pair": {"type": "array", "prefixItems": [person]},
                    "maybe": {"anyOf": [person, {"type": "null"}]},
                    "map": {"type": "object", "additionalProperties": person},
                },
                "additionalProperties": true,
            })
        };
        assert_eq!(*closed(&around(person(true))), around(person(false)));
    }

    #[test]
    fn an_object_stays_open_that_says_so_or_needs_what_it_does_not_name() {
        for schema in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["b"]}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}}),
            json!({"type": "object", "properties": {"a": {}}, "minProperties": 2}),
            json!(true),
        ] {
            assert_eq!(*closed(&schema), schema);
        }
    }

    #[test]
    fn nothing_is_closed_where_one_value_may_have_to_satisfy_two_objects() {
        for schema in [
            json!({"allOf": [person(true), {"properties": {"age": {}}}]}),
            json!({"oneOf": [person(true), {"properties": {"age": {}}}]}),
            json!({"not": person(true)}),
            json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]}),
            json!({"$defs": {"p": person(true)}, "$ref": "#/$defs/p", "properties": {"b": {}}}),
        ] {
            assert_eq!(*closed(&schema), schema);
        }
    }
}
