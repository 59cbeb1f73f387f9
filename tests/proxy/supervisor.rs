//! The worker as a process: started, watched, started again, ended; against a worker of the
//! test's own, which answers with fixed words.

use crate::support::chat;
use crate::support::proxy;
use crate::support::worker;
use chat::{PLAIN, body_of, demand, error, error_event};
use isogloss::config::{Config, UpstreamConfig};
use isogloss::upstream::Phase;
use isogloss_testing::scripted;
use proxy::{Proxy, Reply, post};
use scripted::PATIENCE;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use worker::{Fake, runs};

/// Not a test: the part that [`Fake`] starts this program in.
#[test]
fn plays_the_worker() {
    worker::play();
}

/// Not a test: a proxy that is killed by [`no_worker_outlives_a_proxy_that_is_killed`].
#[tokio::test]
async fn plays_a_proxy() {
    let Some(script) = std::env::var_os("FAKE_PROXY") else {
        return;
    };
    let launch = isogloss::upstream::Launch::program(script.into());
    let proxy = Proxy::launching(&launch, &[], with_model).await;
    proxy.until_upstream(0, "ready").await;
    println!("the worker is ready");
    std::future::pending().await
}

fn with_model(config: &mut Config) {
    config.worker.model = Some(isogloss::config::ModelSource::Path("model.gguf".into()));
    config.timeouts.loading = Duration::from_secs(10);
}

async fn started(fake: &Fake) -> Proxy {
    Proxy::launching(&fake.launch(), &[], with_model).await
}

async fn ready(fake: &Fake) -> Proxy {
    let proxy = started(fake).await;
    proxy.until_upstream(0, "ready").await;
    proxy
}

async fn ask(proxy: &Proxy, body: &str) -> Reply {
    proxy.chat(body).await.reply().await
}

/// The body of a request whose prompt makes the worker die.
fn deadly(body: &str, word: &str) -> String {
    body.replace("\"hi\"", &format!("\"{word}\""))
}

