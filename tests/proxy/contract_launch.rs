//! What a server's error tells of its launch is learnt from whole errors and from those that a stream begins with.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::{DialectPin, OnViolation};
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

const GUIDANCE: &str = "Grammar error: at 4(59): invalid regex";
const OUTLINES: &str =
    "Outlines structured outputs backend does not support grammar specifications";

/// A vLLM whose backend takes schemas and refuses grammars: under `stream` once the reply has begun, as vLLM does.
fn without_grammars(message: &'static str) -> impl Fn(&Got) -> Vec<Step> {
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let is_stream = body["stream"] == true;
        let error = json!({"error": {"message": message, "type": "BadRequestError", "param": null, "code": 400}});
        let call = r#"{\"name\": \"f\", \"arguments\": {\"a\": 1}}"#;
        match (body["structured_outputs"]["grammar"].is_string(), is_stream) {
            (true, false) => vec![reply(400, JSON, &error.to_string())],
            (true, true) => vec![
                head(EVENTS),
                chunk(&format!("data: {error}\n\ndata: [DONE]\n\n")),
                end(),
            ],
            (false, false) => whole(call),
            (false, true) => stream(call),
        }
    }
}

/// A proxy before a vLLM that is asked by grammars.
async fn before(upstream: &Scripted) -> Proxy {
    let url = upstream.url();
    let proxy = Proxy::with(&[&url], |config| {
        config.upstreams[0].dialect = DialectPin::parse("vllm@0.32.0");
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

fn forced(stream: bool) -> String {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema}});
    let turn = json!([{"role": "user", "content": "hi"}]);
    json!({"model": "m", "messages": turn, "tools": [tool], "tool_choice": "required", "stream": stream}).to_string()
}

