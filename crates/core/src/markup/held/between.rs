//! Parameters between tokens, each by itself: a string as it stands, all else as JSON.
//!
//! What is a string is said by the tool's schema alone, or by the parameter's own tokens as well.

use super::{MAX_DEPTH, constant, either, in_order, simple};
use crate::markup::Tools;
use crate::markup::format::{Parameter, ParameterValue};
use crate::markup::pattern::{Holes, Look, Match, anything};
use crate::markup::typed::{self, Taken, reference};
use serde_json::{Value, json};

/// Where the schemas stand that others refer to.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// In a parameter's beginning: the type of its value.
const TYPE: &str = "{type}";

/// The types of JSON's values.
const KINDS: [&str; 6] = ["string", "number", "boolean", "null", "object", "array"];

/// How it is told whether a value is a string.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kinds<'f> {
    /// The schema says it.
    BySchema(&'f Parameter),
    /// A string stands between other tokens than JSON.
    ByTokens {
        text: &'f Parameter,
        json: &'f Parameter,
    },
}

impl<'f> Kinds<'f> {
    /// `None` where parameters say it otherwise.
    pub(super) fn of(parameters: &'f [Parameter]) -> Option<Self> {
        let is_closed = |parameter: &Parameter| !parameter.end.is_empty();
        let is_typed = |parameter: &Parameter| parameter.begin.has(TYPE);
        match parameters {
            [only] if only.value == ParameterValue::Schema => {
                let is_plain = only.inside.is_none() || only.around.is_empty();
                (is_plain && is_closed(only) && !is_typed(only)).then_some(Self::BySchema(only))
            }
            [text, json]
                if text.value == ParameterValue::Text && json.value == ParameterValue::Json =>
            {
                let is_plain = text.inside.is_none() && json.inside.is_none();
                let are_closed = is_closed(text) && is_closed(json);
                (is_plain && are_closed && !is_typed(text)).then_some(Self::ByTokens { text, json })
            }
            _ => None,
        }
    }
}

/// One tool's parameters.
pub(super) struct Between<'s> {
    pub(super) kinds: Kinds<'s>,
    /// What the calls are read by.
    pub(super) schema: &'s Value,
    /// The same as the server is sent it.
    pub(super) sent: &'s Value,
    /// What no text has in it, beside what would end the parameter.
    pub(super) stops: Vec<&'s str>,
}

