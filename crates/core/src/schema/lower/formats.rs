//! Formats that a server does not know: `format` comes in; a `pattern` of the same texts goes out,
//! where there is one.

use super::{Lowering, Why};
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

/// What a pattern of a format says of its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// All of it.
    Exactly,
    /// Not all: other texts match too.
    Wider,
    /// More than that: rare ones of its texts do not match.
    Narrower,
}

/// Patterns of formats, each of which reads a text in one way alone.
const PATTERNS: [(&str, &str, Says); 13] = [
    ("json-pointer", "^(?:/(?:[^/~]|~[01])*)*$", Says::Exactly),
    (
        "relative-json-pointer",
        "^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^/~]|~[01])*)*)$",
        Says::Exactly,
    ),
    (
        "ipv4",
        r"^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$",
        Says::Exactly,
    ),
    (
        "uuid",
        "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        Says::Exactly,
    ),
    // How long a month is, and when seconds leap, no short pattern says.
    (
        "date",
        "^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$",
        Says::Wider,
    ),
    (
        "time",
        r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
        Says::Wider,
    ),
    (
        "date-time",
        r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
        Says::Wider,
    ),
    (
        "duration",
        "^P(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?)$",
        Says::Wider,
    ),
    // Without names in quotes and hosts in brackets, which nobody has. Lengths are not said.
    (
        "email",
        r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*(?:\.[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*)*$",
        Says::Narrower,
    ),
    (
        "hostname",
        r"^[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*(?:\.[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*)*$",
        Says::Wider,
    ),
    // But for those that end in an IPv4 address.
    (
        "ipv6",
        "^(?:(?:[0-9A-Fa-f]{1,4}:){7}(?:[0-9A-Fa-f]{1,4}|:)|::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?|[0-9A-Fa-f]{1,4}::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})?|(?:[0-9A-Fa-f]{1,4}:){2}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,4})?|(?:[0-9A-Fa-f]{1,4}:){3}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,3})?|(?:[0-9A-Fa-f]{1,4}:){4}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,2})?|(?:[0-9A-Fa-f]{1,4}:){5}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,1})?|(?:[0-9A-Fa-f]{1,4}:){6}:(?:[0-9A-Fa-f]{1,4})?)$",
        Says::Narrower,
    ),
    // A scheme, and what a URI is written with, wherever that may stand in it.
    (
        "uri",
        r"^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$",
        Says::Wider,
    ),
    (
        "uri-reference",
        r"^(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$",
        Says::Wider,
    ),
];

/// Whether a format says anything of values, whatever the draft.
#[must_use]
pub fn asserts(format: &Value) -> bool {
    format.as_str().is_some_and(|name| DEFINED.contains(&name))
}

/// A pattern that all texts of the format match.
pub(super) fn pattern_of(format: &Value) -> Option<&'static str> {
    let known = PATTERNS
        .iter()
        .find(|(name, _, says)| format == *name && *says != Says::Narrower);
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
        if map.contains_key("pattern") || !takes("pattern") {
            return None;
        }
        let &(_, pattern, says) = PATTERNS.iter().find(|(name, ..)| format == *name)?;
        match says {
            Says::Exactly => {}
            Says::Wider => self.lose("format", Why::Inexact),
            Says::Narrower => self.lose("format", Why::Narrower),
        }
        let renamed = map.iter().map(|(keyword, value)| match keyword.as_str() {
            "format" => ("pattern".to_owned(), json!(pattern)),
            _ => (keyword.clone(), value.clone()),
        });
        Some(renamed.collect())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;
    use crate::schema::Validator;

    /// Texts of each format, and texts that are of none.
    const TEXTS: [&str; 36] = [
        "ada@example.org",
        "ada.lovelace+tag@mail.example-site.co.uk",
        "root@localhost",
        "\"a b\"@example.org",
        "a@[127.0.0.1]",
        ".a@example.org",
        "a..b@example.org",
        "a@-b.org",
        "a@b-.org",
        "a@b..org",
        "@example.org",
        "n/a",
        "",
        "unknown",
        "a b",
        "example.org",
        "a--b.org",
        "-a.org",
        "a.org.",
        "a_b.org",
        "https://example.org/a?b=c#d",
        "https://[::1]:80/%20",
        "urn:isbn:1",
        "mailto:ada@example.org",
        "//example.org/a",
        "../a#b",
        "http://a b",
        "http://a/%zz",
        "::",
        "::1",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:8",
        "::ffff:192.168.0.1",
        "1:2:3",
        "12345::",
    ];

    #[test]
    fn a_pattern_says_of_a_formats_texts_what_it_claims() {
        for (format, pattern, says) in PATTERNS {
            let of = |schema: Value| Validator::compile(&schema).unwrap();
            let is_of_format = of(json!({"type": "string", "format": format}));
            let matches = of(json!({"type": "string", "pattern": pattern}));
            for text in TEXTS {
                let value = json!(text);
                let (is, does) = (
                    is_of_format.validate(&value).is_ok(),
                    matches.validate(&value).is_ok(),
                );
                let is_true = match says {
                    Says::Exactly => is == does,
                    Says::Wider => does || !is,
                    Says::Narrower => is || !does,
                };
                assert!(is_true, "{format} {text:?}: {is}, its pattern {does}");
            }
        }
    }
}
