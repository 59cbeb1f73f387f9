//! Where an answer is in its JSON: its bytes come in; what a grammar allows and a JSON parser
//! does not take, or nobody wants, goes out as tokens to leave away.
//!
//! A grammar lets a number have any number of digits and values any number of levels. `1e999` is
//! no number for most parsers, 128 levels are the limit of many, and a model that repeats itself
//! writes digits until its tokens are spent. And it takes `"\u0061"` for another name than `"a"`, and one name twice.

mod names;

use crate::backend::TokenMask;
use crate::vocabulary::Token;
use names::Names;
use std::sync::Arc;
use toktrie::TokTrie;

/// Digits in a row before a number ends: more than a double has.
const MAX_DIGITS: usize = 24;
/// The same where the exact value of whole numbers matters: all of so many digits fit 64 bits, those below zero with one less.
const MAX_EXACT_DIGITS: usize = 19;
/// Digits of an exponent.
const MAX_EXPONENT: usize = 2;
/// Levels of arrays and objects. Parsers take 127 and more; one token may open several.
const MAX_DEPTH: usize = 100;

/// Tokens of a vocabulary that matter to numbers and levels.
#[derive(Debug)]
pub(super) struct Tokens {
    /// Those that begin with so many digits or more; the first is empty.
    digits: Vec<TokenMask>,
    /// Those with an exponent that is too long.
    exponents: TokenMask,
    /// Those that begin with a sign and as many digits.
    signed: TokenMask,
    /// Those that open an array or an object.
    openers: TokenMask,
    /// Those with a quote, in the order of their texts.
    quoted: Vec<(Box<[u8]>, Token)>,
    /// By place in [`STRING_PLACES`]: those that write a character with its code which may stand as it is.
    codes: [TokenMask; PLACES],
}

/// Places in a string that codes are told from.
const STRING_PLACES: [Text; PLACES] = [
    Text::String,
    Text::Escape,
    Text::Code { digits: 0, code: 0 },
    Text::Code { digits: 1, code: 0 },
    Text::Code { digits: 2, code: 0 },
    Text::Code { digits: 3, code: 0 },
    Text::Code { digits: 3, code: 1 },
    Text::Code { digits: 3, code: 7 },
];
const PLACES: usize = 8;

impl Tokens {
    pub(super) fn new(trie: &TokTrie) -> Self {
        let empty = || trie.alloc_token_set();
        let all = 0..trie.vocab_size() as Token;
        let digits = all.clone().map(|token| leading_digits(trie.token(token)));
        let most = digits
            .max()
            .unwrap_or(0)
            .clamp(MAX_EXPONENT + 1, MAX_DIGITS);
        let mut tokens = Self {
            digits: (0..=most).map(|_| empty()).collect(),
            exponents: empty(),
            signed: empty(),
            openers: empty(),
            quoted: Vec::new(),
            codes: std::array::from_fn(|_| empty()),
        };
        for token in all {
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
            if text.contains(&b'"') && !trie.is_special_token(token) {
                tokens.quoted.push((text.into(), token));
            }
            // Behind a quote is a string, where anything may stand.
            let plain = text.split(|&byte| byte == b'"').next().unwrap_or_default();
            if has_long_exponent(plain) {
                tokens.exponents.allow_token(token);
            }
            if plain.iter().any(|byte| matches!(byte, b'[' | b'{')) {
                tokens.openers.allow_token(token);
            }
            for (place, from) in STRING_PLACES.into_iter().enumerate() {
                if has_idle_code(from, text) {
                    tokens.codes[place].allow_token(token);
                }
            }
        }
        tokens.quoted.sort_unstable();
        tokens
    }

    /// Those that begin with a text in which there is a quote.
    fn beginning(&self, text: &[u8]) -> impl Iterator<Item = Token> {
        let from = self.quoted.partition_point(|(known, _)| **known < *text);
        let begin = self.quoted[from..].iter();
        begin
            .take_while(move |(known, _)| known.starts_with(text))
            .map(|(_, token)| *token)
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

/// Whether a string goes on with the code of a character that may stand as it is. Of those that must not, names have
/// no other spelling.
fn has_idle_code(mut text: Text, bytes: &[u8]) -> bool {
    for &byte in bytes {
        let (before, next) = (text, text.after(byte));
        let code = match (before, next) {
            (Text::Code { digits, code }, Text::String) => {
                Some((digits + 1, code * 16 + hex(byte).unwrap_or(0)))
            }
            (_, Text::Code { digits, code }) => Some((digits, code)),
            _ => None,
        };
        if code.is_some_and(|(digits, code)| !begins_control(digits, code)) {
            return true;
        }
        if next == Text::Plain {
            return false;
        }
        text = next;
    }
    false
}

/// Whether a code of which so many digits are written may be that of a control character, or of DEL.
fn begins_control(digits: u8, code: u16) -> bool {
    match digits {
        0..=2 => code == 0,
        3 => matches!(code, 0 | 1 | 7),
        _ => code < 0x20 || code == 0x7F,
    }
}

fn hex(byte: u8) -> Option<u16> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u16::try_from(digit).ok())
}

