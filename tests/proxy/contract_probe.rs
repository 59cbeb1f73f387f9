//! Probes on loopback against a scripted vLLM: when it is asked, what its answers change, and
//! that nobody is asked who is not there.

use crate::support::proxy;
use isogloss::config::{Config, UpstreamConfig};
use isogloss::telemetry::Metrics;
use isogloss::upstream::Upstreams;
use isogloss_core::probe::Depth;
use isogloss_core::rules::{ChoiceHow, Route, Rule, RuleSet};
use isogloss_testing::scripted;
use proxy::Proxy;
use scripted::{Got, PATIENCE, Scripted, Step, reply};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const JSON: &str = "content-type: application/json\r\n";

fn text(content: &str, prompt_tokens: u64) -> Vec<Step> {
    let message = json!({"role": "assistant", "content": content});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": prompt_tokens, "completion_tokens": 3});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [choice], "usage": usage});
    vec![reply(200, JSON, &body.to_string())]
}

fn ignoring(_got: &Got) -> Vec<Step> {
    text("Hello! How can I help you?", 20)
}

/// Keeps to `structured_outputs` and `response_format`, and shows tools.
fn enforcing(got: &Got) -> Vec<Step> {
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    let stated = &body["structured_outputs"];
    let format = body["response_format"]["type"].as_str();
    let content = if stated["json"].is_object() || format == Some("json_schema") {
        "{\"zqx17\": \"vbk42\"}"
    } else if format == Some("json_object") {
        "{}"
    } else if stated["regex"].is_string() {
        "zqx17vbk42"
    } else if stated.is_object() {
        "zqx17"
    } else {
        "hello"
    };
    text(content, if body["tools"].is_array() { 80 } else { 20 })
}

async fn proxy(upstream: &Scripted, depth: Depth) -> Proxy {
    Proxy::with(&[&upstream.url()], |config| config.probe = depth).await
}

async fn until_probed(proxy: &Proxy) -> Arc<Rule> {
    let upstream = proxy.app.upstreams().iter().next().unwrap();
    let probed = async {
        while upstream.report().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        upstream.rule().unwrap()
    };
    let probed = tokio::time::timeout(PATIENCE, probed).await;
    probed.expect("the upstream is not probed")
}

/// A request whose reply must be one call of `f`.
const FORCED: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}}]}"#;

#[tokio::test]
async fn a_server_that_enforces_what_it_is_sent_is_planned_for_by_its_rule() {
    let upstream = Scripted::start(enforcing).await;
    let proxy = proxy(&upstream, Depth::Light).await;
    let rule = until_probed(&proxy).await;
    assert_eq!(rule.route("json_schema", None), Route::Send);
    assert_eq!(rule.route("choice", None), Route::Send);
    assert_eq!(rule.choices["required"].how, ChoiceHow::Constrain);
    let demand = r#"isogloss_probe_results{upstream="0",demand="json_schema",verdict="#;
    proxy
        .until_metrics_say(&format!("{demand}\"enforced\"}} 1"))
        .await;
    proxy
        .until_metrics_say(&format!("{demand}\"ignored\"}} 0"))
        .await;
}

