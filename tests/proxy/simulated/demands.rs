//! What clients ask for: a schema or a text's form comes in, requests in the clients' own
//! spellings go out, each with what its answer must be.

use super::model::{Language, Random, any_object, of_regex};
use super::server::Gist;
use serde_json::{Value, json};

/// What the content of an answer must be.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Any,
    Schema(Value),
    Object,
    /// The whole text.
    Regex(String),
    Choice(Vec<String>),
    /// Text with tags: JSON of the schema between `begin` and `end`, and what is left where each is
    /// put down as U+0001.
    Tags {
        begin: &'static str,
        end: &'static str,
        schema: Value,
        rest: &'static str,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// For people: which schema, asked how.
    pub(crate) name: String,
    pub(crate) body: Value,
    pub(crate) content: Content,
    pub(crate) tools: Vec<(String, Value)>,
    /// Custom tools, and the regex of their input.
    pub(crate) customs: Vec<(String, String)>,
    /// Whether there must be a call.
    pub(crate) must_call: bool,
    /// Of these alone, where it is not all.
    pub(crate) only: Option<String>,
    pub(crate) one_call: bool,
}

impl Demand {
    /// What is asked for and in which words, streamed or not.
    pub(crate) fn subject(&self) -> &str {
        let ends = [" of {", ", streamed"];
        let ends = ends.iter().filter_map(|end| self.name.find(end));
        &self.name[..ends.min().unwrap_or(self.name.len())]
    }

    pub(crate) fn gist(&self, obeys: usize) -> Gist {
        let content = match &self.content {
            Content::Any | Content::Tags { .. } => None,
            Content::Schema(schema) => Some(Language::Json(schema.clone())),
            Content::Object => Some(any_object()),
            Content::Regex(regex) => Some(of_regex(regex)),
            Content::Choice(all) => Some(Language::Choice(all.clone())),
        };
        let mut tools = self.tools.clone();
        if let Some(only) = &self.only {
            tools.retain(|(name, _)| name == only);
        }
        Gist {
            content,
            tools,
            obeys,
        }
    }
}

fn demand(name: String, fields: Value, content: Content) -> Demand {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Go, in JSON."}]});
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    Demand {
        name,
        body,
        content,
        tools: Vec::new(),
        customs: Vec::new(),
        must_call: false,
        only: None,
        one_call: false,
    }
}

/// In how many ways a schema is asked for.
pub(crate) const WAYS: usize = 13;

/// One way to ask for a schema; `None` where it cannot be asked for like this.
pub(crate) fn of_schema(
    name: &str,
    schema: &Value,
    way: usize,
    random: &mut Random,
) -> Option<Demand> {
    let with = |how: &str| format!("{name} as {how}");
    let answer = Content::Schema(schema.clone());
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let mut made = match way {
        0 => demand(
            with("json_schema"),
            json!({"response_format": format}),
            answer,
        ),
        1 => {
            let mut format = format;
            format["json_schema"]["strict"] = json!(true);
            demand(
                with("strict json_schema"),
                json!({"response_format": format}),
                answer,
            )
        }
        2 => demand(
            with("structured_outputs"),
            json!({"structured_outputs": {"json": schema}}),
            answer,
        ),
        3 => demand(with("guided_json"), json!({"guided_json": schema}), answer),
        4 => demand(
            with("llama.cpp's json_schema"),
            json!({"json_schema": schema}),
            answer,
        ),
        11 => {
            let fields = json!({"response_format": format, "n": 3});
            demand(with("three answers of json_schema"), fields, answer)
        }
        _ if schema["type"] != "object" => return None,
        _ => of_tools(name, schema, way, format)?,
    };
    if random.in_a_hundred(40) {
        made.body["stream"] = json!(true);
        made.name.push_str(", streamed");
    }
    Some(made)
}

