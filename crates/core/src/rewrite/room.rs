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

/// Why there is none.
const AT_ONCE: &str = "holds the constraint from the first token on";

impl Writer<'_> {
    /// A constraint with room for the thoughts that the operator says this server leaves in the text, or that the client asks for where
    /// the constraint holds from the start; `None` where it goes as it is. `kind` is the one that the server is sent.
    pub(super) fn with_thoughts(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
        kind: &str,
    ) -> Result<Option<Constraint>, Error> {
        let is_off = |thinking: &Thinking| thinking.amount == Amount::Off;
        let is_off = self.request.thinking.as_ref().is_some_and(is_off);
        if is_off || self.rule.answers_as_thoughts {
            return Ok(None);
        }
        if !self.rule.states_thoughts() {
            return Ok(self.with_asked_thoughts(constraint, spelling, kind));
        }
        let Some(thoughts) = self.thoughts.clone() else {
            return Ok(None);
        };
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

    /// The same where the server tells thoughts apart, but holds this kind of constraint from the first token on: who asks for thinking
    /// has it. A model that does not know that it is to open them would write what it likes: they are behind their mark until it is
    /// known that the prompt has it.
    fn with_asked_thoughts(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
        kind: &str,
    ) -> Option<Constraint> {
        let known = self.rule.constraints.get(kind);
        let is_at_once = known.is_some_and(|known| known.from_start) && !self.body.is_bare();
        if !is_at_once || self.request.thinking.is_none() {
            return None;
        }
        let form = self.rule.form_of(&self.request.model)?;
        // The server takes them off the text; if not, they are there, or there were none.
        let (thoughts, read) = match self.rule.opens_thoughts {
            true => (form.beginning(Begin::Inside), Begin::Perhaps),
            false => (form.beginning(Begin::Before), Begin::Before),
        };
        if self.spells_marks(&thoughts) {
            return None;
        }
        let at = self.stated_pointer(spelling);
        let roomy = self.in_grammar(constraint, &thoughts, &at);
        match roomy {
            Some(_) => self.thoughts = Some(thoughts.beginning(read)),
            None => self.lose_thoughts(at),
        }
        roomy
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
        match off.filter(|_| !is_stated && !self.body.is_bare()) {
            Some(off) => {
                self.body.apply(off, &TemplateValues::default())?;
                self.body.changed = true;
                self.thoughts = self.thoughts.as_ref().map(|thoughts| thoughts.outside());
                self.losses.push(Loss {
                    pointer: at.to_owned(),
                    reason: format!("{title} {AT_ONCE}: thinking is turned off"),
                    enforced_by: EnforcedBy::Nobody,
                });
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
                self.lose_thoughts(at.to_owned());
            }
        }
        Ok(())
    }

    fn lose_thoughts(&mut self, pointer: String) {
        let title = &self.rule.title;
        self.losses.push(Loss {
            pointer,
            reason: format!("{title} {AT_ONCE}: the model cannot think before it"),
            enforced_by: EnforcedBy::Nobody,
        });
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
