//! References: a schema with any of them comes in; one whose references lead to places that the
//! server finds goes out.
//!
//! Many compilers know JSON Pointers without escapes alone: what an `$anchor`, an `$id` or a name
//! with a slash leads to lets everything pass there, or is refused. What such a reference leads to
//! is copied to the root's definitions, under a plain name, the root itself where it must be. A `$dynamicRef` is a `$ref` where one
//! schema alone has its anchor, so that nothing can be meant but that.

use super::conjoin;
use crate::schema::graph::{Graph, NodeId, REFERENCES};
use crate::schema::position::{children, push_segment, replaced};
use crate::schema::profile::{Profile, References};
use crate::schema::validator::draft_of;
use isogloss_validate::Draft;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// How many values may be copied to definitions.
const MAX_COPIED: usize = 20_000;

/// The schema with references that the server finds.
#[derive(Debug)]
pub(super) struct Redirected {
    pub(super) schema: Value,
    /// Places of copies, and where their originals stand in the client's schema.
    pub(super) moved: Vec<(String, String)>,
}

/// `None` where every reference leads where the server finds it, or where one has no exact form:
/// those are taken out later.
pub(super) fn redirected(schema: &Value, profile: &Profile) -> Option<Redirected> {
    let draft = draft_of(schema);
    let is_old = draft.is_some_and(|draft| draft != Draft::Draft202012);
    let rules = Rules {
        references: profile.references,
        removed: &profile.removed,
        is_old,
    };
    if !refers(schema) || rules.all_fine(schema, true) {
        return None;
    }
    let graph = Graph::of(schema, usize::MAX).ok()?;
    let mut plan = Plan {
        graph: &graph,
        draft,
        container: container(schema),
        names: HashMap::new(),
        taken: HashSet::new(),
    };
    plan.fill(schema, &rules).then(|| plan.carry_out(schema))
}

/// Whether a server finds what a reference of the lowered schema leads to.
pub(super) fn is_found(reference: &str, references: References) -> bool {
    let rules = Rules {
        references,
        removed: &[],
        is_old: false,
    };
    references == References::Enforced || rules.finds(reference)
}

fn refers(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return false;
    };
    REFERENCES.iter().any(|keyword| map.contains_key(*keyword))
        || children(map).any(|child| refers(child.value))
}

/// The root's definitions, under the name that it uses.
fn container(schema: &Value) -> &'static str {
    match schema.get("$defs").is_none() && schema.get("definitions").is_some() {
        true => "definitions",
        false => "$defs",
    }
}

struct Rules<'p> {
    references: References,
    /// Keywords that are taken out, with all that stands below.
    removed: &'p [String],
    /// Whether tuples and dependencies will be renamed: places below them move.
    is_old: bool,
}

impl Rules<'_> {
    /// Whether nothing has to be done.
    fn all_fine(&self, schema: &Value, is_root: bool) -> bool {
        let Value::Object(map) = schema else {
            return true;
        };
        let is_dynamic = map.contains_key("$dynamicRef") || map.contains_key("$recursiveRef");
        let is_named = !is_root
            && (map.contains_key("$id") || map.contains_key("id"))
            && self.references != References::Enforced;
        let reference = map.get("$ref").and_then(Value::as_str);
        !is_dynamic
            && !is_named
            && reference
                .is_none_or(|text| self.references == References::Enforced || self.finds(text))
            && children(map).all(|child| self.all_fine(child.value, false))
    }

    /// Whether a server that reads pointers as they are written finds what this leads to.
    fn finds(&self, reference: &str) -> bool {
        let Some(pointer) = reference.strip_prefix('#') else {
            return false;
        };
        if pointer.is_empty() {
            return matches!(self.references, References::Enforced | References::Plain);
        }
        let mut steps = pointer.split('/').skip(1);
        let is_below = matches!(steps.next(), Some("$defs" | "definitions"))
            && steps.next().is_some()
            && steps.next().is_none();
        pointer.starts_with('/')
            // What a URI takes as it is: all else is written with escapes.
            && pointer.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || b"/-._!$&'()*+,;=:@?".contains(&byte)
            })
            && (is_below || self.references != References::Definitions)
            // A place in a list is found by some only.
            && (is_below || !pointer.split('/').any(|step| step.bytes().all(|b| b.is_ascii_digit())))
            && !pointer.split('/').any(|step| self.removed.iter().any(|gone| gone == step))
            && !(self.is_old && (pointer.contains("tems/") || pointer.contains("/dependencies/")))
    }
}

struct Plan<'g, 'v> {
    graph: &'g Graph<'v>,
    draft: Option<Draft>,
    container: &'static str,
    /// The definitions that stand for places, by their nodes.
    names: HashMap<NodeId, String>,
    taken: HashSet<String>,
}

