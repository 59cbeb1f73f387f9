//! A JSON object read one level deep: what nobody needs to understand stays the client's bytes.

use indexmap::IndexMap;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::fmt;

/// The top-level fields of a body, in order, each the raw JSON text as it came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(pub IndexMap<String, Box<RawValue>, Hasher>);

/// Of names that outsiders choose, each map with a seed of its own: as hard to make collide as the standard library's for
/// whoever sees no hash, and a fraction of its cost for names as short as these.
type Hasher = foldhash::quality::RandomState;

impl Fields {
    /// Reads an object one level deep; says whether a name stands in it twice. The last one counts
    /// then, as it does for most readers, but not for all.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn read(json: &[u8]) -> serde_json::Result<(Self, bool)> {
        let Noted { fields, repeats } = match std::str::from_utf8(json) {
            // All of it looked at once is a fraction of what each string by itself costs.
            Ok(text) => serde_json::from_str(text)?,
            Err(_) => serde_json::from_slice(json)?,
        };
        Ok((fields, repeats))
    }

    /// Reads a list of objects, each as [`Fields::read`] does.
    ///
    /// # Errors
    /// It is no list of JSON objects.
    pub fn read_list(json: &str) -> serde_json::Result<Vec<(Self, bool)>> {
        let all: Vec<Noted> = serde_json::from_str(json)?;
        let read = |noted: Noted| (noted.fields, noted.repeats);
        Ok(all.into_iter().map(read).collect())
    }

    /// A field's raw JSON text.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.get())
    }

    /// Whether a field is a list without items.
    #[must_use]
    pub fn is_empty_list(&self, name: &str) -> bool {
        let items = self.raw(name).and_then(|raw| raw.strip_prefix('['));
        items.is_some_and(|items| items.trim_start() == "]")
    }

    /// Sets a field, in place where it exists, else at the end.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        self.0.insert(name.to_owned(), value);
    }

    /// Removes a field; the order of the others stays.
    pub fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.shift_remove(name)
    }

    /// Whether the field is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The object's JSON text.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text_len());
        self.write(&mut out);
        out
    }

    /// About the length of its JSON text: exact where no name needs an escape.
    #[must_use]
    pub fn text_len(&self) -> usize {
        let fields = self.0.iter();
        let lengths = fields.map(|(name, value)| name.len() + value.get().len() + 4);
        2 + lengths.sum::<usize>()
    }

    /// Appends the object's JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_fields(out, |_name, value, out| {
            out.extend_from_slice(value.get().as_bytes());
        });
    }

    /// The same, where one of the fields has what `other` appends for a value.
    pub fn write_with(&self, field: &str, out: &mut Vec<u8>, other: impl FnOnce(&mut Vec<u8>)) {
        let mut other = Some(other);
        self.write_fields(out, |name, value, out| {
            match other.take_if(|_| name == field) {
                Some(other) => other(out),
                None => out.extend_from_slice(value.get().as_bytes()),
            }
        });
    }

    fn write_fields(
        &self,
        out: &mut Vec<u8>,
        mut write_value: impl FnMut(&str, &RawValue, &mut Vec<u8>),
    ) {
        out.push(b'{');
        for (place, (name, value)) in self.0.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            // Writing to memory cannot fail.
            let _ = serde_json::to_writer(&mut *out, name);
            out.push(b':');
            write_value(name, value, out);
        }
        out.push(b'}');
    }
}

/// What [`Fields::read`] finds.
struct Noted {
    fields: Fields,
    repeats: bool,
}

impl<'de> Deserialize<'de> for Noted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Noted;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Noted, A::Error> {
                let (mut fields, mut repeats) = (Fields::default(), false);
                while let Some((name, value)) = map.next_entry()? {
                    repeats |= fields.0.insert(name, value).is_some();
                }
                Ok(Noted { fields, repeats })
            }
        }

        deserializer.deserialize_map(Names)
    }
}

/// A value as raw JSON text. Only maps with keys that are no strings can fail, and none is used.
#[must_use]
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Raw JSON text from a string that is JSON already; `null` if it is not.
#[must_use]
pub fn raw_string(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
