//! A model's JSON text: read to a value without the two ways in which a value says something else
//! than its text does, keys that stand twice and numbers beyond 64 bits.

use super::position::push_segment;
use super::validator::SchemaBreach;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::{Cell, RefCell};
use std::fmt;

/// The fewest digits of an integer that does not fit 64 bits.
const LONG_DIGITS: usize = 19;

/// A value, and whether it is what its text says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    pub(crate) value: Value,
    /// Places, in the order of the text, of the numbers that the value holds only nearly.
    pub(crate) unheld: Vec<usize>,
}

/// Reads the JSON text of a reply.
///
/// Integers beyond 64 bits become the nearest float, as in every reader that has no larger
/// integers; [`super::Validator::validate_text`] is the one that knows whether that matters.
///
/// # Errors
/// Rule `json`: it is not JSON, it nests too deep, a number is too large for any float, or an
/// object has a key twice (readers differ in which of the two they take).
pub fn read_reply_json(text: &str) -> Result<Value, SchemaBreach> {
    read(text).map(|read| read.value)
}

/// [`read_reply_json`], and which of its numbers are not held exactly.
pub(crate) fn read(text: &str) -> Result<Read, SchemaBreach> {
    let unheld = unheld_numbers(text);
    let value = build(text, &[], NumberBound::Nearest)?;
    Ok(Read { value, unheld })
}

/// The float next to a number on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberBound {
    /// What the parser reads.
    Nearest,
    /// The next float below.
    Below,
    /// The next float above.
    Above,
}

/// The value of a text whose numbers at `places` (as [`unheld_numbers`] gives them) are replaced
/// by a float that is certainly to one side of what is written.
pub(crate) fn build(
    text: &str,
    places: &[usize],
    side: NumberBound,
) -> Result<Value, SchemaBreach> {
    let reading = Reading {
        places,
        side,
        seen: Cell::new(0),
        twice: RefCell::new(None),
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let result = Node(&reading)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    result.map_err(|_| match reading.twice.into_inner() {
        Some(mut path) => {
            path.reverse();
            let mut pointer = String::new();
            path.iter()
                .for_each(|segment| push_segment(&mut pointer, segment));
            broken(
                pointer,
                "the key stands twice in its object: keep one of the two",
            )
        }
        None => broken(
            String::new(),
            "the JSON cannot be read: it is not well-formed, or a number or a nesting is too large",
        ),
    })
}

/// A number whose exact value matters, and is not known.
pub(crate) fn too_long() -> SchemaBreach {
    broken(
        String::new(),
        "a whole number has more than 64 bits, so its exact value cannot be checked",
    )
}

pub(crate) fn broken(pointer: String, message: &str) -> SchemaBreach {
    SchemaBreach {
        pointer,
        rule: "json".to_owned(),
        message: message.to_owned(),
    }
}

/// The numbers of a JSON text that a [`Value`] cannot hold exactly, counted from 0 over all of its
/// numbers: integers that fit neither `i64` nor `u64`. Fractions are not among them: every reader
/// takes those for the nearest float.
#[must_use]
pub fn unheld_numbers(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let (mut found, mut count, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at + 1).unwrap_or(bytes.len()),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                if !is_held(&text[at..at + length]) {
                    found.push(count);
                }
                count += 1;
                at += length;
            }
            _ => at += 1,
        }
    }
    found
}

fn is_held(literal: &str) -> bool {
    literal.len() < LONG_DIGITS
        || literal.contains(['.', 'e', 'E'])
        || literal.parse::<i64>().is_ok()
        || literal.parse::<u64>().is_ok()
}

/// The place after the closing quote of a string whose inside begins at `at`; `None` where the text
/// ends first.
pub(crate) fn after_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

struct Reading<'r> {
    places: &'r [usize],
    side: NumberBound,
    seen: Cell<usize>,
    /// The path of a key that stands twice, from the inside out.
    twice: RefCell<Option<Vec<String>>>,
}

impl Reading<'_> {
    fn number(&self) -> bool {
        let place = self.seen.get();
        self.seen.set(place + 1);
        self.places.binary_search(&place).is_ok()
    }

    fn below<T, E>(&self, segment: impl FnOnce() -> String, result: Result<T, E>) -> Result<T, E> {
        if result.is_err()
            && let Some(path) = self.twice.borrow_mut().as_mut()
        {
            path.push(segment());
        }
        result
    }
}

struct Node<'r>(&'r Reading<'r>);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        self.0.number();
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        self.0.number();
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let value = match (self.0.number(), self.0.side) {
            (true, NumberBound::Below) => value.next_down(),
            (true, NumberBound::Above) => value.next_up(),
            _ => value,
        };
        let number = Number::from_f64(value).ok_or_else(|| E::custom("no finite number"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        loop {
            let item = items.next_element_seed(Node(self.0));
            match self.0.below(|| array.len().to_string(), item)? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            crate::json::refuse(&key)?;
            if object.contains_key(&key) {
                *self.0.twice.borrow_mut() = Some(vec![key]);
                return Err(A::Error::custom("a key stands twice"));
            }
            let value = members.next_value_seed(Node(self.0));
            let value = self.0.below(|| key.clone(), value)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{NumberBound, build, read_reply_json, unheld_numbers};
    use serde_json::{Value, json};

    #[test]
    fn a_text_without_double_keys_reads_as_any_reader_reads_it() {
        for text in [
            r#"{"a":[1,-2,3.5,1e3,"x\"\\",null,true,{"a":{}}],"b":[],"":"é\u00e9"}"#,
            " 18446744073709551615 ",
            "-9223372036854775808",
            "100000000000000000000",
            r#"[{"a":1},{"a":2}]"#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read_reply_json(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_found_at_any_depth_however_it_is_written() {
        for (text, pointer) in [
            (r#"{"a":1,"a":1}"#, "/a"),
            (r#"{"a":1,"\u0061":2}"#, "/a"),
            (r#"{"x":[0,{"a/b":{"k":1,"l":2,"k":3}}]}"#, "/x/1/a~1b/k"),
            (r#"[[{"":0,"":0}]]"#, "/0/0/"),
        ] {
            let breach = read_reply_json(text).unwrap_err();
            assert_eq!(
                (breach.rule.as_str(), breach.pointer.as_str()),
                ("json", pointer)
            );
            assert!(breach.message.contains("twice"), "{}", breach.message);
        }
    }

    #[test]
    fn what_is_no_json_is_told_from_a_double_key() {
        for text in ["", "{", "[1,]", "1 2", "1e400", "nul", &"[".repeat(500)] {
            let breach = read_reply_json(text).unwrap_err();
            assert_eq!(
                (breach.rule.as_str(), breach.pointer.as_str()),
                ("json", "")
            );
            assert!(!breach.message.contains("twice"), "{text}");
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_found_among_the_others() {
        let text = r#"{"1234567890123456789012":[1,18446744073709551615,18446744073709551616,
            "\"99999999999999999999",0.12345678901234567890123,-9223372036854775809,1e30]}"#;
        assert_eq!(unheld_numbers(text), [2, 4]);
        let value = build(text, &[2, 4], NumberBound::Below).unwrap();
        let list = &value["1234567890123456789012"];
        assert!(list[2].as_f64().unwrap() < 18_446_744_073_709_551_616.0);
        assert!(list[5].as_f64().unwrap() < -9_223_372_036_854_775_808.0);
        assert_eq!(list[1], json!(18_446_744_073_709_551_615_u64));
        assert_eq!(list[6], json!(1e30));
    }
}
