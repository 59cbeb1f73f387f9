//! What only the server that made it can read, in the one field that clients send back as it came.

use crate::ir::Sealed;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What ours begins with: OpenAI's own texts are others.
pub(in crate::dialect::responses) const MARK: &str = "isogloss:";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Thinking(Box<RawValue>),
    Signature(String),
}

/// As the text of `encrypted_content`.
pub(in super::super) fn write(sealed: &[Sealed]) -> Option<String> {
    if sealed.is_empty() {
        return None;
    }
    let kept: Vec<Kept> = sealed
        .iter()
        .map(|sealed| match sealed {
            Sealed::Thinking(block) => Kept::Thinking(block.clone()),
            Sealed::Signature(signature) => Kept::Signature(signature.clone()),
        })
        .collect();
    let text = serde_json::to_string(&kept).ok()?;
    Some(format!("{MARK}{text}"))
}

/// Whether such a text was written here.
pub(in crate::dialect::responses) fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// What a text holds; nothing where it is none of ours.
pub(in super::super) fn read(text: &str) -> Vec<Sealed> {
    let kept = text.strip_prefix(MARK);
    let kept = kept.and_then(|text| serde_json::from_str::<Vec<Kept>>(text).ok());
    let kept = kept.unwrap_or_default().into_iter();
    kept.map(|kept| match kept {
        Kept::Thinking(block) => Sealed::Thinking(block),
        Kept::Signature(signature) => Sealed::Signature(signature),
    })
    .collect()
}
