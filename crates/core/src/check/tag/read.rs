//! Reading a structural tag's description.

use super::parameters::Style;
use super::{Format, Parameters, Repeat, Separated, Tag, Triggered};
use crate::error::{Error, Kind};
use crate::ir::{Constraint, Notation};
use crate::pattern::free::settled;
use serde_json::{Map, Value, json};

/// How deep formats nest.
const MAX_DEPTH: usize = 16;
/// Formats in one description: one a tool, and some around them.
const MAX_FORMATS: usize = 2_000;

/// What becomes of the schemas, regexes and grammars inside of a description.
pub trait Leaves {
    /// What a schema becomes.
    type Json;
    /// What a regex or a grammar becomes.
    type Text;

    /// A schema.
    ///
    /// # Errors
    /// It is refused.
    fn json(&mut self, schema: &Value) -> Result<Self::Json, Error>;

    /// A regex or a grammar.
    ///
    /// # Errors
    /// It is refused.
    fn text(&mut self, constraint: &Constraint) -> Result<Self::Text, Error>;
}

/// Nothing: of a description its shape alone is asked.
#[derive(Debug, Clone, Copy)]
pub struct Shape;

impl Leaves for Shape {
    type Json = ();
    type Text = ();

    fn json(&mut self, _: &Value) -> Result<(), Error> {
        Ok(())
    }

    fn text(&mut self, _: &Constraint) -> Result<(), Error> {
        Ok(())
    }
}

/// Reads a description: an object, or the JSON text of one.
///
/// # Errors
/// What of it is wrong, or not known here, with the place in it.
pub fn read<L: Leaves>(
    description: &Value,
    leaves: &mut L,
) -> Result<Format<L::Json, L::Text>, Error> {
    let parsed;
    let description = match description {
        Value::String(text) => {
            parsed = crate::json::value(text)
                .map_err(|_| Error::new(Kind::InvalidRequest, "the structural tag is not JSON"))?;
            &parsed
        }
        other => other,
    };
    let mut reader = Reader {
        left: MAX_FORMATS,
        leaves,
    };
    if let Some(format) = description.get("format") {
        return reader.format(format, 0);
    }
    let Some(structures) = description.get("structures").and_then(Value::as_array) else {
        return Err(invalid("it has neither `format` nor `structures`"));
    };
    let mut tags = Vec::new();
    for structure in structures {
        let schema = structure.get("schema").unwrap_or(&Value::Bool(true));
        tags.push(Tag {
            begin: text(structure, "begin")?.to_owned(),
            content: Box::new(reader.json(schema)?),
            ends: vec![text(structure, "end")?.to_owned()],
        });
    }
    triggered(description, tags)
}

type FormatOf<L> = Format<<L as Leaves>::Json, <L as Leaves>::Text>;
type TagOf<L> = Tag<<L as Leaves>::Json, <L as Leaves>::Text>;

struct Reader<'l, L> {
    left: usize,
    leaves: &'l mut L,
}

