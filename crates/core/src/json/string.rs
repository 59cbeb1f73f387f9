//! A JSON string as it comes: raw pieces in, the text that is certain out.
//!
//! The scanner has seen every byte before: the syntax is right, and there are no lone surrogates.

/// Decodes one JSON string piece by piece.
#[derive(Debug, Default)]
pub struct StringReader {
    is_open: bool,
    /// The raw start of an escape that is not whole.
    held: String,
}

/// The value is no string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoString;

impl StringReader {
    /// Whether the opening quote has come.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// The raw start of an escape that is not whole.
    #[must_use]
    pub fn held(&self) -> &str {
        &self.held
    }

    /// Takes the next raw piece; the text that it makes certain.
    ///
    /// # Errors
    /// The value does not begin as a string, or an escape in it is none.
    pub fn push(&mut self, raw: &str) -> Result<String, NoString> {
        let mut rest = raw;
        if !self.is_open {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Ok(String::new());
            }
            rest = rest.strip_prefix('"').ok_or(NoString)?;
            self.is_open = true;
        }
        self.held.push_str(rest);
        let end = whole(&self.held);
        let held = self.held.split_off(end);
        let raw = std::mem::replace(&mut self.held, held);
        serde_json::from_str(&format!("\"{raw}\"")).map_err(|_| NoString)
    }
}

/// How much of the raw text can be decoded: up to the closing quote, or to an escape that is cut.
fn whole(raw: &str) -> usize {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'\\', b'"', &bytes[at..]) {
        at += found;
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => return at,
            (_, Some(b'u')) if is_high(bytes, at) => 12,
            (_, Some(b'u')) => 6,
            _ => 2,
        };
        if at + length > bytes.len() {
            return at;
        }
        at += length;
    }
    bytes.len()
}

/// Whether the escape at this place is the first half of a surrogate pair.
fn is_high(bytes: &[u8], at: usize) -> bool {
    matches!(
        bytes.get(at + 2..at + 4),
        Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    const RAW: &str = r#""a \"q\" \\ \u00e9 \ud83d\ude00 é😀\n\\""#;

    #[test]
    fn the_text_is_the_same_wherever_the_raw_string_is_cut() {
        let expected: String = serde_json::from_str(RAW).unwrap();
        let at = (0..=RAW.len()).filter(|at| RAW.is_char_boundary(*at));
        for at in at {
            let mut reader = StringReader::default();
            let first = reader.push(&RAW[..at]).unwrap();
            assert!(expected.starts_with(&first), "only what is certain");
            assert_eq!(first + &reader.push(&RAW[at..]).unwrap(), expected);
        }
        let mut reader = StringReader::default();
        let mut text = String::new();
        for piece in RAW.chars() {
            text += &reader.push(&piece.to_string()).unwrap();
        }
        assert_eq!(text, expected);
    }

    #[test]
    fn text_comes_out_as_soon_as_it_is_certain() {
        let mut reader = StringReader::default();
        assert_eq!(reader.push(" \"ab\\").unwrap(), "ab");
        assert_eq!(reader.push("u00").unwrap(), "");
        assert_eq!(reader.push("e9c").unwrap(), "éc");
    }

    #[test]
    fn what_is_no_string_is_refused_at_once() {
        assert_eq!(StringReader::default().push("{"), Err(NoString));
    }
}