/// What JSON stands behind.
#[derive(Debug, Clone, Default)]
pub(super) struct Begins {
    /// Any of these texts.
    pub(super) texts: Vec<Box<[u8]>>,
    /// Any text at all.
    pub(super) is_anywhere: bool,
}

impl Begins {
    /// Adds a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        if !self.texts.iter().any(|known| **known == *text) {
            self.texts.push(text.into());
        }
    }

    /// Whether there is any JSON.
    pub(super) fn has_any(&self) -> bool {
        self.is_anywhere || !self.texts.is_empty()
    }
}

/// Where JSON is in an answer, and the place in it.
#[derive(Debug, Clone)]
pub(super) struct Json {
    /// What it stands behind; `None` where the whole answer is JSON.
    begins: Option<Arc<Begins>>,
    /// `None`: outside of it.
    place: Option<Place>,
    /// Whether one of these texts was the last that came, but for space and a sign.
    is_next: bool,
    /// Digits in a row that a number may have.
    most_digits: usize,
}

/// How many digits a number may have in a row.
const fn most_digits(is_exact: bool) -> usize {
    match is_exact {
        true => MAX_EXACT_DIGITS,
        false => MAX_DIGITS,
    }
}

impl Json {
    /// Of an answer that is JSON and nothing else, of whose whole numbers the exact value may matter.
    pub(super) fn whole(is_exact: bool) -> Self {
        Self {
            begins: None,
            place: Some(Place::default()),
            is_next: false,
            most_digits: most_digits(is_exact),
        }
    }

    /// Of one that has values behind these.
    pub(super) fn behind(begins: Begins, is_exact: bool) -> Self {
        let is_next = begins.texts.iter().any(|begin| begin.is_empty());
        Self {
            most_digits: most_digits(is_exact),
            begins: Some(Arc::new(begins)),
            place: None,
            is_next,
        }
    }

    /// The answer is this now, of which so many bytes are new.
    pub(super) fn push(&mut self, written: &[u8], count: usize) {
        for at in written.len() - count..written.len() {
            self.push_byte(&written[..=at], written[at]);
        }
    }

    fn push_byte(&mut self, written: &[u8], byte: u8) {
        let Some(begins) = self.begins.clone() else {
            if let Some(place) = &mut self.place {
                place.push(byte);
            }
            return;
        };
        if let Some(place) = &mut self.place {
            place.push(byte);
            if place.is_open() {
                return;
            }
            self.place = None;
            // The byte behind a number is not the number's any more; other values end with their own.
            if matches!(byte, b']' | b'}' | b'"') {
                return;
            }
        } else if self.is_next && matches!(byte, b'[' | b'{' | b'"' | b'0'..=b'9')
            || begins.is_anywhere && matches!(byte, b'[' | b'{')
        {
            let mut place = Place {
                is_negative: written.len() > 1 && written[written.len() - 2] == b'-',
                ..Place::default()
            };
            place.push(byte);
            self.place = Some(place);
            self.is_next = false;
            return;
        }
        self.is_next &= byte.is_ascii_whitespace() || byte == b'-';
        let mut texts = begins.texts.iter();
        self.is_next |= texts.any(|it| !it.is_empty() && written.ends_with(it));
    }

    /// See [`Place::restrict`].
    pub(super) fn restrict(&self, mask: &mut TokenMask, tokens: &Tokens) -> bool {
        let place = self.place.as_ref();
        place.is_some_and(|place| place.restrict(mask, tokens, self.most_digits))
    }
}

/// A place in JSON.
#[derive(Debug, Clone, Default)]
struct Place {
    depth: usize,
    text: Text,
    /// Whether a number that is begun, or begins here, is below zero.
    is_negative: bool,
    names: Names,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    /// Between or within tokens that are no strings and no numbers.
    #[default]
    Plain,
    String,
    /// After a backslash in a string.
    Escape,
    /// After `\u` and so many digits, which are this number.
    Code {
        digits: u8,
        code: u16,
    },
    /// In a number, after so many digits in a row.
    Number(usize),
    /// In its exponent.
    Exponent(usize),
}

