//! Room for thoughts before a constrained answer. A server that leaves thoughts in the text holds a constraint from
//! the first token on: the model could not think, or would answer within its thoughts. In: the constraint. Out: the
//! same with thoughts before it, where the server can be told that; else thinking is turned off.

use super::Writer;
use crate::error::Error;
use crate::grammar;
use crate::ir::{Amount, Begin, Calls, Constraint, EnforcedBy, Loss, Notation, Thinking, Thoughts};
use crate::rules::{OPENS_ASKED_THOUGHTS, OPENS_THOUGHTS, PromptOpens, Route, TemplateValues};
use serde_json::{Value, json};
use std::sync::Arc;

/// What stands between thoughts and the answer: models end the block's line, and leave one empty.
const BLANK_LINES: &str = "\\n{0,2}";

/// Who lets a reply have fewer tokens than the least budget of thoughts that dialects have (Anthropic's) wants the answer alone.
const LEAST_TOKENS: u64 = 1024;

/// Why there is none.
const AT_ONCE: &str = "holds the constraint from the first token on";

impl Writer<'_> {
    /// A constraint with room for the thoughts that the operator says this server leaves in the text, or that the client asks for where
    /// the constraint holds from the start; `None` where it goes as it is, or nowhere.
    pub(super) fn with_thoughts(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Constraint>, Error> {
        let kind = match self.rule.route(constraint.kind(), spelling) {
            Route::Native | Route::Send => constraint.kind(),
            Route::Convert(kind) => kind,
            Route::Instruct | Route::Refuse => return Ok(None),
        };
        if self.thinks_not() || self.rule.answers_as_thoughts {
            return Ok(None);
        }
        if !self.rule.states_thoughts() {
            return Ok(self.with_own_thoughts(constraint, spelling, kind));
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
    /// has it, and who says nothing where the prompt opens thoughts and the answer may be long enough for some, as before what the
    /// server forces itself. A model that does not know that it is to open its thoughts would write what it likes: they are behind their
    /// mark where the prompt is not known to have it.
    fn with_own_thoughts(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
        kind: &str,
    ) -> Option<Constraint> {
        if !self.rule.holds_from_start(kind) || self.body.is_bare() {
            return None;
        }
        let is_open = self.is_open();
        let is_short = || self.limit().is_some_and(|limit| limit < LEAST_TOKENS);
        let model = &self.request.model;
        let is_wanted = match self.request.thinking {
            None => is_open && !is_short(),
            // Of some the name tells that they think at all.
            Some(_) => is_open || self.rule.forms.of_model(model).is_some(),
        };
        if !is_wanted {
            return None;
        }
        // The server takes them off the text; if not, they are there, or there were none.
        let (begin, read) = match is_open {
            true => (Begin::Inside, Begin::Perhaps),
            false => (Begin::Before, Begin::Before),
        };
        let thoughts = self.rule.form_of(model)?.beginning(begin);
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

    /// How thoughts are marked that content may be taken for.
    pub(super) fn marks(&self) -> Option<Arc<Thoughts>> {
        match self.is_all_content {
            true => self.rule.form_of(&self.request.model).cloned(),
            false => None,
        }
    }

    /// As what a prompt of this request's would be known that opens thoughts, and the fact that tells it; `None` where none may.
    fn opening(&self) -> Option<(PromptOpens, &'static str)> {
        match self.request.thinking.as_ref().map(|asked| asked.amount) {
            None => Some((PromptOpens::Silent, OPENS_THOUGHTS)),
            Some(Amount::Off) => None,
            Some(_) => Some((PromptOpens::Asked, OPENS_ASKED_THOUGHTS)),
        }
    }

    /// Whether this prompt is known to open thoughts.
    fn is_open(&self) -> bool {
        let opening = self.opening();
        opening.is_some_and(|(needed, _)| self.rule.prompt_opens >= needed)
    }

    /// Notes what may come of a constraint of this kind: where it holds from the start, what is taken for thoughts may be the answer,
    /// and tells then that the prompt opened some.
    pub(super) fn note_start(&mut self, kind: &str, is_all: bool, has_room: bool) {
        let is_open = self.is_open();
        self.has_room = has_room;
        let is_held = self.rule.holds_from_start(kind);
        // Who does not think has no thoughts (vllm-project/vllm#17349, sgl-project/sglang#14821).
        let is_unthinking = self.thinks_not() || self.rule.answers_as_thoughts;
        self.is_all_content = is_all && (is_held || is_unthinking) && !(has_room && is_open);
        // A call cannot begin as thoughts do: what a client lets a model write must not hide everybody's answers.
        let is_call = self.contract.content.is_none() && self.contract.calls == Calls::Required;
        let is_telling = self.is_all_content && is_held && !is_open && is_call;
        let opening = self.opening().filter(|_| is_telling);
        self.tells_opening = opening.map(|(_, fact)| fact);
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
