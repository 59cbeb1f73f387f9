//! What comes back: whole and streamed, from servers of Chat's wire and of its own.

use super::{asked, beside, files, folder, planned, whole};
use crate::golden::compare;
use crate::replay::{self, Recorded, rule};
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::messages::client::Messages;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{Ids, Seal};
use isogloss_core::passage;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

#[test]
fn replies_come_back_as_messages_in_any_chunking() {
    let mut failures = Vec::new();
    let inputs = files(&folder().join("replies"), ".in.http");
    assert!(inputs.len() > 40, "the recordings are there");
    for input in &inputs {
        let server = input.parent().unwrap().file_name().unwrap();
        let rule = rule(server.to_str().unwrap());
        let request = std::fs::read(beside(input, ".in.http", ".request.json")).unwrap();
        let exchange = planned(&request, &rule).unwrap();
        let recorded = Recorded::read(&std::fs::read(input).unwrap());
        let text = replay::whole(&exchange, &rule, &recorded);
        compare(&beside(input, ".in.http", ".out.txt"), &text, &mut failures);
        for chunking in replay::chunkings(recorded.body.len()) {
            let cut = replay::cut(&exchange, &rule, &recorded, &chunking);
            assert_eq!(cut, text, "{} cut at {chunking:?}", input.display());
        }
        // What is written of a stream is what its clients put together, and the same as the whole.
        let sibling = beside(input, "-stream.in.http", ".in.http");
        if recorded.streamed && sibling != *input && sibling.exists() && text.ends_with("\n\n") {
            let whole = Recorded::read(&std::fs::read(&sibling).unwrap());
            let whole = replay::whole(&exchange, &rule, &whole);
            let whole: Value = serde_json::from_str(&whole).unwrap();
            assert_eq!(said(&folded(&text)), said(&whole), "{}", input.display());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The message that Anthropic's SDK puts together of a stream, which is as strict as it is: events in their order,
/// blocks in theirs, each piece of the kind of its block.
fn folded(stream: &str) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    let mut open = None;
    let mut is_over = false;
    for event in stream
        .split_terminator("\n\n")
        .filter(|event| !event.starts_with(':'))
    {
        assert!(!is_over, "nothing comes behind the end: {stream}");
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(
            name.strip_prefix("event: "),
            data["type"].as_str(),
            "{stream}"
        );
        let at = usize::try_from(data["index"].as_u64().unwrap_or_default()).unwrap();
        match data["type"].as_str().unwrap() {
            "ping" => {}
            "message_start" => {
                assert!(message.is_null());
                message = data["message"].clone();
            }
            "content_block_start" => {
                assert_eq!(open.replace(at), None, "one block at a time: {stream}");
                let content = message["content"].as_array_mut().unwrap();
                assert_eq!(content.len(), at);
                content.push(data["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => {
                assert_eq!(open, Some(at), "{stream}");
                let block = &mut message["content"][at];
                let (delta, kind) = (&data["delta"], block["type"].clone());
                let (kind_of_delta, name, member) = match kind.as_str().unwrap() {
                    "text" => ("text_delta", "text", "text"),
                    "tool_use" | "server_tool_use" => ("input_json_delta", "partial_json", "input"),
                    "thinking" if delta["type"] == "signature_delta" => {
                        ("signature_delta", "signature", "signature")
                    }
                    "thinking" => ("thinking_delta", "thinking", "thinking"),
                    other => panic!("{other} has no pieces"),
                };
                assert_eq!(delta["type"], kind_of_delta);
                let more = delta[name].as_str().unwrap();
                match member {
                    "input" => inputs[at].push_str(more),
                    member => {
                        let known = block[member].as_str().unwrap().to_owned();
                        block[member] = json!(known + more);
                    }
                }
            }
            "content_block_stop" => {
                assert_eq!(open.take(), Some(at), "{stream}");
                if let Ok(input) = serde_json::from_str::<Value>(&inputs[at]) {
                    message["content"][at]["input"] = input;
                }
            }
            "message_delta" => {
                assert_eq!(open, None, "{stream}");
                message["stop_reason"] = data["delta"]["stop_reason"].clone();
                message["stop_sequence"] = data["delta"]["stop_sequence"].clone();
                for (name, count) in data["usage"].as_object().unwrap() {
                    message["usage"][name] = count.clone();
                }
            }
            "message_stop" => is_over = true,
            other => panic!("{other}: {stream}"),
        }
    }
    assert!(is_over, "{stream}");
    message
}

/// What a client goes by.
fn said(message: &Value) -> Value {
    json!([
        message["type"],
        message["role"],
        message["model"],
        message["content"],
        message["stop_reason"],
        message["stop_sequence"],
        message["usage"]["output_tokens"],
    ])
}

fn streamed(exchange: &Exchange, body: &[u8], cuts: &[usize]) -> (String, Option<Fault>) {
    let checks = replay::checks(exchange).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(42).at(1), 1 << 20);
    let (mut out, mut from) = (Vec::new(), 0);
    let mut outcome = Ok(());
    for to in cuts.iter().copied().chain([body.len()]) {
        outcome = outcome.and_then(|()| translator.push(&body[from..to], &mut out));
        from = to;
    }
    let outcome = outcome.and_then(|()| translator.finish(End::Eof, &mut out));
    (String::from_utf8(out).unwrap(), outcome.err())
}

// --- whole and streamed are the same -------------------------------------------------------------

/// One reply of a server of Chat's wire, before it is written in either form.
#[derive(Debug, Clone)]
struct Reply {
    reasoning: String,
    content: String,
    calls: Vec<(String, String)>,
    finish: &'static str,
}

fn replies() -> impl Strategy<Value = Reply> {
    let text = select(vec![
        "",
        "hi é😀",
        "{\"a\": 1}",
        "{\"a\": \"x\"}",
        "{\"name\": \"g\", \"arguments\": {\"a\": 2}}",
        "<think>x</think>{\"a\":1}",
        "{\"a\"",
    ]);
    let call = (
        select(vec!["f", "g", "h"]),
        select(vec!["{\"a\": 1}", "{\"a\":\"}\\\"\"}", "", "{}"]),
    );
    let calls = prop::collection::vec(
        call.prop_map(|(name, input)| (name.to_owned(), input.to_owned())),
        0..3,
    );
    (
        select(vec!["", "hm\n"]),
        text,
        calls,
        select(vec!["stop", "tool_calls", "length", "content_filter"]),
    )
        .prop_map(|(reasoning, content, calls, finish)| Reply {
            reasoning: reasoning.to_owned(),
            content: content.to_owned(),
            calls,
            finish,
        })
}

fn demands() -> Vec<Value> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let tool = |name: &str| json!({"name": name, "input_schema": schema});
    let format = json!({"format": {"type": "json_schema", "schema": schema}});
    let all = [
        json!({}),
        json!({"output_config": format}),
        json!({"tools": [tool("f"), tool("g")]}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": {"type": "none"}}),
        json!({"tools": [tool("f")], "tool_choice": {"type": "any"}}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": {"type": "any"}}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": {"type": "any", "disable_parallel_tool_use": false}}),
        json!({"tools": [tool("f")], "tool_choice": {"type": "tool", "name": "f"}}),
        json!({"tools": [tool("f")], "output_config": format}),
    ];
    let base =
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
    let full = |demand: &Value| {
        let mut full = base.clone();
        full.as_object_mut()
            .unwrap()
            .extend(demand.as_object().unwrap().clone());
        full
    };
    all.iter().map(full).collect()
}

fn whole_chat(reply: &Reply) -> Value {
    let calls: Vec<Value> = (reply.calls.iter().enumerate())
        .map(|(at, (name, input))| json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": input}}))
        .collect();
    let mut message = json!({"role": "assistant", "content": reply.content, "reasoning_content": reply.reasoning});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
}

/// The calls' inputs come mixed where they are several.
fn chunks(reply: &Reply) -> Vec<u8> {
    let mut body = String::new();
    let mut chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        body += &format!(
            "data: {}\n\n",
            json!({"id": "x", "model": "m", "choices": [choice]})
        );
    };
    chunk(json!({"role": "assistant", "content": ""}), None);
    let pieces = |text: &str| {
        text.chars()
            .collect::<Vec<_>>()
            .chunks(3)
            .map(|piece| piece.iter().collect::<String>())
            .collect::<Vec<_>>()
    };
    for piece in pieces(&reply.reasoning) {
        chunk(json!({"reasoning_content": piece}), None);
    }
    for piece in pieces(&reply.content) {
        chunk(json!({"content": piece}), None);
    }
    for (at, (name, _)) in reply.calls.iter().enumerate() {
        let call = json!({"index": at, "id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": ""}});
        chunk(json!({"tool_calls": [call]}), None);
    }
    for step in 0..9 {
        for (at, (_, input)) in reply.calls.iter().enumerate() {
            if let Some(piece) = pieces(input).get(step) {
                chunk(
                    json!({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}),
                    None,
                );
            }
        }
    }
    chunk(json!({}), Some(reply.finish));
    body += "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    body.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_stream_put_together_is_the_whole_reply_however_it_is_cut(
        reply in replies(),
        demand in select(demands()),
        server in select(vec!["vllm@0.32.0", "llama-cpp", "plain"]),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        let exchange = asked(&demand, server);
        let whole = whole(&exchange, &whole_chat(&reply));
        let body = chunks(&reply);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len())).collect();
        cuts.sort_unstable();
        let (stream, fault) = streamed(&exchange, &body, &cuts);
        prop_assert_eq!(&stream, &streamed(&exchange, &body, &[]).0);
        match (whole, fault) {
            (Ok(whole), None) => {
                let mut folded = said(&folded(&stream));
                let mut whole = said(&whole);
                if reply.finish == "length" || reply.finish == "content_filter" {
                    // What is cut in its middle is no input of a whole message.
                    for blocks in [&mut folded[3], &mut whole[3]] {
                        for block in blocks.as_array_mut().unwrap() {
                            block["input"] = Value::Null;
                        }
                    }
                }
                prop_assert_eq!(folded, whole, "{}", stream);
            }
            // What is mended in a whole reply may have gone out already in a stream.
            (Ok(_), Some(Fault::Violation(_))) => {}
            (Err(Fault::Violation(_)), Some(Fault::Violation(_))) => {}
            (whole, fault) => prop_assert!(false, "{:?} {:?}\n{}", whole, fault, stream),
        }
    }
}

