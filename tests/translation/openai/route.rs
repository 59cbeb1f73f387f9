//! A model that takes tools on `/v1/responses` alone: whoever asks is asked there for it, in that route's words, and
//! has the reply in its own.

use super::{CHAT, MESSAGES, chat, learnt, lost, messages, planned, sent};
use crate::replay::{checks, rule};
use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::ir::{Ids, Place, Violation};
use serde_json::{Value, json};

const RESPONSES: &str = "/v1/responses";
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// gpt-5.6 (BerriAI/litellm#34569): it thinks where it is told nothing.
fn no_tools_here(path: &str, body: &Value) -> Option<String> {
    let is_refused =
        path == CHAT && body.get("tools").is_some() && body["reasoning_effort"] != "none";
    is_refused.then(|| "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.".to_owned())
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

fn function() -> Value {
    json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": schema()}})
}

/// What the route is told of it.
fn flat() -> Value {
    json!({"type": "function", "name": "f", "description": "d", "parameters": schema(), "strict": false})
}

#[test]
fn the_request_that_was_refused_is_asked_there_at_once_whoever_asks() {
    let tools = json!([function()]);
    let gemini = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": schema()}]}],
    });
    for (path, body) in [
        (CHAT, chat(&json!({"tools": tools}))),
        (
            MESSAGES,
            messages(
                &json!({"tools": [{"name": "f", "description": "d", "input_schema": schema()}]}),
            ),
        ),
        ("/v1beta/models/m:generateContent", gemini),
        ("/api/chat", chat(&json!({"tools": tools, "stream": false}))),
    ] {
        let (known, exchange) = learnt((path, &body), no_tools_here);
        assert_eq!(known, ["tools_on_responses"], "{path}");
        let sent = sent(&body, &exchange);
        assert_eq!(exchange.path(), RESPONSES);
        assert_eq!(sent["tools"], json!([flat()]), "{path}");
        let said = json!([{"type": "message", "role": "user", "content": "hi"}]);
        assert_eq!((&sent["input"], &sent["store"]), (&said, &json!(false)));
        assert_eq!(exchange.losses, [], "{path}");
    }
}

#[test]
fn what_asks_for_no_tools_stays_where_it_is_and_says_all_that_it_could() {
    let moved = rule("openai+tools_on_responses");
    let body = chat(&json!({"stop": ["a"], "seed": 1, "n": 2}));
    let exchange = planned(CHAT, &body, &moved);
    assert!(exchange.sent().is_none() && exchange.losses.is_empty());
    let all = rule("openai+only_on_responses");
    let exchange = planned(CHAT, &chat(&json!({"stop": ["a"], "seed": 1})), &all);
    assert_eq!(exchange.path(), RESPONSES);
    assert_eq!(lost(&exchange), ["/stop", "/seed"]);
}

#[test]
fn who_asks_on_that_route_is_asked_as_before() {
    let tool = json!({"type": "function", "name": "f", "parameters": schema(), "strict": false});
    let format = json!({"format": {"type": "json_schema", "name": "x", "schema": schema()}});
    for more in [
        json!({"tools": [tool]}),
        json!({"text": format}),
        json!({"tools": [tool], "tool_choice": "required"}),
    ] {
        let mut body = json!({"model": "m", "input": "hi", "temperature": 0.5});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        for fact in ["tools_on_responses", "only_on_responses"] {
            let before = planned(RESPONSES, &body, &rule("openai"));
            let after = planned(RESPONSES, &body, &rule(&format!("openai+{fact}")));
            assert_eq!(before.sent(), after.sent());
            assert!(after.sent().is_none() && after.losses.is_empty());
        }
    }
}

