//! The bytes that an HTTP/1.1 client sends in, the first one that makes two readers disagree out: where a request ends
//! must be beyond doubt, or one that is hidden in another's body passes whoever stands in front.
//!
//! hyper reads the requests, and takes more than it must: lines that end in a bare LF, blanks behind the size of a chunk,
//! a length beside a transfer encoding. This follows the same bytes beside it, and knows no more than where heads,
//! bodies and chunks begin and end. What is wrong in another way is hyper's to refuse, or refused here first.

use memchr::{memchr, memchr2};

const LENGTH: &[u8] = b"content-length";
const CODING: &[u8] = b"transfer-encoding";

/// Where in some bytes a request stops being right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// In its head.
    Head(usize),
    /// In what stands around its chunks.
    Body(usize),
}

/// How far one connection's requests have come.
#[derive(Debug, Clone, Default)]
pub struct RequestFraming {
    state: State,
    /// Of the head that is being read.
    body: Body,
}

/// What a head says of its body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Body {
    #[default]
    Unsaid,
    Length(u64),
    Chunks,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before a request line. Empty lines are skipped.
    #[default]
    Between,
    /// Behind the CR of one of those.
    BetweenLf,
    /// In a request line, or in a header's value that says nothing of the body.
    Text {
        is_cr: bool,
    },
    /// At the beginning of a header's line.
    Line,
    /// Behind the CR of the empty line that ends a head.
    HeadLf,
    Name(Name),
    /// In a `Content-Length`.
    Length(Number),
    /// Behind the CR that ends it.
    LengthLf(u64),
    /// In a body, or in a chunk.
    Data {
        left: u64,
        is_chunk: bool,
    },
    ChunkCr,
    ChunkLf,
    /// In a chunk's size, whose digits so far say this.
    Size(Option<u64>),
    Extension(u64),
    SizeLf(u64),
    /// At the beginning of a trailer's line.
    Trailer,
    TrailerText,
    TrailerLf,
    /// Behind the CR of the empty line that ends a chunked body.
    ChunksLf,
    /// A fault was found: nothing is read any more.
    Over,
}

/// A header's name as far as it was read, and of which it may be the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Name {
    length: usize,
    may_be_length: bool,
    may_be_coding: bool,
}

/// A header's value that is to be a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Blank,
    Digits(u64),
    Ended(u64),
}

/// A byte that is not taken.
struct Wrong;

impl RequestFraming {
    /// At the beginning of a connection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a request has begun to come and its body has not come to its end.
    #[must_use]
    pub const fn is_within_body(&self) -> bool {
        matches!(
            self.state,
            State::Data { .. }
                | State::ChunkCr
                | State::ChunkLf
                | State::Size(_)
                | State::Extension(_)
                | State::SizeLf(_)
                | State::Trailer
                | State::TrailerText
                | State::TrailerLf
                | State::ChunksLf
        )
    }

    /// Reads what came next; where in it the first fault shows. After that nothing is judged any more: the connection
    /// is to be closed.
    pub fn judge(&mut self, bytes: &[u8]) -> Option<Fault> {
        let mut rest = bytes;
        while let [first, ..] = rest {
            let (read, taken) = match self.skip(rest) {
                0 => (1, self.byte(*first)),
                skipped => (skipped, Ok(())),
            };
            if let Err(Wrong) = taken {
                let at = bytes.len() - rest.len();
                let state = std::mem::replace(&mut self.state, State::Over);
                return Some(state.fault(at));
            }
            rest = rest.get(read..).unwrap_or_default();
        }
        None
    }

    /// How many bytes from here on need no look at each: none, or all up to one that does.
    fn skip(&mut self, rest: &[u8]) -> usize {
        let all = rest.len();
        match &mut self.state {
            State::Over => all,
            State::Text { is_cr } => {
                let line = memchr(b'\n', rest).unwrap_or(all);
                if let Some(last) = rest.get(..line).and_then(<[u8]>::last) {
                    *is_cr = *last == b'\r';
                }
                line
            }
            State::TrailerText => memchr2(b'\r', b'\n', rest).unwrap_or(all),
            State::Data { left, is_chunk } => {
                let count = usize::try_from(*left).unwrap_or(all).min(all);
                *left -= count as u64;
                if *left == 0 {
                    self.state = if *is_chunk {
                        State::ChunkCr
                    } else {
                        State::Between
                    };
                }
                count
            }
            _ => 0,
        }
    }

