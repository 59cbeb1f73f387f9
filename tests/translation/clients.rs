//! Client dialects beside Chat: what real SDKs send, in the words of each server; what they get of it, whole
//! and streamed.
//!
//! `tests/golden/clients/<dialect>/<case>.in.json` has the path and the body that a client sends, and what the
//! model says; `<case>.out.json` what each server is asked, and what the client gets of a reply that says it.
//! `UPDATE_GOLDEN=1 cargo test -p isogloss-core --test translation clients` writes them anew.

mod completions;
mod ollama;

use crate::replay::rule;
use isogloss_core::dialect::client::Client;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{Ids, Rewrap, Wire};
use isogloss_core::passage;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What a model says.
#[derive(Debug, Default, Clone)]
struct Says {
    text: String,
    thinking: String,
    /// Names and arguments.
    calls: Vec<(String, Value)>,
}

impl Says {
    fn of(case: &Value) -> Self {
        let calls = case["calls"].as_array().into_iter().flatten();
        Self {
            text: case["text"].as_str().unwrap_or_default().to_owned(),
            thinking: case["thinking"].as_str().unwrap_or_default().to_owned(),
            calls: calls
                .map(|call| (call[0].as_str().unwrap().to_owned(), call[1].clone()))
                .collect(),
        }
    }

    fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// The same in the form in which the server was asked for it.
    fn asked_of(mut self, exchange: &Exchange) -> Self {
        let envelope = |(name, input): &(String, Value)| json!({"name": name, "arguments": input});
        match &exchange.plan.rewrap {
            Rewrap::Keep | Rewrap::Json | Rewrap::Text => return self,
            Rewrap::Arguments { .. } => self.text = self.calls[0].1.to_string(),
            Rewrap::TaggedCalls | Rewrap::TaggedCallsOrAnswer => {
                for call in &self.calls {
                    self.text += &format!("<tool_call>{}</tool_call>", envelope(call));
                }
            }
            Rewrap::CallOrAnswer { text } if self.calls.is_empty() => {
                let answer = match text {
                    true => json!(self.text),
                    false => serde_json::from_str(&self.text).unwrap(),
                };
                self.text = json!({"answer": answer}).to_string();
            }
            Rewrap::Answer => {
                let answer: Value = serde_json::from_str(&self.text).unwrap();
                self.text = json!({"answer": answer}).to_string();
            }
            _ => {
                if let Some(call) = self.calls.first() {
                    self.text = envelope(call).to_string();
                }
            }
        }
        self.calls.clear();
        self
    }
}

fn body_of(parts: Value) -> Vec<u8> {
    parts.to_string().into_bytes()
}

