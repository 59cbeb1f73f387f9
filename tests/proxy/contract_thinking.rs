//! A vLLM with a reasoning parser before a model that does not think: it takes the answer for thoughts,
//! where no constraint holds, until it is told that there is to be no thinking.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::{DialectPin, OnViolation};
use isogloss_core::grammar::Grammar;
use isogloss_core::ir::{Constraint, Notation};
use isogloss_core::probe::Depth;
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, PATIENCE, Scripted, Step, chunk, end, head, reply};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

type Script = fn(&Got) -> Vec<Step>;

const ANSWER: &str = "{\"a\": 1}";
const THOUGHTS: &str = "Once upon a time there was a small server";

fn json_of(got: &Got) -> Value {
    serde_json::from_slice(&got.body).unwrap()
}

fn is_told(body: &Value) -> bool {
    body["chat_template_kwargs"]["enable_thinking"] == false
}

/// What vLLM 0.32.0 with `--reasoning-parser qwen3` says, whole or streamed.
fn said(body: &Value, content: Option<&str>, reasoning: Option<&str>, finish: &str) -> Vec<Step> {
    if body["stream"] == true {
        let mut events = role();
        if let Some(text) = reasoning {
            events += &event(
                &json!({"reasoning": text, "reasoning_content": text}).to_string(),
                "null",
            );
        }
        if let Some(text) = content {
            events += &event(&json!({"content": text}).to_string(), "null");
        }
        events += &event("{}", &format!("\"{finish}\""));
        return vec![head(EVENTS), chunk(&(events + "data: [DONE]\n\n")), end()];
    }
    let message = json!({"role": "assistant", "content": content, "reasoning": reasoning, "reasoning_content": reasoning});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}]});
    vec![reply(200, JSON, &body.to_string())]
}

/// The model does not think.
fn plain_model(got: &Got) -> Vec<Step> {
    let body = json_of(got);
    match is_told(&body) {
        true => said(&body, Some(ANSWER), None, "stop"),
        false => said(&body, None, Some(THOUGHTS), "stop"),
    }
}

async fn posted(upstream: &mut Scripted) -> Value {
    loop {
        let got = upstream.next().await;
        if got.method == "POST" {
            return json_of(&got);
        }
    }
}

fn with(demand: &str, extra: &Value) -> String {
    let mut body: Value = serde_json::from_str(demand).unwrap();
    let extra = extra.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(extra);
    body.to_string()
}

#[tokio::test]
async fn an_answer_among_the_thoughts_is_asked_for_once_more_without_thinking() {
    for mode in [OnViolation::Retry, OnViolation::Reject, OnViolation::Pass] {
        let mut upstream = Scripted::start(plain_model).await;
        let proxy = Proxy::with(&[&upstream.url()], |config| config.on_violation = mode).await;
        proxy.until_upstream(0, "ready").await;
        let first = proxy.chat(&demand(false)).await.reply().await;
        assert_eq!(first.status, 200, "{mode:?}: {}", first.text());
        assert_eq!(first.json()["choices"][0]["message"]["content"], ANSWER);
        let losses = first.header("x-isogloss-losses");
        assert_eq!(losses, Some("1; /response_format"));
        let sent = posted(&mut upstream).await;
        assert_eq!(sent.get("chat_template_kwargs"), None, "{sent}");
        let again = posted(&mut upstream).await;
        assert!(is_told(&again), "{again}");
        assert_eq!(
            again["messages"], sent["messages"],
            "nothing was wrong with the model's words"
        );
        // From now on it is told at once, streams too.
        for stream in [false, true] {
            let next = proxy.chat(&demand(stream)).await.reply().await;
            assert_eq!(next.status, 200, "{}", next.text());
            assert!(next.text().contains("\\\"a\\\": 1"), "{}", next.text());
            assert!(is_told(&posted(&mut upstream).await));
        }
        assert_eq!(upstream.left(), 0);
    }
}

