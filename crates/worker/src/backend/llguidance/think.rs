//! Thinking: what may stand in a think block comes out as masks, with the place where it ends.
//!
//! A think block is free text, so no grammar is asked: its masks are those of the vocabulary.

use crate::backend::TokenMask;
use crate::thoughts::ThinkTags;
use crate::vocabulary::{Token, TokenKind, Vocabulary};
use toktrie::TokTrie;

/// Bytes of space that may stand between the block and JSON: models write an empty line there.
pub(super) const MAX_GAP: usize = 4;

/// Masks of a vocabulary for what no grammar covers.
#[derive(Debug)]
pub(super) struct Thinking {
    tags: ThinkTags,
    /// Control tokens that begin a block.
    open: Vec<Token>,
    /// By how much of [what begins one](ThinkTags::open) is written: the tokens that go on with it, or complete it.
    opening: Vec<TokenMask>,
    /// Likewise: those that complete it.
    opened: Vec<TokenMask>,
    /// By how much of [what ends one](ThinkTags::close) is written: the tokens that a block may go on with.
    inside: Vec<TokenMask>,
    /// Likewise: those that end it and go on with space.
    spilling: Vec<TokenMask>,
    /// Likewise: those that go on with it and nothing else, or complete it.
    closing: Vec<TokenMask>,
    /// Control tokens that end a block.
    close: Vec<Token>,
    /// By bytes that are left of [`MAX_GAP`]: tokens of spaces.
    gap: Vec<TokenMask>,
}

/// What a token does to a think block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkStep {
    /// The block goes on; so much of [what ends one](ThinkTags::close) is written.
    Inside(usize),
    /// It is over.
    Over,
    /// It is over, and so many bytes of space stand behind it.
    Spilled(usize),
    /// It would be over in the middle of the token.
    Past,
}

impl Thinking {
    pub(super) fn new(vocabulary: &Vocabulary, trie: &TokTrie) -> Self {
        let tags = vocabulary.think_tags().clone();
        let named = |name: &str| -> Vec<Token> {
            (0..)
                .zip(vocabulary.pieces())
                .filter(|(_, piece)| {
                    piece.kind == TokenKind::Control && piece.bytes == name.as_bytes()
                })
                .map(|(token, _)| token)
                .collect()
        };
        let masks = |count: usize| vec![trie.alloc_token_set(); count];
        let mut thinking = Self {
            open: named(tags.open()),
            close: named(tags.close()),
            opening: masks(tags.open().len()),
            opened: masks(tags.open().len()),
            inside: masks(tags.close().len()),
            spilling: masks(tags.close().len()),
            closing: masks(tags.close().len()),
            gap: masks(MAX_GAP + 1),
            tags,
        };
        for token in 0..trie.vocab_size() as Token {
            let text = trie.token(token);
            if !text.is_empty() && !trie.is_special_token(token) {
                thinking.add(token, text);
            }
        }
        for token in thinking.close.clone() {
            let masks = thinking.inside.iter_mut().chain(&mut thinking.closing);
            masks.for_each(|mask| mask.allow_token(token));
        }
        for token in thinking.open.clone() {
            thinking.opening[0].allow_token(token);
            thinking.opened[0].allow_token(token);
        }
        thinking
    }

    fn add(&mut self, token: Token, text: &[u8]) {
        for written in 0..self.closing.len() {
            match self.step(written, text) {
                ThinkStep::Inside(_) | ThinkStep::Over => self.inside[written].allow_token(token),
                ThinkStep::Spilled(_) => self.spilling[written].allow_token(token),
                ThinkStep::Past => {}
            }
            if self.close_from(written).starts_with(text) {
                self.closing[written].allow_token(token);
            }
        }
        for written in 0..self.opening.len() {
            let rest = self.open_from(written);
            let goes_on = rest.starts_with(text);
            let completes = text.strip_prefix(rest).map(|inside| self.step(0, inside));
            if matches!(completes, Some(ThinkStep::Inside(_) | ThinkStep::Over)) {
                self.opened[written].allow_token(token);
                self.opening[written].allow_token(token);
            } else if goes_on {
                self.opening[written].allow_token(token);
            }
        }
        if text.len() <= MAX_GAP && is_space(text) {
            for mask in &mut self.gap[text.len()..] {
                mask.allow_token(token);
            }
        }
    }

    /// What begins a block, behind so much of it.
    pub(super) fn open_from(&self, written: usize) -> &[u8] {
        &self.tags.open().as_bytes()[written..]
    }

    /// What ends a block, behind so much of it.
    pub(super) fn close_from(&self, written: usize) -> &[u8] {
        &self.tags.close().as_bytes()[written..]
    }

    /// What a text does to a block at whose end so much of [what ends one](ThinkTags::close) stands.
    pub(super) fn step(&self, written: usize, text: &[u8]) -> ThinkStep {
        let close = self.close_from(0);
        let mut written = written;
        for (at, &byte) in text.iter().enumerate() {
            // Its first byte stands at its beginning alone: what is not its next byte begins it or does not.
            written = match byte {
                byte if byte == close[written] => written + 1,
                byte if byte == close[0] => 1,
                _ => 0,
            };
            if written == close.len() {
                return match &text[at + 1..] {
                    [] => ThinkStep::Over,
                    after if after.len() <= MAX_GAP && is_space(after) => {
                        ThinkStep::Spilled(after.len())
                    }
                    _ => ThinkStep::Past,
                };
            }
        }
        ThinkStep::Inside(written)
    }

    /// Whether a control token begins a block.
    pub(super) fn opens(&self, token: Token) -> bool {
        self.open.contains(&token)
    }

    /// Whether a control token ends a block.
    pub(super) fn closes(&self, token: Token) -> bool {
        self.close.contains(&token)
    }

    /// The control token that ends a block, where there is one.
    pub(super) fn close(&self) -> Option<Token> {
        self.close.first().copied()
    }

    /// Tokens that go on with so much of [what begins one](ThinkTags::open), and those of them that complete it.
    pub(super) fn opening(&self, written: usize) -> (&TokenMask, &TokenMask) {
        (&self.opening[written], &self.opened[written])
    }

    /// Tokens of a block at whose end so much of [what ends one](ThinkTags::close) stands; with those that go on with
    /// space where it `may_spill`.
    pub(super) fn inside(&self, written: usize, may_spill: bool) -> TokenMask {
        let mut mask = self.inside[written].clone();
        if may_spill {
            mask.or(&self.spilling[written]);
        }
        mask
    }

    /// Tokens that end a block at whose end so much of [what ends one](ThinkTags::close) stands, or go on with that end.
    pub(super) fn closing(&self, written: usize) -> &TokenMask {
        &self.closing[written]
    }

    /// Tokens of at most so many spaces.
    pub(super) fn gap(&self, left: usize) -> &TokenMask {
        &self.gap[left]
    }
}

/// Whether a text is such space as stands between a think block and JSON.
pub(super) fn is_space(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' ' | b'\n'))
}
