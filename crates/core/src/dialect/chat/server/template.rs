//! Chunks that differ from one that was read in their text alone, and in what they count: nearly all of a stream. They
//! are not read again: what stands around the text is the same bytes, and so says the same.

use super::counted;
use crate::ir::{Delta, Event, Usage};
use serde_json::value::RawValue;

/// What is known of the last chunk that had a text.
#[derive(Debug)]
pub(super) struct Template {
    /// All bytes up to the text, its opening quote included.
    prefix: Box<[u8]>,
    /// All bytes behind the text, its closing quote included; up to the counts, where there are some.
    suffix: Box<[u8]>,
    /// All bytes behind the counts, where there are some.
    tail: Option<Box<[u8]>>,
    /// What it said; of the text there is one, and of the counts at most one.
    events: Vec<Event>,
}

/// What differs of a chunk from the one before.
#[derive(Debug)]
pub(super) struct Differs {
    text: String,
    usage: Option<Usage>,
}

/// Larger chunks are rare, and would be kept for each stream.
const MAX_BYTES: usize = 2048;

const KEY: &[u8] = b"\"content\":";
const COUNTS: &[u8] = b"\"usage\":";

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
            let is_like = matches!(event, Event::Own { .. } | Event::Choice { role: false, .. });
            is_like || is_text(&event) || matches!(event, Event::Usage(_))
        };
        if events.iter().filter(is_text).count() != 1 || !events.iter().all(is_same) {
            return None;
        }
        let begin = behind_only(data, KEY)?;
        let blanks = data[begin..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        let open = begin + blanks.count();
        if data.get(open) != Some(&b'"') {
            return None;
        }
        let close = open + 1 + end_of_text(&data[open + 1..])?;
        let counts = events.iter().any(|event| matches!(event, Event::Usage(_)));
        let (suffix, tail) = match counts {
            false => (&data[close..], None),
            true => {
                let begin = behind_only(data, COUNTS).filter(|begin| *begin > close)?;
                let (_, behind) = first_value(&data[begin..])?;
                (&data[close..begin], Some(behind.into()))
            }
        };
        Some(Self {
            prefix: data[..=open].into(),
            suffix: suffix.into(),
            tail,
            events: events.to_vec(),
        })
    }

    /// What differs of a chunk that is the same but for its text and its counts; `None` where more does, or it has no text.
    pub(super) fn differs(&self, data: &[u8]) -> Option<Differs> {
        let rest = data.strip_prefix(&*self.prefix)?;
        let (rest, usage) = match &self.tail {
            None => (rest, None),
            Some(tail) => {
                let rest = rest.strip_suffix(&**tail)?;
                let begin = memchr::memmem::rfind(rest, COUNTS)? + COUNTS.len();
                let (rest, counts) = rest.split_at(begin);
                (rest, Some(counted(counts)?))
            }
        };
        let inner = rest.strip_suffix(&*self.suffix)?;
        if inner.is_empty() {
            return None;
        }
        let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | ..=0x1f);
        let text = if inner.iter().all(is_plain) {
            std::str::from_utf8(inner).ok().map(str::to_owned)
        } else {
            unescaped(inner).or_else(|| {
                // With both quotes it is one JSON string, or something else.
                let quoted = data.get(self.prefix.len() - 1..=self.prefix.len() + inner.len())?;
                serde_json::from_slice(quoted).ok()
            })
        };
        Some(Differs { text: text?, usage })
    }

    /// What a chunk says that differs so.
    pub(super) fn saying(&self, differs: Differs) -> impl Iterator<Item = Event> {
        let Differs { text, usage } = differs;
        let mut text = Some(text);
        self.events.iter().map(move |event| match event {
            Event::Delta { choice, .. } => Event::Delta {
                choice: *choice,
                delta: Delta::Text(text.take().unwrap_or_default()),
            },
            Event::Usage(known) => Event::Usage(usage.unwrap_or(*known)),
            event => event.clone(),
        })
    }
}

/// Where the value of the one key of this name begins. Inside of a text its quotes would be escaped.
fn behind_only(data: &[u8], key: &[u8]) -> Option<usize> {
    let mut keys = memchr::memmem::find_iter(data, key);
    match (keys.next(), keys.next()) {
        (Some(at), None) => Some(at + key.len()),
        _ => None,
    }
}

/// The JSON value that stands first, and what is behind it.
fn first_value(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(data).into_iter::<&RawValue>();
    values.next()?.ok()?;
    data.split_at_checked(values.byte_offset())
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
        // vLLM's and SGLang's `continuous_usage_stats`.
        for (text, counts) in [
            ("a", r#"{"prompt_tokens":7,"completion_tokens":1}"#),
            ("b\\n", r#"{"prompt_tokens":7,"completion_tokens":10}"#),
            ("c", r#"{"prompt_tokens":7,"completion_tokens":11}"#),
            (
                "\\\"usage\\\":",
                r#"{"prompt_tokens":7,"completion_tokens_details":null}"#,
            ),
            ("d", "null"),
            ("e", r#"{"prompt_tokens":7},"usage":{"prompt_tokens":8}"#),
            ("f", r#"{"prompt_tokens":9}"#),
            ("g", r#"{"prompt_tokens":9"#),
            ("h", r#"{"prompt_tokens":9},"x":{}"#),
            (
                "i",
                r#"{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":3}}"#,
            ),
            ("", r#"{"prompt_tokens":11}"#),
        ] {
            let chunk = chunk(&format!("\"{text}\""), "");
            chunks.push(chunk.replace("\"model\"", &format!("\"usage\":{counts},\"model\"")));
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
