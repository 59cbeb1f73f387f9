//! Wires other than Chat's: a reply means the same whole and streamed, in any chunking; no bytes
//! break a reader; what a wire cannot say is refused by its field or reported.

mod tgi;

use crate::replay;
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::dialect::client::{Client, Terms};
use isogloss_core::dialect::server::{self, About, Asked, ReplyFault, Server};
use isogloss_core::error::Error;
use isogloss_core::exchange;
use isogloss_core::ir::{Delta, Draft, Event, Ids, Place, Reply, Seal, Violation, Wire};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const WIRES: [Wire; 5] = [
    Wire::OllamaChat,
    Wire::Messages,
    Wire::Responses,
    Wire::Gemini,
    Wire::CohereChat,
];

fn ids() -> Ids {
    Ids::new(7).at(1)
}

// --- one reply in five spellings -----------------------------------------------------------------

/// What a server says, before it is written on any wire.
#[derive(Debug, Clone)]
struct Said {
    reasoning: Vec<String>,
    text: Vec<String>,
    calls: Vec<(String, Value)>,
    is_cut: bool,
}

/// What a client has at the end.
#[derive(Debug, Clone, Default, PartialEq)]
struct Message {
    reasoning: String,
    text: String,
    calls: Vec<(String, String)>,
    finish: String,
    tokens: Option<u64>,
}

fn said() -> impl Strategy<Value = Said> {
    let piece = select(vec![
        "a",
        " b",
        "é😀",
        "\"\\",
        "{\n",
        "data: x\n\n",
        "\u{2028}",
    ]);
    let pieces = move || prop::collection::vec(piece.clone().prop_map(str::to_owned), 0..4);
    let arguments = select(vec![
        json!({}),
        json!({"city": "Paris\n😀", "n": [1, 2.5, null]}),
        json!({"a": {"b": "\"}"}}),
    ]);
    let call = (select(vec!["f", "get_weather"]), arguments);
    let calls = prop::collection::vec(
        call.prop_map(|(name, input)| (name.to_owned(), input)),
        0..3,
    );
    (pieces(), pieces(), calls, any::<bool>()).prop_map(|(reasoning, text, calls, is_cut)| Said {
        reasoning,
        text,
        calls,
        is_cut,
    })
}

fn whole_body(wire: Wire, said: &Said) -> String {
    let (reasoning, text) = (said.reasoning.concat(), said.text.concat());
    let calls = || said.calls.iter().enumerate();
    let has_calls = !said.calls.is_empty();
    match wire {
        Wire::OllamaChat => {
            let calls: Vec<Value> = calls()
                .map(|(at, (name, input))| json!({"id": format!("i{at}"), "function": {"name": name, "arguments": input}}))
                .collect();
            let message = json!({"role": "assistant", "content": text, "thinking": reasoning, "tool_calls": calls});
            let reason = if said.is_cut { "length" } else { "stop" };
            json!({"model": "m", "message": message, "done": true, "done_reason": reason, "prompt_eval_count": 3, "eval_count": 4})
        }
        Wire::Messages => {
            let mut content = vec![
                json!({"type": "thinking", "thinking": reasoning, "signature": "s"}),
                json!({"type": "text", "text": text}),
            ];
            content.extend(calls().map(|(at, (name, input))| {
                json!({"type": "tool_use", "id": format!("i{at}"), "name": name, "input": input})
            }));
            let reason = match (said.is_cut, has_calls) {
                (true, _) => "max_tokens",
                (false, true) => "tool_use",
                (false, false) => "end_turn",
            };
            json!({"type": "message", "id": "r", "model": "m", "content": content, "stop_reason": reason, "usage": {"input_tokens": 3, "output_tokens": 4}})
        }
        Wire::Responses => response(said, &items(said)),
        Wire::Gemini => {
            let mut parts = vec![json!({"text": reasoning, "thought": true}), json!({"text": text})];
            parts.extend(calls().map(|(at, (name, input))| {
                json!({"functionCall": {"id": format!("i{at}"), "name": name, "args": input}})
            }));
            let reason = if said.is_cut { "MAX_TOKENS" } else { "STOP" };
            let candidate = json!({"index": 0, "content": {"parts": parts}, "finishReason": reason});
            json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}})
        }
        Wire::CohereChat => {
            let calls: Vec<Value> = calls()
                .map(|(at, (name, input))| json!({"id": format!("i{at}"), "type": "function", "function": {"name": name, "arguments": input.to_string()}}))
                .collect();
            let content = json!([{"type": "thinking", "thinking": reasoning}, {"type": "text", "text": text}]);
            let reason = if said.is_cut { "MAX_TOKENS" } else { "COMPLETE" };
            json!({"id": "r", "message": {"role": "assistant", "content": content, "tool_calls": calls}, "finish_reason": reason, "usage": {"tokens": {"input_tokens": 3.0, "output_tokens": 4.0}}})
        }
        Wire::Chat | Wire::Completions | Wire::OllamaGenerate | Wire::TgiGenerate | Wire::Other(_) => unreachable!("some have no whole of their own, the others no calls"),
    }
    .to_string()
}

