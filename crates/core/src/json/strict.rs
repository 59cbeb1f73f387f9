//! A request body in, a verdict out, in one pass before anything else reads it.
//!
//! Two readers that disagree about a body are a way around every check, so whatever readers are
//! known to disagree about (duplicate keys, lone surrogates, numbers out of range) is refused.

#[cfg(test)]
mod tests;

use crate::error::{Error, Kind};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// serde_json refuses the 128th level by itself, which is what keeps the stack safe. One level
/// less than it reads, so that the fault is found here and has its own name.
const MAX_DEPTH: usize = 126;

/// Objects of this many keys are compared key by key; more of them are hashed.
const FEW_KEYS: usize = 16;

/// A path longer than this is cut: its keys are the client's, and one may be a megabyte long.
const MAX_PATH_CHARS: usize = 256;

/// How much a body may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nesting of objects and arrays, the root included. No more than 126 is ever read.
    pub depth: usize,
    /// Values of any kind, the root included.
    pub values: usize,
}

impl Default for Limits {
    /// The deepest of the collected real schemas nests 63 levels, and a request adds five around
    /// one. A body of small values has 200 000 of them long before it has a meaning.
    fn default() -> Self {
        Self {
            depth: 96,
            values: 200_000,
        }
    }
}

/// Why a body is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// It is not JSON, or not UTF-8, or holds a number or a string that has no value.
    #[error("the body is not valid JSON: {message} at line {line} column {column}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong there. Quotes nothing of the body.
        message: String,
    },
    /// It begins with a mark of how its text is encoded, as files of Windows do.
    #[error("the body begins with a byte order mark: send JSON in UTF-8 without one")]
    ByteOrderMark,
    /// It nests too deep.
    #[error("the body nests more than {limit} levels of objects and arrays")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// It has too many values.
    #[error("the body holds more than {limit} JSON values")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// An object has a key twice.
    #[error("`{path}` is given twice: keep one of the two")]
    DuplicateKey {
        /// Where, as `tools[0].function.name`.
        path: String,
    },
    /// It is JSON, but no object.
    #[error("the body must be a JSON object")]
    NotAnObject,
}

impl From<JsonFault> for Error {
    fn from(fault: JsonFault) -> Self {
        let message = fault.to_string();
        match fault {
            JsonFault::Syntax { .. } | JsonFault::ByteOrderMark => {
                Self::new(Kind::InvalidJson, message)
            }
            JsonFault::TooDeep { .. } => Self::new(Kind::JsonTooDeep, message),
            JsonFault::TooManyValues { .. } => Self::new(Kind::JsonTooLarge, message),
            JsonFault::DuplicateKey { path } => Self::new(Kind::DuplicateKey, message).at(path),
            JsonFault::NotAnObject => Self::new(Kind::InvalidRequest, message),
        }
    }
}

/// Checks a whole body.
///
/// # Errors
/// The first fault from the start of the body.
pub fn check(body: &[u8], limits: &Limits) -> Result<(), JsonFault> {
    /// In UTF-8 and, either way around, in UTF-16.
    const MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    let checked = check_value(body, limits);
    if checked.is_err() && MARKS.iter().any(|mark| body.starts_with(mark)) {
        return Err(JsonFault::ByteOrderMark);
    }
    checked?;
    let is_object = body.trim_ascii_start().starts_with(b"{");
    is_object.then_some(()).ok_or(JsonFault::NotAnObject)
}

/// The same; in a request's words half a surrogate pair (an emoji that was cut, which a client sends again with each turn:
/// anthropics/claude-code#3277) is U+FFFD, to the server as well.
///
/// # Errors
/// As of [`check`].
pub fn checked<'b>(body: &'b [u8], limits: &Limits) -> Result<Cow<'b, [u8]>, JsonFault> {
    let Err(fault) = check(body, limits) else {
        return Ok(Cow::Borrowed(body));
    };
    let mended = super::mend_words(body).ok_or(fault)?;
    check(&mended, limits)?;
    Ok(Cow::Owned(mended))
}

/// The same of a value of any kind.
pub(crate) fn check_value(json: &[u8], limits: &Limits) -> Result<(), JsonFault> {
    let mut state = State {
        depth: limits.depth.min(MAX_DEPTH),
        limits: *limits,
        values: 0,
        fault: None,
    };
    let result = match std::str::from_utf8(json) {
        // All of it looked at once is a fraction of what each string by itself costs.
        Ok(text) => read(&mut serde_json::Deserializer::from_str(text), &mut state),
        // Says where in it the fault is.
        Err(_) => read(&mut serde_json::Deserializer::from_slice(json), &mut state),
    };
    result.map_err(|error| state.into_fault(&error))
}

