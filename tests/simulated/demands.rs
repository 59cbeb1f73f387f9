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
}

#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// For people: which schema, asked how.
    pub(crate) name: String,
    pub(crate) body: Value,
    pub(crate) content: Content,
    pub(crate) tools: Vec<(String, Value)>,
    /// Whether there must be a call.
    pub(crate) must_call: bool,
    /// Of these alone, where it is not all.
    pub(crate) only: Option<String>,
    pub(crate) one_call: bool,
}

impl Demand {
    pub(crate) fn gist(&self, obeys: usize) -> Gist {
        let content = match &self.content {
            Content::Any => None,
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
        must_call: false,
        only: None,
        one_call: false,
    }
}

/// In how many ways a schema is asked for.
pub(crate) const WAYS: usize = 11;

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
    if way == 6 {
        made.body["parallel_tool_calls"] = json!(false);
        made.one_call = true;
    }
    made.tools = tools;
    made.must_call = must;
    made.only = matches!(way, 7 | 10).then(|| "f".to_owned());
    Some(made)
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
