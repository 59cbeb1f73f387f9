//! `isogloss batch`: the real binary before a scripted server; what it writes, what it asks, and what it does when it is
//! killed.

use crate::cli::{Ran, command, run};
use crate::support::chat::{BAD, GOOD, JSON, completion, demand, whole};
use isogloss_testing::scripted::{Got, PATIENCE, Scripted, Step, reply};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A folder with a batch in it.
struct Batch {
    folder: tempfile::TempDir,
    upstream: Scripted,
}

impl Batch {
    async fn new(
        lines: &[String],
        script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let batch = Self {
            folder: tempfile::tempdir().unwrap(),
            upstream: Scripted::start(script).await,
        };
        std::fs::write(batch.path("in"), lines.join("\n")).unwrap();
        batch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn line(&self, more: &[&str]) -> Vec<String> {
        let path = |name| self.path(name).display().to_string();
        let url = self.upstream.url();
        let ours = [
            "batch",
            &path("in"),
            &path("out"),
            "--upstream",
            &url,
            "--probe",
            "off",
        ];
        ours.iter().chain(more).map(ToString::to_string).collect()
    }

    /// Runs it to its end.
    async fn run(&self, more: &[&str]) -> Ran {
        let line = self.line(more);
        let ran = tokio::task::spawn_blocking(move || {
            run(&line.iter().map(String::as_str).collect::<Vec<_>>())
        });
        ran.await.unwrap()
    }

    /// Starts it.
    fn start(&self, more: &[&str]) -> Running {
        let line = self.line(more);
        let mut command = command(&line.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().unwrap())
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The rows of a file by their `custom_id`, or else by their line; each has one.
    fn rows(&self, name: &str) -> BTreeMap<String, Value> {
        let text = self.text(name);
        assert!(text.is_empty() || text.ends_with('\n'));
        let mut rows = BTreeMap::new();
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let id = row["custom_id"].as_str().map(str::to_owned);
            let id = id.unwrap_or_else(|| row["error"]["line"].to_string());
            assert!(rows.insert(id, row).is_none(), "twice: {line}");
        }
        rows
    }

    async fn until_rows(&self, count: usize) {
        let begun = Instant::now();
        while self.text("out").matches('\n').count() < count {
            assert!(begun.elapsed() < 6 * PATIENCE, "{}", self.text("out"));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A process that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn terminate(&self) {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    async fn code(mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < 6 * PATIENCE, "it does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn line(id: &str, url: &str, body: &str) -> String {
    format!(r#"{{"custom_id":"{id}","method":"POST","url":"{url}","body":{body}}}"#)
}

/// A request whose content must be `{"a": <integer>}`, with its id in it.
fn asked(id: &str) -> String {
    let body = demand(false).replace("hi", id);
    line(id, "/v1/chat/completions", &body)
}

fn says(got: &Got, text: &str) -> bool {
    String::from_utf8_lossy(&got.body).contains(text)
}

fn good(_got: &Got) -> Vec<Step> {
    whole(GOOD)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_has_its_row_whatever_its_route_and_whatever_becomes_of_it() {
    let format = r#"{"type":"json_schema","name":"n","schema":{"type":"object"}}"#;
    let lines = [
        asked("chat"),
        line(
            "responses",
            "/v1/responses",
            &format!(r#"{{"model":"m","input":"hi","text":{{"format":{format}}}}}"#),
        ),
        line(
            "messages",
            "/v1/messages",
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#,
        ),
        line(
            "embeddings",
            "/v1/embeddings",
            r#"{"model":"m","input":"hi"}"#,
        ),
        asked("violates"),
        asked("fails"),
        line(
            "refused",
            "/v1/chat/completions",
            r#"{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":7}}}}"#,
        ),
        "no json".to_owned(),
        asked("chat"),
    ];
    let batch = Batch::new(&lines, |got| {
        if got.target == "/v1/embeddings" {
            return vec![reply(
                200,
                JSON,
                "{\n\"data\": [],\n\"usage\": {\"prompt_tokens\": 5}}",
            )];
        }
        match (says(got, "violates"), says(got, "fails")) {
            (true, _) => whole(BAD),
            (_, true) => vec![reply(500, JSON, r#"{"error":{"message":"no"}}"#)],
            _ => whole(GOOD),
        }
    })
    .await;
    let ran = batch.run(&[]).await;
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let rows = batch.rows("out");
    assert_eq!(rows.len(), lines.len());
    let body = |id: &str| &rows[id]["response"]["body"];
    let content = &body("chat")["choices"][0]["message"]["content"];
    assert_eq!(content, "{\"a\": 1}");
    assert_eq!(body("responses")["object"], "response");
    assert_eq!(body("messages")["type"], "message");
    assert_eq!(body("embeddings")["usage"]["prompt_tokens"], 5);
    let told = &rows["chat"]["response"]["headers"]["x-isogloss-strategy"];
    assert!(told.is_string(), "{told}");
    for (id, status) in [
        ("chat", 200),
        ("responses", 200),
        ("messages", 200),
        ("embeddings", 200),
        ("violates", 502),
        ("fails", 500),
        ("refused", 400),
    ] {
        let response = &rows[id]["response"];
        assert_eq!(response["status_code"], status, "{id}: {response}");
        assert!(rows[id]["error"].is_null());
        assert_eq!(response["request_id"].as_str().unwrap().len(), 32);
    }
    assert_eq!(body("violates")["error"]["code"], "constraint_violated");
    for (number, code) in [("8", "invalid_json"), ("9", "duplicate_custom_id")] {
        assert_eq!(rows[number]["error"]["code"], code);
        assert!(rows[number]["response"].is_null());
    }
    for said in [
        "rows                     9\n",
        "  ok                     4  ",
        "  refused                1  ",
        "  violation              1  ",
        "  upstream error         1  ",
        "  bad line               2  ",
    ] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_is_not_asked_again_and_no_failure_is_0() {
    let lines: Vec<_> = (0..40).map(|n| asked(&format!("r{n}"))).collect();
    let mut batch = Batch::new(&lines, good).await;
    for (asked, stood) in [(40, None), (0, Some("stood already           40\n"))] {
        let ran = batch.run(&["--concurrency", "7"]).await;
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(
            stood.is_none_or(|stood| ran.out.contains(stood)),
            "{}",
            ran.out
        );
        assert_eq!(batch.rows("out").len(), 40);
        for _ in 0..asked {
            batch.upstream.next().await;
        }
        assert_eq!(batch.upstream.left(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_nothing_is_lost_and_nothing_stands_twice() {
    let lines: Vec<_> = (0..8).map(|n| asked(&format!("r{n}."))).collect();
    let mut batch = Batch::new(&lines, |_got| {
        let mut steps = vec![Step::WaitForGo];
        steps.extend(whole(GOOD));
        steps
    })
    .await;
    let mut killed = batch.start(&["--concurrency", "2"]);
    for _ in 0..3 {
        batch.upstream.go();
    }
    batch.until_rows(3).await;
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    let stood = batch.rows("out");
    assert_eq!(stood.len(), 3);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(batch.path("out"));
    let torn = r#"{"id":"batch_req_0000000004","custom_id":"r3.","resp"#;
    file.unwrap().write_all(torn.as_bytes()).unwrap();
    while batch.upstream.left() > 0 {
        batch.upstream.next().await;
    }
    for _ in 0..lines.len() {
        batch.upstream.go();
    }
    let ran = batch.run(&[]).await;
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let rows = batch.rows("out");
    assert_eq!(rows.len(), lines.len());
    assert!(
        rows.values()
            .all(|row| row["response"]["status_code"] == 200)
    );
    assert!(stood.iter().all(|(id, row)| rows[id] == *row));
    for _ in 0..lines.len() - stood.len() {
        let got = batch.upstream.next().await;
        assert!(!stood.keys().any(|id| says(&got, id)), "asked twice");
    }
    assert_eq!(batch.upstream.left(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_lets_what_was_asked_end_and_the_same_command_goes_on() {
    let lines: Vec<_> = (0..6).map(|n| asked(&format!("r{n}."))).collect();
    let mut batch = Batch::new(&lines, |_got| {
        let mut steps = vec![Step::WaitForGo];
        steps.extend(whole(GOOD));
        steps
    })
    .await;
    let stopped = batch.start(&["--concurrency", "2"]);
    for _ in 0..2 {
        batch.upstream.next().await;
    }
    stopped.terminate();
    // However late the signal is noticed, no more rows are let through than were asked.
    batch.upstream.go();
    batch.upstream.go();
    batch.until_rows(2).await;
    for _ in 0..lines.len() {
        batch.upstream.go();
    }
    assert_eq!(stopped.code().await, Some(1));
    let rows = batch.rows("out");
    assert!(
        rows.values()
            .all(|row| row["response"]["status_code"] == 200)
    );
    assert_eq!(batch.run(&[]).await.code, 0);
    assert_eq!(batch.rows("out").len(), lines.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_none_is_no_right_answer_though_nothing_was_demanded_of_it() {
    let replies = [
        ("garbage", "garbage"),
        ("empty", ""),
        (
            "error",
            r#"{"error":{"message":"out of memory","code":500}}"#,
        ),
        (
            "half",
            r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"half"#,
        ),
    ];
    let free = r#"{"model":"m","messages":[{"role":"user","content":"ID."}]}"#;
    let lines = replies.iter().map(|(id, _)| id).chain(&["good"]);
    let lines: Vec<_> = lines
        .map(|id| line(id, "/v1/chat/completions", &free.replace("ID", id)))
        .collect();
    let batch = Batch::new(&lines, move |got| {
        let found = replies.iter().find(|(id, _)| says(got, &format!("{id}.")));
        match found {
            Some((_, body)) => vec![reply(200, JSON, body)],
            None => whole(GOOD),
        }
    })
    .await;
    let ran = batch.run(&[]).await;
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("upstream error         4 "), "{}", ran.out);
    for (id, row) in batch.rows("out") {
        let status = &row["response"]["status_code"];
        assert_eq!(*status == 200, id == "good", "{row}");
    }
    // So they are asked again.
    assert!(
        batch
            .run(&["--retry-failed"])
            .await
            .out
            .contains("upstream error         4 ")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_rows_that_is_removed_is_told() {
    let lines: Vec<_> = (0..3).map(|n| asked(&format!("r{n}."))).collect();
    let batch = Batch::new(&lines, |_got| {
        let mut steps = vec![Step::WaitForGo];
        steps.extend(whole(GOOD));
        steps
    })
    .await;
    let running = batch.start(&["--concurrency", "1"]);
    batch.upstream.go();
    batch.until_rows(1).await;
    std::fs::remove_file(batch.path("out")).unwrap();
    batch.upstream.go();
    batch.upstream.go();
    assert_eq!(running.code().await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_what_waits_to_be_asked_again_and_it_has_no_row() {
    let lines = [asked("a"), asked("b"), asked("c")];
    let was_refused = AtomicUsize::new(0);
    let mut batch = Batch::new(&lines, move |_got| {
        match was_refused.fetch_add(1, Ordering::SeqCst) {
            0 => vec![reply(
                429,
                &format!("{JSON}retry-after: 600\r\n"),
                r#"{"error":{"message":"slowly"}}"#,
            )],
            _ => whole(GOOD),
        }
    })
    .await;
    let stopped = batch.start(&["--concurrency", "1"]);
    batch.upstream.next().await;
    stopped.terminate();
    assert_eq!(stopped.code().await, Some(1));
    assert_eq!(batch.rows("out").len(), 0);
    assert_eq!(batch.run(&[]).await.code, 0);
    assert_eq!(batch.rows("out").len(), lines.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_for_patience_gets_it() {
    let lines = [asked("a"), asked("b")];
    let script = |retries: usize| {
        let refusals = AtomicUsize::new(retries);
        move |_got: &Got| {
            let left = refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
            match left {
                Ok(_) => vec![reply(
                    429,
                    &format!("{JSON}retry-after: 1\r\n"),
                    r#"{"error":{"message":"slowly"}}"#,
                )],
                Err(_) => whole(GOOD),
            }
        }
    };
    let batch = Batch::new(&lines, script(2)).await;
    let begun = Instant::now();
    let ran = batch.run(&[]).await;
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let batch = Batch::new(&lines, script(usize::MAX)).await;
    let ran = batch.run(&["--retries", "1"]).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("upstream error         2 "), "{}", ran.out);
    assert_eq!(batch.rows("out")["a"]["response"]["status_code"], 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_for_a_while_costs_no_row() {
    let lines: Vec<_> = (0..4).map(|n| asked(&format!("r{n}."))).collect();
    let batch = Batch::new(&lines, |_got| {
        let mut steps = vec![Step::WaitForGo];
        steps.extend(whole(GOOD));
        steps
    })
    .await;
    let address = batch.upstream.address;
    let running = batch.start(&["--concurrency", "1"]);
    batch.upstream.go();
    batch.until_rows(1).await;
    let Batch { folder, upstream } = batch;
    upstream.stop().await;
    // Long enough that somebody finds nobody there.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let upstream = Scripted::start_at(address, good).await;
    let batch = Batch { folder, upstream };
    assert!(running.code().await.is_some());
    // What it was just answering when it went is lost; nothing that it was not asked.
    let failed = |row: &Value| row["response"]["status_code"] != 200;
    let rows = batch.rows("out");
    assert_eq!(rows.len(), lines.len());
    let failed = rows.values().filter(|row| failed(row)).count();
    assert!(failed <= 1, "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_goes_to_a_file_of_its_own_and_is_asked_again_when_told() {
    let lines = [asked("a"), asked("b"), "no json".to_owned()];
    let fails = std::sync::Arc::new(AtomicUsize::new(1));
    let switch = std::sync::Arc::clone(&fails);
    let batch = Batch::new(&lines, move |got| {
        if says(got, "\"b\"") && switch.load(Ordering::SeqCst) > 0 {
            return vec![reply(500, JSON, "{}")];
        }
        vec![reply(200, JSON, &completion(GOOD))]
    })
    .await;
    let errors = batch.path("errors").display().to_string();
    let flags = ["--errors", errors.as_str()];
    for _ in 0..2 {
        assert_eq!(batch.run(&flags).await.code, 1);
        let (out, errors) = (batch.rows("out"), batch.rows("errors"));
        assert_eq!(out.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["3", "b"]);
    }
    fails.store(0, Ordering::SeqCst);
    std::fs::write(
        batch.path("in"),
        [asked("a"), asked("b"), asked("c")].join("\n"),
    )
    .unwrap();
    let ran = batch
        .run(&["--errors", errors.as_str(), "--retry-failed"])
        .await;
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(batch.rows("out").len(), 3);
    assert_eq!(batch.text("errors"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_begun_says_why_and_leaves_everything_as_it_is() {
    let batch = Batch::new(&[asked("a")], good).await;
    let ran = |input: &str, output: &str, code: i32, said: &str| {
        let (input, output) = (batch.path(input), batch.path(output));
        let url = batch.upstream.url();
        let ran = run(&[
            "batch",
            input.to_str().unwrap(),
            output.to_str().unwrap(),
            "--upstream",
            &url,
        ]);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.err.contains(said), "{}", ran.err);
    };
    let text = batch.text("in");
    ran("in", "in", 64, "is the input");
    assert_eq!(batch.text("in"), text);
    ran("none", "out", 1, "cannot be read");
    ran("in", "none/out", 1, "cannot be opened");
    std::fs::write(batch.path("table.csv"), "id,name\n1,x\n").unwrap();
    ran("in", "table.csv", 1, "name another file");
    assert_eq!(batch.text("table.csv"), "id,name\n1,x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_server_can_be_reached_no_row_is_written() {
    let batch = Batch::new(&[asked("a")], good).await;
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let ran = tokio::task::spawn_blocking({
        let (input, output) = (batch.path("in"), batch.path("out"));
        move || {
            run(&[
                "batch",
                input.to_str().unwrap(),
                output.to_str().unwrap(),
                "--upstream",
                &format!("http://{gone}"),
            ])
        }
    });
    let ran = ran.await.unwrap();
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("nothing was asked"), "{}", ran.err);
    assert_eq!(batch.text("out"), "");
}

#[test]
fn a_row_that_others_wrote_is_taken_up_too() {
    let row = json!({"id": "b", "custom_id": "a", "response": {"status_code": 200, "body": {}}, "error": null});
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, asked("a")).unwrap();
    std::fs::write(&output, format!("{row}\n")).unwrap();
    let url = crate::cli::scripted(crate::cli::VLLM);
    let ran = run(&[
        "batch",
        input.to_str().unwrap(),
        output.to_str().unwrap(),
        "--upstream",
        &url,
        "--probe",
        "off",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("stood already            1"),
        "{}",
        ran.out
    );
}
