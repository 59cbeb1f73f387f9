//! `/v1/responses/compact`: a conversation in short, asked for by itself (OpenAI's reference, "Compact a response"). In: its request.
//! Out: the request of `/v1/responses` that ends with asking for as much; and its reply in this route's shape, what the user
//! said and one item for the whole of it.

use super::field::{field, invalid};
use super::item::{self, Input};
use super::kept::before;
use super::write::whole_fields;
use crate::dialect::client::Terms;
use crate::error::Error;
use crate::ir::{Delta, Fields, Place, Reply, Violation, raw};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The request as `/v1/responses` takes it, and what the user said in it.
pub(super) fn asked(mut fields: Fields) -> Result<(Fields, Vec<Value>), Error> {
    if field::<bool>(&fields, "stream", "true or false")? == Some(true) {
        let problem = "is not taken here: leave it out, or end the `input` of /v1/responses with \
                       {\"type\": \"compaction_trigger\"}";
        return Err(invalid("stream", problem));
    }
    let earlier = before(&fields).map(|before| before.items);
    let earlier = earlier.and_then(|items| serde_json::from_str(items.get()).ok());
    let mut items: Vec<Box<RawValue>> = Vec::new();
    let is_stated = fields.raw("input").is_some_and(|input| input != "null");
    // There may be nothing behind what it goes on from.
    if is_stated || earlier.is_none() {
        match item::read(&fields)? {
            Input::Text(text) => {
                items.push(raw(
                    &json!({"type": "message", "role": "user", "content": text}),
                ));
            }
            Input::Items(_) => {
                let listed = fields.raw("input").map(serde_json::from_str);
                let listed = listed.and_then(Result::ok);
                items = listed.unwrap_or_default();
            }
        }
    }
    let earlier: Vec<Box<RawValue>> = earlier.unwrap_or_default();
    let said = earlier.iter().chain(&items);
    let said = said.filter_map(|item| of_user(item.get())).collect();
    if !item::asks_compaction(&fields) {
        items.push(raw(&json!({"type": "compaction_trigger"})));
    }
    fields.set("input", raw(&items));
    Ok((fields, said))
}

/// A message of the user's, as an item of a reply.
fn of_user(item: &str) -> Option<Value> {
    let mut item: Value = crate::json::value(item).ok()?;
    let is_message =
        matches!(item.get("type"), None | Some(Value::Null)) || item["type"] == "message";
    if !is_message || item["role"] != "user" {
        return None;
    }
    if let Some(text) = item["content"].as_str() {
        item["content"] = json!([{"type": "input_text", "text": text}]);
    }
    item["type"] = json!("message");
    item["status"] = json!("completed");
    Some(item)
}

/// Nothing is in the summary's place: its client would forget all for it.
pub(super) fn lacking(reply: &Reply) -> Option<Violation> {
    let deltas = || reply.choices.iter().flat_map(|choice| &choice.deltas);
    let says = deltas().any(|delta| matches!(delta, Delta::Text(text) if !text.trim().is_empty()));
    let is_none = deltas().any(|delta| match delta {
        Delta::Refusal(_) => true,
        Delta::Finish(reason) => reason.is_cut(),
        _ => false,
    });
    let message = match (says, is_none) {
        (true, false) => return None,
        (_, true) => {
            "the summary of the conversation is cut, or refused: only a whole one can stand for it"
        }
        (false, false) => "the reply holds no summary of the conversation",
    };
    Some(Violation::new(Place::Content(0), "summary", message))
}

/// The reply's object.
pub(super) fn reply(terms: &Terms, reply: &Reply, said: Vec<Value>) -> Vec<u8> {
    let mut fields = whole_fields(terms, reply);
    let id = fields
        .raw("id")
        .and_then(|id| serde_json::from_str(id).ok());
    let seed: &str = id.map_or("", |id: &str| id.trim_start_matches("resp_"));
    let mut output: Vec<Value> = said;
    for (place, item) in output.iter_mut().enumerate() {
        if !item["id"].is_string() {
            item["id"] = json!(format!("msg_{seed}u{place:03x}"));
        }
    }
    let made = fields.raw("output").map(serde_json::from_str::<Vec<Value>>);
    output.extend(made.and_then(Result::ok).unwrap_or_default());
    fields.set("object", raw("response.compaction"));
    fields.set("output", raw(&output));
    const MEMBERS: [&str; 5] = ["id", "object", "created_at", "output", "usage"];
    fields.0.retain(|name, _| MEMBERS.contains(&name.as_str()));
    fields.to_json()
}
