//! Lies: what a server, a gateway or somebody in between makes of a right reply. And changes that
//! no reader may mind.

use super::chat::one_chunk;
use super::demands::Demand;
use super::json::{J, n, obj, s};
use super::lies::{odd_delta, odd_event, odd_index};
use super::source::Source;
use super::values::odd;
use super::wires::Events;
use isogloss_core::ir::Wire;

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
        7 => events.push(("", odd_event(wire, demand, source))),
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
            let lie = odd_event(wire, demand, source);
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
            let ping = one_chunk(n(0), obj([("content", s(""))]), J::Null);
            events.insert(0, ("", ping));
        }
        _ => {}
    }
}
