//! Patterns of tools in words that every engine reads. In: a client's schema, in ECMA-262's words. Out: one whose patterns a hosted
//! API compiles before it answers at all, be they a hint: one that it cannot read fails the whole request (`'…' is not a 'regex'`,
//! `regex lookaround is not supported`: raine/claude-code-proxy#141, BerriAI/litellm#40485, anomalyco/opencode#32073 of OpenAI's,
//! CodeWithCJ/SparkyFitness#1688 of Groq's). What is left out of them is told in words.

use super::Writer;
use crate::ir::{EnforcedBy, Loss, Tool, ToolInput};
use crate::pattern::{irregular, plain};
use crate::schema::{describe, position};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// More of a pattern is told to no model.
const MAX_BYTES: usize = 400;

impl Writer<'_> {
    /// `None` where the tool stays as it is.
    pub(super) fn with_plain_patterns(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema { schema, strict } = &tool.input else {
            return None;
        };
        let ((schema, is_less), strict) = (with_plain_patterns(schema)?, *strict);
        if is_less {
            self.losses.push(Loss {
                pointer: tool.input_origin.pointer(),
                reason: format!(
                    "{} reads no look-around, nor ECMA-262's other own words, in a pattern: it is told in the description",
                    self.rule.title
                ),
                enforced_by: EnforcedBy::Proxy,
            });
        }
        Some(ToolInput::Schema { schema, strict })
    }
}

/// The schema, and whether its patterns say less than before; `None` where all are plain.
fn with_plain_patterns(schema: &Value) -> Option<(Value, bool)> {
    let is_odd = |pattern: &str| !matches!(plain(pattern), Some(Cow::Borrowed(_)));
    let has_odd = |map: &Map<String, Value>| {
        let pattern = map.get("pattern").and_then(Value::as_str);
        let named = map.get("patternProperties").and_then(Value::as_object);
        pattern.is_some_and(is_odd)
            || named.is_some_and(|named| named.keys().any(|name| is_odd(name)))
    };
    let (mut found, mut is_less) = (false, false);
    let mut whole = schema.clone();
    position::rewrite(&mut whole, &mut |map| {
        if !has_odd(map) {
            return;
        }
        found = true;
        for keyword in ["pattern", "patternProperties"] {
            let stated = map.get(keyword).cloned();
            match &stated {
                Some(Value::String(pattern)) if is_odd(pattern) => {
                    let left = plain(pattern);
                    // Names of groups say nothing.
                    let is_all = left.is_some() && irregular(pattern).is_none();
                    match left {
                        Some(left) => drop(map.insert(keyword.to_owned(), json!(left))),
                        None => drop(map.shift_remove(keyword)),
                    };
                    if !is_all {
                        is_less = true;
                        tell(map, keyword, &json!(pattern));
                    }
                }
                Some(Value::Object(named)) if named.keys().any(|name| is_odd(name)) => {
                    is_less = true;
                    map.shift_remove(keyword);
                    // What they name would be closed off with the rest.
                    map.shift_remove("additionalProperties");
                    tell(map, keyword, &json!(named));
                }
                _ => {}
            }
        }
    });
    found.then_some((whole, is_less))
}

fn tell(map: &mut Map<String, Value>, keyword: &str, value: &Value) {
    let text = format!("{{{keyword}: {value}}}");
    if text.len() <= MAX_BYTES {
        describe(map, &text);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_what_is_left_wherever_it_stands() {
        let odd = json!({"type": "string", "description": "Who.", "pattern": r"^\p{L}+$"});
        let schema = json!({"type": "object", "properties": {"pattern": odd, "many": {"type": "array", "items": odd}},
            "patternProperties": {"^(?!x)": {}}, "additionalProperties": false});
        let (told, is_less) = with_plain_patterns(&schema).unwrap();
        assert!(is_less);
        let expected =
            json!({"type": "string", "description": "Who.\n\n{pattern: \"^\\\\p{L}+$\"}"});
        assert_eq!(told["properties"]["pattern"], expected);
        assert_eq!(told["properties"]["many"]["items"], expected);
        assert_eq!(told.get("patternProperties"), None);
        assert_eq!(told.get("additionalProperties"), None);
        assert_eq!(with_plain_patterns(&told), None);
        let dated = with_plain_patterns(&json!({"pattern": r"^(?<y>\d{4})$"}));
        assert_eq!(dated, Some((json!({"pattern": r"^(\d{4})$"}), false)));
    }
}
