//! Clients of Responses: what they ask of servers that do not speak it, and what they get.
//!
//! `tests/golden/clients/responses/requests/<client>--<case>.in.json` is a body as a real client sent it, or one that was
//! written here; `.out.json` says what servers are asked. `replies/<case>.in.json` has a request, a server, and what that
//! says; `.out.txt` is what the client gets. `UPDATE_GOLDEN=1 cargo test -p isogloss-core --test translation responses`
//! writes the outputs anew.

use crate::replay;
use isogloss_core::dialect::client::Client;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::passage;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const PATH: &str = "/v1/responses";
const SERVERS: [&str; 3] = ["vllm@0.32.0", "llama-cpp", "plain"];

fn client() -> &'static dyn Client {
    passage::client(PATH).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let root = isogloss_testing::root().join("tests/golden/clients/responses");
    root.join(name)
}

fn inputs(name: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder(name)).unwrap();
    let mut found: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    found.retain(|path| path.to_str().unwrap().ends_with(".in.json"));
    found.sort();
    found
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn compare(path: &Path, ending: &str, actual: &str) {
    let golden = PathBuf::from(path.to_str().unwrap().replace(".in.json", ending));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(actual, expected, "{}", golden.display());
}

fn planned(request: &Value, server: &str) -> Result<Exchange, Error> {
    let demand = exchange::read(client(), PATH, request.to_string().as_bytes())?;
    exchange::plan(demand, &replay::rule(server))
}

// --- what servers are asked ----------------------------------------------------------------------

fn asked(request: &Value, server: &str) -> Value {
    match planned(request, server) {
        Err(error) => json!({"status": error.status(), "refused": error.kind.code(),
            "param": error.param, "message": error.message}),
        Ok(exchange) => json!({
            "strategy": exchange.strategy.as_str(),
            "body": serde_json::from_slice::<Value>(exchange.sent().unwrap()).unwrap(),
            "reply": format!("{:?}", exchange.plan.rewrap),
            "losses": exchange.losses,
        }),
    }
}

#[test]
fn every_request_is_written_in_the_words_of_servers() {
    for path in inputs("requests") {
        let request = json_of(&path);
        let servers = SERVERS.map(|name| (name.to_owned(), asked(&request, name)));
        let servers = Value::Object(Map::from_iter(servers));
        let text = serde_json::to_string_pretty(&servers).unwrap() + "\n";
        compare(&path, ".out.json", &text);
    }
}

#[test]
fn no_recorded_request_of_responses_is_left_out() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let clients = Path::new(&folder).join("clients");
    if !clients.is_dir() {
        println!("skipped: {} is not there", clients.display());
        return;
    }
    let known: BTreeSet<String> = inputs("requests")
        .iter()
        .map(|path| sorted(json_of(path)))
        .collect();
    let mut count = 0;
    for client in std::fs::read_dir(&clients).unwrap() {
        for file in client.unwrap().path().read_dir().into_iter().flatten() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let capture = json_of(&path);
            let alone = [capture.clone()];
            let requests = capture["requests"]
                .as_array()
                .map_or(&alone[..], Vec::as_slice);
            for request in requests {
                let request = &request["request"];
                if request["path"]
                    .as_str()
                    .is_some_and(|path| path.ends_with("/responses"))
                {
                    count += 1;
                    assert!(
                        known.contains(&sorted(request["body"].clone())),
                        "{}",
                        path.display()
                    );
                }
            }
        }
    }
    assert!(count > 30, "the captures are there: {count}");
}

fn sorted(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

// --- what clients get ----------------------------------------------------------------------------

/// A server's stream on Chat's wire: a chunk for each delta, and the finish and the counts behind them.
fn stream_of(said: &Value) -> Vec<u8> {
    let mut out = String::new();
    let mut event = |choices: Value, usage: Value| {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_750_000_000,
            "model": "served", "choices": choices, "usage": usage});
        write!(out, "data: {chunk}\n\n").unwrap();
    };
    for delta in said["deltas"].as_array().unwrap() {
        let mut choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        if let Some(logprobs) = delta.get("logprobs") {
            choice["logprobs"] = logprobs.clone();
        }
        event(json!([choice]), Value::Null);
    }
    event(
        json!([{"index": 0, "delta": {}, "finish_reason": said["finish"]}]),
        Value::Null,
    );
    event(json!([]), usage());
    out.push_str("data: [DONE]\n\n");
    out.into_bytes()
}

