//! Gemini's `generateContent`.

pub mod client;
mod sealed;
pub(super) mod server;

/// Between a call's id and its signature, which must come back with the call: a client of another dialect
/// keeps ids, not always fields that it does not know.
const SIGNED: &str = "__thought__";

/// Whether a signature was put behind a call's id.
#[must_use]
pub fn is_signed(id: &str) -> bool {
    split_id(id).1.is_some()
}

/// A call's id, and the signature that was put behind it.
fn split_id(id: &str) -> (&str, Option<&str>) {
    match id.split_once(SIGNED) {
        Some((id, signature)) => (id, Some(signature)),
        None => (id, None),
    }
}
