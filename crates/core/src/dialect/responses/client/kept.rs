//! What is kept of requests and replies, and how a request goes on from them.
//!
//! As OpenAI's servers do: a reply is kept unless `store` is false; the model is told the input and the output of the
//! earlier ones, but not their instructions.

use super::Responses;
use super::field::invalid;
use super::item::{self, Input};
use crate::dialect::client::Client;
use crate::dialect::keeper::{Asks, Continued, Keeper, Kept, Known};
use crate::error::{Error, Kind};
use crate::ir::{Fields, raw};
use crate::json::{place, strict};
use crate::rules::Rule;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The field that names what a request goes on from.
const PREVIOUS: &str = "previous_response_id";
/// More items than this are not looked up for one request.
const MAX_NAMED: usize = 1024;
/// Of an id that is repeated in an error.
const MAX_ID_CHARS: usize = 80;
/// Of ids that are made here, the hexadecimal digits that all of one reply have in common.
const SEED_DIGITS: usize = 32;
/// Items of a page, as OpenAI's servers have it.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;

/// The store's face of Responses.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponsesKeeper {
    /// Its replies are conversations in short, which nobody names by their ids.
    pub(super) compacts: bool,
}

/// What stands in [`PREVIOUS`] once it was followed. No client can send it: [`Keeper::asks`] takes a text alone.
#[derive(Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) id: String,
    pub(super) items: Box<RawValue>,
}

/// What a request goes on from, where that was found.
pub(super) fn before(fields: &Fields) -> Option<Before> {
    let raw = fields.raw(PREVIOUS)?;
    serde_json::from_str(raw).ok()
}

/// Whether a request may go on from another.
pub(super) fn goes_on(body: &[u8]) -> bool {
    place::field(body, PREVIOUS).is_some()
}