// --- ends and errors -----------------------------------------------------------------------------

#[test]
fn each_end_has_its_word() {
    let exchange = asked(&demands()[0], "vllm@0.32.0");
    for (finish, word) in [
        ("stop", "end_turn"),
        ("eos_token", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "end_turn"),
        ("odd", "odd"),
    ] {
        let choice = json!({"index": 0, "message": {"content": "hi"}, "finish_reason": finish});
        let reply = whole(&exchange, &json!({"choices": [choice]})).unwrap();
        assert_eq!(reply["stop_reason"], word, "{finish}");
    }
    let choice = json!({"index": 0, "message": {"content": null, "refusal": "No."}, "finish_reason": "stop"});
    let reply = whole(&exchange, &json!({"choices": [choice]})).unwrap();
    assert_eq!(reply["stop_reason"], "refusal");
    assert_eq!(
        reply["content"],
        json!([{"type": "text", "text": "No.", "citations": []}])
    );
}

#[test]
fn an_error_has_anthropics_shape_and_the_type_of_its_status() {
    for (error, kind) in [
        (
            Error::new(Kind::InvalidRequest, "x").at("max_tokens"),
            "invalid_request_error",
        ),
        (Error::new(Kind::UpstreamAuth, "x"), "authentication_error"),
        (
            Error::new(Kind::UpstreamRefused, "x").with_status(403),
            "permission_error",
        ),
        (Error::new(Kind::ModelNotFound, "x"), "not_found_error"),
        (Error::new(Kind::BodyTooLarge, "x"), "request_too_large"),
        (Error::new(Kind::RateLimited, "x"), "rate_limit_error"),
        (
            Error::new(Kind::UpstreamRateLimited, "x"),
            "rate_limit_error",
        ),
        (Error::new(Kind::Overloaded, "x"), "overloaded_error"),
        (Error::new(Kind::UpstreamTimeout, "x"), "timeout_error"),
        (Error::new(Kind::ConstraintViolated, "x"), "api_error"),
        (Error::new(Kind::Internal, "x"), "api_error"),
    ] {
        let message = error
            .param
            .as_ref()
            .map_or("x".to_owned(), |param| format!("{param}: x"));
        let wanted = json!({"type": "error", "error": {"type": kind, "message": message}});
        let body: Value = serde_json::from_slice(&Messages.error_body(&error)).unwrap();
        assert_eq!(body, wanted);
        let event = String::from_utf8(Messages.error_event(&error)).unwrap();
        assert_eq!(event, format!("event: error\ndata: {wanted}\n\n"));
    }
}

