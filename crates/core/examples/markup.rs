//! Reads models' text for whoever is no Rust: a JSON object on each line in, what its chunks say
//! on a line out; or a chat template in, and the format that it shows out. `tests/markup/run` holds the reader
//! against other parsers' tests with it.
#![expect(clippy::expect_used, reason = "a person's own input")]

use isogloss_core::ir::CallKind;
use isogloss_core::markup::{Formats, Piece, Reader, Tools};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::sync::Arc;

fn piece(piece: Piece) -> Value {
    match piece {
        Piece::Text(text) => json!({ "text": text }),
        Piece::Thought(text) => json!({ "thought": text }),
        Piece::Call { id, name } => json!({ "call": name, "id": id }),
        Piece::Input(text) => json!({ "input": text }),
        Piece::End => json!({ "end": true }),
        Piece::Broken { why, unread } => json!({ "broken": why, "unread": unread }),
    }
}

fn answer(formats: &Formats, line: &str) -> Value {
    let asked: Value = serde_json::from_str(line).expect("a JSON object on each line");
    if let Some(template) = asked["template"].as_str() {
        let format = formats.of_template(template);
        return json!({ "format": format.map(|format| format.name()) });
    }
    let name = asked["format"].as_str().unwrap_or_default();
    let format = formats.by_name(name).expect("a known format");
    let tools = asked["tools"].as_array().into_iter().flatten().map(|tool| {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        let schema = tool.get("parameters").cloned();
        (name, CallKind::Function, schema.filter(Value::is_object))
    });
    let mut reader = Reader::new(Arc::clone(format), Arc::new(Tools::new(tools)));
    if asked["in_thought"] == true {
        reader = reader.in_thought();
    }
    let mut steps = Vec::new();
    let mut out = Vec::new();
    for chunk in asked["chunks"].as_array().into_iter().flatten() {
        reader.push(chunk.as_str().unwrap_or_default(), &mut out);
        steps.push(Value::from_iter(out.drain(..).map(piece)));
    }
    reader.finish(asked["cut"] == true, &mut out);
    steps.push(Value::from_iter(out.drain(..).map(piece)));
    Value::from(steps)
}

fn main() {
    let formats = Formats::builtin();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("UTF-8");
        writeln!(out, "{}", answer(&formats, &line)).expect("somebody reads");
        out.flush().expect("somebody reads");
    }
}