/// Two rounds of calls, one of a custom tool, and much else.
fn conversation() -> Value {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"city\":\"Bonn\"}"}});
    let image = format!("data:image/png;base64,{PNG}");
    json!([
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "In French."},
        {"role": "user", "content": [
            {"type": "text", "text": "Where?"},
            {"type": "image_url", "image_url": {"url": image}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        ]},
        {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [call("c1"), {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "sun"},
        {"role": "tool", "tool_call_id": "c2", "content": "y"},
        {"role": "assistant", "content": "It shines."},
        {"role": "user", "content": "And?"},
    ])
}

#[test]
fn a_conversation_stands_there_in_items() {
    let grammar = json!({"type": "grammar", "grammar": {"syntax": "regex", "definition": "x+"}});
    let custom = json!({"type": "custom", "custom": {"name": "g", "format": grammar}});
    let mut body = chat(&json!({
        "tools": [function(), custom], "parallel_tool_calls": false,
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
            {"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "g"}}]}},
        "max_completion_tokens": 900, "temperature": 0.5, "top_p": 0.5, "stream": true, "stream_options": {"include_usage": true},
        "reasoning_effort": "high", "verbosity": "low", "logprobs": true, "top_logprobs": 2,
        "metadata": {"a": "b"}, "service_tier": "flex", "safety_identifier": "u", "prompt_cache_key": "k",
    }));
    body["messages"] = conversation();
    let exchange = planned(CHAT, &body, &rule("openai+tools_on_responses"));
    let image = format!("data:image/png;base64,{PNG}");
    let expected = json!({
        "model": "m",
        "input": [
            {"type": "message", "role": "system", "content": "Be brief."},
            {"type": "message", "role": "developer", "content": "In French."},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Where?"},
                {"type": "input_image", "image_url": image},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
            ]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"city\":\"Bonn\"}"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "x"},
            {"type": "function_call_output", "call_id": "c1", "output": "sun"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "y"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It shines."}]},
            {"type": "message", "role": "user", "content": "And?"},
        ],
        "tools": [flat(), {"type": "custom", "name": "g", "format": {"type": "grammar", "syntax": "regex", "definition": "x+"}}],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "g"}]},
        "parallel_tool_calls": false,
        "max_output_tokens": 900, "temperature": 0.5, "top_p": 0.5, "stream": true, "store": false,
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"verbosity": "low"},
        "include": ["message.output_text.logprobs"], "top_logprobs": 2,
        "metadata": {"a": "b"}, "service_tier": "flex", "safety_identifier": "u", "prompt_cache_key": "k",
    });
    assert_eq!(sent(&body, &exchange), expected);
    // Its own names for thoughts are nothing that a client of another dialect kept.
    assert_eq!(lost(&exchange), ["/messages/3/reasoning_content"]);
}

#[test]
fn an_answers_form_and_tools_go_there_together() {
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}});
    let body = chat(&json!({"tools": [function()], "response_format": format}));
    let exchange = planned(CHAT, &body, &rule("openai+tools_on_responses"));
    let stated = json!({"type": "json_schema", "name": "x", "schema": schema()});
    assert_eq!(sent(&body, &exchange)["text"], json!({"format": stated}));
    assert_eq!(exchange.strategy.as_str(), "native");
    let body = chat(&json!({"tools": [function()], "response_format": {"type": "json_object"}}));
    let exchange = planned(CHAT, &body, &rule("openai+tools_on_responses"));
    let sent = sent(&body, &exchange);
    assert_eq!(sent["text"], json!({"format": {"type": "json_object"}}));
    let told = sent["input"][0]["content"].as_str().unwrap();
    assert!(told.contains("JSON"), "it is a 400 without the word");
}

#[test]
fn what_that_route_cannot_be_told_is_a_loss_or_refused() {
    let tools = json!({"tools": [function()]});
    let with = |more: &Value| {
        let mut body = chat(&tools);
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let moved = rule("openai+tools_on_responses");
    for (more, at) in [
        (json!({"stop": "a"}), "/stop"),
        (json!({"seed": 7}), "/seed"),
        (json!({"presence_penalty": 0.5}), "/presence_penalty"),
        (json!({"frequency_penalty": 0.5}), "/frequency_penalty"),
        (json!({"logit_bias": {"1": 2}}), "/logit_bias"),
        (
            json!({"prediction": {"type": "content", "content": "x"}}),
            "/prediction",
        ),
        (json!({"max_tokens": 3}), "/max_tokens"),
        (
            json!({"max_completion_tokens": 3}),
            "/max_completion_tokens",
        ),
    ] {
        let body = with(&more);
        let exchange = planned(CHAT, &body, &moved);
        assert_eq!(lost(&exchange), [at]);
        let sent = sent(&body, &exchange);
        let limit = at.contains("max").then_some(16);
        assert_eq!(sent.get("max_output_tokens").and_then(Value::as_u64), limit);
        assert!(sent.get(&at[1..]).is_none());
    }
    let audio = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
    for (more, at) in [
        (json!({"n": 2}), "n"),
        (
            json!({"messages": [{"role": "user", "content": [audio]}]}),
            "messages[0].content",
        ),
    ] {
        let body = with(&more).to_string();
        let error = exchange::read_chat(body.as_bytes())
            .and_then(|demand| exchange::plan(demand, &moved))
            .unwrap_err();
        assert_eq!((error.status(), error.param.as_deref()), (400, Some(at)));
    }
}

/// A reply that thinks, says something on its way, and calls.
fn output() -> Vec<Value> {
    vec![
        json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm. "}]}),
        json!({"id": "msg_1", "type": "message", "role": "assistant", "phase": "commentary", "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}]}),
        json!({"id": "fc_1", "type": "function_call", "call_id": "c9", "name": "f", "arguments": "{\"city\":\"Bonn\"}", "status": "completed"}),
    ]
}

fn response(output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": output,
        "usage": {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}}})
}

