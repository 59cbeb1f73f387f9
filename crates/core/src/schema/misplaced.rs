//! A schema that says nothing of JSON Schema's, though it was meant to say something: a map of properties without what
//! stands around it, `properties` under another name, or all of it in another object. It would allow anything, and nobody would
//! hear of it; `OpenAI` refuses the first two ("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'": browserbase/stagehand#1159).
//!
//! Annotations that nobody knows may look like schemas, too: below the root only that is refused which can be nothing else.

use super::SchemaFault;
use super::graph::Graph;
use crate::error::repeatable;
use serde_json::{Map, Value};

/// Keywords that say what is allowed, but for those that say nothing of an object whose properties stand elsewhere (`required`,
/// `additionalProperties` as a boolean).
const SAYING: [&str; 41] = [
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// Keywords that only tell of it, whatever their values are.
const TELLING: [&str; 11] = [
    "additionalProperties",
    "default",
    "discriminator",
    "enumDescriptions",
    "errorMessage",
    "example",
    "examples",
    "externalDocs",
    "required",
    "type",
    "xml",
];

/// Annotations of programs, whose values may be anything. As properties they have a type of JSON Schema's.
const ANNOTATIONS: [&str; 33] = [
    "annotations",
    "config",
    "deprecated",
    "description",
    "enumNames",
    "errorMessages",
    "errors",
    "extensions",
    "field",
    "form",
    "hint",
    "hints",
    "id",
    "input",
    "kind",
    "links",
    "markdownDescription",
    "meta",
    "metadata",
    "options",
    "prefault",
    "props",
    "readOnly",
    "settings",
    "strict",
    "tags",
    "title",
    "ui",
    "uiSchema",
    "validation",
    "view",
    "widget",
    "writeOnly",
];

/// Refuses such a schema.
pub(super) fn check(graph: &Graph<'_>) -> Result<(), SchemaFault> {
    if let Some(Value::Object(map)) = graph.nodes.first().map(|root| root.value) {
        check_wrapper(map)?;
        check_root(graph, map)?;
    }
    let mut is_seen = vec![false; graph.nodes.len()];
    let mut pending = vec![0];
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut is_seen[id], true) {
            continue;
        }
        let edges = graph.nodes[id].edges.iter();
        pending.extend(edges.map(|&(to, _)| to));
        if let Value::Object(map) = graph.nodes[id].value {
            check_node(graph, map).map_err(|fault| fault.below(&graph.pointer(id)))?;
        }
    }
    Ok(())
}

/// What a schema allows, as far as its type tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allows {
    Anything,
    Objects,
    Lists,
}

/// `None` where its type says all that was meant.
fn allows(map: &Map<String, Value>) -> Option<Allows> {
    let stated = match map.get("type") {
        // A property of that name.
        None | Some(Value::Object(_)) => return Some(Allows::Anything),
        Some(Value::Array(kinds)) if kinds.len() == 1 => kinds.first(),
        stated => stated,
    };
    let stated = stated.and_then(Value::as_str)?;
    match stated.to_ascii_lowercase().as_str() {
        "object" => Some(Allows::Objects),
        "array" => Some(Allows::Lists),
        _ => None,
    }
}

/// Whether a keyword says what is allowed.
fn says(map: &Map<String, Value>) -> bool {
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    map.iter().any(|(name, value)| match name.as_str() {
        "properties" | "patternProperties" => !is_empty(value),
        "additionalProperties" => !value.is_boolean(),
        name => SAYING.contains(&name),
    })
}

fn fault(name: &str, value: &Value, allows: Allows) -> SchemaFault {
    let name = repeatable(name);
    let remedy = match allows {
        Allows::Lists => "any list is allowed: is it `items`?",
        _ if value.as_object().is_some_and(holds_schemas) => {
            "any object is allowed: is it `properties`?"
        }
        _ => {
            "anything is allowed: put the properties under `properties`, beside \"type\": \"object\""
        }
    };
    let message = format!("`{name}` is no keyword of JSON Schema, and without one {remedy}");
    SchemaFault::invalid("", message)
}

/// At the root one member tells that something was meant.
fn check_root(graph: &Graph<'_>, map: &Map<String, Value>) -> Result<(), SchemaFault> {
    let Some(allows) = allows(map).filter(|allows| *allows != Allows::Lists) else {
        return Ok(());
    };
    // Who writes `properties` knows the word.
    if says(map) || map.contains_key("properties") {
        return Ok(());
    }
    let is_untyped = allows == Allows::Anything;
    let is_it = |(name, value): &(&String, &Value)| {
        is_meant(name, value, is_untyped) && graph.id_of(value).is_none()
    };
    match map.iter().find(is_it) {
        Some((name, value)) => Err(fault(name, value, allows)),
        None => Ok(()),
    }
}

