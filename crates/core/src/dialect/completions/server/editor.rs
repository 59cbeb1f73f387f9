//! A completion's body, edited: a constraint changes its words, and nothing else is ever changed.

use crate::dialect::server::editor::Editor;
use crate::error::{Error, Kind};
use crate::ir::{Fields, Origin, Request, Role, Tool, ToolChoice};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Edits the bodies of Completions.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompletionsEditor;

impl Editor for CompletionsEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed("/v1/completions")
    }

    fn is_bare(&self) -> bool {
        true
    }

    /// The whole field, as on Chat's route.
    fn unstate(&self, fields: &mut Fields, stated: &Origin) -> Option<Box<RawValue>> {
        fields.remove(stated.field())
    }

    fn tools(&self, _fields: &mut Fields, _request: &Request, _tools: &[Tool]) {}

    fn choice(&self, _fields: &mut Fields, _choice: Option<&ToolChoice>, _tools: &[Tool]) {}

    fn parallel(&self, _fields: &mut Fields, _parallel: Option<bool>) {}

    fn instruct(&self, _fields: &mut Fields, _text: &str) -> Result<(), Error> {
        let message = "`prompt` is the model's own text: nothing can be told beside it";
        Err(Error::new(Kind::UnsupportedConstraint, message).at("prompt"))
    }

    /// The model is asked the same again: what it said is no part of a prompt that it goes on from.
    fn say(&self, _fields: &mut Fields, _role: Role, _text: &str) {}
}
