//! A conversation that the model's chat template refuses is told in another form once its error said so; a prompt that is
//! too long, or was cut, is an error that each client knows.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::DialectPin;
use isogloss_testing::scripted;
use isogloss_testing::strict::Template;
use proxy::{Proxy, post};
use scripted::{Got, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};

fn json_of(got: &Got) -> Value {
    serde_json::from_slice(&got.body).unwrap()
}

/// A vLLM behind this template.
fn behind(template: Template) -> impl Fn(&Got) -> Vec<Step> {
    move |got| match template.render(&json_of(got)) {
        Ok(()) => vec![reply(200, JSON, &completion("fine"))],
        Err(message) => {
            let error = json!({"error": {"message": message, "type": "BadRequestError", "param": null, "code": 400}});
            vec![reply(400, JSON, &error.to_string())]
        }
    }
}

fn talk() -> String {
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    json!({"model": "m", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
        {"role": "user", "content": "c"},
    ]})
    .to_string()
}

#[tokio::test]
async fn a_conversation_that_a_template_refuses_is_taken_once_its_error_said_why() {
    for template in Template::ALL {
        let (mut upstream, proxy) = upstream(behind(template)).await;
        let first = proxy.chat(&talk()).await.reply().await;
        assert_eq!(first.status, 200, "{template:?}: {}", first.text());
        let asked = upstream.left();
        assert!(
            asked > 1 || matches!(template, Template::Qwen),
            "{template:?}"
        );
        while upstream.left() > 0 {
            upstream.next().await;
        }
        // What was learnt is known.
        let second = proxy.chat(&talk()).await.reply().await;
        assert_eq!(second.status, 200, "{template:?}: {}", second.text());
        assert_eq!(upstream.left(), 1, "{template:?}");
        // A conversation without any of it keeps its bytes, its request's shape known or not.
        for _ in 0..2 {
            upstream.next().await;
            let plain = PLAIN.replace("\"hi\"", "  \"hi\" ");
            assert_eq!(proxy.chat(&plain).await.reply().await.status, 200);
            let got = upstream.next().await;
            assert_eq!(String::from_utf8(got.body).unwrap(), plain);
            proxy.chat(&plain).await.reply().await;
        }
    }
}

#[tokio::test]
async fn an_error_that_no_other_form_mends_is_the_clients_after_one_request() {
    let (mut upstream, proxy) = upstream(|_| {
        let message = "Conversation roles must alternate user/assistant/user/assistant/...";
        vec![reply(
            400,
            JSON,
            &json!({"error": {"message": message}}).to_string(),
        )]
    })
    .await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#;
    for _ in 0..3 {
        let reply = proxy.chat(body).await.reply().await;
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains("alternat"), "{}", reply.text());
    }
    // The instructions might have been the proxy's own, which is tried once.
    assert!(upstream.left() <= 4, "{}", upstream.left());
}

const TOO_LONG: &str = "the request exceeds the available context size, try increasing it";

#[tokio::test]
async fn a_prompt_that_is_too_long_is_told_in_every_clients_own_words() {
    let (_upstream, proxy) = upstream(|_| {
        let error = json!({"error": {"code": 500, "message": TOO_LONG, "type": "exceed_context_size_error", "n_ctx": 8}});
        vec![reply(500, JSON, &error.to_string())]
    })
    .await;
    let turn = json!([{"role": "user", "content": "hi"}]);
    for (path, body, at, words) in [
        (
            "/v1/chat/completions",
            json!({"model": "m", "messages": turn}),
            "/error/code",
            "context_length_exceeded",
        ),
        (
            "/v1/responses",
            json!({"model": "m", "input": "hi", "store": false}),
            "/error/code",
            "context_length_exceeded",
        ),
        (
            "/v1/messages",
            json!({"model": "m", "max_tokens": 9, "messages": turn}),
            "/error/message",
            "prompt is too long",
        ),
        (
            "/v1beta/models/m:generateContent",
            json!({"contents": [{"parts": [{"text": "hi"}]}]}),
            "/error/message",
            "exceeds the maximum number of tokens allowed",
        ),
        (
            "/api/chat",
            json!({"model": "m", "messages": turn, "stream": false}),
            "/error",
            "exceeds the context length",
        ),
    ] {
        let reply = proxy
            .send(post(path, &body.to_string()))
            .await
            .reply()
            .await;
        assert_eq!(reply.status, 400, "{path}: {}", reply.text());
        let told = reply.json().pointer(at).cloned().unwrap_or_default();
        assert!(
            told.as_str().unwrap_or_default().contains(words),
            "{path}: {}",
            reply.text()
        );
    }
}

/// An Ollama that read so many tokens.
async fn ollama(read: u64) -> (Scripted, Proxy) {
    let upstream = Scripted::start(move |got: &Got| {
        let body = json_of(got);
        let usage = json!({"prompt_tokens": read, "completion_tokens": 3, "total_tokens": read + 3});
        if body["stream"] == true {
            let counts = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage});
            let events = role() + &content(GOOD) + &event("{}", "\"stop\"") + &format!("data: {counts}\n\ndata: [DONE]\n\n");
            return vec![head(EVENTS), chunk(&events), end()];
        }
        let mut whole: Value = serde_json::from_str(&completion(GOOD)).unwrap();
        whole["usage"] = usage;
        vec![reply(200, JSON, &whole.to_string())]
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        let name = "ollama".to_owned();
        config.upstreams[0].dialect = Some(DialectPin {
            name,
            version: None,
        });
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

#[tokio::test]
async fn a_prompt_that_was_cut_is_an_error_and_one_that_was_read_is_not() {
    let long = "word ".repeat(4000);
    for stream in [false, true] {
        let body = demand(stream).replace("\"hi\"", &format!("\"{long}\""));
        let body = body.replace(
            "\"stream\":true",
            "\"stream\":true,\"stream_options\":{\"include_usage\":true}",
        );
        for (read, is_whole) in [(2050, false), (4010, true), (0, true)] {
            let (_upstream, proxy) = ollama(read).await;
            let reply = proxy.chat(&body).await.reply().await;
            let is_cut = reply.text().contains("context_length_exceeded");
            assert_eq!(is_cut, !is_whole, "{read}, {stream}: {}", reply.text());
            assert_eq!(
                reply.text().contains("[DONE]"),
                stream && is_whole,
                "{read}"
            );
            if !stream {
                assert_eq!(reply.status, if is_whole { 200 } else { 400 });
            }
        }
    }
}
