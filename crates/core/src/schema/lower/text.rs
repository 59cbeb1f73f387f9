//! What is said of texts: a schema object comes in; one with patterns and lengths as the server
//! reads them goes out.

use super::anchor::{self, Whole};
use super::{Lowering, Why, formats, raw, syntax, ways};
use crate::pattern::written::{has_flags, has_set_words, is_foreign, written};
use crate::pattern::{parse_ecma, without_looks};
use crate::schema::number::count_of;
use crate::schema::profile::{Lengths, PatternReading, Syntax};
use regex_syntax::ast;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// What parsing a pattern costs, in comparisons. The guard refuses a schema with more patterns than
/// this leaves room for.
const PATTERN_STEPS: usize = 1_000;

impl Lowering<'_> {
    /// Anchors, and lengths beside a pattern or a format.
    pub(super) fn text(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let anchored = self.anchored(map);
        let now = anchored.as_ref().unwrap_or(map);
        let (lengths, lost) = self.lengths(now);
        for keyword in lost {
            self.lose(
                keyword,
                match self.profile.lengths {
                    Lengths::Refused => Why::Refused,
                    Lengths::Ignored | Lengths::Enforced => Why::Ignored,
                },
            );
        }
        let text = lengths.or(anchored);
        self.split(text.as_ref().unwrap_or(map)).or(text)
    }

    fn anchored(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Some(Value::String(pattern)) = map.get("pattern") else {
            return None;
        };
        if self.profile.pattern == PatternReading::Search || self.profile.ignores("pattern") {
            return None;
        }
        if !self.may_step(PATTERN_STEPS) {
            self.lose("pattern", Why::Inexact);
            return None;
        }
        if self.profile.pattern == PatternReading::Bare {
            return self.bared(map, pattern);
        }
        let stated = self.flagless(pattern);
        let wider = stated.as_deref().and_then(without_looks);
        let whole = stated.as_deref().map_or(Whole::None, |stated| {
            anchor::whole(wider.as_deref().unwrap_or(stated))
        });
        let (new, why) = match whole {
            Whole::Already => (stated.map(Cow::into_owned), None),
            Whole::Anything => (None, None),
            Whole::Narrower(whole) => (Some(whole), Some(Why::Narrower)),
            Whole::None => (None, Some(Why::Inexact)),
        };
        let (new, why) = self.raw(new, why);
        let (new, why) = self.plainly(new, why);
        let (new, why) = match new {
            Some(whole) if self.profile.one_way => match ways::one_way(&whole) {
                Some(one) => (Some(one), why),
                None => (None, Some(Why::Inexact)),
            },
            new => (new, why),
        };
        if let Some(why) = wider.is_some().then_some(Why::Refused).or(why) {
            self.lose("pattern", why);
        }
        if new.as_ref() == Some(pattern) {
            return None;
        }
        let mut map = map.clone();
        match new {
            Some(whole) => map.insert("pattern".to_owned(), Value::String(whole)),
            None => map.shift_remove("pattern"),
        };
        Some(map)
    }

    /// The pattern without flags where the server reads none, and in no words but ECMA-262's; `None` where there is no such form.
    pub(super) fn flagless<'p>(&self, pattern: &'p str) -> Option<Cow<'p, str>> {
        let has_flags = || self.profile.odd_escapes && has_flags(pattern);
        // Browsers read more than what is defined (`[\w-.]`, a lone `]`).
        let is_lax = || {
            let parsed = ast::parse::Parser::new().parse(pattern);
            parsed.is_err_and(|fault| *fault.kind() != ast::ErrorKind::UnsupportedLookAround)
        };
        match has_flags() || is_foreign(pattern) || has_set_words(pattern) || is_lax() {
            true => written(&parse_ecma(pattern).ok()?).map(Cow::Owned),
            false => Some(Cow::Borrowed(pattern)),
        }
    }

    /// The pattern without the anchors at its ends, of which the server takes none.
    fn bared(&mut self, map: &Map<String, Value>, pattern: &str) -> Option<Map<String, Value>> {
        let bare = anchor::bare(pattern);
        if bare == Some(pattern) {
            return None;
        }
        let mut map = map.clone();
        match bare {
            Some(bare) => {
                self.lose("pattern", Why::Inexact);
                map.insert("pattern".to_owned(), Value::from(bare));
            }
            None => {
                self.lose("pattern", Why::Refused);
                map.shift_remove("pattern");
            }
        }
        Some(map)
    }

    /// The pattern of which no character ends the string that it stands in.
    fn raw(&self, pattern: Option<String>, why: Option<Why>) -> (Option<String>, Option<Why>) {
        let reading = raw::Reading {
            is_raw: self.profile.raw_patterns,
            is_ascii: self.profile.ascii_classes,
            most: None,
        };
        match pattern {
            Some(pattern) if reading.is_raw => match raw::fitted(&pattern, reading) {
                Some(fitted) => {
                    let wider = fitted.is_wider.then_some(Why::Inexact);
                    let narrower = fitted.is_narrower.then_some(Why::Narrower);
                    (Some(fitted.pattern), wider.or(why).or(narrower))
                }
                None => (None, Some(Why::Inexact)),
            },
            pattern => (pattern, why),
        }
    }

    /// A pattern in which nothing repeats more often than the server lets it. Lengths have become
    /// repetitions by now.
    fn split(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let pattern = map.get("pattern")?.as_str()?;
        if self.profile.ignores("pattern") {
            return None;
        }
        let reading = raw::Reading {
            is_raw: false,
            is_ascii: false,
            most: Some(self.profile.pattern_repeats?),
        };
        let fitted = raw::fitted(pattern, reading);
        if fitted.as_ref().is_some_and(|it| it.pattern == pattern) {
            return None;
        }
        let mut new = map.clone();
        match fitted {
            Some(fitted) => drop(new.insert("pattern".to_owned(), Value::String(fitted.pattern))),
            None => {
                self.lose("pattern", Why::Refused);
                new.shift_remove("pattern");
            }
        }
        Some(new)
    }

    /// The pattern in the syntax that the server reads.
    fn plainly(&self, pattern: Option<String>, why: Option<Why>) -> (Option<String>, Option<Why>) {
        let Some(whole) = pattern else {
            return (None, why);
        };
        if self.profile.syntax != Syntax::Plain {
            return (Some(whole), why);
        }
        match syntax::plain(&whole) {
            Some(plain) => {
                let narrower = plain.is_narrower.then_some(Why::Narrower);
                (Some(plain.pattern), why.or(narrower))
            }
            None => (None, Some(Why::Inexact)),
        }
    }

    /// The schema without lengths that the server refuses, and those of them, or of those that it
    /// ignores, which nothing else implies.
    pub(super) fn lengths(
        &self,
        map: &Map<String, Value>,
    ) -> (Option<Map<String, Value>>, Vec<&'static str>) {
        let (mut new, mut lost) = (None, Vec::new());
        let is_shaped = map.contains_key("pattern") || map.contains_key("format");
        if self.profile.lengths == Lengths::Enforced || !is_shaped {
            return (new, lost);
        }
        let pattern = map.get("pattern").and_then(Value::as_str);
        let limit = |keyword: &str| map.get(keyword).map(count_of);
        if let (Some(pattern), least @ (None | Some(Some(_))), most @ (None | Some(Some(_)))) =
            (pattern, limit("minLength"), limit("maxLength"))
            && (least.is_some() || most.is_some())
            && let Some(both) = anchor::within(pattern, least.flatten(), most.flatten())
        {
            let mut within = map.clone();
            within.shift_remove("minLength");
            within.shift_remove("maxLength");
            within.insert("pattern".to_owned(), Value::String(both));
            return (Some(within), lost);
        }
        let shape = pattern.or_else(|| formats::pattern_of(map.get("format")?));
        for keyword in ["minLength", "maxLength"] {
            let Some(limit) = map.get(keyword) else {
                continue;
            };
            let is_implied = match (shape, count_of(limit)) {
                (Some(shape), Some(limit)) => anchor::implies(shape, keyword, limit),
                _ => false,
            };
            if !is_implied {
                lost.push(keyword);
            }
            if self.profile.lengths == Lengths::Refused {
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
            }
        }
        (new, lost)
    }
}
