//! Tuples in the words of drafts before 2020-12, in schemas that name no draft: a list under `items` is no schema there, and has one meaning in
//! every draft that knows it. Pydantic 1 and typescript-json-schema write such, and few clients send `$schema`.

use super::merge;
use super::position::{any_object, rewrite};
use serde_json::{Map, Value};

/// Reads lists under `items` as `prefixItems`, unless a reference leads to one of them. Whether there is any.
pub(crate) fn mend(schema: &mut Value) -> bool {
    if schema.get("$schema").is_some()
        || !any_object(schema, &is_tuple)
        || merge::speaks_old(schema)
    {
        return false;
    }
    let mut is_mended = false;
    rewrite(schema, &mut |map| {
        if is_tuple(map)
            && let Some(items) = map.shift_remove("items")
        {
            map.insert("prefixItems".to_owned(), items);
            if let Some(others) = map.shift_remove("additionalItems") {
                map.insert("items".to_owned(), others);
            }
            is_mended = true;
        }
    });
    is_mended
}

fn is_tuple(map: &Map<String, Value>) -> bool {
    map.get("items").is_some_and(Value::is_array) && !map.contains_key("prefixItems")
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
    fn a_list_under_items_is_a_tuple() {
        let pair = json!([{"type": "integer"}, {"items": [{}]}]);
        assert_eq!(
            mended(
                json!({"properties": {"a": {"items": pair, "additionalItems": false, "minItems": 2}}})
            ),
            json!({"properties": {"a": {"minItems": 2, "prefixItems": [{"type": "integer"}, {"prefixItems": [{}]}], "items": false}}})
        );
    }

    #[test]
    fn what_is_no_such_list_or_led_to_stays() {
        for schema in [
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}]}),
            json!({"items": {"type": "integer"}}),
            json!({"properties": {"items": {"type": "array"}}, "default": {"items": [1]}}),
            json!({"properties": {"a": {"items": [{}]}, "b": {"$ref": "#/properties/a/items/0"}}}),
        ] {
            assert_eq!(mended(schema.clone()), schema);
        }
    }
}
