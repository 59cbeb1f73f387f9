//! A JSON text in, the same on one line out: for clients that read a stream line by line.

use std::borrow::Cow;

/// Line breaks between the tokens become blanks; U+0085, U+2028 and U+2029, at which some clients break lines too (Python's
/// `str.splitlines`, httpx 0.28) and which may stand in strings alone, are escaped, as Go's and Protobuf's writers have them.
#[must_use]
pub fn on_one_line(json: &[u8]) -> Cow<'_, [u8]> {
    let may_break = [
        memchr::memchr3(b'\n', b'\r', 0xc2, json),
        memchr::memchr(0xe2, json),
    ];
    let Some(first) = may_break.into_iter().flatten().min() else {
        return Cow::Borrowed(json);
    };
    let mut out = Vec::with_capacity(json.len() + 16);
    let (before, mut rest) = json.split_at(first);
    out.extend_from_slice(before);
    while let Some(byte) = rest.first() {
        let (told, length): (&[u8], usize) = match rest {
            [b'\n' | b'\r', ..] => (b" ", 1),
            [0xc2, 0x85, ..] => (b"\\u0085", 2),
            [0xe2, 0x80, 0xa8, ..] => (b"\\u2028", 3),
            [0xe2, 0x80, 0xa9, ..] => (b"\\u2029", 3),
            _ => (std::slice::from_ref(byte), 1),
        };
        out.extend_from_slice(told);
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::on_one_line;

    #[test]
    fn what_breaks_a_line_is_told_otherwise_and_nothing_else() {
        for (json, line) in [
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("{\r\n  \"a\": [\n1]}", "{    \"a\": [ 1]}"),
            ("\"\u{2028}\u{2029}\u{85}\"", "\"\\u2028\\u2029\\u0085\""),
            (
                "\"\u{a0}\u{2026}é\u{c285}\\n\"",
                "\"\u{a0}\u{2026}é\u{c285}\\n\"",
            ),
        ] {
            assert_eq!(String::from_utf8_lossy(&on_one_line(json.as_bytes())), line);
        }
    }
}
