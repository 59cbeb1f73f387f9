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

const TEXT: &[u8] = b"\"content\"";
const COUNTS: &[u8] = b"\"usage\"";

impl Template {
    /// A template of a chunk whose bytes may go out as they came, and which says these events; `None`
    /// where it says more than a text, or counts for a client that is told so in the server's own words.
    pub(super) fn of(data: &[u8], events: &[Event], is_translated: bool) -> Option<Self> {
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
        let open = value_of_only(data, TEXT)?;
        if data.get(open) != Some(&b'"') {
            return None;
        }
        let close = open + 1 + end_of_text(&data[open + 1..])?;
        // A key may be written with escapes as well.
        if is_escaped(&data[..open]) || is_escaped(&data[close..]) {
            return None;
        }
        let counts = events.iter().any(|event| matches!(event, Event::Usage(_)));
        let (suffix, tail) = match counts {
            false => (&data[close..], None),
            true if !is_translated => return None,
            true => {
                let begin = value_of_only(data, COUNTS).filter(|begin| *begin > close)?;
                let behind = data.get(begin + object_at(&data[begin..])?..)?;
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
                let key = memchr::memmem::rfind(rest, COUNTS)?;
                let begin = value_behind(rest, key + COUNTS.len())?;
                let (rest, counts) = rest.split_at(begin);
                // An object to its end, in which nothing is escaped: what is in it is read once.
                let is_object = counts.starts_with(b"{") && counts.ends_with(b"}");
                let is_plain = !is_escaped(counts) && std::str::from_utf8(counts).is_ok();
                if !(is_object && is_plain) {
                    return None;
                }
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

/// Where the value of the one key that is written so begins. Inside of a text its quotes would be escaped.
fn value_of_only(data: &[u8], key: &[u8]) -> Option<usize> {
    let mut keys = memchr::memmem::find_iter(data, key);
    match (keys.next(), keys.next()) {
        (Some(at), None) => value_behind(data, at + key.len()),
        _ => None,
    }
}

/// Where the value begins of the key that ends here.
fn value_behind(data: &[u8], key_end: usize) -> Option<usize> {
    let blanks = |from: usize| {
        let rest = data.get(from..).unwrap_or_default();
        from + rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count()
    };
    let colon = blanks(key_end);
    (data.get(colon) == Some(&b':')).then(|| blanks(colon + 1))
}

/// The length of the JSON object that begins here, in which nothing is escaped.
fn object_at(data: &[u8]) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_slice(data).into_iter::<&RawValue>();
    let raw = values.next()?.ok()?.get().as_bytes();
    (raw.starts_with(b"{") && !is_escaped(raw)).then_some(raw.len())
}

fn is_escaped(part: &[u8]) -> bool {
    memchr::memchr(b'\\', part).is_some()
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
    use super::Template;
    use crate::dialect::server::{self, About, ServerStream};
    use crate::ir::{Event, Ids};
    use serde_json::json;
    use std::sync::Arc;

    fn chunk(content: &str, tail: &str) -> String {
        format!(
            r#"{{"id":"c","object":"o","created":1,"choices":[{{"index":0,"delta":{{"content":{content}}}{tail}}}],"model":"m"}}"#
        )
    }

    /// The same with counts, as vLLM's `continuous_usage_stats` have them.
    fn counting(text: &str, counts: &str) -> String {
        let chunk = chunk(&format!("\"{text}\""), "");
        chunk.replace("\"model\"", &format!("\"usage\":{counts},\"model\""))
    }

    /// What a chunk says, and the bytes that may go out for it.
    fn said(stream: &mut ServerStream, data: &[u8], is_translated: bool) -> String {
        let frame = stream.read(data, &mut Ids::new(1));
        let verbatim = frame.verbatim.filter(|_| !is_translated);
        let verbatim =
            verbatim.map(|verbatim| String::from_utf8_lossy(verbatim.as_bytes()).into_owned());
        let events = frame.events.into_iter().filter_map(|event| match event {
            Event::Start(_) => None,
            Event::Own { .. } if is_translated => None,
            Event::Own { of, fields } => {
                let mut fields = fields.as_ref().clone();
                fields.remove("choices");
                let fields = Arc::new(fields);
                Some(Event::Own { of, fields })
            }
            event => Some(event),
        });
        let events: Vec<Event> = events.collect();
        format!("{events:?} {verbatim:?}")
    }

    /// Reads one after the other, and each behind one that makes no template.
    fn compare(chunks: &[Vec<u8>]) {
        for is_translated in [false, true] {
            let stream = || {
                let about = About {
                    is_translated,
                    ..About::default()
                };
                let mut stream = server::CHAT.stream(about, 1 << 20);
                let first = chunk(r#"[{"type":"text","text":"x"}]"#, "");
                said(&mut stream, first.as_bytes(), is_translated);
                stream
            };
            let mut one = stream();
            for data in chunks {
                let together = said(&mut one, data, is_translated);
                let alone = said(&mut stream(), data, is_translated);
                assert_eq!(together, alone, "{}", String::from_utf8_lossy(data));
            }
        }
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
        assert!(is_known(&chunk("\"a\"", ""), &chunk("\"b\"", "")));
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
            ("j", r#"{"prompt_tokens":7}"#),
            // A list is read as what it would be with names.
            ("k", "[8,1,null,null]"),
            ("l", r#"{"prompt_tokens":7,"x":"\ud83d"}"#),
            ("m", r#"{"prompt_tokens":7,"\u0070rompt_tokens":8}"#),
            ("n", r#"{"prompt_tokens":7,"content":"x"}"#),
        ] {
            chunks.push(counting(text, counts));
        }
        // Another key's text would be taken for the content.
        for odd in [r#""content" "#, r#""\u0063ontent""#, r#""content""#] {
            for decoy in ["zz", r#"\"a\":1}"#] {
                let chunk = chunk("\"{\"", "").replace(r#""content""#, odd);
                chunks.push(chunk.replace(
                    "\"model\"",
                    &format!("\"x\":{{\"content\":\"{decoy}\"}},\"model\""),
                ));
            }
        }
        for odd in [r#""usage" "#, r#""us\u0061ge""#] {
            for decoy in [7, 8] {
                let chunk = counting("a", r#"{"prompt_tokens":1}"#).replace(r#""usage""#, odd);
                chunks.push(chunk.replace(
                    "\"model\"",
                    &format!("\"x\":{{\"usage\":{{\"prompt_tokens\":{decoy}}}}},\"model\""),
                ));
            }
        }
        chunks.push(chunk("\"y\"", r#","finish_reason":"stop""#));
        chunks.push(chunk("\"z\"", r#","finish_reason":"stop""#));
        let mut chunks: Vec<Vec<u8>> = chunks.into_iter().map(String::into_bytes).collect();
        chunks.push(counting("a", r#"{"prompt_tokens":7}"#).into_bytes());
        let odd = counting("b", r#"{"prompt_tokens":7,"x":"?"}"#).into_bytes();
        chunks.push(
            odd.iter()
                .map(|byte| if *byte == b'?' { 0xff } else { *byte })
                .collect(),
        );
        compare(&chunks);
        let pairs: Vec<_> = chunks
            .iter()
            .flat_map(|one| chunks.iter().map(move |other| [one, other]))
            .collect();
        for [one, other] in pairs {
            compare(&[one.clone(), other.clone()]);
        }
    }

    /// Whether the second is read by what the first left.
    fn is_known(first: &str, second: &str) -> bool {
        let mut ids = Ids::new(1);
        let mut stream = server::CHAT.stream(About::default(), 1 << 20);
        let events = stream.read(first.as_bytes(), &mut ids).events;
        let about_first: Vec<Event> = (events.into_iter())
            .filter(|event| !matches!(event, Event::Start(_)))
            .collect();
        let template = Template::of(first.as_bytes(), &about_first, true);
        template.is_some_and(|known| known.differs(second.as_bytes()).is_some())
    }

    #[test]
    fn what_counts_is_known_to_those_who_are_told_in_other_words() {
        let counting = |text, count: u32| {
            counting(
                text,
                &format!("{{\"prompt_tokens\":7,\"completion_tokens\":{count}}}"),
            )
        };
        assert!(is_known(&counting("a", 1), &counting("b\\n", 10)));
        assert!(!is_known(&counting("a", 1), &chunk("\"b\"", "")));
    }

    #[test]
    fn the_bytes_of_one_may_go_out_as_those_of_the_other() {
        let mut ids = Ids::new(1);
        let mut server = server::CHAT.stream(About::default(), 1 << 20);
        for text in ["a", "b", "\"c\""] {
            let data = chunk(&json!(text).to_string(), "");
            let frame = server.read(data.as_bytes(), &mut ids);
            let verbatim = frame.verbatim.unwrap();
            assert_eq!(verbatim.as_bytes(), data.as_bytes());
        }
    }
}
