//! An object's text that was checked in, where one of its fields stands out. Texts are gone over in strides: megabytes of
//! an image cost no more than finding the quote behind them.

use std::ops::Range;

/// Where the value of a top-level field stands in strict JSON: the first of that name. In what is no JSON it may be found
/// anywhere, or nowhere.
pub(crate) fn field(object: &[u8], name: &str) -> Option<Range<usize>> {
    let mut at = blank(object, 0);
    if object.get(at) != Some(&b'{') {
        return None;
    }
    loop {
        // Behind `{`, or behind a comma.
        let start = blank(object, at + 1);
        let end = text(object, start)?;
        let is_it = is_name(object.get(start..end)?, name);
        let colon = blank(object, end);
        if object.get(colon) != Some(&b':') {
            return None;
        }
        let start = blank(object, colon + 1);
        let end = value(object, start)?;
        if is_it {
            return Some(start..end);
        }
        at = blank(object, end);
        if object.get(at) != Some(&b',') {
            return None;
        }
    }
}

/// Whether a key with its quotes spells this.
fn is_name(key: &[u8], name: &str) -> bool {
    if memchr::memchr(b'\\', key).is_some() {
        return serde_json::from_slice::<String>(key).is_ok_and(|key| key == name);
    }
    let inner = key.get(1..key.len().saturating_sub(1));
    inner == Some(name.as_bytes())
}

/// Behind what is blank.
pub(super) fn blank(json: &[u8], from: usize) -> usize {
    let rest = json.get(from..).unwrap_or_default();
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n' | b'\r');
    from + rest.iter().take_while(is_blank).count()
}

/// Behind the text that begins with the quote here.
pub(super) fn text(json: &[u8], from: usize) -> Option<usize> {
    if json.get(from) != Some(&b'"') {
        return None;
    }
    let mut at = from + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        // The escaped byte is none that ends it.
        at += 2;
    }
}

/// Behind the value that begins here.
fn value(json: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = from;
    loop {
        match json.get(at)? {
            b'"' => at = text(json, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ => {
                let rest = json.get(at..)?;
                let is_in = |byte: &&u8| !matches!(**byte, b'"' | b'{' | b'[' | b'}' | b']' | b',');
                // A number or a word, or what stands between values.
                let other = rest.iter().take_while(is_in);
                let length = match depth {
                    0 => other.take_while(|byte| !byte.is_ascii_whitespace()).count(),
                    _ => other.count() + usize::from(rest.first() == Some(&b',')),
                };
                if length == 0 && depth == 0 {
                    return None;
                }
                at += length;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::field;
    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use serde_json::{Map, Value, json};
    use std::collections::HashMap;

    #[test]
    fn a_field_is_found_wherever_and_whatever_it_is() {
        let body = br#" { "a" : "\"b\":{\\" ,"b":[ {"c":"]}"}, -1.5e3 ] , "\u0063":true,"d" : -0.5
            , "e":null,"f":{},"g":"x" } "#;
        for (name, expected) in [
            ("a", Some(r#""\"b\":{\\""#)),
            ("b", Some(r#"[ {"c":"]}"}, -1.5e3 ]"#)),
            ("c", Some("true")),
            ("d", Some("-0.5")),
            ("e", Some("null")),
            ("f", Some("{}")),
            ("g", Some("\"x\"")),
            ("h", None),
            ("", None),
        ] {
            let found = field(body, name).map(|at| std::str::from_utf8(&body[at]).unwrap());
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_object_or_is_cut_off_has_none() {
        let whole = br#"{"b":[{"c":"x\\"},1,2],"a":[{"c":"x\\"},1,2]}"#;
        assert!(field(whole, "a").is_some());
        for other in [
            &b""[..],
            b"[1]",
            b"{",
            b"{}",
            b"\"a\"",
            b"{\"a\"",
            b"{\"a\":",
            b"{\"a\":]",
        ] {
            assert_eq!(field(other, "a"), None);
        }
        for end in 0..whole.len() - 1 {
            assert_eq!(field(&whole[..end], "a"), None, "{end}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..4)
                    .prop_map(|all| Value::Object(all.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn each_field_is_where_serde_finds_it(fields in prop::collection::hash_map(any::<String>(), values(), 0..5), pretty: bool) {
            let all = json!(fields);
            let text = match pretty {
                true => serde_json::to_string_pretty(&all).unwrap(),
                false => all.to_string(),
            };
            let raw: HashMap<String, &RawValue> = serde_json::from_str(&text).unwrap();
            for (name, value) in raw {
                let found = field(text.as_bytes(), &name).map(|at| &text[at]);
                prop_assert_eq!(found, Some(value.get()));
            }
        }
    }
}
