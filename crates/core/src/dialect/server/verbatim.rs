//! Bytes of a server that may go to a client of the same wire as they came.

use std::borrow::Cow;

/// Bytes of the upstream in which every field that a client reads was understood: they may be sent
/// as they are, once what they say is verified. Only the reader of their wire can know, so nobody
/// else makes one.
#[derive(Debug, Clone)]
pub struct Verbatim<'d> {
    data: Cow<'d, [u8]>,
    tells_calls: bool,
}

impl<'d> Verbatim<'d> {
    /// Bytes that were understood.
    #[must_use]
    pub const fn of(data: Cow<'d, [u8]>) -> Self {
        Self {
            data,
            tells_calls: false,
        }
    }

    /// The same bytes, in which calls stand as they are told: each as a whole, with an id of its own if with any.
    #[must_use]
    pub const fn telling_calls(mut self) -> Self {
        self.tells_calls = true;
        self
    }

    /// Whether calls stand in them as they are told.
    #[must_use]
    pub const fn tells_calls(&self) -> bool {
        self.tells_calls
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.data
    }
}
