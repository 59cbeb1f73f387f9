#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod elements;
mod files;
mod golden;
mod held;
mod hermes;
mod property;
mod shapes;
mod thoughts;
mod values;

use super::*;
use crate::ir::CallKind;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn format(name: &str) -> Arc<Format> {
    Arc::clone(Formats::builtin().by_name(name).unwrap())
}

/// Functions of these names, without a schema, and the custom tool `custom`.
pub(super) fn tools(names: &[&str]) -> Arc<Tools> {
    let functions = names.iter();
    let functions = functions.map(|name| ((*name).to_owned(), CallKind::Function, None));
    let custom = ("custom".to_owned(), CallKind::Custom, None);
    Arc::new(Tools::new(functions.chain([custom])))
}

pub(super) fn typed_tools(name: &str, properties: Value) -> Arc<Tools> {
    let schema = json!({"type": "object", "properties": properties});
    Arc::new(Tools::new([(
        name.to_owned(),
        CallKind::Function,
        Some(schema),
    )]))
}

/// The pieces of a text that comes in these chunks; neighbours of one kind are one.
pub(super) fn read<'t>(
    format: &Arc<Format>,
    tools: &Arc<Tools>,
    chunks: impl IntoIterator<Item = &'t str>,
    cut: bool,
) -> Vec<Piece> {
    let mut reader = Reader::new(Arc::clone(format), Arc::clone(tools));
    let mut out = Vec::new();
    for chunk in chunks {
        reader.push(chunk, &mut out);
    }
    reader.finish(cut, &mut out);
    joined(out)
}

pub(super) fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(all)), Piece::Text(more))
            | (Some(Piece::Thought(all)), Piece::Thought(more))
            | (Some(Piece::Input(all)), Piece::Input(more)) => all.push_str(&more),
            // What follows a fault is text wherever it was cut.
            (Some(Piece::Broken { unread, .. }), Piece::Text(more)) => unread.push_str(&more),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

/// The pieces in words, after every way to cut the text in two, and byte by byte.
#[track_caller]
pub(super) fn words(format: &Arc<Format>, tools: &Arc<Tools>, text: &str) -> Vec<String> {
    let whole = read(format, tools, [text], false);
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for at in &ends {
        let (a, b) = text.split_at(*at);
        assert_eq!(read(format, tools, [a, b], false), whole, "cut at {at}");
    }
    let chars = text.split("").filter(|piece| !piece.is_empty());
    assert_eq!(read(format, tools, chars, false), whole, "byte by byte");
    let words = whole.into_iter().map(|piece| match piece {
        Piece::Text(text) => format!("text:{text}"),
        Piece::Thought(text) => format!("thought:{text}"),
        Piece::Call { id: None, name } => format!("call {name}"),
        Piece::Call { id: Some(id), name } => format!("call {name} {id}"),
        Piece::Input(text) => format!("input:{text}"),
        Piece::End => "end".to_owned(),
        Piece::Broken { unread, .. } => format!("broken:{unread}"),
    });
    words.collect()
}
