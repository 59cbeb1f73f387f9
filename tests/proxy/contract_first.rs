//! Replies that go through as they are, and whose server reports an error where an answer was to be, under a head that says
//! that all is well: another server is asked.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::{Balance, Config};
use isogloss_testing::scripted::{
    Got, PATIENCE, Scripted, Step, chunk, end, find, head, reply, send,
};
use proxy::{Proxy, Reply, post};

/// Nothing is demanded.
const ANY: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
const ASKED: &str =
    r#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
const OK: &str = "outcome=\"ok\"} ";
const FAILED: &str = "outcome=\"upstream_error\"} ";

/// A server of one dialect, whose script is for what is no question who it is.
async fn server(script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static) -> Scripted {
    let upstream = Scripted::start(move |got: &Got| match got.method.as_str() {
        "GET" => vec![reply(
            200,
            JSON,
            r#"{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm"}]}"#,
        )],
        _ => script(got),
    })
    .await;
    upstream.answer_by_script();
    upstream
}

/// The events of a stream.
fn events(text: &str) -> Vec<Step> {
    match text {
        "" => vec![head(EVENTS), end()],
        _ => vec![head(EVENTS), chunk(text), end()],
    }
}

async fn before(servers: &[&Scripted], dialect: &str, change: impl FnOnce(&mut Config)) -> Proxy {
    let urls: Vec<String> = servers.iter().map(|one| one.url()).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let proxy = Proxy::with(&urls, |config| {
        config.balance = Balance::First;
        for upstream in &mut config.upstreams {
            upstream.dialect = isogloss::config::DialectPin::parse(dialect);
            upstream.models = vec!["m".to_owned()];
        }
        change(config);
    })
    .await;
    for index in 0..servers.len() {
        proxy.until_upstream(index, "ready").await;
    }
    proxy
}

async fn ask(proxy: &Proxy, path: &str, body: &str) -> Reply {
    proxy.send(post(path, body)).await.reply().await
}

fn good() -> String {
    role() + &content("fine") + &last()
}

/// What is no beginning of a stream of OpenAI's.
const BAD: [&str; 7] = [
    "data: {\"error\":{\"message\":\"engine dead\",\"code\":500}}\n\n",
    "data: {\"object\":\"error\",\"error\":{\"message\":\"engine dead\"}}\r\n\r\ndata: [DONE]\r\n\r\n",
    ": ping\n\ndata: {\"error\":{\"message\":\"engine dead\",\"code\":\"500\"}}\n\n",
    "data: [DONE]\n\n",
    "data: Internal Server Error\n\n",
    "data: {\"choices\":[{\"delta\"\n\n",
    "",
];

#[tokio::test]
async fn a_stream_that_begins_with_an_error_is_asked_of_another_server() {
    for bad in BAD {
        let first = server(move |_got| events(bad)).await;
        let second = server(|_got| events(&good())).await;
        let proxy = before(&[&first, &second], "vllm", |_config| {}).await;
        for failures in 1..=2 {
            let got = ask(&proxy, "/v1/chat/completions", ANY).await;
            assert_eq!(got.text(), good(), "{bad:?}");
            assert_eq!(got.header("x-isogloss-upstream"), Some("1"), "{bad:?}");
            let circuits = proxy.upstream(0).circuits();
            assert_eq!(circuits[0].failures, failures, "{bad:?}");
        }
        let retries = proxy.counted("isogloss_retries_total{why=\"failover\"}");
        assert_eq!(retries, 2, "{bad:?}");
        proxy.until_metrics_say(&format!("{OK}2")).await;
        // The third puts it aside.
        ask(&proxy, "/v1/chat/completions", ANY).await;
        assert_eq!(proxy.upstream(0).circuits()[0].failures, 3, "{bad:?}");
    }
}

#[tokio::test]
async fn where_nobody_else_is_an_error_goes_out_as_it_is_where_clients_read_one() {
    for bad in BAD {
        for servers in 1..=2 {
            let all = [
                server(move |_got| events(bad)).await,
                server(move |_got| events(bad)).await,
            ];
            let all: Vec<&Scripted> = all.iter().take(servers).collect();
            let proxy = before(&all, "vllm", |_config| {}).await;
            let got = ask(&proxy, "/v1/chat/completions", ANY).await;
            match bad.contains("{\"error\"") || bad.contains("\"error\":{") {
                true => assert_eq!((got.status, got.text()), (200, bad)),
                false => assert_eq!(got.status, 502, "{bad:?}: {}", got.text()),
            }
            proxy.until_metrics_say(&format!("{FAILED}1")).await;
            assert!(proxy.has_counted("isogloss_upstream_errors_total{"));
        }
    }
}

