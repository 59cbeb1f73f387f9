//! Tokens that lead to an end: a mask comes in; the few of its tokens that are worth a try go out, best first.
//!
//! A constraint does not tell how far its end is. But what closes a list or a text, or is a whole value by itself, is
//! nearly always nearer to it than anything else.

use crate::backend::TokenMask;
use crate::vocabulary::{Token, TokenKind, Vocabulary};
use std::fmt;
use std::sync::Arc;

/// Values that are whole, the first one the shortest.
const VALUES: [&[u8]; 8] = [
    b"null", b"0", b"1", b"\"\"", b"[]", b"{}", b"false", b"true",
];
/// How many tokens of each length are known that fill a text.
const LONG: usize = 32;
/// Closing tokens that are tried.
const MAX_CLOSERS: usize = 2;
/// Beyond so many tokens a mask is that of a text.
const MAX_LISTED: usize = 8_192;

/// The rank of what begins with space, which is tried where there is nothing else.
const SPACE: usize = 6;

/// What is known of a vocabulary. Cloning shares it.
#[derive(Clone)]
pub struct Leads(Arc<Known>);

impl fmt::Debug for Leads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leads")
            .field("brackets", &self.0.brackets.len())
            .finish_non_exhaustive()
    }
}

struct Known {
    vocabulary: Vocabulary,
    /// Brackets' ends and what may follow them, most first.
    brackets: Vec<Token>,
    /// A text's end and brackets' ends behind it, most first.
    quotes: Vec<Token>,
    values: Vec<Token>,
    /// Tokens of one ASCII byte: marks before digits before letters.
    singles: Vec<Token>,
    /// Those of most characters.
    long: Vec<Token>,
    /// Letters that stand in texts, and in hardly anything else.
    rare: Vec<Token>,
}

/// What may come next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Each leads on; the first is the likeliest to lead to the end. It is sure to do so where it closes something, or
    /// is a whole value.
    Ways { ways: Vec<Token>, is_sure: bool },
    /// In a text: what may end it, and what may lead somewhere in it, of which the first fills it quickest.
    Text { ends: Vec<Token>, fill: Vec<Token> },
}

impl Leads {
    /// Those of a vocabulary.
    #[must_use]
    pub fn of(vocabulary: &Vocabulary) -> Self {
        let pieces = vocabulary.pieces();
        let is_text = |token: &Token| pieces[*token as usize].kind == TokenKind::Text;
        let texts: Vec<Token> = (0..vocabulary.len() as Token).filter(is_text).collect();
        let text = |token: Token| vocabulary.text(token);
        let closes = |text: &[u8]| text.iter().all(|byte| matches!(byte, b'}' | b']'));
        let most_first = |mut tokens: Vec<Token>| {
            tokens.sort_by_key(|&token| std::cmp::Reverse(text(token).len()));
            tokens
        };
        let brackets = texts.iter().copied();
        let brackets = brackets.filter(|&token| !text(token).is_empty() && closes(text(token)));
        let is_quote = |token: &Token| text(*token).strip_prefix(b"\"").is_some_and(closes);
        let exact = |wanted: &[u8]| texts.iter().copied().find(|&token| text(token) == wanted);
        let mut bytes: Vec<u8> = (b' '..=b'~').collect();
        bytes.sort_by_key(|byte| (byte.is_ascii_alphabetic(), byte.is_ascii_digit()));
        let characters = |token: &Token| {
            let text = std::str::from_utf8(text(*token)).unwrap_or_default();
            text.chars().count()
        };
        let mut long: Vec<Token> = texts.clone();
        long.sort_by_key(|token| std::cmp::Reverse(characters(token)));
        // Some of each length: what just fits into a text.
        let mut by_length = [0; 64];
        long.retain(|token| {
            let known = &mut by_length[characters(token).min(63)];
            *known += 1;
            *known <= LONG
        });
        Self(Arc::new(Known {
            brackets: most_first(brackets.collect()),
            quotes: most_first(texts.iter().copied().filter(is_quote).collect()),
            values: VALUES.iter().filter_map(|value| exact(value)).collect(),
            singles: bytes.iter().filter_map(|byte| exact(&[*byte])).collect(),
            rare: [b"x", b"Q", b"~"]
                .iter()
                .filter_map(|text| exact(*text))
                .collect(),
            long,
            vocabulary: vocabulary.clone(),
        }))
    }

