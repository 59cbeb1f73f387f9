//! `countTokens`: contents alone, or a whole request in `generateContentRequest`; `{"totalTokens": N}`
//! out.

use super::{EVENTS, request};
use crate::dialect::client::{Client, Counter};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request};
use serde_json::json;

/// The whole request in the body of the question.
const WHOLE: &str = "generateContentRequest";

/// Gemini's way to count a prompt's tokens.
#[derive(Debug, Clone, Copy)]
pub struct CountTokens;

impl Counter for CountTokens {
    fn client(&self) -> &'static dyn Client {
        EVENTS
    }

    fn read(&self, path: &str, body: &[u8]) -> Result<Request, Error> {
        let resource = path.rsplit_once(':').map_or(path, |(resource, _)| resource);
        let path = format!("{resource}:generateContent");
        let fields: Fields = serde_json::from_slice(body).map_err(|_| {
            let message = "the body is no JSON object: send one object with `contents`";
            Error::new(Kind::InvalidJson, message)
        })?;
        let whole = fields.raw(WHOLE).filter(|raw| *raw != "null");
        let Some(whole) = whole else {
            return request::read(&path, body);
        };
        if fields.has("contents") {
            let message = format!("`contents` stand in `{WHOLE}` too: send one of the two");
            return Err(Error::new(Kind::InvalidRequest, message).at("contents"));
        }
        request::read(&path, whole.as_bytes()).map_err(|mut error| {
            let param = error.param.take();
            error.param = Some(param.map_or(WHOLE.to_owned(), |at| format!("{WHOLE}.{at}")));
            error
        })
    }

    fn told(&self, tokens: u64) -> Vec<u8> {
        json!({"totalTokens": tokens}).to_string().into_bytes()
    }
}
