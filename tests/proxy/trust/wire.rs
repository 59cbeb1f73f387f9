//! What two readers of one message could disagree about, and what a message could make the proxy open.

use crate::support::proxy::Proxy;
use isogloss_testing::scripted::{Got, Scripted, Step, find, reply};
use tokio::net::TcpListener;

fn answer(_got: &Got) -> Vec<Step> {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"42"},"finish_reason":"stop"}]}"#;
    vec![reply(200, "content-type: application/json\r\n", body)]
}

#[tokio::test]
async fn a_body_is_chunked_once_or_has_a_length() {
    let mut upstream = Scripted::start(answer).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let send = async |coding: &str| {
        let length = body.len();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: p\r\ncontent-type: application/json\r\n{coding}\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        );
        proxy.send(request).await.reply().await.status
    };
    for coding in ["transfer-encoding: chunked", "Transfer-Encoding:  Chunked "] {
        assert_eq!(send(coding).await, 200, "{coding}");
        upstream.next().await;
    }
    for coding in [
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: identity, chunked",
        "transfer-encoding: chunked, chunked",
        "transfer-encoding: gzip\r\ntransfer-encoding: chunked",
        "transfer-encoding: gzip",
    ] {
        assert_eq!(send(coding).await, 400, "{coding}");
    }
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn what_a_request_names_by_url_is_the_servers_to_fetch_and_never_ours() {
    let mut upstream = Scripted::start(answer).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    let named = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/secret.png", named.local_addr().unwrap());
    let text = r#"{"type":"text","text":"what is it?"}"#;
    let chat = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":[{text},{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]}}"#
    );
    let messages = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{text},{{"type":"image","source":{{"type":"url","url":"{url}"}}}}]}}]}}"#
    );
    for (path, body) in [("/v1/chat/completions", chat), ("/v1/messages", messages)] {
        let request = crate::support::proxy::post(path, &body);
        let reply = proxy.send(request).await.reply().await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let got = upstream.next().await;
        assert!(find(&got.body, url.as_bytes()).is_some(), "{path}");
    }
    let fetched = tokio::time::timeout(std::time::Duration::from_millis(200), named.accept());
    assert!(fetched.await.is_err(), "somebody fetched it");
}
