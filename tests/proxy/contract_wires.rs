//! A Chat client on loopback in front of servers that are not asked in Chat Completions: path,
//! headers and body as they want them, replies and errors as the client knows them.

mod tgi;

use crate::support::proxy;
use isogloss::config::{DialectPin, OnViolation, Secret};
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";

struct Asked<'a> {
    dialect: &'a str,
    base: &'a str,
    key: Option<&'a str>,
    on_violation: OnViolation,
}

impl<'a> Asked<'a> {
    const fn of(dialect: &'a str) -> Self {
        Self {
            dialect,
            base: "",
            key: None,
            on_violation: OnViolation::Reject,
        }
    }

    /// A server of that dialect that answers chat requests so, and a proxy in front of it.
    async fn start(
        self,
        script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
    ) -> (Scripted, Proxy) {
        let upstream = Scripted::start(move |got| match got.method.as_str() {
            "GET" => vec![reply(404, JSON, "{}")],
            _ => script(got),
        })
        .await;
        let url = format!("http://{}{}", upstream.address, self.base);
        let proxy = Proxy::with(&[&url], |config| {
            config.upstreams[0].dialect = DialectPin::parse(self.dialect);
            config.upstreams[0].api_key = self.key.map(|key| Secret::new(key.to_owned()));
            config.on_violation = self.on_violation;
        })
        .await;
        proxy.until_upstream(0, "ready").await;
        (upstream, proxy)
    }
}

/// The next chat request; questions before it are passed over.
async fn asked(upstream: &mut Scripted) -> (Got, Value) {
    loop {
        let got = upstream.next().await;
        if got.method == "POST" {
            let body = serde_json::from_slice(&got.body).unwrap();
            return (got, body);
        }
    }
}

fn call(stream: bool) -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false});
    json!({
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": stream, "max_tokens": 50,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}], "tool_choice": "required",
    })
}

fn request(body: &Value, headers: &str) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: proxy\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

const MESSAGE: &str = r#"{"type":"message","id":"r","model":"m","content":[{"type":"tool_use","id":"t1","name":"f","input":{"city":"Bonn"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;

#[tokio::test]
async fn anthropic_gets_the_key_its_version_and_its_own_words() {
    for (key, sent) in [
        (None, "client-key"),
        (Some("operators-key"), "operators-key"),
    ] {
        let server = Asked {
            key,
            ..Asked::of("anthropic")
        };
        let (mut upstream, proxy) = server.start(|_got| vec![reply(200, JSON, MESSAGE)]).await;
        let headers = "authorization: Bearer client-key\r\nanthropic-beta: x-1\r\n";
        let answer = proxy
            .send(request(&call(false), headers))
            .await
            .reply()
            .await;
        let (got, body) = asked(&mut upstream).await;
        assert_eq!(got.target, "/v1/messages");
        assert_eq!(got.header("x-api-key"), Some(sent));
        assert_eq!(got.header("authorization"), None);
        assert_eq!(got.header("anthropic-version"), Some("2023-06-01"));
        assert_eq!(got.header("anthropic-beta"), Some("x-1"));
        assert_eq!(body["tool_choice"], json!({"type": "any"}));
        assert_eq!(body["max_tokens"], 50);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("x-isogloss-strategy"), Some("native"));
        let message = &answer.json()["choices"][0]["message"];
        let function = &message["tool_calls"][0]["function"];
        assert_eq!(
            function,
            &json!({"name": "f", "arguments": "{\"city\":\"Bonn\"}"})
        );
    }
}

/// What such models answer: BerriAI/litellm#26444.
#[tokio::test]
async fn a_model_that_takes_no_sampling_is_asked_without_from_then_on() {
    let (mut upstream, proxy) = Asked::of("anthropic")
        .start(|got| {
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            let error = r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."}}"#;
            match body.get("temperature") {
                Some(_) => vec![reply(400, JSON, error)],
                None => vec![reply(200, JSON, MESSAGE)],
            }
        })
        .await;
    let mut warm = call(false);
    warm["temperature"] = json!(0.2);
    for tries in [2, 1] {
        let answer = proxy.send(request(&warm, "")).await.reply().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-isogloss-losses"), Some("1; /temperature"));
        for _ in 0..tries {
            asked(&mut upstream).await;
        }
    }
}

