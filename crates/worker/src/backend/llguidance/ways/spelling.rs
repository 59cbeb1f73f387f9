//! Texts as tokens: bytes come in; the fewest tokens that spell them go out.

use crate::vocabulary::Token;
use toktrie::{TokEnv, TokTrie};

/// What a token costs beside its bytes: a text of fewer tokens is cheaper, though it be longer.
pub(super) const TOKEN_COST: u32 = 4;
/// Tokens of each length that are tried where any text will do, and the longest of them.
const FILLERS: usize = 4;
const LONGEST_FILLER: usize = 64;

/// A vocabulary's tokens as a speller needs them.
pub(in super::super) struct Spelling {
    env: TokEnv,
    /// Letters and spaces, the longest first.
    fillers: Vec<Box<[u8]>>,
}

impl Spelling {
    pub(in super::super) fn new(env: &TokEnv) -> Self {
        let trie = env.tok_trie();
        let mut fillers: Vec<Box<[u8]>> = Vec::new();
        let mut counts = [0; LONGEST_FILLER + 1];
        for token in 0..trie.vocab_size() as Token {
            let text = trie.token(token);
            let is_plain = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b' ';
            if (2..=LONGEST_FILLER).contains(&text.len()) && text.iter().all(is_plain) {
                let count = &mut counts[text.len()];
                *count += 1;
                if *count <= FILLERS {
                    fillers.push(text.into());
                }
            }
        }
        fillers.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self {
            env: env.clone(),
            fillers,
        }
    }

    fn trie(&self) -> &TokTrie {
        self.env.tok_trie()
    }

    /// Texts of one token that say nothing, the longest first.
    pub(super) fn fillers(&self) -> &[Box<[u8]>] {
        &self.fillers
    }

    /// The fewest tokens that spell a text. `None` where it has a byte that no token has.
    pub(in super::super) fn spell(&self, text: &[u8]) -> Option<Vec<Token>> {
        let trie = self.trie();
        // By place: how many tokens its rest takes, and the first of them.
        let mut rests: Vec<Option<(u32, Token)>> = vec![None; text.len() + 1];
        rests[text.len()] = Some((0, 0));
        for at in (0..text.len()).rev() {
            // Of equals the longest, which is the last.
            let tokens = trie.all_prefixes(&text[at..]).into_iter().rev();
            let ways = tokens.filter_map(|token| {
                let (count, _) = rests[at + trie.token_len(token)]?;
                Some((count + 1, token))
            });
            rests[at] = ways.min_by_key(|(count, _)| *count);
        }
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (_, token) = rests[at]?;
            tokens.push(token);
            at += trie.token_len(token);
        }
        Some(tokens)
    }

    /// What a text costs: its bytes and its tokens.
    pub(super) fn cost(&self, text: &[u8]) -> Option<u32> {
        let tokens = u32::try_from(self.spell(text)?.len()).ok()?;
        let bytes = u32::try_from(text.len()).ok()?;
        Some(bytes + TOKEN_COST * tokens)
    }
}
