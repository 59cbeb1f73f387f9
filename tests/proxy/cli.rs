//! The real binary: names, exit codes, and what it says when something is wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isogloss"));
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("ISOGLOSS_"))
        {
            command.env_remove(&name);
        }
    }
    command.env_remove("RUST_LOG").args(arguments);
    command
}

pub fn run(arguments: &[&str]) -> Ran {
    finish(command(arguments).stdin(Stdio::null()))
}

pub fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Answers GETs of these paths with 200 and the JSON, everything else with 404, until the
/// process ends.
pub fn scripted(answers: &'static [(&'static str, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let found = answers.iter().find(|(known, _)| *known == path);
            let (status, body) =
                found.map_or(("404 Not Found", "{}"), |(_, body)| ("200 OK", body));
            let length = body.len();
            // A client that has gone away already is no failure of the server.
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    url
}

pub const VLLM: &[(&str, &str)] = &[
    ("/version", r#"{"version":"0.10.2"}"#),
    (
        "/v1/models",
        r#"{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"vllm"}]}"#,
    ),
];

#[test]
fn help_and_version_succeed_on_standard_output() {
    let help = run(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    for name in ["serve", "explain", "dialects", "probe", "check", "bench"] {
        assert!(help.out.contains(name), "{}", help.out);
    }
    let version = run(&["--version"]);
    assert_eq!(version.code, 0);
    assert_eq!(
        version.out.trim(),
        concat!("isogloss ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_wrong_command_line_exits_with_64() {
    for arguments in [
        &["serve", "--model", "tiny.gguf"][..],
        &["serve", "--upstream", "localhost:8000"],
        &["serve", "--upstream", "http://h", "--listen", "here"],
        &["explain"],
        &["explain", "--dialect", "vLLM!"],
        &["probe"],
        &[],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, 64, "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn explaining_without_a_server_says_every_way_to_name_one() {
    let ran = run(&["explain", "--file", "request.json"]);
    assert_eq!(ran.code, 64);
    for way in [
        "--dialect vllm@0.12",
        "--upstream URL",
        "--admin URL --request ID",
    ] {
        assert!(ran.err.contains(way), "{way}: {}", ran.err);
    }
}

/// With the worker the model in the program answers (`tests/clients/test_builtin.py`).
#[cfg(not(feature = "worker"))]
#[test]
fn serving_without_an_upstream_says_what_to_write() {
    let ran = run(&["serve"]);
    assert_eq!(ran.code, 64);
    assert!(
        ran.err.contains("--upstream http://localhost:8000"),
        "{}",
        ran.err
    );
}

#[test]
fn a_variable_that_is_nearly_one_that_is_read_is_named() {
    let ran = finish(
        command(&["check", "--upstream", "http://127.0.0.1:9"])
            .env("ISOGLOSS_ON_VIOLATON", "pass")
            .env("ISOGLOSS_SERVICE_PORT", "80")
            .stdin(Stdio::null()),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = "warning: `ISOGLOSS_ON_VIOLATON` is no variable that is read: did you mean `ISOGLOSS_ON_VIOLATION`?\n";
    assert_eq!(ran.err, told);
}

#[test]
fn servers_of_the_file_in_whose_place_others_are_named_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    let one = "[[upstream]]\nurl = \"http://127.0.0.1:9\"\n";
    std::fs::write(&file, one.repeat(2)).unwrap();
    let file = file.to_str().unwrap();
    let told = |arguments: &[&str], variable: &str| {
        let mut command = command(&["check", "--config", file]);
        let command = command
            .args(arguments)
            .env("ISOGLOSS_UPSTREAM", variable)
            .stdin(Stdio::null());
        let ran = finish(command);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let unused = |by: &str| {
        format!(
            "warning: `{file}`: its [[upstream]] (2) are not used, since `{by}` names the servers: without that they are\n"
        )
    };
    let other = "http://127.0.0.1:8";
    assert_eq!(told(&[], ""), "");
    assert_eq!(told(&[], other), unused("ISOGLOSS_UPSTREAM"));
    assert_eq!(told(&["--upstream", other], ""), unused("--upstream"));
    assert_eq!(told(&["--upstream", other], other), unused("--upstream"));
}

#[test]
fn a_bad_file_exits_with_78_and_shows_every_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    std::fs::write(&file, "lisen = \"x\"\nadmin = \"nowhere\"\n").unwrap();
    let file = file.to_str().unwrap();
    for command in ["check", "serve"] {
        let ran = run(&[command, "--config", file]);
        assert_eq!(ran.code, 78, "{}", ran.err);
        assert!(ran.err.contains("did you mean `listen`?"), "{}", ran.err);
        assert!(
            ran.err.contains(":2:9: `nowhere` is no address"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn check_says_ok_to_the_rules_alone_and_to_a_good_configuration() {
    let ran = run(&["check"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("OK: "), "{}", ran.out);
    let ran = run(&[
        "check",
        "--upstream",
        "http://h",
        "--dialect",
        "vllm@0.10.2",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = run(&["check", "--upstream", "http://h", "--dialect", "cheese"]);
    assert_eq!(ran.code, 64, "{}", ran.err);
    assert!(ran.err.contains("there are vllm, "), "{}", ran.err);
}

#[test]
fn a_bad_rule_file_exits_with_78_and_shows_its_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.toml"), "dialekt = 1\n").unwrap();
    let ran = run(&["check", "--rules", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, 78, "{}", ran.err);
    assert!(ran.err.contains("own.toml:1:"), "{}", ran.err);
}

#[test]
fn what_is_wrong_with_rules_and_certificates_is_said_at_once_and_once() {
    let (rules, keys) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(rules.path().join("own.toml"), "dialekt = 1\n").unwrap();
    let pem = keys.path().join("empty.pem");
    std::fs::write(&pem, "").unwrap();
    let pem = pem.to_str().unwrap();
    let ran = run(&[
        "check",
        "--rules",
        rules.path().to_str().unwrap(),
        "--tls-cert",
        pem,
        "--tls-key",
        pem,
        "--tls-admin=yes",
    ]);
    assert_eq!(ran.code, 78, "{}", ran.err);
    assert!(ran.err.contains("own.toml:1:"), "{}", ran.err);
    assert_eq!(ran.err.matches("tls.cert: ").count(), 1, "{}", ran.err);
}

#[test]
fn the_matrix_is_printed_as_text_markdown_and_json() {
    assert!(run(&["dialects"]).out.contains("\n  required "));
    assert!(
        run(&["dialects", "--markdown"])
            .out
            .starts_with("| server |")
    );
    let json = run(&["dialects", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert!(
        rows.as_array()
            .unwrap()
            .iter()
            .any(|row| row["server"] == "plain")
    );
    assert_eq!(json.code, 0);
}

#[test]
fn probing_tells_kind_version_and_strategies() {
    let url = scripted(VLLM);
    let ran = run(&["probe", &url]);
    // What it enforces could not be asked.
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(ran.out.contains("vllm@0.10.2"), "{}", ran.out);
    assert!(ran.out.contains("/version 200"), "{}", ran.out);
    let ran = run(&["probe", &url, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["dialect"], "vllm");
    assert_eq!(told["version"], "0.10.2");
    assert!(told["strategies"]["tool_choice"]["required"].is_string());
    // It answers 404 to everything but those two, and is asked nothing more.
    assert_eq!(told["probe"]["model"], "tiny");
    assert_eq!(told["probe"]["requests"], 1);
    assert!(told["probe"]["ended"].as_str().unwrap().contains("404"));
}

#[test]
fn probing_a_server_of_several_models_tells_which_one_was_asked() {
    let url = scripted(&[
        ("/version", r#"{"version":"0.10.2"}"#),
        (
            "/v1/models",
            r#"{"data":[{"id":"big","owned_by":"vllm"},{"id":"small","owned_by":"vllm"}]}"#,
        ),
    ]);
    let ran = run(&["probe", &url]);
    let says = "asked       1 requests to big\nnot asked   small: --model NAME asks another\n";
    assert!(ran.out.contains(says), "{}", ran.out);
    let ran = run(&["probe", &url, "--model", "small", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["probe"]["model"], "small");
    let models = serde_json::json!({"asked": "small", "listed": true, "others": ["big"]});
    assert_eq!(told["models"], models);
    let ran = run(&["probe", &url, "--model", "tiny"]);
    assert!(
        ran.out
            .contains("requests to tiny\nnote        the server does not list"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("not asked   big, small"), "{}", ran.out);
}

#[test]
fn probing_a_hosted_api_asks_what_it_enforces_only_on_demand() {
    let url = scripted(VLLM);
    let rules = tempfile::tempdir().unwrap();
    let vllm = include_str!("../../rules/vllm.toml");
    let hosted = vllm.replacen("[recognise]\n", "[recognise]\nhosts = [\"127.0.0.1\"]\n", 1);
    std::fs::write(rules.path().join("vllm.toml"), hosted).unwrap();
    let folder = rules.path().to_str().unwrap();
    let ran = run(&["probe", &url, "--rules", folder]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("requests cost money"), "{}", ran.out);
    let ran = run(&["probe", &url, "--rules", folder, "--full"]);
    assert!(
        ran.out.contains("asked       1 requests to tiny"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("ended early: the server answered 404"),
        "{}",
        ran.out
    );
}

#[test]
fn probing_a_server_that_is_not_there_exits_with_1_and_says_so() {
    // Bound and dropped: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let ran = run(&["probe", &format!("http://{address}")]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("cannot be reached: Connection refused"),
        "{}",
        ran.err
    );
}

/// A running `serve`; killed when dropped.
pub struct Serving {
    pub child: Child,
    pub listen: String,
    admin: String,
    log: tempfile::NamedTempFile,
}

pub fn serving(upstream: &str) -> Serving {
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--upstream",
    ];
    serving_with(command(&arguments).arg(upstream))
}

pub fn serving_with(command: &mut Command) -> Serving {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(log.reopen().unwrap())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let mut urls = first
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("http://"));
    let mut next = || urls.next().unwrap().trim_end_matches(',').to_owned();
    let (listen, admin) = (next(), next());
    // The rest of the greeting, so that the pipe stays open until it is written.
    assert!(lines.any(|line| line.unwrap().contains("base_url")));
    Serving {
        child,
        listen,
        admin,
        log,
    }
}

impl Serving {
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.admin).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    pub fn eventually(&self, path: &str, begins: &str) -> String {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let reply = self.get(path);
            if reply.starts_with(begins) {
                return reply;
            }
            assert!(Instant::now() < until, "{path}: {reply}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until what is answered has this text.
    pub fn until_said(&self, path: &str, text: &str) -> String {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let reply = self.get(path);
            if reply.contains(text) {
                return reply;
            }
            let log = self.log();
            assert!(
                Instant::now() < until,
                "no {text} in {path}: {reply}\n{log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    pub fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_admin_port_tells_who_the_upstream_is() {
    let serving = serving(&scripted(VLLM));
    let ready = serving.eventually("/readyz", "HTTP/1.1 200 ");
    assert!(ready.contains("vllm@0.10.2"), "{ready}");
    let capabilities = serving.get("/capabilities");
    assert!(
        capabilities.contains("\"version\": \"0.10.2\""),
        "{capabilities}"
    );
    assert!(capabilities.contains("\"strategies\""), "{capabilities}");
    let metrics = serving.get("/metrics");
    assert!(
        metrics.contains("isogloss_upstream_up{upstream=\"0\"} 1"),
        "{metrics}"
    );
    assert!(
        metrics.contains("# HELP isogloss_streams_open "),
        "{metrics}"
    );
}

#[test]
fn where_the_log_is_json_standard_output_is_too() {
    let url = scripted(VLLM);
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.args(["--log-format", "json", "--upstream", &url]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = String::new();
    for line in lines {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        said += line["message"].as_str().unwrap();
        if said.contains("base_url") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.contains("listening on http://127.0.0.1:"), "{said}");
    assert!(said.contains(&url), "{said}");
}

#[test]
fn a_requests_line_in_the_log_says_what_was_asked_of_whom() {
    let serving = serving(&scripted(VLLM));
    serving.eventually("/readyz", "HTTP/1.1 200 ");
    let body = r#"{"model":"tiny","messages":[{"role":"user","content":"hi"}]}"#;
    let length = body.len();
    let mut client = TcpStream::connect(&serving.listen).unwrap();
    write!(
        client,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let line = loop {
        let log = serving.log();
        if let Some(line) = log.lines().find(|line| line.contains("method=POST")) {
            break line.to_owned();
        }
        assert!(Instant::now() < until, "{log}");
        std::thread::sleep(Duration::from_millis(20));
    };
    for field in [
        "model=\"tiny\"",
        "server=\"vllm@0.10.2\"",
        "losses=0",
        "retries=",
    ] {
        assert!(line.contains(field), "{field}: {line}");
    }
}

#[test]
fn without_an_upstream_that_answers_it_is_alive_and_not_ready() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let serving = serving(&format!("http://{address}"));
    assert!(serving.get("/livez").starts_with("HTTP/1.1 200 "));
    let reply = serving.eventually("/readyz", "HTTP/1.1 503 ");
    assert!(reply.contains(&address.to_string()), "{reply}");
}

#[test]
fn a_signal_ends_it_with_0_where_nothing_is_to_be_drained() {
    for name in ["-TERM", "-INT"] {
        let mut serving = serving(&scripted(VLLM));
        serving.eventually("/readyz", "HTTP/1.1 200 ");
        serving.signal(name);
        assert_eq!(serving.ended().code(), Some(0), "{name}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    // It takes the connection and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut serving = serving(&format!("http://{}", silent.local_addr().unwrap()));
    let mut client = TcpStream::connect(&serving.listen).unwrap();
    write!(client, "POST /v1/embeddings HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    // The request is on its way to the upstream as soon as the upstream is asked for this path.
    let asked = (0..100).any(|_| {
        let (stream, _) = silent.accept().unwrap();
        let mut line = String::new();
        let read = BufReader::new(&stream).read_line(&mut line);
        // Kept open, so that the request stays unanswered.
        std::mem::forget(stream);
        read.is_ok() && line.contains("/v1/embeddings")
    });
    assert!(asked);
    serving.signal("-TERM");
    serving.eventually_draining();
    assert!(
        serving.child.try_wait().unwrap().is_none(),
        "the request was not waited for"
    );
    serving.signal("-TERM");
    assert_eq!(serving.ended().code(), Some(1));
}

impl Serving {
    fn eventually_draining(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while !self.get("/readyz").contains("\"draining\": true") {
            assert!(Instant::now() < until, "it does not drain");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_port_that_is_taken_exits_with_1_and_names_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = run(&["serve", "--upstream", "http://h", "--listen", &address]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("give --listen another address"),
        "{}",
        ran.err
    );
}

/// A server that refuses all but this path.
fn guarded(open: &'static str, body: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            // One question a connection: all of it fits into one read.
            let mut asked = [0; 4096];
            let read = std::io::Read::read(&mut connection, &mut asked).unwrap_or(0);
            let is_open = asked[..read].starts_with(format!("GET {open} ").as_bytes());
            let (status, body) = match is_open {
                true => ("200 OK", body),
                false => ("401 Unauthorized", ""),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _answered = std::io::Write::write_all(&mut connection, answer.as_bytes());
        }
    });
    url
}

#[test]
fn a_server_that_wants_a_key_is_told_as_that() {
    let ran = run(&["probe", "--light", &guarded("/none", "")]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(
        ran.out
            .contains("it answers 401 whatever it is asked: give its key"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("nothing recognised it"), "{}", ran.out);
}

/// vLLM guards what is below /v1 alone.
#[test]
fn a_server_that_lists_no_models_without_a_key_is_told_as_that() {
    let url = guarded("/version", r#"{"version":"0.32.0"}"#);
    let ran = run(&["probe", "--light", &url]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(ran.out.contains("vllm@0.32.0"), "{}", ran.out);
    assert!(
        ran.out.contains("401 to /v1/models: give its key"),
        "{}",
        ran.out
    );
}
