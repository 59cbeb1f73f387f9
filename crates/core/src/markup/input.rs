//! A call's input as pieces: a function's JSON as it is, a custom tool's text out of it.

use super::Piece;
use crate::ir::CallKind;
use crate::json::string::StringReader;
use std::collections::BTreeSet;

/// The only parameter of a custom tool.
pub(super) const INPUT: &str = "input";
const NO_INPUT: &str = "a custom tool's input is no string";

/// More JSON around a custom tool's input is not held until it is whole.
const MAX_HELD_BYTES: usize = 8 << 20;

/// JSON of one call's input, in pieces.
#[derive(Debug)]
pub(super) struct Input {
    kind: CallKind,
    string: StringReader,
    /// A custom tool's input that came as an object, read when it is whole.
    held: String,
}

impl Input {
    pub(super) fn new(kind: CallKind) -> Self {
        Self {
            kind,
            string: StringReader::default(),
            held: String::new(),
        }
    }

    /// More of the JSON.
    pub(super) fn push(&mut self, raw: &str, out: &mut Vec<Piece>) -> Result<(), String> {
        if raw.is_empty() {
            return Ok(());
        }
        if self.kind == CallKind::Function {
            say(raw.to_owned(), out);
            return Ok(());
        }
        let is_object = !self.held.is_empty() || !self.string.is_open() && raw.starts_with('{');
        if !is_object {
            say(self.string.push(raw).map_err(|_| NO_INPUT)?, out);
            return Ok(());
        }
        if self.held.len() + raw.len() > MAX_HELD_BYTES {
            return Err("a custom tool's input is too long".to_owned());
        }
        self.held.push_str(raw);
        Ok(())
    }

    /// What was taken and not given.
    pub(super) fn unread(&self) -> &str {
        match self.held.is_empty() {
            true => self.string.held(),
            false => &self.held,
        }
    }

    /// The JSON is whole.
    pub(super) fn end(&mut self, out: &mut Vec<Piece>) -> Result<(), String> {
        if self.held.is_empty() {
            return Ok(());
        }
        say(wrapped_text(&self.held).ok_or(NO_INPUT)?, out);
        self.held.clear();
        Ok(())
    }
}

/// The text in an object around it.
fn wrapped_text(raw: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> = crate::json::object(raw).ok()?;
    match (object.len(), object.get(INPUT)) {
        (1, Some(serde_json::Value::String(text))) => Some(text.clone()),
        _ => None,
    }
}

/// A call's input, one parameter after another.
#[derive(Debug)]
pub(super) struct Members {
    kind: CallKind,
    seen: BTreeSet<String>,
}

impl Members {
    pub(super) fn new(kind: CallKind) -> Self {
        Self {
            kind,
            seen: BTreeSet::new(),
        }
    }

    /// A parameter and its value in JSON.
    pub(super) fn member(
        &mut self,
        key: &str,
        value: &str,
        out: &mut Vec<Piece>,
    ) -> Result<(), String> {
        if !self.seen.insert(key.to_owned()) {
            return Err(format!("the parameter `{key}` comes twice"));
        }
        if self.kind == CallKind::Custom {
            let text: Option<String> = serde_json::from_str(value).ok();
            let text = text.filter(|_| key == INPUT).ok_or(NO_INPUT)?;
            say(text, out);
            return Ok(());
        }
        let before = if self.seen.len() == 1 { "{" } else { ", " };
        let key = serde_json::Value::from(key);
        say(format!("{before}{key}: {value}"), out);
        Ok(())
    }

    /// There are no more.
    pub(super) fn end(&mut self, out: &mut Vec<Piece>) {
        if self.kind == CallKind::Function {
            let end = if self.seen.is_empty() { "{}" } else { "}" };
            say(end.to_owned(), out);
        }
        out.push(Piece::End);
    }
}

fn say(text: String, out: &mut Vec<Piece>) {
    if !text.is_empty() {
        out.push(Piece::Input(text));
    }
}
