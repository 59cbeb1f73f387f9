//! The WebSocket of Responses: what is asked on it is asked as on the route, and verified like it, whichever server there is.

use crate::support::chat::{EVENTS, JSON, content, last, role, whole};
use crate::support::proxy::{Client, Proxy, Reply, client as client_of};
use futures_util::{SinkExt as _, StreamExt as _};
use isogloss::config::{Config, DialectPin, StorePlace};
use isogloss_testing::scripted::{Got, PATIENCE, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

const HANDSHAKE: &str = "connection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A stream with this text.
fn says(text: &str) -> Vec<Step> {
    vec![
        head(EVENTS),
        chunk(&(role() + &content(text) + &last())),
        end(),
    ]
}

/// Says how many messages it was asked with, where nothing else is asked.
fn counting(got: &Got) -> Vec<Step> {
    let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
    let count = body["messages"].as_array().map_or(0, Vec::len);
    says(&format!("{count} messages"))
}

async fn before(upstream: &Scripted, change: impl FnOnce(&mut Config)) -> Proxy {
    let url = upstream.url();
    let proxy = Proxy::with(&[url.as_str()], change).await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

async fn handshake(proxy: &Proxy, headers: &str) -> Client {
    let request = format!("GET /v1/responses HTTP/1.1\r\nhost: proxy\r\n{headers}\r\n");
    proxy.send(request).await
}

async fn refused(proxy: &Proxy, headers: &str) -> Reply {
    handshake(proxy, headers).await.reply().await
}

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn open(proxy: &Proxy) -> Self {
        let headers = format!("{HANDSHAKE}authorization: Bearer me\r\n");
        let mut client = handshake(proxy, &headers).await;
        let head = String::from_utf8(client.until("\r\n\r\n").await).unwrap();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        // Of RFC 6455 itself.
        assert!(head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert!(head.contains("x-isogloss-request-id: "));
        Self(WebSocketStream::from_raw_socket(client.0, Role::Client, None).await)
    }

    async fn send(&mut self, mut message: Value) {
        message["type"] = json!("response.create");
        message["model"] = json!("m");
        let text = message.to_string();
        self.0.send(Message::Text(text.into())).await.unwrap();
    }

    async fn next(&mut self) -> Message {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next()).await;
            let next = next.expect("nothing comes").expect("the end").unwrap();
            if !matches!(next, Message::Ping(_) | Message::Pong(_)) {
                return next;
            }
        }
    }

    async fn event(&mut self) -> Value {
        match self.next().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Everything until a reply is over.
    async fn events(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let kind = event["type"].as_str().unwrap().to_owned();
            events.push(event);
            let ends = [
                "response.completed",
                "response.incomplete",
                "response.failed",
            ];
            // An error before anything was said has no reply to fail.
            if ends.contains(&kind.as_str()) || (kind == "error" && events.len() == 1) {
                return events;
            }
        }
    }

    /// The whole reply.
    async fn completed(&mut self) -> Value {
        let mut last = self.events().await.pop().unwrap();
        assert_eq!(last["type"], "response.completed", "{last}");
        last["response"].take()
    }

    async fn closed(&mut self) -> u16 {
        match self.next().await {
            Message::Close(Some(frame)) => frame.code.into(),
            other => panic!("{other:?}"),
        }
    }
}