fn stream(output: &[Value]) -> String {
    let mut events = vec![json!({"type": "response.created", "response": response(&[])})];
    for (at, item) in output.iter().enumerate() {
        events
            .push(json!({"type": "response.output_item.added", "output_index": at, "item": item}));
        let delta =
            |kind: &str, text: &Value| json!({"type": kind, "output_index": at, "delta": text});
        events.push(match item["type"].as_str().unwrap() {
            "reasoning" => delta(
                "response.reasoning_summary_text.delta",
                &item["summary"][0]["text"],
            ),
            "message" => delta("response.output_text.delta", &item["content"][0]["text"]),
            _ => delta("response.function_call_arguments.delta", &item["arguments"]),
        });
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": response(output)}));
    let written = events.iter().map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    written.collect()
}

fn asked(path: &str, is_stream: bool) -> Exchange {
    let mut body = match path {
        CHAT => chat(&json!({"tools": [function()]})),
        _ => messages(
            &json!({"tools": [{"name": "f", "input_schema": schema()}], "thinking": {"type": "adaptive"}}),
        ),
    };
    body["stream"] = json!(is_stream);
    planned(path, &body, &rule("openai+tools_on_responses"))
}

#[test]
fn its_replies_are_the_clients_own() {
    let body = response(&output()).to_string();
    let whole = |path: &str| -> Value {
        let exchange = asked(path, false);
        let checks = checks(&exchange).unwrap();
        let reply = exchange::reply(&exchange, &checks, Ids::new(7), body.as_bytes()).unwrap();
        serde_json::from_slice(&reply.body).unwrap()
    };
    let reply = whole(CHAT);
    let message = &reply["choices"][0]["message"];
    assert_eq!(message["reasoning_content"], "Hm. I look.");
    assert_eq!(message["tool_calls"][0]["id"], "c9");
    assert_eq!(
        message["tool_calls"][0]["function"]["arguments"],
        "{\"city\":\"Bonn\"}"
    );
    assert_eq!(reply["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(
        reply["usage"]["completion_tokens_details"]["reasoning_tokens"],
        2
    );
    let reply = whole(MESSAGES);
    let kinds: Vec<&Value> = reply["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["type"])
        .collect();
    assert_eq!(kinds, ["thinking", "tool_use"]);
    assert_eq!(reply["content"][1]["input"], json!({"city": "Bonn"}));
    for path in [CHAT, MESSAGES] {
        let exchange = asked(path, true);
        let mut out = Vec::new();
        let mut translator =
            StreamTranslator::new(&exchange, checks(&exchange).unwrap(), Ids::new(7), 1 << 20);
        for piece in stream(&output()).as_bytes().chunks(7) {
            translator.push(piece, &mut out).unwrap();
        }
        translator.finish(End::Eof, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for said in ["Hm. ", "I look.", "Bonn"] {
            assert_eq!(text.matches(said).count(), 1, "{path}: {said}");
        }
    }
}

#[test]
fn an_answer_that_is_wrong_is_asked_for_again_there() {
    let exchange = asked(CHAT, false);
    let violation = Violation::new(Place::Choice(0), "required", "no call");
    let again = exchange.re_ask(&violation);
    let body: Value = serde_json::from_slice(&again.body).unwrap();
    assert_eq!(again.path, RESPONSES);
    let input = body["input"].as_array().unwrap();
    assert_eq!(input.len(), 2);
    assert_eq!(input[1]["role"], "user");
}
