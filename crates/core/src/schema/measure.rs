//! What a schema costs: its graph comes in; depths, paths, branches and cycles go out.

use super::SchemaFault;
use super::graph::{Graph, Node, NodeId};
use super::guard::SchemaLimits;
use super::number::{self, NumberDemand};
use super::position::AppliesTo;
use crate::error::repeatable;
use isogloss_validate::Draft;
use serde_json::{Map, Value};

/// What was measured of a schema that is within the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Measures {
    /// Bytes of its text.
    pub(crate) text_bytes: usize,
    /// Automaton states of its patterns.
    pub(crate) pattern_states: u64,
    /// References and combinators in a row.
    pub(crate) ref_depth: usize,
    /// Subschemas once references are expanded.
    pub(crate) paths: u64,
    /// Whether it has `anyOf` or `oneOf`.
    pub(crate) has_alternatives: bool,
    /// Whether it has `if`, or keywords that look at what others have not.
    pub(crate) has_conditions: bool,
    /// For recursive schemas: by how much the work of collecting errors grows with each level of
    /// the value. 0 for schemas without recursion.
    pub(crate) forks: u64,
    /// What it demands of the value of numbers.
    pub(crate) demand: NumberDemand,
}

/// Measures a graph against the limits.
pub(crate) fn measure(graph: &Graph<'_>, limits: &SchemaLimits) -> Result<Measures, SchemaFault> {
    let order = same_place_order(graph)?;
    let cycles = Cycles::of(graph);
    let ref_depth = check_same_place(graph, &order, limits)?;
    let paths = check_whole(graph, &cycles, limits)?;
    check_satisfiable(graph, &order)?;
    let forks = forks(graph, &order, &cycles);
    let has = |keywords: &[&str]| {
        let has_one = |node: &Node<'_>| keywords.iter().any(|key| node.value.get(key).is_some());
        graph.nodes.iter().any(has_one)
    };
    let objects = graph.nodes.iter().filter_map(|node| node.value.as_object());
    Ok(Measures {
        demand: objects.map(number::demand).max().unwrap_or_default(),
        ref_depth,
        paths,
        has_alternatives: has(&["anyOf", "oneOf"]),
        has_conditions: has(&["if", "unevaluatedProperties", "unevaluatedItems"]),
        forks,
        ..Measures::default()
    })
}

fn same_place(graph: &Graph<'_>, id: NodeId) -> impl Iterator<Item = NodeId> {
    let edges = graph.nodes[id].edges.iter();
    edges
        .filter(|(_, place)| *place == AppliesTo::Same)
        .map(|&(to, _)| to)
}

/// The nodes such that those that apply to the same value as another come before it. Fails on a
/// cycle of them: a validator would run in it for ever, whatever the value.
fn same_place_order(graph: &Graph<'_>) -> Result<Vec<NodeId>, SchemaFault> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; graph.nodes.len()];
    let mut order = Vec::with_capacity(graph.nodes.len());
    for root in 0..graph.nodes.len() {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        let mut path = vec![(root, 0)];
        while let Some((id, edge)) = path.last_mut() {
            let id = *id;
            let Some(&(to, place)) = graph.nodes[id].edges.get(*edge) else {
                marks[id] = Mark::Done;
                order.push(id);
                path.pop();
                continue;
            };
            *edge += 1;
            match marks[to] {
                _ if place != AppliesTo::Same => {}
                Mark::Done => {}
                Mark::New => {
                    marks[to] = Mark::Open;
                    path.push((to, 0));
                }
                Mark::Open => {
                    return Err(SchemaFault::unsupported(
                        graph.pointer(id),
                        "the references run in a circle that never reaches a part of the value; \
                         a recursive schema must pass through `properties` or `items`",
                    ));
                }
            }
        }
    }
    Ok(order)
}

/// Depth and branches among schemas that apply to the same value.
fn check_same_place(
    graph: &Graph<'_>,
    order: &[NodeId],
    limits: &SchemaLimits,
) -> Result<usize, SchemaFault> {
    let mut depth = vec![0_usize; graph.nodes.len()];
    let mut paths = vec![1_u64; graph.nodes.len()];
    let mut branches = vec![1_u64; graph.nodes.len()];
    for &id in order {
        for to in same_place(graph, id) {
            depth[id] = depth[id].max(depth[to] + 1);
            paths[id] = paths[id].saturating_add(paths[to]);
        }
        branches[id] = branches_of(graph, id, &branches);
        let fault = if depth[id] > limits.ref_depth {
            format!(
                "references and combinators follow each other {} times",
                depth[id]
            )
        } else if paths[id] > limits.paths {
            "its references expand to too many schemas".to_owned()
        } else if branches[id] > limits.branches {
            format!(
                "`allOf` over `anyOf` comes to more than {} branches",
                limits.branches
            )
        } else {
            continue;
        };
        return Err(SchemaFault::too_complex(
            graph.pointer(id),
            fault + "; simplify it",
        ));
    }
    Ok(depth.into_iter().max().unwrap_or_default())
}

