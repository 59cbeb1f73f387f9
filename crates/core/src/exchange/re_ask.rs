//! The upstream body that asks again: the refused answer and what was wrong with it, appended to
//! the conversation. The other messages stay the bytes they were.

use super::Exchange;
use crate::dialect::server::{Asked, editor};
use crate::ir::{Calls, Constraint, Fields, Place, Role, Strategy, Violation};
use crate::rewrite::answer_in_words;

impl Exchange {
    /// The request that asks again, showing the model what was wrong with its reply.
    #[must_use]
    pub fn re_ask(&self, violation: &Violation) -> Asked {
        let said = violation.said.0.trim();
        let mut wrong = text(violation);
        if let Some(stated) = self.unheard(violation, said) {
            wrong.push(' ');
            wrong.push_str(&answer_in_words(stated));
        }
        let said = (!said.is_empty()).then_some((Role::Assistant, said));
        let turns = said.into_iter().chain([(Role::User, wrong.as_str())]);
        let (Some(draft), Some(asked)) = (&self.draft, &self.asked) else {
            let edited = self.body.as_deref();
            let edited = edited.and_then(|body| serde_json::from_slice(body).ok());
            let mut fields: Fields = edited.unwrap_or_else(|| self.demand.request.fields.clone());
            let editor = self.editor();
            // A call that is kept there wants an answer of its own.
            let is_text = matches!(violation.place, Place::Content(_));
            let is_kept = is_text && editor.forget_kept(&mut fields);
            turns
                .filter(|(role, _)| !(is_kept && *role == Role::Assistant))
                .for_each(|(role, text)| editor.say(&mut fields, role, text));
            return Asked {
                path: self.path().into_owned(),
                body: fields.to_json().into(),
                losses: Vec::new(),
                pending: None,
                prompt_tokens: None,
            };
        };
        let mut draft = draft.clone();
        if draft.fields.has("messages") {
            turns.for_each(|(role, text)| editor::CHAT.say(&mut draft.fields, role, text));
        } else {
            turns.for_each(|(role, text)| draft.say(role, text));
        }
        // What could be said once can be said with two texts more.
        let again = self.server.ask(&draft, "the server", self.render.as_ref());
        again.unwrap_or_else(|_refused| asked.clone())
    }

    /// What the model has not heard of: who begins with no JSON was not held to the schema, and need not have been shown it (Ollama's
    /// cloud, ollama/ollama#12362).
    fn unheard(&self, violation: &Violation, said: &str) -> Option<&Constraint> {
        let contract = &self.demand.contract;
        let is_held = self.strategy != Strategy::Instruct && contract.calls != Calls::Required;
        let is_answer = matches!(violation.place, Place::Content(_));
        let is_prose = !said.is_empty() && !said.starts_with(['{', '[', '"']);
        let stated = contract.content.as_ref().filter(|stated| stated.is_json());
        stated.filter(|_| is_held && is_answer && is_prose)
    }
}

fn text(violation: &Violation) -> String {
    let pointer = if violation.pointer.is_empty() {
        String::new()
    } else {
        format!(" (at {})", violation.pointer)
    };
    format!(
        "This answer cannot be used: {}{pointer}. Answer again, in exactly the form that was asked for, and write nothing else.",
        violation.message
    )
}
