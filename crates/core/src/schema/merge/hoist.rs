//! Definitions of several schemas under one root: a schema comes in; a copy whose references lead
//! into the common `$defs` goes out, and what they lead to is kept for the root.

use super::modernise;
use crate::schema::graph::{Graph, NodeId, REFERENCES, percent_encode};
use crate::schema::identity;
use crate::schema::position::{push_segment, replaced};
use crate::schema::validator::draft_of;
use isogloss_validate::Draft;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The containers of definitions at a schema's root.
const CONTAINERS: [&str; 2] = ["$defs", "definitions"];

/// The common definitions, and what they were before their references were rewritten.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    hoisted: Map<String, Value>,
    /// Definitions under their own names, which another schema may share.
    originals: HashMap<String, Original>,
}

/// A definition as its owner wrote it.
#[derive(Debug)]
struct Original {
    value: Value,
    draft: Option<Draft>,
    /// What it refers to: the JSON Pointer as written, and the name that it went under.
    uses: HashMap<String, String>,
}

impl Definitions {
    /// The schema for use inside the common root. `owner` names what is made up.
    pub(super) fn adopt(&mut self, owner: &str, schema: &Value) -> Value {
        let named = identity::without_idle(schema);
        let schema = named.as_ref().unwrap_or(schema);
        // A schema that the guard refuses has no graph: it is carried as it is.
        let Ok(graph) = Graph::of(schema, usize::MAX) else {
            return schema.clone();
        };
        let local = Local::of(schema, &graph);
        let names = self.name(owner, &local);
        let taken = names.values().cloned().collect();
        let root = local
            .refers_to_root
            // Two dots keep it clear of every `owner.name`.
            .then(|| self.free_among(&format!("{owner}..root"), &taken));
        let copier = Copier {
            graph: &graph,
            names: &names,
            root,
            draft: local.draft,
        };
        let mut hoisted = Vec::new();
        for (pointer, name, value) in &local.definitions {
            let target = &names[pointer];
            if self.hoisted.contains_key(target) {
                continue;
            }
            if target == *name {
                let uses = local
                    .uses_of(pointer)
                    .map(|used| (used.clone(), names[used].clone()));
                let original = Original {
                    value: (*value).clone(),
                    draft: local.draft,
                    uses: uses.collect(),
                };
                self.originals.insert(target.clone(), original);
            }
            hoisted.push((target.clone(), copier.copy(value, false)));
        }
        let body = copier.copy(schema, true);
        self.hoisted.extend(hoisted);
        match copier.root {
            None => body,
            Some(root) => {
                let reference = json!({"$ref": pointer_to(&root)});
                self.hoisted.insert(root, body);
                reference
            }
        }
    }

    pub(super) fn into_value(self) -> Option<Value> {
        (!self.hoisted.is_empty()).then_some(Value::Object(self.hoisted))
    }

    /// A name for each definition of a schema: its own where that is free, or taken by the very
    /// same definition; else one made of the owner's.
    fn name(&self, owner: &str, local: &Local<'_>) -> HashMap<String, String> {
        let mut kept: HashMap<&str, &str> = HashMap::new();
        let mut renamed: HashSet<&str> = HashSet::new();
        for (pointer, name, value) in &local.definitions {
            let differs = self.hoisted.contains_key(*name)
                && (local.rooted.contains(pointer)
                    || self
                        .originals
                        .get(*name)
                        .is_none_or(|known| known.value != **value || known.draft != local.draft));
            // Two containers of one schema may use a name twice.
            if differs || kept.values().any(|other| other == name) {
                renamed.insert(pointer);
            } else {
                kept.insert(pointer, name);
            }
        }
        // What looks the same but refers to something else is not the same after all.
        loop {
            let is_other = |pointer: &&str| {
                let Some(known) = self.originals.get(kept[pointer]) else {
                    return false;
                };
                let mut uses = local.uses_of(pointer);
                uses.any(|used| {
                    kept.get(used.as_str()) != known.uses.get(used).map(|n| &**n).as_ref()
                })
            };
            let Some(other) = kept.keys().copied().find(is_other) else {
                break;
            };
            kept.remove(other);
            renamed.insert(other);
        }
        let mut taken: HashSet<String> = kept.values().map(ToString::to_string).collect();
        let mut names = HashMap::new();
        for (pointer, name, _) in &local.definitions {
            let target = if renamed.contains(pointer.as_str()) {
                self.free_among(&format!("{owner}.{name}"), &taken)
            } else {
                (*name).clone()
            };
            taken.insert(target.clone());
            names.insert(pointer.clone(), target);
        }
        names
    }

    fn free_among(&self, wanted: &str, taken: &HashSet<String>) -> String {
        let is_free = |name: &String| !self.hoisted.contains_key(name) && !taken.contains(name);
        let mut name = wanted.to_owned();
        let mut count = 1;
        while !is_free(&name) {
            count += 1;
            name = format!("{wanted}.{count}");
        }
        name
    }
}

/// The definitions of one schema, and what they refer to.
struct Local<'a> {
    /// JSON Pointer, name and value.
    definitions: Vec<(String, &'a String, &'a Value)>,
    /// The definitions that each definition refers to, by pointer.
    uses: HashMap<String, Vec<String>>,
    /// Definitions that refer to the schema's root, or to a place below it that is none.
    rooted: HashSet<String>,
    refers_to_root: bool,
    draft: Option<Draft>,
}

