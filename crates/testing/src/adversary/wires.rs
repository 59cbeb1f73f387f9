//! What was said, on the server's wire: as the events of a stream, or as one body. Each in the
//! forms in which servers are seen to write it, which all mean the same.

use super::chat;
use super::json::{J, n, obj, s};
use super::responses;
use super::source::Source;
use super::speak::{Spoken, pieces};
use super::values::Call;
use isogloss_core::ir::Wire;

/// A stream's events: the name of each, where the wire has names, and its data.
pub type Events = Vec<(&'static str, J)>;

/// The events of a stream that says this; one of the choices for wires that know only one.
pub fn streamed(wire: Wire, choices: &[Spoken], source: &mut impl Source) -> Events {
    let first = &choices[0];
    match wire {
        Wire::Chat => chat::streamed(choices, source),
        Wire::OllamaChat => ollama(first, source),
        Wire::Messages => messages(first, source),
        Wire::Gemini => gemini(choices, source),
        Wire::CohereChat => cohere(first, source),
        Wire::TgiGenerate => tgi(first, source),
        Wire::OllamaGenerate => generated(first, source),
        Wire::Completions => completions(choices, source),
        Wire::Responses => responses::streamed(first, source),
        Wire::Other(_) => unreachable!("no rule of the house's has one"),
    }
}

/// The body that says this.
pub fn whole(wire: Wire, choices: &[Spoken], source: &mut impl Source) -> J {
    let first = &choices[0];
    match wire {
        Wire::Chat => chat::whole(choices, source),
        Wire::OllamaChat => ollama_whole(first),
        Wire::Messages => messages_whole(first),
        Wire::Gemini => gemini_whole(choices),
        Wire::CohereChat => cohere_whole(first, source),
        Wire::TgiGenerate => {
            let text = first.content.clone().unwrap_or_default();
            obj([("generated_text", s(text)), ("details", tgi_details(first))])
        }
        Wire::OllamaGenerate => generated_line(first, first.content.as_deref(), true),
        Wire::Completions => completion(choices, true),
        Wire::Responses => responses::whole(first),
        Wire::Other(_) => unreachable!("no rule of the house's has one"),
    }
}

// === Ollama ===

const fn ollama_reason(choice: &Spoken) -> &'static str {
    match choice.finish.as_bytes() {
        b"length" => "length",
        _ => "stop",
    }
}

fn ollama_message(choice: &Spoken, content: Option<&str>) -> J {
    let mut message = obj([
        ("role", s("assistant")),
        ("content", s(content.unwrap_or_default())),
    ]);
    if !choice.calls.is_empty() {
        let calls = choice.calls.iter().map(|call| {
            let arguments = J::Raw(call.input.clone());
            obj([(
                "function",
                obj([("name", s(call.name.clone())), ("arguments", arguments)]),
            )])
        });
        message.push("tool_calls", J::Arr(calls.collect()));
    }
    message
}

fn ollama(choice: &Spoken, source: &mut impl Source) -> Events {
    let line = |message: J, done: bool| {
        let mut line = obj([("model", s("m")), ("created_at", s("2026-11-22T00:00:00Z"))]);
        line.push("message", message);
        line.push("done", J::Bool(done));
        line
    };
    let quiet = Spoken::default();
    let mut events = Vec::new();
    if let Some(thought) = &choice.reasoning {
        let mut message = ollama_message(&quiet, None);
        message.push("thinking", s(thought.clone()));
        events.push(("", line(message, false)));
    }
    for piece in pieces(choice.content.as_deref().unwrap_or_default(), source) {
        events.push(("", line(ollama_message(&quiet, Some(&piece)), false)));
    }
    if !choice.calls.is_empty() {
        events.push(("", line(ollama_message(choice, None), false)));
    }
    let mut last = line(ollama_message(&quiet, None), true);
    last.push("done_reason", s(ollama_reason(choice)));
    last.push("eval_count", n(9));
    events.push(("", last));
    events
}