#[tokio::test]
async fn a_reply_with_nothing_in_it_is_none() {
    let empty = || server(|_got| vec![send("HTTP/1.1 204 No Content\r\n\r\n"), Step::Close]);
    let (first, second) = (empty().await, server(|_got| events(&good())).await);
    let proxy = before(&[&first, &second], "vllm", |_config| {}).await;
    let got = ask(&proxy, "/v1/chat/completions", ANY).await;
    assert_eq!(got.text(), good());
    let alone = before(&[&first], "vllm", |_config| {}).await;
    let got = ask(&alone, "/v1/chat/completions", ANY).await;
    assert_eq!(got.status, 502, "{}", got.text());
    assert!(got.text().contains("status 204"), "{}", got.text());
}

#[tokio::test]
async fn so_is_one_of_another_wire() {
    let anthropic = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let fine = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let lines = "content-type: application/x-ndjson\r\n";
    let ollama = |text: &str| vec![head(lines), chunk(text), end()];
    let whole_line = "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"fine\"},\"done\":true,\"done_reason\":\"stop\"}\n";
    for (dialect, path, bad, good, said) in [
        (
            "anthropic",
            "/v1/messages",
            events(anthropic),
            events(fine),
            fine,
        ),
        (
            "ollama-native",
            "/api/chat",
            ollama("{\"error\":\"llama runner process has terminated\"}\n"),
            ollama(whole_line),
            whole_line,
        ),
    ] {
        let first = server(move |_got| bad.clone()).await;
        let second = server(move |_got| good.clone()).await;
        let proxy = before(&[&first, &second], dialect, |_config| {}).await;
        let got = ask(&proxy, path, ASKED).await;
        assert_eq!(got.text(), said, "{dialect}");
        assert_eq!(got.header("x-isogloss-upstream"), Some("1"), "{dialect}");
    }
}

#[tokio::test]
async fn an_error_that_is_the_requests_own_is_nobodys_failure() {
    let own =
        "data: {\"error\":{\"message\":\"bad\",\"type\":\"BadRequestError\",\"code\":400}}\n\n";
    let first = server(move |_got| events(own)).await;
    let mut second = server(|_got| events(&good())).await;
    let proxy = before(&[&first, &second], "vllm", |_config| {}).await;
    for _ in 0..4 {
        let got = ask(&proxy, "/v1/chat/completions", ANY).await;
        assert_eq!((got.status, got.text()), (200, own));
    }
    assert!(proxy.upstream(0).circuits().is_empty());
    let mut posts = 0;
    while second.left() > 0 {
        posts += usize::from(second.next().await.method == "POST");
    }
    assert_eq!(posts, 0);
}

#[tokio::test]
async fn the_first_event_goes_out_when_it_is_whole_and_comments_are_not_kept_for_long() {
    let first_event = role();
    for beginning in [first_event.as_str(), ": ping\n\n"] {
        let said = beginning.to_owned();
        let upstream = server(move |_got| {
            let (half, rest) = said.split_at(said.len() / 2);
            vec![head(EVENTS), chunk(half), chunk(rest), Step::Hang]
        })
        .await;
        let proxy = before(&[&upstream], "vllm", |_config| {}).await;
        let mut client = proxy.chat(ANY).await;
        let came = tokio::time::timeout(PATIENCE, client.until(beginning)).await;
        assert!(find(&came.unwrap(), b" 200 ").is_some());
    }
}

