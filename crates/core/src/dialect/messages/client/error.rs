//! Errors in Anthropic's shape.

use crate::error::{Error, Kind};
use serde_json::json;

/// Says that a conversation is not kept, so that the client sends all of it.
pub(super) const NO_THREAD: &str = "thread_not_found";

/// The error as a reply's body. The field at fault stands in the message, as in Anthropic's own.
pub(super) fn body(error: &Error) -> Vec<u8> {
    let message = match error.message_with_field() {
        Some(message) => message,
        // Clients look for these words, and drop old turns.
        _ if error.kind == Kind::ContextLength => format!("prompt is too long: {}", error.message),
        _ => error.message.clone(),
    };
    let mut told = json!({"type": word(error), "message": message});
    if error.code.as_deref() == Some(NO_THREAD) {
        told["details"] = json!({"error_code": NO_THREAD});
    }
    serde_json::to_vec(&json!({"type": "error", "error": told})).unwrap_or_default()
}

/// The error's `type`, which clients compare with the status.
fn word(error: &Error) -> &'static str {
    match (error.kind, error.status()) {
        (Kind::Overloaded | Kind::ShuttingDown | Kind::ModelLoading, _) | (_, 503 | 529) => {
            "overloaded_error"
        }
        (_, 401) => "authentication_error",
        (_, 402) => "billing_error",
        (_, 403) => "permission_error",
        (_, 404) => "not_found_error",
        (_, 413) => "request_too_large",
        (_, 429) => "rate_limit_error",
        (_, 408 | 504) => "timeout_error",
        (_, 400..=499) => "invalid_request_error",
        _ => "api_error",
    }
}
