//! The page of metrics of a proxy with its own worker, after requests of several kinds, before the
//! eyes of Prometheus' own checker (`promtool`, where it is installed).

#![cfg(feature = "worker")]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

struct Serve {
    child: Child,
    /// The proxy's address, and its operators'.
    addresses: [String; 2],
}

impl Serve {
    /// One whose worker is ready.
    fn ready() -> Self {
        let model = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/models/tiny-chat-q8_0.gguf"
        );
        let mut child = Command::new(env!("CARGO_BIN_EXE_isogloss"))
            .args(["serve", "--threads", "1", "--model", model])
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut lines = out.lines().map(Result::unwrap);
        let hello = lines.next().unwrap();
        let address = |part: &str| part.split(',').next().unwrap().to_owned();
        let mut found = hello.split("http://").skip(1).map(address);
        let addresses = [found.next().unwrap(), found.next().unwrap()];
        assert!(lines.any(|line| line.starts_with("model ")));
        Self { child, addresses }
    }

    fn ask(&self, address: usize, request: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addresses[address]).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        String::from_utf8(reply).unwrap()
    }

    /// Asks, and expects this status; what came.
    fn chat(&self, status: u16, extra: Value) -> String {
        let mut body = json!({
            "model": "tiny-chat-q8_0", "max_tokens": 60, "temperature": 0,
            "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        let reply = self.ask(0, "POST /v1/chat/completions", &body.to_string());
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
        reply
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the checker says; `None` where there is none.
fn promtool(page: &str) -> Option<Output> {
    let checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut checker = match checker {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        checker => checker.unwrap(),
    };
    let mut stdin = checker.stdin.take().unwrap();
    stdin.write_all(page.as_bytes()).unwrap();
    drop(stdin);
    Some(checker.wait_with_output().unwrap())
}

#[test]
fn prometheus_own_checker_has_nothing_to_say_of_the_page_of_a_proxy_with_a_worker() {
    if promtool("").is_none() {
        println!("skipped: promtool is not installed");
        return;
    }
    let serve = Serve::ready();
    let choice = json!({"choice": ["yes", "no \"\\"]});
    let schema = json!({"type": "json_schema", "json_schema": {"name": "s", "schema":
        {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}});
    let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    serve.chat(200, json!({"n": 2}));
    serve.chat(200, json!({"stream": true}));
    serve.chat(200, json!({"structured_outputs": choice}));
    serve.chat(200, json!({"response_format": schema, "stream": true}));
    serve.chat(200, json!({"tools": tool}));
    serve.chat(502, json!({"response_format": schema, "stop": "ok"}));
    serve.chat(400, json!({"temperature": -1}));
    serve.chat(404, json!({"model": "another"}));
    let reply = serve.ask(1, "GET /metrics", "");
    let (head, page) = reply.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("chunked"), "{head}");
    for family in [
        "isogloss_worker_mask_seconds_bucket",
        "isogloss_worker_grammar_compile_seconds_count{kind=\"choice\"} 1",
        "isogloss_violations_total",
    ] {
        assert!(page.contains(family), "{family} is not in {page}");
    }
    let output = promtool(page).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let broken = promtool("# TYPE a counter\na 1\na 2\n").unwrap();
    assert!(!broken.status.success(), "the checker checks");
}

#[test]
fn clients_hear_of_an_answer_of_the_worker_that_was_brought_to_its_end_in_time() {
    let serve = Serve::ready();
    let long =
        json!({"type": "array", "minItems": 3, "items": {"type": "string", "minLength": 30}});
    let asks = |most: u32, extra: Value| {
        let mut body = json!({"max_tokens": most, "structured_outputs": {"json": long}});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let reply = serve.chat(400, asks(4, json!({})));
    assert!(
        reply.contains("the shortest answer that was found under the constraint takes "),
        "{reply}"
    );
    assert!(reply.contains("\"param\":\"max_tokens\""), "{reply}");
    // Every close is unlikely, so that the model would go on.
    let reply = serve.chat(200, asks(150, json!({"temperature": 4, "seed": 5})));
    assert!(reply.contains("\"finish_reason\":\"stop\""), "{reply}");
    assert!(reply.contains("x-isogloss-steered: "), "{reply}");
    assert!(reply.contains("\"steered_tokens\":"), "{reply}");
    let streamed = json!({"temperature": 4, "seed": 5, "stream": true, "stream_options": {"include_usage": true}});
    let reply = serve.chat(200, asks(150, streamed));
    assert!(reply.contains("\"steered_tokens\":"), "{reply}");
    // One that needs none of it says nothing of it.
    let reply = serve.chat(200, json!({"structured_outputs": {"choice": ["yes"]}}));
    assert!(!reply.contains("steered"), "{reply}");
    let page = serve.ask(1, "GET /metrics", "");
    assert!(page.contains("isogloss_worker_steered_total 2"), "{page}");
}
