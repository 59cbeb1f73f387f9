//! Tools that a request names by their type alone, and the client carries out: their schemas are part of Anthropic's models
//! (platform.claude.com/docs, "Tool use": bash, text editor, memory, computer use). The models of others are told of them as
//! of any function.

use crate::ir::{Fields, Published};
use serde::Deserialize;
use serde_json::Value;

/// Every such tool, in the order in which it is looked for.
const KNOWN: &str = include_str!("known.json");

#[derive(Deserialize)]
struct Known {
    /// What types of it begin with.
    kinds: Vec<String>,
    description: String,
    input_schema: Value,
}

/// What others are told of a tool of this type, of which the request says `stated`; none of one that Anthropic's own servers
/// run.
pub(super) fn published(kind: &str, stated: &Fields) -> Option<Published> {
    // A file of this crate, which a test reads.
    let known: Vec<Known> = serde_json::from_str(KNOWN).unwrap_or_default();
    let is_it = |known: &Known| known.kinds.iter().any(|begin| kind.starts_with(begin));
    let found = known.into_iter().find(is_it)?;
    let mut description = found.description;
    let side = |name: &str| serde_json::from_str::<u32>(stated.raw(name)?).ok();
    if let (Some(width), Some(height)) = (side("display_width_px"), side("display_height_px")) {
        description.push_str(&format!(
            " The screen is {width} pixels wide and {height} high."
        ));
    }
    Some(Published {
        description,
        schema: found.input_schema,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::{KNOWN, Known, published};
    use crate::ir::Fields;
    use crate::schema::Validator;

    #[test]
    fn every_known_tool_has_a_schema_of_an_object() {
        let known: Vec<Known> = serde_json::from_str(KNOWN).unwrap();
        assert!(known.len() > 4);
        for known in known {
            assert_eq!(known.input_schema["type"], "object", "{:?}", known.kinds);
            assert!(!known.description.is_empty());
            Validator::compile(&known.input_schema).unwrap();
        }
    }

    #[test]
    fn the_version_tells_the_commands() {
        let of = |kind| published(kind, &Fields::default()).map(|it| it.schema.to_string());
        assert!(of("text_editor_20250124").unwrap().contains("undo_edit"));
        assert!(!of("text_editor_20250728").unwrap().contains("undo_edit"));
        assert!(!of("computer_20241022").unwrap().contains("hold_key"));
        assert!(of("computer_20251124").unwrap().contains("hold_key"));
        for hosted in ["web_search_20250305", "code_execution_20250825", "bash"] {
            assert_eq!(of(hosted), None, "{hosted}");
        }
    }
}
