//! How much the model is to think, in the server's words; and thinking turned off, where a server that was told
//! to expect thoughts takes the answer for them: no constraint holds there, and the client would get nothing.

use super::Writer;
use super::place::tools_pointer;
use crate::error::Error;
use crate::ir::{
    Amount, Calls, Constraint, Effort, EnforcedBy, Fields, Loss, Origin, Strategy, Thinking,
    Thoughts, Wire, raw,
};
use crate::rules::{Patch, Rule, Template, TemplateValues, ThinkingSend, ThinkingWords, merge};
use indexmap::{IndexMap, IndexSet};
use serde_json::json;
use std::sync::Arc;

/// What is sent where a rule says nothing: OpenAI's field, which most servers know.
const EVERYBODYS: &str = "reasoning_effort";

/// One amount in a server's words.
type Told = IndexMap<String, Patch>;

/// How a server takes what was asked.
struct Way {
    told: Vec<Told>,
    /// The client's own words are read as they are.
    is_native: bool,
    /// What it is not told as it was asked.
    lost: Option<String>,
}

impl Way {
    /// It is told nothing.
    const fn none(reason: String) -> Self {
        Self {
            told: Vec::new(),
            is_native: false,
            lost: Some(reason),
        }
    }
}

impl Writer<'_> {
    /// Says how much the model is to think.
    pub(super) fn tell_thinking(&mut self, strategy: Strategy) -> Result<(), Error> {
        let Some(thinking) = &self.request.thinking else {
            return Ok(());
        };
        let is_chat = self.body.keeps_wire() && self.request.wire == Some(Wire::Chat);
        // Of other wires each has one set of words.
        if self.body.keeps_wire() && !is_chat {
            return Ok(());
        }
        // What a field's rule took out is told already.
        let is_there = |at: &Origin| self.body.fields.has(at.field());
        if !thinking.stated.is_empty() && !thinking.stated.iter().any(is_there) {
            return Ok(());
        }
        let is_forced = self.contract.calls == Calls::Required && strategy == Strategy::Native;
        let way = match way(self.rule, thinking, is_forced)? {
            Some(way) => way,
            // The server's words may be the client's.
            None if is_chat => return Ok(()),
            None => everybodys(thinking),
        };
        if !way.is_native {
            self.retell(&thinking.stated, &way.told);
        }
        if let Some(reason) = way.lost {
            self.losses.push(Loss {
                pointer: thinking.origin.pointer(),
                reason,
                enforced_by: EnforcedBy::Nobody,
            });
        }
        Ok(())
    }

    /// Takes the client's words out and puts the server's in; where they say the same, nothing is touched.
    fn retell(&mut self, stated: &[Origin], told: &[Told]) {
        let names = stated.iter().map(Origin::field);
        let names: IndexSet<&str> = names
            .chain(told.iter().flatten().map(|(name, _)| name.as_str()))
            .collect();
        // The others may be megabytes.
        let mut said = Fields::default();
        for name in &names {
            if let Some(value) = self.body.fields.0.get(*name) {
                said.set(name, value.clone());
            }
        }
        let before = said.clone();
        for origin in stated {
            take_out(&mut said, origin);
        }
        let patches = told.iter().cloned();
        patches.for_each(|patch| merge(&mut said, patch));
        if is_same(&said, &before) {
            return;
        }
        let fields = self.body.fields.to_mut();
        for name in names {
            match said.remove(name) {
                Some(value) => fields.set(name, value),
                None => drop(fields.remove(name)),
            }
        }
        self.body.changed = true;
    }

    /// How the thoughts are marked that may stand in the text.
    pub(super) fn thoughts(&self) -> Option<Arc<Thoughts>> {
        // Nothing renders a prompt with thoughts opened in it.
        if self.body.is_bare() {
            return None;
        }
        let contract = self.contract;
        let is_bound = contract.content.is_some() || contract.calls == Calls::Required;
        let model = &self.request.model;
        let thoughts = self
            .rule
            .thoughts_of(model, is_bound, self.body.keeps_wire())?;
        if self.spells_marks(&thoughts) {
            return None;
        }
        Some(match self.thinks_not() {
            true => thoughts.outside(),
            false => thoughts,
        })
    }

    /// Whether the client turned thinking off.
    pub(super) fn thinks_not(&self) -> bool {
        let is_off = |thinking: &Thinking| thinking.amount == Amount::Off;
        self.request.thinking.as_ref().is_some_and(is_off)
    }

    /// Whether the demand is for the marks of thoughts themselves: who demands them has them.
    pub(super) fn spells_marks(&self, thoughts: &Thoughts) -> bool {
        let spells = |constraint: &Constraint| {
            constraint.spells(&thoughts.open) || constraint.spells(&thoughts.close)
        };
        self.contract.content.as_ref().is_some_and(spells)
    }

    /// Adds to a request with a demand what makes the answer an answer.
    pub(super) fn stop_thinking(&mut self, strategy: Strategy) -> Result<(), Error> {
        let rule = self.rule;
        let off = rule.thinking.off();
        let is_taken = rule.answers_as_thoughts && !self.body.is_bare();
        let Some(off) = off.filter(|_| is_taken) else {
            return Ok(());
        };
        let contract = self.contract;
        let is_bound = contract.content.is_some()
            || contract.calls == Calls::Required
            || !matches!(strategy, Strategy::Passthrough | Strategy::Native);
        // Who says himself whether there is to be thinking has his way: it was his own choice.
        if !is_bound || states_any(self.request.settings(), off) {
            return Ok(());
        }
        self.body.apply(off, &TemplateValues::default())?;
        let stated = self.request.constraint.as_ref();
        let calls = tools_pointer(&self.contract.tools);
        self.losses.push(Loss {
            pointer: stated.map_or(calls, |stated| stated.spelling.pointer()),
            reason: format!(
                "thinking is turned off for this request: {} was seen to take this model's answer for \
                 thoughts, where it enforces nothing",
                rule.title
            ),
            enforced_by: EnforcedBy::Nobody,
        });
        Ok(())
    }
}

