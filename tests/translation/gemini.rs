//! Gemini's clients, on servers of every sort: what is asked, and what comes back, whole and streamed.
//!
//! `tests/golden/clients/gemini/<case>.in.json` has a path, a body and what the model says; those named `sdk-…` and
//! `pydantic-ai-…` are recorded. `<case>.out.json` says for each server what it is asked and what the client gets.
//! `UPDATE_GOLDEN=1 cargo test -p isogloss-core --test translation gemini` writes them anew.

mod bad;
mod same;

use crate::replay::{rule, streamed};
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, Exchange, Fault};
use isogloss_core::ir::{Ids, Rewrap, Wire};
use isogloss_core::passage;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

const SERVERS: [&str; 4] = ["vllm@0.32.0", "llama-cpp", "plain", "gemini"];

/// An exchange of a request at this target, which is a path and perhaps a query.
fn planned(target: &str, body: &[u8], server: &str) -> Result<Exchange, Error> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let client = passage::client(path).unwrap();
    let client = client.for_query(query).unwrap_or(client);
    exchange::read(client, path, body).and_then(|demand| exchange::plan(demand, &rule(server)))
}

/// What the model says, as this exchange has it say it: its text and its calls.
struct Said {
    text: String,
    calls: Vec<Value>,
}

impl Said {
    fn of(exchange: &Exchange, says: &Value) -> Self {
        let calls: Vec<Value> = says["calls"].as_array().unwrap().clone();
        let text = says["text"].as_str().unwrap().to_owned();
        let none = Vec::new();
        let call = calls.first();
        let wrapped =
            |call: &Value| json!({"name": call["name"], "arguments": call["args"]}).to_string();
        match (&exchange.plan.rewrap, call) {
            (Rewrap::Arguments { .. }, Some(call)) => Self {
                text: call["args"].to_string(),
                calls: none,
            },
            (Rewrap::Call | Rewrap::CallOrText | Rewrap::CallOrAnswer { .. }, Some(call)) => Self {
                text: wrapped(call),
                calls: none,
            },
            (Rewrap::TaggedCalls, Some(call)) => Self {
                text: format!("<tool_call>\n{}\n</tool_call>", wrapped(call)),
                calls: none,
            },
            (Rewrap::Keep, _) => Self { text, calls },
            (_, None) => Self { text, calls: none },
            (other, Some(_)) => panic!("{other:?}"),
        }
    }

