//! What goes past the translation: refused where it demands what nobody would verify, forwarded
//! byte for byte where it demands nothing.

use super::proxy::{Proxy, Reply, post};
use isogloss::config::{Secret, Unverified};
use isogloss_testing::scripted::{Got, Scripted, Step, chunk, end, find, head, reply};

const KEY: &str = "sk-<operators>/own\"key";

/// A server that answers whatever it is asked.
async fn upstream(script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static) -> (Scripted, Proxy) {
    let upstream = Scripted::start(script).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

fn ok(_got: &Got) -> Vec<Step> {
    vec![reply(
        200,
        "x-isogloss-strategy: native\r\nalt-svc: h3=\":1\"\r\n",
        "ok",
    )]
}

fn chat(_got: &Got) -> Vec<Step> {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"42"},"finish_reason":"stop"}]}"#;
    vec![reply(200, "content-type: application/json\r\n", body)]
}

async fn asked(proxy: &Proxy, path: &str, body: &str) -> Reply {
    proxy.send(post(path, body)).await.reply().await
}

#[tokio::test]
async fn a_disguised_chat_route_is_translated_and_asked_at_the_plain_one() {
    let (mut upstream, proxy) = upstream(chat).await;
    let body =
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"guided_regex":"[0-9]+"}"#;
    for path in [
        "/v1/chat/complet%69ons",
        "//v1/chat/completions",
        "/v1/chat/completions/",
        "/v1/chat/completions;a=b",
        "/V1/chat/COMPLETIONS",
    ] {
        let reply = asked(&proxy, path, body).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(
            reply.header("x-isogloss-strategy"),
            Some("native"),
            "{path}"
        );
        assert_eq!(
            upstream.next().await.target,
            "/v1/chat/completions",
            "{path}"
        );
        let broken = body.replace("[0-9]", "[a-z]");
        assert_eq!(asked(&proxy, path, &broken).await.status, 502, "{path}");
        upstream.next().await;
    }
}

#[tokio::test]
async fn a_chat_route_under_another_prefix_is_refused_before_anything_is_sent() {
    let (mut upstream, proxy) = upstream(ok).await;
    for path in [
        "/gateway/v1/chat/completions",
        "/gateway/deployments/x/chat/completions",
    ] {
        let reply = asked(&proxy, path, "{}").await;
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.json()["error"]["code"], "unverified_route", "{path}");
    }
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_demand_on_a_route_that_is_not_translated_is_refused_by_name_in_the_routes_own_shape() {
    let (mut upstream, proxy) = upstream(ok).await;
    for (path, body, place) in [
        (
            "/completion",
            r#"{"prompt":"p","guided_json":{}}"#,
            "/error/message",
        ),
        (
            "/generate",
            r#"{"text":"p","sampling_params":{"regex":"a"}}"#,
            "/error/message",
        ),
        (
            "/v1/messages/batches",
            r#"{"requests":[{"params":{"messages":[],"tool_choice":{"type":"any"}}}]}"#,
            "/error/message",
        ),
        (
            "/v1beta/models/g:batchGenerateContent",
            r#"{"generationConfig":{"responseSchema":{}}}"#,
            "/error/message",
        ),
        (
            "/api/complete",
            r#"{"messages":[],"format":"json"}"#,
            "/error",
        ),
        (
            "/a/route/of/tomorrow",
            r#"[{"response_format":{"type":"json_object"}}]"#,
            "/error/message",
        ),
    ] {
        let reply = asked(&proxy, path, body).await;
        assert_eq!(reply.status, 400, "{path}");
        let json = reply.json();
        let message = json.pointer(place).and_then(|message| message.as_str());
        let message = message.unwrap_or_else(|| panic!("{path}: {json}"));
        assert!(
            message.contains("/v1/chat/completions"),
            "{path}: {message}"
        );
    }
    assert_eq!(upstream.left(), 0);
    proxy
        .until_metrics_say("strategy=\"passthrough\",outcome=\"client_error\"} 6")
        .await;
}

