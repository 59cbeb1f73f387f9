//! Bytes of a server that may go to a client of the same wire as they came.

use std::borrow::Cow;

/// Bytes of the upstream in which every field that a client reads was understood: they may be sent
/// as they are, once what they say is verified. Only the reader of their wire can know, so nobody
/// else makes one.
#[derive(Debug, Clone)]
pub struct Verbatim<'d>(Cow<'d, [u8]>);

impl<'d> Verbatim<'d> {
    /// Bytes that were understood.
    #[must_use]
    pub const fn of(data: Cow<'d, [u8]>) -> Self {
        Self(data)
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
