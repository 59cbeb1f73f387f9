//! Several servers behind one address: who is asked for which model, and what a client sees of servers that fail.
//! Each test counts.

use crate::support::chat;
use crate::support::proxy;
use chat::*;
use isogloss::config::{Affinity, Balance, Config};
use isogloss_testing::scripted;
use proxy::{Proxy, Reply, post};
use scripted::{Got, Scripted, Step, chunk, head, reply};
use serde_json::{Value, json};

/// What vLLM says of a model that it does not have.
const NO_MODEL: &str = r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","code":404}"#;

/// A vLLM that lists these models, and answers everything else by the script.
async fn having(
    models: &[&str],
    script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
) -> Scripted {
    let models = models.iter();
    let data: Vec<_> = models
        .map(|id| json!({"id": id, "object": "model", "owned_by": "vllm"}))
        .collect();
    let list = json!({"object": "list", "data": data}).to_string();
    let upstream = Scripted::start(move |got: &Got| match got.target.as_str() {
        "/v1/models" => vec![reply(200, JSON, &list)],
        "/version" => vec![reply(200, JSON, r#"{"version":"0.12.0"}"#)],
        _ => script(got),
    })
    .await;
    upstream.answer_by_script();
    upstream
}

/// One that says its own name.
async fn called(name: &'static str, models: &[&str]) -> Scripted {
    having(models, move |_got| whole(name)).await
}

/// A proxy that knows what each server lists.
async fn before(servers: &[&Scripted], change: impl FnOnce(&mut Config)) -> Proxy {
    let urls: Vec<String> = servers.iter().map(|one| one.url()).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let proxy = Proxy::with(&urls, change).await;
    for index in 0..servers.len() {
        proxy.until_upstream(index, "ready").await;
        proxy.until_listed(index).await;
    }
    proxy
}

fn plain(model: &str) -> String {
    PLAIN.replace("\"m\"", &format!("\"{model}\""))
}

async fn ask(proxy: &Proxy, model: &str) -> Reply {
    proxy.chat(&plain(model)).await.reply().await
}

fn said(reply: &Reply) -> String {
    let body = reply.json();
    let said = &body["choices"][0]["message"]["content"];
    said.as_str().unwrap_or_default().to_owned()
}

/// What a server was asked that was no question who it is.
async fn chats(server: &mut Scripted) -> Vec<Value> {
    let mut chats = Vec::new();
    while server.left() > 0 {
        let got = server.next().await;
        if got.method == "POST" {
            chats.push(serde_json::from_slice(&got.body).unwrap());
        }
    }
    chats
}

#[tokio::test]
async fn a_server_is_asked_for_the_models_that_it_has_and_nobody_for_others() {
    let first = called("first", &["small", "llama3:latest"]).await;
    let second = called("second", &["large", "huge"]).await;
    let proxy = before(&[&first, &second], |_config| {}).await;
    for (model, server) in [("small", "first"), ("huge", "second"), ("llama3", "first")] {
        assert_eq!(said(&ask(&proxy, model).await), server, "{model}");
    }
    let refused = ask(&proxy, "gpt-4o").await;
    assert_eq!(error(&refused), (404, "model_not_found".to_owned()));
    let message = refused.json()["error"]["message"].to_string();
    assert!(
        message.contains("huge, large, llama3:latest, small"),
        "{message}"
    );
    // In the words of another dialect, and where nothing is translated.
    let messages =
        r#"{"model":"gpt-4o","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let refused = proxy
        .send(post("/v1/messages", messages))
        .await
        .reply()
        .await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    let embedding = async |model: &str| {
        let body = json!({"model": model, "input": "hi"}).to_string();
        proxy
            .send(post("/v1/embeddings", &body))
            .await
            .reply()
            .await
    };
    assert_eq!(embedding("gpt-4o").await.status, 404);
    assert_eq!(said(&embedding("huge").await), "second");
}

/// Ollama's clients put the tag behind every name that has none, and other servers have no tags.
#[tokio::test]
async fn latest_behind_a_name_means_the_model_that_a_server_lists_without() {
    let mut first = called("first", &["qwen", "small"]).await;
    let mut second = called("second", &["llama3:latest", "large"]).await;
    let proxy = before(&[&first, &second], |config| {
        config.upstreams[0].aliases = vec![("gpt-4o".to_owned(), "qwen".to_owned())];
    })
    .await;
    for (model, server) in [
        ("qwen:latest", "first"),
        ("gpt-4o:latest", "first"),
        ("llama3:latest", "second"),
    ] {
        assert_eq!(said(&ask(&proxy, model).await), server, "{model}");
    }
    assert_eq!(ask(&proxy, "mistral:latest").await.status, 404);
    let asked: Vec<_> = chats(&mut first)
        .await
        .iter()
        .map(|body| body["model"].clone())
        .collect();
    assert_eq!(asked, ["qwen", "qwen"]);
    assert_eq!(chats(&mut second).await[0]["model"], "llama3:latest");
}

#[tokio::test]
async fn an_alias_is_asked_for_by_its_models_name_and_patterns_count_instead_of_lists() {
    let mut first = called("first", &["Qwen3-32B"]).await;
    let mut second = called("second", &["unsaid"]).await;
    let proxy = before(&[&first, &second], |config| {
        let aliases = [("gpt-4o".to_owned(), "Qwen3-32B".to_owned())];
        config.upstreams[0].aliases = aliases.to_vec();
        config.upstreams[0].name = Some("gpu".to_owned());
        config.upstreams[1].models = vec!["claude-*".to_owned()];
    })
    .await;
    let reply = ask(&proxy, "gpt-4o").await;
    assert_eq!(said(&reply), "first");
    assert_eq!(
        reply.header("x-isogloss-upstream"),
        Some("gpu; model=Qwen3-32B")
    );
    let reply = ask(&proxy, "claude-sonnet").await;
    assert_eq!(said(&reply), "second");
    assert_eq!(reply.header("x-isogloss-upstream"), Some("1"));
    assert_eq!(ask(&proxy, "unsaid").await.status, 404);
    let body = json!({"model": "gpt-4o", "input": "hi"}).to_string();
    proxy
        .send(post("/v1/embeddings", &body))
        .await
        .reply()
        .await;
    let asked: Vec<_> = chats(&mut first)
        .await
        .iter()
        .map(|body| body["model"].clone())
        .collect();
    assert_eq!(asked, ["Qwen3-32B", "Qwen3-32B"]);
    assert_eq!(chats(&mut second).await[0]["model"], "claude-sonnet");
    let list = proxy
        .send("GET /v1/models HTTP/1.1\r\nhost: proxy\r\n\r\n")
        .await
        .reply()
        .await
        .json();
    let names: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(names, ["Qwen3-32B", "gpt-4o"]);
}

#[tokio::test]
async fn servers_that_have_a_model_share_its_requests_or_are_asked_in_order() {
    let servers = [
        called("a", &["m"]).await,
        called("b", &["m"]).await,
        called("c", &["m"]).await,
    ];
    let all = servers.each_ref();
    let proxy = before(&all, |_config| {}).await;
    let mut counts = [0; 3];
    for _ in 0..60 {
        let name = said(&ask(&proxy, "m").await);
        counts[usize::from(name.as_bytes()[0] - b'a')] += 1;
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let proxy = before(&all, |config| config.balance = Balance::First).await;
    for _ in 0..10 {
        assert_eq!(said(&ask(&proxy, "m").await), "a");
    }
    let proxy = before(&all, |config| {
        config.affinity = Affinity::Header("x-session".parse().unwrap());
    })
    .await;
    let mut kept = std::collections::BTreeSet::new();
    for session in 0..20 {
        let ask = async || {
            let body = plain("m");
            let request = format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: p\r\nx-session: {session}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            said(&proxy.send(request).await.reply().await)
        };
        let first = ask().await;
        for _ in 0..3 {
            assert_eq!(ask().await, first);
        }
        kept.insert(first);
    }
    assert!(kept.len() > 1, "{kept:?}");
}

#[tokio::test]
async fn what_one_server_fails_with_before_its_reply_another_answers() {
    for fault in [
        vec![reply(
            429,
            "retry-after: 30\r\ncontent-type: application/json\r\n",
            r#"{"error":{"message":"slow down"}}"#,
        )],
        vec![reply(503, JSON, r#"{"error":{"message":"busy"}}"#)],
        vec![reply(500, JSON, r#"{"error":{"message":"boom"}}"#)],
        vec![reply(404, JSON, NO_MODEL)],
        vec![reply(200, "content-type: text/html\r\n", "<html>")],
        vec![Step::Reset],
        vec![Step::Close],
        vec![head(EVENTS), Step::Close],
        vec![head(EVENTS), chunk(": ping\n\n"), Step::Reset],
        vec![Step::Hang],
    ] {
        let bad = {
            let fault = fault.clone();
            having(&["m"], move |_got| fault.clone()).await
        };
        let good = having(&["m"], |got| {
            match scripted::find(&got.body, b"\"stream\":true") {
                Some(_) => vec![
                    head(EVENTS),
                    chunk(&(role() + &content(GOOD) + &last())),
                    scripted::end(),
                ],
                None => whole(GOOD),
            }
        })
        .await;
        let proxy = before(&[&bad, &good], |config| {
            config.balance = Balance::First;
            config.timeouts.first_byte = SECOND / 2;
        })
        .await;
        for stream in [false, true, true] {
            let got = proxy.chat(&demand(stream)).await.reply().await;
            assert_eq!(got.status, 200, "{fault:?} {}", got.text());
            assert_eq!(got.header("x-isogloss-upstream"), Some("1"), "{fault:?}");
        }
        assert!(proxy.has_counted("isogloss_retries_total{why=\"failover\"}"));
    }
}

#[tokio::test]
async fn what_is_lost_is_counted_once_a_request_however_many_servers_it_went_to() {
    let bad = having(&["m"], |_got| {
        vec![reply(503, JSON, r#"{"error":{"message":"busy"}}"#)]
    })
    .await;
    let good = called("good", &["m"]).await;
    let proxy = before(&[&bad, &good], |config| config.balance = Balance::First).await;
    let salted = PLAIN.replace("{\"model\"", "{\"cache_salt\":\"x\",\"model\"");
    let got = proxy.chat(&salted).await.reply().await;
    assert_eq!(said(&got), "good");
    assert_eq!(got.header("x-isogloss-losses"), Some("1; /cache_salt"));
    let told = proxy.metrics.render();
    let mut lines = told.lines();
    let line = lines.find(|line| line.starts_with("isogloss_losses_total{"));
    assert!(line.is_some_and(|line| line.ends_with("} 1")), "{line:?}");
}

#[tokio::test]
async fn a_server_that_fails_is_put_aside_and_its_word_is_passed_on_where_nobody_else_is() {
    let slow = "retry-after: 30\r\ncontent-type: application/json\r\n";
    let limited = move |_got: &Got| vec![reply(429, slow, r#"{"error":{"message":"slow down"}}"#)];
    let mut first = having(&["m"], limited).await;
    let second = called("second", &["m"]).await;
    let proxy = before(&[&first, &second], |config| config.balance = Balance::First).await;
    for _ in 0..10 {
        assert_eq!(said(&ask(&proxy, "m").await), "second");
    }
    assert_eq!(chats(&mut first).await.len(), 1, "it said for how long");
    // No client heard of it.
    let failed = "isogloss_upstream_errors_total{code=\"upstream_rate_limited\"} ";
    assert_eq!(proxy.counted(failed), 1);
    let circuits = proxy.upstream(0).circuits();
    assert_eq!(
        (circuits[0].model.as_str(), circuits[0].state),
        ("m", "open")
    );
    second.stop().await;
    proxy.until_upstream_fails(&plain("m")).await;
    let refused = ask(&proxy, "m").await;
    assert_eq!(error(&refused), (429, "upstream_rate_limited".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("30"));
}

#[tokio::test]
async fn once_a_byte_of_a_reply_went_out_no_other_server_adds_to_it() {
    let start = role() + &content(r#"{\"a\": "#) + &content("1");
    let broken = having(&["m"], move |_got| {
        vec![head(EVENTS), chunk(&start), Step::Reset]
    })
    .await;
    let mut other = called("other", &["m"]).await;
    let proxy = before(&[&broken, &other], |config| config.balance = Balance::First).await;
    let got = proxy.chat(&demand(true)).await.reply().await;
    assert_eq!(got.status, 200);
    assert!(got.text().contains("upstream_truncated"), "{}", got.text());
    assert_eq!(chats(&mut other).await.len(), 0);
}

#[tokio::test]
async fn another_model_is_asked_only_where_that_is_configured_and_is_told() {
    for is_configured in [true, false] {
        let busy = having(&["big"], |_got| {
            vec![reply(503, JSON, r#"{"error":{"message":"busy"}}"#)]
        })
        .await;
        let mut small = called("small", &["small"]).await;
        let proxy = before(&[&busy, &small], |config| {
            if is_configured {
                config.upstreams[0].fallback = vec!["missing".to_owned(), "small".to_owned()];
            }
        })
        .await;
        let reply = ask(&proxy, "big").await;
        if !is_configured {
            assert_eq!(reply.status, 503);
            assert_eq!(chats(&mut small).await.len(), 0);
            continue;
        }
        assert_eq!(said(&reply), "small", "{}", reply.text());
        assert_eq!(reply.header("x-isogloss-upstream"), Some("1; model=small"));
        assert_eq!(chats(&mut small).await[0]["model"], "small");
        assert!(
            proxy
                .metrics
                .render()
                .contains("isogloss_fallbacks_total{upstream=\"1\"} 1")
        );
    }
}

/// A vLLM, and OpenAI, which alone can be sent what only it has.
async fn vllm_and_openai(
    vllm: &Scripted,
    openai: &Scripted,
    change: impl FnOnce(&mut Config),
) -> Proxy {
    let proxy = Proxy::with(&[&vllm.url(), &openai.url()], |config| {
        config.balance = Balance::First;
        config.upstreams[0].dialect = isogloss::config::DialectPin::parse("vllm@0.12.0");
        config.upstreams[0].models = vec!["qwen".to_owned()];
        config.upstreams[1].dialect = isogloss::config::DialectPin::parse("openai");
        config.upstreams[1].models = vec!["gpt-a".to_owned()];
        change(config);
    })
    .await;
    for index in 0..2 {
        proxy.until_upstream(index, "ready").await;
    }
    proxy
}

fn with_file(model: &str) -> Value {
    let file = json!({"type": "input_file", "file_id": "file-1"});
    json!({"model": model, "input": [{"role": "user", "content": [file]}]})
}

#[tokio::test]
async fn a_failure_is_told_where_the_other_model_cannot_be_sent_the_request() {
    let requests = [
        json!({"model": "gpt-a", "input": "hi", "previous_response_id": "resp_1"}),
        json!({"model": "gpt-a", "input": "hi", "conversation": "conv_1"}),
        json!({"model": "gpt-a", "input": "hi", "prompt": {"id": "pmpt_1"}}),
        with_file("gpt-a"),
    ];
    for status in [429, 503] {
        let mut vllm = called("vllm", &["qwen"]).await;
        let busy = format!("{JSON}retry-after: 7\r\n");
        let error = r#"{"error":{"message":"slow down"}}"#;
        let openai = having(&["gpt-a"], move |_got| vec![reply(status, &busy, error)]).await;
        let proxy = vllm_and_openai(&vllm, &openai, |config| {
            config.upstreams[1].fallback = vec!["qwen".to_owned()];
        })
        .await;
        for request in &requests {
            let post = post("/v1/responses", &request.to_string());
            let got = proxy.send(post).await.reply().await;
            assert_eq!(got.status, status, "{request} {}", got.text());
            assert_eq!(got.header("retry-after"), Some("7"));
            assert_eq!(got.header("x-isogloss-upstream"), Some("1"));
        }
        assert_eq!(chats(&mut vllm).await.len(), 0);
        assert_eq!(proxy.counted("isogloss_retries_total{why=\"failover\"}"), 0);
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_sent_a_request_is_passed_over() {
    let mut vllm = called("vllm", &["qwen"]).await;
    let response = r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"gpt-a","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"fine","annotations":[]}]}]}"#;
    let mut openai = having(&["gpt-a"], move |got| match got.target.as_str() {
        "/v1/responses/input_tokens" => {
            let counted = r#"{"object":"response.input_tokens","input_tokens":5}"#;
            vec![reply(200, JSON, counted)]
        }
        _ => vec![reply(200, JSON, response)],
    })
    .await;
    let proxy = vllm_and_openai(&vllm, &openai, |config| {
        config.upstreams[0].aliases = vec![("gpt-a".to_owned(), "qwen".to_owned())];
        config.upstreams[0].fallback = vec!["gpt-a".to_owned()];
    })
    .await;
    let ask = async |path: &str, request: &Value| {
        let post = post(path, &request.to_string());
        proxy.send(post).await.reply().await
    };
    for request in [
        json!({"model": "gpt-a", "input": "hi", "prompt": {"id": "pmpt_1"}}),
        with_file("gpt-a"),
    ] {
        let got = ask("/v1/responses", &request).await;
        assert_eq!(got.status, 200, "{request} {}", got.text());
        assert_eq!(got.header("x-isogloss-upstream"), Some("1"));
    }
    let counted = ask("/v1/responses/input_tokens", &with_file("gpt-a")).await;
    assert_eq!(counted.status, 200, "{}", counted.text());
    assert_eq!(chats(&mut openai).await.len(), 3);
    // Where nobody is left it is told what is wrong, and no other model is asked.
    let refused = ask("/v1/responses", &with_file("qwen")).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.header("x-isogloss-upstream"), Some("0"));
    assert_eq!(chats(&mut openai).await.len(), 0);
    assert_eq!(chats(&mut vllm).await.len(), 0);
}

#[tokio::test]
async fn who_enforces_the_demand_is_asked_before_who_is_only_told_of_it() {
    let mut plain_server = called(GOOD, &["m"]).await;
    let mut vllm = called(GOOD, &["m"]).await;
    let proxy = before(&[&plain_server, &vllm], |config| {
        config.upstreams[0].dialect = isogloss::config::DialectPin::parse("plain");
        config.upstreams[1].dialect = isogloss::config::DialectPin::parse("vllm@0.12.0");
    })
    .await;
    for _ in 0..10 {
        assert_eq!(proxy.chat(&demand(false)).await.reply().await.status, 200);
    }
    assert_eq!(
        (
            chats(&mut plain_server).await.len(),
            chats(&mut vllm).await.len()
        ),
        (0, 10)
    );
    for _ in 0..30 {
        ask(&proxy, "m").await;
    }
    assert!(
        !chats(&mut plain_server).await.is_empty(),
        "what demands nothing is shared"
    );
}

#[tokio::test]
async fn one_of_three_that_is_killed_costs_nobody_an_error_and_one_in_a_hundred_any_time() {
    const CLIENTS: usize = 4;
    const EACH: usize = 400;
    let mut servers = Vec::new();
    for name in ["a", "b", "c"] {
        servers.push(called(name, &["m"]).await);
    }
    let all: Vec<&Scripted> = servers.iter().collect();
    let proxy = before(&all, |_config| {}).await;
    let proxy = std::sync::Arc::new(proxy);
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let clients = (0..CLIENTS).map(|_| {
        let (proxy, asked) = (std::sync::Arc::clone(&proxy), std::sync::Arc::clone(&asked));
        tokio::spawn(async move {
            let mut wrong = 0;
            for _ in 0..EACH {
                let reply = tokio::time::timeout(scripted::PATIENCE, ask(&proxy, "m")).await;
                wrong += usize::from(!reply.is_ok_and(|reply| reply.status == 200));
                asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            wrong
        })
    });
    let clients: Vec<_> = clients.collect();
    // While all are asked, and long before the last request.
    while asked.load(std::sync::atomic::Ordering::Relaxed) < 100 {
        tokio::time::sleep(SECOND / 1000).await;
    }
    servers.remove(1).stop().await;
    let mut wrong = 0;
    for client in clients {
        wrong += client.await.unwrap();
    }
    let requests = CLIENTS * EACH;
    assert_eq!(wrong, 0, "of {requests}");
    // Whoever waits for the one that is gone is sent to another, and is counted there.
    let met: usize = ["connect", "failover"]
        .map(|why| proxy.counted(&format!("isogloss_retries_total{{why=\"{why}\"}}")))
        .iter()
        .sum();
    assert!(
        met >= 1 && met * 100 <= requests,
        "{met} of {requests} met it"
    );
}

#[tokio::test]
async fn a_server_is_put_aside_by_its_third_failure_and_asked_again_after_a_while() {
    let fails = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let still = std::sync::Arc::clone(&fails);
    let mut first = having(&["m"], move |_got| {
        match still.load(std::sync::atomic::Ordering::Relaxed) {
            true => vec![reply(500, JSON, r#"{"error":{"message":"boom"}}"#)],
            false => whole("first"),
        }
    })
    .await;
    let second = called("second", &["m"]).await;
    let proxy = before(&[&first, &second], |config| config.balance = Balance::First).await;
    let state = || proxy.upstream(0).circuits().first().map(|one| one.state);
    for expected in [Some("closed"), Some("closed"), Some("open")] {
        assert_eq!(said(&ask(&proxy, "m").await), "second");
        // On a machine that is slow enough the second of the third is over by now.
        assert!(
            state() == expected || expected == Some("open"),
            "{:?}",
            state()
        );
    }
    assert_eq!(chats(&mut first).await.len(), 3);
    let told = proxy.upstream(0).circuits_open();
    assert_eq!(told.keys().collect::<Vec<_>>(), ["m"]);
    // While it is aside it is not asked; where that is over, it fails again and is aside for longer.
    let failures = || {
        proxy
            .upstream(0)
            .circuits()
            .first()
            .map_or(0, |one| one.failures)
    };
    let mut spared = 0;
    for _ in 0..5 {
        let before = failures();
        assert_eq!(said(&ask(&proxy, "m").await), "second");
        let asked = chats(&mut first).await.len();
        assert_eq!(asked, (failures() - before) as usize);
        spared += usize::from(asked == 0);
    }
    assert!(spared > 0, "it is asked while it is aside");
    fails.store(false, std::sync::atomic::Ordering::Relaxed);
    let back = async { while said(&ask(&proxy, "m").await) != "first" {} };
    tokio::time::timeout(4 * scripted::PATIENCE, back)
        .await
        .expect("it is not asked again");
    assert_eq!(state(), None);
    assert!(proxy.upstream(0).circuits_open().is_empty());
}

#[tokio::test]
async fn a_busy_server_that_names_no_time_is_not_put_aside_by_its_first_failure() {
    for status in [429, 503] {
        let busy = move |_got: &Got| vec![reply(status, JSON, r#"{"error":{"message":"busy"}}"#)];
        let first = having(&["m"], busy).await;
        let second = called("second", &["m"]).await;
        let proxy = before(&[&first, &second], |config| config.balance = Balance::First).await;
        assert_eq!(said(&ask(&proxy, "m").await), "second");
        assert_eq!(said(&embed(&proxy, "/v1/embeddings").await), "second");
        let circuits = proxy.upstream(0).circuits();
        assert_eq!(
            (circuits[0].failures, circuits[0].state),
            (2, "closed"),
            "{status}"
        );
    }
}

#[tokio::test]
async fn requests_of_one_user_or_one_beginning_stay_on_one_server() {
    let servers = [
        called("a", &["m"]).await,
        called("b", &["m"]).await,
        called("c", &["m"]).await,
    ];
    let all = servers.each_ref();
    for affinity in [Affinity::User, Affinity::Prompt] {
        let proxy = before(&all, |config| config.affinity = affinity.clone()).await;
        let mut used = std::collections::BTreeSet::new();
        for who in 0..12 {
            // Longer than what is looked at; what follows differs.
            let system = match affinity {
                Affinity::Prompt => format!("{who}").repeat(5000),
                _ => "the same for all".to_owned(),
            };
            let mut kept = std::collections::BTreeSet::new();
            for nth in 0..3 {
                let mut body = json!({"model": "m", "messages": [
                    {"role": "system", "content": system}, {"role": "user", "content": format!("question {nth}")},
                ]});
                if affinity == Affinity::User {
                    body["user"] = json!(format!("user-{who}"));
                    body["messages"][0]["content"] = json!(format!("{nth}"));
                }
                kept.insert(said(&proxy.chat(&body.to_string()).await.reply().await));
            }
            assert_eq!(kept.len(), 1, "{affinity:?} {who}");
            used.append(&mut kept);
        }
        assert!(used.len() > 1, "{affinity:?} leads everybody to {used:?}");
    }
}

/// A request that is not translated.
async fn embed(proxy: &Proxy, path: &str) -> Reply {
    let body = r#"{"model":"m","input":"hi"}"#;
    proxy.send(post(path, body)).await.reply().await
}

/// What a server may do instead of answering, so that another is asked.
fn faults() -> [Vec<Step>; 7] {
    [
        vec![reply(429, "retry-after: 30\r\n", "slow down")],
        vec![reply(503, "", "busy")],
        vec![reply(500, JSON, r#"{"error":{"message":"boom"}}"#)],
        vec![reply(404, JSON, NO_MODEL)],
        vec![Step::Reset],
        vec![Step::Close],
        vec![Step::Hang],
    ]
}

/// A server that does so, and the proxy before it and a good one.
async fn failing_first(fault: &[Step], good: &Scripted) -> (Scripted, Proxy) {
    let fault = fault.to_vec();
    let bad = having(&["m"], move |_got| fault.clone()).await;
    let proxy = before(&[&bad, good], |config| {
        config.balance = Balance::First;
        config.timeouts.first_byte = SECOND / 2;
    })
    .await;
    (bad, proxy)
}

#[tokio::test]
async fn what_only_computes_goes_to_another_server_untranslated_too() {
    for fault in faults() {
        let mut good = called("good", &["m"]).await;
        let (_bad, proxy) = failing_first(&fault, &good).await;
        for path in ["/v1/embeddings", "/v1/rerank", "/tokenize"] {
            let got = embed(&proxy, path).await;
            assert_eq!(got.status, 200, "{fault:?} {path} {}", got.text());
            assert_eq!(got.header("x-isogloss-upstream"), Some("1"));
        }
        assert_eq!(chats(&mut good).await.len(), 3);
    }
}

#[tokio::test]
async fn what_one_server_fails_to_count_another_counts() {
    let contents = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
    let messages = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let counts = [
        ("/v1/messages/count_tokens", messages),
        (
            "/v1/responses/input_tokens",
            r#"{"model":"m","input":"hi"}"#,
        ),
        ("/v1beta/models/m:countTokens", contents),
    ];
    for fault in faults() {
        let mut good = having(&["m"], |_got| vec![reply(200, JSON, r#"{"count":42}"#)]).await;
        let (_bad, proxy) = failing_first(&fault, &good).await;
        for (path, body) in counts {
            let got = proxy.send(post(path, body)).await.reply().await;
            assert_eq!(got.status, 200, "{fault:?} {path} {}", got.text());
            assert_eq!(got.header("x-isogloss-tokens"), Some("counted"));
        }
        assert_eq!(chats(&mut good).await.len(), 3);
        assert!(proxy.has_counted("isogloss_retries_total{why=\"failover\"}"));
    }
}

#[tokio::test]
async fn where_no_other_server_counts_the_servers_own_error_is_told() {
    let limited = |_got: &Got| vec![reply(429, "retry-after: 7\r\n", "slow down")];
    let first = having(&["m"], limited).await;
    let second = having(&["m"], limited).await;
    let proxy = before(&[&first, &second], |_config| {}).await;
    let body = r#"{"model":"m","input":"hi"}"#;
    let got = proxy.send(post("/v1/responses/input_tokens", body));
    let got = got.await.reply().await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("7")));
    assert_eq!(proxy.counted("isogloss_retries_total{why=\"failover\"}"), 1);
    for index in 0..2 {
        assert_eq!(proxy.upstream(index).circuits()[0].state, "open");
    }
}

#[tokio::test]
async fn what_may_act_is_sent_once_whatever_becomes_of_it() {
    for (fault, status) in [
        (vec![reply(503, "", "busy")], 503),
        (vec![Step::Reset], 502),
        (vec![Step::Hang], 504),
    ] {
        // One that fails may be put aside, so each asks its own.
        for path in ["/v1/load_lora_adapter", "/unknown"] {
            let fault = fault.clone();
            let bad = having(&["m"], move |_got| fault.clone()).await;
            let mut good = called("good", &["m"]).await;
            let proxy = before(&[&bad, &good], |config| {
                config.balance = Balance::First;
                config.timeouts.first_byte = SECOND / 2;
            })
            .await;
            let got = embed(&proxy, path).await;
            assert_eq!(got.status, status, "{path} {}", got.text());
            assert_eq!(chats(&mut good).await.len(), 0);
        }
    }
}

#[tokio::test]
async fn where_no_other_server_can_be_asked_the_servers_own_error_is_passed_on() {
    let limited = |_got: &Got| vec![reply(429, "retry-after: 7\r\n", "slow down")];
    let first = having(&["m"], limited).await;
    let second = having(&["m"], limited).await;
    let other = called("other", &["unlike"]).await;
    let proxy = before(&[&first, &second, &other], |_config| {}).await;
    let got = embed(&proxy, "/v1/embeddings").await;
    assert_eq!((got.status, got.text()), (429, "slow down"));
    assert_eq!(got.header("retry-after"), Some("7"));
    assert_eq!(proxy.counted("isogloss_retries_total{why=\"failover\"}"), 1);
}

#[tokio::test]
async fn a_404_is_passed_on_untranslated_where_it_is_the_routes_or_nobody_else_has_the_model() {
    for (body, others) in [(NO_MODEL, 1), (r#"{"detail":"Not Found"}"#, 0)] {
        let missing = move |_got: &Got| vec![reply(404, JSON, body)];
        let first = having(&["m"], missing).await;
        let mut second = having(&["m"], missing).await;
        let proxy = before(&[&first, &second], |config| config.balance = Balance::First).await;
        let got = embed(&proxy, "/v1/embeddings").await;
        assert_eq!((got.status, got.text()), (404, body));
        assert_eq!(chats(&mut second).await.len(), others, "{body}");
    }
}

#[tokio::test]
async fn one_list_has_what_each_server_tells_of_its_models_in_each_dialects_words() {
    let listing = async |entry: Value| {
        let list = json!({"object": "list", "data": [entry]}).to_string();
        let upstream = Scripted::start(move |got: &Got| match got.target.as_str() {
            "/v1/models" => vec![reply(200, JSON, &list)],
            "/version" => vec![reply(200, JSON, r#"{"version":"0.12.0"}"#)],
            _ => whole("x"),
        })
        .await;
        upstream.answer_by_script();
        upstream
    };
    let first = listing(json!({"id": "big", "object": "model", "owned_by": "vllm", "max_model_len": 40960, "root": "/models/big"})).await;
    let second = listing(
        json!({"id": "small", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}),
    )
    .await;
    let proxy = before(&[&first, &second], |config| {
        config.upstreams[0].aliases = vec![("gpt-4o".to_owned(), "big".to_owned())];
        config.upstreams[1].models = vec!["small".to_owned(), "tiny".to_owned()];
    })
    .await;
    let get = async |path: &str, header: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: proxy\r\n{header}\r\n");
        proxy.send(request).await.reply().await.json()
    };
    let list = get("/v1/models", "").await;
    let told: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["id"].as_str().unwrap(),
                one["max_model_len"].as_u64(),
                one["meta"]["n_ctx"].as_u64(),
                one["owned_by"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("big", Some(40960), None, "vllm"),
            ("small", None, Some(8192), "llamacpp"),
            ("tiny", None, None, "isogloss"),
            ("gpt-4o", Some(40960), None, "vllm"),
        ]
    );
    assert_eq!(list["data"][3]["root"], "/models/big");
    let gemini = get("/v1beta/models", "").await;
    assert_eq!(gemini["models"][1]["inputTokenLimit"], 8192);
    assert_eq!(gemini["models"][3]["inputTokenLimit"], 40960);
    let anthropic = get("/v1/models", "anthropic-version: 2023-06-01\r\n").await;
    assert_eq!(anthropic["data"][3]["max_input_tokens"], 40960);
    let body = r#"{"model":"gpt-4o"}"#;
    let shown = proxy
        .send(post("/api/show", body))
        .await
        .reply()
        .await
        .json();
    assert_eq!(shown["model_info"]["unknown.context_length"], 40960);
}

#[tokio::test]
async fn a_server_that_restarts_with_another_model_is_asked_for_that_one() {
    let first = called("first", &["old"]).await;
    let second = called("second", &["other"]).await;
    let proxy = before(&[&first, &second], |_config| {}).await;
    assert_eq!(said(&ask(&proxy, "old").await), "first");
    let address = first.stop().await;
    assert_ne!(ask(&proxy, "old").await.status, 200);
    proxy.until_upstream(0, "down").await;
    let list = r#"{"object":"list","data":[{"id":"new","object":"model","owned_by":"vllm"}]}"#;
    let again = Scripted::start_at(address, move |got| match got.target.as_str() {
        "/v1/models" => vec![reply(200, JSON, list)],
        "/version" => vec![reply(200, JSON, r#"{"version":"0.12.0"}"#)],
        _ => whole("again"),
    })
    .await;
    again.answer_by_script();
    proxy.until_upstream(0, "ready").await;
    proxy.until_listed(0).await;
    assert_eq!(said(&ask(&proxy, "new").await), "again");
    assert_eq!(ask(&proxy, "old").await.status, 404);
}

/// Audio and pictures come as forms.
#[tokio::test]
async fn a_form_goes_to_the_server_that_has_its_model() {
    let first = called("first", &["small"]).await;
    let mut second = called("second", &["large"]).await;
    let alias = |config: &mut Config| {
        let known = ("whisper-1".to_owned(), "large".to_owned());
        config.upstreams[1].aliases = vec![known];
    };
    let proxy = before(&[&first, &second], alias).await;
    for model in ["large", "whisper-1"] {
        let body = format!(
            "--b\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\n{model}\r\n--b\r\ncontent-disposition: form-data; \
             name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--b--\r\n"
        );
        let length = body.len();
        let request = format!(
            "POST /v1/audio/transcriptions HTTP/1.1\r\nhost: proxy\r\ncontent-type: multipart/form-data; boundary=b\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        let reply = proxy.send(request).await.reply().await;
        assert_eq!(said(&reply), "second", "{model}");
        let got = loop {
            let got = second.next().await;
            if got.method == "POST" {
                break got;
            }
        };
        let sent = body.replace("whisper-1", "large");
        assert_eq!(String::from_utf8_lossy(&got.body), sent, "{model}");
    }
}
