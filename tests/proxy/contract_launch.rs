//! What a server's error tells of its launch is learnt from whole errors and from those that a stream begins with.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::DialectPin;
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};

const GUIDANCE: &str = "Grammar error: at 4(59): invalid regex";
const OUTLINES: &str =
    "Outlines structured outputs backend does not support grammar specifications";

/// A vLLM whose backend takes schemas and refuses grammars: under `stream` once the reply has begun, as vLLM does.
fn without_grammars(message: &'static str) -> impl Fn(&Got) -> Vec<Step> {
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let is_stream = body["stream"] == true;
        let error = json!({"error": {"message": message, "type": "BadRequestError", "param": null, "code": 400}});
        let call = r#"{\"name\": \"f\", \"arguments\": {\"a\": 1}}"#;
        match (body["structured_outputs"]["grammar"].is_string(), is_stream) {
            (true, false) => vec![reply(400, JSON, &error.to_string())],
            (true, true) => vec![
                head(EVENTS),
                chunk(&format!("data: {error}\n\ndata: [DONE]\n\n")),
                end(),
            ],
            (false, false) => whole(call),
            (false, true) => stream(call),
        }
    }
}

fn forced(stream: bool) -> String {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema}});
    let turn = json!([{"role": "user", "content": "hi"}]);
    json!({"model": "m", "messages": turn, "tools": [tool], "tool_choice": "required", "stream": stream}).to_string()
}

#[tokio::test]
async fn forced_calls_are_json_once_a_server_said_that_it_takes_no_grammars() {
    for message in [GUIDANCE, OUTLINES] {
        for is_stream in [false, true] {
            let mut upstream = Scripted::start(without_grammars(message)).await;
            let url = upstream.url();
            let proxy = Proxy::with(&[&url], |config| {
                config.upstreams[0].dialect = DialectPin::parse("vllm@0.32.0");
            })
            .await;
            proxy.until_upstream(0, "ready").await;
            let first = proxy.chat(&forced(is_stream)).await.reply().await;
            assert_eq!(first.status, 200, "{message}: {}", first.text());
            assert!(first.text().contains(r#""name":"f""#), "{}", first.text());
            assert!(upstream.left() > 1, "{message}: it was refused first");
            while upstream.left() > 0 {
                upstream.next().await;
            }
            // What was learnt is known.
            let second = proxy.chat(&forced(!is_stream)).await.reply().await;
            assert_eq!(second.status, 200, "{message}: {}", second.text());
            assert_eq!(upstream.left(), 1, "{message}");
            let got = upstream.next().await;
            let sent: Value = serde_json::from_slice(&got.body).unwrap();
            assert!(sent["structured_outputs"]["json"].is_object(), "{sent}");
        }
    }
}
