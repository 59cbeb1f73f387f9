//! JSON Schema as a grammar: a schema comes in; GBNF of the texts of its values, and the keywords
//! that no grammar can say, go out.
//!
//! Properties come in the order of the schema, then those that it does not name. White space is
//! bounded, so that no model can write it for ever. A keyword that cannot be written is left out:
//! the grammar takes more than the schema then, never less.

mod array;
mod merge;
mod number;
mod object;
mod text;

use super::GrammarFault;
use super::convert::Difference;
use super::gbnf::{Expr, Gbnf, GbnfRule, Names};
use merge::merge;
use number::Bounded;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};

/// Schemas that are read, those counted again that are merged into several branches.
const MAX_SCHEMAS: usize = 20_000;
/// How deep schemas nest, references not counted.
const MAX_NESTING: usize = 40;

/// Assertions about numbers, texts, lists and objects that no grammar can say, by the type that
/// they are about, and about any value.
const UNSAID: [(&str, &[&str]); 5] = [
    (
        "number",
        &[
            "maximum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "minimum",
            "multipleOf",
        ],
    ),
    ("string", &["format"]),
    (
        "array",
        &[
            "uniqueItems",
            "contains",
            "minContains",
            "maxContains",
            "unevaluatedItems",
        ],
    ),
    (
        "object",
        &[
            "minProperties",
            "maxProperties",
            "patternProperties",
            "propertyNames",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
            "unevaluatedProperties",
        ],
    ),
    (
        "",
        &["not", "if", "then", "else", "$dynamicRef", "$recursiveRef"],
    ),
];

/// A schema's grammar.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) gbnf: Gbnf,
    pub(super) differences: Vec<Difference>,
}

/// The grammar of a schema's values, as JSON.
///
/// # Errors
/// A schema that no value satisfies, or that is too large for a grammar.
pub(super) fn to_gbnf(schema: &Value) -> Result<Lowered, GrammarFault> {
    let mut compiler = Compiler {
        root: schema,
        names: Names::default(),
        rules: Vec::new(),
        references: HashMap::new(),
        shared: HashMap::new(),
        pending: VecDeque::new(),
        differences: Vec::new(),
        schemas: 0,
        depth: 0,
    };
    compiler.names.free(Gbnf::ROOT);
    let impossible = || GrammarFault::invalid("no value satisfies the schema");
    let body = compiler.schema(schema, "")?.ok_or_else(impossible)?;
    compiler.define(Gbnf::ROOT.to_owned(), body);
    // The root first: people read from there.
    compiler.rules.rotate_right(1);
    while let Some((pointer, name)) = compiler.pending.pop_front() {
        let target = schema.pointer(&pointer).unwrap_or(&Value::Bool(true));
        let body = compiler.schema(target, &pointer)?.ok_or_else(impossible)?;
        compiler.define(name, body);
    }
    let rules = compiler.rules;
    let mut differences = compiler.differences;
    let mut known = std::collections::HashSet::new();
    differences.retain(|one| known.insert((one.pointer.clone(), one.reason.clone())));
    Ok(Lowered {
        gbnf: Gbnf { rules },
        differences,
    })
}

struct Compiler<'a> {
    root: &'a Value,
    names: Names,
    rules: Vec<GbnfRule>,
    /// Rules of what is referred to, by pointer.
    references: HashMap<String, String>,
    /// Rules that every schema may use, by what they stand for.
    shared: HashMap<&'static str, String>,
    pending: VecDeque<(String, String)>,
    differences: Vec<Difference>,
    schemas: usize,
    depth: usize,
}

/// `None` where no value satisfies it.
type Lowering = Result<Option<Expr>, GrammarFault>;

fn literal(text: &str) -> Expr {
    Expr::Literal(text.to_owned())
}

