//! Lark in words: text comes in, tokens with their lines go out, split as llguidance splits them.

use crate::grammar::GrammarFault;

/// A word of the notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A rule's name, with its modifiers `!`, `?`.
    Rule(&'a str),
    /// A terminal's name.
    Terminal(&'a str),
    /// A text in its quotes.
    Text(&'a str),
    /// A regex without its slashes, and its flags.
    Regex(&'a str, &'a str),
    /// A number without a sign.
    Number(&'a str),
    /// `%ignore` and the like, without the percent sign.
    Directive(&'a str),
    /// A token of the vocabulary, `<…>`: whatever stands in it begins no text and no comment.
    Special(&'a str),
    /// Punctuation.
    Mark(&'a str),
    /// The end of a line, or of several.
    LineEnd,
}

/// The longer ones first.
const MARKS: [&str; 24] = [
    "->", "::", "..", ":", ",", ".", "(", ")", "[", "]", "{", "}", "~", "|", "&", "=", "+", "*",
    "?", "<", ">", "@", "#", "_",
];

pub(super) fn scan(text: &str) -> Result<Vec<(Token<'_>, usize)>, GrammarFault> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        if matches!(first, ' ' | '\t') {
            rest = &rest[1..];
            continue;
        }
        if first == '#' || rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let (token, length) = next(rest).ok_or_else(|| {
            super::fault(
                line,
                "a character that begins nothing, or a text without an end",
            )
        })?;
        let last = tokens.last().map(|&(token, _)| token);
        if token != Token::LineEnd || last != Some(Token::LineEnd) {
            tokens.push((token, line));
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    Ok(tokens)
}

/// The token that a text begins with, and its bytes.
fn next(rest: &str) -> Option<(Token<'_>, usize)> {
    if rest.starts_with('\n') || rest.starts_with("\r\n") {
        return Some((Token::LineEnd, rest.find('\n')? + 1));
    }
    if rest.starts_with('"') {
        let end = quoted(rest, '"')?;
        let end = end + usize::from(rest[end..].starts_with('i'));
        return Some((Token::Text(&rest[..end]), end));
    }
    if rest.starts_with('/') {
        let end = quoted(rest, '/')?;
        let flags = span(&rest[end..], |c| "imslux".contains(c));
        let token = Token::Regex(&rest[1..end - 1], &rest[end..end + flags]);
        return Some((token, end + flags));
    }
    if let Some(special) = rest.strip_prefix('<') {
        let inner = span(special, |c| !matches!(c, '<' | '>') && !c.is_whitespace());
        if inner > 0 && special[inner..].starts_with('>') {
            return Some((Token::Special(&special[..inner]), inner + 2));
        }
    }
    if let Some(directive) = rest.strip_prefix('%') {
        let end = span(directive, |c| c.is_ascii_alphanumeric() || c == '_');
        return Some((Token::Directive(&directive[..end]), end + 1));
    }
    if let Some(name) = name(rest) {
        let is_rule = name.contains(|c: char| c.is_ascii_lowercase());
        let token = if is_rule {
            Token::Rule(name)
        } else {
            Token::Terminal(name)
        };
        return Some((token, name.len()));
    }
    let digits = span(rest, |c| c.is_ascii_digit());
    if digits > 0 {
        return Some((Token::Number(&rest[..digits]), digits));
    }
    let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark))?;
    Some((Token::Mark(mark), mark.len()))
}

/// The bytes of a text up to its closing mark, that included.
fn quoted(rest: &str, mark: char) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next()?;
            }
            '\n' if mark == '"' => return None,
            c if c == mark => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// `!?[_?]?[a-z][_a-z0-9-]*`, or `_?[A-Z][_A-Z0-9-]*`.
fn name(rest: &str) -> Option<&str> {
    let modifiers = usize::from(rest.starts_with('!'));
    let modifiers = modifiers + usize::from(rest[modifiers..].starts_with(['_', '?']));
    let first = rest[modifiers..].chars().next()?;
    let is_upper = first.is_ascii_uppercase() && matches!(&rest[..modifiers], "" | "_");
    if !is_upper && !first.is_ascii_lowercase() {
        return None;
    }
    let is_letter = |c: char| match is_upper {
        true => c.is_ascii_uppercase(),
        false => c.is_ascii_lowercase(),
    };
    let length = span(&rest[modifiers..], |c| {
        is_letter(c) || c.is_ascii_digit() || matches!(c, '_' | '-')
    });
    // `a->b`: the arrow is no part of the name.
    let name = &rest[..modifiers + length];
    let is_arrow = name.ends_with('-') && rest[name.len()..].starts_with('>');
    Some(&name[..name.len() - usize::from(is_arrow)])
}

fn span(text: &str, test: impl Fn(char) -> bool) -> usize {
    text.find(|c| !test(c)).unwrap_or(text.len())
}
