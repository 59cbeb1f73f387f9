//! Tools of OpenAI's own that the client carries out: each is named by its type alone, and called by an item of a kind of its
//! own (openai-python 2.54: `ToolSearchTool`, `FunctionShellTool`, `LocalShell`, `ApplyPatchTool`). Servers of other wires know
//! them as functions.

use super::item::Item;
use crate::error::Error;
use crate::ir::Fields;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What OpenAI's models know of those that do not say it themselves.
const PUBLISHED: &str = include_str!("own.json");

/// One of these tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// The client looks for more tools; description and parameters are its own.
    Search,
    /// Commands, several at once.
    Shell,
    /// One command, by its arguments.
    LocalShell,
    /// A file is changed.
    Patch,
}

impl Own {
    const ALL: [Self; 4] = [Self::Search, Self::Shell, Self::LocalShell, Self::Patch];

    /// The tool's type, by which it is called too where no other tool has that name.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Search => "tool_search",
            Self::Shell => "shell",
            Self::LocalShell => "local_shell",
            Self::Patch => "apply_patch",
        }
    }

    /// What ids of its calls begin with.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Search => "tsc",
            Self::Shell => "sh",
            Self::LocalShell => "lsh",
            Self::Patch => "apc",
        }
    }

    /// The tool of this type.
    pub(super) fn of(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.kind() == kind)
    }

    /// The tool of this type, where the request says that the client carries it out.
    pub(super) fn of_clients(kind: &str, tool: &Fields) -> Option<Self> {
        let own = Self::of(kind)?;
        let is_clients = match own {
            // OpenAI's servers do where nobody says so.
            Self::Search => tool.raw("execution") == Some("\"client\""),
            // In a container of OpenAI's, or on the client's machine.
            Self::Shell => match tool.raw("environment") {
                None | Some("null") => true,
                Some(_) => environment(tool).is_some_and(|it| it.kind == "local"),
            },
            Self::LocalShell | Self::Patch => true,
        };
        is_clients.then_some(own)
    }

    /// Whose call, or whose result, an item of this type is.
    pub(super) fn of_item(kind: &str) -> Option<(Self, bool)> {
        let (kind, is_output) = match kind.strip_suffix("_output") {
            Some(kind) => (kind, true),
            None => (kind, false),
        };
        let own = Self::of(kind.strip_suffix("_call")?)?;
        Some((own, is_output))
    }

    /// The members of its call, beside those of all items.
    pub(super) const fn members(self) -> &'static [&'static str] {
        match self {
            Self::Search => &["call_id", "execution", "arguments"],
            Self::Shell => &["call_id", "action", "environment", "caller"],
            Self::LocalShell => &["call_id", "action"],
            Self::Patch => &["call_id", "operation", "caller"],
        }
    }

    /// The members of what its call brought.
    pub(super) const fn output_members(self) -> &'static [&'static str] {
        match self {
            Self::Search => &["call_id", "execution", "tools"],
            Self::Shell => &["call_id", "output", "max_output_length", "caller"],
            Self::LocalShell | Self::Patch => &["call_id", "output", "caller"],
        }
    }

    /// Description and parameters, where the request says neither. What it says of skills is told, and taken out of the tool.
    pub(super) fn take_published(self, tool: &mut Fields) -> Option<(String, Value)> {
        // A file of this crate, which a test reads.
        let mut all: HashMap<String, Published> =
            serde_json::from_str(PUBLISHED).unwrap_or_default();
        let mut published = all.remove(self.kind())?;
        let skills = environment(tool).and_then(|it| it.skills);
        let skills = skills.unwrap_or_default();
        if !skills.is_empty() {
            let text =
                "\n\nThere are skills: before a task that one of them is for, read its SKILL.md.";
            published.description.push_str(text);
        }
        for skill in skills {
            let Skill {
                name,
                description,
                path,
            } = skill;
            let line = format!("\n- {name} ({path}): {description}");
            published.description.push_str(&line);
        }
        tool.remove("environment");
        // Nothing but the model calls tools here.
        if tool
            .raw("allowed_callers")
            .is_some_and(|callers| callers.contains("\"direct\""))
        {
            tool.remove("allowed_callers");
        }
        Some((published.description, published.parameters))
    }

    /// Its call, as the client reads it: what the model wrote is what the client is to do. `None` where that is no action, or
    /// half of one.
    pub(super) fn call(self, id: &str, input: &str) -> Option<Value> {
        Some(match self {
            Self::Search => {
                let arguments: Map<String, Value> = crate::json::object(input).ok()?;
                json!({
                    "type": "tool_search_call", "call_id": id, "execution": "client", "arguments": arguments,
                })
            }
            Self::Shell => {
                let mut action = action(input, &[("commands", is_words)])?;
                // Both stand there, said or not.
                for name in ["timeout_ms", "max_output_length"] {
                    action.entry(name).or_insert(Value::Null);
                }
                json!({"type": "shell_call", "call_id": id, "environment": null, "action": action})
            }
            Self::LocalShell => {
                // Of its members the AI SDK takes one that is null for a wrong one (@ai-sdk/openai 3.0.141).
                let mut action = action(input, &[("command", is_words)])?;
                action.insert("type".to_owned(), json!("exec"));
                action.insert("env".to_owned(), json!({}));
                json!({"type": "local_shell_call", "call_id": id, "action": action})
            }
            Self::Patch => {
                let needed = ["type", "path", "diff"].map(|name| (name, Value::is_string as Check));
                let mut operation = action(input, &needed)?;
                if operation["type"] == "delete_file" {
                    operation.remove("diff");
                }
                json!({"type": "apply_patch_call", "call_id": id, "operation": operation})
            }
        })
    }

    /// What it was called with, as the model writes it; `None` where the client sends that.
    ///
    /// # Errors
    /// The member at fault.
    pub(super) fn written(self, call: &Item<'_>) -> Result<Option<Value>, Error> {
        let name = match self {
            Self::Search => return Ok(None),
            Self::Shell | Self::LocalShell => "action",
            Self::Patch => "operation",
        };
        let written: Option<Map<String, Value>> = call.get(name, "an object")?;
        let mut written = written.unwrap_or_default();
        let is_empty = |value: &Value| value.is_null() || *value == json!({});
        written.retain(|_, value| !is_empty(value));
        if self == Self::LocalShell {
            written.remove("type");
        }
        if self == Self::Patch {
            written.entry("diff").or_insert_with(|| json!(""));
        }
        Ok(Some(Value::Object(written)))
    }

    /// What its call brought, for the model.
    ///
    /// # Errors
    /// The member at fault.
    pub(super) fn output(self, output: &Item<'_>) -> Result<String, Error> {
        let said = match output.raw("output") {
            None => String::new(),
            Some(raw) => serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned()),
        };
        let status: Option<String> = output.get("status", "a string")?;
        Ok(match status {
            // Of a patch that says no more.
            Some(status) if self == Self::Patch && (said.is_empty() || status == "failed") => {
                format!("{status}\n{said}").trim_end().to_owned()
            }
            _ => said,
        })
    }
}