impl Keeper for ResponsesKeeper {
    fn previous(&self) -> &'static str {
        PREVIOUS
    }

    fn is_kept_by(&self, rule: &Rule) -> bool {
        rule.responses
    }

    fn may_be(&self, id: &str) -> bool {
        !id.starts_with(crate::dialect::interactions::client::PREFIX)
    }

    fn asks(&self, body: &[u8]) -> Result<Asks, Error> {
        let Ok(fields) = serde_json::from_slice::<Fields>(body) else {
            return Ok(Asks::default());
        };
        let previous = fields.raw(PREVIOUS).filter(|raw| *raw != "null");
        let previous = previous.map(serde_json::from_str).transpose();
        let previous = previous.map_err(|_| invalid(PREVIOUS, "must be the id of a response"))?;
        let mut items: Vec<String> = Vec::new();
        if let Ok(Input::Items(listed)) = item::read(&fields) {
            for named in listed.iter().filter_map(item::Item::reference) {
                if !items.contains(&named) {
                    items.push(named);
                }
                if items.len() > MAX_NAMED {
                    let problem =
                        format!("refers to more than {MAX_NAMED} stored items: send them");
                    return Err(invalid("input", &problem));
                }
            }
        }
        Ok(Asks {
            keeps: !self.compacts && fields.raw("store") != Some("false"),
            previous,
            items,
        })
    }

    fn client(&self, is_kept: bool) -> &'static dyn Client {
        match is_kept {
            _ if self.compacts => &Responses::Compact,
            true => &Responses::Kept,
            false => &Responses::Unkept,
        }
    }

    fn home(&self, item: &str) -> Option<String> {
        let (_, seed) = item.rsplit_once('_')?;
        let seed = seed.get(..SEED_DIGITS)?;
        let is_ours = seed.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| format!("resp_{seed}"))
    }

    fn continued(&self, body: &[u8], known: &Known) -> Result<Continued, Error> {
        let body = &*strict::checked(body, &strict::Limits::default())?;
        let no_object = |_| invalid("input", "must be text, or a list of objects");
        let mut fields: Fields = serde_json::from_slice(body).map_err(no_object)?;
        let asks = self.asks(body)?;
        let mut kept = None;
        if !asks.items.is_empty() {
            let input = with_items(&fields, &known.homes)?;
            fields.set("input", input);
            kept = Some(Bytes::from(fields.to_json()));
        }
        let whole = match (asks.previous, &kept) {
            (None, Some(kept)) => kept.clone(),
            (previous, _) => {
                if let Some(id) = previous {
                    let items: Vec<_> = known.before.iter().flat_map(items_of).collect();
                    let items = raw(&items);
                    fields.set(PREVIOUS, raw(&Before { id, items }));
                }
                fields.to_json().into()
            }
        };
        Ok(Continued { whole, kept })
    }

    fn id(&self, reply: &[u8]) -> Option<String> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        serde_json::from_slice::<Named>(reply).ok().map(|it| it.id)
    }

    fn input(&self, body: &[u8], id: &str) -> Vec<u8> {
        let fields: Fields = serde_json::from_slice(body).unwrap_or_default();
        let seed = id.rsplit('_').next().unwrap_or_default();
        let items: Vec<Fields> = match fields.raw("input") {
            Some(text) if text.starts_with('"') => {
                let content = fields.0.get("input");
                let item = json!({"type": "message", "role": "user", "content": content});
                vec![serde_json::from_value(item).unwrap_or_default()]
            }
            Some(list) => serde_json::from_str(list).unwrap_or_default(),
            None => Vec::new(),
        };
        let named = items.into_iter().enumerate();
        let named: Vec<Fields> = named
            .map(|(place, item)| completed(item, seed, place))
            .collect();
        serde_json::to_vec(&named).unwrap_or_default()
    }

    fn page(&self, input: &[u8], query: &[(String, String)]) -> Result<Vec<u8>, Error> {
        page(input, query)
    }

    fn deleted(&self, id: &str) -> Vec<u8> {
        let told = json!({"id": id, "object": "response", "deleted": true});
        told.to_string().into_bytes()
    }

    fn unknown(&self, id: &str, param: Option<&str>) -> Error {
        let id: String = id.chars().take(MAX_ID_CHARS).collect();
        let why = "it was not stored here or with another API key, was deleted, or has expired";
        let (code, status, message) = match param {
            Some(_) => (
                "previous_response_not_found",
                400,
                format!(
                    "Previous response with id '{id}' not found, or one that it goes on from: {why}; send the whole \
                     conversation in `input`"
                ),
            ),
            None => (
                "response_not_found",
                404,
                format!("Response with id '{id}' not found: {why}"),
            ),
        };
        let mut error = Error::new(Kind::InvalidRequest, message).with_status(status);
        error.code = Some(code.to_owned());
        error.param = param.map(str::to_owned);
        error
    }

    fn compactor(&self) -> Option<&'static dyn Client> {
        Some(&Responses::Compact)
    }

    fn no_store(&self) -> Error {
        let message = "nothing is stored here: start isogloss with --responses-store memory, or the path of a file (responses.store)";
        let mut error = Error::new(Kind::InvalidRequest, message);
        error.code = Some("responses_not_stored".to_owned());
        error
    }
}

/// The items that a request and its reply are to the next one.
fn items_of(kept: &Kept) -> Vec<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Stored {
        output: Vec<Box<RawValue>>,
    }
    let mut items: Vec<Box<RawValue>> = serde_json::from_slice(&kept.input).unwrap_or_default();
    let said: Option<Stored> = serde_json::from_slice(&kept.reply).ok();
    items.extend(said.into_iter().flat_map(|said| said.output));
    items
}

/// `input`, in which each item stands in the place of its name.
fn with_items(fields: &Fields, homes: &[Kept]) -> Result<Box<RawValue>, Error> {
    #[derive(Deserialize)]
    struct Named {
        id: Option<String>,
        #[serde(rename = "type")]
        kind: Option<String>,
    }
    let mut known = HashMap::new();
    for item in homes.iter().flat_map(items_of) {
        let named: Option<Named> = serde_json::from_str(item.get()).ok();
        // Older programs kept the names themselves.
        let named = named.filter(|named| named.kind.as_deref() != Some("item_reference"));
        if let Some(id) = named.and_then(|named| named.id) {
            known.insert(id, item);
        }
    }
    let Input::Items(listed) = item::read(fields)? else {
        return Ok(raw(&fields.0.get("input")));
    };
    let stated: Vec<Box<RawValue>> =
        serde_json::from_str(fields.raw("input").unwrap_or("[]")).unwrap_or_default();
    let mut all = Vec::with_capacity(stated.len());
    for (item, stated) in listed.iter().zip(stated) {
        all.push(match item.reference() {
            None => stated,
            Some(id) => match known.get(&id) {
                Some(item) => item.clone(),
                None => return Err(no_item(&id, &item.origin.0)),
            },
        });
    }
    Ok(raw(&all))
}

