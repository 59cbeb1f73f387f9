//! Replies that break the contract by their syntax, a type or a name alone come through mended,
//! and say so; what could mean two things stays refused, as does everything where repair is off.

use super::{chunk, events, planned, replay, tool};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{Ids, Repair};
use serde_json::{Value, json};
use std::sync::Arc;

/// A server that calls tools and constrains what it is told.
const NATIVE: &str = "vllm@0.32.0";
/// One that can only be told.
const TOLD: &str = "plain";

fn schema() -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {
        "type": "object", "properties": {
            "age": {"type": "integer"},
            "unit": {"enum": ["km", "mi"]},
            "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["age"], "additionalProperties": false}}}})
}

fn tools() -> Value {
    json!({"tools": [tool("get_a"), tool("other")], "tool_choice": "auto"})
}

/// What the client gets and the steps that were taken, or the rule broken.
type Told = Result<(String, String), String>;

fn rule_of(fault: Fault) -> String {
    match fault {
        Fault::Violation(violation) => violation.rule,
        Fault::Error(error) => error.to_string(),
    }
}

fn whole(exchange: &Exchange, message: &Value, finish: &str) -> Told {
    let body = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}]});
    let checks = replay::checks(exchange).unwrap();
    let body = body.to_string().into_bytes();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), &body).map_err(rule_of)?;
    let said: Value = serde_json::from_slice(&reply.body).unwrap();
    let message = &said["choices"][0]["message"];
    let said = match message["tool_calls"].get(0) {
        Some(call) => format!(
            "{} {}",
            call["function"]["name"], call["function"]["arguments"]
        ),
        None => message["content"].to_string(),
    };
    Ok((said, reply.repairs.to_string()))
}

fn content(exchange: &Exchange, text: &str) -> Told {
    whole(
        exchange,
        &json!({"role": "assistant", "content": text}),
        "stop",
    )
}

fn call(exchange: &Exchange, name: &str, arguments: &str) -> Told {
    let call =
        json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    whole(exchange, &message, "tool_calls")
}

/// The content, or the first call, of a stream whose deltas are these.
fn streamed(exchange: &Exchange, deltas: &[Value], finish: &str) -> Told {
    let mut chunks: Vec<Value> = deltas.iter().map(|delta| chunk(delta, None)).collect();
    chunks.push(chunk(&json!({}), Some(finish)));
    let checks = replay::checks(exchange).unwrap();
    let mut out = Vec::new();
    let mut stream = StreamTranslator::new(exchange, Arc::clone(&checks), Ids::new(1), 1 << 20);
    stream
        .push(&events(&chunks), &mut out)
        .and_then(|()| stream.finish(End::Eof, &mut out))
        .map_err(rule_of)?;
    let (mut text, mut name) = (String::new(), String::new());
    for event in super::chunks(std::str::from_utf8(&out).unwrap()) {
        let delta = &event["choices"][0]["delta"];
        let function = &delta["tool_calls"][0]["function"];
        name += function["name"].as_str().unwrap_or_default();
        text += delta["content"].as_str().unwrap_or_default();
        text += function["arguments"].as_str().unwrap_or_default();
    }
    let said = match name.as_str() {
        "" => json!(text).to_string(),
        name => format!("{} {}", json!(name), json!(text)),
    };
    Ok((said, stream.repairs().to_string()))
}

fn pieces(text: &str, size: usize) -> Vec<Value> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(size);
    pieces
        .map(|piece| json!({"content": piece.iter().collect::<String>()}))
        .collect()
}

fn call_pieces(name: &str, arguments: &str, size: usize) -> Vec<Value> {
    let letters: Vec<char> = arguments.chars().collect();
    let head = json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": ""}}]});
    let rest = letters.chunks(size).map(|piece| {
        let piece: String = piece.iter().collect();
        json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    });
    std::iter::once(head).chain(rest).collect()
}

fn mended(text: &str, steps: &str) -> Told {
    Ok((json!(text).to_string(), steps.to_owned()))
}

fn called(name: &str, arguments: &str, steps: &str) -> Told {
    Ok((
        format!("{} {}", json!(name), json!(arguments)),
        steps.to_owned(),
    ))
}

