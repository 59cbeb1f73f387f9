//! Clients that ask how many tokens a request has, on loopback, in front of servers that count, render and
//! count, or do neither; and those that ask whether somebody is there.

use crate::support::proxy::{self, Proxy, post};
use isogloss::config::DialectPin;
use isogloss_core::passage::Forward;
use isogloss_testing::scripted::{Got, Scripted, Step, reply};
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";

async fn start(
    dialect: &str,
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> (Scripted, Proxy) {
    let upstream = Scripted::start(move |got| match got.method.as_str() {
        "GET" => vec![reply(404, JSON, "{}")],
        _ => script(got),
    })
    .await;
    let url = format!("http://{}", upstream.address);
    let proxy = Proxy::with(&[&url], |config| {
        config.upstreams[0].dialect = DialectPin::parse(dialect);
        config.limits.reply_bytes = 4096;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    (upstream, proxy)
}

async fn asked(upstream: &mut Scripted) -> (Got, Value) {
    loop {
        let got = upstream.next().await;
        if got.method == "POST" {
            let body = serde_json::from_slice(&got.body).unwrap();
            return (got, body);
        }
    }
}

const MESSAGES: &str = "/v1/messages/count_tokens";
const RESPONSES: &str = "/v1/responses/input_tokens";
const GEMINI: &str = "/v1beta/models/m:countTokens";

fn messages() -> Value {
    json!({
        "model": "m",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "What is the weather?"}],
        "tools": [{"name": "weather", "description": "Tells the weather.", "input_schema": {
            "type": "object", "properties": {"city": {"type": "string"}}}}],
    })
}

fn contents() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "What is the weather?"}]}]})
}

fn input() -> Value {
    json!({"model": "m", "input": "What is the weather?"})
}

async fn counted(proxy: &Proxy, path: &str, body: &Value) -> proxy::Reply {
    let mut client = proxy.send(post(path, &body.to_string())).await;
    client.reply().await
}

