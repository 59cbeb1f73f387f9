//! OpenAI's Responses, as its own server says what was said; and events of it that do not belong where they come.

use super::json::{J, n, obj, s};
use super::lies::LIE;
use super::source::Source;
use super::speak::{Spoken, pieces};
use super::values::{Call, odd};
use super::wires::Events;

fn event(name: &'static str, more: Vec<(&str, J)>) -> (&'static str, J) {
    let mut event = obj([("type", s(name))]);
    for (key, value) in more {
        event.push(key, value);
    }
    (name, event)
}

/// The kind of a call's item, its field for the input, and the names of the events that tell it.
const fn words(call: &Call) -> (&'static str, &'static str, [&'static str; 2]) {
    if call.custom {
        let events = [
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
        ];
        ("custom_tool_call", "input", events)
    } else {
        let events = [
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
        ];
        ("function_call", "arguments", events)
    }
}

fn call_item(at: usize, call: &Call, input: &str) -> J {
    let (kind, field, _) = words(call);
    obj([
        ("type", s(kind)),
        ("id", s(format!("fc_{at}"))),
        ("call_id", s(format!("call_{at}"))),
        ("name", s(call.name.clone())),
        (field, s(input.to_owned())),
        ("status", s("completed")),
    ])
}

fn text_part(text: &str) -> J {
    obj([
        ("type", s("output_text")),
        ("text", s(text.to_owned())),
        ("annotations", J::Arr(Vec::new())),
        ("logprobs", J::Arr(Vec::new())),
    ])
}

fn message_item(content: Vec<J>) -> J {
    obj([
        ("type", s("message")),
        ("id", s("msg_1")),
        ("role", s("assistant")),
        ("status", s("completed")),
        ("content", J::Arr(content)),
    ])
}

fn thought_item(text: Option<&str>) -> J {
    let parts = text.map(|text| obj([("type", s("summary_text")), ("text", s(text.to_owned()))]));
    obj([
        ("type", s("reasoning")),
        ("id", s("rs_1")),
        ("summary", J::Arr(parts.into_iter().collect())),
    ])
}

fn items(choice: &Spoken) -> Vec<J> {
    let thought = choice.reasoning.as_deref().map(|it| thought_item(Some(it)));
    let text = choice.content.as_deref();
    let message = text.map(|text| message_item(vec![text_part(text)]));
    let calls = choice.calls.iter().enumerate();
    let calls = calls.map(|(at, call)| call_item(at, call, &call.input));
    thought.into_iter().chain(message).chain(calls).collect()
}

fn response(choice: &Spoken, output: Vec<J>, is_over: bool) -> J {
    let reason = match choice.finish {
        "length" => Some("max_output_tokens"),
        "content_filter" => Some("content_filter"),
        _ => None,
    };
    let (status, details) = match reason {
        _ if !is_over => ("in_progress", J::Null),
        Some(reason) => ("incomplete", obj([("reason", s(reason))])),
        None => ("completed", J::Null),
    };
    obj([
        ("id", s("resp_1")),
        ("object", s("response")),
        ("created_at", n(1)),
        ("model", s("m")),
        ("status", s(status)),
        ("incomplete_details", details),
        ("output", J::Arr(output)),
        ("error", J::Null),
        (
            "usage",
            obj([("input_tokens", n(1)), ("output_tokens", n(9))]),
        ),
    ])
}

/// The body that says this.
pub fn whole(choice: &Spoken) -> J {
    response(choice, items(choice), true)
}

/// The events of a stream that says this.
pub fn streamed(choice: &Spoken, source: &mut impl Source) -> Events {
    let mut events = vec![event(
        "response.created",
        vec![("response", response(choice, Vec::new(), false))],
    )];
    let mut place = 0;
    let mut tell = |added: J, inner: Events, done: J| {
        let at = |item| vec![("output_index", n(place)), ("item", item)];
        events.push(event("response.output_item.added", at(added)));
        for (name, mut inner) in inner {
            inner.push("output_index", n(place));
            events.push((name, inner));
        }
        events.push(event("response.output_item.done", at(done)));
        place += 1;
    };
    if let Some(thought) = choice.reasoning.as_deref() {
        let delta = vec![("summary_index", n(0)), ("delta", s(thought.to_owned()))];
        let inner = vec![event("response.reasoning_summary_text.delta", delta)];
        tell(thought_item(None), inner, thought_item(Some(thought)));
    }
    if let Some(text) = choice.content.as_deref() {
        let part = |text: &str| vec![("content_index", n(0)), ("part", text_part(text))];
        let mut inner = vec![event("response.content_part.added", part(""))];
        for piece in pieces(text, source) {
            let delta = vec![("content_index", n(0)), ("delta", s(piece))];
            inner.push(event("response.output_text.delta", delta));
        }
        let all = vec![("content_index", n(0)), ("text", s(text.to_owned()))];
        inner.push(event("response.output_text.done", all));
        inner.push(event("response.content_part.done", part(text)));
        tell(
            message_item(Vec::new()),
            inner,
            message_item(vec![text_part(text)]),
        );
    }
    for (at, call) in choice.calls.iter().enumerate() {
        let (_, field, [delta, done]) = words(call);
        let mut inner: Events = pieces(&call.input, source)
            .into_iter()
            .map(|piece| event(delta, vec![("delta", s(piece))]))
            .collect();
        inner.push(event(done, vec![(field, s(call.input.clone()))]));
        tell(
            call_item(at, call, ""),
            inner,
            call_item(at, call, &call.input),
        );
    }
    let last = match choice.finish {
        "length" | "content_filter" => "response.incomplete",
        _ => "response.completed",
    };
    let over = vec![("response", response(choice, items(choice), true))];
    events.push(event(last, over));
    events
}

/// An event that does not belong there.
pub fn odd_event(call: &Call, index: J, source: &mut impl Source) -> J {
    let lying = |text: &str| Spoken {
        content: Some(text.to_owned()),
        finish: "stop",
        ..Spoken::default()
    };
    let place = if source.chance(60) { n(0) } else { index };
    let (_, field, [delta, done]) = words(call);
    let (name, more) = match source.below(12) {
        0 => ("response.output_text.delta", vec![("delta", s(LIE))]),
        1 => ("response.output_text.done", vec![("text", s(LIE))]),
        2 => (delta, vec![("delta", s(LIE))]),
        3 => (done, vec![(field, s(LIE))]),
        4 => (
            "response.output_item.added",
            vec![("item", message_item(vec![text_part(LIE)]))],
        ),
        5 => (
            "response.output_item.done",
            vec![("item", message_item(vec![text_part(LIE)]))],
        ),
        6 => (
            "response.output_item.added",
            vec![("item", call_item(0, call, LIE))],
        ),
        7 => (
            "response.output_item.done",
            vec![("item", call_item(0, call, LIE))],
        ),
        8 => ("response.content_part.done", vec![("part", text_part(LIE))]),
        9 => ("response.completed", vec![("response", whole(&lying(LIE)))]),
        10 => ("response.incomplete", vec![("response", odd(source))]),
        _ => ("response.refusal.delta", vec![("delta", s("I will not."))]),
    };
    let (_, mut event) = event(name, more);
    event.push("output_index", place);
    event
}
