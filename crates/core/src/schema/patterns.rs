//! Patterns as ECMA-262 has them: a schema comes in; what the validator has to be told so that it
//! matches as ECMA-262 does goes out.

use super::position::rewrite;
use crate::error::shortened;
use crate::pattern::ecma;
use isogloss_validate::{Keyword, ValidationError};
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes that a lazy automaton of one pattern may cache while it matches; over that it forgets
/// and goes on, still in linear time.
pub(crate) const MAX_CACHE_BYTES: usize = 1 << 20;
/// Bytes of one compiled pattern. The guard's count of states refuses earlier; this is the second
/// line behind an estimate.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// Steps of backtracking over one text, beyond which a pattern with look-around matches nothing.
const MAX_STEPS: usize = 100_000;

/// Characters of a pattern that a message quotes: the model that is asked again may have been told it nowhere else.
const MAX_QUOTED: usize = 200;

/// `pattern`, as ECMA-262 has it; the library's own reading differs in `.`, `\b` and `\s`.
struct Pattern {
    stated: Box<str>,
    read: Read,
}

enum Read {
    /// In linear time.
    Linear(Regex),
    /// With look-around, which needs backtracking.
    Looking(fancy_regex::Regex),
}

impl Keyword<'_> for Pattern {
    fn validate(&self, instance: &Value) -> Result<(), ValidationError<'static>> {
        if Keyword::is_valid(self, instance) {
            Ok(())
        } else {
            let quoted = shortened(&self.stated, MAX_QUOTED);
            let message = format!("does not match the pattern `{quoted}`");
            Err(ValidationError::custom(message))
        }
    }

    fn is_valid(&self, instance: &Value) -> bool {
        // Of some patterns the engine fails an assertion (regex issue 1344): nothing matches them.
        instance.as_str().is_none_or(|text| {
            let matches = || match &self.read {
                Read::Linear(regex) => regex.is_match(text),
                Read::Looking(regex) => regex.is_match(text).unwrap_or(false),
            };
            catch_unwind(AssertUnwindSafe(matches)).unwrap_or(false)
        })
    }
}

/// The keyword as the library takes it. What cannot be read, the guard has refused before.
pub(crate) fn pattern<'a>(
    value: &'a Value,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let text = value.as_str().unwrap_or_default();
    let read = match ecma::translate(text) {
        Ok(translated) => compile(&translated).map(Read::Linear),
        Err(_) => looking(text).map(Read::Looking),
    };
    match read {
        Some(read) => Ok(Box::new(Pattern {
            stated: text.into(),
            read,
        })),
        None => Err(ValidationError::custom(
            "the pattern is no regular expression, or too large to compile",
        )),
    }
}

/// A pattern with look-around; `None` where it has none, or what even backtracking does not read.
pub(crate) fn looking(text: &str) -> Option<fancy_regex::Regex> {
    crate::pattern::irregular(text)?;
    let translated = ecma::translate_looking(text).ok()?;
    fancy_regex::RegexBuilder::new(&translated)
        .backtrack_limit(MAX_STEPS)
        .delegate_size_limit(MAX_BYTES)
        .delegate_dfa_size_limit(MAX_CACHE_BYTES)
        .build()
        .ok()
}

fn compile(translated: &str) -> Option<Regex> {
    RegexBuilder::new(translated)
        .size_limit(MAX_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES)
        .build()
        .ok()
}

/// The schema with the names of its `patternProperties` spelled out for the library, which has no
/// other way to be told; borrowed where it has none.
pub(crate) fn spelled_out(schema: &Value) -> Cow<'_, Value> {
    let mut schema = Cow::Borrowed(schema);
    if mentions(&schema, &|map| map.contains_key("patternProperties")) {
        // A reference by such a name would lead nowhere.
        let refers = |map: &Map<String, Value>| {
            let reference = map.get("$ref").and_then(Value::as_str);
            reference.is_some_and(|text| text.contains("patternProperties"))
        };
        if !mentions(&schema, &refers) {
            rewrite(schema.to_mut(), &mut spell_out);
        }
    }
    schema
}

/// The schema with its patterns in words that every reader of regular expressions takes alike, as far as they have such.
pub(crate) fn respelled(schema: &Value) -> Value {
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut |map| {
        let spelled = map.get("pattern").and_then(Value::as_str);
        if let Some(Ok(spelled)) = spelled.map(ecma::translate_for_both) {
            map.insert("pattern".to_owned(), Value::String(spelled));
        }
    });
    schema
}

fn mentions(schema: &Value, test: &impl Fn(&Map<String, Value>) -> bool) -> bool {
    schema.as_object().is_some_and(|map| {
        test(map) || super::position::children(map).any(|child| mentions(child.value, test))
    })
}