/// A whole reply on a wire.
fn whole_on(wire: Wire, says: &Says) -> Vec<u8> {
    body_of(match wire {
        Wire::Chat => {
            let mut message = json!({"role": "assistant", "content": says.text});
            if !says.thinking.is_empty() {
                message["reasoning"] = json!(says.thinking);
                message["reasoning_content"] = json!(says.thinking);
            }
            if !says.calls.is_empty() {
                let call = |(at, (name, input)): (usize, &(String, Value))| {
                    json!({"id": format!("call_{at}"), "type": "function",
                        "function": {"name": name, "arguments": input.to_string()}})
                };
                message["tool_calls"] = says.calls.iter().enumerate().map(call).collect();
            }
            let finish = if says.calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            json!({"id": "c", "object": "chat.completion", "created": 1_750_000_000, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})
        }
        Wire::Completions => {
            json!({"id": "c", "object": "text_completion", "created": 1_750_000_000, "model": "m",
            "choices": [{"index": 0, "text": says.text, "logprobs": null, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})
        }
        Wire::OllamaChat | Wire::OllamaGenerate => {
            let mut line = ollama_line(wire, &says.text, &says.thinking);
            if !says.calls.is_empty() {
                let call = |(name, input): &(String, Value)| json!({"function": {"name": name, "arguments": input}});
                line["message"]["tool_calls"] = says.calls.iter().map(call).collect();
            }
            ollama_end(&mut line);
            line
        }
        other => panic!("{other:?}"),
    })
}

fn ollama_line(wire: Wire, text: &str, thinking: &str) -> Value {
    let mut line = json!({"model": "m", "created_at": "2025-06-15T15:06:40.5Z"});
    let said = match wire {
        Wire::OllamaGenerate => {
            line["response"] = json!(text);
            &mut line
        }
        _ => {
            line["message"] = json!({"role": "assistant", "content": text});
            &mut line["message"]
        }
    };
    if !thinking.is_empty() {
        said["thinking"] = json!(thinking);
    }
    line["done"] = json!(false);
    line
}

fn ollama_end(line: &mut Value) {
    line["done"] = json!(true);
    line["done_reason"] = json!("stop");
    line["total_duration"] = json!(5);
    line["prompt_eval_count"] = json!(11);
    line["eval_count"] = json!(7);
}

/// The events of a stream that says the same, in pieces of three characters.
fn events_on(wire: Wire, says: &Says) -> Vec<Value> {
    let pieces = |text: &str| -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters
            .chunks(3)
            .map(|piece| piece.iter().collect())
            .collect()
    };
    let mut events = Vec::new();
    match wire {
        Wire::Chat => {
            let chunk = |delta: Value, finish: Option<&str>| {
                json!({"id": "c", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
            };
            events.push(chunk(json!({"role": "assistant", "content": ""}), None));
            for piece in pieces(&says.thinking) {
                events.push(chunk(
                    json!({"reasoning": piece, "reasoning_content": piece}),
                    None,
                ));
            }
            for piece in pieces(&says.text) {
                events.push(chunk(json!({"content": piece}), None));
            }
            for (at, (name, input)) in says.calls.iter().enumerate() {
                let call =
                    |function: Value| json!({"tool_calls": [{"index": at, "function": function}]});
                let mut first = call(json!({"name": name, "arguments": ""}));
                first["tool_calls"][0]["id"] = json!(format!("call_{at}"));
                first["tool_calls"][0]["type"] = json!("function");
                events.push(chunk(first, None));
                for piece in pieces(&input.to_string()) {
                    events.push(chunk(call(json!({"arguments": piece})), None));
                }
            }
            let finish = if says.calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            events.push(chunk(json!({}), Some(finish)));
            let mut usage = chunk(json!({}), None);
            usage["choices"] = json!([]);
            usage["usage"] =
                json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
            events.push(usage);
        }
        Wire::Completions => {
            let chunk = |text: &str, finish: Option<&str>| {
                json!({"id": "c", "object": "text_completion", "created": 1_750_000_000, "model": "m",
                    "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": finish}]})
            };
            events.extend(pieces(&says.text).iter().map(|piece| chunk(piece, None)));
            events.push(chunk("", Some("stop")));
        }
        Wire::OllamaChat | Wire::OllamaGenerate => {
            let thoughts = pieces(&says.thinking).into_iter();
            events.extend(thoughts.map(|piece| ollama_line(wire, "", &piece)));
            let texts = pieces(&says.text).into_iter();
            events.extend(texts.map(|piece| ollama_line(wire, &piece, "")));
            for (name, input) in &says.calls {
                let mut line = ollama_line(wire, "", "");
                line["message"]["tool_calls"] =
                    json!([{"function": {"name": name, "arguments": input}}]);
                events.push(line);
            }
            let mut last = ollama_line(wire, "", "");
            ollama_end(&mut last);
            events.push(last);
        }
        other => panic!("{other:?}"),
    }
    events
}

/// The bytes of such a stream.
fn framed(wire: Wire, events: &[Value]) -> Vec<u8> {
    let is_lines = matches!(wire, Wire::OllamaChat | Wire::OllamaGenerate);
    let mut bytes = Vec::new();
    for event in events {
        match is_lines {
            true => bytes.extend(format!("{event}\n").bytes()),
            false => bytes.extend(format!("data: {event}\n\n").bytes()),
        }
    }
    if !is_lines {
        bytes.extend(b"data: [DONE]\n\n");
    }
    bytes
}

fn client(path: &str) -> &'static dyn Client {
    passage::client(path).unwrap_or_else(|| panic!("{path} is no route"))
}

fn planned(path: &str, body: &Value, label: &str) -> Result<Exchange, Error> {
    let demand = exchange::read(client(path), path, body.to_string().as_bytes())?;
    exchange::plan(demand, &rule(label))
}

