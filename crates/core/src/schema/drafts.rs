//! Words of later drafts in schemas that name an older one: such a schema comes in; one of 2020-12 that holds to all of them goes out.
//!
//! A draft ignores what it does not know: `if` says nothing in draft 6, `const` nothing in draft 4, and whatever stands beside a `$ref`
//! nothing before 2019-09. Who writes them means them, and nobody would hear that they are not held: generators name the draft that
//! they began with (zod-to-json-schema draft 7, whatever is in the schema), and ajv, which most clients check with, reads them all.

use super::lower::is_assertion;
use super::position::{any_object, rewrite};
use super::validator::draft_of;
use super::{merge, nullable, percent_decode};
use isogloss_validate::Draft;
use serde_json::{Map, Value, json};

/// Keywords, and the first draft that knows each.
const SINCE: [(&str, Draft); 13] = [
    ("const", Draft::Draft6),
    ("contains", Draft::Draft6),
    ("propertyNames", Draft::Draft6),
    ("if", Draft::Draft7),
    ("dependentRequired", Draft::Draft201909),
    ("dependentSchemas", Draft::Draft201909),
    ("minContains", Draft::Draft201909),
    ("maxContains", Draft::Draft201909),
    ("unevaluatedItems", Draft::Draft201909),
    ("unevaluatedProperties", Draft::Draft201909),
    ("prefixItems", Draft::Draft202012),
    // As numbers: draft 4 has truths there.
    ("exclusiveMinimum", Draft::Draft6),
    ("exclusiveMaximum", Draft::Draft6),
];

/// What RFC 4648 lets Base64 be, section 4.
const BASE64: &str = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// Reads such a schema as one of 2020-12, unless a reference leads to a place that another draft has elsewhere. Whether it is such a one.
pub(crate) fn mend(schema: &mut Value) -> bool {
    let Some(draft) = draft_of(schema).filter(|draft| *draft != Draft::Draft202012) else {
        return false;
    };
    // What a recursive reference means depends on how a schema is come by.
    let is_recursive = |map: &Map<String, Value>| map.contains_key("$recursiveRef");
    if !any_object(schema, &|map| says_more(map, draft)) || any_object(schema, &is_recursive) {
        return false;
    }
    let root = nullable::honour(schema).into_owned();
    let own = root.get("$id").and_then(Value::as_str);
    let own = own.map(|id| id.trim_end_matches('#').to_owned());
    let mut meant = root.clone();
    let mut is_meant = false;
    rewrite(&mut meant, &mut |map| {
        is_meant |= says_more(map, draft);
        within(map, own.as_deref());
        if is_before_2019(draft) {
            beside_reference(map, &root);
            decoded(map, draft);
        }
    });
    if !is_meant || merge::speaks_old(&meant) {
        return false;
    }
    *schema = merge::modern(&meant).unwrap_or(meant);
    if let Value::Object(map) = schema {
        map.shift_remove("$schema");
    }
    true
}

fn says_more(map: &Map<String, Value>, draft: Draft) -> bool {
    let is_later = |(keyword, since): &(&str, Draft)| {
        let said = map.get(*keyword);
        draft < *since
            && said.is_some_and(|said| !said.is_boolean() || !keyword.starts_with("exclusive"))
    };
    SINCE.iter().any(is_later) || is_before_2019(draft) && stands_beside(map)
}

fn is_before_2019(draft: Draft) -> bool {
    draft < Draft::Draft201909
}

/// Whether something stands beside a reference that says what is allowed.
fn stands_beside(map: &Map<String, Value>) -> bool {
    let says = |name: &String| name != "$ref" && is_assertion(name);
    map.get("$ref").is_some_and(Value::is_string) && map.keys().any(says)
}

/// A reference into the schema by its own name as one by place.
fn within(map: &mut Map<String, Value>, own: Option<&str>) {
    let reference = map.get("$ref").and_then(Value::as_str);
    let place = reference.and_then(|text| text.strip_prefix(own?));
    if let Some(place) = place.filter(|place| place.starts_with("#/")) {
        let place = json!(place);
        map.insert("$ref".to_owned(), place);
    }
}

