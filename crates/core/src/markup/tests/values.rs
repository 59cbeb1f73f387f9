//! Bare text and Python's literals as JSON.

use super::typed::{by_schema, python_json};
use super::*;

#[track_caller]
fn reads(schema: Value, raw: &str, expected: &str) {
    let schema = json!({"properties": {"a": schema}, "$defs": {"n": {"type": "integer"}}});
    assert_eq!(
        by_schema(raw, Some(&schema), "a"),
        expected,
        "{schema} {raw}"
    );
}

#[test]
fn the_schema_says_what_bare_text_is() {
    reads(json!({"type": "string"}), "5", "\"5\"");
    reads(json!({"type": "string"}), " a\n", "\" a\\n\"");
    reads(json!({"type": "string"}), "null", "\"null\"");
    reads(json!({"type": "integer"}), " 5 ", "5");
    reads(
        json!({"type": "number"}),
        "12345678901234567890.5",
        "12345678901234567890.5",
    );
    reads(json!({"type": "boolean"}), "true", "true");
    reads(json!({"type": "boolean"}), "True", "true");
    reads(json!({"type": "null"}), "None", "null");
    reads(json!({"type": "array"}), "[1, \"a\"]", "[1, \"a\"]");
    reads(
        json!({"type": "object"}),
        "{'a': (1, None)}",
        "{\"a\": [1, null]}",
    );
    // What fits nothing stays as it is: the schema is verified later.
    reads(json!({"type": "integer"}), "five", "\"five\"");
    reads(json!({"type": "integer"}), "5.5", "5.5");
}

#[test]
fn what_may_be_several_things_is_what_it_looks_like() {
    reads(json!({"type": ["string", "null"]}), "null", "null");
    reads(json!({"type": ["string", "null"]}), "nil", "\"nil\"");
    reads(
        json!({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]}),
        "5",
        "5",
    );
    reads(
        json!({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]}),
        "5.5",
        "\"5.5\"",
    );
    reads(
        json!({"oneOf": [{"type": "string"}, {"type": "array"}]}),
        "[1]",
        "[1]",
    );
    reads(
        json!({"oneOf": [{"type": "string"}, {"type": "array"}]}),
        "{}",
        "\"{}\"",
    );
    reads(json!({"enum": ["a", "1"]}), "1", "\"1\"");
    reads(json!({"enum": ["a", 1]}), "1", "1");
    reads(json!({"const": 2}), "2", "2");
    reads(json!({"allOf": [{}, {"type": "string"}]}), "7", "\"7\"");
    reads(json!({}), "7", "7");
    reads(json!({}), "\"7\"", "\"\\\"7\\\"\"");
    reads(json!({}), "seven", "\"seven\"");
}

#[test]
fn properties_are_found_where_the_schema_says_them() {
    let schema = json!({
        "$ref": "#/$defs/all",
        "$defs": {"all": {"allOf": [{"properties": {"n": {"type": "integer"}}}]}},
        "additionalProperties": {"type": "boolean"},
    });
    assert_eq!(by_schema("5", Some(&schema), "n"), "5");
    let open = json!({"additionalProperties": {"type": "boolean"}});
    assert_eq!(by_schema("true", Some(&open), "n"), "true");
    assert_eq!(by_schema("5", Some(&json!({})), "n"), "\"5\"");
    assert_eq!(by_schema("5", None, "n"), "\"5\"");
    let round = json!({"$ref": "#"});
    assert_eq!(by_schema("5", Some(&round), "n"), "\"5\"");
    let round = json!({"properties": {"n": {"$ref": "#/properties/n"}}});
    assert_eq!(by_schema("5", Some(&round), "n"), "5");
}

#[test]
fn a_literal_of_pythons_is_read_and_nothing_else() {
    for (python, expected) in [
        ("'it\\'s'", "\"it's\""),
        ("\"a\" 'b'", "\"ab\""),
        ("'''a\n\"b\"'''", "\"a\\n\\\"b\\\"\""),
        ("r'\\d+'", "\"\\\\d+\""),
        ("'\\x41\\u00e9\\U0001F600\\101'", "\"AéﻈA\""),
        ("'\\ud83d\\ude00'", "\"😀\""),
        (
            "[1, 2.5, -3, 1e3, 1_000, +4, .5, 6.]",
            "[1, 2.5, -3, 1e3, 1000, 4, 0.5, 6.0]",
        ),
        (
            "{'a': True, \"b\": [False, None,],}",
            "{\"a\": true, \"b\": [false, null]}",
        ),
        ("(1, 'x')", "[1, \"x\"]"),
        ("{}", "{}"),
        (" true ", "true"),
    ] {
        let expected = expected.replace('ﻈ', "😀");
        assert_eq!(python_json(python).as_deref(), Some(&*expected), "{python}");
    }
    for none in [
        "",
        "x",
        "f()",
        "__import__('os')",
        "b'z'",
        "f'{x}'",
        "1e999",
        "nan",
        "1 + 1",
        "[1",
        "{1: 2}",
        "'a",
        "True1",
        "0x10",
        "{'a' 1}",
        "[1 2]",
        "'\\ud83d'",
        "'\\u12'",
        "{'a': 1]",
        "..",
    ] {
        assert_eq!(python_json(none), None, "{none}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(python_json(&deep), None);
}
