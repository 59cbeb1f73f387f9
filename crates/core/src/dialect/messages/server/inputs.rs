//! Inputs of calls that came as lists without items: Anthropic takes objects alone ("Input should be an object",
//! WordPress/ai-provider-for-anthropic#23).

use crate::dialect::empty_list;
use crate::ir::{Fields, raw};
use serde_json::value::RawValue;

/// The messages with objects in the place of such lists; `None` where there is none.
pub(super) fn as_objects(messages: &str) -> Option<Box<RawValue>> {
    let mut messages: Vec<Box<RawValue>> = serde_json::from_str(messages).ok()?;
    let mut changed = false;
    for message in &mut messages {
        if let Some(other) = message_of(message) {
            *message = other;
            changed = true;
        }
    }
    changed.then(|| raw(&messages))
}

fn message_of(message: &RawValue) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
    let mut blocks: Vec<Fields> = serde_json::from_str(fields.raw("content")?).ok()?;
    let mut changed = false;
    for block in &mut blocks {
        let is_call = block.raw("type") == Some("\"tool_use\"");
        changed |= is_call && empty_list::mend(block, "input");
    }
    fields.set("content", raw(&blocks));
    changed.then(|| raw(&fields))
}