    fn whole(&self, exchange: &Exchange) -> Vec<u8> {
        let body = if exchange.server.wire() == Wire::Gemini {
            self.reply(&self.parts(), true)
        } else {
            let calls: Vec<Value> = (self.calls.iter().enumerate())
                .map(|(index, call)| Self::call(index, call))
                .collect();
            let finish = if calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            let mut message =
                json!({"role": "assistant", "content": self.text, "reasoning_content": "Hm."});
            if !calls.is_empty() {
                message["tool_calls"] = Value::Array(calls);
            }
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "served", "choices":
                [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})
        };
        body.to_string().into_bytes()
    }

    fn call(index: usize, call: &Value) -> Value {
        json!({"index": index, "id": format!("call_{index}"), "type": "function",
            "function": {"name": call["name"], "arguments": call["args"].to_string()}})
    }

    fn parts(&self) -> Vec<Value> {
        let mut parts = vec![json!({"text": "Hm.", "thought": true})];
        if !self.text.is_empty() {
            parts.push(json!({"text": self.text, "thoughtSignature": "c2ln"}));
        }
        parts.extend(
            self.calls
                .iter()
                .map(|call| json!({"functionCall": call, "thoughtSignature": "c2ln"})),
        );
        parts
    }

    fn reply(&self, parts: &[Value], is_last: bool) -> Value {
        let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
        if is_last {
            candidate["finishReason"] = json!("STOP");
        }
        json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 11,
            "candidatesTokenCount": 7, "totalTokenCount": 18}, "modelVersion": "served", "responseId": "r1"})
    }

    /// The bytes of a stream, its text and arguments in small pieces.
    fn stream(&self, exchange: &Exchange) -> Vec<u8> {
        let mut out = Vec::new();
        let mut event = |data: &Value| out.extend(format!("data: {data}\n\n").into_bytes());
        let letters: Vec<char> = self.text.chars().collect();
        let pieces: Vec<String> = letters
            .chunks(3)
            .map(|piece| piece.iter().collect())
            .collect();
        if exchange.server.wire() == Wire::Gemini {
            event(&self.reply(&[json!({"text": "Hm.", "thought": true})], false));
            for piece in &pieces {
                event(&self.reply(&[json!({"text": piece})], false));
            }
            for call in &self.calls {
                event(&self.reply(
                    &[json!({"functionCall": call, "thoughtSignature": "c2ln"})],
                    false,
                ));
            }
            event(&self.reply(&[json!({"text": "", "thoughtSignature": "c2ln"})], true));
            return out;
        }
        let mut chunk = |delta: Value, finish: Option<&str>| {
            event(
                &json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "served",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
            );
        };
        chunk(
            json!({"role": "assistant", "content": "", "reasoning_content": "H"}),
            None,
        );
        chunk(json!({"reasoning_content": "m."}), None);
        for piece in &pieces {
            chunk(json!({"content": piece}), None);
        }
        for (index, call) in self.calls.iter().enumerate() {
            let mut first = Self::call(index, call);
            let input = first["function"]["arguments"].take();
            first["function"]["arguments"] = json!("");
            chunk(json!({"tool_calls": [first]}), None);
            for letter in input.as_str().unwrap().chars() {
                chunk(
                    json!({"tool_calls": [{"index": index, "function": {"arguments": letter.to_string()}}]}),
                    None,
                );
            }
        }
        chunk(
            json!({}),
            Some(if self.calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            }),
        );
        event(
            &json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "served", "choices": [],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}),
        );
        out.extend_from_slice(b"data: [DONE]\n\n");
        out
    }
}

fn whole(exchange: &Exchange, body: &[u8]) -> Result<Value, Fault> {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body)?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

/// The replies of a stream, in either framing.
fn replies(stream: &str) -> Vec<Value> {
    if stream.starts_with('[') {
        return serde_json::from_str(stream).unwrap();
    }
    let events = stream.split_terminator("\n\n");
    events
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

/// One reply out of many, as clients put them together.
fn folded(replies: &[Value]) -> Value {
    let mut parts: Vec<Value> = Vec::new();
    let (mut out, mut whole) = (json!({}), json!({}));
    for reply in replies {
        for (name, value) in reply.as_object().unwrap() {
            if name != "candidates" {
                out[name] = value.clone();
            }
        }
        let candidate = &reply["candidates"][0];
        for (name, value) in candidate.as_object().into_iter().flatten() {
            if name != "content" {
                whole[name] = value.clone();
            }
        }
        for part in candidate["content"]["parts"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let is_same = |last: &&mut Value| {
                last["text"].is_string()
                    && part["text"].is_string()
                    && last["thought"] == part["thought"]
            };
            match parts.last_mut().filter(is_same) {
                Some(last) => {
                    last["text"] = json!(
                        last["text"].as_str().unwrap().to_owned() + part["text"].as_str().unwrap()
                    );
                    if part["thoughtSignature"].is_string() {
                        last["thoughtSignature"] = part["thoughtSignature"].clone();
                    }
                }
                None => parts.push(part.clone()),
            }
        }
    }
    // The end of a stream without a text.
    if parts.len() > 1 {
        parts.retain(|part| part["text"] != "" || part["thoughtSignature"].is_string());
    }
    whole["content"] = json!({"parts": parts, "role": "model"});
    out["candidates"] = json!([whole]);
    out
}

fn cases() -> Vec<PathBuf> {
    let folder = isogloss_testing::root().join("tests/golden/clients/gemini");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.to_str().unwrap().ends_with(".in.json"));
    files.sort();
    files
}

