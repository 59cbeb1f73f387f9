//! Keywords that a server does not take: a schema and what is unwanted come in; their places, or
//! the schema without them, go out.

use super::position::{children, push_segment, write_pointer};
use serde_json::Value;

/// Where unwanted keywords stand in schema positions: the JSON Pointer of each, and its name.
/// A property called like a keyword, and anything inside `enum`, `const`, `default` or
/// `examples`, is data and never found.
#[must_use]
pub fn find(schema: &Value, unwanted: impl Fn(&str, &Value) -> bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(schema, &unwanted, &mut String::new(), &mut found);
    found
}

/// The schema without the keywords that [`find`] found. This makes it wider, never narrower,
/// except under `not` and `if`.
#[must_use]
pub fn without(schema: &Value, found: &[(String, String)]) -> Value {
    let mut relaxed = schema.clone();
    for (pointer, keyword) in found {
        let parent = pointer.rfind('/').map_or("", |at| &pointer[..at]);
        if let Some(Value::Object(parent)) = relaxed.pointer_mut(parent) {
            parent.shift_remove(keyword);
        }
    }
    relaxed
}

fn walk(
    schema: &Value,
    unwanted: &impl Fn(&str, &Value) -> bool,
    at: &mut String,
    found: &mut Vec<(String, String)>,
) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map {
        if unwanted(keyword, value) {
            let length = at.len();
            push_segment(at, keyword);
            found.push((at.clone(), keyword.clone()));
            at.truncate(length);
        }
    }
    for child in children(map) {
        // What goes with its parent is not found again.
        if unwanted(child.keyword, &map[child.keyword]) {
            continue;
        }
        let length = at.len();
        write_pointer(child.keyword, child.step, at);
        walk(child.value, unwanted, at, found);
        at.truncate(length);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{find, without};
    use serde_json::{Value, json};

    fn named<'n>(names: &'n [&str]) -> impl Fn(&str, &Value) -> bool + 'n {
        |keyword, _| names.contains(&keyword)
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
        let found = find(&schema, named(&["pattern", "uniqueItems"]));
        let relaxed = without(&schema, &found);
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
        assert!(
            pointers
                .iter()
                .all(|pointer| schema.pointer(pointer).is_some())
        );
    }

    #[test]
    fn order_is_kept_and_nothing_else_changes() {
        let schema = json!({"required": ["z", "a"], "properties": {"z": true, "a": false}});
        let found = find(&schema, named(&["not"]));
        let relaxed = without(&schema, &found);
        assert_eq!(
            serde_json::to_string(&relaxed).unwrap(),
            serde_json::to_string(&schema).unwrap()
        );
        assert!(found.is_empty());
    }
}
