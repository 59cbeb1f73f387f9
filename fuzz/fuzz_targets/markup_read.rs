//! Any text, in any format and any chunking, gives the same pieces; what is no call is the text.

#![no_main]

use isogloss_core::ir::CallKind;
use isogloss_core::markup::{Formats, Piece, Reader, Tools};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static FORMATS: LazyLock<Formats> = LazyLock::new(Formats::builtin);
static TOOLS: LazyLock<Arc<Tools>> = LazyLock::new(|| {
    let schema = serde_json::json!({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    Arc::new(Tools::new([
        ("weather".to_owned(), CallKind::Function, Some(schema)),
        ("clock".to_owned(), CallKind::Function, None),
        ("w".to_owned(), CallKind::Custom, None),
    ]))
});

fn read<'t>(format: usize, chunks: impl IntoIterator<Item = &'t str>, cut: bool) -> Option<Vec<Piece>> {
    let format = FORMATS.iter().nth(format)?;
    let mut reader = Reader::new(Arc::clone(format), Arc::clone(&TOOLS));
    let mut out = Vec::new();
    for chunk in chunks {
        reader.push(chunk, &mut out);
    }
    reader.finish(cut, &mut out);
    let mut joined: Vec<Piece> = Vec::new();
    for piece in out {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(all)), Piece::Text(more))
            | (Some(Piece::Thought(all)), Piece::Thought(more))
            | (Some(Piece::Input(all)), Piece::Input(more)) => all.push_str(&more),
            (Some(Piece::Broken { unread, .. }), Piece::Text(more)) => unread.push_str(&more),
            (_, piece) => joined.push(piece),
        }
    }
    Some(joined)
}

fuzz_target!(|input: &[u8]| {
    let [format, how, text @ ..] = input else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let (format, cut) = (usize::from(*format), how & 1 == 1);
    let whole = read(format, [text], cut);
    let chars = text.split("").filter(|piece| !piece.is_empty());
    assert_eq!(read(format, chars, cut), whole);
    // No call is of a tool that was not shown.
    for piece in whole.into_iter().flatten() {
        if let Piece::Call { name, .. } = piece {
            assert!(TOOLS.has(&name));
        }
    }
});
