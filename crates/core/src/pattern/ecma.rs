//! The patterns of JSON Schema, which are ECMA-262's: one comes in; the same in the syntax of the
//! regex crate goes out, or what is wrong with it.
//!
//! They are read as with the `u` flag, character by character. What only a reader without the flag
//! takes (Annex B) is taken too where it can mean but one thing: escaped punctuation, and brackets
//! that stand for themselves, and so are `(?i)` at the very beginning and `(?P<name>…)`, which Python's and Rust's
//! libraries write into schemas. An escaped letter that ECMA-262 gives no meaning is refused: `\A` and
//! `\Z` are anchors elsewhere, and the letters themselves there.

mod class;

use class::Class;
use std::iter::Peekable;
use std::str::Chars;

/// How deep groups may nest. The readers of what goes out recurse over them.
const MAX_NESTING: usize = 100;

/// Why a pattern cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EcmaFault {
    /// A quantifier after a quantifier, as in `a**` or `a+*`.
    #[error("repeats a repetition (as `a**` does); put the inner one into a group")]
    RepeatedQuantifier,
    /// A quantifier where nothing stands before it.
    #[error("repeats nothing (a `*`, `+`, `?` or `{{n}}` without an atom before it)")]
    NothingToRepeat,
    /// A quantifier after `^`, `$`, `\b` or `\B`.
    #[error("repeats an anchor")]
    RepeatedAnchor,
    /// `{2,1}`.
    #[error("has a repetition whose bounds are out of order or too large")]
    Bounds,
    /// A group that does not end, or ends without having begun.
    #[error("has a parenthesis without its other half")]
    Parenthesis,
    /// `(?` and something that ECMA-262 does not know.
    #[error(
        "has a group that ECMA-262 does not know: write `(?:…)`, `(?i:…)` or `(?<name>…)` in the \
         place of other words after `(?`"
    )]
    Group,
    /// Two groups of one name.
    #[error("has two groups of one name")]
    GroupName,
    /// A class that does not end.
    #[error("has a `[` without its `]`")]
    Class,
    /// `[z-a]`.
    #[error("has a range in a class whose ends are out of order")]
    Range,
    /// A backslash before something that has no meaning with it.
    #[error("has an escape that ECMA-262 does not know (`\\A` and `\\Z` are `^` and `$` there)")]
    Escape,
    /// `\p{…}` of something that is not known.
    #[error("has a `\\p{{…}}` whose property is not known")]
    Property,
    /// Look-around or a back-reference.
    #[error("needs backtracking")]
    Irregular,
    /// Groups in groups in groups.
    #[error("nests its groups too deep")]
    Nesting,
}

/// The pattern in the syntax of the regex crate, with all its classes spelled out.
///
/// # Errors
/// It is no pattern of ECMA-262, or not a regular one.
pub fn translate(pattern: &str) -> Result<String, EcmaFault> {
    Reader::read(pattern, true, false)
}

/// [`translate`] for a reader that backtracks: with look-ahead and look-behind. Word boundaries are Unicode's there.
///
/// # Errors
/// It is no pattern of ECMA-262, or has back-references.
pub(crate) fn translate_looking(pattern: &str) -> Result<String, EcmaFault> {
    Reader::read(pattern, false, true)
}

/// [`translate`] for a reader that checks that patterns are ECMA-262's before it takes them for the
/// regex crate's: there, word boundaries are Unicode's.
pub(crate) fn translate_for_both(pattern: &str) -> Result<String, EcmaFault> {
    Reader::read(pattern, false, false)
}

struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    ascii_boundaries: bool,
    /// Whether look-around is kept.
    may_look: bool,
    /// Whether `.` takes line ends, here and in the groups around.
    dot_all: Vec<bool>,
    names: Vec<String>,
}

/// What stands before the place where a quantifier may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Atom,
    Assertion,
    Quantifier,
}

