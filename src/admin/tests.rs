//! The admin listener over real connections.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, oneshot};

use std::sync::atomic::AtomicU64;

#[derive(Default)]
struct Scripted {
    ready: AtomicBool,
    ended: AtomicU64,
    over: Notify,
}

impl State for Scripted {
    fn ready(&self) -> Readiness {
        let ready = self.ready.load(Ordering::Relaxed);
        Readiness {
            ready,
            draining: false,
            configuration: ConfigurationState::default(),
            names: Vec::new(),
            upstreams: vec![UpstreamState {
                index: 0,
                name: None,
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

    fn overview(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { serde_json::json!({"version": "1"}) })
    }

    fn requests(&self, query: &Query) -> Value {
        serde_json::json!({"since": query.number("since"), "model": query.text("model")})
    }

    fn request(&self, id: &str) -> Option<Value> {
        (id == "abc").then(|| serde_json::json!({"id": id}))
    }

    fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    fn explain(&self, question: Bytes) -> BoxFuture<'_, Result<Value, Fault>> {
        let bytes = question.len();
        Box::pin(async move {
            match bytes {
                0 => Err(Fault::Wrong("nothing is asked".to_owned())),
                _ => Ok(serde_json::json!({"bytes": bytes})),
            }
        })
    }

    fn send(&self, _question: Bytes) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async { Err(Fault::Refused("not today".to_owned())) })
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
    /// The same of the console, with more lines in the head.
    async fn console(&self, line: &str, head: &str) -> String {
        self.console_with(line, head, b"").await
    }

    async fn console_with(&self, line: &str, head: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\nhost: localhost:1\r\n{head}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // Who is told in the middle of a long body that it is too long does not read on.
        let _ = stream.write_all(body).await;
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        String::from_utf8(reply).unwrap()
    }

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
async fn capabilities_are_json() {
    let reply = running().await.ask("GET /capabilities?pretty").await;
    let content_type = "content-type: application/json\r\n";
    assert!(reply.contains(content_type), "{reply}");
}

#[tokio::test]
async fn the_console_is_three_files_that_fetch_nothing_from_elsewhere() {
    let running = running().await;
    for (path, media_type) in [
        ("/", "text/html"),
        ("/console.css", "text/css"),
        ("/console.js", "text/javascript"),
    ] {
        let reply = running.console(&format!("GET {path}"), "").await;
        assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
        assert!(
            reply.contains(&format!("content-type: {media_type}; ")),
            "{reply}"
        );
        assert!(
            reply.contains("script-src 'self'; style-src 'self'"),
            "{reply}"
        );
        assert!(!reply.contains("unsafe-inline"), "{reply}");
        for elsewhere in [
            "https://",
            "http://cdn",
            "//cdn",
            "innerHTML",
            "eval(",
            "style=",
        ] {
            assert!(!reply.contains(elsewhere), "{path}: {elsewhere}");
        }
        assert!(reply.len() < 100 << 10, "{path}");
    }
    let reply = running.ask("GET /").await;
    assert!(reply.starts_with("HTTP/1.1 403 "), "another name: {reply}");
}

#[tokio::test]
async fn the_last_requests_are_listed_and_each_is_found() {
    let running = running().await;
    let listed = running
        .console("GET /requests?since=7&model=a%2Fb&x", "")
        .await;
    assert!(listed.contains("\"since\": 7"), "{listed}");
    assert!(listed.contains("\"model\": \"a/b\""), "{listed}");
    let found = running.console("GET /requests/abc", "").await;
    assert!(found.starts_with("HTTP/1.1 200 "), "{found}");
    let unknown = running.console("GET /requests/abd", "").await;
    assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
    for line in [
        "POST /requests",
        "GET /explain",
        "DELETE /requests/abc",
        "PUT /send",
    ] {
        let reply = running.console(line, JSON).await;
        assert!(!reply.starts_with("HTTP/1.1 2"), "{line}: {reply}");
    }
}

const JSON: &str = "content-type: application/json\r\n";

#[tokio::test]
async fn what_is_posted_is_answered_refused_or_told_what_is_wrong() {
    let running = running().await;
    let posted = |path: &str, body: &str| {
        let head = format!("{JSON}content-length: {}\r\n", body.len());
        (format!("POST {path}"), head, body.to_owned())
    };
    for (path, body, status) in [
        ("/explain", "{}", 200),
        ("/explain", "", 400),
        ("/send", "{}", 409),
    ] {
        let (line, head, body) = posted(path, body);
        let reply = running.console_with(&line, &head, body.as_bytes()).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
    }
    let (line, head, _) = posted("/explain", &" ".repeat((4 << 20) + 1));
    let long = vec![b' '; (4 << 20) + 1];
    let reply = running.console_with(&line, &head, &long).await;
    assert!(
        reply.is_empty() || reply.starts_with("HTTP/1.1 413 "),
        "{reply}"
    );
}

#[tokio::test]
async fn who_looks_is_told_what_ends_and_never_takes_all_places() {
    let running = running().await;
    let mut looking = Vec::new();
    for _ in 0..MAX_WAITING {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let request = b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut begun = vec![0; 15];
        stream.read_exact(&mut begun).await.unwrap();
        looking.push((stream, String::from_utf8(begun).unwrap()));
    }
    let reply = running.console("GET /events", "").await;
    assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
    assert!(running.ask("GET /livez").await.starts_with("HTTP/1.1 200 "));
    running.state.ended.store(3, Ordering::Relaxed);
    let (stream, said) = &mut looking[0];
    let mut bytes = vec![0; 4096];
    while !said.contains("event: requests") {
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "{said}");
        *said += std::str::from_utf8(&bytes[..read]).unwrap();
    }
    assert!(said.contains("content-type: text/event-stream"), "{said}");
    assert!(
        said.contains("event: overview\ndata: {\"version\":\"1\"}\n\n"),
        "{said}"
    );
    // The places are free again where nobody looks any more.
    drop(looking);
    loop {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let request = b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut begun = vec![0; 12];
        stream.read_exact(&mut begun).await.unwrap();
        if begun == b"HTTP/1.1 200" {
            break;
        }
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
