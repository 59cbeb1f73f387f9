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
