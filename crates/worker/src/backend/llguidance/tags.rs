//! Structural tags for llguidance: a description comes in; grammars that take exactly the texts
//! that verification lets through go out.
//!
//! Stretches of text that are regular become one terminal each, because llguidance's lexer takes
//! the longest terminal and never goes back: `any text, then </think>` has to be one. Free text
//! before a tag is a terminal that ends with the trigger, and in which no other begins earlier.
//! What is JSON, or recursive, is a grammar of its own.

mod begins;

use super::json::Begins;
use super::{NO_FORCING, schema};
use crate::backend::Whitespace;
use ::llguidance::api::{GrammarWithLexer, TopLevelGrammar};
use indexmap::IndexMap;
use isogloss_core::check::tag::{Format, Leaves, Repeat, Separated, Tag, Triggered, read};
use isogloss_core::error::{Error, Kind};
use isogloss_core::grammar::Decodable;
use isogloss_core::ir::Constraint;
use serde_json::Value;
use std::fmt::Write;

/// Any text.
const ANY: &str = "/(?s:.*)/";
/// Any text but the empty one.
const SOME: &str = "/(?s:.+)/";

/// The grammars of a description, and the texts in it that JSON stands behind.
pub(super) fn grammar(
    description: &Value,
    whitespace: Whitespace,
) -> Result<(TopLevelGrammar, Begins), Error> {
    let mut writer = Writer {
        whitespace,
        grammars: Vec::new(),
        terminals: String::new(),
        count: 0,
        has_text: false,
    };
    let format = read(description, &mut writer)?;
    let piece = writer.piece(&format, None)?;
    let body = writer.rule(&piece);
    let options = if writer.has_text { NO_FORCING } else { "" };
    let lark = format!("{options}start: {body}\n{}", writer.terminals);
    let mut grammars = vec![GrammarWithLexer::from_lark(lark)];
    grammars.append(&mut writer.grammars);
    let grammar = TopLevelGrammar {
        grammars,
        max_tokens: None,
    };
    Ok((grammar, begins::begins(&format)))
}

/// A part of the grammar.
#[derive(Debug, Clone)]
enum Piece {
    /// Regular: an expression of terminals, and whether it takes the empty text.
    Regular { body: String, nullable: bool },
    /// An expression of rules.
    Rule(String),
}

/// A stretch of text, and whether it ends only where the whole text does.
#[derive(Debug, Clone)]
struct Stretch {
    piece: Piece,
    is_open: bool,
}

/// A regex, or the name of a grammar.
#[derive(Debug)]
enum Text {
    Regular { body: String, nullable: bool },
    Grammar(String),
}

struct Writer {
    whitespace: Whitespace,
    grammars: Vec<GrammarWithLexer>,
    terminals: String,
    count: usize,
    /// Whether a regex or a grammar of the client's is in it.
    has_text: bool,
}

impl Leaves for Writer {
    /// The name of a grammar.
    type Json = String;
    type Text = Text;

    fn json(&mut self, schema: &Value) -> Result<String, Error> {
        let schema = schema::prepare(schema, self.whitespace)?;
        Ok(self.add(GrammarWithLexer::from_json_schema(schema)))
    }

    fn text(&mut self, constraint: &Constraint) -> Result<Text, Error> {
        self.has_text = true;
        let decodable = Decodable::of(constraint);
        match decodable.map_err(|fault| Error::new(fault.kind, fault.message))? {
            Decodable::Terminal { regex, takes_empty } => Ok(Text::Regular {
                body: terminal(&regex),
                nullable: takes_empty,
            }),
            Decodable::Lark(lark) => Ok(Text::Grammar(self.add(GrammarWithLexer::from_lark(lark)))),
        }
    }
}

type Part = Format<String, Text>;

impl Writer {
    fn add(&mut self, grammar: GrammarWithLexer) -> String {
        let name = format!("part{}", self.grammars.len());
        self.grammars.push(GrammarWithLexer {
            name: Some(name.clone()),
            ..grammar
        });
        name
    }

