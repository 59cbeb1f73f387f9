//! Events that do not belong where they come, and parts of them.

use super::chat::one_chunk;
use super::demands::Demand;
use super::json::{J, n, obj, s};
use super::source::Source;
use super::values::{Call, odd, text};
use isogloss_core::ir::Wire;

/// Says of a place among `n` a lie, or the truth.
pub fn odd_index(source: &mut impl Source) -> J {
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
        .any(|tool| tool.name == name && tool.takes.kind() == "custom");
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
pub fn odd_delta(demand: &Demand, source: &mut impl Source) -> J {
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
        2 => one_chunk(index, obj([]), finish),
        3 => obj([("choices", odd(source))]),
        4 => obj([("error", odd(source))]),
        _ => one_chunk(index, delta, finish),
    };
    if source.chance(5) {
        event.push("choices", J::Arr(Vec::new()));
    }
    event
}

pub const LIE: &str = "{\"age\":\"bad\"}";

/// An event that does not belong there.
pub fn odd_event(wire: Wire, demand: &Demand, source: &mut impl Source) -> J {
    let call = odd_call(demand, source);
    let index = odd_index(source);
    match wire {
        Wire::Chat => odd_chat(demand, source),
        Wire::OllamaChat => odd_ollama(call, source),
        Wire::Messages => odd_messages(call, index, source),
        Wire::Gemini => odd_gemini(call, index, source),
        Wire::CohereChat => odd_cohere(&call, index, source),
        Wire::TgiGenerate => odd_tgi(source),
        Wire::OllamaGenerate => odd_generated(source),
        Wire::Completions => odd_completion(index, source),
        Wire::Responses => super::responses::odd_event(&call, index, source),
        Wire::Other(_) => unreachable!("no rule of the house's has one"),
    }
}

fn odd_ollama(call: Call, source: &mut impl Source) -> J {
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
    let mut message = obj([("role", s("assistant")), ("content", s(LIE))]);
    if source.chance(50) {
        message.push("tool_calls", J::Arr(vec![call]));
    }
    obj([
        ("message", message),
        ("done", J::Bool(source.chance(40))),
        ("done_reason", s(*source.pick(&["stop", "length", "load"]))),
    ])
}

fn odd_generated(source: &mut impl Source) -> J {
    obj([
        ("response", s(LIE)),
        ("done", J::Bool(source.chance(40))),
        ("done_reason", s(*source.pick(&["stop", "length", "load"]))),
    ])
}

fn odd_completion(index: J, source: &mut impl Source) -> J {
    let index = if source.chance(60) { n(0) } else { index };
    let finish = match source.below(4) {
        0 => s(*source.pick(&["stop", "length", "content_filter", "tool_calls"])),
        1 => odd(source),
        _ => J::Null,
    };
    let mut choice = obj([("index", index), ("finish_reason", finish)]);
    match source.below(6) {
        0 => choice.push("text", odd(source)),
        1 => choice.push("delta", obj([("content", s(LIE))])),
        2 => {}
        _ => choice.push("text", s(LIE)),
    }
    match source.below(8) {
        0 => obj([("choices", odd(source))]),
        1 => obj([("error", odd(source))]),
        _ => obj([("choices", J::Arr(vec![choice]))]),
    }
}

fn odd_messages(call: Call, index: J, source: &mut impl Source) -> J {
    match source.below(6) {
        0 => obj([
            ("type", s("content_block_delta")),
            ("index", index),
            ("delta", obj([("type", s("text_delta")), ("text", s(LIE))])),
        ]),
        1 => obj([
            ("type", s("content_block_delta")),
            ("index", index),
            (
                "delta",
                obj([("type", s("input_json_delta")), ("partial_json", s(LIE))]),
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
    }
}

fn odd_gemini(call: Call, index: J, source: &mut impl Source) -> J {
    let args = obj([("age", s("bad"))]);
    let part = source
        .pick(&[
            obj([("text", s(LIE))]),
            obj([("text", s(LIE)), ("thought", J::Bool(true))]),
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

fn odd_cohere(call: &Call, index: J, source: &mut impl Source) -> J {
    match source.below(4) {
        0 => obj([
            ("type", s("content-delta")),
            ("index", index),
            (
                "delta",
                obj([("message", obj([("content", obj([("text", s(LIE))]))]))]),
            ),
        ]),
        1 => obj([
            ("type", s("tool-call-start")),
            ("index", index),
            (
                "delta",
                obj([("message", obj([("tool_calls", call_json(call, source))]))]),
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
                        obj([("function", obj([("arguments", s(LIE))]))]),
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
    }
}

fn odd_tgi(source: &mut impl Source) -> J {
    let token = obj([("text", s(LIE)), ("special", J::Bool(source.chance(30)))]);
    let end = source.pick(&[J::Null, s(LIE)]).clone();
    obj([("token", token), ("generated_text", end)])
}
