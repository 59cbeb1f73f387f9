//! Gemini's `generateContent`.

pub mod client;
pub(super) mod sealed;
pub(super) mod server;

use std::borrow::Cow;

/// Between a call's id and its signature, which must come back with the call: a client of another dialect
/// keeps ids, not always fields that it does not know. The signature, which is base64, has the letters of URLs behind it, since some
/// agents read ids with a regex of letters, digits, `-` and `_`; Anthropic's API takes no others.
const SIGNED: &str = "__signature__";
/// The same before a signature as it is, where it is no base64. LiteLLM cuts ids there on their way to other servers than Gemini.
const SIGNED_AS_IT_IS: &str = "__thought__";

/// Whether a signature was put behind a call's id.
#[must_use]
pub fn is_signed(id: &str) -> bool {
    split_id(id).1.is_some()
}

/// Whether the signature is there as it is, as LiteLLM writes it.
#[must_use]
pub fn is_signed_as_it_is(id: &str) -> bool {
    id.contains(SIGNED_AS_IT_IS)
}

/// A call's id with a signature behind it.
fn signed_id(id: &str, signature: &str) -> String {
    let letters = signature.trim_end_matches('=');
    let letter = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/');
    if !signature.len().is_multiple_of(4)
        || signature.len() - letters.len() > 2
        || !letters.bytes().all(letter)
    {
        return format!("{id}{SIGNED_AS_IT_IS}{signature}");
    }
    format!(
        "{id}{SIGNED}{}",
        letters.replace('+', "-").replace('/', "_")
    )
}

/// A call's id, and the signature that was put behind it.
fn split_id(id: &str) -> (&str, Option<Cow<'_, str>>) {
    if let Some((id, letters)) = id.split_once(SIGNED) {
        let mut signature = letters.replace('-', "+").replace('_', "/");
        while !signature.len().is_multiple_of(4) {
            signature.push('=');
        }
        return (id, Some(Cow::Owned(signature)));
    }
    match id.split_once(SIGNED_AS_IT_IS) {
        Some((id, signature)) => (id, Some(Cow::Borrowed(signature))),
        None => (id, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{signed_id, split_id};

    #[test]
    fn a_signature_comes_back_as_it_was_and_in_letters_that_ids_may_have() {
        for signature in ["Q+2/lnbgAAA=", "c2lnbg==", "T1dO", "", "_no-base64", "a"] {
            let id = signed_id("call_1", signature);
            let (before, after) = split_id(&id);
            assert_eq!(
                (before, after.as_deref()),
                ("call_1", Some(signature)),
                "{id}"
            );
            let is_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            assert!(id.chars().all(is_word), "{id}");
        }
        assert_eq!(split_id("call_1"), ("call_1", None));
    }
}