impl<'v> Plan<'_, 'v> {
    /// Names what has to be copied; false where a reference has no exact form.
    fn fill(&mut self, schema: &'v Value, rules: &Rules<'_>) -> bool {
        for container in ["$defs", "definitions"] {
            let named = schema.get(container).and_then(Value::as_object);
            self.taken
                .extend(named.into_iter().flat_map(Map::keys).cloned());
        }
        let mut left = MAX_COPIED;
        for node in 0..self.graph.nodes.len() {
            for &(keyword, target) in &self.graph.nodes[node].references {
                if !self.means_something(keyword) {
                    continue;
                }
                let pointer = self.graph.pointer(target);
                let is_fine = rules.finds(&format!("#{pointer}")) && !self.graph.is_aside(target);
                if !self.is_static(node, keyword, target) {
                    return false;
                }
                if is_fine || self.names.contains_key(&target) {
                    continue;
                }
                let size = match self.graph.nodes[target].value {
                    Value::Object(map) => conjoin::size(map, left),
                    _ => 1,
                };
                left = left.saturating_sub(size);
                if left == 0 {
                    return false;
                }
                let name = self.free_name(&pointer);
                self.names.insert(target, name);
            }
        }
        true
    }

    /// Whether the draft knows the keyword.
    fn means_something(&self, keyword: &str) -> bool {
        match keyword {
            "$dynamicRef" => self.draft.is_none_or(|draft| draft == Draft::Draft202012),
            "$recursiveRef" => self.draft == Some(Draft::Draft201909),
            _ => true,
        }
    }

    /// Whether the reference leads there from wherever it is reached.
    fn is_static(&self, node: NodeId, keyword: &str, target: NodeId) -> bool {
        let of = |node: NodeId, key: &str| self.graph.nodes[node].value.get(key);
        let count = |is_it: &dyn Fn(NodeId) -> bool| {
            (0..self.graph.nodes.len()).filter(|id| is_it(*id)).count()
        };
        match keyword {
            "$dynamicRef" => {
                let name = of(target, "$dynamicAnchor");
                let written = of(node, "$dynamicRef").and_then(Value::as_str);
                let fragment = written.and_then(|text| Some(text.split_once('#')?.1));
                // What is called by its place is no dynamic anchor.
                let is_called = name.is_some() && name.and_then(Value::as_str) == fragment;
                !is_called || count(&|id| of(id, "$dynamicAnchor") == name) == 1
            }
            "$recursiveRef" => {
                count(&|id| of(id, "$recursiveAnchor") == Some(&Value::Bool(true))) <= 1
            }
            _ => true,
        }
    }

    fn free_name(&mut self, pointer: &str) -> String {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let mut wanted: String = last
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            .collect();
        if wanted.is_empty() {
            wanted.push_str("root");
        }
        let mut name = wanted.clone();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = format!("{wanted}_{count}");
        }
        name
    }

    fn carry_out(self, schema: &Value) -> Redirected {
        let mut moved = Vec::new();
        let mut added = Map::new();
        let root = self.graph.id_of(schema);
        for (&target, name) in &self.names {
            let mut at = format!("/{}", self.container);
            push_segment(&mut at, name);
            moved.push((at, self.graph.pointer(target)));
        }
        // In the order of the schema, whatever that of the map is.
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort();
        for (&target, name) in names {
            let mut copy = self.copy(self.graph.nodes[target].value, false);
            if let (true, Value::Object(copy)) = (Some(target) == root, &mut copy) {
                for keyword in ["$defs", "definitions", "$schema", "$id", "id"] {
                    copy.shift_remove(keyword);
                }
            }
            added.insert(name.clone(), copy);
        }
        let mut new = self.copy(schema, true);
        if !added.is_empty()
            && let Value::Object(map) = &mut new
        {
            let definitions = map.entry(self.container).or_insert_with(|| json!({}));
            if let Value::Object(definitions) = definitions {
                definitions.extend(added);
            }
        }
        Redirected { schema: new, moved }
    }

    fn pointer_to(&self, name: &str) -> String {
        format!("#/{}/{name}", self.container)
    }

    /// The schema with its references as the server finds them, and without names of its own that
    /// they went by.
    fn copy(&self, schema: &Value, is_root: bool) -> Value {
        let Value::Object(map) = schema else {
            return schema.clone();
        };
        let id = self.graph.id_of(schema);
        let mut out = Map::with_capacity(map.len());
        for (keyword, value) in map {
            if REFERENCES.contains(&keyword.as_str()) {
                self.copy_reference(id, keyword, &mut out);
            } else if !names_a_schema(keyword, value, is_root) {
                out.insert(
                    keyword.clone(),
                    replaced(keyword, value, |schema| self.copy(schema, false)),
                );
            }
        }
        Value::Object(out)
    }

    fn copy_reference(&self, id: Option<NodeId>, keyword: &str, out: &mut Map<String, Value>) {
        if !self.means_something(keyword) {
            return;
        }
        let node = id.map(|id| &self.graph.nodes[id]);
        let Some(&(_, target)) =
            node.and_then(|node| node.references.iter().find(|(known, _)| *known == keyword))
        else {
            return;
        };
        let reference = match self.names.get(&target) {
            Some(name) => self.pointer_to(name),
            None => format!("#{}", self.graph.pointer(target)),
        };
        match out.contains_key("$ref") {
            false => drop(out.insert("$ref".to_owned(), json!(reference))),
            // A second one beside it moves into `allOf`.
            true => match out.entry("allOf").or_insert_with(|| json!([])) {
                Value::Array(all) => all.push(json!({ "$ref": reference })),
                other => *other = json!([{ "$ref": reference }]),
            },
        }
    }
}

/// Whether the keyword gives a schema a name that only references use. The root's own stays.
fn names_a_schema(keyword: &str, value: &Value, is_root: bool) -> bool {
    match keyword {
        "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => true,
        "$id" | "id" => !is_root && value.is_string(),
        _ => false,
    }
}
