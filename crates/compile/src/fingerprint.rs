//! Fingerprints: a constraint comes in, a hash of what it means goes out, without a copy.
//!
//! Two constraints that are equal have one fingerprint; the cache compares the constraints
//! themselves before it believes the reverse.

use isogloss_core::ir::Constraint;
use serde_json::Value;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// JSON levels; deeper values are refused here, before any recursion over them.
const MAX_DEPTH: usize = 192;

/// A constraint's hash and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    pub(super) hash: u64,
    /// About the bytes of its text.
    pub(super) bytes: usize,
}

/// Makes fingerprints, keyed at random: nobody outside can aim for a collision.
#[derive(Debug)]
pub struct Fingerprints {
    keys: RandomState,
    max_bytes: usize,
    /// Whether the order of keys makes another constraint.
    ordered: bool,
}

impl Fingerprints {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            keys: RandomState::new(),
            max_bytes,
            ordered: false,
        }
    }

    /// Fingerprints that see the order of keys.
    pub(super) fn ordered(self) -> Self {
        Self {
            ordered: true,
            ..self
        }
    }

    /// The fingerprint of a constraint in circumstances.
    pub fn within(
        &self,
        constraint: &Constraint,
        circumstances: &impl Hash,
    ) -> Option<Fingerprint> {
        let print = self.of(constraint)?;
        Some(Fingerprint {
            hash: self.keys.hash_one((print.hash, circumstances)),
            ..print
        })
    }

    /// The fingerprint of parts: schemas, constraints, and whatever else there is of it.
    pub(super) fn of_parts(
        &self,
        schemas: &[&Value],
        constraint: Option<&Constraint>,
        rest: &impl Hash,
    ) -> Option<Fingerprint> {
        let mut left = self.max_bytes;
        let mut hasher = self.keys.build_hasher();
        for schema in schemas {
            hasher.write_u64(self.value(schema, MAX_DEPTH, &mut left)?);
        }
        let mut bytes = self.max_bytes - left;
        if let Some(constraint) = constraint {
            let print = self.of(constraint)?;
            hasher.write_u64(print.hash);
            bytes += print.bytes;
        }
        rest.hash(&mut hasher);
        Some(Fingerprint {
            hash: hasher.finish(),
            bytes,
        })
    }

    /// `None` for what is larger or deeper than any constraint that compiles.
    pub(super) fn of(&self, constraint: &Constraint) -> Option<Fingerprint> {
        let mut left = self.max_bytes;
        let mut hasher = self.keys.build_hasher();
        hasher.write(constraint.kind().as_bytes());
        match constraint {
            Constraint::JsonObject => {}
            Constraint::JsonSchema(value) | Constraint::StructuralTag(value) => {
                hasher.write_u64(self.value(value, MAX_DEPTH, &mut left)?);
            }
            Constraint::Regex(text) | Constraint::Grammar { text, .. } => {
                left = left.checked_sub(text.len())?;
                text.hash(&mut hasher);
            }
            Constraint::Choice(choices) => {
                for choice in choices {
                    left = left.checked_sub(choice.len() + 2)?;
                    choice.hash(&mut hasher);
                }
            }
        }
        Some(Fingerprint {
            hash: hasher.finish(),
            bytes: self.max_bytes - left,
        })
    }

    fn value(&self, value: &Value, depth: usize, left: &mut usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let mut hasher = self.keys.build_hasher();
        let mut spend = |bytes: usize| {
            *left = left.checked_sub(bytes)?;
            Some(())
        };
        match value {
            Value::Null => hasher.write_u8(0),
            Value::Bool(value) => value.hash(&mut hasher),
            Value::Number(number) => {
                spend(4)?;
                number.hash(&mut hasher);
            }
            Value::String(text) => {
                spend(text.len() + 2)?;
                text.hash(&mut hasher);
            }
            Value::Array(items) => {
                spend(items.len() + 2)?;
                hasher.write_u8(1);
                for item in items {
                    hasher.write_u64(self.value(item, depth, left)?);
                }
            }
            Value::Object(map) => {
                hasher.write_u8(2);
                // The order of keys means nothing to a validator: the sum does not see it.
                let mut sum = 0_u64;
                let mut place = 0_u64;
                for (key, value) in map {
                    *left = left.checked_sub(key.len() + 4)?;
                    let mut entry = self.keys.build_hasher();
                    key.hash(&mut entry);
                    if self.ordered {
                        entry.write_u64(place);
                        place += 1;
                    }
                    entry.write_u64(self.value(value, depth, left)?);
                    sum = sum.wrapping_add(entry.finish());
                }
                hasher.write_u64(sum);
            }
        }
        Some(hasher.finish())
    }
}

/// Whether two values are equal, the order of their keys included. No deeper than a fingerprint
/// goes, which both have.
pub fn same_order(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, value), (other_key, other))| {
                        key == other_key && same_order(value, other)
                    })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| same_order(one, other))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprints;
    use isogloss_core::ir::{Constraint, Notation};
    use serde_json::{Value, json};

    fn schema(value: Value) -> Constraint {
        Constraint::JsonSchema(value)
    }

    #[test]
    fn equal_constraints_have_one_fingerprint_and_others_another() {
        let prints = Fingerprints::new(1 << 20);
        let a = schema(json!({"a": {"x": 1, "y": [true, null]}, "b": 2}));
        let b = schema(json!({"b": 2, "a": {"y": [true, null], "x": 1}}));
        assert_eq!(prints.of(&a), prints.of(&b));
        let text = "x".to_owned();
        let different = [
            schema(json!({"const": 1})),
            schema(json!({"const": 1.0})),
            schema(json!({"const": "1"})),
            schema(json!({"const": true})),
            schema(json!({"const": [1]})),
            schema(json!({"enum": [1, 2]})),
            schema(json!({"enum": [2, 1]})),
            schema(json!({"a": {"b": 1}, "c": {}})),
            schema(json!({"a": {}, "c": {"b": 1}})),
            Constraint::StructuralTag(json!({"const": 1})),
            Constraint::Regex(text.clone()),
            Constraint::Choice(vec![text.clone()]),
            Constraint::Choice(vec![text.clone(), text.clone()]),
            Constraint::Grammar {
                notation: Notation::Gbnf,
                text: text.clone(),
            },
            Constraint::Grammar {
                notation: Notation::Lark,
                text,
            },
        ];
        for (i, a) in different.iter().enumerate() {
            for (j, b) in different.iter().enumerate() {
                assert_eq!(prints.of(a) == prints.of(b), i == j, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn what_is_too_large_or_too_deep_has_none() {
        let prints = Fingerprints::new(100);
        assert!(prints.of(&Constraint::Regex("x".repeat(100))).is_some());
        assert!(prints.of(&Constraint::Regex("x".repeat(101))).is_none());
        assert!(prints.of(&schema(json!(vec![1; 100]))).is_none());
        let deep = (0..300).fold(json!(0), |inner, _| json!([inner]));
        assert!(Fingerprints::new(1 << 20).of(&schema(deep)).is_none());
    }
}
