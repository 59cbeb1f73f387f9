//! What is kept of interactions, and how a request goes on from one.
//!
//! As Google's servers do: an interaction is kept unless `store` is false; the model is told the steps of the earlier ones, but
//! neither their instructions nor their tools.

use super::{Interactions, PREFIX};
use crate::dialect::client::{Client, invalid};
use crate::dialect::keeper::{Asks, Continued, Keeper, Kept, Known};
use crate::error::{Error, Kind};
use crate::ir::{Fields, raw};
use crate::json::strict;
use crate::rules::Rule;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The field that names what a request goes on from.
const PREVIOUS: &str = "previous_interaction_id";
/// Of an id that is repeated in an error.
const MAX_ID_CHARS: usize = 80;

/// The store's face of Interactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct InteractionsKeeper;

impl Keeper for InteractionsKeeper {
    fn previous(&self) -> &'static str {
        PREVIOUS
    }

    /// Every server is asked in words of another dialect.
    fn is_kept_by(&self, _rule: &Rule) -> bool {
        false
    }

    fn may_be(&self, id: &str) -> bool {
        id.starts_with(PREFIX)
    }

    fn asks(&self, body: &[u8]) -> Result<Asks, Error> {
        let Ok(fields) = serde_json::from_slice::<Fields>(body) else {
            return Ok(Asks::default());
        };
        let previous = fields.raw(PREVIOUS);
        let previous = previous.filter(|raw| !matches!(*raw, "null" | "\"\""));
        let previous = previous.map(serde_json::from_str).transpose();
        let message = "`previous_interaction_id` must be an interaction's id";
        Ok(Asks {
            keeps: fields.raw("store") != Some("false"),
            previous: previous.map_err(|_| invalid(message, PREVIOUS))?,
            items: Vec::new(),
        })
    }

    fn client(&self, is_kept: bool) -> &'static dyn Client {
        match is_kept {
            true => &Interactions::Kept,
            false => &Interactions::Unkept,
        }
    }

    /// No step has an id by which another request names it.
    fn home(&self, _item: &str) -> Option<String> {
        None
    }

    fn continued(&self, body: &[u8], known: &Known) -> Result<Continued, Error> {
        let body = &*strict::checked(body, &strict::Limits::default())?;
        let no_object = |_| invalid("the body must be an object", "input");
        let mut fields: Fields = serde_json::from_slice(body).map_err(no_object)?;
        let mut steps: Vec<Box<RawValue>> = known.before.iter().flat_map(steps_of).collect();
        steps.extend(own_steps(&fields));
        fields.set("input", raw(&steps));
        Ok(Continued {
            whole: fields.to_json().into(),
            kept: None,
        })
    }

    fn id(&self, reply: &[u8]) -> Option<String> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        serde_json::from_slice::<Named>(reply).ok().map(|it| it.id)
    }

    fn input(&self, body: &[u8], _id: &str) -> Vec<u8> {
        let fields: Fields = serde_json::from_slice(body).unwrap_or_default();
        serde_json::to_vec(&own_steps(&fields)).unwrap_or_default()
    }

    fn page(&self, _input: &[u8], _query: &[(String, String)]) -> Result<Vec<u8>, Error> {
        let message = "what an interaction was asked with is not listed: leave `/input_items` out";
        Err(Error::new(Kind::InvalidRequest, message).with_status(404))
    }

    fn deleted(&self, _id: &str) -> Vec<u8> {
        b"{}".to_vec()
    }

    fn unknown(&self, id: &str, param: Option<&str>) -> Error {
        let id: String = id.chars().take(MAX_ID_CHARS).collect();
        let message = format!(
            "Interaction with id '{id}' not found, or one that it goes on from: it was not stored here or with another API \
             key, was deleted, or has expired; send the whole conversation in `input`"
        );
        let mut error = Error::new(Kind::InvalidRequest, message).with_status(404);
        error.param = param.map(str::to_owned);
        error
    }

    fn no_store(&self) -> Error {
        let message = "nothing is stored here: start isogloss with --responses-store memory, or the path of a file (responses.store)";
        Error::new(Kind::InvalidRequest, message)
    }
}

/// The steps that a request and its reply are to the next one.
fn steps_of(kept: &Kept) -> Vec<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Stored {
        steps: Vec<Box<RawValue>>,
    }
    let mut steps: Vec<Box<RawValue>> = serde_json::from_slice(&kept.input).unwrap_or_default();
    let said: Option<Stored> = serde_json::from_slice(&kept.reply).ok();
    steps.extend(said.into_iter().flat_map(|said| said.steps));
    steps
}

#[derive(Serialize)]
struct UserInput {
    r#type: &'static str,
    content: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct Text<'t> {
    r#type: &'static str,
    text: &'t RawValue,
}

/// `input` as steps, in whichever of its forms it is.
fn own_steps(fields: &Fields) -> Vec<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Typed<'t> {
        #[serde(rename = "type")]
        kind: Option<Cow<'t, str>>,
    }
    const CONTENTS: [&str; 5] = ["text", "image", "audio", "video", "document"];
    let step = |content| {
        let r#type = "user_input";
        raw(&UserInput { r#type, content })
    };
    let Some(input) = fields.0.get("input").filter(|raw| raw.get() != "null") else {
        return Vec::new();
    };
    let is_content = |item: &RawValue| {
        let typed: Option<Typed<'_>> = serde_json::from_str(item.get()).ok();
        let kind = typed.and_then(|typed| typed.kind);
        kind.is_some_and(|kind| CONTENTS.contains(&kind.as_ref()))
    };
    if input.get().starts_with('"') {
        let (r#type, text) = ("text", &**input);
        return vec![step(vec![raw(&Text { r#type, text })])];
    }
    let items: Vec<Box<RawValue>> = match input.get().starts_with('[') {
        true => serde_json::from_str(input.get()).unwrap_or_default(),
        false => vec![input.clone()],
    };
    let mut steps = Vec::new();
    let mut contents = Vec::new();
    for item in items {
        if is_content(&item) {
            contents.push(item);
            continue;
        }
        if !contents.is_empty() {
            steps.push(step(std::mem::take(&mut contents)));
        }
        steps.push(item);
    }
    if !contents.is_empty() {
        steps.push(step(contents));
    }
    steps
}