impl<'a> Local<'a> {
    fn of(schema: &'a Value, graph: &Graph<'a>) -> Self {
        let mut local = Self {
            definitions: Vec::new(),
            uses: HashMap::new(),
            rooted: HashSet::new(),
            refers_to_root: false,
            draft: draft_of(schema),
        };
        for container in CONTAINERS {
            let map = schema.get(container).and_then(Value::as_object);
            for (name, value) in map.into_iter().flatten() {
                let mut pointer = format!("/{container}");
                push_segment(&mut pointer, name);
                local.definitions.push((pointer, name, value));
            }
        }
        for (id, node) in graph.nodes.iter().enumerate() {
            let from = local.definition_of(&graph.pointer(id));
            for &(_, target) in &node.references {
                match (local.definition_of(&graph.pointer(target)), &from) {
                    (Some(target), Some(from)) => {
                        local.uses.entry(from.clone()).or_default().push(target);
                    }
                    (None, from) => {
                        local.refers_to_root = true;
                        local.rooted.extend(from.clone());
                    }
                    (Some(_), None) => {}
                }
            }
        }
        local
    }

    fn uses_of(&self, pointer: &str) -> impl Iterator<Item = &String> {
        self.uses.get(pointer).into_iter().flatten()
    }

    fn definition_of(&self, pointer: &str) -> Option<String> {
        definition_of(pointer, self.definitions.iter().map(|(known, ..)| known))
    }
}

/// The definition that a pointer leads to or into.
fn definition_of<'a>(pointer: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    let mut ends = pointer.match_indices('/').map(|(at, _)| at).skip(2);
    let definition = &pointer[..ends.next().unwrap_or(pointer.len())];
    let mut known = known;
    known.find(|known| *known == definition).cloned()
}

fn pointer_to(name: &str) -> String {
    let mut pointer = "#/$defs".to_owned();
    push_segment(&mut pointer, name);
    fragment(&pointer)
}

/// A fragment with its hash sign, in which what a URI does not take is escaped.
fn fragment(pointer: &str) -> String {
    format!("#{}", percent_encode(&pointer[1..], false))
}

/// Copies schemas of one tool with their references rewritten.
struct Copier<'a> {
    graph: &'a Graph<'a>,
    names: &'a HashMap<String, String>,
    root: Option<String>,
    draft: Option<Draft>,
}

impl Copier<'_> {
    fn copy(&self, schema: &Value, is_root: bool) -> Value {
        let Value::Object(map) = schema else {
            return schema.clone();
        };
        let id = self.graph.id_of(schema);
        let mut out = Map::with_capacity(map.len());
        for (keyword, value) in map {
            let keyword = keyword.as_str();
            if is_root && CONTAINERS.contains(&keyword) && value.is_object() {
                continue;
            }
            if REFERENCES.contains(&keyword) {
                self.copy_reference(id, keyword, value, &mut out);
            } else if !names_a_schema(keyword, value, self.draft) {
                out.insert(
                    keyword.to_owned(),
                    replaced(keyword, value, |schema| self.copy(schema, false)),
                );
            }
        }
        modernise::modernise(&mut out, self.draft);
        Value::Object(out)
    }

    fn copy_reference(
        &self,
        id: Option<NodeId>,
        keyword: &str,
        value: &Value,
        out: &mut Map<String, Value>,
    ) {
        let node = id.map(|id| &self.graph.nodes[id]);
        let target = node
            .and_then(|node| node.references.iter().find(|(known, _)| *known == keyword))
            .map(|&(_, target)| self.place_of(&self.graph.pointer(target)));
        let reference = target.map_or_else(|| value.clone(), Value::String);
        // Every reference is static now; a second one beside it moves into `allOf`.
        match out.contains_key("$ref") {
            false => drop(out.insert("$ref".to_owned(), reference)),
            true => match out.entry("allOf").or_insert_with(|| json!([])) {
                Value::Array(all) => all.push(json!({"$ref": reference})),
                other => *other = json!([{"$ref": reference}]),
            },
        }
    }

    /// Where a place of the tool's schema went.
    fn place_of(&self, pointer: &str) -> String {
        let definition = definition_of(pointer, self.names.keys());
        let (name, rest) = match (&definition, &self.root) {
            (Some(definition), _) => (&self.names[definition], &pointer[definition.len()..]),
            (None, Some(root)) => (root, pointer),
            // Only what refers to the root has a reference that leads there.
            (None, None) => return fragment(&format!("#{pointer}")),
        };
        let mut target = "#/$defs".to_owned();
        push_segment(&mut target, name);
        target.push_str(rest);
        fragment(&target)
    }
}

/// Whether a keyword gives a schema an identity. Inside of another schema two tools' identities
/// would clash, and nothing refers to them once references are pointers.
fn names_a_schema(keyword: &str, value: &Value, draft: Option<Draft>) -> bool {
    match keyword {
        "$schema" | "$id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "$vocabulary" => {
            true
        }
        "id" => draft == Some(Draft::Draft4) && value.is_string(),
        _ => false,
    }
}
