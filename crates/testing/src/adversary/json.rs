//! JSON as it is on the wire: keys keep their order and may stand twice, numbers their spelling.

use super::source::Source;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt::{self, Write as _};

/// A JSON text, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub enum J {
    Null,
    Bool(bool),
    /// As it is spelled.
    Num(String),
    Str(String),
    Arr(Vec<J>),
    Obj(Vec<(String, J)>),
    /// Text that is written as it is, JSON or not.
    Raw(String),
}

/// Which of two values of one key a reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twice {
    First,
    Last,
    /// The last, and names that differ in case alone are the same (Go's reader).
    AnyCase,
}

/// A name as a reader has it that minds no case. It takes two letters beyond ASCII for s and k.
fn folded(key: &str) -> String {
    let letter = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    };
    key.chars().map(letter).collect()
}

pub fn s(text: impl Into<String>) -> J {
    J::Str(text.into())
}

pub fn n(number: impl fmt::Display) -> J {
    J::Num(number.to_string())
}

/// An object of these members.
pub fn obj<const N: usize>(members: [(&str, J); N]) -> J {
    J::Obj(members.map(|(key, value)| (key.to_owned(), value)).into())
}

impl From<&Value> for J {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Num(number.to_string()),
            Value::String(text) => Self::Str(text.clone()),
            Value::Array(all) => Self::Arr(all.iter().map(Self::from).collect()),
            Value::Object(map) => Self::Obj(
                map.iter()
                    .map(|(key, value)| (key.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

impl J {
    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Obj(members) => members.iter().find(|(key, _)| key == name).map(|it| &it.1),
            _ => None,
        }
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        match self {
            Self::Obj(members) => members
                .iter_mut()
                .find(|(key, _)| key == name)
                .map(|it| &mut it.1),
            _ => None,
        }
    }

    /// The value at a path of names and places.
    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        let mut value = self;
        for step in path {
            value = match (value, step.parse::<usize>()) {
                (Self::Arr(all), Ok(place)) => all.get_mut(place)?,
                (value, _) => value.get_mut(step)?,
            };
        }
        Some(value)
    }

    /// The text that it is.
    pub fn str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number that it is.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Num(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// What the list holds.
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Arr(all) => Some(all),
            _ => None,
        }
    }