fn streamed(body: &str) -> String {
    body.replacen('{', r#"{"stream":true,"#, 1)
}

#[track_caller]
fn is_answered(reply: &Reply) {
    assert_eq!(reply.status, 200, "{}", reply.text());
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to this: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn restarts(proxy: &Proxy) -> u64 {
    proxy.app.upstreams().worker().unwrap().status().restarts
}

// --- start ---------------------------------------------------------------------------------------

#[tokio::test]
async fn a_worker_is_started_with_its_settings_and_answers() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let reply = ask(&proxy, &demand(false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-isogloss-dialect"), Some("worker"));
    let mut stream = proxy.chat(&demand(true)).await;
    let body = String::from_utf8(body_of(&mut stream).await).unwrap();
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    assert_eq!(fake.started().len(), 1);
    let arguments = fake.arguments();
    assert!(arguments.starts_with("worker --socket=/"), "{arguments}");
    assert!(arguments.contains(" --model=model.gguf "), "{arguments}");
    let status = &proxy.app.upstreams().status()[0];
    assert_eq!((status.url.as_str(), status.state), ("worker", "ready"));
    assert!(proxy.metrics.render().contains("isogloss_worker_up 1"));
    let worker = proxy.app.upstreams().worker().unwrap();
    let metrics = worker.metrics().await;
    assert_eq!(metrics.as_deref(), Some("isogloss_worker_steps_total 9\n"));
}

#[tokio::test]
async fn what_the_worker_says_of_an_answer_near_its_end_reaches_the_client_and_no_others_word_for_it()
 {
    const SAID: [&str; 2] = ["x-isogloss-steered", "x-isogloss-unplanned"];
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    for (prompt, expected) in [
        ("NEAR ITS END", [Some("5"), Some("1")]),
        ("so", [None, None]),
    ] {
        let reply = ask(&proxy, &deadly(&demand(false), prompt)).await;
        is_answered(&reply);
        assert_eq!(SAID.map(|name| reply.header(name)), expected, "{prompt}");
    }
    let (_upstream, proxy) = chat::upstream(|_got| {
        let head = format!(
            "{}x-isogloss-steered: 5\r\nx-isogloss-unplanned: 1\r\n",
            chat::JSON
        );
        vec![scripted::reply(200, &head, &chat::completion(chat::GOOD))]
    })
    .await;
    let reply = ask(&proxy, &demand(false)).await;
    is_answered(&reply);
    assert_eq!(SAID.map(|name| reply.header(name)), [None, None]);
}

#[tokio::test]
async fn in_which_markup_its_model_writes_is_known_by_the_template_that_it_tells() {
    for (habits, expected) in [
        ("", None),
        (
            "tells-template",
            Some(("mistral", "the model's chat template")),
        ),
    ] {
        let fake = Fake::new(habits);
        let proxy = ready(&fake).await;
        let worker = proxy.app.upstreams().iter().next().unwrap();
        let markup = worker.markup();
        let told = markup
            .as_ref()
            .map(|it| (it.format.name(), it.from.as_str()));
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn another_configuration_and_other_rules_leave_the_worker_running() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let other = scripted::Scripted::start(|_got| chat::whole("other")).await;
    let url = other.url().parse().unwrap();
    let other_rules = std::sync::Arc::new(isogloss_core::rules::RuleSet::builtin());
    for upstreams in [vec![UpstreamConfig::at(url)], Vec::new()] {
        let mut config = proxy.house.app().config().clone();
        config.upstreams = upstreams;
        config.worker.slots += 1;
        let renewed = proxy.house.renew(config, &other_rules).await.unwrap();
        assert_eq!(renewed.needs_restart, ["worker.slots"]);
        let app = proxy.house.app();
        let status = app.upstreams().status().pop().unwrap();
        assert_eq!((status.url.as_str(), status.state), ("worker", "ready"));
    }
    is_answered(&ask(&proxy, &demand(false)).await);
    assert_eq!(fake.started().len(), 1);
    // One that dies is followed by another, whose state is known here.
    ask(&proxy, &deadly(&demand(false), "CRASH")).await;
    is_answered(&ask(&proxy, &demand(false)).await);
    assert_eq!(fake.started().len(), 2);
}

#[tokio::test]
async fn requests_wait_for_a_worker_that_still_loads() {
    let fake = Fake::new("loads-500");
    let proxy = started(&fake).await;
    assert!(!proxy.app.upstreams().is_ready());
    let reply = ask(&proxy, PLAIN).await;
    assert_eq!(reply.status, 200);
    assert!(proxy.app.upstreams().is_ready());
}

#[tokio::test]
async fn a_request_that_waited_long_enough_is_told_how_far_the_model_is() {
    let fake = Fake::new("loads-20000");
    let proxy = Proxy::launching(&fake.launch(), &[], |config| {
        with_model(config);
        config.timeouts.loading = Duration::from_millis(200);
    })
    .await;
    let loaded = || {
        let reason = proxy.app.upstreams().status()[0].reason.clone();
        reason.is_some_and(|reason| reason.contains("% of its model"))
    };
    until("progress", loaded).await;
    let reply = ask(&proxy, PLAIN).await;
    assert_eq!(error(&reply), (503, "model_loading".to_owned()));
    assert!(reply.text().contains("% of its model"), "{}", reply.text());
    // What needs no translation is told the same.
    let models = "GET /v1/models HTTP/1.1\r\nhost: proxy\r\n\r\n";
    let reply = proxy.send(models).await.reply().await;
    assert_eq!(error(&reply), (503, "model_loading".to_owned()));
}

#[tokio::test]
async fn what_the_first_start_fails_of_is_told_and_not_tried_again() {
    let fake = Fake::new("fails");
    let proxy = started(&fake).await;
    let worker = proxy.app.upstreams().worker().unwrap();
    let why = "model.gguf is no GGUF file".to_owned();
    until("given up", || {
        worker.status().phase == Phase::GivenUp { why: why.clone() }
    })
    .await;
    assert_eq!(fake.started().len(), 1);
    // There is nothing to stop.
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_that_never_gets_ready_is_tried_three_times() {
    let fake = Fake::new("dies");
    let proxy = started(&fake).await;
    let worker = proxy.app.upstreams().worker().unwrap();
    let given_up = || matches!(worker.status().phase, Phase::GivenUp { .. });
    until("given up", given_up).await;
    assert_eq!(fake.started().len(), 3);
    let why = "it exited with 3".to_owned();
    assert_eq!(worker.status().phase, Phase::GivenUp { why });
}

#[tokio::test]
async fn a_worker_that_floods_its_log_is_never_made_to_wait() {
    let fake = Fake::new("chatters");
    let proxy = started(&fake).await;
    is_answered(&ask(&proxy, PLAIN).await);
}

// --- crashes -------------------------------------------------------------------------------------

#[tokio::test]
async fn a_crash_ends_a_stream_with_an_error_event_and_the_next_request_is_answered() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    for (body, is_plain) in [(streamed(PLAIN), true), (demand(true), false)] {
        let before = restarts(&proxy);
        let mut stream = proxy.chat(&deadly(&body, "CRASH")).await;
        let (code, came) = error_event(&body_of(&mut stream).await);
        assert_eq!(code, "worker_crashed");
        assert!(!is_plain || came.contains(r#"{\"a\""#), "{came}");
        let begun = Instant::now();
        let reply = ask(&proxy, &demand(false)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(begun.elapsed() < Duration::from_secs(3));
        assert_eq!(restarts(&proxy), before + 1);
    }
    let text = proxy.metrics.render();
    assert!(text.contains("isogloss_worker_restarts_total 2"), "{text}");
    assert!(
        text.contains("isogloss_upstream_errors_total{code=\"worker_crashed\"} 2"),
        "{text}"
    );
}

#[tokio::test]
async fn a_crash_before_the_reply_is_complete_is_a_502_with_its_own_code() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    for (body, word) in [
        (PLAIN.to_owned(), "CRASH AT ONCE"),
        (PLAIN.to_owned(), "CRASH"),
        (demand(false), "CRASH"),
    ] {
        let reply = ask(&proxy, &deadly(&body, word)).await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()), "{word}");
        assert_eq!(reply.header("retry-after"), Some("1"));
        let before = restarts(&proxy);
        until("a restart", || restarts(&proxy) > before).await;
        is_answered(&ask(&proxy, PLAIN).await);
    }
    assert_eq!(fake.started().len(), 4, "no request is sent twice");
    // What needs no translation is told the same.
    let request = post("/v1/completions", &deadly(PLAIN, "CRASH AT ONCE"));
    let reply = proxy.send(request).await.reply().await;
    assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
}

#[tokio::test]
async fn a_worker_that_is_stuck_is_ended_and_its_requests_are_told_that() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let mut slow = Vec::new();
    for word in ["WORK FOR EVER", "WORK FOR EVER"] {
        slow.push(proxy.chat(&deadly(&demand(false), word)).await);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut stream = proxy.chat(&deadly(&demand(true), "GET STUCK")).await;
    let (code, _) = error_event(&body_of(&mut stream).await);
    assert_eq!(code, "worker_stuck");
    for mut client in slow {
        let reply = client.reply().await;
        assert_eq!(error(&reply), (502, "worker_stuck".to_owned()));
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    // The next request waits for the successor.
    is_answered(&ask(&proxy, &demand(false)).await);
    // One that had no byte of a reply, and one that needs no translation.
    let body = deadly(&demand(false), "GET STUCK AT ONCE");
    let reply = ask(&proxy, &body).await;
    assert_eq!(error(&reply), (502, "worker_stuck".to_owned()));
    is_answered(&ask(&proxy, PLAIN).await);
    let request = post("/v1/completions", &deadly(PLAIN, "GET STUCK AT ONCE"));
    let reply = proxy.send(request).await.reply().await;
    assert_eq!(error(&reply), (502, "worker_stuck".to_owned()));
    is_answered(&ask(&proxy, &demand(false)).await);
    assert_eq!(fake.started().len(), 4);
    let text = proxy.metrics.render();
    assert!(text.contains("isogloss_worker_stuck_total 3"), "{text}");
    assert!(text.contains("isogloss_worker_restarts_total 3"), "{text}");
    let worker = proxy.app.upstreams().worker().unwrap();
    assert!(matches!(worker.status().phase, Phase::Ready(_)));
}

#[tokio::test]
async fn every_request_that_was_in_flight_is_told() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.push(proxy.chat(&deadly(&demand(false), "BE SLOW")).await);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let reply = ask(&proxy, &deadly(PLAIN, "CRASH AT ONCE")).await;
    assert_eq!(reply.status, 502);
    for mut client in slow {
        let reply = client.reply().await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
    }
    is_answered(&ask(&proxy, &demand(false)).await);
}

#[tokio::test]
async fn a_worker_that_keeps_dying_is_started_less_and_less_often() {
    let fake = Fake::new("dies-after-0");
    let proxy = started(&fake).await;
    until("a few restarts", || restarts(&proxy) >= 2).await;
    // 0.25 s, 0.5 s, 1 s, 2 s, …: five more in this time would be no back-off.
    let before = fake.started().len();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let more = fake.started().len() - before;
    assert!(more <= 3, "{more} starts");
    // It is not given up: it was ready once.
    fake.change("dies-after-0", "");
    until("health", || proxy.app.upstreams().is_ready()).await;
    is_answered(&ask(&proxy, PLAIN).await);
}

#[tokio::test]
async fn a_constraint_that_the_worker_died_of_twice_is_refused_and_others_are_served() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let culprit = deadly(&demand(false), "CRASH AT WORK").replace("integer", "number");
    for _ in 0..2 {
        let reply = ask(&proxy, &culprit).await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
        // The next one waits for the successor.
        is_answered(&ask(&proxy, PLAIN).await);
    }
    let reply = ask(&proxy, &culprit).await;
    assert_eq!(error(&reply), (400, "schema_too_complex".to_owned()));
    assert!(reply.text().contains("crashed 2 times"), "{}", reply.text());
    assert_eq!(
        reply.json()["error"]["param"],
        "response_format.json_schema"
    );
    is_answered(&ask(&proxy, &demand(false)).await);
    is_answered(&ask(&proxy, PLAIN).await);
    assert_eq!(fake.started().len(), 3);
}

#[tokio::test]
async fn a_worker_that_dies_of_anything_else_blames_no_constraint() {
    let body = demand(false);
    for word in ["CRASH AT ONCE", "CRASH"] {
        let fake = Fake::new("");
        let proxy = ready(&fake).await;
        for _ in 0..2 {
            let reply = ask(&proxy, &deadly(&body, word)).await;
            assert_eq!(error(&reply), (502, "worker_crashed".to_owned()), "{word}");
            is_answered(&ask(&proxy, PLAIN).await);
        }
        is_answered(&ask(&proxy, &body).await);
    }
}

#[tokio::test]
async fn a_signal_from_without_blames_no_constraint_that_is_not_worked_on() {
    let body = demand(false);
    for signal in ["ABRT", "FPE", "KILL"] {
        let fake = Fake::new("");
        let proxy = ready(&fake).await;
        let decoding = deadly(&body, "BE SLOW");
        // With something to do, and with nothing.
        for words in [Some(&decoding), None] {
            let before = restarts(&proxy);
            let mut client = None;
            if let Some(words) = words {
                client = Some(proxy.chat(words).await);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            end(&fake, signal);
            until("a restart", || restarts(&proxy) > before).await;
            if let Some(mut client) = client {
                let reply = client.reply().await;
                assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
            }
            is_answered(&ask(&proxy, PLAIN).await);
        }
        is_answered(&ask(&proxy, &body).await);
    }
}

#[tokio::test]
async fn a_worker_that_is_killed_at_work_on_a_constraint_does_not_blame_it() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    for _ in 0..2 {
        let before = restarts(&proxy);
        let mut client = proxy.chat(&deadly(&demand(false), "WORK FOR EVER")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        end(&fake, "KILL");
        let reply = client.reply().await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
        until("a restart", || restarts(&proxy) > before).await;
    }
    is_answered(&ask(&proxy, &demand(false)).await);
}

#[tokio::test]
async fn who_was_only_there_when_anothers_constraint_killed_the_worker_is_served() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let culprit = deadly(&demand(false), "CRASH AT WORK").replace("integer", "number");
    for _ in 0..2 {
        let mut bystander = proxy.chat(&deadly(&demand(false), "BE SLOW")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let reply = ask(&proxy, &culprit).await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
        let reply = bystander.reply().await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
        is_answered(&ask(&proxy, PLAIN).await);
    }
    assert_eq!(ask(&proxy, &culprit).await.status, 400);
    is_answered(&ask(&proxy, &demand(false)).await);
}

/// Sends the process that runs now a signal.
fn end(fake: &Fake, signal: &str) {
    let id = fake.started().pop().unwrap();
    let sent = Command::new("kill")
        .args([format!("-{signal}"), id.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[tokio::test]
async fn an_answer_that_is_not_what_was_asked_for_clears_its_constraint_like_any_other() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let crash = deadly(&demand(false), "CRASH AT WORK");
    for is_stream in [false, true, false, true] {
        let reply = ask(&proxy, &crash).await;
        assert_eq!(error(&reply), (502, "worker_crashed".to_owned()));
        // A stream that came as a whole before any of it went on is refused as a whole.
        let reply = ask(&proxy, &deadly(&demand(is_stream), "CUT SHORT")).await;
        let body = reply.text();
        assert!(body.contains("constraint_violated"), "{body}");
    }
}

// --- end -----------------------------------------------------------------------------------------

#[tokio::test]
async fn stopping_ends_the_process_and_takes_its_socket_away() {
    let fake = Fake::new("");
    let proxy = ready(&fake).await;
    let id = fake.started()[0];
    let arguments = fake.arguments();
    let socket = arguments.split(' ').nth(1).unwrap();
    let socket = socket.strip_prefix("--socket=").unwrap();
    let folder = std::path::Path::new(socket).parent().unwrap();
    assert!(runs(id) && folder.exists());
    proxy.app.upstreams().worker().unwrap().stop().await;
    assert!(!runs(id) && !folder.exists());
}

#[tokio::test]
async fn a_process_that_does_not_end_when_asked_is_killed() {
    let fake = Fake::new("deaf");
    let proxy = ready(&fake).await;
    let id = fake.started()[0];
    proxy.app.upstreams().worker().unwrap().stop().await;
    assert!(!runs(id));
}

#[tokio::test]
async fn no_worker_outlives_a_proxy_that_is_killed() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        return println!("skipped: there is no /proc");
    }
    let fake = Fake::new("");
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervisor::plays_a_proxy", "--nocapture"])
        .env("FAKE_PROXY", fake.script())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("the worker is ready")));
    let id = fake.started()[0];
    assert!(runs(id));
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the worker's end", || !runs(id)).await;
}

#[test]
fn a_model_that_cannot_be_loaded_ends_serve_with_1_and_the_reason() {
    if !cfg!(feature = "worker") {
        return println!("skipped: this build has no worker");
    }
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("broken.gguf");
    std::fs::write(&model, "this is no model").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_isogloss"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--model",
        ])
        .arg(model)
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{err}");
    assert!(err.contains("the worker cannot be started: "), "{err}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the model: {left:?}");
}