fn said(reply: &Value) -> &str {
    reply["output"][0]["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_conversation_goes_on_without_a_store() {
    let mut upstream = Scripted::start(counting).await;
    let proxy = before(&upstream, |_| {}).await;
    let mut socket = Socket::open(&proxy).await;
    socket.send(json!({"input": "one", "store": false})).await;
    let events = socket.events().await;
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds[..2], ["response.created", "response.in_progress"]);
    assert!(kinds.contains(&"response.output_text.delta"));
    assert_eq!(events[0]["headers"]["x-isogloss-strategy"], "passthrough");
    assert!(events[1].get("headers").is_none());
    let first = events.last().unwrap()["response"].clone();
    assert_eq!(said(&first), "1 messages");
    let next = json!({"input": "two", "store": false, "previous_response_id": first["id"]});
    socket.send(next).await;
    let second = socket.completed().await;
    assert_eq!(said(&second), "3 messages");
    assert_eq!(second["previous_response_id"], first["id"]);
    // As every request on the route: the key, the path and nothing of the handshake.
    for _ in 0..2 {
        let got = upstream.next().await;
        assert_eq!(
            (got.method.as_str(), got.target.as_str()),
            ("POST", "/v1/chat/completions")
        );
        assert_eq!(got.header("authorization"), Some("Bearer me"));
        assert!(got.header("sec-websocket-key").is_none() && got.header("upgrade").is_none());
    }
    // Only the last reply is remembered.
    let next = json!({"input": "x", "previous_response_id": first["id"]});
    socket.send(next).await;
    let error = socket.event().await;
    assert_eq!(
        (&error["type"], &error["status"]),
        (&json!("error"), &json!(400))
    );
    assert_eq!(error["error"]["code"], "previous_response_not_found");
    // And nobody else's.
    let mut other = Socket::open(&proxy).await;
    let next = json!({"input": "x", "previous_response_id": second["id"]});
    other.send(next).await;
    assert_eq!(
        other.event().await["error"]["code"],
        "previous_response_not_found"
    );
    proxy.until_metrics_say("isogloss_websockets_open 2").await;
    let counted = "isogloss_requests_total{client_dialect=\"responses\",server_dialect=\"vllm\",strategy=\"passthrough\",outcome=\"ok\"} 2";
    proxy.until_metrics_say(counted).await;
    drop((socket, other));
    proxy.until_metrics_say("isogloss_websockets_open 0").await;
}

#[tokio::test]
async fn what_is_asked_is_verified() {
    let script = |got: &Got| {
        let body = String::from_utf8_lossy(&got.body).into_owned();
        says(if body.contains("truth") {
            r#"{\"age\": 36}"#
        } else {
            r#"{\"age\": \"many\"}"#
        })
    };
    let upstream = Scripted::start(script).await;
    let proxy = before(&upstream, |config| {
        config.repair = isogloss_core::ir::Repair::Off
    })
    .await;
    let mut socket = Socket::open(&proxy).await;
    let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}},
        "required": ["age"], "additionalProperties": false});
    let text =
        json!({"format": {"type": "json_schema", "name": "a", "schema": schema, "strict": true}});
    socket.send(json!({"input": "a lie", "text": text})).await;
    let events = socket.events().await;
    let told = serde_json::to_string(&events).unwrap();
    assert!(told.contains("constraint_violated"), "{told}");
    assert!(
        !told.contains("response.completed") && !told.contains("many\\\"}"),
        "{told}"
    );
    socket
        .send(json!({"input": "the truth", "text": text}))
        .await;
    assert_eq!(said(&socket.completed().await), "{\"age\": 36}");
    // Refused before anything is sent, and the connection is good for more.
    let wrong = json!({"input": "x", "text": {"format": {"type": "json_schema", "name": "a",
        "schema": {"type": 1}}}});
    socket.send(wrong).await;
    let error = socket.event().await;
    assert_eq!(
        (&error["status"], &error["error"]["code"]),
        (&json!(400), &json!("invalid_schema"))
    );
    socket.send(json!({"input": "x", "stream_id": "a"})).await;
    assert_eq!(socket.event().await["error"]["param"], "stream_id");
    socket.send(json!({"input": "the truth"})).await;
    socket.completed().await;
}