/// Anywhere, what is no keyword and no annotation has to be schemas, and nothing else.
fn check_node(graph: &Graph<'_>, map: &Map<String, Value>) -> Result<(), SchemaFault> {
    let Some(allows) = allows(map).filter(|_| !says(map)) else {
        return Ok(());
    };
    let (mut schemas, mut is_sure, mut first) = (0, false, None);
    for (name, value) in map {
        // What a reference leads to is a definition under a name of its own.
        let inner = value.as_object();
        let inner = inner.filter(|inner| is_schema(inner) && graph.id_of(value).is_none());
        if is_beside(name, value) {
            schemas += usize::from(inner.is_some() && !TELLING.contains(&name.as_str()));
            continue;
        }
        let Some(inner) = inner else {
            return Ok(());
        };
        schemas += 1;
        is_sure |= is_typed(inner);
        first = first.or(Some((name, value)));
    }
    // One alone may be an annotation that nobody knows.
    let may_be_one =
        |(name, _): &(&String, &Value)| schemas == 1 && map.len() > 1 && *name != "item";
    match first.filter(|it| is_sure && !may_be_one(it)) {
        Some((name, value)) => Err(fault(name, value, allows)),
        None => Ok(()),
    }
}

/// Whether a member may stand beside what says something.
fn is_beside(name: &str, value: &Value) -> bool {
    const SIGNS: [char; 4] = ['$', '_', '~', '@'];
    match name {
        "type" => !value.is_object(),
        "properties" | "patternProperties" | "definitions" | "nullable" => true,
        name => {
            TELLING.contains(&name)
                || ANNOTATIONS.contains(&name)
                || name.starts_with("x-")
                || name.starts_with(SIGNS)
                || name.contains(':')
        }
    }
}

/// What stands around a schema in some dialects (`{"name": …, "schema": {…}}`) has no keyword of JSON Schema in it: it
/// would allow anything.
fn check_wrapper(map: &Map<String, Value>) -> Result<(), SchemaFault> {
    const AROUND: [&str; 6] = [
        "type",
        "name",
        "description",
        "strict",
        "schema",
        "json_schema",
    ];
    let inner = ["schema", "json_schema"]
        .into_iter()
        .find(|name| map.get(*name).is_some_and(Value::is_object));
    match inner.filter(|_| map.keys().all(|name| AROUND.contains(&name.as_str()))) {
        Some(inner) => Err(SchemaFault::invalid(
            format!("/{inner}"),
            format!("the schema stands in another object, under `{inner}`: send what is in there"),
        )),
        None => Ok(()),
    }
}

/// Whether a member is meant to say what is allowed.
fn is_meant(name: &str, value: &Value, is_untyped: bool) -> bool {
    /// Types, in the words of people who write no JSON Schema.
    const WORDS: [&str; 12] = [
        "array", "bool", "boolean", "date", "dict", "float", "int", "integer", "list", "number",
        "str", "string",
    ];
    let tells = TELLING.contains(&name) && (name != "type" || !value.is_object());
    let defines = name.starts_with('$') || name == "definitions";
    if tells || defines || name.starts_with("x-") || name.contains(':') {
        return false;
    }
    match value {
        Value::Object(map) if ANNOTATIONS.contains(&name) => is_typed(map),
        Value::Object(map) => is_schema(map) || holds_schemas(map),
        // Of all that is there, since a title may be one of them.
        Value::String(word) => {
            let word = word.to_ascii_lowercase();
            is_untyped && !is_note(name) && WORDS.contains(&word.as_str())
        }
        _ => false,
    }
}

fn is_note(name: &str) -> bool {
    ["title", "description", "name", "id"].contains(&name)
}

/// Whether an object is a schema, to all appearances.
fn is_schema(map: &Map<String, Value>) -> bool {
    let kind = map.get("type");
    kind.is_some_and(|kind| kind.is_string() || kind.is_array())
        || ["$ref", "anyOf", "oneOf", "allOf", "enum", "properties"]
            .iter()
            .any(|keyword| map.contains_key(*keyword))
}

/// Whether it has a type of JSON Schema's.
fn is_typed(map: &Map<String, Value>) -> bool {
    const TYPES: [&str; 7] = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    let is_one = |kind: &Value| {
        let kind = kind.as_str().map(str::to_ascii_lowercase);
        kind.is_some_and(|kind| TYPES.contains(&kind.as_str()))
    };
    match map.get("type") {
        Some(Value::Array(kinds)) => !kinds.is_empty() && kinds.iter().all(is_one),
        kind => kind.is_some_and(is_one),
    }
}

