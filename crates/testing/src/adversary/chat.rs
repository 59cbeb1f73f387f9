//! What was said, in Chat Completions; with what servers of this wire are known to get wrong in it,
//! and is to be mended.

use super::json::{J, n, obj, s};
use super::source::Source;
use super::speak::{Spoken, pieces};
use super::values::Call;
use super::wires::Events;

fn chunk(choices: Vec<J>) -> J {
    obj([
        ("id", s("c1")),
        ("object", s("chat.completion.chunk")),
        ("created", n(1)),
        ("model", s("m")),
        ("choices", J::Arr(choices)),
    ])
}

/// One chunk of Chat's, with one choice.
pub fn one_chunk(index: J, delta: J, finish: J) -> J {
    chunk(vec![obj([
        ("index", index),
        ("delta", delta),
        ("finish_reason", finish),
    ])])
}

pub fn streamed(choices: &[Spoken], source: &mut impl Source) -> Events {
    let mut left: Vec<Vec<J>> = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        let mut deltas = chat_deltas(choice, source);
        let is_short = source.chance(20) && deltas.len() > 1;
        let mut last = if is_short { deltas.pop() } else { None };
        let one = |delta: J, finish: J| {
            obj([
                ("index", n(index)),
                ("delta", delta),
                ("finish_reason", finish),
            ])
        };
        let mut all: Vec<J> = deltas
            .into_iter()
            .map(|delta| one(delta, J::Null))
            .collect();
        all.push(one(
            last.take().unwrap_or_else(|| obj([])),
            s(choice.finish),
        ));
        match source.below(30) {
            // The end comes twice, or nothing after it.
            0 => all.push(one(obj([]), s(choice.finish))),
            1 => all.push(one(obj([("content", s(""))]), J::Null)),
            _ => {}
        }
        all.reverse();
        left.push(all);
    }
    let is_joined = source.chance(15);
    let mut events = Vec::new();
    if source.chance(5) {
        // Azure's first.
        let mut filter = chunk(Vec::new());
        filter.push("prompt_filter_results", J::Arr(Vec::new()));
        events.push(("", filter));
    }
    while left.iter().any(|all| !all.is_empty()) {
        if is_joined {
            events.push(("", chunk(left.iter_mut().filter_map(Vec::pop).collect())));
            continue;
        }
        let nth = source.below(left.len());
        let next = left[nth]
            .pop()
            .or_else(|| left.iter_mut().find_map(Vec::pop));
        events.extend(next.map(|choice| ("", chunk(vec![choice]))));
    }
    if source.chance(40) {
        let mut usage = chunk(Vec::new());
        let counts = [
            ("prompt_tokens", n(1)),
            ("completion_tokens", n(2)),
            ("total_tokens", n(3)),
        ];
        usage.push("usage", obj(counts));
        events.push(("", usage));
    }
    events
}

fn chat_deltas(choice: &Spoken, source: &mut impl Source) -> Vec<J> {
    let mut deltas = Vec::new();
    if source.chance(85) {
        let content = source.pick(&[s(""), J::Null]).clone();
        deltas.push(obj([("role", s("assistant")), ("content", content)]));
    }
    if let Some(thought) = &choice.reasoning {
        let name = *source.pick(&["reasoning_content", "reasoning"]);
        deltas.extend(
            pieces(thought, source)
                .into_iter()
                .map(|it| obj([(name, s(it))])),
        );
    }
    for piece in pieces(choice.content.as_deref().unwrap_or_default(), source) {
        deltas.push(obj([("content", s(piece))]));
    }
    let is_whole = source.chance(30);
    for (nth, call) in choice.calls.iter().enumerate() {
        let calls = |call: J| obj([("tool_calls", J::Arr(vec![call]))]);
        if is_whole {
            deltas.push(calls(call_json(nth, call, Some(nth), source)));
            continue;
        }
        let start = Call {
            input: String::new(),
            ..call.clone()
        };
        let mut first = call_json(nth, &start, Some(nth), source);
        let (kind, input) = words(call);
        let parts = pieces(&call.input, source);
        let quirk = Quirk::pick(choice.calls.len(), parts.len(), source);
        quirk.first(&mut first, kind);
        let id = first.get("id").cloned();
        deltas.push(calls(first));
        for (place, piece) in parts.into_iter().enumerate() {
            let body = obj([(input, s(piece))]);
            let mut part = obj([("index", n(nth)), (kind, body)]);
            quirk.later(&mut part, kind, place, call, id.clone());
            deltas.push(calls(part));
        }
    }
    if source.chance(10) {
        for delta in &mut deltas {
            delta.set("role", s("assistant"));
        }
    }
    deltas
}

