//! What a body is: its content type, or where none is said its first bytes, in; JSON, events
//! or something else out.

use isogloss_core::ir::Framing;

/// What a reply's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum BodyKind {
    /// One JSON text.
    Json,
    /// Server-sent events.
    Events,
    /// Neither.
    Other,
}

fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Whether a media type is JSON.
pub(in crate::proxy) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type).to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// By the content type; `None` where it says nothing and the first bytes must. `is_stream`: one was asked for.
pub(in crate::proxy) fn by_type(
    media_type: Option<&str>,
    framing: Framing,
    is_stream: bool,
) -> Option<BodyKind> {
    let media_type = media_type?;
    let essence = essence(media_type).to_ascii_lowercase();
    match essence.as_str() {
        // Docker's model runner calls its lines so, and KoboldCpp events.
        _ if is_json(media_type) && is_stream && framing == Framing::Lines => {
            Some(BodyKind::Events)
        }
        _ if is_json(media_type) => Some(BodyKind::Json),
        "text/event-stream" => Some(BodyKind::Events),
        "application/x-ndjson" | "application/jsonl" if framing == Framing::Lines => {
            Some(BodyKind::Events)
        }
        // What servers say that do not know.
        "" | "text/plain" | "application/octet-stream" => None,
        _ => Some(BodyKind::Other),
    }
}

/// By the first bytes; `None` where they are too few.
pub(super) fn by_bytes(bytes: &[u8]) -> Option<BodyKind> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let bytes = bytes.get(start..)?;
    if bytes.starts_with(b"{") {
        return Some(BodyKind::Json);
    }
    let fields: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];
    if fields.iter().any(|field| bytes.starts_with(field)) {
        return Some(BodyKind::Events);
    }
    let may_become_one = fields.iter().any(|field| field.starts_with(bytes));
    (!may_become_one).then_some(BodyKind::Other)
}

/// Whether a line of it, which no JSON has, is that of an event.
pub(super) fn has_event(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"\ndata:").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_decides_where_it_says_something() {
        for (media_type, kind) in [
            (Some("application/json"), Some(BodyKind::Json)),
            (
                Some("text/event-stream; charset=utf-8"),
                Some(BodyKind::Events),
            ),
            (Some("Text/Event-Stream"), Some(BodyKind::Events)),
            (Some("text/html"), Some(BodyKind::Other)),
            (Some("text/plain"), None),
            (None, None),
        ] {
            let found = by_type(media_type, Framing::Events, true);
            assert_eq!(found, kind, "{media_type:?}");
        }
    }

    #[test]
    fn a_stream_of_lines_has_a_type_of_its_own() {
        for (media_type, is_stream, kind) in [
            ("application/x-ndjson", true, Some(BodyKind::Events)),
            (
                "application/json; charset=utf-8",
                true,
                Some(BodyKind::Events),
            ),
            (
                "application/json; charset=utf-8",
                false,
                Some(BodyKind::Json),
            ),
            ("text/event-stream", true, Some(BodyKind::Events)),
            ("text/plain", true, None),
        ] {
            let found = by_type(Some(media_type), Framing::Lines, is_stream);
            assert_eq!(found, kind, "{media_type}");
        }
    }

    #[test]
    fn the_first_bytes_decide_otherwise() {
        for (bytes, kind) in [
            ("data: {}", Some(BodyKind::Events)),
            ("\u{feff}\r\n: ping", Some(BodyKind::Events)),
            ("da", None),
            ("  ", None),
            ("", None),
            (" {\"id\"", Some(BodyKind::Json)),
            ("<html>", Some(BodyKind::Other)),
        ] {
            assert_eq!(by_bytes(bytes.as_bytes()), kind, "{bytes:?}");
        }
    }
}
