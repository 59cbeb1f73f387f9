//! The graph of a schema: a schema comes in; its subschemas and the edges between them,
//! references resolved, go out. It never recurses and never fetches, so it is safe on any value.

use super::SchemaFault;
use super::position::{AppliesTo, Child, Step, children, follow, is_schema, write_pointer};
use isogloss_validate::Uri;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// Keywords that refer to a schema elsewhere.
pub(crate) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// An index into [`Graph::nodes`].
pub(crate) type NodeId = usize;

/// A subschema.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value,
    /// What it applies to, seen from the schema that it stands in or that refers to it.
    pub(crate) edges: Vec<(NodeId, AppliesTo)>,
    /// References: the keyword, and what it leads to.
    pub(crate) references: Vec<(&'static str, NodeId)>,
    origin: Origin<'a>,
    resource: usize,
    /// How many schemas it stands in.
    pub(crate) nesting: usize,
}

#[derive(Debug)]
enum Origin<'a> {
    Root,
    /// Stands in `parent` under a keyword.
    Child {
        parent: NodeId,
        keyword: &'a str,
        step: Step<'a>,
    },
    /// Stands where only a reference leads (`#/components/schemas/x`).
    Pointed(String),
}

/// A schema with an identity of its own.
#[derive(Debug)]
struct Resource {
    uri: Uri<String>,
    root: NodeId,
}

/// The subschemas of a schema, references resolved.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    by_address: HashMap<usize, NodeId>,
    resources: Vec<Resource>,
    /// Names within a resource: `$anchor` and `$dynamicAnchor`, and `$id: "#name"` of old drafts.
    anchors: HashMap<(usize, String), NodeId>,
    dynamic_anchors: HashMap<String, NodeId>,
    /// Draft 4 says `id` for `$id`.
    legacy_id: bool,
}

impl<'a> Graph<'a> {
    /// Reads a schema. Fails where a reference leads out of the schema or nowhere, or where
    /// schemas nest deeper than `max_nesting`.
    pub(crate) fn of(schema: &'a Value, max_nesting: usize) -> Result<Self, SchemaFault> {
        let base = isogloss_validate::uri::from_str("json-schema:///")
            .map_err(|error| SchemaFault::invalid("", error.to_string()))?;
        let mut graph = Self {
            nodes: Vec::new(),
            by_address: HashMap::new(),
            resources: vec![Resource { uri: base, root: 0 }],
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            legacy_id: super::validator::draft_of(schema) == Some(isogloss_validate::Draft::Draft4),
        };
        graph.read_from(schema, Origin::Root, 0, max_nesting)?;
        // Resolving may lead to places that were not read yet, which may refer further.
        let mut next = 0;
        while next < graph.nodes.len() {
            graph.resolve(next, schema, max_nesting)?;
            next += 1;
        }
        Ok(graph)
    }

    /// The node of a schema value of this schema, by its address.
    pub(crate) fn id_of(&self, value: &Value) -> Option<NodeId> {
        self.by_address.get(&address(value)).copied()
    }

    /// The JSON Pointer of a node.
    pub(crate) fn pointer(&self, node: NodeId) -> String {
        let mut steps = Vec::new();
        let mut at = node;
        let mut pointer = loop {
            match &self.nodes[at].origin {
                Origin::Root => break String::new(),
                Origin::Pointed(pointer) => break pointer.clone(),
                Origin::Child {
                    parent,
                    keyword,
                    step,
                } => {
                    steps.push((*keyword, *step));
                    at = *parent;
                }
            }
        };
        for (keyword, step) in steps.into_iter().rev() {
            write_pointer(keyword, step, &mut pointer);
        }
        pointer
    }

    /// Whether a node stands where no keyword holds schemas, so that a reference alone leads there.
    pub(crate) fn is_aside(&self, node: NodeId) -> bool {
        let mut at = node;
        loop {
            match &self.nodes[at].origin {
                Origin::Root => return false,
                Origin::Pointed(_) => return true,
                Origin::Child { parent, .. } => at = *parent,
            }
        }
    }

