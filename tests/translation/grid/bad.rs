//! Bad input in every dialect: wrong types, unknown blocks, missing fields, two constraints, results of tools in the
//! wrong order. It is refused with the dialect's own status and body, by the client's own field.
//!
//! `tests/golden/bad.txt` has what each is told before vLLM; what is taken there is the server's to judge.

use crate::golden::compare;
use crate::replay::rule;
use isogloss_core::error::Error;
use isogloss_core::exchange;
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::clients::ask::base;
use serde_json::{Value, json};

/// The field that is named, and the members that make a request bad; no member is one that is taken out.
type Row = (&'static str, Value);

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}})
}

fn chat() -> Vec<Row> {
    let said = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}});
    vec![
        ("messages", json!({"messages": null})),
        ("messages", json!({"messages": "hi"})),
        ("temperature", json!({"temperature": "hot"})),
        ("stream", json!({"stream": "yes"})),
        ("tools", json!({"tools": {}})),
        ("tool_choice", json!({"tool_choice": "sometimes"})),
        ("tool_choice", json!({"tool_choice": "required"})),
        (
            "response_format",
            json!({"response_format": {"type": "xml"}}),
        ),
        (
            "response_format",
            json!({"response_format": format, "guided_regex": "a"}),
        ),
        ("messages[0].content", said(json!([{"type": "hologram"}]))),
        (
            "messages[0]",
            json!({"messages": [{"role": "tool", "tool_call_id": "x", "content": "1"}]}),
        ),
    ]
}

fn completions() -> Vec<Row> {
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}});
    vec![
        ("prompt", json!({"prompt": null, "guided_regex": "a"})),
        ("prompt", json!({"prompt": {}, "guided_regex": "a"})),
        ("n", json!({"n": "two", "guided_regex": "a"})),
        (
            "response_format",
            json!({"response_format": {"type": "xml"}}),
        ),
        (
            "response_format",
            json!({"response_format": format, "guided_regex": "a"}),
        ),
        ("echo", json!({"echo": true, "guided_regex": "a"})),
    ]
}

fn responses() -> Vec<Row> {
    let tool = json!({"type": "function", "name": "f", "parameters": schema()});
    let format = |kind: &str| json!({"format": {"type": kind}});
    vec![
        ("input", json!({"input": null})),
        ("input", json!({"input": 7})),
        ("input[0]", json!({"input": [{"type": "hologram"}]})),
        (
            "input[0].content[0]",
            json!({"input": [{"role": "user", "content": [{"type": "hologram"}]}]}),
        ),
        (
            "input[0].call_id",
            json!({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}),
        ),
        (
            "input[0].call_id",
            json!({"input": [{"type": "function_call_output", "call_id": "x", "output": "1"}]}),
        ),
        ("tools[0].name", json!({"tools": [{"type": "function"}]})),
        ("tools[1]", json!({"tools": [tool, tool]})),
        ("tool_choice", json!({"tool_choice": "sometimes"})),
        ("tool_choice", json!({"tool_choice": "required"})),
        ("text.format", json!({"text": format("xml")})),
        (
            "guided_regex",
            json!({"text": {"format": {"type": "json_schema", "name": "x", "schema": schema()}}, "guided_regex": "a"}),
        ),
        ("stream", json!({"stream": "yes"})),
        ("background", json!({"background": true})),
        ("max_output_tokens", json!({"max_output_tokens": "many"})),
    ]
}

fn messages() -> Vec<Row> {
    let said = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let format = json!({"type": "json_schema", "schema": schema()});
    vec![
        ("model", json!({"model": null})),
        ("max_tokens", json!({"max_tokens": null})),
        ("messages", json!({"messages": "hi"})),
        (
            "messages[0].content[0]",
            said(json!([{"type": "hologram"}])),
        ),
        (
            "messages[0].content[0].tool_use_id",
            said(json!([{"type": "tool_result"}])),
        ),
        (
            "messages[0].content[0]",
            said(json!([{"type": "tool_result", "tool_use_id": "x", "content": "1"}])),
        ),
        ("tool_choice", json!({"tool_choice": {"type": "any"}})),
        (
            "output_config.format.type",
            json!({"output_config": {"format": {"type": "xml"}}}),
        ),
        (
            "output_format",
            json!({"output_config": {"format": format},
            "output_format": {"type": "json_schema", "schema": {"type": "array"}}}),
        ),
        ("temperature", json!({"temperature": "hot"})),
    ]
}

fn gemini() -> Vec<Row> {
    let said = |part: Value| json!({"contents": [{"role": "user", "parts": [part]}]});
    let config = |config: Value| json!({"generationConfig": config});
    vec![
        ("contents", json!({"contents": null})),
        ("contents", json!({"contents": "hi"})),
        ("contents[0].parts[0]", said(json!({"hologram": {}}))),
        ("contents[0].parts[0].text", said(json!({"text": 7}))),
        (
            "contents[0].parts[0].functionResponse",
            said(json!({"functionResponse": {"name": "f", "response": {}}})),
        ),
        ("tools", json!({"tools": 7})),
        (
            "toolConfig",
            json!({"toolConfig": {"functionCallingConfig": {"mode": "SOMETIMES"}}}),
        ),
        (
            "generationConfig.temperature",
            config(json!({"temperature": "hot"})),
        ),
        (
            "generationConfig",
            config(
                json!({"responseMimeType": "application/json", "responseSchema": {"type": "STRING"},
            "responseJsonSchema": schema()}),
            ),
        ),
    ]
}

