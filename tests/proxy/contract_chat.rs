//! The exchange on loopback against a scripted vLLM: order, time, errors and cancellation.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::OnViolation;
use isogloss_testing::scripted;
use proxy::{Proxy, post};
use scripted::{Got, Scripted, Step, chunk, end, find, head, reply, send};
use serde_json::json;
use std::time::Duration;

// --- the way through -----------------------------------------------------------------------------

#[tokio::test]
async fn a_request_that_demands_nothing_passes_byte_for_byte() {
    let odd = r#"{ "model":"m" , "messages":[{"role":"user","content":"h\u0069"}], "x":1E0 }"#;
    let body = " {\"choices\" : []}\n";
    let (mut upstream, proxy) = upstream(move |_got| vec![reply(200, JSON, body)]).await;
    for path in ["/v1/chat/completions?q=1", "/chat/completions?q=1"] {
        let reply = proxy.send(post(path, odd)).await.reply().await;
        let got = upstream.next().await;
        assert_eq!(got.target, "/v1/chat/completions?q=1");
        assert_eq!(got.body, odd.as_bytes());
        assert_eq!(got.header("content-type"), Some("application/json"));
        assert_eq!(got.header("accept-encoding"), Some("identity"));
        assert_eq!(reply.text(), body);
        assert_eq!(reply.header("x-isogloss-strategy"), Some("passthrough"));
        assert_eq!(reply.header("x-isogloss-dialect"), Some("vllm@0.12.0"));
        assert_eq!(reply.header("x-isogloss-losses"), None);
    }
}

#[tokio::test]
async fn what_the_server_is_not_told_is_reported() {
    let (mut upstream, proxy) = upstream(|_got| whole("hi")).await;
    let salted = PLAIN.replace("{\"model\"", "{\"cache_salt\":\"x\",\"model\"");
    let reply = proxy.chat(&salted).await.reply().await;
    assert_eq!(reply.header("x-isogloss-losses"), Some("1; /cache_salt"));
    assert_eq!(upstream.next().await.body, PLAIN.as_bytes());
    assert_eq!(reply.text(), completion("hi"));
    proxy.until_metrics_say("isogloss_losses_total{").await;
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_costs_nothing_where_another_will_do() {
    let (mut upstream, proxy) = upstream(|_got| whole("hi")).await;
    let tool = |name: &str, property: serde_json::Value| {
        let schema = json!({"type": "object", "properties": {"q": property}});
        json!({"type": "function", "function": {"name": name, "parameters": schema}})
    };
    let odd = json!({"$ref": "#/$defs/Q", "description": "What to look for"});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}],
        "tools": [tool("f", json!({"type": "string"})), tool("g", odd)]});
    for _ in 0..2 {
        let reply = proxy.chat(&body.to_string()).await.reply().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(
            reply.header("x-isogloss-losses"),
            Some("1; /tools/1/function/parameters")
        );
        let sent: serde_json::Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
        assert_eq!(sent["tools"][0], body["tools"][0]);
        assert_eq!(
            sent["tools"][1]["function"]["parameters"],
            json!({"type": "object", "properties": {"q": {"description": "What to look for"}}})
        );
    }
    let mut demanded = body;
    for (choice, status) in [
        (json!("required"), 502),
        (json!({"type": "function", "function": {"name": "g"}}), 400),
    ] {
        demanded["tool_choice"] = choice;
        let reply = proxy.chat(&demanded.to_string()).await.reply().await;
        // No call comes.
        assert_eq!(reply.status, status, "{}", reply.text());
    }
    demanded["tools"].as_array_mut().unwrap().remove(0);
    demanded["tool_choice"] = json!("required");
    let reply = proxy.chat(&demanded.to_string()).await.reply().await;
    assert_eq!(reply.status, 400, "{}", reply.text());
}

#[tokio::test]
async fn a_reply_that_meets_its_demand_is_delivered() {
    let (mut upstream, proxy) = upstream(|_got| whole(GOOD)).await;
    let mut client = proxy.chat(&demand(false)).await;
    let reply = client.reply().await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let body = reply.json();
    assert_eq!(body["choices"][0]["message"]["content"], "{\"a\": 1}");
    assert_eq!(body["usage"]["total_tokens"], 2);
    let sent: serde_json::Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
    assert_eq!(sent["messages"][0]["content"], "hi");
    proxy
        .until_metrics_say("client_dialect=\"chat\",server_dialect=\"vllm\"")
        .await;
}

