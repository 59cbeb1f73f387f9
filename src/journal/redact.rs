//! A body's text in, the same without what looks like a key out. It may be cut in the middle, so it
//! is read as text, not as JSON.

use regex::Regex;
use std::sync::LazyLock;

/// What stands in a key's place.
const REDACTED: &str = "[redacted]";

/// A field that holds a secret by its name, up to its value. In a text that holds JSON, as a tool's arguments do, quotes
/// are escaped, and in one within that once more.
static FIELDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "authorization|cookie|api[_-]?key|password|passwd|secret|(?:access|refresh|auth|session|id|bearer)[_-]?token|credentials?|private[_-]?key";
    let pattern = format!(r#"(?i)"(?:[a-z0-9]+[_-])*(?:{names})\\*"\s*:\s*(\\*)""#);
    Regex::new(&pattern).ok()
});

/// What is a key by its looks, whatever it stands in.
static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:bearer\s+[a-z0-9._~+/=-]{8,}|(?:sk|pk|rk|isg|hf|ghp|gho|xox[abp]|AIza)[-_]?[a-z0-9][a-z0-9_-]{15,})",
    )
    .ok()
});

/// The text without them.
#[must_use]
pub fn redacted(text: &str) -> String {
    let (Some(fields), Some(keys)) = (&*FIELDS, &*KEYS) else {
        // Patterns that stand here are good; were they not, nothing would be shown.
        return REDACTED.to_owned();
    };
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = fields.captures(rest) {
        let begin = found.get(0).map_or(rest.len(), |all| all.end());
        let (before, value) = rest.split_at(begin);
        let escapes = found.get(1).map_or(0, |escapes| escapes.len());
        shown.push_str(before);
        shown.push_str(REDACTED);
        rest = value.get(value_end(value, escapes)..).unwrap_or_default();
    }
    shown.push_str(rest);
    keys.replace_all(&shown, REDACTED).into_owned()
}

/// Where a string ends whose opening quote stands behind so many backslashes: at a quote behind as many, and behind
/// twice as many and two more for each backslash that is the string's own.
fn value_end(value: &str, escapes: usize) -> usize {
    let mut run = 0;
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b'\\' => run += 1,
            b'"' if run % (2 * (escapes + 1)) == escapes => return at - escapes,
            _ => run = 0,
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn fields_that_hold_keys_and_what_looks_like_one_do_not_show() {
        for (text, shown) in [
            (
                r#"{"api_key": "abc", "a": 1}"#,
                r#"{"api_key": "[redacted]", "a": 1}"#,
            ),
            (
                r#"{"headers": {"Authorization":"Basic x y"}}"#,
                r#"{"headers": {"Authorization":"[redacted]"}}"#,
            ),
            (
                r#"{"db_password":"a\"b","c":"d"}"#,
                r#"{"db_password":"[redacted]","c":"d"}"#,
            ),
            (
                r#"{"access_token":"cut in the mid"#,
                r#"{"access_token":"[redacted]"#,
            ),
            (
                r#"{"arguments":"{\"access_token\":\"abc\",\"city\":\"Rome\"}"}"#,
                r#"{"arguments":"{\"access_token\":\"[redacted]\",\"city\":\"Rome\"}"}"#,
            ),
            (
                r#""my key is sk-proj-abcdefghijklmnop1234""#,
                r#""my key is [redacted]""#,
            ),
            ("Bearer abcdefgh1234", "[redacted]"),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }

    #[test]
    fn a_string_ends_where_its_own_quote_stands_however_deep_it_is() {
        let deep = r#"{"a":"{\"b\":\"{\\\"api_key\\\":\\\"a\\\\\\\"b\\\",\\\"c\\\":1}\"}"}"#;
        let shown = r#"{"a":"{\"b\":\"{\\\"api_key\\\":\\\"[redacted]\\\",\\\"c\\\":1}\"}"}"#;
        assert_eq!(redacted(deep), shown);
        let ends_in_backslash = r#"{"secret":"x\\","c":"d"}"#;
        assert_eq!(
            redacted(ends_in_backslash),
            r#"{"secret":"[redacted]","c":"d"}"#
        );
    }

    #[test]
    fn what_is_no_key_stays() {
        for text in [
            r#"{"messages":[{"role":"user","content":"skip the task-list"}]}"#,
            r#"{"max_tokens": 5, "tokens": "many", "monkey": "x"}"#,
            r#"{"logprobs":{"content":[{"token":"Hel","logprob":-1}]}}"#,
            r#"{"properties":{"password":{"type":"string"}}}"#,
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
