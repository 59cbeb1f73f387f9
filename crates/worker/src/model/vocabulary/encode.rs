//! Text to tokens, by llama.cpp's tokenisers, with three things done here that they do in a way
//! that hurts (0.1.160):
//!
//! - Special tokens are found here. llama.cpp walks its list of fragments from the beginning for
//!   each one that it finds: 150,000 of them in a request of 1 MB take it minutes.
//! - Long texts are cut. Most of its pre-tokenisers are `std::regex`, which recurses once a
//!   character: a word long enough overflows the stack and ends the process.
//! - SentencePiece's own space at the beginning is left out where a text has to stay as it is.

use super::Kind;
use crate::vocabulary::{Encode, Token};
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;
use memchr::memmem;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Characters that stand before a text to keep SentencePiece's own space away from it. Control
/// characters are no part of any piece but their own; the second is for a vocabulary that proves
/// otherwise.
const SENTINELS: [&str; 2] = ["\u{1}", "\u{3}"];

/// How SentencePiece's pieces write a space. In a text it means itself, which they cannot write.
const SPACE: char = '\u{2581}';

/// Bytes of a text that are tokenised at once. SentencePiece's time grows with the square of them
/// where they have no pieces (0.1.160 grows its list by one at a time), as line ends often have.
const BLOCK_BYTES: usize = 4 << 10;
/// Bytes that may come without a place to cut at where the pre-tokeniser is a `std::regex`: 8,000
/// digits overflow a stack of 2 MiB (`default`).
const REGEX_WORD_BYTES: usize = 2 << 10;

/// The pre-tokenisers (`tokenizer.ggml.pre`) that llama.cpp has code for instead (`unicode.cpp`).
const HAND_WRITTEN: &[&str] = &[
    "dbrx",
    "deepseek-r1-qwen",
    "falcon3",
    "gpt-2",
    "lfm2",
    "llama-bpe",
    "llama-v3",
    "llama3",
    "phi-2",
    "pixtral",
    "qwen2",
    "qwen35",
    "smaug-bpe",
];

/// Bytes that may come without a place to cut a text at.
pub(super) fn word_bytes(kind: Kind, pre_tokenizer: Option<&str>) -> usize {
    match (kind, pre_tokenizer) {
        (Kind::SentencePiece { .. }, _) => BLOCK_BYTES,
        (_, Some(name)) if HAND_WRITTEN.contains(&name) => BLOCK_BYTES,
        _ => REGEX_WORD_BYTES,
    }
}

/// A token that a text may name.
struct Special {
    token: Token,
    /// Its name, ready to be searched for.
    name: memmem::Finder<'static>,
    /// Whether it is one of the model's controls, which plain text does not name.
    is_control: bool,
    /// Whether it takes the space before it.
    strips_left: bool,
    /// Whether it takes the space after it.
    strips_right: bool,
}

pub(super) struct Encoder {
    model: Arc<LlamaModel>,
    /// Longest name first, as llama.cpp looks for them.
    specials: Vec<Special>,
    kind: Kind,
    word_bytes: usize,
    /// The tokens that stand for single bytes, where pieces write spaces as [`SPACE`].
    bytes: HashMap<u8, Token>,
    /// The sentinels that can be used, and their tokens with SentencePiece's own space.
    sentinels: Vec<(&'static str, Vec<LlamaToken>)>,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Range<usize>),
    Special(Token),
}

impl Encoder {
    pub(super) fn new(
        model: Arc<LlamaModel>,
        tokens: &[LlamaToken],
        kind: Kind,
        word_bytes: usize,
        bytes: HashMap<u8, Token>,
    ) -> Self {
        let vocab = model.vocab();
        let mut specials = Vec::new();
        for token in tokens {
            let attrs = vocab.attr(*token);
            let is_control = attrs.intersects(LlamaTokenAttr::Control | LlamaTokenAttr::Unknown);
            if !is_control && !attrs.contains(LlamaTokenAttr::UserDefined) {
                continue;
            }
            let (Some(name), Ok(id)) = (vocab.text(*token), Token::try_from(token.0)) else {
                continue;
            };
            let name = name.to_bytes();
            // An empty name would be found everywhere; one that is not UTF-8, inside of characters.
            if name.is_empty() || std::str::from_utf8(name).is_err() {
                continue;
            }
            specials.push(Special {
                token: id,
                name: memmem::Finder::new(name).into_owned(),
                is_control,
                strips_left: attrs.contains(LlamaTokenAttr::LStrip),
                strips_right: attrs.contains(LlamaTokenAttr::RStrip),
            });
        }
        specials.sort_by_key(|special| Reverse(special.name.needle().len()));
        let sentinels = match kind {
            Kind::SentencePiece { prefixed: true } => SENTINELS
                .iter()
                .map(|sentinel| (*sentinel, vocab.tokenize(sentinel.as_bytes(), false, false)))
                .collect(),
            _ => Vec::new(),
        };
        Self {
            model,
            specials,
            kind,
            word_bytes,
            bytes,
            sentinels,
        }
    }

    /// Finds the special tokens of a text, as llama.cpp does: all of the longest first, then all
    /// of the next in what is left.
    fn parts(&self, text: &str, controls: bool) -> Vec<Part> {
        let mut parts = vec![Part::Text(0..text.len())];
        let pairs = Pairs::of(text.as_bytes());
        for special in &self.specials {
            let is_meant = controls || !special.is_control;
            // Most are not there at all, and some models have thousands.
            if !is_meant || !pairs.may_hold(special.name.needle()) {
                continue;
            }
            let mut next = Vec::with_capacity(parts.len());
            for part in parts {
                match part {
                    Part::Text(range) => special.split(text, range, controls, &mut next),
                    special @ Part::Special(_) => next.push(special),
                }
            }
            parts = next;
        }
        parts
    }

