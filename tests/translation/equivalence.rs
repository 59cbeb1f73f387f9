//! A reply means the same whole and streamed: for random demands and random replies, the message
//! that a client puts together from the stream is the message of the whole reply, and what breaks
//! the contract in one form breaks it in the other.

use crate::replay;
use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::ir::Ids;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use replay::rule;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One choice of a server's reply, before it is written in either form.
#[derive(Debug, Clone)]
struct Choice {
    reasoning: String,
    content: String,
    calls: Vec<(String, String)>,
    finish: Option<&'static str>,
}

/// What a client has at the end of one choice.
#[derive(Debug, Clone, Default, PartialEq)]
struct Message {
    reasoning: String,
    content: String,
    calls: Vec<(String, String)>,
    function_call: Option<(String, String)>,
    finish: String,
}

fn demands() -> Vec<Value> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let tool =
        |name: &str| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    let custom = json!({"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    vec![
        json!({}),
        json!({"response_format": format}),
        json!({"response_format": {"type": "json_object"}}),
        json!({"guided_regex": "[a-z ]+"}),
        json!({"guided_choice": ["yes", "no"]}),
        json!({"tools": [tool("f")]}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": "none"}),
        json!({"tools": [tool("f")], "tool_choice": "required"}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": "required"}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": "required", "parallel_tool_calls": true}),
        json!({"tools": [tool("f"), tool("g")], "tool_choice": "auto", "parallel_tool_calls": false}),
        json!({"tools": [custom, tool("f")]}),
        json!({"tools": [tool("f")], "response_format": format}),
        json!({"tools": [tool("f"), tool("g")], "guided_choice": ["yes", "no"]}),
        json!({"tools": [custom], "tool_choice": "required"}),
        json!({"tools": [custom, tool("f")], "tool_choice": "required"}),
        json!({"functions": [{"name": "f", "parameters": schema}], "function_call": {"name": "f"}}),
        json!({"functions": [{"name": "f", "parameters": schema}]}),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(vec![r#"{"a":1}"#, "{ \"a\" : 23 }\n"]).prop_map(str::to_owned),
        1 => select(vec!["{}", "", "[1", r#"{"a":"é😀"}"#, "null", r#"{"a":1}x"#]).prop_map(str::to_owned),
    ]
}

fn content() -> impl Strategy<Value = String> {
    let name = select(vec!["f", "g", "c", "zzz"]);
    let envelope = (name, arguments(), any::<bool>())
        .prop_map(|(name, input, swapped)| {
            if swapped {
                format!(r#"{{"arguments":{input},"name":"{name}"}}"#)
            } else {
                format!(r#"{{"name": "{name}", "arguments": {input}}}"#)
            }
        })
        .boxed();
    let text = select(vec![
        "abc",
        "yes",
        "no",
        "maybe",
        "Grüße 😀",
        "[",
        "{",
        "<thin",
        "```",
    ]);
    let body = prop_oneof![
        3 => arguments(),
        3 => envelope.clone(),
        1 => prop::collection::vec(envelope, 0..3).prop_map(|all| format!("[{}]", all.join(","))),
        1 => arguments().prop_map(|answer| format!(r#"{{"answer":{answer}}}"#)),
        1 => select(vec![r#"{"answer":"yes"}"#, r#"{"answer":"y\u0065s"}"#, r#"{"name":"c","input":"ab"}"#, r#"{"name":"c","arguments":{"input":"ab"}}"#]).prop_map(str::to_owned),
        2 => text.prop_map(str::to_owned),
        1 => Just(String::new()),
    ];
    let more = select(vec![
        "",
        " and <tool",
        "\n",
        "<tool_call>{\"name\":\"g\",\"arguments\":{\"a\":2}}</tool_call>",
    ]);
    (body, more, 0..10_usize).prop_map(|(body, more, dress)| match dress {
        6 => format!("So.\n<tool_call>\n{body}\n</tool_call>{more}"),
        0 => format!("```json\n{body}\n```"),
        1 => format!("<think>hm {body}</think>\n\n{body}"),
        2 => format!("<tool_call>\n{body}\n</tool_call>"),
        3 => format!("\n {body} \n"),
        4 => format!("{body} and more"),
        5 => {
            let end = (0..=body.len() / 2)
                .rev()
                .find(|at| body.is_char_boundary(*at));
            body[..end.unwrap()].to_owned()
        }
        _ => body,
    })
}

fn choice() -> impl Strategy<Value = Choice> {
    let calls = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec((select(vec!["f", "g", "zzz"]).prop_map(str::to_owned), arguments()), 1..3),
    ];
    let finish = select(vec![
        Some("stop"),
        Some("stop"),
        Some("tool_calls"),
        Some("length"),
        Some("content_filter"),
        None,
    ]);
    let reasoning = select(vec!["", "", "", "hm, 😀"]).prop_map(str::to_owned);
    (reasoning, content(), calls, finish).prop_map(|(reasoning, content, calls, finish)| {
        let has_content = calls.is_empty() || content.len() % 3 == 0;
        Choice {
            reasoning,
            content: if has_content { content } else { String::new() },
            calls,
            finish,
        }
    })
}

fn whole_body(choices: &[Choice]) -> Value {
    let written: Vec<Value> = choices
        .iter()
        .enumerate()
        .map(|(index, choice)| {
            let mut message = json!({"role": "assistant", "content": choice.content});
            if !choice.reasoning.is_empty() {
                message["reasoning_content"] = json!(choice.reasoning);
            }
            let calls: Vec<Value> = choice.calls.iter().enumerate().map(|(at, (name, input))| {
                json!({"id": format!("id{index}-{at}"), "type": "function", "function": {"name": name, "arguments": input}})
            }).collect();
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            json!({"index": index, "message": message, "finish_reason": choice.finish})
        })
        .collect();
    json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": written})
}

/// The same reply as a server streams it, its choices interleaved.
fn stream_body(choices: &[Choice], cuts: &[Index], order: &[Index]) -> Vec<u8> {
    let mut queues: Vec<(usize, Vec<Value>)> = choices
        .iter()
        .enumerate()
        .map(|(index, choice)| {
            let mut pieces = chunks(index, choice, cuts);
            pieces.reverse();
            (index, pieces)
        })
        .collect();
    let mut body = Vec::new();
    let mut turn = order.iter().cycle();
    while !queues.is_empty() {
        let next = turn.next().unwrap().index(queues.len());
        let Some(chunk) = queues[next].1.pop() else {
            queues.remove(next);
            continue;
        };
        body.extend_from_slice(format!("data: {chunk}\n\n").as_bytes());
    }
    body.extend_from_slice(b"data: [DONE]\n\n");
    body
}

fn chunks(index: usize, choice: &Choice, cuts: &[Index]) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(pieces(&choice.reasoning, cuts).map(|text| json!({"reasoning_content": text})));
    deltas.extend(pieces(&choice.content, cuts).map(|text| json!({"content": text})));
    for (at, (name, input)) in choice.calls.iter().enumerate() {
        deltas.push(json!({"tool_calls": [{"index": at, "id": format!("id{index}-{at}"), "type": "function", "function": {"name": name, "arguments": ""}}]}));
        deltas.extend(
            pieces(input, cuts).map(
                |text| json!({"tool_calls": [{"index": at, "function": {"arguments": text}}]}),
            ),
        );
    }
    let chunk = |delta: Value, finish: Option<&str>| json!({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]});
    let mut written: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, None)).collect();
    written.extend(choice.finish.map(|finish| chunk(json!({}), Some(finish))));
    written
}

/// A text cut at some of its characters.
fn pieces(text: &str, cuts: &[Index]) -> impl Iterator<Item = String> {
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .collect();
    let mut at: Vec<usize> = match ends.len() {
        0 => Vec::new(),
        length => cuts.iter().map(|cut| ends[cut.index(length)]).collect(),
    };
    at.extend(ends.last());
    at.sort_unstable();
    at.dedup();
    let text = text.to_owned();
    let mut from = 0;
    at.into_iter().map(move |to| {
        let piece = text[from..to].to_owned();
        from = to;
        piece
    })
}

fn translate_whole(exchange: &Exchange, body: &Value) -> Option<BTreeMap<u64, Message>> {
    let checks = replay::checks(exchange).unwrap();
    let body = body.to_string().into_bytes();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), &body).ok()?;
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    let mut messages = BTreeMap::new();
    for choice in reply["choices"].as_array().unwrap() {
        let mut message = Message::default();
        message.add(&choice["message"]);
        message.finish = choice["finish_reason"]
            .as_str()
            .unwrap_or("stop")
            .to_owned();
        messages.insert(choice["index"].as_u64().unwrap(), message);
    }
    Some(messages)
}

fn translate_stream(
    exchange: &Exchange,
    body: &[u8],
    cuts: &[Index],
) -> Option<BTreeMap<u64, Message>> {
    let checks = replay::checks(exchange).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len())).collect();
    at.push(body.len());
    at.sort_unstable();
    let mut out = Vec::new();
    let mut from = 0;
    for to in at {
        translator.push(&body[from..to], &mut out).ok()?;
        from = to;
    }
    translator.finish(End::Eof, &mut out).ok()?;
    let text = String::from_utf8(out).unwrap();
    let events = text.strip_suffix("data: [DONE]\n\n").unwrap();
    let mut messages: BTreeMap<u64, Message> = BTreeMap::new();
    // Clients skip comments.
    let events = events.split_terminator("\n\n");
    for event in events.filter(|event| !event.starts_with(": ")) {
        let chunk: Value = serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
        for choice in chunk["choices"].as_array().unwrap() {
            let message = messages
                .entry(choice["index"].as_u64().unwrap())
                .or_default();
            message.add(&choice["delta"]);
            if let Some(finish) = choice["finish_reason"].as_str() {
                assert_eq!(message.finish, "", "one finish a choice");
                message.finish = finish.to_owned();
            }
        }
    }
    Some(messages)
}

impl Message {
    /// Adds a delta as clients do, or a whole message.
    fn add(&mut self, delta: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.content += &text(&delta["content"]);
        self.reasoning += &text(&delta["reasoning_content"]);
        for (at, call) in delta["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let at = call["index"]
                .as_u64()
                .map_or(at, |index| usize::try_from(index).unwrap());
            let body = if call["custom"].is_object() {
                &call["custom"]
            } else {
                &call["function"]
            };
            if call["id"].is_string() {
                assert_eq!(at, self.calls.len(), "calls open in order");
                self.calls.push(Default::default());
            }
            self.calls[at].0 += &text(&body["name"]);
            self.calls[at].1 += &text(&body["arguments"]);
            self.calls[at].1 += &text(&body["input"]);
        }
        if delta["function_call"].is_object() {
            let call = self.function_call.get_or_insert_default();
            call.0 += &text(&delta["function_call"]["name"]);
            call.1 += &text(&delta["function_call"]["arguments"]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_streamed_message_is_the_whole_one(
        demand in select(demands()),
        label in select(vec![
            "vllm@0.32.0", "vllm@0.32.0+no_auto_tools", "sglang@0.5.23", "llama-cpp", "openai", "plain", "worker",
        ]),
        is_lenient in prop::bool::weighted(0.2),
        choices in prop::collection::vec(choice(), 1..3),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
        order in prop::collection::vec(any::<Index>(), 1..8),
    ) {
        let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": choices.len()});
        request.as_object_mut().unwrap().extend(demand.as_object().unwrap().clone());
        let read = exchange::read_chat(request.to_string().as_bytes()).unwrap();
        let mut planned = exchange::plan(read, &rule(label)).unwrap();
        // A custom tool's input that is no string is told from its call only once both have come.
        planned.passes_violations = is_lenient && !request.to_string().contains("custom");
        let mut whole = translate_whole(&planned, &whole_body(&choices));
        let mut streamed = translate_stream(&planned, &stream_body(&choices, &cuts, &order), &cuts);
        if planned.passes_violations {
            // Space after the JSON is taken off before anything else is known to follow.
            let messages = [&mut whole, &mut streamed].into_iter().flatten().flat_map(|it| it.values_mut());
            messages.for_each(|message| message.content.retain(|c| !c.is_whitespace()));
        }
        // What is said before a call is a thought, unless it began as the answer does: that went out already.
        let contract = &planned.demand.contract;
        let may_remark = contract.content.is_some() && !contract.tools.is_empty();
        let begins = |choice: &Choice| !choice.calls.is_empty() && choice.content.starts_with('{');
        if streamed.is_none() && may_remark && choices.iter().any(begins) {
            return Ok(());
        }
        prop_assert_eq!(&streamed, &whole, "{:?}", planned.plan.rewrap);
    }
}

/// An answer that cannot be mended and is let pass: how far a stream mends it on its way, a whole reply does too.
#[test]
fn what_passes_half_mended_is_the_same_in_both_forms() {
    let format = json!({"response_format": {"type": "json_object"}});
    let forced = json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}], "tool_choice": "required"});
    for demand in [format, forced] {
        let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        request
            .as_object_mut()
            .unwrap()
            .extend(demand.as_object().unwrap().clone());
        let read = exchange::read_chat(request.to_string().as_bytes()).unwrap();
        let mut planned = exchange::plan(read, &rule("plain")).unwrap();
        planned.passes_violations = true;
        for content in [
            "<tool_call>\n[1\n</tool_call>",
            "```json\n[1\n```",
            "[True, 'a'",
        ] {
            let choices = [Choice {
                reasoning: String::new(),
                content: content.to_owned(),
                calls: Vec::new(),
                finish: Some("stop"),
            }];
            let whole = translate_whole(&planned, &whole_body(&choices));
            let mut stream = String::new();
            for chunk in chunks(0, &choices[0], &[]) {
                stream += &format!("data: {chunk}\n\n");
            }
            stream += "data: [DONE]\n\n";
            let mut streamed = translate_stream(&planned, stream.as_bytes(), &[]);
            let mut whole = whole.unwrap();
            for message in whole
                .values_mut()
                .chain(streamed.iter_mut().flat_map(|it| it.values_mut()))
            {
                message.content.retain(|c| !c.is_whitespace());
            }
            assert_eq!(streamed, Some(whole), "{content:?}");
        }
    }
}