impl<L: Leaves> Reader<'_, L> {
    fn format(&mut self, format: &Value, depth: usize) -> Result<FormatOf<L>, Error> {
        let Some(left) = self.left.checked_sub(1).filter(|_| depth < MAX_DEPTH) else {
            let message = "the structural tag is too large or nests too deep";
            return Err(Error::new(Kind::SchemaTooComplex, message));
        };
        self.left = left;
        let Value::Object(map) = format else {
            return Err(invalid("a format is not an object"));
        };
        let kind = text(format, "type")?;
        refuse_unknown(kind, map)?;
        Ok(match kind {
            "const_string" => Format::Const(text(format, "value")?.to_owned()),
            "json_schema" | "qwen_xml_parameter" => self.schema(kind, map)?,
            "regex" => {
                let regex = settled(text(format, "pattern")?)
                    .map_err(|fault| invalid(&format!("a regex {fault}")))?;
                Format::Text(self.leaves.text(&Constraint::Regex(regex.into_owned()))?)
            }
            "grammar" => {
                let text = text(format, "grammar")?.to_owned();
                Format::Text(self.leaves.text(&Constraint::Grammar {
                    notation: Notation::Gbnf,
                    text,
                })?)
            }
            "any_text" => Format::Any {
                excludes: texts(format, "excludes")?,
                max_chars: count(format, "max_chars")?,
            },
            "sequence" => Format::Sequence(self.all(format, depth)?),
            "or" => Format::Or(self.all(format, depth)?),
            "tag" => Format::Tag(self.tag(format, depth)?),
            "optional" => self.repeat(format, depth, (0, Some(1)))?,
            "star" => self.repeat(format, depth, (0, None))?,
            "plus" => self.repeat(format, depth, (1, None))?,
            "repeat" => {
                let times = times(format)?;
                self.repeat(format, depth, times)?
            }
            "triggered_tags" => triggered(format, self.tags(format, depth)?)?,
            "tags_with_separator" => Format::Separated(Separated {
                tags: self.tags(format, depth)?,
                separator: text(format, "separator")?.to_owned(),
                at_least_one: flag(format, "at_least_one"),
                stop_after_first: flag(format, "stop_after_first"),
            }),
            "dispatch" => self.dispatch(format, depth)?,
            other => {
                // A type is one of xgrammar's words; a longer one is not quoted.
                let name: String = other.chars().take(40).collect();
                return Err(unsupported(&format!("the format `{name}`")));
            }
        })
    }

    fn schema(&mut self, kind: &str, map: &Map<String, Value>) -> Result<FormatOf<L>, Error> {
        let schema = map.get("json_schema").unwrap_or(&Value::Bool(true));
        let style = match (kind, map.get("style").and_then(Value::as_str)) {
            ("qwen_xml_parameter", _) | (_, Some("qwen_xml")) => Style::Qwen,
            (_, Some("minimax_xml")) => Style::MiniMax,
            _ => return self.json(schema),
        };
        let parameters = Parameters::new(style, schema);
        Ok(Format::Parameters(self.leaves.json(schema)?, parameters))
    }

    fn repeat(
        &mut self,
        format: &Value,
        depth: usize,
        (min, max): (usize, Option<usize>),
    ) -> Result<FormatOf<L>, Error> {
        let content = format.get("content");
        let content = content.ok_or_else(|| invalid("a format has no `content`"))?;
        let content = Box::new(self.format(content, depth + 1)?);
        Ok(Format::Repeat(Repeat { content, min, max }))
    }

    fn tags(&mut self, format: &Value, depth: usize) -> Result<Vec<TagOf<L>>, Error> {
        let tags = list(format, "tags")?.iter();
        tags.map(|tag| self.tag(tag, depth)).collect()
    }

    /// Free text in which some texts are followed by something: tags without an end.
    fn dispatch(&mut self, format: &Value, depth: usize) -> Result<FormatOf<L>, Error> {
        let (mut triggers, mut tags) = (Vec::new(), Vec::new());
        for rule in list(format, "rules")? {
            let Some([Value::String(trigger), content]) = rule.as_array().map(Vec::as_slice) else {
                return Err(invalid("a rule of `dispatch` is not a text and a format"));
            };
            triggers.push(trigger.clone());
            tags.push(Tag {
                begin: trigger.clone(),
                content: Box::new(self.format(content, depth + 1)?),
                ends: vec![String::new()],
            });
        }
        let is_looped = format.get("loop").and_then(Value::as_bool).unwrap_or(true);
        of_triggers(Triggered {
            triggers,
            tags,
            at_least_one: false,
            stop_after_first: !is_looped,
            excludes: texts(format, "excludes")?,
        })
    }

    fn all(&mut self, format: &Value, depth: usize) -> Result<Vec<FormatOf<L>>, Error> {
        let elements = list(format, "elements")?.iter();
        elements
            .map(|element| self.format(element, depth + 1))
            .collect()
    }

    fn tag(&mut self, tag: &Value, depth: usize) -> Result<TagOf<L>, Error> {
        let content = tag
            .get("content")
            .ok_or_else(|| invalid("a tag has no `content`"))?;
        for side in ["begin", "end"] {
            if tag.get(side).is_some_and(Value::is_object) {
                return Err(unsupported(&format!("a token as the `{side}` of a tag")));
            }
        }
        let ends = match tag.get("end") {
            Some(Value::String(end)) => vec![end.clone()],
            _ => texts(tag, "end")?,
        };
        if ends.is_empty() {
            return Err(unsupported("a tag without an `end`"));
        }
        Ok(Tag {
            begin: text(tag, "begin")?.to_owned(),
            content: Box::new(self.format(content, depth + 1)?),
            ends,
        })
    }

    fn json(&mut self, schema: &Value) -> Result<FormatOf<L>, Error> {
        self.leaves.json(schema).map(Format::Json)
    }
}

