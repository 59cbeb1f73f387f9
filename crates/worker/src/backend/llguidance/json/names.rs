//! The names of an object: JSON's bytes come in; what would give it one of its names again goes out.
//!
//! A map of any names lets one come twice, and readers differ in which of the two they take.

use std::sync::Arc;

/// The names of an object so far, as they are spelled; `None` of an array. Copies of an answer share them.
type Level = Option<Arc<Vec<Box<[u8]>>>>;

/// Where names are in JSON.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// From the outside in.
    levels: Vec<Level>,
    /// Whether a string that begins here is a name.
    is_next: bool,
    /// What is written of a name, as it is spelled.
    begun: Option<Vec<u8>>,
}

impl Names {
    /// Takes a byte outside of strings.
    pub(super) fn push(&mut self, byte: u8) {
        self.is_next = match byte {
            b'{' => {
                self.levels.push(Some(Arc::default()));
                true
            }
            b'[' => {
                self.levels.push(None);
                false
            }
            b'}' | b']' => {
                self.levels.pop();
                false
            }
            b',' => matches!(self.levels.last(), Some(Some(_))),
            // Space before a name, or a value.
            _ => self.is_next && byte.is_ascii_whitespace(),
        };
    }

    /// A string begins.
    pub(super) fn open(&mut self) {
        self.begun = self.is_next.then(Vec::new);
    }

    /// Takes a byte of a string.
    pub(super) fn push_inside(&mut self, byte: u8) {
        if let Some(begun) = &mut self.begun {
            begun.push(byte);
        }
    }

    /// The string is over.
    pub(super) fn close(&mut self) {
        self.is_next = false;
        if let (Some(name), Some(Some(names))) = (self.begun.take(), self.levels.last_mut()) {
            Arc::make_mut(names).push(name.into_boxed_slice());
        }
    }

    /// The texts of which each would complete a name that stands in the object already.
    pub(super) fn again(&self) -> Vec<Vec<u8>> {
        let Some(Some(names)) = self.levels.last() else {
            return Vec::new();
        };
        let quote: &[u8] = b"\"";
        match &self.begun {
            Some(begun) => (names.iter())
                .filter_map(|name| name.strip_prefix(begun.as_slice()))
                .map(|rest| [rest, quote].concat())
                .collect(),
            None if self.is_next => (names.iter())
                .map(|name| [quote, &**name, quote].concat())
                .collect(),
            None => Vec::new(),
        }
    }
}
