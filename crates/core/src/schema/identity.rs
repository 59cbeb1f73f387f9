//! Identities that nothing asks for: a schema comes in; without each `$id` and `$anchor` to which
//! no reference leads, it goes out.
//!
//! Generators give every schema one, often of no URI at all (`$id: "Product Schema"`,
//! `$id: "#/properties/a"`). It says nothing of values, but libraries and servers refuse the schema for it, or
//! look for `#/$defs/…` below the `$id` where its author meant the root.

use super::graph::REFERENCES;
use super::position::{Child, children, follow, write_pointer};
use super::validator::draft_of;
use isogloss_validate::Draft;
use serde_json::{Map, Value};

/// JSON deeper than this is the guard's to refuse.
const MAX_JSON_DEPTH: usize = 192;
/// Subschemas with an `$id` whose insides are looked through, one within the other.
const MAX_LOOKS: usize = 1_024;

/// The schema without idle identities; `None` where it has none.
#[must_use]
pub(crate) fn without_idle(schema: &Value) -> Option<Value> {
    let id = match draft_of(schema) {
        Some(Draft::Draft4) => "id",
        _ => "$id",
    };
    let named = named(schema, id);
    if named.is_empty() {
        return None;
    }
    let references = References::of(schema)?;
    let idle: Vec<_> = named
        .into_iter()
        .filter(|named| references.spare(named))
        .collect();
    if idle.is_empty() {
        return None;
    }
    let mut without = schema.clone();
    for named in idle {
        let place = without.pointer_mut(&named.pointer);
        if let Some(map) = place.and_then(Value::as_object_mut) {
            map.shift_remove(named.keyword);
        }
    }
    Some(without)
}

/// A subschema with a name of its own.
struct Named<'a> {
    pointer: String,
    keyword: &'static str,
    map: &'a Map<String, Value>,
    value: &'a Value,
}

/// All of them, where schemas stand: a property may be called `$id` too.
fn named<'a>(schema: &'a Value, id: &'static str) -> Vec<Named<'a>> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), schema, 0)];
    while let Some((pointer, value, depth)) = pending.pop() {
        let Value::Object(map) = value else { continue };
        for keyword in [id, "$anchor"] {
            if let Some(value) = map.get(keyword) {
                found.push(Named {
                    pointer: pointer.clone(),
                    keyword,
                    map,
                    value,
                });
            }
        }
        if depth >= MAX_JSON_DEPTH {
            return Vec::new();
        }
        for Child {
            keyword,
            step,
            value,
            ..
        } in children(map)
        {
            // Most schemas have none: their pointers are not worth writing.
            if value.as_object().is_some_and(|map| !map.is_empty()) {
                let mut pointer = pointer.clone();
                write_pointer(keyword, step, &mut pointer);
                pending.push((pointer, value, depth + 1));
            }
        }
    }
    found
}

/// The references of a whole schema, each the fragment after its hash sign.
struct References<'a> {
    fragments: Vec<&'a str>,
}

impl<'a> References<'a> {
    /// `None` where one names a document, or depends on how a schema was come by: every identity
    /// may count then.
    fn of(schema: &'a Value) -> Option<Self> {
        let mut fragments = Vec::new();
        let mut pending = vec![(schema, 0)];
        while let Some((value, depth)) = pending.pop() {
            if depth > MAX_JSON_DEPTH {
                return None;
            }
            match value {
                Value::Object(map) => {
                    for (keyword, value) in map {
                        match value {
                            Value::String(text) if keyword == "$ref" => {
                                // Escapes are for whoever resolves it.
                                let plain = text.strip_prefix('#').filter(|it| !it.contains('%'));
                                fragments.push(plain?);
                            }
                            Value::String(_) if REFERENCES.contains(&keyword.as_str()) => {
                                return None;
                            }
                            other => pending.push((other, depth + 1)),
                        }
                    }
                }
                Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
                _ => {}
            }
        }
        Some(Self { fragments })
    }

    /// Whether nothing changes where a name is taken out.
    fn spare(&self, named: &Named<'_>) -> bool {
        let Value::String(name) = named.value else {
            return named.keyword != "id";
        };
        if named.keyword == "$anchor" {
            return !self.fragments.contains(&name.as_str());
        }
        if let Some(anchor) = name.strip_prefix('#') {
            return !self.fragments.contains(&anchor);
        }
        if named.pointer.is_empty() {
            return true;
        }
        // It may be of another draft than what it stands in.
        if named.map.contains_key("$schema") || self.fragments.len() > MAX_LOOKS {
            return false;
        }
        let inside = Value::Object(named.map.clone());
        let Some(own) = References::of(&inside) else {
            return false;
        };
        // An anchor inside of it is another one than that of the same name around it.
        let is_asked_for = |name: &&str| self.fragments.contains(name);
        if Self::anchors_in(&inside).iter().any(is_asked_for) {
            return false;
        }
        !own.fragments
            .iter()
            .any(|fragment| leads(&inside, fragment))
    }

