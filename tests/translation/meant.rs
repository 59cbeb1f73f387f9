//! What clients write otherwise than it is meant, where it can mean one thing alone.

use crate::replay::rule;
use crate::vendors::{asking, sent};
use isogloss_core::{exchange, passage};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/m:generateContent";
const RESPONSES: &str = "/v1/responses";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A conversation in which a tool was called with these arguments and returned this.
fn called(arguments: &Value, content: &Value) -> Value {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}});
    asking(
        &json!({"messages": [user("hi"), {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": content}]}),
    )
}

/// langchain-ai/langgraphjs#370.
#[test]
fn what_a_tool_returned_is_told_as_its_json() {
    for (content, said) in [
        (
            json!([{"t": 8}, {"name": "x", "price": 1}]),
            r#"[{"t":8},{"name":"x","price":1}]"#,
        ),
        (json!({"t": 8}), r#"{"t":8}"#),
        (json!(8), "8"),
    ] {
        let body = called(&json!("{}"), &content);
        for server in ["vllm@0.32.0", "openai", "mistral", "ollama"] {
            let (there, losses) = sent(CHAT, &body, server);
            assert_eq!(there["messages"][2]["content"], json!(said), "{server}");
            assert_eq!(losses, Vec::<String>::new(), "{server}");
        }
        let (there, _) = sent(CHAT, &body, "anthropic");
        let told = there["messages"][2]["content"][0]["content"].to_string();
        assert!(told.contains(&said.replace('"', "\\\"")), "{told}");
        let (there, _) = sent(CHAT, &body, "ollama-native");
        assert_eq!(there["messages"][2]["content"], json!(said));
    }
    let both = json!([{"type": "text", "text": "ok"}, {"image": "x"}]);
    let (there, _) = sent(CHAT, &called(&json!("{}"), &both), "anthropic");
    let told = &there["messages"][2]["content"][0]["content"];
    assert_eq!(told[1]["text"], r#"{"image":"x"}"#, "{there}");
    let image = json!([{"type": "image", "data": "iVBO", "mimeType": "image/png"}]);
    let (there, _) = sent(CHAT, &called(&json!("{}"), &image), "anthropic");
    let told = &there["messages"][2]["content"][0]["content"][0]["source"];
    assert_eq!(told["media_type"], "image/png", "{there}");
}

/// prism-php/prism#896.
#[test]
fn arguments_without_members_are_an_object() {
    for arguments in [json!("[]"), json!([])] {
        let body = called(&arguments, &json!("done"));
        for server in ["vllm@0.32.0", "openrouter", "mistral"] {
            let (there, losses) = sent(CHAT, &body, server);
            let function = &there["messages"][1]["tool_calls"][0]["function"];
            assert_eq!(function["arguments"], "{}", "{server}");
            assert_eq!(losses, Vec::<String>::new(), "{server}");
        }
        let (there, losses) = sent(CHAT, &body, "anthropic");
        assert_eq!(there["messages"][1]["content"][0]["input"], json!({}));
        assert_eq!(losses, Vec::<String>::new());
    }
    let used = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": []});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"});
    let body = asking(
        &json!({"messages": [user("hi"), {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result]}]}),
    );
    let (there, _) = sent(MESSAGES, &body, "anthropic");
    assert_eq!(there["messages"][1]["content"][0]["input"], json!({}));
    let (there, _) = sent(MESSAGES, &body, "vllm@0.32.0");
    let function = &there["messages"][1]["tool_calls"][0]["function"];
    assert_eq!(function["arguments"], "{}");
    let call = json!({"functionCall": {"name": "f", "args": []}});
    let answer = json!({"functionResponse": {"name": "f", "response": {}}});
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [call]},
        {"role": "user", "parts": [answer]}]});
    let (there, _) = sent(GEMINI, &body, "gemini");
    assert_eq!(
        there["contents"][1]["parts"][0]["functionCall"]["args"],
        json!({})
    );
    let (there, _) = sent(GEMINI, &body, "anthropic");
    assert_eq!(there["messages"][1]["content"][0]["input"], json!({}));
}

