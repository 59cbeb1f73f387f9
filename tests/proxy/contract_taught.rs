//! What a server's error tells of its model, so that the same request is asked otherwise, from then on.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::DialectPin;
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, Scripted, Step, reply};
use serde_json::{Value, json};

const PATHS: [&str; 2] = ["/v1/chat/completions", "/v1/messages"];

/// A server of that dialect that answers so what is posted, and a proxy in front of it.
async fn before(
    dialect: &str,
    script: impl Fn(&Value) -> Vec<Step> + Send + Sync + 'static,
) -> (Scripted, Proxy) {
    let upstream = Scripted::start(move |got: &Got| match got.method.as_str() {
        "GET" => vec![reply(404, JSON, "{}")],
        _ => script(&serde_json::from_slice(&got.body).unwrap()),
    })
    .await;
    let url = upstream.url();
    let proxy = Proxy::with(&[&url], |config| {
        config.upstreams[0].dialect = DialectPin::parse(dialect);
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

/// What was posted since.
async fn posted(upstream: &mut Scripted) -> Vec<Value> {
    let mut posted = Vec::new();
    while upstream.left() > 0 {
        let got = upstream.next().await;
        if got.method == "POST" {
            posted.push(serde_json::from_slice(&got.body).unwrap());
        }
    }
    posted
}

fn refusal(status: u16, message: &str) -> Vec<Step> {
    let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
    vec![reply(status, JSON, &error.to_string())]
}

fn asking(more: &Value) -> Value {
    let mut body =
        json!({"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]});
    let fields = body.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    body
}

/// A model that gives no stream, or none with the field `beside`.
fn streamless(
    status: u16,
    message: &'static str,
    beside: Option<&'static str>,
) -> impl Fn(&Value) -> Vec<Step> + Send + Sync + 'static {
    move |body| {
        let is_there = beside.is_none_or(|field| body.get(field).is_some());
        match body["stream"] == true {
            true if is_there => refusal(status, message),
            true => stream(GOOD),
            false => whole(GOOD),
        }
    }
}

#[tokio::test]
async fn a_model_that_gives_no_stream_is_asked_for_the_whole_which_the_client_gets_as_one() {
    for (dialect, message) in [
        (
            "openai",
            "Your organization must be verified to stream this model. Please go to the settings.",
        ),
        (
            "openai",
            "Unsupported value: 'stream' does not support true with this model. Supported values are: false.",
        ),
        ("plain", "'stream' is not supported"),
    ] {
        for path in PATHS {
            let (mut upstream, proxy) = before(dialect, streamless(400, message, None)).await;
            let mut body = asking(&json!({"stream": true}));
            if path == PATHS[0] {
                body["stream_options"] = json!({"include_usage": true});
            }
            for asked in [2, 1] {
                let mut client = proxy.send(proxy::post(path, &body.to_string())).await;
                let answer = client.reply().await;
                let text = answer.text();
                assert_eq!(answer.status, 200, "{message}: {text}");
                let media_type = answer.header("content-type").unwrap_or_default();
                assert!(media_type.starts_with("text/event-stream"), "{media_type}");
                assert!(text.contains(GOOD) && text.contains("_tokens\""), "{text}");
                assert_eq!(answer.header("x-isogloss-losses"), Some("1; /stream"));
                let posted = posted(&mut upstream).await;
                assert_eq!(posted.len(), asked, "{message}");
                let last = posted.last().unwrap();
                assert!(last.get("stream").is_none() && last.get("stream_options").is_none());
            }
            // Who wants the whole has lost nothing.
            let body = asking(&json!({}));
            let mut client = proxy.send(proxy::post(path, &body.to_string())).await;
            let answer = client.reply().await;
            let losses = answer.header("x-isogloss-losses").unwrap_or_default();
            assert!(!losses.contains("/stream"), "{message}: {losses}");
        }
    }
}

#[tokio::test]
async fn a_model_that_gives_no_stream_with_tools_or_a_schema_gives_one_without() {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    let tools = json!({"tools": [tool], "stream": true});
    let mut schema: Value = serde_json::from_str(&demand(true)).unwrap();
    schema["max_tokens"] = json!(50);
    let (with_tools, plain) = (asking(&tools), asking(&json!({"stream": true})));
    for (dialect, status, message, body, beside) in [
        (
            "openrouter",
            400,
            "This model doesn't support tool use in streaming mode.",
            &with_tools,
            "tools",
        ),
        (
            "llama-cpp",
            500,
            "Cannot use tools with stream",
            &with_tools,
            "tools",
        ),
        (
            "openrouter",
            400,
            "AiError: JSON Schema mode is not supported with stream mode.",
            &schema,
            "response_format",
        ),
    ] {
        let (mut upstream, proxy) =
            before(dialect, streamless(status, message, Some(beside))).await;
        for asked in [2, 1] {
            let answer = proxy.chat(&body.to_string()).await.reply().await;
            assert_eq!(answer.status, 200, "{message}: {}", answer.text());
            assert!(answer.text().contains("data: [DONE]"), "{}", answer.text());
            assert!(answer.text().contains("\\\"a\\\""), "{}", answer.text());
            let losses = answer.header("x-isogloss-losses").unwrap_or_default();
            assert!(losses.contains("/stream"), "{message}: {losses}");
            assert_eq!(posted(&mut upstream).await.len(), asked, "{message}");
        }
        let answer = proxy.chat(&plain.to_string()).await.reply().await;
        assert_eq!(answer.status, 200, "{message}: {}", answer.text());
        let losses = answer.header("x-isogloss-losses").unwrap_or_default();
        assert!(!losses.contains("/stream"), "{message}: {losses}");
        assert_eq!(posted(&mut upstream).await[0]["stream"], true, "{message}");
    }
}

/// A broken answer is none, however it was asked for.
#[tokio::test]
async fn a_whole_that_breaks_its_contract_is_no_stream() {
    let message = "JSON Schema mode is not supported with stream mode";
    let (_upstream, proxy) = before("openrouter", move |body| match body["stream"] == true {
        true => refusal(400, message),
        false => whole(BAD),
    })
    .await;
    let answer = proxy.chat(&demand(true)).await.reply().await;
    assert_eq!(error(&answer), (502, "constraint_violated".to_owned()));
}
