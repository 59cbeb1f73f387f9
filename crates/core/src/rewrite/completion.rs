//! Legacy Completions: what demands nothing is not touched, and what does is sent to servers that are known to
//! take constraints there.

use super::{Rewritten, Sent, Writer};
use crate::error::{Error, Kind};
use crate::ir::{
    Constraint, Contract, EnforcedBy, Loss, Plan, Request, Rewrap, Strategy, Wire, raw,
};
use crate::rules::Rule;
use serde_json::{Value, json};

/// Whether a completion demands nothing: its fields are others than Chat's, and go as they are.
pub(super) fn is_free(request: &Request, contract: &Contract) -> bool {
    request.wire == Some(Wire::Completions) && contract.is_empty()
}

/// What the server leaves unread of a completion, though it says something.
pub(super) fn unread(request: &Request, rule: &Rule) -> Vec<Loss> {
    if request.wire != Some(Wire::Completions) {
        return Vec::new();
    }
    let says = |name: &&String| {
        let said = request.fields.raw(name);
        said.is_some_and(|said| !matches!(said, "null" | "false" | "\"\"" | "1"))
    };
    let lost = |name: &String| Loss {
        pointer: format!("/{name}"),
        reason: format!("{} does nothing with it at /v1/completions", rule.title),
        enforced_by: EnforcedBy::Nobody,
    };
    (rule.completions_unread.iter().filter(says))
        .map(lost)
        .collect()
}

/// The client's own bytes.
pub(super) fn untouched(request: &Request, rule: &Rule) -> Rewritten {
    Rewritten {
        strategy: Strategy::Passthrough,
        sent: Sent::Untouched,
        plan: Plan::new(Rewrap::Keep),
        losses: unread(request, rule),
        markup: None,
        reads_markup: false,
        own_tags: false,
        asks_whole: false,
    }
}

/// Refuses a completion with a constraint where the server is not known to take one there.
///
/// # Errors
/// It is one.
pub(super) fn check(request: &Request, rule: &Rule) -> Result<(), Error> {
    if request.wire != Some(Wire::Completions) || rule.completions {
        return Ok(());
    }
    let at = spelling(request);
    let message = format!(
        "`{at}` cannot be asked of {} at /v1/completions: POST `messages` to /v1/chat/completions",
        rule.title
    );
    Err(Error::new(Kind::UnsupportedConstraint, message).at(at))
}

/// The refusal of a constraint that the server could only be told in words.
pub(super) fn untold(request: &Request, rule: &Rule, stated: &Constraint) -> Error {
    let at = spelling(request);
    let message = format!(
        "`{at}`: {} cannot be held to this {}, and in a completion it cannot be told either: state it in \
         another way, or POST `messages` to /v1/chat/completions",
        rule.label(),
        stated.kind()
    );
    Error::new(Kind::UnsupportedConstraint, message).at(at)
}

fn spelling(request: &Request) -> String {
    let stated = request.constraint.as_ref();
    stated.map_or_else(|| "prompt".to_owned(), |stated| stated.spelling.0.clone())
}

impl Writer<'_> {
    /// Ends the thoughts in the prompt, where the constraint would wait for their end. Tokens stay as they are.
    pub(super) fn end_thoughts(&mut self) {
        let is_held = self.request.wire == Some(Wire::Completions) && !self.contract.is_empty();
        let mark = self.rule.completions_behind.as_deref();
        let Some(mark) = mark.filter(|_| is_held && self.rule.holds_behind_thoughts) else {
            return;
        };
        let stated = self.request.fields.raw("prompt");
        let stated: Option<Value> = stated.and_then(|raw| crate::json::value(raw).ok());
        let ended = match stated {
            Some(Value::String(text)) => json!(text + mark),
            Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => texts
                .iter()
                .filter_map(Value::as_str)
                .map(|text| json!(text.to_owned() + mark))
                .collect(),
            _ => return,
        };
        self.body.fields.to_mut().set("prompt", raw(&ended));
        self.body.changed = true;
        self.losses.push(Loss {
            pointer: "/prompt".to_owned(),
            reason: format!(
                "{} holds a completion to a constraint only behind thoughts: it ends with some that are empty",
                self.rule.title
            ),
            enforced_by: EnforcedBy::Nobody,
        });
    }
}
