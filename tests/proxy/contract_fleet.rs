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
        vec![reply(
            404,
            JSON,
            r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","code":404}"#,
        )],
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
        let metrics = proxy.metrics.render();
        assert!(
            metrics.contains("isogloss_retries_total{why=\"failover\"}"),
            "{metrics}"
        );
    }
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
    let circuits = proxy.upstream(0).circuits();
    assert_eq!(
        (circuits[0].model.as_str(), circuits[0].state),
        ("m", "open")
    );
    second.stop().await;
    proxy.until_upstream_fails(&plain("m")).await;
    let refused = ask(&proxy, "m").await;
    assert_eq!(error(&refused), (429, "rate_limited".to_owned()));
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
async fn one_of_three_that_is_killed_costs_nobody_an_error_and_few_any_time() {
    let mut servers = Vec::new();
    for name in ["a", "b", "c"] {
        let one = having(&["m"], move |_got| {
            let mut steps = vec![Step::Wait(SECOND / 100)];
            steps.extend(whole(name));
            steps
        });
        servers.push(one.await);
    }
    let all: Vec<&Scripted> = servers.iter().collect();
    let proxy = before(&all, |_config| {}).await;
    let proxy = std::sync::Arc::new(proxy);
    let clients = (0..8).map(|_| {
        let proxy = std::sync::Arc::clone(&proxy);
        tokio::spawn(async move {
            let mut wrong = 0;
            for _ in 0..25 {
                let reply = tokio::time::timeout(scripted::PATIENCE, ask(&proxy, "m")).await;
                wrong += usize::from(!reply.is_ok_and(|reply| reply.status == 200));
            }
            wrong
        })
    });
    let clients: Vec<_> = clients.collect();
    tokio::time::sleep(SECOND / 20).await;
    servers.remove(1).stop().await;
    let mut wrong = 0;
    for client in clients {
        wrong += client.await.unwrap();
    }
    assert_eq!(wrong, 0, "of 200");
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
