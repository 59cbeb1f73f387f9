//! The configuration changes while requests run: what each request gets, what is kept and what is asked again.

mod program;

use crate::support::chat::{BAD, EVENTS, PLAIN, content, demand, error, last, role, whole};
use crate::support::proxy::{Client, Proxy, Reply, client, post};
use isogloss::config::{Config, OnViolation, UpstreamConfig};
use isogloss_testing::scripted::{Scripted, Step, chunk, end, head};

fn at(upstream: &Scripted) -> UpstreamConfig {
    UpstreamConfig::at(upstream.url().parse().unwrap())
}

/// Says its name.
async fn named(name: &'static str) -> Scripted {
    Scripted::start(move |_got| whole(name)).await
}

async fn before(upstreams: &[&Scripted], change: impl FnOnce(&mut Config)) -> Proxy {
    let urls: Vec<String> = upstreams.iter().map(|one| one.url()).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let proxy = Proxy::with(&urls, change).await;
    for index in 0..upstreams.len() {
        proxy.until_upstream(index, "ready").await;
    }
    proxy
}

async fn ask(proxy: &Proxy, body: &str) -> Reply {
    proxy.chat(body).await.reply().await
}

async fn with_key(client: &mut Client, key: &str) -> u16 {
    let key = format!("authorization: Bearer {key}\r\ncontent-type");
    let request = post("/v1/chat/completions", PLAIN).replacen("content-type", &key, 1);
    client.send(request).await;
    client.reply().await.status
}