/// How a server is told; `None` where its rule says nothing of this amount.
fn way(rule: &Rule, thinking: &Thinking, is_forced: bool) -> Result<Option<Way>, Error> {
    let words = |amount: Amount| match amount {
        Amount::Off => rule.thinking.off.as_ref(),
        Amount::On => rule.thinking.on.as_ref(),
        Amount::Effort(_) => rule.thinking.effort.as_ref(),
        Amount::Tokens(_) => rule.thinking.tokens.as_ref(),
    };
    let Some(stated) = words(thinking.amount) else {
        return Ok(None);
    };
    let sent = |amount: Amount| match words(amount) {
        Some(ThinkingWords::Send(sent)) => Some((amount, sent)),
        _ => None,
    };
    let (amount, sent, reason) = match stated {
        ThinkingWords::Send(sent) => (thinking.amount, sent, None),
        ThinkingWords::None(reason) => match instead(thinking).into_iter().find_map(sent) {
            Some((other, sent)) => (other, sent, Some(reason)),
            None => return Ok(Some(Way::none(reason.clone()))),
        },
    };
    // Who asks for no thinking is not to have some for the effort's sake.
    let is_thoughtless = thinking.amount == Amount::Off && sent.beside.is_some();
    if !(sent.unforced && is_forced || is_thoughtless) {
        return said(rule, thinking, sent, amount, reason).map(Some);
    }
    let forced = format!("{} does not think where it forces a call", rule.title);
    let reason = reason.filter(|_| is_thoughtless).unwrap_or(&forced);
    let Some(beside) = &sent.beside else {
        return Ok(Some(Way::none(reason.clone())));
    };
    let sent = ThinkingSend {
        send: beside.clone(),
        ..sent.clone()
    };
    said(rule, thinking, &sent, amount, Some(reason)).map(Some)
}

/// What comes nearest to an amount that cannot be said, nearest first.
fn instead(thinking: &Thinking) -> Vec<Amount> {
    match thinking.amount {
        Amount::Off => vec![Amount::Effort(Effort::Minimal)],
        // As much as it finds right is what it does that is told nothing.
        Amount::On => Vec::new(),
        Amount::Effort(effort) => vec![Amount::Tokens(effort.tokens()), Amount::On],
        Amount::Tokens(tokens) => {
            let effort = thinking.effort.unwrap_or_else(|| Effort::of_tokens(tokens));
            vec![Amount::Effort(effort), Amount::On]
        }
    }
}

