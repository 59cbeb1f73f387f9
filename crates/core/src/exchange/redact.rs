//! A text and a secret in, the text without the secret out.

/// What stands in a secret's place.
const REDACTED: &[u8] = b"[redacted]";

/// Shorter ones would take words out of any text, and keep nothing secret.
const MIN_SECRET_BYTES: usize = 4;

/// The text without the secret, wherever it stands: as it is, or escaped for JSON (once or more
/// often) or for a URL. `None` where it stands nowhere.
#[must_use]
pub fn redact(text: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    if secret.len() < MIN_SECRET_BYTES {
        return None;
    }
    let (mut out, mut at, mut is_found) = (Vec::new(), 0, false);
    while let Some(&byte) = text.get(at) {
        if let Some(end) = spelled(text, at, secret) {
            out.extend_from_slice(REDACTED);
            at = end;
            is_found = true;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    is_found.then_some(out)
}

/// Where the secret ends that begins here, if it does.
fn spelled(text: &[u8], mut at: usize, secret: &[u8]) -> Option<usize> {
    for &letter in secret {
        at = one(text, at, letter)?;
    }
    Some(at)
}

/// Where one letter ends, however it is escaped.
fn one(text: &[u8], at: usize, letter: u8) -> Option<usize> {
    let rest = text.get(at..)?;
    let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let behind = rest.get(slashes..)?;
    if letter == b'\\' {
        if slashes > 0
            && behind
                .get(..5)
                .is_some_and(|code| code.eq_ignore_ascii_case(b"u005c"))
        {
            return Some(at + slashes + 5);
        }
        // One, or as many as it took to escape it.
        let next = if slashes > 1 { 2 } else { slashes };
        return (next > 0).then_some(at + next);
    }
    if behind.first() == Some(&letter) {
        return Some(at + slashes + 1);
    }
    let is_hex = |digits: Option<&[u8]>| {
        let digits = std::str::from_utf8(digits?).ok()?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        (code == u32::from(letter)).then_some(())
    };
    if slashes > 0 && behind.first() == Some(&b'u') {
        is_hex(behind.get(1..5))?;
        return Some(at + slashes + 5);
    }
    if slashes == 0 && behind.first() == Some(&b'%') {
        is_hex(behind.get(1..3))?;
        return Some(at + 3);
    }
    None
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn shown(text: &str, secret: &str) -> String {
        let redacted = redact(text.as_bytes(), secret.as_bytes());
        redacted.map_or_else(
            || text.to_owned(),
            |bytes| String::from_utf8(bytes).unwrap(),
        )
    }

    #[test]
    fn a_secret_is_taken_out_wherever_and_however_it_stands() {
        for (text, secret) in [
            ("Incorrect API key: sk-<a/b>\"c.", "sk-<a/b>\"c"),
            (r#"{"e":"Incorrect API key: sk-<a\/b>\"c."}"#, "sk-<a/b>\"c"),
            (
                r#"{"e":"Incorrect API key: sk-\u003ca/b\u003E\"c."}"#,
                "sk-<a/b>\"c",
            ),
            (r#"{"e":"{\"k\":\"sk-\\u003ca/b>\\\"c\"}"}"#, "sk-<a/b>\"c"),
            ("key=sk-%3ca%2Fb%3E%22c&", "sk-<a/b>\"c"),
            (r"sk-a\\b and sk-a\b", r"sk-a\b"),
        ] {
            let shown = shown(text, secret);
            assert!(shown.contains("[redacted]"), "{shown}");
            assert!(!shown.contains("sk-"), "{shown}");
        }
        assert_eq!(shown("abcd abcd", "abcd"), "[redacted] [redacted]");
        assert_eq!(shown("xabcabcd", "abcd"), "xabc[redacted]");
    }

    #[test]
    fn what_is_not_the_secret_stays_as_it_is() {
        for text in ["", "sk-secre", "sk-secreT", r"sk-\u0", "%73k-secreX", "\\"] {
            assert_eq!(redact(text.as_bytes(), b"sk-secret"), None, "{text}");
        }
        assert_eq!(redact(b"a key", b"a"), None);
    }
}