/// What gpt-5.6 answers to tools on Chat's route: BerriAI/litellm#34569.
const ELSEWHERE: &str = r#"{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}"#;

const RESPONSE: &str = r#"{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed","output":[{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"{\"city\":\"Bonn\"}","status":"completed"}],"usage":{"input_tokens":1,"output_tokens":2}}"#;

/// The same as a stream.
fn response_events() -> String {
    let response: Value = serde_json::from_str(RESPONSE).unwrap();
    let item = &response["output"][0];
    let mut begun = response.clone();
    (begun["status"], begun["output"]) = (json!("in_progress"), json!([]));
    let events = [
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": item["arguments"]}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ];
    let written = events.iter().map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    written.collect()
}

#[tokio::test]
async fn a_model_that_takes_tools_on_another_route_is_asked_there_from_then_on() {
    for streams in [false, true] {
        let (mut upstream, proxy) = Asked::of("openai")
            .start(move |got| match (got.target.as_str(), streams) {
                ("/v1/chat/completions", _) if got.body.windows(7).any(|it| it == b"\"tools\"") => {
                    vec![reply(400, JSON, ELSEWHERE)]
                }
                ("/v1/chat/completions", _) => {
                    let message = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
                    vec![reply(200, JSON, message)]
                }
                (_, true) => vec![reply(200, "content-type: text/event-stream\r\n", &response_events())],
                (_, false) => vec![reply(200, JSON, RESPONSE)],
            })
            .await;
        // The first is refused; the second is of a shape that is known.
        for targets in [
            &["/v1/chat/completions", "/v1/responses"][..],
            &["/v1/responses"],
            &["/v1/responses"],
        ] {
            let answer = proxy.send(request(&call(streams), "")).await.reply().await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.header("x-isogloss-strategy"), Some("native"));
            assert!(answer.text().contains("Bonn"), "{}", answer.text());
            for target in targets {
                let (got, body) = asked(&mut upstream).await;
                assert_eq!(got.target, *target);
                assert_eq!(body["tool_choice"], "required");
                assert_eq!(body.get("input").is_some(), *target == "/v1/responses");
            }
        }
        let plain =
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 1});
        let answer = proxy.send(request(&plain, "")).await.reply().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (got, body) = asked(&mut upstream).await;
        assert_eq!(
            (got.target.as_str(), &body["seed"]),
            ("/v1/chat/completions", &json!(1))
        );
    }
}

