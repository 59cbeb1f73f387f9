//! Where an answer is in its JSON: its bytes come in; what a grammar allows and a JSON parser
//! does not take, or nobody wants, goes out as tokens to leave away.
//!
//! A grammar lets a number have any number of digits and values any number of levels. `1e999` is
//! no number for most parsers, 128 levels are the limit of many, and a model that repeats itself
//! writes digits until its tokens are spent.

use crate::backend::TokenMask;
use toktrie::TokTrie;

/// Digits in a row before a number ends: more than a double has.
const MAX_DIGITS: usize = 24;
/// Digits of an exponent.
const MAX_EXPONENT: usize = 2;
/// Levels of arrays and objects. Parsers take 127 and more; one token may open several.
const MAX_DEPTH: usize = 100;

/// Tokens of a vocabulary that matter to numbers and levels.
#[derive(Debug)]
pub(super) struct Tokens {
    /// Those that begin with so many digits or more; the first is empty.
    digits: [TokenMask; MAX_EXPONENT + 2],
    /// Those with an exponent that is too long.
    exponents: TokenMask,
    /// Those that begin with a sign and as many digits.
    signed: TokenMask,
    /// Those that open an array or an object.
    openers: TokenMask,
}

impl Tokens {
    pub(super) fn new(trie: &TokTrie) -> Self {
        let empty = || trie.alloc_token_set();
        let mut tokens = Self {
            digits: std::array::from_fn(|_| empty()),
            exponents: empty(),
            signed: empty(),
            openers: empty(),
        };
        for token in 0..trie.vocab_size() as u32 {
            let text = trie.token(token);
            let digits = leading_digits(text);
            for count in 1..tokens.digits.len().min(digits + 1) {
                tokens.digits[count].allow_token(token);
            }
            if let [b'+' | b'-', after @ ..] = text
                && leading_digits(after) > MAX_EXPONENT
            {
                tokens.signed.allow_token(token);
            }
            // Behind a quote is a string, where anything may stand.
            let plain = text.split(|&byte| byte == b'"').next().unwrap_or_default();
            if has_long_exponent(plain) {
                tokens.exponents.allow_token(token);
            }
            if plain.iter().any(|byte| matches!(byte, b'[' | b'{')) {
                tokens.openers.allow_token(token);
            }
        }
        tokens
    }
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn has_long_exponent(text: &[u8]) -> bool {
    text.iter().enumerate().any(|(at, byte)| {
        let after = text.get(at + 1..).unwrap_or_default();
        let after = match after {
            [b'+' | b'-', after @ ..] => after,
            after => after,
        };
        matches!(byte, b'e' | b'E') && leading_digits(after) > MAX_EXPONENT
    })
}

/// A place in JSON.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    depth: usize,
    text: Text,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    /// Between or within tokens that are no strings and no numbers.
    #[default]
    Plain,
    String,
    /// After a backslash in a string.
    Escape,
    /// In a number, after so many digits in a row.
    Number(usize),
    /// In its exponent.
    Exponent(usize),
}

impl Place {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.text = match (self.text, byte) {
                (Text::Escape, _) => Text::String,
                (Text::String, b'\\') => Text::Escape,
                (Text::String, b'"') => Text::Plain,
                (Text::String, _) => Text::String,
                (_, b'"') => Text::String,
                (Text::Number(digits), b'0'..=b'9') => Text::Number(digits + 1),
                (Text::Exponent(digits), b'0'..=b'9') => Text::Exponent(digits + 1),
                (Text::Plain, b'0'..=b'9') => Text::Number(1),
                (Text::Number(_), b'.') => Text::Number(0),
                (Text::Number(_), b'e' | b'E') => Text::Exponent(0),
                (Text::Exponent(0), b'+' | b'-') => Text::Exponent(0),
                _ => Text::Plain,
            };
            match byte {
                b'[' | b'{' if self.text == Text::Plain => self.depth += 1,
                b']' | b'}' if self.text == Text::Plain => {
                    self.depth = self.depth.saturating_sub(1);
                }
                _ => {}
            }
        }
    }

    /// Takes away what leads to a number or a depth that nobody reads, as long as something else
    /// is left. Says whether there was any.
    pub(super) fn restrict(&self, mask: &mut TokenMask, tokens: &Tokens) -> bool {
        let unwanted = match self.text {
            Text::String | Text::Escape => return false,
            Text::Number(digits) if digits >= MAX_DIGITS => Some(&tokens.digits[1]),
            Text::Exponent(digits) => {
                let left = MAX_EXPONENT.saturating_sub(digits);
                tokens.digits.get(left + 1)
            }
            Text::Number(_) | Text::Plain => None,
        };
        let signed = (self.text == Text::Exponent(0)).then_some(&tokens.signed);
        let openers = (self.depth >= MAX_DEPTH).then_some(&tokens.openers);
        let all = [Some(&tokens.exponents), unwanted, signed, openers];
        let mut is_narrower = false;
        for unwanted in all.into_iter().flatten() {
            if mask.and_is_zero(unwanted) {
                continue;
            }
            let mut rest = mask.clone();
            rest.sub(unwanted);
            if !rest.is_zero() {
                *mask = rest;
                is_narrower = true;
            }
        }
        is_narrower
    }
}
