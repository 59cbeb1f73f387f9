//! Parameters between tokens: `<parameter=key>value</parameter>`, each by itself. A value has no
//! escapes: it ends at the first end token that the next parameter or the call's end follows. Of a value that is JSON by the
//! tool's schema what stands in a string is no such end.

use super::{MAX_VALUE_BYTES, Took, value_json};
use crate::ir::CallKind;
use crate::json::scan::Scanner;
use crate::markup::elements::{self, Scan, Tokens};
use crate::markup::format::{Form, ParameterValue};
use crate::markup::input::Members;
use crate::markup::pattern::{Holes, Look, Match, Pattern, any_literal, anything, blanks, first};
use crate::markup::{Piece, Tools, typed};

#[derive(Debug)]
pub(in crate::markup) struct Parameters {
    name: String,
    members: Members,
    /// How far the open value was looked through for its end.
    scanned: usize,
    scan: Scan,
    strings: Strings,
}

/// An open value as JSON, as far as it was looked through.
#[derive(Debug, Default)]
struct Strings {
    scanner: Scanner,
    at: usize,
    /// It is no JSON.
    is_broken: bool,
    /// The first end that stands in a string: a value that is never closed ends there.
    first: Option<usize>,
}

impl Strings {
    /// Whether a string is open behind so many bytes of the value.
    fn are_open(&mut self, value: &str, end: usize) -> bool {
        if let Some(more) = value.get(self.at..end).filter(|_| !self.is_broken) {
            self.is_broken = self.scanner.push_all(more).is_err();
            self.at = end;
        }
        !self.is_broken && self.scanner.is_in_string()
    }
}

/// A parameter that stands whole in the text.
struct Whole<'t> {
    bytes: usize,
    key: &'t str,
    value: &'t str,
    kind: ParameterValue,
    /// Its tokens, or the tool's schema, say that it is JSON.
    is_json: bool,
    elements: Option<Tokens<'t>>,
}

impl Parameters {
    pub(super) fn new(name: &str, kind: CallKind) -> Self {
        Self {
            name: name.to_owned(),
            members: Members::new(kind),
            scanned: 0,
            scan: Scan::default(),
            strings: Strings::default(),
        }
    }

    pub(super) fn push(
        &mut self,
        text: &str,
        whole: bool,
        form: &Form,
        tools: &Tools,
        out: &mut Vec<Piece>,
    ) -> Took {
        let mut at = 0;
        loop {
            let rest = &text[at..];
            let Some(space) = blanks(rest) else {
                return Took::broken(at, "too many blanks follow a parameter");
            };
            let look = Look {
                tools,
                whole,
                then: &anything,
            };
            match first(&form.call_ends, &rest[space..], &look) {
                Match::Yes((_, end, _)) => {
                    self.members.end(out);
                    return Took::done(at + space + end);
                }
                Match::More => return Took::more(at),
                Match::No => {}
            }
            let found = match self.parameter(&rest[space..], whole, form, &look) {
                Match::Yes(found) => found,
                Match::More if rest.len() > MAX_VALUE_BYTES => {
                    return Took::broken(at, "a parameter's value is too long");
                }
                Match::More => return Took::more(at),
                Match::No => return Took::broken(at, "neither a parameter nor the call's end"),
            };
            let is_whole = found.is_json && typed::is_strict(found.value);
            if found.elements.is_none() && !is_whole && self.has_swallowed(found.value, form, &look)
            {
                return Took::broken(at, "a parameter lacks its end");
            }
            let value = match found.elements {
                Some(own) => elements::value(found.value, own, tools.schema(&self.name), found.key),
                None => value_json(found.value, found.kind, tools, &self.name, found.key),
            };
            if let Err(why) = self.members.member(found.key, &value, out) {
                return Took::broken(at, why);
            }
            at += space + found.bytes;
            self.scanned = 0;
            self.scan = Scan::default();
            self.strings = Strings::default();
        }
    }

    /// Whether another parameter of this tool begins in the value: its own end token was left out,
    /// and what would be called is not what was meant.
    fn has_swallowed(&self, value: &str, form: &Form, look: &Look<'_, '_>) -> bool {
        form.parameters.iter().any(|parameter| {
            let token = parameter.begin.first_literal().unwrap_or_default();
            value.match_indices(token).any(|(at, _)| {
                let found = parameter.begin.find(&value[at..], look);
                let Match::Yes((_, Holes { key: Some(key), .. })) = found else {
                    return false;
                };
                typed::is_property(look.tools.schema(&self.name), key)
            })
        })
    }