    /// The tokens of a text without special ones. `is_prefixed`: with SentencePiece's own space
    /// before it.
    fn text(&self, text: &str, is_prefixed: bool, tokens: &mut Vec<Token>) {
        let vocab = self.model.vocab();
        let mut put = |found: &[LlamaToken]| {
            tokens.extend(found.iter().filter_map(|token| super::known(*token)));
        };
        if is_prefixed || self.sentinels.is_empty() {
            return put(&vocab.tokenize(text.as_bytes(), false, false));
        }
        for (sentinel, before) in &self.sentinels {
            let found = vocab.tokenize(format!("{sentinel}{text}").as_bytes(), false, false);
            if let Some(rest) = found.strip_prefix(before.as_slice()) {
                return put(rest);
            }
        }
        // Pieces grow over the sentinels: no model's, but the bytes are always right.
        self.spell(text, tokens);
    }

    /// The tokens of plain text, which stand for exactly its bytes.
    fn exact(&self, text: &str, tokens: &mut Vec<Token>) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(SPACE).filter(|_| !self.bytes.is_empty())
        {
            if !before.is_empty() {
                self.text(before, false, tokens);
            }
            self.spell(SPACE.encode_utf8(&mut [0; 4]), tokens);
            rest = after;
        }
        if !rest.is_empty() {
            self.text(rest, false, tokens);
        }
    }

    /// A text byte by byte.
    fn spell(&self, text: &str, tokens: &mut Vec<Token>) {
        tokens.extend(text.bytes().filter_map(|byte| self.bytes.get(&byte)));
    }
}

impl Special {
    fn split(&self, text: &str, range: Range<usize>, controls: bool, parts: &mut Vec<Part>) {
        let mut start = range.start;
        // Plain text keeps its spaces: what is decoded has to be what was encoded.
        let strips = |strips: bool| controls && strips;
        while let Some(found) = self.name.find(&text.as_bytes()[start..range.end]) {
            let found = start + found;
            let mut left = start..found;
            if strips(self.strips_left) {
                left.end = start + text[left.clone()].trim_ascii_end().len();
            }
            if !left.is_empty() {
                parts.push(Part::Text(left));
            }
            parts.push(Part::Special(self.token));
            start = found + self.name.needle().len();
            if strips(self.strips_right) {
                let right = &text[start..range.end];
                start += right.len() - right.trim_ascii_start().len();
            }
        }
        if start < range.end {
            parts.push(Part::Text(start..range.end));
        }
    }
}

impl Encode for Encoder {
    fn encode(&self, text: &str, controls: bool) -> Vec<Token> {
        let mut tokens = Vec::new();
        // SentencePiece writes a space at the beginning and after each special token. Only the text
        // of a template, which the model was trained on like that, gets it.
        let has_prefix = controls && matches!(self.kind, Kind::SentencePiece { prefixed: true });
        let mut is_after_special = true;
        for part in self.parts(text, controls) {
            match part {
                Part::Special(token) => {
                    tokens.push(token);
                    is_after_special = true;
                }
                Part::Text(range) => {
                    for block in blocks(&text[range], self.word_bytes) {
                        if controls {
                            self.text(block, has_prefix && is_after_special, &mut tokens);
                        } else {
                            self.exact(block, &mut tokens);
                        }
                        is_after_special = false;
                    }
                }
            }
        }
        tokens
    }
}

/// Which pairs of bytes a text has, one bit each: most names are ruled out by them.
struct Pairs(Vec<u64>);

impl Pairs {
    fn of(text: &[u8]) -> Self {
        let mut bits = vec![0; 1 << 10];
        for pair in text.windows(2) {
            let (word, bit) = Self::place(pair);
            bits[word] |= bit;
        }
        Self(bits)
    }

    fn may_hold(&self, name: &[u8]) -> bool {
        name.windows(2).all(|pair| {
            let (word, bit) = Self::place(pair);
            self.0[word] & bit != 0
        })
    }

    fn place(pair: &[u8]) -> (usize, u64) {
        let (high, low) = (usize::from(pair[0]), usize::from(pair[1]));
        (high << 2 | low >> 6, 1 << (low & 63))
    }
}

/// A text in blocks that are short enough, cut where words of all pre-tokenisers begin.
fn blocks(mut text: &str, word_bytes: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (block, rest) = text.split_at(block_bytes(text, word_bytes));
        text = rest;
        (!block.is_empty()).then_some(block)
    })
}

/// Where the next block ends.
fn block_bytes(text: &str, word_bytes: usize) -> usize {
    let end = text.len().min(BLOCK_BYTES);
    let mut word = 0;
    for at in 1..end {
        if begins(text, at) {
            word = at;
        } else if at - word >= word_bytes && text.is_char_boundary(at) {
            return at;
        }
    }
    match text.len() {
        all if all <= BLOCK_BYTES => all,
        _ if word > 0 => word,
        _ => (1..=end)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len()),
    }
}

/// Whether a word begins here, whatever the pre-tokeniser: at the space before it, after a line's
/// end, or, in scripts without spaces, at a mark.
fn begins(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let (before, here) = (bytes[at - 1], bytes[at]);
    match here {
        b' ' => !before.is_ascii_whitespace(),
        // The first byte of the marks below.
        0xe3 | 0xef => {
            let mut rest = text[at..].chars();
            rest.next()
                .is_some_and(|mark| "、。，！？；：".contains(mark))
                && text[..at].ends_with(char::is_alphabetic)
        }
        _ => before == b'\n' && !here.is_ascii_whitespace(),
    }
}

#[cfg(test)]
mod tests;
