//! Reading a structural tag's description.

use super::{Format, Tag, Triggered};
use crate::error::{Error, Kind};
use crate::ir::{Constraint, Notation};
use serde_json::{Map, Value};

/// How deep formats nest.
const MAX_DEPTH: usize = 16;
/// Formats in one description: one a tool, and some around them.
const MAX_FORMATS: usize = 2_000;

/// What becomes of the schemas, regexes and grammars inside of a description.
pub(crate) trait Leaves {
    type Json;
    type Text;

    fn json(&mut self, schema: &Value) -> Result<Self::Json, Error>;

    fn text(&mut self, constraint: &Constraint) -> Result<Self::Text, Error>;
}

/// Reads a description: an object, or the JSON text of one.
pub(crate) fn read<L: Leaves>(
    description: &Value,
    leaves: &mut L,
) -> Result<Format<L::Json, L::Text>, Error> {
    let parsed;
    let description = match description {
        Value::String(text) => {
            parsed = serde_json::from_str(text)
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
            "json_schema" => {
                let schema = map.get("json_schema").unwrap_or(&Value::Bool(true));
                self.json(schema)?
            }
            "regex" => Format::Text(
                self.leaves
                    .text(&Constraint::Regex(text(format, "pattern")?.to_owned()))?,
            ),
            "grammar" => {
                let text = text(format, "grammar")?.to_owned();
                Format::Text(self.leaves.text(&Constraint::Grammar {
                    notation: Notation::Gbnf,
                    text,
                })?)
            }
            "any_text" => Format::Any {
                excludes: texts(format, "excludes")?,
            },
            "sequence" => Format::Sequence(self.all(format, depth)?),
            "or" => Format::Or(self.all(format, depth)?),
            "tag" => Format::Tag(self.tag(format, depth)?),
            "triggered_tags" => {
                let tags = list(format, "tags")?.iter();
                let tags = tags
                    .map(|tag| self.tag(tag, depth))
                    .collect::<Result<_, _>>()?;
                triggered(format, tags)?
            }
            other => {
                // A type is one of xgrammar's words; a longer one is not quoted.
                let name: String = other.chars().take(40).collect();
                return Err(unsupported(&format!("the format `{name}`")));
            }
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
        Ok(Tag {
            begin: text(tag, "begin")?.to_owned(),
            content: Box::new(self.format(content, depth + 1)?),
            ends: match tag.get("end") {
                Some(Value::String(end)) => vec![end.clone()],
                _ => texts(tag, "end")?,
            },
        })
    }

    fn json(&mut self, schema: &Value) -> Result<FormatOf<L>, Error> {
        self.leaves.json(schema).map(Format::Json)
    }
}

fn triggered<J, T>(format: &Value, tags: Vec<Tag<J, T>>) -> Result<Format<J, T>, Error> {
    let flag = |name: &str| format.get(name).and_then(Value::as_bool).unwrap_or(false);
    let triggers = texts(format, "triggers")?;
    if triggers.is_empty() || triggers.iter().any(String::is_empty) {
        return Err(invalid(
            "`triggers` must be a list of texts that are not empty",
        ));
    }
    Ok(Format::Triggered(Triggered {
        triggers,
        tags,
        at_least_one: flag("at_least_one"),
        stop_after_first: flag("stop_after_first"),
        excludes: texts(format, "excludes")?,
    }))
}

/// Refuses a key that would change what the format means and is not understood here.
fn refuse_unknown(kind: &str, map: &Map<String, Value>) -> Result<(), Error> {
    const KNOWN: [&str; 15] = [
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
    ];
    for (key, value) in map {
        let is_known = match key.as_str() {
            "style" => value == "json",
            // Whitespace is not JSON's meaning.
            "max_whitespace_cnt" => true,
            // A schema says nothing of order: whatever the order, the value is checked.
            key => KNOWN.contains(&key) || value.is_null(),
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