#[tokio::test]
async fn what_is_sent_at_once_is_answered_in_order_and_what_only_prepares_asks_nobody() {
    let mut upstream = Scripted::start(counting).await;
    let proxy = before(&upstream, |_| {}).await;
    let mut socket = Socket::open(&proxy).await;
    socket
        .send(json!({"input": "one", "generate": false}))
        .await;
    let prepared = socket.completed().await;
    assert_eq!(prepared["output"], json!([]));
    socket
        .send(json!({"input": "two", "previous_response_id": prepared["id"]}))
        .await;
    socket.send(json!({"input": "alone"})).await;
    socket.0.send(Message::Ping("x".into())).await.unwrap();
    assert_eq!(said(&socket.completed().await), "2 messages");
    assert_eq!(said(&socket.completed().await), "1 messages");
    upstream.next().await;
    upstream.next().await;
    // Nobody may let more wait than a few.
    for _ in 0..200 {
        let text = json!({"type": "response.create", "model": "m", "input": "x"}).to_string();
        if socket.0.send(Message::Text(text.into())).await.is_err() {
            break;
        }
    }
    let code = loop {
        match socket.next().await {
            Message::Close(frame) => break u16::from(frame.unwrap().code),
            Message::Text(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code, 1008);
}

#[tokio::test]
async fn a_client_that_goes_away_closes_the_servers_connection() {
    let script = |_: &Got| {
        vec![
            head(EVENTS),
            chunk(&(role() + &content("half"))),
            Step::Hang,
        ]
    };
    let mut upstream = Scripted::start(script).await;
    let proxy = before(&upstream, |_| {}).await;
    for says_so in [true, false] {
        let mut socket = Socket::open(&proxy).await;
        socket.send(json!({"input": "x"})).await;
        while socket.event().await["type"] != "response.output_text.delta" {}
        if says_so {
            socket.0.close(None).await.unwrap();
        }
        drop(socket);
        upstream.hung_up().await;
    }
    proxy
        .until_metrics_say("isogloss_client_gone_total{phase=\"streaming\"} 2")
        .await;
}

#[tokio::test]
async fn at_a_shutdown_the_idle_are_closed_and_the_busy_end_first() {
    let script = |_: &Got| {
        vec![
            head(EVENTS),
            chunk(&(role() + &content("half"))),
            Step::WaitForGo,
            chunk(&(content(" and half") + &last())),
            end(),
        ]
    };
    let upstream = Scripted::start(script).await;
    let mut proxy = before(&upstream, |_| {}).await;
    let (mut idle, mut busy) = (Socket::open(&proxy).await, Socket::open(&proxy).await);
    busy.send(json!({"input": "x"})).await;
    while busy.event().await["type"] != "response.output_text.delta" {}
    proxy.stop();
    assert_eq!(idle.closed().await, 1001);
    upstream.go();
    assert_eq!(said(&busy.completed().await), "half and half");
    assert_eq!(busy.closed().await, 1001);
    proxy.stopped().await;
}

#[tokio::test]
async fn a_reply_that_does_not_end_in_time_ends_with_an_error() {
    let script = |_: &Got| {
        vec![
            head(EVENTS),
            chunk(&(role() + &content("half"))),
            Step::Hang,
        ]
    };
    let upstream = Scripted::start(script).await;
    let drain = |config: &mut Config| config.timeouts.drain = Duration::from_millis(400);
    let mut proxy = before(&upstream, drain).await;
    let mut socket = Socket::open(&proxy).await;
    socket.send(json!({"input": "x"})).await;
    while socket.event().await["type"] != "response.output_text.delta" {}
    proxy.stop();
    let error = socket.event().await;
    assert_eq!(error["error"]["code"], "server_shutting_down");
    assert_eq!(socket.event().await["type"], "response.failed");
    assert_eq!(socket.closed().await, 1001);
    proxy.stopped().await;
}

#[tokio::test]
async fn what_is_too_much_is_refused() {
    let upstream = Scripted::start(counting).await;
    let limits = |config: &mut Config| {
        config.limits.body_bytes = 2000;
        config.limits.concurrency = 1;
    };
    let proxy = before(&upstream, limits).await;
    let mut socket = Socket::open(&proxy).await;
    let error = refused(&proxy, HANDSHAKE).await;
    assert_eq!(
        (error.status, error.header("retry-after")),
        (503, Some("1"))
    );
    // One message may be as long as a body, and so may all of a conversation.
    let mut previous = Value::Null;
    let codes: Vec<_> = {
        let mut codes = Vec::new();
        for _ in 0..2 {
            let text = "x".repeat(1200);
            socket
                .send(json!({"input": text, "previous_response_id": previous}))
                .await;
            let last = socket.events().await.pop().unwrap();
            previous = last["response"]["id"].clone();
            codes.push(last["error"]["code"].clone());
        }
        codes
    };
    assert_eq!(codes, [Value::Null, json!("body_too_large")]);
    socket.send(json!({"input": "x".repeat(3000)})).await;
    assert_eq!(socket.closed().await, 1009);
    proxy
        .until_metrics_say("isogloss_limits_hit_total{limit=\"body_bytes\"} 2")
        .await;
    proxy.until_metrics_say("isogloss_websockets_open 0").await;
    let mut socket = Socket::open(&proxy).await;
    socket.0.send(Message::Binary("{}".into())).await.unwrap();
    assert_eq!(socket.closed().await, 1003);
}

#[tokio::test]
async fn only_a_handshake_opens_one() {
    let upstream = Scripted::start(counting).await;
    let proxy = before(&upstream, |_| {}).await;
    // Any web page could open one.
    let page = format!("{HANDSHAKE}origin: http://evil.example\r\n");
    assert_eq!(refused(&proxy, &page).await.status, 403);
    let version = HANDSHAKE.replace(": 13", ": 8");
    let error = refused(&proxy, &version).await;
    assert_eq!(
        (error.status, error.header("sec-websocket-version")),
        (426, Some("13"))
    );
    assert!(error.json()["error"]["message"].is_string());
    for key in ["", "dGhlIHNhbXBsZQ==", "not base64"] {
        let headers = HANDSHAKE.replace("dGhlIHNhbXBsZSBub25jZQ==", key);
        let error = refused(&proxy, &headers).await;
        assert_eq!(error.status, 400, "{key}");
    }
    // Another route has none: it is forwarded without the upgrade, as ever.
    let request = format!("GET /v1/chat/completions HTTP/1.1\r\nhost: proxy\r\n{HANDSHAKE}\r\n");
    assert_ne!(proxy.send(request).await.reply().await.status, 101);
    proxy.until_metrics_say("isogloss_websockets_open 0").await;
}

#[tokio::test]
async fn a_server_of_the_same_wire_is_asked_on_its_route_and_what_it_stores_is_its_own() {
    let script = |got: &Got| {
        let asked: Value = serde_json::from_slice(&got.body).unwrap_or_default();
        let store = asked["store"] != json!(false);
        let id = format!("resp_{}", got.nth);
        let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}]});
        let response = |status: &str, output: Value| {
            json!({"id": id, "object": "response", "status": status, "model": "m", "store": store, "output": output,
                "tools": [], "created_at": 1})
        };
        let events = [
            json!({"type": "response.created", "sequence_number": 0, "response": response("in_progress", json!([]))}),
            json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0,
                "item": {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}}),
            json!({"type": "response.content_part.added", "sequence_number": 2, "output_index": 0, "content_index": 0,
                "item_id": "msg_1", "part": {"type": "output_text", "text": "", "annotations": []}}),
            json!({"type": "response.output_text.delta", "sequence_number": 3, "output_index": 0, "content_index": 0,
                "item_id": "msg_1", "delta": "hi"}),
            json!({"type": "response.output_item.done", "sequence_number": 4, "output_index": 0, "item": item}),
            json!({"type": "response.completed", "sequence_number": 5, "response": response("completed", json!([item]))}),
        ];
        let lines = |event: &Value| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        };
        vec![
            head(EVENTS),
            chunk(&events.iter().map(lines).collect::<String>()),
            end(),
        ]
    };
    let mut upstream = Scripted::start(script).await;
    let pin = |config: &mut Config| config.upstreams[0].dialect = DialectPin::parse("openai");
    let proxy = before(&upstream, pin).await;
    let mut socket = Socket::open(&proxy).await;
    socket.send(json!({"input": "one"})).await;
    let first = socket.completed().await;
    socket
        .send(json!({"input": "two", "store": false, "previous_response_id": first["id"]}))
        .await;
    let second = socket.completed().await;
    socket
        .send(json!({"input": "three", "store": false, "previous_response_id": second["id"]}))
        .await;
    let third = socket.completed().await;
    assert_eq!(third["previous_response_id"], second["id"]);
    let mut asked = Vec::new();
    for _ in 0..3 {
        let got = upstream.next().await;
        assert_eq!(
            (got.method.as_str(), got.target.as_str()),
            ("POST", "/v1/responses")
        );
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        asked.push((
            body["input"].clone(),
            body.get("previous_response_id").cloned(),
        ));
    }
    assert_eq!(asked[0], (json!("one"), None));
    assert_eq!(asked[1], (json!("two"), Some(first["id"].clone())));
    // The second was not stored: what it said goes along, after the one that was.
    assert_eq!(asked[2].1, Some(first["id"].clone()));
    let items = asked[2].0.as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(
        (&items[0]["content"], &items[1]["content"][0]["text"]),
        (&json!("two"), &json!("hi"))
    );
}

