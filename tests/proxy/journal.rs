//! What is remembered of requests, as the console shows it: each request's way through the real stack.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::OnViolation;
use isogloss::journal::{Entry, Filter, Recording};
use isogloss_testing::scripted;
use proxy::{Proxy, post};
use scripted::{Got, PATIENCE, Scripted, Step};
use std::sync::Arc;
use std::time::Duration;

async fn recording(
    recording: Recording,
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> (Scripted, Proxy) {
    let upstream = Scripted::start(script).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.record = recording;
        config.on_violation = OnViolation::Retry;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

/// The last request, once so many have ended.
async fn last(proxy: &Proxy, ended: u64) -> Arc<Entry> {
    let over = async {
        while proxy.app.journal().size().0 < ended {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, over).await.unwrap();
    let filter = Filter {
        limit: 1,
        ..Filter::default()
    };
    proxy.app.journal().list(&filter).remove(0)
}

#[tokio::test]
async fn a_reply_that_is_asked_for_again_stands_in_the_journal_with_what_was_wrong() {
    let (_upstream, proxy) = recording(Recording::Bodies, bad_first(1, whole)).await;
    let asked = demand(false);
    let reply = proxy.chat(&asked).await.reply().await;
    let entry = last(&proxy, 1).await;
    let told = &entry.summary;
    assert_eq!(Some(&*told.id), reply.header("x-isogloss-request-id"));
    assert_eq!(
        (told.outcome, told.status, told.retries),
        ("ok", Some(200), 1)
    );
    assert_eq!(told.server.as_deref(), reply.header("x-isogloss-dialect"));
    assert_eq!(told.client, Some("chat"));
    assert_eq!(entry.retried, ["violation"]);
    assert_eq!(entry.plan.as_ref().unwrap().content, Some("json_schema"));
    let [first, second] = &entry.attempts[..] else {
        panic!("{:?}", entry.attempts);
    };
    let broken = first.violation.as_ref().unwrap();
    assert_eq!((&*broken.pointer, &*broken.rule), ("/a", "type"));
    assert!(first.came.text.as_ref().unwrap().contains("BAD"));
    assert!(second.violation.is_none());
    assert!(second.sent.bytes > first.sent.bytes);
    assert_eq!(entry.request.text.as_deref(), Some(&*asked));
    assert_eq!(entry.reply.text.as_deref(), Some(reply.text()));
    assert_eq!(told.reply_bytes, reply.body.len() as u64);
}

#[tokio::test]
async fn a_stream_is_remembered_as_it_came_and_as_it_went() {
    let (_upstream, proxy) = recording(Recording::Bodies, |_: &Got| stream(GOOD)).await;
    let body = body_of(&mut proxy.chat(&demand(true)).await).await;
    let entry = last(&proxy, 1).await;
    assert!(entry.summary.stream && entry.summary.first_byte_ms.is_some());
    assert_eq!(entry.reply.text.as_deref(), std::str::from_utf8(&body).ok());
    assert!(
        entry.attempts[0]
            .came
            .text
            .as_ref()
            .unwrap()
            .ends_with("data: [DONE]\n\n")
    );
}

#[tokio::test]
async fn without_bodies_sizes_are_remembered_and_no_word_of_anybodys() {
    let (_upstream, proxy) = recording(Recording::Shapes, |_: &Got| whole(GOOD)).await;
    let asked = demand(false).replace("hi", "a secret of the client's");
    let reply = proxy.chat(&asked).await.reply().await;
    let entry = last(&proxy, 1).await;
    assert_eq!(entry.summary.request_bytes, asked.len() as u64);
    assert_eq!(entry.summary.reply_bytes, reply.body.len() as u64);
    assert!(entry.attempts[0].came.bytes > 0);
    let said = serde_json::to_string(&*entry).unwrap();
    assert!(
        !said.contains("secret") && !said.contains("\\\"a\\\""),
        "{said}"
    );
}

#[tokio::test]
async fn refusals_and_what_is_passed_on_are_remembered_too() {
    let (_upstream, proxy) = recording(Recording::Bodies, |_: &Got| whole("hi")).await;
    let refused = proxy.chat("{").await.reply().await;
    assert_eq!(refused.status, 400);
    let entry = last(&proxy, 1).await;
    assert_eq!(
        (entry.summary.outcome, entry.summary.code),
        ("client_error", Some("invalid_json"))
    );
    assert!(entry.attempts.is_empty());
    let passed = proxy
        .send(post("/v1/embeddings", r#"{"model":"m","input":"x"}"#))
        .await;
    { passed }.reply().await;
    let entry = last(&proxy, 2).await;
    assert_eq!(entry.summary.path, "/v1/embeddings");
    assert_eq!(entry.summary.client, None);
    assert!(entry.plan.is_none());
}

#[tokio::test]
async fn where_nothing_is_to_be_remembered_nothing_is() {
    let (_upstream, proxy) = recording(Recording::Off, |_: &Got| whole(GOOD)).await;
    proxy.chat(&demand(false)).await.reply().await;
    proxy.until_metrics_say("outcome=\"ok\"} 1").await;
    assert_eq!(proxy.app.journal().size(), (0, 0));
}

#[tokio::test]
async fn the_consoles_own_request_goes_through_the_whole_stack_as_any_clients() {
    let (mut upstream, proxy) = recording(Recording::Shapes, |_: &Got| whole(GOOD)).await;
    let asked = |body: &str| {
        let request = http::Request::post("/v1/chat/completions");
        let request = request.header("content-type", "application/json");
        request.body(bytes::Bytes::from(body.to_owned())).unwrap()
    };
    let reply = isogloss::proxy::ask(&proxy.app, asked(&demand(false)), 1 << 20)
        .await
        .unwrap();
    assert_eq!(reply.head.status, 200);
    assert!(reply.head.headers.contains_key("x-isogloss-strategy"));
    upstream.next().await;
    assert_eq!(last(&proxy, 1).await.summary.outcome, "ok");

    // Where clients have keys, it needs one.
    let closed = Proxy::with(&[&upstream.url()], |config| {
        config.clients = vec![proxy::client("team")];
    })
    .await;
    let reply = isogloss::proxy::ask(&closed.app, asked(&demand(false)), 1 << 20)
        .await
        .unwrap();
    assert_eq!(reply.head.status, 401);
}
