//! The upstream body that asks again: the refused answer and what was wrong with it, appended to
//! the conversation. The other messages stay the bytes they were.

use super::Exchange;
use crate::dialect::server::{Asked, CHAT_PATH};
use crate::ir::Violation;
use crate::ir::raw_string;
use serde_json::json;

impl Exchange {
    /// The request that asks again, showing the model what was wrong with its reply.
    #[must_use]
    pub fn re_ask(&self, violation: &Violation) -> Asked {
        let mut fields = super::chat_fields(self.body.as_deref(), &self.demand.request.fields);
        let messages = fields
            .raw("messages")
            .unwrap_or("[]")
            .trim()
            .trim_end_matches(']')
            .trim_end();
        let mut messages = messages.to_owned();
        let said = violation.said.0.trim();
        let said = (!said.is_empty()).then(|| json!({"role": "assistant", "content": said}));
        for message in said
            .into_iter()
            .chain([json!({"role": "user", "content": text(violation)})])
        {
            if !messages.ends_with('[') {
                messages.push(',');
            }
            messages.push_str(&message.to_string());
        }
        messages.push(']');
        fields.set("messages", raw_string(messages));
        let Some(asked) = &self.asked else {
            return Asked {
                path: CHAT_PATH.to_owned(),
                body: fields.to_json(),
                losses: Vec::new(),
                pending: None,
                prompt_tokens: None,
            };
        };
        // What could be said once can be said with two texts more.
        let render = self.render.as_ref();
        let again = self.wire.ask(&fields, "the server", render);
        again.unwrap_or_else(|_refused| asked.clone())
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
