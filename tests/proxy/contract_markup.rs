//! Servers that leave calls in the text: a model without a parser behind a server that reads calls, and what
//! the operator says of it.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss_core::rules::CALLS_IN_TEXT;
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, PATIENCE, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};
use std::time::Duration;

const CALL: &str =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

/// A vLLM whose parser does not know its model: the call stays in the text.
fn leaves(got: &Got) -> Vec<Step> {
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    if body["stream"] == true {
        let mut events = role();
        for piece in ["I look.\n", &CALL[..20], &CALL[20..60], &CALL[60..]] {
            events += &event(&json!({"content": piece}).to_string(), "null");
        }
        events += &event("{}", "\"stop\"");
        return vec![head(EVENTS), chunk(&(events + "data: [DONE]\n\n")), end()];
    }
    let message = json!({"role": "assistant", "content": format!("I look.\n{CALL}")});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    vec![reply(200, JSON, &body.to_string())]
}

fn demand(model: &str, stream: bool) -> String {
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]})
    .to_string()
}

#[tokio::test]
async fn a_call_in_the_text_is_read_and_expected_from_then_on() {
    for stream in [false, true] {
        let upstream = Scripted::start(leaves).await;
        let proxy = Proxy::with(&[&upstream.url()], |_| ()).await;
        proxy.until_upstream(0, "ready").await;
        let one = proxy.app.upstreams().iter().next().unwrap();
        let model = "Qwen/Qwen2.5-7B-Instruct";
        assert!(!one.rule().unwrap().calls_in_text);
        let reply = proxy.chat(&demand(model, stream)).await.reply().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = reply.text();
        assert!(!text.contains("<tool_call>"), "{text}");
        assert!(text.contains("\"tool_calls\""), "{text}");
        if !stream {
            assert_eq!(reply.header("x-isogloss-repairs"), Some("markup"));
            let message = &reply.json()["choices"][0]["message"];
            assert_eq!(message["content"], "I look.");
            assert_eq!(message["tool_calls"][0]["function"]["name"], "weather");
            assert_eq!(reply.json()["choices"][0]["finish_reason"], "tool_calls");
        }
        let learnt = async {
            while !one.rule().unwrap().calls_in_text {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, learnt).await.unwrap();
        let counted = "isogloss_repairs_total{repair=\"markup\"} 1";
        proxy.until_metrics_say(counted).await;
        assert!(one.rule().unwrap().knowing(CALLS_IN_TEXT).is_none());
    }
}

#[tokio::test]
async fn the_operators_word_counts_and_off_reads_nothing() {
    for (word, is_read) in [("hermes", true), ("off", false), ("kimi-k2", false)] {
        let upstream = Scripted::start(leaves).await;
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.upstreams[0].markup = Some(word.to_owned());
        })
        .await;
        proxy.until_upstream(0, "ready").await;
        for stream in [false, true] {
            let body = demand("Qwen/Qwen2.5-7B-Instruct", stream);
            let reply = proxy.chat(&body).await.reply().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let text = reply.text();
            assert_eq!(text.contains("\"tool_calls\""), is_read, "{word}: {text}");
        }
    }
}