/// The same as one body.
fn body_of(said: &Value) -> Vec<u8> {
    let mut message = json!({"role": "assistant", "content": null});
    let mut calls: Vec<Value> = Vec::new();
    let mut logprobs = Vec::new();
    for delta in said["deltas"].as_array().unwrap() {
        for name in ["content", "reasoning_content", "refusal"] {
            if let Some(more) = delta[name].as_str() {
                message[name] = json!(message[name].as_str().unwrap_or_default().to_owned() + more);
            }
        }
        logprobs.extend(
            delta["logprobs"]["content"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
        );
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            if call["id"].is_string() {
                calls.push(call.clone());
            } else {
                let known =
                    &mut calls[call["index"].as_u64().unwrap() as usize]["function"]["arguments"];
                *known = json!(
                    known.as_str().unwrap().to_owned()
                        + call["function"]["arguments"].as_str().unwrap()
                );
            }
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut choice = json!({"index": 0, "message": message, "finish_reason": said["finish"]});
    if !logprobs.is_empty() {
        choice["logprobs"] = json!({"content": logprobs});
    }
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1_750_000_000, "model": "served",
        "choices": [choice], "usage": usage()})
    .to_string()
    .into_bytes()
}

fn usage() -> Value {
    json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 3}})
}

fn ids() -> Ids {
    Ids::new(42).at(1_700_000_000)
}

fn error(fault: &Fault) -> Error {
    match fault {
        Fault::Violation(violation) => exchange::violation_error(client(), violation),
        Fault::Error(error) => error.clone(),
    }
}

