//! The guard before the libraries: a client's schema comes in; a fault, or nothing, goes out.
//!
//! The validator and the grammar engines overflow their stack (which aborts the process) or stall
//! for hours on schemas of a few kilobytes. All that makes them do so is measured here first,
//! without recursion, and refused above a limit.

use super::graph::Graph;
use super::measure::{self, Measures};
use super::position::{Step, push_segment, write_pointer};
use super::{SchemaFault, identity, misplaced, patterns};
use crate::error::repeatable;
use crate::pattern;
use serde_json::{Map, Value};

/// What a schema may be at most. Where a number was measured, it was with jsonschema 0.50 and
/// llguidance 1.9 on a thread with 2 MiB of stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaLimits {
    /// Bytes of its JSON text. The largest real schemas seen are near 450 KB.
    pub text_bytes: usize,
    /// Schema levels, nested or by reference. llguidance overflows from about 240 levels.
    pub depth: usize,
    /// References and combinators in a row that apply to the same value. A chain costs one stack
    /// frame a link in every library; 64 is ten times what real schemas have.
    pub ref_depth: usize,
    /// Ways from the root to a subschema once references are expanded: what validating costs at
    /// the worst. Each further link of a doubling chain doubles it; 2^28 took 7 s.
    pub paths: u64,
    /// Named properties in all.
    pub properties: usize,
    /// Properties of one object that are not required. llguidance is quadratic in them: 1,000
    /// take 0.4 s, 5,000 take 13 s, 8,000 overflow.
    pub optional_properties: usize,
    /// Values in all `enum` lists together. llguidance takes 16 s for 10^6.
    pub enum_values: usize,
    /// Patterns in all. 2,000 take 0.5 s to compile.
    pub patterns: usize,
    /// Bytes of one pattern. 1 MB takes 1.1 s and 195 MB.
    pub pattern_bytes: usize,
    /// Bytes of all patterns together.
    pub patterns_bytes: usize,
    /// Automaton states of all patterns together, as [`pattern::states`] counts them:
    /// `^a{0,100000}$` takes 24 MB.
    pub pattern_states: u64,
    /// Branches of one value after `allOf` is multiplied out over `anyOf` and `oneOf`.
    /// llguidance fails an assertion at 2^11 of them.
    pub branches: u64,
    /// Bytes of a property's name.
    pub name_bytes: usize,
    /// Definitions that refer to each other in cycles. A compiler goes once through all of them,
    /// one within the other: at 5 KB of stack a link, 1,000 stay far below the 64 MiB of the
    /// threads that compile.
    pub recursive_definitions: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            text_bytes: 1 << 20,
            depth: 64,
            ref_depth: 64,
            paths: 100_000,
            properties: 2_000,
            optional_properties: 500,
            enum_values: 10_000,
            patterns: 256,
            pattern_bytes: 4 << 10,
            patterns_bytes: 64 << 10,
            pattern_states: 1 << 16,
            branches: 4_096,
            name_bytes: 8 << 10,
            recursive_definitions: 1_000,
        }
    }
}

/// JSON levels of a schema's text. JSON parsers stop at about as many; a schema built in memory
/// has no such stop, and the libraries (and dropping a value) recurse over them.
const MAX_JSON_DEPTH: usize = 192;

/// Refuses a schema that is over a limit, that refers to something outside of itself or to
/// nothing, or that no finite value can satisfy. Everything else that is wrong with a schema is
/// left to the compiler, which is safe once this has passed.
///
/// # Errors
/// The first fault found, with its place.
pub fn guard(schema: &Value, limits: &SchemaLimits) -> Result<(), SchemaFault> {
    let named = identity::without_idle(schema);
    examine(named.as_ref().unwrap_or(schema), limits).map(|_| ())
}

/// [`guard`], and what it measured.
pub(crate) fn examine(schema: &Value, limits: &SchemaLimits) -> Result<Measures, SchemaFault> {
    let text_bytes = check_text(schema, limits)?;
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(SchemaFault::invalid(
            "",
            "a schema must be an object or a boolean",
        ));
    }
    super::validator::check_draft(schema)?;
    let graph = Graph::of(schema, limits.depth)?;
    misplaced::check(&graph)?;
    let mut counts = Counts::default();
    for id in 0..graph.nodes.len() {
        if let Value::Object(map) = graph.nodes[id].value {
            counts
                .add(map, limits)
                .map_err(|fault| fault.below(&graph.pointer(id)))?;
        }
    }
    let mut measures = measure::measure(&graph, limits)?;
    measures.text_bytes = text_bytes;
    measures.pattern_states = counts.pattern_states;
    Ok(measures)
}

/// Refuses what is no type, such as those of `OpenAPI` and of Gemini in capitals.
fn check_type(kind: &Value) -> Result<(), SchemaFault> {
    const TYPES: [&str; 7] = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    let is_one = |kind: &str| TYPES.contains(&kind);
    let wrong = match kind {
        Value::String(kind) => Some(kind).filter(|kind| !is_one(kind)),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(|kind| match kind {
                Value::String(kind) => Some(kind),
                _ => None,
            });
            kinds.find(|kind| !is_one(kind))
        }
        _ => None,
    };
    let Some(wrong) = wrong else {
        return Ok(());
    };
    let (wrong, types) = (repeatable(wrong), TYPES.join(", "));
    let message = format!("`{wrong}` is no type: there are {types}");
    Err(SchemaFault::invalid("/type", message))
}

