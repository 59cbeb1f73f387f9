//! Schemas that refer to themselves: which references lead back to where they began.

use super::{Lowering, Why};
use crate::schema::position::children;
use serde_json::Value;
use std::collections::HashSet;

/// Schemas looked at to find a way back; what has more of them is taken for one that has one.
const MAX_SEEN: usize = 2_000;
/// References on one way.
const MAX_PATH: usize = 64;

impl Lowering<'_> {
    /// Notes a reference whose target refers to itself: the server follows it to some depth.
    pub(super) fn lose_depth(&mut self, reference: &Value) {
        let leads_back = self.leads_back(&serde_json::json!({ "$ref": reference }));
        if leads_back {
            self.lose("$ref", Why::Narrower);
        }
    }

    /// Whether a reference within the schema leads, over others maybe, to itself again.
    pub(super) fn leads_back(&mut self, schema: &Value) -> bool {
        let mut search = Search {
            root: self.root,
            path: Vec::new(),
            known: HashSet::new(),
            left: MAX_SEEN.min(self.steps),
        };
        let before = search.left;
        let leads_back = search.has_cycle(schema);
        let seen = before - search.left;
        // Each search is paid for, so that many of them end as well.
        self.may_step(seen);
        leads_back
    }

    /// Whether there are values that end where every named property is there.
    pub(super) fn ends(&mut self, schema: &Value) -> bool {
        let mut left = MAX_SEEN.min(self.steps);
        let before = left;
        let ends = ends(self.root, schema, &mut Vec::new(), &mut left);
        self.may_step(before - left);
        ends
    }
}

/// The same, behind these references.
fn ends<'v>(root: &'v Value, schema: &'v Value, path: &mut Vec<&'v str>, left: &mut usize) -> bool {
    let Value::Object(map) = schema else {
        return true;
    };
    if *left == 0 || path.len() >= MAX_PATH {
        return false;
    }
    *left -= 1;
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|at| root.pointer(at));
        let Some(target) = target.filter(|_| !path.contains(&reference)) else {
            return false;
        };
        path.push(reference);
        let ends = ends(root, target, path, left);
        path.pop();
        return ends;
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = map.get(keyword).and_then(Value::as_array)
            && !branches.iter().any(|branch| ends(root, branch, path, left))
        {
            return false;
        }
    }
    let is_flat = |kind: &Value| kind != "object" && kind != "array";
    let kinds = map.get("type").and_then(Value::as_array);
    if kinds.is_some_and(|kinds| kinds.iter().any(is_flat)) {
        return true;
    }
    let least = map.get("minItems").and_then(Value::as_f64);
    let items = map
        .get("items")
        .filter(|_| least.is_some_and(|least| least > 0.0));
    let named = map.get("properties").and_then(Value::as_object);
    let all = map.get("allOf").and_then(Value::as_array);
    let mut within = (items.into_iter())
        .chain(named.into_iter().flat_map(serde_json::Map::values))
        .chain(all.into_iter().flatten());
    within.all(|schema| ends(root, schema, path, left))
}

struct Search<'v> {
    root: &'v Value,
    /// The references on the way here.
    path: Vec<&'v str>,
    /// Those that lead to no cycle.
    known: HashSet<&'v str>,
    left: usize,
}

impl<'v> Search<'v> {
    fn has_cycle(&mut self, schema: &'v Value) -> bool {
        let Value::Object(map) = schema else {
            return false;
        };
        let Some(left) = self.left.checked_sub(1) else {
            return true;
        };
        self.left = left;
        if let Some(Value::String(reference)) = map.get("$ref")
            && !self.known.contains(reference.as_str())
        {
            if self.path.contains(&reference.as_str()) || self.path.len() >= MAX_PATH {
                return true;
            }
            let pointer = reference.strip_prefix('#');
            if let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer)) {
                self.path.push(reference);
                if self.has_cycle(target) {
                    return true;
                }
                self.path.pop();
            }
            self.known.insert(reference);
        }
        children(map)
            .filter(|child| !matches!(child.keyword, "$defs" | "definitions"))
            .any(|child| self.has_cycle(child.value))
    }
}
