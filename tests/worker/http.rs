//! `isogloss worker` as a process: its events, its HTTP over a Unix socket with a real model, and
//! how it ends.
//!
//! The model is read from the folder `ISOGLOSS_MODELS` (default `../shared/models`).

use crate::support::process;
use process::Worker;
use serde_json::{Value, json};
use std::io::Read as _;
use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

const NAME: &str = "tiny-chat-f32";

/// The small real model, where it is there.
fn model() -> Option<PathBuf> {
    let models = PathBuf::from(isogloss_testing::shared("ISOGLOSS_MODELS", "models"));
    let path = models.join("tiny-chat").join(format!("{NAME}.gguf"));
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// One with the real model that takes requests.
fn worker(model: &Path) -> Worker {
    let worker = Worker::ready(tempfile::tempdir().unwrap(), model, &[]);
    assert!(worker.loading.iter().all(|event| event["model"] == NAME));
    worker
}

/// One that may not come to that.
fn started(model: &Path, flags: &[&str]) -> Worker {
    Worker::start(tempfile::tempdir().unwrap(), model, flags)
}

impl Worker {
    fn chat(&self, extra: Value) -> (u16, String, Value) {
        let mut body = json!({
            "model": NAME, "max_tokens": 200, "seed": 7,
            "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
            "chat_template_kwargs": {"enable_thinking": false},
        });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, head, body) = self.ask("POST", "/v1/chat/completions", &body.to_string());
        (status, head, serde_json::from_str(&body).unwrap())
    }

    /// The one token of a text, as a key of `logit_bias`.
    fn token(&self, text: &str) -> String {
        let (_, _, reply) = self.ask("POST", "/tokenize", &json!({"prompt": text}).to_string());
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply["count"], 1, "{reply}");
        reply["tokens"][0].to_string()
    }

    pub(super) fn metric(&self, name: &str) -> f64 {
        let (_, _, page) = self.ask("GET", "/metrics", "");
        let found = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("isogloss_worker_{name} ")));
        found.unwrap().parse().unwrap()
    }

    /// How it ended, which it must within some seconds.
    fn end(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn content(reply: &Value) -> &str {
    reply["choices"][0]["message"]["content"].as_str().unwrap()
}

#[test]
fn it_tells_what_it_loads_and_what_it_has_become() {
    let Some(model) = model() else { return };
    let mut worker = started(&model, &["--model-name", "mine"]);
    let mut progress = Vec::new();
    let ready = loop {
        let event = worker.event().unwrap();
        match event["event"].as_str() {
            Some("loading") => progress.push(event["progress"].as_f64().unwrap()),
            _ => break event,
        }
    };
    assert!(
        progress.is_sorted() && progress.last() == Some(&1.0),
        "{progress:?}"
    );
    assert_eq!(ready["event"], "ready");
    assert_eq!(ready["models"], json!(["mine"]));
    assert_eq!(ready["layers"], 4);
    assert!(ready["seconds"].as_f64().unwrap() > 0.0);
    let (status, head, body) = worker.ask("GET", "/v1/models", "");
    assert_eq!(status, 200);
    assert!(head.contains("server: isogloss-worker"), "{head}");
    let models: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(models["data"][0]["id"], "mine");
    assert_eq!(models["data"][0]["max_model_len"], 4_096);
}

#[test]
fn answers_are_what_the_constraint_says_whatever_the_model_would_say() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["city", "degrees"],
        "properties": {"city": {"enum": ["Oslo", "Rome"]}, "degrees": {"type": "integer", "maximum": 40, "minimum": -40}},
    });
    let (status, head, reply) = worker.chat(json!({
        "structured_outputs": {"json": schema, "disable_any_whitespace": true},
    }));
    assert_eq!(status, 200, "{reply}");
    assert!(
        head.contains("x-isogloss-worker: grammar=miss; compile_ms="),
        "{head}"
    );
    let text = content(&reply);
    let value: Value = serde_json::from_str(text).unwrap();
    assert!(
        ["Oslo", "Rome"].contains(&value["city"].as_str().unwrap()),
        "{text}"
    );
    assert!(
        (-40..=40).contains(&value["degrees"].as_i64().unwrap()),
        "{text}"
    );
    assert_eq!(text, value.to_string(), "no white space");
    for (constraint, good) in [
        (json!({"regex": "[a-c]{3,6}"}), "abc"),
        (json!({"choice": ["yes", "no"]}), "yesno"),
        (
            json!({"grammar": "root ::= \"x\" [0-9] \"y\""}),
            "x0123456789y",
        ),
    ] {
        let (status, _, reply) = worker.chat(json!({"structured_outputs": constraint}));
        assert_eq!(status, 200, "{reply}");
        let text = content(&reply);
        assert!(
            !text.is_empty() && text.chars().all(|letter| good.contains(letter)),
            "{text}"
        );
        assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    }
    // A bound on tokens, which the proxy refuses, since nobody could verify it: the worker counts them as they come.
    let grammar = "start: word \".\"\nword[max_tokens=3]: /[a-z]+/";
    let (status, _, reply) = worker.chat(json!({"structured_outputs": {"grammar": grammar}}));
    assert_eq!(status, 200, "{reply}");
    let text = content(&reply);
    assert!(text.len() > 1 && text.ends_with('.'), "{text}");
    assert!(
        reply["usage"]["completion_tokens"].as_u64().unwrap() <= 5,
        "{reply}"
    );
    assert!(worker.metric("forced_tokens_total") > 0.0);
}