fn ollama_whole(first: &Spoken) -> J {
    let mut line = obj([("model", s("m")), ("created_at", s("2026-11-22T00:00:00Z"))]);
    let mut message = ollama_message(first, first.content.as_deref());
    if let Some(thought) = &first.reasoning {
        message.push("thinking", s(thought.clone()));
    }
    line.push("message", message);
    line.push("done_reason", s(ollama_reason(first)));
    line.push("done", J::Bool(true));
    line.push("eval_count", n(9));
    line
}

fn generated_line(choice: &Spoken, text: Option<&str>, done: bool) -> J {
    let mut line = obj([("model", s("m")), ("created_at", s("2026-11-22T00:00:00Z"))]);
    line.push("response", s(text.unwrap_or_default()));
    line.push("done", J::Bool(done));
    if done {
        line.push("done_reason", s(ollama_reason(choice)));
        line.push("eval_count", n(9));
    }
    line
}

fn generated(choice: &Spoken, source: &mut impl Source) -> Events {
    let parts = pieces(choice.content.as_deref().unwrap_or_default(), source);
    let line = |text: &String| ("", generated_line(choice, Some(text), false));
    let mut events: Events = parts.iter().map(line).collect();
    events.push(("", generated_line(choice, None, true)));
    events
}

// === Legacy completions ===

fn completion_choice(index: usize, text: &str, finish: J) -> J {
    obj([
        ("index", n(index)),
        ("text", s(text)),
        ("logprobs", J::Null),
        ("finish_reason", finish),
    ])
}

fn completion_of(choices: Vec<J>) -> J {
    obj([
        ("id", s("c1")),
        ("object", s("text_completion")),
        ("created", n(1)),
        ("model", s("m")),
        ("choices", J::Arr(choices)),
    ])
}

fn completion(choices: &[Spoken], is_over: bool) -> J {
    let one = |(index, choice): (usize, &Spoken)| {
        let text = choice.content.as_deref().unwrap_or_default();
        let finish = if is_over { s(choice.finish) } else { J::Null };
        completion_choice(index, text, finish)
    };
    completion_of(choices.iter().enumerate().map(one).collect())
}

fn completions(choices: &[Spoken], source: &mut impl Source) -> Events {
    let mut events = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        let text = choice.content.as_deref().unwrap_or_default();
        let mut say = |text: &str, finish: J| {
            let choice = completion_choice(index, text, finish);
            events.push(("", completion_of(vec![choice])));
        };
        for piece in pieces(text, source) {
            say(&piece, J::Null);
        }
        say("", s(choice.finish));
    }
    events
}

// === Anthropic's Messages ===

const fn messages_reason(choice: &Spoken) -> &'static str {
    match choice.finish.as_bytes() {
        b"length" => "max_tokens",
        b"tool_calls" => "tool_use",
        b"content_filter" => "refusal",
        _ => "end_turn",
    }
}

fn messages_head() -> J {
    let mut head = obj([("id", s("msg_1")), ("type", s("message"))]);
    head.push("role", s("assistant"));
    head.push("model", s("m"));
    head
}

