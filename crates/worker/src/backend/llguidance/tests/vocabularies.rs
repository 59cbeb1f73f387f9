//! Vocabularies of several kinds.

use crate::vocabulary::{Encode, Piece, Token, TokenKind, Vocabulary};
use std::collections::HashMap;

/// Longest token first, as many tokenisers nearly do.
struct Greedy {
    tokens: HashMap<Vec<u8>, Token>,
    longest: usize,
}

impl Encode for Greedy {
    fn encode(&self, text: &str, _: bool) -> Vec<Token> {
        let mut rest = text.as_bytes();
        let mut out = Vec::new();
        while !rest.is_empty() {
            let longest = (1..=self.longest.min(rest.len()))
                .rev()
                .find_map(|length| Some((length, *self.tokens.get(&rest[..length])?)));
            let (length, token) = longest.unwrap();
            out.push(token);
            rest = &rest[length..];
        }
        out
    }
}

/// One that puts a space before every text, as SentencePiece does.
struct Spaced(Greedy);

impl Encode for Spaced {
    fn encode(&self, text: &str, controls: bool) -> Vec<Token> {
        self.0.encode(&format!(" {text}"), controls)
    }
}

fn build(texts: Vec<Vec<u8>>, controls: &[&str], spaced: bool) -> Vocabulary {
    let mut pieces = vec![Piece {
        bytes: b"<unk>".to_vec(),
        kind: TokenKind::Unused,
    }];
    let piece = |bytes: Vec<u8>, kind| Piece { bytes, kind };
    pieces.extend(texts.into_iter().map(|text| piece(text, TokenKind::Text)));
    let ends = [pieces.len() as Token, pieces.len() as Token + 2];
    for name in ["<|im_end|>", "<|im_start|>", "<|endoftext|>"]
        .iter()
        .chain(controls)
    {
        pieces.push(piece(name.as_bytes().to_vec(), TokenKind::Control));
    }
    let tokens: HashMap<_, _> = (0..)
        .zip(&pieces)
        .filter(|(_, piece)| piece.kind == TokenKind::Text)
        .map(|(token, piece)| (piece.bytes.clone(), token))
        .collect();
    let longest = tokens.keys().map(Vec::len).max().unwrap();
    let greedy = Greedy { tokens, longest };
    let encoder: Box<dyn Encode> = match spaced {
        true => Box::new(Spaced(greedy)),
        false => Box::new(greedy),
    };
    Vocabulary::new(pieces, None, ends.to_vec(), encoder)
}

fn single() -> Vec<Vec<u8>> {
    (0..=255).map(|byte| vec![byte]).collect()
}

/// A token a byte.
pub(super) fn bytes() -> Vocabulary {
    build(single(), &[], false)
}

const WORDS: &[&str] = &[
    "{\"",
    "\":",
    "\": \"",
    "\": ",
    "\"}",
    "\"},",
    "\", \"",
    "\":{\"",
    "\":[\"",
    "\"]",
    "}}",
    "]}",
    " {",
    "[{",
    "[]",
    "{}",
    ",",
    ", ",
    ": ",
    "name",
    "value",
    "type",
    "id",
    "true",
    "false",
    "null",
    "the",
    " the",
    "and",
    "00",
    "123",
    "e9",
    "e999",
    "2024",
    "-02-",
    "T00:00:00Z",
    "\n",
    "\n\n",
    "\n  ",
    "\n    ",
    "  ",
    "    ",
    "think",
    "<think>",
    "</think>",
    "</think>\n\n",
    "</",
    "think>",
    "<tool_call>",
    "<tool",
    "_call>",
    "</tool_call>",
    "</tool_call>\n",
    "function",
    "<func",
    "<function=",
    "é",
    "日本",
    "日",
    "😀",
    "\\n",
    "\\u",
    "\\\"",
    "aa",
    "ab",
    "ba",
    "abc",
    "http://",
    "@",
    ".com",
    "🙂 ok",
    "start",
    "-1",
    "0.",
    ".5",
    "\"name\"",
    "\"arguments\":",
    "{\"name\": \"",
];

fn words() -> Vec<Vec<u8>> {
    let mut texts = single();
    texts.extend(WORDS.iter().map(|word| word.as_bytes().to_vec()));
    texts
}

/// Words that cross the borders of a grammar.
pub(super) fn merged() -> Vocabulary {
    build(words(), &[], false)
}

/// Those of a tokeniser that changes texts.
pub(super) fn spaced() -> Vocabulary {
    build(words(), &[], true)
}

/// Think tags that are control tokens, and no text.
pub(super) fn with_think_controls() -> Vocabulary {
    let mut texts = words();
    texts.retain(|text| !text.windows(6).any(|part| part == b"think>"));
    build(texts, &["<think>", "</think>"], false)
}

/// Without tokens for most bytes.
pub(super) fn narrow() -> Vocabulary {
    let texts = (b' '..=b'~').map(|byte| vec![byte]).collect();
    build(texts, &[], false)
}

/// The tokens of a text, whatever the tokeniser would make of it.
pub(super) fn spell(vocabulary: &Vocabulary, text: &str) -> Vec<Token> {
    let tokens = vocabulary.encode(text, false);
    let written: Vec<u8> = tokens
        .iter()
        .flat_map(|&token| vocabulary.text(token).to_vec())
        .collect();
    if written == text.as_bytes() {
        return tokens;
    }
    let byte = |byte: u8| {
        let is_it = |piece: &Piece| piece.kind == TokenKind::Text && piece.bytes == [byte];
        vocabulary.pieces().iter().position(is_it).unwrap() as Token
    };
    text.bytes().map(byte).collect()
}
