//! A request's head in; whose turn it takes before an upstream that is sent so many at once, and how urgent it is, out.

use super::App;
use super::account::Record;
use crate::config;
use crate::upstream::{Asker, Turn};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use isogloss_core::error::{Error, Kind};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

/// Where clients of some dialect send their key.
const KEY_HEADERS: [&str; 3] = ["x-api-key", "x-goog-api-key", "api-key"];

/// Nobody can choose a key that has another's number.
static NUMBERS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Who asks is the client with its key; where anybody may, whoever has the same credentials.
///
/// # Errors
/// The header that says how urgent the request is says something else.
pub(super) fn of(app: &App, headers: &HeaderMap, record: &Record) -> Result<Turn, Error> {
    let access = record.accessing();
    let asker = match &access {
        Some(access) => NUMBERS.hash_one(access.name()),
        None => {
            let names = KEY_HEADERS.iter();
            let keys = names.filter_map(|name| headers.get(*name));
            let keys = headers.get(AUTHORIZATION).into_iter().chain(keys);
            NUMBERS.hash_one(keys.collect::<Vec<_>>())
        }
    };
    let most = access.as_ref().map(|access| access.priority());
    let said = said(app, headers)?;
    let priority = match (most, said) {
        (Some(most), Some(said)) => most.min(said),
        (most, said) => most.or(said).unwrap_or_default(),
    };
    Ok(Turn {
        asker: Asker(asker),
        priority,
    })
}

fn said(app: &App, headers: &HeaderMap) -> Result<Option<i32>, Error> {
    let Some(name) = &app.config.limits.priority_header else {
        return Ok(None);
    };
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let said = value.to_str().map_err(|_| "it is no text".to_owned());
    let priority = said.and_then(config::priority);
    let wrong = |remedy| {
        let message = format!("the header {name} says how urgent a request is: {remedy}");
        Error::new(Kind::InvalidRequest, message)
    };
    priority.map(Some).map_err(wrong)
}
