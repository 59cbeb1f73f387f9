//! The bytes of a stream's body in, the data of each event out: server-sent events, or lines.

use crate::ir::Framing;
use crate::json::Braces;
use crate::sse;

/// An event that is not finished is over the limit already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than the limit of {limit} bytes")]
pub struct TooLarge {
    /// The limit.
    pub limit: usize,
}

/// Of so many events that come at once the room is kept: where a stream begins with a hundred, it would be kept for them for as
/// long as it is open.
pub(crate) const KEPT_EVENTS: usize = 4;

#[derive(Debug)]
pub(in crate::dialect::server) enum Frames {
    /// What is empty is kept for its memory.
    Events(sse::Decoder, Vec<sse::SseEvent>),
    Lines(Lines),
}

impl Frames {
    pub(in crate::dialect::server) fn new(framing: Framing, limit: usize) -> Self {
        match framing {
            Framing::Events => Self::Events(sse::Decoder::new(limit), Vec::new()),
            Framing::Lines => Self::Lines(Lines {
                limit,
                line: Vec::new(),
                braces: Braces::default(),
                looked_at: 0,
                failed: false,
            }),
        }
    }

    pub(in crate::dialect::server) fn push(
        &mut self,
        chunk: &[u8],
        out: &mut Vec<Vec<u8>>,
    ) -> Result<(), TooLarge> {
        match self {
            Self::Events(decoder, events) => {
                let framed = decoder.push(chunk, events);
                out.extend(events.drain(..).map(|event| event.data));
                events.shrink_to(KEPT_EVENTS);
                framed.map_err(|fault| TooLarge { limit: fault.limit })
            }
            Self::Lines(lines) => lines.push(chunk, out),
        }
    }

    /// Takes the data of an event that was read, for the memory.
    pub(in crate::dialect::server) fn reuse(&mut self, data: Vec<u8>) {
        if let Self::Events(decoder, _) = self {
            decoder.reuse(data);
        }
    }

    /// Whether nothing was left of an event that is not whole.
    pub(in crate::dialect::server) fn finish(&mut self, out: &mut Vec<Vec<u8>>) -> bool {
        match self {
            Self::Events(decoder, events) => {
                let tail = decoder.finish(events);
                out.extend(events.drain(..).map(|event| event.data));
                tail == sse::Tail::Clean
            }
            Self::Lines(lines) => lines.finish(out),
        }
    }
}

/// One JSON text a line; blank lines say nothing. A text that is laid out over many, as who answers whole may write it, is one.
#[derive(Debug)]
pub(in crate::dialect::server) struct Lines {
    limit: usize,
    line: Vec<u8>,
    /// Of a text of many lines, as far as they were looked at.
    braces: Braces,
    looked_at: usize,
    failed: bool,
}

impl Lines {
    fn push(&mut self, chunk: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), TooLarge> {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.guard(end)?;
            self.line.extend_from_slice(&rest[..end]);
            match self.goes_on() {
                true => self.line.push(b'\n'),
                false => self.take(out),
            }
            rest = &rest[end + 1..];
        }
        self.guard(rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    fn guard(&mut self, more: usize) -> Result<(), TooLarge> {
        self.failed |= self.line.len() + more > self.limit;
        if self.failed {
            self.line = Vec::new();
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Whether the text goes on in the next line.
    fn goes_on(&mut self) -> bool {
        let text = self.line.trim_ascii();
        if !text.starts_with(b"{") || self.looked_at == 0 && text.ends_with(b"}") {
            return false;
        }
        self.braces
            .take_bytes(self.line.get(self.looked_at..).unwrap_or_default());
        self.looked_at = self.line.len();
        !self.braces.is_whole()
    }

    fn take(&mut self, out: &mut Vec<Vec<u8>>) {
        let line = std::mem::take(&mut self.line);
        (self.braces, self.looked_at) = (Braces::default(), 0);
        if !line.trim_ascii().is_empty() {
            out.push(line);
        }
    }

    /// A last line without its end counts if it is whole.
    fn finish(&mut self, out: &mut Vec<Vec<u8>>) -> bool {
        let is_blank = self.line.trim_ascii().is_empty();
        let is_whole = || serde_json::from_slice::<serde::de::IgnoredAny>(&self.line).is_ok();
        if !is_blank && !is_whole() {
            self.line = Vec::new();
            return false;
        }
        self.take(out);
        true
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{Frames, Framing};

    #[test]
    fn a_line_is_a_text_and_so_are_the_lines_of_one_that_is_laid_out() {
        for (body, texts) in [
            ("{\"a\":1}\n\n{\"b\":{}}\n", vec!["{\"a\":1}", "{\"b\":{}}"]),
            (
                "{\n  \"a\": {\n    \"b\": \"}\"\n  }\n}\n{}\n",
                vec!["{\n  \"a\": {\n    \"b\": \"}\"\n  }\n}", "{}"],
            ),
            ("{\"a\":\n1}\n", vec!["{\"a\":\n1}"]),
            ("garbage\n{}\n", vec!["garbage", "{}"]),
        ] {
            for size in 1..=body.len() {
                let mut frames = Frames::new(Framing::Lines, 1 << 10);
                let mut out = Vec::new();
                for chunk in body.as_bytes().chunks(size) {
                    frames.push(chunk, &mut out).unwrap();
                }
                assert!(frames.finish(&mut out), "{body}");
                let out = out.into_iter().map(|text| String::from_utf8(text).unwrap());
                assert_eq!(out.collect::<Vec<_>>(), texts, "{size}");
            }
        }
    }
}
