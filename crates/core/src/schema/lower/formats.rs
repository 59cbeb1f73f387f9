//! Formats that a server does not know: `format` comes in; a `pattern` of the same texts goes out,
//! where there is one.

use super::{Lowering, Why};
use isogloss_validate::Draft;
use serde_json::{Map, Value, json};

/// What JSON Schema defines. Any other format is a note: it asserts nothing.
const DEFINED: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Patterns of formats, and whether each says all of it. Those that do not are wider.
const PATTERNS: [(&str, &str, bool); 8] = [
    ("json-pointer", "^(?:/(?:[^/~]|~[01])*)*$", true),
    (
        "relative-json-pointer",
        "^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^/~]|~[01])*)*)$",
        true,
    ),
    (
        "ipv4",
        r"^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$",
        true,
    ),
    (
        "uuid",
        "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        true,
    ),
    // How long a month is, and when seconds leap, no short pattern says.
    (
        "date",
        "^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$",
        false,
    ),
    (
        "time",
        r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
        false,
    ),
    (
        "date-time",
        r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
        false,
    ),
    (
        "duration",
        "^P(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?)$",
        false,
    ),
];

/// Whether a format says anything of values.
pub(in crate::schema) fn asserts(format: &Value) -> bool {
    format.as_str().is_some_and(|name| DEFINED.contains(&name))
}

/// A pattern that all texts of the format match.
pub(super) fn pattern_of(format: &Value) -> Option<&'static str> {
    let known = PATTERNS.iter().find(|(name, ..)| format == *name);
    known.map(|(_, pattern, _)| *pattern)
}

impl Lowering<'_> {
    /// A format that the server does not know, as a pattern; or gone, where it says nothing and
    /// would be refused.
    pub(super) fn format(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let format = map.get("format")?;
        if !self.profile.lacks_format("format", format) && !self.profile.ignores("format") {
            return None;
        }
        if !asserts(format) {
            let is_refused = self.profile.refuses("format", format);
            return is_refused.then(|| {
                let mut new = map.clone();
                new.shift_remove("format");
                new
            });
        }
        let takes = |keyword: &str| {
            !self.profile.ignores(keyword) && !self.profile.refuses(keyword, &Value::Null)
        };
        // Older drafts do not know the format: there it asserts nothing.
        let is_defined = self
            .draft
            .is_none_or(|draft| matches!(draft, Draft::Draft201909 | Draft::Draft202012));
        if map.contains_key("pattern") || !takes("pattern") || !is_defined {
            return None;
        }
        let &(_, pattern, is_exact) = PATTERNS.iter().find(|(name, ..)| format == *name)?;
        if !is_exact {
            self.lose("format", Why::Inexact);
        }
        let renamed = map.iter().map(|(keyword, value)| match keyword.as_str() {
            "format" => ("pattern".to_owned(), json!(pattern)),
            _ => (keyword.clone(), value.clone()),
        });
        Some(renamed.collect())
    }
}
