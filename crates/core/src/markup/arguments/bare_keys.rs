//! `{key:value, …}` with keys without quotes, and strings between tokens in which nothing is
//! escaped. It becomes JSON.

use super::{MAX_VALUE_BYTES, Took, value_json};
use crate::ir::CallKind;
use crate::markup::format::{Form, ParameterValue};
use crate::markup::input::Members;
use crate::markup::pattern::blanks;
use crate::markup::{Piece, Tools, typed};
use serde_json::Value;

/// The longest name of a parameter.
const MAX_KEY_BYTES: usize = 1 << 10;
/// Deeper values are none.
const MAX_DEPTH: usize = 64;

#[derive(Debug)]
pub(in crate::markup) struct BareKeys {
    name: String,
    members: Members,
    is_open: bool,
    is_after_value: bool,
    scan: Scan,
}

/// How far an open value was looked through for its end.
#[derive(Debug, Default)]
struct Scan {
    at: usize,
    is_quoted: bool,
    depth: usize,
}

impl BareKeys {
    pub(super) fn new(name: &str, kind: CallKind) -> Self {
        Self {
            name: name.to_owned(),
            members: Members::new(kind),
            is_open: false,
            is_after_value: false,
            scan: Scan::default(),
        }
    }

    pub(super) fn push(
        &mut self,
        text: &str,
        form: &Form,
        tools: &Tools,
        out: &mut Vec<Piece>,
    ) -> Took {
        let mut at = 0;
        if !self.is_open {
            let Some(begin) = text.find('{') else {
                return Took::more(0);
            };
            self.is_open = true;
            at = begin + 1;
        }
        loop {
            let rest = &text[at..];
            let Some(mut begin) = blanks(rest) else {
                return Took::broken(at, "too many blanks stand between arguments");
            };
            // After a string that has told its end, a comma may be yet to come.
            if self.is_after_value && rest[begin..].starts_with(',') {
                self.is_after_value = false;
                at += begin + 1;
                continue;
            }
            if rest[begin..].starts_with('}') {
                self.members.end(out);
                return Took::done(at + begin + 1);
            }
            let Some(colon) = rest[begin..].find([':', ',', '{', '}', '[', ']']) else {
                return match rest.len() > MAX_KEY_BYTES {
                    true => Took::broken(at, "an argument's name is too long"),
                    false => Took::more(at),
                };
            };
            let key = rest[begin..begin + colon].trim();
            let key = key.strip_prefix(form.quote.as_str()).unwrap_or(key);
            let key = key.strip_suffix(form.quote.as_str()).unwrap_or(key);
            begin += colon;
            if !rest[begin..].starts_with(':') || key.is_empty() {
                return Took::broken(at, "no argument with a name");
            }
            begin += 1;
            let Some(end) = self.scan.end(&rest[begin..], &form.quote) else {
                return match rest.len() > MAX_VALUE_BYTES {
                    true => Took::broken(at, "an argument is too long"),
                    false => Took::more(at),
                };
            };
            let raw = rest[begin..begin + end].trim();
            let Some(json) = self.json(raw, key, form, tools) else {
                return Took::broken(at, "an argument is no value");
            };
            if let Err(why) = self.members.member(key, &json, out) {
                return Took::broken(at, why);
            }
            self.scan = Scan::default();
            self.is_after_value = true;
            at += begin + end;
        }
    }

    fn json(&self, raw: &str, key: &str, form: &Form, tools: &Tools) -> Option<String> {
        let quote = form.quote.as_str();
        let quoted = raw
            .strip_prefix(quote)
            .and_then(|raw| raw.strip_suffix(quote));
        if let Some(text) = quoted.filter(|text| !text.contains(quote)) {
            let kind = form.parameters.first().map(|parameter| parameter.value);
            let kind = kind.unwrap_or(ParameterValue::Text);
            return Some(value_json(text, kind, tools, &self.name, key));
        }
        let (value, rest) = value(raw, quote, 0)?;
        rest.trim().is_empty().then(|| value.to_string())
    }
}

impl Scan {
    /// Where the value ends with which the text begins.
    fn end(&mut self, text: &str, quote: &str) -> Option<usize> {
        loop {
            let rest = text.get(self.at..)?;
            if self.is_quoted {
                let Some(found) = rest.find(quote) else {
                    let mut from = text.len().saturating_sub(quote.len());
                    while !text.is_char_boundary(from) {
                        from -= 1;
                    }
                    self.at = self.at.max(from);
                    return None;
                };
                self.at += found + quote.len();
                self.is_quoted = false;
                if self.depth == 0 {
                    return Some(self.at);
                }
                continue;
            }
            if rest.starts_with(quote) {
                self.at += quote.len();
                self.is_quoted = true;
                continue;
            }
            if quote.starts_with(rest) {
                return None;
            }
            let c = rest.chars().next()?;
            match c {
                '{' | '[' => self.depth += 1,
                ',' | '}' | ']' if self.depth == 0 => return Some(self.at),
                '}' | ']' => self.depth -= 1,
                _ => {}
            }
            self.at += c.len_utf8();
        }
    }
}

/// The value with which the text begins, and what follows it.
fn value<'t>(text: &'t str, quote: &str, depth: usize) -> Option<(Value, &'t str)> {
    if depth > MAX_DEPTH {
        return None;
    }
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix(quote) {
        let end = rest.find(quote)?;
        return Some((Value::from(&rest[..end]), &rest[end + quote.len()..]));
    }
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut object = serde_json::Map::new();
        loop {
            rest = rest.trim_start();
            if let Some(rest) = rest.strip_prefix('}') {
                return Some((Value::Object(object), rest));
            }
            let (key, after) = rest.split_once(':')?;
            let key = key.trim();
            let key = key.strip_prefix(quote).unwrap_or(key);
            let key = key.strip_suffix(quote).unwrap_or(key);
            let (item, after) = value(after, quote, depth + 1)?;
            object.insert(key.to_owned(), item);
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
    }
    if let Some(mut rest) = text.strip_prefix('[') {
        let mut items = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(rest) = rest.strip_prefix(']') {
                return Some((Value::Array(items), rest));
            }
            let (item, after) = value(rest, quote, depth + 1)?;
            items.push(item);
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
    }
    let end = text.find([',', '}', ']']).unwrap_or(text.len());
    let word = text[..end].trim();
    if word.is_empty() {
        return None;
    }
    let json = typed::as_json(word).and_then(|json| crate::json::value(&json).ok());
    let value = json.unwrap_or_else(|| Value::from(word));
    Some((value, &text[end..]))
}