    fn byte(&mut self, byte: u8) -> Result<(), Wrong> {
        self.state = match (self.state, byte) {
            (State::Between, b'\r') => State::BetweenLf,
            (State::BetweenLf, b'\n') => State::Between,
            (State::Between, b'\n') | (State::BetweenLf, _) => return Err(Wrong),
            (State::Between, _) => {
                self.body = Body::Unsaid;
                State::Text { is_cr: false }
            }
            // Of text, ends of lines alone are looked at.
            (State::Text { is_cr: true }, _) => State::Line,
            (State::Line, b'\r') => State::HeadLf,
            (State::Line | State::Name(_), b'\n') => return Err(Wrong),
            (State::Line, _) => State::Name(Name::BEGIN.and(byte)),
            (State::Name(name), b':') => self.value(name)?,
            (State::Name(name), _) => State::Name(name.and(byte)),
            (State::Length(number), b'\r') => State::LengthLf(number.whole()?),
            (State::Length(number), _) => State::Length(number.and(byte)?),
            (State::LengthLf(length), b'\n') => self.length(length)?,
            (State::HeadLf, b'\n') => match self.body {
                Body::Unsaid | Body::Length(0) => State::Between,
                Body::Length(left) => State::Data {
                    left,
                    is_chunk: false,
                },
                Body::Chunks => State::Size(None),
            },
            (State::Size(Some(size)), b';') => State::Extension(size),
            (State::Size(Some(size)) | State::Extension(size), b'\r') => State::SizeLf(size),
            (State::Size(size), _) => State::Size(Some(size_and(size, byte)?)),
            (State::Extension(_), b'\n') => return Err(Wrong),
            (State::Extension(_), _) => self.state,
            (State::SizeLf(0), b'\n') => State::Trailer,
            (State::SizeLf(left), b'\n') => State::Data {
                left,
                is_chunk: true,
            },
            (State::ChunkCr, b'\r') => State::ChunkLf,
            (State::ChunkLf, b'\n') => State::Size(None),
            (State::Trailer, b'\r') => State::ChunksLf,
            (State::TrailerText, b'\r') => State::TrailerLf,
            (State::TrailerLf, b'\n') => State::Trailer,
            (State::Trailer | State::TrailerText, b'\n') => return Err(Wrong),
            (State::Trailer | State::TrailerText, _) => State::TrailerText,
            (State::ChunksLf, b'\n') => State::Between,
            // Elsewhere one certain byte must follow.
            _ => return Err(Wrong),
        };
        Ok(())
    }

    /// At the colon behind a header's name.
    fn value(&mut self, name: Name) -> Result<State, Wrong> {
        if name.is(LENGTH, name.may_be_length) {
            // Which of the two counts is what readers disagree about.
            return match self.body {
                Body::Chunks => Err(Wrong),
                _ => Ok(State::Length(Number::Blank)),
            };
        }
        if name.is(CODING, name.may_be_coding) {
            if matches!(self.body, Body::Length(_)) {
                return Err(Wrong);
            }
            // A coding that does not end in chunks is refused.
            self.body = Body::Chunks;
        }
        Ok(State::Text { is_cr: false })
    }

    fn length(&mut self, length: u64) -> Result<State, Wrong> {
        if matches!(self.body, Body::Length(before) if before != length) {
            return Err(Wrong);
        }
        self.body = Body::Length(length);
        Ok(State::Line)
    }
}

impl State {
    const fn fault(self, at: usize) -> Fault {
        match self {
            Self::Between
            | Self::BetweenLf
            | Self::Text { .. }
            | Self::Line
            | Self::HeadLf
            | Self::Name(_)
            | Self::Length(_)
            | Self::LengthLf(_) => Fault::Head(at),
            _ => Fault::Body(at),
        }
    }
}

impl Fault {
    /// In which byte.
    #[must_use]
    pub const fn at(self) -> usize {
        let (Self::Head(at) | Self::Body(at)) = self;
        at
    }
}

impl Name {
    const BEGIN: Self = Self {
        length: 0,
        may_be_length: true,
        may_be_coding: true,
    };

    fn and(self, byte: u8) -> Self {
        let goes_on = |name: &[u8]| name.get(self.length) == Some(&byte.to_ascii_lowercase());
        Self {
            length: self.length.saturating_add(1),
            may_be_length: self.may_be_length && goes_on(LENGTH),
            may_be_coding: self.may_be_coding && goes_on(CODING),
        }
    }

    const fn is(self, name: &[u8], may_be: bool) -> bool {
        may_be && self.length == name.len()
    }
}

impl Number {
    fn and(self, byte: u8) -> Result<Self, Wrong> {
        match (self, byte) {
            (Self::Blank, b' ' | b'\t') => Ok(Self::Blank),
            (Self::Digits(value) | Self::Ended(value), b' ' | b'\t') => Ok(Self::Ended(value)),
            (Self::Blank, b'0'..=b'9') => Ok(Self::Digits(u64::from(byte - b'0'))),
            (Self::Digits(value), b'0'..=b'9') => {
                let value = value.checked_mul(10);
                let value = value.and_then(|value| value.checked_add(u64::from(byte - b'0')));
                value.map(Self::Digits).ok_or(Wrong)
            }
            _ => Err(Wrong),
        }
    }

    fn whole(self) -> Result<u64, Wrong> {
        match self {
            Self::Blank => Err(Wrong),
            Self::Digits(value) | Self::Ended(value) => Ok(value),
        }
    }
}

/// A chunk's size with one more digit.
fn size_and(size: Option<u64>, byte: u8) -> Result<u64, Wrong> {
    let digit = char::from(byte).to_digit(16).ok_or(Wrong)?;
    let size = size.unwrap_or(0).checked_mul(16).ok_or(Wrong)?;
    Ok(size | u64::from(digit))
}

#[cfg(test)]
mod tests;
