//! Errors in OpenAI's shape.

use crate::error::Error;
use serde_json::json;

/// The error as a reply body.
pub(super) fn error_body(error: &Error) -> Vec<u8> {
    crate::dialect::chat::client::error_body(error)
}

/// The error as the last event of a stream. Clients look for its members beside the type, where OpenAI documents
/// them, or within `error`, where its servers put them: the SDKs raise on that.
pub(super) fn error_event(error: &Error) -> Vec<u8> {
    let code = error.code.as_deref().unwrap_or(error.kind.code());
    let told = json!({
        "type": "error",
        "code": code,
        "message": error.message,
        "param": error.param,
        // Which it is, only the writer knew.
        "sequence_number": 0,
        "error": {
            "type": error.kind.openai_type(),
            "code": code,
            "message": error.message,
            "param": error.param,
        },
    });
    let mut out = b"event: error\n".to_vec();
    crate::sse::encode(told.to_string().as_bytes(), &mut out);
    out
}
