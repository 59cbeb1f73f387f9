//! What working on a body takes of memory.

/// What a body takes at most while it is worked on, in multiples of its bytes, itself among them: a request that is
/// read and written for a server, a whole reply that is read, verified and written for the client.
pub const COST: usize = 10;
/// What each value in it takes beside that.
const VALUE_COST: usize = 96;

/// Bytes that this body takes at most while it is worked on, itself among them (`tests/translation/memory.rs` measures
/// them). What is short is small however many values it has.
#[must_use]
pub fn cost(body: &[u8]) -> usize {
    with_values_of(body.len(), body)
}

/// The same of so many bytes that have the values of this text.
pub(super) fn with_values_of(bytes: usize, text: &[u8]) -> usize {
    const SHORT_BYTES: usize = 4096;
    let values = match bytes {
        ..=SHORT_BYTES => 0,
        // Each value but the first has one before it; those in texts are some more.
        _ => memchr::memchr_iter(b',', text).count(),
    };
    bytes * COST + values * VALUE_COST
}
