//! A body's text in, the same without what looks like a key out. It may be cut in the middle, so it
//! is read as text, not as JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// What stands in a key's place.
const REDACTED: &str = "[redacted]";

/// A field that holds a secret by its name, up to its value. In a text that holds JSON, as a tool's arguments do, quotes
/// are escaped, and in one within that once more.
static FIELDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let tokens = "access|refresh|auth|session|id|bearer|api|hf|hugging[_-]?face|github|gitlab|slack|bot|oauth|jwt|csrf|vault|deploy|service|security|secret|personal";
    let keys = "api|private|access|secret|signing|encryption|master|account";
    let names = format!(
        "authorization|cookie|password|passphrase|passwd|secret|auth|bearer|credentials?|connection[_-]?string|(?:{keys})[_-]?key|(?:{tokens})[_-]?token"
    );
    // As JavaScript and Java write them: clientSecret, openaiApiKey.
    let camel = "Authorization|Password|Passphrase|Passwd|Secret|Credentials?|(?:Api|Private|Access|Secret|Signing|Encryption|Master|Account)Key|(?:Access|Refresh|Auth|Session|Bearer|Api|Bot|Jwt|Csrf|Vault|Deploy|Service|Secret)Token|ConnectionString";
    let camel = format!("(?-i:[A-Za-z][A-Za-z0-9]*(?:{camel}))");
    let pattern =
        format!(r#"(?i)"(?:(?:[a-z0-9]+[_-])*(?:{names})|{camel}|(token))\\*"\s*:\s*(\\*)""#);
    Regex::new(&pattern).ok()
});

/// What follows the value of a `token` that a model said, and what stands before it: its probability or its number.
static SAID: LazyLock<Option<[Regex; 2]>> = LazyLock::new(|| {
    let fields = "logprob|log_?probability|bytes|token_?id";
    let behind = Regex::new(&format!(r#"(?i)^\\*"\s*,\s*\\*"(?:{fields})\\*"\s*:"#));
    let before = Regex::new(&format!(r#"(?i)"(?:{fields})\\*"\s*:\s*[^"{{}}]*,\s*$"#));
    Some([behind.ok()?, before.ok()?])
});

/// What is a key by its looks, whatever it stands in.
static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let beginnings = "(?:sk|pk|rk|isg|hf|ghp|gho|xox[abp]|AIza)[-_]?|(?:gsk|gh[sur]|github_pat|glpat|nvapi|xai)[-_]";
    let pem = r#"(?-i:-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----)(?:[^"-]|-{1,4}[^"-])*(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?"#;
    let jwt = r"(?-i:eyJ)[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*)*";
    let aws = "(?-i:(?:AKIA|ASIA)[0-9A-Z]{16})";
    // A URL with a password.
    let url = r#"[a-z][a-z0-9+.-]*://[^\s:/@"\\]*:[^\s/"\\]+@"#;
    Regex::new(&format!(
        r"(?i){pem}|\b(?:bearer\s+[a-z0-9._~+/=-]{{8,}}|(?:{beginnings})[a-z0-9][a-z0-9_-]{{15,}}|{jwt}|{aws}|{url})"
    ))
    .ok()
});

/// A name and a password, as HTTP's simplest way to log in has them; other words follow this one, too.
static BASIC: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\bbasic\s+([a-z0-9+/]{8,}={0,2})").ok());

/// As much of what was before a field as tells whose it is.
const BEFORE_BYTES: usize = 200;

/// The text without them.
#[must_use]
pub fn redacted(text: &str) -> String {
    let (Some(fields), Some(keys), Some(said), Some(basic)) = (&*FIELDS, &*KEYS, &*SAID, &*BASIC)
    else {
        // Patterns that stand here are good; were they not, nothing would be shown.
        return REDACTED.to_owned();
    };
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = fields.captures(rest) {
        let all = found.get(0).map_or(0..rest.len(), |all| all.range());
        let (before, value) = rest.split_at(all.end);
        let escapes = found.get(2).map_or(0, |escapes| escapes.len());
        let (value, behind) = value.split_at(value_end(value, escapes));
        let is_said = found.get(1).is_some() && {
            let [after, ahead] = said;
            let head = before.get(..all.start).unwrap_or_default();
            after.is_match(behind) || ahead.is_match(tail(head))
        };
        shown.push_str(before);
        shown.push_str(if is_said { value } else { REDACTED });
        rest = behind;
    }
    shown.push_str(rest);
    let shown = keys.replace_all(&shown, REDACTED);
    let shown = basic.replace_all(&shown, |found: &Captures<'_>| {
        match is_password(&found[1]) {
            true => REDACTED.to_owned(),
            false => found[0].to_owned(),
        }
    });
    shown.into_owned()
}

/// The end of a text.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(BEFORE_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    from.and_then(|from| text.get(from..)).unwrap_or_default()
}