/// What servers are known to get wrong in the framing of calls, and is to be mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quirk {
    None,
    /// Name and id stand in every piece.
    Again,
    /// So do nulls in their places.
    Nulls,
    NoType,
    NoId,
    LateId,
    /// Of the only call.
    NoIndex,
}

impl Quirk {
    fn pick(calls: usize, pieces: usize, source: &mut impl Source) -> Self {
        use Quirk::{Again, LateId, NoId, NoIndex, NoType, None, Nulls};
        let all = [
            None, None, None, None, Again, Nulls, NoType, NoId, LateId, NoIndex,
        ];
        match *source.pick(&all) {
            NoIndex if calls > 1 => None,
            LateId if pieces == 0 => None,
            quirk => quirk,
        }
    }

    fn first(self, call: &mut J, kind: &str) {
        match self {
            Self::NoType if kind == "function" => call.remove("type"),
            Self::NoId | Self::LateId => call.remove("id"),
            Self::NoIndex => call.remove("index"),
            _ => {}
        }
    }

    fn later(self, part: &mut J, kind: &str, place: usize, call: &Call, id: Option<J>) {
        match self {
            Self::Again => {
                part.push("id", id.unwrap_or(J::Null));
                part.push("type", s(kind));
                if let Some(body) = part.get_mut(kind) {
                    body.push("name", s(call.name.clone()));
                }
            }
            Self::Nulls => {
                part.push("id", J::Null);
                part.push("type", J::Null);
                if let Some(body) = part.get_mut(kind) {
                    body.push("name", J::Null);
                }
            }
            Self::LateId if place == 0 => part.push("id", s("late")),
            Self::NoIndex => part.remove("index"),
            _ => {}
        }
    }
}

const fn words(call: &Call) -> (&'static str, &'static str) {
    if call.custom {
        ("custom", "input")
    } else {
        ("function", "arguments")
    }
}

pub fn call_json(nth: usize, call: &Call, index: Option<usize>, source: &mut impl Source) -> J {
    let (kind, input) = words(call);
    let mut out = obj([("id", s(format!("call_{nth}_{}", source.below(9))))]);
    if let Some(index) = index {
        out.push("index", n(index));
    }
    out.push("type", s(kind));
    let body = obj([
        ("name", s(call.name.clone())),
        (input, s(call.input.clone())),
    ]);
    out.push(kind, body);
    out
}

pub fn whole(choices: &[Spoken], source: &mut impl Source) -> J {
    let mut all = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        let content = choice.content.clone().map_or(J::Null, J::Str);
        let mut message = obj([("role", s("assistant")), ("content", content)]);
        if source.chance(20) {
            message.push("refusal", J::Null);
        }
        if let Some(thought) = &choice.reasoning {
            message.push("reasoning_content", s(thought.clone()));
        }
        if !choice.calls.is_empty() {
            let calls = choice.calls.iter().enumerate();
            let calls = calls.map(|(nth, call)| {
                let mut out = call_json(nth, call, None, source);
                bend_whole(&mut out, call, source);
                out
            });
            message.push("tool_calls", J::Arr(calls.collect()));
        } else if source.chance(10) {
            message.push("tool_calls", J::Arr(Vec::new()));
        }
        let mut out = obj([("index", n(index)), ("message", message)]);
        if choice.finish != "stop" || source.chance(95) {
            out.push("finish_reason", s(choice.finish));
        }
        all.push(out);
    }
    let mut body = chunk(all);
    body.set("object", s("chat.completion"));
    body
}

/// As some servers write a whole call: arguments as an object, no id, no type.
fn bend_whole(out: &mut J, call: &Call, source: &mut impl Source) {
    match source.below(12) {
        0 => out.remove("id"),
        1 => out.set("id", J::Null),
        2 if !call.custom => out.remove("type"),
        3 if !call.custom => {
            if let Some(body) = out.get_mut("function") {
                body.set("arguments", J::Raw(call.input.clone()));
            }
        }
        _ => {}
    }
}
