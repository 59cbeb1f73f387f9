//! The upstream body that asks again: the refused answer and what was wrong with it, appended to
//! the conversation. The other messages stay the bytes they were.

use super::Exchange;
use crate::ir::Violation;
use crate::ir::raw_string;
use serde_json::json;

impl Exchange {
    /// The upstream body that asks again, showing the model what was wrong with its reply.
    #[must_use]
    pub fn re_ask(&self, violation: &Violation) -> Vec<u8> {
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
            return fields.to_json();
        };
        // What could be said once can be said with two texts more.
        let again = self.wire.ask(&fields, "the server");
        again.map_or_else(|_refused| asked.body.clone(), |again| again.body)
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
