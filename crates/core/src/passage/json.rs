//! JSON as the most lenient server reads it, without a tree: keys may repeat and each one counts,
//! their case and their underscores do not, and several values may follow one another.

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// What the first bytes of a body say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Too few bytes.
    Undecided,
    /// An object or a list begins, in some encoding.
    Json,
    /// No server reads a demand in it.
    Other,
}

/// The most zeros before a letter, in UTF-32.
const MAX_ZEROS: usize = 3;

/// Python reads UTF-16 and UTF-32 too, several servers a byte order mark.
pub(super) fn sniff(body: &[u8]) -> Look {
    const MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"];
    let whole = body;
    let body = body.strip_prefix(b"\0\0").unwrap_or(body);
    let mark = MARKS.iter().find_map(|mark| body.strip_prefix(*mark));
    if mark.is_none() && MARKS.iter().any(|mark| mark.starts_with(body)) && !body.is_empty() {
        return Look::Undecided;
    }
    let mut zeros = 0;
    for byte in mark.unwrap_or(whole) {
        match byte {
            b'{' | b'[' => return Look::Json,
            0 if zeros < MAX_ZEROS => zeros += 1,
            byte if byte.is_ascii_whitespace() => zeros = 0,
            _ => return Look::Other,
        }
    }
    Look::Undecided
}

/// A key without what lenient readers do not see: Go's folds case, also that of `ſ` and `K`;
/// protobuf's takes `camelCase` and `snake_case`.
pub(super) fn folded(key: &str) -> String {
    let upper = key.chars().flat_map(char::to_uppercase);
    upper
        .flat_map(char::to_lowercase)
        .filter(|letter| !matches!(letter, '_' | '-'))
        .collect()
}

/// Whether a folded key is this name.
pub(super) fn is_key(folded: &str, name: &str) -> bool {
    let letters = name.chars().filter(|letter| *letter != '_');
    folded
        .chars()
        .eq(letters.map(|letter| letter.to_ascii_lowercase()))
}

/// One value, unread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Json<'a>(&'a RawValue);

/// What a value is.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(String, Json<'a>)>),
}

/// The values of a body; the last is an error where something else follows.
pub(super) fn values(body: &[u8]) -> impl Iterator<Item = Result<Json<'_>, serde_json::Error>> {
    serde_json::Deserializer::from_slice(body)
        .into_iter::<&RawValue>()
        .map(|value| value.map(Json))
}

impl<'a> Json<'a> {
    /// Reads one level.
    ///
    /// # Errors
    /// A string or a key that is no Unicode.
    pub(super) fn read(self) -> Result<Value<'a>, serde_json::Error> {
        let text = self.0.get();
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                Value::Object(serde_json::Deserializer::from_str(text).deserialize_map(Entries)?)
            }
            Some(b'[') => {
                Value::List(serde_json::Deserializer::from_str(text).deserialize_seq(Items)?)
            }
            Some(b'"') => match serde_json::from_str::<Text<'_>>(text) {
                Ok(Text(text)) => Value::Text(text),
                Err(_) => Value::Text(Cow::Borrowed(text)),
            },
            Some(b't' | b'f') => Value::Bool(text == "true"),
            Some(b'n') | None => Value::Null,
            Some(_) => Value::Number(text),
        })
    }
}

/// Borrowed from the body unless it has escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, Json<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &RawValue>()? {
            entries.push((folded(&key), Json(value)));
        }
        Ok(entries)
    }
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<Json<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<&RawValue>()? {
            items.push(Json(item));
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_json_from_other_bodies_in_every_encoding_that_servers_read() {
        for (body, look) in [
            (&b""[..], Look::Undecided),
            (b" \r\n\t", Look::Undecided),
            (b"\xef", Look::Undecided),
            (b"{", Look::Json),
            (b" [", Look::Json),
            (b"\xef\xbb\xbf {", Look::Json),
            (b"\xff\xfe{\0", Look::Json),
            (b"\xfe\xff\0{", Look::Json),
            (b"\0{", Look::Json),
            (b"\0\0\0{", Look::Json),
            (b"\0\0\xfe\xff\0\0\0{", Look::Json),
            (b"\xff\xfe\0\0{\0\0\0", Look::Json),
            // A gRPC message of 123 bytes.
            (b"\0\0\0\0{", Look::Other),
            (b"--boundary", Look::Other),
            (b"a=b", Look::Other),
            (b"\x89PNG", Look::Other),
            (b"\xef\xbb\x00{", Look::Other),
            (b"\"{\"", Look::Other),
        ] {
            assert_eq!(sniff(body), look, "{body:?}");
        }
    }

    #[test]
    fn keys_are_compared_as_the_most_lenient_reader_does() {
        for key in ["tool_choice", "toolChoice", "Tool_Choice", "TOOL-CHOICE"] {
            assert_eq!(folded(key), "toolchoice", "{key}");
        }
        assert_eq!(folded("re\u{17f}ponse_format"), "responseformat");
        assert_eq!(folded("\u{212a}ey"), "key");
        assert_ne!(folded("tools"), folded("tool"));
    }
}