fn spell_out(map: &mut Map<String, Value>) {
    let Some(Value::Object(patterns)) = map.get_mut("patternProperties") else {
        return;
    };
    let mut out = Map::with_capacity(patterns.len());
    for (pattern, schema) in std::mem::take(patterns) {
        let name = ecma::translate_for_both(&pattern).unwrap_or(pattern);
        // Two patterns may say the same in other words.
        let schema = match out.remove(&name) {
            Some(other) => json!({"allOf": [other, schema]}),
            None => schema,
        };
        out.insert(name, schema);
    }
    *patterns = out;
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::super::Validator;
    use crate::error::Kind;
    use serde_json::{Value, json};

    fn accepts(schema: &Value, instance: &Value) -> bool {
        Validator::compile(schema)
            .unwrap()
            .validate(instance)
            .is_ok()
    }

    #[test]
    fn patterns_of_browsers_are_read_whatever_the_draft() {
        for draft in ["draft-04", "draft-06", "draft-07"] {
            let uri = format!("http://json-schema.org/{draft}/schema#");
            for (pattern, text, other) in [
                (r"^[\w-.]+@$", "a-b.c@", "a b@"),
                ("^a]$", "a]", "a"),
                ("^{a}$", "{a}", "a"),
            ] {
                let schema = json!({"$schema": uri, "type": "string", "pattern": pattern});
                assert!(accepts(&schema, &json!(text)), "{schema}");
                assert!(!accepts(&schema, &json!(other)), "{schema}");
            }
        }
    }

    #[test]
    fn look_around_is_looked_for_within_bounds() {
        let password = json!({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{4,}$"});
        for (text, is_one) in [
            ("Abc1", true),
            ("abc1", false),
            ("Abcd", false),
            ("A b1", false),
        ] {
            assert_eq!(accepts(&password, &json!(text)), is_one, "{text}");
        }
        let behind = json!({"pattern": "(?<=\\$)[0-9]+"});
        assert!(accepts(&behind, &json!("$5")) && !accepts(&behind, &json!("5")));
        // Digits are those of ECMA-262, with look-around as without.
        assert!(!accepts(&json!({"pattern": "^(?=\\d)"}), &json!("٣")));
        // What takes too long matches nothing.
        let slow = json!({"pattern": "^(?=(?:a|a|aa)*b)(?:a|aa)*$"});
        assert!(!accepts(&slow, &json!("a".repeat(200))));
    }

    #[test]
    fn a_pattern_matches_as_in_ecma_262() {
        for (pattern, text, expected) in [
            ("^.$", "a", true),
            ("^.$", "\r", false),
            ("^.$", "\u{2028}", false),
            (r"^\s$", "\u{feff}", true),
            (r"^\s$", "\u{85}", false),
            (r"^\S$", "\u{85}", true),
            (r"é\b", "éa", true),
            (r"a\b", "aé", true),
            (r"^\-\/$", "-/", true),
            ("^{a}$", "{a}", true),
        ] {
            let schema = json!({"pattern": pattern});
            assert_eq!(
                accepts(&schema, &json!(text)),
                expected,
                "{pattern} {text:?}"
            );
        }
        let breach = Validator::compile(&json!({"items": {"pattern": "^a$"}})).unwrap();
        let breach = breach.validate(&json!(["a", "b"])).unwrap_err();
        assert_eq!((&*breach.pointer, &*breach.rule), ("/1", "pattern"));
        assert_eq!(breach.message, "does not match the pattern `^a$`");
    }

    #[test]
    fn names_match_as_in_ecma_262_too() {
        let schema = json!({
            "patternProperties": {"^.$": {"type": "integer"}, "^[^\\n]$": {}, r"^x\d$": {"minimum": 1},
                                  "^x[0-9]$": {"maximum": 2}},
            "additionalProperties": false
        });
        assert!(accepts(&schema, &json!({"a": 1, "x1": 2})));
        assert!(!accepts(&schema, &json!({"a": "s"})));
        assert!(!accepts(&schema, &json!({"\n": 1})));
        assert!(!accepts(&schema, &json!({"x1": 0})));
        assert!(!accepts(&schema, &json!({"x1": 3})));
        let referred = json!({
            "patternProperties": {r"^\d$": {"type": "string"}},
            "properties": {"a": {"$ref": "#/patternProperties/%5E%5Cd$"}}
        });
        assert!(!accepts(&referred, &json!({"a": 1})));
        assert!(!accepts(&referred, &json!({"1": 1})));
    }

    #[test]
    fn a_pattern_that_ecma_262_does_not_know_is_refused_with_its_place_and_reason() {
        for (schema, pointer, reason) in [
            (
                json!({"pattern": "foo**"}),
                "/pattern",
                "repeats a repetition",
            ),
            (json!({"pattern": "^*"}), "/pattern", "repeats an anchor"),
            (
                json!({"items": {"pattern": "a(?i)b"}}),
                "/items/pattern",
                "(?i:…)",
            ),
            (
                json!({"patternProperties": {"a+*": true}}),
                "/patternProperties/a+*",
                "repetition",
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "pattern": r"a\Z"}),
                "/pattern",
                "escape",
            ),
        ] {
            let fault = Validator::compile(&schema).unwrap_err();
            assert_eq!(
                (fault.kind, &*fault.pointer),
                (Kind::InvalidSchema, pointer),
                "{schema}"
            );
            assert!(fault.message.contains(reason), "{}", fault.message);
        }
    }
}
