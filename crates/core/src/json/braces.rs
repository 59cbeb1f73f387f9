//! How far a JSON object or array is, of texts that are not checked here: one look at each byte.

/// Follows one text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Braces {
    /// Some of it came, if only a blank.
    has_come: bool,
    has_begun: bool,
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl Braces {
    pub(crate) fn take(&mut self, text: &str) {
        self.take_bytes(text.as_bytes());
    }

    pub(crate) fn take_bytes(&mut self, text: &[u8]) {
        self.has_come |= !text.is_empty();
        for byte in text {
            match *byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_text => self.is_escaped = true,
                b'"' => self.is_text = !self.is_text,
                b'{' | b'[' if !self.is_text => {
                    self.has_begun = true;
                    self.depth += 1;
                }
                b'}' | b']' if !self.is_text => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether nothing of it came.
    pub(crate) const fn is_empty(&self) -> bool {
        !self.has_come
    }

    /// Whether every brace that was opened is closed, and there was one.
    pub(crate) const fn is_whole(&self) -> bool {
        self.has_begun && self.depth == 0
    }
}
