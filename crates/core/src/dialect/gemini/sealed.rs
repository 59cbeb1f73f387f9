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

/// As the value of `thoughtSignature`, which is bytes: one block, or a list of them.
pub(in crate::dialect) fn write(blocks: &[Box<RawValue>]) -> String {
    let text = match blocks {
        [only] => only.get().to_owned(),
        all => serde_json::to_string(all).unwrap_or_default(),
    };
    BASE64_STANDARD.encode([HEAD, text.as_bytes()].concat())
}

/// The blocks in a signature; none where it is none of ours. SDKs spell it as in URLs, too (google-genai 3.6), and make one of all
/// that a reply has, with line feeds between them (langchain4j 1.9).
pub(in crate::dialect) fn read(signature: &str) -> Vec<Box<RawValue>> {
    let all = signature.split_ascii_whitespace();
    all.filter_map(blocks).flatten().collect()
}

fn blocks(signature: &str) -> Option<Vec<Box<RawValue>>> {
    if !signature.starts_with(MARK) {
        return None;
    }
    let bytes = LENIENT.decode(signature.replace('-', "+").replace('_', "/"));
    let text = String::from_utf8(bytes.ok()?.split_off(HEAD.len())).ok()?;
    let all: Vec<Box<RawValue>> = match text.starts_with('[') {
        true => serde_json::from_str(&text).ok()?,
        false => vec![serde_json::from_str(&text).ok()?],
    };
    let are_blocks = all.iter().all(|block| block.get().starts_with('{'));
    are_blocks.then_some(all)
}

#[cfg(test)]
mod tests {
    use super::{MARK, read, write};
    use crate::ir::raw;
    use serde_json::json;

    #[test]
    fn blocks_come_back_in_any_spelling_and_nothing_else_does() {
        let block =
            |text: &str| raw(&json!({"type": "thinking", "thinking": text, "signature": "S=="}));
        for text in ["hm", "hmm", "hmmm", "\u{ff}\u{fe}>>>???", "😀"] {
            for blocks in [vec![block(text)], vec![block(text), block("and so")]] {
                let written = write(&blocks);
                assert!(written.starts_with(MARK));
                let in_urls = written.replace('+', "-").replace('/', "_");
                for spelled in [written.as_str(), &in_urls, in_urls.trim_end_matches('=')] {
                    let read: Vec<String> =
                        read(spelled).iter().map(|it| it.get().to_owned()).collect();
                    let said: Vec<String> = blocks.iter().map(|it| it.get().to_owned()).collect();
                    assert_eq!(read, said);
                }
            }
        }
        let two = [block("a"), block("b")].map(|it| write(&[it])).join("\n\n");
        assert_eq!(read(&two).len(), 2);
        for other in ["", "U0lH", MARK, "aXNvZ2xvc3M6IjEi", "aXNvZ2xvc3M6!!"] {
            assert!(read(other).is_empty(), "{other}");
        }
    }
}