type Check = fn(&Value) -> bool;

/// What the model wrote, of it what clients' types know; `None` where something that is needed is not there, or no such thing.
fn action(input: &str, needed: &[(&str, Check)]) -> Option<Map<String, Value>> {
    const OPTIONAL: [(&str, Check); 3] = [
        ("timeout_ms", Value::is_u64),
        ("max_output_length", Value::is_u64),
        ("working_directory", Value::is_string),
    ];
    let mut written: Map<String, Value> = crate::json::object(input).ok()?;
    let mut take = |(name, is_it): &(&str, Check)| {
        let value = written.remove(*name).filter(is_it)?;
        Some(((*name).to_owned(), value))
    };
    let needed: Option<Map<String, Value>> = needed.iter().map(&mut take).collect();
    let mut action = needed?;
    action.extend(OPTIONAL.iter().filter_map(take));
    Some(action)
}

fn is_words(value: &Value) -> bool {
    let words = value.as_array();
    words.is_some_and(|words| words.iter().all(Value::is_string))
}

#[derive(Deserialize)]
struct Published {
    description: String,
    parameters: Value,
}

/// Where commands run (openai-python 2.54, `LocalEnvironment`).
#[derive(Deserialize)]
struct Environment {
    #[serde(rename = "type")]
    kind: String,
    skills: Option<Vec<Skill>>,
}