#[tokio::test]
async fn forced_calls_are_json_once_a_server_said_that_it_takes_no_grammars() {
    for message in [GUIDANCE, OUTLINES] {
        for is_stream in [false, true] {
            let mut upstream = Scripted::start(without_grammars(message)).await;
            let proxy = before(&upstream).await;
            let first = proxy.chat(&forced(is_stream)).await.reply().await;
            assert_eq!(first.status, 200, "{message}: {}", first.text());
            assert!(first.text().contains(r#""name":"f""#), "{}", first.text());
            assert!(upstream.left() > 1, "{message}: it was refused first");
            while upstream.left() > 0 {
                upstream.next().await;
            }
            // What was learnt is known.
            let second = proxy.chat(&forced(!is_stream)).await.reply().await;
            assert_eq!(second.status, 200, "{message}: {}", second.text());
            assert_eq!(upstream.left(), 1, "{message}");
            let got = upstream.next().await;
            let sent: Value = serde_json::from_slice(&got.body).unwrap();
            assert!(sent["structured_outputs"]["json"].is_object(), "{sent}");
        }
    }
}

/// What vLLM says of whatever goes wrong within it.
const ANYTHING: &str = "Internal server error";

/// A server that fails at grammars, or for the first `moments` requests at everything.
fn failing(is_at_grammars: bool, moments: usize) -> impl Fn(&Got) -> Vec<Step> {
    let asked = AtomicUsize::new(0);
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let has_grammar = body["structured_outputs"]["grammar"].is_string();
        let is_stream = body["stream"] == true;
        let has_moment = asked.fetch_add(1, Ordering::Relaxed) < moments;
        if (has_grammar && is_at_grammars) || has_moment {
            let error = json!({"error": {"message": ANYTHING, "type": "InternalServerError", "param": null, "code": 500}});
            return match is_stream {
                false => vec![reply(500, JSON, &error.to_string())],
                true => vec![
                    head(EVENTS),
                    chunk(&format!("data: {error}\n\ndata: [DONE]\n\n")),
                    end(),
                ],
            };
        }
        let call = match has_grammar {
            true => {
                "<tool_call>\n{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": {\\\"a\\\": 1}}\n</tool_call>".replace('\n', "\\n")
            }
            false => r#"{\"name\": \"f\", \"arguments\": {\"a\": 1}}"#.to_owned(),
        };
        match is_stream {
            true => stream(&call),
            false => whole(&call),
        }
    }
}

/// In which form each request came to the server.
async fn forms(upstream: &mut Scripted) -> Vec<&'static str> {
    let mut forms = Vec::new();
    while upstream.left() > 0 {
        let got = upstream.next().await;
        let sent: Value = serde_json::from_slice(&got.body).unwrap();
        forms.push(match sent["structured_outputs"]["grammar"].is_string() {
            true => "tags",
            false => "json",
        });
    }
    forms
}

#[tokio::test]
async fn an_error_of_any_reason_is_believed_to_be_the_launchs_once_the_same_request_is_answered_as_json()
 {
    for is_stream in [false, true] {
        let mut upstream = Scripted::start(failing(true, 0)).await;
        let proxy = before(&upstream).await;
        let first = proxy.chat(&forced(is_stream)).await.reply().await;
        assert_eq!(first.status, 200, "{}", first.text());
        assert_eq!(forms(&mut upstream).await, ["tags", "json"]);
        let second = proxy.chat(&forced(is_stream)).await.reply().await;
        assert_eq!(second.status, 200, "{}", second.text());
        assert_eq!(forms(&mut upstream).await, ["json"]);
    }
}

#[tokio::test]
async fn a_servers_bad_moment_is_not_taken_for_its_launch() {
    for is_stream in [false, true] {
        let mut upstream = Scripted::start(failing(false, 2)).await;
        let proxy = before(&upstream).await;
        let first = proxy.chat(&forced(is_stream)).await.reply().await;
        assert!(first.status >= 500, "{}", first.text());
        assert!(first.text().contains(ANYTHING), "{}", first.text());
        assert_eq!(forms(&mut upstream).await, ["tags", "json"]);
        let second = proxy.chat(&forced(is_stream)).await.reply().await;
        assert_eq!(second.status, 200, "{}", second.text());
        assert!(second.text().contains(r#""name":"f""#), "{}", second.text());
        assert_eq!(forms(&mut upstream).await, ["tags"]);
    }
}

/// A vLLM whose parser reads calls off the text whatever is asked, and drops them under `none`; where it `gives` none under `auto` either,
/// it does not know this model's. With these arguments it gives them. Answers in JSON are left.
fn parsing(gives: Option<&'static str>) -> impl Fn(&Got) -> Vec<Step> {
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let is_stream = body["stream"] == true;
        if !body["structured_outputs"]["grammar"].is_string() {
            let call = r#"{\"name\": \"f\", \"arguments\": {\"a\": 1}}"#;
            return if is_stream { stream(call) } else { whole(call) };
        }
        let function = json!({"name": "f", "arguments": gives});
        let calls = json!([{"index": 0, "id": "c", "type": "function", "function": function}]);
        let said = match gives.is_some() && body["tool_choice"] == "auto" {
            true => json!({"role": "assistant", "content": null, "tool_calls": calls}),
            false => json!({"role": "assistant", "content": null}),
        };
        let choice = |part: &str, said: &Value, reason: Value| {
            json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
                   "choices": [{"index": 0, part: said, "finish_reason": reason}]})
        };
        match is_stream {
            false => vec![reply(
                200,
                JSON,
                &choice("message", &said, json!("stop")).to_string(),
            )],
            true => {
                let first = choice("delta", &said, Value::Null);
                let last = choice("delta", &json!({}), json!("stop"));
                let events = format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n");
                vec![head(EVENTS), chunk(&events), end()]
            }
        }
    }
}