/// A reference with something beside it, in a conjunction of its own, where it leaves the others what they say.
///
/// What is not allowed beside those properties is not allowed beside the reference's either: protoc-gen-jsonschema closes objects
/// so. An object that is closed where the reference leads has no other properties, whatever stands here.
fn beside_reference(map: &mut Map<String, Value>, root: &Value) {
    const OF_OBJECTS: [&str; 5] = [
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "propertyNames",
    ];
    if !stands_beside(map) {
        return;
    }
    let Some(reference) = map.shift_remove("$ref") else {
        return;
    };
    // There it named nothing.
    for name in ["$id", "id"] {
        map.shift_remove(name);
    }
    let target = reference.as_str().and_then(|text| text.strip_prefix('#'));
    let target = target.and_then(|place| root.pointer(&percent_decode(place)));
    if target.is_some_and(|target| target.get("additionalProperties") == Some(&json!(false))) {
        map.retain(|name, _| !OF_OBJECTS.contains(&name.as_str()));
    } else if let Some(others) = map.shift_remove("additionalProperties")
        && others != json!(true)
        && others != json!({})
    {
        map.insert("unevaluatedProperties".to_owned(), others);
    }
    conjoin(map, json!({"$ref": reference}));
}

fn conjoin(map: &mut Map<String, Value>, branch: Value) {
    match map.get_mut("allOf") {
        Some(Value::Array(branches)) => branches.push(branch),
        _ => drop(map.insert("allOf".to_owned(), json!([branch]))),
    }
}

