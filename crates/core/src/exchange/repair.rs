//! A choice that breaks the contract in, the choice that was meant out: mended as it is rewrapped,
//! its JSON held against the schemas, and verified like any other. Where that fails, the violation
//! stays what it was.

use super::Exchange;
use crate::ir::{
    CallKind, Choice, Constraint, Delta, Ids, Repair, Repairs, Strategy, ToolInput, Violation,
};
use crate::repair;
use crate::rewrap::{Mending, Rewrapper};
use crate::verify::{Checks, Verifier};
use serde_json::Value;
use std::sync::Arc;

impl Exchange {
    /// What is mended where a reply goes out as it comes: calls, and content where nothing but a
    /// prompt asked for it.
    pub(super) fn mending(&self) -> Mending {
        if self.repair == Repair::Off {
            return Mending::default();
        }
        let tools = self.demand.request.tools.iter();
        Mending {
            is_content: self.strategy == Strategy::Instruct,
            is_calls: true,
            is_watched: false,
            tools: tools
                .map(|tool| {
                    let kind = match tool.input {
                        ToolInput::Schema { .. } => Some(CallKind::Function),
                        ToolInput::Text(_) => Some(CallKind::Custom),
                        ToolInput::Hosted(_) => None,
                    };
                    (tool.name.clone(), kind)
                })
                .collect(),
        }
    }

    /// A whole choice as it was meant, and what was mended; `None` where nothing is certain.
    pub(super) fn repaired(
        &self,
        checks: &Arc<Checks>,
        choice: &Choice,
        ids: &mut Ids,
    ) -> Option<(Vec<Delta>, Repairs)> {
        if self.repair == Repair::Off {
            return None;
        }
        self.mended(checks, choice, ids).ok()?
    }

    fn mended(
        &self,
        checks: &Arc<Checks>,
        choice: &Choice,
        ids: &mut Ids,
    ) -> Result<Option<(Vec<Delta>, Repairs)>, Violation> {
        let mending = Mending {
            is_content: true,
            is_watched: true,
            ..self.mending()
        };
        let mut rewrapper = Rewrapper::new(Arc::clone(&self.plan), choice.index)
            .mending(mending)
            .reading(self.reading());
        let mut deltas = Vec::new();
        for delta in choice.deltas.iter().cloned() {
            rewrapper.step(delta, ids, &mut deltas)?;
        }
        let mut repairs = rewrapper.repairs();
        let is_cut = |delta: &Delta| matches!(delta, Delta::Finish(reason) if reason.is_cut());
        if !deltas.iter().any(is_cut) && !self.mend_texts(&mut deltas, &mut repairs) {
            return Ok(None);
        }
        let mut verifier = Verifier::new(Arc::clone(checks), choice.index);
        for call in &choice.hosted {
            verifier.host(call);
        }
        deltas.iter().try_for_each(|delta| verifier.step(delta))?;
        Ok((!repairs.is_empty()).then_some((deltas, repairs)))
    }

    /// Mends the texts that are to be JSON; `false` where what was mended before is not certain.
    fn mend_texts(&self, deltas: &mut Vec<Delta>, repairs: &mut Repairs) -> bool {
        let contract = &self.demand.contract;
        let mut parts = Vec::new();
        match &contract.content {
            Some(Constraint::JsonSchema(schema)) => parts.push((None, Some(schema))),
            Some(Constraint::JsonObject) => parts.push((None, None)),
            _ => {}
        }
        for delta in deltas.iter() {
            if let Delta::CallStart {
                call,
                name,
                kind: CallKind::Function,
                ..
            } = delta
                && let Some(tool) = contract.tools.iter().find(|tool| tool.name == *name)
                && let ToolInput::Schema { schema, .. } = &tool.input
            {
                parts.push((Some(*call), Some(schema)));
            }
        }
        let before = *repairs;
        parts.into_iter().all(|(call, schema)| {
            let part = Part { call, schema };
            part.mend(deltas, self.repair, before, repairs)
        })
    }
}

/// One text of a reply that is to be JSON.
struct Part<'s> {
    /// Which call's arguments; `None` for the content.
    call: Option<u32>,
    /// `None` asks for any object.
    schema: Option<&'s Value>,
}

impl Part<'_> {
    fn text<'d>(&self, delta: &'d Delta) -> Option<&'d str> {
        match (self.call, delta) {
            (None, Delta::Text(text)) => Some(text),
            (Some(wanted), Delta::CallInput { call, text, .. }) if wanted == *call => Some(text),
            _ => None,
        }
    }

    fn mend(
        &self,
        deltas: &mut Vec<Delta>,
        level: Repair,
        before: Repairs,
        repairs: &mut Repairs,
    ) -> bool {
        let text: String = deltas.iter().filter_map(|delta| self.text(delta)).collect();
        let was_closed = before.has(crate::ir::RepairStep::Closers);
        if was_closed && !text.is_empty() && !repair::closers::are_certain(&text, self.schema) {
            return false;
        }
        let Some((mended, steps)) = repair::repair(&text, self.schema, level) else {
            return true;
        };
        repairs.join(steps);
        let mut mended = Some(mended);
        deltas.retain_mut(|delta| {
            if self.text(delta).is_none() {
                return true;
            }
            let (Some(whole), Delta::Text(text) | Delta::CallInput { text, .. }) =
                (mended.take(), delta)
            else {
                return false;
            };
            *text = whole;
            true
        });
        true
    }
}