    pub fn items_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Arr(all) => Some(all),
            _ => None,
        }
    }

    /// The same with each key once, as a reader has it that takes the first or the last.
    pub fn only(&self, twice: Twice) -> Self {
        match self {
            Self::Arr(all) => Self::Arr(all.iter().map(|one| one.only(twice)).collect()),
            Self::Obj(members) => {
                let mut once = Self::Obj(Vec::new());
                for (key, value) in members {
                    if twice != Twice::First || once.get(key).is_none() {
                        once.set(key, value.only(twice));
                    }
                }
                once
            }
            plain => plain.clone(),
        }
    }

    pub fn set(&mut self, name: &str, value: Self) {
        match self.get_mut(name) {
            Some(known) => *known = value,
            None => self.push(name, value),
        }
    }

    pub fn remove(&mut self, name: &str) {
        if let Self::Obj(members) = self {
            members.retain(|(key, _)| key != name);
        }
    }

    /// Adds a member, whether or not there is one of this name.
    pub fn push(&mut self, name: &str, value: Self) {
        if let Self::Obj(members) = self {
            members.push((name.to_owned(), value));
        }
    }

    /// Every object in it, in order of depth-first search: so many there are.
    pub fn objects(&self) -> usize {
        match self {
            Self::Arr(all) => all.iter().map(Self::objects).sum(),
            Self::Obj(members) => 1 + members.iter().map(|it| it.1.objects()).sum::<usize>(),
            _ => 0,
        }
    }

    /// The object of this place among [`Self::objects`].
    pub fn object_mut(&mut self, place: &mut usize) -> Option<&mut Vec<(String, Self)>> {
        match self {
            Self::Arr(all) => all.iter_mut().find_map(|one| one.object_mut(place)),
            Self::Obj(members) => {
                if *place == 0 {
                    return Some(members);
                }
                *place -= 1;
                members.iter_mut().find_map(|it| it.1.object_mut(place))
            }
            _ => None,
        }
    }

    /// Written without any space.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |_| 0);
        out
    }

    /// Written as some server might: spaces, and characters as escapes, so many in a hundred.
    pub fn odd_text(&self, source: &mut impl Source, percent: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |n| {
            if source.chance(percent) {
                1 + source.below(n)
            } else {
                0
            }
        });
        out
    }

    /// `odd` says 0 where a plain spelling is to be taken, else which of so many others.
    fn write(&self, out: &mut String, odd: &mut impl FnMut(usize) -> usize) {
        const BLANKS: [&str; 5] = ["", " ", "\n", "\t", "  "];
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Num(text) | Self::Raw(text) => out.push_str(text),
            Self::Str(text) => write_string(text, out, odd),
            Self::Arr(all) => {
                out.push('[');
                for (place, one) in all.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    out.push_str(BLANKS[odd(4)]);
                    one.write(out, odd);
                }
                out.push_str(BLANKS[odd(4)]);
                out.push(']');
            }
            Self::Obj(members) => {
                out.push('{');
                for (place, (key, value)) in members.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    out.push_str(BLANKS[odd(4)]);
                    write_string(key, out, odd);
                    out.push(':');
                    out.push_str(BLANKS[odd(4)]);
                    value.write(out, odd);
                }
                out.push_str(BLANKS[odd(4)]);
                out.push('}');
            }
        }
    }

    /// As a reader has it that takes the first, or the last, of two values of one key.
    pub fn value(&self, twice: Twice) -> Value {
        match self {
            Self::Null | Self::Raw(_) => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Num(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            Self::Str(text) => Value::String(text.clone()),
            Self::Arr(all) => all.iter().map(|one| one.value(twice)).collect(),
            Self::Obj(members) => {
                let mut map = serde_json::Map::new();
                for (key, value) in members {
                    let key = match twice {
                        Twice::AnyCase => folded(key),
                        _ => key.clone(),
                    };
                    if twice != Twice::First || !map.contains_key(&key) {
                        map.insert(key, value.value(twice));
                    }
                }
                Value::Object(map)
            }
        }
    }

    /// Whether some object has a name that is not as a reader has it that minds no case.
    pub fn has_other_case(&self) -> bool {
        match self {
            Self::Arr(all) => all.iter().any(Self::has_other_case),
            Self::Obj(members) => members
                .iter()
                .any(|(key, value)| folded(key) != *key || value.has_other_case()),
            _ => false,
        }
    }

    /// Whether some object has a key twice.
    pub fn is_twofold(&self) -> bool {
        match self {
            Self::Arr(all) => all.iter().any(Self::is_twofold),
            Self::Obj(members) => {
                let is_again = |place: usize| {
                    let key = &members[place].0;
                    members[..place].iter().any(|(known, _)| known == key)
                };
                (0..members.len()).any(is_again) || members.iter().any(|it| it.1.is_twofold())
            }
            _ => false,
        }
    }
}

fn write_string(text: &str, out: &mut String, odd: &mut impl FnMut(usize) -> usize) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if (c as u32) < 0x20 || odd(1) == 1 => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Reads one JSON text; `None` where it is none.
pub fn read(text: &str) -> Option<J> {
    serde_json::from_str(text).ok()
}

impl<'de> Deserialize<'de> for J {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = J;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<J, E> {
        Ok(J::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<J, E> {
        Ok(J::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<J, E> {
        Ok(n(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<J, E> {
        Ok(n(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<J, E> {
        Ok(J::from(&Value::from(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<J, E> {
        Ok(s(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<J, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(J::Arr(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<J, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(J::Obj(members))
    }
}
