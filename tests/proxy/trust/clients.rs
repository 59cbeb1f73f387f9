//! Where clients have keys: whose request is taken, of what it may ask for, how much, and what of its key goes on.

use crate::support::chat::{BAD, demand, whole};
use crate::support::proxy::{Proxy, Reply, client, post};
use isogloss::config::{Balance, Config, OnViolation, Origins, Secret};
use isogloss_testing::scripted::{Got, Scripted, Step, reply};
use std::fmt::Write as _;

const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
const MESSAGES: &str =
    r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
const GEMINI: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;

fn answer(_got: &Got) -> Vec<Step> {
    let body = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":60,"completion_tokens":40,"total_tokens":100}}"#;
    vec![reply(200, "content-type: application/json\r\n", body)]
}

async fn proxy(upstream: &Scripted, change: impl FnOnce(&mut Config)) -> Proxy {
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.clients = vec![client("a"), client("b")];
        change(config);
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

async fn asked(proxy: &Proxy, path: &str, headers: &[&str], body: &str) -> Reply {
    let lines = headers.iter().fold(String::new(), |mut lines, line| {
        let _ = write!(lines, "{line}\r\n");
        lines
    });
    let request = post(path, body).replacen("content-type", &format!("{lines}content-type"), 1);
    proxy.send(request).await.reply().await
}

#[tokio::test]
async fn a_right_key_lets_in_wherever_it_is_sent_and_goes_to_no_server() {
    let mut upstream = Scripted::start(answer).await;
    let proxy = proxy(&upstream, |config| {
        config.upstreams[0].api_key = Some(Secret::new("the-operators".to_owned()));
    })
    .await;
    for (path, headers, body) in [
        (
            "/v1/chat/completions",
            &["authorization: Bearer key-a"][..],
            CHAT,
        ),
        (
            "/v1/messages",
            &["x-api-key: key-b", "anthropic-version: 2023-06-01"],
            MESSAGES,
        ),
        (
            "/v1beta/models/m:generateContent",
            &["x-goog-api-key: key-a"],
            GEMINI,
        ),
        ("/v1beta/models/m:generateContent?key=key-a", &[], GEMINI),
        ("/v1/embeddings?key=key-b&x=1", &["cookie: k=key-b"], "{}"),
    ] {
        let answer = asked(&proxy, path, headers, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let got = upstream.next().await;
        assert_eq!(got.header("authorization"), Some("Bearer the-operators"));
        for name in ["x-api-key", "x-goog-api-key", "cookie"] {
            assert_eq!(got.header(name), None, "{path}");
        }
        assert!(!got.target.contains("key-"), "{}", got.target);
    }
    proxy
        .until_metrics_say("isogloss_client_requests_total{client=\"a\",outcome=\"ok\"} 3")
        .await;
    // Without a key of the server's own, none at all.
    let proxy = self::proxy(&upstream, |_config| {}).await;
    let right = ["authorization: Bearer key-a"];
    assert_eq!(
        asked(&proxy, "/v1/chat/completions", &right, CHAT)
            .await
            .status,
        200
    );
    assert_eq!(upstream.next().await.header("authorization"), None);
}

#[tokio::test]
async fn no_key_and_a_wrong_one_are_401_in_the_callers_shape_and_reach_no_server() {
    let mut upstream = Scripted::start(answer).await;
    let proxy = proxy(&upstream, |_config| {}).await;
    for (path, body, place, said) in [
        (
            "/v1/chat/completions",
            CHAT,
            "/error/code",
            "invalid_api_key",
        ),
        ("/v1/responses", CHAT, "/error/code", "invalid_api_key"),
        (
            "/v1/messages",
            MESSAGES,
            "/error/type",
            "authentication_error",
        ),
        (
            "/v1beta/models/m:generateContent",
            GEMINI,
            "/error/status",
            "UNAUTHENTICATED",
        ),
        ("/v1/completions", "{}", "/error/code", "invalid_api_key"),
    ] {
        for headers in [
            &[][..],
            &["authorization: Bearer key-c"],
            &["authorization: Bearer key-"],
            &["authorization: Basic key-a"],
            &["x-api-key: the-operators"],
        ] {
            let reply = asked(&proxy, path, headers, body).await;
            assert_eq!(reply.status, 401, "{path}: {}", reply.text());
            let json = reply.json();
            let found = json.pointer(place).and_then(|found| found.as_str());
            assert_eq!(found, Some(said), "{path}: {json}");
        }
    }
    let ollama = asked(&proxy, "/api/chat", &[], CHAT).await;
    assert_eq!(ollama.status, 401);
    assert!(ollama.json()["error"].is_string());
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_client_names_its_models_alone_on_every_route() {
    let mut upstream = Scripted::start(answer).await;
    let proxy = proxy(&upstream, |config| {
        config.clients[0].models = ["m", "gpt-*", "*:free"].map(str::to_owned).to_vec();
    })
    .await;
    let a = ["authorization: Bearer key-a"];
    let other = CHAT.replace("\"m\"", "\"n\"");
    for (path, body, status) in [
        ("/v1/chat/completions", CHAT, 200),
        (
            "/v1/chat/completions",
            &CHAT.replace("\"m\"", "\"gpt-9\""),
            200,
        ),
        (
            "/v1/chat/completions",
            &CHAT.replace("\"m\"", "\"a/b:free\""),
            200,
        ),
        ("/v1/chat/completions", &other, 403),
        ("/v1beta/models/m:generateContent", GEMINI, 200),
        ("/v1beta/models/n:generateContent", GEMINI, 403),
        ("/v1beta/models/n:embedContent", r#"{"model":"m"}"#, 403),
        ("/v1/embeddings", r#"{"model":"m"}"#, 200),
        ("/v1/embeddings", r#"{"model":"n"}"#, 403),
        ("/v1/embeddings", "{}", 403),
        ("/v1/embeddings", r#"{"model":"m","model":"n"}"#, 400),
    ] {
        let answer = asked(&proxy, path, &a, body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        assert_eq!(upstream.left() > 0, status == 200, "{path} {body}");
        if status == 200 {
            upstream.next().await;
        }
        if status == 403 {
            assert!(
                answer.text().contains("m, gpt-*") || body == "{}",
                "{}",
                answer.text()
            );
        }
    }
    let b = ["authorization: Bearer key-b"];
    assert_eq!(
        asked(&proxy, "/v1/chat/completions", &b, &other)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_client_is_answered_by_its_servers_alone() {
    let mut first = Scripted::start(answer).await;
    let mut second = Scripted::start(answer).await;
    let proxy = Proxy::with(&[&first.url(), &second.url()], |config| {
        config.clients = vec![client("a"), client("b")];
        config.clients[1].upstreams = Some(vec![1]);
        config.balance = Balance::First;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    proxy.until_upstream(1, "ready").await;
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let b = ["authorization: Bearer key-b"];
        assert_eq!(asked(&proxy, path, &b, CHAT).await.status, 200);
        assert_eq!(
            (first.left(), second.next().await.target.as_str()),
            (0, path)
        );
        let a = ["authorization: Bearer key-a"];
        assert_eq!(asked(&proxy, path, &a, CHAT).await.status, 200);
        assert_eq!(first.next().await.target, path);
    }
}

#[tokio::test]
async fn a_client_over_its_rate_is_429_with_the_time_to_wait_and_others_are_not() {
    let mut upstream = Scripted::start(answer).await;
    let proxy = proxy(&upstream, |config| {
        config.clients[0].requests_per_minute = Some(2);
        config.clients[1].tokens_per_minute = Some(50);
    })
    .await;
    let a = ["authorization: Bearer key-a"];
    for _ in 0..2 {
        assert_eq!(
            asked(&proxy, "/v1/chat/completions", &a, CHAT).await.status,
            200
        );
        upstream.next().await;
    }
    let refused = asked(&proxy, "/v1/chat/completions", &a, CHAT).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    assert_eq!(refused.json()["error"]["code"], "rate_limited");
    assert_eq!(upstream.left(), 0);
    // The other has 50 tokens: the first reply takes 100, which the next request waits for.
    let b = ["x-api-key: key-b", "anthropic-version: 2023-06-01"];
    assert_eq!(
        asked(&proxy, "/v1/messages", &b, MESSAGES).await.status,
        200
    );
    proxy
        .until_metrics_say("isogloss_client_tokens_total{client=\"b\"} 100")
        .await;
    let refused = asked(&proxy, "/v1/messages", &b, MESSAGES).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"]["type"], "rate_limit_error");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((30..=62).contains(&wait), "{wait}");
}

#[tokio::test]
async fn what_asks_no_model_costs_no_tokens_and_a_reply_that_broke_its_contract_does() {
    let upstream = Scripted::start(|got| match got.target.as_str() {
        "/v1/models" => {
            let list = r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#;
            vec![reply(200, "content-type: application/json\r\n", list)]
        }
        _ => whole(BAD),
    })
    .await;
    let proxy = proxy(&upstream, |config| {
        config.clients[0].tokens_per_minute = Some(1000);
        config.on_violation = OnViolation::Reject;
    })
    .await;
    let list = "GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-a\r\n\r\n";
    assert_eq!(proxy.send(list.to_owned()).await.reply().await.status, 200);
    let tokens = |client: &str| {
        let page = proxy.metrics.render();
        let name = format!("isogloss_client_tokens_total{{client=\"{client}\"}} ");
        let found = page
            .lines()
            .find_map(|line| line.strip_prefix(name.as_str())?.parse().ok());
        found.unwrap_or(0_u64)
    };
    assert_eq!(tokens("a"), 0);
    let a = ["authorization: Bearer key-a"];
    let demand = demand(false);
    let broken = asked(&proxy, "/v1/chat/completions", &a, &demand).await;
    assert_eq!(broken.status, 502, "{}", broken.text());
    let cost = demand.len().div_ceil(4) as u64;
    assert_eq!(tokens("a"), cost);
    // Of one that comes in pieces, nobody says before how long it is.
    let (first, second) = demand.split_at(20);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-a\r\n\
                content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let pieces = format!("{head}{}{}{}", chunk(first), chunk(second), chunk(""));
    let broken = proxy.send(pieces).await.reply().await;
    assert_eq!(broken.status, 502, "{}", broken.text());
    assert_eq!(tokens("a"), 2 * cost);
}

#[tokio::test]
async fn a_browser_and_a_probe_ask_without_a_key() {
    let mut upstream =
        Scripted::start(|_got| vec![reply(200, "access-control-allow-origin: *\r\n", "")]).await;
    let proxy = proxy(&upstream, |config| {
        config.upstreams[0].api_key = Some(Secret::new("sk-upstream".to_owned()));
    })
    .await;
    let asks = |more: &str| {
        format!(
            "OPTIONS /v1/chat/completions HTTP/1.1\r\nhost: x\r\norigin: http://b\r\n{more}\r\n"
        )
    };
    let preflight = asks("access-control-request-method: POST\r\n");
    let may = proxy.send(preflight).await.reply().await;
    assert_eq!(
        (may.status, may.header("access-control-allow-origin")),
        (200, Some("*"))
    );
    let got = upstream.next().await;
    assert_eq!(
        (got.method.as_str(), got.header("authorization")),
        ("OPTIONS", None)
    );
    let health = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    assert_eq!(proxy.send(health).await.reply().await.status, 200);
    let got = upstream.next().await;
    assert_eq!(
        (got.target.as_str(), got.header("authorization")),
        ("/health", None)
    );
    // With a key it is a request like others.
    let keyed = "GET /health HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-a\r\n\r\n";
    assert_eq!(proxy.send(keyed.to_owned()).await.reply().await.status, 200);
    upstream.next().await;
    // Whoever brings a body asks for more.
    let body = "access-control-request-method: POST\r\ncontent-length: 2\r\n";
    for refused in [
        asks(""),
        asks(body) + "{}",
        "GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        "GET /version HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
    ] {
        assert_eq!(proxy.send(refused).await.reply().await.status, 401);
    }
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn pages_of_the_origins_that_are_named_can_read_every_reply() {
    let upstream = Scripted::start(|_got| {
        vec![reply(
            200,
            "access-control-allow-origin: https://server\r\n",
            "{}",
        )]
    })
    .await;
    for (named, allowed) in [
        (&[][..], Some("*")),
        (
            &["https://app.example", "https://other.example"],
            Some("https://app.example"),
        ),
        (&["https://other.example"], None),
    ] {
        let proxy = proxy(&upstream, |config| {
            let known = named.iter().copied().map(http::HeaderValue::from_static);
            config.origins = match named {
                [] => Origins::Any,
                _ => Origins::Only(known.collect()),
            };
        })
        .await;
        let from = "host: x\r\norigin: https://app.example\r\n";
        let preflight = format!(
            "OPTIONS /v1/chat/completions HTTP/1.1\r\n{from}access-control-request-method: POST\r\n\
             access-control-request-headers: authorization,x-stainless-os\r\n\r\n"
        );
        let may = proxy.send(preflight).await.reply().await;
        assert_eq!(may.status, 200);
        assert!(may.text().is_empty());
        let headers = may.header("access-control-allow-headers");
        assert_eq!(headers, Some("authorization,x-stainless-os"));
        let refused =
            format!("POST /v1/chat/completions HTTP/1.1\r\n{from}content-length: 0\r\n\r\n");
        let refused = proxy.send(refused).await.reply().await;
        assert_eq!(refused.status, 401);
        let passed = format!("GET /health HTTP/1.1\r\n{from}\r\n");
        let passed = proxy.send(passed).await.reply().await;
        assert_eq!(passed.status, 200);
        for reply in [&may, &refused] {
            assert_eq!(
                reply.header("access-control-allow-origin"),
                allowed,
                "{named:?}"
            );
        }
        // Whose pages may is said here alone; a server's word for others stays with who is not named.
        let told = passed.header("access-control-allow-origin");
        assert_eq!(told, allowed.or(Some("https://server")), "{named:?}");
    }
}

#[tokio::test]
async fn who_asks_without_a_key_keeps_no_client_out() {
    let upstream = Scripted::start(|got| match got.target.as_str() {
        "/health" => vec![Step::Hang],
        _ => answer(got),
    })
    .await;
    let mut upstream = upstream;
    let proxy = proxy(&upstream, |config| config.limits.concurrency = 8).await;
    let health = || "GET /health HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(proxy.send(health()).await);
        upstream.next().await;
    }
    let refused = proxy.send(health()).await.reply().await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
    let a = ["authorization: Bearer key-a"];
    assert_eq!(
        asked(&proxy, "/v1/chat/completions", &a, CHAT).await.status,
        200
    );
}

#[tokio::test]
async fn a_client_is_told_of_the_models_that_it_may_ask_for() {
    let upstream = Scripted::start(answer).await;
    let proxy = Proxy::with(&[&upstream.url(), &upstream.url()], |config| {
        config.clients = vec![client("a")];
        config.clients[0].upstreams = Some(vec![1]);
        config.upstreams[0].models = vec!["one".to_owned()];
        config.upstreams[1].models = vec!["two".to_owned()];
    })
    .await;
    proxy.until_upstream(1, "ready").await;
    let a = ["authorization: Bearer key-a"];
    let body = r#"{"model":"one","input":"a"}"#;
    let refused = asked(&proxy, "/v1/embeddings", &a, body).await;
    assert_eq!(refused.status, 404);
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("name one of two"), "{message}");
}

#[tokio::test]
async fn a_client_has_so_many_requests_at_once_until_their_replies_have_ended() {
    let upstream = Scripted::start(|got| {
        let mut steps = vec![Step::WaitForGo];
        steps.extend(answer(got));
        steps
    })
    .await;
    let mut upstream = upstream;
    let proxy = proxy(&upstream, |config| config.clients[0].concurrency = Some(1)).await;
    let keyed = |key: &str| {
        let request = post("/v1/chat/completions", CHAT);
        request.replacen(
            "content-type",
            &format!("x-api-key: {key}\r\ncontent-type"),
            1,
        )
    };
    let mut first = proxy.send(keyed("key-a")).await;
    upstream.next().await;
    let refused = proxy.send(keyed("key-a")).await.reply().await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    let mut other = proxy.send(keyed("key-b")).await;
    upstream.next().await;
    upstream.go();
    upstream.go();
    assert_eq!(first.reply().await.status, 200);
    assert_eq!(other.reply().await.status, 200);
    proxy
        .until_metrics_say("isogloss_client_requests_total{client=\"a\",outcome=\"ok\"} 1")
        .await;
    let mut again = proxy.send(keyed("key-a")).await;
    upstream.next().await;
    upstream.go();
    assert_eq!(again.reply().await.status, 200);
}

#[tokio::test]
async fn what_is_refused_early_counts_under_the_dialect_of_its_route() {
    let upstream = Scripted::start(answer).await;
    let proxy = proxy(&upstream, |config| {
        config.limits.body_bytes = 1000;
        config.clients[0].requests_per_minute = Some(1);
    })
    .await;
    let long = "x".repeat(2000);
    for (path, headers, body, status, client) in [
        ("/v1/messages", &[][..], MESSAGES, 401, "messages"),
        ("/v1/messages/count_tokens", &[], MESSAGES, 401, "messages"),
        (
            "/v1/responses",
            &["authorization: Bearer key-b"],
            &long,
            413,
            "responses",
        ),
        (
            "/v1/chat/completions",
            &["authorization: Bearer key-a"],
            CHAT,
            200,
            "chat",
        ),
        (
            "/v1/chat/completions",
            &["authorization: Bearer key-a"],
            CHAT,
            429,
            "chat",
        ),
        ("/v1/embeddings", &[], CHAT, 401, "other"),
    ] {
        let before = refused(&proxy, client);
        let answer = asked(&proxy, path, headers, body).await;
        assert_eq!(answer.status, status, "{path}");
        let more = usize::from(status != 200);
        assert_eq!(refused(&proxy, client), before + more, "{path} {status}");
    }
}

/// How many requests of a dialect count as a client's errors.
fn refused(proxy: &Proxy, client: &str) -> usize {
    let page = proxy.metrics.render();
    let of_client = |line: &&str| {
        line.starts_with("isogloss_requests_total{")
            && line.contains(&format!("client_dialect=\"{client}\""))
            && line.contains("outcome=\"client_error\"")
    };
    let counts = page.lines().filter(of_client);
    counts
        .map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap())
        .sum()
}