fn of_tools(name: &str, schema: &Value, way: usize, format: Value) -> Option<Demand> {
    let other = json!({"type": "object", "properties": {"q": {"type": "string", "maxLength": 9}},
        "required": ["q"], "additionalProperties": false});
    let tool = |name: &str, schema: &Value| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    let named = json!({"type": "function", "function": {"name": "f"}});
    let allowed =
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}});
    let (how, choice, two, must) = match way {
        5 => ("the only tool, required", json!("required"), false, true),
        6 => ("one of two tools, required", json!("required"), true, true),
        7 => ("a named tool", named, true, true),
        8 => ("a tool under auto", json!("auto"), true, false),
        9 => ("a tool beside an answer", json!("auto"), true, false),
        10 => ("an allowed tool", allowed, true, true),
        12 => (
            "two answers of one of two tools",
            json!("required"),
            true,
            true,
        ),
        _ => return None,
    };
    let mut tools = vec![("f".to_owned(), schema.clone())];
    if two {
        tools.push(("g_2".to_owned(), other));
    }
    let stated: Vec<Value> = tools
        .iter()
        .map(|(name, schema)| tool(name, schema))
        .collect();
    let fields = json!({"tools": stated, "tool_choice": choice});
    let mut made = demand(format!("{name} as {how}"), fields, Content::Any);
    if way == 9 {
        // The schema is the tool's, and the answer's as well.
        made.body["response_format"] = format;
        made.content = Content::Schema(schema.clone());
    }
    if way == 12 {
        made.body["n"] = json!(2);
    }
    if way == 6 {
        made.body["parallel_tool_calls"] = json!(false);
        made.one_call = true;
    }
    made.tools = tools;
    made.must_call = must;
    made.only = matches!(way, 7 | 10).then(|| "f".to_owned());
    Some(made)
}

/// A client's own structural tags, and custom tools.
pub(crate) fn of_tags() -> Vec<Demand> {
    let mut all = Vec::new();
    for schema in [
        json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"], "additionalProperties": false}),
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b", 3]}, "on": {"type": "boolean"}}, "required": ["kind"], "additionalProperties": false}),
        json!({"type": "object", "properties": {"all": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}}, "required": ["all"], "additionalProperties": false}),
    ] {
        let tag = json!({"type": "tag", "begin": "<f=f>", "end": "</f>", "content": {"type": "json_schema", "json_schema": schema}});
        let think = json!({"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"});
        let triggered = |least: bool, stops: bool| json!({"type": "triggered_tags", "triggers": ["<f="], "tags": [tag], "at_least_one": least, "stop_after_first": stops});
        let separated = |least: bool| json!({"type": "tags_with_separator", "tags": [tag], "separator": ",", "at_least_one": least});
        let legacy = json!({"structures": [{"begin": "<f=f>", "schema": schema, "end": "</f>"}], "triggers": ["<f="]});
        let free = "^((?!<f=)[\\s\\S])*$";
        for (name, tag, rest) in [
            ("legacy tags", legacy, free),
            (
                "triggered tags",
                json!({"format": triggered(false, false)}),
                free,
            ),
            (
                "a tag, at least",
                json!({"format": triggered(true, false)}),
                "^\u{1}((?!<f=)[\\s\\S])*$",
            ),
            (
                "exactly one tag",
                json!({"format": triggered(true, true)}),
                "^\u{1}$",
            ),
            (
                "tags with a separator",
                json!({"format": separated(false)}),
                "^(\u{1}(,\u{1})*)?$",
            ),
            (
                "one or more tags with a separator",
                json!({"format": separated(true)}),
                "^\u{1}(,\u{1})*$",
            ),
            (
                "a sequence",
                json!({"format": {"type": "sequence", "elements": [{"type": "optional", "content": think}, tag]}}),
                "^(<think>((?!</think>)[\\s\\S])*</think>)?\u{1}$",
            ),
            (
                "one of two",
                json!({"format": {"type": "or", "elements": [
                    {"type": "const_string", "value": "none"}, {"type": "repeat", "min": 1, "max": 3, "content": tag}
                ]}}),
                "^(none|\u{1}{1,3})$",
            ),
        ] {
            let mut format = tag.clone();
            format["type"] = json!("structural_tag");
            for fields in [
                json!({"response_format": format}),
                json!({"response_format": format, "stream": true}),
                json!({"structured_outputs": {"structural_tag": format.to_string()}}),
                json!({"structured_outputs": {"structural_tag": format.to_string()}, "stream": true, "n": 2}),
            ] {
                let (begin, end, schema) = ("<f=f>", "</f>", schema.clone());
                let content = Content::Tags {
                    begin,
                    end,
                    schema,
                    rest,
                };
                all.push(demand(format!("{name} of {tag}"), fields, content));
            }
        }
    }
    all.extend(of_custom_tools());
    all
}