#[test]
fn the_same_seed_says_the_same_and_a_repeated_prompt_is_not_computed_again() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    let ask = || worker.chat(json!({"max_tokens": 12, "temperature": 1.5}));
    let (_, _, first) = ask();
    let (_, head, second) = ask();
    assert_eq!(content(&first), content(&second));
    let cached = &second["usage"]["prompt_tokens_details"]["cached_tokens"];
    assert!(cached.as_u64().unwrap() > 5, "{head}");
}

#[test]
fn thinking_comes_apart_from_the_answer_under_a_constraint_too() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    let token = |text: &str| worker.token(text);
    // So that it thinks whatever its weights say, and not for long.
    let bias = json!({token("<think>"): 50, token("</think>"): 100});
    for (constraint, answer) in [
        (json!({"choice": ["fine"]}), "fine"),
        (json!({"json": {"const": 7}}), "7"),
        (json!({"regex": "\n\n7"}), "\n\n7"),
    ] {
        let (status, _, reply) = worker.chat(json!({
            "chat_template_kwargs": {"enable_thinking": true},
            "structured_outputs": constraint,
            "logit_bias": bias,
            "logprobs": true,
        }));
        assert_eq!(status, 200, "{reply}");
        let tokens = &reply["choices"][0]["logprobs"]["content"];
        assert_eq!(tokens[0]["token"], "<think>", "{reply}");
        assert_eq!(content(&reply), answer, "{reply}");
    }
    // A completion goes on from the client's own prompt: all of it is text.
    let body = json!({"model": NAME, "prompt": "x", "logit_bias": bias, "max_tokens": 3});
    let (_, _, reply) = worker.ask("POST", "/v1/completions", &body.to_string());
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert!(
        reply["choices"][0]["text"]
            .as_str()
            .unwrap()
            .contains("</think>"),
        "{reply}"
    );
}

#[test]
fn thoughts_have_a_bound_and_are_counted() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    let token = |text: &str| worker.token(text);
    // It thinks, and would never stop by itself.
    let bias = json!({token("<think>"): 50, token("</think>"): -100});
    for (constraint, answer) in [
        (json!({"choice": ["fine"]}), Some("fine")),
        (json!({"json": {"const": 7}}), Some("7")),
        (json!({}), None),
    ] {
        for budget in [1, 20] {
            let (status, _, reply) = worker.chat(json!({
                "chat_template_kwargs": {"enable_thinking": true},
                "structured_outputs": constraint,
                "thinking_token_budget": budget,
                "logit_bias": bias,
            }));
            assert_eq!(status, 200, "{reply}");
            let thoughts = &reply["usage"]["completion_tokens_details"]["reasoning_tokens"];
            let thoughts = thoughts.as_u64().unwrap();
            // With those of its tags.
            let tags = 2 + "</think>".len() as u64;
            assert!(
                (budget..=budget + tags).contains(&thoughts),
                "{budget}: {reply}"
            );
            assert!(
                reply["choices"][0]["message"]["reasoning_content"].is_string(),
                "{reply}"
            );
            match answer {
                Some(answer) => assert_eq!(content(&reply), answer, "{reply}"),
                // Whatever it is, the thoughts ended before it.
                None => assert!(!content(&reply).contains("</think>"), "{reply}"),
            }
        }
    }
}

