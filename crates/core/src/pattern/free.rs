//! Regexes that stand in no schema: one as a client wrote it comes in; the same texts in words that every reader of regexes takes
//! alike go out.
//!
//! They are Python's, in whose words servers document theirs. To Rust's `regex` a class holds classes and their differences
//! (`[a-z&&[^b]]`, `[a-z--b]`), to ECMA-262 and xgrammar `]` ends it wherever it stands: all of these are but characters to
//! Python. The texts of custom tools are OpenAI's, whose regexes are Rust's.

use super::written::written;
use super::{irregular, misrepeats, parse};
use std::borrow::Cow;

/// A regex that has no words that all readers take alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FreeFault {
    /// `[[:alpha:]]`: to some a class, to Python some of the letters of its name, and then a `]`.
    #[error(
        "has a class by its POSIX name (`[[:alpha:]]`), which some servers read as these letters and a `]`: write its characters \
         (`[A-Za-z]`)"
    )]
    Named,
    /// `(?x)`: which blanks say nothing, and what begins a comment, readers differ in within classes.
    #[error(
        "has the flag `x` beside a class or a brace, which readers take differently there: write it without that flag, blanks and comments"
    )]
    Verbose,
    /// Sets of sets for which there is no short class.
    #[error(
        "has operations on classes that have no short form in other words: write the characters that are meant"
    )]
    Sets,
}

/// A regex of Python's in words that all readers take alike; the same bytes, where they do so already or it cannot be read.
///
/// # Errors
/// Where others mean something else by it that was hardly meant by Python's reading.
pub fn settled(regex: &str) -> Result<Cow<'_, str>, FreeFault> {
    if !regex.contains(['[', '{', '\\']) {
        return Ok(Cow::Borrowed(regex));
    }
    let mut reader = Reader {
        rest: regex,
        out: String::with_capacity(regex.len() + 16),
        differs: false,
        is_verbose: false,
    };
    let is_read = reader.read();
    if reader.is_verbose {
        return match regex.contains(['[', '{']) {
            true => Err(FreeFault::Verbose),
            false => Ok(Cow::Borrowed(regex)),
        };
    }
    Ok(match is_read? && reader.differs {
        true => Cow::Owned(reader.out),
        false => Cow::Borrowed(regex),
    })
}

/// The same of a regex of Rust's, which is read as Python's where it is none of Rust's.
///
/// # Errors
/// There are no other words for it.
pub fn settled_of_rust(regex: &str) -> Result<Cow<'_, str>, FreeFault> {
    let settled = settled(regex);
    if matches!(settled, Ok(Cow::Borrowed(_))) || irregular(regex).is_some() {
        return settled;
    }
    let Ok(hir) = parse(regex) else {
        return settled;
    };
    match settled {
        Ok(settled) if parse(&settled).is_ok_and(|same| same == hir) => Ok(settled),
        // Which is refused as it stands, and might not be in other words.
        _ if misrepeats(regex).is_some() => Ok(Cow::Borrowed(regex)),
        _ => written(&hir).map(Cow::Owned).ok_or(FreeFault::Sets),
    }
}

/// Whether what stands behind `(` begins a group of flags by which blanks say nothing, and `#` begins a comment.
fn is_verbose(group: &str) -> bool {
    let is_flag = |c: char| c.is_ascii_alphabetic() || c == '-';
    let Some(flags) = group.strip_prefix('?') else {
        return false;
    };
    let end = flags.find(|c| !is_flag(c)).unwrap_or(flags.len());
    let on = flags[..end].split('-').next().unwrap_or_default();
    flags[end..].starts_with([':', ')']) && on.contains('x')
}

/// The names that Rust's regexes know between `[:` and `:]`.
const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

fn begins_with_name(rest: &str) -> bool {
    let name = rest.strip_prefix(':').and_then(|rest| {
        let rest = rest.strip_prefix('^').unwrap_or(rest);
        rest.split_once(":]")
    });
    name.is_some_and(|(name, _)| NAMES.contains(&name))
}

struct Reader<'r> {
    rest: &'r str,
    out: String,
    /// Whether something is written otherwise that not all read alike.
    differs: bool,
    /// Whether blanks say nothing somewhere.
    is_verbose: bool,
}

/// What stands in a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece<'r> {
    Char(char),
    Escape(&'r str),
    /// The `-` of a range.
    To,
}

impl Piece<'_> {
    /// The sign that it is in the text.
    const fn sign(self) -> Option<char> {
        match self {
            Self::Char(c) => Some(c),
            Self::To => Some('-'),
            Self::Escape(_) => None,
        }
    }
}

