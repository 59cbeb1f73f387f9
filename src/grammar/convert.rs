//! One kind of constraint written as another: the language stays the same, or it is a fault.

use super::{GrammarFault, choice, regex};
use crate::ir::{Constraint, Notation};
use serde_json::json;

/// Writes a constraint as the kind that [`Constraint::kind`] calls `kind`.
///
/// # Errors
/// There is no such way, or the constraint uses what the other notation lacks.
pub fn convert(constraint: &Constraint, kind: &str) -> Result<Constraint, GrammarFault> {
    let gbnf = |text| Constraint::Grammar {
        notation: Notation::Gbnf,
        text,
    };
    match (constraint, kind) {
        (Constraint::JsonObject, "json_schema") => {
            Ok(Constraint::JsonSchema(json!({"type": "object"})))
        }
        (Constraint::Choice(choices), "regex") => Ok(Constraint::Regex(choice::to_regex(choices))),
        (Constraint::Choice(choices), "grammar:gbnf") => Ok(gbnf(choice::to_gbnf(choices))),
        (Constraint::Regex(text), "grammar:gbnf") => regex::to_gbnf(text).map(gbnf),
        _ => Err(GrammarFault::unsupported(format!(
            "a {} cannot be written as {kind}",
            constraint.kind()
        ))),
    }
}