/// How many alternatives a schema has once `allOf` is multiplied out.
fn branches_of(graph: &Graph<'_>, id: NodeId, branches: &[u64]) -> u64 {
    let Value::Object(map) = graph.nodes[id].value else {
        return 1;
    };
    let known = |value: &Value| graph.id_of(value).map_or(1, |id| branches[id]);
    let list = |keyword| {
        map.get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut product = 1_u64;
    for keyword in ["anyOf", "oneOf"] {
        let sum = list(keyword).fold(0_u64, |sum, item| sum.saturating_add(known(item)));
        product = product.saturating_mul(sum.max(1));
    }
    let references = graph.nodes[id]
        .references
        .iter()
        .map(|&(_, to)| branches[to]);
    let factors = list("allOf").map(known).chain(references);
    factors.fold(product, u64::saturating_mul)
}

/// Depth and paths over all edges. A cycle counts once: it is recursion, which the value ends.
fn check_whole(
    graph: &Graph<'_>,
    cycles: &Cycles,
    limits: &SchemaLimits,
) -> Result<u64, SchemaFault> {
    if cycles.recursive > limits.recursive_definitions {
        return Err(SchemaFault::too_complex(
            "",
            format!(
                "more than {} definitions refer to each other in cycles",
                limits.recursive_definitions
            ),
        ));
    }
    let mut depth = vec![0_usize; cycles.members.len()];
    let mut paths = vec![0_u64; cycles.members.len()];
    // Components come out such that what a component leads to is before it.
    for (component, members) in cycles.members.iter().enumerate() {
        for &id in members {
            paths[component] = paths[component].saturating_add(1);
            for &(to, _) in &graph.nodes[id].edges {
                let target = cycles.component[to];
                if target != component {
                    depth[component] = depth[component].max(depth[target] + 1);
                    paths[component] = paths[component].saturating_add(paths[target]);
                }
            }
        }
        let fault = if depth[component] > limits.depth {
            format!("references lead deeper than {} levels", limits.depth)
        } else if paths[component] > limits.paths {
            format!(
                "its references expand to more than {} schemas",
                limits.paths
            )
        } else {
            continue;
        };
        let at = members
            .first()
            .map(|&id| graph.pointer(id))
            .unwrap_or_default();
        return Err(SchemaFault::too_complex(at, fault + "; make it flatter"));
    }
    Ok(paths.into_iter().max().unwrap_or_default())
}

/// By how much the work of collecting errors multiplies with each level of a recursive value: the
/// ways, among schemas that apply to one value, to those that recurse.
fn forks(graph: &Graph<'_>, order: &[NodeId], cycles: &Cycles) -> u64 {
    if cycles.recursive == 0 {
        return 0;
    }
    let mut ways = vec![0_u64; graph.nodes.len()];
    for &id in order {
        let recurses = graph.nodes[id].edges.iter().any(|&(to, place)| {
            place == AppliesTo::Inside && cycles.component[to] == cycles.component[id]
        });
        ways[id] =
            same_place(graph, id).fold(u64::from(recurses), |sum, to| sum.saturating_add(ways[to]));
    }
    ways.into_iter().max().unwrap_or_default().max(1)
}

/// Which nodes lead back to each other (strongly connected components, Tarjan's algorithm).
#[derive(Debug)]
struct Cycles {
    component: Vec<usize>,
    members: Vec<Vec<NodeId>>,
    /// Nodes that a cycle goes through.
    recursive: usize,
}

impl Cycles {
    fn of(graph: &Graph<'_>) -> Self {
        let count = graph.nodes.len();
        let mut search = Search {
            index: vec![usize::MAX; count],
            low: vec![0; count],
            open: vec![false; count],
            stack: Vec::new(),
            next: 0,
        };
        let mut cycles = Self {
            component: vec![0; count],
            members: Vec::new(),
            recursive: 0,
        };
        for root in 0..count {
            if search.index[root] == usize::MAX {
                search.run(graph, root, &mut cycles);
            }
        }
        let targets = graph.nodes.iter().flat_map(|node| &node.references);
        let mut recursive: Vec<NodeId> = targets
            .map(|&(_, to)| to)
            .filter(|&to| cycles.members[cycles.component[to]].len() > 1)
            .collect();
        recursive.sort_unstable();
        recursive.dedup();
        cycles.recursive = recursive.len();
        cycles
    }
}

struct Search {
    index: Vec<usize>,
    low: Vec<usize>,
    open: Vec<bool>,
    stack: Vec<NodeId>,
    next: usize,
}

impl Search {
    fn enter(&mut self, id: NodeId) {
        self.index[id] = self.next;
        self.low[id] = self.next;
        self.next += 1;
        self.open[id] = true;
        self.stack.push(id);
    }

    fn run(&mut self, graph: &Graph<'_>, root: NodeId, cycles: &mut Cycles) {
        self.enter(root);
        let mut path = vec![(root, 0)];
        while let Some((id, edge)) = path.last_mut() {
            let id = *id;
            if let Some(&(to, _)) = graph.nodes[id].edges.get(*edge) {
                *edge += 1;
                if self.index[to] == usize::MAX {
                    self.enter(to);
                    path.push((to, 0));
                } else if self.open[to] {
                    self.low[id] = self.low[id].min(self.index[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent] = self.low[parent].min(self.low[id]);
            }
            if self.low[id] == self.index[id] {
                self.close(id, cycles);
            }
        }
    }

    fn close(&mut self, root: NodeId, cycles: &mut Cycles) {
        let mut members = Vec::new();
        while let Some(id) = self.stack.pop() {
            self.open[id] = false;
            cycles.component[id] = cycles.members.len();
            members.push(id);
            if id == root {
                break;
            }
        }
        cycles.members.push(members);
    }
}

/// Refuses a schema that no finite value satisfies, as far as that is plain to see: a required
/// property that requires itself without end, bounds that exclude each other, `false`.
fn check_satisfiable(graph: &Graph<'_>, order: &[NodeId]) -> Result<(), SchemaFault> {
    let draft = graph
        .nodes
        .first()
        .and_then(|root| super::validator::draft_of(root.value));
    let is_old = matches!(draft, Some(Draft::Draft4 | Draft::Draft6 | Draft::Draft7));
    let mut possible = vec![false; graph.nodes.len()];
    // The least fixed point: a schema is possible once all that it needs is.
    loop {
        let mut changed = false;
        for &id in order {
            if !possible[id] && is_possible(graph, id, &possible, is_old) {
                possible[id] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    if possible.first() == Some(&true) {
        return Ok(());
    }
    if let Some(fault) = blamed(graph, &possible, is_old) {
        return Err(fault);
    }
    Err(SchemaFault::unsupported(
        "",
        "no finite value can satisfy this schema: look for bounds that exclude each other, and \
         for a recursion through required properties only",
    ))
}

/// What can be said in particular of the first schema that the root needs.
fn blamed(graph: &Graph<'_>, possible: &[bool], is_old: bool) -> Option<SchemaFault> {
    let mut is_seen = vec![false; graph.nodes.len()];
    let mut pending = vec![0];
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut is_seen[id], true) {
            continue;
        }
        let Value::Object(map) = graph.nodes[id].value else {
            continue;
        };
        let fault = why_impossible(map).filter(|_| !only_refers(map, is_old));
        if let Some(fault) = fault {
            return Some(fault.below(&graph.pointer(id)));
        }
        pending.extend(needed(graph, id, possible, is_old).into_iter().rev());
    }
    None
}

/// The impossible schemas that make this one so.
fn needed(graph: &Graph<'_>, id: NodeId, possible: &[bool], is_old: bool) -> Vec<NodeId> {
    let Value::Object(map) = graph.nodes[id].value else {
        return Vec::new();
    };
    let references = graph.nodes[id].references.iter();
    let mut found: Vec<NodeId> = references.map(|&(_, to)| to).collect();
    if !only_refers(map, is_old) {
        let ids = |keyword: &str| -> Vec<NodeId> {
            let list = map.get(keyword).and_then(Value::as_array);
            let list = list.into_iter().flatten();
            list.filter_map(|value| graph.id_of(value)).collect()
        };
        found.extend(ids("allOf"));
        for keyword in ["anyOf", "oneOf"] {
            let branches = ids(keyword);
            if branches.iter().all(|&branch| !possible[branch]) {
                found.extend(branches);
            }
        }
        let inner = inner(map).into_iter();
        found.extend(inner.filter_map(|value| graph.id_of(value)));
    }
    found.retain(|&id| !possible[id]);
    found
}

/// Whether all that stands beside a reference is ignored, as drafts up to 7 have it.
fn only_refers(map: &Map<String, Value>, is_old: bool) -> bool {
    is_old && map.contains_key("$ref")
}

/// Whether `nullable: true` allows a null, whatever else is said of the value.
fn takes_null(map: &Map<String, Value>) -> bool {
    let values = map.get("enum").and_then(Value::as_array);
    map.get("nullable") == Some(&Value::Bool(true))
        && values.is_none_or(|values| values.contains(&Value::Null))
        && map.get("const").is_none_or(Value::is_null)
}

/// What can be said of it in particular.
fn why_impossible(map: &Map<String, Value>) -> Option<SchemaFault> {
    if let Some((place, name)) = shut_out(map) {
        let name = repeatable(name);
        let message = format!(
            "`{name}` is required, and is no property of an object that may have no others: is it misspelt?"
        );
        return Some(SchemaFault::unsupported(
            format!("/required/{place}"),
            message,
        ));
    }
    let has_none = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    (map.get("enum").is_some_and(has_none) && !has_typed_value(map)).then(|| {
        let message = "no value of it is of the schema's `type`";
        SchemaFault::unsupported("/enum", message)
    })
}

/// The first required property that a closed object cannot have.
fn shut_out(map: &Map<String, Value>) -> Option<(usize, &str)> {
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false))
        && !map.contains_key("patternProperties")
        && map.get("type").is_some_and(|kind| kind == "object");
    let properties = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let required = required.filter(|_| is_closed)?;
    let has = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    let mut named = required.iter().map(Value::as_str).enumerate();
    named.find_map(|(place, name)| Some((place, name.filter(|name| !has(name))?)))
}

/// Whether some value of an `enum`, or the `const`, is of the one type that is stated.
fn has_typed_value(map: &Map<String, Value>) -> bool {
    let Some(kind) = map.get("type").and_then(Value::as_str) else {
        return true;
    };
    let fits = |value: &Value| match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    let values = map.get("enum").and_then(Value::as_array);
    values.is_none_or(|values| values.is_empty() || values.iter().any(fits))
        && map.get("const").is_none_or(fits)
}

fn is_possible(graph: &Graph<'_>, id: NodeId, possible: &[bool], is_old: bool) -> bool {
    let map = match graph.nodes[id].value {
        Value::Object(map) => map,
        other => return other == &Value::Bool(true),
    };
    let leads = || {
        let mut references = graph.nodes[id].references.iter();
        references.all(|&(_, to)| possible[to])
    };
    if takes_null(map) || only_refers(map, is_old) {
        return takes_null(map) || leads();
    }
    let known = |value: &Value| graph.id_of(value).is_none_or(|id| possible[id]);
    let list = |keyword| {
        map.get(keyword)
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty())
    };
    let anything = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        other => other == &Value::Bool(true),
    };
    leads()
        && list("allOf").is_none_or(|all| all.iter().all(known))
        && list("anyOf").is_none_or(|any| any.iter().any(known))
        && list("oneOf").is_none_or(|one| one.iter().any(known))
        && !map.get("not").is_some_and(anything)
        && map
            .get("enum")
            .and_then(Value::as_array)
            .is_none_or(|values| !values.is_empty())
        && has_typed_value(map)
        && shut_out(map).is_none()
        && is_possible_type(map, &known)
}