impl<'p> Reader<'p> {
    fn read(pattern: &'p str, ascii_boundaries: bool, may_look: bool) -> Result<String, EcmaFault> {
        let mut reader = Self {
            rest: pattern.chars().peekable(),
            out: String::with_capacity(pattern.len() + 16),
            ascii_boundaries,
            may_look,
            dot_all: vec![false],
            names: Vec::new(),
        };
        let is_flagged = reader.leading_flags()?;
        let mut before = Before::Nothing;
        while let Some(c) = reader.rest.next() {
            before = reader.step(c, before)?;
        }
        if reader.dot_all.len() > 1 {
            return Err(EcmaFault::Parenthesis);
        }
        if is_flagged {
            reader.out.push(')');
        }
        Ok(reader.out)
    }

    /// `(?i)` at the very beginning, as Python's and Rust's patterns say it of the whole: ECMA-262 has no other meaning for it.
    fn leading_flags(&mut self) -> Result<bool, EcmaFault> {
        let mut ahead = self.rest.clone();
        let is_flagged = ahead.next() == Some('(')
            && ahead.next() == Some('?')
            && ahead.next_if(char::is_ascii_lowercase).is_some()
            && ahead.find(|c| !c.is_ascii_lowercase()) == Some(')');
        if is_flagged {
            self.rest.nth(1);
            self.dot_all = vec![self.flags(false, ')')?];
        }
        Ok(is_flagged)
    }

    fn step(&mut self, c: char, before: Before) -> Result<Before, EcmaFault> {
        match c {
            '|' => self.out.push('|'),
            '(' => self.open()?,
            ')' => {
                if self.dot_all.len() == 1 {
                    return Err(EcmaFault::Parenthesis);
                }
                self.dot_all.pop();
                self.out.push(')');
                return Ok(Before::Atom);
            }
            '^' | '$' => {
                self.out.push(c);
                return Ok(Before::Assertion);
            }
            '*' | '+' | '?' => return self.quantify(&c.to_string(), before),
            '{' => match self.bounds()? {
                Some(quantifier) => return self.quantify(&quantifier, before),
                None => return Ok(self.atom(Class::of(c))),
            },
            '.' => {
                let dot_all = self.dot_all.last() == Some(&true);
                let class = if dot_all { Class::all() } else { Class::dot() };
                return Ok(self.atom(class));
            }
            '[' => {
                let class = self.class()?;
                return Ok(self.atom(class));
            }
            '\\' => return self.escape(),
            _ => return Ok(self.atom(Class::of(c))),
        }
        Ok(Before::Nothing)
    }

    fn atom(&mut self, class: Class) -> Before {
        class.write(&mut self.out);
        Before::Atom
    }

    /// A quantifier; whether it is lazy decides nothing of whether a text matches.
    fn quantify(&mut self, quantifier: &str, before: Before) -> Result<Before, EcmaFault> {
        match before {
            Before::Nothing => return Err(EcmaFault::NothingToRepeat),
            Before::Assertion => return Err(EcmaFault::RepeatedAnchor),
            Before::Quantifier => return Err(EcmaFault::RepeatedQuantifier),
            Before::Atom => {}
        }
        self.out.push_str(quantifier);
        self.rest.next_if_eq(&'?');
        Ok(Before::Quantifier)
    }

