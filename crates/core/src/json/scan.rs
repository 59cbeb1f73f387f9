//! JSON syntax, one byte at a time: bytes of a text in, what each of them is out.
//!
//! Made for a model's output, which is hostile and arrives in pieces: the first byte that no JSON
//! text could have there is a fault, nothing is kept but the nesting, and the stack is two words.
//! What passes whole is what serde_json reads, except that numbers may be out of its range and
//! keys may repeat.

#[cfg(test)]
mod tests;
mod text;

use text::{Text, TextStep};

/// serde_json reads 127 levels, so whatever passes here can be read afterwards.
pub const MAX_DEPTH: usize = 127;

/// What a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteKind {
    /// Blank, outside of strings.
    Whitespace,
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// Of an object's key.
    Key(StringPart),
    /// Of a string that is a value.
    Text(StringPart),
    /// Of a number.
    Number,
    /// Of `true`, `false` or `null`.
    Literal,
}

/// Which part of a string a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringPart {
    /// The opening quote.
    Open,
    /// Between the quotes, escapes included.
    Body,
    /// The closing quote.
    Close,
}

/// Why a text is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct ScanFault {
    /// The first impossible byte, from 0; the text's length where it ends too early.
    pub offset: usize,
    /// What is wrong there.
    pub kind: ScanFaultKind,
}

/// What is wrong with a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScanFaultKind {
    /// A value must begin here.
    #[error("no JSON value begins with this")]
    NotAValue,
    /// A quoted key must begin here.
    #[error("an object's key is expected")]
    NotAKey,
    /// A colon must stand here.
    #[error("a colon is expected")]
    NotAColon,
    /// A comma or the end of the object or array must stand here.
    #[error("a comma or the end of the object or array is expected")]
    NotACommaOrEnd,
    /// Not what `true`, `false` or `null` goes on with.
    #[error("neither true, false nor null")]
    BadLiteral,
    /// Not what a number goes on with.
    #[error("a digit is expected")]
    BadNumber,
    /// No such escape.
    #[error("no such escape in a string")]
    BadEscape,
    /// Half of a surrogate pair, which is no character.
    #[error("a lone surrogate in a string")]
    LoneSurrogate,
    /// A raw control character in a string.
    #[error("a raw control character in a string")]
    ControlCharacter,
    /// No UTF-8.
    #[error("invalid UTF-8 in a string")]
    InvalidUtf8,
    /// More than [`MAX_DEPTH`] levels.
    #[error("nested more than {MAX_DEPTH} levels")]
    TooDeep,
    /// Something other than blanks after the value.
    #[error("something follows the JSON value")]
    TrailingData,
    /// The text ended before the value did.
    #[error("the JSON value is not finished")]
    Incomplete,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A value must come.
    Value,
    /// After `[`: a value or the end.
    FirstItem,
    /// After `{`: a key or the end.
    FirstKey,
    /// After a comma in an object.
    Key,
    /// After a key.
    Colon,
    /// After a value.
    After,
    String {
        is_key: bool,
        text: Text,
    },
    Number(Number),
    Literal {
        rest: &'static [u8],
    },
    Failed(ScanFault),
}