#[tokio::test]
async fn a_stream_whose_thoughts_went_out_ends_with_an_error_and_teaches_all_the_same() {
    let (mut upstream, proxy) = upstream(|got| match is_told(&json_of(got)) {
        true => plain_model(got),
        false => {
            let thought = event(&json!({"reasoning": THOUGHTS}).to_string(), "null");
            let begun = chunk(&(role() + &thought));
            vec![head(EVENTS), begun, Step::WaitForGo, chunk(&last()), end()]
        }
    })
    .await;
    let mut client = proxy.chat(&demand(true)).await;
    let mut first = client.until(THOUGHTS).await;
    upstream.go();
    first.extend(client.until("constraint_violated").await);
    let first = String::from_utf8_lossy(&first).into_owned();
    assert!(first.contains("constraint_violated"), "{first}");
    assert!(!first.contains("[DONE]"), "{first}");
    assert!(!is_told(&posted(&mut upstream).await));
    let second = body_of(&mut proxy.chat(&demand(true)).await).await;
    let second = String::from_utf8(second).unwrap();
    assert!(
        second.contains("\\\"a\\\": 1") && second.contains("[DONE]"),
        "{second}"
    );
    assert!(is_told(&posted(&mut upstream).await));
}

#[tokio::test]
async fn a_request_without_a_demand_keeps_its_thinking() {
    let (mut upstream, proxy) = upstream(plain_model).await;
    proxy.chat(&demand(false)).await.reply().await;
    for _ in 0..2 {
        posted(&mut upstream).await;
    }
    let free = proxy.chat(PLAIN).await.reply().await;
    assert_eq!(free.json()["choices"][0]["message"]["reasoning"], THOUGHTS);
    assert_eq!(
        posted(&mut upstream).await,
        serde_json::from_str::<Value>(PLAIN).unwrap()
    );
}

#[tokio::test]
async fn a_client_that_wants_thinking_has_its_way_and_its_other_words_stay() {
    let (mut upstream, proxy) = upstream(plain_model).await;
    proxy.chat(&demand(false)).await.reply().await;
    for _ in 0..2 {
        posted(&mut upstream).await;
    }
    let other = json!({"chat_template_kwargs": {"tone": "dry"}});
    let merged = proxy
        .chat(&with(&demand(false), &other))
        .await
        .reply()
        .await;
    assert_eq!(merged.status, 200, "{}", merged.text());
    assert_eq!(
        posted(&mut upstream).await["chat_template_kwargs"],
        json!({"tone": "dry", "enable_thinking": false, "thinking": false})
    );
    let own = json!({"chat_template_kwargs": {"enable_thinking": true}});
    let refused = proxy.chat(&with(&demand(false), &own)).await.reply().await;
    assert_eq!(error(&refused), (502, "constraint_violated".to_owned()));
    let sent = posted(&mut upstream).await;
    assert_eq!(sent["chat_template_kwargs"], own["chat_template_kwargs"]);
}

#[tokio::test]
async fn a_model_that_thinks_and_answers_goes_on_thinking() {
    let thinks = |got: &Got| said(&json_of(got), Some(ANSWER), Some("Hm."), "stop");
    let wrong = |got: &Got| said(&json_of(got), Some("{\"a\": \"x\"}"), Some("Hm."), "stop");
    let cut = |got: &Got| said(&json_of(got), None, Some("Hm. Well,"), "length");
    let silent = |got: &Got| said(&json_of(got), None, None, "stop");
    let scripts: [(Script, u16); 4] = [(thinks, 200), (wrong, 502), (cut, 200), (silent, 502)];
    for (script, status) in scripts {
        let (mut upstream, proxy) = upstream(script).await;
        for _ in 0..2 {
            let reply = proxy.chat(&demand(false)).await.reply().await;
            assert_eq!(reply.status, status, "{}", reply.text());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        while upstream.left() > 0 {
            let sent = posted(&mut upstream).await;
            assert_eq!(sent.get("chat_template_kwargs"), None, "{sent}");
        }
    }
}

#[tokio::test]
async fn the_probe_finds_out_before_the_first_client() {
    let script = |got: &Got| match got.body.is_empty() {
        true => vec![reply(404, JSON, "{}")],
        false => plain_model(got),
    };
    let mut upstream = Scripted::start(script).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| config.probe = Depth::Light).await;
    let one = proxy.app.upstreams().iter().next().unwrap();
    let known = async {
        while one.report().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, known).await.unwrap();
    while upstream.left() > 0 {
        upstream.next().await;
    }
    assert!(one.rule().unwrap().answers_as_thoughts);
}

