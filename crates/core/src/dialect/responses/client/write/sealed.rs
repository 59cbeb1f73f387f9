//! What only the server that made it can read, in the one field that clients send back as it came.

use crate::ir::{Sealed, raw};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What ours begins with: OpenAI's own texts are others.
pub(in crate::dialect::responses) const MARK: &str = "isogloss:";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Thinking(Box<RawValue>),
    Signature(String),
    /// What was thought, of a server that seals nothing.
    Thought(String),
    /// The conversation in short.
    Summary(String),
    /// What a server of this wire said on the way to an answer: its own item.
    Remark(Box<RawValue>),
}

/// The same of a message that is told as a thought.
pub(super) fn remark(message: &Value) -> Option<String> {
    let text = serde_json::to_string(&[Kept::Remark(raw(message))]).ok()?;
    Some(format!("{MARK}{text}"))
}

/// The message that a thought was: the model's, and nothing else.
pub(in crate::dialect::responses) fn message(text: &str) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Head {
        r#type: String,
        role: String,
    }
    let is_message = |message: &RawValue| {
        let head = serde_json::from_str::<Head>(message.get());
        head.is_ok_and(|head| head.r#type == "message" && head.role == "assistant")
    };
    let kept = kept(text)?.into_iter();
    kept.rev().find_map(|kept| match kept {
        Kept::Remark(message) if is_message(&message) => Some(message),
        _ => None,
    })
}

/// A summary as the text of `encrypted_content`; `None` of one that says nothing.
pub(super) fn summary(text: &str) -> Option<String> {
    let kept = serde_json::to_string(&[Kept::Summary(text.to_owned())]).ok()?;
    (!text.is_empty()).then(|| format!("{MARK}{kept}"))
}

/// The summary that such a text is.
pub(in crate::dialect::responses) fn summary_of(text: &str) -> Option<String> {
    kept(text)?.into_iter().find_map(|kept| match kept {
        Kept::Summary(summary) => Some(summary),
        _ => None,
    })
}

fn kept(text: &str) -> Option<Vec<Kept>> {
    serde_json::from_str(text.strip_prefix(MARK)?).ok()
}

/// As the text of `encrypted_content`; of what is not sealed, the thought itself, if it is to be kept so.
pub(in super::super) fn write(sealed: &[Sealed], thought: Option<&str>) -> Option<String> {
    let thought = thought.filter(|thought| !thought.is_empty() && sealed.is_empty());
    let kept = sealed.iter().map(|sealed| match sealed {
        Sealed::Thinking(block) => Kept::Thinking(block.clone()),
        Sealed::Signature(signature) => Kept::Signature(signature.clone()),
    });
    let thought = thought.map(|thought| Kept::Thought(thought.to_owned()));
    let kept: Vec<Kept> = kept.chain(thought).collect();
    if kept.is_empty() {
        return None;
    }
    let text = serde_json::to_string(&kept).ok()?;
    Some(format!("{MARK}{text}"))
}

/// Whether such a text was written here.
pub(in crate::dialect::responses) fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// What a text holds, and the thought that it is; nothing where it is none of ours.
pub(in super::super) fn read(text: &str) -> (Vec<Sealed>, Option<String>) {
    let (mut sealed, mut thought) = (Vec::new(), None);
    for kept in kept(text).unwrap_or_default() {
        match kept {
            Kept::Thinking(block) => sealed.push(Sealed::Thinking(block)),
            Kept::Signature(signature) => sealed.push(Sealed::Signature(signature)),
            Kept::Thought(text) => thought = Some(text),
            // Who sends it sends its text.
            Kept::Remark(_) | Kept::Summary(_) => {}
        }
    }
    (sealed, thought)
}
