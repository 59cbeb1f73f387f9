//! Room for thoughts before a constrained answer. A server that leaves thoughts in the text holds a constraint from
//! the first token on: the model could not think, or would answer within its thoughts. In: the constraint. Out: the
//! same with thoughts before it, where the server can be told that; else thinking is turned off.

use super::Writer;
use crate::error::Error;
use crate::grammar;
use crate::ir::{Amount, Begin, Constraint, EnforcedBy, Loss, Notation, Thinking, Thoughts};
use crate::rules::TemplateValues;
use serde_json::{Value, json};
use std::sync::Arc;

/// What stands between thoughts and the answer: models end the block's line, and leave one empty.
const BLANK_LINES: &str = "\\n{0,2}";

impl Writer<'_> {
    /// A constraint with room for the thoughts that the operator says this server leaves in the text; `None` where
    /// it goes as it is.
    pub(super) fn with_thoughts(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Constraint>, Error> {
        let Some(thoughts) = self.thoughts.clone() else {
            return Ok(None);
        };
        let is_off = |thinking: &Thinking| thinking.amount == Amount::Off;
        let is_off = self.request.thinking.as_ref().is_some_and(is_off);
        if is_off || !self.rule.states_thoughts() || self.rule.answers_as_thoughts {
            return Ok(None);
        }
        let at = self.stated_pointer(spelling);
        // Tags hold schemas as exactly as fields of their own do, grammars the rest in more engines.
        let tagged = match constraint.is_json() {
            true => self.tagged(constraint, &thoughts),
            false => None,
        };
        let roomy = tagged
            .or_else(|| self.in_grammar(constraint, &thoughts, &at))
            .or_else(|| self.tagged(constraint, &thoughts));
        if roomy.is_none() {
            self.close_thoughts(&at)?;
        }
        Ok(roomy)
    }

    /// As a structural tag.
    fn tagged(&self, constraint: &Constraint, thoughts: &Thoughts) -> Option<Constraint> {
        if !self.rule.takes_formats() {
            return None;
        }
        let answer = self.format_of(constraint)?;
        let is_inside = thoughts.begin == Begin::Inside;
        let begin = match is_inside {
            true => "",
            false => &thoughts.open,
        };
        let block = json!({"type": "sequence", "elements": [
            {"type": "tag", "begin": begin, "content": {"type": "any_text"}, "end": thoughts.close},
            {"type": "regex", "pattern": BLANK_LINES},
        ]});
        let none = json!({"type": "const_string", "value": ""});
        let block = match is_inside {
            true => block,
            false => json!({"type": "or", "elements": [block, none]}),
        };
        let format = json!({"type": "sequence", "elements": [block, answer]});
        Some(Constraint::StructuralTag(
            json!({"type": "structural_tag", "format": format}),
        ))
    }

    /// As a grammar.
    fn in_grammar(
        &mut self,
        constraint: &Constraint,
        thoughts: &Thoughts,
        at: &str,
    ) -> Option<Constraint> {
        let kinds = ["grammar:gbnf", "grammar:lark"].into_iter();
        let mut kinds = kinds.filter(|kind| self.rule.sends(kind));
        let after =
            kinds.find_map(|kind| grammar::after_thoughts(thoughts, constraint, kind).ok())?;
        for difference in &after.differences {
            self.lose_difference(at, difference);
        }
        Some(after.constraint)
    }

    /// There is no room: the model is told not to think.
    fn close_thoughts(&mut self, at: &str) -> Result<(), Error> {
        let title = &self.rule.title;
        let off = self.rule.thinking.off();
        let stated = |thinking: &Thinking| !thinking.stated.is_empty();
        // Who says himself how much is to be thought is told of it by what follows.
        let is_stated = self.request.thinking.as_ref().is_some_and(stated);
        let reason = match off.filter(|_| !is_stated && !self.body.is_bare()) {
            Some(off) => {
                self.body.apply(off, &TemplateValues::default())?;
                self.body.changed = true;
                self.thoughts = self.thoughts.as_ref().map(|thoughts| thoughts.outside());
                format!(
                    "{title} holds the constraint from the first token on: thinking is turned off"
                )
            }
            // The answer may come where the thoughts were to be.
            None => {
                let perhaps = |thoughts: &Arc<Thoughts>| {
                    let begin = match thoughts.begin {
                        Begin::Inside => Begin::Perhaps,
                        begin => begin,
                    };
                    thoughts.beginning(begin)
                };
                self.thoughts = self.thoughts.as_ref().map(perhaps);
                format!(
                    "{title} holds the constraint from the first token on: the model cannot think before it"
                )
            }
        };
        self.losses.push(Loss {
            pointer: at.to_owned(),
            reason,
            enforced_by: EnforcedBy::Nobody,
        });
        Ok(())
    }

    /// A constraint as a format of structural tags; `None` where there is none for it.
    fn format_of(&self, constraint: &Constraint) -> Option<Value> {
        let schema =
            |schema: &Value| self.bounded(json!({"type": "json_schema", "json_schema": schema}));
        Some(match constraint {
            Constraint::JsonSchema(value) => schema(value),
            Constraint::JsonObject => schema(&json!({"type": "object"})),
            Constraint::Regex(regex) => json!({"type": "regex", "pattern": regex}),
            Constraint::Choice(choices) => {
                let texts = choices.iter();
                let texts = texts.map(|text| json!({"type": "const_string", "value": text}));
                json!({"type": "or", "elements": texts.collect::<Vec<_>>()})
            }
            Constraint::Grammar {
                notation: Notation::Gbnf,
                text,
            } => json!({"type": "grammar", "grammar": text}),
            Constraint::Grammar {
                notation: Notation::Lark,
                ..
            } => return None,
            // The older shape is free text with calls in it.
            Constraint::StructuralTag(tag) => tag.get("format")?.clone(),
        })
    }
}