/// Whether an object holds schemas alone.
fn holds_schemas(map: &Map<String, Value>) -> bool {
    !map.is_empty()
        && map
            .values()
            .all(|value| value.as_object().is_some_and(is_schema))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::check;
    use crate::schema::graph::Graph;
    use serde_json::{Value, json};

    /// Where it is refused.
    fn refused(schema: &Value) -> Option<String> {
        let graph = Graph::of(schema, 64).unwrap();
        check(&graph).err().map(|fault| fault.pointer)
    }

    #[test]
    fn what_was_meant_to_say_something_is_refused() {
        let text = || json!({"type": "string"});
        for schema in [
            json!({"name": text(), "age": {"type": "integer"}}),
            json!({"title": text(), "type": text()}),
            json!({"name": "str", "age": "int"}),
            json!({"name": "String", "age": "Integer"}),
            json!({"type": "object", "name": text()}),
            json!({"type": ["object"], "name": text()}),
            json!({"type": "OBJECT", "name": {"type": "STRING"}}),
            json!({"type": "object", "name": text(), "required": ["name"], "additionalProperties": false}),
            json!({"type": "object", "propertes": {"a": text()}, "requird": ["a"]}),
            json!({"description": "A person.", "fields": {"a": text()}}),
            json!({"type": "object", "nullable": false, "name": text()}),
            json!({"type": "object", "meta": text()}),
            json!({"type": "object", "$defs": {"A": text()}, "name": text()}),
            json!({"type": "array", "item": text()}),
        ] {
            assert_eq!(refused(&schema).as_deref(), Some(""), "{schema}");
        }
    }

    #[test]
    fn below_the_root_it_is_told_where() {
        let text = || json!({"type": "string"});
        let person = || json!({"name": text(), "age": {"type": ["integer", "null"]}});
        let bare = || json!({"type": "object", "name": text(), "age": text(), "title": "Person"});
        for (schema, pointer) in [
            (json!({"type": "array", "items": person()}), "/items"),
            (
                json!({"type": "array", "items": {"name": text()}}),
                "/items",
            ),
            (json!({"properties": {"user": bare()}}), "/properties/user"),
            (
                json!({"properties": {"user": {"title": text(), "name": text()}}}),
                "/properties/user",
            ),
            (json!({"anyOf": [{"type": "null"}, bare()]}), "/anyOf/1"),
            (
                json!({"$ref": "#/$defs/A", "$defs": {"A": bare()}}),
                "/$defs/A",
            ),
            (
                json!({"properties": {"a": {"type": "array", "item": text()}}}),
                "/properties/a",
            ),
            (
                json!({"additionalProperties": person()}),
                "/additionalProperties",
            ),
        ] {
            assert_eq!(refused(&schema).as_deref(), Some(pointer), "{schema}");
        }
    }

    #[test]
    fn what_says_something_or_is_meant_to_say_nothing_is_not() {
        let text = || json!({"type": "string"});
        for schema in [
            json!({}),
            json!(true),
            json!({"title": "X"}),
            json!({"type": "object"}),
            json!({"type": "array"}),
            json!({"type": "object", "required": ["a"]}),
            json!({"type": "object", "additionalProperties": text()}),
            json!({"type": "object", "example": {"type": "x"}, "x-order": {"a": text()}}),
            json!({"type": "object", "properties": {}, "foo": {"a": text()}}),
            json!({"type": "object", "properties": {}, "name": text()}),
            json!({"type": "object", "properties": {}, "$defs": {"A": text()}}),
            json!({"type": "object", "definitions": {"A": text()}}),
            json!({"type": "object", "metadata": {"type": "function"}, "ui:field": text()}),
            json!({"type": "string", "foo": text()}),
            json!({"type": ["object", "null"], "foo": text()}),
            json!({"name": "person", "description": "string"}),
            json!({"$ref": "#/foo", "foo": text()}),
            json!({"items": text(), "foo": text()}),
            json!({"foo": {"bar": 1}, "unknown": true}),
        ] {
            assert_eq!(refused(&schema), None, "{schema}");
        }
    }

    /// Annotations of form builders, validators and SDKs, some of which look like schemas.
    #[test]
    fn annotations_that_nobody_knows_are_none_of_it_below_the_root() {
        let text = || json!({"type": "string"});
        for schema in [
            json!({}),
            json!({"description": "Anything.", "editor": text()}),
            json!({"type": "object", "ui": text(), "ui:widget": text(), "x-a": text(), "_meta": text()}),
            json!({"type": "object", "options": {"type": "array"}, "errorMessage": {"type": "a text"}}),
            json!({"type": "object", "editor": {"type": "select"}, "picker": {"type": "date"}}),
            json!({"type": "object", "editor": text(), "order": 3}),
            json!({"type": "object", "source": text()}),
            json!({"type": "array", "layout": text()}),
            json!({"type": "object", "examples": [{"name": "string"}], "default": {"type": "string"}}),
            json!({"type": "array", "editor": {"kind": "list"}}),
            json!({"dataType": "string", "widget": "list"}),
            json!({"xml": {"name": "a"}, "externalDocs": {"url": "https://example.com"}, "discriminator": {"propertyName": "a"}}),
        ] {
            let schema = json!({"type": "object", "properties": {"a": schema}});
            assert_eq!(refused(&schema), None, "{schema}");
        }
        // One that nothing leads to, and one that a reference makes a definition.
        for schema in [
            json!({"type": "object", "properties": {"a": text()}, "$defs": {"A": {"b": text()}}}),
            json!({"properties": {"a": {"own": text()}, "b": {"$ref": "#/properties/a/own"}}}),
        ] {
            assert_eq!(refused(&schema), None, "{schema}");
        }
    }
}
