//! What clients ask: a fixed pool of demands, so that what was compiled once is used again.

use super::clients::{Dialect, ask};
use super::hosted;
use super::lark::{self, Lark};
use super::tags::{self, Shape};
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

/// What the content must be.
#[derive(Debug, Clone)]
pub enum Want {
    /// JSON of this schema.
    Schema(Value),
    /// One JSON object.
    Object,
    /// A text that this pattern matches as a whole, and some that it does.
    Pattern(&'static str, &'static [&'static str]),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A text with tags in it.
    Tags(Shape),
}

/// What a tool takes.
#[derive(Debug, Clone)]
pub enum Takes {
    Schema(Value),
    /// A custom tool's text, free or of a pattern.
    Text(Option<(&'static str, &'static [&'static str])>),
    /// A custom tool's text of a grammar in Lark.
    Lark(&'static Lark),
    /// Whatever it takes, it is the server's own tool. Its type, and what else is said of it.
    Hosted(&'static str),
}

impl Takes {
    /// What the wire calls a tool that takes this.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Schema(_) | Self::Hosted(_) => "function",
            Self::Text(_) | Self::Lark(_) => "custom",
        }
    }

    /// The pattern of its text, where it has one.
    pub const fn pattern(&self) -> Option<&'static str> {
        match self {
            Self::Text(Some((pattern, _))) => Some(pattern),
            Self::Lark(lark) => Some(lark.pattern),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Tool {
    pub name: &'static str,
    pub takes: Takes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    Forbidden,
    Optional,
    Required,
}

/// One demand.
#[derive(Debug, Clone)]
pub struct Demand {
    pub id: String,
    /// Whose words these are.
    pub client: Dialect,
    /// The request's fields that state it.
    pub fields: Map<String, Value>,
    pub want: Option<Want>,
    /// Those that may be called.
    pub tools: Vec<Tool>,
    pub calls: Calls,
    pub one_call: bool,
    pub legacy: bool,
}

impl Demand {
    pub fn new(id: impl Into<String>, fields: Value) -> Self {
        Self {
            id: id.into(),
            client: Dialect::Chat,
            fields: fields.as_object().cloned().unwrap_or_default(),
            want: None,
            tools: Vec::new(),
            calls: Calls::Forbidden,
            one_call: false,
            legacy: false,
        }
    }

    pub fn wanting(mut self, want: Want) -> Self {
        self.want = Some(want);
        self
    }

    pub fn calling(mut self, calls: Calls, tools: &[&Tool]) -> Self {
        self.calls = calls;
        self.tools = tools.iter().map(|&tool| tool.clone()).collect();
        self
    }

    pub fn once(mut self) -> Self {
        self.one_call = true;
        self.fields
            .insert("parallel_tool_calls".to_owned(), json!(false));
        self
    }

    /// The whole request.
    pub fn body(&self, stream: bool, choices: usize) -> Value {
        let mut body = ask::base(self.client);
        for (name, value) in &self.fields {
            body[name] = value.clone();
        }
        // Gemini's says it in the path.
        if stream && !matches!(self.client, Dialect::Gemini | Dialect::GeminiList) {
            body["stream"] = json!(true);
        }
        if choices > 1 {
            body["n"] = json!(choices);
        }
        body
    }
}

/// The schemas, by name.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "age",
            json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"], "additionalProperties": false}),
        ),
        (
            "person",
            json!({"type": "object", "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "email": {"type": "string"}}, "required": ["name", "age"], "additionalProperties": false}),
        ),
        (
            "open",
            json!({"type": "object", "properties": {"kind": {"type": "string"}, "size": {"type": "number"}}, "required": ["kind"]}),
        ),
        (
            "nested",
            json!({"type": "object", "properties": {"user": {"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3}}, "required": ["id", "tags"], "additionalProperties": false}, "ok": {"type": "boolean"}}, "required": ["user", "ok"], "additionalProperties": false}),
        ),
        (
            "list",
            json!({"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}, "required": ["sku", "count"], "additionalProperties": false}, "minItems": 1, "maxItems": 4}}, "required": ["items"], "additionalProperties": false}),
        ),
        (
            "union",
            json!({"type": "object", "properties": {"value": {"anyOf": [{"type": "integer"}, {"type": "null"}, {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": false}]}}, "required": ["value"], "additionalProperties": false}),
        ),
        (
            "colour",
            json!({"type": "object", "properties": {"colour": {"enum": ["red", "green", "blue"]}, "level": {"type": "number", "minimum": 0, "maximum": 1}}, "required": ["colour", "level"], "additionalProperties": false}),
        ),
        (
            "empty",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
        (
            "numbers",
            json!({"type": "array", "items": {"type": "integer", "minimum": -5, "maximum": 5}, "minItems": 1, "maxItems": 5}),
        ),
        (
            "words",
            json!({"type": "object", "properties": {"text": {"type": "string"}, "lang": {"type": "string", "enum": ["de", "en", "日本"]}}, "required": ["text", "lang"], "additionalProperties": false}),
        ),
        (
            "exact",
            json!({"type": "object", "properties": {"id": {"type": "integer", "minimum": 1, "maximum": 9_007_199_254_740_991_u64},
                "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "code": {"type": "string", "pattern": "^[a-z]{2,8}$"},
                "short": {"type": "string", "maxLength": 3}}, "required": ["id", "ratio"], "additionalProperties": false}),
        ),
        (
            "fixed",
            json!({"type": "object", "properties": {"v": {"const": 1}, "kind": {"enum": [1, "1", null, true]},
                "set": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "maxItems": 4}}, "required": ["v", "kind", "set"], "additionalProperties": false}),
        ),
    ]
}

/// The schema of this name.
pub fn schema(name: &str) -> &'static Value {
    static KNOWN: OnceLock<Vec<(&'static str, Value)>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(schemas).iter();
    let found = known.find(|(known, _)| *known == name);
    found.map_or(&Value::Null, |it| &it.1)
}

pub fn function(name: &'static str, schema_name: &str) -> Tool {
    Tool {
        name,
        takes: Takes::Schema(schema(schema_name).clone()),
    }
}

pub fn stated(tools: &[&Tool]) -> Value {
    let one = |tool: &Tool| match &tool.takes {
        Takes::Schema(schema) => {
            json!({"type": "function", "function": {"name": tool.name, "parameters": schema}})
        }
        Takes::Text(None) => json!({"type": "custom", "custom": {"name": tool.name}}),
        Takes::Text(Some((pattern, _))) => {
            let format =
                json!({"type": "grammar", "grammar": {"syntax": "regex", "definition": pattern}});
            json!({"type": "custom", "custom": {"name": tool.name, "format": format}})
        }
        Takes::Lark(lark) => {
            let grammar = json!({"syntax": "lark", "definition": lark.grammar});
            let format = json!({"type": "grammar", "grammar": grammar});
            json!({"type": "custom", "custom": {"name": tool.name, "format": format}})
        }
        Takes::Hosted(kind) => json!({"type": kind}),
    };
    tools.iter().map(|tool| one(tool)).collect()
}

const DATE: (&str, &[&str]) = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    &["2026-11-22", "0001-01-01", "9999-12-31"],
);
const CODE: (&str, &[&str]) = ("[A-Z]{2,3}-[0-9]+", &["AB-1", "XYZ-007", "QQ-99"]);
/// What was whole may become unfinished.
const STEPS: (&str, &[&str]) = ("(ab)+", &["ab", "abab", "ababab"]);
pub const TEXTS: &[&str] = &["yes", "no", "maybe not"];

/// Every demand.
pub fn pool() -> Vec<Demand> {
    let mut all = constraints();
    all.extend(tools());
    all.extend(beside());
    all.extend(tags::demands());
    all.extend(lark::demands());
    all.extend(hosted::demands());
    all.extend(twice());
    all
}

pub fn format_of(schema: &Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": true}})
}

fn constraints() -> Vec<Demand> {
    let mut all: Vec<Demand> = schemas()
        .into_iter()
        .map(|(name, schema)| {
            let fields = json!({"response_format": format_of(&schema)});
            Demand::new(format!("schema {name}"), fields).wanting(Want::Schema(schema))
        })
        .collect();
    for name in ["age", "nested", "exact"] {
        let fields = json!({"guided_json": schema(name)});
        let want = Want::Schema(schema(name).clone());
        all.push(Demand::new(format!("guided {name}"), fields).wanting(want));
    }
    all.push(
        Demand::new(
            "object",
            json!({"response_format": {"type": "json_object"}}),
        )
        .wanting(Want::Object),
    );
    for (name, (pattern, texts)) in [("date", DATE), ("code", CODE)] {
        let fields = json!({"structured_outputs": {"regex": pattern}});
        all.push(
            Demand::new(format!("regex {name}"), fields).wanting(Want::Pattern(pattern, texts)),
        );
    }
    all.push(
        Demand::new("choice", json!({"structured_outputs": {"choice": TEXTS}}))
            .wanting(Want::Choice(TEXTS)),
    );
    let grammar = "root ::= (\"yes\" | \"no\") \" \" digit+\ndigit ::= [0-9]";
    all.push(
        Demand::new("gbnf", json!({"grammar": grammar})).wanting(Want::Pattern(
            "(yes|no) [0-9]+",
            &["yes 1", "no 42", "yes 007"],
        )),
    );
    all
}

fn known() -> [Tool; 7] {
    [
        function("g", "age"),
        function("person", "person"),
        function("paint", "exact"),
        function("buy", "list"),
        Tool {
            name: "note",
            takes: Takes::Text(None),
        },
        Tool {
            name: "day",
            takes: Takes::Text(Some(DATE)),
        },
        Tool {
            name: "steps",
            takes: Takes::Text(Some(STEPS)),
        },
    ]
}

pub fn choice_name(calls: Calls) -> &'static str {
    match calls {
        Calls::Forbidden => "none",
        Calls::Optional => "auto",
        Calls::Required => "required",
    }
}

fn tools() -> Vec<Demand> {
    let [g, person, paint, buy, note, day, steps] = &known();
    let mut all = Vec::new();
    let sets: [(&str, &[&Tool]); 7] = [
        ("g", &[g]),
        ("two", &[g, person]),
        ("many", &[g, person, paint, buy]),
        ("note", &[note]),
        ("mixed", &[g, day]),
        ("both", &[person, note, day]),
        ("steps", &[steps, g]),
    ];
    for (name, set) in sets {
        for calls in [Calls::Required, Calls::Optional] {
            let word = choice_name(calls);
            let fields = json!({"tools": stated(set), "tool_choice": word});
            let demand = Demand::new(format!("{word} {name}"), fields).calling(calls, set);
            all.push(demand.clone());
            let mut once = demand.once();
            once.id += " once";
            all.push(once);
        }
        let first = set[0];
        let kind = first.takes.kind();
        let named = json!({"type": kind, kind: {"name": first.name}});
        let fields = json!({"tools": stated(set), "tool_choice": named});
        all.push(
            Demand::new(format!("named {name}"), fields)
                .calling(Calls::Required, &[first])
                .once(),
        );
    }
    let fields = json!({"tools": stated(&[g, person]), "tool_choice": "none"});
    all.push(Demand::new("none two", fields));
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "required",
        "tools": [{"type": "function", "function": {"name": "person"}}]}});
    let fields = json!({"tools": stated(&[g, person]), "tool_choice": allowed});
    all.push(Demand::new("allowed person", fields).calling(Calls::Required, &[person]));
    all.extend(legacy(g, person));
    all
}

fn legacy(g: &Tool, person: &Tool) -> Vec<Demand> {
    let stated = |tool: &Tool| match &tool.takes {
        Takes::Schema(schema) => json!({"name": tool.name, "parameters": schema}),
        _ => Value::Null,
    };
    let functions = json!([stated(g), stated(person)]);
    let auto = json!({"functions": functions});
    let named = json!({"functions": functions, "function_call": {"name": "g"}});
    let mut all = vec![
        Demand::new("functions auto", auto).calling(Calls::Optional, &[g, person]),
        Demand::new("functions named", named).calling(Calls::Required, &[g]),
    ];
    for demand in &mut all {
        demand.legacy = true;
        demand.one_call = true;
    }
    all
}

/// Tools and a constraint on the answer.
fn beside() -> Vec<Demand> {
    let [g, person, ..] = &known();
    let mut all = Vec::new();
    for name in ["age", "nested", "open"] {
        let fields = json!({"tools": stated(&[g, person]), "tool_choice": "auto",
            "response_format": format_of(schema(name))});
        all.push(
            Demand::new(format!("auto with {name}"), fields)
                .calling(Calls::Optional, &[g, person])
                .wanting(Want::Schema(schema(name).clone())),
        );
    }
    let fields = json!({"tools": stated(&[g]), "tool_choice": "auto",
        "structured_outputs": {"choice": TEXTS}});
    all.push(
        Demand::new("auto with choice", fields)
            .calling(Calls::Optional, &[g])
            .wanting(Want::Choice(TEXTS)),
    );
    let fields = json!({"tools": stated(&[g]), "tool_choice": "none",
        "response_format": format_of(schema("age"))});
    all.push(Demand::new("none with age", fields).wanting(Want::Schema(schema("age").clone())));
    all
}

/// One constraint said in two fields.
fn twice() -> Vec<Demand> {
    let both =
        json!({"response_format": format_of(schema("person")), "guided_json": schema("person")});
    let also = json!({"response_format": {"type": "json_object"},
        "structured_outputs": {"json": schema("list")}});
    let regex = json!({"guided_regex": DATE.0, "structured_outputs": {"regex": DATE.0}});
    vec![
        Demand::new("twice person", both).wanting(Want::Schema(schema("person").clone())),
        Demand::new("twice list", also).wanting(Want::Schema(schema("list").clone())),
        Demand::new("twice date", regex).wanting(Want::Pattern(DATE.0, DATE.1)),
    ]
}
