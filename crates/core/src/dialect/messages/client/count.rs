//! `/v1/messages/count_tokens`: the request's body without a limit in, `{"input_tokens": N}` out.

use super::{Messages, request};
use crate::dialect::client::{Client, Counter};
use crate::error::Error;
use crate::ir::Request;
use serde_json::json;

/// Anthropic's way to count a prompt's tokens.
#[derive(Debug, Clone, Copy)]
pub struct CountTokens;

impl Counter for CountTokens {
    fn client(&self) -> &'static dyn Client {
        &Messages
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        request::read_to_count(body)
    }

    fn told(&self, tokens: u64) -> Vec<u8> {
        json!({"input_tokens": tokens}).to_string().into_bytes()
    }
}
