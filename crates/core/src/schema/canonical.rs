//! Canonical text: a value comes in, one text for everything that means the same goes out.
//!
//! Object keys are sorted, because their order says nothing about what is valid. Numbers keep
//! their kind: `1`, `1.0` and `"1"` are three texts, although JSON Schema takes the first two
//! for equal; a cache that tells apart too much is slow, one that tells apart too little is wrong.

use serde_json::Value;
use std::fmt::Write;

/// The canonical text of a value.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::with_capacity(256);
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_scalar(&Value::String(key.clone()), out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, value) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(value, out);
            }
            out.push(']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use serde_json::json;

    #[test]
    fn key_order_and_spelling_make_no_difference() {
        assert_eq!(
            canonical(&json!({"b": 1, "a": {"d": [1, 2], "c": null}})),
            r#"{"a":{"c":null,"d":[1,2]},"b":1}"#
        );
        assert_eq!(canonical(&json!("a")), canonical(&json!("\u{61}")));
    }

    #[test]
    fn numbers_strings_and_booleans_are_never_confused() {
        let values = [
            json!(1),
            json!(1.0),
            json!("1"),
            json!(true),
            json!("true"),
            json!([1]),
        ];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(i == j, canonical(a) == canonical(b), "{a} {b}");
            }
        }
        assert_ne!(
            canonical(&json!({"enum": ["a", "b"]})),
            canonical(&json!({"enum": ["b", "a"]}))
        );
    }
}
