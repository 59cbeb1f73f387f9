//! Blocks of thinking that Anthropic's server signed, as signatures of Gemini's: its clients send those back as they came.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use serde_json::value::RawValue;

const HEAD: &[u8] = b"isogloss:";
/// What such a signature begins with: [`HEAD`], of which no letter is another one in URLs.
pub(super) const MARK: &str = "aXNvZ2xvc3M6";

/// SDKs leave the padding out, or keep it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// As the value of `thoughtSignature`, which is bytes.
pub(super) fn write(block: &RawValue) -> String {
    BASE64_STANDARD.encode([HEAD, block.get().as_bytes()].concat())
}

/// The block in a signature; `None` where it is none of ours. SDKs spell it as in URLs, too (google-genai 3.6).
pub(super) fn read(signature: &str) -> Option<Box<RawValue>> {
    if !signature.starts_with(MARK) {
        return None;
    }
    let bytes = LENIENT.decode(signature.replace('-', "+").replace('_', "/"));
    let text = String::from_utf8(bytes.ok()?.split_off(HEAD.len())).ok()?;
    let block: Box<RawValue> = serde_json::from_str(&text).ok()?;
    block.get().starts_with('{').then_some(block)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{MARK, read, write};
    use crate::ir::raw;
    use serde_json::json;

    #[test]
    fn a_block_comes_back_in_any_spelling_and_nothing_else_does() {
        for text in ["hm", "hmm", "hmmm", "\u{ff}\u{fe}>>>???", "😀"] {
            let block = raw(&json!({"type": "thinking", "thinking": text, "signature": "S=="}));
            let written = write(&block);
            assert!(written.starts_with(MARK));
            let in_urls = written.replace('+', "-").replace('/', "_");
            for spelled in [written.as_str(), &in_urls, in_urls.trim_end_matches('=')] {
                assert_eq!(read(spelled).unwrap().get(), block.get());
            }
        }
        for other in ["", "U0lH", MARK, "aXNvZ2xvc3M6IjEi", "aXNvZ2xvc3M6!!"] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