impl SchemaFault {
    pub(super) fn below(mut self, pointer: &str) -> Self {
        self.pointer.insert_str(0, pointer);
        self
    }
}

/// Bytes of the value's JSON text, give or take escapes.
fn check_text(schema: &Value, limits: &SchemaLimits) -> Result<usize, SchemaFault> {
    let mut bytes = 0;
    let mut pending = vec![(schema, 1)];
    while let Some((value, depth)) = pending.pop() {
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                pending.extend(items.iter().map(|item| (item, depth + 1)));
                items.len() + 2
            }
            Value::Object(map) => {
                pending.extend(map.values().map(|value| (value, depth + 1)));
                map.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => 4,
        };
        if depth > MAX_JSON_DEPTH {
            let message = format!("its JSON nests deeper than {MAX_JSON_DEPTH} levels");
            return Err(SchemaFault::too_complex("", message));
        }
        if bytes > limits.text_bytes {
            let message = format!("the schema is larger than {} bytes", limits.text_bytes);
            return Err(SchemaFault::too_complex("", message));
        }
    }
    Ok(bytes)
}

/// What is counted over the whole schema.
#[derive(Debug, Default)]
struct Counts {
    properties: usize,
    enum_values: usize,
    patterns: usize,
    patterns_bytes: usize,
    pattern_states: u64,
}

impl Counts {
    fn add(&mut self, map: &Map<String, Value>, limits: &SchemaLimits) -> Result<(), SchemaFault> {
        if let Some(kind) = map.get("type") {
            check_type(kind)?;
        }
        if let Some(Value::Object(properties)) = map.get("properties") {
            self.add_properties(properties, map.get("required"), limits)?;
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            self.enum_values += values.len();
            over(
                "/enum",
                "`enum` values",
                self.enum_values,
                limits.enum_values,
            )?;
        }
        if let Some(Value::String(text)) = map.get("pattern") {
            self.add_pattern(text, "pattern", Step::Whole, limits)?;
        }
        if let Some(Value::Object(patterns)) = map.get("patternProperties") {
            for name in patterns.keys() {
                self.add_pattern(name, "patternProperties", Step::Name(name), limits)?;
            }
        }
        Ok(())
    }

    fn add_properties(
        &mut self,
        properties: &Map<String, Value>,
        required: Option<&Value>,
        limits: &SchemaLimits,
    ) -> Result<(), SchemaFault> {
        self.properties += properties.len();
        over(
            "/properties",
            "properties",
            self.properties,
            limits.properties,
        )?;
        // A property that is required twice is counted twice: the number errs on the open side by
        // what a client writes twice itself.
        let required = required.and_then(Value::as_array).map_or(0, Vec::len);
        let optional = properties.len().saturating_sub(required);
        over(
            "/properties",
            "properties of one object that are not `required`",
            optional,
            limits.optional_properties,
        )?;
        match properties
            .keys()
            .find(|name| name.len() > limits.name_bytes)
        {
            Some(_) => Err(SchemaFault::too_complex(
                "/properties",
                format!(
                    "a property's name is longer than {} bytes",
                    limits.name_bytes
                ),
            )),
            None => Ok(()),
        }
    }

    fn add_pattern(
        &mut self,
        text: &str,
        keyword: &str,
        step: Step<'_>,
        limits: &SchemaLimits,
    ) -> Result<(), SchemaFault> {
        let at = || {
            let mut pointer = String::new();
            match step {
                // A pattern that is over the limit would make a pointer over any limit.
                Step::Name(name) if name.len() > 256 => push_segment(&mut pointer, keyword),
                step => write_pointer(keyword, step, &mut pointer),
            }
            pointer
        };
        self.patterns += 1;
        self.patterns_bytes += text.len();
        over(&at(), "patterns", self.patterns, limits.patterns)?;
        over(
            &at(),
            "bytes of a pattern",
            text.len(),
            limits.pattern_bytes,
        )?;
        over(
            &at(),
            "bytes of patterns",
            self.patterns_bytes,
            limits.patterns_bytes,
        )?;
        // No server is told of look-around in a text, and the proxy looks for it itself.
        if keyword == "pattern" && patterns::looking(text).is_some() {
            return Ok(());
        }
        if let Some(construct) = pattern::irregular(text) {
            return Err(SchemaFault::unsupported(
                at(),
                format!("the pattern has {construct}, which needs backtracking; write it without"),
            ));
        }
        if let Err(fault) = pattern::ecma::translate(text) {
            return Err(SchemaFault::invalid(at(), format!("the pattern {fault}")));
        }
        self.pattern_states = self.pattern_states.saturating_add(pattern::states_of(text));
        if self.pattern_states > limits.pattern_states {
            return Err(SchemaFault::too_complex(
                at(),
                "the patterns repeat too much: their automaton would be too large; lower the \
                 bounds of `{n,m}`, or use `maxLength`",
            ));
        }
        Ok(())
    }
}

fn over(pointer: &str, what: &str, count: usize, limit: usize) -> Result<(), SchemaFault> {
    if count <= limit {
        return Ok(());
    }
    Err(SchemaFault::too_complex(
        pointer,
        format!("the schema has more than {limit} {what}; split or simplify it"),
    ))
}