/// The same, asked for with thoughts.
fn thinks(mut demand: Value) -> Value {
    demand["thinking"] = json!({"type": "adaptive"});
    demand
}

/// As Anthropic's own servers tell none: the first block is the answer.
#[test]
fn who_asks_for_no_thoughts_is_told_none() {
    let said = json!({"index": 0, "message": {"content": "hi", "reasoning_content": "hm"}, "finish_reason": "stop"});
    let mut demand = demands()[0].clone();
    for thinking in [Value::Null, json!({"type": "disabled"})] {
        demand["thinking"] = thinking;
        let exchange = asked(&demand, "vllm@0.32.0");
        let reply = whole(&exchange, &json!({"choices": [said]})).unwrap();
        assert_eq!(
            reply["content"],
            json!([{"type": "text", "text": "hi", "citations": []}])
        );
        let chunk = |delta: Value, finish: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            format!("data: {}\n\n", json!({"choices": [choice]}))
        };
        let body = chunk(json!({"reasoning": "hm"}), Value::Null)
            + &chunk(json!({"content": "hi"}), Value::Null)
            + &chunk(json!({}), json!("stop"))
            + "data: [DONE]\n\n";
        let (stream, fault) = streamed(&exchange, body.as_bytes(), &[]);
        assert_eq!(fault, None);
        assert_eq!(folded(&stream)["content"], reply["content"], "{stream}");
    }
}