/// A server without a reasoning parser.
fn leaves_thoughts(text: &'static str) -> impl Fn(&Got) -> Vec<Step> {
    move |got| said(&json_of(got), Some(text), None, "stop")
}

#[tokio::test]
async fn a_demand_that_thoughts_in_the_text_broke_is_asked_once_more_and_read_without_them() {
    for text in ["<think>Hm.</think>{\"a\": 1}", "Hm.</think>\n\n{\"a\": 1}"] {
        let (mut upstream, proxy) = upstream(leaves_thoughts(text)).await;
        for asked in [2, 1] {
            let reply = proxy.chat(&demand(false)).await.reply().await;
            assert_eq!(reply.status, 200, "{text}: {}", reply.text());
            let message = &reply.json()["choices"][0]["message"];
            assert_eq!(message["content"], ANSWER, "{message}");
            assert!(message.to_string().contains("Hm."), "{message}");
            for _ in 0..asked {
                posted(&mut upstream).await;
            }
        }
        let streamed = proxy.chat(&demand(true)).await.reply().await;
        assert!(!streamed.text().contains("think>"), "{}", streamed.text());
        // Nothing is demanded: its bytes stay its bytes.
        let free = proxy.chat(PLAIN).await.reply().await;
        assert_eq!(free.json()["choices"][0]["message"]["content"], text);
    }
}

