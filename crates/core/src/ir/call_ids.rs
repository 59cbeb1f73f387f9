//! The ids of calls that servers take.

use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

/// What may stand in an id anywhere.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The ids that a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIds {
    /// `^[a-zA-Z0-9]{9}$` (mistral-common 1.8, `validator.py`, and the chat templates of Mistral's models).
    Nine,
    /// `^[a-zA-Z0-9_-]{1,64}$` (Anthropic's and Bedrock's `tool_use.id`).
    Word,
    /// At most 40 characters (OpenAI's Chat Completions).
    Forty,
}

impl CallIds {
    /// Whether an id is one of them.
    #[must_use]
    pub fn takes(self, id: &str) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match self {
            Self::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            Self::Word => (1..=64).contains(&id.len()) && id.bytes().all(is_word),
            Self::Forty => (1..=40).contains(&id.chars().count()),
        }
    }

    /// Another id for this one, always the same. `turn` tells apart those that are taken.
    #[must_use]
    pub fn other(self, id: &str, turn: u64) -> String {
        let mut hasher = SipHasher24::new_with_key(b"isogloss call id");
        hasher.write(id.as_bytes());
        hasher.write_u64(turn);
        let mut letters = letters(&hasher, LETTERS, 20);
        match self {
            Self::Nine => {
                letters.truncate(9);
                letters
            }
            Self::Word | Self::Forty => format!("call_{letters}"),
        }
    }
}

/// A hash in so many of these letters.
pub(super) fn letters(hash: &SipHasher24, among: &[u8], count: usize) -> String {
    let mut rest = hash.finish128().as_u128();
    let mut letters = String::with_capacity(count);
    for _ in 0..count {
        let at = usize::try_from(rest % among.len() as u128).unwrap_or_default();
        letters.push(char::from(among[at]));
        rest /= among.len() as u128;
    }
    letters
}
