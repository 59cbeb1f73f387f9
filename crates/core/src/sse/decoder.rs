//! Bytes in, in any chunking; whole events out. The result never depends on where chunks begin.

use super::SseEvent;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What the JSON of an error begins with.
const ERROR: &[u8] = b"{\"error\"";

/// More memory than this is not kept between events: streams are many.
const MAX_SPARE_BYTES: usize = 2048;

/// An event that is not finished is over the limit already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than the limit of {limit} bytes")]
pub struct EventTooLarge {
    /// The limit.
    pub limit: usize,
}

/// What was left when the body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: the last event was whole, or only comments followed it.
    Clean,
    /// A part of an event, which was dropped as the standard demands.
    Partial,
}

/// The decoder's state: at most one unfinished event and one unfinished line.
#[derive(Debug)]
pub struct Decoder {
    max_event_bytes: usize,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// The event's data lines, each with a newline behind it.
    data: Vec<u8>,
    event: Vec<u8>,
    /// The comments of an error that has no data.
    words: Vec<u8>,
    /// Empty: the memory of an event that was read.
    spare: Vec<u8>,
    /// No line has ended yet, so the next one may start with a byte order mark.
    at_start: bool,
    /// The last byte was a CR: an LF right behind it belongs to the same line end.
    after_cr: bool,
    failed: bool,
}

impl Decoder {
    /// A decoder that refuses an unfinished event of more than `max_event_bytes`: data and event
    /// name so far, and the current line without its end.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            data: Vec::new(),
            event: Vec::new(),
            words: Vec::new(),
            spare: Vec::new(),
            at_start: true,
            after_cr: false,
            failed: false,
        }
    }

    /// Takes the next bytes of the body and appends every event that they complete.
    ///
    /// # Errors
    /// An unfinished event over the limit. `out` has the events before it; the decoder stays
    /// failed.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        if self.failed {
            return Err(self.too_large());
        }
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.guard(end)?;
            if self.line.is_empty() {
                self.take_line(&rest[..end], out);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&rest[..end]);
                self.take_line(&line, out);
                // Keeps the allocation for the next line that is split.
                line.clear();
                line.shrink_to(MAX_SPARE_BYTES);
                self.line = line;
            }
            let is_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_cr {
                if rest.is_empty() {
                    self.after_cr = true;
                } else {
                    rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                }
            }
        }
        self.guard(rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// The body ended. A last `[DONE]` counts as delivered even where its blank line, or its line
    /// end, is missing, and so does an error; any other unfinished event is dropped.
    pub fn finish(&mut self, out: &mut Vec<SseEvent>) -> Tail {
        let line = std::mem::take(&mut self.line);
        let is_field_cut = !line.is_empty() && !line.starts_with(b":");
        if !line.is_empty() {
            self.take_line(&line, out);
        }
        if !self.words.is_empty() {
            self.take_words();
        }
        if self.data.is_empty() {
            let was_named = !std::mem::take(&mut self.event).is_empty();
            return if is_field_cut || was_named {
                Tail::Partial
            } else {
                Tail::Clean
            };
        }
        let last = self.take_event();
        let is_error = last.data.starts_with(ERROR) && last.data.ends_with(b"}");
        if !last.is_done() && !is_error {
            return Tail::Partial;
        }
        out.push(last);
        Tail::Clean
    }

    /// Takes the data of an event that was read, for the memory: the next event is written into it.
    pub fn reuse(&mut self, mut data: Vec<u8>) {
        if data.capacity() <= MAX_SPARE_BYTES {
            data.clear();
            self.spare = data;
        }
    }

    fn guard(&mut self, more: usize) -> Result<(), EventTooLarge> {
        let kept = self.data.len() + self.event.len() + self.words.len();
        let size = kept + self.line.len() + more;
        if size <= self.max_event_bytes {
            return Ok(());
        }
        self.failed = true;
        self.line = Vec::new();
        self.data = Vec::new();
        self.words = Vec::new();
        Err(self.too_large())
    }

    fn too_large(&self) -> EventTooLarge {
        EventTooLarge {
            limit: self.max_event_bytes,
        }
    }

    fn take_line(&mut self, line: &[u8], out: &mut Vec<SseEvent>) {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix(BOM).unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.take_words();
            if self.data.is_empty() {
                // The standard: no data, no event, and its name is forgotten.
                self.event.clear();
            } else {
                let event = self.take_event();
                out.push(event);
            }
            return;
        }
        // Long lines are data lines, so the colon is near; a name of more bytes is no known field.
        let (field, value) = match line.iter().take(6).position(|&byte| byte == b':') {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            // llama.cpp's errors before September 2025 (ggml-org/llama.cpp#16109).
            b"data" | b"error" => self.take_data(value),
            // The same passed on as its body was (lemonade-sdk/lemonade#2826).
            _ if line.starts_with(ERROR) => self.take_data(line),
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            b"" if self.event == b"error" => {
                self.words.extend_from_slice(value);
                self.words.push(b'\n');
            }
            // `id`, `retry`, other comments (an empty name) and names that nobody knows.
            _ => {}
        }
    }

    fn take_data(&mut self, value: &[u8]) {
        self.data.reserve(value.len() + 1);
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
    }

    /// An error without data is one all the same, whose words stand in a comment (ai-dynamo/dynamo).
    fn take_words(&mut self) {
        let words = std::mem::take(&mut self.words);
        if !self.data.is_empty() || self.event != b"error" {
            return;
        }
        let words: String = serde_json::from_slice(&words)
            .unwrap_or_else(|_| String::from_utf8_lossy(&words).into_owned());
        let message = match words.trim() {
            "" => "no reason given",
            words => words,
        };
        let error = serde_json::json!({"error": {"message": message}, "type": "error"});
        self.take_data(error.to_string().as_bytes());
    }

    fn take_event(&mut self) -> SseEvent {
        let mut data = std::mem::replace(&mut self.data, std::mem::take(&mut self.spare));
        data.pop();
        let event = std::mem::take(&mut self.event);
        SseEvent {
            event: (!event.is_empty()).then(|| String::from_utf8_lossy(&event).into_owned()),
            data,
        }
    }
}