    fn read_from(
        &mut self,
        value: &'a Value,
        origin: Origin<'a>,
        resource: usize,
        max_nesting: usize,
    ) -> Result<NodeId, SchemaFault> {
        let first = self.add(value, origin, resource, 0);
        let mut pending = vec![first];
        while let Some(id) = pending.pop() {
            let value = self.nodes[id].value;
            let Value::Object(map) = value else { continue };
            self.name(id, map)?;
            let nesting = self.nodes[id].nesting + 1;
            for Child {
                keyword,
                step,
                place,
                value,
            } in children(map)
            {
                if nesting > max_nesting {
                    return Err(SchemaFault::too_complex(
                        self.pointer(id),
                        format!("schemas nest deeper than {max_nesting} levels; make it flatter"),
                    ));
                }
                let origin = Origin::Child {
                    parent: id,
                    keyword,
                    step,
                };
                // A place that a reference led to first keeps its node: nodes are values.
                let child = match self.by_address.get(&address(value)) {
                    Some(&known) => known,
                    None => {
                        let resource = self.nodes[id].resource;
                        let child = self.add(value, origin, resource, nesting);
                        pending.push(child);
                        child
                    }
                };
                if place != AppliesTo::Aside {
                    self.nodes[id].edges.push((child, place));
                }
            }
        }
        Ok(first)
    }

    fn add(
        &mut self,
        value: &'a Value,
        origin: Origin<'a>,
        resource: usize,
        nesting: usize,
    ) -> NodeId {
        let id = self.nodes.len();
        self.by_address.insert(address(value), id);
        self.nodes.push(Node {
            value,
            edges: Vec::new(),
            references: Vec::new(),
            origin,
            resource,
            nesting,
        });
        id
    }