#[derive(Deserialize)]
struct Skill {
    name: String,
    description: String,
    path: String,
}

fn environment(tool: &Fields) -> Option<Environment> {
    serde_json::from_str(tool.raw("environment")?).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::Own;
    use crate::ir::Fields;
    use crate::schema::Validator;
    use serde_json::{Value, json};

    fn fields(value: Value) -> Fields {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_published_satisfies_the_clients_types() {
        let cases = [
            (
                Own::Shell,
                json!({"commands": ["ls"], "timeout_ms": 10}),
                json!({"commands": ["ls"], "timeout_ms": 10, "max_output_length": null}),
                "action",
            ),
            (
                Own::LocalShell,
                json!({"command": ["ls", "-l"]}),
                json!({"type": "exec", "command": ["ls", "-l"], "env": {}}),
                "action",
            ),
            (
                Own::Patch,
                json!({"type": "delete_file", "path": "a", "diff": ""}),
                json!({"type": "delete_file", "path": "a"}),
                "operation",
            ),
        ];
        for (own, written, told, name) in cases {
            let (description, schema) = own.take_published(&mut Fields::default()).unwrap();
            assert!(!description.is_empty());
            let schema = Validator::compile(&schema).unwrap();
            assert!(schema.validate(&written).is_ok(), "{own:?}");
            assert!(schema.validate(&json!({})).is_err(), "{own:?}");
            assert_eq!(own.call("c1", "{}"), None, "{own:?}");
            let written = written.to_string();
            assert_eq!(own.call("c1", &written[..written.len() - 1]), None);
            let call = own.call("c1", &written).unwrap();
            assert_eq!(call["type"], format!("{}_call", own.kind()));
            assert_eq!(call[name], told);
        }
    }

    #[test]
    fn a_shell_in_a_container_is_none_of_the_clients() {
        let is_clients = |tool| Own::of_clients("shell", &fields(tool)).is_some();
        assert!(is_clients(json!({})));
        assert!(is_clients(json!({"environment": null})));
        assert!(is_clients(json!({"environment": {"type": "local"}})));
        assert!(!is_clients(
            json!({"environment": {"type": "container_auto"}})
        ));
        assert!(!is_clients(json!({"environment": 1})));
    }

    #[test]
    fn the_model_is_told_of_skills() {
        let skill = json!({"name": "csv", "description": "Tables.", "path": "skills/csv"});
        let mut tool = fields(json!({"environment": {"type": "local", "skills": [skill]}}));
        let (description, _) = Own::Shell.take_published(&mut tool).unwrap();
        assert!(
            description.ends_with("\n- csv (skills/csv): Tables."),
            "{description}"
        );
        assert!(tool.0.is_empty());
    }

    #[test]
    fn items_are_known_by_their_types() {
        assert_eq!(Own::of_item("shell_call"), Some((Own::Shell, false)));
        assert_eq!(
            Own::of_item("apply_patch_call_output"),
            Some((Own::Patch, true))
        );
        for other in ["shell", "function_call", "mcp_call", "computer_call_output"] {
            assert_eq!(Own::of_item(other), None, "{other}");
        }
    }
}
