//! Errors in Ollama's shape, which has nothing but a text.

use crate::error::{Error, Kind};
use serde_json::json;

/// The error as a reply's body, or a stream's line.
pub(super) fn body(error: &Error) -> Vec<u8> {
    let message = match error.kind {
        // As its servers say it where they may not cut.
        Kind::ContextLength => format!("the input exceeds the context length: {}", error.message),
        // There is no other place for the field.
        _ => (error.message_with_field()).unwrap_or_else(|| error.message.clone()),
    };
    serde_json::to_vec(&json!({"error": message})).unwrap_or_default()
}
