//! Errors in Ollama's shape, which has nothing but a text.

use crate::error::Error;
use serde_json::json;

/// The error as a reply's body, or a stream's line.
pub(super) fn body(error: &Error) -> Vec<u8> {
    serde_json::to_vec(&json!({"error": error.message})).unwrap_or_default()
}