impl<'r> Reader<'r> {
    /// Reads to the end; whether it could.
    fn read(&mut self) -> Result<bool, FreeFault> {
        loop {
            if self.rest.starts_with('\\') {
                match self.escape() {
                    // Where a word begins and ends, to Rust.
                    escape @ (r"\<" | r"\>") => self.replace(&escape[1..]),
                    r"\Z" => self.replace("$"),
                    escape => self.out.push_str(escape),
                }
                continue;
            }
            let Some(c) = self.next() else {
                return Ok(true);
            };
            match c {
                '[' => {
                    if !self.class()? {
                        return Ok(false);
                    }
                }
                '{' => self.bounds(),
                '(' => {
                    self.is_verbose |= is_verbose(self.rest);
                    self.out.push(c);
                }
                // They stand for themselves: some want it said.
                ']' | '}' => self.out.extend(['\\', c]),
                _ => self.out.push(c),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn replace(&mut self, by: &str) {
        self.out.push_str(by);
        self.differs = true;
    }

    /// What a backslash begins, with it.
    fn escape(&mut self) -> &'r str {
        let after = self.rest.get(1..).unwrap_or_default();
        let is_braced =
            after.starts_with(['p', 'P', 'x', 'u', 'U', 'N']) && after[1..].starts_with('{');
        let length = match (is_braced, after.find('}')) {
            (true, Some(end)) => end + 1,
            _ => after.chars().next().map_or(0, char::len_utf8),
        };
        let (escape, rest) = self.rest.split_at(1 + length);
        self.rest = rest;
        escape
    }

    /// What a brace that is read begins: bounds, or nothing.
    fn bounds(&mut self) {
        let bounds = self.rest.split_once('}').map(|(bounds, _)| bounds);
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = bounds.map(|bounds| bounds.split_once(',').unwrap_or((bounds, bounds)));
        match (bounds, parts) {
            (Some(bounds), Some((least, most)))
                if !bounds.is_empty() && is_number(least) && is_number(most) =>
            {
                self.rest = &self.rest[bounds.len() + 1..];
                self.out.push('{');
                if least.is_empty() {
                    self.replace("0");
                }
                self.out.extend([bounds, "}"]);
            }
            _ => self.replace(r"\{"),
        }
    }

    /// A class after its bracket; whether it ends.
    fn class(&mut self) -> Result<bool, FreeFault> {
        let whole = self.rest;
        if self.rest.starts_with('^') {
            self.next();
        }
        let mut pieces = Vec::new();
        loop {
            let Some(piece) = self.piece()? else {
                return Ok(false);
            };
            if piece == Piece::Char(']') && !pieces.is_empty() {
                break;
            }
            pieces.push(piece);
            let mut ahead = self.rest.chars();
            if ahead.next() == Some('-') && !matches!(ahead.next(), Some(']') | None) {
                self.next();
                pieces.push(Piece::To);
                let Some(end) = self.piece()? else {
                    return Ok(false);
                };
                pieces.push(end);
            }
        }
        let is_bracket = |piece: &Piece<'_>| matches!(piece, Piece::Char('[' | ']'));
        let is_word = |pair: &[Piece<'_>]| {
            let (sign, next) = (pair[0].sign(), pair[1].sign());
            sign == next && matches!(sign, Some('&' | '-' | '~'))
        };
        let is_angle = |piece: &Piece<'_>| matches!(piece, Piece::Escape(r"\<" | r"\>"));
        let differs = pieces
            .iter()
            .any(|piece| is_bracket(piece) || is_angle(piece))
            || pieces.windows(2).any(is_word);
        self.out.push('[');
        if !differs {
            self.out.push_str(&whole[..whole.len() - self.rest.len()]);
            return Ok(true);
        }
        self.differs = true;
        if whole.starts_with('^') {
            self.out.push('^');
        }
        for piece in pieces {
            match piece {
                // In numbers, which no reader takes otherwise.
                Piece::Char(c @ ('[' | ']' | '&' | '~' | '-')) => {
                    self.out.push_str(&format!("\\x{:02x}", u32::from(c)));
                }
                Piece::Char(c) => self.out.push(c),
                Piece::Escape(escape) if is_angle(&piece) => self.out.push_str(&escape[1..]),
                Piece::Escape(escape) => self.out.push_str(escape),
                Piece::To => self.out.push('-'),
            }
        }
        self.out.push(']');
        Ok(true)
    }

    /// The next of a class, of which a `]` may be the end.
    fn piece(&mut self) -> Result<Option<Piece<'r>>, FreeFault> {
        if self.rest.starts_with('\\') {
            return Ok(Some(Piece::Escape(self.escape())));
        }
        Ok(match self.next() {
            Some('[') if begins_with_name(self.rest) => return Err(FreeFault::Named),
            other => other.map(Piece::Char),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
