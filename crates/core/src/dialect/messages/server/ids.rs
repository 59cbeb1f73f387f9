//! Ids of calls that another server made, in a conversation that came on this wire: Anthropic refuses other letters than
//! those of a word.

use super::clean;
use crate::ir::{CallIds, Fields, raw};
use serde_json::value::RawValue;

/// The names of ids, in a call and in its result.
const NAMES: [&str; 2] = ["id", "tool_use_id"];

/// Whether a result in these messages has an id that is refused; one that has an escape is taken for such.
pub(in crate::dialect::messages) fn has_odd(messages: &[u8]) -> bool {
    const NAME: &[u8] = b"\"tool_use_id\"";
    memchr::memmem::find_iter(messages, NAME).any(|at| {
        let rest = messages.get(at + NAME.len()..).unwrap_or_default();
        let mut parts = rest.splitn(3, |byte| *byte == b'"');
        let is_member = |gap: &[u8]| gap.iter().all(|byte| b" \t\r\n:".contains(byte));
        match (parts.next(), parts.next()) {
            (Some(gap), Some(id)) if is_member(gap) => {
                !std::str::from_utf8(id).is_ok_and(|id| CallIds::Word.takes(id))
            }
            _ => false,
        }
    })
}

/// The messages with ids that are taken: what has none to rewrite keeps its bytes.
pub(super) fn renamed(messages: &str) -> Option<Box<RawValue>> {
    let mut messages: Vec<Box<RawValue>> = serde_json::from_str(messages).ok()?;
    for message in &mut messages {
        if let Some(other) = message_of(message) {
            *message = other;
        }
    }
    Some(raw(&messages))
}

fn message_of(message: &RawValue) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
    let mut blocks: Vec<Fields> = serde_json::from_str(fields.raw("content")?).ok()?;
    let mut changed = false;
    for block in &mut blocks {
        for name in NAMES {
            let id: Option<String> = block.raw(name).and_then(|id| serde_json::from_str(id).ok());
            let Some(id) = id.filter(|id| !CallIds::Word.takes(id)) else {
                continue;
            };
            block.set(name, raw(&clean(&id)));
            changed = true;
        }
    }
    fields.set("content", raw(&blocks));
    changed.then(|| raw(&fields))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::{has_odd, renamed};
    use serde_json::{Value, json};

    fn conversation(id: &str) -> Value {
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {"id": "a.b"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "tool_use_id"}]},
        ])
    }

    #[test]
    fn odd_ids_are_seen_and_others_are_not() {
        for id in [
            "functions.f:0",
            "a b",
            "",
            "\u{e9}",
            &"a".repeat(65),
            "a\"b",
        ] {
            assert!(has_odd(conversation(id).to_string().as_bytes()), "{id}");
        }
        for id in [
            "toolu_01",
            "chatcmpl-tool-0123456789abcdef",
            &"a".repeat(64),
        ] {
            assert!(!has_odd(conversation(id).to_string().as_bytes()), "{id}");
        }
        let told = json!([{"role": "user", "content": "\"tool_use_id\": \"a.b\""}]);
        assert!(!has_odd(told.to_string().as_bytes()));
    }

    #[test]
    fn a_call_and_its_result_get_the_same_id_and_nothing_else_changes() {
        let written = renamed(&conversation("functions.f:0").to_string()).unwrap();
        let written: Value = serde_json::from_str(written.get()).unwrap();
        let id = written[1]["content"][0]["id"].as_str().unwrap();
        assert_eq!(written, conversation(id));
        assert!(id.starts_with("call_"), "{id}");
    }
}
