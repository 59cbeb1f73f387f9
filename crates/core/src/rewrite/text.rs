//! Texts inside of JSON: a regex, a list or a grammar comes in; the schema of the JSON string that
//! holds such a text goes out.

use crate::grammar;
use crate::ir::{Constraint, ToolInput};
use serde_json::{Value, json};

/// The pattern of a custom tool's text, where it has a regex. One may be spelled without anchors;
/// JSON Schema's pattern searches, so they are added.
pub(super) fn text_pattern(input: &ToolInput) -> Option<String> {
    let ToolInput::Text(Some(Constraint::Regex(regex))) = input else {
        return None;
    };
    Some(whole_pattern(regex))
}

/// The schema of `{"answer": …}`'s value; text answers become JSON strings.
pub(super) fn answer_schema(stated: &Constraint) -> Value {
    match stated {
        Constraint::JsonSchema(schema) => schema.clone(),
        Constraint::JsonObject => json!({"type": "object"}),
        Constraint::Choice(choices) => json!({"type": "string", "enum": choices}),
        Constraint::Regex(_) | Constraint::Grammar { .. } | Constraint::StructuralTag(_) => {
            text_schema(stated)
        }
    }
}

/// Whether an answer is neither JSON nor one of a list, which JSON's strings can say.
pub(super) const fn is_text(stated: &Constraint) -> bool {
    !stated.is_json() && !matches!(stated, Constraint::Choice(_))
}

/// The schema of a text as a JSON string; with its pattern where the string's characters are the
/// text's own, since engines put a pattern's characters into the JSON as they are.
pub(super) fn text_schema(stated: &Constraint) -> Value {
    match stated {
        Constraint::Regex(regex) if grammar::is_plain_in_json(regex) => {
            json!({"type": "string", "pattern": whole_pattern(regex)})
        }
        _ => json!({"type": "string"}),
    }
}

/// A regex of a whole text as JSON Schema's pattern, which searches. It may be spelled with anchors.
fn whole_pattern(regex: &str) -> String {
    let regex = regex.trim_start_matches('^');
    let bare = regex.trim_end_matches('$');
    let escapes = bare.bytes().rev().take_while(|byte| *byte == b'\\');
    // An escaped `$` is a character of the text.
    let bare = match escapes.count() % 2 {
        0 => bare,
        _ => regex.get(..=bare.len()).unwrap_or(regex),
    };
    format!("^(?:{bare})$")
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_escaped_dollar_is_no_anchor() {
        for (regex, whole) in [
            ("^a+$", "^(?:a+)$"),
            (r"[0-9]+\$", r"^(?:[0-9]+\$)$"),
            (r"a\$$", r"^(?:a\$)$"),
            (r"a\\$", r"^(?:a\\)$"),
        ] {
            assert_eq!(super::whole_pattern(regex), whole, "{regex}");
        }
    }
}
