//! The patterns of which data files are made: text with holes.
//!
//! `{name}`, `{id}` and `{key}` stand for a tool's name, a call's id, and a parameter's name; `{n}`
//! and `{nth}` for a number, which a writer counts from nought and from one; `{type}` for the JSON
//! type of a parameter's value. Blanks stand for any blanks, or none; a writer writes them as they
//! are, and `{_}` stands for any blanks of which a writer writes none. All else stands for itself.
//! What matches a text matches it in any chunking: a match that more text could change is none yet.

use super::Tools;

/// So many blanks are layout; more of them are none.
const MAX_BLANK_BYTES: usize = 1 << 10;
/// The longest id, number, or parameter's name.
const MAX_WORD_BYTES: usize = 1 << 10;

/// Blanks that nobody writes.
const NO_BLANK: &str = "{_}";

/// One piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    Literal(String),
    Blank,
    Name,
    Id,
    Number,
    Key,
    Type,
}

const HOLES: [(&str, Element); 7] = [
    (NO_BLANK, Element::Blank),
    ("{name}", Element::Name),
    ("{id}", Element::Id),
    ("{n}", Element::Number),
    ("{nth}", Element::Number),
    ("{key}", Element::Key),
    ("{type}", Element::Type),
];

/// A pattern, as a data file writes it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pattern {
    /// As a writer writes it.
    text: String,
    /// As the file has it.
    source: String,
    elements: Vec<Element>,
}

/// What the holes hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Holes<'t> {
    pub(super) name: Option<&'t str>,
    pub(super) id: Option<&'t str>,
    pub(super) number: Option<&'t str>,
    /// The number counted from one; only a writer knows it.
    pub(super) nth: Option<&'t str>,
    pub(super) key: Option<&'t str>,
    /// The type of the parameter's value.
    pub(super) kind: Option<&'t str>,
}

/// Whether a text begins with what is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Match<T> {
    /// It does not, whatever follows.
    No,
    /// More text is needed to tell.
    More,
    /// It does.
    Yes(T),
}

/// What a match is made with.
pub(super) struct Look<'t, 'f> {
    pub(super) tools: &'t Tools,
    /// Nothing follows the text.
    pub(super) whole: bool,
    /// What must follow the pattern, for the tool with this name.
    pub(super) then: &'f dyn Fn(&str, &Holes<'_>) -> Match<()>,
}

/// Nothing has to follow.
pub(super) fn anything(_: &str, _: &Holes<'_>) -> Match<()> {
    Match::Yes(())
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut elements: Vec<Element> = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some((hole, element)) = HOLES.iter().find(|(hole, _)| rest.starts_with(hole)) {
                if *element != Element::Blank || elements.last() != Some(element) {
                    elements.push(element.clone());
                }
                rest = &rest[hole.len()..];
                continue;
            }
            rest = &rest[c.len_utf8()..];
            match elements.last_mut() {
                Some(Element::Blank) if c.is_whitespace() => {}
                _ if c.is_whitespace() => elements.push(Element::Blank),
                Some(Element::Literal(literal)) => literal.push(c),
                _ => elements.push(Element::Literal(c.to_string())),
            }
        }
        Self {
            text: text.replace(NO_BLANK, ""),
            source: text.to_owned(),
            elements,
        }
    }

    /// This pattern and another behind it.
    pub(super) fn then(&self, other: &Self) -> Self {
        Self::new(&format!("{}{}", self.source, other.source))
    }

    /// The same pattern with any blanks before it; nothing still stands for nothing.
    pub(super) fn after_blanks(mut self) -> Self {
        if !matches!(self.elements.first(), None | Some(Element::Blank)) {
            self.elements.insert(0, Element::Blank);
        }
        self
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The byte with which every text begins that matches, if there is one.
    pub(super) fn first_byte(&self) -> Option<u8> {
        self.first_literal()?.bytes().next()
    }

    /// The stretches of it that stand for themselves.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().filter_map(|element| match element {
            Element::Literal(literal) => Some(literal.as_str()),
            _ => None,
        })
    }

    /// The text with which every text begins that matches, but for blanks, if there is one.
    pub(super) fn first_literal(&self) -> Option<&str> {
        match self
            .elements
            .iter()
            .find(|element| **element != Element::Blank)?
        {
            Element::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// Whether it has this hole.
    pub(super) fn has(&self, hole: &str) -> bool {
        self.text.contains(hole)
    }

    /// Whether blanks stand at its end.
    pub(super) fn ends_blank(&self) -> bool {
        self.elements.last() == Some(&Element::Blank)
    }

    /// Whether a key stands where nothing would say where it ends.
    pub(super) fn has_open_key(&self) -> bool {
        let mut pairs = self.elements.iter().zip(self.elements.iter().skip(1));
        let is_closed = |(at, next): (&Element, &Element)| {
            *at == Element::Key && matches!(next, Element::Literal(_))
        };
        self.elements.contains(&Element::Key) && !pairs.any(is_closed)
    }

    /// Whether the text begins with this: how many bytes of it do, and what the holes hold.
    pub(super) fn find<'t>(&self, text: &'t str, look: &Look<'_, '_>) -> Match<(usize, Holes<'t>)> {
        go(&self.elements, text, 0, Holes::default(), look)
    }

    /// The pattern with its holes filled; `None` where a hole stays empty.
    pub(super) fn fill(&self, holes: &Holes<'_>) -> Option<String> {
        let mut text = self.text.clone();
        for (hole, value) in [
            ("{name}", holes.name),
            ("{id}", holes.id),
            ("{n}", holes.number),
            ("{nth}", holes.nth),
            ("{key}", holes.key),
            ("{type}", holes.kind),
        ] {
            // Of the pattern, not of what was filled in.
            if self.text.contains(hole) {
                text = text.replace(hole, value?);
            }
        }
        Some(text)
    }
}

