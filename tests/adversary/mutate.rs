//! Lies: what a server, a gateway or somebody in between makes of a right reply. And changes that
//! no reader may mind.

use super::demands::{Demand, Takes};
use super::json::{J, n, obj, s};
use super::source::Source;
use super::values::{Call, odd, text};
use super::wires::{Events, chat_chunk};
use isogloss::wire::Wire;

/// Fields that some reader on the way knows.
const KNOWN: &[&str] = &[
    "index",
    "delta",
    "message",
    "content",
    "finish_reason",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "id",
    "type",
    "role",
    "refusal",
    "choices",
    "function_call",
    "custom",
    "input",
    "text",
    "done",
    "done_reason",
    "content_block",
    "stop_reason",
    "partial_json",
    "candidates",
    "parts",
    "finishReason",
    "functionCall",
    "args",
    "token",
    "generated_text",
    "details",
    "error",
    "object",
    "thinking",
    "reasoning_content",
    "special",
    "usage",
    "model",
    "created",
    "logprobs",
];

/// Says of a place among `n` a lie, or the truth.
fn odd_index(source: &mut impl Source) -> J {
    match source.below(12) {
        0 => s("0"),
        1 => s("1"),
        2 => n(-1),
        3 => n(4_294_967_296_u64),
        4 => n(4_294_967_295_u64),
        5 => J::Null,
        6 => J::Num("0.0".to_owned()),
        7 => J::Num("0e0".to_owned()),
        8 => n(1),
        9 => n(7),
        10 => J::Bool(false),
        _ => n(0),
    }
}

/// A tool's call that is wrong in its name, its input, or as a whole.
fn odd_call(demand: &Demand, source: &mut impl Source) -> Call {
    let name = match demand.tools.len() {
        0 => "g",
        count => demand.tools[source.below(count)].name,
    };
    let custom = demand
        .tools
        .iter()
        .any(|tool| tool.name == name && matches!(tool.takes, Takes::Text(_)));
    let name = *source.pick(&[name, name, name, "g", "zzz", ""]);
    let inputs = [
        "{\"age\":\"bad\"}",
        "{\"age\":1}",
        "{\"age\":",
        "",
        "{}",
        "x",
        "a",
        "ab",
        "{\"name\":\"\",\"age\":-1}",
    ];
    Call {
        name: name.to_owned(),
        input: (*source.pick(&inputs)).to_owned(),
        custom: custom != source.chance(10),
    }
}

fn call_json(call: &Call, source: &mut impl Source) -> J {
    let (kind, input) = if call.custom {
        ("custom", "input")
    } else {
        ("function", "arguments")
    };
    let mut body = obj([(input, s(call.input.clone()))]);
    if source.chance(80) {
        body.push("name", s(call.name.clone()));
    }
    let mut out = obj([(kind, body)]);
    if source.chance(70) {
        out.push("index", odd_index(source));
    }
    if source.chance(70) {
        out.push(
            "id",
            source
                .pick(&[s("x"), s("call_0_0"), s(""), n(5), J::Null])
                .clone(),
        );
    }
    if source.chance(50) {
        out.push("type", s(*source.pick(&["function", "custom", "x"])));
    }
    if source.chance(10) {
        out.push("custom", obj([("name", s("g")), ("input", s("bad"))]));
    }
    out
}

/// What a delta, or a message, says that it should not.
fn odd_delta(demand: &Demand, source: &mut impl Source) -> J {
    let lie = || s("{\"age\":\"bad\"}");
    let mut delta = obj([]);
    for _ in 0..=source.below(2) {
        match source.below(14) {
            0 | 1 => delta.push("content", lie()),
            2 => delta.push("content", s(text(demand.want.as_ref(), true, source))),
            3 => delta.push(
                "content",
                s(*source.pick(&["}", " ", "\n", "x", "{", "```", ""])),
            ),
            4 => delta.push("refusal", s(*source.pick(&["I cannot", "n", ""]))),
            5 | 6 => {
                let call = odd_call(demand, source);
                delta.push("tool_calls", J::Arr(vec![call_json(&call, source)]));
            }
            7 => {
                let call = odd_call(demand, source);
                let body = [("name", s(call.name)), ("arguments", s(call.input))];
                delta.push("function_call", obj(body));
            }
            8 => {
                let part = obj([("type", s("text")), ("text", lie())]);
                delta.push("content", J::Arr(vec![part]));
            }
            9 => delta.push("role", s(*source.pick(&["assistant", "user", "tool", ""]))),
            10 => delta.push("reasoning_content", s("hm {\"age\":1}")),
            11 => delta.push("tool_calls", odd(source)),
            12 => delta.push("content", odd(source)),
            _ => delta.push("refusal", odd(source)),
        }
    }
    delta
}