#[tokio::test]
async fn a_whole_reply_that_is_an_error_or_none_is_asked_of_another_server() {
    let html = "content-type: text/html\r\n";
    for (kind, body) in [
        (JSON, r#"{"error":{"message":"engine dead","code":500}}"#),
        (JSON, "Internal Server Error"),
        (JSON, r#"{"id":"#),
        (html, "<html>"),
    ] {
        let first = server(move |_got| vec![reply(200, kind, body)]).await;
        let second = server(|_got| whole("an \\\"error\\\"")).await;
        let proxy = before(&[&first, &second], "vllm", |_config| {}).await;
        for (failures, asked) in [(1, PLAIN), (2, ANY)] {
            let got = ask(&proxy, "/v1/chat/completions", asked).await;
            assert_eq!(got.header("x-isogloss-upstream"), Some("1"), "{body}");
            assert_eq!(got.status, 200);
            let circuits = proxy.upstream(0).circuits();
            assert_eq!(circuits[0].failures, failures, "{body}");
        }
        let proxy = before(&[&first], "vllm", |_config| {}).await;
        let got = ask(&proxy, "/v1/chat/completions", PLAIN).await;
        match body.contains("dead") {
            true => assert_eq!((got.status, got.text()), (200, body)),
            false => assert_eq!(got.status, 502, "{body}: {}", got.text()),
        }
        proxy.until_metrics_say(&format!("{FAILED}1")).await;
    }
}

/// What SDKs of OpenAI's wire take for no error: vLLM's before 0.10.1, Snowflake's, `FastAPI`'s, Venice's, Zhipu's, Lemonade's and llama.cpp's
/// before September 2025 (promptfoo/promptfoo#9872), and Dynamo's, whose words stand in a comment. Of Xinference's and those of transformers
/// they do not read the words.
const UNREAD: [&str; 10] = [
    r#"data: {"object":"error","message":"engine dead","type":"InternalServerError","code":500}"#,
    r#"data: {"code":"399258","message":"engine dead"}"#,
    r#"data: {"detail":"engine dead"}"#,
    r#"data: {"choices":null,"error_message":"engine dead"}"#,
    r#"data: {"code":500,"msg":"engine dead"}"#,
    r#"{"error":{"message":"engine dead"}}"#,
    r#"error: {"code":500,"message":"engine dead"}"#,
    "event: error\n: \"engine dead\"",
    r#"data: {"error": "engine dead"}"#,
    r#"data: {"error": "the "first" engine dead"}"#,
];

#[tokio::test]
async fn an_error_that_its_clients_do_not_read_as_one_is_told_as_one() {
    for bad in UNREAD {
        let stream = format!("{bad}\n\ndata: [DONE]\n\n");
        let first = server(move |_got| events(&stream)).await;
        let proxy = before(&[&first], "vllm", |_config| {}).await;
        let got = ask(&proxy, "/v1/chat/completions", ANY).await;
        assert!(got.status >= 500, "{bad}: {}", got.text());
        let message = &got.json()["error"]["message"];
        assert!(
            message.as_str().unwrap().contains("engine dead"),
            "{bad}: {message}"
        );
        let Some(body) = bad.strip_prefix("data: ") else {
            continue;
        };
        let first = server(move |_got| vec![reply(200, JSON, body)]).await;
        let proxy = before(&[&first], "vllm", |_config| {}).await;
        for asked in [PLAIN, ANY] {
            let got = ask(&proxy, "/v1/chat/completions", asked).await;
            assert!(got.status >= 500, "{bad}: {}", got.text());
            assert!(got.text().contains("engine dead"), "{bad}: {}", got.text());
        }
    }
}

#[tokio::test]
async fn and_so_it_is_behind_the_beginning_of_an_answer() {
    for bad in [0, 5, 6, 7, 8, 9].map(|at: usize| UNREAD[at]) {
        let stream = role() + &content("fine") + bad + "\n\ndata: [DONE]\n\n";
        let in_pieces = stream.clone();
        for script in [
            events(&stream),
            [head(EVENTS)]
                .into_iter()
                .chain(
                    in_pieces
                        .as_bytes()
                        .chunks(7)
                        .map(|piece| chunk(str::from_utf8(piece).unwrap())),
                )
                .chain([end()])
                .collect(),
        ] {
            let first = server(move |_got| script.clone()).await;
            let proxy = before(&[&first], "vllm", |_config| {}).await;
            let got = ask(&proxy, "/v1/chat/completions", ANY).await;
            let text = got.text();
            let told = text.strip_prefix(&(role() + &content("fine"))).unwrap();
            assert!(told.starts_with("data: {\"error\":{"), "{bad}: {told}");
            assert!(told.contains("engine dead"), "{bad}: {told}");
            assert!(!told.contains("[DONE]"), "{bad}: {told}");
            assert_eq!(told.matches("data: ").count(), 1, "{bad}: {told}");
            proxy.until_metrics_say(&format!("{FAILED}1")).await;
        }
    }
}

#[tokio::test]
async fn a_whole_reply_where_a_stream_was_asked_for_is_told_in_events() {
    let first = server(|_got| whole("fine")).await;
    let proxy = before(&[&first], "vllm", |_config| {}).await;
    let got = ask(&proxy, "/v1/chat/completions", ANY).await;
    let text = got.text();
    assert!(
        text.starts_with("data: {") && text.contains("fine"),
        "{text}"
    );
    assert!(text.trim_end().ends_with("data: [DONE]"), "{text}");
}

/// Portkey's guardrails have a status of their own for a success.
#[tokio::test]
async fn a_success_is_one_by_any_status() {
    let first = server(|_got| {
        let body = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}"},"finish_reason":"stop"}]}"#;
        vec![reply(246, JSON, body)]
    })
    .await;
    let proxy = before(&[&first], "vllm", |_config| {}).await;
    let asked = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}"#;
    for body in [asked, PLAIN] {
        let got = ask(&proxy, "/v1/chat/completions", body).await;
        assert!((200..300).contains(&got.status), "{}", got.text());
    }
}