/// What Ollama answers where a model has no such capability; its clients ask for what they know.
#[tokio::test]
async fn a_model_that_does_not_think_is_asked_without_from_then_on() {
    let (mut upstream, proxy) = Asked::of("ollama-native")
        .start(|got| {
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            let error = r#"{"error":"\"qwen2.5\" does not support thinking"}"#;
            let call = r#"{"function":{"name":"f","arguments":{"city":"Bonn"}}}"#;
            let message = format!(r#"{{"role":"assistant","content":"","tool_calls":[{call}]}}"#);
            let line =
                format!(r#"{{"model":"m","message":{message},"done":true,"done_reason":"stop"}}"#);
            match body.get("think") {
                Some(_) => vec![reply(400, JSON, error)],
                None => vec![reply(200, JSON, &line)],
            }
        })
        .await;
    let mut eager = call(false);
    eager["tool_choice"] = json!("auto");
    eager["reasoning_effort"] = json!("high");
    for tries in [2, 1] {
        let answer = proxy.send(request(&eager, "")).await.reply().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(
            answer.header("x-isogloss-losses"),
            Some("1; /reasoning_effort")
        );
        for _ in 0..tries {
            asked(&mut upstream).await;
        }
    }
}

#[tokio::test]
async fn a_client_may_choose_its_own_version_of_anthropics_wire() {
    let (mut upstream, proxy) = Asked::of("anthropic")
        .start(|_got| vec![reply(200, JSON, MESSAGE)])
        .await;
    let headers = "x-api-key: mine\r\nanthropic-version: 2099-01-01\r\n";
    proxy
        .send(request(&call(false), headers))
        .await
        .reply()
        .await;
    let (got, _) = asked(&mut upstream).await;
    assert_eq!(got.header("x-api-key"), Some("mine"));
    assert_eq!(got.header("anthropic-version"), Some("2099-01-01"));
}

#[tokio::test]
async fn an_untouched_stream_of_any_wire_that_just_stops_ends_with_an_error() {
    let events = |data: &[&str]| data.iter().map(|it| format!("data: {it}\n\n")).collect();
    let lines = |data: &[&str]| data.iter().map(|it| format!("{it}\n")).collect();
    let hi = r#"[{"role":"user","content":"hi"}]"#;
    let stated = |more: &str| format!(r#"{{"model":"m","stream":true,{more}}}"#);
    let said = "\\\"stop_reason\\\":\\\"x\\\"";
    let cases: [(&str, &str, String, String, String); 4] = [
        (
            "anthropic",
            "/v1/messages",
            stated(&format!(r#""max_tokens":9,"messages":{hi}"#)),
            events(&[
                r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"stop_reason":null,"usage":{}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                &format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{said}"}}}}"#
                ),
            ]),
            events(&[
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
                r#"{"type": "message_stop"}"#,
            ]),
        ),
        (
            "gemini",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#.to_owned(),
            events(&[r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":0}]}"#]),
            events(&[
                r#"{"candidates":[{"content":{"parts":[]},"finishReason": "STOP","index":0}]}"#,
            ]),
        ),
        (
            "openai",
            "/v1/responses",
            stated(r#""input":"hi""#),
            events(&[
                r#"{"type":"response.created","response":{"id":"r","error":null,"status":"in_progress"}}"#,
            ]),
            events(&[
                r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}"#,
            ]),
        ),
        (
            "ollama-native",
            "/api/chat",
            stated(&format!(r#""messages":{hi}"#)),
            lines(&[
                r#"{"model":"m","message":{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"done":true}}}]},"done":false}"#,
            ]),
            lines(&[r#"{"model":"m","message":{"role":"assistant","content":""},"done": true}"#]),
        ),
    ];
    for (dialect, path, body, begun, rest) in cases {
        for (sent, is_cut) in [(begun.clone() + &rest, false), (begun, true)] {
            let said = sent.clone();
            let kind = match dialect {
                "ollama-native" => "content-type: application/x-ndjson\r\n",
                _ => "content-type: text/event-stream\r\n",
            };
            let server = Asked::of(dialect);
            let (_upstream, proxy) = server
                .start(move |_got| vec![head(kind), chunk(&said), end()])
                .await;
            let text = format!(
                "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            // Some of their clients read over the error: the body breaks off behind it.
            if is_cut && ["gemini", "ollama-native"].contains(&dialect) {
                let all = proxy.send(text).await.rest().await;
                let told = String::from_utf8(all).unwrap();
                assert!(told.contains(sent.trim_end()), "{dialect}: {told}");
                assert!(told.contains("closed the connection"), "{dialect}: {told}");
                assert!(!told.ends_with("0\r\n\r\n"), "{dialect}: {told}");
                continue;
            }
            let answer = proxy.send(text).await.reply().await;
            let told = answer.text();
            assert!(told.starts_with(&sent), "{dialect}: {told}");
            assert_eq!(told.len() > sent.len(), is_cut, "{dialect}: {told}");
            assert_eq!(
                told.contains("closed the connection"),
                is_cut,
                "{dialect}: {told}"
            );
        }
    }
}

#[tokio::test]
async fn gemini_is_asked_below_its_own_path_with_the_clients_query() {
    let part = r#"{"functionCall":{"name":"f","args":{"city":"Bonn"}}}"#;
    let event = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}]}},\"finishReason\":\"STOP\"}}]}}\r\n\r\n"
    );
    for base in ["", "/v1beta", "/gate/v1beta/"] {
        let event = event.clone();
        let server = Asked {
            base,
            ..Asked::of("gemini")
        };
        let (mut upstream, proxy) = server
            .start(move |_got| {
                vec![
                    head("content-type: text/event-stream\r\n"),
                    chunk(&event),
                    end(),
                ]
            })
            .await;
        let text = request(&call(true), "authorization: Bearer k\r\n");
        let text = text.replacen("completions ", "completions?a=b ", 1);
        let answer = proxy.send(text).await.reply().await;
        let (got, body) = asked(&mut upstream).await;
        let gate = base.trim_end_matches('/').trim_end_matches("/v1beta");
        let path = format!("{gate}/v1beta/models/m:streamGenerateContent?alt=sse&a=b");
        assert_eq!(got.target, path);
        assert_eq!(got.header("x-goog-api-key"), Some("k"));
        assert_eq!(got.header("authorization"), None);
        assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
        let text = answer.text();
        assert!(
            text.contains(r#""name":"f","arguments":"{\"city\":\"Bonn\"}""#),
            "{text}"
        );
        assert!(
            text.ends_with("\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn geminis_compatible_route_stands_for_v1() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    for base in ["", "/v1beta/openai", "/v1beta/openai/"] {
        let server = Asked {
            base,
            ..Asked::of("gemini-compat")
        };
        let (mut upstream, proxy) = server.start(move |_got| vec![reply(200, JSON, body)]).await;
        let plain = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let answer = proxy.send(request(&plain, "")).await.reply().await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            asked(&mut upstream).await.0.target,
            "/v1beta/openai/chat/completions"
        );
        let models = "GET /v1/models HTTP/1.1\r\nhost: proxy\r\nx-test: 1\r\n\r\n";
        proxy.send(models).await.reply().await;
        let got = upstream.next().await;
        assert_eq!(
            (got.method.as_str(), got.target.as_str()),
            ("GET", "/v1beta/openai/models")
        );
    }
}

#[tokio::test]
async fn ollamas_lines_become_events_as_they_come() {
    let line = |content: &str| {
        format!(
            "{{\"model\":\"m\",\"message\":{{\"role\":\"assistant\",\"content\":{content:?}}},\"done\":false}}\n"
        )
    };
    let last = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":2,\"eval_count\":3}\n";
    let (mut upstream, proxy) = Asked::of("ollama-native")
        .start(move |_got| {
            vec![
                head("content-type: application/x-ndjson\r\n"),
                chunk(&line("{\"ci")),
                chunk(&line("ty\": \"")),
                Step::WaitForGo,
                chunk(&line("Bonn\"}")),
                chunk(last),
                end(),
            ]
        })
        .await;
    let mut client = proxy.send(request(&call(true), "")).await;
    let start = client.until("arguments").await;
    let (got, body) = asked(&mut upstream).await;
    assert_eq!(got.target, "/api/chat");
    assert_eq!(body["format"]["required"], json!(["city"]));
    assert_eq!(body["options"], json!({"num_predict": 50}));
    upstream.go();
    let rest = client.until("[DONE]").await;
    let text = String::from_utf8([start, rest].concat()).unwrap();
    assert!(text.contains("Bonn"), "{text}");
    assert!(text.contains("\"finish_reason\":\"tool_calls\""), "{text}");
}

#[tokio::test]
async fn one_whole_reply_in_place_of_a_stream_becomes_one() {
    for (dialect, body) in [
        ("anthropic", MESSAGE),
        (
            "ollama-native",
            r#"{"model":"m","message":{"role":"assistant","content":"{\"city\":\"Bonn\"}"},"done":true,"done_reason":"stop"}"#,
        ),
        (
            "cohere",
            r#"{"id":"r","message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"city\":\"Bonn\"}"}}]},"finish_reason":"TOOL_CALL"}"#,
        ),
    ] {
        let (_upstream, proxy) = Asked::of(dialect)
            .start(move |_got| vec![reply(200, JSON, body)])
            .await;
        let answer = proxy.send(request(&call(true), "")).await.reply().await;
        assert_eq!(answer.status, 200, "{dialect}: {}", answer.text());
        let text = answer.text();
        assert!(
            text.contains("Bonn") && text.ends_with("data: [DONE]\n\n"),
            "{dialect}: {text}"
        );
    }
}

#[tokio::test]
async fn what_breaks_the_contract_never_leaves_as_a_success() {
    let broken = MESSAGE.replace("\"city\"", "\"town\"");
    let server = Asked {
        on_violation: OnViolation::Retry,
        ..Asked::of("anthropic")
    };
    let (mut upstream, proxy) = server
        .start(move |got| {
            let is_again = String::from_utf8_lossy(&got.body).contains("cannot be used");
            vec![reply(200, JSON, if is_again { MESSAGE } else { &broken })]
        })
        .await;
    let answer = proxy.send(request(&call(false), "")).await.reply().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("Bonn"));
    assert_eq!(
        asked(&mut upstream).await.1["messages"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let (got, again) = asked(&mut upstream).await;
    assert_eq!(got.target, "/v1/messages");
    let turns = again["messages"].as_array().unwrap();
    assert_eq!(turns.last().unwrap()["role"], "user");

    let broken = MESSAGE.replace("\"city\"", "\"town\"");
    let (_upstream, proxy) = Asked::of("anthropic")
        .start(move |_got| vec![reply(200, JSON, &broken)])
        .await;
    let answer = proxy.send(request(&call(false), "")).await.reply().await;
    assert_eq!(answer.status, 502);
    assert_eq!(answer.json()["error"]["code"], "constraint_violated");
}

#[tokio::test]
async fn errors_of_every_shape_come_in_the_clients() {
    for (dialect, status, body, says) in [
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too large"}}"#,
            "max_tokens: too large",
        ),
        (
            "anthropic",
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "Overloaded",
        ),
        (
            "gemini",
            400,
            r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#,
            "API key not valid.",
        ),
        (
            "ollama-native",
            404,
            r#"{"error":"model 'x' not found"}"#,
            "model 'x' not found",
        ),
        ("cohere", 429, r#"{"message":"slow down"}"#, "slow down"),
    ] {
        let (_upstream, proxy) = Asked::of(dialect)
            .start(move |_got| vec![reply(status, JSON, body)])
            .await;
        let answer = proxy.send(request(&call(false), "")).await.reply().await;
        // Anthropic's own status, which no other clients know.
        let told = if status == 529 { 503 } else { status };
        assert_eq!(answer.status, told, "{dialect}");
        let error = answer.json();
        let message = error["error"]["message"].as_str().unwrap();
        assert_eq!(message, format!("the server answered {status}: {says}"));
    }
}

#[tokio::test]
async fn what_is_no_reply_on_the_wire_is_a_502() {
    for dialect in ["anthropic", "gemini", "ollama-native", "cohere"] {
        let chat = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}"#;
        let (_upstream, proxy) = Asked::of(dialect)
            .start(move |_got| vec![reply(200, JSON, chat)])
            .await;
        let plain = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let answer = proxy.send(request(&plain, "")).await.reply().await;
        assert_eq!(answer.status, 502, "{dialect}: {}", answer.text());
        assert_eq!(answer.json()["error"]["code"], "upstream_bad_reply");
    }
}

/// As Codex asks, which acts on `response.failed` alone (openai/codex, `codex-api/src/sse/responses.rs`).
#[tokio::test]
async fn responses_clients_are_told_in_the_stream_what_failed_in_one() {
    let failed = |code: &str| {
        let event = json!({"type": "response.failed", "sequence_number": 1, "response": {"id": "resp_1",
            "object": "response", "status": "failed", "output": [],
            "error": {"code": code, "message": format!("{code}: try again in 11.054s.")}}});
        let events = "content-type: text/event-stream\r\n";
        let begun = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}"#;
        let text = format!(
            "event: response.created\ndata: {begun}\n\nevent: response.failed\ndata: {event}\n\n"
        );
        vec![head(events), chunk(&text), end()]
    };
    let too_long = r#"{"error":{"message":"This model's maximum context length is 10 tokens. However, you requested 99 tokens","type":"BadRequestError","code":400}}"#;
    for (dialect, code) in [
        ("openai", "context_length_exceeded"),
        ("openai", "rate_limit_exceeded"),
        ("openai", "insufficient_quota"),
        ("vllm@0.32.0", "context_length_exceeded"),
    ] {
        let server = Asked::of(dialect).start(move |_got| match dialect {
            "openai" => failed(code),
            _ => vec![reply(400, JSON, too_long)],
        });
        let (_upstream, proxy) = server.await;
        for stream in [true, false] {
            let tool = json!({"type": "function", "name": "f", "strict": false, "parameters": {"type": "object", "properties": {}}});
            let body =
                json!({"model": "m", "input": "hi", "stream": stream, "tools": [tool]}).to_string();
            let answer = proxy
                .send(proxy::post("/v1/responses", &body))
                .await
                .reply()
                .await;
            assert_eq!(
                answer.status == 200,
                stream,
                "{dialect}, {code}: {}",
                answer.text()
            );
            if !stream {
                continue;
            }
            assert_eq!(
                answer.header("content-type"),
                Some("text/event-stream; charset=utf-8")
            );
            let last = answer.text().trim_end().rsplit("data: ").next().unwrap();
            let last: Value = serde_json::from_str(last).unwrap();
            assert_eq!(last["type"], "response.failed", "{dialect}, {code}: {last}");
            assert_eq!(last["response"]["status"], "failed");
            assert_eq!(last["response"]["error"]["code"], code, "{dialect}: {last}");
        }
        proxy.until_metrics_say("isogloss_requests_total").await;
    }
}

#[tokio::test]
async fn clients_of_a_vendors_own_wire_get_its_errors_as_they_came() {
    let quota = r#"{"error": {"code": 429, "message": "You exceeded your quota", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDay"}]}]}}"#;
    let money = r#"{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}"#;
    let busy = r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}"#;
    let (chat, messages) = ("/v1/chat/completions", "/v1/messages");
    let gemini = "/v1beta/models/m:generateContent";
    for (dialect, path, status, body, is_own) in [
        ("gemini", gemini, 429, quota, true),
        ("openai", chat, 429, money, true),
        ("anthropic", messages, 529, busy, true),
        ("anthropic", chat, 529, busy, false),
        ("gemini", chat, 429, quota, false),
        // Whose errors are explained.
        ("vllm@0.32.0", chat, 429, money, false),
    ] {
        let told = format!("{JSON}request-id: req_1\r\nx-should-retry: false\r\nx-own: sk-1\r\n");
        let server = Asked {
            key: Some("sk-1"),
            ..Asked::of(dialect)
        };
        let answers = move |_got: &Got| vec![reply(status, &told, body)];
        let (_upstream, proxy) = server.start(answers).await;
        let asked = match path {
            "/v1beta/models/m:generateContent" => {
                json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "generationConfig": {"responseMimeType": "application/json"}})
            }
            "/v1/messages" => {
                json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"name": "f", "input_schema": {"type": "object"}}]})
            }
            _ => call(false),
        };
        let post = proxy::post(path, &asked.to_string());
        let answer = proxy.send(post).await.reply().await;
        assert_eq!(
            answer.text() == body,
            is_own,
            "{dialect} {path}: {}",
            answer.text()
        );
        assert_eq!(answer.header("request-id"), Some("req_1"));
        assert_eq!(answer.header("x-own"), None);
        if is_own {
            assert_eq!(answer.status, status);
            assert_eq!(answer.header("retry-after"), None);
        }
    }
}

#[tokio::test]
async fn a_reply_that_broke_its_contract_is_told_whatever_the_second_try_said() {
    let wrong = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"no"},"finish_reason":"stop"}]}"#;
    let mut server = Asked::of("openai");
    server.on_violation = OnViolation::Retry;
    let answers = |got: &Got| match got.body.windows(11).any(|it| it == b"cannot be u") {
        true => vec![reply(
            429,
            JSON,
            r#"{"error":{"message":"slow down","type":"tokens"}}"#,
        )],
        false => vec![reply(200, JSON, wrong)],
    };
    let (_upstream, proxy) = server.start(answers).await;
    let schema = json!({"name": "a", "schema": {"type": "object"}});
    let asked = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": schema}});
    let answer = proxy.send(request(&asked, "")).await.reply().await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "constraint_violated");
}