/// An event on Chat's wire that does not belong there.
fn odd_chat(demand: &Demand, source: &mut impl Source) -> J {
    let finish = match source.below(8) {
        0 | 1 => s(*source.pick(&["stop", "tool_calls", "function_call"])),
        2 => s(*source.pick(&["length", "content_filter"])),
        3 => odd(source),
        _ => J::Null,
    };
    let index = if source.chance(60) {
        n(0)
    } else {
        odd_index(source)
    };
    let delta = odd_delta(demand, source);
    let mut event = match source.below(10) {
        // A whole object where a chunk is expected.
        0 => {
            let choice = [
                ("index", index),
                ("message", delta),
                ("finish_reason", finish),
            ];
            obj([
                ("object", s("chat.completion")),
                ("choices", J::Arr(vec![obj(choice)])),
            ])
        }
        1 => {
            let choice = [
                ("index", index),
                ("text", s("{\"age\":\"bad\"}")),
                ("finish_reason", finish),
            ];
            obj([("choices", J::Arr(vec![obj(choice)]))])
        }
        2 => chat_chunk(index, obj([]), finish),
        3 => obj([("choices", odd(source))]),
        4 => obj([("error", odd(source))]),
        _ => chat_chunk(index, delta, finish),
    };
    if source.chance(5) {
        event.push("choices", J::Arr(Vec::new()));
    }
    event
}

/// An event on another wire that does not belong there.
fn odd_other(wire: Wire, demand: &Demand, source: &mut impl Source) -> J {
    let lie = || s("{\"age\":\"bad\"}");
    let call = odd_call(demand, source);
    let index = odd_index(source);
    match wire {
        Wire::Chat => odd_chat(demand, source),
        Wire::OllamaChat => {
            let arguments = J::Raw(
                if source.chance(80) {
                    "{\"age\":\"bad\"}"
                } else {
                    "{}"
                }
                .to_owned(),
            );
            let call = obj([(
                "function",
                obj([("name", s(call.name)), ("arguments", arguments)]),
            )]);
            let mut message = obj([("role", s("assistant")), ("content", lie())]);
            if source.chance(50) {
                message.push("tool_calls", J::Arr(vec![call]));
            }
            obj([
                ("message", message),
                ("done", J::Bool(source.chance(40))),
                ("done_reason", s(*source.pick(&["stop", "length", "load"]))),
            ])
        }
        Wire::Messages => match source.below(6) {
            0 => obj([
                ("type", s("content_block_delta")),
                ("index", index),
                ("delta", obj([("type", s("text_delta")), ("text", lie())])),
            ]),
            1 => obj([
                ("type", s("content_block_delta")),
                ("index", index),
                (
                    "delta",
                    obj([("type", s("input_json_delta")), ("partial_json", lie())]),
                ),
            ]),
            2 => obj([
                ("type", s("content_block_start")),
                ("index", index),
                (
                    "content_block",
                    obj([
                        ("type", s("tool_use")),
                        ("id", s("toolu_0")),
                        ("name", s(call.name)),
                        ("input", obj([("age", s("bad"))])),
                    ]),
                ),
            ]),
            3 => obj([
                ("type", s("message_delta")),
                (
                    "delta",
                    obj([(
                        "stop_reason",
                        s(*source.pick(&["max_tokens", "refusal", "end_turn", "pause_turn"])),
                    )]),
                ),
            ]),
            4 => obj([("type", s("message_stop"))]),
            _ => obj([("type", s("content_block_stop")), ("index", index)]),
        },
        Wire::Gemini => {
            let args = obj([("age", s("bad"))]);
            let part = source
                .pick(&[
                    obj([("text", lie())]),
                    obj([("text", lie()), ("thought", J::Bool(true))]),
                    obj([(
                        "functionCall",
                        obj([("name", s(call.name)), ("args", args)]),
                    )]),
                ])
                .clone();
            let reason = source
                .pick(&[J::Null, s("STOP"), s("MAX_TOKENS"), s("SAFETY"), s("OTHER")])
                .clone();
            let content = obj([("parts", J::Arr(vec![part]))]);
            let candidate = obj([
                ("index", index),
                ("content", content),
                ("finishReason", reason),
            ]);
            obj([("candidates", J::Arr(vec![candidate]))])
        }
        Wire::CohereChat => match source.below(4) {
            0 => obj([
                ("type", s("content-delta")),
                ("index", index),
                (
                    "delta",
                    obj([("message", obj([("content", obj([("text", lie())]))]))]),
                ),
            ]),
            1 => obj([
                ("type", s("tool-call-start")),
                ("index", index),
                (
                    "delta",
                    obj([("message", obj([("tool_calls", call_json(&call, source))]))]),
                ),
            ]),
            2 => obj([
                ("type", s("tool-call-delta")),
                ("index", index),
                (
                    "delta",
                    obj([(
                        "message",
                        obj([(
                            "tool_calls",
                            obj([("function", obj([("arguments", lie())]))]),
                        )]),
                    )]),
                ),
            ]),
            _ => obj([
                ("type", s("message-end")),
                (
                    "delta",
                    obj([(
                        "finish_reason",
                        s(*source.pick(&["MAX_TOKENS", "COMPLETE", "ERROR_TOXIC", "TOOL_CALL"])),
                    )]),
                ),
            ]),
        },
        Wire::TgiGenerate => {
            let token = obj([("text", lie()), ("special", J::Bool(source.chance(30)))]);
            let end = source.pick(&[J::Null, lie()]).clone();
            obj([("token", token), ("generated_text", end)])
        }
    }
}