fn of_custom_tools() -> Vec<Demand> {
    let mut all = Vec::new();
    let parameters = json!({"type": "object", "properties": {"q": {"type": "boolean"}}, "required": ["q"], "additionalProperties": false});
    for (syntax, definition, regex) in [
        ("regex", "[a-z]{2,4}", "[a-z]{2,4}"),
        ("regex", "(yes|no)( really)?", "(yes|no)( really)?"),
        ("lark", "start: \"a\" \"b\"+", "ab+"),
        (
            "lark",
            "start: WORD (\" \" WORD)?\nWORD: /[a-z]{1,4}/",
            "[a-z]{1,4}( [a-z]{1,4})?",
        ),
    ] {
        let grammar =
            json!({"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}});
        let custom = json!({"type": "custom", "custom": {"name": "c", "format": grammar}});
        let function =
            json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
        let named = json!({"type": "custom", "custom": {"name": "c"}});
        for (how, choice, two, must) in [
            ("required", json!("required"), false, true),
            ("one of two, required", json!("required"), true, true),
            ("named", named, true, true),
            ("under auto", json!("auto"), true, false),
        ] {
            for stream in [false, true] {
                let mut tools = vec![custom.clone()];
                if two {
                    tools.push(function.clone());
                }
                let fields = json!({"tools": tools, "tool_choice": choice, "stream": stream});
                let mut made = demand(
                    format!("a custom tool of {definition:?}, {how}"),
                    fields,
                    Content::Any,
                );
                made.customs = vec![("c".to_owned(), regex.to_owned())];
                if two {
                    made.tools = vec![("f".to_owned(), parameters.clone())];
                }
                made.must_call = must;
                made.only = (how == "named").then(|| "c".to_owned());
                all.push(made);
            }
        }
    }
    all
}

/// Texts in every spelling.
pub(crate) fn of_texts(data: &Value) -> Vec<Demand> {
    let mut all = Vec::new();
    let each = |key: &str| data[key].as_array().cloned().unwrap_or_default();
    for regex in each("regexes") {
        let text = regex.as_str().unwrap_or_default().to_owned();
        for fields in [
            json!({"structured_outputs": {"regex": regex}}),
            json!({"guided_regex": regex}),
            json!({"regex": regex}),
        ] {
            all.push(demand(
                format!("/{text}/"),
                fields,
                Content::Regex(text.clone()),
            ));
        }
    }
    for choice in each("choices") {
        let texts: Vec<String> = choice
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect();
        for fields in [
            json!({"structured_outputs": {"choice": choice}}),
            json!({"guided_choice": choice}),
        ] {
            all.push(demand(
                format!("{choice}"),
                fields,
                Content::Choice(texts.clone()),
            ));
        }
    }
    for (key, own) in [("gbnf", "ebnf"), ("lark", "guided_grammar")] {
        for grammar in each(key) {
            let regex = grammar["regex"].as_str().unwrap_or_default().to_owned();
            let text = &grammar["text"];
            for fields in [
                json!({"structured_outputs": {"grammar": text}}),
                json!({own: text}),
            ] {
                all.push(demand(
                    format!("{key} {text}"),
                    fields,
                    Content::Regex(regex.clone()),
                ));
            }
        }
    }
    for fields in [
        json!({"response_format": {"type": "json_object"}}),
        json!({"structured_outputs": {"json_object": true}}),
    ] {
        all.push(demand("any object".to_owned(), fields, Content::Object));
    }
    let streamed: Vec<Demand> = all
        .iter()
        .cloned()
        .map(|mut demand| {
            demand.body["stream"] = json!(true);
            demand.name.push_str(", streamed");
            demand
        })
        .collect();
    all.extend(streamed);
    all
}
