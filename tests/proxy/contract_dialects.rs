//! What clients of each dialect find beside the translated routes: lists of models in their own words, their own
//! server's own route, and what their programs send that others do not.

use crate::support::proxy;
use isogloss::config::{DialectPin, MissingModel};
use isogloss_testing::scripted;
use proxy::{Proxy, post};
use scripted::{Got, Scripted, Step, chunk, head, reply};
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";
const VLLM: &str = r#"{"object":"list","data":[{"id":"org/m","object":"model","created":1750000000,"owned_by":"vllm","max_model_len":4096}]}"#;
const TAGS: &str = r#"{"models":[{"name":"m:1b","model":"m:1b","size":5}]}"#;

type Gets = &'static [(&'static str, &'static str)];
const VERSION: (&str, &str) = ("/version", r#"{"version":"0.32.0"}"#);

/// A server that answers each GET by its path, and all else by the script; what it is asked who it is, too.
async fn server(
    gets: Gets,
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> Scripted {
    let upstream = Scripted::start(move |got| {
        let target = got.target.split('?').next().unwrap_or_default();
        let known = gets
            .iter()
            .find(|(path, _)| got.method == "GET" && *path == target);
        match known {
            Some((_, body)) => vec![reply(200, JSON, body)],
            None if got.method == "GET" => vec![reply(404, JSON, "{}")],
            None => script(got),
        }
    })
    .await;
    upstream.answer_by_script();
    upstream
}

async fn before(upstream: &Scripted) -> Proxy {
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

async fn vllm() -> (Scripted, Proxy) {
    let upstream = server(&[("/v1/models", VLLM), VERSION], |_got| {
        vec![reply(500, JSON, "{}")]
    })
    .await;
    let proxy = before(&upstream).await;
    (upstream, proxy)
}

/// An Ollama as it is recognised.
async fn ollama(script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static) -> (Scripted, Proxy) {
    let gets = &[
        ("/api/version", r#"{"version":"0.33.0"}"#),
        ("/api/tags", TAGS),
        ("/api/ps", r#"{"models":[]}"#),
    ];
    let upstream = server(gets, script).await;
    let proxy = before(&upstream).await;
    (upstream, proxy)
}

async fn get(proxy: &Proxy, path: &str, headers: &str) -> (u16, Value) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: proxy\r\n{headers}\r\n");
    let got = proxy.send(request).await.reply().await;
    (got.status, got.json())
}

/// The next request that is no question who the server is.
async fn asked(upstream: &mut Scripted) -> Got {
    loop {
        let got = upstream.next().await;
        if got.method == "POST" {
            return got;
        }
    }
}

#[tokio::test]
async fn a_servers_models_come_in_the_callers_words() {
    let (_upstream, proxy) = vllm().await;
    for path in ["/v1/models", "/models", "/v1/models/", "/v1/models?x=1"] {
        let (_, own) = get(&proxy, path, "authorization: Bearer k\r\n").await;
        assert_eq!(own, serde_json::from_str::<Value>(VLLM).unwrap(), "{path}");
    }
    for headers in [
        "anthropic-version: 2023-06-01\r\nauthorization: Bearer k\r\n",
        "x-api-key: k\r\n",
    ] {
        let (status, list) = get(&proxy, "/v1/models", headers).await;
        let created = "2025-06-15T15:06:40Z";
        let model = json!({"type": "model", "id": "org/m", "display_name": "org/m", "created_at": created, "max_input_tokens": 4096});
        let expected =
            json!({"data": [model], "has_more": false, "first_id": "org/m", "last_id": "org/m"});
        assert_eq!((status, list), (200, expected));
    }
    for (path, headers) in [
        ("/v1beta/models?pageSize=50", "x-goog-api-key: k\r\n"),
        ("/v1/models?key=k", ""),
    ] {
        let (status, list) = get(&proxy, path, headers).await;
        assert_eq!(
            (status, &list["models"][0]["name"]),
            (200, &json!("models/org/m"))
        );
    }
    let (_, tags) = get(&proxy, "/api/tags", "").await;
    assert_eq!(tags["models"][0]["model"], "org/m");
    let (_, running) = get(&proxy, "/api/ps", "").await;
    assert_eq!(running["models"][0]["name"], "org/m");
    let (_, version) = get(&proxy, "/api/version", "").await;
    assert!(version["version"].is_string() && version["isogloss"].is_string());
}

#[tokio::test]
async fn the_models_of_several_servers_are_one_list() {
    const FIRST: Gets = &[
        ("/v1/models", r#"{"data":[{"id":"a"},{"id":"b"}]}"#),
        ("/v1/models/a", r#"{"id":"a","root":"/a"}"#),
        VERSION,
    ];
    const SECOND: Gets = &[
        ("/v1/models", r#"{"data":[{"id":"b"},{"id":"c"}]}"#),
        VERSION,
    ];
    let broken = |_got: &Got| vec![reply(500, JSON, "{}")];
    let (first, second) = (server(FIRST, broken).await, server(SECOND, broken).await);
    let urls = [&first, &second].map(Scripted::url);
    let proxy = Proxy::with(&urls.each_ref().map(String::as_str), |_config| {}).await;
    let bearer = "authorization: Bearer k\r\n";
    let ids = async |headers: &str| -> Vec<String> {
        let (status, list) = get(&proxy, "/v1/models", headers).await;
        assert_eq!(status, 200, "{list}");
        let data = list["data"].as_array().unwrap().iter();
        data.map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    };
    for index in 0..urls.len() {
        proxy.until_upstream(index, "ready").await;
    }
    assert_eq!(ids(bearer).await, ["a", "b", "c"]);
    assert_eq!(ids("x-api-key: k\r\n").await, ["a", "b", "c"]);
    let (status, model) = get(&proxy, "/v1/models/c", bearer).await;
    assert_eq!((status, &model["id"]), (200, &json!("c")));
    let (_, model) = get(&proxy, "/v1/models/a", bearer).await;
    assert_eq!(model["root"], "/a", "what a server has of its own is shown");
    let (status, error) = get(&proxy, "/v1/models/d", bearer).await;
    let code = &error["error"]["code"];
    assert_eq!((status, code), (404, &json!("model_not_found")));
    second.stop().await;
    assert_eq!(ids(bearer).await, ["a", "b"], "of those that answer");
}

#[tokio::test]
async fn one_model_is_shown_where_the_server_has_the_list_alone() {
    let (_upstream, proxy) = vllm().await;
    for path in ["/v1/models/org/m", "/v1/models/org%2Fm"] {
        let (status, model) = get(&proxy, path, "").await;
        assert_eq!((status, &model["id"]), (200, &json!("org/m")), "{path}");
    }
    let (status, model) = get(&proxy, "/v1beta/models/org/m", "").await;
    assert_eq!((status, &model["inputTokenLimit"]), (200, &json!(4096)));
    for name in ["model", "name"] {
        let body = json!({ name: "org/m" }).to_string();
        let shown = proxy
            .send(post("/api/show", &body))
            .await
            .reply()
            .await
            .json();
        assert_eq!(shown["capabilities"], json!(["completion", "tools"]));
    }
}

#[tokio::test]
async fn a_model_that_is_not_there_is_an_error_in_the_callers_shape() {
    let (_upstream, proxy) = vllm().await;
    let (status, error) = get(&proxy, "/v1/models/gone", "").await;
    assert_eq!(
        (status, &error["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    let (status, error) = get(
        &proxy,
        "/v1/models/gone",
        "anthropic-version: 2023-06-01\r\n",
    )
    .await;
    assert_eq!(
        (status, &error["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    assert_eq!(error["type"], "error");
    let (status, error) = get(&proxy, "/v1beta/models/gone", "").await;
    assert_eq!(
        (status, &error["error"]["status"]),
        (404, &json!("NOT_FOUND"))
    );
    let shown = proxy
        .send(post("/api/show", r#"{"model":"gone"}"#))
        .await
        .reply()
        .await;
    let said = shown.json()["error"].as_str().unwrap().to_owned();
    assert!(
        shown.status == 404 && said.starts_with("model 'gone' not found"),
        "{said}"
    );
}

#[tokio::test]
async fn a_list_that_cannot_be_had_is_no_empty_one() {
    let gets = &[("/v1/models", r#"{"models":"none"}"#)];
    let upstream = server(gets, |_got| Vec::new()).await;
    let proxy = before(&upstream).await;
    let (status, error) = get(&proxy, "/api/tags", "").await;
    assert_eq!(status, 502);
    assert!(
        error["error"]
            .as_str()
            .unwrap()
            .contains("no list of models")
    );
    let upstream = server(&[], |_got| Vec::new()).await;
    let proxy = before(&upstream).await;
    let (status, error) = get(&proxy, "/v1beta/models", "").await;
    assert!(
        status >= 400 && error["error"]["message"].is_string(),
        "{error}"
    );
}

#[tokio::test]
async fn ollama_is_asked_by_its_own_clients_on_its_own_route() {
    let line = r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop","load_duration":7}"#;
    let completion = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let (mut upstream, proxy) = ollama(move |got| match got.target.as_str() {
        "/api/chat" => vec![reply(200, JSON, line)],
        _ => vec![reply(200, JSON, completion)],
    })
    .await;
    let body = r#"{"model":"m:1b","stream":false,"keep_alive":"5m","messages":[{"role":"user","content":"hi"}],"options":{"num_ctx":9}}"#;
    let got = proxy.send(post("/api/chat", body)).await.reply().await;
    let sent = asked(&mut upstream).await;
    assert_eq!(
        (sent.target.as_str(), sent.body.as_slice()),
        ("/api/chat", body.as_bytes())
    );
    assert_eq!(got.text(), line, "bytes go through");
    assert_eq!(got.header("x-isogloss-losses"), None);
    // What is demanded is too, in the server's own words; of late `json` alone holds nothing.
    let demand = body.replace("\"stream\"", "\"format\":\"json\",\"stream\"");
    let got = proxy.send(post("/api/chat", &demand)).await.reply().await;
    assert_eq!(got.status, 502, "{}", got.text());
    let sent: Value = serde_json::from_slice(&asked(&mut upstream).await.body).unwrap();
    assert_eq!(sent["format"], serde_json::json!({"type": "object"}));
    // Everybody else is answered by the compatible route.
    let chat = r#"{"model":"m:1b","messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(proxy.chat(chat).await.reply().await.status, 200);
    assert_eq!(asked(&mut upstream).await.target, "/v1/chat/completions");
    let (_, tags) = get(&proxy, "/api/tags", "").await;
    assert_eq!(tags, serde_json::from_str::<Value>(TAGS).unwrap());
    let (_, version) = get(&proxy, "/api/version", "").await;
    assert_eq!(version, json!({"version": "0.33.0"}));
}

#[tokio::test]
async fn a_pinned_dialect_is_asked_on_its_own_wire_by_everyone() {
    let upstream = server(&[("/api/tags", TAGS)], |_got| vec![reply(500, JSON, "{}")]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.upstreams[0].dialect = DialectPin::parse("ollama");
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let mut upstream = upstream;
    let body = r#"{"model":"m","stream":false,"messages":[{"role":"user","content":"hi"}]}"#;
    proxy.send(post("/api/chat", body)).await.reply().await;
    assert_eq!(asked(&mut upstream).await.target, "/v1/chat/completions");
    // What chats is another matter than what it lists.
    let (_, tags) = get(&proxy, "/api/tags", "").await;
    assert_eq!(tags, serde_json::from_str::<Value>(TAGS).unwrap());
}

#[tokio::test]
async fn lines_that_go_through_go_out_as_they_come_and_end_with_the_error() {
    let line = |done: bool| {
        format!(
            "{{\"model\":\"m\",\"message\":{{\"role\":\"assistant\",\"content\":\"a\"}},\"done\":{done}}}\n"
        )
    };
    let (upstream, proxy) = ollama(move |_got| {
        vec![
            head("content-type: application/x-ndjson\r\n"),
            chunk(&line(false)),
            Step::WaitForGo,
            chunk(&line(false)),
            chunk("{\"model\":"),
            Step::Close,
        ]
    })
    .await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let mut client = proxy.send(post("/api/chat", body)).await;
    client.until("\"done\":false}\n").await;
    upstream.go();
    let rest = String::from_utf8(client.until("\"error\"").await).unwrap();
    assert!(!rest.contains("{\"model\":{"), "{rest}");
}

#[tokio::test]
async fn curl_asks_ollamas_routes_without_a_type_and_a_browser_does_not() {
    let line = r#"{"model":"m","response":"hi","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}"#;
    let (_upstream, proxy) = ollama(move |_got| vec![reply(200, JSON, line)]).await;
    let body =
        r#"{"model":"m","prompt":"hi","stream":false,"messages":[{"role":"user","content":"hi"}]}"#;
    let form = "content-type: application/x-www-form-urlencoded";
    for (path, more, status) in [
        ("/api/chat", "", 200),
        ("/api/generate", "", 200),
        ("/api/chat", "origin: http://evil.example\r\n", 415),
        ("/v1/chat/completions", "", 415),
    ] {
        let request = post(path, body).replace(
            "content-type: application/json\r\n",
            &format!("{form}\r\n{more}"),
        );
        assert!(request.contains(form));
        let got = proxy.send(request).await.reply().await;
        assert_eq!(got.status, status, "{path} {more}: {}", got.text());
    }
}

#[tokio::test]
async fn a_chat_reply_has_what_openais_types_have_whether_its_server_says_so_or_not() {
    let without = r#"{"id":"c", "object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let added = |text: &str| {
        let text = text.replace("\"hi\"", "\"hi\",\"refusal\":null");
        text.replace("\"stop\"", "\"stop\",\"logprobs\":null")
    };
    let with = added(without);
    let upstream = server(&[("/v1/models", VLLM)], move |got| {
        let body = String::from_utf8_lossy(&got.body);
        vec![reply(
            200,
            JSON,
            if body.contains("again") {
                &with
            } else {
                without
            },
        )]
    })
    .await;
    let proxy = before(&upstream).await;
    for (text, demand) in [
        ("hi", ""),
        ("again", ""),
        ("hi", r#","response_format":{"type":"text"},"n":1"#),
    ] {
        let body =
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]{demand}}}"#);
        let got = proxy.chat(&body).await.reply().await;
        let expected = added(without);
        assert_eq!((got.status, got.text()), (200, expected.as_str()), "{body}");
    }
}

#[tokio::test]
async fn a_chat_request_names_its_model_unless_the_operator_lets_it() {
    for (setting, status) in [(MissingModel::Refuse, 400), (MissingModel::Forward, 200)] {
        let answer = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
        let upstream = server(&[("/v1/models", VLLM)], move |_got| {
            vec![reply(200, JSON, answer)]
        })
        .await;
        let proxy = Proxy::with(&[&upstream.url()], |config| config.missing_model = setting).await;
        proxy.until_upstream(0, "ready").await;
        for model in ["", r#""model":"","#, r#""model":null,"#] {
            let body = format!(r#"{{{model}"messages":[{{"role":"user","content":"hi"}}]}}"#);
            let got = proxy.chat(&body).await.reply().await;
            assert_eq!(got.status, status, "{body}");
            if status == 400 {
                assert_eq!(got.json()["error"]["param"], "model");
                assert_eq!(got.json()["error"]["type"], "invalid_request_error");
            }
        }
    }
}

#[tokio::test]
async fn a_request_that_only_loads_a_model_is_answered_for_servers_that_load_their_own() {
    let (mut upstream, proxy) = vllm().await;
    for (path, body, reason) in [
        ("/api/generate", r#"{"model":"org/m"}"#, "load"),
        ("/api/chat", r#"{"model":"org/m","messages":[]}"#, "load"),
        (
            "/api/generate",
            r#"{"model":"org/m","prompt":"","keep_alive":0}"#,
            "unload",
        ),
    ] {
        let got = proxy.send(post(path, body)).await.reply().await;
        let said = got.json();
        assert_eq!(
            (got.status, &said["done"], &said["done_reason"]),
            (200, &json!(true), &json!(reason))
        );
    }
    while upstream.left() > 0 {
        assert_eq!(upstream.next().await.method, "GET");
    }
    // Ollama is asked itself.
    let load = r#"{"model":"m:1b"}"#;
    let (mut upstream, proxy) = ollama(|_got| vec![reply(200, JSON, r#"{"done":true}"#)]).await;
    proxy.send(post("/api/generate", load)).await.reply().await;
    assert_eq!(asked(&mut upstream).await.body, load.as_bytes());
}

/// A bound on tokens is nothing that a text shows, and so nothing that could be verified.
#[tokio::test]
async fn a_grammar_that_counts_tokens_is_refused_at_its_field_in_every_dialect_that_has_grammars() {
    let (mut upstream, proxy) = vllm().await;
    let grammar = "start: word \".\"\nword[max_tokens=3]: /[a-z]+/\n";
    let user = json!([{"role": "user", "content": "hi"}]);
    let custom = json!({"type": "grammar", "grammar": {"syntax": "lark", "definition": grammar}});
    let flat = json!({"type": "grammar", "syntax": "lark", "definition": grammar});
    for (path, body, field) in [
        (
            "/v1/chat/completions",
            json!({"messages": user, "structured_outputs": {"grammar": grammar}}),
            "structured_outputs.grammar",
        ),
        (
            "/v1/chat/completions",
            json!({"messages": user, "tools": [{"type": "custom", "custom": {"name": "t", "format": custom}}]}),
            "tools[0].custom.format",
        ),
        (
            "/v1/responses",
            json!({"input": "hi", "tools": [{"type": "custom", "name": "t", "format": flat}]}),
            "tools[0].format",
        ),
        (
            "/v1/completions",
            json!({"prompt": "hi", "guided_grammar": grammar}),
            "guided_grammar",
        ),
    ] {
        let mut body = body;
        body["model"] = json!("org/m");
        let got = proxy
            .send(post(path, &body.to_string()))
            .await
            .reply()
            .await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status, &error["param"]),
            (400, &json!(field)),
            "{path}"
        );
        let told = error["message"].as_str().unwrap();
        assert!(
            told.contains("`max_tokens`") && told.contains("{1,200}"),
            "{told}"
        );
    }
    while upstream.left() > 0 {
        assert_eq!(upstream.next().await.method, "GET");
    }
}