#[tokio::test]
async fn calls_that_a_server_drops_off_the_text_are_left_to_it_where_it_gives_them() {
    for is_stream in [false, true] {
        let mut upstream = Scripted::start(parsing(Some(r#"{"a": 1}"#))).await;
        let proxy = before(&upstream).await;
        for asked in [vec!["none", "auto"], vec!["auto"]] {
            let reply = proxy.chat(&forced(is_stream)).await.reply().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert!(reply.text().contains(r#""name":"f""#), "{}", reply.text());
            let mut choices = Vec::new();
            while upstream.left() > 0 {
                let got = upstream.next().await;
                let sent: Value = serde_json::from_slice(&got.body).unwrap();
                assert!(sent["structured_outputs"]["grammar"].is_string(), "{sent}");
                choices.push(sent["tool_choice"].as_str().unwrap().to_owned());
            }
            assert_eq!(choices, asked);
        }
    }
}

/// Calls that come with these arguments, or not at all, are asked for as JSON in the end, and from then on.
async fn are_json(gives: Option<&'static str>) {
    for is_stream in [false, true] {
        let mut upstream = Scripted::start(parsing(gives)).await;
        let proxy = before(&upstream).await;
        for asked in [vec!["tags", "tags", "json"], vec!["json"]] {
            let reply = proxy.chat(&forced(is_stream)).await.reply().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert!(reply.text().contains(r#""name":"f""#), "{}", reply.text());
            assert_eq!(forms(&mut upstream).await, asked);
        }
    }
}

#[tokio::test]
async fn calls_that_a_server_drops_however_it_is_asked_are_json() {
    are_json(None).await;
}

/// glm47 of vLLM 0.32: beside our grammar it lets calls be as its own tag has them, without arguments.
#[tokio::test]
async fn calls_that_are_not_held_however_they_are_asked_for_are_json() {
    are_json(Some("{}")).await;
}

#[tokio::test]
async fn an_error_that_says_again_what_the_client_wrote_teaches_nothing() {
    // As an error of a validator has it that repeats what was sent.
    let echo = |got: &Got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        match body["top_k"].as_str() {
            Some(said) => {
                let message = format!("1 validation error: {{'loc': 'top_k', 'input': '{said}'}}");
                let error =
                    json!({"error": {"message": message, "type": "BadRequestError", "code": 400}});
                vec![reply(400, JSON, &error.to_string())]
            }
            None => whole(r#"{\"a\": 1}"#),
        }
    };
    let mut upstream = Scripted::start(echo).await;
    let proxy = before(&upstream).await;
    let server = proxy.app.upstreams().iter().next().unwrap().clone();
    let known = server.rule().unwrap();
    let mut body: Value = serde_json::from_str(&forced(false)).unwrap();
    body["top_k"] = json!(GUIDANCE);
    // Written otherwise, it is the same text.
    for body in [
        body.to_string(),
        body.to_string().replace("Grammar", "\\u0047rammar"),
    ] {
        let refused = proxy.chat(&body).await.reply().await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert_eq!(upstream.left(), 1);
        upstream.next().await;
        assert!(std::sync::Arc::ptr_eq(&known, &server.rule().unwrap()));
    }
}

/// A vLLM whose context leaves room for so many tokens: it answers 400 where more are asked for, and gives all that there are
/// where nothing is said.
fn with_room_for(room: u64) -> impl Fn(&Got) -> Vec<Step> {
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let asked = ["max_tokens", "max_completion_tokens"].map(|name| body[name].as_u64());
        match asked.into_iter().flatten().find(|asked| *asked > room) {
            None if body["stream"] == true => stream("so"),
            None => whole("so"),
            Some(asked) => {
                let message = format!(
                    "This model's maximum context length is 4096 tokens. However, you requested {asked} output tokens and your prompt contains at least 97 input tokens, for a total of at least 4097 tokens."
                );
                let error = json!({"error": {"message": message, "type": "BadRequestError", "param": "input_tokens", "code": 400}});
                vec![reply(400, JSON, &error.to_string())]
            }
        }
    }
}

#[tokio::test]
async fn who_allows_a_longer_reply_than_there_is_room_for_has_the_room_that_there_is() {
    let mut upstream = Scripted::start(with_room_for(1000)).await;
    let proxy = before(&upstream).await;
    let asking = |limit: u64, is_stream: bool| {
        let turn = json!([{"role": "user", "content": "hi"}]);
        let body =
            json!({"model": "m", "max_tokens": limit, "messages": turn, "stream": is_stream});
        proxy::post("/v1/messages", &body.to_string())
    };
    for is_stream in [false, true] {
        let reply = proxy.send(asking(32_000, is_stream)).await.reply().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let losses = reply.header("x-isogloss-losses").unwrap();
        assert!(losses.contains("/max_tokens"), "{losses}");
        let mut limits = Vec::new();
        while upstream.left() > 0 {
            let sent: Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
            limits.push(sent["max_tokens"].as_u64());
        }
        assert_eq!(limits, [Some(32_000), None]);
    }
    // It was that request's limit: what fits is sent.
    let reply = proxy.send(asking(50, false)).await.reply().await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(
        !reply
            .header("x-isogloss-losses")
            .unwrap_or_default()
            .contains("max_tokens")
    );
    let sent: Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
    assert_eq!(sent["max_tokens"], 50);
}

/// A vLLM with a reasoning parser, which holds a completion only once thoughts have ended, in the prompt at the latest.
fn holding_behind_thoughts(fails: bool) -> impl Fn(&Got) -> Vec<Step> {
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let is_held = body["prompt"].as_str().unwrap().ends_with("</think>\n\n");
        let text = if is_held { "2026" } else { "Once upon" };
        let choice = json!({"index": 0, "text": text, "finish_reason": "stop", "logprobs": null});
        let body = json!({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]});
        let error = json!({"error": {"message": "Internal server error", "type": "InternalServerError", "param": null, "code": 500}});
        match (is_held, fails) {
            (false, true) => vec![reply(500, JSON, &error.to_string())],
            _ if got.body.windows(13).any(|it| it == b"\"stream\":true") => vec![
                head(EVENTS),
                chunk(&format!("data: {body}\n\ndata: [DONE]\n\n")),
                end(),
            ],
            _ => vec![reply(200, JSON, &body.to_string())],
        }
    }
}

#[tokio::test]
async fn a_completion_is_held_behind_thoughts_where_a_server_waits_for_their_end() {
    let asked = |stream: bool, regex: &str| {
        let held = json!({"regex": regex});
        let body = json!({"model": "m", "prompt": "The year is ", "max_tokens": 9, "stream": stream, "structured_outputs": held});
        proxy::post("/v1/completions", &body.to_string())
    };
    for fails in [false, true] {
        for is_stream in [false, true] {
            let mut upstream = Scripted::start(holding_behind_thoughts(fails)).await;
            let proxy = before(&upstream).await;
            for tries in [2, 1] {
                let answer = proxy.send(asked(is_stream, "[0-9]{4}")).await.reply().await;
                assert_eq!(answer.status, 200, "{fails}: {}", answer.text());
                assert!(
                    answer.text().contains(r#""text":"2026""#),
                    "{}",
                    answer.text()
                );
                assert_eq!(answer.header("x-isogloss-losses"), Some("1; /prompt"));
                assert_eq!(upstream.left(), tries);
                while upstream.left() > 0 {
                    upstream.next().await;
                }
            }
        }
    }
    // An answer that is wrong there too tells nothing.
    let upstream = Scripted::start(holding_behind_thoughts(false)).await;
    let proxy = before(&upstream).await;
    for _ in 0..2 {
        let answer = proxy.send(asked(false, "[a-z]{4}")).await.reply().await;
        assert_eq!(error(&answer), (502, "constraint_violated".to_owned()));
    }
}

/// A proxy before OpenAI's API.
async fn before_openai(upstream: &Scripted) -> Proxy {
    let url = upstream.url();
    Proxy::with(&[&url], |config| {
        config.upstreams[0].dialect = DialectPin::parse("openai");
    })
    .await
}

fn asking(schema: &Value, is_stream: bool) -> String {
    let turn = json!([{"role": "user", "content": "hi"}]);
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}});
    json!({"model": "m", "messages": turn, "response_format": format, "stream": is_stream})
        .to_string()
}

/// An OpenAI that compiles no schema, and answers this to what asks for none.
fn compiling_nothing(answer: &'static str) -> impl Fn(&Got) -> Vec<Step> {
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        if body["response_format"].is_object() {
            let message =
                "Invalid schema for response_format 'n': 12 levels of nesting exceeds limit of 10.";
            let error = json!({"error": {"message": message, "type": "invalid_request_error", "param": "response_format", "code": null}});
            return vec![reply(400, JSON, &error.to_string())];
        }
        match body["stream"] == true {
            true => stream(answer),
            false => whole(answer),
        }
    }
}

#[tokio::test]
async fn a_schema_that_a_server_does_not_compile_is_asked_for_in_the_prompt_and_verified() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false});
    for is_stream in [false, true] {
        let mut upstream = Scripted::start(compiling_nothing(r#"{\"a\": 1}"#)).await;
        let proxy = before_openai(&upstream).await;
        // It is that request's schema: the next one is sent to be held again.
        for _ in 0..2 {
            let answer = proxy.chat(&asking(&schema, is_stream)).await.reply().await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.text().contains("a\\\":"), "{}", answer.text());
            assert_eq!(answer.header("x-isogloss-strategy"), Some("instruct"));
            let held: Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
            assert!(held["response_format"].is_object());
            let told: Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
            assert!(told["messages"].to_string().contains("JSON Schema"));
        }
    }
    let mut upstream = Scripted::start(compiling_nothing(r#"{\"a\": \"one\"}"#)).await;
    let proxy = before_openai(&upstream).await;
    let answer = proxy.chat(&asking(&schema, false)).await.reply().await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(upstream.left() > 0, "it was asked");
    upstream.next().await;
}

#[tokio::test]
async fn of_two_errors_none_comes_again() {
    let mut upstream = Scripted::start(|got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let message = match (body["max_completion_tokens"].is_u64(), body["response_format"].is_object()) {
            (true, _) => "max_tokens is too large: 99999. This model supports at most 16384 completion tokens",
            (_, true) => "Invalid schema for response_format 'n': no.",
            _ => return whole(r#"{\"a\": 1}"#),
        };
        let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
        vec![reply(400, JSON, &error.to_string())]
    })
    .await;
    let proxy = before_openai(&upstream).await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false});
    let mut body: Value = serde_json::from_str(&asking(&schema, false)).unwrap();
    body["max_tokens"] = json!(99_999);
    let answer = proxy.chat(&body.to_string()).await.reply().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(upstream.left(), 3);
    for _ in 0..3 {
        upstream.next().await;
    }
}