#[tokio::test]
async fn a_server_that_ignores_constraints_is_asked_in_the_prompt_from_then_on() {
    let is_probed = Arc::new(AtomicBool::new(false));
    let knows = Arc::clone(&is_probed);
    let mut upstream = Scripted::start(move |got| match knows.load(Ordering::SeqCst) {
        false => ignoring(got),
        true => text(r#"{"name": "f", "arguments": {"a": 1}}"#, 20),
    })
    .await;
    let proxy = proxy(&upstream, Depth::Light).await;
    let rule = until_probed(&proxy).await;
    assert_eq!(rule.route("json_schema", None), Route::Instruct);
    assert_eq!(rule.choices["required"].how, ChoiceHow::Instruct);
    let asked = upstream.left();
    assert!(asked <= Depth::Light.max_requests(), "{asked} requests");
    for _ in 0..asked {
        upstream.next().await;
    }
    is_probed.store(true, Ordering::SeqCst);
    let answer = proxy.chat(FORCED).await.reply().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-isogloss-strategy"), Some("instruct"));
    let call = &answer.json()["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["arguments"], r#"{"a": 1}"#);
    let sent: Value = serde_json::from_slice(&upstream.next().await.body).unwrap();
    assert!(sent.get("structured_outputs").is_none() && sent.get("tools").is_none());
}

#[tokio::test]
async fn traffic_does_not_wait_for_the_probes() {
    // The probes' first request hangs; the client's does not.
    let mut upstream = Scripted::start(|got| {
        match String::from_utf8_lossy(&got.body).contains("the one word hello") {
            true => vec![Step::Hang],
            false => text(r#"{"a": 1}"#, 20),
        }
    })
    .await;
    let proxy = proxy(&upstream, Depth::Light).await;
    proxy.until_upstream(0, "ready").await;
    upstream.next().await;
    let answer = proxy.chat(FORCED).await.reply().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-isogloss-strategy"), Some("constrain"));
    let status = &proxy.app.upstreams().status()[0];
    assert_eq!(status.state, "ready");
}

#[tokio::test]
async fn a_probe_in_flight_is_given_up_with_the_proxy() {
    let mut upstream = Scripted::start(|_| vec![Step::Hang]).await;
    let mut proxy = proxy(&upstream, Depth::Light).await;
    upstream.next().await;
    proxy.stop();
    proxy.stopped().await;
    upstream.hung_up().await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_not_asked_and_asked_anew_when_it_is_back() {
    let mut upstream = Scripted::start(|_| vec![Step::WaitForGo, Step::Close]).await;
    let proxy = proxy(&upstream, Depth::Light).await;
    upstream.next().await;
    // While a probe is in flight, the server says that it is loading.
    upstream.set_status(503);
    proxy.app.upstreams().iter().next().unwrap().doubt();
    proxy.until_upstream(0, "loading").await;
    upstream.hung_up().await;
    let address = upstream.stop().await;
    let _again = Scripted::start_at(address, enforcing).await;
    proxy.until_upstream(0, "ready").await;
    let rule = until_probed(&proxy).await;
    assert_eq!(rule.route("json_schema", None), Route::Send);
}

#[tokio::test]
async fn another_model_on_the_same_server_is_asked_anew() {
    let model = Arc::new(AtomicBool::new(false));
    let is_other = Arc::clone(&model);
    let upstream = Scripted::start(move |got| {
        let other = is_other.load(Ordering::SeqCst);
        let json = |body: Value| vec![reply(200, JSON, &body.to_string())];
        match (got.target.as_str(), other) {
            ("/version", _) => json(json!({"version": "0.12.0"})),
            ("/v1/models", false) => {
                json(json!({"data": [{"id": "m", "owned_by": "vllm"}, {"id": "n"}]}))
            }
            // The order alone is no news; without `m` it is.
            ("/v1/models", true) => json(json!({"data": [{"id": "n", "owned_by": "vllm"}]})),
            (_, false) => ignoring(got),
            (_, true) => enforcing(got),
        }
    })
    .await;
    upstream.answer_by_script();
    let proxy = proxy(&upstream, Depth::Light).await;
    let rule = until_probed(&proxy).await;
    assert_eq!(rule.route("json_schema", None), Route::Instruct);
    model.store(true, Ordering::SeqCst);
    let one = Arc::clone(proxy.app.upstreams().iter().next().unwrap());
    one.doubt();
    let asked_anew = async {
        while one.report().is_none_or(|report| report.model != "n") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked_anew).await.unwrap();
    assert_eq!(one.rule().unwrap().route("json_schema", None), Route::Send);
}

/// A server with two models: `strong` enforces what it is sent, `weak` nothing, and it has no tools.
fn of_two_models(got: &Got) -> Vec<Step> {
    let json = |status, body: Value| vec![reply(status, JSON, &body.to_string())];
    match got.target.as_str() {
        "/version" => json(200, json!({"version": "0.12.0"})),
        "/v1/models" => json(
            200,
            json!({"data": [{"id": "strong", "owned_by": "vllm"}, {"id": "weak"}]}),
        ),
        _ => {
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            let has_tools = body["tools"].is_array();
            match (body["model"].as_str() == Some("strong"), has_tools) {
                (true, _) => enforcing(got),
                (false, true) => {
                    let message = "\"auto\" tool choice requires --enable-auto-tool-choice";
                    json(400, json!({"error": {"message": message, "code": 400}}))
                }
                (false, false) => ignoring(got),
            }
        }
    }
}

#[tokio::test]
async fn what_one_model_does_is_not_held_against_another() {
    let upstream = Scripted::start(of_two_models).await;
    upstream.answer_by_script();
    let proxy = proxy(&upstream, Depth::Light).await;
    let strong = until_probed(&proxy).await;
    assert_eq!(strong.route("json_schema", None), Route::Send);
    let one = Arc::clone(proxy.app.upstreams().iter().next().unwrap());
    assert_eq!(
        one.rule_of("weak").unwrap().route("json_schema", None),
        Route::Send,
        "nobody asked it yet"
    );
    // Traffic for the other model has it asked as well.
    let forced = FORCED.replace("\"m\"", "\"weak\"");
    proxy.chat(&forced).await.reply().await;
    let weak_is_asked = async {
        while one.reports().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, weak_is_asked).await.unwrap();
    let weak = one.rule_of("weak").unwrap();
    assert_eq!(weak.route("json_schema", None), Route::Instruct);
    let strong = one.rule_of("strong").unwrap();
    assert_eq!(strong.route("json_schema", None), Route::Send);
    assert_eq!(one.report().unwrap().model, "strong");
    let metric = r#"demand="json_schema",verdict="enforced"} 1"#;
    proxy.until_metrics_say(metric).await;
}

/// Of llama-server's router, which puts one model out for another.
#[tokio::test]
async fn a_model_that_is_not_loaded_is_not_asked() {
    let mut upstream = Scripted::start(|got| {
        let json = |body: Value| vec![reply(200, JSON, &body.to_string())];
        let model = |id: &str, status: &str| json!({"id": id, "owned_by": "vllm", "status": {"value": status}});
        match got.target.as_str() {
            "/version" => json(json!({"version": "0.12.0"})),
            "/v1/models" => {
                json(json!({"data": [model("out", "unloaded"), model("in", "loaded")]}))
            }
            _ => enforcing(got),
        }
    })
    .await;
    upstream.answer_by_script();
    let proxy = proxy(&upstream, Depth::Light).await;
    proxy.until_upstream(0, "ready").await;
    let forced = FORCED.replace("\"m\"", "\"in\"");
    proxy.chat(&forced).await.reply().await;
    let one = Arc::clone(proxy.app.upstreams().iter().next().unwrap());
    let is_asked = async {
        while one.reports().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_asked).await.unwrap();
    assert_eq!(one.reports()[0].model, "in");
    while upstream.left() > 0 {
        let got = upstream.next().await;
        if got.method == "POST" {
            let sent: Value = serde_json::from_slice(&got.body).unwrap();
            assert_eq!(sent["model"], "in");
        }
    }
}

#[tokio::test]
async fn a_models_own_refusal_is_learnt_of_that_model_alone() {
    let mut upstream = Scripted::start(of_two_models).await;
    upstream.answer_by_script();
    let proxy = proxy(&upstream, Depth::Off).await;
    proxy.until_upstream(0, "ready").await;
    let auto = FORCED.replace("\"required\"", "\"auto\"");
    for (model, tools_go) in [("weak", true), ("weak", false), ("strong", true)] {
        let body = auto.replace("\"m\"", &format!("\"{model}\""));
        proxy.chat(&body).await.reply().await;
        let got = loop {
            let got = upstream.next().await;
            if got.method == "POST" {
                break got;
            }
        };
        let sent: Value = serde_json::from_slice(&got.body).unwrap();
        let asks_with_calls = sent["tool_choice"] == "auto" || sent["tool_choice"].is_null();
        assert_eq!(
            sent["tools"].is_array() && asks_with_calls,
            tools_go,
            "{model}: {sent}"
        );
        if model == "weak" && tools_go {
            // Planned again without what the model cannot.
            let again = upstream.next().await;
            assert_eq!(again.method, "POST");
        }
    }
}

#[tokio::test]
async fn nothing_is_asked_where_probing_is_off() {
    let mut upstream = Scripted::start(ignoring).await;
    let off = proxy(&upstream, Depth::Off).await;
    off.until_upstream(0, "ready").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(upstream.left(), 0);
}

#[tokio::test]
async fn a_hosted_api_is_asked_only_in_full() {
    let vllm = include_str!("../../rules/vllm.toml");
    let hosted = vllm.replacen("[recognise]\n", "[recognise]\nhosts = [\"127.0.0.1\"]\n", 1);
    let rules = RuleSet::with_overlay(&[("vllm.toml".to_owned(), hosted)]).unwrap();
    let rules = Arc::new(rules);
    for (depth, is_asked) in [(Depth::Light, false), (Depth::Full, true)] {
        let mut upstream = Scripted::start(enforcing).await;
        let config = Config {
            upstreams: vec![UpstreamConfig::at(upstream.url().parse().unwrap())],
            probe: depth,
            ..Config::default()
        };
        let metrics = Arc::new(Metrics::new([]));
        let upstreams = Upstreams::start(&config, &rules, &metrics).unwrap();
        let one = upstreams.iter().next().unwrap();
        let ready = async {
            while one.rule().is_none() || is_asked && one.report().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(upstream.left() > 0, is_asked, "{depth:?}");
    }
}
