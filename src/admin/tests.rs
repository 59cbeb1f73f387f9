//! The admin listener over real connections.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, oneshot};

#[derive(Default)]
struct Scripted {
    ready: AtomicBool,
    over: Notify,
}

impl State for Scripted {
    fn ready(&self) -> Readiness {
        let ready = self.ready.load(Ordering::Relaxed);
        Readiness {
            ready,
            draining: false,
            configuration: ConfigurationState::default(),
            upstreams: vec![UpstreamState {
                url: "http://one:8000".to_owned(),
                state: if ready { "ready" } else { "down" }.to_owned(),
                dialect: ready.then(|| "vllm@0.12.0".to_owned()),
                enforcement: "not_asked",
                reason: (!ready).then(|| "connection refused".to_owned()),
            }],
        }
    }

    fn capabilities(&self) -> Value {
        serde_json::json!({"upstreams": []})
    }

    fn metrics(&self) -> BoxFuture<'_, String> {
        Box::pin(async { "isogloss_streams_open 0\n".to_owned() })
    }

    fn drained(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.over.notified())
    }
}

struct Running {
    address: std::net::SocketAddr,
    state: Arc<Scripted>,
    _stop: oneshot::Sender<()>,
}

async fn running() -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let state = Arc::new(Scripted::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let shared: Arc<dyn State> = Arc::clone(&state) as _;
    tokio::spawn(serve(listener, shared, Door::default(), async {
        // The sender sends nothing; it drops.
        let _ = stopped.await;
    }));
    Running {
        address,
        state,
        _stop: stop,
    }
}

impl Running {
    async fn ask(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{head} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    }
}

#[tokio::test]
async fn metrics_have_the_content_type_of_the_text_format() {
    let reply = running().await.ask("GET /metrics").await;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    let content_type = "content-type: text/plain; version=0.0.4; charset=utf-8\r\n";
    assert!(reply.contains(content_type), "{reply}");
    assert!(reply.ends_with("isogloss_streams_open 0\n"), "{reply}");
}

#[tokio::test]
async fn it_is_alive_before_it_is_ready_and_says_what_is_missing() {
    let running = running().await;
    assert!(running.ask("GET /livez").await.starts_with("HTTP/1.1 200 "));
    let reply = running.ask("GET /readyz").await;
    assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
    assert!(reply.contains("connection refused"), "{reply}");
    running.state.ready.store(true, Ordering::Relaxed);
    let reply = running.ask("GET /readyz").await;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    assert!(reply.contains("\"dialect\": \"vllm@0.12.0\""), "{reply}");
}

#[tokio::test]
async fn capabilities_are_json_and_the_index_links_everything() {
    let running = running().await;
    let reply = running.ask("GET /capabilities?pretty").await;
    assert!(
        reply.contains("content-type: application/json\r\n"),
        "{reply}"
    );
    let index = running.ask("GET /").await;
    for page in ["readyz", "capabilities", "metrics", "livez"] {
        assert!(index.contains(&format!("href={page}")), "{index}");
    }
}

#[tokio::test]
async fn nothing_but_get_is_served() {
    let running = running().await;
    for method in ["POST", "PUT", "DELETE"] {
        let reply = running.ask(&format!("{method} /metrics")).await;
        assert!(reply.starts_with("HTTP/1.1 405 "), "{reply}");
        assert!(reply.contains("allow: GET, HEAD\r\n"), "{reply}");
    }
    let reply = running.ask("HEAD /metrics").await;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    let reply = running.ask("GET /v1/models").await;
    assert!(reply.starts_with("HTTP/1.1 404 "), "{reply}");
}

#[tokio::test]
async fn silent_connections_hold_their_places_only_for_a_while() {
    tokio::time::pause();
    let running = running().await;
    let mut silent = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        silent.push(TcpStream::connect(running.address).await.unwrap());
    }
    // With the clock paused, time leaps to the deadline as soon as everything is idle.
    let reply = running.ask("GET /livez").await;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
}

#[tokio::test]
async fn a_hook_waits_for_the_last_reply_longer_than_a_connection_may_take_else() {
    tokio::time::pause();
    let running = running().await;
    let waiting = running.ask("GET /drained");
    tokio::pin!(waiting);
    let long = tokio::time::timeout(20 * MAX_CONNECTION_TIME, &mut waiting);
    assert!(long.await.is_err(), "nothing is drained yet");
    running.state.over.notify_one();
    let reply = waiting.await;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    assert!(reply.ends_with("drained\n"), "{reply}");
}

#[tokio::test]
async fn hooks_that_wait_never_take_all_places() {
    let running = running().await;
    let mut waiting = Vec::new();
    for _ in 0..MAX_WAITING {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let request = b"GET /drained HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.unwrap();
        waiting.push(stream);
    }
    // Whichever comes first of those in the queue: one too many is told at once.
    let reply = running.ask("GET /drained").await;
    assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
    assert!(running.ask("GET /livez").await.starts_with("HTTP/1.1 200 "));
}
