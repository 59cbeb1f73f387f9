//! A recorded reply: bytes of a file in, status and body out. A status line and headers in front
//! are split off, so that `curl -i` output can be replayed as it is.

/// How the body came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One JSON document.
    Json,
    /// Server-sent events.
    Events,
}

/// A reply that was recorded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recorded<'a> {
    pub(super) status: u16,
    pub(super) form: Form,
    pub(super) body: &'a [u8],
}

/// Splits a recording.
pub(super) fn split(bytes: &[u8]) -> Result<Recorded<'_>, String> {
    if !bytes.starts_with(b"HTTP/") {
        return Ok(Recorded {
            status: 200,
            form: guess(bytes),
            body: bytes,
        });
    }
    let (head, body) = blank_line(bytes)
        .ok_or("the recording begins as an HTTP response, but no blank line ends its headers")?;
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| format!("`{status_line}` is no HTTP status line"))?;
    let content_type = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-type")
            .then(|| value.trim().to_ascii_lowercase())
    });
    let form = match content_type {
        Some(kind) if kind.starts_with("text/event-stream") => Form::Events,
        Some(_) => Form::Json,
        None => guess(body),
    };
    Ok(Recorded { status, form, body })
}

fn guess(body: &[u8]) -> Form {
    let body = body.trim_ascii_start();
    match body.first() {
        Some(b'{' | b'[') | None => Form::Json,
        Some(_) => Form::Events,
    }
}

/// What stands before and after the first blank line, whichever line ends are used.
fn blank_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut line_start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\n' {
            continue;
        }
        let line = bytes.get(line_start..at)?;
        if line.is_empty() || line == b"\r" {
            return Some((bytes.get(..line_start)?, bytes.get(at + 1..)?));
        }
        line_start = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_body_is_taken_as_it_is() {
        let json = br#" {"choices":[]}"#;
        assert_eq!(
            split(json).map(|it| (it.status, it.form)),
            Ok((200, Form::Json))
        );
        let events = b": hello\n\ndata: {}\n\n";
        assert_eq!(
            split(events).map(|it| (it.form, it.body)),
            Ok((Form::Events, &events[..]))
        );
    }

    #[test]
    fn status_line_and_headers_are_split_off_with_either_line_end() {
        for end in ["\n", "\r\n"] {
            let head = format!(
                "HTTP/1.1 503 Unavailable{end}Content-Type: Text/Event-Stream; charset=utf-8{end}x: y{end}{end}"
            );
            let whole = format!("{head}data: 1\n\n");
            let expected = Recorded {
                status: 503,
                form: Form::Events,
                body: b"data: 1\n\n",
            };
            assert_eq!(split(whole.as_bytes()), Ok(expected));
        }
    }

    #[test]
    fn a_head_without_an_end_or_a_status_is_refused() {
        assert!(split(b"HTTP/1.1 200 OK\nx: y\n").is_err());
        assert!(split(b"HTTP/1.1 fine\n\n{}").is_err());
    }
}