/// How far a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// The scanner's state.
#[derive(Debug, Clone)]
pub struct Scanner {
    state: State,
    offset: usize,
    depth: usize,
    /// One bit a level, the innermost lowest: set for an object, clear for an array.
    objects: u128,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner at the start of a text.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: State::Value,
            offset: 0,
            depth: 0,
            objects: 0,
        }
    }

    /// How many objects and arrays are open.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// How many bytes were taken.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the last byte, or one before blanks, ended a value at this depth. A number's end
    /// is seen with the byte behind it.
    #[must_use]
    pub const fn is_after_value(&self) -> bool {
        matches!(self.state, State::After)
    }

    /// Whether the whole root value has ended. A number at the root has only with
    /// [`Scanner::finish`], or with a blank behind it.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.depth == 0 && self.is_after_value()
    }

    /// Whether a string is open, a key or a value.
    #[must_use]
    pub const fn is_in_string(&self) -> bool {
        matches!(self.state, State::String { .. })
    }

    /// Takes one byte.
    ///
    /// # Errors
    /// No JSON text has this byte here. Every later call returns the same fault.
    pub fn push(&mut self, byte: u8) -> Result<ByteKind, ScanFault> {
        let step = match self.state {
            State::String { is_key, text } => self.string(is_key, text, byte),
            State::Number(number) => self.number(number, byte),
            State::Literal { rest } => self.literal(rest, byte),
            State::Failed(fault) => return Err(fault),
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => Ok(ByteKind::Whitespace),
            _ => self.between(byte),
        };
        match step {
            Ok(step) => {
                self.offset += 1;
                Ok(step)
            }
            Err(kind) => Err(self.fail(kind)),
        }
    }

    /// Takes all at the start of a text that only goes on with the string which is open: bytes that are all
    /// [`StringPart::Body`], and after which nothing is otherwise but the offset. Says how many they are.
    pub fn pass(&mut self, text: &str) -> usize {
        let State::String {
            text: Text::Plain, ..
        } = self.state
        else {
            return 0;
        };
        let is_other = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        let taken = text.bytes().position(is_other).unwrap_or(text.len());
        self.offset += taken;
        taken
    }

    /// Takes all bytes of a text.
    ///
    /// # Errors
    /// As of one byte.
    pub fn push_all(&mut self, text: &str) -> Result<(), ScanFault> {
        let mut rest = text;
        loop {
            rest = &rest[self.pass(rest)..];
            let mut letters = rest.chars();
            let Some(letter) = letters.next() else {
                return Ok(());
            };
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                self.push(byte)?;
            }
            rest = letters.as_str();
        }
    }

    /// The text ended.
    ///
    /// # Errors
    /// The value is not whole, or an earlier byte was impossible.
    pub fn finish(&mut self) -> Result<(), ScanFault> {
        match self.state {
            State::Failed(fault) => Err(fault),
            State::Number(number) if self.depth == 0 && number.may_end() => {
                self.state = State::After;
                Ok(())
            }
            _ if self.is_complete() => Ok(()),
            _ => Err(self.fail(ScanFaultKind::Incomplete)),
        }
    }

    fn fail(&mut self, kind: ScanFaultKind) -> ScanFault {
        let offset = self.offset;
        let fault = ScanFault { offset, kind };
        self.state = State::Failed(fault);
        fault
    }

    /// A byte that is neither blank nor inside of a string, number or literal.
    fn between(&mut self, byte: u8) -> Result<ByteKind, ScanFaultKind> {
        match (self.state, byte) {
            (State::FirstItem, b']') => Ok(self.close(ByteKind::ArrayEnd)),
            (State::FirstKey, b'}') => Ok(self.close(ByteKind::ObjectEnd)),
            (State::Value | State::FirstItem, _) => self.value(byte),
            (State::FirstKey | State::Key, b'"') => {
                self.state = State::String {
                    is_key: true,
                    text: Text::Plain,
                };
                Ok(ByteKind::Key(StringPart::Open))
            }
            (State::FirstKey | State::Key, _) => Err(ScanFaultKind::NotAKey),
            (State::Colon, b':') => {
                self.state = State::Value;
                Ok(ByteKind::Colon)
            }
            (State::Colon, _) => Err(ScanFaultKind::NotAColon),
            _ => self.after(byte),
        }
    }

    fn value(&mut self, byte: u8) -> Result<ByteKind, ScanFaultKind> {
        let (state, step) = match byte {
            b'{' => return self.open(true),
            b'[' => return self.open(false),
            b'"' => {
                let text = Text::Plain;
                let is_key = false;
                (
                    State::String { is_key, text },
                    ByteKind::Text(StringPart::Open),
                )
            }
            b'-' => (State::Number(Number::Minus), ByteKind::Number),
            b'0' => (State::Number(Number::Zero), ByteKind::Number),
            b'1'..=b'9' => (State::Number(Number::Integer), ByteKind::Number),
            b't' => (State::Literal { rest: b"rue" }, ByteKind::Literal),
            b'f' => (State::Literal { rest: b"alse" }, ByteKind::Literal),
            b'n' => (State::Literal { rest: b"ull" }, ByteKind::Literal),
            _ => return Err(ScanFaultKind::NotAValue),
        };
        self.state = state;
        Ok(step)
    }

    fn after(&mut self, byte: u8) -> Result<ByteKind, ScanFaultKind> {
        if self.depth == 0 {
            return Err(ScanFaultKind::TrailingData);
        }
        let in_object = self.objects & 1 == 1;
        match byte {
            b',' if in_object => {
                self.state = State::Key;
                Ok(ByteKind::Comma)
            }
            b',' => {
                self.state = State::Value;
                Ok(ByteKind::Comma)
            }
            b'}' if in_object => Ok(self.close(ByteKind::ObjectEnd)),
            b']' if !in_object => Ok(self.close(ByteKind::ArrayEnd)),
            _ => Err(ScanFaultKind::NotACommaOrEnd),
        }
    }

    fn open(&mut self, is_object: bool) -> Result<ByteKind, ScanFaultKind> {
        if self.depth == MAX_DEPTH {
            return Err(ScanFaultKind::TooDeep);
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(is_object);
        let (state, step) = if is_object {
            (State::FirstKey, ByteKind::ObjectStart)
        } else {
            (State::FirstItem, ByteKind::ArrayStart)
        };
        self.state = state;
        Ok(step)
    }

    fn close(&mut self, step: ByteKind) -> ByteKind {
        self.depth -= 1;
        self.objects >>= 1;
        self.state = State::After;
        step
    }

    fn string(&mut self, is_key: bool, text: Text, byte: u8) -> Result<ByteKind, ScanFaultKind> {
        let part = match text.push(byte)? {
            TextStep::More(text) => {
                self.state = State::String { is_key, text };
                StringPart::Body
            }
            TextStep::End => {
                self.state = if is_key { State::Colon } else { State::After };
                StringPart::Close
            }
        };
        Ok(if is_key {
            ByteKind::Key(part)
        } else {
            ByteKind::Text(part)
        })
    }

    fn literal(&mut self, rest: &'static [u8], byte: u8) -> Result<ByteKind, ScanFaultKind> {
        match rest.split_first() {
            Some((expected, rest)) if *expected == byte => {
                self.state = if rest.is_empty() {
                    State::After
                } else {
                    State::Literal { rest }
                };
                Ok(ByteKind::Literal)
            }
            _ => Err(ScanFaultKind::BadLiteral),
        }
    }

    fn number(&mut self, number: Number, byte: u8) -> Result<ByteKind, ScanFaultKind> {
        if let Some(next) = number.push(byte) {
            self.state = State::Number(next);
            return Ok(ByteKind::Number);
        }
        if !number.may_end() {
            return Err(ScanFaultKind::BadNumber);
        }
        // The byte behind a number says that it ended, and is itself something else.
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                self.state = State::After;
                Ok(ByteKind::Whitespace)
            }
            _ => self.after(byte),
        }
    }
}

impl Number {
    /// The number with one more byte, if it can have this one.
    const fn push(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Some(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => Some(Self::Dot),
            (Self::Dot | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::Sign),
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            _ => None,
        }
    }

    const fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::Exponent
        )
    }
}
