//! A demand of Chat's pool, said in another dialect: its fields one by one, or not at all.

use super::Dialect;
use crate::adversary::demands::{Demand, Takes, Want};
use serde_json::{Map, Value, json};

/// The demand in the dialect's words; `None` where something in it cannot be said.
pub fn asks(dialect: Dialect, demand: &Demand) -> Option<Demand> {
    let is_hosted = |takes: &Takes| matches!(takes, Takes::Hosted(_));
    let states_hosted =
        demand.id.contains("hosted") || demand.tools.iter().any(|tool| is_hosted(&tool.takes));
    if demand.legacy || states_hosted || matches!(demand.want, Some(Want::Tags(_))) {
        return None;
    }
    let mut said = demand.clone();
    said.client = dialect;
    said.id = format!("{}: {}", dialect.name(), demand.id);
    said.fields = match dialect {
        Dialect::Chat => demand.fields.clone(),
        Dialect::Completions => completions(demand)?,
        Dialect::Responses => responses(&demand.fields)?,
        Dialect::Messages => messages(&demand.fields)?,
        Dialect::Gemini | Dialect::GeminiList => gemini(demand)?,
        Dialect::Interactions => interactions(demand)?,
        Dialect::OllamaChat | Dialect::OllamaGenerate => ollama(dialect, demand)?,
    };
    // These have no word for one call at most, but where one tool alone may be called.
    let is_named = demand
        .fields
        .get("tool_choice")
        .is_some_and(Value::is_object);
    if matches!(
        dialect,
        Dialect::Gemini | Dialect::GeminiList | Dialect::Interactions | Dialect::OllamaChat
    ) {
        said.one_call = is_named && demand.tools.len() == 1;
    }
    Some(said)
}

/// What a request of the dialect holds beside a demand.
pub fn base(dialect: Dialect) -> Value {
    let messages = json!([{"role": "user", "content": "hi"}]);
    match dialect {
        Dialect::Chat => json!({"model": "m", "messages": messages}),
        Dialect::Completions => json!({"model": "m", "prompt": "hi"}),
        Dialect::Responses => json!({"model": "m", "input": "hi"}),
        Dialect::Messages => json!({"model": "m", "max_tokens": 999, "messages": messages}),
        Dialect::Gemini | Dialect::GeminiList => {
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
        }
        Dialect::Interactions => json!({"model": "m", "input": "hi"}),
        Dialect::OllamaChat => json!({"model": "m", "messages": messages, "stream": false}),
        Dialect::OllamaGenerate => json!({"model": "m", "prompt": "hi", "stream": false}),
    }
}

/// A prompt has no tools; all that constrains it is spelled as Chat's.
fn completions(demand: &Demand) -> Option<Map<String, Value>> {
    let is_said = demand.want.is_some() && !demand.fields.contains_key("tools");
    is_said.then(|| demand.fields.clone())
}

/// A function's name and schema.
fn function(tool: &Value) -> Option<(&Value, &Value)> {
    let function = tool.get("function")?;
    Some((&function["name"], &function["parameters"]))
}

/// The name of the one tool that is asked for.
fn named(choice: &Value) -> Option<&Value> {
    let kind = choice["type"].as_str()?;
    choice.get(kind)?.get("name")
}

fn schema(format: &Value) -> Option<&Value> {
    format.get("json_schema")?.get("schema")
}

/// Whether any object is asked for.
fn is_any(format: &Value) -> bool {
    format["type"] == "json_object"
}

fn responses(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let flat = |tool: &Value| {
        if let Some((name, parameters)) = function(tool) {
            return Some(
                json!({"type": "function", "name": name, "parameters": parameters, "strict": false}),
            );
        }
        let custom = tool.get("custom")?;
        let mut out = json!({"type": "custom", "name": custom["name"]});
        if let Some(format) = custom.get("format") {
            out["format"] = json!({"type": "grammar", "syntax": format["grammar"]["syntax"],
                "definition": format["grammar"]["definition"]});
        }
        Some(out)
    };
    let mut out = Map::new();
    for (name, value) in fields {
        let (name, value) = match name.as_str() {
            "tools" => {
                let tools: Option<Vec<Value>> = value.as_array()?.iter().map(flat).collect();
                ("tools", json!(tools?))
            }
            "tool_choice" => ("tool_choice", responses_choice(value)?),
            "parallel_tool_calls" => ("parallel_tool_calls", value.clone()),
            "response_format" => {
                let format = if is_any(value) {
                    value.clone()
                } else {
                    json!({"type": "json_schema", "name": "n", "schema": schema(value)?, "strict": true})
                };
                ("text", json!({"format": format}))
            }
            _ => return None,
        };
        out.insert(name.to_owned(), value);
    }
    Some(out)
}