    pub(super) fn text(&self, tokens: &[Token]) -> Vec<u8> {
        let texts = tokens.iter().map(|&token| self.0.vocabulary.text(token));
        texts.flatten().copied().collect()
    }

    /// The tokens of a mask that are worth a try.
    pub(super) fn next(&self, mask: &TokenMask) -> Next {
        let known = &*self.0;
        let allowed = |tokens: &[Token]| -> Vec<Token> {
            let allowed = |token: &Token| mask.is_allowed(*token);
            tokens.iter().copied().filter(allowed).collect()
        };
        let of = |tokens: &[Token], most: usize| -> Vec<Token> {
            let allowed = allowed(tokens);
            let mut some: Vec<Token> = allowed.iter().copied().take(most).collect();
            some.extend(allowed.last().filter(|last| !some.contains(last)));
            some
        };
        let is_text = known.rare.iter().any(|token| mask.is_allowed(*token));
        let is_many = mask.num_set() > MAX_LISTED;
        if is_text || is_many {
            let long = known.long.iter().find(|token| mask.is_allowed(**token));
            let mut fill: Vec<Token> = long.copied().into_iter().collect();
            fill.extend(allowed(&known.singles));
            if fill.is_empty() {
                fill.extend(mask.iter().take(1));
            }
            let ends = of(&known.quotes, MAX_CLOSERS);
            return Next::Text { ends, fill };
        }
        let mut ways = of(&known.brackets, MAX_CLOSERS);
        ways.extend(allowed(&known.values));
        let is_sure = !ways.is_empty();
        let groups = known.by_first_byte(mask);
        if let Some(quote) = groups[b'"' as usize].filter(|group| group.is_chain) {
            ways.push(quote.longest);
        }
        ways.extend(of(&known.quotes, MAX_CLOSERS));
        let rank = |byte: usize| match u8::try_from(byte).unwrap_or_default() {
            b',' | b':' => 0,
            b'"' => 1,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => 2,
            b'[' => 4,
            b'{' => 5,
            b' ' | b'\n' | b'\r' | b'\t' => SPACE,
            _ => 3,
        };
        // What begins a text or a value alone, where it may go on in several ways; of all else what brings most.
        let best = |byte: usize, group: &Group| match byte {
            0x22 | 0x5b | 0x7b if !group.is_chain => group.shortest,
            _ => group.longest,
        };
        let mut rest: Vec<(usize, Token)> = (groups.iter().enumerate())
            .filter_map(|(byte, group)| Some((rank(byte), best(byte, group.as_ref()?))))
            .collect();
        rest.sort_by_key(|(rank, _)| *rank);
        for (rank, token) in rest {
            let is_space = rank == SPACE;
            if (ways.is_empty() || !is_space) && !ways.contains(&token) {
                ways.push(token);
            }
        }
        if ways.is_empty() {
            // No text at all: control tokens, such as those around thoughts.
            ways.extend(mask.iter().take(1));
        }
        Next::Ways { ways, is_sure }
    }
}

/// Tokens that begin with the same byte.
#[derive(Debug, Clone, Copy)]
struct Group {
    shortest: Token,
    longest: Token,
    /// Each is a beginning of the longest: there is no choice among them.
    is_chain: bool,
}

impl Known {
    fn by_first_byte(&self, mask: &TokenMask) -> [Option<Group>; 256] {
        let mut groups: [Option<Group>; 256] = [None; 256];
        for token in mask.iter() {
            let text = self.vocabulary.text(token);
            let Some(&first) = text.first() else {
                continue;
            };
            let group = groups[first as usize].get_or_insert(Group {
                shortest: token,
                longest: token,
                is_chain: true,
            });
            let longest = self.vocabulary.text(group.longest);
            let shortest = self.vocabulary.text(group.shortest);
            group.is_chain &= text.starts_with(longest) || longest.starts_with(text);
            if text.len() > longest.len() {
                group.longest = token;
            }
            if text.len() < shortest.len() {
                group.shortest = token;
            }
        }
        groups
    }
}
