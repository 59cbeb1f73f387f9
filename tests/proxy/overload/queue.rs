//! The queue before an upstream that is sent so many requests at once.

use crate::support::chat::{EVENTS, PLAIN, content, error, last, role, whole};
use crate::support::proxy::{Client, Proxy, post};
use isogloss::config::{ClientConfig, Config, KeyHash, QueueConfig};
use isogloss_testing::scripted::{Got, PATIENCE, Scripted, Step, chunk, end, find, head};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn queue(max_in_flight: usize, length: usize) -> QueueConfig {
    QueueConfig {
        max_in_flight: Some(max_in_flight),
        length,
        ..QueueConfig::NONE
    }
}

async fn before(upstream: &Scripted, change: impl FnOnce(&mut Config)) -> Proxy {
    let proxy = Proxy::with(&[&upstream.url()], change).await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

/// Answers when it is told to.
async fn slow() -> Scripted {
    Scripted::start(|_got| [vec![Step::WaitForGo], whole("done")].concat()).await
}

async fn until_waiting(proxy: &Proxy, count: usize) {
    let told = format!("isogloss_queue_length{{upstream=\"0\"}} {count}\n");
    proxy.until_metrics_say(&told).await;
}

async fn asked(proxy: &Proxy, header: &str, text: &str) -> Client {
    let body = PLAIN.replace("hi", text);
    let header = format!("{header}\r\ncontent-type");
    let request = post("/v1/chat/completions", &body).replacen("content-type", &header, 1);
    proxy.send(request).await
}

fn text_of(got: &Got) -> String {
    let body: serde_json::Value = serde_json::from_slice(&got.body).unwrap();
    body["messages"][0]["content"].as_str().unwrap().to_owned()
}

/// A server that counts how many requests it has at once.
struct Counting {
    address: SocketAddr,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Counting {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let server = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&server);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(Arc::clone(&serving).connection(stream));
            }
        });
        server
    }

    async fn connection(self: Arc<Self>, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        loop {
            let whole = loop {
                if let Some(whole) = whole_request(&bytes) {
                    break whole;
                }
                if stream.read_buf(&mut bytes).await.unwrap_or_default() == 0 {
                    return;
                }
            };
            let request = String::from_utf8(bytes.drain(..whole).collect()).unwrap();
            let body = match request.split(' ').nth(1).unwrap() {
                "/version" => r#"{"version":"0.12.0"}"#.to_owned(),
                "/v1/models" => r#"{"data":[{"id":"m","owned_by":"vllm"}]}"#.to_owned(),
                _ => {
                    let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
                    self.most.fetch_max(now, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    self.now.fetch_sub(1, Ordering::SeqCst);
                    crate::support::chat::completion("done")
                }
            };
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(reply.as_bytes()).await.unwrap();
        }
    }
}