fn read<'de, R: serde_json::de::Read<'de>>(
    reader: &mut serde_json::Deserializer<R>,
    state: &mut State,
) -> serde_json::Result<()> {
    let depth_left = state.depth;
    let checked = Checked { state, depth_left };
    checked.deserialize(&mut *reader)?;
    reader.end()
}

/// What serde's own error has no place for.
enum Found {
    TooDeep,
    TooManyValues,
    /// The path is put together from its end while the readers of each level return.
    DuplicateKey(Vec<Segment>),
}

enum Segment {
    Key(String),
    Index(usize),
}

struct State {
    limits: Limits,
    depth: usize,
    values: usize,
    fault: Option<Found>,
}

impl State {
    fn fail<E: de::Error>(&mut self, fault: Found) -> E {
        self.fault = Some(fault);
        E::custom("refused")
    }

    fn count<E: de::Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        if self.values > self.limits.values {
            return Err(self.fail(Found::TooManyValues));
        }
        Ok(())
    }

    fn add_segment(&mut self, segment: impl FnOnce() -> Segment) {
        if let Some(Found::DuplicateKey(path)) = &mut self.fault {
            path.push(segment());
        }
    }

    fn into_fault(self, error: &serde_json::Error) -> JsonFault {
        match self.fault {
            Some(Found::TooDeep) => JsonFault::TooDeep { limit: self.depth },
            Some(Found::TooManyValues) => JsonFault::TooManyValues {
                limit: self.limits.values,
            },
            Some(Found::DuplicateKey(path)) => JsonFault::DuplicateKey {
                path: dotted(&path),
            },
            None => {
                let text = error.to_string();
                let message = text.split(" at line ").next().unwrap_or(&text);
                JsonFault::Syntax {
                    line: error.line(),
                    column: error.column(),
                    message: message.to_owned(),
                }
            }
        }
    }
}

fn dotted(from_the_end: &[Segment]) -> String {
    let mut path = String::new();
    for segment in from_the_end.iter().rev() {
        match segment {
            Segment::Key(key) if path.is_empty() => path.push_str(key),
            Segment::Key(key) => {
                path.push('.');
                path.push_str(key);
            }
            Segment::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if let Some((cut, _)) = path.char_indices().nth(MAX_PATH_CHARS) {
        path.truncate(cut);
        path.push('…');
    }
    path
}

/// Reads one value and keeps nothing of it.
struct Checked<'a> {
    state: &'a mut State,
    /// How many levels this value may still open.
    depth_left: usize,
}

impl Checked<'_> {
    fn enter<E: de::Error>(&mut self) -> Result<usize, E> {
        self.state.count()?;
        match self.depth_left.checked_sub(1) {
            Some(left) => Ok(left),
            None => Err(self.state.fail(Found::TooDeep)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Checked<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.state.count()
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.state.count()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.state.count()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.state.count()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.state.count()
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.state.count()
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let depth_left = self.enter()?;
        let state = self.state;
        let mut index = 0;
        loop {
            let item = Checked {
                state: &mut *state,
                depth_left,
            };
            match items.next_element_seed(item) {
                Ok(Some(())) => index += 1,
                Ok(None) => return Ok(()),
                Err(error) => {
                    state.add_segment(|| Segment::Index(index));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let depth_left = self.enter()?;
        let state = self.state;
        let mut keys = Keys::default();
        while let Some(key) = entries.next_key_seed(Key)? {
            super::value::refuse(&key)?;
            if keys.contains(&key) {
                let path = vec![Segment::Key(key.into_owned())];
                return Err(state.fail(Found::DuplicateKey(path)));
            }
            let value = Checked {
                state: &mut *state,
                depth_left,
            };
            if let Err(error) = entries.next_value_seed(value) {
                state.add_segment(|| Segment::Key(key.into_owned()));
                return Err(error);
            }
            keys.insert(key);
        }
        Ok(())
    }
}

/// The keys of one object so far, decoded.
#[derive(Default)]
struct Keys<'de> {
    few: SmallVec<[Cow<'de, str>; FEW_KEYS]>,
    /// The standard library's own hasher: its keys cannot be chosen to collide.
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Keys<'de> {
    fn contains(&self, key: &str) -> bool {
        if self.many.is_empty() {
            self.few.iter().any(|seen| seen == key)
        } else {
            self.many.contains(key)
        }
    }

    fn insert(&mut self, key: Cow<'de, str>) {
        if !self.many.is_empty() {
            self.many.insert(key);
        } else if self.few.len() < FEW_KEYS {
            self.few.push(key);
        } else {
            self.many.extend(self.few.drain(..));
            self.many.insert(key);
        }
    }
}

/// Reads an object's key, borrowed from the body unless it has escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}
