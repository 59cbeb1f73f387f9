//! Alternatives of objects in; one object that lets all of them pass, and more, out. For servers that
//! take no schema without `properties` at its root, which a union of calls does not have.

use crate::schema::rooted::BESIDE;
use serde_json::{Map, Value, json};

const BRANCH: [&str; 6] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "title",
    "description",
];

/// Whatever satisfies one of the alternatives satisfies what comes out. `None` where the schema is
/// no choice of plain objects.
pub(super) fn one_object(schema: &Value) -> Option<Value> {
    let map = schema.as_object()?;
    let (key, alternatives) = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| Some((*key, map.get(*key)?.as_array()?)))?;
    let is_plain = map
        .keys()
        .all(|name| name == key || BESIDE.contains(&name.as_str()));
    let branches: Option<Vec<Branch<'_>>> = alternatives.iter().map(Branch::of).collect();
    let branches = branches.filter(|branches| is_plain && !branches.is_empty())?;
    let mut properties = Map::new();
    for branch in &branches {
        for name in branch.properties.keys() {
            if !properties.contains_key(name) {
                properties.insert(name.clone(), property(name, &branches));
            }
        }
    }
    let first = branches.first()?;
    let is_everywhere = |name: &&str| branches.iter().all(|branch| branch.required.contains(name));
    let required: Vec<&str> = first
        .required
        .iter()
        .copied()
        .filter(is_everywhere)
        .collect();
    let mut one: Map<String, Value> = map
        .iter()
        .filter(|(name, _)| *name != key)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    one.insert("type".to_owned(), json!("object"));
    one.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        one.insert("required".to_owned(), json!(required));
    }
    if branches.iter().all(|branch| branch.is_closed) {
        one.insert("additionalProperties".to_owned(), json!(false));
    }
    Some(Value::Object(one))
}

struct Branch<'s> {
    properties: &'s Map<String, Value>,
    required: Vec<&'s str>,
    /// Other properties than those that are named are not allowed.
    is_closed: bool,
}

impl<'s> Branch<'s> {
    fn of(schema: &'s Value) -> Option<Self> {
        let map = schema.as_object()?;
        let is_plain = map.keys().all(|name| BRANCH.contains(&name.as_str()));
        let required = map.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        (is_plain && map.get("type")? == "object").then_some(())?;
        Some(Self {
            properties: map.get("properties")?.as_object()?,
            required: required.collect(),
            is_closed: map.get("additionalProperties") == Some(&Value::Bool(false)),
        })
    }
}

/// What a property may be in any of the branches.
fn property(name: &str, branches: &[Branch<'_>]) -> Value {
    let mut all: Vec<&Value> = Vec::new();
    for branch in branches {
        match branch.properties.get(name) {
            Some(schema) if !all.contains(&schema) => all.push(schema),
            Some(_) => {}
            // Where it is not named, and others are allowed, it may be anything.
            None if !branch.is_closed => return json!({}),
            None => {}
        }
    }
    if let [one] = all.as_slice() {
        return (*one).clone();
    }
    match all.iter().map(|schema| values(schema)).collect() {
        Some(values) => {
            let values: Vec<Vec<Value>> = values;
            let mut kinds: Vec<Value> = Vec::new();
            for value in values.into_iter().flatten() {
                if !kinds.contains(&value) {
                    kinds.push(value);
                }
            }
            json!({"enum": kinds})
        }
        None => json!({"anyOf": all}),
    }
}

/// The values of an enumeration and of nothing else, but for their type.
fn values(schema: &Value) -> Option<Vec<Value>> {
    let map = schema.as_object()?;
    let is_other = |name: &String| !["enum", "const", "type"].contains(&name.as_str());
    if map.keys().any(is_other) || map.contains_key("enum") == map.contains_key("const") {
        return None;
    }
    match (map.get("enum"), map.get("const")) {
        (Some(Value::Array(values)), _) => Some(values.clone()),
        (_, Some(value)) => Some(vec![value.clone()]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::one_object;
    use serde_json::{Value, json};

    fn call(name: &str, parameters: &Value) -> Value {
        json!({"type": "object", "properties": {"name": {"enum": [name]}, "arguments": parameters},
            "required": ["name", "arguments"], "additionalProperties": false})
    }

    #[test]
    fn calls_become_one_whose_name_and_arguments_are_those_of_any() {
        let (a, b) = (
            json!({"type": "object"}),
            json!({"type": "object", "title": "b"}),
        );
        let union =
            json!({"anyOf": [call("f", &a), call("g", &b), call("h", &a)], "$defs": {"x": {}}});
        let one = json!({
            "$defs": {"x": {}}, "type": "object",
            "properties": {"name": {"enum": ["f", "g", "h"]}, "arguments": {"anyOf": [a, b]}},
            "required": ["name", "arguments"], "additionalProperties": false,
        });
        assert_eq!(one_object(&union), Some(one));
    }

    #[test]
    fn what_one_of_them_leaves_open_stays_open() {
        let open =
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]});
        let closed = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"const": "x"}},
            "required": ["a", "b"], "additionalProperties": false});
        let one = json!({
            "type": "object",
            "properties": {"b": {"anyOf": [{"type": "string"}, {"const": "x"}]}, "a": {}}, "required": ["b"],
        });
        assert_eq!(one_object(&json!({"anyOf": [open, closed]})), Some(one));
    }

    #[test]
    fn what_is_no_choice_of_plain_objects_is_left() {
        for schema in [
            json!({"type": "object", "properties": {}}),
            json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {}}]}),
            json!({"anyOf": [{"$ref": "#/$defs/a"}]}),
            json!({"anyOf": [{"type": "object", "properties": {}, "minProperties": 1}]}),
            json!({"anyOf": [{"type": "object", "properties": {}}], "not": {}}),
            json!({"anyOf": []}),
            json!(true),
        ] {
            assert_eq!(one_object(&schema), None, "{schema}");
        }
    }
}
