//! An error in the shape of the route that it is the answer of.

use super::models::{Credentials, Speaks};
use crate::dialect::chat::client;
use crate::dialect::client::{Counter, in_words_of};
use crate::error::Error;
use serde_json::json;

/// The body of an error reply to a request to this path.
#[must_use]
pub fn error_body(path: &str, credentials: Credentials, error: &Error) -> Vec<u8> {
    let counts = || super::counter(path).map(Counter::client);
    match super::client(path).or_else(counts) {
        Some(client) => client.error_body(&in_words_of(client, error.clone())),
        None => in_shape(Speaks::of(path, credentials), error),
    }
}

fn in_shape(shape: Speaks, error: &Error) -> Vec<u8> {
    let (status, message) = (error.status(), error.message.as_str());
    let body = match shape {
        Speaks::OpenAi => return client::error_body(error),
        Speaks::Anthropic => {
            let kind = match status {
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                429 => "rate_limit_error",
                413 => "request_too_large",
                ..500 => "invalid_request_error",
                _ => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Speaks::Gemini => {
            let name = match status {
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                503 => "UNAVAILABLE",
                504 => "DEADLINE_EXCEEDED",
                ..500 => "INVALID_ARGUMENT",
                _ => "INTERNAL",
            };
            json!({"error": {"code": status, "message": message, "status": name}})
        }
        Speaks::Ollama => json!({"error": message}),
    };
    serde_json::to_vec(&body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::error::Kind;
    use serde_json::Value;

    #[test]
    fn the_limit_of_a_reply_has_the_clients_own_name() {
        let error = Error::new(Kind::InvalidRequest, "raise `max_tokens`").at("max_tokens");
        for (path, name) in [
            ("/v1/chat/completions", "max_tokens"),
            ("/v1/messages", "max_tokens"),
            ("/v1/responses", "max_output_tokens"),
            (
                "/v1beta/models/m:generateContent",
                "generationConfig.maxOutputTokens",
            ),
            ("/api/chat", "options.num_predict"),
        ] {
            let body = error_body(path, Credentials::default(), &error);
            let body = String::from_utf8(body).unwrap();
            assert!(body.contains(&format!("raise `{name}`")), "{path}: {body}");
        }
    }

    #[test]
    fn a_limit_in_another_apis_word_is_refused_by_that_word() {
        let path = "/v1/responses";
        let client = crate::passage::client(path).unwrap();
        for name in ["max_tokens", "max_completion_tokens"] {
            let asked = json!({"model": "m", "input": "hi", name: 9}).to_string();
            let error = client.read(path, asked.as_bytes()).unwrap_err();
            let body = error_body(path, Credentials::default(), &error);
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["error"]["param"], name);
            let message = body["error"]["message"].as_str().unwrap();
            let expected =
                format!("`{name}` is no field of Responses: send `max_output_tokens` instead");
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn each_route_is_answered_in_its_own_shape() {
        let error = Error::new(Kind::UnverifiedRoute, "why").at("format");
        for (path, expected) in [
            (
                "/v1/completions",
                json!({"error": {"message": "why", "type": "invalid_request_error", "param": "format", "code": "unverified_route"}}),
            ),
            (
                "/v1/messages/batches",
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "why"}}),
            ),
            (
                "/v1beta/models/gemini:batchGenerateContent",
                json!({"error": {"code": 400, "message": "why", "status": "INVALID_ARGUMENT"}}),
            ),
            ("/api/chat", json!({"error": "format: why"})),
        ] {
            let body = error_body(path, Credentials::default(), &error);
            assert_eq!(
                serde_json::from_slice::<Value>(&body).unwrap(),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn a_path_like_ollamas_with_a_version_is_openais() {
        for path in [
            "/api/v1/chat/completions",
            "/generate",
            "/v1/responses",
            "/",
        ] {
            assert_eq!(
                Speaks::of(path, Credentials::default()),
                Speaks::OpenAi,
                "{path}"
            );
        }
    }
}