#[tokio::test]
async fn a_list_comes_out_of_the_object_that_it_was_asked_for_in() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    for (said, heard) in [
        (r#"{\"answer\": [1, 2]}"#, Some("[1, 2]")),
        (r#"[1, 2]"#, Some("[1, 2]")),
        (r#"{\"answer\": [1, \"two\"]}"#, None),
        (r#"{\"answers\": [1]}"#, None),
        (r#"{\"answer\": [1, 2]} and so on"#, None),
        ("one and two", None),
    ] {
        for is_stream in [false, true] {
            let mut upstream = Scripted::start(move |got| {
                let body: Value = serde_json::from_slice(&got.body).unwrap();
                let sent = &body["response_format"]["json_schema"]["schema"];
                assert_eq!(sent["properties"]["answer"]["type"], "array");
                match is_stream {
                    true => stream(said),
                    false => whole(said),
                }
            })
            .await;
            let proxy = before_openai(&upstream).await;
            let answer = proxy.chat(&asking(&schema, is_stream)).await.reply().await;
            let is_right = answer.status == 200 && !answer.text().contains("\"error\"");
            assert_eq!(is_right, heard.is_some(), "{said}: {}", answer.text());
            if let Some(heard) = heard {
                assert_eq!(text_of(answer.text(), is_stream), heard);
            }
            upstream.next().await;
        }
    }
}

/// A Groq that makes nothing of what its model wrote, so many times.
fn garbling(times: usize) -> impl Fn(&Got) -> Vec<Step> {
    let left = AtomicUsize::new(times);
    move |got| {
        let body: Value = serde_json::from_slice(&got.body).unwrap();
        let is_garbled = left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok();
        if is_garbled {
            let message = "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.";
            let error = json!({"error": {"message": message, "type": "invalid_request_error", "code": "json_validate_failed", "failed_generation": "{"}});
            return vec![reply(400, JSON, &error.to_string())];
        }
        match body["stream"] == true {
            true => stream(r#"{\"a\": 1}"#),
            false => whole(r#"{\"a\": 1}"#),
        }
    }
}

#[tokio::test]
async fn what_the_server_makes_nothing_of_is_asked_for_again() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false});
    for (times, status) in [(1, 200), (9, 502)] {
        for is_stream in [false, true] {
            let mut upstream = Scripted::start(garbling(times)).await;
            let url = upstream.url();
            let proxy = Proxy::with(&[&url], |config| {
                config.upstreams[0].dialect = DialectPin::parse("groq");
                config.on_violation = OnViolation::Retry;
            })
            .await;
            let answer = proxy.chat(&asking(&schema, is_stream)).await.reply().await;
            assert_eq!(answer.status, status, "{}", answer.text());
            assert_eq!(upstream.left(), 2);
            upstream.next().await;
            let again = upstream.next().await;
            let again = String::from_utf8_lossy(&again.body).into_owned();
            assert!(again.contains("This answer cannot be used"), "{again}");
        }
    }
}

#[tokio::test]
async fn who_writes_json_in_a_fence_is_read_so_from_then_on() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false});
    for is_stream in [false, true] {
        let mut upstream = Scripted::start(|got| {
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            match body["stream"] == true {
                true => stream("```json\\n{\\\"a\\\": 1}\\n```"),
                false => whole("```json\\n{\\\"a\\\": 1}\\n```"),
            }
        })
        .await;
        let proxy = before(&upstream).await;
        for asked in [2, 1] {
            let answer = proxy.chat(&asking(&schema, is_stream)).await.reply().await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(text_of(answer.text(), is_stream), "{\"a\": 1}");
            assert_eq!(upstream.left(), asked);
            for _ in 0..asked {
                upstream.next().await;
            }
        }
    }
}

