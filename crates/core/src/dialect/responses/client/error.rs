//! Errors in OpenAI's shape.

use crate::error::Error;
use serde_json::{Value, json};

/// The error as a reply body.
pub(super) fn error_body(error: &Error) -> Vec<u8> {
    crate::dialect::chat::client::error_body(error)
}

/// The error as the last event of a stream of which no more is known.
pub(super) fn error_event(error: &Error) -> Vec<u8> {
    let mut out = b"event: error\n".to_vec();
    crate::sse::encode(told(error, 0).to_string().as_bytes(), &mut out);
    out
}

/// The error as an event. Clients look for its members beside the type, where OpenAI documents them, or within
/// `error`, where its servers put them: the SDKs raise on that.
pub(super) fn told(error: &Error, number: u64) -> Value {
    let code = code(error);
    json!({
        "type": "error",
        "code": code,
        "message": error.message,
        "param": error.param,
        "sequence_number": number,
        "error": {
            "type": error.kind.openai_type(),
            "code": code,
            "message": error.message,
            "param": error.param,
        },
    })
}

/// What clients tell errors apart by.
pub(super) fn code(error: &Error) -> &str {
    error.code.as_deref().unwrap_or(error.kind.code())
}
