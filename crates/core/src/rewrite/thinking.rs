//! Thinking turned off, where a server that was told to expect thoughts takes the answer for them: no
//! constraint holds there, and the client would get nothing.

use super::Writer;
use super::place::tools_pointer;
use crate::error::Error;
use crate::ir::{Calls, EnforcedBy, Fields, Loss, Strategy};
use crate::rules::{Template, TemplateValues};
use serde_json::Value;

impl Writer<'_> {
    /// Adds to a request with a demand what makes the answer an answer.
    pub(super) fn stop_thinking(&mut self, strategy: Strategy) -> Result<(), Error> {
        let rule = self.rule;
        let off = rule.thinking_off.as_ref();
        let is_taken = rule.answers_as_thoughts && !self.body.is_bare();
        let Some(off) = off.filter(|_| is_taken) else {
            return Ok(());
        };
        let contract = self.contract;
        let is_bound = contract.content.is_some()
            || contract.calls == Calls::Required
            || !matches!(strategy, Strategy::Passthrough | Strategy::Native);
        // Who says himself whether there is to be thinking has his way: it was his own choice.
        if !is_bound || states_any(&self.body.fields, off) {
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

/// Whether a body says already anything of what a template would.
fn states_any(fields: &Fields, template: &Template) -> bool {
    template.0.iter().any(|(name, value)| {
        let stated = fields.raw(name).filter(|raw| *raw != "null");
        let Some(stated) = stated.and_then(|raw| serde_json::from_str::<Value>(raw).ok()) else {
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