fn no_item(id: &str, at: &str) -> Error {
    let id: String = id.chars().take(MAX_ID_CHARS).collect();
    let message = format!(
        "Item with id '{id}' not found: it was not stored here or with another API key, was deleted, or has \
         expired; send the item itself"
    );
    let mut error = Error::new(Kind::InvalidRequest, message).with_status(404);
    error.code = Some("item_not_found".to_owned());
    error.at(at)
}

/// An item as it is listed: with its type, its id, its status, and its text as parts.
fn completed(mut item: Fields, seed: &str, place: usize) -> Fields {
    if !item.has("type") {
        item.set("type", raw("message"));
    }
    let kind: String =
        serde_json::from_str(item.raw("type").unwrap_or_default()).unwrap_or_default();
    if item.raw("id").is_none_or(|id| id == "null") {
        let prefix = match kind.as_str() {
            "message" => "msg",
            "function_call" => "fc",
            "function_call_output" => "fco",
            "custom_tool_call" => "ctc",
            "custom_tool_call_output" => "ctco",
            "reasoning" => "rs",
            _ => "item",
        };
        item.set("id", raw(&format!("{prefix}_{seed}i{place:04x}")));
    }
    if kind == "message" {
        let said = item.raw("content").filter(|said| said.starts_with('"'));
        let text = said.and_then(|said| serde_json::from_str::<String>(said).ok());
        if let Some(text) = text {
            let part = match item.raw("role") {
                Some("\"assistant\"") => {
                    json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}])
                }
                _ => json!([{"type": "input_text", "text": text}]),
            };
            item.set("content", raw(&part));
        }
    }
    if item.raw("status").is_none_or(|status| status == "null") {
        item.set("status", raw("completed"));
    }
    item
}

/// What is asked of a list.
struct Wanted {
    limit: usize,
    is_ascending: bool,
    after: Option<String>,
}

fn wanted(query: &[(String, String)]) -> Result<Wanted, Error> {
    let mut wanted = Wanted {
        limit: PAGE,
        is_ascending: false,
        after: None,
    };
    for (name, value) in query {
        match name.as_str() {
            "limit" => {
                let limit = value.parse().ok();
                let limit = limit.filter(|limit| (1..=MAX_PAGE).contains(limit));
                let problem = format!("must be a whole number from 1 to {MAX_PAGE}");
                wanted.limit = limit.ok_or_else(|| invalid("limit", &problem))?;
            }
            "order" => {
                wanted.is_ascending = match value.as_str() {
                    "asc" => true,
                    "desc" => false,
                    _ => return Err(invalid("order", "must be asc or desc")),
                };
            }
            "after" => wanted.after = Some(value.clone()),
            // What more of an item is to be told is told always.
            _ => {}
        }
    }
    Ok(wanted)
}

fn page(input: &[u8], query: &[(String, String)]) -> Result<Vec<u8>, Error> {
    let wanted = wanted(query)?;
    let mut items: Vec<Value> = serde_json::from_slice(input).unwrap_or_default();
    if !wanted.is_ascending {
        items.reverse();
    }
    let first = match &wanted.after {
        None => 0,
        Some(id) => match items.iter().position(|item| item["id"] == id.as_str()) {
            Some(place) => place + 1,
            None => return Err(invalid("after", "names no item of this response")),
        },
    };
    let rest = items.get(first..).unwrap_or_default();
    let data = rest.get(..wanted.limit).unwrap_or(rest);
    let id = |item: Option<&Value>| item.map(|item| item["id"].clone());
    let list = json!({
        "object": "list",
        "data": data,
        "first_id": id(data.first()),
        "last_id": id(data.last()),
        "has_more": rest.len() > data.len(),
    });
    Ok(list.to_string().into_bytes())
}
