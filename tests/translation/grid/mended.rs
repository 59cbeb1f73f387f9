//! What lying servers were found to get past the faces of other dialects than Chat, one by one.

use super::{demands, heard, planned};
use crate::replay;
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_testing::adversary::clients::Dialect;
use serde_json::{Value, json};

fn asked(dialect: Dialect, id: &str, label: &str, stream: bool) -> Exchange {
    let all = demands(dialect);
    let demand = all.iter().find(|demand| demand.id.ends_with(id)).unwrap();
    planned(demand, label, stream).unwrap()
}

fn streamed(exchange: &Exchange, events: &[(&str, Value)]) -> Result<Vec<u8>, Fault> {
    let checks = replay::checks(exchange).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    for (name, event) in events {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("event: {name}\n")
        };
        translator.push(format!("{name}data: {event}\n\n").as_bytes(), &mut out)?;
    }
    translator.finish(End::Eof, &mut out).map(|()| out)
}

fn whole(exchange: &Exchange, body: &Value) -> Result<Value, Fault> {
    let checks = replay::checks(exchange).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

#[test]
fn a_text_in_the_middle_of_a_call_does_not_cut_it_for_gemini() {
    let exchange = asked(Dialect::Gemini, "auto two", "openai", true);
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        (
            "",
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}),
        )
    };
    let call = |call: Value| json!({"tool_calls": [call]});
    let input = |text: &str| call(json!({"index": 0, "function": {"arguments": text}}));
    let start = json!({"index": 0, "id": "a", "type": "function", "function": {"name": "g", "arguments": ""}});
    let events = [
        chunk(call(start), Value::Null),
        chunk(input("{\"age\""), Value::Null),
        chunk(json!({"content": "Hm."}), Value::Null),
        chunk(input(":36}"), Value::Null),
        chunk(json!({}), json!("tool_calls")),
    ];
    let heard = heard(
        Dialect::Gemini,
        &streamed(&exchange, &events).unwrap(),
        true,
    );
    let choice = &heard.choices[&0];
    assert_eq!(
        (choice.content.as_str(), choice.calls[0].1.input.as_str()),
        ("Hm.", "{\"age\":36}")
    );
    assert_eq!(choice.calls.len(), 1);
}

#[test]
fn a_refusal_is_no_answer_where_clients_could_not_tell_it_apart() {
    let refused = |content: Value| {
        let message = json!({"role": "assistant", "content": content, "refusal": "n"});
        json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    };
    let exchange = asked(Dialect::OllamaChat, "schema person", "groq", false);
    for content in [json!("{\"name\":\"Ada\",\"age\":36}"), Value::Null] {
        let got = whole(&exchange, &refused(content));
        assert!(matches!(got, Err(Fault::Violation(_))), "{got:?}");
    }
    // Where nothing is demanded it is what the model says.
    let free = asked(Dialect::OllamaChat, "auto two", "groq", false);
    assert_eq!(
        whole(&free, &refused(Value::Null)).unwrap()["message"]["content"],
        "n"
    );
    // And where there is a word for it, it excuses an answer that is not there.
    let told = asked(Dialect::Responses, "schema person", "groq", false);
    let told = whole(&told, &refused(Value::Null)).unwrap();
    assert_eq!(told["output"][0]["content"][0]["refusal"], "n");
}

#[test]
fn a_text_outside_of_every_block_is_none_that_clients_agree_on() {
    let exchange = asked(Dialect::Messages, "schema person", "anthropic", true);
    let answer = "{\"name\":\"Ada\",\"age\":36}";
    let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 0}});
    let event = |name: &'static str, mut more: Value| {
        more["type"] = json!(name);
        (name, more)
    };
    let text = |text: &str| json!({"index": 0, "delta": {"type": "text_delta", "text": text}});
    let right = [
        event("message_start", json!({"message": message})),
        event(
            "content_block_start",
            json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        event("content_block_delta", text(answer)),
        event("content_block_stop", json!({"index": 0})),
        event(
            "message_delta",
            json!({"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        ),
        event("message_stop", json!({})),
    ];
    let got = heard(
        Dialect::Messages,
        &streamed(&exchange, &right).unwrap(),
        true,
    );
    assert_eq!(got.choices[&0].content, answer);
    let mut late = right;
    late.swap(2, 3);
    assert!(
        streamed(&exchange, &late).is_err(),
        "the text comes behind its block"
    );
}

#[test]
fn a_line_of_ollamas_own_that_lets_a_violation_pass_says_so() {
    let mut exchange = asked(Dialect::OllamaChat, "schema person", "ollama-native", true);
    exchange.passes_violations = true;
    let checks = replay::checks(&exchange).unwrap();
    let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    for (content, done) in [("{\"name\":", false), ("\"Ada\"}", false), ("", true)] {
        let mut line = json!({"model": "m", "created_at": "2026-11-22T00:00:00Z",
            "message": {"role": "assistant", "content": content}, "done": done});
        if done {
            line["done_reason"] = json!("stop");
        }
        translator
            .push(format!("{line}\n").as_bytes(), &mut out)
            .unwrap();
    }
    translator.finish(End::Eof, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.lines()
            .last()
            .unwrap()
            .contains(Dialect::OllamaChat.tells()),
        "{text}"
    );
}