/// The same name for readers that mind no case.
fn recased(key: &str, source: &mut impl Source) -> String {
    match source.below(3) {
        0 => key.to_ascii_uppercase(),
        1 => key.replace('s', "\u{17f}").replace('k', "\u{212a}"),
        _ => {
            let mut letters = key.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
    }
}

/// One change of one JSON text: a known field is another, goes, comes twice.
pub fn twist(value: &mut J, demand: &Demand, source: &mut impl Source) {
    let count = value.objects();
    if count == 0 {
        return;
    }
    let mut place = source.below(count);
    let Some(members) = value.object_mut(&mut place) else {
        return;
    };
    let nth = source.below(members.len());
    match source.below(8) {
        0 if !members.is_empty() => {
            members.remove(nth);
        }
        7 if !members.is_empty() => {
            let (key, known) = members[nth].clone();
            let lie = match known {
                J::Str(_) | J::Num(_) | J::Null => odd(source),
                mut inner => {
                    twist(&mut inner, demand, source);
                    inner
                }
            };
            let at = source.below(members.len() + 1);
            members.insert(at, (recased(&key, source), lie));
        }
        1 => members.push(((*source.pick(KNOWN)).to_owned(), odd(source))),
        2 if !members.is_empty() => {
            let key = members[nth].0.clone();
            let lie = if key == "index" {
                odd_index(source)
            } else {
                odd(source)
            };
            members.insert(source.below(members.len() + 1), (key, lie));
        }
        3 => {
            let at = source.below(members.len() + 1);
            let more = odd_delta(demand, source);
            if let J::Obj(more) = more {
                members.splice(at..at, more);
            }
        }
        4 => {
            let name = *source.pick(&["delta", "message"]);
            members.push((name.to_owned(), odd_delta(demand, source)));
        }
        _ if !members.is_empty() => {
            let is_index = members[nth].0 == "index";
            members[nth].1 = if is_index {
                odd_index(source)
            } else {
                odd(source)
            };
        }
        _ => members.push(("index".to_owned(), odd_index(source))),
    }
}

/// One change of a stream's events.
pub fn disorder(wire: Wire, events: &mut Events, demand: &Demand, source: &mut impl Source) {
    let count = events.len();
    let (one, other) = (source.below(count), source.below(count));
    match source.below(12) {
        0 if count > 0 => events.swap(one, other),
        1 if count > 0 => {
            let again = events[one].clone();
            events.insert(other, again);
        }
        2 if count > 0 => {
            events.remove(one);
        }
        3 if count > 0 => {
            let late = events.remove(one);
            events.push(late);
        }
        4 if count > 0 => {
            let mut again = events[one].1.clone();
            twist(&mut again, demand, source);
            events.insert(other, ("", again));
        }
        5 | 6 if count > 0 => twist(&mut events[one].1, demand, source),
        7 => events.push(("", odd_other(wire, demand, source))),
        8 => events.truncate(one),
        9 if count > 0 => {
            // What one event says, another says as well, or instead.
            let said = events[other].1.clone();
            if let (Some(J::Arr(to)), Some(J::Arr(from))) =
                (events[one].1.get_mut("choices"), said.get("choices"))
            {
                to.extend(from.iter().cloned());
            }
        }
        _ => {
            let lie = odd_other(wire, demand, source);
            events.insert(source.below(count + 1), ("", lie));
        }
    }
}

/// A change that no reader may mind: fields that nobody knows, nulls, empty pieces.
pub fn decorate(wire: Wire, events: &mut Events, source: &mut impl Source) {
    let count = events.len();
    let nth = source.below(count);
    let Some((_, event)) = events.get_mut(nth) else {
        return;
    };
    match source.below(4) {
        0 => event.push("x_unknown", obj([("a", J::Arr(vec![n(1), s("é😀")]))])),
        1 if wire == Wire::Chat => {
            if let Some(choice) = event.at_mut(&["choices", "0"]) {
                choice.push("x_unknown", s("{\"age\":\"bad\"}"));
                choice.push("stop_reason", J::Null);
            }
        }
        2 if wire == Wire::Chat => {
            if let Some(delta) = event.at_mut(&["choices", "0", "delta"]) {
                for name in ["refusal", "tool_calls", "function_call", "content"] {
                    if delta.get(name).is_none() && source.chance(50) {
                        delta.push(name, J::Null);
                    }
                }
            }
        }
        3 if wire == Wire::Chat => {
            let ping = chat_chunk(n(0), obj([("content", s(""))]), J::Null);
            events.insert(0, ("", ping));
        }
        _ => {}
    }
}
