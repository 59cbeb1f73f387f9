//! What goes wrong in a worker that is a process: files of a folder that are no models, and computations without an end.

use crate::support::process;
use gguf::{Gguf, Tokenizer};
use isogloss_testing::gguf;
use process::Worker;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

fn model(seed: u64) -> Gguf {
    Gguf::model(Tokenizer::Bpe, seed)
}

impl Worker {
    /// The status of a short answer of this model.
    fn answers(&self, model: &str) -> u16 {
        let body = json!({"model": model, "prompt": "a", "max_tokens": 3, "ignore_eos": true});
        self.ask("POST", "/v1/completions", &body.to_string()).0
    }

    /// The model that is loaded.
    fn loaded(&self) -> Value {
        let (_, _, body) = self.ask("GET", "/health", "");
        let health: Value = serde_json::from_str(&body).unwrap();
        health["model"].clone()
    }

    /// How many models were loaded so far.
    fn loads(&self) -> String {
        let (_, _, page) = self.ask("GET", "/metrics", "");
        let name = "isogloss_worker_model_load_seconds_count ";
        let found = page.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap().to_owned()
    }
}

#[test]
fn a_file_of_a_folder_that_is_no_model_leaves_the_loaded_one_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let models = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(models.path().join(format!("{name}.gguf")), bytes).unwrap();
    };
    let good = model(1).bytes();
    write("good", &good);
    write("other", &model(2).bytes());
    write("cut", &good[..good.len() / 2]);
    write("words", b"this is no model");
    let mut less = model(3);
    less.tensors.remove(1);
    write("less", &less.bytes());
    let worker = Worker::ready(folder, models.path(), &[]);
    assert_eq!(worker.answers("good"), 200);
    for name in ["cut", "words"] {
        assert_eq!(worker.answers(name), 500, "{name}");
        assert_eq!(worker.loaded(), "good", "{name}");
    }
    assert_eq!(worker.answers("good"), 200);
    assert_eq!(worker.loads(), "1", "it was never gone");
    // What llama.cpp alone finds out costs the loaded one where there is no memory for both, and no more than that.
    assert_eq!(worker.answers("less"), 500);
    assert_eq!(worker.answers("good"), 200);
    assert_eq!(worker.answers("other"), 200);
    assert_eq!(worker.loaded(), "other");
}

#[test]
fn a_worker_whose_computation_does_not_end_in_time_says_so_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, model(1).bytes()).unwrap();
    // Any pass over so many tokens takes longer.
    let mut worker = Worker::ready(folder, &path, &["--stuck-after", "1ms"]);
    let body = json!({"prompt": "a b c d ".repeat(120), "max_tokens": 200, "ignore_eos": true});
    let body = body.to_string();
    let begin = Instant::now();
    while worker.child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it lives on");
        let Ok(mut stream) = UnixStream::connect(worker.folder.path().join("socket")) else {
            continue;
        };
        let length = body.len();
        let _cut = write!(
            stream,
            "POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .and_then(|()| stream.read_to_end(&mut Vec::new()));
    }
    let event = worker.event().unwrap();
    assert_eq!(event["event"], "stuck");
    assert!(
        event["what"].is_string() && event["seconds"] == 0.001,
        "{event}"
    );
    let status = worker.child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "{status}");
}

#[test]
fn a_worker_that_is_not_to_be_watched_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, model(1).bytes()).unwrap();
    let worker = Worker::ready(folder, &path, &["--stuck-after", "0"]);
    for _ in 0..3 {
        assert_eq!(worker.answers("m"), 200);
    }
}
