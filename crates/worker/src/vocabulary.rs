//! A model's vocabulary: tokens as bytes, which of them are special, and text to tokens.

use super::thoughts::ThinkTags;
use std::fmt;
use std::sync::Arc;

/// The index of a token in its model's vocabulary.
pub type Token = u32;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Text, of which these are the bytes.
    Text,
    /// A control token (`<|im_end|>`): never text of an answer; its bytes are its name.
    Control,
    /// Never to be sampled: unused places, unknown tokens.
    Unused,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it stands for: text, or the name of a control token.
    pub bytes: Vec<u8>,
    /// What it is for.
    pub kind: TokenKind,
}

/// Text to tokens. A model's own tokeniser.
pub trait Encode: Send + Sync {
    /// The tokens of a text, without any that the model wants at the beginning (`bos`).
    /// `controls`: whether the names of control tokens in the text stand for those tokens, as in a
    /// rendered chat template, or are text, as in anything else.
    fn encode(&self, text: &str, controls: bool) -> Vec<Token>;
}

/// A model's vocabulary. Cloning shares it.
#[derive(Clone)]
pub struct Vocabulary {
    shared: Arc<Shared>,
    think: ThinkTags,
}

struct Shared {
    pieces: Vec<Piece>,
    bos: Option<Token>,
    ends: Vec<Token>,
    encoder: Box<dyn Encode>,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary")
            .field("tokens", &self.len())
            .finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// A vocabulary. `bos` is the token that every prompt begins with, where the model wants one;
    /// `ends` are the tokens that end an answer, the first of them the one that the model was
    /// trained on. There is at least one.
    #[must_use]
    pub fn new(
        pieces: Vec<Piece>,
        bos: Option<Token>,
        ends: Vec<Token>,
        encoder: Box<dyn Encode>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                pieces,
                bos,
                ends,
                encoder,
            }),
            think: ThinkTags::default(),
        }
    }

    /// The same, of a model with these texts around its thoughts.
    #[must_use]
    pub fn with_think_tags(self, think: ThinkTags) -> Self {
        Self { think, ..self }
    }

    /// The texts around the model's thoughts.
    #[must_use]
    pub const fn think_tags(&self) -> &ThinkTags {
        &self.think
    }

    /// How many tokens there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.pieces.len()
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.pieces.is_empty()
    }

    /// All tokens, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.shared.pieces
    }

    /// The text of a token: nothing for control tokens and unused ones.
    #[must_use]
    pub fn text(&self, token: Token) -> &[u8] {
        match self.shared.pieces.get(token as usize) {
            Some(Piece {
                bytes,
                kind: TokenKind::Text,
            }) => bytes,
            _ => &[],
        }
    }

    /// What a token is called: its text, or the name of a control token; nothing for a token that
    /// there is not.
    #[must_use]
    pub fn name(&self, token: Token) -> &[u8] {
        let piece = self.shared.pieces.get(token as usize);
        piece.map_or(&[], |piece| &piece.bytes)
    }

    /// The token that every prompt begins with, where there is one.
    #[must_use]
    pub fn bos(&self) -> Option<Token> {
        self.shared.bos
    }

    /// The tokens that end an answer.
    #[must_use]
    pub fn ends(&self) -> &[Token] {
        &self.shared.ends
    }

    /// Whether a token ends an answer.
    #[must_use]
    pub fn is_end(&self, token: Token) -> bool {
        self.shared.ends.contains(&token)
    }

    /// The tokens of a text; see [`Encode::encode`].
    #[must_use]
    pub fn encode(&self, text: &str, controls: bool) -> Vec<Token> {
        self.shared.encoder.encode(text, controls)
    }
}