#[test]
fn a_thought_comes_back_with_a_signature_that_is_known_when_it_returns() {
    let demand = thinks(demands()[0].clone());
    let said = json!({"index": 0, "message": {"content": "hi", "reasoning_content": "hm"}, "finish_reason": "stop"});
    let exchange = asked(&demand, "vllm@0.32.0");
    let reply = whole(&exchange, &json!({"choices": [said]})).unwrap();
    let mut next = demand;
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": reply["content"]}));
    messages.push(json!({"role": "user", "content": "Go on."}));
    let exchange = asked(&next, "vllm@0.32.0");
    let turn = &super::sent(&exchange)["messages"][1];
    assert_eq!(
        turn,
        &json!({"role": "assistant", "content": "hi", "reasoning": "hm"})
    );
    assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
}

/// A conversation that has this thought in it.
fn thinking(block: &Value) -> Value {
    let mut next = demands()[0].clone();
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [block, {"type": "text", "text": "hi"}]}));
    messages.push(json!({"role": "user", "content": "Go on."}));
    next
}

#[test]
fn a_thought_goes_back_in_the_servers_own_words_or_is_told_as_lost() {
    let signature = Seal::default().sign("hm");
    let ours = thinking(&json!({"type": "thinking", "thinking": "hm", "signature": signature}));
    for (server, name) in [
        ("vllm@0.11.0", "reasoning_content"),
        ("vllm@0.12.0", "reasoning"),
        ("vllm@0.32.0", "reasoning"),
        ("sglang@0.5.23", "reasoning_content"),
        ("groq", "reasoning"),
        ("ollama-native", "thinking"),
    ] {
        let exchange = asked(&ours, server);
        let turn = &super::sent(&exchange)["messages"][1];
        assert_eq!(turn[name], "hm", "{server}: {turn}");
        assert!(
            exchange.losses.is_empty(),
            "{server}: {:?}",
            exchange.losses
        );
    }
    for server in ["openai", "mistral"] {
        let exchange = asked(&ours, server);
        let turn = &super::sent(&exchange)["messages"][1];
        assert_eq!(
            turn,
            &json!({"role": "assistant", "content": "hi"}),
            "{server}"
        );
        let lost: Vec<_> = exchange.losses.iter().map(|loss| &loss.pointer).collect();
        assert_eq!(lost, ["/messages/1/content/0"], "{server}");
    }
}

#[test]
fn a_thought_that_was_not_signed_here_is_lost_and_never_an_error() {
    let signature = Seal::default().sign("hm");
    let foreign = Seal::of_secret("the key of somebody else").sign("hm");
    for block in [
        json!({"type": "thinking", "thinking": "ha", "signature": signature}),
        json!({"type": "thinking", "thinking": "hm", "signature": foreign}),
        json!({"type": "thinking", "thinking": "hm", "signature": ""}),
        json!({"type": "thinking", "thinking": "hm"}),
        json!({"type": "thinking", "thinking": "hm", "signature": "EqQBCgIYAhIM"}),
        json!({"type": "redacted_thinking", "data": "EmwKAhgB"}),
    ] {
        let exchange = asked(&thinking(&block), "vllm@0.32.0");
        let turn = &super::sent(&exchange)["messages"][1];
        assert_eq!(
            turn,
            &json!({"role": "assistant", "content": "hi"}),
            "{block}"
        );
        let lost: Vec<_> = exchange.losses.iter().map(|loss| &loss.pointer).collect();
        assert_eq!(lost, ["/messages/1/content/0"], "{block}");
    }
    // Its own server made these, or a gateway to it.
    for block in [
        json!({"type": "thinking", "thinking": "hm", "signature": "EqQBCgIYAhIM"}),
        json!({"type": "redacted_thinking", "data": "EmwKAhgB"}),
    ] {
        let body = thinking(&block);
        assert!(
            asked(&body, "anthropic").sent().is_none(),
            "bytes go through"
        );
        let exchange = asked(&body, "plain");
        let turn = &super::sent(&exchange)["messages"][1];
        assert_eq!(turn["thinking_blocks"], json!([block]));
        assert_eq!(turn.get("reasoning_content"), None);
    }
}

