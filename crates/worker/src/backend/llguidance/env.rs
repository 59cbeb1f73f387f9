//! A vocabulary as llguidance takes it: pieces come in; its trie of tokens goes out, and the
//! canonical tokens of texts that a grammar forces.

use crate::vocabulary::{Piece, Token, TokenKind, Vocabulary};
use toktrie::{TokRxInfo, TokTrie, TokenId, TokenizerEnv};

/// Bytes of a token. The trie holds 1,024 levels; GLM's longest token is as many spaces.
const MAX_TOKEN_BYTES: usize = 1_000;
/// Tokens of a vocabulary: the trie keeps their numbers in 24 bits, and has a number of its own.
const MAX_TOKENS: usize = (1 << 24) - 2;

/// A model's tokens for llguidance.
pub(super) struct Env {
    trie: TokTrie,
    vocabulary: Vocabulary,
    is_canonical: bool,
}

impl Env {
    /// `None` where no token ends an answer, or there are more tokens than a trie holds.
    pub(super) fn new(vocabulary: &Vocabulary) -> Option<Self> {
        let count = u32::try_from(vocabulary.len())
            .ok()
            .filter(|&count| count as usize <= MAX_TOKENS)?;
        let ends: Vec<Token> = (vocabulary.ends().iter().copied())
            .filter(|&end| end < count)
            .collect();
        let words: Vec<Vec<u8>> = (0..count)
            .zip(vocabulary.pieces())
            .map(|(token, piece)| word(token, piece, ends.contains(&token)))
            .collect();
        let trie = TokTrie::from(&TokRxInfo::new(count, *ends.first()?), &words);
        let trie = trie.with_eos_tokens(&ends);
        Some(Self {
            is_canonical: spells_every_byte(&trie),
            trie,
            vocabulary: vocabulary.clone(),
        })
    }
}

/// What a token is in the trie. A token that is never text begins with a byte that no text has.
fn word(token: Token, piece: &Piece, is_end: bool) -> Vec<u8> {
    let marker = TokTrie::SPECIAL_TOKEN_MARKER;
    match piece.kind {
        _ if is_end => [&[marker], format!("<end-{token}>").as_bytes()].concat(),
        TokenKind::Control => [&[marker], format!("<control-{token}>").as_bytes()].concat(),
        TokenKind::Text
            if piece.bytes.len() <= MAX_TOKEN_BYTES && !piece.bytes.contains(&marker) =>
        {
            piece.bytes.clone()
        }
        TokenKind::Text | TokenKind::Unused => Vec::new(),
    }
}

/// Whether every byte that a text may have is a token, so that every text has tokens.
fn spells_every_byte(trie: &TokTrie) -> bool {
    (0..=0xF4_u8)
        .filter(|byte| !matches!(byte, 0xC0 | 0xC1))
        .all(|byte| trie.token_id_at_bytes(&[byte]).is_some())
}

impl TokenizerEnv for Env {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let tokens = self
            .trie
            .tokenize_with_greedy_fallback(bytes, |text| self.vocabulary.encode(text, false));
        // Some tokenisers put a space before every text, or change it: what they say then is not
        // this text, and a token too many would be a hole in the grammar.
        if self.spells(&tokens, bytes) {
            return tokens;
        }
        self.trie.greedy_tokenize(bytes)
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.is_canonical
    }
}

impl Env {
    fn spells(&self, tokens: &[TokenId], bytes: &[u8]) -> bool {
        let mut rest = bytes;
        for &token in tokens {
            let word = self.trie.token(token);
            if word.is_empty() {
                return false;
            }
            match rest.strip_prefix(word) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }
}