impl Compiler<'_> {
    fn define(&mut self, name: String, body: Expr) {
        let line = self.rules.len() + 1;
        let body = body.flat();
        self.rules.push(GbnfRule { name, body, line });
    }

    /// The rule of this name, defined when it is first used.
    fn share(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if let Some(known) = self.shared.get(name) {
            return Expr::Rule(known.clone());
        }
        let free = self.names.free(name);
        self.shared.insert(name, free.clone());
        let body = body(self);
        self.define(free.clone(), body);
        Expr::Rule(free)
    }

    /// A rule of its own for what is used in several places.
    fn rule(&mut self, base: &str, body: Expr) -> Expr {
        if matches!(body, Expr::Rule(_) | Expr::Literal(_)) {
            return body;
        }
        let name = self.names.free(base);
        self.define(name.clone(), body);
        Expr::Rule(name)
    }

    fn lose(&mut self, pointer: &str, keyword: &str) {
        self.differences.push(Difference {
            pointer: format!(
                "{pointer}/{}",
                keyword.replace('~', "~0").replace('/', "~1")
            ),
            reason: format!("a grammar cannot say `{keyword}`"),
            is_wider: true,
        });
    }

    fn schema(&mut self, schema: &Value, pointer: &str) -> Lowering {
        match schema {
            Value::Bool(false) => Ok(None),
            Value::Object(map) => self.object_schema(map, pointer),
            _ => Ok(Some(self.any())),
        }
    }

    fn object_schema(&mut self, map: &Map<String, Value>, pointer: &str) -> Lowering {
        self.schemas += 1;
        if self.schemas > MAX_SCHEMAS || self.depth > MAX_NESTING {
            return Err(GrammarFault::too_complex(
                "the schema is too large or too deep to be written as a grammar",
            ));
        }
        self.depth += 1;
        let lowered = self.of_keywords(map, pointer);
        self.depth -= 1;
        lowered
    }

    fn of_keywords(&mut self, map: &Map<String, Value>, pointer: &str) -> Lowering {
        // OpenAPI's word for it, which the validator honours too.
        if map.get("nullable") == Some(&Value::Bool(true)) {
            let rest = self.object_schema(&without(map, "nullable"), pointer)?;
            return Ok(Some(Expr::Choice(
                rest.into_iter().chain([literal("null")]).collect(),
            )));
        }
        let (_, unsaid) = UNSAID[4];
        for keyword in unsaid.iter().filter(|&&keyword| map.contains_key(keyword)) {
            self.lose(pointer, keyword);
        }
        if let Some(Value::String(reference)) = map.get("$ref") {
            return self.reference(map, reference, pointer);
        }
        if let Some(Value::Array(parts)) = map.get("allOf") {
            let mut merged = without(map, "allOf");
            for part in parts {
                let Some(part) = self.resolve(part) else {
                    self.lose(pointer, "allOf");
                    continue;
                };
                match merge(&merged, &part) {
                    Some((next, is_exact)) => {
                        if !is_exact {
                            self.lose(pointer, "allOf");
                        }
                        merged = next;
                    }
                    None => return Ok(None),
                }
            }
            return self.object_schema(&merged, pointer);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                return self.branches(map, keyword, branches, pointer);
            }
        }
        if let Some(values) = listed(map) {
            return Ok(self.values(map, &values, pointer));
        }
        let mut ways = Vec::new();
        for name in types(map) {
            ways.extend(self.typed(map, name, pointer)?);
        }
        Ok((!ways.is_empty()).then_some(Expr::Choice(ways)))
    }

    /// What a reference leads to, with its own keywords; `None` where it leads out of the schema
    /// or around in a circle.
    fn resolve(&self, schema: &Value) -> Option<Value> {
        let mut schema = schema.clone();
        for _ in 0..8 {
            let Value::Object(map) = &schema else {
                return Some(schema);
            };
            let Some(Value::String(reference)) = map.get("$ref") else {
                return Some(schema);
            };
            let target = self.root.pointer(&local(reference)?)?;
            let (next, is_exact) = merge(&without(map, "$ref"), target)?;
            if !is_exact {
                return None;
            }
            schema = Value::Object(next);
        }
        None
    }

    fn reference(&mut self, map: &Map<String, Value>, reference: &str, pointer: &str) -> Lowering {
        let target = local(reference).filter(|target| self.root.pointer(target).is_some());
        let Some(target) = target else {
            self.lose(pointer, "$ref");
            return self.object_schema(&without(map, "$ref"), pointer);
        };
        let siblings = without(map, "$ref");
        if siblings.keys().any(|keyword| merge::is_assertion(keyword)) {
            let whole = Value::Object(map.clone());
            if let Some(Value::Object(merged)) = self.resolve(&whole) {
                return self.object_schema(&merged, pointer);
            }
            for keyword in siblings
                .keys()
                .filter(|keyword| merge::is_assertion(keyword))
            {
                self.lose(pointer, keyword);
            }
        }
        if self.root.pointer(&target) == Some(&Value::Bool(false)) {
            return Ok(None);
        }
        if let Some(known) = self.references.get(&target) {
            return Ok(Some(Expr::Rule(known.clone())));
        }
        let base = target.rsplit('/').next().unwrap_or_default();
        let name = self
            .names
            .free(if base.is_empty() { "whole" } else { base });
        self.references.insert(target.clone(), name.clone());
        self.pending.push_back((target, name.clone()));
        Ok(Some(Expr::Rule(name)))
    }

    /// Each branch with what stands beside all of them.
    fn branches(
        &mut self,
        map: &Map<String, Value>,
        keyword: &str,
        branches: &[Value],
        pointer: &str,
    ) -> Lowering {
        let outer = without(map, keyword);
        let is_alone = !outer.keys().any(|keyword| merge::is_assertion(keyword));
        if keyword == "oneOf" && !merge::are_disjoint(branches) {
            self.lose(pointer, keyword);
        }
        let mut ways = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let at = format!("{pointer}/{keyword}/{index}");
            if is_alone {
                ways.extend(self.schema(branch, &at)?);
                continue;
            }
            let Some(branch) = self.resolve(branch) else {
                self.lose(pointer, keyword);
                return self.object_schema(&outer, pointer);
            };
            if let Some((merged, is_exact)) = merge(&outer, &branch) {
                if !is_exact {
                    self.lose(pointer, keyword);
                }
                ways.extend(self.schema(&Value::Object(merged), &at)?);
            }
        }
        Ok((!ways.is_empty()).then_some(Expr::Choice(ways)))
    }

    /// Exactly these values, those of another type left out.
    fn values(
        &mut self,
        map: &Map<String, Value>,
        values: &[&Value],
        pointer: &str,
    ) -> Option<Expr> {
        let beside = |keyword: &&String| {
            merge::is_assertion(keyword) && !matches!(keyword.as_str(), "enum" | "const" | "type")
        };
        for keyword in map.keys().filter(beside) {
            self.lose(pointer, keyword);
        }
        let types = types(map);
        let fits = |value: &&&Value| {
            types.iter().any(|&name| match value {
                Value::Null => name == "null",
                Value::Bool(_) => name == "boolean",
                Value::Number(number) => {
                    name == "number"
                        || name == "integer"
                            && number.as_f64().is_none_or(|number| number.fract() == 0.0)
                }
                Value::String(_) => name == "string",
                Value::Array(_) => name == "array",
                Value::Object(_) => name == "object",
            })
        };
        let texts = values.iter().filter(fits);
        let ways: Vec<_> = texts
            .map(|value| Expr::Literal(value.to_string()))
            .collect();
        (!ways.is_empty()).then_some(Expr::Choice(ways))
    }

    fn typed(&mut self, map: &Map<String, Value>, name: &str, pointer: &str) -> Lowering {
        let about = if name == "integer" { "number" } else { name };
        let unsaid = UNSAID.iter().find(|(of, _)| *of == about);
        let mut unsaid: Vec<&str> = unsaid.map_or_else(Vec::new, |(_, keywords)| keywords.to_vec());
        unsaid.retain(|&keyword| map.contains_key(keyword));
        let lowered = match name {
            "null" => Some(literal("null")),
            "boolean" => Some(Expr::Choice(vec![literal("true"), literal("false")])),
            "integer" | "number" => {
                let (number, said) = number::lower(map, name == "integer");
                unsaid.retain(|keyword| !said.contains(keyword));
                match number {
                    Bounded::None => return Ok(None),
                    Bounded::Only(number) => Some(number),
                    Bounded::All if name == "integer" => {
                        Some(self.share("integer", |_| number::integer()))
                    }
                    Bounded::All => Some(self.share("number", |_| number::number())),
                }
            }
            "string" => {
                let (text, unread) = text::lower(map);
                unsaid.extend(unread);
                Some(text.unwrap_or_else(|| self.share("string", |_| text::string())))
            }
            "array" => self.array(map, pointer)?,
            _ => self.object(map, pointer)?,
        };
        for keyword in unsaid {
            self.lose(pointer, keyword);
        }
        Ok(lowered)
    }

    /// Bounded, and enough for a pretty print.
    fn space(&mut self) -> Expr {
        self.share("space", |_| {
            let indent = Expr::Class {
                negated: false,
                ranges: vec![('\t', '\t'), (' ', ' ')],
            };
            let line = Expr::Sequence(vec![literal("\n"), indent.repeat(0, Some(20))]);
            Expr::Choice(vec![literal(" "), line]).optional()
        })
    }

    fn comma(&mut self) -> Expr {
        let space = self.space();
        self.share("comma", |_| {
            Expr::Sequence(vec![space.clone(), literal(","), space])
        })
    }

    fn colon(&mut self) -> Expr {
        let space = self.space();
        self.share("colon", |_| {
            Expr::Sequence(vec![space.clone(), literal(":"), space])
        })
    }

    /// Any JSON.
    fn any(&mut self) -> Expr {
        self.share("value", |compiler| {
            let array = compiler.any_array();
            let object = compiler.any_object();
            let text = compiler.share("string", |_| text::string());
            let number = compiler.share("number", |_| number::number());
            let words = ["true", "false", "null"].map(literal);
            let ways = [object, array, text, number].into_iter().chain(words);
            Expr::Choice(ways.collect())
        })
    }
}

