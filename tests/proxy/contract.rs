//! The proxy on loopback against a scripted upstream: what holds for every request, whatever
//! dialect is spoken.

mod passage;

use crate::support::chat::{JSON, PLAIN, completion};
use crate::support::proxy;
use isogloss::upstream::Proof;
use isogloss_testing::scripted;
use proxy::{Proxy, post};
use scripted::{PATIENCE, Scripted, Step, chunk, end, head, reply, send};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt;

const SECOND: Duration = Duration::from_secs(1);

fn nowhere() -> String {
    // Bound and dropped: nothing listens there any more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

// --- pass-through --------------------------------------------------------------------------------

#[tokio::test]
async fn an_unknown_route_passes_through_byte_for_byte() {
    let odd = "{ \"a\" : 1e999,\r\n\t\"a\":\"\\ud83d\" }";
    let mut upstream = Scripted::start(|_got| {
        vec![reply(
            418,
            "x-own: 1\r\nserver: tea\r\nconnection: x-hop\r\nx-hop: 1\r\ncontent-type: text/odd\r\n",
            "\u{0}short and \r\n stout",
        )]
    })
    .await;
    let proxy = Proxy::start(&upstream.url()).await;
    let request = post("/v1/emb%20eddings/?b=2&a=%7B1%7D&&", odd);
    let request = request.replace("host: proxy\r\n", "host: proxy\r\nX-Own: Äö\r\nAuthorization: Bearer k\r\nconnection: keep-alive, x-gone\r\nx-gone: 1\r\n");
    let got_reply = proxy.send(&request).await.reply().await;
    let got = upstream.next().await;
    assert_eq!(got.method, "POST");
    assert_eq!(got.target, "/v1/emb%20eddings/?b=2&a=%7B1%7D&&");
    assert_eq!(got.body, odd.as_bytes());
    assert_eq!(got.header("authorization"), Some("Bearer k"));
    assert_eq!(got.header("x-own"), Some("Äö"));
    assert_eq!(got.header("content-length"), Some("31"));
    assert_eq!(got.header("x-gone"), None);
    assert_eq!(
        got.header("host"),
        Some(upstream.address.to_string().as_str())
    );
    assert_eq!(got_reply.status, 418);
    assert_eq!(got_reply.text(), "\u{0}short and \r\n stout");
    assert_eq!(got_reply.header("server"), Some("tea"));
    assert_eq!(got_reply.header("x-own"), Some("1"));
    assert_eq!(got_reply.header("x-hop"), None);
    assert_eq!(got_reply.header("content-type"), Some("text/odd"));
}

#[tokio::test]
async fn every_reply_has_a_request_id_of_our_own() {
    let upstream = Scripted::start(|_got| vec![reply(200, "x-request-id: theirs\r\n", "")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let mut client = proxy
        .send("GET /x HTTP/1.1\r\nhost: p\r\nx-request-id: mine\r\n\r\n")
        .await;
    let reply = client.reply().await;
    let id = reply.header("x-request-id").unwrap();
    assert_eq!(id.len(), 32);
    assert_eq!(reply.header("x-isogloss-request-id"), Some(id));
    assert_eq!(
        reply.header("x-isogloss-upstream-request-id"),
        Some("theirs")
    );
}

/// Anthropic's SDKs read `request-id`, off replies and errors.
#[tokio::test]
async fn clients_of_messages_find_the_id_where_their_sdks_look() {
    let completion = completion("fine");
    let upstream = Scripted::start(move |_got| vec![reply(200, JSON, &completion)]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    let asked = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    for (body, status) in [(asked, 200), ("{", 400)] {
        let told = proxy.send(post("/v1/messages", body)).await.reply().await;
        assert_eq!(told.status, status, "{}", told.text());
        let id = told.header("x-isogloss-request-id");
        assert!(id.is_some());
        assert_eq!(told.header("request-id"), id);
    }
    let told = proxy.chat(PLAIN).await.reply().await;
    assert_eq!(told.header("request-id"), None);
}

#[tokio::test]
async fn a_server_gets_our_id_in_place_of_the_clients_with_what_is_translated() {
    let mut upstream = Scripted::start(|_got| vec![reply(400, "", "no")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    for (path, is_translated) in [("/v1/chat/completions", true), ("/v1/x", false)] {
        for own in ["", "x-request-id: mine\r\n"] {
            let request =
                post(path, chat).replace("host: proxy\r\n", &format!("host: proxy\r\n{own}"));
            let told = proxy.send(request).await.reply().await;
            let got = upstream.next().await;
            let expected = match is_translated || own.is_empty() {
                true => told.header("x-isogloss-request-id"),
                false => Some("mine"),
            };
            assert_eq!(got.header("x-request-id"), expected, "{path} {own}");
        }
    }
}

#[tokio::test]
async fn a_request_without_a_body_is_sent_without_one() {
    let mut upstream = Scripted::start(|_got| vec![reply(200, "", "ok")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    for method in ["GET", "DELETE", "OPTIONS"] {
        let request = format!("{method} /v1/files/1 HTTP/1.1\r\nhost: p\r\n\r\n");
        assert_eq!(proxy.send(request).await.reply().await.text(), "ok");
        let got = upstream.next().await;
        assert_eq!(got.method, method);
        assert_eq!(got.header("transfer-encoding"), None);
        assert_eq!(got.header("content-length"), None);
    }
}

#[tokio::test]
async fn a_reply_to_head_has_no_body_and_is_counted_as_answered() {
    let upstream =
        Scripted::start(|_got| vec![send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let mut client = proxy.send("HEAD /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
    let head = client.until("\r\n\r\n").await;
    assert!(head.starts_with(b"HTTP/1.1 200"));
    proxy.until_metrics_say("outcome=\"ok\"} 1").await;
}

#[tokio::test]
async fn both_bodies_stream_through() {
    let mut upstream =
        Scripted::start(|_got| vec![head(""), chunk("one"), Step::WaitForGo, chunk("two"), end()])
            .await;
    let proxy = Proxy::start(&upstream.url()).await;
    let mut client = proxy
        .send("POST /x HTTP/1.1\r\nhost: p\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        .await;
    client.send("0\r\n\r\n").await;
    assert_eq!(upstream.next().await.body, b"abc");
    let first = client.until("one").await;
    assert!(scripted::find(&first, b"two").is_none());
    upstream.go();
    client.until("two\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn the_upstream_url_may_have_a_base_path_and_may_end_in_v1() {
    let mut upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    for (base, target) in [("/v1", "/v1/x"), ("/v1/", "/v1/x"), ("/base", "/base/v1/x")] {
        let proxy = Proxy::start(&format!("{}{base}", upstream.url())).await;
        let request = "GET /v1/x HTTP/1.1\r\nhost: p\r\nx-test: 1\r\n\r\n";
        assert_eq!(proxy.send(request).await.reply().await.status, 200);
        let got = loop {
            let got = upstream.next().await;
            if got.header("x-test").is_some() {
                break got;
            }
        };
        assert_eq!(got.target, target);
    }
}

#[tokio::test]
async fn http2_with_prior_knowledge_is_served() {
    let upstream = Scripted::start(|got| vec![reply(200, "", &got.target)]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .no_proxy();
    let client = client.tls_certs_only([]).build().unwrap();
    let (one, two) = tokio::join!(
        client.get(proxy.url("/one")).send(),
        client.get(proxy.url("/two")).send(),
    );
    for (response, body) in [(one.unwrap(), "/one"), (two.unwrap(), "/two")] {
        assert_eq!(response.version(), http::Version::HTTP_2);
        assert!(response.headers().contains_key("x-request-id"));
        assert_eq!(response.text().await.unwrap(), body);
    }
}

#[tokio::test]
async fn a_pass_through_reply_that_is_cut_ends_as_a_cut() {
    let upstream = Scripted::start(|_got| vec![head(""), chunk("one"), Step::Close]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let mut client = proxy.send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
    let all = client.rest().await;
    assert!(scripted::find(&all, b"one").is_some());
    assert!(scripted::find(&all, b"0\r\n\r\n").is_none());
    proxy
        .until_metrics_say("outcome=\"upstream_error\"} 1")
        .await;
}

// --- credentials ---------------------------------------------------------------------------------

#[tokio::test]
async fn an_upstream_key_replaces_the_clients_credentials() {
    let mut upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        let key = isogloss::config::Secret::new("server-key".to_owned());
        config.upstreams[0].api_key = Some(key);
    })
    .await;
    let request = "GET /x HTTP/1.1\r\nhost: p\r\nauthorization: Bearer client\r\nx-api-key: client\r\ncookie: client\r\n\r\n";
    proxy.send(request).await.reply().await;
    let got = upstream.next().await;
    assert_eq!(got.header("authorization"), Some("Bearer server-key"));
    assert!(!format!("{:?}", got.headers).contains("client"));
}

#[tokio::test]
async fn a_key_that_is_refused_whatever_is_asked_keeps_a_new_proxy_unready_and_is_no_clients() {
    const WRONG: &str = r#"{"error":{"message":"Incorrect API key.","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let json = "content-type: application/json\r\n";
    let upstream = Scripted::start(move |_got| vec![reply(401, json, WRONG)]).await;
    upstream.answer_by_script();
    for (key, is_proven, code, outcome) in [
        (Some("wrong"), false, "upstream_auth", "upstream_error"),
        (None, true, "invalid_api_key", "client_error"),
    ] {
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            let key = key.map(|key| isogloss::config::Secret::new(key.to_owned()));
            config.upstreams[0].api_key = key;
        })
        .await;
        proxy.until_upstream(0, "ready").await;
        let refused = proxy.upstream(0).refused().map(|refused| refused.status);
        assert_eq!(refused, key.map(|_| 401));
        assert_eq!(proxy.app.upstreams().is_proven(), is_proven);
        let mut client = proxy.send(post("/v1/chat/completions", chat)).await;
        let told = client.reply().await;
        assert_eq!(told.status, 401);
        let error = &told.json()["error"];
        assert_eq!(error["code"], code);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("Incorrect API key."), "{message}");
        // Whoever showed it can mend it.
        let counted = format!("outcome=\"{outcome}\"}} 1");
        proxy.until_metrics_say(&counted).await;
    }
}

#[tokio::test]
async fn a_key_that_lists_no_models_but_is_asked_with_is_told_and_keeps_nobody_unready() {
    // As vLLM does: what is below /v1 wants the key, and the rest tells who it is.
    let json = "content-type: application/json\r\n";
    let upstream = Scripted::start(move |got| match got.target.as_str() {
        "/version" => vec![reply(200, json, r#"{"version":"0.12.0"}"#)],
        _ => vec![reply(401, json, r#"{"error":"Unauthorized"}"#)],
    })
    .await;
    upstream.answer_by_script();
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.upstreams[0].api_key = Some(isogloss::config::Secret::new("wrong".to_owned()));
        config.probe = isogloss_core::probe::Depth::Light;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let told = async {
        while proxy.upstream(0).refused().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap();
    let refused = proxy.upstream(0).refused().unwrap();
    assert_eq!((refused.status, refused.always), (401, false));
}

#[tokio::test]
async fn a_key_that_serves_is_good_though_it_may_not_list_models() {
    const UNKNOWN: &str = r#"{"error":"Unauthorized"}"#;
    const LIMITED: &str = r#"{"error":{"message":"You have insufficient permissions for this operation. Missing scopes: api.model.read.","type":"invalid_request_error","code":null}}"#;
    for (words, proof) in [(UNKNOWN, Proof::KeyRefused), (LIMITED, Proof::NotAsked)] {
        let is_revoked = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&is_revoked);
        let mut upstream = Scripted::start(move |got| match got.method.as_str() {
            "POST" if !is_over.load(Ordering::SeqCst) => {
                vec![reply(200, JSON, &completion("hi"))]
            }
            "POST" => vec![reply(401, JSON, UNKNOWN)],
            _ => vec![reply(401, JSON, words)],
        })
        .await;
        upstream.answer_by_script();
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            let one = &mut config.upstreams[0];
            one.api_key = Some(isogloss::config::Secret::new("restricted".to_owned()));
            one.dialect = isogloss::config::DialectPin::parse("openai@1");
            config.probe = isogloss_core::probe::Depth::Light;
        })
        .await;
        until(|| proxy.upstream(0).proof() != Proof::Asking).await;
        assert_eq!(proxy.upstream(0).proof(), proof, "{words}");
        assert_eq!(proxy.chat(PLAIN).await.reply().await.status, 200);
        while upstream.next().await.method == "GET" {}
        assert_eq!(proxy.upstream(0).proof(), Proof::NotAsked, "{words}");
        assert_eq!(proxy.upstream(0).refused(), None, "{words}");
        // What it is refused afterwards is what it was refused before: the list is asked for twice, one after the other.
        proxy.upstream(0).doubt();
        for _ in 0..2 {
            assert_eq!(upstream.next().await.method, "GET");
        }
        assert_eq!(proxy.upstream(0).refused(), None, "{words}");
        // Until clients are refused, too.
        is_revoked.store(true, Ordering::SeqCst);
        assert_eq!(proxy.chat(PLAIN).await.reply().await.status, 401);
        proxy.upstream(0).doubt();
        until(|| proxy.upstream(0).proof() == proof).await;
    }
}

async fn until(holds: impl Fn() -> bool) {
    let held = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let held = tokio::time::timeout(PATIENCE, held).await;
    assert!(held.is_ok(), "it never holds");
}

// --- reaching the upstream -----------------------------------------------------------------------

#[tokio::test]
async fn a_refused_connection_is_502_upstream_unreachable() {
    let proxy = Proxy::start(&nowhere()).await;
    let reply = proxy
        .send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n")
        .await
        .reply()
        .await;
    assert_eq!(reply.status, 502);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert!(reply.header("x-request-id").is_some());
    assert!(reply.header("retry-after").is_some());
    proxy
        .until_metrics_say("isogloss_upstream_errors_total{code=\"upstream_unreachable\"} 1")
        .await;
}

#[tokio::test]
async fn a_server_without_tls_is_502_at_once_and_never_spoken_to_in_plain_text() {
    let mut upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let url = upstream.url().replace("http://", "https://");
    let proxy = Proxy::with(&[&url], |config| config.timeouts.loading = 6 * SECOND).await;
    for path in ["/x", "/v1/chat/completions"] {
        let reply = proxy.send(post(path, "{}")).await.reply().await;
        assert!(reply.status >= 500, "{path}");
    }
    proxy.until_upstream(0, "down").await;
    let status = &proxy.app.upstreams().status()[0];
    assert_eq!(status.reason.as_deref(), Some("the TLS handshake failed"));
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_server_that_ends_the_handshake_is_told_from_one_that_is_not_there() {
    for resets in [true, false] {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                // All of it: what is left unread would make a reset of every close.
                let _ = stream.read(&mut [0; 4096]).await;
                if resets {
                    scripted::socket_reset(&stream);
                }
            }
        });
        let proxy = Proxy::start(&url).await;
        proxy.until_upstream(0, "down").await;
        let status = &proxy.app.upstreams().status()[0];
        assert_eq!(status.reason.as_deref(), Some("the TLS handshake failed"));
    }
}

#[tokio::test]
async fn a_refused_connection_is_followed_by_the_next_upstream() {
    let upstream = Scripted::start(|_got| vec![reply(200, "", "second")]).await;
    let proxy = Proxy::with(&[&nowhere(), &upstream.url()], |_config| {}).await;
    let reply = proxy
        .send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n")
        .await
        .reply()
        .await;
    assert_eq!(reply.text(), "second");
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_replaced_without_notice() {
    // The second request on a connection is answered by closing it, as a server does whose
    // keep-alive time ends in that moment.
    let mut upstream = Scripted::start(|got| match got.nth {
        0 => vec![reply(200, "", "fresh")],
        _ => vec![Step::Close],
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        // Nothing else may use the connection.
        config.upstreams[0].dialect = isogloss::config::DialectPin {
            name: "plain".to_owned(),
            version: None,
        }
        .into();
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    for _ in 0..4 {
        let reply = proxy
            .send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n")
            .await
            .reply()
            .await;
        assert_eq!((reply.status, reply.text()), (200, "fresh"));
    }
    assert!(
        upstream.left() > 4,
        "no request came twice: nothing was tested"
    );
    assert!(proxy.has_counted("isogloss_retries_total{why=\"stale_connection\"}"));
}

#[tokio::test]
async fn a_fresh_connection_that_breaks_is_not_tried_again() {
    let mut upstream = Scripted::start(|_got| vec![Step::Reset]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let reply = proxy
        .send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n")
        .await
        .reply()
        .await;
    assert_eq!(reply.status, 502);
    assert_eq!(upstream.left(), 1);
}

#[tokio::test]
async fn a_redirect_of_an_unknown_route_is_the_clients_to_follow() {
    let upstream =
        Scripted::start(|_got| vec![reply(307, "location: http://elsewhere/\r\n", "")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let reply = proxy
        .send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n")
        .await
        .reply()
        .await;
    assert_eq!(reply.status, 307);
    assert_eq!(reply.header("location"), Some("http://elsewhere/"));
}

// --- readiness -----------------------------------------------------------------------------------

#[tokio::test]
async fn a_server_is_identified_with_its_version() {
    let upstream = Scripted::start(|_got| Vec::new()).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    let status = &proxy.app.upstreams().status()[0];
    assert_eq!(status.dialect.as_deref(), Some("vllm@0.12.0"));
    assert!(proxy.app.upstreams().is_ready());
    assert!(
        proxy
            .metrics
            .render()
            .contains("isogloss_upstream_up{upstream=\"0\"} 1")
    );
}

#[tokio::test]
async fn a_pinned_dialect_wins_over_what_the_server_says() {
    let upstream = Scripted::start(|_got| Vec::new()).await;
    for (pin, version, label) in [
        ("sglang", None, "sglang"),
        ("vllm", None, "vllm@0.12.0"),
        ("vllm", Some("0.10.2"), "vllm@0.10.2"),
    ] {
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.upstreams[0].dialect = Some(isogloss::config::DialectPin {
                name: pin.to_owned(),
                version: version.and_then(isogloss_core::rules::Version::parse),
            });
        })
        .await;
        proxy.until_upstream(0, "ready").await;
        let status = &proxy.app.upstreams().status()[0];
        assert_eq!(status.dialect.as_deref(), Some(label));
    }
}

#[tokio::test]
async fn a_pinned_server_of_which_nothing_can_be_learnt_is_asked_nothing_until_it_is_gone() {
    for (name, version) in [("plain", None), ("vllm", Some("0.10.2"))] {
        let upstream = Scripted::start(|_got| vec![reply(200, "", "ok")]).await;
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.upstreams[0].dialect = Some(isogloss::config::DialectPin {
                name: name.to_owned(),
                version: version.and_then(isogloss_core::rules::Version::parse),
            });
        })
        .await;
        proxy.until_upstream(0, "ready").await;
        let get = "GET /x HTTP/1.1\r\nhost: p\r\nconnection: close\r\n\r\n";
        assert_eq!(proxy.send(get).await.reply().await.status, 200);
        assert_eq!(upstream.questions(), 0, "{name}");
        let address = upstream.stop().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let gone = proxy.send(get).await.reply().await.status;
        assert_eq!(gone, 502, "{name}");
        proxy.until_upstream(0, "down").await;
        let _again = Scripted::start_at(address, |_got| vec![reply(200, "", "ok")]).await;
        proxy.until_upstream(0, "ready").await;
    }
}

#[tokio::test]
async fn a_loading_server_is_ready_soon_after_it_has_loaded() {
    let upstream = Scripted::start(|_got| Vec::new()).await;
    upstream.set_status(503);
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "loading").await;
    assert!(!proxy.app.upstreams().is_ready());
    let asked = upstream.questions();
    upstream.set_status(200);
    proxy.until_upstream(0, "ready").await;
    assert!(upstream.questions() - asked <= 2, "a storm of questions");
}

#[tokio::test]
async fn a_restarted_server_is_identified_again() {
    let upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    let address = upstream.stop().await;
    let request = "GET /x HTTP/1.1\r\nhost: p\r\n\r\n";
    assert_eq!(proxy.send(request).await.reply().await.status, 502);
    proxy.until_upstream(0, "down").await;
    let _again = Scripted::start_at(address, |_got| vec![reply(200, "", "")]).await;
    proxy.until_upstream(0, "ready").await;
    assert_eq!(proxy.send(request).await.reply().await.status, 200);
}

#[tokio::test]
async fn a_server_that_was_known_is_not_ready_where_something_else_answers_in_its_place() {
    let upstream = Scripted::start(|_got| vec![reply(404, "", "default backend")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    upstream.answer_by_script();
    proxy.upstream(0).doubt();
    proxy.until_upstream(0, "loading").await;
}

// --- limits --------------------------------------------------------------------------------------

#[tokio::test]
async fn a_body_that_is_announced_as_too_large_is_refused_unread() {
    let mut upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.limits.body_bytes = 1000).await;
    let request = "POST /x HTTP/1.1\r\nhost: p\r\ncontent-length: 1001\r\n\r\n";
    assert_eq!(proxy.send(request).await.reply().await.status, 413);
    let request = request.replace("/x", "/v1/chat/completions");
    assert_eq!(proxy.send(request).await.reply().await.status, 413);
    let fits = post("/x", &"x".repeat(1000));
    assert_eq!(proxy.send(fits).await.reply().await.status, 200);
    assert_eq!(upstream.next().await.body.len(), 1000);
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_body_that_turns_out_to_be_too_large_is_refused() {
    let upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.limits.body_bytes = 1000).await;
    for path in ["/x", "/v1/chat/completions"] {
        let body = format!("3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001));
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: p\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{body}"
        );
        assert_eq!(
            proxy.send(request).await.reply().await.status,
            413,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_body_that_stops_arriving_is_408() {
    let upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.body = Duration::from_millis(100);
    })
    .await;
    for path in ["/x", "/v1/chat/completions"] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: p\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\nabc"
        );
        assert_eq!(
            proxy.send(request).await.reply().await.status,
            408,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_silent_client_and_a_slow_head_are_closed() {
    let upstream = Scripted::start(|_got| Vec::new()).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.header = Duration::from_millis(100);
    })
    .await;
    for said in ["", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost:"] {
        proxy.send(said).await.rest().await;
    }
}

#[tokio::test]
async fn requests_over_the_limit_are_shed_and_a_stream_holds_its_place() {
    let mut upstream =
        Scripted::start(|_got| vec![head(""), chunk("one"), Step::WaitForGo, end()]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.limits.concurrency = 1).await;
    let request = "GET /x HTTP/1.1\r\nhost: p\r\n\r\n";
    let mut first = proxy.send(request).await;
    first.until("one").await;
    let shed = proxy.send(request).await.reply().await;
    assert_eq!(shed.status, 503);
    assert_eq!(shed.header("retry-after"), Some("1"));
    assert_eq!(shed.header("content-type"), Some("application/json"));
    upstream.go();
    first.until("0\r\n\r\n").await;
    upstream.next().await;
    proxy.until_metrics_say("outcome=\"ok\"} 1").await;
    let mut third = proxy.send(request).await;
    third.until("one").await;
}

#[tokio::test]
async fn a_chat_request_of_another_media_type_is_415() {
    let mut upstream = Scripted::start(|_got| vec![reply(200, "", "")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    for (from, to) in [
        ("application/json", "text/plain"),
        (
            "content-type: application/json",
            "content-type: application/json\r\ncontent-encoding: gzip",
        ),
    ] {
        let request = post("/v1/chat/completions", "{}").replace(from, to);
        assert_eq!(proxy.send(request).await.reply().await.status, 415);
    }
    assert_eq!(upstream.left(), 0);
}

// --- the client goes away ------------------------------------------------------------------------

#[tokio::test]
async fn a_client_that_goes_away_before_the_reply_ends_the_upstreams_request() {
    let mut upstream = Scripted::start(|_got| vec![Step::Hang]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let client = proxy.send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
    upstream.next().await;
    drop(client);
    upstream.hung_up().await;
    proxy
        .until_metrics_say("isogloss_client_gone_total{phase=\"waiting\"} 1")
        .await;
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_sends_is_gone_and_one_that_sends_no_http_is_wrong() {
    let head = "HTTP/1.1\r\nhost: p\r\ncontent-type: application/json\r\n";
    let upstream = Scripted::start(|_got| vec![Step::Hang]).await;
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/files"] {
        let proxy = Proxy::start(&upstream.url()).await;
        let length = format!("POST {path} {head}content-length: 100\r\n\r\n{{\"a\"");
        let client = proxy.send(length).await;
        drop(client);
        proxy.until_metrics_say("outcome=\"client_gone\"} 1").await;
        let chunked = format!("POST {path} {head}transfer-encoding: chunked\r\n\r\n");
        let client = proxy.send(format!("{chunked}3\r\n{{\"a\r\n")).await;
        drop(client);
        proxy.until_metrics_say("outcome=\"client_gone\"} 2").await;
        let gone = "isogloss_client_gone_total{phase=\"waiting\"} 2";
        proxy.until_metrics_say(gone).await;
        let mut client = proxy.send(format!("{chunked}wrong\r\n")).await;
        client.rest().await;
        let wrong = "outcome=\"client_error\"} 1";
        proxy.until_metrics_say(wrong).await;
    }
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_ends_the_upstreams_request() {
    for steps in [
        vec![Step::Hang],
        vec![Step::Repeat(b"5\r\nmore \r\n".repeat(1000))],
    ] {
        let mut upstream = Scripted::start(move |_got| {
            let mut all = vec![head(""), chunk("one")];
            all.extend(steps.clone());
            all
        })
        .await;
        let proxy = Proxy::start(&upstream.url()).await;
        let mut client = proxy.send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
        client.until("one").await;
        drop(client);
        upstream.hung_up().await;
        proxy
            .until_metrics_say("isogloss_client_gone_total{phase=\"streaming\"} 1")
            .await;
    }
}

#[tokio::test]
async fn one_reset_http2_stream_ends_that_one_upstream_request() {
    let mut upstream = Scripted::start(|got| match got.target.as_str() {
        "/stays" => vec![head(""), chunk("one"), Step::WaitForGo, end()],
        _ => vec![head(""), chunk("one"), Step::Hang],
    })
    .await;
    let proxy = Proxy::start(&upstream.url()).await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .no_proxy();
    let client = client.tls_certs_only([]).build().unwrap();
    let stays = client.get(proxy.url("/stays")).send().await.unwrap();
    let mut goes = client.get(proxy.url("/goes")).send().await.unwrap();
    assert_eq!(goes.chunk().await.unwrap().unwrap(), "one");
    drop(goes);
    upstream.hung_up().await;
    upstream.go();
    assert_eq!(stays.text().await.unwrap(), "one");
}

#[tokio::test]
async fn a_client_that_reads_nothing_stops_the_upstream() {
    let mut upstream = Scripted::start(|_got| {
        let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        let mut all = vec![head("")];
        // 64 MiB, of which the sockets and buffers on the way hold a few.
        all.extend(std::iter::repeat_n(send(piece), 1024));
        all.push(end());
        all
    })
    .await;
    let proxy = Proxy::start(&upstream.url()).await;
    let client = proxy.send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
    upstream.next().await;
    // The upstream is still in the middle of its script when the client leaves.
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(client);
    upstream.hung_up().await;
}

// --- the end -------------------------------------------------------------------------------------

#[tokio::test]
async fn a_shutdown_lets_running_streams_end_and_takes_no_new_connection() {
    let upstream =
        Scripted::start(|_got| vec![head(""), chunk("one"), Step::WaitForGo, chunk("two"), end()])
            .await;
    let mut proxy = Proxy::start(&upstream.url()).await;
    let mut idle = proxy.send("").await;
    let mut client = proxy.send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
    client.until("one").await;
    proxy.stop();
    assert_eq!(idle.rest().await, b"");
    let address = proxy.address;
    let refused = tokio::net::TcpStream::connect(address).await;
    assert!(refused.is_err());
    assert!(!proxy.app.is_accepting());
    upstream.go();
    let rest = client.rest().await;
    assert!(rest.ends_with(b"two\r\n0\r\n\r\n"));
    proxy.stopped().await;
}

/// Whoever waits at `/drained` has the proxy say so: balancers leave connections that are open where they are.
#[tokio::test]
async fn while_somebody_waits_for_the_end_each_reply_is_the_last_of_its_connection() {
    let upstream = Scripted::start(|_got| vec![reply(200, "", "fine")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let request = "GET /x HTTP/1.1\r\nhost: p\r\n\r\n";
    let mut client = proxy.send(request).await;
    assert_eq!(client.reply().await.header("connection"), None);
    let leaving = proxy.app.leave();
    client.send(request).await;
    let last = client.reply().await;
    assert_eq!(
        (last.text(), last.header("connection")),
        ("fine", Some("close"))
    );
    assert_eq!(client.rest().await, b"");
    drop(leaving);
    let mut client = proxy.send(request).await;
    assert_eq!(client.reply().await.header("connection"), None);
}

/// The next frame of HTTP/2: its kind (RFC 9113, section 6).
async fn frame(client: &mut proxy::Client) -> u8 {
    let read = async {
        let mut head = [0; 9];
        client.0.read_exact(&mut head).await.unwrap();
        let [long, length, short, kind, ..] = head;
        let length = u32::from_be_bytes([0, long, length, short]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        client.0.read_exact(&mut payload).await.unwrap();
        kind
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap()
}

#[tokio::test]
async fn an_http2_client_is_told_to_leave_while_somebody_waits_for_the_end() {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    let upstream = Scripted::start(|_got| vec![reply(200, "", "fine")]).await;
    let proxy = Proxy::start(&upstream.url()).await;
    let mut client = proxy.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    client.send([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]).await;
    assert_eq!(frame(&mut client).await, SETTINGS);
    let _leaving = proxy.app.leave();
    while frame(&mut client).await != GOAWAY {}
}

#[tokio::test]
async fn a_shutdown_ends_when_its_time_is_over() {
    let mut upstream = Scripted::start(|_got| vec![Step::Hang]).await;
    let mut proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.drain = Duration::from_millis(400);
    })
    .await;
    let mut client = proxy.send("GET /x HTTP/1.1\r\nhost: p\r\n\r\n").await;
    upstream.next().await;
    proxy.stop();
    let reply = client.reply().await;
    assert_eq!(reply.status, 503);
    upstream.hung_up().await;
    proxy.stopped().await;
}

#[tokio::test]
async fn an_http2_client_is_told_of_the_shutdown_and_its_stream_ends() {
    let upstream =
        Scripted::start(|_got| vec![head(""), chunk("one"), Step::WaitForGo, chunk("two"), end()])
            .await;
    let mut proxy = Proxy::start(&upstream.url()).await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .no_proxy();
    let client = client.tls_certs_only([]).build().unwrap();
    let mut response = client.get(proxy.url("/x")).send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one");
    proxy.stop();
    upstream.go();
    assert_eq!(response.text().await.unwrap(), "two");
    tokio::time::timeout(PATIENCE, proxy.stopped())
        .await
        .unwrap();
}