#[tokio::test]
async fn a_demand_is_found_whatever_the_body_is_said_to_be() {
    let (mut upstream, proxy) = upstream(ok).await;
    let body = r#"  {"format":"json"}"#;
    for said in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/octet-stream\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: multipart/form-data; boundary=x\r\n",
    ] {
        let length = body.len();
        let request = format!(
            "POST /api/complete HTTP/1.1\r\nhost: p\r\n{said}content-length: {length}\r\n\r\n{body}"
        );
        assert_eq!(
            proxy.send(request).await.reply().await.status,
            400,
            "{said}"
        );
    }
    // In pieces, and in no encoding that the proxy reads.
    let mut client = proxy
        .send(
            "PUT /api/complete HTTP/1.1\r\nhost: p\r\ntransfer-encoding: chunked\r\n\r\n1\r\n \r\n",
        )
        .await;
    client.send("6\r\n{\"form\r\n").await;
    client.send("b\r\nat\":\"json\"}\r\n0\r\n\r\n").await;
    assert_eq!(client.reply().await.status, 400);
    for body in ["{\"format\":\"json\"", "\u{feff}{\"format\":\"json\"}"] {
        let reply = asked(&proxy, "/api/complete", body).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains("is none"), "{}", reply.text());
    }
    let gzip = "POST /api/complete HTTP/1.1\r\nhost: p\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc";
    assert_eq!(proxy.send(gzip).await.reply().await.status, 415);
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn what_demands_nothing_or_does_not_generate_goes_on_byte_for_byte() {
    let (mut upstream, proxy) = upstream(ok).await;
    for (path, body) in [
        (
            "/completion",
            "{ \"prompt\" :\r\n\"p\", \"guided_json\":null, \"temperature\": 1e999 }",
        ),
        (
            "/v1/messages/batches",
            r#"{"messages":[],"tools":[{"name":"f"}],"tool_choice":{"type":"auto"}}"#,
        ),
        ("/v1/embeddings", r#"{"input":"p","format":"json"}"#),
        ("/x", "a=b&format=json"),
        ("/x", "\"{\""),
    ] {
        let answer = asked(&proxy, path, body).await;
        assert_eq!((answer.status, answer.text()), (200, "ok"), "{path}");
        assert_eq!(answer.header("x-isogloss-strategy"), None, "{path}");
        assert_eq!(answer.header("alt-svc"), None, "{path}");
        let got = upstream.next().await;
        assert_eq!(
            (got.target.as_str(), got.body.as_slice()),
            (path, body.as_bytes())
        );
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_streams_through() {
    let (mut upstream, proxy) =
        upstream(|_got| vec![head(""), chunk("one"), Step::WaitForGo, end()]).await;
    let mut client = proxy
        .send("POST /v1/anything HTTP/1.1\r\nhost: p\r\ntransfer-encoding: chunked\r\n\r\n3\r\n--b\r\n")
        .await;
    client.send("3\r\n{}\n\r\n0\r\n\r\n").await;
    assert_eq!(upstream.next().await.body, b"--b{}\n");
    client.until("one").await;
    upstream.go();
}

#[tokio::test]
async fn the_operator_may_have_demands_forwarded_and_they_are_told_apart() {
    let mut upstream = Scripted::start(ok).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.unverified = Unverified::Forward;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let body = r#"{"prompt":"p","guided_json":{}}"#;
    for path in ["/completion", "/gateway/v1/chat/completions"] {
        let reply = asked(&proxy, path, body).await;
        assert_eq!((reply.status, reply.text()), (200, "ok"));
        assert_eq!(
            reply.header("x-isogloss-strategy"),
            Some("unverified"),
            "{path}"
        );
        let got = upstream.next().await;
        assert_eq!(
            (got.target.as_str(), got.body.as_slice()),
            (path, body.as_bytes())
        );
    }
    let plain = asked(&proxy, "/completion", r#"{"prompt":"p"}"#).await;
    assert_eq!(plain.header("x-isogloss-strategy"), None);
    proxy
        .until_metrics_say("strategy=\"unverified\",outcome=\"ok\"} 2")
        .await;
}

#[tokio::test]
async fn a_client_cannot_speak_in_the_proxys_name() {
    let (mut upstream, proxy) = upstream(ok).await;
    proxy
        .send("GET /x HTTP/1.1\r\nhost: p\r\nx-isogloss-strategy: native\r\nx-other: 1\r\n\r\n")
        .await
        .reply()
        .await;
    let got = upstream.next().await;
    assert_eq!(got.header("x-isogloss-strategy"), None);
    assert_eq!(got.header("x-other"), Some("1"));
}

// --- the operator's key --------------------------------------------------------------------------

/// A server that shows what it was sent, in every spelling that JSON has for it.
fn shows_the_key(got: &Got) -> Vec<Step> {
    let key = got.header("authorization").unwrap_or_default().to_owned();
    let escaped = key
        .replace('"', "\\\"")
        .replace('<', "\\u003c")
        .replace('/', "\\/");
    let body = format!(r#"{{"error":{{"message":"bad key: {escaped}","code":"{escaped}"}}}}"#);
    let status = if got.target.contains("fine") {
        200
    } else {
        401
    };
    let shown = format!("content-type: application/json\r\nx-key: {key}\r\n");
    vec![reply(status, &shown, &body)]
}

#[tokio::test]
async fn a_key_that_only_the_operator_knows_is_in_no_error() {
    let upstream = Scripted::start(shows_the_key).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.upstreams[0].api_key = Some(Secret::new(KEY.to_owned()));
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    for (path, body) in [
        ("/v1/chat/completions", chat),
        ("/v1/other", "{}"),
        ("/v1/other", "--x"),
    ] {
        let reply = asked(&proxy, path, body).await;
        assert_eq!(reply.status, 401, "{path}");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("bad key: Bearer [redacted]"), "{message}");
        let all = format!("{}{}", reply.head, reply.text());
        assert!(find(all.as_bytes(), b"operators").is_none(), "{all}");
    }
    // What succeeds is not read.
    let fine = asked(&proxy, "/v1/fine", "{}").await;
    assert!(fine.text().contains("operators"));
}

#[tokio::test]
async fn a_key_of_the_operators_that_is_refused_is_no_clients_where_requests_are_only_forwarded() {
    const WRONG: &str = r#"{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    let json = "content-type: application/json\r\n";
    let upstream = Scripted::start(move |_got| vec![reply(401, json, WRONG)]).await;
    for (key, code) in [(Some(KEY), "upstream_auth"), (None, "invalid_api_key")] {
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.upstreams[0].api_key = key.map(|key| Secret::new(key.to_owned()));
        })
        .await;
        proxy.until_upstream(0, "ready").await;
        for path in ["/v1/embeddings", "/v1/audio/speech"] {
            let told = asked(&proxy, path, r#"{"model":"m","input":"hi"}"#).await;
            assert_eq!(told.status, 401, "{path}");
            let error = &told.json()["error"];
            assert_eq!(error["code"], code, "{path}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("Incorrect API key provided."), "{message}");
        }
    }
}

#[tokio::test]
async fn a_route_under_a_vendors_prefix_is_translated_as_well() {
    let (mut upstream, proxy) = upstream(chat).await;
    for path in [
        "/openai/v1/chat/completions",
        "/openai/deployments/m/chat/completions?api-version=2025-01-01",
        "/v1beta/openai/chat/completions",
    ] {
        let asked = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"integer"}}}}"#;
        let answer = proxy.send(post(path, asked)).await.reply().await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(answer.header("x-isogloss-strategy").is_some(), "{path}");
        let target = upstream.next().await.target;
        assert_eq!(target.split('?').next(), Some("/v1/chat/completions"));
    }
    // Who names the model in the path need not name it again.
    let path = "/openai/deployments/org%2Fm/chat/completions?api-version=2024-10-21";
    let asked = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(
        proxy.send(post(path, asked)).await.reply().await.status,
        200
    );
    let sent: serde_json::Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
    assert_eq!(sent["model"], "org/m");
}

/// Anthropic's SDKs follow `results_url` as it stands.
#[tokio::test]
async fn a_batch_leads_to_its_results_through_the_proxy() {
    let batch = |_got: &Got| {
        let body =
            r#"{"id":"b","results_url":"https://api.anthropic.com/v1/messages/batches/b/results"}"#;
        vec![reply(200, "content-type: application/json\r\n", body)]
    };
    let upstream = Scripted::start(batch).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.forward = isogloss_core::passage::Forward::parse("/v1/messages/batches/*").unwrap();
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let asked = "GET /v1/messages/batches/b HTTP/1.1\r\nhost: proxy\r\n\r\n";
    let reply = proxy.send(asked.to_owned()).await.reply().await;
    assert_eq!(
        reply.text(),
        r#"{"id":"b","results_url":"/v1/messages/batches/b/results"}"#
    );
}
