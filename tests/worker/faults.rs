//! What goes wrong in a worker that is a process: files of a folder that are no models.

use crate::support::process;
use gguf::{Gguf, Tokenizer};
use isogloss_testing::gguf;
use process::Worker;
use serde_json::{Value, json};

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
