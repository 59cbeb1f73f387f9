//! One text along a description: a format and a place in, the places where it may end out.

use super::{Format, Repeat, Separated, Tag, TagBreach, Triggered};
use crate::grammar::Grammar;
use crate::json::scan::Scanner;
use crate::schema::Validator;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps of checking one text. What ends in several places multiplies, and a hostile description
/// could make it explode.
const MAX_STEPS: usize = 1_000_000;

type Part = Format<Arc<Validator>, Grammar>;

/// What follows a stretch of text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'f> {
    /// What ends the tag that it is in; nothing where there is none.
    closers: &'f [String],
    /// Nothing comes before that, or before the end of the whole text.
    is_last: bool,
}

impl Around<'_> {
    /// The whole text.
    pub(super) const NOTHING: Self = Self {
        closers: &[],
        is_last: true,
    };

    const fn not_last(self) -> Self {
        Self {
            is_last: false,
            ..self
        }
    }
}

/// One text, and how far it got.
#[derive(Debug)]
pub(super) struct Walk<'t> {
    text: &'t str,
    steps: usize,
    pub(super) furthest: Option<TagBreach>,
    /// The text ended inside of a stretch that was right so far: more of it could be right.
    pub(super) is_open: bool,
}

impl<'t> Walk<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self {
            text,
            steps: MAX_STEPS,
            furthest: None,
            is_open: false,
        }
    }

    /// Whether it was given up.
    pub(super) const fn is_spent(&self) -> bool {
        self.steps == 0
    }

    pub(super) fn fail(&mut self, offset: usize, rule: &str, message: &str) {
        self.breach(TagBreach {
            offset,
            pointer: String::new(),
            rule: rule.to_owned(),
            message: message.to_owned(),
        });
    }

    fn breach(&mut self, breach: TagBreach) {
        if self
            .furthest
            .as_ref()
            .is_none_or(|known| known.offset <= breach.offset)
        {
            self.furthest = Some(breach);
        }
    }

    fn step(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    /// The places where a stretch from `at` that fits may end.
    pub(super) fn ends(&mut self, format: &Part, at: usize, around: Around<'_>) -> BTreeSet<usize> {
        if !self.step(1) {
            return BTreeSet::new();
        }
        match format {
            Format::Const(value) => self.literal(value, at),
            Format::Json(validator) => self.json(validator, at),
            Format::Parameters(validator, parameters) => {
                let read = parameters.read(&self.text[at..], validator);
                match read {
                    Ok(ends) => ends.into_iter().map(|end| at + end).collect(),
                    Err(breach) => {
                        self.is_open |= parameters.may_go_on(&self.text[at..], validator);
                        self.breach(TagBreach {
                            offset: at + breach.offset,
                            ..breach
                        });
                        BTreeSet::new()
                    }
                }
            }
            Format::Text(grammar) => self.of_grammar(grammar, at),
            Format::Any {
                excludes,
                max_chars,
            } => self.any(at, excludes, *max_chars, around),
            Format::Sequence(parts) => self.sequence(parts, at, around),
            Format::Or(parts) => parts
                .iter()
                .flat_map(|part| self.ends(part, at, around))
                .collect(),
            Format::Tag(tag) => self.tag(tag, at, around),
            Format::Repeat(repeat) => self.repeat(repeat, at, around),
            Format::Triggered(triggered) => self.triggered(triggered, at, around),
            Format::Separated(separated) => self.separated(separated, at, around),
        }
    }

    /// Notes that the text ends where this could still be written whole.
    fn note_open(&mut self, expected: &str, at: usize) {
        self.is_open |= expected.starts_with(&self.text[at..]);
    }

    fn literal(&mut self, value: &str, at: usize) -> BTreeSet<usize> {
        if self.text[at..].starts_with(value) {
            return BTreeSet::from([at + value.len()]);
        }
        self.note_open(value, at);
        self.fail(
            at,
            "const_string",
            "the text is not the one that the tag demands here",
        );
        BTreeSet::new()
    }

    /// One JSON value. Blanks around it are JSON's own.
    fn json(&mut self, validator: &Validator, at: usize) -> BTreeSet<usize> {
        let rest = &self.text[at..];
        let Some((_, end)) = json_prefix(rest) else {
            self.is_open |= is_json_so_far(rest) && validator.validate_prefix(rest).is_ok();
            self.fail(at, "json", "there is no JSON value here");
            return BTreeSet::new();
        };
        if let Err(breach) = validator.validate_text(&rest[..end]) {
            // A scalar at the end of the text may go on.
            self.is_open |= end == rest.len() && validator.validate_prefix(rest).is_ok();
            self.breach(TagBreach {
                offset: at + end,
                pointer: breach.pointer,
                rule: breach.rule,
                message: breach.message,
            });
            return BTreeSet::new();
        }
        let end = at + end;
        let rest = &self.text[end..];
        let blank = rest.len() - rest.trim_ascii_start().len();
        BTreeSet::from([end, end + blank])
    }

    fn of_grammar(&mut self, grammar: &Grammar, at: usize) -> BTreeSet<usize> {
        let mut matcher = grammar.matcher();
        let mut ends = BTreeSet::new();
        let bytes = &self.text.as_bytes()[at..];
        for offset in 0..=bytes.len() {
            let here = at + offset;
            if self.text.is_char_boundary(here) && matcher.is_accepting() {
                ends.insert(here);
            }
            let next = bytes.get(offset..=offset);
            self.is_open |= next.is_none();
            if !self.step(1) || next.is_none_or(|byte| matcher.push(byte).is_err()) {
                self.fail(
                    here,
                    "grammar",
                    "the text leaves the grammar that the tag demands",
                );
                break;
            }
        }
        ends
    }

    /// Where one of these first begins, from `at` on.
    fn find(&self, texts: &[String], at: usize) -> Option<usize> {
        let texts = texts.iter().filter(|text| !text.is_empty());
        let places = texts.filter_map(|text| self.text[at..].find(text.as_str()));
        places.min().map(|place| at + place)
    }

    /// How far free text from `at` may go before one of these is in it.
    fn before(&self, excludes: &[String], at: usize) -> usize {
        let texts = excludes.iter().filter(|text| !text.is_empty());
        let places = texts.filter_map(|text| {
            let place = self.text[at..].find(text.as_str())?;
            // All but its last byte may be there.
            Some(at + place + text.len() - 1)
        });
        places.min().unwrap_or(self.text.len())
    }

    /// The ends of free text that may go as far as `limit`, and does go to `goal` where nothing
    /// else follows in what is around it.
    fn free(
        &mut self,
        at: usize,
        goal: usize,
        limit: usize,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        if around.is_last {
            if goal <= limit {
                return BTreeSet::from([goal]);
            }
            self.fail(
                limit,
                "excludes",
                "the free text goes on too long, or over an excluded text",
            );
            return BTreeSet::new();
        }
        let end = goal.min(limit);
        self.step(end - at);
        (at..=end)
            .filter(|&place| self.text.is_char_boundary(place))
            .collect()
    }

    fn any(
        &mut self,
        at: usize,
        excludes: &[String],
        max_chars: Option<usize>,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        // Free text inside of a tag ends where the tag does, the first time.
        let goal = self.find(around.closers, at).unwrap_or(self.text.len());
        let mut limit = self.before(excludes, at);
        if let Some(most) = max_chars
            && let Some((place, _)) = self.text[at..].char_indices().nth(most)
        {
            limit = limit.min(at + place);
        }
        self.free(at, goal, limit, around)
    }

    fn sequence(&mut self, parts: &[Part], at: usize, around: Around<'_>) -> BTreeSet<usize> {
        let mut starts = BTreeSet::from([at]);
        for (nth, part) in parts.iter().enumerate() {
            let around = if nth + 1 == parts.len() {
                around
            } else {
                around.not_last()
            };
            let ends = starts
                .into_iter()
                .flat_map(|start| self.ends(part, start, around));
            starts = ends.collect();
        }
        starts
    }

    fn repeat(
        &mut self,
        repeat: &Repeat<Arc<Validator>, Grammar>,
        at: usize,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        let around = if repeat.max == Some(1) {
            around
        } else {
            around.not_last()
        };
        let mut done = BTreeSet::new();
        let mut starts = BTreeSet::from([at]);
        let mut count = 0;
        loop {
            if count >= repeat.min {
                // From a place that was reached before, nothing new comes.
                starts = starts.difference(&done).copied().collect();
                done.extend(&starts);
            }
            if starts.is_empty() || repeat.max == Some(count) || !self.step(1) {
                return done;
            }
            let ends: BTreeSet<usize> = starts
                .iter()
                .flat_map(|start| self.ends(&repeat.content, *start, around))
                .collect();
            count += 1;
            if ends == starts {
                // It takes nothing, and does so as often as is asked for.
                done.extend(&ends);
                return done;
            }
            starts = ends;
        }
    }

    fn tag(
        &mut self,
        tag: &Tag<Arc<Validator>, Grammar>,
        at: usize,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        if !self.text[at..].starts_with(&tag.begin) {
            self.note_open(&tag.begin, at);
            self.fail(at, "tag", "a tag does not begin here");
            return BTreeSet::new();
        }
        let inside = if tag.ends.iter().all(String::is_empty) {
            around
        } else {
            Around {
                closers: &tag.ends,
                is_last: true,
            }
        };
        let mut ends = BTreeSet::new();
        for end in self.ends(&tag.content, at + tag.begin.len(), inside) {
            let rest = &self.text[end..];
            let closing = tag
                .ends
                .iter()
                .filter(|close| rest.starts_with(close.as_str()));
            let before = ends.len();
            ends.extend(closing.map(|close| end + close.len()));
            if ends.len() == before {
                tag.ends.iter().for_each(|close| self.note_open(close, end));
                self.fail(end, "tag", "a tag does not end after its content");
            }
        }
        ends
    }

    fn any_tag(
        &mut self,
        tags: &[Tag<Arc<Validator>, Grammar>],
        at: usize,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        let ends = tags.iter().flat_map(|tag| self.tag(tag, at, around));
        ends.collect()
    }

    fn triggered(
        &mut self,
        triggered: &Triggered<Arc<Validator>, Grammar>,
        at: usize,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        let tags = &triggered.tags;
        let mut done = BTreeSet::new();
        let mut starts = BTreeSet::from([(at, false)]);
        while let Some((start, tagged)) = starts.pop_first() {
            if !self.step(1) {
                break;
            }
            if tagged && triggered.stop_after_first {
                done.insert(start);
                continue;
            }
            if triggered.at_least_one && !tagged {
                // Nothing comes before the tag that must be there.
                let ends = self.any_tag(tags, start, around.not_last());
                if ends.is_empty() && self.find(&triggered.triggers, start) != Some(start) {
                    let message = "the text does not begin with one of the tags";
                    self.fail(start, "at_least_one", message);
                }
                starts.extend(ends.into_iter().map(|end| (end, true)));
                continue;
            }
            let close = self.find(around.closers, start);
            let goal = close.unwrap_or(self.text.len());
            let trigger = self.find(&triggered.triggers, start);
            let trigger = trigger.filter(|trigger| *trigger < goal);
            let limit = self.before(&triggered.excludes, start);
            match trigger {
                // It cannot go on to the end: something begins before that.
                Some(trigger) if around.is_last && trigger <= limit => {}
                Some(trigger) => done.extend(self.free(start, trigger, limit, around)),
                None => done.extend(self.free(start, goal, limit, around)),
            }
            if let Some(trigger) = trigger.filter(|trigger| *trigger <= limit) {
                let ends = self.any_tag(tags, trigger, around.not_last());
                starts.extend(ends.into_iter().map(|end| (end, true)));
            }
        }
        done
    }

    fn separated(
        &mut self,
        separated: &Separated<Arc<Validator>, Grammar>,
        at: usize,
        around: Around<'_>,
    ) -> BTreeSet<usize> {
        let mut done = BTreeSet::new();
        if !separated.at_least_one {
            done.insert(at);
        }
        let mut starts = self.any_tag(&separated.tags, at, around.not_last());
        while let Some(start) = starts.pop_first() {
            if !self.step(1) {
                break;
            }
            if !done.insert(start) && start != at || separated.stop_after_first {
                continue;
            }
            let rest = &self.text[start..];
            if !rest.starts_with(&separated.separator) {
                self.note_open(&separated.separator, start);
                self.fail(
                    start,
                    "separator",
                    "something else than the separator follows a tag",
                );
                continue;
            }
            let next = start + separated.separator.len();
            let ends = self.any_tag(&separated.tags, next, around.not_last());
            // A tag that is empty, after a separator that is, leads nowhere else.
            starts.extend(ends.into_iter().filter(|end| *end > start));
        }
        done
    }
}

/// Whether a JSON text could go on after this one.
fn is_json_so_far(text: &str) -> bool {
    let mut scanner = Scanner::new();
    text.bytes().all(|byte| scanner.push(byte).is_ok())
}

/// The JSON value that a text begins with, and where it ends.
pub(super) fn json_prefix(text: &str) -> Option<(Value, usize)> {
    let blank = text.len() - text.trim_ascii_start().len();
    let rest = &text[blank..];
    let first = rest.chars().next()?;
    if matches!(first, '{' | '[' | '"') {
        let (value, end) = crate::json::first(rest)?;
        return Some((value, blank + end));
    }
    // A scalar does not say where it ends: it goes as far as its characters do.
    let is_scalar = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let end = rest.find(|c| !is_scalar(c)).unwrap_or(rest.len());
    let mut parser = serde_json::Deserializer::from_str(&rest[..end]);
    let value = Value::deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    Some((value, blank + end))
}