    /// `{n}`, `{n,}` or `{n,m}` after its brace; `None` where the brace is only a brace.
    fn bounds(&mut self) -> Result<Option<String>, EcmaFault> {
        let mut ahead = self.rest.clone();
        let least = digits(&mut ahead);
        let has_comma = ahead.next_if_eq(&',').is_some();
        let most = if has_comma {
            digits(&mut ahead)
        } else {
            String::new()
        };
        if least.is_empty() || ahead.next() != Some('}') {
            return Ok(None);
        }
        self.rest = ahead;
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| EcmaFault::Bounds);
        let from = number(&least)?;
        match (has_comma, most.is_empty()) {
            (false, _) => Ok(Some(format!("{{{from}}}"))),
            (true, true) => Ok(Some(format!("{{{from},}}"))),
            (true, false) => {
                let to = number(&most)?;
                let bounds = (from <= to).then(|| format!("{{{from},{to}}}"));
                bounds.map(Some).ok_or(EcmaFault::Bounds)
            }
        }
    }

    fn open(&mut self) -> Result<(), EcmaFault> {
        if self.dot_all.len() > MAX_NESTING {
            return Err(EcmaFault::Nesting);
        }
        let mut dot_all = self.dot_all.last() == Some(&true);
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.push_str("(?:");
        } else {
            match self.rest.peek() {
                Some('=' | '!') => self.look("(?")?,
                Some('<') => {
                    self.rest.next();
                    match self.rest.peek() {
                        Some('=' | '!') => self.look("(?<")?,
                        _ => {
                            self.name()?;
                            self.out.push_str("(?:");
                        }
                    }
                }
                // As Python's and Rust's patterns name groups.
                Some('P') => {
                    self.rest.next();
                    self.rest.next_if_eq(&'<').ok_or(EcmaFault::Group)?;
                    self.name()?;
                    self.out.push_str("(?:");
                }
                _ => dot_all = self.flags(dot_all, ':')?,
            }
        }
        self.dot_all.push(dot_all);
        Ok(())
    }

    /// Look-around, of which this is the beginning.
    fn look(&mut self, open: &str) -> Result<(), EcmaFault> {
        if !self.may_look {
            return Err(EcmaFault::Irregular);
        }
        self.out.push_str(open);
        self.out.extend(self.rest.next());
        Ok(())
    }

    fn name(&mut self) -> Result<(), EcmaFault> {
        let mut name = String::new();
        loop {
            match self.rest.next() {
                Some('>') if !name.is_empty() => break,
                Some(c) if c == '_' || c == '$' || c.is_alphabetic() => name.push(c),
                Some(c) if !name.is_empty() && c.is_alphanumeric() => name.push(c),
                _ => return Err(EcmaFault::Group),
            }
        }
        if self.names.contains(&name) {
            return Err(EcmaFault::GroupName);
        }
        self.names.push(name);
        Ok(())
    }

    /// `(?ims-ims:`, of which `s` is ours: no `.` goes out. Its last sign is what is told.
    fn flags(&mut self, mut dot_all: bool, end: char) -> Result<bool, EcmaFault> {
        let (mut seen, mut minus, mut kept) = (String::new(), false, String::new());
        loop {
            match self.rest.next() {
                Some(c) if c == end => break,
                Some('-') if !minus => {
                    minus = true;
                    kept.push('-');
                }
                Some(flag @ ('i' | 'm' | 's')) if !seen.contains(flag) => {
                    seen.push(flag);
                    if flag == 's' {
                        dot_all = !minus;
                    } else {
                        kept.push(flag);
                    }
                }
                _ => return Err(EcmaFault::Group),
            }
        }
        if minus && seen.is_empty() {
            return Err(EcmaFault::Group);
        }
        let flags = kept.trim_end_matches('-');
        self.out.push_str(&format!("(?{flags}:"));
        Ok(dot_all)
    }

    /// An escape outside of classes.
    fn escape(&mut self) -> Result<Before, EcmaFault> {
        match self.rest.peek() {
            Some(&boundary @ ('b' | 'B')) => {
                self.rest.next();
                self.out.push_str(&match self.ascii_boundaries {
                    true => format!(r"(?-u:\{boundary})"),
                    false => format!(r"\{boundary}"),
                });
                Ok(Before::Assertion)
            }
            Some('1'..='9' | 'k') => Err(EcmaFault::Irregular),
            _ => {
                let class = self.escaped(false)?;
                Ok(self.atom(class))
            }
        }
    }

    /// What a backslash and what follows it stand for.
    fn escaped(&mut self, in_class: bool) -> Result<Class, EcmaFault> {
        let c = self.rest.next().ok_or(EcmaFault::Escape)?;
        let control = |code: u8| Ok(Class::of(char::from(code)));
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Ok(Class::perl(c)),
            'b' if in_class => control(8),
            't' => control(9),
            'n' => control(10),
            'v' => control(11),
            'f' => control(12),
            'r' => control(13),
            '0' if !matches!(self.rest.peek(), Some('0'..='9')) => control(0),
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => control(letter as u8 % 32),
                _ => Err(EcmaFault::Escape),
            },
            'x' => self.hex(2).map(Class::of_code),
            'u' => self.unicode(),
            'p' | 'P' => self.property(c == 'P'),
            c if c.is_alphanumeric() => Err(EcmaFault::Escape),
            c => Ok(Class::of(c)),
        }
    }

    fn hex(&mut self, count: usize) -> Result<u32, EcmaFault> {
        (0..count).try_fold(0, |code, _| {
            let digit = self.rest.next().and_then(|c| c.to_digit(16));
            Ok(code * 16 + digit.ok_or(EcmaFault::Escape)?)
        })
    }

    /// `\uXXXX`, two of them that are a pair, or `\u{…}`.
    fn unicode(&mut self) -> Result<Class, EcmaFault> {
        if self.rest.next_if_eq(&'{').is_some() {
            let mut code = 0_u32;
            let mut count = 0;
            loop {
                match self.rest.next() {
                    Some('}') if count > 0 && code <= 0x10_FFFF => return Ok(Class::of_code(code)),
                    Some(c) => {
                        let digit = c.to_digit(16).ok_or(EcmaFault::Escape)?;
                        code = code.saturating_mul(16).saturating_add(digit);
                        count += 1;
                    }
                    None => return Err(EcmaFault::Escape),
                }
            }
        }
        let high = self.hex(4)?;
        if (0xD800..0xDC00).contains(&high) {
            let before = self.rest.clone();
            if self.rest.next() == Some('\\')
                && self.rest.next() == Some('u')
                && let Ok(low @ 0xDC00..=0xDFFF) = self.hex(4)
            {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Ok(Class::of_code(code));
            }
            self.rest = before;
        }
        Ok(Class::of_code(high))
    }

    fn property(&mut self, negated: bool) -> Result<Class, EcmaFault> {
        if self.rest.next() != Some('{') {
            return Err(EcmaFault::Escape);
        }
        let mut name = String::new();
        loop {
            match self.rest.next() {
                Some('}') => return Class::property(&name, negated).ok_or(EcmaFault::Property),
                Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '=') => name.push(c),
                _ => return Err(EcmaFault::Property),
            }
        }
    }

    /// A class after its `[`.
    fn class(&mut self) -> Result<Class, EcmaFault> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut class = Class::none();
        loop {
            let first = match self.class_atom()? {
                Some(atom) => atom,
                None => return Ok(if negated { class.negated() } else { class }),
            };
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && !matches!(ahead.peek(), Some(']') | None);
            if !is_range {
                class.add(&first);
                continue;
            }
            self.rest.next();
            let Some(last) = self.class_atom()? else {
                return Err(EcmaFault::Class);
            };
            match (first.single(), last.single()) {
                (Some(from), Some(to)) if from <= to => class.add_range(from, to),
                (Some(_), Some(_)) => return Err(EcmaFault::Range),
                // Annex B: a set has no ends, so the hyphen is only a hyphen.
                _ => [first, Class::of('-'), last]
                    .iter()
                    .for_each(|part| class.add(part)),
            }
        }
    }

    /// One atom of a class; `None` at its end.
    fn class_atom(&mut self) -> Result<Option<Class>, EcmaFault> {
        match self.rest.next() {
            None => Err(EcmaFault::Class),
            Some(']') => Ok(None),
            Some('\\') => self.escaped(true).map(Some),
            Some(c) => Ok(Some(Class::of(c))),
        }
    }
}

fn digits(rest: &mut Peekable<Chars<'_>>) -> String {
    std::iter::from_fn(|| rest.next_if(char::is_ascii_digit)).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
