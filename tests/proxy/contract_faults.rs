//! What a server or something before it does wrong, one scripted fault a test: what the client
//! gets for it, byte by byte where that matters.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss_testing::scripted;
use proxy::{Proxy, Reply};
use scripted::{Scripted, Step, chunk, end, find, head, reply, send};
use serde_json::{Value, json};
use std::time::Duration;

/// A request that forces the one tool; vLLM is sent a constraint on content instead.
fn forced(stream: bool) -> String {
    let parameters =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    json!({
        "model": "m", "stream": stream, "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}],
        "tool_choice": "required",
    })
    .to_string()
}

/// What the client reads of a stream that this body makes.
async fn streamed(body: Vec<u8>) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{EVENTS}content-length: {}\r\n\r\n",
        body.len()
    );
    let (_upstream, proxy) = upstream(move |_got| vec![send(&head), send(&body)]).await;
    body_of(&mut proxy.chat(&demand(true)).await).await
}

/// What the client reads after the good start of a stream, which goes on like this.
async fn after_the_start(rest: Vec<Step>) -> (Vec<u8>, Scripted) {
    let mut upstream = Scripted::start(move |_got| {
        let start = format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\n{}", good());
        let mut all = vec![send(start), Step::WaitForGo];
        all.extend(rest.clone());
        all
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.limits.event_bytes = 4000
    })
    .await;
    let mut client = proxy.chat(&demand(true)).await;
    client.until("1}").await;
    upstream.go();
    upstream.next().await;
    let rest = client.until("\r\n0\r\n\r\n").await;
    let start = find(&rest, b"data: ").unwrap();
    let end = find(&rest, b"\r\n0\r\n\r\n").unwrap();
    (rest[start..end].to_vec(), upstream)
}

/// The data of each event.
fn data(body: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(body).unwrap();
    let events = text.split_terminator("\n\n");
    let one = |event: &str| event.replace("\ndata: ", "\n").replacen("data: ", "", 1);
    events.map(one).collect()
}

fn chunks(body: &[u8]) -> Vec<Value> {
    let all = data(body);
    let (done, chunks) = all.split_last().unwrap();
    assert_eq!(done, "[DONE]");
    chunks
        .iter()
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect()
}

fn said(body: &[u8]) -> String {
    let content = |chunk: &Value| {
        let text = chunk["choices"][0]["delta"]["content"].as_str();
        text.unwrap_or_default().to_owned()
    };
    chunks(body).iter().map(content).collect()
}