impl Text {
    const fn is_string(self) -> bool {
        matches!(self, Self::String | Self::Escape | Self::Code { .. })
    }

    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Escape, b'u') => Self::Code { digits: 0, code: 0 },
            (Self::Code { digits, code }, _) => match hex(byte) {
                Some(digit) if digits < 3 => Self::Code {
                    digits: digits + 1,
                    code: code * 16 + digit,
                },
                _ => Self::String,
            },
            (Self::Escape, _) => Self::String,
            (Self::String, b'\\') => Self::Escape,
            (Self::String, b'"') => Self::Plain,
            (Self::String, _) => Self::String,
            (_, b'"') => Self::String,
            (Self::Number(digits), b'0'..=b'9') => Self::Number(digits + 1),
            (Self::Exponent(digits), b'0'..=b'9') => Self::Exponent(digits + 1),
            (Self::Plain, b'0'..=b'9') => Self::Number(1),
            (Self::Number(_), b'.') => Self::Number(0),
            (Self::Number(_), b'e' | b'E') => Self::Exponent(0),
            (Self::Exponent(0), b'+' | b'-') => Self::Exponent(0),
            _ => Self::Plain,
        }
    }
}

impl Place {
    fn push(&mut self, byte: u8) {
        let before = self.text;
        self.text = before.after(byte);
        if self.text == Text::Plain {
            self.is_negative = byte == b'-';
        }
        match (before.is_string(), self.text.is_string()) {
            (false, false) => self.names.push(byte),
            (false, true) => self.names.open(),
            (true, true) => self.names.push_inside(byte),
            (true, false) => self.names.close(),
        }
        match byte {
            b'[' | b'{' if self.text == Text::Plain => self.depth += 1,
            b']' | b'}' if self.text == Text::Plain => {
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
    }

    /// Whether the value that began goes on.
    fn is_open(&self) -> bool {
        self.depth > 0 || self.text != Text::Plain
    }

    /// Takes away what leads to a number or a depth that nobody reads, or to a name in another spelling or a second time, as
    /// long as something else is left. Says whether there was any.
    fn restrict(&self, mask: &mut TokenMask, tokens: &Tokens, most_digits: usize) -> bool {
        let mut is_narrower = self.take_names(mask, tokens);
        if self.text.is_string() {
            let place = STRING_PLACES.iter().position(|place| *place == self.text);
            is_narrower |= place.is_some_and(|place| take(mask, &tokens.codes[place]));
            return is_narrower;
        }
        let unwanted = match self.text {
            Text::Number(digits) => {
                // The smallest number of 64 bits has as many digits as the largest, and others of them do not fit.
                let most = most_digits - usize::from(self.is_negative);
                tokens.digits.get(most.saturating_sub(digits) + 1)
            }
            Text::Exponent(digits) => {
                let left = MAX_EXPONENT.saturating_sub(digits);
                tokens.digits.get(left + 1)
            }
            _ => None,
        };
        let signed = (self.text == Text::Exponent(0)).then_some(&tokens.signed);
        let openers = (self.depth >= MAX_DEPTH).then_some(&tokens.openers);
        let all = [Some(&tokens.exponents), unwanted, signed, openers];
        for unwanted in all.into_iter().flatten() {
            is_narrower |= take(mask, unwanted);
        }
        is_narrower
    }

    /// Takes away what gives the object a name that it has.
    fn take_names(&self, mask: &mut TokenMask, tokens: &Tokens) -> bool {
        let mut rest = None;
        for text in self.names.again() {
            for token in tokens
                .beginning(&text)
                .filter(|token| mask.is_allowed(*token))
            {
                rest.get_or_insert_with(|| mask.clone())
                    .disallow_token(token);
            }
        }
        match rest.filter(|rest| !rest.is_zero()) {
            Some(rest) => {
                *mask = rest;
                true
            }
            None => false,
        }
    }
}

/// Takes tokens out of a mask, as long as others are left. Says whether it did.
fn take(mask: &mut TokenMask, unwanted: &TokenMask) -> bool {
    if mask.and_is_zero(unwanted) {
        return false;
    }
    let mut rest = mask.clone();
    rest.sub(unwanted);
    let is_narrower = !rest.is_zero();
    if is_narrower {
        *mask = rest;
    }
    is_narrower
}