fn triggered<J, T>(format: &Value, tags: Vec<Tag<J, T>>) -> Result<Format<J, T>, Error> {
    of_triggers(Triggered {
        triggers: texts(format, "triggers")?,
        tags,
        at_least_one: flag(format, "at_least_one"),
        stop_after_first: flag(format, "stop_after_first"),
        excludes: texts(format, "excludes")?,
    })
}

fn of_triggers<J, T>(triggered: Triggered<J, T>) -> Result<Format<J, T>, Error> {
    let triggers = &triggered.triggers;
    if triggers.is_empty() || triggers.iter().any(String::is_empty) {
        return Err(invalid(
            "`triggers` must be a list of texts that are not empty",
        ));
    }
    Ok(Format::Triggered(triggered))
}

/// Whether some free text has a budget of tokens.
pub(super) fn has_budgets(description: &Value) -> bool {
    match description {
        Value::String(text) => text.contains("max_tokens"),
        Value::Array(all) => all.iter().any(has_budgets),
        Value::Object(map) => {
            let is_any = map.get("type").is_some_and(|kind| kind == "any_text");
            is_any && map.get("max_tokens").is_some_and(|most| !most.is_null())
                || map.values().any(has_budgets)
        }
        _ => false,
    }
}

/// Refuses a key that would change what the format means and is not understood here.
fn refuse_unknown(kind: &str, map: &Map<String, Value>) -> Result<(), Error> {
    const KNOWN: [&str; 23] = [
        "type",
        "value",
        "json_schema",
        "pattern",
        "grammar",
        "excludes",
        "elements",
        "begin",
        "content",
        "end",
        "triggers",
        "tags",
        "at_least_one",
        "stop_after_first",
        "any_order",
        "separator",
        "min",
        "max",
        "rules",
        "loop",
        "max_chars",
        // Tokens do not show in a text: the caller says so.
        "max_tokens",
        "style",
    ];
    for (key, value) in map {
        let is_known = match key.as_str() {
            "style" => [&json!("json"), &json!("qwen_xml"), &json!("minimax_xml")].contains(&value),
            // Whitespace is not JSON's meaning.
            "max_whitespace_cnt" => true,
            // A schema says nothing of order: whatever the order, the value is checked.
            key => {
                let is_of = |its: &str| key != "max_tokens" || its == "any_text";
                KNOWN.contains(&key) && is_of(kind) || value.is_null()
            }
        };
        if !is_known {
            let name: String = key.chars().take(40).collect();
            return Err(unsupported(&format!("`{name}` of the format `{kind}`")));
        }
    }
    Ok(())
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, Error> {
    let found = value.get(key).and_then(Value::as_str);
    found.ok_or_else(|| invalid(&format!("`{key}` is missing or not a string")))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], Error> {
    let found = value.get(key).and_then(Value::as_array);
    found
        .map(Vec::as_slice)
        .ok_or_else(|| invalid(&format!("`{key}` is missing or not a list")))
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A count that may be left out.
fn count(value: &Value, key: &str) -> Result<Option<usize>, Error> {
    let Some(value) = value.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    let wrong = || invalid(&format!("`{key}` is not a whole number from 0"));
    count.map(Some).ok_or_else(wrong)
}

/// The least and the most of a `repeat`; -1 is no end.
fn times(format: &Value) -> Result<(usize, Option<usize>), Error> {
    let missing = |key: &str| invalid(&format!("`{key}` of a `repeat` is missing"));
    let min = count(format, "min")?.ok_or_else(|| missing("min"))?;
    let max = match format.get("max").and_then(Value::as_i64) {
        Some(-1) => None,
        _ => Some(count(format, "max")?.ok_or_else(|| missing("max"))?),
    };
    if max.is_some_and(|max| max < min) {
        return Err(invalid("the `max` of a `repeat` is less than its `min`"));
    }
    Ok((min, max))
}

fn texts(value: &Value, key: &str) -> Result<Vec<String>, Error> {
    if value.get(key).is_none_or(Value::is_null) {
        return Ok(Vec::new());
    }
    let items = list(value, key)?.iter();
    let texts = items.map(|item| item.as_str().map(str::to_owned));
    texts
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| invalid(&format!("`{key}` holds something that is not a string")))
}

fn invalid(what: &str) -> Error {
    Error::new(
        Kind::InvalidRequest,
        format!("the structural tag cannot be read: {what}"),
    )
}

fn unsupported(what: &str) -> Error {
    let message = format!("{what} of a structural tag cannot be verified; use another format");
    Error::new(Kind::UnsupportedConstraint, message)
}