    /// The names that references may lead to in a schema.
    fn anchors_in(schema: &Value) -> Vec<&str> {
        let names = named(schema, "$id").into_iter().filter_map(|named| {
            let name = named.value.as_str()?;
            match named.keyword {
                "$anchor" => Some(name),
                _ => name.strip_prefix('#'),
            }
        });
        names.collect()
    }
}

/// Whether a fragment leads somewhere within a schema.
fn leads(schema: &Value, fragment: &str) -> bool {
    match fragment {
        "" => true,
        pointer if pointer.starts_with('/') => follow(schema, pointer).is_some(),
        name => named(schema, "$id").iter().any(|named| {
            let known = named.value.as_str().unwrap_or_default();
            known == name || known.strip_prefix('#') == Some(name)
        }),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::without_idle;
    use crate::schema::Validator;
    use serde_json::{Value, json};

    #[test]
    fn an_anchor_of_a_document_inside_is_another_one() {
        // Of the public test suite: the first is meant.
        let schema = json!({
            "$id": "https://example.com/base.json", "$ref": "#bigint",
            "$defs": {
                "bigint": {"$anchor": "bigint", "maximum": 10},
                "smallint": {"$id": "https://example.com/other/", "$anchor": "bigint", "maximum": 2}
            }
        });
        let kept = without_idle(&schema).unwrap_or(schema);
        assert!(kept["$defs"]["smallint"]["$id"].is_string());
        let validator = Validator::compile(&kept).unwrap();
        assert!(validator.validate(&json!(5)).is_ok());
        assert!(validator.validate(&json!(50)).is_err());
    }

    #[test]
    fn a_name_to_which_nothing_leads_is_taken_out() {
        let plain =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        for (place, keyword, name) in [
            ("", "$id", json!("Product Schema")),
            ("", "$id", json!("tool.json")),
            ("", "$id", json!("https://example.com/tool.json")),
            ("", "$id", json!("https://example.com/tool.json#top")),
            ("", "$id", json!(null)),
            ("", "$anchor", json!("not a name")),
            ("/properties/a", "$id", json!("#/properties/a")),
            ("/properties/a", "$id", json!("/properties/a")),
            ("/properties/a", "$anchor", json!("a")),
        ] {
            let mut schema = plain.clone();
            let at = schema.pointer_mut(place).unwrap();
            at[keyword] = name.clone();
            assert_eq!(without_idle(&schema).as_ref(), Some(&plain), "{name}");
            let validator = Validator::compile(&schema).unwrap();
            assert!(validator.validate(&json!({"a": "x"})).is_ok(), "{name}");
            assert!(validator.validate(&json!({"a": 1})).is_err(), "{name}");
        }
        assert_eq!(without_idle(&plain), None);
    }

    #[test]
    fn a_name_that_a_reference_needs_stays() {
        for schema in [
            json!({"$id": "https://example.com/t", "$ref": "https://example.com/t#/$defs/a", "$defs": {"a": {}}}),
            json!({"$id": "t", "properties": {"a": {"$ref": "t"}}}),
            json!({"properties": {"a": {"$ref": "#a"}}, "$defs": {"a": {"$anchor": "a", "type": "string"}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#",
                   "properties": {"a": {"$ref": "#a"}}, "definitions": {"a": {"$id": "#a"}}}),
            // Its references start at itself.
            json!({"$defs": {"a": {"$id": "a", "items": {"$ref": "#"}}}}),
            json!({"$defs": {"a": {"$id": "a", "items": {"$ref": "#/$defs/b"}, "$defs": {"b": {}}}}}),
            json!({"$id": "t", "$defs": {"a": {"$dynamicAnchor": "x"}}, "$dynamicRef": "#x"}),
        ] {
            assert_eq!(without_idle(&schema), None, "{schema}");
        }
    }

    #[test]
    fn a_property_of_that_name_is_none() {
        for schema in [
            json!({"properties": {"$id": {"type": "string"}, "$anchor": {"type": "string"}}}),
            json!({"const": {"$id": "a"}, "default": {"$id": "b"}}),
            // Before draft 6 the keyword was `id`, since then that is nothing but a word.
            json!({"id": "no URI"}),
        ] {
            assert_eq!(without_idle(&schema), None, "{schema}");
        }
        let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "no URI"});
        assert!(without_idle(&old).unwrap().get("id").is_none());
    }

    #[test]
    fn a_reference_that_an_id_led_astray_is_what_it_says() {
        let schema = json!({
            "properties": {"a": {"$id": "sub", "items": {"$ref": "#/$defs/t"}}},
            "$defs": {"t": {"type": "string"}}
        });
        let validator = Validator::compile(&schema).unwrap();
        assert!(validator.validate(&json!({"a": ["x"]})).is_ok());
        assert!(validator.validate(&json!({"a": [1]})).is_err());
    }

    #[test]
    fn what_no_library_could_hold_is_left_to_the_guard() {
        let mut deep = json!({"$id": "a"});
        for _ in 0..400 {
            deep = json!({"items": deep});
        }
        assert_eq!(without_idle(&deep), None);
        assert!(Validator::compile(&deep).is_err());
        drop::<Value>(deep);
    }
}
