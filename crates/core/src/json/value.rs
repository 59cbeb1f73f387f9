//! JSON text of others to a tree of values.
//!
//! serde_json takes an object whose first member has one of its own names (`$serde_json::private::RawValue`) for the JSON that stands in
//! that member's text, with as many levels again: a text of 30 KB could nest deeper than any stack, and what was verified would not be
//! what is sent. Here no member has such a name.

use memchr::memmem::Finder;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;
use std::sync::LazyLock;

/// What serde_json's own names begin with.
const PRIVATE: &str = "$serde_json::private::";

/// Why an object is refused.
const REFUSED: &str = "no member may be named `$serde_json::private::…`";

/// Reads a text.
///
/// # Errors
/// It is no JSON, nests more than 127 levels, or has a member of serde_json's own names.
pub fn value(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Tree(value)| value)
}

/// The same of bytes.
///
/// # Errors
/// As of a text; or they are no UTF-8.
pub fn value_of(json: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(json).map(|Tree(value)| value)
}

/// The value that a text begins with, and how many of its bytes that takes.
pub(crate) fn first(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Tree>();
    let Tree(value) = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

/// The members of an object.
///
/// # Errors
/// As of a text; or it is no object.
pub(crate) fn object(text: &str) -> serde_json::Result<Map<String, Value>> {
    match value(text)? {
        Value::Object(object) => Ok(object),
        _ => Err(de::Error::custom("expected an object")),
    }
}

/// Whether a server's JSON has a member of such a name, in escapes perhaps. What may be one is rare, and looked at alone.
pub(crate) fn names_private(json: &[u8]) -> bool {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("serde_json"));
    static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));
    // Without either there is no such name, however it is written.
    if memchr::memchr2(b'$', b'\\', json).is_none() {
        return false;
    }
    if NAME.find(json).is_none() && ESCAPE.find(json).is_none() {
        return false;
    }
    let mended = super::mend(json);
    let read = value_of(mended.as_deref().unwrap_or(json));
    read.is_err_and(|error| error.to_string().starts_with(REFUSED))
}

/// Refuses a member of such a name.
pub(crate) fn refuse<E: de::Error>(name: &str) -> Result<(), E> {
    match name.starts_with(PRIVATE) {
        true => Err(E::custom(REFUSED)),
        false => Ok(()),
    }
}

struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any).map(Self)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Tree(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            refuse(&name)?;
            let Tree(member) = members.next_value()?;
            object.insert(name, member);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{first, names_private, object, value, value_of};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn an_object_is_its_members_whatever_they_are_named() {
        for name in ["RawValue", "Number", "x"] {
            for text in [
                format!(r#"{{"$serde_json::private::{name}":"[1]"}}"#),
                format!(r#"[{{"a":1,"b":{{"\u0024serde_json::private::{name}":"[1]"}}}}]"#),
            ] {
                assert!(value(&text).is_err(), "{text}");
                assert!(value_of(text.as_bytes()).is_err(), "{text}");
                assert!(first(&text).is_none(), "{text}");
            }
        }
        for (json, is_one) in [
            (r#"{"a":[{"$serde_json::private::RawValue":"1"}]}"#, true),
            (r#"{"\u0024serde_json::private\u003a:RawValue":"1"}"#, true),
            (
                r#"{"\u0024s\u0065rde_json\u003a:private::RawValue":"\ud83d"}"#,
                true,
            ),
            (r#"{"a":"\u0024serde_json::private::RawValue"}"#, false),
            (r#"{"a":"$serde_json::private::RawValue"}"#, false),
            (r#"{"a":"#, false),
        ] {
            assert_eq!(names_private(json.as_bytes()), is_one, "{json}");
        }
        let read = value(r#"{"$serde_json":1,"a":"$serde_json::private::RawValue"}"#).unwrap();
        let expected = json!({"$serde_json": 1, "a": "$serde_json::private::RawValue"});
        assert_eq!(read, expected);
        assert!(object("[]").is_err());
        assert_eq!(first("[1] [2]"), Some((json!([1]), 3)));
    }

    proptest! {
        #[test]
        fn every_other_text_reads_as_serde_json_reads_it(
            text in r#"[\[\]{},:"a1\\ .e-]{0,24}|\[[0-9.eE+-]{1,12}\]|"[\\u0-9a-f]{0,14}""#
        ) {
            let theirs = serde_json::from_str::<Value>(&text);
            prop_assert_eq!(value(&text).ok(), theirs.ok());
        }
    }
}