#[test]
fn without_tools_no_call_is_written() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    // It would write nothing else.
    let bias = json!({worker.token("<tool_call>"): 100});
    let ask = |extra: Value| {
        let mut asked = json!({"logit_bias": bias, "max_tokens": 5});
        for (name, value) in extra.as_object().unwrap() {
            asked[name] = value.clone();
        }
        content(&worker.chat(asked).2).to_owned()
    };
    let tools =
        json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    assert!(!ask(json!({})).contains("<tool_call>"));
    assert!(ask(json!({"tools": tools})).contains("<tool_call>"));
    assert!(
        ask(json!({"structured_outputs": {"choice": ["<tool_call>"]}})).contains("<tool_call>")
    );
}

#[test]
fn who_asks_is_answered() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    // It would end at once.
    let bias = json!({worker.token("<|im_end|>"): 100});
    let (_, _, reply) = worker.chat(json!({"logit_bias": bias}));
    assert!(!content(&reply).is_empty(), "{reply}");
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(reply["usage"]["completion_tokens"], 2, "{reply}");
    let body = json!({"model": NAME, "prompt": "x", "logit_bias": bias});
    let (_, _, reply) = worker.ask("POST", "/v1/completions", &body.to_string());
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(
        reply["choices"][0]["text"], "",
        "a prompt may be at its end"
    );
}

#[test]
fn it_ends_with_its_parent_and_tells_those_who_wait() {
    let Some(model) = model() else { return };
    let mut worker = worker(&model);
    let body = json!({
        "model": NAME, "stream": true, "ignore_eos": true, "max_tokens": 4_000,
        "messages": [{"role": "user", "content": "Tell me everything."}],
    });
    let mut stream = worker.send("POST", "/v1/chat/completions", &body.to_string());
    let mut begun = [0; 256];
    stream.read_exact(&mut begun).unwrap();
    drop(worker.child.stdin.take());
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(
        rest.contains("server_shutting_down"),
        "{}",
        &rest[rest.len().saturating_sub(300)..]
    );
    assert!(!rest.contains("[DONE]"));
    assert!(worker.end().success());
    assert_eq!(worker.event(), None);
    assert!(!worker.folder.path().join("socket").exists());
}

#[test]
fn a_client_that_hangs_up_is_worked_for_no_more() {
    let Some(model) = model() else { return };
    let worker = worker(&model);
    let body = json!({
        "model": NAME, "ignore_eos": true, "max_tokens": 4_000,
        "messages": [{"role": "user", "content": "Tell me everything."}],
    });
    let stream = worker.send("POST", "/v1/chat/completions", &body.to_string());
    while worker.metric("running") < 1.0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    stream.shutdown(Shutdown::Both).unwrap();
    let begin = Instant::now();
    while worker.metric("running") > 0.0 {
        assert!(begin.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(worker.metric("cancelled_total"), 1.0);
}

#[test]
fn a_model_that_cannot_be_loaded_is_an_event_and_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.gguf");
    std::fs::write(&path, "<!doctype html><html>").unwrap();
    let mut worker = started(&path, &[]);
    let failed = loop {
        let event = worker.event().unwrap();
        if event["event"] != "loading" {
            break event;
        }
    };
    assert_eq!(failed["event"], "failed");
    assert!(
        failed["message"].as_str().unwrap().contains("web page"),
        "{failed}"
    );
    assert_eq!(worker.end().code(), Some(1));
}

#[test]
fn of_a_folder_one_model_is_loaded_when_it_is_asked_for() {
    let Some(model) = model() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&model, folder.path().join("b.gguf")).unwrap();
    std::fs::write(folder.path().join("a.gguf"), "no model").unwrap();
    let mut worker = started(folder.path(), &["--threads", "1"]);
    let ready = worker.event().unwrap();
    assert_eq!(ready["models"], json!(["a", "b"]));
    let (status, _, broken) = worker.chat(json!({"model": "a"}));
    assert_eq!(status, 500, "{broken}");
    let (status, _, reply) = worker.chat(json!({"model": "b", "max_tokens": 2}));
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["model"], "b");
    let (status, _, missing) = worker.chat(json!({"model": "c"}));
    assert_eq!(
        (status, missing["error"]["code"].as_str()),
        (404, Some("model_not_found"))
    );
}
