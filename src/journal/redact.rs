//! A body's text in, the same without what looks like a key out. It may be cut in the middle, so it
//! is read as text, not as JSON.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// What stands in a key's place.
const REDACTED: &str = "[redacted]";

/// A field that holds a secret by its name, and its value; the value may be cut off by the text's end. In the text of
/// a tool's arguments its quotes are escaped.
static FIELDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "authorization|proxy-authorization|cookie|set-cookie|api[_-]?key|x-api-key|x-goog-api-key|password|passwd|secret|client[_-]?secret|access[_-]?token|refresh[_-]?token|id[_-]?token|token|credentials?|private[_-]?key";
    let pattern = format!(
        r#"(?i)(\\*"(?:[a-z0-9]+[_-])*(?:{names})\\*"\s*:\s*\\*")((?:[^"\\]|\\[^"]|\\\\")*)"#
    );
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
    let text = fields.replace_all(text, |found: &Captures<'_>| {
        let name = found.get(1).map_or("", |name| name.as_str());
        let end = if found[2].ends_with('\\') { "\\" } else { "" };
        format!("{name}{REDACTED}{end}")
    });
    keys.replace_all(&text, REDACTED).into_owned()
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
            (r#"{"token":"cut in the mid"#, r#"{"token":"[redacted]"#),
            (
                r#"{"arguments":"{\"token\":\"abc\",\"city\":\"Rome\"}"}"#,
                r#"{"arguments":"{\"token\":\"[redacted]\",\"city\":\"Rome\"}"}"#,
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
    fn what_is_no_key_stays() {
        for text in [
            r#"{"messages":[{"role":"user","content":"skip the task-list"}]}"#,
            r#"{"max_tokens": 5, "tokens": "many", "monkey": "x"}"#,
            r#"{"properties":{"password":{"type":"string"}}}"#,
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
