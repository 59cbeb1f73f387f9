//! A server that is not there keeps nobody waiting.

use crate::support::proxy::Proxy;
use isogloss_testing::scripted::Scripted;
use std::time::{Duration, Instant};

const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn a_server_that_refuses_is_502_soon_although_one_that_loads_would_be_waited_for() {
    let upstream = Scripted::start(|_got| Vec::new()).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.loading = Duration::from_secs(30);
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    upstream.stop().await;
    let begun = Instant::now();
    let refused = proxy.chat(CHAT).await.reply().await;
    assert_eq!(refused.status, 502, "{}", refused.text());
    assert!(begun.elapsed() < Duration::from_secs(10));

    let upstream = Scripted::start(|_got| Vec::new()).await;
    upstream.set_status(503);
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.loading = Duration::from_secs(2);
    })
    .await;
    proxy.until_upstream(0, "loading").await;
    let begun = Instant::now();
    let waited = proxy.chat(CHAT).await.reply().await;
    assert_eq!(waited.status, 503, "{}", waited.text());
    assert!(begun.elapsed() >= Duration::from_secs(1));
}