/// The values that `const` and `enum` leave.
fn listed(map: &Map<String, Value>) -> Option<Vec<&Value>> {
    let values = map.get("enum").and_then(Value::as_array);
    match (map.get("const"), values) {
        (Some(value), None) => Some(vec![value]),
        (Some(value), Some(values)) => Some(values.iter().filter(|one| *one == value).collect()),
        (None, Some(values)) => Some(values.iter().collect()),
        (None, None) => None,
    }
}

/// The types that are allowed; an integer is a number.
fn types(map: &Map<String, Value>) -> Vec<&str> {
    let mut types = match map.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["object", "array", "string", "number", "boolean", "null"],
    };
    if types.contains(&"number") {
        types.retain(|&name| name != "integer");
    }
    types.dedup();
    types
}

/// The JSON Pointer of a reference into the same schema. One with percent signs is not read.
fn local(reference: &str) -> Option<String> {
    let pointer = reference.strip_prefix('#')?;
    let is_pointer = pointer.is_empty() || pointer.starts_with('/');
    (is_pointer && !pointer.contains('%')).then(|| pointer.to_owned())
}

fn without(map: &Map<String, Value>, keyword: &str) -> Map<String, Value> {
    let mut rest = map.clone();
    rest.shift_remove(keyword);
    rest
}