// --- beside other servers ------------------------------------------------------------------------

#[tokio::test]
async fn the_worker_takes_over_where_no_other_server_can_be_used() {
    let fake = Fake::new("");
    let proxy = Proxy::launching(&fake.launch(), &["http://127.0.0.1:1"], with_model).await;
    proxy.until_upstream(1, "ready").await;
    proxy.until_upstream(0, "down").await;
    let reply = ask(&proxy, PLAIN).await;
    assert_eq!(reply.header("x-isogloss-dialect"), Some("worker"));
}

#[tokio::test]
async fn a_server_behind_a_unix_socket_is_a_server_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("server.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || worker::serve(&listener));
    let url = format!("unix://{}", socket.display());
    let proxy = Proxy::with(&[&url], |config| {
        config.upstreams[0].dialect = isogloss::config::DialectPin::parse("vllm@0.12.0");
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    assert_eq!(proxy.app.upstreams().status()[0].url, url);
    is_answered(&ask(&proxy, &demand(false)).await);
    let tokenize = proxy.send(post("/tokenize", "{}")).await.reply().await;
    assert_eq!(tokenize.status, 200);
}

#[test]
fn a_server_behind_a_unix_socket_can_be_probed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("server.sock");
    let url = format!("unix://{}", socket.display());
    let probe = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isogloss"));
        command.args(["probe", "--light", &url]).output().unwrap()
    };
    let ran = probe();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{err}");
    let begins = format!("{url} cannot be reached: ");
    assert!(err.starts_with(&begins), "{err}");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || worker::serve(&listener));
    let ran = probe();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{out}");
    assert!(out.contains("recognised  by GET /v1/models 200"), "{out}");
}
