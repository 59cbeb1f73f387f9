//! One kind of constraint written as another: what changes of the language is told, or it is a
//! fault.

use super::gbnf::{Gbnf, Printed};
use super::{GrammarFault, choice, json as schema, lark, regex};
use crate::ir::{Constraint, Notation};
use serde_json::json;

/// A constraint in another notation.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// The constraint.
    pub constraint: Constraint,
    /// How it differs; nothing, where both mean the same texts.
    pub differences: Vec<Difference>,
}

/// One way in which a converted constraint differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// JSON Pointer into the constraint; empty for the whole of it.
    pub pointer: String,
    /// What differs and why, as a sentence.
    pub reason: String,
    /// It takes more than the constraint allows, and a check has to refuse that. Otherwise it
    /// offers less than the constraint would allow.
    pub is_wider: bool,
}

impl Converted {
    fn exact(constraint: Constraint) -> Self {
        Self {
            constraint,
            differences: Vec::new(),
        }
    }

    pub(super) fn gbnf(printed: Printed) -> Self {
        let mut converted = Self::exact(Constraint::Grammar {
            notation: Notation::Gbnf,
            text: printed.text,
        });
        if printed.is_ascii_only {
            converted.differs(
                false,
                "classes of all scripts, such as `\\w`, are written as their ASCII part",
            );
        }
        converted
    }

    pub(super) fn lark(text: String) -> Self {
        Self::exact(Constraint::Grammar {
            notation: Notation::Lark,
            text,
        })
    }

    fn differs(&mut self, is_wider: bool, reason: impl Into<String>) {
        self.differences.push(Difference {
            pointer: String::new(),
            reason: reason.into(),
            is_wider,
        });
    }
}

/// Writes a constraint as the kind that [`Constraint::kind`] calls `kind`.
///
/// # Errors
/// There is no such way, or the constraint uses what the other notation lacks.
pub fn convert(constraint: &Constraint, kind: &str) -> Result<Converted, GrammarFault> {
    match (constraint, kind) {
        (Constraint::JsonObject, "json_schema") => Ok(Converted::exact(Constraint::JsonSchema(
            json!({"type": "object"}),
        ))),
        (Constraint::JsonObject, "grammar:gbnf" | "grammar:lark") => {
            convert(&Constraint::JsonSchema(json!({"type": "object"})), kind)
        }
        (Constraint::JsonSchema(value), "grammar:gbnf") => {
            let lowered = schema::to_gbnf(value)?;
            let mut converted = Converted::gbnf(lowered.gbnf.print()?);
            converted.differences.extend(lowered.differences);
            Ok(converted)
        }
        (Constraint::JsonSchema(value), "grammar:lark") => {
            let lowered = schema::to_gbnf(value)?;
            let mut converted = Converted::lark(lark::of_gbnf(&lowered.gbnf)?);
            converted.differences = lowered.differences;
            Ok(converted)
        }
        (Constraint::Choice(choices), "regex") => Ok(Converted::exact(Constraint::Regex(
            choice::to_regex(choices),
        ))),
        (Constraint::Choice(choices), "grammar:gbnf") => {
            choice::to_gbnf(choices).print().map(Converted::gbnf)
        }
        (Constraint::Choice(choices), "grammar:lark") => {
            Ok(Converted::lark(choice::to_lark(choices)))
        }
        (Constraint::Regex(text), "grammar:gbnf") => regex::to_gbnf(text).map(Converted::gbnf),
        (Constraint::Regex(text), "grammar:lark") => regex::to_lark(text).map(Converted::lark),
        (Constraint::Grammar { notation, text }, kind) => grammar(*notation, text, kind),
        _ => Err(no_way(constraint.kind(), kind)),
    }
}

fn grammar(notation: Notation, text: &str, kind: &str) -> Result<Converted, GrammarFault> {
    match (notation, kind) {
        (Notation::Gbnf, "grammar:lark") => lark::of_gbnf(&Gbnf::read(text)?).map(Converted::lark),
        (Notation::Gbnf, "regex") => Ok(Converted::exact(Constraint::Regex(lark::to_regex(
            &Gbnf::read(text)?,
        )?))),
        (Notation::Lark, "grammar:gbnf" | "regex") => {
            let lowered = lark::to_gbnf(text)?;
            let mut converted = match kind {
                "regex" => Converted::exact(Constraint::Regex(lark::to_regex(&lowered.gbnf)?)),
                _ => Converted::gbnf(lowered.gbnf.print()?),
            };
            if let Some(reason) = lowered.wider {
                converted.differs(true, reason);
            }
            if let Some(reason) = lowered.narrower {
                converted.differs(false, reason);
            }
            Ok(converted)
        }
        (Notation::Gbnf, kind) => Err(no_way("grammar:gbnf", kind)),
        (Notation::Lark, kind) => Err(no_way("grammar:lark", kind)),
    }
}

/// GBNF of a client's own in rules through which each text has one way, where the grammar is regular and a text has very many ways
/// through it; `None` for others.
///
/// # Errors
/// Such rules would be too many.
pub fn in_one_way(text: &str) -> Result<Option<Converted>, GrammarFault> {
    let regex = Gbnf::read(text).and_then(|gbnf| lark::to_regex(&gbnf));
    match regex {
        Ok(regex) if regex::overruns(&regex) => {
            regex::to_gbnf(&regex).map(Converted::gbnf).map(Some)
        }
        _ => Ok(None),
    }
}

/// GBNF in words that llama.cpp reads; `None` where it reads it as it is.
///
/// # Errors
/// It can only be written with a left recursion, which llama.cpp takes in no grammar, or something in it repeats too often.
pub fn in_plain_words(text: &str) -> Result<Option<Converted>, GrammarFault> {
    // What cannot be read is told of elsewhere.
    let Ok((mut gbnf, is_plain)) = Gbnf::read_noting(text) else {
        return Ok(None);
    };
    if is_plain && gbnf.left_recursion().is_none() {
        return Ok(None);
    }
    gbnf.turn_around();
    match gbnf.left_recursion() {
        Some(reason) => Err(GrammarFault::unsupported(reason)),
        None => gbnf.print().map(Converted::gbnf).map(Some),
    }
}

fn no_way(from: &str, to: &str) -> GrammarFault {
    GrammarFault::unsupported(format!("a {from} cannot be written as {to}"))
}
