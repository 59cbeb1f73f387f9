//! A template's tags: source comes in; where tags begin and end, and their tokens, go out, as
//! minijinja reads them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Text,
    Number,
    Mark,
}

/// A token of a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    pub(super) start: usize,
    /// Open brackets before it.
    pub(super) depth: usize,
}

impl Word<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Name | Kind::Mark) && self.text == text
    }

    /// Whether it is a text literal with this value.
    pub(super) fn says(&self, value: &str) -> bool {
        self.kind == Kind::Text && self.text.get(1..self.text.len() - 1) == Some(value)
    }
}

/// One tag.
pub(super) struct Tag<'s> {
    pub(super) words: Vec<Word<'s>>,
    /// How it ends: `%}`, `-%}` or `+%}`.
    pub(super) close: &'s str,
    pub(super) end: usize,
}

/// The next `{{`, `{%` or `{#`.
pub(super) fn opening(source: &str, from: usize) -> Option<(usize, u8)> {
    let bytes = source.as_bytes();
    memchr::memchr_iter(b'{', &bytes[from..])
        .map(|at| from + at)
        .find_map(|at| match bytes.get(at + 1) {
            Some(&mark @ (b'{' | b'%' | b'#')) => Some((at, mark)),
            _ => None,
        })
}

/// The length of a tag of one word, where this is one; as minijinja reads `raw`.
pub(super) fn basic_tag(inner: &str, name: &str) -> Option<usize> {
    let rest = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix(name)?.trim_ascii_start();
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    Some(inner.len() - rest.strip_prefix("%}")?.len())
}

/// Where a raw block ends.
pub(super) fn raw_end(source: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(open) = source[at..].find("{%") {
        at += open + 2;
        if let Some(length) = basic_tag(&source[at..], "endraw") {
            return Some(at + length);
        }
    }
    None
}

/// The tokens of a tag, as minijinja reads them.
pub(super) fn read_tag(source: &str, inner: usize, mark: u8) -> Option<Tag<'_>> {
    let ends: &[&str] = match mark {
        b'%' => &["%}", "-%}", "+%}"],
        _ => &["}}", "-}}", "+}}"],
    };
    let bytes = source.as_bytes();
    let mut at = inner + usize::from(matches!(bytes.get(inner), Some(b'-' | b'+')));
    let mut words = Vec::new();
    let mut depth = 0_usize;
    loop {
        at += source[at..].len() - source[at..].trim_ascii_start().len();
        let rest = &source[at..];
        if depth == 0
            && let Some(end) = ends.iter().find(|end| rest.starts_with(**end))
        {
            return Some(Tag {
                words,
                close: &rest[..end.len()],
                end: at + end.len(),
            });
        }
        let (kind, length) = match *bytes.get(at)? {
            quote @ (b'\'' | b'"') => (Kind::Text, text_length(rest, quote)?),
            b'0'..=b'9' => (Kind::Number, number_length(rest)),
            byte if byte == b'_' || byte.is_ascii_alphabetic() => (Kind::Name, name_length(rest)),
            byte if !byte.is_ascii() => return None,
            _ => {
                let is_double = ["//", "**", "==", "!=", ">=", "<="]
                    .iter()
                    .any(|double| rest.starts_with(double));
                (Kind::Mark, 1 + usize::from(is_double))
            }
        };
        let text = &rest[..length];
        if matches!(text, ")" | "]" | "}") {
            depth = depth.checked_sub(1)?;
        }
        words.push(Word {
            kind,
            text,
            start: at,
            depth,
        });
        if matches!(text, "(" | "[" | "{") {
            depth += 1;
        }
        at += length;
    }
}

fn text_length(rest: &str, quote: u8) -> Option<usize> {
    let mut is_escaped = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let is_end = byte == quote && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    Some(end + 2)
}

fn name_length(rest: &str) -> usize {
    let is_inner = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    rest.bytes().take_while(|byte| is_inner(*byte)).count()
}

/// Digits and what belongs to them. The point belongs to them where no name follows it.
fn number_length(rest: &str) -> usize {
    let whole = name_length(rest);
    let is_fraction = rest.as_bytes().get(whole) == Some(&b'.')
        && rest
            .as_bytes()
            .get(whole + 1)
            .is_some_and(u8::is_ascii_digit);
    match is_fraction {
        true => whole + 1 + name_length(&rest[whole + 1..]),
        false => whole,
    }
}