/// One amount in the words that a server has for it: the one that was asked, or another in its place.
fn said(
    rule: &Rule,
    thinking: &Thinking,
    words: &ThinkingSend,
    amount: Amount,
    instead: Option<&String>,
) -> Result<Way, Error> {
    let mut values = TemplateValues::default();
    let mut exact = instead.is_none();
    let meant = match amount {
        Amount::Off => "no thinking".to_owned(),
        Amount::On => "thinking".to_owned(),
        Amount::Effort(effort) => {
            let nearest = effort.nearest(&words.efforts).unwrap_or(effort);
            exact &= nearest == effort;
            values.effort = Some(nearest.as_str());
            values.tokens = Some(nearest.tokens().min(words.most));
            format!("the effort `{}`", nearest.as_str())
        }
        Amount::Tokens(tokens) => {
            let taken = tokens.max(words.least).min(words.most);
            exact &= taken == tokens;
            values.tokens = Some(taken);
            format!("a budget of {taken} tokens")
        }
    };
    let mut told = vec![words.send.fill(&values)?];
    let mut is_native = exact && thinking.effort.is_none() && !thinking.stated.is_empty();
    is_native &= thinking.stated.iter().all(|at| {
        let known = |spelling: &String| *spelling == at.0 || spelling == at.field();
        words.native.iter().any(known)
    });
    // Where a budget is told, the effort beside it is too, if there are words for both.
    if let (Amount::Tokens(_), Some(effort)) = (amount, thinking.effort)
        && let Some(ThinkingWords::Send(words)) = &rule.thinking.effort
        && let send = words.beside.as_ref().unwrap_or(&words.send)
        && !send.0.keys().any(|name| told[0].contains_key(name))
    {
        let nearest = effort.nearest(&words.efforts).unwrap_or(effort);
        told.push(send.fill(&TemplateValues {
            effort: Some(nearest.as_str()),
            tokens: Some(nearest.tokens()),
            ..TemplateValues::default()
        })?);
    }
    let lost = match instead {
        Some(reason) => Some(format!("{reason}: {meant} is asked for")),
        None if exact => None,
        None => Some(format!(
            "{} knows no such amount of thinking: {meant} is asked for",
            rule.title
        )),
    };
    Ok(Way {
        told,
        is_native,
        lost,
    })
}

/// What a server is told of which nothing is known.
fn everybodys(thinking: &Thinking) -> Way {
    let (word, lost) = match thinking.amount {
        Amount::Off => ("none", None),
        Amount::Effort(effort) => (effort.as_str(), None),
        Amount::On => {
            return Way::none("whether the model thinks is left to the server".to_owned());
        }
        Amount::Tokens(tokens) => {
            let effort = thinking.effort.unwrap_or_else(|| Effort::of_tokens(tokens));
            let word = effort.as_str();
            let reason = "this server is not known to count thoughts: the effort `{}` is asked for";
            (word, Some(reason.replace("{}", word)))
        }
    };
    let told = Told::from([(EVERYBODYS.to_owned(), Patch::Set(raw(word)))]);
    Way {
        told: vec![told],
        is_native: false,
        lost,
    }
}

/// Takes a value out by where the client stated it: a field, or a member of one. What is left of an object
/// that says nothing more goes too.
fn take_out(fields: &mut Fields, origin: &Origin) {
    let Some((field, member)) = origin.0.split_once('.') else {
        fields.remove(&origin.0);
        return;
    };
    let object = fields
        .raw(field)
        .and_then(|raw| serde_json::from_str(raw).ok());
    let Some(mut object): Option<Fields> = object else {
        return;
    };
    object.remove(member);
    match object.0.is_empty() {
        true => drop(fields.remove(field)),
        false => fields.set(field, raw(&object)),
    }
}

/// Whether two bodies say the same, in whatever order and layout.
fn is_same(one: &Fields, other: &Fields) -> bool {
    let value = |raw: &str| crate::json::value(raw).unwrap_or_else(|_| json!(raw));
    one.0.len() == other.0.len()
        && one.0.iter().all(|(name, said)| {
            let known = other.raw(name);
            known.is_some_and(|known| known == said.get() || value(known) == value(said.get()))
        })
}

/// Whether a body says already anything of what a template would.
fn states_any(fields: &Fields, template: &Template) -> bool {
    template.0.iter().any(|(name, value)| {
        let stated = fields.raw(name).filter(|raw| *raw != "null");
        let Some(stated) = stated.and_then(|raw| crate::json::value(raw).ok()) else {
            return false;
        };
        match value.as_object() {
            Some(inner) => inner
                .keys()
                .any(|key| stated.get(key).is_some_and(|stated| !stated.is_null())),
            None => true,
        }
    })
}