#[tokio::test]
async fn a_stream_goes_on_as_it_began_and_its_server_gets_nothing_more() {
    let mut old = Scripted::start(|_got| {
        vec![
            head(EVENTS),
            chunk(&(role() + &content("so "))),
            Step::WaitForGo,
            chunk(&(content("on") + &last())),
            end(),
        ]
    })
    .await;
    let new = named("new").await;
    let proxy = before(&[&old], |_| {}).await;
    let streamed = PLAIN.replacen('{', r#"{"stream":true,"#, 1);
    let mut stream = proxy.chat(&streamed).await;
    let begun = stream.until("so ").await;
    proxy
        .renew(|config| config.upstreams = vec![at(&new)])
        .await
        .unwrap();
    for _ in 0..3 {
        assert!(ask(&proxy, PLAIN).await.text().contains("new"));
    }
    old.go();
    let rest = stream.until("[DONE]").await;
    assert!(!begun.is_empty() && String::from_utf8(rest).unwrap().contains("on"));
    old.next().await;
    assert_eq!(old.left(), 0);
    assert_eq!(proxy.house.app().upstreams().count(), 1);
}

#[tokio::test]
async fn a_server_that_stays_is_not_asked_again_wherever_it_stands() {
    let (first, second, third) = (named("1").await, named("2").await, named("3").await);
    let proxy = before(&[&first, &second], |config| {
        config.balance = isogloss::config::Balance::First;
    })
    .await;
    let asked = [first.questions(), second.questions()];
    let renewed =
        proxy.renew(|config| config.upstreams = vec![at(&third), at(&second), at(&first)]);
    assert_eq!(renewed.await.unwrap().kept, 2);
    let states = |proxy: &Proxy| -> Vec<_> {
        let status = proxy.house.app().upstreams().status();
        status.into_iter().map(|one| (one.url, one.state)).collect()
    };
    let ready = |one: &Scripted| (one.url(), "ready");
    assert_eq!(
        states(&proxy),
        [ready(&third), ready(&second), ready(&first)]
    );
    assert_eq!(asked, [first.questions(), second.questions()]);
    proxy
        .until_metrics_say("isogloss_upstream_up{upstream=\"2\"} 1")
        .await;
    assert!(ask(&proxy, PLAIN).await.text().contains('3'));
    // What is gone is not told of any longer, and what stays stands where it stands now.
    let renewed = proxy.renew(|config| config.upstreams = vec![at(&first)]);
    assert_eq!(renewed.await.unwrap().kept, 1);
    let told = proxy.metrics.render();
    assert!(
        told.contains("isogloss_upstream_up{upstream=\"0\"} 1"),
        "{told}"
    );
    assert!(
        !told.contains("upstream=\"1\"") && !told.contains("upstream=\"2\""),
        "{told}"
    );
    // A server that dies is still noticed.
    first.set_status(503);
    proxy.house.app().upstreams().iter().next().unwrap().doubt();
    proxy
        .until_metrics_say("isogloss_upstream_up{upstream=\"0\"} 0")
        .await;
}

#[tokio::test]
async fn a_server_of_which_something_else_is_said_is_another() {
    let one = named("1").await;
    let proxy = before(&[&one], |_| {}).await;
    let asked = one.questions();
    let renewed = proxy.renew(|config| config.upstreams[0].markup = Some("off".to_owned()));
    assert_eq!(renewed.await.unwrap().kept, 0);
    assert!(one.questions() > asked);
    assert_eq!(
        ask(&proxy, PLAIN).await.status,
        200,
        "it was looked at before"
    );
}

#[tokio::test]
async fn a_new_server_gets_nothing_before_it_can_be_used() {
    let (old, mut new) = (named("old").await, named("new").await);
    new.set_status(503);
    let proxy = before(&[&old], |config| {
        config.balance = isogloss::config::Balance::First;
    })
    .await;
    proxy
        .renew(|config| config.upstreams.insert(0, at(&new)))
        .await
        .unwrap();
    for _ in 0..3 {
        assert!(ask(&proxy, PLAIN).await.text().contains("old"));
    }
    assert_eq!(new.left(), 0);
    new.set_status(200);
    let app = proxy.house.app();
    app.upstreams().iter().next().unwrap().doubt();
    proxy
        .until_metrics_say("isogloss_upstream_up{upstream=\"0\"} 1")
        .await;
    assert!(ask(&proxy, PLAIN).await.text().contains("new"));
}

#[tokio::test]
async fn a_connection_that_stays_is_asked_for_the_key_that_is_one_now() {
    let upstream = named("1").await;
    let proxy = before(&[&upstream], |config| config.clients = vec![client("a")]).await;
    let mut connection = proxy.send("").await;
    assert_eq!(with_key(&mut connection, "key-a").await, 200);
    proxy
        .renew(|config| config.clients = vec![client("b")])
        .await
        .unwrap();
    assert_eq!(with_key(&mut connection, "key-a").await, 401);
    assert_eq!(with_key(&mut connection, "key-b").await, 200);
}

#[tokio::test]
async fn limits_and_what_becomes_of_a_violation_change_for_requests_that_were_seen_before() {
    let upstream = Scripted::start(|_got| whole(BAD)).await;
    let proxy = before(&[&upstream], |_| {}).await;
    for _ in 0..2 {
        let refused = ask(&proxy, &demand(false)).await;
        assert_eq!(error(&refused).0, 502);
    }
    proxy
        .renew(|config| config.on_violation = OnViolation::Pass)
        .await
        .unwrap();
    let passed = ask(&proxy, &demand(false)).await;
    assert_eq!(
        (passed.status, passed.header("x-isogloss-violation")),
        (200, Some("type"))
    );
    proxy
        .renew(|config| config.limits.body_bytes = 10)
        .await
        .unwrap();
    assert_eq!(error(&ask(&proxy, PLAIN).await).0, 413);
    proxy
        .renew(|config| config.limits.concurrency = 0)
        .await
        .unwrap();
    assert_eq!(error(&ask(&proxy, "{}").await).0, 503);
    proxy
        .renew(|config| config.limits.concurrency = 1)
        .await
        .unwrap();
    assert_eq!(ask(&proxy, "{}").await.status, 200);
}

#[tokio::test]
async fn what_cannot_change_is_named_and_what_cannot_be_changes_nothing() {
    let upstream = named("1").await;
    let proxy = before(&[&upstream], |_| {}).await;
    let renewed = proxy.renew(|config| {
        config.listen.set_port(1);
        config.limits.memory_budget /= 2;
        config.missing_model = isogloss::config::MissingModel::Refuse;
    });
    let needs_restart = renewed.await.unwrap().needs_restart;
    assert_eq!(needs_restart, ["listen", "limits.memory_budget"]);
    assert_eq!(ask(&proxy, r#"{"messages":[]}"#).await.status, 400);
    let app = proxy.house.app();
    let thoughts = |config: &mut Config| config.upstreams[0].thoughts = Some("?".to_owned());
    assert!(proxy.renew(thoughts).await.is_err());
    assert!(
        proxy
            .renew(|config| config.upstreams.clear())
            .await
            .is_err()
    );
    assert!(std::sync::Arc::ptr_eq(&app, &proxy.house.app()));
    assert_eq!(ask(&proxy, PLAIN).await.status, 200);
}