/// The first of several patterns with which the text begins, in the order of the file.
pub(super) fn first<'t>(
    patterns: &[Pattern],
    text: &'t str,
    look: &Look<'_, '_>,
) -> Match<(usize, usize, Holes<'t>)> {
    for (index, pattern) in patterns.iter().enumerate() {
        match pattern.find(text, look) {
            Match::No => {}
            Match::More => return Match::More,
            Match::Yes((end, holes)) => return Match::Yes((index, end, holes)),
        }
    }
    Match::No
}

fn go<'t>(
    elements: &[Element],
    text: &'t str,
    at: usize,
    holes: Holes<'t>,
    look: &Look<'_, '_>,
) -> Match<(usize, Holes<'t>)> {
    let rest = &text[at..];
    let Some((element, after)) = elements.split_first() else {
        return match (look.then)(rest, &holes) {
            Match::No => Match::No,
            Match::More => Match::More,
            Match::Yes(()) => Match::Yes((at, holes)),
        };
    };
    match element {
        Element::Literal(literal) => match literal_at(rest, literal, look.whole) {
            Match::No => Match::No,
            Match::More => Match::More,
            Match::Yes(()) => go(after, text, at + literal.len(), holes, look),
        },
        Element::Blank => match blanks(rest) {
            Some(blanks) => go(after, text, at + blanks, holes, look),
            None => Match::No,
        },
        Element::Name => name(after, text, at, &holes, look),
        Element::Id => {
            let end = run(rest, |c| c.is_alphanumeric() || "_-.:".contains(c));
            word(rest, end, look.whole, |id| {
                let id = Some(id);
                go(after, text, at + end, Holes { id, ..holes }, look)
            })
        }
        Element::Number => {
            let end = run(rest, |c| c.is_ascii_digit());
            word(rest, end, look.whole, |number| {
                let number = Some(number);
                go(after, text, at + end, Holes { number, ..holes }, look)
            })
        }
        Element::Type => {
            let end = run(rest, |c| c.is_ascii_lowercase());
            word(rest, end, look.whole, |kind| {
                let kind = Some(kind);
                go(after, text, at + end, Holes { kind, ..holes }, look)
            })
        }
        Element::Key => key(after, text, at, holes, look),
    }
}

/// A tool's name: the longest with which the rest of the pattern fits.
fn name<'t>(
    after: &[Element],
    text: &'t str,
    at: usize,
    holes: &Holes<'t>,
    look: &Look<'_, '_>,
) -> Match<(usize, Holes<'t>)> {
    let rest = &text[at..];
    for known in look.tools.names() {
        if rest.len() < known.len() {
            if !look.whole && known.starts_with(rest) {
                return Match::More;
            }
            continue;
        }
        if !rest.starts_with(known) {
            continue;
        }
        let name = Some(&rest[..known.len()]);
        let holes = Holes {
            name,
            ..holes.clone()
        };
        match go(after, text, at + known.len(), holes, look) {
            Match::No => {}
            found => return found,
        }
    }
    Match::No
}

/// A parameter's name: all until the text that follows it in the pattern.
fn key<'t>(
    after: &[Element],
    text: &'t str,
    at: usize,
    holes: Holes<'t>,
    look: &Look<'_, '_>,
) -> Match<(usize, Holes<'t>)> {
    let rest = &text[at..];
    let Some(Element::Literal(next)) = after.first() else {
        return Match::No;
    };
    let window = floor(rest, MAX_WORD_BYTES + next.len());
    match rest[..window].find(next.as_str()) {
        Some(end) => {
            let key = Some(rest[..end].trim());
            go(after, text, at + end, Holes { key, ..holes }, look)
        }
        None if window < rest.len() || look.whole => Match::No,
        None => Match::More,
    }
}

/// A word of the text, once it is known where it ends.
fn word<'t, T>(
    rest: &'t str,
    end: usize,
    whole: bool,
    go: impl FnOnce(&'t str) -> Match<T>,
) -> Match<T> {
    match end {
        _ if end > MAX_WORD_BYTES => Match::No,
        _ if end == rest.len() && !whole => Match::More,
        0 => Match::No,
        _ => go(&rest[..end]),
    }
}

/// Whether the text begins with these very characters.
pub(super) fn literal_at(text: &str, literal: &str, whole: bool) -> Match<()> {
    if text.starts_with(literal) {
        Match::Yes(())
    } else if !whole && literal.starts_with(text) {
        Match::More
    } else {
        Match::No
    }
}

/// Whether the text begins with one of these.
pub(super) fn any_literal<'p>(
    literals: impl Iterator<Item = &'p str>,
    text: &str,
    whole: bool,
) -> Match<()> {
    let mut found = Match::No;
    for literal in literals {
        match literal_at(text, literal, whole) {
            Match::Yes(()) => return Match::Yes(()),
            Match::More => found = Match::More,
            Match::No => {}
        }
    }
    found
}

/// How many bytes of blanks the text begins with; `None` where they are too many.
pub(super) fn blanks(text: &str) -> Option<usize> {
    let blanks = text.len() - text.trim_start().len();
    (blanks <= MAX_BLANK_BYTES).then_some(blanks)
}

fn run(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}
