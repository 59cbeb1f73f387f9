//! `/v1/responses/input_tokens`: the request's body in, `{"object": "response.input_tokens", "input_tokens": N}` out
//! (openai-python 2.54, `InputTokenCountResponse`).

use super::{Responses, request};
use crate::dialect::client::{Client, Counter};
use crate::error::Error;
use crate::ir::{Request, raw};
use serde_json::json;

/// OpenAI's way to count a prompt's tokens.
#[derive(Debug, Clone, Copy)]
pub struct InputTokens;

impl Counter for InputTokens {
    fn client(&self) -> &'static dyn Client {
        &Responses::Alone
    }

    /// What is counted need say nothing yet, nor be answered at once.
    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        let mut fields = request::fields(body)?;
        fields.remove("background");
        if fields.raw("input").is_none_or(|input| input == "null") {
            fields.set("input", raw(""));
        }
        request::read_fields(Responses::Alone, fields)
    }

    fn told(&self, tokens: u64) -> Vec<u8> {
        json!({"object": "response.input_tokens", "input_tokens": tokens})
            .to_string()
            .into_bytes()
    }
}
