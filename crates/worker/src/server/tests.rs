use super::*;
use crate::options::{ModelSource, Options};
use crate::toy;
use isogloss_compile::at_work;
use isogloss_core::sse;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server of toy models.
struct Server {
    folder: tempfile::TempDir,
    app: Arc<App>,
    stop: Option<oneshot::Sender<Duration>>,
    serving: JoinHandle<()>,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn error(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(have, _)| *have == name)
            .map(|(_, value)| value)
    }

    /// The data of its events; the end mark as a string.
    fn events(&self) -> Vec<Value> {
        let (mut decoder, mut events) = (sse::Decoder::new(1 << 20), Vec::new());
        decoder.push(self.body.as_bytes(), &mut events).unwrap();
        let read = |event: &sse::SseEvent| match event.is_done() {
            true => json!("[DONE]"),
            false => serde_json::from_slice(&event.data).unwrap(),
        };
        events.iter().map(read).collect()
    }
}

impl Server {
    async fn new(models: &[&str]) -> Self {
        let server = Self::loading(models);
        server.app.models.start().await.unwrap();
        server
    }

    fn loading(models: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in models {
            std::fs::write(folder.path().join(format!("{name}.gguf")), "x").unwrap();
        }
        let options = Options {
            slots: 4,
            queue: 32,
            ..Options::new(ModelSource::Path(folder.path().to_owned()))
        };
        let metrics = Arc::<Metrics>::default();
        let tell = Box::new(|_| ());
        let notes = at_work::beside(&folder.path().join("socket"));
        at_work::create(&notes).unwrap();
        let app = Arc::new(App {
            models: Models::open(&options, toy::LOADER, tell, Arc::clone(&metrics)).unwrap(),
            metrics,
            whitespace: Whitespace::Flexible,
            notes: Some(Notes::open(&notes).unwrap()),
        });
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve(
            Listener::Unix(listener),
            Arc::clone(&app),
            async move { stopped.await.unwrap() },
        ));
        Self {
            folder,
            app,
            stop: Some(stop),
            serving,
        }
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("socket"))
            .await
            .unwrap()
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> UnixStream {
        let mut stream = self.connect().await;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = self.send(method, path, body).await;
        read(&mut stream).await
    }

    async fn chat(&self, extra: Value) -> Answer {
        self.ask("POST", "/v1/chat/completions", &chat(extra)).await
    }

    async fn completion(&self, extra: Value) -> Answer {
        let body = merged(json!({"model": "a", "prompt": "x:"}), extra);
        self.ask("POST", "/v1/completions", &body).await
    }

    async fn metric(&self, name: &str) -> f64 {
        let page = self.ask("GET", "/metrics", "").await.body;
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("isogloss_worker_{name} ")));
        line.unwrap()
            .split(' ')
            .next_back()
            .unwrap()
            .parse()
            .unwrap()
    }
}

fn merged(mut body: Value, extra: Value) -> String {
    for (name, value) in extra.as_object().unwrap() {
        body[name] = value.clone();
    }
    body.to_string()
}

/// A conversation that the toy goes on from with the alphabet.
fn chat(extra: Value) -> String {
    let messages = json!([{"role": "user", "content": "hi"}]);
    merged(
        json!({"model": "a", "messages": messages, "temperature": 0}),
        extra,
    )
}

async fn read(stream: &mut UnixStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = match head.contains("transfer-encoding: chunked") {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Answer {
        status,
        head: head.to_owned(),
        body,
    }
}

fn unchunked(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        out += &rest[..size];
        body = rest[size..].strip_prefix("\r\n").unwrap();
    }
    out
}

const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz";

#[tokio::test]
async fn work_on_a_constraint_is_noted_under_the_number_that_its_request_says() {
    let server = Server::new(&["a"]).await;
    let path = at_work::beside(&server.folder.path().join("socket"));
    // Whoever notes something takes it away again, and so leaves less in the places.
    let full = || std::fs::write(&path, [1; 2_048]).unwrap();
    let body = chat(json!({"structured_outputs": {"choice": ["xyz", "12"]}}));
    let plain = chat(json!({}));
    for (header, body, notes) in [
        ("", &body, false),
        ("x-isogloss-constraint: 2a\r\n", &plain, false),
        ("x-isogloss-constraint: none\r\n", &body, false),
        ("x-isogloss-constraint: 2a\r\n", &body, true),
    ] {
        full();
        let mut stream = server.connect().await;
        let length = body.len();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(read(&mut stream).await.status, 200, "{header}");
        assert_eq!(at_work::left(&path).len() < 256, notes, "{header}");
    }
}