    /// Notes the identity and the anchors that a schema gives itself.
    fn name(&mut self, id: NodeId, map: &Map<String, Value>) -> Result<(), SchemaFault> {
        let key = if self.legacy_id { "id" } else { "$id" };
        if let Some(Value::String(uri)) = map.get(key) {
            if let Some(anchor) = uri.strip_prefix('#') {
                if !anchor.is_empty() {
                    let resource = self.nodes[id].resource;
                    self.anchors.insert((resource, anchor.to_owned()), id);
                }
            } else {
                let base = &self.resources[self.nodes[id].resource].uri;
                let uri =
                    isogloss_validate::uri::resolve_against(&base.borrow(), uri).map_err(|_| {
                        let message = format!("`{key}` is not a URI reference");
                        SchemaFault::invalid(self.pointer(id), message)
                    })?;
                self.nodes[id].resource = self.resources.len();
                let uri = uri.strip_fragment().to_owned();
                self.resources.push(Resource { uri, root: id });
            }
        }
        let resource = self.nodes[id].resource;
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(name)) = map.get(key) {
                self.anchors.insert((resource, name.clone()), id);
                if key == "$dynamicAnchor" {
                    self.dynamic_anchors.entry(name.clone()).or_insert(id);
                }
            }
        }
        Ok(())
    }

    fn resolve(
        &mut self,
        id: NodeId,
        schema: &'a Value,
        max_nesting: usize,
    ) -> Result<(), SchemaFault> {
        let Value::Object(map) = self.nodes[id].value else {
            return Ok(());
        };
        for keyword in REFERENCES {
            let reference = match map.get(keyword) {
                None => continue,
                Some(Value::String(reference)) => reference,
                Some(_) => {
                    return Err(SchemaFault::invalid(
                        self.pointer_to(id, keyword),
                        format!("`{keyword}` is not a string"),
                    ));
                }
            };
            let target = self.target(id, keyword, reference, schema, max_nesting)?;
            self.nodes[id].edges.push((target, AppliesTo::Same));
            self.nodes[id].references.push((keyword, target));
        }
        Ok(())
    }

    fn target(
        &mut self,
        id: NodeId,
        keyword: &str,
        reference: &str,
        schema: &'a Value,
        max_nesting: usize,
    ) -> Result<NodeId, SchemaFault> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            Some(self.nodes[id].resource)
        } else {
            let base = &self.resources[self.nodes[id].resource].uri;
            isogloss_validate::uri::resolve_against(&base.borrow(), uri)
                .ok()
                // The last one wins, as a subschema may repeat the identity of its parent.
                .and_then(|uri| self.resources.iter().rposition(|known| known.uri == uri))
        };
        let Some(resource) = resource else {
            return Err(SchemaFault::unsupported(
                self.pointer_to(id, keyword),
                format!(
                    "`{keyword}` leads out of the schema; remote references are never fetched: \
                     put what it refers to under `$defs`, and refer to `#/$defs/…`"
                ),
            ));
        };
        let fragment = percent_decode(fragment);
        // A plain anchor of its own resource makes a `$dynamicRef` a plain reference.
        let local = self.anchors.get(&(resource, fragment.clone())).copied();
        let is_plain = local.is_some_and(|local| !self.has_dynamic_anchor(local, &fragment));
        let dynamic = (keyword == "$dynamicRef" && !is_plain)
            .then(|| self.dynamic_anchors.get(fragment.as_str()).copied())
            .flatten();
        let found = if let Some(id) = dynamic {
            Some(id)
        } else if fragment.is_empty() {
            Some(self.resources[resource].root)
        } else if fragment.starts_with('/') {
            self.pointed(resource, &fragment, schema, max_nesting)?
        } else {
            local
        };
        found.ok_or_else(|| {
            SchemaFault::invalid(
                self.pointer_to(id, keyword),
                format!("`{keyword}` leads nowhere: the schema has nothing at that place"),
            )
        })
    }

    fn has_dynamic_anchor(&self, node: NodeId, name: &str) -> bool {
        self.nodes[node]
            .value
            .get("$dynamicAnchor")
            .is_some_and(|known| known == name)
    }

    /// The node that a JSON Pointer within a resource leads to, read now if it was not before.
    fn pointed(
        &mut self,
        resource: usize,
        fragment: &str,
        schema: &'a Value,
        max_nesting: usize,
    ) -> Result<Option<NodeId>, SchemaFault> {
        let root = self.resources[resource].root;
        let start = self.nodes.get(root).map_or(schema, |node| node.value);
        let Some(value) = follow(start, fragment).filter(|value| is_schema(value)) else {
            return Ok(None);
        };
        if let Some(&id) = self.by_address.get(&address(value)) {
            return Ok(Some(id));
        }
        let pointer = self.pointer(root) + fragment;
        self.read_from(value, Origin::Pointed(pointer), resource, max_nesting)
            .map(Some)
    }

    fn pointer_to(&self, id: NodeId, keyword: &str) -> String {
        let mut pointer = self.pointer(id);
        write_pointer(keyword, Step::Whole, &mut pointer);
        pointer
    }
}

/// The address of a value stands for its identity while the schema is borrowed.
fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

/// What the fragment of a URI (RFC 3986, section 3.5) does not take of a JSON Pointer is escaped; with `keeps_escapes` what is an escape
/// already stays one.
pub(crate) fn percent_encode(pointer: &str, keeps_escapes: bool) -> Cow<'_, str> {
    let bytes = pointer.as_bytes();
    let is_escape = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_taken = |at: usize, byte: u8| match byte {
        b'%' => keeps_escapes && is_escape(at),
        byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte),
    };
    let mut all = bytes.iter().enumerate();
    if all.all(|(at, byte)| is_taken(at, *byte)) {
        return Cow::Borrowed(pointer);
    }
    let mut out = String::with_capacity(pointer.len() + 8);
    for (at, byte) in bytes.iter().enumerate() {
        match is_taken(at, *byte) {
            true => out.push(char::from(*byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Cow::Owned(out)
}

/// Decodes `%41`; what is no escape stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escape.unwrap_or(bytes[at]));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}