/// Of a server of the client's own wire, whose replies go through.
#[tokio::test]
async fn what_is_no_reply_is_an_error_in_words_and_the_connection_goes_on() {
    let created = "data: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\n";
    for (steps, code) in [
        (
            vec![reply(200, "content-type: text/html\r\n", "<html>")],
            "upstream_bad_reply",
        ),
        (vec![reply(204, JSON, "")], "upstream_bad_reply"),
        (
            vec![
                head(EVENTS),
                chunk(created),
                chunk("data: {not json\n\n"),
                end(),
            ],
            "upstream_bad_reply",
        ),
        (
            vec![
                head("content-type: text/event-stream\r\ncontent-length: 5000\r\n"),
                Step::Close,
            ],
            "upstream_truncated",
        ),
    ] {
        let upstream = Scripted::start(move |_got| steps.clone()).await;
        let pin = |config: &mut Config| config.upstreams[0].dialect = DialectPin::parse("openai");
        let proxy = before(&upstream, pin).await;
        let mut socket = Socket::open(&proxy).await;
        for _ in 0..2 {
            socket.send(json!({"input": "hi"})).await;
            let error = loop {
                let event = socket.event().await;
                if event["type"] != "response.created" {
                    break event;
                }
            };
            assert_eq!(
                (&error["type"], &error["status"]),
                (&json!("error"), &json!(502)),
                "{error}"
            );
            assert_eq!(error["error"]["code"], code, "{error}");
            assert!(
                error["error"]["message"].as_str().unwrap().len() > 20,
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn what_the_proxy_stores_is_gone_on_from_on_any_connection() {
    let upstream = Scripted::start(|got: &Got| match got.target.as_str() {
        "/v1/chat/completions" if !got.body.windows(13).any(|part| part == b"\"stream\":true") => {
            whole("x")
        }
        "/v1/chat/completions" => counting(got),
        _ => vec![reply(404, JSON, "{}")],
    })
    .await;
    let store = |config: &mut Config| config.responses.store = StorePlace::Memory;
    let proxy = before(&upstream, store).await;
    let mut socket = Socket::open(&proxy).await;
    socket.send(json!({"input": "one"})).await;
    let first = socket.completed().await;
    assert_eq!(first["store"], true);
    drop(socket);
    let mut socket = Socket::open(&proxy).await;
    socket
        .send(json!({"input": "two", "store": false, "previous_response_id": first["id"]}))
        .await;
    let second = socket.completed().await;
    assert_eq!(said(&second), "3 messages");
    socket
        .send(json!({"input": "three", "previous_response_id": second["id"]}))
        .await;
    let third = socket.completed().await;
    assert_eq!(said(&third), "5 messages");
    assert_eq!(third["previous_response_id"], second["id"]);
}

#[tokio::test]
async fn a_key_that_is_none_any_more_is_refused_on_a_connection_that_is_open() {
    let upstream = Scripted::start(counting).await;
    let client = |key: &[u8]| isogloss::config::ClientConfig {
        keys: vec![isogloss::config::KeyHash::of(key)],
        ..client_of("a")
    };
    let proxy = before(&upstream, |config| config.clients = vec![client(b"me")]).await;
    let mut socket = Socket::open(&proxy).await;
    socket.send(json!({"input": "one"})).await;
    socket.completed().await;
    let renewed = proxy.renew(|config| config.clients = vec![client(b"you")]);
    renewed.await.unwrap();
    socket.send(json!({"input": "two"})).await;
    let error = socket.event().await;
    assert_eq!(
        (&error["type"], &error["status"]),
        (&json!("error"), &json!(401))
    );
}
