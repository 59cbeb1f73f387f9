//! Chunks that differ from one that was read in their text alone: nearly all of a stream. They are not
//! read again: what stands around the text is the same bytes, and so says the same.

use crate::ir::{Delta, Event};

/// What is known of the last chunk that had a text.
#[derive(Debug)]
pub(super) struct Template {
    /// All bytes up to the text, its opening quote included.
    prefix: Box<[u8]>,
    /// All bytes behind the text, its closing quote included.
    suffix: Box<[u8]>,
    /// What it said; of the text there is one.
    events: Vec<Event>,
}

/// Larger chunks are rare, and would be kept for each stream.
const MAX_BYTES: usize = 2048;

const KEY: &[u8] = b"\"content\":";

impl Template {
    /// A template of a chunk whose bytes may go out as they came, and which says these events; `None`
    /// where it says more than a text.
    pub(super) fn of(data: &[u8], events: &[Event]) -> Option<Self> {
        if data.len() > MAX_BYTES {
            return None;
        }
        let is_text = |event: &&Event| {
            matches!(
                event,
                Event::Delta {
                    delta: Delta::Text(_),
                    ..
                }
            )
        };
        let is_same = |event: &Event| {
            is_text(&event)
                || matches!(event, Event::Own { .. } | Event::Choice { role: false, .. })
        };
        if events.iter().filter(is_text).count() != 1 || !events.iter().all(is_same) {
            return None;
        }
        // Inside of a text the quotes would be escaped: it is the one key of this name.
        let mut keys = memchr::memmem::find_iter(data, KEY);
        let (Some(key), None) = (keys.next(), keys.next()) else {
            return None;
        };
        let begin = key + KEY.len();
        let blanks = data[begin..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        let open = begin + blanks.count();
        if data.get(open) != Some(&b'"') {
            return None;
        }
        let close = open + 1 + end_of_text(&data[open + 1..])?;
        Some(Self {
            prefix: data[..=open].into(),
            suffix: data[close..].into(),
            events: events.to_vec(),
        })
    }

    /// The text of a chunk that is the same but for it; `None` where it is not, or has none.
    pub(super) fn text(&self, data: &[u8]) -> Option<String> {
        let rest = data.strip_prefix(&*self.prefix)?;
        let inner = rest.strip_suffix(&*self.suffix)?;
        if inner.is_empty() {
            return None;
        }
        let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | ..=0x1f);
        if inner.iter().all(is_plain) {
            return std::str::from_utf8(inner).ok().map(str::to_owned);
        }
        unescaped(inner).or_else(|| {
            // With both quotes it is one JSON string, or something else.
            let quoted = data.get(self.prefix.len() - 1..=self.prefix.len() + inner.len())?;
            serde_json::from_slice(quoted).ok()
        })
    }

    /// What a chunk with this text says.
    pub(super) fn saying(&self, text: String) -> impl Iterator<Item = Event> {
        let mut text = Some(text);
        self.events.iter().map(move |event| match event {
            Event::Delta { choice, .. } => Event::Delta {
                choice: *choice,
                delta: Delta::Text(text.take().unwrap_or_default()),
            },
            event => event.clone(),
        })
    }
}

/// A JSON string without its quotes that has no escapes but those of one letter: nearly all. It is read into memory
/// that is asked for once, where the library first reads into some of its own. `None` for any other text.
fn unescaped(inner: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'"' | ..=0x1f => return None,
            b'\\' => match bytes.next()? {
                same @ (b'"' | b'\\' | b'/') => *same,
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'b' => 8,
                b'f' => 12,
                _ => return None,
            },
            byte => *byte,
        });
    }
    String::from_utf8(text).ok()
}

/// Where a JSON string ends whose opening quote is behind: at its closing one.
fn end_of_text(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::dialect::server::{self, About};
    use crate::ir::{Event, Ids};
    use serde_json::json;

    fn chunk(content: &str, tail: &str) -> String {
        format!(
            r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":{content}}}{tail}}}],"model":"m"}}"#
        )
    }

    /// Read one after the other, and each as the first of its stream.
    fn read(chunks: &[String]) -> (Vec<String>, Vec<String>) {
        let said = |events: Vec<Event>| {
            let is_said = |event: &Event| !matches!(event, Event::Start(_));
            let said: Vec<Event> = events.into_iter().filter(is_said).collect();
            format!("{said:?}")
        };
        let stream = || server::CHAT.stream(About::default(), 1 << 20);
        let mut ids = Ids::new(1);
        let mut one = stream();
        let together = chunks.iter();
        let together = together
            .map(|data| said(one.read(data.as_bytes(), &mut ids).events))
            .collect();
        let mut ids = Ids::new(1);
        let alone = chunks.iter();
        let alone = alone
            .map(|data| said(stream().read(data.as_bytes(), &mut ids).events))
            .collect();
        (together, alone)
    }

    #[test]
    fn what_is_known_by_its_template_is_what_reading_it_would_say() {
        let texts = [
            "a",
            " b",
            "é😀",
            "\"\\",
            "\n\t",
            "\u{1}",
            "content",
            "\"content\":",
            "",
            "}]}",
            "\",\"x\":\"",
        ];
        let mut chunks: Vec<String> = texts
            .iter()
            .map(|text| chunk(&json!(text).to_string(), ""))
            .collect();
        for odd in [
            r#""\ud83d""#,
            r#""a","content":"b""#,
            r#""a","role":"user""#,
            r#""a"x"#,
            "null",
            r#""a\""#,
            r#"["a"]"#,
            "\"a\u{1}\"",
            r#""\x""#,
            r#""a","Content":"b""#,
        ] {
            chunks.push(chunk(odd, ""));
            chunks.push(chunk("\"y\"", ""));
        }
        chunks.push(chunk("\"y\"", r#","finish_reason":"stop""#));
        chunks.push(chunk("\"z\"", r#","finish_reason":"stop""#));
        let (together, alone) = read(&chunks);
        for ((chunk, together), alone) in chunks.iter().zip(together).zip(alone) {
            assert_eq!(together, alone, "{chunk}");
        }
    }

    #[test]
    fn the_bytes_of_one_may_go_out_as_those_of_the_other() {
        let mut ids = Ids::new(1);
        let mut server = server::CHAT.stream(About::default(), 1 << 20);
        for text in ["a", "b", "\"c\""] {
            let data = chunk(&json!(text).to_string(), "");
            let data = data.replace(
                "\"model\":\"m\"",
                "\"model\":\"m\",\"object\":\"o\",\"created\":1",
            );
            let frame = server.read(data.as_bytes(), &mut ids);
            let verbatim = frame.verbatim.unwrap();
            assert_eq!(verbatim.as_bytes(), data.as_bytes());
        }
    }
}