/// gpt-oss on vLLM refuses such a list (0xPlaygrounds/rig#1362), as OpenAI does.
#[test]
fn a_content_without_parts_is_none() {
    let mut body = called(&json!("{}"), &json!([]));
    body["messages"][1]["content"] = json!([]);
    for server in ["vllm@0.32.0", "openai", "llama-cpp", "sglang@0.5.23"] {
        let (there, losses) = sent(CHAT, &body, server);
        assert_eq!(there["messages"][1]["content"], Value::Null, "{server}");
        assert_eq!(there["messages"][2]["content"], "", "{server}");
        assert_eq!(losses, Vec::<String>::new(), "{server}");
    }
}

/// modelcontextprotocol/php-sdk#411.
#[test]
fn a_schema_says_what_its_program_meant() {
    let schema = json!({"type": "OBJECT", "properties": [], "required": null});
    let meant = json!({"type": "object", "properties": {}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema}});
    for choice in ["auto", "required"] {
        let body = asking(&json!({"tools": [tool], "tool_choice": choice}));
        for server in ["openai", "vllm@0.32.0", "mistral"] {
            let (there, losses) = sent(CHAT, &body, server);
            let function = &there["tools"][0]["function"];
            assert_eq!(function["parameters"], meant, "{server}");
            assert!(
                !losses.iter().any(|at| at.starts_with("/tools")),
                "{losses:?}"
            );
        }
    }
    let tool = json!({"name": "f", "input_schema": {"type": "object", "properties": []}});
    let (there, _) = sent(MESSAGES, &asking(&json!({"tools": [tool]})), "anthropic");
    assert_eq!(there["tools"][0]["input_schema"], meant);
    let tool = json!({"type": "function", "name": "f", "parameters": schema, "strict": false});
    let body = json!({"model": "m", "input": "hi", "tools": [tool]});
    let (there, _) = sent(RESPONSES, &body, "openai");
    assert_eq!(there["tools"][0]["parameters"], meant, "{there}");
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "enum": null}}, "required": ["a"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    let (there, _) = sent(
        CHAT,
        &asking(&json!({"response_format": format})),
        "vllm@0.32.0",
    );
    assert!(!there.to_string().contains("null"), "{there}");
}

/// As OpenAPI 3.0 has them.
#[test]
fn a_bound_that_a_truth_says_to_be_exclusive_is_the_bound() {
    let said = json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false});
    let schema = |a: &Value| json!({"type": "object", "properties": {"a": a}, "required": ["a"]});
    let meant = schema(&json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}));
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema(&said)}});
    for choice in ["auto", "required"] {
        let body = asking(&json!({"tools": [tool], "tool_choice": choice}));
        for server in ["openai", "mistral"] {
            let (there, losses) = sent(CHAT, &body, server);
            assert_eq!(
                there["tools"][0]["function"]["parameters"], meant,
                "{server}"
            );
            let is_of_tools = |at: &String| at.starts_with("/tools");
            assert!(!losses.iter().any(is_of_tools), "{losses:?}");
        }
    }
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema(&said)}});
    let (there, _) = sent(CHAT, &asking(&json!({"response_format": format})), "openai");
    let told = &there["response_format"]["json_schema"]["schema"];
    assert_eq!(told, &meant, "{there}");
}

/// guidance 0.3.1 before vLLM.
#[test]
fn a_grammar_that_is_one_schema_is_that_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false, "x-guidance": {"whitespace_flexible": false}});
    let grammar = format!("%llguidance {{}}\n\nstart: j\n\nj[capture]: %json {schema}");
    for more in [
        json!({"guided_grammar": grammar}),
        json!({"structured_outputs": {"grammar": grammar}}),
    ] {
        let (there, losses) = sent(CHAT, &asking(&more), "vllm@0.32.0");
        let told = &there["structured_outputs"]["json"];
        assert_eq!(told["required"], json!(["a"]), "{there}");
        assert!(!there.to_string().contains("%json"), "{there}");
        assert_eq!(losses, Vec::<String>::new());
        let (there, _) = sent(CHAT, &asking(&more), "openai");
        assert_eq!(there["response_format"]["type"], "json_schema", "{there}");
    }
}

