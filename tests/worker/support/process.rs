//! `isogloss worker` as a process of its own: a model and flags come in; its events, and its HTTP
//! over a Unix socket, go out.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// One such process, which ends with this.
pub struct Worker {
    /// Where its socket is.
    pub folder: tempfile::TempDir,
    pub child: Child,
    events: BufReader<ChildStdout>,
    /// What it told while it loaded.
    pub loading: Vec<Value>,
    /// What it told when it had.
    pub ready: Value,
}

impl Worker {
    pub fn start(folder: tempfile::TempDir, model: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_isogloss"))
            .arg("worker")
            .arg("--socket")
            .arg(folder.path().join("socket"))
            .arg("--model")
            .arg(model)
            .args(flags)
            .env_remove("RUST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        Self {
            folder,
            child,
            events,
            loading: Vec::new(),
            ready: Value::Null,
        }
    }

    /// One that takes requests. Threads that spin would starve each other on a busy machine.
    pub fn ready(folder: tempfile::TempDir, model: &Path, flags: &[&str]) -> Self {
        let flags = [&["--threads", "1"], flags].concat();
        let mut worker = Self::start(folder, model, &flags);
        loop {
            let event = worker.event().expect("it ended");
            match event["event"].as_str().unwrap() {
                "ready" => {
                    worker.ready = event;
                    return worker;
                }
                "loading" => worker.loading.push(event),
                other => panic!("{other}: {event}"),
            }
        }
    }

    /// The next event; `None` at the end of the output.
    pub fn event(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.events.read_line(&mut line).unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    pub fn send(&self, method: &str, path: &str, body: &str) -> UnixStream {
        let mut stream = UnixStream::connect(self.folder.path().join("socket")).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    /// The whole reply, as it came.
    pub fn text(&self, method: &str, path: &str, body: &str) -> String {
        let mut text = String::new();
        self.send(method, path, body)
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    /// Status, head and body.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        split(&self.text(method, path, body))
    }
}

/// Status, head and body of a reply.
pub fn split(text: &str) -> (u16, String, String) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