    /// A stretch; inside of a tag, with `ends` that close it.
    fn piece(&mut self, format: &Part, ends: Option<&[String]>) -> Result<Stretch, Error> {
        match format {
            Format::Any {
                max_chars: Some(_), ..
            } => Err(refused("`max_chars` of free text")),
            Format::Any { excludes, .. } => match ends {
                Some(ends) => Ok(closed(until(ends, &[ends, excludes].concat())?)),
                None => Ok(open(without(excludes))),
            },
            Format::Parameters(..) => Err(refused("a `style` other than JSON")),
            Format::Repeat(repeat) => {
                let all = self.repeat(repeat)?;
                self.closed_by(all, ends)
            }
            Format::Separated(separated) => {
                let all = self.separated(separated)?;
                self.closed_by(all, ends)
            }
            Format::Triggered(triggered) => self.triggered(triggered, ends),
            Format::Sequence(parts) => self.sequence(parts, ends),
            Format::Or(parts) => {
                let parts = parts.iter().map(|part| self.piece(part, ends));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                self.either(&parts)
            }
            Format::Const(text) => self.ended(literal(text), ends),
            Format::Json(name) => self.ended(Piece::Rule(format!("@{name}")), ends),
            Format::Text(Text::Grammar(name)) => self.ended(Piece::Rule(format!("@{name}")), ends),
            Format::Text(Text::Regular { body, nullable }) => {
                let (body, nullable) = (body.clone(), *nullable);
                self.ended(Piece::Regular { body, nullable }, ends)
            }
            Format::Tag(tag) => {
                let tag = self.tag(tag, literal(&tag.begin))?;
                self.closed_by(tag, ends)
            }
        }
    }

    fn closed_by(&mut self, part: Stretch, ends: Option<&[String]>) -> Result<Stretch, Error> {
        match ends {
            Some(ends) => self.join(part, closed(any_of(ends))),
            None => Ok(part),
        }
    }

