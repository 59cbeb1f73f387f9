//! Replies that are passed on untouched: they have the same times as those that are translated.

use super::SHORT;
use crate::support::chat::{EVENTS, JSON, error, error_event};
use crate::support::proxy::{Proxy, post};
use isogloss_testing::scripted::{Got, Scripted, Step, chunk, end, head, reply};
use std::time::Duration;

const EMBEDDINGS: &str = "/v1/embeddings";
const INPUT: &str = r#"{"model":"m","input":"hi"}"#;
const EVENT: &str = "data: {\"part\": 1}\n\n";

async fn before(steps: Vec<Step>) -> (Scripted, Proxy) {
    let upstream = Scripted::start(move |_got: &Got| steps.clone()).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.first_byte = SHORT;
        config.timeouts.idle = SHORT;
    })
    .await;
    (upstream, proxy)
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let (mut upstream, proxy) = before(vec![Step::Hang]).await;
    let mut client = proxy.send(post(EMBEDDINGS, INPUT)).await;
    let refused = client.reply().await;
    assert_eq!(error(&refused), (504, "upstream_timeout".to_owned()));
    upstream.hung_up().await;
}

#[tokio::test]
async fn a_reply_that_stops_in_the_middle_is_cut_off() {
    let (mut upstream, proxy) = before(vec![head(JSON), chunk("[1,"), Step::Hang]).await;
    let mut client = proxy.send(post(EMBEDDINGS, INPUT)).await;
    let all = client.rest().await;
    let text = String::from_utf8_lossy(&all);
    assert!(
        text.contains("[1,") && !text.ends_with("0\r\n\r\n"),
        "{text}"
    );
    upstream.hung_up().await;
    proxy.until_metrics_say("upstream_idle_timeout").await;
}

#[tokio::test]
async fn a_stream_that_stops_or_breaks_off_ends_with_an_error_event() {
    for (ending, code) in [
        (Step::Hang, "upstream_idle_timeout"),
        (Step::Close, "upstream_truncated"),
    ] {
        let (_upstream, proxy) = before(vec![
            head(EVENTS),
            chunk(EVENT),
            chunk("data: {\"ha"),
            ending,
        ])
        .await;
        let mut client = proxy.send(post("/v1/audio/events", INPUT)).await;
        let reply = client.reply().await;
        let (told, before) = error_event(&reply.body);
        assert_eq!((told.as_str(), before.as_str()), (code, EVENT));
    }
}

#[tokio::test]
async fn what_takes_its_time_and_goes_on_comes_through_as_it_is() {
    let pause = Step::Wait(Duration::from_millis(150));
    let mut steps = vec![head(EVENTS)];
    for _ in 0..5 {
        steps.extend([pause.clone(), chunk(EVENT)]);
    }
    steps.push(end());
    let (_upstream, proxy) = before(steps).await;
    let mut client = proxy.send(post("/v1/audio/events", INPUT)).await;
    assert_eq!(client.reply().await.text(), EVENT.repeat(5));
    let (_upstream, proxy) = before(vec![pause, reply(200, JSON, "[1]")]).await;
    let mut client = proxy.send(post(EMBEDDINGS, INPUT)).await;
    assert_eq!(client.reply().await.text(), "[1]");
}

#[tokio::test]
async fn what_a_server_refuses_there_is_counted_as_its_failure() {
    for (status, code, outcome) in [
        (500, Some("upstream_error"), "upstream_error"),
        (401, Some("upstream_auth"), "client_error"),
        (429, Some("upstream_rate_limited"), "upstream_limited"),
        (404, None, "client_error"),
    ] {
        let (_upstream, proxy) = before(vec![reply(status, JSON, "{}")]).await;
        let mut client = proxy.send(post(EMBEDDINGS, INPUT)).await;
        assert_eq!(client.reply().await.status, status);
        match code {
            Some(code) => {
                let counted = format!("isogloss_upstream_errors_total{{code=\"{code}\"}} 1");
                proxy.until_metrics_say(&counted).await;
            }
            None => proxy.until_metrics_say("isogloss_requests_total").await,
        }
        let is_counted = proxy.has_counted("isogloss_upstream_errors_total{");
        assert_eq!(is_counted, code.is_some(), "{status}");
        let ended = format!("outcome=\"{outcome}\"}} 1");
        proxy.until_metrics_say(&ended).await;
    }
}

#[tokio::test]
async fn a_length_that_stands_beside_chunks_is_not_passed_on() {
    let both = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n";
    let steps = vec![Step::Send(both.into()), chunk("[1, 2]"), end()];
    let (_upstream, proxy) = before(steps).await;
    let mut client = proxy.send(post(EMBEDDINGS, INPUT)).await;
    let reply = client.reply().await;
    assert_eq!(
        (reply.text(), reply.header("content-length")),
        ("[1, 2]", None)
    );
}

#[tokio::test]
async fn a_server_that_speaks_another_protocol_unasked_is_wrong() {
    let other =
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nbytes";
    let (_upstream, proxy) = before(vec![Step::Send(other.into()), Step::Close]).await;
    let mut client = proxy.send(post(EMBEDDINGS, INPUT)).await;
    let refused = client.reply().await;
    assert_eq!(error(&refused), (502, "upstream_bad_reply".to_owned()));
}
