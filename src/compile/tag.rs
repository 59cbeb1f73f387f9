//! Structural tags: xgrammar's description comes in; a checker of whole texts goes out.
//!
//! Both shapes are read: `structures` with `triggers`, and `format`. A format that is not known
//! here is an error and not an open door: the caller refuses what nobody can verify.

mod read;

pub(crate) use read::{Leaves, read};

use super::schema_error;
use crate::error::Error;
use crate::grammar::Grammar;
use crate::ir::Constraint;
use crate::schema::Validator;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps of checking one text. What ends in several places multiplies, and a hostile description
/// could make it explode.
const MAX_STEPS: usize = 1_000_000;

/// A compiled description.
#[derive(Debug)]
pub struct TagChecker {
    format: Format,
}

/// Where and how a text breaks a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagBreach {
    /// Offset in bytes of the furthest place that was reached.
    pub offset: usize,
    /// JSON Pointer into the JSON at the offset, where JSON is what is broken.
    pub pointer: String,
    /// What is broken: a schema keyword, `json`, `tag`, …
    pub rule: String,
    /// For a person, and for the model; quotes nothing.
    pub message: String,
}

/// What a stretch of text must be: JSON of `J`, or text of `T`.
#[derive(Debug)]
pub(crate) enum Format<J = Arc<Validator>, T = Grammar> {
    /// This text.
    Const(String),
    /// JSON of a schema.
    Json(J),
    /// Text of a regex or a grammar.
    Text(T),
    /// Any text without these in it. Inside of a tag it ends where the tag's end first occurs.
    Any { excludes: Vec<String> },
    /// One after the other.
    Sequence(Vec<Self>),
    /// One of these.
    Or(Vec<Self>),
    /// A tag.
    Tag(Tag<J, T>),
    /// Free text with tags.
    Triggered(Triggered<J, T>),
}

/// What stands between two texts.
#[derive(Debug)]
pub(crate) struct Tag<J, T> {
    pub(crate) begin: String,
    pub(crate) content: Box<Format<J, T>>,
    /// Any of these.
    pub(crate) ends: Vec<String>,
}

/// Free text in which each trigger begins a tag.
#[derive(Debug)]
pub(crate) struct Triggered<J, T> {
    pub(crate) triggers: Vec<String>,
    pub(crate) tags: Vec<Tag<J, T>>,
    pub(crate) at_least_one: bool,
    pub(crate) stop_after_first: bool,
    pub(crate) excludes: Vec<String>,
}

/// Compiles what stands inside of tags.
struct Checked;

impl Leaves for Checked {
    type Json = Arc<Validator>;
    type Text = Grammar;

    fn json(&mut self, schema: &Value) -> Result<Arc<Validator>, Error> {
        let validator = Validator::compile(schema).map_err(schema_error)?;
        Ok(Arc::new(validator))
    }

    fn text(&mut self, constraint: &Constraint) -> Result<Grammar, Error> {
        Grammar::compile(constraint).map_err(|fault| Error::new(fault.kind, fault.message))
    }
}

impl TagChecker {
    /// Reads a description: an object, or the JSON text of one.
    ///
    /// # Errors
    /// `invalid_request` where it is none, `unsupported_constraint` where it uses what cannot be
    /// verified here, and the faults of the schemas and grammars inside.
    pub fn compile(description: &Value) -> Result<Self, Error> {
        Ok(Self {
            format: read(description, &mut Checked)?,
        })
    }

    /// Checks a whole text.
    ///
    /// # Errors
    /// The breach that is furthest into the text.
    pub fn check(&self, text: &str) -> Result<(), TagBreach> {
        let mut walk = Walk {
            text,
            steps: MAX_STEPS,
            furthest: None,
        };
        let ends = walk.ends(&self.format, 0, &[]);
        if ends.contains(&text.len()) {
            return Ok(());
        }
        if walk.steps == 0 {
            walk.furthest = None;
            walk.fail(0, "tag", "the text is too ambiguous to be checked");
        } else if let Some(&last) = ends.last() {
            walk.fail(last, "tag", "the text goes on after the last tag");
        }
        let other = TagBreach {
            offset: 0,
            pointer: String::new(),
            rule: "tag".to_owned(),
            message: "the text does not have the form of the structural tag".to_owned(),
        };
        Err(walk.furthest.unwrap_or(other))
    }

    /// Bytes of memory that this takes, as estimated.
    pub(super) fn estimated_bytes(&self) -> usize {
        self.format.estimated_bytes()
    }
}

impl Format {
    fn estimated_bytes(&self) -> usize {
        let all = |parts: &[Self]| parts.iter().map(Self::estimated_bytes).sum::<usize>();
        256 + match self {
            Self::Const(_) | Self::Any { .. } => 0,
            Self::Json(validator) => validator.estimated_bytes(),
            Self::Text(grammar) => grammar.estimated_bytes(),
            Self::Sequence(parts) | Self::Or(parts) => all(parts),
            Self::Tag(tag) => tag.content.estimated_bytes(),
            Self::Triggered(triggered) => triggered
                .tags
                .iter()
                .map(|tag| 256 + tag.content.estimated_bytes())
                .sum(),
        }
    }
}

/// One text, and how far it got.
struct Walk<'t> {
    text: &'t str,
    steps: usize,
    furthest: Option<TagBreach>,
}

