//! OpenRouter's `reasoning_details`: what the providers behind it signed of a model's thoughts, and encrypted. Gemini 3 takes no conversation
//! in which a call stands without (`microsoft/agent-framework#2947`, `home-assistant/core#159812`). Clients of other dialects keep them as a
//! signature on a thought that is empty.

use crate::ir::{Seal, Sealed, raw};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The field of a message, and of a delta.
pub(super) const FIELD: &str = "reasoning_details";

/// What pieces of one are put together.
const TEXTS: [&str; 3] = ["text", "summary", "data"];

/// The details of one message, as they come.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// More of them: a list, of which each goes on with the one of its kind and its index.
    pub(super) fn take(&mut self, said: &str) {
        let Ok(more) = serde_json::from_str::<Vec<Map<String, Value>>>(said) else {
            return;
        };
        for detail in more {
            let is_its = |known: &Map<String, Value>| {
                let has_index = detail.get("index").is_some_and(Value::is_number);
                has_index
                    && ["index", "type"]
                        .iter()
                        .all(|name| known.get(*name) == detail.get(*name))
            };
            // Of one that is encrypted there are no pieces.
            let is_whole = detail.get("data").is_some();
            match self
                .0
                .iter_mut()
                .rfind(|known| is_its(known))
                .filter(|_| !is_whole)
            {
                Some(known) => join(known, detail),
                None => self.0.push(detail),
            }
        }
    }

    /// What a client keeps of them; `None` where nobody signed or encrypted any: a text is told as the thought that it is.
    pub(super) fn sealed(&mut self) -> Option<Sealed> {
        let details = std::mem::take(&mut self.0);
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
    let block: Value = serde_json::from_str(block.get()).ok()?;
    let written = block["signature"]
        .as_str()?
        .strip_prefix(Seal::kept_mark())?;
    serde_json::from_slice(&BASE64_STANDARD.decode(written).ok()?).ok()
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
    }
}