/// Where the first request ends, once it is all there.
fn whole_request(bytes: &[u8]) -> Option<usize> {
    let head = find(bytes, b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    let whole = head + length.unwrap_or(0);
    (bytes.len() >= whole).then_some(whole)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_at_once_are_all_answered_by_a_server_that_takes_eight() {
    const CONNECTIONS: usize = 16;
    const EACH: usize = 125;
    let server = Counting::start().await;
    let url = format!("http://{}", server.address);
    let proxy = Proxy::with(&[&url], |config| {
        config.upstreams[0].queue = queue(8, CONNECTIONS * EACH);
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let client = reqwest::Client::builder()
            .http2_prior_knowledge()
            .no_proxy();
        let client = client.tls_certs_only([]).build().unwrap();
        for _ in 0..EACH {
            let request = client
                .post(proxy.url("/v1/chat/completions"))
                .header("content-type", "application/json")
                .body(PLAIN);
            requests.spawn(async move { request.send().await.unwrap().status().as_u16() });
        }
    }
    let all = tokio::time::timeout(4 * PATIENCE, requests.join_all()).await;
    let all = all.expect("some are never answered");
    assert_eq!(all.len(), CONNECTIONS * EACH);
    assert!(all.iter().all(|status| *status == 200), "{all:?}");
    assert_eq!(server.most.load(Ordering::SeqCst), 8);
    let count = format!(
        "isogloss_queue_wait_seconds_count{{upstream=\"0\"}} {}",
        all.len()
    );
    proxy.until_metrics_say(&count).await;
    until_waiting(&proxy, 0).await;
}

#[tokio::test]
async fn a_full_queue_refuses_in_the_words_of_the_caller_with_the_time_to_come_back() {
    let upstream = slow().await;
    let proxy = before(&upstream, |config| config.upstreams[0].queue = queue(1, 1)).await;
    let mut first = proxy.chat(PLAIN).await;
    let mut second = proxy.chat(PLAIN).await;
    until_waiting(&proxy, 1).await;
    let refused = proxy.chat(PLAIN).await.reply().await;
    assert_eq!(error(&refused), (503, "overloaded".to_owned()));
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=600).contains(&after), "{after}");
    let messages = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let refused = proxy
        .send(post("/v1/messages", messages))
        .await
        .reply()
        .await;
    assert!(refused.status >= 500 && refused.header("retry-after").is_some());
    assert_eq!(refused.json()["error"]["type"], "overloaded_error");
    let embeddings = post("/v1/embeddings", r#"{"model":"m","input":"x"}"#);
    assert_eq!(proxy.send(embeddings).await.reply().await.status, 503);
    // What makes the server work on nothing needs no place.
    let models = "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n";
    assert_eq!(proxy.send(models).await.reply().await.status, 200);
    for client in [&mut first, &mut second] {
        upstream.go();
        assert_eq!(client.reply().await.status, 200);
    }
    let counted = "isogloss_queue_refused_total{upstream=\"0\",why=\"full\"} 3";
    proxy.until_metrics_say(counted).await;
}

#[tokio::test]
async fn who_waits_too_long_is_refused_and_who_goes_away_leaves_the_queue() {
    let mut upstream = slow().await;
    let proxy = before(&upstream, |config| config.upstreams[0].queue = queue(1, 1)).await;
    let mut first = proxy.chat(PLAIN).await;
    upstream.next().await;
    let gone = proxy.chat(PLAIN).await;
    until_waiting(&proxy, 1).await;
    drop(gone);
    until_waiting(&proxy, 0).await;
    let mut second = proxy.chat(PLAIN).await;
    until_waiting(&proxy, 1).await;
    upstream.go();
    assert_eq!(first.reply().await.status, 200);
    upstream.next().await;
    // Nobody waits for long any more.
    let hasty = |config: &mut Config| {
        config.upstreams[0].queue.timeout = Duration::from_millis(50);
    };
    proxy.renew(hasty).await.unwrap();
    let refused = proxy.chat(PLAIN).await.reply().await;
    assert_eq!(error(&refused), (503, "overloaded".to_owned()));
    assert!(refused.header("retry-after").is_some());
    upstream.go();
    assert_eq!(second.reply().await.status, 200);
    let counted = "isogloss_queue_refused_total{upstream=\"0\",why=\"timeout\"} 1";
    proxy.until_metrics_say(counted).await;
    // The first, who went away, the second, and who was refused.
    let waited = "isogloss_queue_wait_seconds_count{upstream=\"0\"} 4";
    proxy.until_metrics_say(waited).await;
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_place_is_held_until_the_stream_has_ended_or_its_client_is_gone() {
    let mut upstream = Scripted::start(|_got| {
        let begin = chunk(&(role() + &content("so ")));
        vec![head(EVENTS), begin, Step::WaitForGo, chunk(&last()), end()]
    })
    .await;
    let proxy = before(&upstream, |config| config.upstreams[0].queue = queue(1, 9)).await;
    let streamed = PLAIN.replacen('{', r#"{"stream":true,"#, 1);
    let mut first = proxy.chat(&streamed).await;
    first.until("so ").await;
    let mut second = proxy.chat(&streamed).await;
    until_waiting(&proxy, 1).await;
    let mut third = proxy.chat(&streamed).await;
    until_waiting(&proxy, 2).await;
    upstream.next().await;
    assert_eq!(upstream.left(), 0);
    upstream.go();
    first.until("[DONE]").await;
    second.until("so ").await;
    upstream.next().await;
    assert_eq!(upstream.left(), 0);
    drop(second);
    upstream.next().await;
    upstream.go();
    third.until("[DONE]").await;
    until_waiting(&proxy, 0).await;
}

#[tokio::test]
async fn keys_take_turns_and_the_more_urgent_goes_first() {
    let mut upstream = slow().await;
    let client = |name: &str, priority: i32| ClientConfig {
        name: name.to_owned(),
        keys: vec![KeyHash::of(name.as_bytes())],
        models: Vec::new(),
        upstreams: None,
        requests_per_minute: None,
        tokens_per_minute: None,
        concurrency: None,
        priority,
    };
    let proxy = before(&upstream, |config| {
        config.upstreams[0].queue = queue(1, 100);
        config.limits.priority_header = Some("x-priority".parse().unwrap());
        config.clients = vec![client("many", 0), client("few", 0), client("urgent", 5)];
    })
    .await;
    let key = |name: &str| format!("authorization: Bearer {name}");
    let mut waiting = vec![asked(&proxy, &key("many"), "many").await];
    upstream.next().await;
    let mut count = 0;
    let mut add = async |header: String, text: &str| {
        waiting.push(asked(&proxy, &header, text).await);
        count += 1;
        until_waiting(&proxy, count).await;
    };
    add(key("few") + "\r\nx-priority: -1", "later").await;
    for _ in 0..6 {
        add(key("many"), "many").await;
    }
    for _ in 0..3 {
        add(key("few"), "few").await;
    }
    // Nobody is more urgent than its key is.
    add(key("many") + "\r\nx-priority: 99", "many").await;
    add(key("urgent"), "urgent").await;
    let wrong = key("few") + "\r\nx-priority: soon";
    let refused = asked(&proxy, &wrong, "few").await.reply().await;
    assert_eq!(error(&refused).0, 400);
    assert!(
        refused.text().contains("from -100 to 100"),
        "{}",
        refused.text()
    );
    let mut served = Vec::new();
    for _ in 0..waiting.len() - 1 {
        upstream.go();
        served.push(text_of(&upstream.next().await));
    }
    upstream.go();
    assert_eq!(served[0], "urgent");
    let turns = &served[1..7];
    let few = turns.iter().filter(|one| *one == "few").count();
    assert_eq!(few, 3, "{served:?}");
    assert_eq!(served.last().unwrap(), "later");
    for mut client in waiting {
        assert_eq!(client.reply().await.status, 200);
    }
}

#[tokio::test]
async fn another_configuration_lets_more_in_at_once_and_nobody_loses_its_place() {
    let mut upstream = slow().await;
    let proxy = before(&upstream, |config| config.upstreams[0].queue = queue(1, 9)).await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(proxy.chat(PLAIN).await);
    }
    until_waiting(&proxy, 3).await;
    let more = |config: &mut Config| config.upstreams[0].queue = queue(3, 0);
    assert_eq!(proxy.renew(more).await.unwrap().kept, 1);
    until_waiting(&proxy, 1).await;
    for _ in 0..3 {
        upstream.next().await;
    }
    assert_eq!(proxy.chat(PLAIN).await.reply().await.status, 503);
    for _ in 0..4 {
        upstream.go();
    }
    for mut client in clients {
        assert_eq!(client.reply().await.status, 200);
    }
    // Without a limit nothing waits.
    let none = |config: &mut Config| config.upstreams[0].queue = QueueConfig::NONE;
    proxy.renew(none).await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(proxy.chat(PLAIN).await);
        upstream.next().await;
        upstream.go();
    }
    for mut client in clients {
        assert_eq!(client.reply().await.status, 200);
    }
}
