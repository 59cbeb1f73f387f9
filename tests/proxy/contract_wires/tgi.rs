//! TGI's `/generate` behind the proxy: two questions, then the request itself, each with the same
//! limits, and every failure in the client's terms.

use super::{Asked, JSON, OnViolation, call, proxy::Proxy, request};
use isogloss::config::DialectPin;
use isogloss_testing::scripted::{Got, PATIENCE, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};
use std::time::Duration;

const RENDERED: &str = r#"{"tokenize_response":[{"id":1,"text":"<s>","start":0,"stop":3},{"id":5,"text":"hi","start":3,"stop":5}],"templated_text":"<s>hi"}"#;
const DOUBLED: &str =
    r#"[{"id":1,"text":"<s>","start":0,"stop":3},{"id":1,"text":"<s>","start":0,"stop":3}]"#;

fn generated(text: &str) -> String {
    let details = json!({"finish_reason": "eos_token", "generated_tokens": 5, "seed": null, "prefill": [], "tokens": []});
    json!({"generated_text": text, "details": details}).to_string()
}

/// A server that renders, and that answers to prompts so.
async fn start(answer: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static) -> (Scripted, Proxy) {
    let server = Asked {
        on_violation: OnViolation::Retry,
        ..Asked::of("tgi-generate")
    };
    server
        .start(move |got| on_the_way(got).unwrap_or_else(|| answer(got)))
        .await
}

fn on_the_way(got: &Got) -> Option<Vec<Step>> {
    match got.target.split('?').next()? {
        "/chat_tokenize" => Some(vec![reply(200, JSON, RENDERED)]),
        "/tokenize" => Some(vec![reply(200, JSON, DOUBLED)]),
        _ => None,
    }
}

async fn asked(upstream: &mut Scripted) -> (Got, Value) {
    let got = upstream.next().await;
    let body = serde_json::from_slice(&got.body).unwrap();
    (got, body)
}