fn events(wire: Wire, said: &Said) -> Vec<Value> {
    match wire {
        Wire::OllamaChat => events_of_ollama(said),
        Wire::Messages => events_of_messages(said),
        Wire::Responses => events_of_responses(said),
        Wire::Gemini => events_of_gemini(said),
        Wire::CohereChat => events_of_cohere(said),
        Wire::Chat
        | Wire::Completions
        | Wire::OllamaGenerate
        | Wire::TgiGenerate
        | Wire::Other(_) => Vec::new(),
    }
}

fn half(text: &str) -> [String; 2] {
    let at = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap();
    [text[..at].to_owned(), text[at..].to_owned()]
}

fn events_of_ollama(said: &Said) -> Vec<Value> {
    let mut all = Vec::new();

    let line = |message: Value| json!({"model": "m", "message": message, "done": false});
    all.extend(
        said.reasoning
            .iter()
            .map(|piece| line(json!({"role": "assistant", "content": "", "thinking": piece}))),
    );
    all.extend(
        said.text
            .iter()
            .map(|piece| line(json!({"role": "assistant", "content": piece}))),
    );
    for (at, (name, input)) in said.calls.iter().enumerate() {
        let call = json!({"id": format!("i{at}"), "function": {"index": 0, "name": name, "arguments": input}});
        all.push(line(
            json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        ));
    }
    let reason = if said.is_cut { "length" } else { "stop" };
    all.push(json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason, "prompt_eval_count": 3, "eval_count": 4}));
    all
}

fn events_of_messages(said: &Said) -> Vec<Value> {
    let mut all = Vec::new();

    all.push(json!({"type": "message_start", "message": {"id": "r", "model": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}}));
    let mut block = |at: usize, start: Value, deltas: Vec<Value>| {
        all.push(json!({"type": "content_block_start", "index": at, "content_block": start}));
        all.push(json!({"type": "ping"}));
        all.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": at, "delta": delta})),
        );
        all.push(json!({"type": "content_block_stop", "index": at}));
    };
    let thoughts = said
        .reasoning
        .iter()
        .map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
    let signed = thoughts.chain([json!({"type": "signature_delta", "signature": "s"})]);
    block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        signed.collect(),
    );
    let texts = said
        .text
        .iter()
        .map(|piece| json!({"type": "text_delta", "text": piece}));
    block(1, json!({"type": "text", "text": ""}), texts.collect());
    for (at, (name, input)) in said.calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": format!("i{at}"), "name": name, "input": {}});
        let pieces = half(&input.to_string());
        let deltas = pieces
            .iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(at + 2, start, deltas.collect());
    }
    let reason = match (said.is_cut, said.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, false) => "tool_use",
        (false, true) => "end_turn",
    };
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 4}}));
    all.push(json!({"type": "message_stop"}));
    all
}