    /// The same again and again.
    fn repeat(&mut self, repeat: &Repeat<String, Text>) -> Result<Stretch, Error> {
        let times = match (repeat.min, repeat.max) {
            (0, Some(0)) => return Ok(closed(literal(""))),
            (0, Some(1)) => "?".to_owned(),
            (0, None) => "*".to_owned(),
            (1, None) => "+".to_owned(),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
        let mut part = self.piece(&repeat.content, None)?;
        // One terminal of all of them would run on into what follows, where that begins as they do.
        if repeat.max != Some(1) && ends_itself(&repeat.content) {
            part.piece = Piece::Rule(self.rule(&part));
        }
        if part.is_open || runs_to_the_end(&repeat.content) {
            return Err(refused("free text that repeats itself"));
        }
        Ok(self.times(&part, &times, repeat.min == 0))
    }

    fn times(&mut self, part: &Stretch, times: &str, takes_none: bool) -> Stretch {
        closed(match &part.piece {
            Piece::Regular { body, .. } if body.is_empty() => literal(""),
            Piece::Regular { body, nullable } => Piece::Regular {
                body: format!("({body}){times}"),
                nullable: *nullable || takes_none,
            },
            Piece::Rule(body) => Piece::Rule(format!("({body}){times}")),
        })
    }

    /// Tags, and nothing but the separator between them.
    fn separated(&mut self, separated: &Separated<String, Text>) -> Result<Stretch, Error> {
        let tags = separated.tags.iter();
        let tags = tags.map(|tag| self.tag(tag, literal(&tag.begin)));
        let tags = tags.collect::<Result<Vec<_>, _>>()?;
        if tags.iter().any(|tag| tag.is_open) {
            return Err(refused("a tag without an end among others"));
        }
        let tag = self.either(&tags)?;
        let mut all = tag.clone();
        if !separated.stop_after_first {
            let more = self.join(closed(literal(&separated.separator)), tag)?;
            let more = self.times(&more, "*", true);
            all = self.join(all, more)?;
        }
        if !separated.at_least_one {
            all = self.times(&all, "?", true);
        }
        Ok(all)
    }

    fn ended(&mut self, piece: Piece, ends: Option<&[String]>) -> Result<Stretch, Error> {
        match ends {
            Some(ends) => self.join(closed(piece), closed(any_of(ends))),
            None => Ok(closed(piece)),
        }
    }

    fn sequence(&mut self, parts: &[Part], ends: Option<&[String]>) -> Result<Stretch, Error> {
        let Some((last, first)) = parts.split_last() else {
            return self.ended(literal(""), ends);
        };
        let mut all = closed(literal(""));
        for part in first {
            if ends.is_some() && runs_to_the_end(part) {
                return Err(refused("free text in a tag that is not at its end"));
            }
            if ends.is_none() && excludes_more(part) {
                return Err(refused("free text with `excludes` that something follows"));
            }
            let is_tag = ends_itself(part);
            let mut part = self.piece(part, None)?;
            // One terminal of many would be as many times as dear.
            if is_tag {
                part.piece = Piece::Rule(self.rule(&part));
            }
            all = self.join(all, part)?;
        }
        let last = self.piece(last, ends)?;
        self.join(all, last)
    }

    /// A tag, of which the beginning is written already.
    fn tag(&mut self, tag: &Tag<String, Text>, begin: Piece) -> Result<Stretch, Error> {
        let content = match tag.ends.iter().filter(|end| end.is_empty()).count() {
            // Without an end the content runs as far as it can.
            0 if tag.ends.is_empty() => return Err(refused("a tag without an end")),
            0 => self.piece(&tag.content, Some(&first_ends(&tag.ends)))?,
            empty if empty == tag.ends.len() => self.piece(&tag.content, None)?,
            _ => return Err(refused("a tag of which some ends are empty")),
        };
        self.join(closed(begin), content)
    }

    /// Free text and tags. In a tag, the tag's ends end it.
    fn triggered(
        &mut self,
        triggered: &Triggered<String, Text>,
        ends: Option<&[String]>,
    ) -> Result<Stretch, Error> {
        let closers = ends.unwrap_or_default();
        let stops = [&triggered.triggers, closers, &triggered.excludes].concat();
        let first = match triggered.at_least_one {
            true => Some(self.first(&triggered.tags)?),
            false => None,
        };
        // By trigger, because free text and a trigger are the same for all tags of that trigger.
        let mut tags: IndexMap<&str, Vec<Stretch>> = IndexMap::new();
        for tag in &triggered.tags {
            let begins = |trigger: &&String| tag.begin.starts_with(trigger.as_str());
            let shortest = triggered.triggers.iter().filter(begins);
            let Some(trigger) = shortest.min_by_key(|trigger| trigger.len()) else {
                let message = "the structural tag cannot be read: a tag of `triggered_tags` does \
                               not begin with a trigger";
                return Err(Error::new(Kind::InvalidRequest, message));
            };
            let tag = self.tag(tag, literal(&tag.begin[trigger.len()..]))?;
            if tag.is_open {
                return Err(refused("a tag without an end among others"));
            }
            tags.entry(trigger).or_default().push(tag);
        }
        let last = match ends {
            Some(ends) => closed(until(ends, &stops)?),
            None => open(without(&stops)),
        };
        if tags.is_empty() {
            return Ok(last);
        }
        let mut kinds = Vec::new();
        for (trigger, tags) in tags {
            let text = closed(until(&[trigger.to_owned()], &stops)?);
            let tag = self.either(&tags)?;
            kinds.push(self.join(text, tag)?);
        }
        let tag = self.either(&kinds)?;
        let (tag, last_rule) = (self.rule(&tag), self.rule(&last));
        let then = match (triggered.stop_after_first, ends) {
            (false, _) => last_rule.clone(),
            (true, None) => String::new(),
            (true, Some(ends)) => self.rule(&closed(any_of(ends))),
        };
        let body = match (first, triggered.stop_after_first) {
            (Some(first), true) => format!("{first} {then}"),
            (Some(first), false) => format!("{first} ({tag})* {then}"),
            (None, true) => format!("(({tag}) {then} | {last_rule})"),
            (None, false) => format!("({tag})* {then}"),
        };
        Ok(Stretch {
            piece: Piece::Rule(body),
            is_open: ends.is_none() && !(triggered.at_least_one && triggered.stop_after_first),
        })
    }

    /// One of the tags with nothing before it.
    fn first(&mut self, tags: &[Tag<String, Text>]) -> Result<String, Error> {
        if tags.is_empty() {
            return Err(refused("`at_least_one` of no tags"));
        }
        let tags = tags.iter().map(|tag| self.tag(tag, literal(&tag.begin)));
        let tags = tags.collect::<Result<Vec<_>, _>>()?;
        if tags.iter().any(|tag| tag.is_open) {
            return Err(refused("a tag without an end among others"));
        }
        let tag = self.either(&tags)?;
        Ok(self.rule(&tag))
    }

    /// One after the other.
    fn join(&mut self, first: Stretch, second: Stretch) -> Result<Stretch, Error> {
        let is_nothing =
            |piece: &Piece| matches!(piece, Piece::Regular { body, .. } if body.is_empty());
        if is_nothing(&first.piece) {
            return Ok(second);
        }
        if is_nothing(&second.piece) {
            return Ok(first);
        }
        let is_open = first.is_open || second.is_open;
        let piece = match (&first.piece, &second.piece) {
            (
                Piece::Regular {
                    body: one,
                    nullable: first,
                },
                Piece::Regular {
                    body: two,
                    nullable: second,
                },
            ) => Piece::Regular {
                body: format!("{one} {two}"),
                nullable: *first && *second,
            },
            // The lexer would never leave the free text.
            _ if first.is_open => return Err(refused("free text that JSON or a grammar follows")),
            _ => {
                let one = self.rule(&first);
                let two = self.rule(&second);
                Piece::Rule(format!("{one} {two}"))
            }
        };
        Ok(Stretch { piece, is_open })
    }

    /// One of them.
    fn either(&mut self, parts: &[Stretch]) -> Result<Stretch, Error> {
        if parts.is_empty() {
            return Err(refused("a choice of no formats"));
        }
        let is_open = parts.iter().any(|part| part.is_open);
        let mut bodies = Vec::new();
        let mut takes_empty = false;
        for part in parts {
            let Piece::Regular { body, nullable } = &part.piece else {
                let rules: Vec<String> = parts.iter().map(|part| self.rule(part)).collect();
                let piece = Piece::Rule(format!("({})", rules.join(" | ")));
                return Ok(Stretch { piece, is_open });
            };
            takes_empty |= nullable;
            bodies.push(match body.as_str() {
                "" => "\"\"",
                body => body,
            });
        }
        let piece = Piece::Regular {
            body: format!("({})", bodies.join(" | ")),
            nullable: takes_empty,
        };
        Ok(Stretch { piece, is_open })
    }

    /// A piece as a part of a rule: what is regular becomes a terminal with a name.
    fn rule(&mut self, part: &Stretch) -> String {
        match &part.piece {
            Piece::Rule(body) => body.clone(),
            Piece::Regular { body, .. } if body.is_empty() => "\"\"".to_owned(),
            Piece::Regular { body, nullable } => {
                self.count += 1;
                let name = format!("TEXT_{}", self.count);
                let _ = writeln!(self.terminals, "{name}: {body}");
                // A terminal is never empty.
                if *nullable { format!("{name}?") } else { name }
            }
        }
    }
}

/// The ends that are found: the first of the list that stands there ends a tag, so one that begins
/// with an earlier one never does.
fn first_ends(ends: &[String]) -> Vec<String> {
    let is_first = |&(at, end): &(usize, &String)| {
        !ends[..at]
            .iter()
            .any(|earlier| end.starts_with(earlier.as_str()))
    };
    let ends = ends.iter().enumerate().filter(is_first);
    ends.map(|(_, end)| end.clone()).collect()
}

/// Whether a format is free text that goes as far as its tag does.
fn runs_to_the_end(format: &Part) -> bool {
    match format {
        Format::Any { .. } | Format::Triggered(_) => true,
        Format::Sequence(parts) | Format::Or(parts) => parts.iter().any(runs_to_the_end),
        Format::Repeat(repeat) => runs_to_the_end(&repeat.content),
        _ => false,
    }
}

/// Whether a format is a tag, perhaps with texts around it, or none: where it ends, nothing that follows could tell otherwise.
fn ends_itself(format: &Part) -> bool {
    match format {
        Format::Tag(tag) => !tag.begin.is_empty() && !tag.ends.iter().any(String::is_empty),
        Format::Repeat(repeat) => repeat.max == Some(1) && ends_itself(&repeat.content),
        Format::Sequence(parts) => !parts.is_empty() && parts.iter().all(is_told),
        _ => false,
    }
}

/// Whether a format is such, or one of a few texts.
fn is_told(format: &Part) -> bool {
    match format {
        Format::Const(_) => true,
        Format::Or(parts) => parts.iter().all(is_told),
        other => ends_itself(other),
    }
}

/// Whether what follows a format must be free of something too.
fn excludes_more(format: &Part) -> bool {
    match format {
        Format::Any { excludes, .. } => !excludes.is_empty(),
        Format::Triggered(_) => true,
        Format::Sequence(parts) | Format::Or(parts) => parts.iter().any(excludes_more),
        Format::Repeat(repeat) => excludes_more(&repeat.content),
        _ => false,
    }
}

fn closed(piece: Piece) -> Stretch {
    Stretch {
        piece,
        is_open: false,
    }
}

fn open(piece: Piece) -> Stretch {
    Stretch {
        piece,
        is_open: true,
    }
}

fn literal(text: &str) -> Piece {
    Piece::Regular {
        body: if text.is_empty() {
            String::new()
        } else {
            quoted(text)
        },
        nullable: text.is_empty(),
    }
}

fn any_of(texts: &[String]) -> Piece {
    Piece::Regular {
        body: alternatives(texts.iter()),
        nullable: false,
    }
}

/// Any text without any of these in it.
fn without(texts: &[String]) -> Piece {
    let body = match texts.is_empty() {
        true => ANY.to_owned(),
        // What is not such a text may be no text at all: a conjunction keeps to texts.
        false => format!("({ANY} & ~({ANY} {} {ANY}))", alternatives(texts.iter())),
    };
    Piece::Regular {
        body,
        nullable: true,
    }
}

/// Any text and one of `ends`, where none of `stops` begins before that.
fn until(ends: &[String], stops: &[String]) -> Result<Piece, Error> {
    let mut bodies = Vec::new();
    for end in ends.iter().filter(|end| !end.is_empty()) {
        let mut not = Vec::new();
        // Where it ends earlier, it begins earlier.
        let (inside, outside): (Vec<&String>, Vec<&String>) = stops
            .iter()
            .filter(|stop| !stop.is_empty())
            .partition(|stop| ends_within(stop, end));
        if outside.iter().any(|stop| surrounds(stop, end)) {
            return Err(refused(
                "a trigger, an end or an `excludes` inside of another",
            ));
        }
        if !outside.is_empty() {
            not.push(format!(
                "{ANY} {} {SOME}",
                alternatives(outside.iter().copied())
            ));
        }
        // But for a part of the end itself: that has more behind its beginning where it is earlier.
        if !inside.is_empty() {
            let longer = end.chars().count() + 1;
            let inside = alternatives(inside.into_iter());
            not.push(format!("{ANY} ({inside} {ANY} & /(?s:.{{{longer},}})/)"));
        }
        // Where it ends with the end, it begins earlier if it is longer.
        let longer = outside
            .into_iter()
            .filter(|stop| stop.len() > end.len() && stop.ends_with(end.as_str()));
        let longer: Vec<&String> = longer.collect();
        if !longer.is_empty() {
            not.push(format!("{ANY} {}", alternatives(longer.into_iter())));
        }
        let not: String = not.iter().map(|not| format!(" & ~({not})")).collect();
        bodies.push(format!("({ANY} {}{not})", quoted(end)));
    }
    Ok(Piece::Regular {
        body: format!("({})", bodies.join(" | ")),
        nullable: false,
    })
}

/// Whether one text is in another, and ends before it does.
fn ends_within(inner: &str, outer: &str) -> bool {
    outer
        .rfind(inner)
        .is_some_and(|at| at + inner.len() < outer.len())
        || outer
            .find(inner)
            .is_some_and(|at| at + inner.len() < outer.len())
}

/// Whether one text has another in it, with more on both sides.
fn surrounds(outer: &str, inner: &str) -> bool {
    let mut places = outer.match_indices(inner).map(|(at, _)| at);
    places.any(|at| at > 0 && at + inner.len() < outer.len())
}

fn alternatives<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let texts = texts.filter(|text| !text.is_empty());
    let texts: Vec<String> = texts.map(|text| quoted(text)).collect();
    format!("({})", texts.join(" | "))
}

/// A Lark terminal of a regex.
fn terminal(regex: &str) -> String {
    if regex.is_empty() {
        String::new()
    } else {
        format!("/{regex}/")
    }
}

/// A text in Lark. Its escapes are those of JSON, but it takes no DEL as it is.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\x7f', "\\u007f")
}

fn refused(what: &str) -> Error {
    let message =
        format!("{what} of a structural tag cannot be enforced while decoding; use another format");
    Error::new(Kind::UnsupportedConstraint, message)
}
