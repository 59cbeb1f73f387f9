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
        let Noted { fields, repeats } = serde_json::from_slice(json)?;
        Ok((fields, repeats))
    }

    /// A field's raw JSON text.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.get())
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
        serde_json::to_vec(self).unwrap_or_default()
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