#[test]
fn a_document_elsewhere_is_told_by_its_url_where_there_is_a_word_for_it() {
    const URL: &str = "https://x.example/a.pdf";
    let input = json!([{"role": "user", "content": [{"type": "input_file", "file_url": URL}]}]);
    let part = json!({"type": "document_url", "document_url": URL});
    let block = json!({"type": "document", "source": {"type": "url", "url": URL}});
    let said = |part: &Value| asking(&json!({"messages": [{"role": "user", "content": [part]}]}));
    let file = json!({"fileData": {"fileUri": URL, "mimeType": "application/pdf"}});
    for (path, body) in [
        (RESPONSES, json!({"model": "m", "input": input})),
        (CHAT, said(&part)),
        (MESSAGES, said(&block)),
        (
            GEMINI,
            json!({"contents": [{"role": "user", "parts": [file]}]}),
        ),
    ] {
        let (there, _) = sent(path, &body, "anthropic");
        assert_eq!(there["messages"][0]["content"][0], block, "{path}");
        let (there, _) = sent(path, &body, "gemini");
        let told = &there["contents"][0]["parts"][0]["fileData"];
        assert_eq!(told["fileUri"], URL, "{path}");
        let (there, _) = sent(path, &body, "openai-responses");
        let told = &there["input"][0]["content"][0];
        assert_eq!(told["file_url"], URL, "{path}: {there}");
        // Nobody is told less than is said.
        if path != CHAT {
            let client = passage::client(path).unwrap();
            let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
            let error = exchange::plan(demand, &rule("vllm@0.32.0")).unwrap_err();
            assert!(error.message.contains("by its URL"), "{path}: {error}");
        }
    }
}

/// As languages write them that count in floats; Anthropic's API and servers behind pydantic take them so.
#[test]
fn a_whole_number_may_have_a_point_and_no_fraction() {
    let chat = asking(&json!({"max_tokens": 300.0, "top_k": 5e0, "n": 1.0}));
    let mut messages = asking(&json!({"max_tokens": 300.0, "top_k": 5.0}));
    messages["thinking"] = json!({"type": "enabled", "budget_tokens": 2000.0});
    messages["max_tokens"] = json!(3000.0);
    let responses =
        json!({"model": "m", "input": "hi", "max_output_tokens": 300.0, "top_logprobs": 0.0});
    let ollama = json!({"model": "m", "messages": [user("hi")], "stream": false, "options": {"num_predict": 300.0, "top_k": 5.0}});
    for (path, body, server, told) in [
        (
            CHAT,
            &chat,
            "anthropic",
            json!({"max_tokens": 300, "top_k": 5}),
        ),
        (
            MESSAGES,
            &messages,
            "vllm@0.32.0",
            json!({"max_tokens": 3000, "top_k": 5}),
        ),
        (
            RESPONSES,
            &responses,
            "vllm@0.10.2",
            json!({"max_completion_tokens": 300}),
        ),
        (
            "/api/chat",
            &ollama,
            "vllm@0.32.0",
            json!({"max_tokens": 300, "top_k": 5}),
        ),
    ] {
        let (there, _) = sent(path, body, server);
        for (name, number) in told.as_object().unwrap() {
            assert_eq!(&there[name], number, "{path} {server}: {there}");
        }
    }
    for (path, mut body, name) in [
        (CHAT, chat, "n"),
        (MESSAGES, messages, "top_k"),
        (RESPONSES, responses, "max_output_tokens"),
    ] {
        body[name] = json!(5.5);
        let client = passage::client(path).unwrap();
        let error = exchange::read(client, path, body.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.param.as_deref(), Some(name), "{path}");
    }
}

/// As Pydantic dumps a class that has all members there are.
#[test]
fn a_flat_tool_beside_an_empty_function_is_nested() {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let function = json!({"name": "f", "parameters": parameters});
    let nested = json!({"type": "function", "function": function});
    for tool in [
        json!({"type": "function", "name": "f", "parameters": parameters, "function": null}),
        json!({"type": "function", "name": "f", "parameters": parameters}),
        json!({"type": null, "function": function}),
    ] {
        let (there, _) = sent(CHAT, &asking(&json!({"tools": [tool]})), "openai");
        assert_eq!(there["tools"], json!([nested]), "{tool}");
    }
}