fn responses_choice(choice: &Value) -> Option<Value> {
    if choice.is_string() {
        return Some(choice.clone());
    }
    if let Some(name) = named(choice).filter(|name| name.is_string()) {
        return Some(json!({"type": choice["type"], "name": name}));
    }
    let allowed = choice.get("allowed_tools")?;
    let tools = allowed["tools"].as_array()?.iter();
    let tools: Vec<Value> = tools
        .map(|tool| json!({"type": tool["type"], "name": tool["function"]["name"]}))
        .collect();
    Some(json!({"type": "allowed_tools", "mode": allowed["mode"], "tools": tools}))
}

fn messages(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (name, value) in fields {
        match name.as_str() {
            "tools" => {
                let tool = |tool: &Value| {
                    let (name, schema) = function(tool)?;
                    Some(json!({"name": name, "input_schema": schema}))
                };
                let tools: Option<Vec<Value>> = value.as_array()?.iter().map(tool).collect();
                out.insert("tools".to_owned(), json!(tools?));
            }
            "tool_choice" => {
                let mut choice = match value.as_str() {
                    Some("required") => json!({"type": "any"}),
                    Some(word) => json!({"type": word}),
                    None => {
                        json!({"type": "tool", "name": named(value).filter(|name| name.is_string())?})
                    }
                };
                if choice["type"] != "none"
                    && fields.get("parallel_tool_calls") == Some(&json!(false))
                {
                    choice["disable_parallel_tool_use"] = json!(true);
                }
                out.insert("tool_choice".to_owned(), choice);
            }
            "parallel_tool_calls" if fields.contains_key("tool_choice") => {}
            "response_format" => {
                let format = json!({"type": "json_schema", "schema": schema(value)?});
                out.insert("output_config".to_owned(), json!({"format": format}));
            }
            _ => return None,
        }
    }
    Some(out)
}

fn gemini(demand: &Demand) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (name, value) in &demand.fields {
        match name.as_str() {
            "tools" => {
                let tool = |tool: &Value| {
                    let (name, schema) = function(tool)?;
                    Some(json!({"name": name, "parametersJsonSchema": schema}))
                };
                let tools: Option<Vec<Value>> = value.as_array()?.iter().map(tool).collect();
                out.insert(
                    "tools".to_owned(),
                    json!([{"functionDeclarations": tools?}]),
                );
            }
            "tool_choice" => {
                let mut config = match value.as_str() {
                    Some("required") => json!({"mode": "ANY"}),
                    Some(word) => json!({"mode": word.to_uppercase()}),
                    None => json!({"mode": "ANY"}),
                };
                if !value.is_string() {
                    let names: Vec<&str> = demand.tools.iter().map(|tool| tool.name).collect();
                    config["allowedFunctionNames"] = json!(names);
                }
                out.insert(
                    "toolConfig".to_owned(),
                    json!({"functionCallingConfig": config}),
                );
            }
            "parallel_tool_calls" => {}
            "response_format" => {
                let config = json!({"responseMimeType": "application/json", "responseJsonSchema": schema(value)?});
                out.insert("generationConfig".to_owned(), config);
            }
            _ => return None,
        }
    }
    Some(out)
}

fn interactions(demand: &Demand) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (name, value) in &demand.fields {
        match name.as_str() {
            "tools" => {
                let tool = |tool: &Value| {
                    let (name, schema) = function(tool)?;
                    Some(json!({"type": "function", "name": name, "parameters": schema}))
                };
                let tools: Option<Vec<Value>> = value.as_array()?.iter().map(tool).collect();
                out.insert("tools".to_owned(), json!(tools?));
            }
            "tool_choice" => {
                let choice = match value.as_str() {
                    Some("required") => json!("any"),
                    Some(word) => json!(word),
                    None => {
                        let names: Vec<&str> = demand.tools.iter().map(|tool| tool.name).collect();
                        json!({"allowed_tools": {"mode": "any", "tools": names}})
                    }
                };
                let config = json!({"tool_choice": choice});
                out.insert("generation_config".to_owned(), config);
            }
            "parallel_tool_calls" => {}
            "response_format" => {
                let format = json!({"type": "text", "mime_type": "application/json", "schema": schema(value)?});
                out.insert("response_format".to_owned(), format);
            }
            _ => return None,
        }
    }
    Some(out)
}

fn ollama(dialect: Dialect, demand: &Demand) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (name, value) in &demand.fields {
        match name.as_str() {
            "tools" if dialect == Dialect::OllamaChat => {
                let functions = value
                    .as_array()?
                    .iter()
                    .all(|tool| function(tool).is_some());
                out.insert("tools".to_owned(), functions.then(|| value.clone())?);
            }
            // It has no word for it: a model calls what it likes.
            "tool_choice" if value == "auto" && dialect == Dialect::OllamaChat => {}
            "parallel_tool_calls" => {}
            "response_format" => {
                let format = if is_any(value) {
                    json!("json")
                } else {
                    schema(value)?.clone()
                };
                out.insert("format".to_owned(), format);
            }
            _ => return None,
        }
    }
    Some(out)
}