/// Whether this is a name, a colon and a password in Base64, or the beginning of that.
fn is_password(word: &str) -> bool {
    let word = word.trim_end_matches('=');
    let whole = word.get(..word.len() / 4 * 4).unwrap_or_default();
    let bytes = STANDARD.decode(whole).unwrap_or_default();
    bytes.contains(&b':') && bytes.iter().all(|byte| !byte.is_ascii_control()) && bytes.is_ascii()
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
            (
                r#"{"token": "abc", "user": "me"}"#,
                r#"{"token": "[redacted]", "user": "me"}"#,
            ),
            (
                r#"{"arguments":"{\"user\":\"me\",\"token\":\"abc\"}"}"#,
                r#"{"arguments":"{\"user\":\"me\",\"token\":\"[redacted]\"}"}"#,
            ),
            ("Basic dXNlcjpwYXNzd29yZA== and", "[redacted] and"),
            (
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk!",
                "[redacted]!",
            ),
            ("gsk_abcdefghijklmnopqrstuvwxyz", "[redacted]"),
            ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."),
            (
                r#"{"dsn":"postgres://me:pa@55@db:5432/x"}"#,
                r#"{"dsn":"[redacted]db:5432/x"}"#,
            ),
            (
                r#"{"a":"-----BEGIN RSA PRIVATE KEY-----\nMII-E\n-----END RSA PRIVATE KEY-----\nb"}"#,
                r#"{"a":"[redacted]\nb"}"#,
            ),
            (
                r#"{"a":"-----BEGIN PRIVATE KEY-----MIIE"}"#,
                r#"{"a":"[redacted]"}"#,
            ),
        ] {
            assert_eq!(redacted(text), shown);
        }
        for name in [
            "hf_token",
            "HF_TOKEN",
            "aws_secret_access_key",
            "secret_key",
            "bearer",
            "auth",
            "apiKey",
            "x-api-key",
            "clientSecret",
            "SecretAccessKey",
            "dbPassword",
            "openaiApiKey",
            "secretAccessKey",
            "passphrase",
            "connectionString",
        ] {
            let shown = redacted(&format!(r#"{{"{name}":"abc"}}"#));
            assert_eq!(shown, format!(r#"{{"{name}":"[redacted]"}}"#));
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
            r#"{"logprobs":{"content":[{"logprob": -1.5, "token": "Hel"}]}}"#,
            r#"{"candidates":[{"token":"Hel","tokenId":5,"logProbability":-0.1}]}"#,
            r#"{"prompt_logprobs":[{"9":{"decoded_token":"Hel"}}],"eos_token":"</s>"}"#,
            r#"{"properties":{"password":{"type":"string"}}}"#,
            r#"{"properties":{"token":{"type":"string"}},"required":["token"]}"#,
            r#"{"author":"me","token_count":"3","page_token":"2"}"#,
            r#"{"pageToken":"2","primaryKey":"a","monkeySecretary":"b","url":"http://a:80/b@c"}"#,
            "Basic training, basic authentication, BASIC programming, basic understanding",
            "eyJust a word. AKIA, -----BEGIN CERTIFICATE-----",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