    /// The parameter with which the text begins.
    fn parameter<'t>(
        &mut self,
        text: &'t str,
        whole: bool,
        form: &'t Form,
        look: &Look<'_, '_>,
    ) -> Match<Whole<'t>> {
        let mut is_open = false;
        for parameter in &form.parameters {
            let (begin, key) = match parameter.begin.find(text, look) {
                Match::Yes((begin, holes)) => (begin, holes.key.unwrap_or_default()),
                Match::More => {
                    is_open = true;
                    continue;
                }
                Match::No => continue,
            };
            let text = &text[begin..];
            if parameter.value == ParameterValue::Elements
                && let Some(tokens) = Tokens::new(parameter)
            {
                return match self.scan.end(text, tokens, key) {
                    _ if key.starts_with('/') => Match::No,
                    None => Match::More,
                    Some(None) => Match::No,
                    Some(Some((value, end))) => Match::Yes(Whole {
                        bytes: begin + end,
                        key,
                        value: &text[..value],
                        kind: parameter.value,
                        is_json: false,
                        elements: Some(tokens),
                    }),
                };
            }
            if let Some((open, close)) = &parameter.inside {
                if !whole && open.starts_with(text) {
                    return Match::More;
                }
                if text.starts_with(open) {
                    let token = format!("{close}{}", parameter.end);
                    let Some((value, end)) = self.value(text, whole, form, &token, false) else {
                        return Match::More;
                    };
                    return Match::Yes(Whole {
                        bytes: begin + end,
                        key,
                        value: value.get(open.len()..).unwrap_or_default(),
                        kind: ParameterValue::Text,
                        is_json: false,
                        elements: None,
                    });
                }
            }
            let is_json = match parameter.value {
                ParameterValue::Text => false,
                ParameterValue::Json => true,
                ParameterValue::Schema | ParameterValue::Elements => {
                    typed::is_json(look.tools.schema(&self.name), key)
                }
            };
            return match self.value(text, whole, form, &parameter.end, is_json) {
                None => Match::More,
                Some((value, end)) => Match::Yes(Whole {
                    bytes: begin + end,
                    key,
                    value: around(value, &parameter.around),
                    kind: parameter.value,
                    is_json,
                    elements: None,
                }),
            };
        }
        if is_open { Match::More } else { Match::No }
    }

    /// The value with which the text begins, and where what follows it begins.
    fn value<'t>(
        &mut self,
        text: &'t str,
        whole: bool,
        form: &Form,
        token: &str,
        is_json: bool,
    ) -> Option<(&'t str, usize)> {
        while let Some(found) = text.get(self.scanned..)?.find(token) {
            let value = self.scanned + found;
            let end = value + token.len();
            match follows(&text[end..], whole, form) {
                Match::Yes(()) if is_json && self.strings.are_open(text, value) => {
                    self.strings.first.get_or_insert(value);
                    self.scanned = value + 1;
                }
                Match::Yes(()) => return Some((&text[..value], end)),
                Match::More => {
                    self.scanned = value;
                    return None;
                }
                Match::No => self.scanned = value + 1,
            }
        }
        // What is left may be the beginning of the token.
        let mut from = text.len().saturating_sub(token.len());
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        self.scanned = self.scanned.max(from);
        let first = self.strings.first.filter(|_| whole)?;
        Some((&text[..first], first + token.len()))
    }
}

/// Whether the next parameter or the call's end stands here.
fn follows(text: &str, whole: bool, form: &Form) -> Match<()> {
    let rest = text.trim_start();
    if rest.is_empty() {
        return if whole { Match::Yes(()) } else { Match::More };
    }
    let begins = form.parameters.iter().map(|parameter| &parameter.begin);
    let next = begins.chain(&form.call_ends);
    any_literal(next.filter_map(Pattern::first_literal), rest, whole)
}

/// A value without the layout around it.
fn around<'t>(value: &'t str, layout: &str) -> &'t str {
    let value = value.strip_prefix(layout).unwrap_or(value);
    value.strip_suffix(layout).unwrap_or(value)
}
