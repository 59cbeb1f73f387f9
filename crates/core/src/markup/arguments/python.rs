//! `key=value, …)` in Python's literals, which become JSON. Nothing is evaluated.

use super::{MAX_VALUE_BYTES, Took};
use crate::ir::CallKind;
use crate::markup::input::Members;
use crate::markup::pattern::{Match, blanks};
use crate::markup::typed::python_json;
use crate::markup::{Piece, Tools};

/// The longest name of a parameter.
const MAX_KEY_BYTES: usize = 1 << 10;

#[derive(Debug)]
pub(in crate::markup) struct Python {
    members: Members,
    scan: Scan,
}

/// How far an open value was looked through for its end.
#[derive(Debug, Default)]
struct Scan {
    at: usize,
    quote: Option<Quote>,
    depth: usize,
}

#[derive(Debug, Clone, Copy)]
struct Quote {
    byte: u8,
    is_triple: bool,
}

impl Python {
    pub(super) fn new(_: &str, kind: CallKind) -> Self {
        Self {
            members: Members::new(kind),
            scan: Scan::default(),
        }
    }

    pub(super) fn push(&mut self, text: &str, _: &Tools, out: &mut Vec<Piece>) -> Took {
        let mut at = 0;
        loop {
            let rest = &text[at..];
            let Some(space) = blanks(rest) else {
                return Took::broken(at, "too many blanks stand between arguments");
            };
            if rest[space..].starts_with(')') {
                self.members.end(out);
                return Took::done(at + space + 1);
            }
            let value = match key(&rest[space..]) {
                Match::Yes((key, bytes)) => (key, space + bytes),
                Match::More => return Took::more(at),
                Match::No => return Took::broken(at, "no argument with a name"),
            };
            let (key, begin) = value;
            let Some(end) = self.scan.end(&rest[begin..]) else {
                return match rest.len() > MAX_VALUE_BYTES {
                    true => Took::broken(at, "an argument is too long"),
                    false => Took::more(at),
                };
            };
            let Some(json) = python_json(&rest[begin..begin + end]) else {
                return Took::broken(at, "an argument is no literal");
            };
            if let Err(why) = self.members.member(key, &json, out) {
                return Took::broken(at, why);
            }
            self.scan = Scan::default();
            at += begin + end;
            at += usize::from(text[at..].starts_with(','));
        }
    }
}

/// Whether arguments begin here.
pub(super) fn begin(text: &str, whole: bool) -> Match<()> {
    if text.starts_with(')') {
        return Match::Yes(());
    }
    match key(text) {
        Match::Yes(_) => Match::Yes(()),
        Match::More if !whole => Match::More,
        Match::More | Match::No => Match::No,
    }
}

/// An argument's name, and where its value begins.
fn key(text: &str) -> Match<(&str, usize)> {
    let is_end = |c: char| c.is_whitespace() || "=()[]{},'\"".contains(c);
    let end = text.find(is_end).unwrap_or(text.len());
    if end > MAX_KEY_BYTES || end == 0 && !text.is_empty() {
        return Match::No;
    }
    let Some(space) = blanks(&text[end..]) else {
        return Match::No;
    };
    let mut rest = text[end + space..].chars();
    match (rest.next(), rest.next()) {
        (None, _) | (Some('='), None) => Match::More,
        (Some('='), Some('=')) => Match::No,
        (Some('='), Some(_)) => Match::Yes((&text[..end], end + space + 1)),
        _ => Match::No,
    }
}

impl Scan {
    /// Where the value ends with which the text begins: at a comma or bracket of nothing in it.
    fn end(&mut self, text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match (self.quote, byte) {
                (Some(_), b'\\') => {
                    // The escaped byte may be yet to come.
                    bytes.get(self.at + 1)?;
                    self.at += 2;
                }
                (Some(quote), _) if byte == quote.byte => {
                    let end = if quote.is_triple { 3 } else { 1 };
                    let tail = &bytes[self.at..bytes.len().min(self.at + end)];
                    if tail.iter().all(|other| *other == byte) {
                        if tail.len() < end {
                            return None;
                        }
                        self.quote = None;
                        self.at += end;
                    } else {
                        self.at += 1;
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, b'\'' | b'"') => {
                    let tail = &bytes[self.at..bytes.len().min(self.at + 3)];
                    let is_same = tail.iter().all(|other| *other == byte);
                    if is_same && tail.len() < 3 {
                        return None;
                    }
                    self.quote = Some(Quote {
                        byte,
                        is_triple: is_same,
                    });
                    self.at += if is_same { 3 } else { 1 };
                }
                (None, b'(' | b'[' | b'{') => {
                    self.depth += 1;
                    self.at += 1;
                }
                (None, b',' | b')' | b']' | b'}') if self.depth == 0 => return Some(self.at),
                (None, b')' | b']' | b'}') => {
                    self.depth -= 1;
                    self.at += 1;
                }
                (None, _) => self.at += 1,
            }
        }
        None
    }
}
