//! Server-sent events: the bytes of a body to events and back, per the WHATWG HTML standard §9.2.
//! Never looks into an event's data, and never keeps more than its limit.

mod decoder;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, EventTooLarge, Tail};

/// The event that ends an OpenAI-style stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// One dispatched event. `id` and `retry` are for reconnecting, which no LLM client does: they
/// are read and dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field, invalid UTF-8 replaced; `None` where it is missing or empty.
    pub event: Option<String>,
    /// The `data` fields, joined by a newline. Not checked for UTF-8.
    pub data: Vec<u8>,
}

impl SseEvent {
    /// Whether this is the end mark, `[DONE]`. Some gateways pad it with blanks.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.data.trim_ascii() == b"[DONE]"
    }
}

/// Appends a comment, which clients skip and people read. What is no printable ASCII is left out.
pub fn comment(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b": ");
    out.extend(text.bytes().filter(|byte| (b' '..=b'~').contains(byte)));
    out.extend_from_slice(b"\n\n");
}

/// Appends one event with this data. Every kind of line end in `data` starts another data line,
/// so a decoder reads it back as a newline.
pub fn encode(data: &[u8], out: &mut Vec<u8>) {
    const FIELD: &[u8] = b"data: ";
    out.reserve(FIELD.len() + data.len() + 2);
    let mut rest = data;
    loop {
        out.extend_from_slice(FIELD);
        let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
            break;
        };
        out.extend_from_slice(&rest[..end]);
        out.push(b'\n');
        let is_crlf = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + 1 + usize::from(is_crlf)..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(b"\n\n");
}