/// Base64 as a pattern: what a text decodes to is a note in later drafts.
fn decoded(map: &mut Map<String, Value>, draft: Draft) {
    let is_encoded = map.get("contentEncoding").is_some_and(|it| it == "base64");
    if draft < Draft::Draft6 || !is_encoded {
        return;
    }
    match map.contains_key("pattern") {
        true => conjoin(map, json!({"pattern": BASE64})),
        false => drop(map.insert("pattern".to_owned(), json!(BASE64))),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::super::Validator;
    use super::mend;
    use serde_json::{Value, json};

    const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";
    const DRAFT_6: &str = "http://json-schema.org/draft-06/schema#";
    const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
    const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";

    fn of(draft: &str, mut schema: Value) -> Value {
        schema["$schema"] = json!(draft);
        schema
    }

    /// Mended, it takes the one and not the other.
    fn holds(mut schema: Value, right: &Value, wrong: &Value) {
        assert!(mend(&mut schema), "{schema}");
        let validator = Validator::compile(&schema).unwrap();
        assert!(validator.validate(right).is_ok(), "{schema} {right}");
        assert!(validator.validate(wrong).is_err(), "{schema} {wrong}");
    }

    #[test]
    fn words_of_later_drafts_are_held() {
        let name = json!({"name": {"type": "string"}});
        for (draft, schema, right, wrong) in [
            (DRAFT_4, json!({"const": 1}), json!(1), json!(2)),
            (
                DRAFT_4,
                json!({"minimum": 0, "exclusiveMinimum": 3}),
                json!(4),
                json!(3),
            ),
            (
                DRAFT_4,
                json!({"maximum": 3, "exclusiveMaximum": true, "const": 2}),
                json!(2),
                json!(3),
            ),
            (
                DRAFT_6,
                json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
                json!({}),
                json!({"a": 1}),
            ),
            (
                DRAFT_7,
                json!({"dependentRequired": {"a": ["b"]}}),
                json!({"a": 1, "b": 2}),
                json!({"a": 1}),
            ),
            (
                DRAFT_7,
                json!({"dependencies": {"c": ["d"]}, "minContains": 2, "contains": {"type": "null"}}),
                json!([null, null]),
                json!([null]),
            ),
            (
                DRAFT_7,
                json!({"properties": name, "unevaluatedProperties": false}),
                json!({"name": "a"}),
                json!({"b": 1}),
            ),
            (
                DRAFT_7,
                json!({"prefixItems": [{"type": "string"}]}),
                json!(["a"]),
                json!([1]),
            ),
            (
                DRAFT_7,
                json!({"items": [{"type": "string"}], "additionalItems": false, "minContains": 1, "contains": {}}),
                json!(["a"]),
                json!(["a", 1]),
            ),
            (
                DRAFT_2019,
                json!({"prefixItems": [{"type": "string"}]}),
                json!(["a"]),
                json!([1]),
            ),
            (
                DRAFT_7,
                json!({"contentEncoding": "base64", "minContains": 1}),
                json!("YQ=="),
                json!("a"),
            ),
            (
                DRAFT_7,
                json!({"contentEncoding": "base64", "pattern": "^.{2,}$", "minContains": 1}),
                json!("YQ=="),
                json!("a b!"),
            ),
        ] {
            holds(of(draft, schema), &right, &wrong);
        }
    }

    #[test]
    fn words_beside_a_reference_are_held() {
        for (draft, schema, right, wrong) in [
            (
                DRAFT_7,
                json!({"definitions": {"S": {"type": "string"}}, "items": {"$ref": "#/definitions/S", "minLength": 2}}),
                json!(["ab"]),
                json!(["a"]),
            ),
            (
                DRAFT_7,
                json!({"definitions": {"S": {"type": "string"}}, "$ref": "#/definitions/S", "allOf": [{"minLength": 2}]}),
                json!("ab"),
                json!("a"),
            ),
            // Closed once more beside what is closed, and beside what is open.
            (
                DRAFT_4,
                json!({"definitions": {"P": {"properties": {"n": {"type": "string"}}, "additionalProperties": false}},
                    "properties": {"p": {"$ref": "#/definitions/P", "type": "object", "additionalProperties": false}}}),
                json!({"p": {"n": "a"}}),
                json!({"p": {"m": "a"}}),
            ),
            (
                DRAFT_7,
                json!({"definitions": {"P": {"properties": {"n": {"type": "string"}}}},
                    "properties": {"p": {"$ref": "#/definitions/P", "additionalProperties": false}}}),
                json!({"p": {"n": "a"}}),
                json!({"p": {"m": "a"}}),
            ),
            (
                DRAFT_7,
                json!({"definitions": {"P": {"properties": {"n": {"type": "string"}}, "additionalProperties": false}},
                    "properties": {"p": {"$ref": "#/definitions/P", "properties": {"m": {}}, "required": ["m"], "minProperties": 1}}}),
                json!({"p": {"n": "a"}}),
                json!({"p": {}}),
            ),
            (
                DRAFT_7,
                json!({"definitions": {"S": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/S", "nullable": true}},
                    "dependentRequired": {"b": ["a"]}}),
                json!({"a": null, "b": 1}),
                json!({"b": 1}),
            ),
            (
                DRAFT_7,
                json!({"$id": "https://example.com/a.json", "definitions": {"S": {"type": "string"}},
                    "properties": {"a": {"$ref": "https://example.com/a.json#/definitions/S"}}, "dependentRequired": {"b": ["a"]}}),
                json!({"a": "x", "b": 1}),
                json!({"b": 1}),
            ),
        ] {
            holds(of(draft, schema), &right, &wrong);
        }
    }

    #[test]
    fn what_its_draft_knows_stays() {
        for schema in [
            json!({"const": 1, "if": {}}),
            of(
                DRAFT_7,
                json!({"const": 1, "if": {}, "items": [{}], "dependencies": {"a": ["b"]}}),
            ),
            of(
                DRAFT_7,
                json!({"definitions": {"S": {}}, "$ref": "#/definitions/S", "title": "T", "default": 1}),
            ),
            of(
                DRAFT_7,
                json!({"properties": {"prefixItems": {}}, "default": {"prefixItems": 1}}),
            ),
            of(DRAFT_4, json!({"minimum": 1, "exclusiveMinimum": true})),
            of(
                DRAFT_2019,
                json!({"properties": {"c": {"$recursiveRef": "#"}, "t": {"prefixItems": [{}]}}}),
            ),
            of(
                DRAFT_2019,
                json!({"definitions": {"S": {}}, "$ref": "#/definitions/S", "minLength": 2}),
            ),
        ] {
            let mut same = schema.clone();
            assert!(!mend(&mut same), "{schema}");
            assert_eq!(same, schema);
        }
    }
}
