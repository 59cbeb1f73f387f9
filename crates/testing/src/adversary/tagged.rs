//! Texts of a shape, and texts beside it: said in tokens, of which a liar drops, doubles, swaps and
//! spoils some.

use super::demands::schema;
use super::json::J;
use super::source::Source;
use super::tags::{Bounds, Shape, Tag, Triggered};
use super::values::{json_text, right, spoil};

/// Free text; none holds a trigger, or what some shape excludes.
const FREE: &[&str] = &[
    "It is sunny.",
    "a < b, \"x\" {",
    "日本 😀",
    "<func",
    "{\"age\":\"bad\"}",
    "</function>",
    "line\nbreak",
    "<|en",
];

/// What has no business in most places.
const STRAY: &[&str] = &[
    "<function=",
    "<function=zzz>{}</function>",
    "<function=g>",
    "</function>",
    "<day>",
    "</day>",
    "<j>",
    "zzz",
    "<|end|>",
    "x",
    " ",
    "\n",
    "; ",
    "{\"age\":\"bad\"}",
    "\"",
    "}",
];

enum Token {
    Text(String),
    /// A value of the schema with this name.
    Json(J),
}

/// A text of the shape, or nearly.
pub fn tagged(shape: &Shape, is_wrong: bool, source: &mut impl Source) -> String {
    let mut tokens = Vec::new();
    say(shape, source, &mut tokens);
    if is_wrong {
        for _ in 0..=source.below(2) {
            harm(&mut tokens, source);
        }
    }
    let texts = tokens.iter().map(|token| match token {
        Token::Text(text) => text.clone(),
        Token::Json(value) => json_text(value, source),
    });
    texts.collect()
}

fn text(said: impl Into<String>, out: &mut Vec<Token>) {
    out.push(Token::Text(said.into()));
}

fn say(shape: &Shape, source: &mut impl Source, out: &mut Vec<Token>) {
    match shape {
        Shape::Const(value) => text(*value, out),
        Shape::Json(name) => out.push(Token::Json(right(schema(name), source))),
        Shape::Pattern(_, texts) => text(*source.pick(texts), out),
        Shape::Free(_) => text(*source.pick(&["", "ok", "It is so.\n", "日本 😀"]), out),
        Shape::Seq(parts) => parts.iter().for_each(|part| say(part, source, out)),
        Shape::Or(parts) => say(source.pick(parts), source, out),
        Shape::Tag(tag) => say_tag(tag, source, out),
        Shape::Repeat(part, min, max) => {
            let most = max.unwrap_or(min + 2);
            for _ in 0..min + source.below(most - min + 1) {
                say(part, source, out);
            }
        }
        Shape::Triggered(triggered) => say_triggered(triggered, source, out),
        Shape::Separated(tags, separator, bounds) => {
            for nth in 0..count(*bounds, source) {
                if nth > 0 {
                    text(*separator, out);
                }
                say_tag(source.pick(tags), source, out);
            }
        }
    }
}

fn say_tag(tag: &Tag, source: &mut impl Source, out: &mut Vec<Token>) {
    text(tag.begin, out);
    say(&tag.content, source, out);
    text(tag.end, out);
}

fn say_triggered(triggered: &Triggered, source: &mut impl Source, out: &mut Vec<Token>) {
    let bounds = triggered.bounds;
    let count = count(bounds, source);
    for nth in 0..count {
        if (nth > 0 || !bounds.at_least_one) && source.chance(70) {
            text(*source.pick(FREE), out);
        }
        say_tag(source.pick(&triggered.tags), source, out);
    }
    if !bounds.stop_after_first && source.chance(70) || count == 0 {
        text(*source.pick(FREE), out);
    }
}

fn count(bounds: Bounds, source: &mut impl Source) -> usize {
    let least = usize::from(bounds.at_least_one);
    let most = if bounds.stop_after_first { 1 } else { 3 };
    least + source.below(most - least + 1)
}

/// A wrong value, a tag that does not begin, end or stand where it is to, text where none may be.
fn harm(tokens: &mut Vec<Token>, source: &mut impl Source) {
    let count = tokens.len();
    let (one, other) = (source.below(count), source.below(count));
    let stray = (*source.pick(STRAY)).to_owned();
    match source.below(9) {
        0 | 1 if count > 0 => {
            let values = tokens.iter_mut().filter_map(|token| match token {
                Token::Json(value) => Some(value),
                Token::Text(_) => None,
            });
            let mut values: Vec<&mut J> = values.collect();
            let nth = source.below(values.len());
            if let Some(value) = values.get_mut(nth) {
                spoil(value, source);
            }
        }
        2 if count > 0 => {
            tokens.remove(one);
        }
        3 if count > 0 => {
            let again = match &tokens[one] {
                Token::Text(text) => Token::Text(text.clone()),
                Token::Json(value) => Token::Json(value.clone()),
            };
            tokens.insert(other, again);
        }
        4 if count > 0 => tokens.swap(one, other),
        5 => tokens.truncate(one),
        6 if count > 0 => {
            // Something in the middle of a token: an end within a value, a begin within a begin.
            let said = match &tokens[one] {
                Token::Text(text) => text.clone(),
                Token::Json(value) => value.text(),
            };
            let mut letters: Vec<char> = said.chars().collect();
            let at = source.below(letters.len() + 1);
            letters.splice(at..at, stray.chars());
            tokens[one] = Token::Text(letters.into_iter().collect());
        }
        7 => tokens.push(Token::Text(stray)),
        _ => tokens.insert(source.below(count + 1), Token::Text(stray)),
    }
}
