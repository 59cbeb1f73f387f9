//! Images of which another media type is stated than they have: in a message, in a result, and in a document's content.

use crate::dialect::images;
use crate::ir::{Fields, raw};
use serde_json::value::RawValue;

/// The messages with the media types that images have; `None` where they have those.
pub(super) fn as_seen(messages: &str) -> Option<Box<RawValue>> {
    let mut messages: Vec<Box<RawValue>> = serde_json::from_str(messages).ok()?;
    let mut changed = false;
    for message in &mut messages {
        if !images::MESSAGES.may_be_wrong(message.get().as_bytes()) {
            continue;
        }
        let Ok(mut fields) = serde_json::from_str::<Fields>(message.get()) else {
            continue;
        };
        if in_blocks(&mut fields, LEVELS) {
            *message = raw(&fields);
            changed = true;
        }
    }
    changed.then(|| raw(&messages))
}

/// A message has results, which have documents, which have images.
const LEVELS: usize = 4;

/// Mends what stands in a list of blocks, `content`; whether there was any.
fn in_blocks(of: &mut Fields, levels: usize) -> bool {
    let blocks = of.raw("content").filter(|_| levels > 0);
    let blocks = blocks.and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok());
    let Some(mut blocks) = blocks else {
        return false;
    };
    let mut changed = false;
    for block in &mut blocks {
        changed |= match block.raw("type") {
            Some("\"image\"" | "\"document\"") => in_source(block, levels - 1),
            Some("\"tool_result\"") => in_blocks(block, levels - 1),
            _ => false,
        };
    }
    if changed {
        of.set("content", raw(&blocks));
    }
    changed
}

fn in_source(block: &mut Fields, levels: usize) -> bool {
    let source = block.raw("source");
    let source = source.and_then(|raw| serde_json::from_str::<Fields>(raw).ok());
    let Some(mut source) = source else {
        return false;
    };
    let changed = match source.raw("type") {
        Some("\"base64\"") => images::mend(&mut source, "media_type", "data"),
        Some("\"content\"") => in_blocks(&mut source, levels),
        _ => false,
    };
    if changed {
        block.set("source", raw(&source));
    }
    changed
}