impl Between<'_> {
    /// All arguments.
    pub(super) fn arguments(&self) -> Option<Value> {
        in_order(self.schema, &|key, property| match self.kinds {
            Kinds::BySchema(parameter) => {
                let content = self.content(parameter, key, property)?;
                Self::tag(parameter, key, None, content)
            }
            Kinds::ByTokens { text, json } => self.apart(text, json, key, property),
        })
    }

    /// A parameter, with its tokens; `kind` is the type of its value. `None` where its name is not read as it is written.
    fn tag(parameter: &Parameter, key: &str, kind: Option<&str>, content: Value) -> Option<Value> {
        let holes = Holes {
            key: Some(key),
            kind,
            ..Holes::default()
        };
        let begin = parameter.begin.fill(&holes)?;
        let look = Look {
            tools: &Tools::default(),
            whole: true,
            then: &anything,
        };
        let found = parameter.begin.find(&begin, &look);
        let is_same = matches!(&found, Match::Yes((end, found)) if *end == begin.len() && found.key == Some(key));
        (is_same && !key.is_empty()).then_some(())?;
        let Parameter {
            around, end, after, ..
        } = parameter;
        let begin = begin + around;
        let end = format!("{around}{end}{after}");
        Some(json!({"type": "tag", "begin": begin, "content": content, "end": end}))
    }

    /// What stands between a parameter's tokens, where the schema says whether it is a string.
    fn content(&self, parameter: &Parameter, key: &str, property: &Value) -> Option<Value> {
        let taken = typed::taken(property, self.schema)?;
        if taken == Taken::Json {
            return self.json(self.sent.get("properties")?.get(key)?);
        }
        if let Some(values) = simple::values(property, self.schema, 0) {
            return self.one_of(parameter, key, &values);
        }
        let is_any = match taken {
            Taken::Text => simple::is_free_text(property, self.schema, 0),
            _ => simple::is_free(property, self.schema, 0),
        };
        is_any.then(|| self.text(parameter))
    }

    /// A parameter that stands between the tokens of a text or those of JSON.
    fn apart(
        &self,
        text: &Parameter,
        json: &Parameter,
        key: &str,
        property: &Value,
    ) -> Option<Value> {
        let taken = typed::taken(property, self.schema)?;
        let sent = self.sent.get("properties")?.get(key)?;
        let string = match taken {
            Taken::Json => None,
            _ => self.string(text, key, property),
        };
        let has_kind = json.begin.has(TYPE);
        if has_kind && taken != Taken::Json && string.is_none() {
            return None;
        }
        let mut ways = Vec::new();
        if let Some(content) = string {
            ways.push(Self::tag(text, key, None, content)?);
        }
        if has_kind {
            let own = self.by_kind(sent, 0)?.into_iter();
            for (kind, schema) in own.filter(|(kind, _)| *kind != "string") {
                ways.push(Self::tag(json, key, Some(kind), self.json(&schema)?)?);
            }
        } else if taken != Taken::Text || ways.is_empty() {
            // A string of which more is said is one in JSON.
            ways.push(Self::tag(json, key, None, self.json(sent)?)?);
        }
        either(ways)
    }

    /// The strings that a property may be, as they stand; `None` where more is said of them than which they are.
    fn string(&self, parameter: &Parameter, key: &str, property: &Value) -> Option<Value> {
        if let Some(values) = simple::values(property, self.schema, 0) {
            let strings = values.into_iter().filter(|value| value.is_string());
            let strings: Vec<&Value> = strings.collect();
            return self.one_of(parameter, key, &strings);
        }
        let is_free = simple::is_free_text(property, self.schema, 0)
            || simple::is_free(property, self.schema, 0);
        is_free.then(|| self.text(parameter))
    }

    /// A schema, of those that the server is sent, for each type that its values may have. `None` where a part of it lets several
    /// types be and says more of them.
    fn by_kind(&self, schema: &Value, depth: usize) -> Option<Vec<(&'static str, Value)>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let own = simple::words(schema)?;
        match own.as_slice() {
            [] => {
                let own = |kind| (kind, json!({"type": kind}));
                Some(KINDS.map(own).into())
            }
            [("$ref", _)] => self.by_kind(reference(schema, self.sent)?, depth + 1),
            [("anyOf", Value::Array(branches))] => {
                let mut all = Vec::new();
                for branch in branches {
                    all.extend(self.by_kind(branch, depth + 1)?);
                }
                Some(all)
            }
            [("type", Value::Array(kinds))] => {
                let kinds = kinds.iter().map(|kind| {
                    let own = json!({"type": kind});
                    Some((typed::only_kind(&own, self.sent)?, own))
                });
                kinds.collect()
            }
            [("enum", Value::Array(values))] => {
                let values = values.iter();
                let one = |value: &Value| {
                    let own = json!({"const": value});
                    Some((typed::only_kind(&own, self.sent)?, own))
                };
                values.map(one).collect()
            }
            _ => Some(vec![(typed::only_kind(schema, self.sent)?, schema.clone())]),
        }
    }

    /// JSON of a schema that the server is sent.
    fn json(&self, schema: &Value) -> Option<Value> {
        refers_to_definitions(schema).then_some(())?;
        let mut own = schema.clone();
        let needed = refers(schema).then_some(DEFINITIONS);
        for word in needed.into_iter().flatten() {
            if let (Some(words), Some(all)) = (own.as_object_mut(), self.sent.get(word)) {
                refers_to_definitions(all).then_some(())?;
                words.insert(word.to_owned(), all.clone());
            }
        }
        Some(json!({"type": "json_schema", "json_schema": own}))
    }

    /// One of these values, if each is read as it is written.
    fn one_of(&self, parameter: &Parameter, key: &str, values: &[&Value]) -> Option<Value> {
        let read = |text: &str| match parameter.value {
            ParameterValue::Text => typed::as_text(text, Some(self.schema), key),
            _ => typed::by_schema(text, Some(self.schema), key),
        };
        let plain = |values: &[&Value]| simple::one_of(values, &self.tokens(parameter), &read);
        let inside = parameter.inside.as_ref();
        let Some((open, close)) = inside.filter(|_| self.stops.is_empty()) else {
            return plain(values);
        };
        let mut ways = Vec::new();
        for value in values {
            let text = value.as_str().filter(|text| !text.contains(close));
            let inside = text.map(|text| constant(&format!("{open}{text}{close}")));
            let own: Vec<Value> = plain(&[value]).into_iter().chain(inside).collect();
            ways.push(either(own)?);
        }
        either(ways)
    }

    /// What a text may not hold: where its reader would see its end, another parameter, or a text in tokens of its own.
    fn tokens<'p>(&'p self, parameter: &'p Parameter) -> Vec<&'p str> {
        let begin = parameter.begin.first_literal().unwrap_or_default();
        let open = parameter.inside.as_ref().map(|(open, _)| open.as_str());
        let own = [parameter.end.as_str(), begin].into_iter().chain(open);
        own.chain(self.stops.iter().copied()).collect()
    }

    /// Text that ends where the parameter does, as its reader sees it.
    fn text(&self, parameter: &Parameter) -> Value {
        let plain = json!({"type": "any_text", "excludes": self.tokens(parameter)});
        match &parameter.inside {
            Some((open, close)) if self.stops.is_empty() => {
                let inside = json!({"type": "any_text", "excludes": [close]});
                let inside = json!({"type": "tag", "begin": open, "content": inside, "end": close});
                json!({"type": "or", "elements": [plain, inside]})
            }
            _ => plain,
        }
    }
}

/// Whether a schema refers to another.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(all) => all.iter().any(refers),
        Value::Object(words) => words.contains_key("$ref") || words.values().any(refers),
        _ => false,
    }
}

/// Whether all that a schema refers to goes along with it: the definitions of the whole.
fn refers_to_definitions(schema: &Value) -> bool {
    match schema {
        Value::Array(all) => all.iter().all(refers_to_definitions),
        Value::Object(words) => words
            .iter()
            .all(|(word, value)| match (word.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    let is_in = |name: &&str| target.starts_with(&format!("#/{name}/"));
                    DEFINITIONS.iter().any(is_in)
                }
                ("$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef", _) => {
                    false
                }
                (_, value) => refers_to_definitions(value),
            }),
        _ => true,
    }
}