#[tokio::test]
async fn a_chat_is_answered_whole_with_what_it_took() {
    let server = Server::new(&["a"]).await;
    let answer = server.chat(json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let reply = answer.json();
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(reply["model"], "a");
    assert!(reply["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(
        reply["choices"],
        json!([{"index": 0, "message": {"role": "assistant", "content": ALPHABET, "refusal": null},
            "logprobs": null, "finish_reason": "stop"}])
    );
    assert_eq!(reply["usage"]["prompt_tokens"], 20);
    assert_eq!(answer.header("server"), Some("isogloss-worker"));
    let told = answer.header("x-isogloss-worker").unwrap();
    assert!(told.starts_with("grammar=none; mask_us="), "{told}");
}

#[tokio::test]
async fn a_chat_is_streamed_as_clients_expect_it() {
    let server = Server::new(&["a"]).await;
    let extra = json!({"stream": true, "stream_options": {"include_usage": true}, "max_tokens": 5});
    let answer = server.chat(extra).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(answer.header("x-isogloss-worker"), Some("grammar=none"));
    let events = answer.events();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "abcde");
    let [.., last, usage, done] = events.as_slice() else {
        unreachable!()
    };
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    assert_eq!(usage["usage"]["completion_tokens"], 5);
    assert_eq!(done, "[DONE]");
}

#[tokio::test]
async fn a_constraint_is_met_and_compiled_once() {
    let server = Server::new(&["a"]).await;
    for (outcome, stream) in [("miss", false), ("hit", false), ("hit", true)] {
        let extra = json!({
            "stream": stream, "structured_outputs": {"choice": ["xyz", "12"]}, "seed": 1,
        });
        let answer = server.chat(extra).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let told = answer.header("x-isogloss-worker").unwrap();
        assert!(
            told.starts_with(&format!("grammar={outcome}; compile_ms=")),
            "{told}"
        );
        if !stream {
            let reply = answer.json();
            let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
            assert!(["xyz", "12"].contains(&text), "{text}");
        }
    }
    assert_eq!(server.metric("grammar_cache_entries").await, 1.0);
}

#[tokio::test]
async fn a_constraint_that_cannot_be_compiled_is_told_with_its_field() {
    let server = Server::new(&["a"]).await;
    let answer = server
        .chat(json!({"structured_outputs": {"regex": "("}}))
        .await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(answer.json()["error"]["param"], "structured_outputs.regex");
}

#[tokio::test]
async fn choices_are_answers_of_their_own() {
    let server = Server::new(&["a"]).await;
    let answer = server.chat(json!({"n": 3, "max_tokens": 4})).await;
    let reply = answer.json();
    let choices = reply["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 3);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], index);
        assert_eq!(choice["message"]["content"], "abcd");
    }
    assert_eq!(reply["usage"]["prompt_tokens"], 20);
    assert_eq!(reply["usage"]["completion_tokens"], 12);
}

#[tokio::test]
async fn completions_go_on_from_texts_and_tokens() {
    let server = Server::new(&["a"]).await;
    let prompts = json!({"prompt": ["x:", "x"], "max_tokens": 3, "logprobs": 1, "n": 2, "seed": 1});
    let reply = server.completion(prompts).await.json();
    assert_eq!(reply["object"], "text_completion");
    let texts: Vec<_> = (0..4)
        .map(|index| &reply["choices"][index]["text"])
        .collect();
    assert_eq!(texts[..2], ["abc", "abc"]);
    let logprobs = &reply["choices"][0]["logprobs"];
    assert_eq!(logprobs["tokens"], json!(["a", "b", "c"]));
    assert_eq!(logprobs["text_offset"], json!([0, 1, 2]));
    let tokens = server
        .completion(json!({"prompt": [58], "temperature": 0}))
        .await;
    assert_eq!(tokens.json()["choices"][0]["text"], "abcdefghijklmnop");
    let unknown = server.completion(json!({"prompt": [258]})).await;
    assert_eq!(
        (unknown.status, unknown.json()["error"]["param"].as_str()),
        (400, Some("prompt"))
    );
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_refused_with_numbers() {
    let server = Server::new(&["a"]).await;
    for stream in [false, true] {
        let body = json!({"prompt": "x".repeat(300), "stream": stream});
        let answer = server.completion(body).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["code"], "context_length_exceeded");
        assert!(answer.error().contains("256") && answer.error().contains("300"));
    }
}

#[tokio::test]
async fn a_client_that_goes_away_frees_its_slot() {
    let server = Server::new(&["slow"]).await;
    for stream in [true, false] {
        let before = server.metric("cancelled_total").await;
        let body = chat(json!({"model": "slow", "stream": stream}));
        let client = server.send("POST", "/v1/chat/completions", &body).await;
        while server.metric("running").await < 1.0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(client);
        let freed = async {
            while server.metric("running").await > 0.0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // The alphabet takes half a second.
        tokio::time::timeout(Duration::from_millis(400), freed)
            .await
            .unwrap();
        assert_eq!(server.metric("cancelled_total").await, before + 1.0);
    }
}

#[tokio::test]
async fn health_and_models_tell_what_is_there() {
    let server = Server::loading(&["a"]);
    let loading = server.ask("GET", "/health", "").await;
    assert_eq!(loading.status, 503);
    assert_eq!(
        loading.json(),
        json!({"status": "loading", "progress": 0.0})
    );
    assert_eq!(
        server.chat(json!({})).await.json()["error"]["code"],
        "model_loading"
    );
    server.app.models.start().await.unwrap();
    let ready = server.ask("GET", "/health", "").await;
    assert_eq!(
        (ready.status, ready.json()["status"].as_str()),
        (200, Some("ready"))
    );
    let models = server.ask("GET", "/v1/models", "").await.json();
    assert_eq!(models["data"][0]["id"], "a");
    assert_eq!(models["data"][0]["owned_by"], "isogloss");
    assert_eq!(models["data"][0]["max_model_len"], 256);
}

#[tokio::test]
async fn the_only_model_s_template_is_told_and_of_a_folder_none() {
    let server = Server::new(&["a"]).await;
    let answer = server.ask("GET", "/props", "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["chat_template"], toy::TEMPLATE);
    assert_eq!(answer.json()["model_alias"], "a");
    let server = Server::loading(&["a"]);
    assert_eq!(server.ask("GET", "/props", "").await.status, 503);
    let server = Server::new(&["a", "b"]).await;
    assert_eq!(server.chat(json!({})).await.status, 200);
    let answer = server.ask("GET", "/props", "").await;
    assert_eq!(answer.json(), json!({"chat_template": null}));
}

#[tokio::test]
async fn of_a_folder_the_model_that_is_named_answers() {
    let server = Server::new(&["a", "b"]).await;
    for name in ["a", "b", "a"] {
        let answer = server.chat(json!({"model": name, "max_tokens": 1})).await;
        assert_eq!(answer.json()["model"], name, "{}", answer.body);
    }
    assert_eq!(server.chat(json!({"model": "c"})).await.status, 404);
    // A step is counted when it is over, and its answers go out before.
    while server.metric("finished_total").await < 3.0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(server.metric("finished_total").await, 3.0);
    assert_eq!(server.metric("model_load_seconds_count").await, 3.0);
}

#[tokio::test]
async fn a_stream_that_nobody_reads_holds_up_no_other_model() {
    let server = Server::new(&["a", "b"]).await;
    let much = json!({"stream": true, "n": 24, "logprobs": true, "top_logprobs": 20});
    let unread = server
        .send("POST", "/v1/chat/completions", &chat(much))
        .await;
    while server.metric("finished_total").await < 24.0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let other = server.chat(json!({"model": "b", "max_tokens": 1}));
    let answer = tokio::time::timeout(Duration::from_secs(20), other).await;
    assert_eq!(answer.unwrap().json()["model"], "b");
    drop(unread);
}

#[tokio::test]
async fn text_becomes_tokens_and_tokens_text() {
    let server = Server::new(&["a"]).await;
    let asked = r#"{"prompt": "a<|im_end|>", "return_token_strs": true}"#;
    assert_eq!(
        server.ask("POST", "/tokenize", asked).await.json(),
        json!({"count": 2, "max_model_len": 256, "tokens": [97, 257],
            "token_strs": ["a", "<|im_end|>"]})
    );
    let asked = r#"{"messages": [{"role": "user", "content": "<|im_end|>"}]}"#;
    let chat = server.ask("POST", "/tokenize", asked).await.json();
    let tokens = chat["tokens"].as_array().unwrap();
    assert_eq!(tokens.iter().filter(|token| **token == 257).count(), 1);
    let asked = r#"{"tokens": [97, 257, 195, 164]}"#;
    let text = server.ask("POST", "/detokenize", asked).await.json();
    assert_eq!(text, json!({"prompt": "a<|im_end|>ä"}));
    let unknown = server
        .ask("POST", "/detokenize", r#"{"tokens": [999]}"#)
        .await;
    assert_eq!(unknown.status, 400);
}

#[tokio::test]
async fn an_api_that_is_not_served_is_named_and_a_large_body_for_it_is_read() {
    let server = Server::new(&["a"]).await;
    let large = format!(r#"{{"input": "{}"}}"#, "a".repeat(4 << 20));
    for (path, words) in [
        ("/v1/responses", "no Responses API"),
        ("/v1/messages", "no Messages API"),
        ("/v1/embeddings", "no embeddings"),
        ("/api/chat", "Ollama"),
        ("/v1/responsesx", "no such endpoint"),
    ] {
        let answer = server.ask("POST", path, &large).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.error().contains(words), "{path}: {}", answer.error());
    }
}

#[tokio::test]
async fn what_is_not_served_is_refused_in_the_shape_that_clients_read() {
    let server = Server::new(&["a"]).await;
    for (method, path, body, status) in [
        ("GET", "/", "", 404),
        ("POST", "/v1/embeddings", "{}", 404),
        ("GET", "/v1/chat/completions", "", 405),
        ("POST", "/v1/chat/completions", "{", 400),
        (
            "POST",
            "/v1/completions",
            r#"{"prompt": "a", "suffix": "b"}"#,
            400,
        ),
    ] {
        let answer = server.ask(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(!answer.error().is_empty());
        assert_eq!(answer.header("server"), Some("isogloss-worker"));
    }
}

#[tokio::test]
async fn a_forward_pass_that_never_returns_is_found_out_and_one_that_does_is_not() {
    let server = Server::new(&["a", "stuck"]).await;
    let watchdog = Arc::clone(server.app.models.watchdog());
    let limit = Duration::from_millis(200);
    let overdue = std::thread::spawn(move || watchdog.wait(limit));
    for _ in 0..5 {
        assert_eq!(server.chat(json!({})).await.status, 200);
        tokio::time::sleep(limit / 2).await;
    }
    assert!(!overdue.is_finished());
    let stuck = chat(json!({"model": "stuck"}));
    let _waits = server.send("POST", "/v1/chat/completions", &stuck).await;
    let found = tokio::task::spawn_blocking(move || overdue.join().unwrap());
    assert_eq!(found.await.unwrap(), "a forward pass");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_read_before_it_is_refused() {
    let server = Server::new(&["a"]).await;
    let large = format!(r#"{{"prompt": "{}"}}"#, "a".repeat(65 << 20));
    let answer = server.ask("POST", "/v1/completions", &large).await;
    assert_eq!(answer.status, 413);
    assert!(answer.error().contains("larger than"), "{}", answer.error());
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_lets_answers_end() {
    let mut server = Server::new(&["slow"]).await;
    let body = chat(json!({"model": "slow", "stream": true, "max_tokens": 10}));
    let mut client = server.send("POST", "/v1/chat/completions", &body).await;
    while server.metric("running").await < 1.0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server
        .stop
        .take()
        .unwrap()
        .send(Duration::from_secs(30))
        .unwrap();
    let answer = read(&mut client).await;
    assert_eq!(answer.events().last(), Some(&json!("[DONE]")));
    (&mut server.serving).await.unwrap();
    let socket = server.folder.path().join("socket");
    assert!(UnixStream::connect(socket).await.is_err());
}

#[tokio::test]
async fn answers_that_take_too_long_to_end_are_cut_with_an_error() {
    let mut server = Server::new(&["slow"]).await;
    let body = chat(json!({"model": "slow", "stream": true}));
    let mut client = server.send("POST", "/v1/chat/completions", &body).await;
    while server.metric("running").await < 1.0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop.take().unwrap().send(Duration::ZERO).unwrap();
    let events = read(&mut client).await.events();
    let last = events.last().unwrap();
    assert_eq!(last["error"]["code"], "server_shutting_down", "{last}");
    (&mut server.serving).await.unwrap();
}
