//! A template's calls: what it rendered of one comes in; whether that is read as the call goes out.

use isogloss_core::ir::CallKind;
use isogloss_core::markup::{Format, Piece, Reader, Tools};
use std::sync::Arc;

/// Whether a text has a call of this tool in Hermes' style. Qwen3-Coder's and GLM's templates have
/// the same tags, but XML within them.
pub(super) fn has_call(text: &str, name: &str) -> bool {
    text.split("<tool_call>")
        .filter_map(|after| after.split_once("</tool_call>"))
        .filter_map(|(call, _)| isogloss_core::json::value(call).ok())
        .any(|call| call["name"] == name && call["arguments"].is_object())
}

/// What is new in a rendering that goes on where another ends. A token of the markup is new as a whole: other tokens begin
/// as it does (`<|START_ACTION|>`, `<|START_THINKING|>`).
pub(super) fn behind<'t>(before: &str, whole: &'t str, format: Option<&Format>) -> &'t str {
    let same = before.chars().zip(whole.chars());
    let same = same.take_while(|(before, whole)| before == whole);
    let bytes: usize = same.map(|(same, _)| same.len_utf8()).sum();
    let tokens = format.map(Format::tokens).unwrap_or_default();
    let over = tokens.iter().filter_map(|token| {
        let cuts = token.char_indices().map(|(cut, _)| cut);
        let mut cuts = cuts.filter(|cut| *cut <= bytes);
        cuts.find(|cut| {
            whole
                .get(bytes - cut..)
                .is_some_and(|rest| rest.starts_with(token))
        })
    });
    whole
        .get(bytes - over.max().unwrap_or(0)..)
        .unwrap_or_default()
}

/// Whether a whole call of this tool is read off a text in this markup, with its argument. What ends the block of calls may be
/// wanting: DeepSeek R1's template writes it behind the second call and every later one.
pub(super) fn reads_call(format: &Arc<Format>, text: &str, name: &str) -> bool {
    let kind = (name.to_owned(), CallKind::Function, None);
    let mut reader = Reader::new(Arc::clone(format), Arc::new(Tools::new([kind])));
    let mut pieces = Vec::new();
    reader.push(text, &mut pieces);
    reader.finish(false, &mut pieces);
    let is_called =
        |piece: &Piece| matches!(piece, Piece::Call { name: called, .. } if called == name);
    let is_end = |piece: &Piece| matches!(piece, Piece::End | Piece::Broken { .. });
    let mut pieces = pieces.iter();
    pieces.any(is_called) && matches!(pieces.find(|piece| is_end(piece)), Some(Piece::End))
}
