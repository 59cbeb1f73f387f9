//! A template's calls: what it rendered of one comes in; whether that is read as the call goes out.

use isogloss_core::ir::CallKind;
use isogloss_core::markup::{Format, Piece, Reader, Tools};
use serde_json::Value;
use std::sync::Arc;

/// Whether a text has a call of this tool in Hermes' style. Qwen3-Coder's and GLM's templates have
/// the same tags, but XML within them.
pub(super) fn has_call(text: &str, name: &str) -> bool {
    text.split("<tool_call>")
        .filter_map(|after| after.split_once("</tool_call>"))
        .filter_map(|(call, _)| serde_json::from_str::<Value>(call).ok())
        .any(|call| call["name"] == name && call["arguments"].is_object())
}

/// What is new in a rendering that goes on where another ends.
pub(super) fn behind<'t>(before: &str, whole: &'t str) -> &'t str {
    let same = before.chars().zip(whole.chars());
    let same = same.take_while(|(before, whole)| before == whole);
    let bytes = same.map(|(same, _)| same.len_utf8()).sum();
    whole.get(bytes..).unwrap_or_default()
}

/// Whether a call of this tool is read off a text in this markup, with its argument.
pub(super) fn reads_call(format: &Arc<Format>, text: &str, name: &str) -> bool {
    let kind = (name.to_owned(), CallKind::Function, None);
    let mut reader = Reader::new(Arc::clone(format), Arc::new(Tools::new([kind])));
    let mut pieces = Vec::new();
    reader.push(text, &mut pieces);
    reader.finish(false, &mut pieces);
    let is_called =
        |piece: &Piece| matches!(piece, Piece::Call { name: called, .. } if called == name);
    let is_broken = |piece: &Piece| matches!(piece, Piece::Broken { .. });
    pieces.iter().any(is_called) && !pieces.iter().any(is_broken)
}