fn case(file: &PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn outcome(case: &Value, server: &str) -> Value {
    let body = case["body"].to_string();
    let exchange = match planned(case["path"].as_str().unwrap(), body.as_bytes(), server) {
        Ok(exchange) => exchange,
        Err(error) => return json!({"refused": error.message, "param": error.param}),
    };
    let sent: Value = exchange
        .sent()
        .map_or(Value::Null, |sent| serde_json::from_slice(sent).unwrap());
    let said = Said::of(&exchange, &case["says"]);
    let got = if exchange.demand.request.stream {
        let stream = streamed(&exchange, &said.stream(&exchange), 7);
        stream.map(|stream| Value::Array(replies(&stream)))
    } else {
        whole(&exchange, &said.whole(&exchange))
    };
    let got = got.unwrap_or_else(|fault| panic!("{server}: {fault:?}"));
    json!({"strategy": exchange.strategy.as_str(), "path": exchange.path(), "sent": sent,
        "losses": exchange.losses, "gets": got})
}

#[test]
fn geminis_clients_ask_every_server_and_read_its_answers() {
    let mut failures = Vec::new();
    for file in cases() {
        let case = case(&file);
        let outcomes: Map<String, Value> = (SERVERS.iter())
            .map(|server| ((*server).to_owned(), outcome(&case, server)))
            .collect();
        let text = serde_json::to_string_pretty(&Value::Object(outcomes)).unwrap() + "\n";
        let golden = PathBuf::from(file.to_str().unwrap().replace(".in.json", ".out.json"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(golden, text).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != text {
            failures.push(golden);
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn a_stream_put_together_is_the_whole_reply_however_it_was_cut() {
    for file in cases() {
        let case = case(&file);
        let mut body = case["body"].clone();
        let config = match body.get("generation_config") {
            Some(_) => "generation_config",
            None => "generationConfig",
        };
        body[config]["thinkingConfig"]["includeThoughts"] = json!(true);
        let body = body.to_string();
        for server in SERVERS {
            // Asked whole, and as a stream in both framings.
            let path = "/v1beta/models/m:generateContent";
            let exchange = planned(path, body.as_bytes(), server).unwrap();
            let said = Said::of(&exchange, &case["says"]);
            let once = whole(&exchange, &said.whole(&exchange)).unwrap();
            for target in [
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                "/v1/models/m:streamGenerateContent",
            ] {
                let exchange = planned(target, body.as_bytes(), server).unwrap();
                let bytes = said.stream(&exchange);
                let stream = streamed(&exchange, &bytes, bytes.len()).unwrap();
                assert_eq!(stream.starts_with('['), !target.contains("sse"), "{stream}");
                for width in [1, 2, 5, 64] {
                    assert_eq!(
                        streamed(&exchange, &bytes, width).unwrap(),
                        stream,
                        "{server}"
                    );
                }
                // Gemini's own wire keeps its bytes; elsewhere what is counted so far, be it nothing, is always there.
                let is_counted = |reply: &Value| reply["usageMetadata"].is_object();
                assert!(
                    server == "gemini" || replies(&stream).iter().all(is_counted),
                    "{server}: {stream}"
                );
                let mut again = folded(&replies(&stream));
                let mut once = once.clone();
                // A server's own stream has what its whole reply has not.
                for reply in [&mut again, &mut once] {
                    for part in reply["candidates"][0]["content"]["parts"]
                        .as_array_mut()
                        .unwrap()
                    {
                        part.as_object_mut().unwrap().remove("thoughtSignature");
                        // It names no call, and its bytes are kept where they can be: not in a list.
                        if let Some(call) = part["functionCall"]
                            .as_object_mut()
                            .filter(|_| server == "gemini")
                        {
                            call.remove("id");
                        }
                    }
                    let parts = reply["candidates"][0]["content"]["parts"]
                        .as_array_mut()
                        .unwrap();
                    parts.retain(|part| part["text"] != "");
                }
                assert_eq!(again, once, "{} {server} {target}", file.display());
            }
        }
    }
}

#[test]
fn a_chunk_is_one_line_however_the_model_writes_a_calls_arguments() {
    let target = "/v1beta/models/m:streamGenerateContent?alt=sse";
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    // multi-llm-ts 5 calls the model so.
    let body = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]}, {"role": "assistant", "parts": [{"text": "Hi."}]},
            {"role": "user", "parts": [{"text": "Paris?"}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": parameters}]}],
    });
    let exchange = planned(target, body.to_string().as_bytes(), "vllm@0.32.0").unwrap();
    let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
    assert_eq!(sent["messages"][1]["role"], "assistant");
    let arguments = "{\r\n  \"city\": \"Paris\u{2028}\"\n}";
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let stream = [
        chunk(
            json!({"role": "assistant", "tool_calls": [call]}),
            Value::Null,
        ),
        chunk(json!({}), json!("tool_calls")),
        "data: [DONE]\n\n".to_owned(),
    ];
    let told = streamed(&exchange, stream.concat().as_bytes(), 4096).unwrap();
    let mut calls = Vec::new();
    for event in told
        .split_terminator("\n\n")
        .map(|event| event.replace("\r\n", "\n"))
    {
        let event = event.trim();
        assert!(
            event.starts_with("data: ") && !event.contains(['\n', '\u{2028}']),
            "{event}"
        );
        let data: Value = serde_json::from_str(&event["data: ".len()..]).unwrap();
        let parts = data["candidates"][0]["content"]["parts"]
            .as_array()
            .cloned();
        calls.extend(parts.unwrap_or_default());
    }
    let call = calls
        .iter()
        .find_map(|part| part.get("functionCall"))
        .unwrap();
    assert_eq!(call["args"]["city"], "Paris\u{2028}");
}

/// google-genai's automatic function calling keeps of a turn what the last frame calls.
#[test]
fn all_calls_of_a_stream_come_with_its_end() {
    let function = |name: &str| json!({"name": name, "parameters": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}});
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [function("f"), function("g")]}]});
    let exchange = planned(
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        body.to_string().as_bytes(),
        "vllm@0.32.0",
    )
    .unwrap();
    let call = |index: u32, name: &str| {
        json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "type": "function",
            "function": {"name": name, "arguments": "{\"a\": 1}"}}]})
    };
    let deltas = [
        (
            json!({"role": "assistant", "content": "I look."}),
            Value::Null,
        ),
        (call(0, "f"), Value::Null),
        (call(1, "g"), Value::Null),
        (json!({}), json!("tool_calls")),
    ];
    let events = deltas.map(|(delta, reason)| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
        format!("data: {chunk}\n\n")
    });
    let stream = events.concat() + "data: [DONE]\n\n";
    let told = streamed(&exchange, stream.as_bytes(), 23).unwrap();
    let frames: Vec<Value> = told
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|frame| serde_json::from_str(frame).unwrap())
        .collect();
    let candidates: Vec<&Value> = frames.iter().map(|frame| &frame["candidates"][0]).collect();
    let (last, before) = candidates.split_last().unwrap();
    let parts = last["content"]["parts"].as_array().unwrap();
    let names: Vec<&Value> = parts
        .iter()
        .map(|part| &part["functionCall"]["name"])
        .collect();
    assert_eq!(names, [&json!("f"), &json!("g")], "{told}");
    assert_eq!(last["finishReason"], "STOP");
    let texts: String = before
        .iter()
        .flat_map(|frame| frame["content"]["parts"].as_array().unwrap())
        .map(|part| part["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, "I look.");
}