fn items(said: &Said) -> Vec<Value> {
    let summary = json!({"type": "summary_text", "text": said.reasoning.concat()});
    let text = json!({"type": "output_text", "text": said.text.concat(), "annotations": []});
    let mut items = vec![
        json!({"id": "t", "type": "reasoning", "summary": [summary]}),
        json!({"id": "s", "type": "message", "role": "assistant", "content": [text]}),
    ];
    items.extend(said.calls.iter().enumerate().map(|(at, (name, input))| {
        json!({"id": format!("c{at}"), "type": "function_call", "call_id": format!("i{at}"), "name": name, "arguments": input.to_string()})
    }));
    items
}

fn response(said: &Said, output: &[Value]) -> Value {
    let status = if said.is_cut {
        "incomplete"
    } else {
        "completed"
    };
    let details = said.is_cut.then(|| json!({"reason": "max_output_tokens"}));
    json!({"id": "r", "object": "response", "model": "m", "status": status, "incomplete_details": details, "output": output,
        "usage": {"input_tokens": 3, "output_tokens": 4}})
}

fn events_of_responses(said: &Said) -> Vec<Value> {
    let mut all = vec![json!({"type": "response.created", "response": response(said, &[])})];
    for (at, item) in items(said).into_iter().enumerate() {
        let (kind, pieces) = match at {
            0 => (
                "response.reasoning_summary_text.delta",
                said.reasoning.clone(),
            ),
            1 => ("response.output_text.delta", said.text.clone()),
            _ => (
                "response.function_call_arguments.delta",
                half(item["arguments"].as_str().unwrap()).to_vec(),
            ),
        };
        let mut begun = item.clone();
        begun["arguments"] = json!("");
        for empty in ["summary", "content"] {
            if begun.get(empty).is_some() {
                begun[empty] = json!([]);
            }
        }
        all.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        all.extend(
            pieces
                .iter()
                .map(|piece| json!({"type": kind, "output_index": at, "delta": piece})),
        );
        all.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    let kind = match said.is_cut {
        true => "response.incomplete",
        false => "response.completed",
    };
    all.push(json!({"type": kind, "response": response(said, &items(said))}));
    all
}

fn events_of_gemini(said: &Said) -> Vec<Value> {
    let mut all = Vec::new();

    let mut chunk = |part: Value| {
        all.push(json!({"candidates": [{"index": 0, "content": {"parts": [part]}}], "usageMetadata": {"promptTokenCount": 3}}))
    };
    said.reasoning
        .iter()
        .for_each(|piece| chunk(json!({"text": piece, "thought": true})));
    said.text
        .iter()
        .for_each(|piece| chunk(json!({"text": piece})));
    for (at, (name, input)) in said.calls.iter().enumerate() {
        chunk(json!({"functionCall": {"id": format!("i{at}"), "name": name, "args": input}}));
    }
    let reason = if said.is_cut { "MAX_TOKENS" } else { "STOP" };
    all.push(json!({"candidates": [{"index": 0, "content": {"parts": [{"text": ""}]}, "finishReason": reason}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}));
    all
}

fn events_of_cohere(said: &Said) -> Vec<Value> {
    let mut all = Vec::new();

    all.push(
        json!({"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}}),
    );
    let message = |message: Value| json!({"message": message});
    all.extend(said.reasoning.iter().map(|piece| json!({"type": "content-delta", "index": 0, "delta": message(json!({"content": {"thinking": piece}}))})));
    all.push(json!({"type": "content-end", "index": 0}));
    all.extend(said.text.iter().map(|piece| json!({"type": "content-delta", "index": 1, "delta": message(json!({"content": {"text": piece}}))})));
    for (at, (name, input)) in said.calls.iter().enumerate() {
        let [one, two] = half(&input.to_string());
        let start = json!({"id": format!("i{at}"), "type": "function", "function": {"name": name, "arguments": one}});
        all.push(json!({"type": "tool-call-start", "index": at, "delta": message(json!({"tool_calls": start}))}));
        all.push(json!({"type": "tool-call-delta", "index": at, "delta": message(json!({"tool_calls": {"function": {"arguments": two}}}))}));
        all.push(json!({"type": "tool-call-end", "index": at}));
    }
    let reason = if said.is_cut {
        "MAX_TOKENS"
    } else {
        "COMPLETE"
    };
    all.push(json!({"type": "message-end", "delta": {"finish_reason": reason, "usage": {"tokens": {"input_tokens": 3.0, "output_tokens": 4.0}}}}));
    all
}

fn stream_body(wire: Wire, said: &Said, line_end: &str) -> Vec<u8> {
    let mut body = String::new();
    for event in events(wire, said) {
        match wire {
            Wire::OllamaChat => body += &format!("{event}{line_end}"),
            Wire::Gemini => body += &format!("data: {event}{line_end}{line_end}"),
            _ => {
                let name = event["type"].as_str().unwrap();
                body += &format!("event: {name}{line_end}data: {event}{line_end}{line_end}");
            }
        }
    }
    body.into_bytes()
}

impl Message {
    /// What a client would put together.
    fn of(events: Vec<Event>) -> Self {
        // Clients of the wire read some of it in events of its own.
        let thoughts = events.iter().filter_map(|event| match event {
            Event::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let reasoning = thoughts.collect();
        let reply = Reply::fold(events);
        let mut message = Self {
            reasoning,
            tokens: reply.usage.map(|usage| usage.prompt + usage.completion),
            ..Self::default()
        };
        let [choice] = reply.choices.as_slice() else {
            panic!("{:?}", reply.choices)
        };
        let mut calls: BTreeMap<u32, (String, String)> = BTreeMap::new();
        for delta in &choice.deltas {
            match delta {
                Delta::Text(text) => message.text += text,
                Delta::CallStart { call, name, .. } => {
                    calls.entry(*call).or_default().0 += name;
                }
                Delta::CallInput { call, text, .. } => calls.entry(*call).or_default().1 += text,
                Delta::Finish(reason) => message.finish += reason.as_str(),
                other => panic!("{other:?}"),
            }
        }
        message.calls = calls.into_values().collect();
        message
    }
}

fn server(wire: Wire) -> &'static dyn Server {
    server::of(wire).unwrap()
}

/// The events, and whether the body ended between two of them; `None` where one was too large.
fn decode<'a>(
    wire: Wire,
    about: About,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Event>, Option<bool>) {
    let mut server = server(wire).stream(about, limit);
    let mut ids = ids();
    let (mut data, mut is_clean) = (Vec::new(), None);
    let framed = (chunks.into_iter()).try_for_each(|chunk| server.push(chunk, &mut data));
    if framed.is_ok() {
        is_clean = Some(server.finish(&mut data));
    }
    let read = |data: &Vec<u8>| server.read(data, &mut ids).events;
    let mut events: Vec<Event> = data.iter().flat_map(read).collect();
    if is_clean.is_some() {
        events.extend(server.end(&mut ids).events);
    }
    (events, is_clean)
}

fn whole(wire: Wire, body: &[u8]) -> Result<Vec<Event>, ReplyFault> {
    Ok(server(wire)
        .whole(body, &About::default(), &mut ids())?
        .events)
}

/// What a client of Chat Completions gets of a whole reply.
fn chat(wire: Wire, body: &[u8]) -> Value {
    let terms = Terms {
        ids: ids(),
        model: "m".to_owned(),
        legacy_functions: false,
        echo: None,
        include_usage: true,
        keeps_counts: false,
        counts_first: false,
        keeps_bytes: false,
        seal: Seal::default(),
    };
    let reply = Reply::fold(whole(wire, body).unwrap());
    serde_json::from_slice(&Chat.whole(&terms, &reply)).unwrap()
}

fn pieces<'a>(body: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
    at.extend([0, body.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn a_reply_means_the_same_whole_and_streamed_in_any_chunking(
        said in said(),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
        line_end in select(vec!["\n", "\r\n"]),
    ) {
        for wire in WIRES {
            let whole = Message::of(whole(wire, whole_body(wire, &said).as_bytes()).unwrap());
            let body = stream_body(wire, &said, line_end);
            let (events, is_clean) = decode(wire, About::default(), pieces(&body, &cuts), 1 << 20);
            prop_assert_eq!(is_clean, Some(true));
            prop_assert!(matches!(events.last(), Some(Event::Done)), "{:?}", wire);
            prop_assert_eq!(&Message::of(events), &whole, "{:?}", wire);
            prop_assert_eq!(&whole.text, &said.text.concat());
            prop_assert_eq!(&whole.reasoning, &said.reasoning.concat());
            prop_assert_eq!(whole.tokens, Some(7));
            let calls: Vec<(String, String)> = said.calls.iter().map(|(name, input)| (name.clone(), input.to_string())).collect();
            prop_assert_eq!(&whole.calls, &calls);
            let finish = match (said.is_cut, calls.is_empty()) {
                (true, _) => "length",
                (false, false) => "tool_calls",
                (false, true) => "stop",
            };
            prop_assert_eq!(whole.finish, finish);
        }
    }

    #[test]
    fn a_reply_that_is_cut_anywhere_is_never_taken_for_whole(said in said(), cut in any::<Index>()) {
        for wire in WIRES {
            let body = stream_body(wire, &said, "\n");
            // What follows the last event's text is only its line ends.
            let end = body.trim_ascii_end().len();
            let cut = cut.index(end);
            let (events, is_clean) = decode(wire, About::default(), [&body[..cut]], 1 << 20);
            let is_done = matches!(events.last(), Some(Event::Done));
            prop_assert!(!is_done, "{wire:?} at {cut}: {is_clean:?}");
        }
    }

    #[test]
    fn no_bytes_break_a_reader_and_none_is_read_by_where_chunks_begin(
        said in said(),
        noise in prop::collection::vec(any::<u8>(), 0..40),
        at in any::<Index>(),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        for wire in WIRES {
            let mut body = stream_body(wire, &said, "\n");
            let at = at.index(body.len());
            body.splice(at..(at + noise.len() / 2).min(body.len()), noise.iter().copied());
            let whole = decode(wire, About::default(), [body.as_slice()], 1 << 16);
            let cut = decode(wire, About::default(), pieces(&body, &cuts), 1 << 16);
            prop_assert_eq!(format!("{cut:?}"), format!("{whole:?}"));
            let _ = self::whole(wire, &body);
            let _ = self::whole(wire, &noise);
        }
    }
}

#[test]
fn values_of_a_wrong_type_are_no_event_and_no_reply() {
    for (wire, body) in [
        (Wire::OllamaChat, r#"{"message":[]}"#),
        (Wire::OllamaChat, r#"{"model":"m"}"#),
        (
            Wire::OllamaChat,
            r#"{"message":{"role":"assistant","content":"x"},"done":false}"#,
        ),
        (Wire::Messages, r#"{"type":"message"}"#),
        (
            Wire::Messages,
            r#"{"type":"message","content":[{"type":"tool_use","id":"x"}]}"#,
        ),
        (Wire::Responses, r#"{"id":"r"}"#),
        (Wire::Responses, r#"{"output":[{"type":"function_call"}]}"#),
        (Wire::Gemini, r#"{"candidates":{}}"#),
        (Wire::Gemini, "{}"),
        (Wire::CohereChat, r#"{"message":"no such thing"}"#),
        (Wire::CohereChat, "[]"),
        (Wire::TgiGenerate, "[]"),
        (Wire::TgiGenerate, r#"{"generated_text":1}"#),
        (Wire::TgiGenerate, r#"{"details":{}}"#),
    ] {
        let fault = whole(wire, body.as_bytes()).unwrap_err();
        assert_eq!(fault, ReplyFault::NotAReply, "{body}");
    }
}

#[test]
fn an_unfinished_event_over_the_limit_ends_the_stream() {
    for wire in WIRES {
        let long = [b"data: ".as_slice(), &[b'x'; 200]].concat();
        let (events, ended) = decode(wire, About::default(), long.chunks(7), 100);
        assert_eq!((events.len(), ended), (0, None), "{wire:?}");
    }
}

// --- requests ------------------------------------------------------------------------------------

/// What a client of Chat asks, in its words.
fn draft(body: &Value) -> Result<Draft, Error> {
    let request = Chat.read(server::CHAT_PATH, body.to_string().as_bytes())?;
    Ok(Draft {
        turns: Chat.turns(&request)?,
        ..Draft::of(&request)
    })
}

fn ask(wire: Wire, body: &Value) -> Result<Asked, Error> {
    server(wire).ask(&draft(body)?, "the server", None)
}

fn with(messages: Value) -> Value {
    json!({"model": "m", "messages": messages})
}

#[test]
fn what_a_wire_cannot_say_is_refused_by_its_field() {
    let image = |url: &str| {
        with(
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]),
        )
    };
    let audio = with(
        json!([{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]}]),
    );
    let orphan = with(json!([{"role": "tool", "tool_call_id": "x", "content": "1"}]));
    let hosted = json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": [{"type": "web_search"}]});
    for (wire, body, at) in [
        (
            Wire::OllamaChat,
            image("https://h/x.png"),
            "messages[0].content",
        ),
        (
            Wire::OllamaChat,
            image("data:image/png,AA"),
            "messages[0].content[0]",
        ),
        (
            Wire::Messages,
            image("data:image/tiff;base64,AA"),
            "messages[0].content",
        ),
        (Wire::Messages, audio.clone(), "messages[0].content"),
        (Wire::CohereChat, audio, "messages[0].content"),
        (Wire::Gemini, orphan, "messages[0].tool_call_id"),
        (Wire::Gemini, hosted.clone(), "tools[0]"),
        (Wire::Messages, hosted, "tools[0]"),
        (
            Wire::Messages,
            with(json!([{"role": "robot"}])),
            "messages[0].role",
        ),
        (Wire::Gemini, with(json!("hi")), "messages"),
        (
            Wire::Gemini,
            json!({"messages": [{"role": "user", "content": "a"}]}),
            "model",
        ),
        (Wire::CohereChat, json!({"model": "m"}), "messages"),
        (
            Wire::OllamaChat,
            json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "n": 3}),
            "n",
        ),
    ] {
        let error = ask(wire, &body).unwrap_err();
        assert_eq!(error.param.as_deref(), Some(at), "{wire:?}: {error}");
        assert_eq!(error.status(), 400);
        assert!(
            error.message.contains(at.split('.').next().unwrap()),
            "{error}"
        );
    }
}

/// Every field is sent, or told to be lost.
#[test]
fn an_answers_form_in_another_dialects_words_is_told_whichever_server_it_is() {
    let schema = json!({"type": "object"});
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    let with = |field: &str, value: &Value| {
        let mut body = chat.clone();
        body[field] = value.clone();
        body
    };
    let guided = json!({"guided_json": schema});
    for (path, field, value, pointer) in [
        ("/v1/chat/completions", "format", &schema, "/format"),
        ("/v1/chat/completions", "guidedJson", &schema, "/guidedJson"),
        (
            "/v1/chat/completions",
            "extra_body",
            &guided,
            "/extra_body/guided_json",
        ),
        ("/api/chat", "guided_json", &schema, "/guided_json"),
        (
            "/api/chat",
            "tool_choice",
            &json!("required"),
            "/tool_choice",
        ),
        (
            "/api/chat",
            "parallel_tool_calls",
            &json!(false),
            "/parallel_tool_calls",
        ),
    ] {
        for server in ["vllm", "openai", "ollama-native", "anthropic", "plain"] {
            let body = with(field, value).to_string();
            let client = isogloss_core::passage::client(path).unwrap();
            let demand = exchange::read(client, path, body.as_bytes()).unwrap();
            let exchange = exchange::plan(demand, &crate::replay::rule(server)).unwrap();
            let told = exchange
                .losses
                .iter()
                .filter(|loss| loss.pointer == pointer);
            assert_eq!(
                told.count(),
                1,
                "{path} {field} {server}: {:?}",
                exchange.losses
            );
            let asked = exchange
                .sent()
                .map(|sent| String::from_utf8_lossy(sent).into_owned());
            assert!(!asked.unwrap().contains(field), "{path} {field} {server}");
        }
    }
    let body = json!({"model": "m", "input": "a", "output_config": {"format": schema}}).to_string();
    let path = "/v1/responses";
    let client = isogloss_core::passage::client(path).unwrap();
    let refused = exchange::read(client, path, body.as_bytes()).unwrap_err();
    assert_eq!(refused.param.as_deref(), Some("output_config"));
}

#[test]
fn no_field_is_dropped_in_silence() {
    let body = json!({
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "zzz": 1, "logit_bias": {"1": 2}, "seed": 3,
        "top_k": 4, "user": "u", "metadata": {"a": "b"}, "service_tier": "flex", "a/b~c": 1, "store": null,
    });
    for wire in WIRES {
        let asked = ask(wire, &body).unwrap();
        let sent = String::from_utf8(asked.body.to_vec()).unwrap();
        for (field, value) in [
            ("zzz", "1"),
            ("logit_bias", "{\"1\":2}"),
            ("seed", "3"),
            ("top_k", "4"),
            ("user", "\"u\""),
            ("metadata", "{\"a\":\"b\"}"),
            ("service_tier", "flex"),
        ] {
            let is_lost = asked
                .losses
                .iter()
                .any(|loss| loss.pointer == format!("/{field}"));
            assert!(
                is_lost || sent.contains(value),
                "{wire:?}: {field} in {sent}"
            );
        }
        let pointers: Vec<&str> = asked
            .losses
            .iter()
            .map(|loss| loss.pointer.as_str())
            .collect();
        assert!(pointers.contains(&"/a~1b~0c"), "{pointers:?}");
        assert!(!pointers.contains(&"/store"), "null says nothing");
    }
}

#[test]
fn allowed_tools_reach_gemini_by_name_in_either_spelling() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]);
    let nested =
        json!({"mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]});
    let flat = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]});
    for choice in [
        json!({"type": "allowed_tools", "allowed_tools": nested}),
        flat,
    ] {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": tools, "tool_choice": choice});
        let asked = ask(Wire::Gemini, &body).unwrap();
        let sent: Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(
            sent["toolConfig"]["functionCallingConfig"],
            json!({"mode": "ANY", "allowedFunctionNames": ["g"]})
        );
    }
}

#[test]
fn a_tool_that_is_no_function_is_left_out_where_none_may_be_called() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": [{"type": "custom", "custom": {"name": "c"}}], "tool_choice": "none"});
    for wire in [Wire::Messages, Wire::Gemini, Wire::CohereChat] {
        let asked = ask(wire, &body).unwrap();
        assert_eq!(
            asked.losses[0].pointer,
            if wire == Wire::Messages {
                "/max_tokens"
            } else {
                "/tools/0"
            }
        );
        assert!(asked.losses.iter().any(|loss| loss.pointer == "/tools/0"));
    }
}

#[test]
fn a_models_name_never_leaves_its_place_in_geminis_path() {
    for (model, path) in [
        (
            "gemini-2.5-flash",
            "/v1beta/models/gemini-2.5-flash:generateContent",
        ),
        (
            "models/gemini-2.5-flash",
            "/v1beta/models/gemini-2.5-flash:generateContent",
        ),
        (
            "tunedModels/mine",
            "/v1beta/tunedModels/mine:generateContent",
        ),
        (
            "../../x?key=1#é",
            "/v1beta/models/..%2F..%2Fx%3Fkey%3D1%23%C3%A9:generateContent",
        ),
    ] {
        let asked = ask(
            Wire::Gemini,
            &json!({"model": model, "messages": [{"role": "user", "content": "a"}]}),
        )
        .unwrap();
        assert_eq!(asked.path, path);
    }
}

/// A reply that Chat's client sends back as it came reaches Gemini signed, with the ids it gave.
#[test]
fn a_call_goes_back_to_gemini_with_its_signature() {
    let call = json!({"functionCall": {"id": "g1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln+/=="});
    let reply = json!({"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]});
    let chat = chat(Wire::Gemini, reply.to_string().as_bytes());
    let message = &chat["choices"][0]["message"];
    let id = &message["tool_calls"][0]["id"];
    let result = json!({"role": "tool", "tool_call_id": id, "content": "7"});
    let asked = ask(
        Wire::Gemini,
        &with(json!([{"role": "user", "content": "hi"}, message, result])),
    )
    .unwrap();
    let sent: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!(sent["contents"][1]["parts"][0], call);
    assert_eq!(
        sent["contents"][2]["parts"][0],
        json!({"functionResponse": {"id": "g1", "name": "f", "response": {"output": "7"}}})
    );
    assert_eq!(asked.losses, []);
}

/// OpenAI's models sum up their thoughts in sections, which other clients get as one text.
#[test]
fn sections_of_a_summary_stand_apart() {
    let part = |text: &str| json!({"type": "summary_text", "text": text});
    let reply = json!({"id": "r", "status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [part("**One**"), part("**Two**")]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]});
    let said = chat(Wire::Responses, reply.to_string().as_bytes());
    let thoughts = &said["choices"][0]["message"]["reasoning_content"];
    assert_eq!(thoughts, "**One**\n\n**Two**");
    let mut told = vec![
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
    ];
    for (index, text) in ["**One**", "**Two**"].into_iter().enumerate() {
        let of = |kind: &str, more: &str, value: Value| json!({"type": format!("response.reasoning_summary_{kind}"), "output_index": 0, "summary_index": index, more: value});
        told.push(of("part.added", "part", part("")));
        told.push(of("text.delta", "delta", json!(text)));
        told.push(of("part.done", "part", part(text)));
    }
    let item = reply["output"][0].clone();
    told.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    let stream: String = told
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let (events, _) = decode(
        Wire::Responses,
        About::default(),
        [stream.as_bytes()],
        1 << 20,
    );
    let thoughts = events.iter().filter_map(|event| match event {
        Event::Reasoning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(thoughts.collect::<String>(), "**One**\n\n**Two**");
}

/// The same for thinking on Anthropic's wire.
#[test]
fn thinking_goes_back_to_anthropic_with_its_signature() {
    let block = json!({"type": "thinking", "thinking": "Hm.", "signature": "sig"});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}});
    let reply = json!({"type": "message", "content": [block, call], "stop_reason": "tool_use"});
    let chat = chat(Wire::Messages, reply.to_string().as_bytes());
    let message = &chat["choices"][0]["message"];
    let result = json!({"role": "tool", "tool_call_id": "toolu_1", "content": "7"});
    let asked = ask(
        Wire::Messages,
        &with(json!([{"role": "user", "content": "hi"}, message, result])),
    )
    .unwrap();
    let sent: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!(sent["messages"][1]["content"], json!([block, call]));
    assert_eq!(
        sent["messages"][2]["content"],
        json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "7"}]}])
    );
}

#[test]
fn a_reply_that_breaks_its_contract_is_asked_for_again_on_the_same_wire() {
    let body = json!({
        "model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "guided_choice": ["yes", "no"],
    });
    for server in [
        "ollama-native",
        "anthropic",
        "gemini",
        "cohere",
        "tgi-generate",
    ] {
        let demand = exchange::read_chat(body.to_string().as_bytes()).unwrap();
        let exchange = exchange::plan(demand, &replay::rule(server)).unwrap();
        let mut violation = Violation::new(Place::Content(0), "enum", "it is none of the choices");
        violation.said.0 = "perhaps".into();
        let again = exchange.re_ask(&violation);
        assert_eq!(again.path, exchange.path(), "{server}");
        let (first, again): (Value, Value) = (
            serde_json::from_slice(exchange.sent().unwrap()).unwrap(),
            serde_json::from_slice(&again.body).unwrap(),
        );
        let turns = |body: &Value| {
            let turns = [&body["messages"], &body["contents"]];
            turns.into_iter().find_map(Value::as_array).unwrap().len()
        };
        assert_eq!(turns(&again), turns(&first) + 2, "{server}: {again}");
        assert!(again.to_string().contains("perhaps"), "{server}");
    }
}
