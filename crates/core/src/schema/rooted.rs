//! References without their `#`: litellm tells Anthropic's API `{"$ref": "/$defs/Name"}`
//! (`ref_template` in its `llms/anthropic/chat/transformation.py`, 1.110.2), which is a path from the root of some server
//! and leads nowhere by the specification.

use super::position::rewrite;
use serde_json::{Map, Value};

const REF: &str = "$ref";

/// Reads references that begin with `/` as paths from the root of this very schema, where they lead to something there and no
/// `$id` says otherwise.
pub(crate) fn mend(schema: &mut Value) {
    if schema.get("$id").is_some() || !has_rooted(schema) {
        return;
    }
    let root = schema.clone();
    rewrite(schema, &mut |map| {
        if let Some(reference) = rooted(map)
            && root.pointer(reference).is_some()
        {
            let spelled = format!("#{reference}");
            map.insert(REF.to_owned(), Value::String(spelled));
        }
    });
}

fn has_rooted(value: &Value) -> bool {
    match value {
        Value::Object(map) => rooted(map).is_some() || map.values().any(has_rooted),
        Value::Array(items) => items.iter().any(has_rooted),
        _ => false,
    }
}

fn rooted(map: &Map<String, Value>) -> Option<&str> {
    let reference = map.get(REF)?.as_str()?;
    reference.starts_with('/').then_some(reference)
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
