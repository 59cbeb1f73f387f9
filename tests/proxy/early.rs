//! Servers that answer before they have read the request, and hang up with the rest unread: the client gets that
//! answer, in the shape of its dialect, every time.

use crate::support::chat::{JSON, demand};
use crate::support::proxy::{Proxy, Reply, post};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

/// Requests of each kind to each server.
const TIMES: usize = 20;
/// More than any socket takes before somebody reads.
const LONG: usize = 2 << 20;

/// How a server hangs up.
#[derive(Debug, Clone, Copy)]
enum End {
    /// At once, or after so many milliseconds: what is unread makes a reset of it.
    Closes(u64),
    /// With a reset of its own right behind the reply.
    Resets,
}

/// Reads the start of a request and answers it.
async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), status: u16) {
    let mut start = [0; 1024];
    let count = stream.read(&mut start).await.unwrap();
    let (status, body) = if start[..count].starts_with(b"GET") {
        (
            200,
            r#"{"data":[{"id":"m","owned_by":"vllm"}],"version":"0.12.0"}"#,
        )
    } else {
        (status, r#"{"error":{"message":"slow down"}}"#)
    };
    let length = body.len();
    let reply = format!(
        "HTTP/1.1 {status} X\r\n{JSON}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(reply.as_bytes()).await.unwrap();
}

/// A server on a port.
async fn on_a_port(status: u16, end: End) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, status).await;
            match end {
                End::Closes(pause) => tokio::time::sleep(Duration::from_millis(pause)).await,
                End::Resets => stream.set_zero_linger().unwrap(),
            }
        }
    });
    (url, serving)
}

/// A server behind a Unix socket.
fn on_a_socket(
    folder: &tempfile::TempDir,
    status: u16,
    pause: u64,
) -> (String, tokio::task::JoinHandle<()>) {
    let path = folder.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, status).await;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    });
    (format!("unix://{}", path.display()), serving)
}

/// What is asked for: translated in two dialects, passed on as it is, and streamed through.
fn requests() -> [String; 4] {
    let text = "a".repeat(LONG);
    let chat = demand(false).replace("\"hi\"", &format!("\"{text}\""));
    let messages = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"{text}"}}]}}"#
    );
    [
        post("/v1/chat/completions", &chat),
        post("/v1/messages", &messages),
        post("/v1/other", &chat.replace("response_format", "other")),
        post("/v1/upload", &format!("--x{text}")),
    ]
}

async fn is_told(url: &str, status: u16) {
    let proxy = Proxy::start(url).await;
    proxy.until_upstream(0, "ready").await;
    for request in requests() {
        let path = request.split(' ').nth(1).unwrap().to_owned();
        for time in 0..TIMES {
            let reply: Reply = proxy.send(&request).await.reply().await;
            let what = format!("{url}{path}, {time}: {}", reply.text());
            assert_eq!(reply.status, status, "{what}");
            let body: Value = reply.json();
            assert!(body["error"]["message"].is_string(), "{what}");
            assert_eq!(body["type"] == "error", path == "/v1/messages", "{what}");
        }
    }
    let again = proxy.has_counted("isogloss_retries_total{why=\"unread_request\"}");
    assert!(!again, "it was sent twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_comes_before_the_request_was_read_is_given() {
    for (status, end) in [
        (401, End::Closes(0)),
        (413, End::Closes(2)),
        (404, End::Closes(20)),
        (429, End::Resets),
    ] {
        let (url, serving) = on_a_port(status, end).await;
        is_told(&url, status).await;
        serving.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_comes_before_the_request_was_read_is_given_from_a_socket_too() {
    for (status, pause) in [(401, 0), (413, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let (url, serving) = on_a_socket(&folder, status, pause);
        is_told(&url, status).await;
        serving.abort();
    }
}