#[tokio::test]
async fn the_server_renders_the_prompt_and_then_is_asked_with_it() {
    let (mut upstream, proxy) =
        start(|_got| vec![reply(200, JSON, &generated(r#"{"city": "Bonn"}"#))]).await;
    let text = request(&call(false), "authorization: Bearer k\r\nx-trace: 7\r\n");
    let text = text.replacen("completions ", "completions?a=b ", 1);
    let answer = proxy.send(text).await.reply().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("x-isogloss-strategy"), Some("constrain"));
    let body = answer.json();
    let function = &body["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(
        function,
        &json!({"name": "f", "arguments": "{\"city\": \"Bonn\"}"})
    );
    assert_eq!(
        body["usage"],
        json!({"prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7})
    );

    let mut paths = Vec::new();
    let mut last = Value::Null;
    for _ in 0..3 {
        let (got, body) = asked(&mut upstream).await;
        assert_eq!(
            got.header("authorization"),
            Some("Bearer k"),
            "{}",
            got.target
        );
        assert_eq!(got.header("x-trace"), Some("7"));
        paths.push(got.target);
        last = body;
    }
    assert_eq!(
        paths,
        ["/chat_tokenize?a=b", "/tokenize?a=b", "/generate?a=b"]
    );
    assert_eq!(last["inputs"], "hi");
    let parameters = &last["parameters"];
    assert_eq!(parameters["grammar"]["type"], "json");
    assert_eq!(parameters["grammar"]["value"]["required"], json!(["city"]));
    assert_eq!(parameters["max_new_tokens"], 50);
}

fn token(text: &str, is_last: bool) -> Step {
    let mut event = json!({"index": 1, "token": {"id": 4, "text": text, "logprob": -0.5, "special": false}, "generated_text": null, "details": null});
    if is_last {
        event["generated_text"] = json!("all");
        event["details"] = json!({"finish_reason": "length", "generated_tokens": 5, "seed": null, "input_length": 2});
    }
    chunk(&format!("data:{event}\n\n"))
}

#[tokio::test]
async fn tokens_become_events_as_they_come() {
    let (mut upstream, proxy) = start(|_got| {
        vec![
            head("content-type: text/event-stream\r\n"),
            token("{\"ci", false),
            token("ty\": \"", false),
            Step::WaitForGo,
            token("Bonn\"}", true),
            end(),
        ]
    })
    .await;
    let mut client = proxy.send(request(&call(true), "")).await;
    let start = client.until("arguments").await;
    upstream.go();
    let rest = client.until("[DONE]").await;
    let text = String::from_utf8([start, rest].concat()).unwrap();
    assert!(text.contains("Bonn"), "{text}");
    assert!(text.contains("\"finish_reason\":\"length\""), "{text}");
    let paths: Vec<String> = [
        asked(&mut upstream).await,
        asked(&mut upstream).await,
        asked(&mut upstream).await,
    ]
    .into_iter()
    .map(|(got, _)| got.target)
    .collect();
    assert_eq!(paths, ["/chat_tokenize", "/tokenize", "/generate_stream"]);
}

#[tokio::test]
async fn a_reply_that_breaks_the_contract_is_rendered_and_asked_for_again() {
    let (mut upstream, proxy) = start({
        let count = std::sync::atomic::AtomicUsize::new(0);
        move |_got| {
            let is_first = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
            let text = if is_first {
                r#"{"town":1}"#
            } else {
                r#"{"city":"Bonn"}"#
            };
            vec![reply(200, JSON, &generated(text))]
        }
    })
    .await;
    let answer = proxy.send(request(&call(false), "")).await.reply().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut turns = Vec::new();
    for _ in 0..6 {
        let (got, body) = asked(&mut upstream).await;
        if got.target == "/chat_tokenize" {
            turns.push(body["messages"].as_array().unwrap().len());
        }
    }
    assert_eq!(turns, [2, 4]);
}

#[tokio::test]
async fn an_error_on_the_way_to_the_prompt_is_the_clients_error() {
    for (path, status, body, says) in [
        (
            "/chat_tokenize",
            422,
            r#"{"error":"Template error: syntax error","error_type":"template_error"}"#,
            "Template error: syntax error",
        ),
        (
            "/tokenize",
            429,
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
            "Model is overloaded",
        ),
        (
            "/generate",
            422,
            r#"{"error":"Input validation error: `inputs` must have less than 4 tokens","error_type":"validation"}"#,
            "must have less than 4 tokens",
        ),
    ] {
        let (_upstream, proxy) = Asked::of("tgi-generate")
            .start(move |got| {
                if got.target == path {
                    return vec![reply(status, JSON, body)];
                }
                on_the_way(got).unwrap_or_default()
            })
            .await;
        let answer = proxy.send(request(&call(false), "")).await.reply().await;
        // What is too long is a 400 to OpenAI's clients, with a code of its own.
        let is_too_long = answer.json()["error"]["code"] == "context_length_exceeded";
        assert_eq!(is_too_long, path == "/generate", "{path}");
        let expected = if is_too_long { 400 } else { status };
        assert_eq!(answer.status, expected, "{path}: {}", answer.text());
        let message = answer.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(says), "{path}: {message}");
    }
}

#[tokio::test]
async fn an_answer_that_has_no_prompt_in_it_is_a_502_and_nothing_is_generated() {
    for answer in ["{}", "<html>", r#"{"templated_text":["hi"]}"#] {
        let (upstream, proxy) = Asked::of("tgi-generate")
            .start(move |_got| vec![reply(200, JSON, answer)])
            .await;
        let got = proxy.send(request(&call(false), "")).await.reply().await;
        assert_eq!(got.status, 502, "{answer}: {}", got.text());
        assert_eq!(got.json()["error"]["code"], "upstream_bad_reply");
        drop(upstream);
    }
}

#[tokio::test]
async fn the_time_until_the_first_byte_and_the_size_of_replies_bound_the_questions_too() {
    let upstream = Scripted::start(|got| match got.method.as_str() {
        "GET" => vec![reply(404, JSON, "{}")],
        _ if got.body.len() > 2000 => vec![reply(
            200,
            JSON,
            &format!("{{\"templated_text\":\"{}\"}}", "x".repeat(5000)),
        )],
        _ => vec![Step::Hang],
    })
    .await;
    let proxy = Proxy::with(&[&format!("http://{}", upstream.address)], |config| {
        config.upstreams[0].dialect = DialectPin::parse("tgi-generate");
        config.timeouts.first_byte = Duration::from_millis(200);
        config.limits.reply_bytes = 4000;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let answer = proxy.send(request(&call(false), "")).await.reply().await;
    assert_eq!(answer.status, 504, "{}", answer.text());
    let mut long = call(false);
    long["messages"][0]["content"] = json!("y".repeat(3000));
    let answer = proxy.send(request(&long, "")).await.reply().await;
    assert_eq!(
        answer.json()["error"]["code"],
        "upstream_too_large",
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn a_client_that_is_gone_ends_the_question_on_the_way() {
    let (mut upstream, proxy) = Asked::of("tgi-generate")
        .start(|_got| vec![Step::Hang])
        .await;
    let client = proxy.send(request(&call(false), "")).await;
    assert_eq!(asked(&mut upstream).await.0.target, "/chat_tokenize");
    drop(client);
    tokio::time::timeout(PATIENCE, upstream.hung_up())
        .await
        .unwrap();
}