fn interactions() -> Vec<Row> {
    let config = |config: Value| json!({"generation_config": config});
    let tool = json!({"type": "function", "name": "f", "parameters": schema()});
    vec![
        ("model", json!({"model": 7})),
        ("input", json!({"input": 7})),
        ("input", json!({"input": null})),
        ("input[0].type", json!({"input": [{"text": "hi"}]})),
        (
            "input[0].call_id",
            json!({"input": [{"type": "function_result", "call_id": "x", "result": "1"}]}),
        ),
        (
            "response_format",
            json!({"response_format": {"type": "image"}}),
        ),
        ("tools[1]", json!({"tools": [tool, tool]})),
        (
            "generation_config.tool_choice",
            config(json!({"tool_choice": "must"})),
        ),
        (
            "generation_config.temperature",
            config(json!({"temperature": "hot"})),
        ),
        ("agent", json!({"agent": "deep-research"})),
        (
            "previous_interaction_id",
            json!({"previous_interaction_id": "v1_1"}),
        ),
    ]
}

fn ollama_chat() -> Vec<Row> {
    let said = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema()}});
    vec![
        ("model", json!({"model": 7})),
        ("messages", json!({"messages": "hi"})),
        ("messages[0].content", said(json!([{"type": "text"}]))),
        (
            "messages[0].role",
            json!({"messages": [{"role": "robot", "content": "x"}]}),
        ),
        (
            "messages[0]",
            json!({"messages": [{"role": "tool", "content": "1", "tool_call_id": "x"}]}),
        ),
        ("format", json!({"format": "xml"})),
        ("tools[1]", json!({"tools": [tool, tool]})),
        (
            "options.temperature",
            json!({"options": {"temperature": "hot"}}),
        ),
        ("stream", json!({"stream": "yes"})),
    ]
}

fn ollama_generate() -> Vec<Row> {
    vec![
        ("prompt", json!({"prompt": 7})),
        ("format", json!({"format": 7})),
        ("images", json!({"images": ["!!"]})),
        ("options", json!({"options": []})),
        ("raw", json!({"raw": "yes"})),
    ]
}

fn rows(dialect: Dialect) -> Vec<Row> {
    match dialect {
        Dialect::Chat => chat(),
        Dialect::Completions => completions(),
        Dialect::Responses => responses(),
        Dialect::Messages => messages(),
        Dialect::Gemini | Dialect::GeminiList => gemini(),
        Dialect::Interactions => interactions(),
        Dialect::OllamaChat => ollama_chat(),
        Dialect::OllamaGenerate => ollama_generate(),
    }
}

fn asked(dialect: Dialect, body: &Value, label: &str) -> Result<(), Error> {
    let (path, client) = dialect.route(false);
    let demand = exchange::read(client, path, body.to_string().as_bytes())?;
    exchange::plan(demand, &rule(label)).map(drop)
}

/// Where the dialect's clients look for what is wrong: the message. The rest of the shape is held to be right.
fn message(dialect: Dialect, told: &Value) -> String {
    let error = &told["error"];
    let said = match dialect {
        Dialect::OllamaChat | Dialect::OllamaGenerate => error,
        _ => &error["message"],
    };
    match dialect {
        Dialect::Messages => {
            assert_eq!(
                (&told["type"], &error["type"]),
                (&json!("error"), &json!("invalid_request_error"))
            );
        }
        Dialect::Gemini | Dialect::GeminiList | Dialect::Interactions => {
            assert_eq!(
                (&error["code"], &error["status"]),
                (&json!(400), &json!("INVALID_ARGUMENT"))
            );
        }
        Dialect::OllamaChat | Dialect::OllamaGenerate => {
            assert_eq!(told.as_object().unwrap().len(), 1)
        }
        Dialect::Chat | Dialect::Completions | Dialect::Responses => {
            assert!(
                error["type"].is_string()
                    && error["code"].is_string()
                    && error["param"].is_string(),
                "{told}"
            );
        }
    }
    said.as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[test]
fn bad_input_is_refused_in_the_clients_shape_by_its_own_field() {
    let (mut lines, mut failures) = (String::new(), Vec::new());
    let label = "vllm@0.32.0";
    let dialects = Dialect::ALL.into_iter();
    // Its errors are whole in either form.
    for dialect in dialects.filter(|dialect| *dialect != Dialect::GeminiList) {
        for (field, more) in rows(dialect) {
            let mut body = base(dialect);
            for (name, value) in more.as_object().unwrap() {
                match value {
                    Value::Null => drop(body.as_object_mut().unwrap().remove(name)),
                    value => body[name] = value.clone(),
                }
            }
            let line = match asked(dialect, &body, label) {
                Ok(()) => format!("{} {field}: taken: {more}", dialect.name()),
                Err(error) => {
                    let (_, client) = dialect.route(false);
                    let told: Value = serde_json::from_slice(&client.error_body(&error)).unwrap();
                    let said = message(dialect, &told);
                    if error.status() != 400
                        || !said.contains(field.split(['[', '.']).next().unwrap())
                    {
                        failures.push(format!("{field}: {} {told}", error.status()));
                    }
                    format!(
                        "{} {field}: {}: {said}",
                        dialect.name(),
                        error.param.unwrap_or_default()
                    )
                }
            };
            lines += &(line + "\n");
        }
    }
    let golden = isogloss_testing::root().join("tests/golden/bad.txt");
    compare(&golden, &lines, &mut failures);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