fn good() -> String {
    role() + &content(r#"{\"a\": "#) + &content("1}")
}

// --- the end of a stream -------------------------------------------------------------------------

#[tokio::test]
async fn a_stream_that_is_whole_gets_the_one_end_that_it_lacks() {
    let finish = event("{}", "\"stop\"");
    for tail in [
        finish.clone(),
        finish.clone() + "data: [DONE]",
        finish.clone() + "data:[DONE]\n",
        finish.clone() + "data:  [DONE] \n\n",
        finish.clone() + "data: [DONE]\r\n\r\n",
        finish.clone() + "data: [DONE]\n\ndata: [DONE]\n\n",
        finish + "data: [DONE]\n\n" + &content("more"),
        // No reason was given, but the server says that it is done.
        "data: [DONE]\n\n".to_owned(),
    ] {
        let body = streamed((good() + &tail).into_bytes()).await;
        assert_eq!(said(&body), r#"{"a": 1}"#, "{tail:?}");
        let finish = chunks(&body).pop().unwrap();
        assert_eq!(finish["id"], "c", "{tail:?}");
        assert_eq!(finish["choices"][0]["finish_reason"], "stop", "{tail:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_and_without_the_broken_event() {
    for tail in ["", "data: {\"id\":\"c\",\"choi", "data: {\"id\":\"c\"}\n"] {
        let body = streamed((good() + tail).into_bytes()).await;
        let (code, before) = error_event(&body);
        assert_eq!(code, "upstream_truncated", "{tail:?}");
        assert!(before.ends_with("\n\n"), "{before}");
    }
}

#[tokio::test]
async fn a_text_that_is_cut_by_the_token_limit_is_passed_on_as_cut() {
    let cut = r#"{\"a\": "#;
    let stream = role() + &content(cut) + &event("{}", "\"length\"") + "data: [DONE]\n\n";
    let body = streamed(stream.clone().into_bytes()).await;
    assert_eq!(said(&body), r#"{"a": "#);
    let reason = chunks(&body).pop().unwrap()["choices"][0]["finish_reason"].clone();
    assert_eq!(reason, "length");

    let whole = completion(cut).replace("\"stop\"", "\"length\"");
    let (_upstream, proxy) = upstream(move |got| {
        if find(&got.body, b"\"stream\":true").is_some() {
            vec![head(EVENTS), chunk(&stream), end()]
        } else {
            vec![reply(200, JSON, &whole)]
        }
    })
    .await;
    let choice = proxy.chat(&demand(false)).await.reply().await.json()["choices"][0].clone();
    assert_eq!(choice["message"]["content"], r#"{"a": "#);
    assert_eq!(choice["finish_reason"], "length");
    let choice = proxy.chat(&forced(false)).await.reply().await.json()["choices"][0].clone();
    let call = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(*call, json!({"name": "f", "arguments": r#"{"a": "#}));
    assert_eq!(choice["finish_reason"], "length");
    let body = body_of(&mut proxy.chat(&forced(true)).await).await;
    let reason = chunks(&body).pop().unwrap()["choices"][0]["finish_reason"].clone();
    assert_eq!(reason, "length");
}

// --- events --------------------------------------------------------------------------------------

#[tokio::test]
async fn every_framing_of_the_same_events_gives_the_same_stream() {
    let plain = good() + &last();
    let expected = streamed(plain.clone().into_bytes()).await;
    assert_eq!(said(&expected), r#"{"a": 1}"#);
    for framed in [
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        format!("\u{feff}{plain}"),
        plain.replace("\n\n", "\n\n: ping\n\n\n\n"),
        plain.replace("data: ", "id: 7\nretry: 1\nevent: message\ndata:"),
    ] {
        assert_eq!(
            streamed(framed.clone().into_bytes()).await,
            expected,
            "{framed:?}"
        );
    }
    let lines = plain.replace(",\"object\"", ",\ndata: \"object\"");
    assert_eq!(said(&streamed(lines.into_bytes()).await), r#"{"a": 1}"#);
    // One byte at a time, a character of several bytes among them.
    let steps: Vec<Step> = plain.bytes().map(|byte| send([byte])).collect();
    let head = format!(
        "HTTP/1.1 200 OK\r\n{EVENTS}content-length: {}\r\n\r\n",
        plain.len()
    );
    let (_upstream, proxy) = upstream(move |_got| {
        let mut all = vec![send(&head)];
        all.extend(steps.clone());
        all
    })
    .await;
    assert_eq!(
        body_of(&mut proxy.chat(&demand(true)).await).await,
        expected
    );
}

#[tokio::test]
async fn events_that_say_nothing_have_no_effect() {
    for odd in [
        "null",
        "[]",
        "7",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"x":{"y":1}}"#,
        r#"{"choices":null}"#,
    ] {
        let odd = format!("data: {odd}\n\n");
        let body = streamed((odd.clone() + &good() + &odd + &last()).into_bytes()).await;
        let text: String = data(&body)
            .iter()
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .filter_map(|chunk| {
                chunk["choices"][0]["delta"]["content"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(text, r#"{"a": 1}"#, "{odd}");
        assert!(body.ends_with(b"data: [DONE]\n\n"));
    }
}

#[tokio::test]
async fn an_event_that_is_no_json_ends_the_stream() {
    let (body, _) = after_the_start(vec![send("data: {oops\n\n".to_owned() + &last())]).await;
    assert_eq!(error_event(&body).0, "upstream_bad_reply");
    let (_upstream, proxy) =
        upstream(|_got| vec![head(EVENTS), chunk("data: {oops\n\n"), end()]).await;
    let reply = proxy.chat(&demand(true)).await.reply().await;
    assert_eq!(error(&reply), (502, "upstream_bad_reply".to_owned()));
}

/// A string may be anything here, so that what is replaced shows.
fn any_text(stream: bool) -> String {
    demand(stream).replace("\"integer\"", "\"string\"")
}

#[tokio::test]
async fn what_is_no_utf8_is_replaced_before_it_is_verified_and_sent() {
    let bad = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        let at = find(&bytes, b"!").unwrap();
        bytes.splice(at..=at, [0xff, 0xfe]);
        bytes
    };
    let stream = role() + &content(r#"{\"a\": \"x!\"}"#) + &last();
    for (whole, stream) in [
        (bad(&completion(r#"{\"a\": \"x!\"}"#)), bad(&stream)),
        // Half of a surrogate pair, as a token border within an emoji gives it.
        (
            completion(r#"{\"a\": \"x\ud83d\"}"#).into_bytes(),
            stream.replace('!', r"\ud83d").into_bytes(),
        ),
    ] {
        let (_upstream, proxy) = upstream(move |got| {
            let (kind, body) = if find(&got.body, b"\"stream\":true").is_some() {
                (EVENTS, &stream)
            } else {
                (JSON, &whole)
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\n{kind}content-length: {}\r\n\r\n",
                body.len()
            );
            vec![send(head), send(body)]
        })
        .await;
        let reply = proxy.chat(&any_text(false)).await.reply().await;
        let text = reply.json();
        let text = &text["choices"][0]["message"]["content"];
        let text = text.as_str().unwrap_or_else(|| panic!("{}", reply.text()));
        assert!(text.contains("x\u{fffd}"), "{text}");
        let body = body_of(&mut proxy.chat(&any_text(true)).await).await;
        assert!(said(&body).contains("x\u{fffd}"), "{}", said(&body));
    }
}

#[tokio::test]
async fn an_event_without_end_is_given_up_at_its_limit() {
    for line in [
        format!("data: {}", "x".repeat(5000)),
        format!(": {}", "x".repeat(5000)),
        "data: x\n".repeat(1000),
    ] {
        let line = Step::Repeat(line.into_bytes());
        let (body, mut upstream) = after_the_start(vec![line.clone()]).await;
        assert_eq!(error_event(&body).0, "upstream_too_large");
        // The connection is of no more use.
        upstream.hung_up().await;

        let mut upstream = Scripted::start(move |_got| {
            let head = send(format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\n"));
            vec![head, line.clone()]
        })
        .await;
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.limits.event_bytes = 4000
        })
        .await;
        let reply = proxy.chat(&demand(true)).await.reply().await;
        assert_eq!(error(&reply), (502, "upstream_too_large".to_owned()));
        upstream.hung_up().await;
    }
}

#[tokio::test]
async fn an_error_in_the_stream_is_given_in_the_clients_terms() {
    for (event, status, code) in [
        (
            r#"data: {"error":{"message":"boom","type":"x","code":"engine_dead"}}"#,
            502,
            "engine_dead",
        ),
        // The request's own fault is not worth asking again.
        (
            r#"data: {"error":{"message":"boom","type":"BadRequestError","code":400}}"#,
            400,
            "upstream_refused",
        ),
        (
            r#"data: {"object":"error","message":"boom","type":"x","code":500}"#,
            502,
            "upstream_error",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"boom\"}}",
            502,
            "upstream_error",
        ),
        ("event: error\n: \"boom\"", 502, "upstream_error"),
        (r#"data: {"error": "boom at "x""}"#, 502, "upstream_error"),
    ] {
        let event = format!("{event}\n\n");
        let rest = event.clone() + "data: [DONE]\n\n";
        let (body, _) = after_the_start(vec![send(rest)]).await;
        assert_eq!(error_event(&body).0, code, "{event}");
        assert!(find(&body, b"the server reported: boom").is_some());
        let (_upstream, proxy) =
            upstream(move |_got| vec![head(EVENTS), chunk(&event), end()]).await;
        let reply = proxy.chat(&demand(true)).await.reply().await;
        assert_eq!(error(&reply), (status, code.to_owned()));
    }
}

// --- another kind of body than was asked for -----------------------------------------------------

#[tokio::test]
async fn one_json_body_for_a_stream_becomes_a_stream() {
    let (_upstream, proxy) = upstream(|_got| {
        // In pieces, and without a content type.
        let body = completion(GOOD);
        let (start, rest) = body.split_at(40);
        vec![head(""), chunk(start), chunk(rest), end()]
    })
    .await;
    let mut client = proxy.chat(&demand(true)).await;
    let reply = client.reply().await;
    let content_type = reply.header("content-type");
    assert_eq!(content_type, Some("text/event-stream; charset=utf-8"));
    let all = chunks(&reply.body);
    assert_eq!(said(&reply.body), r#"{"a": 1}"#);
    assert_eq!(all[0]["object"], "chat.completion.chunk");
    assert_eq!(all[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(all[1]["choices"][0]["finish_reason"], "stop");
    assert!(all.iter().all(|chunk| chunk.get("usage").is_none()));

    let asked = forced(true).replace(
        "\"stream\":true",
        "\"stream\":true,\"stream_options\":{\"include_usage\":true}",
    );
    let reply = proxy.chat(&asked).await.reply().await;
    let all = chunks(&reply.body);
    let call = &all[0]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(call["index"], 0);
    assert_eq!(
        call["function"],
        json!({"name": "f", "arguments": "{\"a\": 1}"})
    );
    assert_eq!(all[1]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(all[2]["choices"], json!([]));
    assert_eq!(all[2]["usage"]["total_tokens"], 2);
    assert_eq!(all.len(), 3);
}

#[tokio::test]
async fn one_json_body_for_a_stream_is_verified_and_limited_like_any_other() {
    let (mut upstream, proxy) = upstream(bad_first(9, whole)).await;
    let reply = proxy.chat(&demand(true)).await.reply().await;
    assert_eq!(error(&reply), (502, "constraint_violated".to_owned()));
    assert_eq!(upstream.left(), 1);
    for (body, code) in [
        (r#"{"error":{"message":"boom"}}"#, "upstream_error"),
        (r#"{"detail":"boom"}"#, "upstream_error"),
        (r#"{"later":"boom"}"#, "upstream_bad_reply"),
        ("{\"choices\":", "upstream_bad_reply"),
        (&*completion(&"x".repeat(2000)), "upstream_too_large"),
    ] {
        let body = body.to_owned();
        let upstream = Scripted::start(move |_got| vec![reply_json(&body)]).await;
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.limits.reply_bytes = 1000
        })
        .await;
        let reply = proxy.chat(&demand(true)).await.reply().await;
        assert_eq!(error(&reply), (502, code.to_owned()));
    }
}

fn reply_json(body: &str) -> Step {
    reply(200, JSON, body)
}

#[tokio::test]
async fn a_page_in_place_of_a_reply_is_told_with_the_remedy() {
    for stream in [false, true] {
        let (_upstream, proxy) = upstream(|_got| {
            let html = "content-type: text/html; charset=utf-8\r\n";
            vec![reply(200, html, "<!doctype html><title>Sign in</title>")]
        })
        .await;
        let reply = proxy.chat(&demand(stream)).await.reply().await;
        assert_eq!(error(&reply), (502, "upstream_bad_reply".to_owned()));
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("check that the upstream URL"), "{message}");
        assert!(!message.contains("Sign in"), "{message}");
    }
}

// --- HTTP ----------------------------------------------------------------------------------------

#[tokio::test]
async fn informational_replies_are_skipped() {
    let (_upstream, proxy) = upstream(|_got| {
        let early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
        let first = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n{early}");
        vec![send(first), reply(200, JSON, &completion(GOOD))]
    })
    .await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("link"), None);
}

#[tokio::test]
async fn informational_replies_without_end_run_into_the_time_limit() {
    let mut upstream = Scripted::start(|_got| {
        vec![Step::Repeat(
            b"HTTP/1.1 103 X\r\nlink: </x>\r\n\r\n".to_vec(),
        )]
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.first_byte = Duration::from_millis(300);
    })
    .await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&reply), (504, "upstream_timeout".to_owned()));
    upstream.hung_up().await;
}

#[tokio::test]
async fn a_status_without_a_reply_is_502() {
    for status in [
        "204 No Content",
        "304 Not Modified",
        "101 Switching Protocols",
    ] {
        let head = format!("HTTP/1.1 {status}\r\n\r\n");
        let (_upstream, proxy) = upstream(move |_got| vec![send(&head), Step::Close]).await;
        let reply = proxy.chat(&demand(false)).await.reply().await;
        assert_eq!(
            error(&reply),
            (502, "upstream_bad_reply".to_owned()),
            "{status}"
        );
    }
}

#[tokio::test]
async fn heads_over_the_limit_or_out_of_shape_are_502() {
    for (headers, why) in [
        ("x: y\r\n".repeat(500), "too large"),
        (format!("x: {}\r\n", "y".repeat(1 << 20)), "too large"),
        ("x : y\r\n".to_owned(), "no HTTP"),
        ("x: a\0b\r\n".to_owned(), "no HTTP"),
        (
            "content-length: 1\r\ncontent-length: 2\r\n".to_owned(),
            "no HTTP",
        ),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}{JSON}\r\n");
        let upstream = Scripted::start(move |_got| vec![send(&head), Step::Close]).await;
        let tls = isogloss::config::UpstreamTls {
            ca: Some(Vec::new()),
            identity: None,
        };
        // It is spoken to in two ways: by the direct one, and by the one that certificates need.
        for tls in [isogloss::config::UpstreamTls::default(), tls] {
            let proxy =
                Proxy::with(&[&upstream.url()], |config| config.upstreams[0].tls = tls).await;
            proxy.until_upstream(0, "ready").await;
            let reply = proxy.chat(&demand(false)).await.reply().await;
            let shown = &headers[..headers.len().min(40)];
            assert_eq!(reply.status, 502, "{shown:?}");
            error(&reply);
            assert!(reply.text().contains(why), "{shown:?}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn headers_that_are_the_connections_own_or_lead_past_the_proxy_stay_behind() {
    let (_upstream, proxy) = upstream(|_got| {
        let headers = format!(
            "{JSON}server: uvicorn\r\nconnection: x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\nalt-svc: h3=\":443\"\r\nx-served-by: gpu-7\r\n"
        );
        vec![reply(200, &headers, &completion(GOOD))]
    })
    .await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(reply.status, 200);
    for name in ["server", "x-hop", "keep-alive", "alt-svc"] {
        assert_eq!(reply.header(name), None, "{name}");
    }
    assert_eq!(reply.header("x-served-by"), Some("gpu-7"));
}

#[tokio::test]
async fn a_date_in_retry_after_is_the_longest_wait() {
    let (_upstream, proxy) = upstream(|_got| {
        let headers = format!("{JSON}retry-after: Wed, 21 Oct 2099 07:28:00 GMT\r\n");
        vec![reply(429, &headers, r#"{"error":{"message":"slow down"}}"#)]
    })
    .await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&reply), (429, "upstream_rate_limited".to_owned()));
    assert_eq!(reply.header("retry-after"), Some("60"));
    proxy
        .until_metrics_say("outcome=\"upstream_limited\"} 1")
        .await;
}

#[tokio::test]
async fn a_busy_server_that_names_no_time_is_given_some() {
    for (status, wait) in [(503, Some("5")), (429, Some("5")), (500, None)] {
        let (_upstream, proxy) =
            upstream(move |_got| vec![reply(status, JSON, r#"{"error":{"message":"no"}}"#)]).await;
        let reply = proxy.chat(&demand(false)).await.reply().await;
        assert_eq!((reply.status, reply.header("retry-after")), (status, wait));
    }
}

#[tokio::test]
async fn what_clients_read_of_an_errors_head_is_told() {
    let (_upstream, proxy) = upstream(|_got| {
        let told = "retry-after-ms: 250\r\nx-should-retry: true\r\nrequest-id: req_1\r\n\
                    x-ratelimit-remaining-tokens: 0\r\nserver: other\r\nx-own: 1\r\n";
        vec![reply(
            429,
            &format!("{JSON}{told}"),
            r#"{"error":{"message":"slow down"}}"#,
        )]
    })
    .await;
    let reply = proxy.chat(&demand(true)).await.reply().await;
    assert_eq!(error(&reply), (429, "upstream_rate_limited".to_owned()));
    for (name, value) in [
        ("retry-after-ms", Some("250")),
        ("x-should-retry", Some("true")),
        ("request-id", Some("req_1")),
        ("x-ratelimit-remaining-tokens", Some("0")),
        ("server", None),
        ("x-own", None),
        ("content-type", Some("application/json")),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn clients_are_told_not_to_ask_again_for_what_was_asked_again_already() {
    let (_upstream, proxy) = upstream(|_got| whole("not at all")).await;
    let got = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&got), (502, "constraint_violated".to_owned()));
    assert_eq!(got.header("x-should-retry"), Some("false"));
    let (_upstream, proxy) = upstream(|_got| vec![reply(500, JSON, "{}")]).await;
    let got = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(got.header("x-should-retry"), None);
}

// --- streams that go through untouched -----------------------------------------------------------

const ANY: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn an_untouched_stream_whose_server_just_stops_ends_with_the_mark_where_the_answer_is_whole_and_else_with_an_error()
 {
    let whole = role() + &content("fine") + &last();
    let unmarked = whole.replace("data: [DONE]\n\n", "");
    let unfinished = role() + &content("fi");
    let error =
        unfinished.clone() + "data: {\"error\":{\"message\":\"engine dead\",\"code\":500}}\n\n";
    for (sent, got) in [
        (whole.clone(), whole.clone()),
        (unmarked.clone(), whole.clone()),
        (unmarked.trim_end().to_owned(), whole),
        (error.clone(), error),
        (unfinished, role() + &content("fi") + "data: {\"error\":"),
    ] {
        let said = sent.clone();
        let (_upstream, proxy) =
            upstream(move |_got| vec![head(EVENTS), chunk(&said), end()]).await;
        let reply = proxy.chat(ANY).await.reply().await;
        let is_cut = reply.text().contains("upstream_truncated");
        assert_eq!(is_cut, got.ends_with("\"error\":"), "{sent:?}");
        match is_cut {
            true => assert!(reply.text().starts_with(&got), "{}", reply.text()),
            false => assert_eq!(reply.text(), got, "{sent:?}"),
        }
    }
}

#[tokio::test]
async fn an_untouched_stream_that_breaks_off_ends_with_an_error_event() {
    let whole_one = "data: {\"choices\":[]}\n\n";
    let (_upstream, proxy) = upstream(move |_got| {
        let half = chunk("data: {\"choices\":[],\"half\":");
        vec![head(EVENTS), chunk(whole_one), half, Step::Close]
    })
    .await;
    let got = proxy.chat(ANY).await.reply().await;
    assert_eq!(got.header("x-isogloss-strategy"), Some("passthrough"));
    let text = got.text();
    assert!(text.starts_with(whole_one), "{text}");
    assert!(!text.contains("half"), "{text}");
    let last = text.trim_end().rsplit("\n\n").next().unwrap();
    let error: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(error["error"]["code"], "upstream_truncated");
    proxy
        .until_metrics_say("outcome=\"upstream_error\"} 1")
        .await;
}

#[tokio::test]
async fn an_untouched_stream_that_breaks_off_in_an_event_too_long_to_hold_ends_with_an_error() {
    let long = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}",
        "x".repeat(9000)
    );
    for (rest, is_cut) in [("", true), ("\"}}]}\n\ndata: [DONE]\n\n", false)] {
        let (begun, rest_of_it) = (long.clone(), chunk(rest));
        let upstream = Scripted::start(move |_got| {
            // Each comes by itself.
            let pause = Step::Wait(Duration::from_millis(100));
            let mut steps = vec![head(EVENTS), chunk(&role()), pause.clone()];
            steps.extend([chunk(&begun), pause]);
            steps.extend((!is_cut).then(|| rest_of_it.clone()));
            steps.push(end());
            steps
        })
        .await;
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.limits.event_bytes = 4000
        })
        .await;
        let got = proxy.chat(ANY).await.reply().await;
        let text = got.text();
        assert!(text.contains(&long), "{text}");
        assert_eq!(text.contains("upstream_truncated"), is_cut, "{text}");
    }
}

#[tokio::test]
async fn an_untouched_stream_is_the_servers_own_byte_for_byte() {
    let pieces = [
        ": ping\n\nda",
        "ta: 1\r\n",
        "\r\ndata: 2\n\n",
        "data: [DONE]",
    ];
    let (_upstream, proxy) = upstream(move |_got| {
        let mut steps = vec![head(EVENTS)];
        steps.extend(pieces.map(chunk));
        steps.push(end());
        steps
    })
    .await;
    let got = proxy.chat(ANY).await.reply().await;
    assert_eq!(got.text(), pieces.concat());
}

#[tokio::test]
async fn a_client_that_closes_when_it_has_read_done_got_everything() {
    for stream in [ANY.to_owned(), demand(true)] {
        let (_upstream, proxy) = upstream(|_got| {
            let event = |content: &str| {
                format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}},\"finish_reason\":\"stop\"}}]}}\n\n")
            };
            let said = chunk(&event(GOOD));
            vec![head(EVENTS), said, chunk("data: [DONE]\n\n"), Step::Hang]
        })
        .await;
        let mut client = proxy.chat(&stream).await;
        client.until("data: [DONE]\n\n").await;
        drop(client);
        proxy.until_metrics_say("outcome=\"ok\"} 1").await;
    }
}

/// A chat with an image of so many bytes.
fn with_image(bytes: usize) -> String {
    let url = format!("data:image/png;base64,{}", "A".repeat(bytes));
    let content = json!([{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]);
    demand(false).replace("\"hi\"", &content.to_string())
}

#[tokio::test]
async fn an_image_of_tens_of_megabytes_passes() {
    let (mut upstream, proxy) = upstream(|_got| whole(GOOD)).await;
    let body = with_image(31 << 20);
    let reply: Reply = proxy.chat(&body).await.reply().await;
    assert_eq!(reply.status, 200);
    let got = upstream.next().await;
    assert!(got.body.len() > 31 << 20);
    assert!(find(&got.body, b"what is it?").is_some());
}

// --- calls ---------------------------------------------------------------------------------------

/// A whole reply with these calls.
fn calling(names: impl Iterator<Item = &'static str>) -> Step {
    let call = |(nth, name)| json!({"id": format!("call_{nth}"), "type": "function", "function": {"name": name, "arguments": "{\"a\": 1}"}});
    let calls: Vec<Value> = names.enumerate().map(call).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    reply(200, JSON, &body.to_string())
}

#[tokio::test]
async fn calls_that_may_not_be_made_are_refused_and_so_are_calls_without_number() {
    let auto = forced(false).replace("\"required\"", "\"auto\"");
    assert_ne!(auto, forced(false));
    for (answer, status) in [
        (calling(["f"].into_iter()), 200),
        (calling(["g"].into_iter()), 502),
        (calling(["f", "g"].into_iter()), 502),
        (calling(std::iter::repeat_n("f", 128)), 200),
        (calling(std::iter::repeat_n("f", 129)), 502),
    ] {
        let (_upstream, proxy) = upstream(move |_got| vec![answer.clone()]).await;
        let reply = proxy.chat(&auto).await.reply().await;
        assert_eq!(reply.status, status, "{}", reply.text());
        if status == 502 {
            assert_eq!(error(&reply).1, "constraint_violated");
        }
    }
}

#[tokio::test]
async fn a_demanded_call_that_is_not_made_is_a_violation() {
    for stream in [false, true] {
        let (_upstream, proxy) = upstream(|got| {
            if find(&got.body, b"\"stream\":true").is_some() {
                vec![
                    head(EVENTS),
                    chunk(&(content("I would rather talk.") + &last())),
                    end(),
                ]
            } else {
                whole("I would rather talk.")
            }
        })
        .await;
        let reply = proxy.chat(&forced(stream)).await.reply().await;
        assert_eq!(error(&reply), (502, "constraint_violated".to_owned()));
    }
}

#[tokio::test]
async fn markup_within_arguments_stays_what_it_is() {
    let odd = r#"{\"a\": 1, \"b\": \"</tool_call> [TOOL_CALLS] data: [DONE] ``` <think>\\n\\n\"}"#;
    let expected: String = serde_json::from_str(&format!("\"{odd}\"")).unwrap();
    let (_upstream, proxy) = upstream(move |got| {
        if find(&got.body, b"\"stream\":true").is_some() {
            vec![
                head(EVENTS),
                chunk(&(role() + &content(odd) + &last())),
                end(),
            ]
        } else {
            whole(odd)
        }
    })
    .await;
    let reply = proxy.chat(&forced(false)).await.reply().await.json();
    let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["arguments"], expected);
    let body = body_of(&mut proxy.chat(&forced(true)).await).await;
    let arguments: String = chunks(&body)
        .iter()
        .filter_map(|chunk| {
            let calls = &chunk["choices"][0]["delta"]["tool_calls"];
            calls[0]["function"]["arguments"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(arguments, expected);
}
