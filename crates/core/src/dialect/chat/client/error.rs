//! Errors in OpenAI's shape.

use crate::error::Error;
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
struct ErrorWire<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<&'a str>,
    code: &'a str,
}

/// The error as a reply body: OpenAI's shape.
#[must_use]
pub fn error_body(error: &Error) -> Vec<u8> {
    let wire = ErrorWire {
        message: &error.message,
        r#type: error.kind.openai_type(),
        param: error.param.as_deref(),
        code: error.code.as_deref().unwrap_or(error.kind.code()),
    };
    serde_json::to_vec(&json!({"error": wire})).unwrap_or_default()
}

/// The error as one SSE event. The OpenAI clients raise on an `error` key in a chunk.
#[must_use]
pub fn error_event(error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    crate::sse::encode(&error_body(error), &mut out);
    out
}
