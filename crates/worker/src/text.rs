//! An answer's text: the bytes of its tokens come in; whole characters go out, up to the first
//! stop text.
//!
//! Two things are held back: the beginning of a character whose bytes are not all there, and what
//! may be the beginning of a stop text. So at most the longest stop text and 3 bytes are kept,
//! however long the answer.
//!
//! Stop texts are found by one automaton over all of them (Aho and Corasick 1975): a byte costs
//! the same whatever the texts, and overlapping ones cost nothing more.

mod stops;
#[cfg(test)]
mod tests;

use stops::Stops;

/// What an answer's new bytes gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Text that is settled.
    pub text: String,
    /// Whether a stop text came: the answer is over, and nothing follows this text.
    pub stopped: bool,
}

/// The text of one answer.
#[derive(Debug)]
pub struct TextStream {
    stops: Stops,
    /// The beginning of a character: at most 3 bytes.
    partial: Vec<u8>,
    /// Text that may be the beginning of a stop text.
    held: String,
    stopped: bool,
}

impl TextStream {
    /// The text of an answer that ends before the first of these texts. Empty ones stop nothing.
    #[must_use]
    pub fn new(stop: &[String]) -> Self {
        Self {
            stops: Stops::new(stop),
            partial: Vec::new(),
            held: String::new(),
            stopped: false,
        }
    }

    /// Takes the bytes of the next token. After a stop text it takes nothing more.
    pub fn push(&mut self, bytes: &[u8]) -> Pushed {
        if self.stopped {
            return Pushed {
                text: String::new(),
                stopped: true,
            };
        }
        let text = self.characters(bytes);
        let text = self.before_stop(text);
        Pushed {
            text,
            stopped: self.stopped,
        }
    }

    /// Takes the bytes of a token that no stop text is looked for in, nor one that begins before it or ends behind it.
    pub fn pass(&mut self, bytes: &[u8]) -> String {
        if self.stopped {
            return String::new();
        }
        self.stops.restart();
        let mut text = std::mem::take(&mut self.held);
        text.push_str(&self.characters(bytes));
        text
    }

    /// Whether the text would end within a character with these bytes.
    #[must_use]
    pub fn breaks_off(&self, bytes: &[u8]) -> bool {
        let all = [self.partial.as_slice(), bytes].concat();
        let begins = |at: usize| match std::str::from_utf8(&all[at..]) {
            Ok(_) => false,
            Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
        };
        (all.len().saturating_sub(3)..all.len()).any(begins)
    }

    /// The rest of an answer that ended otherwise: what was held back, with U+FFFD for a
    /// character that stayed incomplete.
    pub fn finish(&mut self) -> String {
        if self.stopped {
            return String::new();
        }
        let rest = match std::mem::take(&mut self.partial).is_empty() {
            true => String::new(),
            false => String::from(char::REPLACEMENT_CHARACTER),
        };
        let mut text = self.before_stop(rest);
        if !self.stopped {
            text.push_str(&std::mem::take(&mut self.held));
            self.stopped = true;
        }
        text
    }

    /// The whole characters of what is there; keeps the beginning of one.
    fn characters(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = match self.partial.is_empty() {
            true => bytes,
            false => {
                joined = [&std::mem::take(&mut self.partial), bytes].concat();
                &joined
            }
        };
        let mut text = String::with_capacity(rest.len());
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => error,
            };
            let (valid, broken) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(invalid) = error.error_len() else {
                self.partial.extend_from_slice(broken);
                return text;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &broken[invalid..];
        }
    }

    /// The part of the text that no stop text begins in.
    fn before_stop(&mut self, text: String) -> String {
        if self.stops.is_empty() {
            return text;
        }
        for (index, &byte) in text.as_bytes().iter().enumerate() {
            let Some(length) = self.stops.next(byte) else {
                continue;
            };
            self.stopped = true;
            let mut before = std::mem::take(&mut self.held);
            // The end of the stop text is the end of a character, so its beginning is one's too.
            before.push_str(&text[..=index]);
            before.truncate(before.len().saturating_sub(length));
            return before;
        }
        let mut before = std::mem::take(&mut self.held);
        before.push_str(&text);
        self.held = before.split_off(before.len().saturating_sub(self.stops.depth()));
        before
    }
}
