//! More than the proxy can take, from clients and from servers: what it holds stays bounded, who overdoes it is told so,
//! and who behaves well is served meanwhile and after. Each test prints what it measured.

pub(crate) mod binary;
mod connections;
mod files;
mod memory;
mod passing;
mod queue;
mod slow;

use crate::support::chat::PLAIN;
use crate::support::proxy::{Client, Proxy, Reply, post};
use isogloss_testing::scripted::PATIENCE;
use std::time::Duration;
use tokio::net::TcpStream;

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// The head of a chat request whose body has this length.
fn announced(length: usize) -> String {
    format!(
        "POST {CHAT} HTTP/1.1\r\nhost: p\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// A chat request with a message of so many bytes.
fn large(bytes: usize) -> String {
    let text = "Say something. ".repeat(bytes / 15);
    post(
        CHAT,
        &format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#),
    )
}

/// What a request is answered with on a connection of its own.
pub(crate) async fn ask(address: std::net::SocketAddr, request: impl AsRef<[u8]>) -> Reply {
    let mut client = Client(TcpStream::connect(address).await.unwrap());
    // Who is refused early may not be read to the end.
    let _ = tokio::io::AsyncWriteExt::write_all(&mut client.0, request.as_ref()).await;
    tokio::time::timeout(3 * PATIENCE, client.reply())
        .await
        .expect("no reply")
}

/// A client that behaves well gets its answer.
async fn is_served(proxy: &Proxy) {
    let reply = ask(proxy.address, post(CHAT, PLAIN)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// What clients are told of a limit of the proxy's own: that it passes, and when.
fn is_overload(reply: &Reply) -> bool {
    let is_told = reply.status == 503 && reply.header("retry-after").is_some();
    is_told && reply.json()["error"]["code"] == "overloaded"
}

const SHORT: Duration = Duration::from_millis(300);