#[test]
fn a_whole_answer_is_mended_whatever_server_gave_it() {
    for label in [NATIVE, TOLD, "openai"] {
        let exchange = planned(label, &schema());
        for (text, meant, steps) in [
            (
                "{'age': 36,}",
                r#"{"age": 36}"#,
                "trailing_comma, single_quotes",
            ),
            (r#"{"age": "36"}"#, r#"{"age":36}"#, "number"),
            (
                r#"{"age": 36, "unit": "KM"}"#,
                r#"{"age":36,"unit":"km"}"#,
                "enum_case",
            ),
            (
                "{age: 3, 'tags': 'x'}",
                r#"{"age":3,"tags":["x"]}"#,
                "single_quotes, unquoted_key, list",
            ),
            (r#""{\"age\": 3}""#, r#"{"age": 3}"#, "double_encoded"),
            (
                r#"{"age": 3, "tags": ["x"]"#,
                r#"{"age": 3, "tags": ["x"]}"#,
                "closers",
            ),
            // What is right keeps its bytes.
            ("{\"age\" : 3.0}", "{\"age\" : 3.0}", ""),
        ] {
            assert_eq!(
                content(&exchange, text),
                mended(meant, steps),
                "{label}: {text}"
            );
        }
    }
}

#[test]
fn text_around_a_fence_is_left_out_of_an_answer_that_nothing_but_a_prompt_asked_for() {
    let exchange = planned(TOLD, &schema());
    for (text, meant, steps) in [
        (
            "Sure, a `map`! Here it is:\n\n  ```json\n{\"age\": 3}\n```\nIs it `good` enough?",
            "{\"age\": 3}",
            "prose",
        ),
        (
            "```\n{'age': 3}\n```\n\nDone.",
            "{\"age\": 3}",
            "single_quotes, prose",
        ),
        ("```json\n{\"age\": 3}\n```\n", "{\"age\": 3}", ""),
    ] {
        assert_eq!(content(&exchange, text), mended(meant, steps), "{text}");
    }
    for (text, rule) in [
        ("Sure: {\"age\": 3}", "json"),
        ("{\"age\": 3} Done.", "json"),
        ("Two:\n```\nls\n```\n```\n{\"age\": 3}\n```", "json"),
        ("One ```{\"age\": 3}```", "json"),
        // Which of the two is meant nobody knows, nor whether the first is a draft.
        ("```\n{\"age\": 3}\n```\nRather {\"age\": 4}", "json"),
        (
            "Hm.\n```\n{\"age\": 3}\n```\nNo.</think>\n{\"age\": 4}",
            "json",
        ),
        (
            "Sure. <think>So:\n```\n{\"age\": 3}\n```\n</think>{\"age\": 4}",
            "json",
        ),
        (
            "```\n{\"age\": 3}\n```\nOr:\n```\n{\"age\": 4}\n```",
            "json",
        ),
        ("Wrong:\n```\n{\"age\": \"x\"}\n```", "json"),
    ] {
        assert_eq!(content(&exchange, text), Err(rule.to_owned()), "{text}");
    }
}

#[test]
fn what_has_two_readings_stays_the_violation_that_it_was() {
    for label in [NATIVE, TOLD] {
        let exchange = planned(label, &schema());
        for (text, rule) in [
            (r#"{"age": "007"}"#, "type"),
            (r#"{"age": "36", "unit": "kilometres"}"#, "type"),
            (r#"{"age": 3, "tags": "x, y"}"#, "type"),
            ("{'age': 3, 'unit': 'it's'}", "json"),
            (r#"{"age": 3"#, "json"),
            (r#"{"age": NaN}"#, "json"),
        ] {
            assert_eq!(
                content(&exchange, text),
                Err(rule.to_owned()),
                "{label}: {text}"
            );
        }
    }
}

#[test]
fn a_call_of_the_servers_own_is_mended_with_its_name() {
    let exchange = planned(NATIVE, &tools());
    for (name, arguments, meant, steps) in [
        ("get_a", "{'a': 1}", r#"{"a": 1}"#, "single_quotes"),
        ("Get-A", "{}", "{}", "tool_name"),
        ("getA", r#"{"a": "1"}"#, r#"{"a":1}"#, "number, tool_name"),
        ("get_a", r#"{"a": 1}"#, r#"{"a": 1}"#, ""),
    ] {
        assert_eq!(
            call(&exchange, name, arguments),
            called("get_a", meant, steps),
            "{name} {arguments}"
        );
    }
    assert_eq!(
        call(&exchange, "get_b", "{}"),
        Err("tool_choice".to_owned())
    );
    assert_eq!(
        call(&exchange, "get_a", r#"{"a": "x"}"#),
        Err("type".to_owned())
    );
}

#[test]
fn a_stream_is_mended_as_it_comes_but_for_types() {
    for size in [1, 2, 5, 99] {
        let exchange = planned(TOLD, &schema());
        let text = "```json\n{'age': 36, // years\n \"tags\": [\"x\",],\n```";
        assert_eq!(
            streamed(&exchange, &pieces(text, size), "stop"),
            Err("json".to_owned()),
            "a comma, and nothing behind it"
        );
        let text = "```json\n{'age': 36, // years\n \"tags\": [\"x\",]\n```";
        assert_eq!(
            streamed(&exchange, &pieces(text, size), "stop"),
            mended(
                "{\"age\": 36, \n \"tags\": [\"x\"]\n}",
                "trailing_comma, single_quotes, comment, closers"
            )
        );
        let text = "It is this:\n\n```json\n{\"age\": 36}\n```\nGood `enough`?";
        assert_eq!(
            streamed(&exchange, &pieces(text, size), "stop"),
            mended("{\"age\": 36}", "prose")
        );
        let text = r#"{"age": "36"}"#;
        assert_eq!(
            streamed(&exchange, &pieces(text, size), "stop"),
            Err("type".to_owned())
        );

        let exchange = planned(NATIVE, &tools());
        assert_eq!(
            streamed(
                &exchange,
                &call_pieces("GetA", "{'a': 1,}", size),
                "tool_calls"
            ),
            called(
                "get_a",
                r#"{"a": 1}"#,
                "trailing_comma, single_quotes, tool_name"
            )
        );
        let right = r#"{"a": 1, "b": [1, 2]}"#;
        assert_eq!(
            streamed(&exchange, &call_pieces("get_a", right, size), "tool_calls"),
            called("get_a", right, "")
        );
    }
}

#[test]
fn a_call_that_was_asked_for_in_words_is_mended() {
    let demand = json!({"tools": [tool("get_a"), tool("other")], "tool_choice": "required"});
    let exchange = planned(TOLD, &demand);
    let text = "{'name': 'GetA', 'arguments': {'a': 1, 'b': None}";
    let meant = || {
        called(
            "get_a",
            r#"{"a": 1, "b": null}"#,
            "single_quotes, python_literal, closers, tool_name",
        )
    };
    assert_eq!(content(&exchange, text), meant());
    for size in [1, 4, 99] {
        assert_eq!(streamed(&exchange, &pieces(text, size), "stop"), meant());
    }
}

#[test]
fn a_text_that_was_cut_is_not_closed() {
    let exchange = planned(TOLD, &schema());
    let text = r#"{"age": 3, "tags": ["x"]"#;
    let message = json!({"role": "assistant", "content": text});
    assert_eq!(whole(&exchange, &message, "length"), mended(text, ""));
    for text in [text, r#"{"age": 3,"#, r#"{"age": 3, "tags": ["x\"#] {
        assert_eq!(
            streamed(&exchange, &pieces(text, 3), "length"),
            mended(text, "")
        );
    }
}

#[test]
fn a_text_that_is_right_as_text_is_not_made_a_call() {
    let exchange = planned(TOLD, &tools());
    let text = "{'name': 'get_a', 'arguments': {'a': 1}}";
    assert_eq!(content(&exchange, text), mended(text, ""));
    assert_eq!(
        streamed(&exchange, &pieces(text, 3), "stop"),
        mended(text, "")
    );
}

#[test]
fn the_operator_says_how_much_is_mended() {
    let mut exchange = planned(TOLD, &schema());
    for (level, syntax, types) in [
        (Repair::Off, Err("json".to_owned()), Err("type".to_owned())),
        (
            Repair::Syntax,
            mended(r#"{"age": 3}"#, "trailing_comma"),
            Err("type".to_owned()),
        ),
        (
            Repair::Types,
            mended(r#"{"age": 3}"#, "trailing_comma"),
            mended(r#"{"age":3}"#, "number"),
        ),
    ] {
        exchange.repair = level;
        assert_eq!(content(&exchange, r#"{"age": 3,}"#), syntax, "{level:?}");
        assert_eq!(
            streamed(&exchange, &pieces(r#"{"age": 3,}"#, 2), "stop"),
            syntax,
            "{level:?}"
        );
        assert_eq!(content(&exchange, r#"{"age": "3"}"#), types, "{level:?}");
    }
}

#[test]
fn a_repair_wins_over_a_violation_that_would_pass() {
    let mut exchange = planned(TOLD, &schema());
    exchange.passes_violations = true;
    assert_eq!(
        content(&exchange, r#"{"age": "3"}"#),
        mended(r#"{"age":3}"#, "number")
    );
    // What no repair makes right is mended as far as a stream of it would be.
    assert_eq!(
        content(&exchange, r#"{"age": "x",}"#),
        mended(r#"{"age": "x"}"#, "trailing_comma")
    );
}