#[test]
fn a_stream_signs_what_it_thought() {
    let exchange = asked(&thinks(demands()[0].clone()), "vllm@0.32.0");
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let body = chunk(json!({"reasoning": "h"}), Value::Null)
        + &chunk(json!({"reasoning": "m"}), Value::Null)
        + &chunk(json!({"content": "hi"}), Value::Null)
        + &chunk(json!({}), json!("stop"))
        + "data: [DONE]\n\n";
    let (stream, fault) = streamed(&exchange, body.as_bytes(), &[]);
    assert_eq!(fault, None);
    let signature = Seal::default().sign("hm");
    let wanted = json!({"type": "thinking", "thinking": "hm", "signature": signature});
    assert_eq!(folded(&stream)["content"][0], wanted, "{stream}");
}

#[test]
fn the_text_that_ended_a_reply_is_named_where_the_server_tells_it() {
    let mut demand = demands()[0].clone();
    demand["stop_sequences"] = json!(["END", "HALT"]);
    let rows: [(&str, &str, Value, Value); 6] = [
        ("vllm@0.32.0", "stop_reason", json!("HALT"), json!("HALT")),
        ("sglang@0.5.23", "matched_stop", json!("END"), json!("END")),
        // A token's number, an end that was not asked for, and another server's field.
        ("vllm@0.32.0", "stop_reason", json!(128_009), Value::Null),
        ("vllm@0.32.0", "stop_reason", Value::Null, Value::Null),
        ("vllm@0.32.0", "stop_reason", json!("</s>"), Value::Null),
        ("sglang@0.5.23", "stop_reason", json!("END"), Value::Null),
    ];
    for (server, name, said, wanted) in rows {
        let exchange = asked(&demand, server);
        let choice =
            json!({"index": 0, "message": {"content": "hi"}, "finish_reason": "stop", name: said});
        let reply = whole(&exchange, &json!({"choices": [choice]})).unwrap();
        let part =
            json!({"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop", name: said});
        let body = format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [part]}));
        let (stream, _) = streamed(&exchange, body.as_bytes(), &[]);
        let word = match wanted {
            Value::Null => "end_turn",
            _ => "stop_sequence",
        };
        for message in [reply, folded(&stream)] {
            assert_eq!(message["stop_reason"], word, "{server} {said}: {message}");
            assert_eq!(message["stop_sequence"], wanted, "{server} {said}");
        }
    }
}

#[test]
fn what_breaks_the_demand_is_told_in_its_words() {
    let exchange = asked(&demands()[1], "plain");
    let choice =
        json!({"index": 0, "message": {"content": "{\"a\": \"x\"}"}, "finish_reason": "stop"});
    let Err(Fault::Violation(violation)) = whole(&exchange, &json!({"choices": [choice]})) else {
        panic!("it passed")
    };
    let error = exchange::violation_error(&Messages, &violation);
    assert_eq!(error.param.as_deref(), Some("content.text"));
    assert!(error.message.contains("(max_tokens)"), "{error}");
    for (path, field) in [
        ("/v1/chat/completions", "max_completion_tokens"),
        ("/v1/completions", "max_tokens"),
        ("/v1/responses", "max_output_tokens"),
        ("/v1/messages", "max_tokens"),
        (
            "/v1beta/models/m:generateContent",
            "generationConfig.maxOutputTokens",
        ),
        ("/api/chat", "options.num_predict"),
        ("/api/generate", "options.num_predict"),
    ] {
        let client = passage::client(path).unwrap();
        let error = exchange::violation_error(client, &violation);
        assert!(
            error.message.contains(&format!("({field})")),
            "{path}: {error}"
        );
    }
}
