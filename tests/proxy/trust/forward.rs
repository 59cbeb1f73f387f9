//! The operator's key goes along with inference, and with nothing else that a stranger thinks of.

use crate::support::proxy::{Proxy, Reply, post};
use isogloss::config::Secret;
use isogloss_core::passage::Forward;
use isogloss_testing::scripted::{Got, Scripted, Step, reply};

fn ok(_got: &Got) -> Vec<Step> {
    vec![reply(200, "", "ok")]
}

async fn asked(proxy: &Proxy, method: &str, path: &str) -> Reply {
    let request = post(path, "{}").replacen("POST", method, 1);
    proxy.send(request).await.reply().await
}

async fn keyed(upstream: &Scripted, forward: &str) -> Proxy {
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.upstreams[0].api_key = Some(Secret::new("the-operators".to_owned()));
        config.forward = Forward::parse(forward).unwrap();
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

#[tokio::test]
async fn what_is_no_inference_is_404_in_the_callers_shape_and_reaches_no_server() {
    let mut upstream = Scripted::start(ok).await;
    let proxy = keyed(&upstream, "").await;
    for (method, path, place) in [
        ("GET", "/v1/files", "/error/message"),
        ("POST", "/v1/fine_tuning/jobs", "/error/message"),
        ("POST", "/sleep?level=2", "/error/message"),
        ("POST", "/v1/load_lora_adapter", "/error/message"),
        ("GET", "/metrics", "/error/message"),
        ("DELETE", "/v1/models/ft:mine", "/error/message"),
        ("GET", "/v1/chat/completions", "/error/message"),
        ("GET", "/v1/messages/batches", "/error/message"),
        ("DELETE", "/api/delete", "/error"),
        ("POST", "/", "/error/message"),
        ("POST", "/v1/embeddings/..%2ffiles", "/error/message"),
    ] {
        let reply = asked(&proxy, method, path).await;
        assert_eq!(reply.status, 404, "{method} {path}: {}", reply.text());
        let json = reply.json();
        let message = json.pointer(place).and_then(|message| message.as_str());
        let message = message.unwrap_or_else(|| panic!("{path}: {json}"));
        let bare = path.split('?').next().unwrap();
        let remedy = format!("--forward {bare}");
        // What is advised is taken.
        match Forward::parse(bare) {
            Ok(_) => assert!(message.contains(&remedy), "{path}: {message}"),
            Err(_) => assert!(!message.contains("--forward"), "{path}: {message}"),
        }
    }
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn the_root_is_a_greeting_unless_everything_is_forwarded() {
    let mut upstream = Scripted::start(ok).await;
    let proxy = keyed(&upstream, "/v1/files").await;
    assert_eq!(asked(&proxy, "GET", "/").await.text(), "Ollama is running");
    let refused = asked(&proxy, "POST", "/").await;
    assert_eq!(refused.status, 404);
    let message = refused.text();
    assert!(message.contains("forward = [\\\"*\\\"]"), "{message}");
    assert_eq!(upstream.left(), 0);
    let proxy = keyed(&upstream, "*").await;
    for method in ["GET", "POST"] {
        assert_eq!(asked(&proxy, method, "/").await.text(), "ok");
        assert_eq!(upstream.next().await.target, "/");
    }
}

#[tokio::test]
async fn inference_goes_on_with_the_key() {
    let mut upstream = Scripted::start(ok).await;
    let proxy = keyed(&upstream, "").await;
    for (method, path) in [
        ("POST", "/v1/embeddings"),
        ("POST", "/v2/rerank?raw=1"),
        ("POST", "/tokenize"),
        ("POST", "/v1/audio/transcriptions"),
        ("POST", "/v1beta/models/g:embedContent"),
    ] {
        let reply = asked(&proxy, method, path).await;
        assert_eq!(reply.status, 200, "{method} {path}: {}", reply.text());
        let got = upstream.next().await;
        assert_eq!((got.method.as_str(), got.target.as_str()), (method, path));
        assert_eq!(got.header("authorization"), Some("Bearer the-operators"));
    }
}

#[tokio::test]
async fn the_operator_adds_paths_and_each_server_may_have_its_own() {
    let mut upstream = Scripted::start(ok).await;
    let proxy = keyed(&upstream, "/v1/files/*").await;
    assert_eq!(asked(&proxy, "DELETE", "/v1/files/f").await.status, 200);
    assert_eq!(upstream.next().await.target, "/v1/files/f");
    assert_eq!(asked(&proxy, "POST", "/sleep").await.status, 404);

    let mut second = Scripted::start(ok).await;
    let proxy = Proxy::with(&[&upstream.url(), &second.url()], |config| {
        config.forward = Forward::default();
        config.upstreams[1].forward = Some(Forward::parse("/slots").unwrap());
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    proxy.until_upstream(1, "ready").await;
    assert_eq!(asked(&proxy, "GET", "/slots").await.status, 200);
    assert_eq!(second.next().await.target, "/slots");
    assert_eq!(asked(&proxy, "GET", "/props").await.status, 404);
    assert_eq!(upstream.left(), 0);
}