#[tokio::test]
async fn what_stands_in_a_string_of_the_answer_is_no_thought() {
    let texts = [
        (r#"{"a": "Hm.</think>"}"#, false),
        ("\n{\"a\": \"</think>{}\"}", false),
        ("Hm.</think>\n\n{\"a\": \"x\"}", true),
    ];
    for (text, is_thinking) in texts {
        for is_streamed in [false, true] {
            let (_upstream, proxy) = upstream(leaves_thoughts(text)).await;
            let server = proxy.app.upstreams().iter().next().unwrap().clone();
            let before = server.rule().unwrap();
            proxy.chat(&demand(is_streamed)).await.reply().await;
            let has_learnt = !Arc::ptr_eq(&before, &server.rule().unwrap());
            assert_eq!(has_learnt, is_thinking, "{text}, streamed: {is_streamed}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_the_clients_own_stop_text_ended_teaches_nothing() {
    for (stop, is_thinking) in [(json!(["{"]), false), (Value::Null, true)] {
        let says_nothing = |got: &Got| said(&json_of(got), None, Some(THOUGHTS), "stop");
        let (_upstream, proxy) = upstream(says_nothing).await;
        let server = proxy.app.upstreams().iter().next().unwrap().clone();
        let before = server.rule().unwrap();
        let mut body: Value = serde_json::from_str(&demand(false)).unwrap();
        body["stop"] = stop;
        let reply = proxy.chat(&body.to_string()).await.reply().await;
        assert_eq!(reply.status, 502, "{}", reply.text());
        let has_learnt = !Arc::ptr_eq(&before, &server.rule().unwrap());
        assert_eq!(has_learnt, is_thinking, "{body}");
    }
}

/// The call of a model with typed parameters, which llama.cpp does not hold itself.
const CALL: &str = "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">y</parameter>\n</invoke>\n</minimax:tool_call>";

/// A llama-server before a template that opens thoughts: its reader takes an answer for some that is held from the start, and what
/// bounds thoughts writes their end where the grammar has none.
fn opens_thoughts(got: &Got) -> Vec<Step> {
    let body = json_of(got);
    let grammar = Constraint::Grammar {
        notation: Notation::Gbnf,
        text: body["grammar"].as_str().unwrap().to_owned(),
    };
    let grammar = Grammar::compile(&grammar).unwrap();
    let takes = |text: &str| grammar.check(text).is_ok();
    let mut answers = ["no", CALL].into_iter();
    let answer = answers.find(|answer| takes(answer) || takes(&format!("Hm.</think>{answer}")));
    match (takes(answer.unwrap()), body.get("thinking_budget_tokens")) {
        (false, _) => said(&body, answer, Some("Hm."), "stop"),
        (true, None) => said(&body, None, answer, "stop"),
        (true, Some(_)) => {
            let message =
                "got exception: Unexpected empty grammar stack after accepting piece: ? (30)";
            let error = json!({"error": {"code": 500, "message": message, "type": "server_error"}})
                .to_string();
            match body["stream"] == true {
                true => vec![head(EVENTS), chunk(&format!("data: {error}\n\n")), end()],
                false => vec![reply(500, JSON, &error)],
            }
        }
    }
}

#[tokio::test]
async fn a_prompt_that_opens_thoughts_is_noticed_where_some_are_asked_for() {
    let said = json!([{"role": "user", "content": "hi"}]);
    let choice = json!({"model": "MiniMax-M2", "messages": said, "guided_choice": ["yes", "no"]});
    let schema = json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": false});
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]);
    let call =
        json!({"model": "MiniMax-M2", "messages": said, "tool_choice": "required", "tools": tools});
    let thinking = json!({"chat_template_kwargs": {"enable_thinking": true}});
    let bounded = json!({"thinking_budget_tokens": 30});
    let silent = json!({});
    for is_stream in [false, true] {
        // What asks, with how many requests it is answered, and whether with thoughts.
        for asked in [
            // A call's reply tells of its likes.
            vec![
                (&call, &thinking, 1, false),
                (&call, &thinking, 1, true),
                (&call, &silent, 1, false),
                (&call, &silent, 1, true),
                (&choice, &bounded, 1, true),
                (&choice, &silent, 1, true),
            ],
            // What the client lets the model write does not.
            vec![
                (&choice, &thinking, 1, false),
                (&choice, &thinking, 1, false),
                (&choice, &bounded, 2, true),
                (&choice, &bounded, 1, true),
                (&call, &thinking, 1, true),
            ],
        ] {
            let mut upstream = Scripted::start(opens_thoughts).await;
            let proxy = Proxy::with(&[&upstream.url()], |config| {
                config.upstreams[0].dialect = Some(DialectPin {
                    name: "llama-cpp".to_owned(),
                    version: None,
                });
            })
            .await;
            proxy.until_upstream(0, "ready").await;
            for (what, how, requests, thinks) in asked {
                let mut body = what.clone();
                body["stream"] = json!(is_stream);
                let reply = proxy
                    .chat(&with(&body.to_string(), how))
                    .await
                    .reply()
                    .await;
                let text = reply.text();
                assert_eq!(reply.status, 200, "{text}");
                let has_answer = match *what == choice {
                    true => text.contains("\"content\":\"no\""),
                    false => text.contains("\"tool_calls\"") && !text.contains("minimax:"),
                };
                assert!(has_answer, "{text}");
                assert_eq!(text.contains("Hm."), thinks, "{what} {how}: {text}");
                for _ in 0..requests {
                    posted(&mut upstream).await;
                }
                assert_eq!(upstream.left(), 0);
            }
        }
    }
}
