//! A text that nests thousands of levels under serde_json's own name for raw JSON, wherever a client or a server could put one:
//! whoever read it so would end the process, which is this one.

use crate::support::chat::{JSON, PLAIN, completion};
use crate::support::proxy::{Proxy, Reply, post};
use isogloss::config::DialectPin;
use isogloss_core::json::value_of;
use isogloss_testing::scripted::{Got, Scripted, Step, reply};
use serde_json::{Value, json};

const LEVELS: usize = 45;
const ARRAYS: usize = 80;

/// Quotes and backslashes are written so that each level within is a few bytes longer, not twice as long.
fn bomb() -> String {
    let (open, close) = ("[".repeat(ARRAYS), "]".repeat(ARRAYS));
    let mut text = "true".to_owned();
    for _ in 0..LEVELS {
        let inner = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        text = format!("{open}{{\"$serde_json::private::RawValue\":\"{inner}\"}}{close}");
    }
    text
}

const FUNCTION: &str =
    r#"[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]"#;

fn whole(message: &Value) -> String {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
    reply.to_string()
}

/// What a proxy answers whose server answers so; it answers another request afterwards.
async fn answered(
    dialect: &str,
    path: &str,
    body: &str,
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> Reply {
    let well = "/v1/embeddings";
    let upstream = Scripted::start(move |got| match got.target == well {
        true => vec![reply(200, JSON, "{}")],
        false => script(got),
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.upstreams[0].dialect = DialectPin::parse(dialect);
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let answer = proxy.send(post(path, body)).await.reply().await;
    let after = proxy.send(post(well, "{}")).await.reply().await;
    assert_eq!(after.status, 200);
    answer
}

/// The error of a reply, as every reader reads it.
fn message(reply: &Reply) -> String {
    let body = value_of(&reply.body).unwrap();
    let told = &body["error"];
    let told = told.get("message").unwrap_or(told);
    told.as_str().expect("an error has words").to_owned()
}

fn good(_got: &Got) -> Vec<Step> {
    vec![reply(200, JSON, &completion("hi"))]
}

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn a_schema_that_nests_so_is_refused_in_the_clients_shape() {
    let schema = format!(r#"{{"type":"object","default":{}}}"#, bomb());
    let format = format!(
        r#""response_format":{{"type":"json_schema","json_schema":{{"name":"n","schema":{schema}}}}}"#
    );
    let chat = PLAIN.replacen('{', &format!("{{{format},"), 1);
    let ollama = PLAIN.replacen('{', &format!("{{\"format\":{schema},"), 1);
    for (path, body) in [(CHAT, chat), ("/api/chat", ollama)] {
        let told = answered("vllm@0.12.0", path, &body, good).await;
        assert_eq!(told.status, 400, "{path}");
        assert!(!message(&told).is_empty());
    }
}

#[tokio::test]
async fn a_text_of_a_request_that_nests_so_is_a_text_or_is_refused() {
    let bomb = bomb();
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": bomb}}]},
        {"role": "tool", "tool_call_id": "c", "content": bomb},
    ]);
    let tools: Value = serde_json::from_str(FUNCTION).unwrap();
    let history = json!({"model": "m", "max_tokens": 9, "messages": messages, "tools": tools});
    let anthropic = json!({"id": "msg", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": null, "content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 1}});
    let says = move |_got: &Got| vec![reply(200, JSON, &anthropic.to_string())];
    let told = answered("anthropic", CHAT, &history.to_string(), says).await;
    assert_eq!(told.status, 200, "{}", told.text());
    for stated in [
        json!({"grammar": format!("start: %json {bomb}")}),
        json!({"grammar": format!("start: \"a\" j\nj: %json {bomb}")}),
        json!({"json": bomb}),
        json!({"structural_tag": format!("{{\"type\":\"structural_tag\",\"format\":{bomb}}}")}),
    ] {
        let said = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "structured_outputs": stated});
        let told = answered("vllm@0.12.0", CHAT, &said.to_string(), good).await;
        assert_eq!(told.status, 400, "{}", told.text());
        assert!(!message(&told).is_empty());
    }
}

#[tokio::test]
async fn an_error_of_a_server_that_nests_so_is_one() {
    let error = format!(r#"{{"error":{{"message":"no","details":{}}}}}"#, bomb());
    for path in [CHAT, "/api/chat", "/v1/messages"] {
        let error = error.clone();
        let fails = move |_got: &Got| vec![reply(400, JSON, &error)];
        let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
        let told = answered("vllm@0.12.0", path, body, fails).await;
        assert_eq!(told.status, 400, "{path}");
        assert!(!message(&told).is_empty(), "{path}");
    }
}

#[tokio::test]
async fn what_a_model_writes_that_nests_so_is_a_text_or_breaks_its_contract() {
    let bomb = bomb();
    let calls =
        json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": bomb}}]);
    let call = whole(&json!({"role": "assistant", "content": null, "tool_calls": calls}));
    let tagged = whole(&json!({"role": "assistant", "content": format!("<f>{bomb}</f>")}));
    let format = json!({"type": "tag", "begin": "<f>", "end": "</f>",
        "content": {"type": "json_schema", "json_schema": {"type": "array"}}});
    let tag = json!({"type": "structural_tag", "format": format}).to_string();
    let tag = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "structured_outputs": {"structural_tag": tag}});
    let tools = format!(
        r#"{{"model":"m","stream":false,"messages":[{{"role":"user","content":"hi"}}],"tools":{FUNCTION}}}"#
    );
    for (path, body, said) in [
        (CHAT, tools.clone(), call.clone()),
        ("/api/chat", tools, call),
        (CHAT, tag.to_string(), tagged),
    ] {
        let says = move |_got: &Got| vec![reply(200, JSON, &said)];
        let told = answered("vllm@0.12.0", path, &body, says).await;
        // Every reader reads what goes out.
        let body = value_of(&told.body).unwrap();
        let is_error = body.get("error").is_some();
        assert_eq!(is_error, told.status != 200, "{path}: {}", told.status);
        assert!(matches!(told.status, 200 | 502), "{path}: {}", told.status);
    }
}

#[tokio::test]
async fn what_a_server_says_of_itself_that_nests_so_says_nothing() {
    let about = bomb();
    let upstream = Scripted::start(move |got| match got.method.as_str() {
        "GET" => vec![reply(200, JSON, &about)],
        _ => good(got),
    })
    .await;
    upstream.answer_by_script();
    let proxy = Proxy::with(&[&upstream.url()], |_config| {}).await;
    proxy.until_upstream(0, "ready").await;
    assert_eq!(proxy.chat(PLAIN).await.reply().await.status, 200);
}
