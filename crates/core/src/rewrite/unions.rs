//! Tools with `auto` and a constraint on the answer that is no JSON: calls between tags, or the text.
//! In: the tools, the constraint. Out: one grammar, or one structural tag, of which the server
//! enforces the most.

use super::tags::CallTag;
use super::{Writer, prompt};
use crate::error::Error;
use crate::grammar::{Difference, GrammarFault, Union};
use crate::ir::{Constraint, EnforcedBy, Loss, Notation};
use crate::rewrite::Around;
use crate::rules::TextUnion;
use serde_json::{Value, json};

/// A way to say the union, and what is lost by it.
struct Candidate {
    constraint: Constraint,
    losses: Vec<Loss>,
}

impl Writer<'_> {
    /// Constrains the text to calls between tags or the answer, where the rule has a form for
    /// that; whether it did.
    pub(super) fn tag_or_answer(&mut self, stated: &Constraint) -> Result<bool, Error> {
        let rule = self.rule;
        let mut best: Option<Candidate> = None;
        for form in &rule.text_unions {
            if !rule.sends(form.kind()) {
                continue;
            }
            let found = self.candidate(*form, stated);
            let is_better = |found: &Candidate| {
                let fewer = |best: &Candidate| found.losses.len() < best.losses.len();
                best.as_ref().is_none_or(fewer)
            };
            best = found.filter(is_better).or(best);
            if best.as_ref().is_some_and(|best| best.losses.is_empty()) {
                break;
            }
        }
        let Some(Candidate { constraint, losses }) = best else {
            return Ok(false);
        };
        self.remove_stated();
        if self.place(&constraint, None)?.is_none() {
            return Ok(false);
        }
        self.losses.extend(losses);
        self.show_tagged(
            prompt::tagged_or_answer(self.contract, stated),
            prompt::tags_or_answer(self.contract, stated),
        );
        Ok(true)
    }

    /// The union in this form; `None` where it cannot be said in it, or where there is no call.
    fn candidate(&mut self, form: TextUnion, stated: &Constraint) -> Option<Candidate> {
        let known = std::mem::take(&mut self.losses);
        let constraint = self.union(form, stated);
        let losses = std::mem::replace(&mut self.losses, known);
        Some(Candidate {
            constraint: constraint?,
            losses,
        })
    }

    fn union(&mut self, form: TextUnion, stated: &Constraint) -> Option<Constraint> {
        let tags = self.call_tags(form == TextUnion::Tag);
        if tags.is_empty() {
            return None;
        }
        let is_one = !self.makes_many();
        if form == TextUnion::Tag {
            let text = self.text_format(stated)?;
            let mut elements = self.calls_formats(&tags, is_one, "\n");
            elements.push(text);
            let format = json!({"type": "or", "elements": elements});
            return Some(Constraint::StructuralTag(
                json!({"type": "structural_tag", "format": format}),
            ));
        }
        let calls: Vec<_> = tags.iter().map(CallTag::as_tagged).collect();
        let around = Around::Answer(stated);
        let union = self.memo.union(&calls, is_one, &around, form.kind()).ok()?;
        self.lose_in_union(&tags, &union);
        Some(union.constraint.clone())
    }

    /// The text as a format of structural tags.
    fn text_format(&mut self, stated: &Constraint) -> Option<Value> {
        match stated {
            Constraint::Regex(regex) => Some(json!({"type": "regex", "pattern": regex})),
            Constraint::Grammar {
                notation: Notation::Gbnf,
                text,
            } => Some(json!({"type": "grammar", "grammar": text})),
            other => {
                let converted = self.memo.convert(other, "grammar:gbnf").ok()?;
                for difference in &converted.differences {
                    self.lose_difference(&self.stated_at(), difference);
                }
                let Constraint::Grammar { text, .. } = &converted.constraint else {
                    return None;
                };
                Some(json!({"type": "grammar", "grammar": text}))
            }
        }
    }

    /// Notes what a grammar of calls and text does not say as the client does.
    pub(super) fn lose_in_union(&mut self, tags: &[CallTag], union: &Union) {
        for (call, difference) in &union.differences {
            let tool = call.and_then(|call| self.contract.tools.get(tags.get(call)?.tool));
            let at = match tool {
                Some(tool) => tool.input_origin.pointer(),
                None => self.stated_at(),
            };
            self.lose_difference(&at, difference);
        }
    }

    pub(super) fn lose_difference(&mut self, at: &str, difference: &Difference) {
        self.losses.push(Loss {
            pointer: format!("{at}{}", difference.pointer),
            reason: format!("converted for {}: {}", self.rule.title, difference.reason),
            enforced_by: match difference.is_wider {
                true => EnforcedBy::Proxy,
                false => EnforcedBy::Nobody,
            },
        });
    }

    /// Notes that calls between tags cannot be said in a grammar.
    pub(super) fn lose_union(&mut self, fault: &GrammarFault) {
        self.losses.push(Loss {
            pointer: "/tools".to_owned(),
            reason: format!(
                "{} takes grammars, and the calls cannot be written as one: {fault}",
                self.rule.title
            ),
            enforced_by: EnforcedBy::Proxy,
        });
    }

    /// Where the constraint on the answer stands; the tools, where there is none.
    fn stated_at(&self) -> String {
        let stated = self.request.constraint.as_ref();
        stated.map_or_else(|| "/tools".to_owned(), |stated| stated.spelling.pointer())
    }

    /// The calls as alternatives: each tag alone where one call is made, else a list of tags with `between` between them.
    pub(super) fn calls_formats(
        &self,
        tags: &[CallTag],
        is_one: bool,
        between: &str,
    ) -> Vec<Value> {
        let tags: Vec<Value> = tags.iter().map(|tag| tag.format(self)).collect();
        if is_one {
            return tags;
        }
        vec![json!({
            "type": "tags_with_separator",
            "tags": tags,
            "separator": between,
            "at_least_one": true,
        })]
    }
}