/// Whether a value of the schema's one type is possible. With several types, or none, some
/// value of another type nearly always is.
fn is_possible_type(map: &Map<String, Value>, known: &dyn Fn(&Value) -> bool) -> bool {
    let number = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
    let ordered = |low: &str, high: &str| match (number(low), number(high)) {
        (Some(low), Some(high)) => low <= high,
        _ => true,
    };
    let mut inner = inner(map).into_iter();
    match map.get("type").and_then(Value::as_str) {
        Some("object") => ordered("minProperties", "maxProperties") && inner.all(known),
        Some("array") => ordered("minItems", "maxItems") && inner.all(known),
        Some("string") => ordered("minLength", "maxLength"),
        Some("integer" | "number") => ordered("minimum", "maximum"),
        _ => true,
    }
}

/// The schemas of parts that every value of its one type has.
fn inner(map: &Map<String, Value>) -> Vec<&Value> {
    match map.get("type").and_then(Value::as_str) {
        Some("object") => {
            let properties = map.get("properties").and_then(Value::as_object);
            let required = map.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            names.filter_map(|name| properties?.get(name)).collect()
        }
        Some("array") => {
            let least = map.get("minItems").and_then(Value::as_f64);
            let first = map
                .get("prefixItems")
                .and_then(|items| items.get(0))
                .or_else(|| map.get("items").filter(|items| !items.is_array()));
            let first = first.filter(|_| least.is_some_and(|least| least >= 1.0));
            first.into_iter().collect()
        }
        _ => Vec::new(),
    }
}
