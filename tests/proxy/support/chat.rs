//! A scripted vLLM's replies to chat completions, and what is read of the proxy's.

use super::proxy::{Client, Proxy, Reply, unchunked};
use isogloss_testing::scripted::{Got, Scripted, Step, chunk, end, find, head, reply};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub const SECOND: Duration = Duration::from_secs(1);
pub const JSON: &str = "content-type: application/json\r\n";
pub const EVENTS: &str = "content-type: text/event-stream; charset=utf-8\r\n";
pub const PLAIN: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

/// A request whose content must be `{"a": <integer>}`.
pub fn demand(stream: bool) -> String {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#;
    format!(
        r#"{{"model":"m","stream":{stream},"messages":[{{"role":"user","content":"hi"}}],"response_format":{{"type":"json_schema","json_schema":{{"name":"n","schema":{schema}}}}}}}"#
    )
}

pub const GOOD: &str = r#"{\"a\": 1}"#;
pub const BAD: &str = r#"{\"a\": \"BAD\"}"#;

/// A whole reply with this content, a JSON string without its quotes.
pub fn completion(content: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}","refusal":null}},"logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
    )
}

pub fn event(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

pub fn content(text: &str) -> String {
    event(&format!("{{\"content\":\"{text}\"}}"), "null")
}

pub fn role() -> String {
    event(r#"{"role":"assistant","content":""}"#, "null")
}

pub fn last() -> String {
    event("{}", "\"stop\"") + "data: [DONE]\n\n"
}

/// A whole stream with this content, in one piece.
pub fn stream(text: &str) -> Vec<Step> {
    vec![
        head(EVENTS),
        chunk(&(role() + &content(text) + &last())),
        end(),
    ]
}

pub async fn upstream(
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> (Scripted, Proxy) {
    let upstream = Scripted::start(script).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

/// Good content after the first `bad` replies.
pub fn bad_first(
    bad: usize,
    write: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
) -> impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static {
    let count = AtomicUsize::new(0);
    move |_got| {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        write(if nth < bad { BAD } else { GOOD })
    }
}

pub fn whole(text: &str) -> Vec<Step> {
    vec![reply(200, JSON, &completion(text))]
}

/// The error of a reply: its status and `error.code`.
pub fn error(reply: &Reply) -> (u16, String) {
    let body = reply.json();
    let error = &body["error"];
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    assert!(error["type"].is_string() && error["param"].is_string() | error["param"].is_null());
    (reply.status, error["code"].as_str().unwrap().to_owned())
}

/// The code of the error event that ends a stream, and what came before it.
pub fn error_event(body: &[u8]) -> (String, String) {
    let text = String::from_utf8(body.to_vec()).unwrap();
    assert!(!text.contains("[DONE]"), "{text}");
    assert!(text.ends_with("\n\n"), "{text}");
    let (before, last) = text.trim_end().rsplit_once("data: ").unwrap();
    let error: serde_json::Value = serde_json::from_str(last).unwrap();
    let code = error["error"]["code"].as_str();
    (code.expect("an error event").to_owned(), before.to_owned())
}

pub async fn body_of(client: &mut Client) -> Vec<u8> {
    let all = client.until("\r\n0\r\n\r\n").await;
    let at = find(&all, b"\r\n\r\n").filter(|_| all.starts_with(b"HTTP"));
    unchunked(&all[at.map_or(0, |at| at + 4)..])
}
