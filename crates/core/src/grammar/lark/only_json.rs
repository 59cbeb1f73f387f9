//! Lark that is one JSON Schema: what guidance writes for `gen` and `json` of a remote model (0.3.1, `ll_grammar`), and llama.cpp where it is
//! built with llguidance (`json_schema_to_grammar`).

use super::scan::{self, Token};
use super::without_header;
use serde_json::Value;

const DIRECTIVE: &str = "%json";

/// The schema, where the grammar's start is one and nothing else; `None` of every other grammar. Its `x-guidance` says how the text
/// is spaced, of which there is a word of its own here.
pub(in crate::grammar) fn schema_of(text: &str) -> Option<Value> {
    let (head, rest) = without_header(text).split_once(DIRECTIVE)?;
    let (mut schema, end) = crate::json::first(rest)?;
    let left = rest.get(end..)?;
    if !left.trim().is_empty() || !leads_there(head) || !(schema.is_object() || schema.is_boolean())
    {
        return None;
    }
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("x-guidance");
    }
    Some(schema)
}

/// Whether what stands before is the start rule alone, or leads to a rule that is begun: `start: j`, `j[capture]:`.
fn leads_there(head: &str) -> bool {
    let Ok(words) = scan::scan(head) else {
        return false;
    };
    let words = words.into_iter().map(|(word, _)| word);
    let words: Vec<Token<'_>> = words.filter(|word| *word != Token::LineEnd).collect();
    let begun = |words: &[Token<'_>], name: &str| match words {
        [Token::Rule(rule), attributes @ .., Token::Mark(":")] => {
            *rule == name && says_nothing(attributes)
        }
        _ => false,
    };
    if begun(&words, "start") {
        return true;
    }
    let Some(at) = words.iter().position(|word| *word == Token::Mark(":")) else {
        return false;
    };
    let (start, rest) = words.split_at(at + 1);
    match rest {
        [Token::Rule(name), rule @ ..] => begun(start, "start") && begun(rule, name),
        _ => false,
    }
}

/// Attributes of a rule that change nothing of its language.
fn says_nothing(attributes: &[Token<'_>]) -> bool {
    matches!(
        attributes,
        [] | [Token::Mark("["), Token::Rule("capture"), Token::Mark("]")]
            | [
                Token::Mark("["),
                Token::Rule("capture"),
                Token::Mark("="),
                Token::Text(_),
                Token::Mark("]")
            ]
    )
}

#[cfg(test)]
mod tests {
    use super::schema_of;
    use serde_json::json;

    #[test]
    fn what_is_one_schema_is_that() {
        let schema = r#"{"type": "object", "x-guidance": {"whitespace_flexible": false}}"#;
        for grammar in [
            format!("%llguidance {{}}\n\nstart: j\n\nj[capture]: %json {schema}"),
            format!("%llguidance {{}}\nstart: %json {schema}\n"),
            format!("start[capture=\"a\"]: %json{schema}"),
        ] {
            let meant = json!({"type": "object"});
            assert_eq!(schema_of(&grammar), Some(meant), "{grammar}");
        }
        for other in [
            format!("start: j\nj[max_tokens=20]: %json {schema}"),
            format!("start: j \"x\"\nj: %json {schema}"),
            format!("start: j\nk: %json {schema}"),
            format!("start: %json {schema} | \"x\""),
            format!("start: \"a\" %json {schema}"),
            "start: %json [1]".to_owned(),
            "start: \"%json {}\"".to_owned(),
            "start: \"a\"".to_owned(),
        ] {
            assert_eq!(schema_of(&other), None, "{other}");
        }
    }
}