/// Gateways call events JSON (openclaw/openclaw#96497), and Flask calls everything HTML that nobody calls otherwise.
#[tokio::test]
async fn what_a_reply_is_its_first_bytes_tell_where_its_head_says_something_else() {
    for kind in [JSON, "content-type: text/html; charset=utf-8\r\n"] {
        let first = server(move |_got| vec![head(kind), chunk(&good()), end()]).await;
        let proxy = before(&[&first], "vllm", |_config| {}).await;
        let got = ask(&proxy, "/v1/chat/completions", ANY).await;
        assert_eq!((got.status, got.text()), (200, good().as_str()), "{kind}");
        assert_eq!(got.header("content-type"), Some("text/event-stream"));
        let got = ask(&proxy, "/v1/messages", ASKED).await;
        assert!(
            got.text().contains("message_stop"),
            "{kind}: {}",
            got.text()
        );
    }
    let text = "content-type: text/html\r\n";
    let body = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}"#;
    let first = server(move |_got| vec![reply(200, text, body)]).await;
    let proxy = before(&[&first], "vllm", |_config| {}).await;
    let got = ask(&proxy, "/v1/chat/completions", PLAIN).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.header("content-type"), Some("application/json"));
    assert!(got.text().contains("fine"), "{}", got.text());
    // A whole reply that is called events.
    let first = server(move |_got| vec![reply(200, EVENTS, body)]).await;
    let proxy = before(&[&first], "vllm", |_config| {}).await;
    for (path, asked, end) in [
        ("/v1/chat/completions", PLAIN, "}"),
        ("/v1/chat/completions", ANY, "[DONE]"),
        ("/v1/messages", ASKED, "message_stop"),
    ] {
        let got = ask(&proxy, path, asked).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert!(got.text().contains("fine") && got.text().contains(end));
    }
    // Events where a whole reply was asked for.
    let first = server(move |_got| vec![reply(200, JSON, &good())]).await;
    let proxy = before(&[&first], "vllm", |_config| {}).await;
    let got = ask(&proxy, "/v1/chat/completions", PLAIN).await;
    assert_eq!(got.json()["choices"][0]["message"]["content"], "fine");
}

/// More of one event than is held goes out unread, and so does the rest of it, whatever words it has.
#[tokio::test]
async fn the_rest_of_an_event_that_is_too_large_is_not_looked_at() {
    let first = server(|_got| {
        let long = "y".repeat(600);
        let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{long}");
        let rest = "error: disk full\"},\"finish_reason\":null}]}\n\n";
        vec![
            head(EVENTS),
            chunk(&role()),
            chunk(&event),
            chunk(rest),
            chunk(&last()),
            end(),
        ]
    })
    .await;
    let proxy = before(&[&first], "vllm", |config| config.limits.event_bytes = 512).await;
    let got = ask(&proxy, "/v1/chat/completions", ANY).await;
    let text = got.text();
    assert!(text.contains("error: disk full\"}"), "{text}");
    assert!(text.ends_with(&last()), "{text}");
}
