//! JSON without needless white space: whether it is asked for, and how a server is told. Models run
//! on in blanks until their tokens end, where nothing bounds them.

use super::Writer;
use crate::error::Error;
use crate::ir::{Constraint, EnforcedBy, Loss, Request};
use crate::rules::{Compact, TemplateValues};
use serde_json::{Value, json};

/// vLLM's words for it, in the field that holds the constraint.
const FIELD: &str = "structured_outputs";
const MEMBER: &str = "disable_any_whitespace";
/// One blank after a colon or a comma is what models write.
const MOST_BLANKS: u32 = 1;

/// Whether the client asks for it.
pub(super) fn is_asked(request: &Request) -> bool {
    let stated = request.fields.raw(FIELD);
    let stated = stated.filter(|raw| raw.contains(MEMBER));
    let stated: Option<Value> = stated.and_then(|raw| crate::json::value(raw).ok());
    stated.is_some_and(|stated| stated[MEMBER] == true)
}

impl Writer<'_> {
    /// A constraint in the form that bounds the blanks in it, where the server has one; `None`
    /// where it stays as it is.
    pub(super) fn compacted(&self, constraint: &Constraint) -> Option<Constraint> {
        let Constraint::JsonSchema(schema) = constraint else {
            return None;
        };
        match self.rule.compact.as_ref().filter(|_| self.is_compact)? {
            Compact::Tag if self.rule.sends("structural_tag") => {
                let format = self.bounded(json!({"type": "json_schema", "json_schema": schema}));
                Some(Constraint::StructuralTag(
                    json!({"type": "structural_tag", "format": format}),
                ))
            }
            Compact::XGuidance => {
                let mut map = schema.as_object()?.clone();
                map.insert(
                    "x-guidance".to_owned(),
                    json!({"whitespace_flexible": false}),
                );
                Some(Constraint::JsonSchema(Value::Object(map)))
            }
            Compact::Tag | Compact::Field(_) => None,
        }
    }

    /// A tag's format with a bound on the blanks in its JSON, where that is asked for.
    pub(super) fn bounded(&self, mut format: Value) -> Value {
        if self.is_compact && self.rule.compact == Some(Compact::Tag) {
            format["max_whitespace_cnt"] = json!(MOST_BLANKS);
        }
        format
    }

    /// Tells the server in a field, or notes that it cannot be told. Grammars bound blanks anyway.
    pub(super) fn ask_compact(&mut self, sent: &Constraint, at: String) -> Result<(), Error> {
        if !self.is_compact || !sent.is_json() {
            return Ok(());
        }
        match &self.rule.compact {
            Some(Compact::Field(template)) => {
                self.body.apply(template, &TemplateValues::default())?;
            }
            Some(Compact::XGuidance) if matches!(sent, Constraint::JsonSchema(_)) => {}
            _ => {
                let title = &self.rule.title;
                self.losses.push(Loss {
                    pointer: at,
                    reason: format!(
                        "{title} takes no bound on white space for one request: its own \
                         configuration decides"
                    ),
                    enforced_by: EnforcedBy::Nobody,
                });
            }
        }
        Ok(())
    }
}
