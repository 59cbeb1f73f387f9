//! OpenRouter's `reasoning_details`: what the providers behind it signed of a model's thoughts, and encrypted. Gemini 3 takes no conversation
//! in which a call stands without (`microsoft/agent-framework#2947`, `home-assistant/core#159812`). Clients of other dialects keep them as a
//! signature on a thought that is empty.

use crate::ir::{Seal, Sealed, raw};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The field of a message, and of a delta.
pub(super) const FIELD: &str = "reasoning_details";

/// What pieces of one are put together.
const TEXTS: [&str; 3] = ["text", "summary", "data"];

/// The details of one message, as they come.
#[derive(Debug, Default)]
pub(super) struct Details {
    all: Vec<Map<String, Value>>,
    /// Where the last one of a kind and an index stands.
    places: HashMap<(String, u64), usize>,
}

impl Details {
    /// More of them: a list, of which each goes on with the one of its kind and its index.
    pub(super) fn take(&mut self, said: &str) {
        for detail in listed(said) {
            let kind = detail
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let place = match detail.get("index").and_then(Value::as_u64) {
                Some(index) => {
                    let next = self.all.len();
                    let place = self.places.entry((kind.to_owned(), index)).or_insert(next);
                    // Of one that is encrypted there are no pieces.
                    if detail.contains_key("data") {
                        *place = next;
                    }
                    *place
                }
                None => self.last_of(kind, &detail),
            };
            match self.all.get_mut(place) {
                Some(known) => join(known, detail),
                None => self.all.push(detail),
            }
        }
    }

    /// The place of a piece without an index: that of the last one, or behind it.
    fn last_of(&self, kind: &str, detail: &Map<String, Value>) -> usize {
        let is_piece = |last: &Map<String, Value>| {
            let is_bare = |it: &Map<String, Value>| {
                ["data", "index", "signature", "id"]
                    .iter()
                    .all(|name| !it.contains_key(*name))
            };
            is_bare(last) && is_bare(detail) && last.get("type").is_some_and(|it| it == kind)
        };
        let last = self.all.last().filter(|last| is_piece(last));
        self.all.len() - usize::from(last.is_some())
    }

    /// What they say in words.
    pub(super) fn text(said: &str) -> Option<String> {
        let details = listed(said);
        let texts = details.iter().filter_map(|detail| {
            let text = ["text", "summary"]
                .iter()
                .find_map(|name| detail.get(*name));
            text.and_then(Value::as_str)
        });
        Some(texts.collect()).filter(|text: &String| !text.is_empty())
    }

    /// What a client keeps of them; `None` where nobody signed or encrypted any: a text is told as the thought that it is.
    pub(super) fn sealed(&mut self) -> Option<Sealed> {
        let details = std::mem::take(self).all;
        let is_kept = |detail: &Map<String, Value>| {
            ["signature", "data"]
                .iter()
                .any(|name| detail.get(*name).is_some_and(Value::is_string))
        };
        details.iter().any(is_kept).then(|| {
            let written = BASE64_STANDARD.encode(json!(details).to_string());
            let signature = format!("{}{written}", Seal::kept_mark());
            let block = json!({"type": "thinking", "thinking": "", "signature": signature});
            Sealed::Thinking(raw(&block))
        })
    }
}

fn join(known: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (known.get_mut(&name), value) {
            (Some(Value::String(known)), Value::String(more)) if TEXTS.contains(&name.as_str()) => {
                known.push_str(&more);
            }
            (Some(_), Value::Null) => {}
            (_, value) => drop(known.insert(name, value)),
        }
    }
}

/// The details in a block that a client kept; `None` where it is none of these.
pub(super) fn of(block: &RawValue) -> Option<Vec<Value>> {
    let block: Value = crate::json::value(block.get()).ok()?;
    let written = block["signature"]
        .as_str()?
        .strip_prefix(Seal::kept_mark())?;
    match crate::json::value_of(&BASE64_STANDARD.decode(written).ok()?) {
        Ok(Value::Array(details)) => Some(details),
        _ => None,
    }
}

/// The details that a list has.
fn listed(said: &str) -> Vec<Map<String, Value>> {
    let Ok(Value::Array(items)) = crate::json::value(said) else {
        return Vec::new();
    };
    let object = |item| match item {
        Value::Object(object) => Some(object),
        _ => None,
    };
    items.into_iter().filter_map(object).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_one_and_come_back_as_they_were() {
        let mut details = Details::default();
        for piece in [
            r#"[{"type":"reasoning.text","text":"I ","index":0,"format":"anthropic-claude-v1"}]"#,
            r#"[{"type":"reasoning.text","text":"think","index":0,"signature":null}]"#,
            r#"[{"type":"reasoning.text","signature":"S==","index":0},{"type":"reasoning.encrypted","data":"E","id":"tool_0","index":0}]"#,
            r#"[{"type":"reasoning.encrypted","data":"F","id":"tool_1","index":0}]"#,
            "no list",
        ] {
            details.take(piece);
        }
        let block = match details.sealed().unwrap() {
            Sealed::Thinking(block) => block,
            Sealed::Signature(other) => raw(&other),
        };
        let expected = json!([
            {"type": "reasoning.text", "text": "I think", "index": 0, "format": "anthropic-claude-v1", "signature": "S=="},
            {"type": "reasoning.encrypted", "data": "E", "id": "tool_0", "index": 0},
            {"type": "reasoning.encrypted", "data": "F", "id": "tool_1", "index": 0}]);
        assert_eq!(json!(of(&block).unwrap()), expected);
        details.take(r#"[{"type":"reasoning.text","text":"I think","index":0}]"#);
        assert!(details.sealed().is_none());
        let piece =
            r#"[{"type":"reasoning.text","text":"I "},{"type":"reasoning.text","text":"think"}]"#;
        assert_eq!(Details::text(piece).as_deref(), Some("I think"));
        (0..3).for_each(|_| details.take(piece));
        assert_eq!(details.all.len(), 1, "pieces without an index are one");
    }
}