fn whole(case: &Value) -> Result<Value, String> {
    let exchange = planned(&case["request"], case["server"].as_str().unwrap()).unwrap();
    let checks = replay::checks(&exchange).unwrap();
    let reply = exchange::reply(&exchange, &checks, ids(), &body_of(&case["says"]));
    let reply =
        reply.map_err(|broken| String::from_utf8(client().error_body(&error(&broken))).unwrap())?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

fn streamed(case: &Value, cuts: &[usize]) -> String {
    let mut request = case["request"].clone();
    request["stream"] = json!(true);
    let exchange = planned(&request, case["server"].as_str().unwrap()).unwrap();
    let checks = replay::checks(&exchange).unwrap();
    let bytes = stream_of(&case["says"]);
    let mut translator = StreamTranslator::new(&exchange, checks, ids(), 1 << 20);
    let (mut out, mut from, mut outcome) = (Vec::new(), 0, Ok(()));
    for to in cuts.iter().copied().chain([bytes.len()]) {
        outcome = outcome.and_then(|()| translator.push(&bytes[from..to], &mut out));
        from = to;
    }
    let outcome = outcome.and_then(|()| translator.finish(End::Eof, &mut out));
    if let Err(broken) = outcome {
        translator.fail(&error(&broken), &mut out);
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn every_reply_is_written_in_the_clients_words() {
    for path in inputs("replies") {
        let case = json_of(&path);
        let whole = match whole(&case) {
            Ok(body) => serde_json::to_string_pretty(&body).unwrap(),
            Err(error) => error,
        };
        let text = format!("{whole}\n\n{}", streamed(&case, &[]));
        compare(&path, ".out.txt", &text);
    }
}

#[test]
fn no_cut_changes_a_stream() {
    for path in inputs("replies") {
        let case = json_of(&path);
        let uncut = streamed(&case, &[]);
        for cuts in replay::chunkings(stream_of(&case["says"]).len()) {
            assert_eq!(streamed(&case, &cuts), uncut, "{}", path.display());
        }
    }
}

/// The events of a stream; each has the name of its type.
fn events(stream: &str) -> Vec<Value> {
    let events = stream
        .split_terminator("\n\n")
        .filter(|event| !event.starts_with(':'));
    let events: Vec<Value> = events
        .map(|event| {
            let (name, data) = event
                .strip_prefix("event: ")
                .unwrap()
                .split_once('\n')
                .unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data["type"], name);
            data
        })
        .collect();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    events
}

/// What a client puts together of the deltas alone.
fn folded(events: &[Value]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    let append = |at: &mut Value, more: &Value| {
        *at = json!(at.as_str().unwrap().to_owned() + more.as_str().unwrap());
    };
    for event in events {
        let kind = event["type"].as_str().unwrap();
        let place = event["output_index"].as_u64().unwrap_or_default() as usize;
        let content = event["content_index"].as_u64().unwrap_or_default() as usize;
        if let Some(item) = items.get(place).filter(|_| event["item_id"].is_string()) {
            assert_eq!(item["id"], event["item_id"], "{event}");
        }
        match kind {
            "response.output_item.added" => {
                assert_eq!(items.len(), place);
                items.push(event["item"].clone());
            }
            "response.content_part.added" => {
                let parts = items[place]["content"].as_array_mut().unwrap();
                assert_eq!(parts.len(), content);
                parts.push(event["part"].clone());
            }
            "response.output_text.delta" => {
                let part = &mut items[place]["content"][content];
                append(&mut part["text"], &event["delta"]);
                let more = event["logprobs"].as_array().unwrap().clone();
                part["logprobs"].as_array_mut().unwrap().extend(more);
            }
            "response.reasoning_text.delta" => {
                append(
                    &mut items[place]["content"][content]["text"],
                    &event["delta"],
                );
            }
            "response.reasoning_summary_part.added" => {
                let parts = items[place]["summary"].as_array_mut().unwrap();
                assert_eq!(event["summary_index"], parts.len());
                parts.push(event["part"].clone());
            }
            "response.reasoning_summary_text.delta" => {
                append(&mut items[place]["summary"][0]["text"], &event["delta"]);
            }
            "response.reasoning_summary_text.done" => {
                assert_eq!(items[place]["summary"][0]["text"], event["text"]);
            }
            "response.reasoning_summary_part.done" => {
                assert_eq!(items[place]["summary"][0], event["part"]);
            }
            "response.refusal.delta" => {
                append(
                    &mut items[place]["content"][content]["refusal"],
                    &event["delta"],
                );
            }
            "response.function_call_arguments.delta" => {
                append(&mut items[place]["arguments"], &event["delta"])
            }
            "response.custom_tool_call_input.delta" => {
                append(&mut items[place]["input"], &event["delta"])
            }
            "response.output_text.done" => {
                assert_eq!(items[place]["content"][content]["text"], event["text"])
            }
            "response.content_part.done" => {
                assert_eq!(items[place]["content"][content], event["part"])
            }
            "response.function_call_arguments.done" => {
                assert_eq!(items[place]["arguments"], event["arguments"])
            }
            "response.custom_tool_call_input.done" => {
                assert_eq!(items[place]["input"], event["input"])
            }
            "response.output_item.done" => {
                items[place]["status"] = event["item"]["status"].clone();
                // A search for tools comes as a whole.
                if items[place]["type"] == "tool_search_call" {
                    items[place]["arguments"] = event["item"]["arguments"].clone();
                }
                assert_eq!(items[place], event["item"]);
            }
            _ => {}
        }
    }
    items
}

#[test]
fn a_stream_put_together_is_the_whole_reply() {
    let mut count = 0;
    for path in inputs("replies") {
        let case = json_of(&path);
        let Ok(whole) = whole(&case) else {
            continue;
        };
        let events = events(&streamed(&case, &[]));
        let last = events.last().unwrap();
        assert_eq!(
            last["type"],
            format!("response.{}", whole["status"].as_str().unwrap())
        );
        assert_eq!(last["response"], whole, "{}", path.display());
        assert_eq!(
            json!(folded(&events)),
            whole["output"],
            "{}",
            path.display()
        );
        assert_eq!(events[0]["type"], "response.created");
        assert_eq!(events[1]["type"], "response.in_progress");
        count += 1;
    }
    assert!(count > 8, "{count}");
}

#[test]
fn a_stream_that_goes_wrong_says_so_in_both_ways_that_clients_know() {
    let mut case = json_of(&folder("replies/calls-native-interleaved.in.json"));
    // The first call is no longer whole, so that the second one has not begun when that is found.
    case["says"]["deltas"][3]["tool_calls"][0]["function"]["arguments"] = json!("{\"a\": ");
    let events = events(&streamed(&case, &[]));
    let [.., told, failed] = events.as_slice() else {
        panic!("it ends with two events")
    };
    assert_eq!(
        (&told["type"], &told["code"]),
        (&json!("error"), &json!("constraint_violated"))
    );
    assert_eq!(told["error"]["code"], told["code"]);
    assert_eq!(failed["type"], "response.failed");
    assert_eq!(failed["response"]["status"], "failed");
    // OpenAI's list of codes is closed, and has none of ours.
    let error = &failed["response"]["error"];
    assert_eq!(error["code"], "server_error");
    assert_eq!(error["reason"], "constraint_violated");
    assert_eq!(failed["response"]["id"], events[0]["response"]["id"]);
}

#[test]
fn only_the_last_event_ends_like_the_last() {
    for path in inputs("replies") {
        let stream = streamed(&json_of(&path), &[]);
        let is_last = |event: &str| event.as_bytes().ends_with(client().end_mark());
        let ends: Vec<bool> = stream.split_terminator("\n\n").map(is_last).collect();
        let (last, rest) = ends.split_last().unwrap();
        assert!(rest.iter().all(|ends| !ends), "{}", path.display());
        assert_eq!(
            *last,
            !stream.contains("event: error"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn a_server_of_every_rule_is_asked() {
    let schema =
        json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
    let tool = json!({"type": "function", "name": "f", "parameters": schema});
    for request in [
        json!({"model": "m", "input": "How old?", "max_output_tokens": 5, "reasoning": {"effort": "low"},
            "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "a", "schema": schema}}}),
        json!({"model": "m", "input": "How old?", "tools": [tool], "tool_choice": "required", "stream": true}),
    ] {
        for name in replay::rules().names() {
            let exchange =
                planned(&request, name).unwrap_or_else(|error| panic!("{name}: {error}"));
            // A server of the same wire is sent the client's own bytes.
            let body = exchange
                .sent()
                .map(|body| String::from_utf8(body.to_vec()).unwrap());
            let body = body.unwrap_or_else(|| request.to_string());
            assert!(body.contains("How old?"), "{name}");
            // Settings are known to servers by Chat's names, and to the client by its own.
            for loss in &exchange.losses {
                let name = loss.pointer.split('/').nth(1).unwrap();
                let is_chats = [
                    "max_completion_tokens",
                    "max_tokens",
                    "reasoning_effort",
                    "verbosity",
                    "stream_options",
                ];
                assert!(!is_chats.contains(&name), "{name}: {loss:?}");
            }
        }
    }
}

#[test]
fn an_item_is_over_before_the_next_begins_whatever_is_said_behind_a_call() {
    let tool = json!({"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}});
    let request = json!({"model": "m", "input": "x", "stream": true, "tools": [tool]});
    let call = |index: u32, arguments: &str| json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "type": "function", "function": {"name": "f", "arguments": arguments}}]});
    let said = |arguments: &str| {
        let deltas = [
            call(0, "{\"a\":"),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}),
            json!({"content": "\n"}),
            json!({"content": "Then"}),
            json!({"reasoning_content": "hm"}),
            call(1, "{\"a\":2}"),
            json!({"content": "."}),
        ];
        let mut stream: String = deltas
            .map(|delta| replay::chat_event(delta, Value::Null))
            .concat();
        stream += &replay::chat_event(json!({}), json!("tool_calls"));
        stream + "data: [DONE]\n\n"
    };
    let exchange = planned(&request, "vllm@0.32.0").unwrap();
    let told = replay::streamed(&exchange, said("1}").as_bytes(), 23).unwrap();
    let events = events(&told);
    let items = events.iter().filter(|event| event["item"].is_object());
    let order: Vec<(bool, u64)> = items
        .map(|event| {
            (
                event["type"] == "response.output_item.done",
                event["output_index"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected: Vec<(bool, u64)> = (0..5)
        .flat_map(|place| [(false, place), (true, place)])
        .collect();
    assert_eq!(order, expected, "{told}");
    let output = events.last().unwrap()["response"]["output"]
        .as_array()
        .unwrap();
    let kinds: Vec<&str> = output
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "function_call",
            "message",
            "reasoning",
            "function_call",
            "message"
        ]
    );
    assert_eq!(output[1]["content"][0]["text"], "\nThen");
    // One that is cut in a call is told as cut there.
    let half: String = [call(0, "{\"a\":"), json!({"content": "\n"})]
        .map(|delta| replay::chat_event(delta, Value::Null))
        .concat();
    let half = half + &replay::chat_event(json!({}), json!("length")) + "data: [DONE]\n\n";
    let told = replay::streamed(&exchange, half.as_bytes(), 23).unwrap();
    let last = self::events(&told).pop().unwrap();
    assert_eq!(
        last["response"]["output"][0]["status"], "incomplete",
        "{told}"
    );
    // A call that is wrong is not told as whole, whatever is said behind it.
    assert!(replay::streamed(&exchange, said("\"x\"}").as_bytes(), 23).is_err());
}

#[test]
fn thoughts_come_back_where_the_client_sends_nothing_but_what_was_encrypted() {
    let thoughts = |request: &Value| {
        let exchange = planned(request, "vllm@0.32.0").unwrap();
        let checks = replay::checks(&exchange).unwrap();
        let message = json!({"role": "assistant", "reasoning_content": "Hm.", "content": "Hello."});
        let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "message": message, "finish_reason": "stop"},
        ]});
        let reply = exchange::reply(&exchange, &checks, ids(), body.to_string().as_bytes());
        let reply: Value = serde_json::from_slice(&reply.unwrap().body).unwrap();
        assert_eq!(reply.get("include"), None);
        reply["output"][0].clone()
    };
    let mut request = json!({"model": "m", "input": "hi", "store": false});
    assert_eq!(thoughts(&request).get("encrypted_content"), None);
    request["include"] = json!(["reasoning.encrypted_content"]);
    let item = thoughts(&request);
    assert_eq!(item["content"][0]["text"], "Hm.");
    // As `@ai-sdk/openai` 3 sends it back; and as it came.
    let alone =
        json!({"type": "reasoning", "summary": [], "encrypted_content": item["encrypted_content"]});
    for item in [alone, item] {
        let input = json!([
            {"role": "user", "content": "hi"}, item, {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And now?"},
        ]);
        let told = asked(
            &json!({"model": "m", "input": input, "store": false}),
            "vllm@0.32.0",
        );
        let said = &told["body"]["messages"][1];
        assert_eq!(said["reasoning"], "Hm.", "{told}");
    }
}

/// Gemini signs pieces of a text as well as its end.
#[test]
fn a_text_that_is_signed_in_its_middle_is_one_message() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    for path in [PATH, "/v1beta/interactions"] {
        let mut request = json!({"model": "m", "input": "hi", "stream": true});
        match path {
            PATH => {
                request["text"] =
                    json!({"format": {"type": "json_schema", "name": "n", "schema": schema}})
            }
            _ => request["response_format"] = json!({"type": "text", "schema": schema}),
        }
        let client = passage::client(path).unwrap();
        let demand = exchange::read(client, path, request.to_string().as_bytes()).unwrap();
        let exchange = exchange::plan(demand, &replay::rule("gemini")).unwrap();
        let chunk = |part: Value, finish: Value| {
            let candidate = json!({"content": {"role": "model", "parts": [part]}, "finishReason": finish, "index": 0});
            format!("data: {}\n\n", json!({"candidates": [candidate]}))
        };
        let stream = chunk(json!({"text": "{\"a\""}), Value::Null)
            + &chunk(
                json!({"text": ": ", "thoughtSignature": "c2lnbg=="}),
                Value::Null,
            )
            + &chunk(json!({"text": "1}"}), json!("STOP"));
        let told = replay::streamed(&exchange, stream.as_bytes(), 1000).unwrap();
        let begun = match path {
            PATH => "\"type\":\"response.content_part.added\"",
            _ => "\"step\":{\"type\":\"model_output\"}",
        };
        assert_eq!(told.matches(begun).count(), 1, "{told}");
        // It comes back with the conversation.
        let is_kept = told.contains("c2lnbg==") || told.contains("encrypted_content");
        assert!(is_kept, "{told}");
        if path != PATH {
            continue;
        }
        let mut events = told.lines().filter_map(|line| line.strip_prefix("data: "));
        let last: Value = serde_json::from_str(events.next_back().unwrap()).unwrap();
        let mut input = vec![json!({"role": "user", "content": "hi"})];
        input.extend(last["response"]["output"].as_array().unwrap().clone());
        input.push(json!({"role": "user", "content": "and?"}));
        let next = json!({"model": "m", "input": input});
        let sent = planned(&next, "gemini").unwrap();
        let sent = String::from_utf8(sent.sent().unwrap().to_vec()).unwrap();
        assert!(sent.contains("\"thoughtSignature\":\"c2lnbg==\""), "{sent}");
        assert_eq!(sent.matches("\"role\":\"model\"").count(), 1, "{sent}");
    }
}

/// Groq refuses both fields.
#[test]
fn a_loss_of_the_tokens_probabilities_names_what_asks_for_them() {
    let include = json!(["message.output_text.logprobs"]);
    for (asks, names) in [
        (json!({"include": include}), [true, false]),
        (json!({"top_logprobs": 2}), [false, true]),
        (json!({"include": include, "top_logprobs": 2}), [true, true]),
    ] {
        let mut request = json!({"model": "m", "input": "hi", "store": false});
        for (name, value) in asks.as_object().unwrap() {
            request[name] = value.clone();
        }
        let exchange = planned(&request, "groq").unwrap();
        let told = ["/include", "/top_logprobs"]
            .map(|at| exchange.losses.iter().any(|loss| loss.pointer == at));
        assert_eq!(told, names, "{asks}: {:?}", exchange.losses);
    }
}
