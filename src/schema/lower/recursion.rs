//! Schemas that refer to themselves: which references lead back to where they began.

use super::{Lowering, Why};
use crate::schema::position::children;
use serde_json::Value;

/// References followed to find a way back; a schema with more of them is taken for one that has one.
const MAX_FOLLOWED: usize = 2_000;

impl Lowering<'_> {
    /// Notes a reference whose target refers to itself: the server follows it to some depth.
    pub(super) fn lose_depth(&mut self, reference: &Value) {
        let leads_back = self.leads_back(&serde_json::json!({ "$ref": reference }));
        if leads_back {
            self.lose("$ref", Why::Narrower);
        }
    }

    /// Whether a reference within the schema leads, over others maybe, to itself again.
    pub(super) fn leads_back(&self, schema: &Value) -> bool {
        let mut left = MAX_FOLLOWED;
        let mut known = Vec::new();
        self.has_cycle(schema, &mut Vec::new(), &mut known, &mut left)
    }

    /// `path` are the references on the way here, `known` those that lead to no cycle.
    fn has_cycle<'v>(
        &'v self,
        schema: &'v Value,
        path: &mut Vec<&'v str>,
        known: &mut Vec<&'v str>,
        left: &mut usize,
    ) -> bool {
        let Value::Object(map) = schema else {
            return false;
        };
        if let Some(Value::String(reference)) = map.get("$ref") {
            if path.contains(&reference.as_str()) || *left == 0 {
                return true;
            }
            let target = reference
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            if let Some(target) = target
                && !known.contains(&reference.as_str())
            {
                *left -= 1;
                path.push(reference);
                if self.has_cycle(target, path, known, left) {
                    return true;
                }
                path.pop();
                known.push(reference);
            }
        }
        children(map)
            .filter(|child| !matches!(child.keyword, "$defs" | "definitions"))
            .any(|child| self.has_cycle(child.value, path, known, left))
    }
}