/// A client of another wire than the server's has its replies read for thoughts, too.
#[tokio::test]
async fn what_a_text_tells_of_its_server_is_learnt_whoever_asks() {
    let format = json!({"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "integer"}},
        "required": ["a"], "additionalProperties": false}});
    let asked = json!({"model": "tiny", "max_tokens": 99, "output_config": {"format": format},
        "messages": [{"role": "user", "content": "x"}]});
    for text in [
        "```json\\n{\\\"a\\\": 1}\\n```",
        "hm</think>\\n\\n{\\\"a\\\": 1}",
    ] {
        let mut upstream = Scripted::start(move |_| whole(text)).await;
        let proxy = before(&upstream).await;
        for asked_for in [2, 1] {
            let mut client = proxy
                .send(&proxy::post("/v1/messages", &asked.to_string()))
                .await;
            let answer = client.reply().await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.json()["content"][0]["text"], "{\"a\": 1}");
            assert_eq!(upstream.left(), asked_for);
            for _ in 0..asked_for {
                upstream.next().await;
            }
        }
    }
}

/// The text that a client of Chat's hears.
fn text_of(reply: &str, is_stream: bool) -> String {
    if !is_stream {
        let reply: Value = serde_json::from_str(reply).unwrap();
        let content = reply["choices"][0]["message"]["content"].as_str();
        return content.unwrap_or_default().to_owned();
    }
    let chunks = reply
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"));
    let pieces = chunks.filter_map(|chunk| {
        let chunk: Value = serde_json::from_str(&format!("{{{chunk}")).unwrap();
        let piece = chunk["choices"][0]["delta"]["content"].as_str();
        piece.map(str::to_owned)
    });
    pieces.collect()
}