#[tokio::test]
async fn a_stream_is_delivered_event_by_event() {
    let (upstream, proxy) = upstream(|_got| {
        vec![
            head(EVENTS),
            chunk(&role()),
            chunk(&content(r#"{\"a\": "#)),
            Step::WaitForGo,
            chunk(&content("1}")),
            chunk(&last()),
            end(),
        ]
    })
    .await;
    let mut client = proxy.chat(&demand(true)).await;
    let start = client.until(r#"{\"a\""#).await;
    let start = String::from_utf8(start).unwrap().to_lowercase();
    for line in [
        "content-type: text/event-stream; charset=utf-8",
        "cache-control: no-cache",
        "x-accel-buffering: no",
        "x-isogloss-strategy: ",
        "x-isogloss-dialect: vllm@0.12.0",
        "x-isogloss-request-id: ",
    ] {
        assert!(start.contains(&format!("\r\n{line}")), "{line} in {start}");
    }
    assert!(!start.contains("\r\ncontent-length"));
    upstream.go();
    let rest = client.until("\r\n0\r\n\r\n").await;
    assert!(find(&rest, b"data: [DONE]\n\n").is_some());
}

#[tokio::test]
async fn the_upstreams_connection_is_used_again_after_a_stream() {
    let (mut upstream, proxy) = upstream(|_got| stream(GOOD)).await;
    for nth in 0..3 {
        body_of(&mut proxy.chat(&demand(true)).await).await;
        assert_eq!(upstream.next().await.nth, nth);
    }
}

#[tokio::test]
async fn a_reply_without_a_content_type_is_told_by_its_bytes() {
    let (_upstream, proxy) = upstream(|got| {
        if find(&got.body, b"\"stream\":true").is_some() {
            vec![
                head(""),
                chunk("\r\n"),
                chunk(&(content(GOOD) + &last())),
                end(),
            ]
        } else {
            vec![reply(200, "", &completion(GOOD))]
        }
    })
    .await;
    assert_eq!(proxy.chat(&demand(false)).await.reply().await.status, 200);
    let body = body_of(&mut proxy.chat(&demand(true)).await).await;
    assert!(body.ends_with(b"data: [DONE]\n\n"));
}

// --- refused before anything is sent -------------------------------------------------------------

#[tokio::test]
async fn a_bad_request_is_refused_and_never_sent() {
    let (mut upstream, proxy) = upstream(|_got| whole(GOOD)).await;
    for (body, code) in [
        ("{", "invalid_json"),
        ("", "invalid_json"),
        (
            r#"{"model":"m","model":"n","messages":[]}"#,
            "duplicate_key",
        ),
        (
            r#"{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":17}}}}"#,
            "invalid_schema",
        ),
    ] {
        let reply = proxy.chat(body).await.reply().await;
        assert_eq!(error(&reply), (400, code.to_owned()), "{body}");
    }
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_request_names_its_model_where_there_is_more_than_one() {
    let nameless = PLAIN.replace("\"model\":\"m\",", "");
    let (mut upstream, proxy) = upstream(|_got| whole("hi")).await;
    let got = proxy.chat(&nameless).await.reply().await;
    assert_eq!(got.status, 200, "a server with one model answers with it");
    assert_eq!(upstream.next().await.body, nameless.as_bytes());

    let several =
        r#"{"object":"list","data":[{"id":"m","owned_by":"vllm"},{"id":"n","owned_by":"vllm"}]}"#;
    let mut upstream = Scripted::start(move |got: &Got| match got.target.as_str() {
        "/v1/models" => vec![reply(200, JSON, several)],
        "/version" => vec![reply(200, JSON, r#"{"version":"0.12.0"}"#)],
        _ => whole("hi"),
    })
    .await;
    upstream.answer_by_script();
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "ready").await;
    while upstream.left() > 0 {
        upstream.next().await;
    }
    for body in [
        nameless,
        PLAIN.replace("\"m\"", "\"\""),
        PLAIN.replace("\"m\"", "null"),
    ] {
        let got = proxy.chat(&body).await.reply().await;
        assert_eq!(error(&got), (400, "invalid_request".to_owned()), "{body}");
        let said = &got.json()["error"];
        assert_eq!(said["param"], "model");
        let message = said["message"].as_str().unwrap();
        assert!(
            message.starts_with("you must provide a model parameter"),
            "{message}"
        );
    }
    assert_eq!(upstream.left(), 0);
    assert_eq!(proxy.chat(PLAIN).await.reply().await.status, 200);
}

// --- violations ----------------------------------------------------------------------------------

async fn with_policy(
    policy: OnViolation,
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> (Scripted, Proxy) {
    let upstream = Scripted::start(script).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.on_violation = policy).await;
    (upstream, proxy)
}

#[tokio::test]
async fn a_violation_is_asked_again_once_and_then_refused() {
    let (mut upstream, proxy) = with_policy(OnViolation::Retry, bad_first(1, whole)).await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(reply.status, 200);
    let (first, second) = (upstream.next().await, upstream.next().await);
    assert!(
        second.body.len() > first.body.len(),
        "the model is shown what was wrong"
    );

    let (mut upstream, proxy) = with_policy(OnViolation::Retry, bad_first(9, whole)).await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&reply), (502, "constraint_violated".to_owned()));
    assert_eq!(upstream.left(), 2);
    assert!(reply.header("x-isogloss-strategy").is_some());
}

#[tokio::test]
async fn a_failure_of_the_server_when_it_is_asked_again_hides_no_violation() {
    for (failure, told) in [
        (
            vec![reply(500, JSON, r#"{"error":{"message":"out of memory"}}"#)],
            "out of memory",
        ),
        (
            vec![reply(400, JSON, r#"{"error":{"message":"too long"}}"#)],
            "too long",
        ),
        (
            vec![head(JSON), chunk("{"), Step::Close],
            "closed the connection",
        ),
    ] {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let (mut upstream, proxy) = with_policy(OnViolation::Retry, move |_got: &Got| match count
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst)
        {
            0 => whole(BAD),
            _ => failure.clone(),
        })
        .await;
        let got = proxy.chat(&demand(false)).await.reply().await;
        assert_eq!(error(&got), (502, "constraint_violated".to_owned()));
        let message = got.json()["error"]["message"].to_string();
        assert!(
            message.contains("rule: type") && message.contains(told),
            "{message}"
        );
        assert_eq!(upstream.left(), 2);
        proxy.until_metrics_say("outcome=\"violated\"} 1").await;
        proxy
            .until_metrics_say("isogloss_violations_total{rule=\"type\",action=\"retry\"} 1")
            .await;
        if told == "out of memory" {
            proxy
                .until_metrics_say("isogloss_upstream_errors_total{code=\"upstream_error\"} 1")
                .await;
        }
    }

    // Where nothing was wrong with the first reply, the failure is what is told.
    let (_upstream, proxy) = with_policy(OnViolation::Retry, |_got: &Got| {
        vec![reply(500, JSON, r#"{"error":{"message":"out of memory"}}"#)]
    })
    .await;
    let got = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&got), (500, "upstream_error".to_owned()));
}

#[tokio::test]
async fn a_stream_that_breaks_its_demand_at_once_is_asked_again() {
    let (mut upstream, proxy) = with_policy(OnViolation::Retry, bad_first(1, stream)).await;
    let body = body_of(&mut proxy.chat(&demand(true)).await).await;
    assert!(body.ends_with(b"data: [DONE]\n\n"));
    assert!(find(&body, b"BAD").is_none());
    assert_eq!(upstream.left(), 2);
}

#[tokio::test]
async fn a_violation_is_refused_where_that_is_the_policy() {
    for body in [demand(false), demand(true)] {
        let (mut upstream, proxy) = with_policy(OnViolation::Reject, |got: &Got| {
            if find(&got.body, b"\"stream\":true").is_some() {
                stream(BAD)
            } else {
                whole(BAD)
            }
        })
        .await;
        let reply = proxy.chat(&body).await.reply().await;
        assert_eq!(error(&reply), (502, "constraint_violated".to_owned()));
        assert!(
            !reply.text().contains("BAD"),
            "output in an error: {}",
            reply.text()
        );
        assert_eq!(upstream.left(), 1);
        proxy.until_metrics_say("outcome=\"violated\"} 1").await;
    }
}

#[tokio::test]
async fn a_violation_passes_marked_where_that_is_the_policy() {
    let (_upstream, proxy) = with_policy(OnViolation::Pass, |_got: &Got| whole(BAD)).await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text(), completion(BAD));
    assert!(reply.header("x-isogloss-violation").is_some());
    proxy.until_metrics_say("outcome=\"passed\"} 1").await;

    let (_upstream, proxy) = with_policy(OnViolation::Pass, |_got: &Got| stream(BAD)).await;
    let reply = proxy.chat(&demand(true)).await.reply().await;
    assert_eq!(reply.status, 200);
    // In the head, and for whoever looks at the stream alone before its end.
    let told = ": x-isogloss-violation: type\n\ndata: [DONE]";
    let whole = role() + &content(BAD) + &last().replace("data: [DONE]", told);
    assert_eq!(reply.text(), whole);
    assert!(reply.header("x-isogloss-violation").is_some());
}

#[tokio::test]
async fn what_was_mended_is_named_in_a_header_and_counted() {
    const MENDED: &str = "isogloss_repairs_total{repair=\"enum_case\"} 1";
    let (_upstream, proxy) =
        with_policy(OnViolation::Reject, |_got: &Got| whole(r#"\"YES\""#)).await;
    let demand = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": ["yes", "no"]}}}});
    let reply = proxy.chat(&demand.to_string()).await.reply().await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["choices"][0]["message"]["content"], "\"yes\"");
    assert_eq!(reply.header("x-isogloss-repairs"), Some("enum_case"));
    proxy.until_metrics_say(MENDED).await;

    let (_upstream, proxy) =
        with_policy(OnViolation::Reject, |_got: &Got| whole(r#"\"yes\""#)).await;
    let reply = proxy.chat(&demand.to_string()).await.reply().await;
    assert_eq!(reply.header("x-isogloss-repairs"), None);
    proxy
        .until_metrics_say("isogloss_repairs_total{repair=\"enum_case\"} 0")
        .await;
}

#[tokio::test]
async fn a_stream_that_breaks_its_demand_later_ends_with_an_error_event() {
    for steps in [
        // No JSON goes on like this.
        vec![chunk(&content("]")), Step::Hang],
        // JSON, but of another type, which is certain at its end.
        vec![chunk(&(content(r#"\"BAD\"}"#) + &last())), Step::Hang],
    ] {
        let (mut upstream, proxy) = upstream(move |_got| {
            let start = role() + &content(r#"{\"a\": "#);
            let mut all = vec![head(EVENTS), chunk(&start), Step::WaitForGo];
            all.extend(steps.clone());
            all
        })
        .await;
        let mut client = proxy.chat(&demand(true)).await;
        client.until(r#"{\"a\""#).await;
        upstream.go();
        let rest = String::from_utf8(client.until("\r\n0\r\n\r\n").await).unwrap();
        assert!(rest.contains("\"constraint_violated\""), "{rest}");
        assert!(!rest.contains("[DONE]"), "{rest}");
        // The server stops generating.
        upstream.hung_up().await;
        proxy.until_metrics_say("outcome=\"violated\"} 1").await;
    }
}

// --- the upstream fails --------------------------------------------------------------------------

#[tokio::test]
async fn an_upstreams_error_is_given_in_the_clients_terms() {
    for (status, headers, expected, code, retry_after) in [
        (400, "", 400, "upstream_refused", None),
        (401, "", 401, "upstream_auth", None),
        (403, "", 403, "upstream_auth", None),
        (404, "", 404, "model_not_found", None),
        (
            429,
            "retry-after: 7\r\n",
            429,
            "upstream_rate_limited",
            Some("7"),
        ),
        (
            429,
            "retry-after: 99999\r\n",
            429,
            "upstream_rate_limited",
            Some("60"),
        ),
        (
            429,
            "retry-after: 0\r\n",
            429,
            "upstream_rate_limited",
            Some("1"),
        ),
        (500, "", 500, "upstream_error", None),
    ] {
        let body = r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","code":404}"#;
        let (mut upstream, proxy) =
            upstream(move |_got| vec![reply(status, &format!("{JSON}{headers}"), body)]).await;
        for stream in [false, true] {
            let reply = proxy.chat(&demand(stream)).await.reply().await;
            assert_eq!(error(&reply), (expected, code.to_owned()), "{status}");
            assert_eq!(reply.header("retry-after"), retry_after);
            assert_eq!(reply.header("content-type"), Some("application/json"));
        }
        assert_eq!(upstream.left(), 2);
    }
}

#[tokio::test]
async fn a_stream_that_nobody_asked_for_becomes_one_reply() {
    let usage = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"total_tokens\":7}}\n\n";
    let thought = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Hm\"}}]}\n\n";
    let body = role() + thought + thought + &content(r#"{\"a\": "#) + &content("1}");
    let end = last().replacen("data: [DONE]", &format!("{usage}data: [DONE]"), 1);
    // Whether anything is demanded or not.
    let free = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    for (headers, request) in [
        (EVENTS, demand(false)),
        ("", demand(false)),
        (EVENTS, free.to_owned()),
    ] {
        let whole = body.clone() + &end;
        let (_upstream, proxy) = upstream(move |_got| vec![reply(200, headers, &whole)]).await;
        let answer = proxy.chat(&request).await.reply().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let json = answer.json();
        assert_eq!(json["object"], "chat.completion");
        let choice = &json["choices"][0];
        assert_eq!(choice["message"]["content"], "{\"a\": 1}");
        assert_eq!(choice["message"]["reasoning_content"], "HmHm");
        assert_eq!(choice["finish_reason"], "stop");
        assert_eq!(json["usage"]["total_tokens"], 7);
    }
    // And one reply that is only called a stream.
    let (_upstream, proxy) = upstream(|_got| vec![reply(200, EVENTS, &completion(GOOD))]).await;
    let answer = proxy.chat(free).await.reply().await;
    assert_eq!(
        (
            answer.status,
            &answer.json()["choices"][0]["message"]["content"]
        ),
        (200, &json!("{\"a\": 1}"))
    );
    for (body, code) in [
        (role() + &content("{}") + &last(), "constraint_violated"),
        (role() + &content(r#"{\"a\": 1}"#), "upstream_truncated"),
        (role() + "data: {oops\n\n" + &last(), "upstream_bad_reply"),
        (
            role() + "data: {\"error\":{\"message\":\"boom\"}}\n\n",
            "upstream_error",
        ),
    ] {
        let (_upstream, proxy) = upstream(move |_got| vec![reply(200, EVENTS, &body)]).await;
        let answer = proxy.chat(&demand(false)).await.reply().await;
        assert_eq!(error(&answer), (502, code.to_owned()));
    }
}

#[tokio::test]
async fn an_answer_that_is_no_reply_is_502() {
    let html = "content-type: text/html\r\n";
    let gzip = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let json = completion(GOOD);
    for (stream, answer) in [
        (false, reply(200, html, "<html>")),
        (true, reply(200, html, "<html>")),
        (false, reply(200, gzip, &json)),
        (false, reply(302, "location: http://elsewhere/\r\n", "")),
        (false, send("HTTP/1.1 204 No Content\r\n\r\n")),
        (false, send("SSH-2.0-OpenSSH_9.6\r\n\r\n")),
    ] {
        let (_upstream, proxy) = upstream(move |_got| vec![answer.clone(), Step::Close]).await;
        let reply = proxy.chat(&demand(stream)).await.reply().await;
        assert_eq!(error(&reply), (502, "upstream_bad_reply".to_owned()));
    }
}

#[tokio::test]
async fn a_reply_that_is_cut_or_too_large_is_502() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{";
    for (steps, code) in [
        (vec![send(cut), Step::Close], "upstream_truncated"),
        (
            vec![head(JSON), chunk("{"), Step::Reset],
            "upstream_truncated",
        ),
        (vec![Step::Reset], "upstream_truncated"),
        (
            vec![reply(200, JSON, &"x".repeat(2000))],
            "upstream_too_large",
        ),
    ] {
        let upstream = Scripted::start(move |_got| steps.clone()).await;
        let proxy = Proxy::with(&[&upstream.url()], |config| {
            config.limits.reply_bytes = 1000;
        })
        .await;
        let reply = proxy.chat(&demand(false)).await.reply().await;
        assert_eq!(error(&reply), (502, code.to_owned()));
        let counted = proxy.counted("isogloss_limits_hit_total{limit=\"reply_bytes\"}");
        assert_eq!(counted, usize::from(code == "upstream_too_large"));
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_ends_with_an_error_event() {
    for how in [Step::Close, Step::Reset, end()] {
        let (upstream, proxy) = upstream(move |_got| {
            let start = role() + &content(r#"{\"a\": "#);
            vec![
                head(EVENTS),
                chunk(&start),
                Step::WaitForGo,
                how.clone(),
                Step::Close,
            ]
        })
        .await;
        let mut client = proxy.chat(&demand(true)).await;
        client.until(r#"{\"a\""#).await;
        upstream.go();
        let rest = String::from_utf8(client.until("\r\n0\r\n\r\n").await).unwrap();
        assert!(rest.contains("\"upstream_truncated\""), "{rest}");
        assert!(!rest.contains("[DONE]"), "{rest}");
        proxy
            .until_metrics_say("outcome=\"upstream_error\"} 1")
            .await;
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_before_its_first_event_has_a_status() {
    for steps in [
        vec![head(EVENTS), Step::Close],
        vec![head(EVENTS), chunk(": ping\n\n"), Step::Reset],
        vec![head(EVENTS), chunk("data: {\"id\""), end()],
    ] {
        let (_upstream, proxy) = upstream(move |_got| steps.clone()).await;
        let reply = proxy.chat(&demand(true)).await.reply().await;
        assert_eq!(error(&reply), (502, "upstream_truncated".to_owned()));
    }
}

#[tokio::test]
async fn a_silent_upstream_times_out_before_and_in_the_middle_of_a_stream() {
    let limits = |config: &mut isogloss::config::Config| {
        config.timeouts.first_byte = Duration::from_millis(200);
        config.timeouts.idle = Duration::from_millis(200);
    };
    for steps in [
        vec![Step::Hang],
        vec![head(EVENTS), Step::Hang],
        vec![head(EVENTS), chunk(": ping\n\n"), Step::Hang],
    ] {
        let mut upstream = Scripted::start(move |_got| steps.clone()).await;
        let proxy = Proxy::with(&[&upstream.url()], limits).await;
        let reply = proxy.chat(&demand(true)).await.reply().await;
        assert_eq!(error(&reply), (504, "upstream_timeout".to_owned()));
        upstream.hung_up().await;
    }
    let mut upstream = Scripted::start(|_got| {
        let start = role() + &content(r#"{\"a\": "#);
        let mut steps = vec![head(EVENTS), chunk(&start)];
        // Pings are no sign of life.
        steps.extend(
            std::iter::repeat_n([Step::Wait(SECOND / 20), chunk(": ping\n\n")], 100).flatten(),
        );
        steps
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], limits).await;
    let body = body_of(&mut proxy.chat(&demand(true)).await).await;
    assert_eq!(error_event(&body).0, "upstream_idle_timeout");
    upstream.hung_up().await;
}

// --- reaching the upstream -----------------------------------------------------------------------

#[tokio::test]
async fn a_server_that_is_loading_is_waited_for() {
    let upstream = Scripted::start(|_got| whole(GOOD)).await;
    upstream.set_status(503);
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.loading = 5 * SECOND
    })
    .await;
    proxy.until_upstream(0, "loading").await;
    let mut client = proxy.chat(&demand(false)).await;
    upstream.set_status(200);
    assert_eq!(client.reply().await.status, 200);
}

#[tokio::test]
async fn a_server_that_goes_on_loading_is_503_with_retry_after() {
    let mut upstream = Scripted::start(|_got| whole(GOOD)).await;
    upstream.set_status(503);
    let proxy = Proxy::start(&upstream.url()).await;
    proxy.until_upstream(0, "loading").await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&reply), (503, "model_loading".to_owned()));
    assert_eq!(reply.header("retry-after"), Some("5"));
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_502() {
    let upstream = Scripted::start(|_got| whole(GOOD)).await;
    let url = upstream.url();
    upstream.stop().await;
    let proxy = Proxy::start(&url).await;
    let reply = proxy.chat(&demand(false)).await.reply().await;
    assert_eq!(error(&reply), (502, "upstream_unreachable".to_owned()));
}

#[tokio::test]
async fn a_server_that_is_gone_is_followed_by_the_next() {
    let first = Scripted::start(|_got| whole(GOOD)).await;
    let mut second = Scripted::start(|_got| whole(GOOD)).await;
    let proxy = Proxy::with(&[&first.url(), &second.url()], |config| {
        config.balance = isogloss::config::Balance::First;
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    proxy.until_upstream(1, "ready").await;
    assert_eq!(proxy.chat(&demand(false)).await.reply().await.status, 200);
    assert_eq!(second.left(), 0);
    first.stop().await;
    for _ in 0..3 {
        assert_eq!(proxy.chat(&demand(false)).await.reply().await.status, 200);
        second.next().await;
    }
}

#[tokio::test]
async fn a_server_that_restarts_is_waited_for_by_its_requests() {
    let upstream = Scripted::start(|_got| whole(GOOD)).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.loading = 5 * SECOND
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let address = upstream.stop().await;
    let mut client = proxy.chat(&demand(false)).await;
    proxy.until_upstream(0, "down").await;
    let _again = Scripted::start_at(address, |_got| whole(GOOD)).await;
    assert_eq!(client.reply().await.status, 200);
}

// --- the client goes away, the proxy ends --------------------------------------------------------

#[tokio::test]
async fn a_client_that_goes_away_ends_the_upstreams_request_at_every_moment() {
    let start = role() + &content(r#"{\"a\": "#);
    for (steps, phase) in [
        (vec![Step::Hang], "waiting"),
        (vec![head(EVENTS), Step::Hang], "waiting"),
        (vec![head(EVENTS), chunk(&start), Step::Hang], "streaming"),
        (
            vec![
                head(EVENTS),
                chunk(&start),
                chunk("data: {\"id\""),
                Step::Hang,
            ],
            "streaming",
        ),
    ] {
        // One that is read, and one that goes through as it is.
        let free = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
        for body in [demand(true), free.to_owned()] {
            let steps = steps.clone();
            let (mut upstream, proxy) = upstream(move |_got| steps.clone()).await;
            let mut client = proxy.chat(&body).await;
            upstream.next().await;
            if phase == "streaming" {
                client.until(r#"{\"a\""#).await;
                proxy.until_metrics_say("isogloss_streams_open 1").await;
            }
            drop(client);
            upstream.hung_up().await;
            let gone = format!("isogloss_client_gone_total{{phase=\"{phase}\"}} 1");
            proxy.until_metrics_say(&gone).await;
            proxy.until_metrics_say("isogloss_streams_open 0").await;
        }
    }
}

/// It cannot be told from one that is gone, and nobody else waits for what is generated.
#[tokio::test]
async fn a_client_that_closes_its_writing_side_counts_as_gone() {
    let (mut upstream, proxy) = upstream(|_got| vec![Step::Hang]).await;
    let mut client = proxy.chat(&demand(false)).await;
    upstream.next().await;
    tokio::io::AsyncWriteExt::shutdown(&mut client.0)
        .await
        .unwrap();
    upstream.hung_up().await;
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn a_shutdown_lets_a_stream_end() {
    let (upstream, mut proxy) = upstream(|_got| {
        let start = role() + &content(r#"{\"a\": "#);
        vec![
            head(EVENTS),
            chunk(&start),
            Step::WaitForGo,
            chunk(&(content("1}") + &last())),
            end(),
        ]
    })
    .await;
    let mut client = proxy.chat(&demand(true)).await;
    client.until(r#"{\"a\""#).await;
    proxy.stop();
    upstream.go();
    let rest = client.rest().await;
    assert!(find(&rest, b"data: [DONE]\n\n").is_some());
    proxy.stopped().await;
}

#[tokio::test]
async fn a_shutdown_that_is_out_of_time_ends_a_stream_with_an_error_event() {
    let mut upstream = Scripted::start(|_got| {
        let start = role() + &content(r#"{\"a\": "#);
        vec![head(EVENTS), chunk(&start), Step::Hang]
    })
    .await;
    let mut proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.drain = Duration::from_millis(300);
    })
    .await;
    let mut clients = Vec::new();
    // Translated, and as it is.
    let any = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    for body in [demand(true), any.to_owned()] {
        let mut client = proxy.chat(&body).await;
        client.until(r#"{\"a\""#).await;
        clients.push(client);
    }
    proxy.stop();
    for mut client in clients {
        let rest = String::from_utf8(client.until("\r\n0\r\n\r\n").await).unwrap();
        assert!(rest.contains("\"server_shutting_down\""), "{rest}");
        upstream.hung_up().await;
    }
    let told = proxy.metrics.render();
    assert!(!told.contains("outcome=\"client_gone\""), "{told}");
    proxy.stopped().await;
}
