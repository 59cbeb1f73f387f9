//! Errors in Google's shape, with the words of google.rpc.

use crate::error::{Error, Kind};
use serde_json::{Value, json};

/// The word of google.rpc.
const fn word(kind: Kind, status: u16) -> &'static str {
    match (kind, status) {
        (Kind::UpstreamTimeout | Kind::UpstreamIdle, _) | (_, 408 | 504) => "DEADLINE_EXCEEDED",
        (_, 401) => "UNAUTHENTICATED",
        (_, 403) => "PERMISSION_DENIED",
        (_, 404) => "NOT_FOUND",
        (_, 409) => "ABORTED",
        (_, 429) => "RESOURCE_EXHAUSTED",
        (_, 499) => "CANCELLED",
        (_, 501) => "UNIMPLEMENTED",
        (_, 503) => "UNAVAILABLE",
        (_, ..=499) => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

/// The error as a value. What went wrong in the house's own words, and the field, stand where Google puts such.
pub(in crate::dialect) fn value(error: &Error) -> Value {
    let status = error.status();
    let code = error.code.as_deref().unwrap_or(error.kind.code());
    let message = match error.kind {
        // Clients look for these words.
        Kind::ContextLength => format!(
            "The input token count exceeds the maximum number of tokens allowed: {}",
            error.message
        ),
        _ => error.message.clone(),
    };
    let mut details = vec![json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": code.to_ascii_uppercase(),
        "domain": "isogloss",
    })];
    if let Some(param) = &error.param {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": param, "description": error.message}],
        }));
    }
    if let Some(seconds) = error.retry_after {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s"),
        }));
    }
    json!({"error": {
        "code": status,
        "message": message,
        "status": word(error.kind, status),
        "details": details,
    }})
}

/// The error as a reply's body.
pub(in crate::dialect) fn body(error: &Error) -> Vec<u8> {
    serde_json::to_vec(&value(error)).unwrap_or_default()
}