#[tokio::test]
async fn a_server_with_a_tokenizer_counts_what_it_would_be_sent() {
    for dialect in ["vllm@0.32.0", "sglang@0.5.23", "worker"] {
        let (mut upstream, proxy) = start(dialect, |_got| {
            vec![reply(200, JSON, r#"{"count": 42, "tokens": [1]}"#)]
        })
        .await;
        let body = messages();
        let answer = counted(&proxy, &format!("{MESSAGES}?beta=true"), &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json(), json!({"input_tokens": 42}));
        assert_eq!(answer.header("x-isogloss-tokens"), Some("counted"));
        let (got, body) = asked(&mut upstream).await;
        assert_eq!(got.target, "/tokenize", "{dialect}");
        assert_eq!(body["model"], "m");
        assert_eq!(body["messages"][0]["role"], "system");
        assert_eq!(body["messages"][1]["content"], "What is the weather?");
        let sent = body["tools"].to_string() + &body["messages"].to_string();
        assert!(sent.contains("Tells the weather."), "{dialect}: {body}");
        for left in ["max_tokens", "stream", "temperature"] {
            assert_eq!(body.get(left), None, "{body}");
        }
        let answer = counted(&proxy, GEMINI, &contents()).await;
        assert_eq!(answer.json(), json!({"totalTokens": 42}));
        let (got, _) = asked(&mut upstream).await;
        assert_eq!(got.target, "/tokenize");
        let answer = counted(&proxy, RESPONSES, &input()).await;
        let told = json!({"object": "response.input_tokens", "input_tokens": 42});
        assert_eq!(answer.json(), told);
        let (got, body) = asked(&mut upstream).await;
        assert_eq!(got.target, "/tokenize");
        assert_eq!(body["messages"][0]["content"], "What is the weather?");
    }
}

#[tokio::test]
async fn a_server_that_takes_texts_apart_is_asked_to_render_first() {
    let (mut upstream, proxy) = start("llama-cpp", |got| {
        let answer = match got.target.as_str() {
            "/apply-template" => r#"{"prompt": "<|user|>What is the weather?"}"#,
            _ => r#"{"tokens": [1, 2, 3]}"#,
        };
        vec![reply(200, JSON, answer)]
    })
    .await;
    let answer = counted(&proxy, MESSAGES, &messages()).await;
    assert_eq!(answer.json(), json!({"input_tokens": 3}));
    let (first, rendered) = asked(&mut upstream).await;
    assert_eq!(first.target, "/apply-template");
    assert_eq!(rendered["messages"][1]["role"], "user");
    let (second, text) = asked(&mut upstream).await;
    assert_eq!(second.target, "/tokenize");
    assert_eq!(
        text,
        json!({"model": "m", "content": "<|user|>What is the weather?", "add_special": true, "parse_special": true})
    );
}

#[tokio::test]
async fn on_one_wire_the_bytes_of_question_and_answer_go_through() {
    for (dialect, path, body, said) in [
        (
            "anthropic",
            MESSAGES,
            r#"{ "messages" :[],"model": "m" ,"new_field":1}"#,
            r#"{"input_tokens":5, "context_management":{"original_input_tokens":9}}"#,
        ),
        (
            "openai",
            RESPONSES,
            r#"{ "input" :"hi","model": "m" ,"conversation":"conv_1","tools":[{"type":"computer"}]}"#,
            r#"{"object":"response.input_tokens","input_tokens":5}"#,
        ),
        (
            "gemini",
            GEMINI,
            r#"{ "generateContentRequest" :{"model":"models/m","contents":[]} }"#,
            r#"{"totalTokens":5, "promptTokensDetails":[]}"#,
        ),
    ] {
        let (mut upstream, proxy) = start(dialect, move |_got| vec![reply(200, JSON, said)]).await;
        let request = post(path, body).replacen("\r\n\r\n", "\r\nx-api-key: k\r\n\r\n", 1);
        let request = match dialect {
            "gemini" => request.replace("x-api-key", "x-goog-api-key"),
            "openai" => request.replace("x-api-key: ", "authorization: Bearer "),
            _ => request,
        };
        let answer = proxy.send(request).await.reply().await;
        assert_eq!(answer.text(), said, "{dialect}");
        assert_eq!(answer.header("x-isogloss-tokens"), Some("counted"));
        let (got, _) = asked(&mut upstream).await;
        assert_eq!(got.target, path);
        assert_eq!(std::str::from_utf8(&got.body).unwrap(), body);
        let (key, sent) = match dialect {
            "gemini" => ("x-goog-api-key", "k"),
            "openai" => ("authorization", "Bearer k"),
            _ => ("x-api-key", "k"),
        };
        assert_eq!(got.header(key), Some(sent), "{dialect}");
    }
}

#[tokio::test]
async fn a_server_of_another_wire_that_counts_is_asked_in_its_words() {
    let (mut upstream, proxy) = start("gemini", |_got| {
        vec![reply(200, JSON, r#"{"totalTokens":7}"#)]
    })
    .await;
    let answer = counted(&proxy, MESSAGES, &messages()).await;
    assert_eq!(answer.json(), json!({"input_tokens": 7}));
    let (got, body) = asked(&mut upstream).await;
    assert_eq!(got.target, GEMINI);
    let whole = &body["generateContentRequest"];
    assert_eq!(whole["model"], "models/m");
    assert_eq!(
        whole["contents"][0]["parts"][0]["text"],
        "What is the weather?"
    );
    assert!(whole["tools"].to_string().contains("Tells the weather."));

    let (mut upstream, proxy) = start("anthropic", |_got| {
        vec![reply(200, JSON, r#"{"input_tokens":8}"#)]
    })
    .await;
    for body in [contents(), json!({"generateContentRequest": contents()})] {
        let answer = counted(&proxy, GEMINI, &body).await;
        assert_eq!(answer.json(), json!({"totalTokens": 8}));
        let (got, body) = asked(&mut upstream).await;
        assert_eq!(got.target, MESSAGES);
        assert_eq!(body["model"], "m");
        assert_eq!(body["messages"][0]["role"], "user");
        assert_eq!(body.get("max_tokens"), None);
    }
}

#[tokio::test]
async fn where_the_server_does_not_count_an_estimate_says_that_it_is_one() {
    // A rule without a route, and a route that is not there.
    for dialect in ["plain", "vllm@0.8.0", "vllm@0.32.0"] {
        let (_upstream, proxy) = start(dialect, |_got| {
            vec![reply(404, JSON, r#"{"detail":"Not Found"}"#)]
        })
        .await;
        let estimate = async |body: &Value| {
            let answer = counted(&proxy, MESSAGES, body).await;
            assert_eq!(answer.status, 200, "{dialect}: {}", answer.text());
            assert_eq!(answer.header("x-isogloss-tokens"), Some("estimated"));
            answer.json()["input_tokens"].as_u64().unwrap()
        };
        let few = estimate(&messages()).await;
        assert!((30..120).contains(&few), "{dialect}: {few}");
        let mut longer = messages();
        longer["messages"][0]["content"] = json!("weather ".repeat(1000));
        let many = estimate(&longer).await;
        assert!((1900..2200).contains(&(many - few)), "{dialect}: {many}");
        let mut more = messages();
        more["tools"] = Value::Null;
        assert!(estimate(&more).await < few, "tools count");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_in_the_clients_own_shape() {
    type Row = (u16, String, u16, &'static str);
    let rows: [Row; 5] = [
        (
            401,
            "{\"message\":\"no\"}".into(),
            401,
            "authentication_error",
        ),
        (429, "{}".into(), 429, "rate_limit_error"),
        (
            404,
            "{\"error\":{\"message\":\"no model m\"}}".into(),
            404,
            "not_found_error",
        ),
        (200, "{\"count\": null}".into(), 502, "api_error"),
        (
            200,
            format!("{{\"tokens\": \"{}\"}}", "1".repeat(5000)),
            502,
            "api_error",
        ),
    ];
    for (status, said, wanted, kind) in rows {
        let body = said.clone();
        let (_upstream, proxy) =
            start("vllm@0.32.0", move |_got| vec![reply(status, JSON, &body)]).await;
        let answer = counted(&proxy, MESSAGES, &messages()).await;
        assert_eq!(answer.status, wanted, "{said}: {}", answer.text());
        let told = answer.json();
        assert_eq!(
            (&told["type"], &told["error"]["type"]),
            (&json!("error"), &json!(kind))
        );
        let answer = counted(&proxy, GEMINI, &contents()).await;
        assert_eq!(answer.json()["error"]["code"], wanted, "{}", answer.text());
    }
}

#[tokio::test]
async fn a_body_that_is_no_request_is_refused_by_its_field() {
    let (_upstream, proxy) = start("vllm@0.32.0", |_got| vec![reply(500, JSON, "{}")]).await;
    for (path, body, word) in [
        (MESSAGES, "{\"messages\":[]}", "model"),
        (MESSAGES, "{\"model\":\"m\"}", "messages"),
        (
            MESSAGES,
            "{\"model\":\"m\",\"messages\":[{\"role\":\"x\",\"content\":\"y\"}]}",
            "messages[0].role",
        ),
        (MESSAGES, "{", "JSON"),
        (
            GEMINI,
            "{\"contents\":[{\"parts\":1}]}",
            "contents[0].parts",
        ),
        (
            GEMINI,
            "{\"contents\":[],\"generateContentRequest\":{\"contents\":[]}}",
            "generateContentRequest",
        ),
        (
            GEMINI,
            "{\"generateContentRequest\":{\"tools\":3}}",
            "generateContentRequest.tools",
        ),
    ] {
        let answer = proxy.send(post(path, body)).await.reply().await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(answer.text().contains(word), "{body}: {}", answer.text());
    }
}

#[tokio::test]
async fn whether_somebody_is_there_is_answered_without_a_server() {
    let (mut upstream, proxy) = start("vllm@0.32.0", |_got| vec![reply(404, JSON, "{}")]).await;
    for path in ["/", "/v1/messages", "/v1/chat/completions"] {
        let request = format!("HEAD {path} HTTP/1.1\r\nhost: p\r\nconnection: close\r\n\r\n");
        let mut client = proxy.send(request).await;
        let answer = String::from_utf8(client.rest().await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let url = upstream.url();
    let greeting = Proxy::with(&[&url], |config| config.forward = Forward::default()).await;
    for (accepted, text) in [
        ("*/*", "Ollama is running"),
        ("text/html", "Isogloss is running"),
    ] {
        let request =
            format!("GET / HTTP/1.1\r\nhost: p\r\naccept: {accepted}\r\nconnection: close\r\n\r\n");
        let mut client = greeting.send(request).await;
        let answer = String::from_utf8(client.rest().await).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains(text),
            "{answer}"
        );
    }
    let request = "HEAD /v1/files HTTP/1.1\r\nhost: p\r\nconnection: close\r\n\r\n";
    let mut client = proxy.send(request).await;
    let answer = String::from_utf8(client.rest().await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let heads = async {
        loop {
            let got = upstream.next().await;
            if got.method == "HEAD" {
                return got.target;
            }
        }
    };
    assert_eq!(heads.await, "/v1/files", "no other reached the server");
}
