//! The upstream body that asks again: the refused answer and what was wrong with it, appended to
//! the conversation. The other messages stay the bytes they were.

use super::Exchange;
use crate::dialect::server::{Asked, CHAT_PATH};
use crate::ir::{Fields, Role, Violation, raw_string};
use serde_json::json;

impl Exchange {
    /// The request that asks again, showing the model what was wrong with its reply.
    #[must_use]
    pub fn re_ask(&self, violation: &Violation) -> Asked {
        let said = violation.said.0.trim();
        let (Some(draft), Some(asked)) = (&self.draft, &self.asked) else {
            let client = &self.demand.request.fields;
            let edited = self.body.as_deref();
            let edited = edited.and_then(|body| serde_json::from_slice(body).ok());
            let mut fields = edited.unwrap_or_else(|| client.clone());
            splice(&mut fields, said, &text(violation));
            return Asked {
                path: CHAT_PATH.to_owned(),
                body: fields.to_json().into(),
                losses: Vec::new(),
                pending: None,
                prompt_tokens: None,
            };
        };
        let mut draft = draft.clone();
        if draft.fields.has("messages") {
            splice(&mut draft.fields, said, &text(violation));
        } else {
            if !said.is_empty() {
                draft.say(Role::Assistant, said);
            }
            draft.say(Role::User, &text(violation));
        }
        // What could be said once can be said with two texts more.
        let again = self.server.ask(&draft, "the server", self.render.as_ref());
        again.unwrap_or_else(|_refused| asked.clone())
    }
}

/// Appends what was said, and what is wrong with it, to Chat's messages, whose bytes stay.
fn splice(fields: &mut Fields, said: &str, wrong: &str) {
    let messages = fields.raw("messages").unwrap_or("[]").trim();
    let mut messages = messages.trim_end_matches(']').trim_end().to_owned();
    let said = (!said.is_empty()).then(|| json!({"role": "assistant", "content": said}));
    let wrong = json!({"role": "user", "content": wrong});
    for message in said.into_iter().chain([wrong]) {
        if !messages.ends_with('[') {
            messages.push(',');
        }
        messages.push_str(&message.to_string());
    }
    messages.push(']');
    fields.set("messages", raw_string(messages));
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
