//! An error in the shape of the route that it is the answer of.

use crate::dialect::chat::client;
use crate::error::Error;
use serde_json::json;

/// Whose shape a client of a route that is not translated reads errors in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `{"error": {"message", "type", "param", "code"}}`, which most servers have.
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}}`
    Anthropic,
    /// `{"error": {"code", "message", "status"}}`
    Gemini,
    /// `{"error": "…"}`
    Ollama,
}

impl Shape {
    /// The shape of the routes that a path is one of.
    fn of(path: &str) -> Self {
        let path = path.to_lowercase();
        let path = path.trim_matches('/');
        let is_method = |last: &str| last.ends_with("generatecontent");
        if path.rsplit(':').next().is_some_and(is_method) {
            Self::Gemini
        } else if path.starts_with("api/") && !path.starts_with("api/v") {
            Self::Ollama
        } else if path.split('/').any(|segment| segment == "messages") {
            Self::Anthropic
        } else {
            Self::OpenAi
        }
    }
}

/// The body of an error reply to a request to this path.
#[must_use]
pub fn error_body(path: &str, error: &Error) -> Vec<u8> {
    match super::client(path) {
        Some(client) => client.error_body(error),
        None => in_shape(Shape::of(path), error),
    }
}

fn in_shape(shape: Shape, error: &Error) -> Vec<u8> {
    let (status, message) = (error.status(), error.message.as_str());
    let body = match shape {
        Shape::OpenAi => return client::error_body(error),
        Shape::Anthropic => {
            let kind = match status {
                404 => "not_found_error",
                413 => "request_too_large",
                ..500 => "invalid_request_error",
                _ => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Shape::Gemini => {
            let name = match status {
                404 => "NOT_FOUND",
                ..500 => "INVALID_ARGUMENT",
                _ => "INTERNAL",
            };
            json!({"error": {"code": status, "message": message, "status": name}})
        }
        Shape::Ollama => json!({"error": message}),
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
            ("/api/chat", json!({"error": "why"})),
        ] {
            let body = error_body(path, &error);
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
            assert_eq!(Shape::of(path), Shape::OpenAi, "{path}");
        }
    }
}
