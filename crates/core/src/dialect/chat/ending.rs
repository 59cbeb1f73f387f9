//! How a stream that goes through as it is ends: its bytes in, which are not read as events, what they tell of the end out.

use crate::dialect::client::LastWords;
use crate::dialect::server::error_text;
use memchr::memmem::Finder;
use smallvec::SmallVec;
use std::sync::LazyLock;

static REASON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"finish_reason\":"));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"error\""));
static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"event:"));
static FIELD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"error:"));

/// More errors in one piece are not looked at.
const MOST: usize = 8;

/// What these whole events tell. Within a text a quote is escaped, so that none of these stands in one.
pub(in crate::dialect) fn last_words(events: &[u8]) -> Option<LastWords> {
    let errors = ERROR.find_iter(events).filter(|at| is_error(events, *at));
    let errors: SmallVec<[usize; 2]> = errors.take(MOST).collect();
    let told = errors.iter().copied().find(|at| is_read(events, *at));
    // A field of that name, of llama.cpp before September 2025.
    let field = FIELD.find_iter(events).find(|at| begins_line(events, *at));
    let unread = errors.first().copied().filter(|at| Some(*at) != told);
    let bare = NAME.find_iter(events).find(|at| is_bare(events, *at));
    let unread = unread.into_iter().chain(field).chain(bare).min();
    // The first of them. Of a line that has the word and the error itself clients read that.
    let is_first =
        |at: &usize| told.is_none_or(|told| *at < told && !is_one_line(&events[*at..told]));
    if let Some(at) = unread.filter(is_first) {
        return Some(LastWords::Unread { at });
    }
    let is_reason = |at: usize| behind(events, at + REASON.needle().len()).starts_with(b"\"");
    if REASON.find_iter(events).any(is_reason) {
        return Some(LastWords::Answer);
    }
    told.map(|_| LastWords::Error)
}

fn is_one_line(bytes: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', bytes).is_none()
}

fn begins_line(events: &[u8], at: usize) -> bool {
    let before = events.get(..at).unwrap_or_default().last();
    before.is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Whether an event that begins here is an error without data, of which SDKs make nothing (Dynamo's).
fn is_bare(events: &[u8], at: usize) -> bool {
    let before = events.get(..at).unwrap_or_default();
    let begins = at == 0 || before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n");
    let lines = events.get(at..).unwrap_or_default();
    let mut lines = lines
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let name = lines.next().and_then(|line| line.strip_prefix(b"event:"));
    begins
        && name.is_some_and(|name| name.trim_ascii_start() == b"error")
        && (lines.take_while(|line| !line.is_empty())).all(|line| !line.starts_with(b"data:"))
}

/// Whether the word stands in `{"error": {…}}`, in `{"error": "…"}` or, of vLLM before 0.10.1, in `"object": "error"`.
fn is_error(events: &[u8], at: usize) -> bool {
    let value = behind(events, at + ERROR.needle().len()).strip_prefix(b":");
    is_object(events, at)
        || is_text(events, at)
        || value.is_some_and(|value| value.trim_ascii_start().starts_with(b"{"))
}

/// Whether SDKs take it for an error and read what it says: it has the name, in an event of data (Lemonade's has no `data:`), and is
/// no text (Xinference's).
fn is_read(events: &[u8], at: usize) -> bool {
    let is_other = is_object(events, at) || is_text(events, at);
    !is_other && line(events, at).starts_with(b"data:")
}

/// Whether the line is such an error. Elsewhere a text of this name may be anything.
fn is_text(events: &[u8], at: usize) -> bool {
    let before = line(events, at);
    let before = before.strip_prefix(b"data:").unwrap_or(before);
    let data = events.get(at - before.len()..);
    data.is_some_and(|data| error_text(data).is_some())
}

fn is_object(events: &[u8], at: usize) -> bool {
    let before = events.get(..at).unwrap_or_default().trim_ascii_end();
    let name = before.strip_suffix(b":").unwrap_or_default();
    name.trim_ascii_end().ends_with(b"\"object\"")
}

fn behind(events: &[u8], at: usize) -> &[u8] {
    events.get(at..).unwrap_or_default().trim_ascii_start()
}

/// What stands before this place in its line.
fn line(events: &[u8], at: usize) -> &[u8] {
    let before = events.get(..at).unwrap_or_default();
    let begin = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1);
    before.get(begin..).unwrap_or_default()
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
            (r#"data: {"error": "m"}"#, Some(LastWords::Unread { at: 7 })),
            (
                r#"data: {"error":"tensor "x" is elsewhere"}"#,
                Some(LastWords::Unread { at: 7 }),
            ),
            (r#"data: {"choices":[],"results":[{"error":"m"}]}"#, None),
            (r#"data: {"error":""}"#, None),
            (
                r#"data: {"object": "error","message":"m"}"#,
                Some(LastWords::Unread { at: 17 }),
            ),
            (
                r#"{"error": {"message":"m"}}"#,
                Some(LastWords::Unread { at: 1 }),
            ),
            (
                "data: {}\n\nerror: {\"message\":\"m\"}",
                Some(LastWords::Unread { at: 10 }),
            ),
            (
                r#"data: {"choices":[{"delta":{"content":"error: no"}}]}"#,
                None,
            ),
            (
                "data: {}\r\n\r\nevent: error\r\n: \"died\"\r\n\r\ndata: [DONE]\r\n\r\n",
                Some(LastWords::Unread { at: 12 }),
            ),
            (
                "event: error\ndata: {\"error\":{\"message\":\"m\"}}\n\n",
                Some(LastWords::Error),
            ),
            ("event: ping\n\ndata: {}\n\n", None),
            (r#"data: {"choices":[{"delta":{"content":"error"}}]}"#, None),
            ("", None),
        ] {
            assert_eq!(last_words(events.as_bytes()), told, "{events}");
        }
    }
}
