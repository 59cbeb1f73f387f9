//! Drafts by a real model: requests that people wrote come in, and one worker that drafts and one that does not answer
//! them; what is told is that the answers are the same.

use crate::support::process::Worker;
use serde_json::{Value, json};
use std::path::Path;

/// The built-in model, which is always there and takes things out of texts.
fn builtin(how: &str) -> Worker {
    let folder = tempfile::tempdir().unwrap();
    Worker::ready(folder, Path::new("builtin"), &["--speculate", how])
}

/// Requests for what stands in a text, as people wrote them.
fn written() -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/models/train/written/extraction.jsonl"
    );
    let lines = std::fs::read_to_string(path).unwrap();
    let asks = lines.lines().take(60).map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let mut body = line["request"].take();
        body["messages"] = line["messages"].take();
        body
    });
    asks.collect()
}

/// The answer's text, why it ended, and what it took.
fn answer(worker: &Worker, body: &Value) -> Value {
    let (status, _, reply) = worker.ask("POST", "/v1/chat/completions", &body.to_string());
    assert_eq!(status, 200, "{reply}");
    let reply: Value = serde_json::from_str(&reply).unwrap();
    let choice = &reply["choices"][0];
    json!([
        choice["message"]["content"],
        choice["finish_reason"],
        reply["usage"]["completion_tokens"]
    ])
}

#[test]
fn answers_are_the_same_with_drafts_and_without_and_take_fewer_forward_passes() {
    let (with, without) = (builtin("always"), builtin("off"));
    let (mut asked, mut others) = (0, Vec::new());
    for body in written() {
        for is_free in [false, true] {
            let mut body = body.clone();
            body["temperature"] = json!(0);
            if is_free {
                // No constraint, and what repeats itself.
                body["response_format"].take();
                body["max_tokens"] = json!(60);
            }
            let (drafted, plain) = (answer(&with, &body), answer(&without, &body));
            asked += 1;
            if drafted != plain {
                others.push((body, drafted, plain));
            }
        }
    }
    // Forward passes of other sizes round differently, which can tip a close choice.
    assert!(
        others.len() * 20 <= asked,
        "{} of {asked}: {others:#?}",
        others.len()
    );
    let (drafted, right) = (
        with.metric("drafted_tokens_total"),
        with.metric("accepted_tokens_total"),
    );
    assert!(right > 0.0 && right <= drafted, "{right} of {drafted}");
    let steps = [&with, &without].map(|worker| worker.metric("steps_total"));
    assert!(steps[0] < steps[1], "{steps:?}");
    assert_eq!(without.metric("drafted_tokens_total"), 0.0);
    println!(
        "{asked} answers, {} others; {drafted} drafted, {right} right; steps {steps:?}",
        others.len()
    );
}

#[test]
fn who_sends_a_seed_gets_the_same_answer_again_and_so_no_drafts() {
    let worker = builtin("auto");
    for temperature in [0.0, 0.8] {
        for mut body in written().into_iter().take(5) {
            body["temperature"] = json!(temperature);
            body["seed"] = json!(7);
            assert_eq!(answer(&worker, &body), answer(&worker, &body));
        }
    }
    assert_eq!(worker.metric("drafted_tokens_total"), 0.0);
}

#[test]
fn a_stream_ends_before_its_stop_text_though_a_draft_goes_on() {
    let (with, without) = (builtin("always"), builtin("off"));
    let body = |stop: &str, stream: bool| {
        json!({
            "messages": [{"role": "user", "content": "Anneliese Kirchhoff works at Lindenthal Maschinenbau. Bartholomew Featherstone works at Northumbrian Lighthouse Trust."}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "people", "schema": {
                "type": "object", "properties": {"items": {"type": "array", "items": {"type": "object",
                    "properties": {"name": {"type": "string"}, "company": {"type": "string"}},
                    "required": ["name", "company"], "additionalProperties": false}}},
                "required": ["items"], "additionalProperties": false}}},
            "temperature": 0, "stop": [stop], "stream": stream,
        })
    };
    for stop in ["enthal", "chhoff", "Light"] {
        let told = answer(&with, &body(stop, false));
        assert_eq!(told, answer(&without, &body(stop, false)), "{stop}");
        let text = with.text(
            "POST",
            "/v1/chat/completions",
            &body(stop, true).to_string(),
        );
        let events = text.lines().filter_map(|line| line.strip_prefix("data: {"));
        let content = events.map(|event| {
            let event: Value = serde_json::from_str(&format!("{{{event}")).unwrap();
            let content = event["choices"][0]["delta"]["content"].as_str();
            content.unwrap_or_default().to_owned()
        });
        assert_eq!(json!(content.collect::<String>()), told[0], "{stop}");
    }
    assert!(with.metric("accepted_tokens_total") > 0.0);
}
