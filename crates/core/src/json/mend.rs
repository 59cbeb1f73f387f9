//! Text in JSON that is no Unicode: mended before anybody reads it.

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
mod tests {
    use super::mend;

    #[test]
    fn a_whole_pair_and_an_escaped_backslash_stay() {
        assert_eq!(mend(br#"{"a":"\ud83d\ude00 \\ud83d"}"#), None);
    }
}
