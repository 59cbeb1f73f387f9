//! Whether what a server of the same wire says beside what was verified is of the types that clients read; what is not is
//! written anew.

use crate::ir::{Delta, Fields, FinishReason, Reply, raw};
use crate::json::strict;
use serde_json::{Value, json};

/// The status and the reason that stand for an end.
pub(super) const fn ended(finish: Option<&FinishReason>) -> (&'static str, Option<&'static str>) {
    match finish {
        Some(FinishReason::Length | FinishReason::Paused(_)) => {
            ("incomplete", Some("max_output_tokens"))
        }
        Some(FinishReason::ContentFilter) => ("incomplete", Some("content_filter")),
        _ => ("completed", None),
    }
}

/// Whether a whole reply can go to the client as it came.
pub(super) fn is_response(reply: &Reply) -> bool {
    let body = reply.own.to_json();
    // Readers differ in which of two members of one name they take.
    if strict::check(&body, &strict::Limits::default()).is_err() {
        return false;
    }
    let Ok(response) = crate::json::value_of(&body) else {
        return false;
    };
    let deltas = reply.choices.iter().flat_map(|choice| &choice.deltas);
    let finish = deltas.rev().find_map(|delta| match delta {
        Delta::Finish(reason) => Some(reason),
        _ => None,
    });
    let output = response["output"].as_array();
    response["object"] == "response"
        && response["id"].is_string()
        && response["model"].is_string()
        && response["created_at"].is_number()
        && has_ended(&response, finish)
        && output.is_some_and(|items| items.iter().all(is_item))
}

fn has_ended(response: &Value, finish: Option<&FinishReason>) -> bool {
    let (status, reason) = ended(finish);
    let told = &response["incomplete_details"];
    response["status"] == status
        && match reason {
            Some(reason) => told["reason"] == reason,
            None => told.is_null(),
        }
}

/// Whether an item is one that clients read, or of a kind that is the server's own.
pub(super) fn is_item(item: &Value) -> bool {
    let is_word = |name: &str| item[name].is_string();
    let is_list = |name: &str| item.get(name).is_none_or(Value::is_array);
    is_word("id")
        && match item["type"].as_str() {
            Some("message") => {
                let parts = item["content"].as_array();
                item["role"] == "assistant" && parts.is_some_and(|parts| parts.iter().all(is_part))
            }
            Some("function_call") => is_word("call_id") && is_word("name") && is_word("arguments"),
            Some("custom_tool_call") => is_word("call_id") && is_word("name") && is_word("input"),
            Some("reasoning") => item["summary"].is_array() && is_list("content"),
            Some(kind) => is_kind(kind),
            None => false,
        }
}

/// Kinds of items are words such as `web_search_call`.
fn is_kind(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn is_part(part: &Value) -> bool {
    match part["type"].as_str() {
        Some("output_text") => part["text"].is_string() && part["annotations"].is_array(),
        Some("refusal") => part["refusal"].is_string(),
        _ => false,
    }
}

/// Gives a server's object the members that every client reads, where it has others there.
pub(super) fn settle(fields: &mut Fields, ours: &Fields) {
    let known = |name: &str| {
        fields
            .raw(name)
            .and_then(|raw| serde_json::from_str(raw).ok())
    };
    let is_word = |name: &str| known(name).is_some_and(|value: Value| value.is_string());
    let mut wrong = vec!["object", "status"];
    wrong.extend(["id", "model"].into_iter().filter(|name| !is_word(name)));
    if !known("created_at").is_some_and(|at| at.is_number()) {
        wrong.push("created_at");
    }
    let told = known("incomplete_details").unwrap_or_default();
    let mine = ours.raw("incomplete_details").unwrap_or("null");
    let mine: Value = crate::json::value(mine).unwrap_or_default();
    if told.get("reason") != mine.get("reason") || told.is_object() != mine.is_object() {
        fields.set("incomplete_details", raw(&mine));
    }
    for name in wrong {
        if let Some(value) = ours.0.get(name) {
            fields.set(name, value.clone());
        }
    }
}

/// Why it ended before its time, as the object says it.
pub(super) fn details(finish: Option<&FinishReason>) -> Option<Value> {
    ended(finish).1.map(|reason| json!({"reason": reason}))
}
