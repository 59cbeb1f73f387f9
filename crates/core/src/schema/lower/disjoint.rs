//! Disjointness: two schemas come in; whether no value can satisfy both goes out. `false` means
//! that it could not be proved.

use super::conjoin::size;
use super::fits::{fits_all, types_of};
use super::{Lowering, combine};
use serde_json::{Map, Value};

/// How far references and discriminating properties are followed.
const MAX_DEPTH: usize = 4;
/// Required properties of which one may tell two objects apart.
const MAX_NAMES: usize = 64;

impl Lowering<'_> {
    /// Whether no value satisfies two of the branches.
    pub(super) fn all_disjoint(&mut self, branches: &[Value]) -> bool {
        // Each is compared with each.
        branches.len() <= 64
            && branches.iter().enumerate().all(|(at, left)| {
                branches[at + 1..]
                    .iter()
                    .all(|right| disjoint(self.root, left, right, MAX_DEPTH, &mut self.steps))
            })
    }
}

fn disjoint(root: &Value, left: &Value, right: &Value, depth: usize, steps: &mut usize) -> bool {
    match (left, right) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => true,
        (Value::Object(left), Value::Object(right)) => differ(root, left, right, depth, steps),
        _ => false,
    }
}

fn differ(
    root: &Value,
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    depth: usize,
    steps: &mut usize,
) -> bool {
    if depth == 0 || *steps == 0 {
        return false;
    }
    *steps -= 1;
    types_differ(left, right)
        || values_differ(left, right, steps)
        || values_differ(right, left, steps)
        || properties_differ(root, left, right, depth, steps)
        || inner_differ(root, left, right, depth, steps)
        || inner_differ(root, right, left, depth, steps)
}

/// Whether what one refers to, or each of its alternatives, differs from the other.
fn inner_differ(
    root: &Value,
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    depth: usize,
    steps: &mut usize,
) -> bool {
    let mut differs = |inner: &Value| match inner {
        Value::Bool(says) => !says,
        Value::Object(inner) => differ(root, inner, other, depth - 1, steps),
        _ => false,
    };
    combine::target(root, one).is_some_and(&mut differs)
        || ["anyOf", "oneOf"].iter().any(|keyword| {
            let branches = one.get(*keyword).and_then(Value::as_array);
            branches
                .is_some_and(|branches| branches.len() <= 16 && branches.iter().all(&mut differs))
        })
}

fn types_differ(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    let (Some(left), Some(right)) = (left.get("type"), right.get("type")) else {
        return false;
    };
    let (left, right) = (types_of(left), types_of(right));
    !left.iter().any(|l| {
        right
            .iter()
            .any(|r| l == r || matches!((*l, *r), ("integer", "number") | ("number", "integer")))
    })
}

/// Whether one lists its values, and none of them is the other's.
fn values_differ(one: &Map<String, Value>, other: &Map<String, Value>, steps: &mut usize) -> bool {
    let Some(values) = values(one) else {
        return false;
    };
    let checks = values.len().saturating_mul(size(other, *steps).max(1));
    if *steps < checks {
        return false;
    }
    *steps -= checks;
    values
        .iter()
        .all(|value| fits_all(value, other) == Some(false))
}

/// The values of `const` or `enum`.
pub(super) fn values(map: &Map<String, Value>) -> Option<&[Value]> {
    match (map.get("const"), map.get("enum")) {
        (Some(value), _) => Some(std::slice::from_ref(value)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

/// Whether both are objects, and a property that both must have tells them apart.
fn properties_differ(
    root: &Value,
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    depth: usize,
    steps: &mut usize,
) -> bool {
    let is_object = |map: &Map<String, Value>| map.get("type") == Some(&Value::from("object"));
    if !is_object(left) || !is_object(right) {
        return false;
    }
    let mut differs = |one: &Map<String, Value>, other: &Map<String, Value>| {
        required(one).take(MAX_NAMES).any(|name| {
            let Some(theirs) = property(other, name) else {
                return other.get("additionalProperties") == Some(&Value::Bool(false))
                    && !other.contains_key("patternProperties");
            };
            required(other).take(MAX_NAMES).any(|known| known == name)
                && property(one, name)
                    .is_some_and(|ours| disjoint(root, ours, theirs, depth - 1, steps))
        })
    };
    differs(left, right) || differs(right, left)
}

fn required(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = map.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn property<'m>(map: &'m Map<String, Value>, name: &str) -> Option<&'m Value> {
    map.get("properties")?.as_object()?.get(name)
}
