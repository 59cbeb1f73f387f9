//! Images and audio through `isogloss worker` as a process, with a model and projectors of random
//! weights: whatever they see and hear, answers keep their shapes, and nobody's answer changes
//! somebody else's.
#![cfg(feature = "worker")]
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

#[path = "support/gguf.rs"]
mod gguf;
#[path = "support/projector.rs"]
mod projector;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gguf::{Tokenizer, random_model};
use image::{ImageFormat, Rgb, RgbImage};
use projector::{AUDIO, BOTH, IMAGES, Takes, random_projector};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Cursor, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

struct Worker {
    folder: tempfile::TempDir,
    child: Child,
    events: BufReader<ChildStdout>,
    ready: Value,
}

impl Worker {
    /// A model, and a projector beside it.
    fn with(takes: Option<Takes>, flags: &[&str]) -> Self {
        Self::of(Tokenizer::Bpe, takes, flags)
    }

    fn of(tokenizer: Tokenizer, takes: Option<Takes>, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = random_model(folder.path(), tokenizer, 7);
        if let Some(takes) = takes {
            random_projector(folder.path(), "mmproj-f32.gguf", takes);
        }
        let mut worker = Self::start(folder, &model, flags);
        loop {
            let event = worker.event().expect("it ended");
            match event["event"].as_str().unwrap() {
                "ready" => break worker.ready = event,
                "loading" => {}
                other => panic!("{other}: {event}"),
            }
        }
        worker
    }

    fn start(folder: tempfile::TempDir, model: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_isogloss"))
            .arg("worker")
            .arg("--socket")
            .arg(folder.path().join("socket"))
            .arg("--model")
            .arg(model)
            .args(["--threads", "1"])
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
            ready: Value::Null,
        }
    }

    fn event(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.events.read_line(&mut line).unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
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
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn post(&self, body: &Value) -> (u16, Value) {
        let (status, body) = self.ask("POST", "/v1/chat/completions", &body.to_string());
        (status, serde_json::from_str(&body).unwrap())
    }

    fn good(&self, body: &Value) -> Value {
        let (status, answer) = self.post(body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn refused(&self, content: Value) -> Value {
        let (status, answer) = self.post(&request(content));
        assert_eq!(status, 400, "{answer}");
        answer["error"].clone()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(content: Value) -> Value {
    json!({
        "model": "random-bpe-7", "max_tokens": 12, "temperature": 0, "seed": 0,
        "logprobs": true, "messages": [{"role": "user", "content": content}],
    })
}

fn png(width: u32, height: u32, colour: [u8; 3]) -> Value {
    // Not of one colour, so that no patch is like another.
    let image = RgbImage::from_fn(width, height, |x, y| {
        let [red, green, blue] = colour;
        Rgb([
            red.wrapping_add(x as u8 * 5),
            green.wrapping_add(y as u8 * 3),
            blue,
        ])
    });
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    let url = format!(
        "data:image/png;base64,{}",
        STANDARD.encode(file.into_inner())
    );
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn wav(seconds: u32, pitch: f32) -> Value {
    const RATE: u32 = 16_000;
    let mut file = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    file.extend(RATE.to_le_bytes());
    file.extend((RATE * 2).to_le_bytes());
    file.extend([2, 0, 16, 0]);
    file.extend(b"data\xff\xff\xff\xff");
    for at in 0..seconds * RATE {
        let level = (at as f32 * pitch * std::f32::consts::TAU / RATE as f32).sin();
        file.extend(((level * 9_000.0) as i16).to_le_bytes());
    }
    json!({"type": "input_audio", "input_audio": {"data": STANDARD.encode(file), "format": "wav"}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// What was answered and how likely each token was: what an image changes at the least.
fn said(answer: &Value) -> (String, Vec<f64>) {
    let choice = &answer["choices"][0];
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    let logprobs = tokens
        .iter()
        .map(|token| token["logprob"].as_f64().unwrap());
    let content = choice["message"]["content"].as_str().unwrap();
    (content.to_owned(), logprobs.collect())
}

fn prompt_tokens(answer: &Value) -> u64 {
    answer["usage"]["prompt_tokens"].as_u64().unwrap()
}

/// The same up to what the order of sums in a batch of another shape changes.
fn is_close(one: &Value, other: &Value) -> bool {
    let ((one, first), (other, second)) = (said(one), said(other));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-3;
    one == other && first.len() == second.len() && first.iter().zip(&second).all(near)
}

#[test]
fn an_image_takes_tokens_by_its_size_and_changes_what_is_said() {
    let worker = Worker::with(Some(IMAGES), &[]);
    assert_eq!(worker.ready["takes"], json!(["image"]));
    let ask = |image: Value| worker.good(&request(json!([image, text("What is this?")])));
    let red = ask(png(40, 24, [200, 0, 0]));
    let again = ask(png(40, 24, [200, 0, 0]));
    let blue = ask(png(40, 24, [0, 0, 200]));
    let bigger = ask(png(80, 48, [200, 0, 0]));
    assert!(is_close(&red, &again));
    assert!(!is_close(&red, &blue), "the model does not see the image");
    // 5 x 3 patches and 2 ends of rows; 10 x 6 and 5.
    assert_eq!(prompt_tokens(&bigger) - prompt_tokens(&red), 65 - 17);
    // The second found the first's image in its slot, the third did not.
    let cached =
        |answer: &Value| answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64();
    assert!(cached(&again).unwrap() > 17, "{again}");
    assert!(cached(&blue).unwrap() < 17, "{blue}");
    let (_, models) = worker.ask("GET", "/v1/models", "");
    assert!(
        models.contains(r#""input_modalities":["text","image"]"#),
        "{models}"
    );
}
