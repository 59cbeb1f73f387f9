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

/// The code of a response that failed. OpenAI's is of a closed list (openai-python 3.57's `ResponseError`), which clients that
/// check types hold it to; what its API says beside that list, clients act on (Codex, `codex-api/src/sse/responses.rs`).
pub(super) fn failed(error: &Error) -> Value {
    const KNOWN: [&str; 27] = [
        "server_error",
        "rate_limit_exceeded",
        "invalid_prompt",
        "data_residency_mismatch",
        "bio_policy",
        "misalignment_policy_violation",
        "vector_store_timeout",
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "invalid_image_url",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_content_policy_violation",
        "invalid_image_mode",
        "image_file_too_large",
        "unsupported_image_media_type",
        "empty_image_file",
        "failed_to_download_image",
        "image_file_not_found",
        "context_length_exceeded",
        "insufficient_quota",
        "usage_not_included",
        "cyber_policy",
        "server_is_overloaded",
        "slow_down",
    ];
    let own = code(error);
    let known = KNOWN.contains(&own);
    let code = match error.status() {
        _ if known => own,
        429 => "rate_limit_exceeded",
        400..=499 => "invalid_prompt",
        _ => "server_error",
    };
    let mut told = json!({"code": code, "message": error.message});
    if !known {
        told["reason"] = json!(own);
    }
    told
}

/// What clients tell errors apart by.
pub(super) fn code(error: &Error) -> &str {
    error.code.as_deref().unwrap_or(error.kind.code())
}
