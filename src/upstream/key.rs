//! What a server says in, the same without the operator's key out.

use super::Upstream;
use isogloss_core::error::Error;
use isogloss_core::exchange::redact;

impl Upstream {
    /// Whether it is asked with a key that is not the client's.
    #[must_use]
    pub const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// A text of the server's without its key; `None` where the key is not in it.
    #[must_use]
    pub fn redact(&self, text: &[u8]) -> Option<Vec<u8>> {
        redact(text, self.key.as_ref()?.expose().as_bytes())
    }

    /// An error of the server's without its key.
    #[must_use]
    pub fn redact_error(&self, mut error: Error) -> Error {
        let clear = |text: &mut String| {
            if let Some(redacted) = self.redact(text.as_bytes()) {
                *text = String::from_utf8_lossy(&redacted).into_owned();
            }
        };
        clear(&mut error.message);
        error.param.iter_mut().for_each(clear);
        error.code.iter_mut().for_each(clear);
        error
    }
}