impl Walk<'_> {
    fn fail(&mut self, offset: usize, rule: &str, message: &str) {
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

    /// The places where a stretch from `at` that fits may end. `closers` end the tag around it.
    fn ends(&mut self, format: &Format, at: usize, closers: &[String]) -> BTreeSet<usize> {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            return BTreeSet::new();
        }
        match format {
            Format::Const(value) => self.literal(value, at),
            Format::Json(validator) => self.json(validator, at),
            Format::Text(grammar) => self.of_grammar(grammar, at),
            Format::Any { excludes } => self.any(at, excludes, closers),
            Format::Sequence(parts) => parts.iter().fold(BTreeSet::from([at]), |starts, part| {
                let ends = starts
                    .into_iter()
                    .map(|start| self.ends(part, start, closers));
                ends.flatten().collect()
            }),
            Format::Or(parts) => parts
                .iter()
                .flat_map(|part| self.ends(part, at, closers))
                .collect(),
            Format::Tag(tag) => self.tag(tag, at),
            Format::Triggered(triggered) => self.triggered(triggered, at, closers),
        }
    }

    fn literal(&mut self, value: &str, at: usize) -> BTreeSet<usize> {
        if self.text[at..].starts_with(value) {
            return BTreeSet::from([at + value.len()]);
        }
        self.fail(
            at,
            "const_string",
            "the text is not the one that the tag demands here",
        );
        BTreeSet::new()
    }

    /// One JSON value. Blanks around it are JSON's own.
    fn json(&mut self, validator: &Validator, at: usize) -> BTreeSet<usize> {
        let Some((value, end)) = json_prefix(&self.text[at..]) else {
            self.fail(at, "json", "there is no JSON value here");
            return BTreeSet::new();
        };
        if let Err(breach) = validator.validate(&value) {
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
            self.steps = self.steps.saturating_sub(1);
            let next = bytes.get(offset..=offset);
            if self.steps == 0 || next.is_none_or(|byte| matcher.push(byte).is_err()) {
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

    fn any(&mut self, at: usize, excludes: &[String], closers: &[String]) -> BTreeSet<usize> {
        let rest = &self.text[at..];
        // Free text inside of a tag ends where the tag does, the first time.
        let close = closers.iter().filter(|text| !text.is_empty());
        let close = close.filter_map(|text| rest.find(text.as_str())).min();
        let excluded = excludes
            .iter()
            .filter_map(|text| rest.find(text.as_str()))
            .min();
        let end = close.unwrap_or(rest.len());
        if excluded.is_some_and(|place| place < end) {
            self.fail(
                at + excluded.unwrap_or_default(),
                "excludes",
                "an excluded text occurs",
            );
            return BTreeSet::new();
        }
        if !closers.is_empty() {
            return BTreeSet::from([at + end]);
        }
        self.steps = self.steps.saturating_sub(end);
        (at..=at + end)
            .filter(|&place| self.text.is_char_boundary(place))
            .collect()
    }

    fn tag(&mut self, tag: &Tag<Arc<Validator>, Grammar>, at: usize) -> BTreeSet<usize> {
        if !self.text[at..].starts_with(&tag.begin) {
            self.fail(at, "tag", "a tag does not begin here");
            return BTreeSet::new();
        }
        let mut ends = BTreeSet::new();
        for end in self.ends(&tag.content, at + tag.begin.len(), &tag.ends) {
            let rest = &self.text[end..];
            match tag
                .ends
                .iter()
                .find(|close| rest.starts_with(close.as_str()))
            {
                Some(close) => drop(ends.insert(end + close.len())),
                None => self.fail(end, "tag", "a tag does not end after its content"),
            }
        }
        ends
    }

    fn triggered(
        &mut self,
        triggered: &Triggered<Arc<Validator>, Grammar>,
        at: usize,
        closers: &[String],
    ) -> BTreeSet<usize> {
        let mut done = BTreeSet::new();
        let mut starts = BTreeSet::from([(at, false)]);
        while let Some((start, tagged)) = starts.pop_first() {
            self.steps = self.steps.saturating_sub(1);
            let rest = &self.text[start..];
            let find = |texts: &[String]| {
                let texts = texts.iter().filter(|text| !text.is_empty());
                texts.filter_map(|text| rest.find(text.as_str())).min()
            };
            let stop = tagged && triggered.stop_after_first;
            let trigger = if stop {
                None
            } else {
                find(&triggered.triggers)
            };
            let close = find(closers);
            let free = if stop { 0 } else { close.unwrap_or(rest.len()) };
            let free = trigger.map_or(free, |trigger| trigger.min(free));
            if find(&triggered.excludes).is_some_and(|place| place < free) {
                self.fail(start, "excludes", "an excluded text occurs");
                continue;
            }
            let place = start + free;
            if trigger.is_none_or(|trigger| trigger > free) || close == Some(free) {
                if tagged || !triggered.at_least_one {
                    done.insert(place);
                } else {
                    self.fail(place, "at_least_one", "the text has none of the tags");
                }
                continue;
            }
            let ends: BTreeSet<_> = triggered
                .tags
                .iter()
                .flat_map(|tag| self.tag(tag, place))
                .collect();
            starts.extend(ends.into_iter().map(|end| (end, true)));
            if self.steps == 0 {
                break;
            }
        }
        done
    }
}

/// The JSON value that a text begins with, and where it ends.
fn json_prefix(text: &str) -> Option<(Value, usize)> {
    let blank = text.len() - text.trim_ascii_start().len();
    let rest = &text[blank..];
    let first = rest.chars().next()?;
    if matches!(first, '{' | '[' | '"') {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        return Some((value, blank + values.byte_offset()));
    }
    // A scalar does not say where it ends: it goes as far as its characters do.
    let is_scalar = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let end = rest.find(|c| !is_scalar(c)).unwrap_or(rest.len());
    let mut parser = serde_json::Deserializer::from_str(&rest[..end]);
    let value = Value::deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    Some((value, blank + end))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
