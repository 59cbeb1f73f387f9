//! Text in JSON that is no Unicode: mended before anybody reads it.

use super::place::{blank, field, text};
use std::ops::Range;

/// Mends what servers get wrong in otherwise good JSON: invalid UTF-8 becomes U+FFFD, and so does
/// half a surrogate pair in an escape (a token border in the middle of an emoji; both are seen).
/// `None` where there is nothing to mend.
#[must_use]
pub fn mend(data: &[u8]) -> Option<Vec<u8>> {
    if std::str::from_utf8(data).is_ok() && !has_surrogate(data) {
        return None;
    }
    let text = String::from_utf8_lossy(data);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        match unit(bytes, at) {
            Some(0xD800..=0xDBFF) if matches!(unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => {
                out.extend_from_slice(&bytes[at..at + 12]);
                at += 12;
            }
            Some(0xD800..=0xDFFF) => {
                out.extend_from_slice(b"\\ufffd");
                at += 6;
            }
            _ => {
                // Any other escape is two bytes at least: `\\` must not be read as the start of one.
                let end = (at + 2).min(bytes.len());
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
        }
    }
    (out != data).then_some(out)
}

/// What of a request is words: the conversation and the instructions, in every dialect's name for them.
const WORDS: [&str; 11] = [
    "contents",
    "input",
    "instructions",
    "messages",
    "metadata",
    "prediction",
    "prompt",
    "suffix",
    "system",
    "systemInstruction",
    "system_instruction",
];

/// Where schemas stand, of which the descriptions are words as well.
const DEMANDS: [&str; 10] = [
    "format",
    "functions",
    "generationConfig",
    "generation_config",
    "guided_json",
    "output_config",
    "output_format",
    "response_format",
    "text",
    "tools",
];

/// The same of a request's words alone: in a schema, or in any other demand, every other text means what it says. `None` where there
/// is nothing to mend, or something is no UTF-8.
pub(crate) fn mend_words(request: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(request).ok()?;
    let words = WORDS.iter().filter_map(|name| field(request, name));
    let demands = DEMANDS.iter().filter_map(|name| field(request, name));
    let places = words.chain(demands.flat_map(|at| descriptions(request, at)));
    let mut mended: Vec<_> = places
        .filter_map(|at| Some((mend(request.get(at.clone())?)?, at)))
        .collect();
    // From the end, so that the places before stay.
    mended.sort_by_key(|(_, at)| std::cmp::Reverse(at.start));
    let mut out = request.to_vec();
    for (words, at) in mended.iter().cloned() {
        out.splice(at, words);
    }
    (!mended.is_empty()).then_some(out)
}

/// The texts of the descriptions and titles in a value.
fn descriptions(request: &[u8], within: Range<usize>) -> Vec<Range<usize>> {
    let value = request.get(within.clone()).unwrap_or_default();
    let names = [r#""description""#, r#""title""#];
    let found = names.iter().flat_map(|name| {
        let behind = move |at: usize| at + name.len();
        memchr::memmem::find_iter(value, *name).map(behind)
    });
    let texts = found.filter_map(|at| {
        let colon = blank(value, at);
        let begin = blank(value, colon + 1);
        let is_member = value.get(colon) == Some(&b':');
        let end = text(value, begin).filter(|_| is_member)?;
        Some(within.start + begin..within.start + end)
    });
    texts.collect()
}

/// Whether an escape of a surrogate may be there: nearly all data is done with here.
fn has_surrogate(data: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', data)
        .any(|at| matches!(data.get(at + 1..at + 3), Some(b"ud" | b"uD")))
}

/// The code unit of the `\uXXXX` escape at `at`, if one stands there.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes
        .get(at..at + 6)
        .filter(|escape| escape.starts_with(b"\\u"))?;
    u32::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{mend, mend_words};

    #[test]
    fn words_are_mended_and_demands_are_not() {
        let cut = r#""\ud83d""#;
        let request = |words: &str, demand: &str| {
            format!(
                r#"{{"system": {words}, "tools": [{{"x": {demand}}}], "messages": [{{"content": {words}}}]}}"#
            )
        };
        let described = r#"[{"description" : "a \ud83d", "title":"\ud83d", "enum": ["\ud83d"]}]"#;
        let tools = mend_words(format!(r#"{{"tools": {described}}}"#).as_bytes()).unwrap();
        let expected =
            r#"{"tools": [{"description" : "a \ufffd", "title":"\ufffd", "enum": ["\ud83d"]}]}"#;
        assert_eq!(String::from_utf8(tools).unwrap(), expected);
        let mended = mend_words(request(cut, cut).as_bytes()).unwrap();
        let expected = request(r#""\ufffd""#, cut);
        assert_eq!(String::from_utf8(mended).unwrap(), expected);
        assert_eq!(mend_words(request("1", cut).as_bytes()), None);
        assert_eq!(mend_words(b"{\"messages\": \"\xff\"}"), None);
    }

    #[test]
    fn a_whole_pair_and_an_escaped_backslash_stay() {
        assert_eq!(mend(br#"{"a":"\ud83d\ude00 \\ud83d"}"#), None);
    }
}