fn messages(choice: &Spoken, source: &mut impl Source) -> Events {
    let mut start = messages_head();
    start.push("content", J::Arr(Vec::new()));
    start.push("stop_reason", J::Null);
    let counts = [("input_tokens", n(1)), ("output_tokens", n(0))];
    start.push("usage", obj(counts));
    let mut events: Events = vec![(
        "message_start",
        obj([("type", s("message_start")), ("message", start)]),
    )];
    let mut index = 0;
    let mut block = |block: J, deltas: Vec<J>| {
        let event = |name: &'static str| obj([("type", s(name)), ("index", n(index))]);
        let mut open = event("content_block_start");
        open.push("content_block", block);
        events.push(("content_block_start", open));
        for delta in deltas {
            let mut part = event("content_block_delta");
            part.push("delta", delta);
            events.push(("content_block_delta", part));
        }
        events.push(("content_block_stop", event("content_block_stop")));
        index += 1;
    };
    if let Some(text) = &choice.content {
        let part = |text: String| obj([("type", s("text_delta")), ("text", s(text))]);
        let deltas = pieces(text, source).into_iter().map(part);
        block(
            obj([("type", s("text")), ("text", s(""))]),
            deltas.collect(),
        );
    }
    for (nth, call) in choice.calls.iter().enumerate() {
        let part = |text: String| obj([("type", s("input_json_delta")), ("partial_json", s(text))]);
        let mut open = obj([("type", s("tool_use")), ("id", s(format!("toolu_{nth}")))]);
        open.push("name", s(call.name.clone()));
        open.push("input", obj([]));
        let deltas = pieces(&call.input, source).into_iter().map(part);
        block(open, deltas.collect());
    }
    let delta = obj([("stop_reason", s(messages_reason(choice)))]);
    let usage = obj([("output_tokens", n(2))]);
    let end = obj([
        ("type", s("message_delta")),
        ("delta", delta),
        ("usage", usage),
    ]);
    events.push(("message_delta", end));
    events.push(("message_stop", obj([("type", s("message_stop"))])));
    events
}

fn messages_whole(first: &Spoken) -> J {
    let mut blocks = Vec::new();
    if let Some(text) = &first.content {
        blocks.push(obj([("type", s("text")), ("text", s(text.clone()))]));
    }
    for (nth, call) in first.calls.iter().enumerate() {
        let mut block = obj([("type", s("tool_use")), ("id", s(format!("toolu_{nth}")))]);
        block.push("name", s(call.name.clone()));
        block.push("input", J::Raw(call.input.clone()));
        blocks.push(block);
    }
    let mut body = messages_head();
    body.push("content", J::Arr(blocks));
    body.push("stop_reason", s(messages_reason(first)));
    body.push(
        "usage",
        obj([("input_tokens", n(1)), ("output_tokens", n(2))]),
    );
    body
}

// === Gemini ===

const fn gemini_reason(choice: &Spoken) -> &'static str {
    match choice.finish.as_bytes() {
        b"length" => "MAX_TOKENS",
        b"content_filter" => "SAFETY",
        _ => "STOP",
    }
}

fn gemini_call(call: &Call) -> J {
    let args = J::Raw(call.input.clone());
    obj([(
        "functionCall",
        obj([("name", s(call.name.clone())), ("args", args)]),
    )])
}

fn candidate(index: usize, parts: Vec<J>, reason: Option<&str>) -> J {
    let content = obj([("role", s("model")), ("parts", J::Arr(parts))]);
    let mut out = obj([("content", content), ("index", n(index))]);
    if let Some(reason) = reason {
        out.push("finishReason", s(reason));
    }
    out
}

fn gemini(choices: &[Spoken], source: &mut impl Source) -> Events {
    let mut events = Vec::new();
    let event = |one: J| {
        (
            "",
            obj([("candidates", J::Arr(vec![one])), ("modelVersion", s("m"))]),
        )
    };
    for (index, choice) in choices.iter().enumerate() {
        for piece in pieces(choice.content.as_deref().unwrap_or_default(), source) {
            events.push(event(candidate(
                index,
                vec![obj([("text", s(piece))])],
                None,
            )));
        }
        for call in &choice.calls {
            events.push(event(candidate(index, vec![gemini_call(call)], None)));
        }
        let parts = vec![obj([("text", s(""))])];
        events.push(event(candidate(index, parts, Some(gemini_reason(choice)))));
    }
    events
}

fn gemini_whole(choices: &[Spoken]) -> J {
    let all = choices.iter().enumerate().map(|(index, choice)| {
        let mut parts = Vec::new();
        parts.extend(choice.content.clone().map(|text| obj([("text", s(text))])));
        parts.extend(choice.calls.iter().map(gemini_call));
        candidate(index, parts, Some(gemini_reason(choice)))
    });
    obj([("candidates", J::Arr(all.collect()))])
}

