//! Keywords that a server does not take: a schema and their names come in, their places, or the
//! schema without them, go out.

use super::position::{Holds, holds, is_schema, push_segment};
use serde_json::{Map, Value};

/// Where the keywords stand in schema positions: the JSON Pointer of each, and its name.
/// A property called like a keyword, and anything inside `enum`, `const`, `default` or
/// `examples`, is data and never found.
#[must_use]
pub fn find(schema: &Value, keywords: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    copy(schema, keywords, &mut String::new(), &mut found);
    found
}

/// The schema without the keywords, and where they stood (as [`find`] says it). What was removed
/// makes the schema wider, never narrower, except under `not` and `if`.
#[must_use]
pub fn relax(schema: &Value, keywords: &[String]) -> (Value, Vec<(String, String)>) {
    let mut found = Vec::new();
    let relaxed = copy(schema, keywords, &mut String::new(), &mut found);
    (relaxed, found)
}

fn copy(
    schema: &Value,
    removed: &[String],
    at: &mut String,
    found: &mut Vec<(String, String)>,
) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut out = Map::with_capacity(map.len());
    for (keyword, value) in map {
        let length = at.len();
        push_segment(at, keyword);
        if removed.contains(keyword) {
            found.push((at.clone(), keyword.clone()));
        } else {
            out.insert(
                keyword.clone(),
                copy_value(keyword, value, removed, at, found),
            );
        }
        at.truncate(length);
    }
    Value::Object(out)
}

fn copy_value(
    keyword: &str,
    value: &Value,
    removed: &[String],
    at: &mut String,
    found: &mut Vec<(String, String)>,
) -> Value {
    let mut child = |segment: &str, value: &Value, at: &mut String| {
        let length = at.len();
        push_segment(at, segment);
        let copied = copy(value, removed, at, found);
        at.truncate(length);
        copied
    };
    match (holds(keyword), value) {
        (Some((Holds::Many | Holds::OneOrMany, _)), Value::Array(items)) => Value::Array(
            items
                .iter()
                .enumerate()
                .map(|(index, item)| child(&index.to_string(), item, at))
                .collect(),
        ),
        (Some((Holds::Named, _)), Value::Object(map)) => Value::Object(
            map.iter()
                .map(|(name, value)| (name.clone(), child(name, value, at)))
                .collect(),
        ),
        (Some((Holds::One | Holds::OneOrMany, _)), value) if is_schema(value) => {
            copy(value, removed, at, found)
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{find, relax};
    use serde_json::json;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keywords_are_removed_in_schema_positions_only() {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "pattern": "a"},
                "b/c": {"items": [{"pattern": "b"}], "default": {"pattern": "kept"}}
            },
            "enum": [{"pattern": "kept"}],
            "anyOf": [{"const": {"pattern": "kept"}}, {"not": {"pattern": "c"}}],
            "$defs": {"d": {"patternProperties": {"x": {"pattern": "d"}}}}
        });
        let (relaxed, found) = relax(&schema, &names(&["pattern", "uniqueItems"]));
        let expected = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "b/c": {"items": [{}], "default": {"pattern": "kept"}}
            },
            "enum": [{"pattern": "kept"}],
            "anyOf": [{"const": {"pattern": "kept"}}, {"not": {}}],
            "$defs": {"d": {"patternProperties": {"x": {}}}}
        });
        assert_eq!(relaxed, expected);
        let pointers: Vec<_> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/properties/pattern/pattern",
                "/properties/b~1c/items/0/pattern",
                "/anyOf/1/not/pattern",
                "/$defs/d/patternProperties/x/pattern"
            ]
        );
        assert_eq!(find(&schema, &names(&["pattern"])), found);
        assert!(
            pointers
                .iter()
                .all(|pointer| schema.pointer(pointer).is_some())
        );
    }

    #[test]
    fn order_is_kept_and_nothing_else_changes() {
        let schema = json!({"required": ["z", "a"], "properties": {"z": true, "a": false}});
        let (relaxed, found) = relax(&schema, &names(&["not"]));
        assert_eq!(
            serde_json::to_string(&relaxed).unwrap(),
            serde_json::to_string(&schema).unwrap()
        );
        assert!(found.is_empty());
    }
}
