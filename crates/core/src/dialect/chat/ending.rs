//! How a stream that goes through as it is ends: its bytes in, which are not read as events, what they tell of the end out.

use crate::dialect::client::LastWords;
use memchr::memmem::Finder;
use std::sync::LazyLock;

static REASON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"finish_reason\":"));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"error\""));

/// What these whole events tell. Within a text a quote is escaped, so that none of these stands in one.
pub(in crate::dialect) fn last_words(events: &[u8]) -> Option<LastWords> {
    let behind = |at: usize| events.get(at..).unwrap_or_default().trim_ascii_start();
    let is_reason = |at: usize| behind(at + REASON.needle().len()).starts_with(b"\"");
    if REASON.find_iter(events).any(is_reason) {
        return Some(LastWords::Answer);
    }
    // `{"error": {…}}`, and `"object": "error"`.
    let is_error = |at: usize| {
        let before = events.get(..at).unwrap_or_default().trim_ascii_end();
        let name = before.strip_suffix(b":").unwrap_or_default();
        let value = behind(at + ERROR.needle().len()).strip_prefix(b":");
        name.trim_ascii_end().ends_with(b"\"object\"")
            || value.is_some_and(|value| value.trim_ascii_start().starts_with(b"{"))
    };
    let is_one = ERROR.find_iter(events).any(is_error);
    is_one.then_some(LastWords::Error)
}

#[cfg(test)]
mod tests {
    use super::{LastWords, last_words};

    #[test]
    fn a_finish_reason_and_an_error_are_told_however_they_are_spaced() {
        for (events, told) in [
            (
                r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
                Some(LastWords::Answer),
            ),
            (
                r#"data: {"choices": [{"finish_reason": "length"}]}"#,
                Some(LastWords::Answer),
            ),
            (
                r#"data: {"choices":[{"finish_reason":null,"delta":{"content":"\"finish_reason\":\"stop\""}}],"error":null}"#,
                None,
            ),
            (
                r#"data: {"error": {"message":"m"}}"#,
                Some(LastWords::Error),
            ),
            (
                r#"data: {"object":"error","message":"m"}"#,
                Some(LastWords::Error),
            ),
            (r#"data: {"choices":[{"delta":{"content":"error"}}]}"#, None),
            ("", None),
        ] {
            assert_eq!(last_words(events.as_bytes()), told, "{events}");
        }
    }
}
