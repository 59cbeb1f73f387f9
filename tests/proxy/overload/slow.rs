//! Bodies that come slowly.

use super::{SHORT, announced, is_overload, is_served};
use crate::support::chat::{JSON, PLAIN, completion};
use crate::support::proxy::{Client, Proxy, post};
use isogloss_testing::scripted::{Got, Scripted, Step, reply};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;

async fn before(change: impl FnOnce(&mut isogloss::config::Config)) -> (Scripted, Proxy) {
    let upstream = Scripted::start(|_got: &Got| vec![reply(200, JSON, &completion("hi"))]).await;
    let proxy = Proxy::with(&[&upstream.url()], change).await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

/// Sends a byte now and then until nobody takes it.
async fn trickle(mut client: Client) -> Client {
    while client.0.write_all(b" ").await.is_ok() {
        let mut seen = [0];
        let answer = client.0.peek(&mut seen);
        if tokio::time::timeout(Duration::from_millis(50), answer)
            .await
            .is_ok()
        {
            break;
        }
    }
    client
}

#[tokio::test]
async fn bodies_that_trickle_take_no_places_and_are_given_up_in_time() {
    let (_upstream, proxy) = before(|config| {
        config.limits.concurrency = 2;
        config.timeouts.body = SHORT;
        config.limits.body_rate = 1000;
    })
    .await;
    let begun = Instant::now();
    let mut slow = Vec::new();
    for _ in 0..50 {
        let client = proxy.send(announced(10_000)).await;
        slow.push(tokio::spawn(trickle(client)));
    }
    for _ in 0..10 {
        is_served(&proxy).await;
    }
    println!(
        "beside 50 bodies that trickle, 10 requests took {:?} with 2 places",
        begun.elapsed()
    );
    for client in slow {
        let reply = client.await.unwrap().reply().await;
        assert_eq!(reply.status, 408, "{}", reply.text());
        assert!(
            reply.text().contains("limits.body_rate"),
            "{}",
            reply.text()
        );
    }
    let elapsed = begun.elapsed();
    println!("all of them were given up after {elapsed:?}");
    assert!(elapsed >= SHORT && elapsed < Duration::from_secs(10));
}

#[tokio::test]
async fn a_body_that_keeps_its_pace_may_take_longer_than_any_pause() {
    let (_upstream, proxy) = before(|config| {
        config.timeouts.body = SHORT;
        config.limits.body_rate = 10;
    })
    .await;
    let begun = Instant::now();
    let mut client = proxy.send(announced(PLAIN.len())).await;
    for piece in PLAIN.as_bytes().chunks(4) {
        client.send(piece).await;
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    let reply = client.reply().await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(begun.elapsed() > SHORT);
}

#[tokio::test]
async fn a_request_takes_its_place_when_it_is_there_as_a_whole() {
    let upstream =
        Scripted::start(|_got: &Got| vec![Step::WaitForGo, reply(200, JSON, &completion("hi"))])
            .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.limits.concurrency = 1).await;
    proxy.until_upstream(0, "ready").await;
    let (first, rest) = PLAIN.split_at(10);
    let mut late = proxy.send(announced(PLAIN.len()) + first).await;
    let mut whole = proxy.chat(PLAIN).await;
    proxy
        .until_metrics_say("isogloss_requests_in_flight 2")
        .await;
    // The whole one is at the server, though it began later.
    let mut upstream = upstream;
    upstream.next().await;
    late.send(rest).await;
    let refused = late.reply().await;
    assert!(is_overload(&refused), "{}", refused.text());
    upstream.go();
    assert_eq!(whole.reply().await.status, 200);
    late.send(post(super::CHAT, PLAIN)).await;
    upstream.go();
    assert_eq!(late.reply().await.status, 200);
}
