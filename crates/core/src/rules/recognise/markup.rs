//! Where a server's answers tell in which markup its model writes calls.

use super::super::{MarkupFrom, RuleSet};
use crate::datafile::{File, Keys, Word};
use serde_json::Value;

/// Where the server tells in which markup its model writes; looked at where the path was asked anyway, or asked for it.
#[derive(Debug, Clone)]
pub(super) struct MarkupAt {
    pub(super) get: String,
    at: String,
    pub(super) says: MarkupWord,
    /// Whether the path is asked for this alone.
    pub(super) is_asked: bool,
    /// Of [`MarkupWord::Parser`]: the server's names for parsers, and the format that each reads.
    pub(super) formats: Vec<(String, String)>,
}

/// What stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum MarkupWord {
    /// The name of the parser that the server was launched with.
    Parser,
    /// A chat template.
    Template,
    /// A model's name.
    Model,
}

impl MarkupWord {
    pub(super) const fn from(self) -> MarkupFrom {
        match self {
            Self::Parser => MarkupFrom::Server,
            Self::Template => MarkupFrom::Template,
            Self::Model => MarkupFrom::Name,
        }
    }
}

impl Word for MarkupWord {
    const NOUN: &'static str = "thing that tells of a model's markup";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("parser", Self::Parser),
        ("template", Self::Template),
        ("model", Self::Model),
    ];
}

impl MarkupAt {
    /// The format that an answer tells. Of a list of models all must tell the same: a request may mean any.
    pub(super) fn format(&self, body: &Value, set: &RuleSet) -> Option<String> {
        let list = self
            .at
            .split_once("/0/")
            .filter(|_| self.says == MarkupWord::Model);
        let Some((list, inner)) = list else {
            return self.told(body.pointer(&self.at)?.as_str()?, set);
        };
        let mut told = body.pointer(list)?.as_array()?.iter().map(|item| {
            let inner = item.pointer(&format!("/{inner}"));
            self.told(inner?.as_str()?, set)
        });
        let first = told.next()??;
        told.all(|other| other.as_ref() == Some(&first))
            .then_some(first)
    }

    fn told(&self, text: &str, set: &RuleSet) -> Option<String> {
        let formats = set.formats();
        let known = match self.says {
            MarkupWord::Parser => {
                let mut named = self.formats.iter();
                return named
                    .find(|(parser, _)| parser == text)
                    .map(|(_, format)| format.clone());
            }
            MarkupWord::Template => formats.of_template(text),
            MarkupWord::Model => formats.of_model(text),
        };
        known.map(|format| format.name().to_owned())
    }
}

/// Reads one `[[recognise.markup]]`.
pub(super) fn read(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Option<MarkupAt> {
    let get = keys.required(file, "get", "the path that tells it");
    let at = keys.required(file, "at", "a JSON Pointer into its answer");
    let says = keys.required_word::<MarkupWord>(file, "says");
    let is_asked = keys.boolean(file, "ask");
    let formats = keys.pairs(file, "formats");
    let is_parser = says == Some(MarkupWord::Parser);
    if says.is_some() && is_parser == formats.is_empty() {
        let remedy = "`formats` names the format of each `parser`, and stands with nothing else";
        file.fault(
            &keys.span,
            "`formats` and `says` do not go together",
            remedy,
        );
    }
    keys.finish(file);
    let formats = formats.into_iter();
    Some(MarkupAt {
        get: get?.into_inner(),
        at: at?.into_inner(),
        says: says?,
        is_asked,
        formats: formats
            .map(|(parser, format)| (parser, format.into_inner()))
            .collect(),
    })
}
