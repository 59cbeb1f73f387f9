//! TOML tables in, typed values out, every fault noted with its place.
//!
//! Read by hand rather than through serde: serde stops at the first fault, and a person who mends
//! a rule file wants to see all of them.

use super::fault::{RuleFault, Source};
use super::version;
use super::word::{Word, nearest};
use std::ops;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A span of bytes in a file.
pub(crate) type Span = ops::Range<usize>;

/// One file under reading: its text, and what was found wrong so far.
#[derive(Debug)]
pub(crate) struct File<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) faults: Vec<RuleFault>,
    /// Groups of entries of which one is faulty: what is missing there cannot be told.
    pub(crate) broken: Vec<&'static str>,
}

impl<'a> File<'a> {
    pub(crate) const fn new(source: Source<'a>) -> Self {
        Self {
            source,
            faults: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// The file as TOML. Where it is none there are faults alone: what can be recovered of a broken file would only
    /// bring faults that are none.
    pub(crate) fn document(&mut self) -> Option<Spanned<DeTable<'a>>> {
        let (document, errors) = DeTable::parse_recoverable(self.source.text);
        for error in &errors {
            let at = error.span().unwrap_or(0..0);
            let remedy = "the file is not TOML: https://toml.io";
            self.fault(&at, error.message(), remedy);
        }
        errors.is_empty().then_some(document)
    }

    /// Notes a fault.
    pub(crate) fn fault(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.faults.push(self.source.fault(span, message, remedy));
    }
}

/// A table whose keys are taken one by one; what is left over is unknown.
#[derive(Debug)]
pub(crate) struct Keys<'t, 'i> {
    /// Where the table stands.
    pub(crate) span: Span,
    table: &'t DeTable<'i>,
    asked: Vec<&'static str>,
}

impl<'t, 'i> Keys<'t, 'i> {
    pub(crate) const fn new(span: Span, table: &'t DeTable<'i>) -> Self {
        Self {
            span,
            table,
            asked: Vec::new(),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'i>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// A string, if the key is there.
    pub(crate) fn string(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
    ) -> Option<Spanned<String>> {
        let value = self.take(key)?;
        text(file, value)
    }

    /// A string that must be there and say something.
    pub(crate) fn required(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
        remedy: &str,
    ) -> Option<Spanned<String>> {
        let Some(value) = self.take(key) else {
            file.fault(&self.span, format!("`{key}` is missing"), remedy);
            return None;
        };
        let value = text(file, value)?;
        if value.get_ref().trim().is_empty() {
            file.fault(&value.span(), format!("`{key}` is empty"), remedy);
            return None;
        }
        Some(value)
    }

    /// Whether the key is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Strings; none where the key is not there.
    pub(crate) fn strings(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
    ) -> Vec<Spanned<String>> {
        let Some(value) = self.take(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = value.get_ref() else {
            wrong_type(file, value, "an array of strings");
            return Vec::new();
        };
        items.iter().filter_map(|item| text(file, item)).collect()
    }

    /// Whole numbers up to 65535; none where the key is not there.
    pub(crate) fn numbers(&mut self, file: &mut File<'_>, key: &'static str) -> Vec<u16> {
        let Some(value) = self.take(key) else {
            return Vec::new();
        };
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        items
            .into_iter()
            .filter_map(|item| number(file, item))
            .collect()
    }

    /// One whole number up to 65535 that must be there.
    pub(crate) fn number(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
        remedy: &str,
    ) -> Option<u16> {
        let Some(value) = self.take(key) else {
            file.fault(&self.span, format!("`{key}` is missing"), remedy);
            return None;
        };
        number(file, value)
    }

    /// A whole number, if the key is there.
    pub(crate) fn count(&mut self, file: &mut File<'_>, key: &'static str) -> Option<u64> {
        let value = self.take(key)?;
        let count = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        if count.is_none() {
            wrong_type(file, value, "a whole number, not below 0");
        }
        count
    }

    /// A truth value, false where the key is not there.
    pub(crate) fn boolean(&mut self, file: &mut File<'_>, key: &'static str) -> bool {
        let Some(value) = self.take(key) else {
            return false;
        };
        let DeValue::Boolean(boolean) = value.get_ref() else {
            wrong_type(file, value, "true or false");
            return false;
        };
        *boolean
    }

    /// A word of a closed set, if the key is there.
    pub(crate) fn word<W: Word>(&mut self, file: &mut File<'_>, key: &'static str) -> Option<W> {
        let value = self.string(file, key)?;
        let known = W::WORDS.iter().find(|(word, _)| word == value.get_ref());
        if known.is_none() {
            let words = W::WORDS.iter().map(|(word, _)| *word);
            unknown(file, &value, W::NOUN, words);
        }
        known.map(|(_, value)| *value)
    }

    /// Words of a closed set; none where the key is not there.
    pub(crate) fn words<W: Word>(&mut self, file: &mut File<'_>, key: &'static str) -> Vec<W> {
        let mut known = Vec::new();
        for value in self.strings(file, key) {
            match W::WORDS.iter().find(|(word, _)| word == value.get_ref()) {
                Some((_, word)) => known.push(*word),
                None => {
                    let words = W::WORDS.iter().map(|(word, _)| *word);
                    unknown(file, &value, W::NOUN, words);
                }
            }
        }
        known
    }

    /// A word that must be there.
    pub(crate) fn required_word<W: Word>(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
    ) -> Option<W> {
        if !self.table.contains_key(key) {
            let words: Vec<_> = W::WORDS.iter().map(|(word, _)| *word).collect();
            file.fault(
                &self.span,
                format!("`{key}` is missing"),
                format!("one of: {}", words.join(", ")),
            );
        }
        self.word(file, key)
    }

    /// A range of versions, all of them where the key is not there.
    pub(crate) fn versions(&mut self, file: &mut File<'_>) -> version::Range {
        let Some(value) = self.string(file, "versions") else {
            return version::Range::default();
        };
        version::Range::parse(value.get_ref()).unwrap_or_else(|wrong| {
            file.fault(
                &value.span(),
                wrong,
                "for example \">=0.11.0, <0.12.0\", or \"*\"",
            );
            version::Range::default()
        })
    }

    /// A table, if the key is there.
    pub(crate) fn table(&mut self, file: &mut File<'_>, key: &'static str) -> Option<Keys<'t, 'i>> {
        let value = self.take(key)?;
        let DeValue::Table(table) = value.get_ref() else {
            wrong_type(file, value, "a table");
            return None;
        };
        Some(Self::new(value.span(), table))
    }

    /// An array of tables; none where the key is not there.
    pub(crate) fn tables(&mut self, file: &mut File<'_>, key: &'static str) -> Vec<Keys<'t, 'i>> {
        let Some(value) = self.take(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = value.get_ref() else {
            wrong_type(file, value, "an array of tables");
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::Table(table) => tables.push(Self::new(item.span(), table)),
                _ => wrong_type(file, item, "a table"),
            }
        }
        tables
    }

    /// Every key with a string, in the order of the file, if the key is there: a table whose keys
    /// are not of the vocabulary.
    pub(crate) fn pairs(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
    ) -> Vec<(String, Spanned<String>)> {
        let Some(table) = self.table(file, key) else {
            return Vec::new();
        };
        table
            .entries()
            .into_iter()
            .filter_map(|(name, value)| {
                Some((name.get_ref().clone().into_owned(), text(file, value)?))
            })
            .collect()
    }

    /// Every key, in the order of the file.
    pub(crate) fn entries(
        &self,
    ) -> Vec<(
        &'t Spanned<toml::de::DeString<'i>>,
        &'t Spanned<DeValue<'i>>,
    )> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries
    }

    /// Notes every key that nobody asked for.
    pub(crate) fn finish(self, file: &mut File<'_>) {
        for (name, _) in self.entries() {
            if self
                .asked
                .iter()
                .all(|known| *known != name.get_ref().as_ref())
            {
                let name = Spanned::new(name.span(), name.get_ref().clone().into_owned());
                unknown(file, &name, "key", self.asked.iter().copied());
            }
        }
    }
}

/// Notes a word that is not of its set.
pub(crate) fn unknown<'w>(
    file: &mut File<'_>,
    wrong: &Spanned<String>,
    noun: &str,
    words: impl Iterator<Item = &'w str> + Clone,
) {
    let remedy = nearest(wrong.get_ref(), words.clone()).map_or_else(
        || format!("one of: {}", words.collect::<Vec<_>>().join(", ")),
        |word| format!("did you mean `{word}`?"),
    );
    file.fault(
        &wrong.span(),
        format!("unknown {noun} `{}`", wrong.get_ref()),
        remedy,
    );
}

fn text(file: &mut File<'_>, value: &Spanned<DeValue<'_>>) -> Option<Spanned<String>> {
    let DeValue::String(string) = value.get_ref() else {
        wrong_type(file, value, "a string");
        return None;
    };
    Some(Spanned::new(value.span(), string.clone().into_owned()))
}

fn number(file: &mut File<'_>, value: &Spanned<DeValue<'_>>) -> Option<u16> {
    let number = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        _ => None,
    };
    if number.is_none() {
        wrong_type(file, value, "a whole number from 0 to 65535");
    }
    number
}

fn wrong_type(file: &mut File<'_>, value: &Spanned<DeValue<'_>>, wanted: &str) {
    let got = match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    file.fault(
        &value.span(),
        format!("this is {got}"),
        format!("write {wanted}"),
    );
}

/// A template's JSON, and where each of its placeholders stands.
#[derive(Debug)]
pub(crate) struct RawTemplate {
    pub(crate) span: Span,
    pub(crate) json: serde_json::Map<String, serde_json::Value>,
    pub(crate) placeholders: Vec<Spanned<String>>,
}

impl Keys<'_, '_> {
    /// A template, if the key is there.
    pub(crate) fn template(
        &mut self,
        file: &mut File<'_>,
        key: &'static str,
    ) -> Option<RawTemplate> {
        let table = self.table(file, key)?;
        let mut placeholders = Vec::new();
        let json = object(file, &table, &mut placeholders);
        Some(RawTemplate {
            span: table.span,
            json,
            placeholders,
        })
    }
}

fn object(
    file: &mut File<'_>,
    table: &Keys<'_, '_>,
    placeholders: &mut Vec<Spanned<String>>,
) -> serde_json::Map<String, serde_json::Value> {
    table
        .entries()
        .into_iter()
        .map(|(name, value)| {
            (
                name.get_ref().clone().into_owned(),
                json(file, value, placeholders),
            )
        })
        .collect()
}

fn json(
    file: &mut File<'_>,
    value: &Spanned<DeValue<'_>>,
    placeholders: &mut Vec<Spanned<String>>,
) -> serde_json::Value {
    use serde_json::Value;
    match value.get_ref() {
        DeValue::String(string) => {
            if string.starts_with('$') {
                placeholders.push(Spanned::new(value.span(), string.clone().into_owned()));
            }
            Value::from(string.as_ref())
        }
        DeValue::Boolean(boolean) => Value::from(*boolean),
        DeValue::Integer(number) if number.as_str().parse::<i64>().is_ok() => {
            Value::from(number.as_str().parse::<i64>().unwrap_or_default())
        }
        DeValue::Array(items) => items
            .iter()
            .map(|item| json(file, item, placeholders))
            .collect(),
        DeValue::Table(table) => {
            Value::Object(object(file, &Keys::new(value.span(), table), placeholders))
        }
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
            wrong_type(
                file,
                value,
                "a string, a decimal whole number, true, false, an array or a table",
            );
            Value::Null
        }
    }
}