// === Cohere ===

const fn cohere_reason(choice: &Spoken) -> &'static str {
    match choice.finish.as_bytes() {
        b"length" => "MAX_TOKENS",
        b"content_filter" => "ERROR_TOXIC",
        b"tool_calls" => "TOOL_CALL",
        _ => "COMPLETE",
    }
}

fn cohere(choice: &Spoken, source: &mut impl Source) -> Events {
    let event = |name: &'static str, index: usize, message: Option<J>| {
        let mut out = obj([("type", s(name)), ("index", n(index))]);
        if let Some(message) = message {
            out.push("delta", obj([("message", message)]));
        }
        (name, out)
    };
    let mut events = vec![(
        "message-start",
        obj([("type", s("message-start")), ("id", s("c1"))]),
    )];
    if let Some(text) = &choice.content {
        let content = |text: J| Some(obj([("content", text)]));
        let open = obj([("type", s("text")), ("text", s(""))]);
        events.push(event("content-start", 0, content(open)));
        for piece in pieces(text, source) {
            events.push(event(
                "content-delta",
                0,
                content(obj([("text", s(piece))])),
            ));
        }
        events.push(event("content-end", 0, None));
    }
    for (nth, call) in choice.calls.iter().enumerate() {
        let calls = |call: J| Some(obj([("tool_calls", call)]));
        let start = Call {
            input: String::new(),
            ..call.clone()
        };
        let open = chat::call_json(nth, &start, None, source);
        events.push(event("tool-call-start", nth, calls(open)));
        for piece in pieces(&call.input, source) {
            let part = obj([("function", obj([("arguments", s(piece))]))]);
            events.push(event("tool-call-delta", nth, calls(part)));
        }
        events.push(event("tool-call-end", nth, None));
    }
    let end = obj([("finish_reason", s(cohere_reason(choice)))]);
    let end = obj([("type", s("message-end")), ("delta", end)]);
    events.push(("message-end", end));
    events
}

fn cohere_whole(first: &Spoken, source: &mut impl Source) -> J {
    let mut message = obj([("role", s("assistant"))]);
    if let Some(text) = &first.content {
        let part = obj([("type", s("text")), ("text", s(text.clone()))]);
        message.push("content", J::Arr(vec![part]));
    }
    if !first.calls.is_empty() {
        let calls = first.calls.iter().enumerate();
        let calls = calls.map(|(nth, call)| chat::call_json(nth, call, None, source));
        message.push("tool_calls", J::Arr(calls.collect()));
    }
    let reason = s(cohere_reason(first));
    obj([
        ("id", s("c1")),
        ("message", message),
        ("finish_reason", reason),
    ])
}

// === TGI's own route ===

fn tgi_details(choice: &Spoken) -> J {
    let reason = if choice.finish == "length" {
        "length"
    } else {
        "eos_token"
    };
    obj([
        ("finish_reason", s(reason)),
        ("generated_tokens", n(9)),
        ("input_length", n(9)),
    ])
}

fn tgi(choice: &Spoken, source: &mut impl Source) -> Events {
    let text = choice.content.clone().unwrap_or_default();
    let mut all = pieces(&text, source);
    all.push(String::new());
    let last = all.len() - 1;
    let mut events = Vec::new();
    for (nth, piece) in all.into_iter().enumerate() {
        let token = obj([
            ("id", n(7)),
            ("text", s(piece)),
            ("special", J::Bool(false)),
        ]);
        let mut event = obj([("index", n(nth + 1)), ("token", token)]);
        let (text, details) = if nth == last {
            (s(text.clone()), tgi_details(choice))
        } else {
            (J::Null, J::Null)
        };
        event.push("generated_text", text);
        event.push("details", details);
        events.push(("", event));
    }
    events
}
