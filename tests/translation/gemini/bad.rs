//! What is refused, in Google's shape and by the client's own names.

use super::planned;
use isogloss_core::passage;
use serde_json::{Value, json};

const PATH: &str = "/v1beta/models/m:generateContent";

fn refused(body: &Value, server: &str) -> Value {
    let error = planned(PATH, body.to_string().as_bytes(), server);
    let error = error.err().unwrap_or_else(|| panic!("it passed: {body}"));
    let client = passage::client(PATH).unwrap();
    serde_json::from_slice(&client.error_body(&error)).unwrap()
}

fn with(more: Value) -> Value {
    let mut body = json!({"contents": [{"parts": [{"text": "Hi"}]}]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn said(part: Value) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}, part]}]})
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_cannot_be_is_refused_by_its_own_name() {
    let function = json!({"name": "f", "parameters": {"type": "OBJECT"}});
    let functions = |list: Value| json!([{"functionDeclarations": list}]);
    let calling = |config: Value| json!({"tools": functions(json!([function])), "toolConfig": {"functionCallingConfig": config}});
    let config = |config: Value| with(json!({"generationConfig": config}));
    let schema = json!({"type": "STRING"});
    let rows = [
        (json!({}), "contents"),
        (json!({"contents": []}), "contents"),
        (json!({"contents": "Hi"}), "contents"),
        (json!({"contents": [1]}), "contents[0]"),
        (json!({"contents": [{"role": "user"}]}), "contents[0].parts"),
        (
            json!({"contents": [{"role": "system", "parts": [{"text": "x"}]}]}),
            "contents[0].role",
        ),
        (said(json!({})), "contents[0].parts[1]"),
        (said(json!({"text": 7})), "contents[0].parts[1].text"),
        (said(json!({"newThing": {"a": 1}})), "contents[0].parts[1]"),
        (
            said(json!({"functionCall": {"name": "f", "args": {}}})),
            "contents[0].parts[1].functionCall",
        ),
        (
            said(json!({"functionResponse": {"name": "f", "response": {}}})),
            "contents[0].parts[1].functionResponse.name",
        ),
        (
            said(json!({"inline_data": {"data": "AA=="}})),
            "contents[0].parts[1].inline_data.mimeType",
        ),
        (
            said(json!({"inlineData": {"mime_type": "image/png"}})),
            "contents[0].parts[1].inlineData.data",
        ),
        (
            said(json!({"fileData": {"fileUri": "gs://bucket/a", "mimeType": "image/png"}})),
            "contents[0].parts[1].fileData",
        ),
        (
            json!({"contents": [{"role": "model", "parts": [{"functionCall": {"args": {}}}]}]}),
            "contents[0].parts[0].functionCall.name",
        ),
        (
            json!({"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": [1]}}]}]}),
            "contents[0].parts[0].functionCall.args",
        ),
        (
            with(json!({"cached_content": "cachedContents/x"})),
            "cached_content",
        ),
        (with(json!({"generationConfig": 7})), "generationConfig"),
        (
            with(json!({"generationConfig": {}, "generation_config": {}})),
            "generation_config",
        ),
        (
            config(json!({"temperature": "warm"})),
            "generationConfig.temperature",
        ),
        (
            config(json!({"maxOutputTokens": 1.5})),
            "generationConfig.maxOutputTokens",
        ),
        (
            config(json!({"maxOutputTokens": -1})),
            "generationConfig.maxOutputTokens",
        ),
        (
            config(json!({"max_output_tokens": "0"})),
            "generationConfig.max_output_tokens",
        ),
        (
            config(json!({"candidateCount": 0})),
            "generationConfig.candidateCount",
        ),
        (
            config(json!({"stop_sequences": "x"})),
            "generationConfig.stop_sequences",
        ),
        (config(json!({"logprobs": 2})), "generationConfig.logprobs"),
        (
            config(json!({"thinkingConfig": {"thinkingLevel": "LOUD"}})),
            "generationConfig.thinkingConfig.thinkingLevel",
        ),
        (
            config(json!({"responseMimeType": "application/xml"})),
            "generationConfig.responseMimeType",
        ),
        (
            config(json!({"responseMimeType": "text/x.enum"})),
            "generationConfig.responseMimeType",
        ),
        (
            config(json!({"responseMimeType": "text/x.enum", "responseSchema": schema})),
            "generationConfig.responseSchema",
        ),
        (
            config(json!({"response_schema": schema})),
            "generationConfig.response_schema",
        ),
        (
            config(json!({"responseMimeType": "application/json", "responseSchema": 7})),
            "generationConfig.responseSchema",
        ),
        (
            config(
                json!({"responseMimeType": "application/json", "responseSchema": schema, "response_json_schema": {}}),
            ),
            "generationConfig.response_json_schema",
        ),
        (
            config(json!({"responseFormat": [{"text": {"mimeType": "APPLICATION_JSON"}}]})),
            "generationConfig.responseFormat",
        ),
        (with(json!({"tools": 7})), "tools"),
        (
            with(json!({"tools": functions(json!([{}]))})),
            "tools[0].functionDeclarations[0].name",
        ),
        (
            with(json!({"tools": functions(json!([function, function]))})),
            "tools[0].functionDeclarations[1]",
        ),
        (
            with(json!({"tools": functions(json!([{"name": "f", "parameters": 7}]))})),
            "tools[0].functionDeclarations[0].parameters",
        ),
        (
            with(
                json!({"tools": functions(json!([{"name": "f", "parameters": {}, "parameters_json_schema": {}}]))}),
            ),
            "tools[0].functionDeclarations[0].parameters_json_schema",
        ),
        (
            with(json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}})),
            "toolConfig.functionCallingConfig.mode",
        ),
        (
            with(calling(json!({"mode": "SOMETIMES"}))),
            "toolConfig.functionCallingConfig.mode",
        ),
        (
            with(calling(
                json!({"mode": "ANY", "allowed_function_names": ["g"]}),
            )),
            "toolConfig.functionCallingConfig.allowed_function_names",
        ),
    ];
    for (body, field) in rows {
        let error = refused(&body, "vllm@0.32.0");
        assert_eq!(error["error"]["code"], 400, "{body}: {error}");
        assert_eq!(
            error["error"]["status"], "INVALID_ARGUMENT",
            "{body}: {error}"
        );
        let details = &error["error"]["details"][1]["fieldViolations"][0]["field"];
        assert_eq!(details, field, "{body}: {error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(field), "{body}: {message}");
    }
}

#[test]
fn what_only_gemini_has_is_told_elsewhere_and_stays_there() {
    let body = with(
        json!({"safetySettings": [{"category": "X"}], "labels": {"a": "b"},
        "generationConfig": {"mediaResolution": "LOW"}, "tools": [{"google_search": {}}]}),
    );
    let pointers = |server: &str| -> Vec<String> {
        let exchange = planned(PATH, body.to_string().as_bytes(), server).unwrap();
        exchange
            .losses
            .iter()
            .map(|loss| loss.pointer.clone())
            .collect()
    };
    let told = pointers("plain");
    assert_eq!(
        told,
        [
            "/generationConfig/mediaResolution",
            "/tools/0/google_search",
            "/safetySettings",
            "/labels"
        ]
    );
}

#[test]
fn a_path_that_could_name_another_model_is_refused() {
    for path in [
        "/v1beta/models/m%253Bx:generateContent",
        "/v1beta/models/a;b:generateContent",
        "/v1beta/models/:generateContent",
    ] {
        let Some(client) = passage::client(path) else {
            continue;
        };
        let error = isogloss_core::exchange::read(client, path, b"{}").unwrap_err();
        assert_eq!(error.param.as_deref(), Some("model"), "{path}");
    }
}