fn whole(exchange: &Exchange, body: &[u8]) -> Result<Vec<u8>, Fault> {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    exchange::reply(exchange, &checks, Ids::new(1).at(1_750_000_000), body).map(|reply| reply.body)
}

/// The client's stream of this one, which comes in pieces of `step` bytes.
#[expect(clippy::result_large_err, reason = "a test looks at both")]
fn streamed(exchange: &Exchange, bytes: &[u8], step: usize) -> Result<Vec<u8>, (Vec<u8>, Fault)> {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let ids = Ids::new(1).at(1_750_000_000);
    let mut translator = StreamTranslator::new(exchange, checks, ids, 1 << 20);
    let mut out = Vec::new();
    for piece in bytes.chunks(step) {
        if let Err(fault) = translator.push(piece, &mut out) {
            return Err((out, fault));
        }
    }
    match translator.finish(End::Eof, &mut out) {
        Ok(()) => Ok(out),
        Err(fault) => Err((out, fault)),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// What is asked, and what comes of it.
fn outcome(case: &Value, label: &str) -> Value {
    let (path, body) = (case["path"].as_str().unwrap(), &case["body"]);
    let exchange = match planned(path, body, label) {
        Ok(exchange) => exchange,
        Err(error) => {
            let told: Value = serde_json::from_slice(&client(path).error_body(&error)).unwrap();
            return json!({"refused": error.kind.code(), "status": error.status(), "body": told});
        }
    };
    let mut out = json!({"strategy": exchange.strategy.as_str(), "path": exchange.path()});
    out["asked"] = match exchange.sent() {
        Some(sent) => serde_json::from_slice(sent).unwrap(),
        None => json!("the client's own bytes"),
    };
    if !exchange.losses.is_empty() {
        out["losses"] = json!(exchange.losses);
    }
    let says = Says::of(case).asked_of(&exchange);
    let wire = exchange.server.wire();
    if exchange.demand.request.stream {
        let bytes = framed(wire, &events_on(wire, &says));
        let got = streamed(&exchange, &bytes, 7).unwrap_or_else(|(_, fault)| panic!("{fault:?}"));
        for step in [1, 64, bytes.len()] {
            let again = streamed(&exchange, &bytes, step).unwrap();
            assert_eq!(text(again), text(got.clone()), "{label}: by {step}");
        }
        let lines = text(got);
        out["gets"] = lines.lines().map(|line| json!(line)).collect();
    } else {
        let got =
            whole(&exchange, &whole_on(wire, &says)).unwrap_or_else(|fault| panic!("{fault:?}"));
        out["gets"] = serde_json::from_slice(&got).unwrap();
    }
    out
}

fn folder(dialect: &str) -> PathBuf {
    isogloss_testing::root()
        .join("tests/golden/clients")
        .join(dialect)
}

/// Compares all cases of a dialect with their goldens, or writes them.
fn compare(dialect: &str, labels: &[&str]) {
    let mut cases: Vec<PathBuf> = (std::fs::read_dir(folder(dialect)).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(".in.json"))
        .collect();
    cases.sort();
    assert!(cases.len() > 4, "{dialect}");
    let mut failures = Vec::new();
    for path in cases {
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let told = |label: &&str| ((*label).to_owned(), outcome(&case, label));
        let all: Map<String, Value> = labels.iter().map(told).collect();
        let actual = serde_json::to_string_pretty(&Value::Object(all)).unwrap() + "\n";
        let output = PathBuf::from(path.to_str().unwrap().replace(".in.json", ".out.json"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&output, &actual).unwrap();
        } else if std::fs::read_to_string(&output).unwrap_or_default() != actual {
            failures.push(output);
        }
    }
    assert!(failures.is_empty(), "{failures:?} say otherwise");
}

/// What a fault is to the client.
fn told(client: &dyn Client, fault: Fault) -> (u16, Value) {
    let error = match fault {
        Fault::Error(error) => error,
        Fault::Violation(violation) => exchange::violation_error(client, &violation),
    };
    let body = serde_json::from_slice(&client.error_body(&error)).unwrap();
    (error.status(), body)
}
