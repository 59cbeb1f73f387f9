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
    /// Types: with their date, or of whatever date.
    kinds: Vec<String>,
    /// The member of the tool that must be true.
    wants: Option<String>,
    description: String,
    input_schema: Value,
}

impl Known {
    fn is_it(&self, kind: &str, stated: &Fields) -> bool {
        let is_kind = |known: &String| {
            family(kind).is_some_and(|family| family == known.as_str() || kind == known)
        };
        let wants = self.wants.as_deref();
        self.kinds.iter().any(is_kind)
            && wants.is_none_or(|wanted| stated.raw(wanted) == Some("true"))
    }
}

/// What stands before the date in a type: `bash` of `bash_20250124`.
pub(super) fn family(kind: &str) -> Option<&str> {
    let (family, date) = kind.rsplit_once('_')?;
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then_some(family)
}

/// What others are told of a tool of this type, of which the request says `stated`; none of one that Anthropic's own servers
/// run, and of none that they alone know.
pub(super) fn published(kind: &str, stated: &Fields) -> Option<Published> {
    // A file of this crate, which a test reads.
    let known: Vec<Known> = serde_json::from_str(KNOWN).unwrap_or_default();
    let found = known.into_iter().find(|it| it.is_it(kind, stated))?;
    let mut description = found.description;
    let number = |name: &str| serde_json::from_str::<u64>(stated.raw(name)?).ok();
    if let (Some(width), Some(height)) = (number("display_width_px"), number("display_height_px")) {
        let screen = format!(" The screen is {width} pixels wide and {height} high.");
        description.push_str(&screen);
    }
    Some(Published {
        description,
        schema: found.input_schema,
    })
}

/// The members of such a tool that are told others in one way or another, or need not be: all calls are held to their schemas, and
/// `max_characters` is what the client shows of a file.
pub(in crate::dialect::messages::client) const TOLD: [&str; 8] = [
    "type",
    "name",
    "strict",
    "display_width_px",
    "display_height_px",
    "display_number",
    "enable_zoom",
    "max_characters",
];

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::{KNOWN, Known, published};
    use crate::ir::Fields;
    use crate::schema::Validator;
    use serde_json::json;

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
        assert!(of("bash_20990101").is_some());
        for hosted in [
            "web_search_20250305",
            "code_execution_20250825",
            "bash",
            "bash_code_execution_20250825",
            "computer_toolset_20260801",
            "memory_store_20260101",
        ] {
            assert_eq!(of(hosted), None, "{hosted}");
        }
    }

    #[test]
    fn every_command_has_what_it_needs() {
        let zoom = serde_json::from_value(json!({"enable_zoom": true})).unwrap();
        let plain = Fields::default();
        for (kind, stated, good, bad) in [
            ("bash_20250124", &plain, json!({"command": "ls"}), json!({})),
            (
                "bash_20250124",
                &plain,
                json!({"restart": true}),
                json!({"restart": false}),
            ),
            (
                "text_editor_20250728",
                &plain,
                json!({"command": "view", "path": "/a"}),
                json!({"command": "create", "path": "/a"}),
            ),
            (
                "text_editor_20250124",
                &plain,
                json!({"command": "undo_edit", "path": "/a"}),
                json!({"command": "undo_edit"}),
            ),
            (
                "memory_20250818",
                &plain,
                json!({"command": "rename", "old_path": "a", "new_path": "b"}),
                json!({"command": "rename"}),
            ),
            (
                "memory_20250818",
                &plain,
                json!({"command": "delete", "path": "a"}),
                json!({"command": "insert", "path": "a"}),
            ),
            (
                "computer_20250124",
                &plain,
                json!({"action": "left_click"}),
                json!({"action": "type"}),
            ),
            (
                "computer_20251124",
                &zoom,
                json!({"action": "zoom", "region": [0, 0, 9, 9]}),
                json!({"action": "zoom"}),
            ),
            (
                "computer_20251124",
                &plain,
                json!({"action": "wait", "duration": 1}),
                json!({"action": "zoom", "region": [0, 0, 9, 9]}),
            ),
        ] {
            let schema = published(kind, stated).unwrap().schema;
            let schema = Validator::compile(&schema).unwrap();
            assert!(schema.validate(&good).is_ok(), "{kind} {good}");
            assert!(schema.validate(&bad).is_err(), "{kind} {bad}");
        }
    }
}
